//! Clients of an etcd cluster: one writes, one reads, all the time, and what was acknowledged is remembered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use ureq::Agent;

/// How long a client waits for an answer before it asks again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between two writes, or reads.
const PAUSE: Duration = Duration::from_millis(10);
const PREFIX: &str = "traffic/";

/// Two clients in the background, which go by a Service's address, a new connection for each request.
#[derive(Debug)]
pub(super) struct Traffic {
    client: Client,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    ledger: Mutex<Ledger>,
}

/// What was acknowledged and seen.
#[derive(Debug, Default)]
struct Ledger {
    /// Numbers of writes that were acknowledged.
    acknowledged: Vec<u64>,
    /// When the last one was.
    last: Option<Instant>,
    /// The longest time between two of them, since somebody asked.
    gap: Duration,
    /// Of these since somebody asked.
    writes: usize,
    unanswered: usize,
    reads: usize,
    /// Reads that did not find what had been acknowledged before they began.
    wrong: Vec<String>,
}

/// Figures of a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) writes: usize,
    pub(super) reads: usize,
    pub(super) unanswered: usize,
    pub(super) gap: Duration,
}

impl Traffic {
    /// Begins.
    pub(super) fn start(address: &str) -> Self {
        let client = Client::new(address);
        let shared = Arc::new(Shared::default());
        let threads = [write as fn(&Client, &Shared), read].map(|work| {
            let (client, shared) = (client.clone(), Arc::clone(&shared));
            std::thread::spawn(move || {
                while !shared.stop.load(Ordering::SeqCst) {
                    work(&client, &shared);
                    std::thread::sleep(PAUSE);
                }
            })
        });
        Self { client, shared, threads: threads.into() }
    }

    /// Figures since the last time somebody asked.
    pub(super) fn stretch(&self) -> Stretch {
        let mut ledger = lock(&self.shared.ledger);
        let open = ledger.last.map_or(Duration::ZERO, |last| last.elapsed());
        let gap = std::mem::take(&mut ledger.gap).max(open);
        Stretch {
            writes: std::mem::take(&mut ledger.writes),
            reads: std::mem::take(&mut ledger.reads),
            unanswered: std::mem::take(&mut ledger.unanswered),
            gap,
        }
    }

    /// Ends, and looks whether everything that was acknowledged is there. How many writes that were.
    ///
    /// # Errors
    /// What is missing, or was missing when somebody read it.
    pub(super) fn check(mut self) -> Result<usize> {
        self.end();
        let kept = self.client.all(PREFIX)?;
        let ledger = lock(&self.shared.ledger);
        if let Some(wrong) = ledger.wrong.first() {
            bail!("{} reads went wrong, the first: {wrong}", ledger.wrong.len());
        }
        let lost: Vec<u64> = ledger
            .acknowledged
            .iter()
            .copied()
            .filter(|number| kept.get(&key(*number)) != Some(&number.to_string()))
            .collect();
        if !lost.is_empty() {
            bail!("{} of {} acknowledged writes are lost: {lost:?}", lost.len(), ledger.acknowledged.len());
        }
        Ok(ledger.acknowledged.len())
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.end();
    }
}

fn key(number: u64) -> String {
    format!("{PREFIX}{number:08}")
}

fn write(client: &Client, shared: &Shared) {
    // Numbers of writes without an answer are not used again: whether they were done is not known.
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    let done = client.put(&key(number), &number.to_string());
    let mut ledger = lock(&shared.ledger);
    if done.is_err() {
        ledger.unanswered += 1;
        return;
    }
    let now = Instant::now();
    if let Some(last) = ledger.last.replace(now) {
        ledger.gap = ledger.gap.max(now - last);
    }
    ledger.acknowledged.push(number);
    ledger.writes += 1;
}

/// Reads the newest acknowledged write: any member that answers has to know it.
fn read(client: &Client, shared: &Shared) {
    let Some(number) = lock(&shared.ledger).acknowledged.last().copied() else { return };
    let found = client.all(&key(number));
    let mut ledger = lock(&shared.ledger);
    match found {
        Err(_) => ledger.unanswered += 1,
        Ok(found) if found.get(&key(number)) == Some(&number.to_string()) => ledger.reads += 1,
        Ok(found) => ledger.wrong.push(format!("write {number} was acknowledged, then read as {found:?}")),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client of etcd's JSON gateway.
#[derive(Clone, Debug)]
pub(in crate::demo) struct Client {
    agent: Agent,
    base: String,
}

impl Client {
    /// A client of `host:port`.
    pub(in crate::demo) fn new(address: &str) -> Self {
        let agent = Agent::config_builder().timeout_global(Some(PATIENCE)).max_idle_connections(0).build();
        Self { agent: agent.into(), base: format!("http://{address}/v3/kv") }
    }

    /// Writes a key.
    pub(in crate::demo) fn put(&self, key: &str, value: &str) -> Result<()> {
        let answer = self.post("put", &json!({"key": encode(key), "value": encode(value)}))?;
        answer.pointer("/header/revision").context("an answer without a revision")?;
        Ok(())
    }

    /// All keys with a prefix, as a majority knows them.
    pub(in crate::demo) fn all(&self, prefix: &str) -> Result<BTreeMap<String, String>> {
        // What follows a prefix: letters of it are below 0x7f.
        let end = format!("{prefix}\u{7f}");
        let answer = self.post("range", &json!({"key": encode(prefix), "range_end": encode(&end)}))?;
        let entries = answer.get("kvs").and_then(Value::as_array).into_iter().flatten();
        let text = |entry: &Value, field: &str| {
            let encoded = entry.get(field).and_then(Value::as_str).unwrap_or_default();
            Ok::<_, anyhow::Error>(String::from_utf8(decode(encoded)?)?)
        };
        entries.map(|entry| Ok((text(entry, "key")?, text(entry, "value")?))).collect()
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let mut answer = self.agent.post(format!("{}/{path}", self.base)).send_json(body)?;
        Ok(answer.body_mut().with_config().limit(256 << 20).read_json()?)
    }
}

fn encode(text: &str) -> String {
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
}

fn decode(text: &str) -> Result<Vec<u8>> {
    Ok(base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text)?)
}
