//! What `make run` runs.

use super::Edited;

const RUN: &str = "$(HELM_OPERATOR) run";

/// The host in the place of helm-operator, which `make run` downloaded.
pub(super) fn edit(text: &str) -> Edited {
    let mut edited = Edited::default();
    if !text.lines().any(|line| line.trim() == RUN) {
        return Edited::of(text);
    }
    for line in text.split_inclusive('\n') {
        if line.starts_with("run: helm-operator") {
            if !text.contains("PILOTHOUSE ?=") {
                // Before the `.PHONY` of the target, where there is one.
                let phony = edited.text.ends_with(".PHONY: run\n");
                let at = edited.text.len() - if phony { ".PHONY: run\n".len() } else { 0 };
                edited.text.insert_str(at, "PILOTHOUSE ?= pilothouse\n");
            }
            edited.text.push_str(&line.replacen("run: helm-operator", "run:", 1));
        } else if line.trim() == RUN {
            edited.text.push_str(&line.replace("$(HELM_OPERATOR)", "$(PILOTHOUSE)"));
        } else {
            edited.text.push_str(line);
        }
    }
    edited.what.push("`make run` runs pilothouse".to_owned());
    edited
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_run_runs_the_host_and_the_rest_stays() {
        let text = "all:\n.PHONY: run\nrun: helm-operator ## Run it.\n\t$(HELM_OPERATOR) run\n\nhelm-operator:\n\tcurl x\n";
        let edited = edit(text);
        let want = "all:\nPILOTHOUSE ?= pilothouse\n.PHONY: run\nrun: ## Run it.\n\t$(PILOTHOUSE) run\n\nhelm-operator:\n\tcurl x\n";
        assert_eq!(edited.text, want);
        assert_eq!(edit(want).text, want);
        assert_eq!(edit("run:\n\tgo run .\n").what, Vec::<String>::new());
    }
}
