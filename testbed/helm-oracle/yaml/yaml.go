// Package yaml answers what Helm's YAML and JSON libraries make of an input.
//
// A TREE spells a Go value with its types: null, ["b", true], ["i", "-1"], ["u", "1"], ["f", "3ff0…"] (the bits in
// hexadecimal), ["s", BASE64], ["y", BASE64] for bytes, ["l", [TREE…]], ["m", [[BASE64, TREE]…]].
package yaml

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	goyaml2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"
)

// Answer is the text or the value that came out, and the error. Some have a value and an error.
type Answer struct {
	Out   []byte
	Value any
	Err   string
}

// Run answers a question about one input.
func Run(op string, in []byte) (a Answer) {
	// go-yaml has inputs that it panics on. What Helm then does is up to text/template.
	defer func() {
		if p := recover(); p != nil {
			a = Answer{Err: fmt.Sprintf("panic: %v", p)}
		}
	}()
	if strings.Contains(op, "yaml") && !strings.HasPrefix(op, "to-") && ambiguous(in) {
		return Answer{Err: "panic: the result depends on the order of Go's maps"}
	}
	out, value, err := answerTo(op, in)
	// go-yaml's order of keys can contradict itself (1_0 < 077 < 0o7 < 1_0). Then it depends on Go's maps as well.
	for i := 0; i < 10 && len(in) < 4096 && strings.HasPrefix(op, "to-yaml"); i++ {
		if again, _, _ := answerTo(op, in); !bytes.Equal(again, out) {
			return Answer{Err: "panic: the result depends on the order of Go's maps"}
		}
	}
	a = Answer{Out: out, Value: Tree(value)}
	if err != nil {
		a.Err = err.Error()
		a.Out = nil
	}
	return a
}

func answerTo(op string, in []byte) (out []byte, value any, err error) {
	switch op {
	case "yaml-to-json":
		out, err = yaml.YAMLToJSON(in)
	case "yaml-to-json-strict":
		out, err = yaml.YAMLToJSONStrict(in)
	case "from-yaml-map":
		m := map[string]any{}
		err = yaml.Unmarshal(in, &m)
		value = m
	case "from-yaml-map-strict":
		m := map[string]any{}
		err = yaml.UnmarshalStrict(in, &m)
		value = m
	case "from-yaml-list":
		l := []any{}
		err = yaml.Unmarshal(in, &l)
		value = l
	case "yaml-again":
		if err = yaml.Unmarshal(in, &value); err == nil {
			out, err = yaml.Marshal(value)
		}
		value = nil
	case "yaml-again-pretty":
		if err = yaml.Unmarshal(in, &value); err == nil {
			out, err = pretty(value)
		}
		value = nil
	case "from-json-map":
		m := map[string]any{}
		err = json.Unmarshal(in, &m)
		value = m
	case "from-json-list":
		l := []any{}
		err = json.Unmarshal(in, &l)
		value = l
	case "from-json":
		err = json.Unmarshal(in, &value)
	case "check-json":
		var ignored any
		err = json.Unmarshal(in, &ignored)
	case "check-yaml":
		var ignored any
		err = yaml.Unmarshal(in, &ignored)
	case "nodes-marked":
		out, err = marked(in)
	case "nodes-unmarked":
		out, err = unmarked(in)
	default:
		return answerToTree(op, in)
	}
	return out, value, err
}

// answerToTree handles the operations whose input is a TREE.
func answerToTree(op string, in []byte) ([]byte, any, error) {
	var spelled any
	if err := json.Unmarshal(in, &spelled); err != nil {
		return nil, nil, err
	}
	value := Untree(spelled)
	var buffer bytes.Buffer
	switch op {
	case "to-yaml":
		out, err := yaml.Marshal(value)
		return out, nil, err
	case "to-yaml-pretty":
		out, err := pretty(value)
		return out, nil, err
	case "to-json":
		out, err := json.Marshal(value)
		return out, nil, err
	case "to-json-pretty":
		out, err := json.MarshalIndent(value, "", "  ")
		return out, nil, err
	case "to-json-raw":
		encoder := json.NewEncoder(&buffer)
		encoder.SetEscapeHTML(false)
		err := encoder.Encode(value)
		return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil, err
	}
	return nil, nil, fmt.Errorf("yaml-oracle: no operation %q", op)
}

// ambiguous tells whether sigs.k8s.io/yaml makes something else of a document each time, because it goes through Go maps
// in which several keys turn into one string, or several keys are wrong.
func ambiguous(document []byte) bool {
	var value any
	if goyaml2.Unmarshal(document, &value) != nil {
		return false
	}
	wrong := 0
	return collides(value, &wrong) || wrong > 1
}

func collides(value any, wrong *int) bool {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if collides(item, wrong) {
				return true
			}
		}
	case map[any]any:
		seen := map[string]bool{}
		for key, item := range v {
			switch key.(type) {
			case nil, uint64:
				*wrong++
			}
			text := fmt.Sprint(key)
			if f, ok := key.(float64); ok {
				text = strconv.FormatFloat(f, 'g', -1, 32)
			}
			if seen[text] || collides(item, wrong) {
				return true
			}
			seen[text] = true
		}
	}
	return false
}

// pretty is what Helm's toYamlPretty does.
func pretty(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := goyaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// Tree spells a value.
func Tree(value any) any {
	switch v := value.(type) {
	case nil:
		return nil
	case bool:
		return []any{"b", v}
	case int64:
		return []any{"i", strconv.FormatInt(v, 10)}
	case float64:
		return []any{"f", strconv.FormatUint(math.Float64bits(v), 16)}
	case string:
		return []any{"s", []byte(v)}
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = Tree(item)
		}
		return []any{"l", items}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		entries := make([]any, len(keys))
		for i, key := range keys {
			entries[i] = []any{[]byte(key), Tree(v[key])}
		}
		return []any{"m", entries}
	}
	return []any{"?", fmt.Sprintf("%T", value)}
}

// Untree is the value that was spelled.
func Untree(spelled any) any {
	pair, ok := spelled.([]any)
	if !ok {
		return nil
	}
	switch kind, content := pair[0].(string), pair[1]; kind {
	case "b":
		return content
	case "i":
		n, _ := strconv.ParseInt(content.(string), 10, 64)
		return n
	case "u":
		n, _ := strconv.ParseUint(content.(string), 10, 64)
		return n
	case "f":
		bits, _ := strconv.ParseUint(content.(string), 16, 64)
		return math.Float64frombits(bits)
	case "s":
		return string(decode(content))
	case "y":
		return decode(content)
	case "l":
		items := []any{}
		for _, item := range content.([]any) {
			items = append(items, Untree(item))
		}
		return items
	case "m":
		entries := map[string]any{}
		for _, entry := range content.([]any) {
			entry := entry.([]any)
			entries[string(decode(entry[0]))] = Untree(entry[1])
		}
		return entries
	}
	panic("yaml-oracle: no kind " + strings.TrimSpace(fmt.Sprint(pair[0])))
}

func decode(content any) []byte {
	bytes, err := base64.StdEncoding.DecodeString(content.(string))
	if err != nil {
		panic(err)
	}
	return bytes
}
