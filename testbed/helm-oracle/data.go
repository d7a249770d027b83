package oracle

import (
	"math"

	"helm.sh/helm/v4/pkg/chart/common"
)

// data is what templates are executed with. ../differential/data.rs has its twin.
func data() map[string]any {
	return map[string]any{
		"nil": nil, "t": true, "f": false,
		"i": 3, "ineg": -7, "i0": 0, "imax": math.MaxInt64, "imin": math.MinInt64,
		"i8": int8(-8), "i16": int16(1600), "i32": int32(-32), "i64": int64(64),
		"u": uint(4), "u8": uint8(200), "u16": uint16(16), "u32": uint32(math.MaxUint32), "u64": uint64(math.MaxUint64),
		"f32": float32(1.1), "fl": 2.5, "fneg": -3.7, "fbig": 1e21, "fhuge": 1e308, "fsmall": 1e-7, "fmillion": 1e6,
		"ftenth": 0.1, "fthird": 1.0 / 3, "nan": math.NaN(), "inf": math.Inf(1), "ninf": math.Inf(-1),
		"f0": 0.0, "fneg0": math.Copysign(0, -1),
		"s": "hello World", "empty": "", "uni": "héllo wörld ŝ€😀ß", "bad": "a\xffb\xc3",
		"space": "  \t spaced \u00a0out\u2003\n", "num": "42", "multi": "line1\nline2\n\nline4\n",
		"bytes": []byte("by\xfftes"), "strs": []string{"b", "a", "c", "a"}, "ints": []int{3, 1, 2, 1},
		"floats": []float64{1.5, 0, -2},
		"list":   []any{1, "a", nil, 2.5, true, "a", int64(1)}, "elist": []any{}, "nillist": []any(nil),
		"deep": []any{[]any{1, []any{"x"}}, map[string]any{"k": []any{}}, "", 0},
		"maps": []map[string]any{{"a": 1}, {"a": 2, "b": nil}},
		"map": map[string]any{
			"a": 1, "b": "two", "c": map[string]any{"d": []any{1, 2}, "x": map[string]any{"y": "z"}}, "e": nil, "z": "",
			"n": 0.0,
		},
		"map2": map[string]any{
			"a": 2, "b": "", "c": map[string]any{"d": []any{3}, "q": true, "x": "flat"}, "e": "set", "z": "zed",
			"n": map[string]any{"m": 1}, "more": []any{nil},
		},
		"emap": map[string]any{}, "nilmap": map[string]any(nil),
		"smap":   map[string]string{"k": "v", "l": ""},
		"values": common.Values{"global": map[string]any{"g": 1}, "v": "w"},
	}
}
