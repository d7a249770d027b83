package text

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Values is a defined map type with methods, as Helm's common.Values.
type Values map[string]any

func (v Values) Table(name string) (Values, error) {
	if t, ok := v[name].(map[string]any); ok {
		return t, nil
	}
	return nil, fmt.Errorf("%q is not a table", name)
}

func (v Values) Size() int { return len(v) }

// Names is a defined slice type with a method, as Helm's VersionSet.
type Names []string

func (n Names) Has(name string) bool {
	for _, one := range n {
		if one == name {
			return true
		}
	}
	return false
}

// Files is a defined map of bytes.
type Files map[string][]byte

func (f Files) Get(name string) string { return string(f[name]) }

// Point is a struct without methods.
type Point struct {
	X, Y int
	Name string
	Any  any
}

// Version is a struct with methods.
type Version struct {
	Major int
	Label string
}

func (v Version) String() string      { return fmt.Sprintf("v%d-%s", v.Major, v.Label) }
func (v Version) Bump(by int) Version { v.Major += by; return v }
func (v Version) Join(sep string, parts ...string) string {
	return v.Label + sep + strings.Join(parts, sep)
}
func (v Version) Fail() (string, error)                   { return "", errors.New("version failed") }
func (v Version) Any(x any) string                        { return fmt.Sprintf("%T", x) }
func (v Version) Narrow(n int8, f float64, b bool) string { return fmt.Sprint(n, f, b) }
func (v Version) Table(m map[string]any) int              { return len(m) }

// Millis is a defined number with a String method, as time.Duration.
type Millis int64

func (m Millis) String() string { return fmt.Sprintf("%dms", int64(m)) }

// Plain is a defined string without methods.
type Plain string

// decode turns JSON into values: numbers become float64, and objects with a single key that begins
// with a dollar sign are what that key says.
func decode(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(err)
	}
	return convert(v)
}

func convert(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = convert(v[i])
		}
		return v
	case map[string]any:
		if len(v) == 1 {
			for key, inner := range v {
				if strings.HasPrefix(key, "$") {
					return special(key[1:], inner)
				}
			}
		}
		for key := range v {
			v[key] = convert(v[key])
		}
		return v
	}
	return v
}

func number[T any](v any, to func(float64) T) T {
	if f, ok := v.(float64); ok {
		return to(f)
	}
	var out T
	if _, err := fmt.Sscan(v.(string), &out); err != nil {
		panic(err)
	}
	return out
}

func list[T any](v any) []T {
	out := []T{}
	for _, item := range v.([]any) {
		out = append(out, convert(item).(T))
	}
	return out
}

func table(v any) map[string]any { return convert(v).(map[string]any) }

func point(v any) Point {
	m := table(v)
	return Point{X: int(m["x"].(float64)), Y: int(m["y"].(float64)), Name: m["name"].(string), Any: m["any"]}
}

func special(kind string, v any) any {
	switch kind {
	case "int":
		return number(v, func(f float64) int { return int(f) })
	case "int8":
		return number(v, func(f float64) int8 { return int8(f) })
	case "int16":
		return number(v, func(f float64) int16 { return int16(f) })
	case "int32":
		return number(v, func(f float64) int32 { return int32(f) })
	case "int64":
		return number(v, func(f float64) int64 { return int64(f) })
	case "uint":
		return number(v, func(f float64) uint { return uint(f) })
	case "uint8":
		return number(v, func(f float64) uint8 { return uint8(f) })
	case "uint16":
		return number(v, func(f float64) uint16 { return uint16(f) })
	case "uint32":
		return number(v, func(f float64) uint32 { return uint32(f) })
	case "uint64":
		return number(v, func(f float64) uint64 { return uint64(f) })
	case "float32":
		return number(v, func(f float64) float32 { return float32(f) })
	case "float64":
		switch v {
		case "inf":
			return math.Inf(1)
		case "-inf":
			return math.Inf(-1)
		case "nan":
			return math.NaN()
		case "-0":
			return math.Copysign(0, -1)
		}
		return number(v, func(f float64) float64 { return f })
	case "bytes", "raw":
		b, err := base64.StdEncoding.DecodeString(v.(string))
		if err != nil {
			panic(err)
		}
		if kind == "raw" {
			return string(b)
		}
		return b
	case "strings":
		return list[string](v)
	case "ints":
		return list[int](v)
	case "maps":
		return list[map[string]any](v)
	case "stringmap":
		out := map[string]string{}
		for key, value := range v.(map[string]any) {
			out[key] = value.(string)
		}
		return out
	case "nil":
		switch v {
		case "map":
			return map[string]any(nil)
		case "slice":
			return []any(nil)
		case "point":
			return (*Point)(nil)
		case "values":
			return Values(nil)
		}
	case "values":
		return Values(table(v))
	case "names":
		return Names(list[string](v))
	case "files":
		out := Files{}
		for key, value := range v.(map[string]any) {
			out[key] = []byte(value.(string))
		}
		return out
	case "point":
		return point(v)
	case "pointer":
		p := point(v)
		return &p
	case "version":
		m := table(v)
		return Version{Major: int(m["major"].(float64)), Label: m["label"].(string)}
	case "millis":
		return Millis(v.(float64))
	case "plain":
		return Plain(v.(string))
	case "func":
		switch v {
		case "double":
			return func(n int) int { return 2 * n }
		case "fails":
			return func() (string, error) { return "", errors.New("func failed") }
		case "variadic":
			return func(first string, rest ...any) string { return first + fmt.Sprint(rest...) }
		}
	}
	panic("unknown special value " + kind)
}
