// Package text executes templates with Go's own text/template.
//
// The functions and types here have twins of the same names and signatures in the tests of helm-template.
package text

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// Case is a template, or several, to be parsed in order and the last one executed.
type Case struct {
	Texts      []Text
	Data       json.RawMessage
	MissingKey string
}

// Text is a template's name and its text, in base64 since it may be no UTF-8.
type Text struct {
	Name string
	Text []byte
}

// Answer is what came out, or the error.
type Answer struct {
	Out   []byte
	Error string
}

// Run parses and executes.
func Run(c Case) (answer Answer) {
	defer func() {
		if r := recover(); r != nil {
			answer = Answer{Error: fmt.Sprintf("PANIC: %v", r)}
		}
	}()
	root := template.New("root")
	root.Funcs(functions(root))
	if c.MissingKey != "" {
		root.Option("missingkey=" + c.MissingKey)
	}
	last := ""
	for _, text := range c.Texts {
		if _, err := root.New(text.Name).Parse(string(text.Text)); err != nil {
			return Answer{Error: err.Error()}
		}
		last = text.Name
	}
	var buf strings.Builder
	if err := root.ExecuteTemplate(&buf, last, decode(c.Data)); err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Out: []byte(buf.String())}
}
