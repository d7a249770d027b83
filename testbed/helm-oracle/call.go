package oracle

import (
	"sort"
	"strings"
	"sync"
	"text/template"
	_ "unsafe"

	_ "helm.sh/helm/v4/pkg/engine"
)

//go:linkname helmFunctions helm.sh/helm/v4/pkg/engine.funcMap
func helmFunctions() template.FuncMap

// functions are those of Helm's engine. What the engine puts in place of some is not the subject here.
var functions = sync.OnceValue(func() template.FuncMap {
	functions := helmFunctions()
	functions["getHostByName"] = func(string) string { return "" }
	functions["certificates"] = certificates
	return functions
})

// call executes a template with the data of data.go.
func call(text []byte) Answer {
	parsed, err := template.New("t").Option("missingkey=zero").Funcs(functions()).Parse(string(text))
	if err != nil {
		return outcome(nil, err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, data()); err != nil {
		return outcome(nil, err)
	}
	return outcome([]byte(out.String()), nil)
}

// functionNames are the names of Helm's functions, one on each line; Go's own are not among them.
func functionNames() []byte {
	var names []string
	for name := range helmFunctions() {
		names = append(names, name)
	}
	sort.Strings(names)
	return []byte(strings.Join(names, "\n"))
}
