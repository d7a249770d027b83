//! What breaks a schema, whatever the order it is told in.
//!
//! Helm's library goes through the keywords of a schema in a fixed order, through lists by their indices and through
//! `required` as the schema has it. Where it goes through a map Go changes the order each time: the properties of an
//! object, what `patternProperties` and `propertyNames` say of them, the names of additional properties, and the
//! dependencies. So causes beside each other may come in any order, and nothing else may.

/// What such an error has in it.
const MARK: &str = "specifications of the schema(s)";
/// How a cause begins.
const CAUSE: &str = "- at '";
const ADDITIONAL: &str = "additional properties ";

/// The text with causes beside each other, and names beside each other, in order. Other texts stay as they are.
#[must_use]
pub fn in_order(text: &str) -> String {
    if !text.contains(MARK) {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    sorted(&lines, &mut out);
    out.join("\n")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_cause(line: &str) -> bool {
    line.trim_start_matches(' ').starts_with(CAUSE)
}

/// Lines of one depth and below, with runs of causes sorted.
fn sorted(lines: &[&str], out: &mut Vec<String>) {
    let mut run: Vec<Vec<String>> = Vec::new();
    let mut rest = lines;
    while let Some((first, after)) = rest.split_first() {
        let own = indent(first);
        let below = after.iter().take_while(|line| indent(line) > own && !line.trim().is_empty()).count();
        let (inside, following) = after.split_at(below);
        rest = following;
        let mut block = vec![names_in_order(first)];
        sorted(inside, &mut block);
        if is_cause(first) {
            run.push(block);
        } else {
            end(&mut run, out);
            out.append(&mut block);
        }
    }
    end(&mut run, out);
}

fn end(run: &mut Vec<Vec<String>>, out: &mut Vec<String>) {
    run.sort_unstable();
    out.extend(run.drain(..).flatten());
}

/// The line with the names of additional properties sorted.
fn names_in_order(line: &str) -> String {
    let Some((before, rest)) = line.split_once(ADDITIONAL) else { return line.to_owned() };
    let Some((names, after)) = rest.rsplit_once(" not allowed") else { return line.to_owned() };
    let mut names: Vec<&str> = names.split(", ").collect();
    names.sort_unstable();
    format!("{before}{ADDITIONAL}{} not allowed{after}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(causes: &str) -> String {
        format!(
            "Error: values don't meet the {MARK} in the following chart(s):\nc:\n{causes}\nd:\n- at '': x"
        )
    }

    #[test]
    fn causes_beside_each_other_may_come_in_any_order() {
        let one = error(
            "- at '/b': one of\n  - at '/b/x': 1\n  - at '/b/a': 2\n- at '/a': additional properties 'y', 'x' not allowed",
        );
        let other = error(
            "- at '/a': additional properties 'x', 'y' not allowed\n- at '/b': one of\n  - at '/b/a': 2\n  - at '/b/x': 1",
        );
        assert_eq!(in_order(&one), in_order(&other));
    }

    #[test]
    fn causes_of_one_another_and_of_other_charts_are_not_mixed() {
        let nested = error("- at '/b': 1\n  - at '/b/x': 1\n- at '/a': 2");
        let moved = error("- at '/b': 1\n- at '/a': 2\n  - at '/b/x': 1");
        assert_ne!(in_order(&nested), in_order(&moved));
        let elsewhere = nested.replace("c:", "e:");
        assert_ne!(in_order(&nested), in_order(&elsewhere));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let text = "- at 'b'\n- at 'a'\n";
        assert_eq!(in_order(text), text);
    }
}
