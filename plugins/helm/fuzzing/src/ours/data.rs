//! The twin of `testbed/helm-oracle/data.go`.

use helm_template::{FloatType, IntType, List, Map, NamedType, Str, Type, UintType, Value};

static VALUES: NamedType = NamedType { name: "common.Values", underlying: Type::MAP, methods: &[] };
static VALUES_TYPE: Type = Type::Named(&VALUES);
static INTS: Type = Type::Slice(&Type::INT);
static FLOATS: Type = Type::Slice(&Type::FLOAT64);
static MAPS: Type = Type::Slice(&Type::MAP);

fn map(entries: &[(&str, Value)]) -> Value {
    Value::Map(entries.iter().map(|(key, value)| (*key, value.clone())).collect())
}

fn list(items: &[Value]) -> Value {
    Value::from(items.to_vec())
}

fn bytes(bytes: &[u8]) -> Value {
    Value::String(Str::from_bytes(bytes))
}

/// What templates are executed with.
pub fn data() -> Value {
    let all = Map::new();
    for part in [scalars(), texts(), lists(), maps()] {
        all.extend_from(part);
    }
    Value::Map(all)
}

/// The names of the entries.
pub fn names() -> Vec<String> {
    data().as_map().unwrap().keys().iter().map(ToString::to_string).collect()
}

fn scalars() -> Vec<(&'static str, Value)> {
    vec![
        ("nil", Value::Nil),
        ("t", true.into()),
        ("f", false.into()),
        ("i", 3.into()),
        ("ineg", (-7).into()),
        ("i0", 0.into()),
        ("imax", Value::int(i64::MAX)),
        ("imin", Value::int(i64::MIN)),
        ("i8", Value::Int(-8, IntType::Int8)),
        ("i16", Value::Int(1600, IntType::Int16)),
        ("i32", Value::Int(-32, IntType::Int32)),
        ("i64", 64_i64.into()),
        ("u", Value::Uint(4, UintType::Uint)),
        ("u8", 200_u8.into()),
        ("u16", Value::Uint(16, UintType::Uint16)),
        ("u32", u32::MAX.into()),
        ("u64", u64::MAX.into()),
        ("f32", Value::Float(f64::from(1.1_f32), FloatType::Float32)),
        ("fl", 2.5.into()),
        ("fneg", (-3.7).into()),
        ("fbig", 1e21.into()),
        ("fhuge", 1e308.into()),
        ("fsmall", 1e-7.into()),
        ("fmillion", 1e6.into()),
        ("ftenth", 0.1.into()),
        ("fthird", (1.0 / 3.0).into()),
        ("nan", f64::NAN.into()),
        ("inf", f64::INFINITY.into()),
        ("ninf", f64::NEG_INFINITY.into()),
        ("f0", 0.0.into()),
        ("fneg0", (-0.0).into()),
    ]
}

fn texts() -> Vec<(&'static str, Value)> {
    vec![
        ("s", "hello World".into()),
        ("empty", "".into()),
        ("uni", "héllo wörld ŝ€😀ß".into()),
        ("bad", bytes(b"a\xffb\xc3")),
        ("space", "  \t spaced \u{a0}out\u{2003}\n".into()),
        ("num", "42".into()),
        ("multi", "line1\nline2\n\nline4\n".into()),
        ("bytes", Value::bytes(*b"by\xfftes")),
    ]
}

fn lists() -> Vec<(&'static str, Value)> {
    let (one, two) = (map(&[("a", 1.into())]), map(&[("a", 2.into()), ("b", Value::Nil)]));
    vec![
        ("strs", List::strings(["b", "a", "c", "a"]).into()),
        ("ints", List::typed(&INTS, [3, 1, 2, 1].map(Value::from).to_vec()).into()),
        ("floats", List::typed(&FLOATS, [1.5, 0.0, -2.0].map(Value::from).to_vec()).into()),
        (
            "list",
            list(&[1.into(), "a".into(), Value::Nil, 2.5.into(), true.into(), "a".into(), 1_i64.into()]),
        ),
        ("elist", list(&[])),
        ("nillist", List::nil(&Type::SLICE).into()),
        (
            "deep",
            list(&[list(&[1.into(), list(&["x".into()])]), map(&[("k", list(&[]))]), "".into(), 0.into()]),
        ),
        ("maps", List::typed(&MAPS, vec![one, two]).into()),
    ]
}

fn maps() -> Vec<(&'static str, Value)> {
    let inner = map(&[("d", list(&[1.into(), 2.into()])), ("x", map(&[("y", "z".into())]))]);
    let inner2 = map(&[("d", list(&[3.into()])), ("q", true.into()), ("x", "flat".into())]);
    let strings = Map::typed(&Type::STRING_MAP);
    strings.extend_from([("k", "v"), ("l", "")]);
    let values = Map::typed(&VALUES_TYPE);
    values.insert("global", map(&[("g", 1.into())]));
    values.insert("v", "w");
    vec![
        (
            "map",
            map(&[
                ("a", 1.into()),
                ("b", "two".into()),
                ("c", inner),
                ("e", Value::Nil),
                ("z", "".into()),
                ("n", 0.0.into()),
            ]),
        ),
        (
            "map2",
            map(&[
                ("a", 2.into()),
                ("b", "".into()),
                ("c", inner2),
                ("e", "set".into()),
                ("z", "zed".into()),
                ("n", map(&[("m", 1.into())])),
                ("more", list(&[Value::Nil])),
            ]),
        ),
        ("emap", map(&[])),
        ("nilmap", Map::nil(&Type::MAP).into()),
        ("smap", strings.into()),
        ("values", values.into()),
    ]
}
