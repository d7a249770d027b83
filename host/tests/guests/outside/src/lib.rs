//! A plugin that sends the requests its object names, and tells in its status what became of them.

use pilothouse_sdk::{
    BlobError, Context, Dynamic, Encoding, Error, HttpError, HttpRequest, Identity, Outcome, Proof,
    PutCondition, Reconciler, SecretKey, Store, Transfer, export,
};
use serde_json::{Value, json};

struct Outside;

impl Reconciler for Outside {
    type Resource = Dynamic;

    fn reconcile(&self, ctx: &Context, object: &Dynamic) -> Result<Outcome, Error> {
        let spec = &object.value()["spec"];
        if let Some(identity) = spec.get("identity")
            && let Err(error) = ctx.http().use_identity(&identity_of(identity))
        {
            return Ok(Outcome::ready().status(&json!({"identity": format!("{error:?}")})));
        }
        let requests = spec["requests"].as_array().cloned().unwrap_or_default();
        let answers: Vec<Value> = requests.iter().map(|request| answer(ctx, request)).collect();
        let told =
            json!({"answers": answers, "secret": secret(ctx, spec), "stored": stored(ctx, &spec["store"])});
        Ok(Outcome::ready().status(&told))
    }
}

/// Writes, finds and reads an object, and fetches another one behind the call.
fn stored(ctx: &Context, spec: &Value) -> Value {
    if spec.is_null() {
        return Value::Null;
    }
    let (blob, store) = (ctx.blob(), Store::open(text(spec, "url")));
    let told = |error: BlobError| json!({"error": format!("{:?}", error.kind), "message": error.message});
    if let Err(error) = blob.put(&store, "small", b"content", &PutCondition::None) {
        return told(error);
    }
    let part = blob.get(&store, "small", 3, 100).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let keys = blob
        .list(&store, "", None, 10)
        .map(|page| page.objects.into_iter().map(|object| object.key).collect::<Vec<_>>());
    let task = Transfer::Fetch {
        request: HttpRequest::get(text(spec, "from")),
        encoding: Encoding::Plain,
        proof: Proof::default(),
        store: store.clone(),
        key: "large".to_owned(),
        absent: false,
        max_bytes: 1 << 30,
    };
    let progress = match blob.transfer("large", 0, &task) {
        Ok(progress) => json!({"state": format!("{:?}", progress.state), "bytes": progress.bytes}),
        Err(error) => told(error),
    };
    json!({"part": part.unwrap_or_default(), "keys": keys.unwrap_or_default(), "progress": progress})
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn identity_of(value: &Value) -> Identity {
    let key = |name: &str| SecretKey::new(text(value, "namespace"), text(value, "secret"), name);
    let client = value["client"].as_bool().unwrap_or(true);
    Identity {
        servers: text(value, "servers").to_owned(),
        authorities: Some(key("ca.crt")),
        client: client.then(|| (key("tls.crt"), key("tls.key"))),
        server_name: None,
    }
}

fn answer(ctx: &Context, request: &Value) -> Value {
    let body = "x".repeat(usize::try_from(request["bytes"].as_u64().unwrap_or(0)).unwrap_or(0));
    let mut asked = HttpRequest::new(text(request, "method"), text(request, "url")).body(body);
    if let Some(millis) = request["timeoutMs"].as_u64() {
        asked = asked.timeout(std::time::Duration::from_millis(millis));
    }
    let told = |error: HttpError| json!({"error": format!("{:?}", error.kind), "message": error.message});
    let mut response = match ctx.http().send(&asked) {
        Ok(response) => response,
        Err(error) => return told(error),
    };
    let (mut bytes, mut start) = (0, String::new());
    loop {
        match response.chunk() {
            Ok(Some(piece)) => {
                if bytes == 0 {
                    start = String::from_utf8_lossy(&piece).chars().take(40).collect();
                }
                bytes += piece.len();
            }
            Ok(None) => return json!({"status": response.status, "bytes": bytes, "start": start}),
            Err(error) => return told(error),
        }
    }
}

/// Whether the plugin may see what the host uses for it.
fn secret(ctx: &Context, spec: &Value) -> Value {
    let Some(name) = spec.pointer("/identity/secret").and_then(Value::as_str) else { return Value::Null };
    let found = ctx.kube().get_ref::<Value>(&pilothouse_sdk::ObjectRef::new(
        pilothouse_sdk::Gvk::new("", "v1", "Secret"),
        "shop",
        name,
    ));
    match found {
        Ok(found) => json!(found.is_some()),
        Err(error) => json!(error.reason()),
    }
}

export!(Outside);
