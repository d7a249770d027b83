//! Keys, certificates and passwords: random, so Go is asked what it finds in ours and in its own.

use helm_fuzzing::{Question, ask, ours};

/// What makes something, and what of it is looked at.
const MAKERS: &[(&str, &[&str])] = &[
    ("$c := genCA \"an authority\" 365", &["$c.Cert", "$c.Key"]),
    (
        "$c := genSelfSignedCert \"\" (list \"10.0.0.1\" \"::1\") (list \"a.example\" \"*.b\") 30",
        &["$c.Cert", "$c.Key"],
    ),
    ("$c := genSelfSignedCert \"hé*\" nil nil 36500", &["$c.Cert", "$c.Key"]),
    (
        "$a := genCA \"ca\" 10 }}{{ $c := genSignedCert \"x\" (list \"1.2.3.4\") (list \"x.y\") 5 $a",
        &["$a.Cert", "$c.Cert", "$c.Key"],
    ),
    (
        "$k := genPrivateKey \"ecdsa\" }}{{ $a := genCAWithKey \"ec\" 1 $k }}{{ $l := genPrivateKey \"ed25519\" }}\
         {{ $c := genSignedCertWithKey \"ed\" nil (list \"z\") 1 $a $l",
        &["$a.Cert", "$a.Key", "$c.Cert", "$c.Key"],
    ),
    (
        "$k := genPrivateKey \"ed25519\" }}{{ $c := genSelfSignedCertWithKey \"ed\" nil (list \"z\") -1 $k",
        &["$c.Cert", "$c.Key"],
    ),
    ("$k := genPrivateKey \"ecdsa\"", &["$k"]),
    ("$k := genPrivateKey \"ed25519\"", &["$k"]),
    (
        concat!(
            "$k := `",
            include_str!("keys/p384.pem"),
            "` }}{{ $c := genSelfSignedCertWithKey \"x\" nil nil 3 $k"
        ),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!("$k := `", include_str!("keys/p521.pem"), "` }}{{ $c := genCAWithKey \"x\" 3 $k"),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!(
            "$k := `",
            include_str!("keys/p521-pkcs8.pem"),
            "` }}{{ $c := genSelfSignedCertWithKey \"x\" nil (list \"y\") 3 $k"
        ),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!("$k := `", include_str!("keys/p224.pem"), "` }}{{ $c := genCAWithKey \"x\" 3 $k"),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!(
            "$k := `",
            include_str!("keys/p224-pkcs8.pem"),
            "` }}{{ $a := genCAWithKey \"x\" 3 $k }}{{ $c := genSignedCertWithKey \"y\" nil (list \"y\") 3 $a $k"
        ),
        &["$a.Cert", "$c.Cert", "$c.Key"],
    ),
    (
        concat!("$k := `", include_str!("keys/ed25519-pkcs8.pem"), "` }}{{ $c := genCAWithKey \"x\" 3 $k"),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!("$k := `", include_str!("keys/ml-dsa-44.pem"), "` }}{{ $c := genCAWithKey \"x\" 3 $k"),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!(
            "$k := `",
            include_str!("keys/ml-dsa-65.pem"),
            "` }}{{ $c := genSelfSignedCertWithKey \"x\" nil (list \"y\") 3 $k"
        ),
        &["$c.Cert", "$c.Key"],
    ),
    (
        concat!(
            "$k := `",
            include_str!("keys/ml-dsa-87.pem"),
            "` }}{{ $a := genCAWithKey \"x\" 3 $k }}{{ $c := genSignedCert \"y\" nil (list \"y\") 3 $a"
        ),
        &["$a.Cert", "$c.Cert", "$c.Key"],
    ),
    ("$k := bcrypt \"secret\"", &["$k"]),
    ("$k := htpasswd \"user\" \"secret\" | trimPrefix \"user:\"", &["$k"]),
];

#[test]
fn certificates_say_and_prove_what_helms_do() {
    // Ours are put into templates as constants for Go to look at.
    let mut templates = Vec::new();
    for (maker, looked_at) in MAKERS {
        templates
            .push(format!("{{{{ {maker} }}}}{{{{ certificates {} }}}}", looked_at.join(" ")).into_bytes());
        let shown: Vec<String> = looked_at.iter().map(|part| format!("{{{{ {part} | quote }}}}")).collect();
        let template = format!("{{{{ {maker} }}}}{}", shown.join(" "));
        let made = ours::answer(&Question::call(&template));
        assert!(made.error.is_empty(), "{maker}: {}", String::from_utf8_lossy(&made.error));
        templates.push([b"{{ certificates ", &*made.out, b" }}"].concat());
    }
    let questions: Vec<Question> = templates.iter().map(Question::call).collect();
    let Some(answers) = ask(&questions) else { return };
    for ((maker, _), pair) in MAKERS.iter().zip(answers.chunks(2)) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let [theirs, ours] = pair else { panic!("an answer is missing") };
        assert_eq!(text(&ours.error), text(&theirs.error), "{maker}");
        assert_eq!(text(&ours.out), text(&theirs.out), "{maker}");
        assert!(!ours.out.is_empty(), "{maker}");
    }
}

#[test]
fn keys_that_cannot_be_used_are_refused_in_gos_words() {
    let keys = [
        include_str!("keys/mislabelled-pkcs1.pem"),
        include_str!("keys/mislabelled-pkcs8.pem"),
        include_str!("keys/mislabelled-sec1.pem"),
        include_str!("keys/secp256k1.pem"),
        include_str!("keys/secp256k1-pkcs8.pem"),
        include_str!("keys/x25519.pem"),
        include_str!("keys/ed448.pem"),
        include_str!("keys/ml-dsa-parameters.pem"),
        include_str!("keys/ml-dsa-empty.pem"),
        include_str!("keys/ml-dsa-expanded.pem"),
        include_str!("keys/ml-dsa-both.pem"),
        include_str!("keys/ml-dsa-tag.pem"),
        include_str!("keys/ml-dsa-short.pem"),
        include_str!("keys/ml-dsa-length.pem"),
    ];
    let calls = keys.map(|key| Question::call(format!("{{{{ genCAWithKey \"x\" 3 `{key}` }}}}")));
    let Some(answers) = ask(&calls) else { return };
    for (question, theirs) in calls.iter().zip(answers) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(!theirs.error.is_empty());
        assert_eq!(text(&ours::answer(question).error), text(&theirs.error));
    }
}
