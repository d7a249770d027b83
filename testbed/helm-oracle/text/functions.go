package text

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// functions has one of each kind of signature. include and tpl re-enter the set as Helm's do.
func functions(set *template.Template) template.FuncMap {
	return template.FuncMap{
		"add":     func(a, b int) int { return a + b },
		"upper":   strings.ToUpper,
		"glue":    func(sep string, parts ...string) string { return strings.Join(parts, sep) },
		"ident":   func(v any) any { return v },
		"size":    func(m map[string]any) int { return len(m) },
		"typed":   func(v Values) string { return fmt.Sprintf("%T", v) },
		"first":   first,
		"fail":    func(message string) (string, error) { return "", errors.New(message) },
		"half":    func(f float64) float64 { return f / 2 },
		"byte":    func(n uint8) uint8 { return n },
		"wide":    func(n int64) int64 { return n },
		"small":   func(n int8) int8 { return n },
		"single":  func(f float32) float32 { return f },
		"flag":    func(b bool) bool { return b },
		"typeof":  func(v any) string { return fmt.Sprintf("%T", v) },
		"set":     func(m map[string]any, key string, value any) map[string]any { m[key] = value; return m },
		"dict":    dict,
		"list":    func(items ...any) []any { return items },
		"strs":    func(items ...string) []string { return items },
		"nothing": func() any { return nil },
		"nilmap":  func() map[string]any { return nil },
		"hello":   func() string { return "hello" },
		"strlist": func(items []string) int { return len(items) },
		"millis":  func(m Millis) string { return m.String() },
		"include": func(name string, data any) (string, error) {
			var buf strings.Builder
			err := set.ExecuteTemplate(&buf, name, data)
			return buf.String(), err
		},
		"tpl": tpl(set),
		// The same by way of native recursion.
		"render": func(name string, data any) (string, error) {
			var buf strings.Builder
			err := set.ExecuteTemplate(&buf, name, data)
			return buf.String(), err
		},
		// Turns an error into a text.
		"attempt": func(name string, data any) string {
			var buf strings.Builder
			if err := set.ExecuteTemplate(&buf, name, data); err != nil {
				return "failed: " + err.Error()
			}
			return buf.String()
		},
	}
}

func tpl(parent *template.Template) func(string, any) (string, error) {
	return func(text string, data any) (string, error) {
		clone, err := parent.Clone()
		if err != nil {
			return "", err
		}
		functions := functions(clone)
		clone.Funcs(template.FuncMap{
			"include": functions["include"],
			"render":  functions["render"],
			"attempt": functions["attempt"],
			"tpl":     tpl(clone),
		})
		parsed, err := clone.New(parent.Name()).Parse(text)
		if err != nil {
			return "", fmt.Errorf("cannot parse template %q: %w", text, err)
		}
		var buf strings.Builder
		if err := parsed.Execute(&buf, data); err != nil {
			return "", fmt.Errorf("error during tpl function execution for %q: %w", text, err)
		}
		return buf.String(), nil
	}
}

func first(items []any) (any, error) {
	if len(items) == 0 {
		return nil, errors.New("empty list")
	}
	return items[0], nil
}

func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		key := fmt.Sprint(pairs[i])
		if i+1 < len(pairs) {
			out[key] = pairs[i+1]
		} else {
			out[key] = ""
		}
	}
	return out
}
