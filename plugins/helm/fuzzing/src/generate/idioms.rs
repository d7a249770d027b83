//! What templates of real charts are made of, over the values that made-up charts have.

use crate::Random;

/// Definitions that the pieces below include; names are the same in all charts, so that the parent's win.
pub(super) const HELPERS: &str = r#"{{/* Definitions. */}}
{{- define "fullname" -}}
{{- if .Values.name }}{{ .Values.name | toString | trunc 63 | trimSuffix "-" }}
{{- else }}{{ $name := default .Chart.Name .Values.a | toString }}
{{- if contains $name .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-%s" .Release.Name $name | trunc 24 }}{{ end }}
{{- end }}
{{- end }}
{{- define "labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "selector" . }}
{{- with .Chart.AppVersion }}
version: {{ . | quote }}
{{- end }}
{{- end -}}
{{- define "selector" }}app: {{ include "fullname" . }}{{ end }}
{{- define "value" }}{{ $value := typeIs "string" .value | ternary .value (.value | toYaml) -}}
{{ if contains "{{" (toJson .value) }}{{ tpl $value .context }}{{ else }}{{ $value }}{{ end }}{{ end }}
{{- define "walk" }}{{ range $key, $inner := . }}{{ if kindIs "map" $inner }}{{ $key }}/{{ include "walk" $inner }}{{ else }}{{ $key }}={{ $inner }};{{ end }}{{ end }}{{ end }}
{{- define "twice" }}{{ range $i := until 2 }}{{ $i }}:{{ template "selector" $ }} {{ end }}{{ end }}
{{- define "returns" }}{{ dict "result" . "kind" (kindOf .) | toJson }}{{ end }}
"#;

/// Pieces of lines and whole lines; `@P` is a path of values, `@T` another piece, `@K` a key, `@N` a number, `@G` a
/// pattern of files.
const PIECES: &[&str] = &[
    "{{ include \"fullname\" . | quote }}",
    "\n  labels: {{- include \"labels\" . | nindent 4 }}",
    "{{ include \"value\" (dict \"value\" @P \"context\" $) | nindent 4 }}",
    "{{ include \"value\" (dict \"value\" (print \"{{ @P }}\") \"context\" .) }}",
    "{{ template \"twice\" $ }}",
    "{{ include \"walk\" (dict \"w\" @P) }}",
    "{{ (include \"returns\" @P | fromJson).result | toYaml | nindent 2 }}",
    "{{- with @P }}\n  k: {{- toYaml . | nindent 4 }}\n{{- else with @P }}\n  e: {{ . }}\n{{- else }}\n  none: @T\n{{- end }}",
    "{{ range $k, $v := @P }}\n  {{ $k }}: {{ $v | toJson }}{{ else }} nothing{{ end }}",
    "{{ range @P }}\n  - {{ . | quote }}{{ end }}",
    "{{- range $i, $e := list 1 \"x\" @P }}\n  - {{ $i }}{{ $e }}{{ if eq $i 1 }}{{ continue }}{{ end }}!{{ end }}",
    "{{ range $i := until @N }}{{ if gt $i 2 }}{{ break }}{{ end }}{{ $i }}@T{{ end }}",
    "{{ range $k, $v := .Values }}{{ $k }}:{{ kindOf $v }} {{ end }}",
    "{{- if and @P (not @P) }}\n  yes: {{ @P }}\n{{- else if or @P @P }}\n  or: {{ @P }}\n{{- else }}\n  no: {}\n{{- end }}",
    "{{ if hasKey .Values \"@K\" }}{{ .Values.@K }}{{ end }}",
    "{{ if kindIs \"map\" @P }}{{ keys @P | sortAlpha | join \",\" }}{{ else }}{{ kindOf @P }}/{{ typeOf @P }}{{ end }}",
    "{{ define \"@K\" }}[{{ . }}]{{ end }}{{ template \"@K\" @P }}",
    "{{ block \"block-@K\" @P }}({{ . }}){{ end }}",
    "{{ block \"selector\" . }}mine{{ end }}",
    "{{ tpl \"{{ define \\\"selector\\\" }}from tpl{{ end }}{{ include \\\"selector\\\" . }}\" . }}{{ include \"selector\" . }}",
    "{{ tpl (toYaml @P) . }}",
    "{{ tpl (print \"{{ range $k, $v := \" \"@P }}{{ $k }}{{ end }}\") $ }}",
    "{{ tpl \"{{ .Values.a }}{{ .Template.Name }}\" (dict \"Values\" .Values \"Template\" .Template) }}",
    "{{ tpl \"{{ .x }}\" (dict \"x\" @P) }}",
    "{{ $x := merge (dict \"a\" 1 \"z\" (dict)) (dict \"m\" @P) }}{{ $x | toJson }}",
    "{{ mergeOverwrite (dict \"m\" (dict \"a\" \"old\" \"o\" 1)) (dict \"m\" @P) | toJson }}",
    "{{ mustMergeOverwrite (dict) (deepCopy .Values) (dict \"@K\" nil) | toYaml | nindent 2 }}",
    "{{ $_ := set .Values \"@K\" @P }}{{ .Values.@K | toJson }}",
    "{{ $_ := unset .Values \"@K\" }}{{ .Values | toJson }}",
    "{{ $c := . }}{{ with @P }}{{ $c.Chart.Name }}{{ $.Release.Name }}{{ . | toString | len }}{{ end }}",
    "{{ dig \"@K\" \"@K\" \"fallback\" .Values }}",
    "{{ dig \"@K\" @P .Values.AsMap }}",
    "{{ get .Values \"@K\" | default \"d\" | quote }} {{ pluck \"@K\" .Values .Values.global | toJson }}",
    "{{ omit .Values \"@K\" \"b\" | toYaml | nindent 2 }}{{ pick .Values \"@K\" | toJson }}",
    "{{ coalesce @P @P \"last\" | toJson }} {{ ternary @P @P (empty @P) | toJson }}",
    "{{ required \"the value @K is needed\" @P }}",
    "{{ @P | default (dict \"x\" 1) | toYaml | indent 2 | trim }}",
    "{{ @P | int }}/{{ @P | int64 | add 1 }}/{{ @P | float64 }}/{{ @P | toString | atoi }}",
    "{{ @P | toString | b64enc | b64dec | sha256sum }}",
    "{{ printf \"%v|%s|%d|%q|%5.2f|%T|%+v|%x\" @P @P @P @P @P @P @P @P }}",
    "{{ @P | squote }}{{ @P | quote }}{{ cat @P @N }}",
    "{{ eq @P @P }}{{ ne @P nil }}{{ eq (@P | toString) \"1\" }}",
    "{{ lt (int @P) @N }}{{ ge (@P | toString) \"a\" }}",
    "{{ regexReplaceAll \"[^-A-Za-z0-9_.]\" (@P | toString) \"-\" | lower | trunc @N }}",
    "{{ toToml .Values | nindent 2 }}",
    "{{ fromYaml (toYaml @P) | toJson }}{{ fromYamlArray (toYaml @P) | toJson }}",
    "{{ fromYaml \"a: [1\" }}",
    "{{ (lookup \"v1\" \"Secret\" .Release.Namespace \"@K\").data | toJson }}{{ lookup \"v1\" \"Pod\" \"\" \"\" | len }}",
    "{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.KubeVersion.Minor | int | add @N }}",
    "{{ semverCompare \">=1.@N-0\" .Capabilities.KubeVersion.GitVersion }}{{ .Capabilities.HelmVersion.Version }}",
    "{{ if .Capabilities.APIVersions.Has \"policy/v1/PodDisruptionBudget\" }}policy/v1{{ else }}policy/v1beta1{{ end }}",
    "{{ .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" }}{{ .Capabilities.APIVersions | len }}",
    "{{ .Release | toJson }}{{ .Release.IsInstall }}{{ .Release.Service }}",
    "{{ .Chart.Dependencies | toJson }}{{ .Chart.IsRoot }}{{ .Chart.Type }}",
    "{{ .Template.Name | base }} {{ $.Template.BasePath }}",
    "\n{{ (.Files.Glob \"conf/**\").AsConfig | indent 2 }}",
    "\n{{ (.Files.Glob \"conf/*.{txt,json}\").AsSecrets | indent 2 }}",
    "{{ .Files.Glob @G | keys | sortAlpha }}",
    "{{ range $path, $_ := .Files.Glob @G }}{{ $path }} {{ end }}",
    "{{ range $path, $bytes := .Files.Glob \"**\" }}\n  {{ base $path }}: {{ $.Files.Get $path | quote }}{{ end }}",
    "{{ range .Files.Lines \"conf/lines.txt\" }}\n  - {{ . | quote }}{{ end }}",
    "{{ .Files.Get \"missing\" }}{{ .Files.GetBytes \"conf/a.txt\" | len }}{{ .Files.Get \"conf/raw.bin\" | b64enc }}",
    "{{ tpl (.Files.Get \"conf/a.txt\") . }}",
    "{{ .Subcharts.kid.Values | toJson }}{{ .Subcharts.a.Chart.Name }}",
    "{{ include \"fullname\" .Subcharts.kid }}",
    "{{ include (print $.Template.BasePath \"/_part.yaml\") . | sha256sum }}",
    "{{ include (print .Template.BasePath \"/_h.tpl\") . | trim }}",
    "{{ include \"top/templates/_h.tpl\" . | len }}",
    "{{- /* a comment */ -}} {{- \"trimmed\" -}} \n",
    "{{`{{ raw }}`}}{{ \"}}\" }}",
    "{{ $v := @P }}{{ if $v }}{{ $v = \"set\" }}{{ end }}{{ $v }}",
    "{{ $list := list }}{{ range $k, $_ := .Values }}{{ $list = append $list $k }}{{ end }}{{ $list | join \"|\" }}",
    "{{ len @P }}{{ first @P }}{{ index @P 0 }}",
    "{{ index .Values \"@K\" \"@K\" }}{{ (index .Values \"@K\").b }}",
    "{{ .Values.@K.b.c.d }}",
    "{{ ((.Values.@K).b).c }}",
    "{{ @P | toRawJson }}{{ @P | toPrettyJson | nindent 2 }}",
    "{{ @P | toYamlPretty | nindent 2 }}",
    "{{ uniq (list @P @P 1) | toJson }}{{ without (list @P 1 2) 1 | toJson }}{{ has @P (list 1 \"x\") }}",
    "{{ fail (printf \"stopped by %v\" @P) }}",
    "{{ @P.method }}",
    "{{ range $name, $sub := .Subcharts }}{{ $name }}={{ $sub.Values | toJson }} {{ $sub.Chart.Version }};{{ end }}",
    "{{ with .Values.list }}{{ range $i, $e := . }}{{ if $i }}, {{ end }}{{ $e | toJson }}{{ end }}{{ end }}",
    "{{ include \"labels\" . | fromYaml | toJson }}{{ (include \"labels\" . | fromYaml).app }}",
    "{{- range tuple 1 2 }}\n  {{ . }}: {{ $.Values.name | default \"x\" }}\n  {{- end }}",
    "{{ $o := dict \"root\" $ \"v\" @P }}{{ with $o }}{{ .root.Chart.Name }}{{ .v | toJson }}{{ end }}",
    "{{ (tpl (printf \"{{ %s | toJson }}\" \"@P\") .) | fromJson | default dict | toYaml }}",
    "{{ $_ := set $.Values \"shared\" (append ($.Values.shared | default list) .Chart.Name) }}{{ .Values.shared | toJson }}",
    "{{ $_ := set .Values.global \"seen\" .Chart.Name }}{{ .Values.global | toJson }}",
    "{{ mustMerge .Values (dict \"a\" (dict \"deep\" true) \"new\" @P) | toJson }}{{ .Values.new | toJson }}",
    "{{ if eq (typeOf @P) \"string\" }}{{ @P | splitList \" \" | first | quote }}{{ else if kindIs \"slice\" @P }}{{ @P | first | toJson }}{{ end }}",
    "{{ .Values | toYaml | sha256sum | trunc 8 }}{{ .Values | toJson | b64enc | len }}",
    "\n  {{- if .Values.list }}\n  args:\n  {{- range .Values.list }}\n  - {{ tpl (toString .) $ | quote }}\n  {{- end }}\n  {{- end }}",
    "{{ regexReplaceAllLiteral \"[^a-z]+\" (@P | toString | lower) \"-\" }}{{ @P | toString | sha1sum | trunc 6 }}",
    "{{ .Chart | toJson }}{{ .Chart.Annotations | toJson }}{{ .Chart.Maintainers | toJson }}{{ .Chart.Keywords }}",
    "{{ .Values.date | toString }}{{ kindOf .Values.date }}{{ .Values.number }} {{ .Values.number | toString }} {{ .Values.number | toJson }}",
    "{{ and (hasKey .Values \"@K\") (kindIs \"map\" .Values.@K) (dig \"b\" \"none\" .Values.@K) | toJson }}",
    "{{ get (get .Values \"@K\") \"b\" }}",
    "{{ .Values.@K | toToml }}{{ toToml (dict \"t\" .Values.@K) }}",
    "{{ $kids := list }}{{ range .Chart.Dependencies }}{{ $kids = append $kids (.Alias | default .Name) }}{{ end }}{{ $kids | join \",\" }}",
];

/// Paths of values; the tables of values have few keys.
const PATHS: &[&str] = &[
    ".Values.a",
    ".Values.b",
    ".Values.c",
    ".Values.d",
    ".Values.name",
    ".Values.enabled",
    ".Values.global",
    ".Values.kid",
    "$.Values.global.a",
    "$.Values.kid.a",
    "(.Values.a).b",
    "((.Values.b).c).d",
    "(index .Values \"name\")",
    "(.Values.none | default 1e3)",
    ".Values.list",
    ".Values.text",
    ".Values.number",
    ".Values.date",
];

/// A few pieces in a row.
pub(super) fn body(random: &mut Random) -> String {
    (0..1 + random.below(2)).map(|_| piece(random, 2)).collect::<Vec<_>>().join(" ")
}

fn piece(random: &mut Random, depth: usize) -> String {
    let mut out = String::new();
    let mut rest = random.pick(PIECES);
    while let Some((before, after)) = rest.split_once('@') {
        out.push_str(before);
        match after.as_bytes().first() {
            Some(b'P') => out.push_str(random.pick(PATHS)),
            Some(b'K') => {
                out.push_str(random.pick(&["a", "b", "c", "d", "enabled", "global", "kid", "name"]));
            }
            Some(b'G') => out.push_str(&super::ignored::glob(random)),
            Some(b'N') => out.push_str(random.pick(&["0", "1", "3", "31", "64"])),
            _ if depth > 0 => out.push_str(&piece(random, depth - 1)),
            _ => {}
        }
        rest = &after[1..];
    }
    out + rest
}

/// Values as people write them: numbers, texts and dates of every spelling, anchors, blocks, comments.
const ENTRIES: &[&str] = &[
    "list: [1, two, null, 3.0, {x: y}]\n",
    "list:\n- a\n- b: 1\n  c: 2\n-\n  - nested\n  -\n",
    "list: &list\n  - 1e3\n  - 0x1F\nb: *list\n",
    "text: |\n  line one\n    line two\n\n  line three\n\n",
    "text: |+\n  kept\n\n\n",
    "text: >-\n  folded text\n  goes on\n\n  and on\n",
    "text: \"a long text with so many words in it that a writer of YAML has to fold it somewhere, and once more: here\"\n",
    "text: 'it''s {{ .Release.Name }}'\n",
    "text: \"{{ .Values.a | quote }} and {{ include \\\"fullname\\\" . }}\"\n",
    "text: \"tab\\tquote\\\" \\u00e9 \\U0001F600\"\n",
    "text: !!binary aGVsbG8=\n",
    "text: !!str 123\n",
    "number: 1e3\n",
    "number: 0x1F\n",
    "number: 0o17\n",
    "number: 017\n",
    "number: 1_000\n",
    "number: .inf\n",
    "number: 12345678901234567890\n",
    "number: 1.10\n",
    "number: 1000000\n",
    "number: -0.0\n",
    "number: 1:30\n",
    "number: 0b101\n",
    "number: +5\n",
    "date: 2024-02-29\n",
    "date: 2024-02-29T12:00:00Z\n",
    "date: 2001-12-14 21:59:43.10 -5\n",
    "date: '2024-02-29'\n",
    "enabled: yes\n",
    "enabled: \"no\"\n",
    "enabled: off # comment\n",
    "name: ~\n",
    "name: my-name\n",
    "a: &anchor {b: 1, x: [2]}\nc:\n  <<: *anchor\n  x: over\n",
    "d: {b: {c: {d: deep}}}\n",
    "? b\n: c:\n    d: 1\n",
    "\"quoted key\": {1: one, true: yes, null: nothing, 1.5: half}\n",
    "# a comment\n\nb: {}   # another\n",
    "kid: {a: from parent, b: null, name: kids-name, enabled: true}\n",
    "global: {a: 1, enabled: false, b: {c: {d: g}}}\n",
    "global: null\n",
    "kid: null\n",
    "kid-two: {enabled: false, name: two}\n",
    "tags: {front: false, a: true, b: null}\n",
    "tags: {front: \"yes\", enabled: off}\n",
    "exports: {a: {from: exports, list: [1]}, d: {kid: {x: y}}, none: text}\n",
    "lib: {a: given, exports: {a: null}}\n",
    "other: {a: for an alias, global: {a: 2}}\n",
    "c: []\n",
    "a: \"\"\n",
    "d: \"y\"\n",
];

/// Values of that kind. A key may come twice: then it is no values file, as it should be.
pub(super) fn values(random: &mut Random) -> String {
    let mut out = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for _ in 0..1 + random.below(8) {
        let entry = random.pick(ENTRIES);
        let key = entry.split(':').next().unwrap_or_default();
        if !seen.contains(&key) || random.one_in(30) {
            out.push_str(entry);
            seen.push(key);
        }
    }
    out
}
