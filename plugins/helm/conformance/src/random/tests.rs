use super::*;

mod certificates;

fn judge(theirs: &str, ours: &[&str]) -> Verdict {
    let ours: Vec<Outcome> = ours.iter().map(|text| Outcome::Rendered((*text).to_owned())).collect();
    compare_random(theirs, &ours, &["secret".to_owned()]).0
}

/// What is wrong with renderings.
fn refused(theirs: &str, ours: &[&str]) -> String {
    match judge(theirs, ours) {
        Verdict::Different(difference) => difference.to_string(),
        other => panic!("{other:?}"),
    }
}

fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}

#[test]
fn words_of_the_same_length_and_alphabet_are_alike() {
    assert_eq!(judge("a: x-are3e\n", &["a: x-1goaf\n", "a: x-21slb\n", "a: x-q0ndk\n"]), Verdict::Identical);
}

#[test]
fn what_is_the_same_in_all_of_our_renderings_has_to_be_helms() {
    assert_eq!(
        refused("mode: redis\npw: are3e\n", &["mode: mysql\npw: 1goaf\n", "mode: mysql\npw: q0ndk\n"]),
        "line 1: not random with us: \"mode: mysql\" instead of \"mode: redis\""
    );
    let why = refused("pw: xare3e\n", &["pw: y1goaf\n", "pw: yq0ndk\n", "pw: yz8xwp\n"]);
    assert!(why.contains("a part that is not random"), "{why}");
}

#[test]
fn a_password_of_another_length_or_alphabet_is_a_difference() {
    assert!(refused("pw: are3e0\n", &["pw: 1goaf\n", "pw: q0ndk\n"]).contains("not as long"));
    let (upper, lower) = ("QWERTZUIOPASDFGHJKLYXCVBNM", "qwertzuiopasdfghjklyxcvbnm");
    let other = "mnbvcxylkjhgfdsapoiuztrewq";
    assert!(refused(upper, &[lower, other]).contains("lower letters where helm has others"));
}

#[test]
fn short_words_are_not_called_random() {
    assert!(refused("n: 10\n", &["n: 20\n", "n: 31\n"]).contains("too short"));
}

#[test]
fn words_that_only_change_places_are_not_random() {
    let why = refused(
        "- alpha1\n- gamma2\n",
        &["- gamma2\n- alpha1\n", "- alpha1\n- gamma2\n", "- gamma2\n- alpha1\n"],
    );
    assert!(why.contains("occurs in several renderings"), "{why}");
}

#[test]
fn a_value_that_occurs_twice_has_to_do_so_with_us() {
    let twice = ["a: one1x\nb: one1x\n", "a: two2y\nb: two2y\n"];
    assert_eq!(judge("a: are3e\nb: are3e\n", &twice), Verdict::Identical);
    assert!(refused("a: are3e\nb: q0ndk\n", &twice).contains("not the same in the places"));
    let apart = ["a: one1x\nb: thr3e\n", "a: two2y\nb: f0ury\n"];
    assert!(refused("a: are3e\nb: are3e\n", &apart).contains("not the same in the places"));
}

#[test]
fn base64_is_looked_into() {
    let secret = |word: &str| format!("data: {}\n", encoded(&format!("user: me\npassword: {word}\n")));
    let ours = [secret("1goaf1goaf"), secret("q0ndkq0ndk")];
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    assert_eq!(judge(&secret("are3eare3e"), &ours), Verdict::Identical);
    let theirs = format!("data: {}\n", encoded("user: you\npassword: are3eare3e\n"));
    let why = refused(&theirs, &ours);
    assert!(why.contains("within base64, line 1: not random with us"), "{why}");
}

#[test]
fn passwords_of_any_characters_are_looked_at_as_a_whole() {
    let ours = [encoded("cG$ b!x=(-~a4]L"), encoded("?\"pQ7 ;w:Z_1m}e"), encoded("+T'9{<k&Y^v,s#5")];
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    assert_eq!(judge(&encoded("R8)h%@0.jN*u|>2"), &ours), Verdict::Identical);
    assert!(refused(&encoded("R8)h%@0.jN*u|>"), &ours).contains("not"));
}

#[test]
fn random_bytes_have_the_length_of_helms() {
    let bytes = |seed: u8, length: u8| {
        STANDARD.encode((0..length).map(|at| at.wrapping_mul(37) ^ seed | 0x80).collect::<Vec<u8>>())
    };
    let ours = [bytes(1, 16), bytes(77, 16)];
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    assert_eq!(judge(&bytes(200, 16), &ours), Verdict::Identical);
    assert!(matches!(judge(&bytes(200, 17), &ours), Verdict::Different(_)));
}

#[test]
fn uuids_are_of_version_four() {
    let (theirs, first) = ("884609ad-39de-4158-8c10-999bc8670ede", "5321c12a-d7a9-4732-873a-591ff564dc20");
    assert_eq!(judge(theirs, &[first, "1321c12a-e7a9-4132-b73a-091ff564dc27"]), Verdict::Identical);
    assert!(refused(theirs, &[first, "1321c12a-e7a9-1132-b73a-091ff564dc27"]).contains("version 4"));
}

#[test]
fn hashes_are_of_the_same_password_and_cost() {
    let hash = |password: &str, cost| {
        let parts = bcrypt::hash_with_result(password, cost).unwrap();
        parts.format_for_version(bcrypt::Version::TwoA)
    };
    let ours = [hash("secret", 4), hash("secret", 4)];
    let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
    assert_eq!(judge(&hash("secret", 4), &ours), Verdict::Identical);
    assert!(refused(&hash("secret", 5), &ours).contains("cost"));
    let wrong = hash("wrong", 4);
    assert!(refused(&hash("secret", 4), &[ours[0], &wrong]).contains("same password"));
}

#[test]
fn another_number_of_lines_is_a_difference() {
    assert_eq!(refused("a: are3e\n\n", &["a: 1goaf\n", "a: q0ndk\n"]), "line 1: 2 lines instead of 3");
}

#[test]
fn one_rendering_shows_nothing() {
    assert!(refused("a\n", &["a\n"]).contains("one rendering"));
}

#[test]
fn a_rendering_that_fails_is_told() {
    let failed = Outcome::Failed("Error: x\n".to_owned());
    assert!(matches!(compare_random("a", &[failed], &[]).0, Verdict::WronglyFailed(_)));
}
