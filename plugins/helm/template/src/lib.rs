//! Go's text/template: lexer, parser, evaluator and fmt verbs. Knows nothing of Helm.
