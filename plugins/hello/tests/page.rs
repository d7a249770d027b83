//! `docs/plugin-authoring.md` shows code of this repository, and nothing else.

#[cfg(test)]
mod tests {
    const PAGE: &str = include_str!("../../../docs/plugin-authoring.md");
    const HELLO: &str = include_str!("../src/lib.rs");
    const MANIFEST: &str = include_str!("../plugin.yaml");
    const QUOTED: [&str; 2] = [include_str!("hello.rs"), include_str!("../../sdk/tests/authoring.rs")];

    /// The code blocks of a language, in order.
    fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
        let fence = format!("```{language}\n");
        text.split(&fence).skip(1).filter_map(|rest| rest.split("\n```").next()).collect()
    }

    /// The page up to and behind the end of the chapter that explains `hello`.
    fn chapters() -> (&'static str, &'static str) {
        PAGE.split_once("\n## The manifest\n").unwrap()
    }

    fn lines(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.trim().is_empty()).collect()
    }

    fn without_space(text: &str) -> String {
        text.split_whitespace().collect()
    }

    #[test]
    fn it_goes_through_every_line_of_hello() {
        let shown = blocks(chapters().0, "rust").join("\n");
        assert_eq!(lines(&shown), lines(HELLO));
    }

    #[test]
    fn it_shows_the_manifest_whole() {
        assert_eq!(blocks(chapters().1, "yaml"), [MANIFEST.trim_end()]);
    }

    #[test]
    fn everything_else_it_shows_stands_in_tests() {
        let shown = blocks(chapters().1, "rust");
        assert!(shown.len() > 5, "{}", shown.len());
        for block in shown {
            // Indentation and line breaks are rustfmt's.
            let known = |file: &&str| without_space(file).contains(&without_space(block));
            assert!(QUOTED.iter().any(known), "no test contains this block:\n{block}");
        }
    }

    #[test]
    fn hello_is_short() {
        assert!(HELLO.lines().count() < 120);
    }
}
