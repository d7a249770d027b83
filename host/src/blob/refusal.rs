//! What a store says when it refuses, as people read it in a status: the store's code and sentence, without what differs from one
//! answer to the next. Else the status would change with each attempt.

/// Before it stands whatever the library was about.
const REQUEST: &str = "Error performing ";
/// S3's word for a signature whose time is more than fifteen minutes from the server's.
const SKEWED: &str = "RequestTimeTooSkewed";

/// Do the clocks of host and store differ too much?
pub fn is_skewed(text: &str) -> bool {
    text.contains(SKEWED)
}

/// The same words for the same failure.
pub fn words(text: &str) -> String {
    let text = text.find(REQUEST).and_then(|start| text.get(start..)).unwrap_or(text);
    let told =
        match text.find('<').and_then(|start| Some((text.get(..start)?, document(text.get(start..)?)?))) {
            Some((before, said)) => format!("{}: {said}", untimed(before)),
            None => untimed(text),
        };
    if is_skewed(text) {
        format!("{told} (the clock of the host's node and the store's differ)")
    } else {
        told
    }
}

/// Without how long the request took.
fn untimed(text: &str) -> String {
    let is_time = |word: &str| {
        let number = word.trim_end_matches([',', 's', 'm', 'µ', 'n']);
        number.len() < word.len() && number.parse::<f64>().is_ok()
    };
    let mut kept: Vec<&str> = Vec::new();
    for word in text.trim_end_matches([':', ' ']).split(' ') {
        if is_time(word) && kept.last() == Some(&"in") {
            kept.pop();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}

/// Code and sentence of the document that S3, Azure and Google answer with. Beside them it has the request's identifier and times, and
/// Azure has those in its sentence too, each on a line of its own.
fn document(xml: &str) -> Option<String> {
    let code = element(xml, "Code")?;
    let message =
        element(xml, "Message").and_then(|message| message.lines().next()).unwrap_or_default().trim();
    Some(if message.is_empty() { code.to_owned() } else { format!("{code}: {message}") })
}

fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = xml.split_once(&format!("<{name}>"))?;
    after.split_once(&format!("</{name}>")).map(|(content, _)| content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::BlobError;

    fn refused(took: &str, body: &str) -> BlobError {
        let source = format!(
            "Error performing GET http://s3.example/b/in 5/k in {took} - Server returned non-2xx status code: 403 Forbidden: {body}"
        );
        BlobError::from(object_store::Error::PermissionDenied {
            path: "b/k".to_owned(),
            source: source.into(),
        })
    }

    #[test]
    fn what_a_store_says_is_the_same_each_time_it_says_it() {
        let plain = "Error performing GET http://s3.example/b/in 5/k - Server returned non-2xx status code: 403 Forbidden";
        assert_eq!(refused("2.950881ms", "").to_string(), plain);
        assert_eq!(refused("1.2s,", ""), refused("903µs", ""));
        assert_eq!(words("no such bucket in 3 regions"), "no such bucket in 3 regions");
        let body = |id: u32| {
            format!(
                "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied.</Message><Resource></Resource><RequestId>{id}</RequestId></Error>"
            )
        };
        assert_eq!(refused("1ms", &body(1)).to_string(), format!("{plain}: AccessDenied: Access Denied."));
        assert_eq!(refused("1ms", &body(1)), refused("2ms", &body(2)));
        let azure = "<Error><Code>AuthenticationFailed</Code><Message>Server failed to authenticate the request.\nRequestId:5\nTime:2026-01-01T00:00:00Z</Message></Error>";
        assert!(
            refused("1ms", azure)
                .to_string()
                .ends_with(": AuthenticationFailed: Server failed to authenticate the request.")
        );
        assert!(
            refused("1ms", "<html>no").to_string().ends_with("<html>no"),
            "what is no such document is kept"
        );
    }

    #[test]
    fn clocks_that_differ_are_told_and_waited_for() {
        let body = "<Error><Code>RequestTimeTooSkewed</Code><Message>The difference between the request time and the current time is too large.</Message><RequestTime>20260101T000000Z</RequestTime><ServerTime>2026-01-01T01:00:00Z</ServerTime></Error>";
        let error = refused("1ms", body);
        assert!(
            matches!(&error, BlobError::Unavailable(said) if said.ends_with("too large. (the clock of the host's node and the store's differ)")),
            "{error}"
        );
        assert!(matches!(refused("1ms", "<Error><Code>AccessDenied</Code></Error>"), BlobError::Denied(_)));
    }
}
