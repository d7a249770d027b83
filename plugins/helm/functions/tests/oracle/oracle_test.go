// The oracle: executes templates with the functions of Helm's own engine.
//
// It reads one JSON case on each line of the file ORACLE_CASES and writes one JSON answer for each to ORACLE_ANSWERS.
// It is a test so that it can run in a bubble of testing/synctest, where the clock stands still at the beginning of
// the year 2000.
package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"text/template"
	_ "unsafe"

	_ "helm.sh/helm/v4/pkg/engine"
)

//go:linkname helmFunctions helm.sh/helm/v4/pkg/engine.funcMap
func helmFunctions() template.FuncMap

// Case is a template to be executed with the data of data.go.
type Case struct {
	Text []byte `json:"text"`
}

// Answer is what came out, or the error. Unstable says that Go does not give the same answer every time.
type Answer struct {
	Out      []byte `json:"out"`
	Error    []byte `json:"error"`
	Unstable bool   `json:"unstable"`
}

func TestOracle(t *testing.T) {
	path := os.Getenv("ORACLE_CASES")
	if path == "" {
		t.Skip("no ORACLE_CASES")
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(os.Getenv("ORACLE_ANSWERS"))
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	synctest.Test(t, func(t *testing.T) {
		functions := helmFunctions()
		// What the engine puts in their place is not the oracle's subject.
		functions["getHostByName"] = func(string) string { return "" }
		functions["certificates"] = certificates
		decoder := json.NewDecoder(bufio.NewReader(in))
		encoder := json.NewEncoder(out)
		for decoder.More() {
			var c Case
			if err := decoder.Decode(&c); err != nil {
				t.Fatal(err)
			}
			if err := encoder.Encode(answer(functions, c)); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

func answer(functions template.FuncMap, c Case) Answer {
	first := run(functions, c)
	runs := 3
	// Random numbers and keys never come out twice; templates with certificates ask about them.
	if bytes.Contains(c.Text, []byte("certificates")) || bytes.Contains(c.Text, []byte("derivePassword")) {
		runs = 1
	}
	for range runs - 1 {
		again := run(functions, c)
		if !bytes.Equal(first.Out, again.Out) || !bytes.Equal(first.Error, again.Error) {
			first.Unstable = true
		}
	}
	return first
}

func run(functions template.FuncMap, c Case) (answer Answer) {
	defer func() {
		if r := recover(); r != nil {
			answer = Answer{Error: fmt.Appendf(nil, "PANIC: %v", r)}
		}
	}()
	parsed, err := template.New("t").Option("missingkey=zero").Funcs(functions).Parse(string(c.Text))
	if err != nil {
		return Answer{Error: []byte(err.Error())}
	}
	var out strings.Builder
	if err := parsed.Execute(&out, data()); err != nil {
		return Answer{Error: []byte(err.Error())}
	}
	return Answer{Out: []byte(out.String())}
}
