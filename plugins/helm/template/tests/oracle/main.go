// The oracle: executes templates with Go's own text/template.
//
// Reads one JSON case on each line of standard input and writes one JSON answer for each. The
// functions and types here have twins of the same names and signatures in ../differential.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// Case is a template, or several, to be parsed in order and the last one executed.
type Case struct {
	Texts      []Text          `json:"texts"`
	Data       json.RawMessage `json:"data"`
	MissingKey string          `json:"missingkey"`
}

// Text is a template's name and its text in base64, since it may be no UTF-8.
type Text struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Answer is what came out, in base64, or the error.
type Answer struct {
	Out   string `json:"out"`
	Error string `json:"error"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	decoder := json.NewDecoder(in)
	encoder := json.NewEncoder(out)
	for decoder.More() {
		var c Case
		if err := decoder.Decode(&c); err != nil {
			panic(err)
		}
		if err := encoder.Encode(run(c)); err != nil {
			panic(err)
		}
	}
}

func run(c Case) (answer Answer) {
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
		source, err := base64.StdEncoding.DecodeString(text.Text)
		if err != nil {
			panic(err)
		}
		if _, err := root.New(text.Name).Parse(string(source)); err != nil {
			return Answer{Error: err.Error()}
		}
		last = text.Name
	}
	var buf strings.Builder
	if err := root.ExecuteTemplate(&buf, last, decode(c.Data)); err != nil {
		return Answer{Error: err.Error()}
	}
	return Answer{Out: base64.StdEncoding.EncodeToString([]byte(buf.String()))}
}
