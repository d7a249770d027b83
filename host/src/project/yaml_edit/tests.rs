use super::*;
use serde_json::json;

const DEPLOYMENT: &str = "\
# Above.
apiVersion: apps/v1
spec:
  replicas: 1
  template:
    spec:
      containers:
      # The proxy.
      - name: proxy
        image: p
      - args:
        - --leader-elect
        # the second
        - --x=1
        image: i # why
        name: manager
        resources:
          limits:
            cpu: 200m
            memory: 100Mi

      # At the end.
      serviceAccountName: a
";

fn containers() -> Path {
    keys(&["spec", "template", "spec", "containers"])
}

#[test]
fn values_are_put_in_the_place_of_others_and_comments_stay() {
    let mut document = Document::parse(DEPLOYMENT).unwrap();
    document.set(&keys(&["spec", "replicas"]), json!(2)).unwrap();
    let manager = item(&containers(), 1);
    document.set(&below(&manager, &["image"]), json!("j")).unwrap();
    document.set(&below(&manager, &["securityContext", "capabilities", "drop"]), json!(["ALL"])).unwrap();
    document.append(&below(&manager, &["args"]), vec![json!("--y")], None).unwrap();
    document.remove(&below(&manager, &["resources", "limits", "cpu"])).unwrap();
    let expected = DEPLOYMENT
        .replace("replicas: 1", "replicas: 2")
        .replace("image: i # why", "image: j")
        .replace("        - --x=1\n", "        - --x=1\n        - --y\n")
        .replace("            cpu: 200m\n", "")
        .replace(
            "            memory: 100Mi\n",
            "            memory: 100Mi\n        securityContext:\n          capabilities:\n            drop:\n            - ALL\n",
        );
    assert_eq!(document.text(), expected);
}

#[test]
fn an_item_goes_with_its_comment_and_a_dash_moves_on() {
    let mut document = Document::parse(DEPLOYMENT).unwrap();
    document.remove(&item(&containers(), 0)).unwrap();
    document.remove(&below(&item(&containers(), 0), &["args"])).unwrap();
    let expected = DEPLOYMENT
        .replace("      # The proxy.\n      - name: proxy\n        image: p\n", "")
        .replace("      - args:\n        - --leader-elect\n        # the second\n        - --x=1\n", "")
        .replace("        image: i", "      - image: i");
    assert_eq!(document.text(), expected);
}

#[test]
fn the_last_of_a_list_leaves_an_empty_list() {
    let mut document = Document::parse("a:\n- x\nb:\n  c: 1\n").unwrap();
    document.remove(&item(&keys(&["a"]), 0)).unwrap();
    document.remove(&keys(&["b", "c"])).unwrap();
    assert_eq!(document.text(), "a: []\nb: {}\n");
    document.append(&keys(&["a"]), vec![json!("y")], None).unwrap();
    document.set(&keys(&["b", "d"]), json!(2)).unwrap();
    assert_eq!(document.value(), &json!({"a": ["y"], "b": {"d": 2}}));
}

#[test]
fn what_is_not_in_block_style_is_left_alone() {
    for text in
        ["spec: {replicas: 1}\n", "spec: &a\n  replicas: 1\nother: *a\n", "{\"spec\": {\"replicas\": 1}}\n"]
    {
        let mut document = Document::parse(text).unwrap();
        let refused = document.set(&keys(&["spec", "replicas"]), json!(2));
        if refused.is_ok() {
            assert_eq!(document.value()["spec"]["replicas"], json!(2), "{text}");
        } else {
            assert_eq!(document.text(), text);
        }
    }
    let mut flow = Document::parse("spec: {replicas: 1}\n").unwrap();
    let said = flow.set(&keys(&["spec", "replicas"]), json!(2)).unwrap_err().to_string();
    assert!(said.contains("(spec.replicas)"), "{said}");
}

#[test]
fn a_text_of_lines_with_colons_is_no_mapping() {
    let text = "a: |\n  spec: 1\n  b: 2\nspec: 3\n";
    let mut document = Document::parse(text).unwrap();
    document.set(&keys(&["spec"]), json!(4)).unwrap();
    assert_eq!(document.text(), "a: |\n  spec: 1\n  b: 2\nspec: 4\n");
    assert!(document.set(&keys(&["a", "spec"]), json!(5)).is_err());
}

#[test]
fn lines_go_above_a_marker_in_both_its_spellings() {
    for marker in ["#+kubebuilder:scaffold:rules", "# +kubebuilder:scaffold:rules"] {
        let text = format!("rules:\n  {marker}\nend: 1\n");
        assert_eq!(
            at_marker(&text, "rules", "- a\n").unwrap(),
            format!("rules:\n  - a\n  {marker}\nend: 1\n")
        );
    }
    assert_eq!(at_marker("#+kubebuilder:scaffold:rulesets\n", "rules", "- a\n"), None);
}

#[test]
fn documents_are_split_where_they_begin() {
    let text = "# head\n---\na: 1\n---\nb: |\n  ---x\n--- # more\nc: 3\n";
    let parts = documents(text);
    assert_eq!(parts, ["# head\n---\na: 1\n", "---\nb: |\n  ---x\n", "--- # more\nc: 3\n"]);
    assert_eq!(parts.concat(), text);
}
