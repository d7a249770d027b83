// The oracle: answers what Helm and its libraries make of an input.
//
// It reads one JSON question from each line of standard input and writes one JSON answer for each to standard output.
// It is a test so that it can run in a bubble of testing/synctest, where the clock stands still at the beginning of
// the year 2000. (Reading does not end that: only a bubble in which all sleep moves its clock.)
package oracle

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"

	"pilothouse.dev/testbed/helm-oracle/text"
	"pilothouse.dev/testbed/helm-oracle/yaml"
)

// Question is an operation and its input: named parts, in their order.
type Question struct {
	Op    string `json:"op"`
	Parts []Part `json:"parts"`
}

// Part is one named part of an input.
type Part struct {
	Name string `json:"name"`
	Data []byte `json:"data"`
}

// part is the input of that name; nothing when there is none.
func (q Question) part(name string) []byte {
	for _, part := range q.Parts {
		if part.Name == name {
			return part.Data
		}
	}
	return nil
}

// Answer is what came out, the error, or both. Unstable says that Go does not give the same answer every time.
type Answer struct {
	Out      []byte `json:"out"`
	Error    []byte `json:"error"`
	Unstable bool   `json:"unstable"`
}

func outcome(out []byte, err error) Answer {
	if err != nil {
		return Answer{Out: out, Error: []byte(err.Error())}
	}
	return Answer{Out: out}
}

// maxStack is where endless recursion ends: the program then dies, and who asked starts another.
const maxStack = 256 << 20

func TestOracle(t *testing.T) {
	if os.Getenv("ORACLE") == "" {
		t.Skip("started by who asks")
	}
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(1 << 30)
	if err := likeHelm(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	synctest.Test(t, func(t *testing.T) {
		for {
			line, err := in.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var question Question
			if err := json.Unmarshal(line, &question); err != nil {
				t.Fatal(err)
			}
			answer, err := json.Marshal(steady(question))
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(answer, '\n'))
			// The question that has no end is the one after the last answer that arrived.
			out.Flush()
		}
	})
	out.Flush()
}

// steady asks again and sees whether the answer stays.
func steady(question Question) Answer {
	first := answer(question)
	runs := 3
	// Random numbers and keys never come out twice; templates with certificates ask about them. The operations of
	// package yaml look for themselves.
	if text := question.part("text"); bytes.Contains(text, []byte("certificates")) ||
		bytes.Contains(text, []byte("derivePassword")) || question.Op == "text" || strings.HasPrefix(question.Op, "yaml:") {
		runs = 1
	}
	for range runs - 1 {
		again := answer(question)
		if !bytes.Equal(first.Out, again.Out) || !bytes.Equal(first.Error, again.Error) {
			first.Unstable = true
		}
	}
	return first
}

// answer turns a panic into an error: text/template does so in functions, but not everywhere.
func answer(question Question) (answer Answer) {
	defer func() {
		if r := recover(); r != nil {
			answer = Answer{Error: fmt.Appendf(nil, "PANIC: %v", r)}
		}
	}()
	if op, ok := strings.CutPrefix(question.Op, "yaml:"); ok {
		answer := yaml.Run(op, question.part("in"))
		return spelled(answer.Out, answer.Value, answer.Err)
	}
	switch question.Op {
	case "call":
		return call(question.part("text"))
	case "text":
		c := text.Case{Data: question.part("data"), MissingKey: string(question.part("missingkey"))}
		for _, part := range question.Parts {
			if name, ok := strings.CutPrefix(part.Name, "text:"); ok {
				c.Texts = append(c.Texts, text.Text{Name: name, Text: part.Data})
			}
		}
		answer := text.Run(c)
		return Answer{Out: answer.Out, Error: []byte(answer.Error)}
	case "template":
		return outcome(renderTemplate(question))
	case "chart":
		return outcome(renderChart(question))
	case "ignore":
		return outcome(ignored(question))
	case "values":
		return mergedValues(question)
	case "set", "set-string", "set-json", "set-literal", "set-file":
		return setValues(question)
	case "functions":
		return outcome(functionNames(), nil)
	}
	return outcome(nil, fmt.Errorf("the oracle knows no %q", question.Op))
}

// spelled is an answer with a value: its tree, unless a text came out.
func spelled(out []byte, tree any, err string) Answer {
	if tree != nil {
		out, _ = json.Marshal(tree)
	}
	return Answer{Out: out, Error: []byte(err)}
}
