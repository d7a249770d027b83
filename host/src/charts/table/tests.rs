//! The table on virtual time, with a network that answers as it is told.

use std::collections::VecDeque;

use async_trait::async_trait;

use super::*;
use crate::charts::fetch::Known;
use crate::charts::wish::{SecretName, digest_of};
use crate::object::Gvk;

/// A version and an archive.
type Answer = Result<(&'static str, Vec<u8>), Failure>;

#[derive(Debug, Default)]
struct Network {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<(String, Option<String>)>>,
    /// How many attempts are under way, and the most there were.
    running: Mutex<(usize, usize)>,
}

#[async_trait]
impl Fetch for Arc<Network> {
    async fn fetch(
        &self,
        wish: &Wish,
        credentials: Option<&Credentials>,
        known: &Known<'_>,
    ) -> Result<Brought, Failure> {
        let version = credentials.map(|given| given.version.clone());
        self.asked.lock().unwrap().push((wish.name.clone(), version));
        {
            let mut running = self.running.lock().unwrap();
            running.0 += 1;
            running.1 = running.1.max(running.0);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.running.lock().unwrap().0 -= 1;
        let mut answers = self.answers.lock().unwrap();
        // The last answer is given for ever.
        let answer =
            if answers.len() > 1 { answers.pop_front().unwrap() } else { answers.front().unwrap().clone() };
        let (version, bytes) = answer?;
        let digest = digest_of(&bytes);
        let archive = (!known(&digest)).then_some(bytes);
        let location = format!("at/{version}");
        Ok(Brought {
            resolution: Resolution { version: version.to_owned(), digest, location, at: now() },
            archive,
        })
    }
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

struct Scene {
    network: Arc<Network>,
    charts: Arc<Charts>,
    changed: mpsc::UnboundedReceiver<Vec<ObjectKey>>,
    base: tempfile::TempDir,
}

fn scene(answers: impl IntoIterator<Item = Result<(&'static str, Vec<u8>), Failure>>) -> Scene {
    on(tempfile::tempdir().unwrap(), answers)
}

fn on(
    base: tempfile::TempDir,
    answers: impl IntoIterator<Item = Result<(&'static str, Vec<u8>), Failure>>,
) -> Scene {
    let network = Arc::new(Network::default());
    network.answers.lock().unwrap().extend(answers);
    let cache = Cache::open(base.path(), 1 << 20).unwrap();
    let (charts, changed) = Charts::new(Ok(cache), Box::new(Arc::clone(&network)), Metrics::default());
    Scene { network, charts, changed, base }
}

fn owner(name: &str) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("g", "v1", "Web")), Some("shop"), name)
}

fn wish(name: &str, version: &str) -> Wish {
    Wish {
        plugin: "helm".to_owned(),
        repository: "https://c.example".to_owned(),
        name: name.to_owned(),
        version: version.to_owned(),
        digest: None,
        plain_http: false,
        pass_credentials: false,
        secret: None,
        named: false,
    }
}

fn password(version: &str) -> Option<Credentials> {
    let name = SecretName { namespace: "shop".to_owned(), name: "login".to_owned() };
    let data = serde_json::json!({"username": "bWU=", "password": "c2VjcmV0"});
    let secret = serde_json::json!({"metadata": {"uid": "u", "resourceVersion": version}, "data": data});
    Some(Credentials::read(&secret, &name).unwrap())
}

const MINUTE: Duration = Duration::from_secs(60);

impl Scene {
    async fn want(&self, owner: &ObjectKey, wish: &Wish) -> Standing {
        self.charts.want(owner, wish.clone(), 10 * MINUTE, None).await.1
    }

    async fn changed(&mut self) -> Vec<ObjectKey> {
        let mut changed = self.changed.recv().await.unwrap();
        changed.sort();
        changed
    }

    fn attempts(&self) -> usize {
        self.network.asked.lock().unwrap().len()
    }
}

fn refused(message: &str) -> Failure {
    Failure::new("Unauthorized", message)
}

#[tokio::test(start_paused = true)]
async fn all_who_wish_for_the_same_are_served_by_one_attempt_and_called_when_it_is_there() {
    let mut scene = scene([Ok(("1.0.0", b"one".to_vec()))]);
    let (a, b) = (owner("a"), owner("b"));
    assert_eq!(scene.want(&a, &wish("web", "^1")).await, Standing::default());
    assert_eq!(scene.want(&b, &wish("web", "^1")).await, Standing::default(), "nobody waits");
    assert_eq!(scene.changed().await, [a.clone(), b]);
    assert_eq!(scene.attempts(), 1);
    let found = scene.want(&a, &wish("web", "^1")).await.found.unwrap();
    assert_eq!((found.version.as_str(), found.digest), ("1.0.0", digest_of(b"one")));
    assert_eq!(scene.charts.read(&digest_of(b"one")).await.unwrap(), b"one");
}

#[tokio::test(start_paused = true)]
async fn a_range_is_resolved_again_after_its_interval_and_only_another_chart_is_news() {
    let mut scene = scene([
        Ok(("1.0.0", b"one".to_vec())),
        Ok(("1.0.0", b"one".to_vec())),
        Ok(("1.1.0", b"two".to_vec())),
    ]);
    let a = owner("a");
    scene.want(&a, &wish("web", "^1")).await;
    scene.changed().await;
    let began = Instant::now();
    scene.changed().await;
    assert!((20 * MINUTE..21 * MINUTE).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(scene.attempts(), 3);
    assert_eq!(scene.want(&a, &wish("web", "^1")).await.found.unwrap().version, "1.1.0");
}

#[tokio::test(start_paused = true)]
async fn a_version_is_never_resolved_again_and_a_wish_that_nobody_repeats_is_let_go() {
    let mut scene = scene([Ok(("1.0.0", b"one".to_vec()))]);
    let a = owner("a");
    let (fixed, _) = scene.charts.want(&a, wish("web", "1.0.0"), 10 * MINUTE, None).await;
    scene.want(&a, &wish("web", "^1")).await;
    scene.changed().await;
    scene.changed().await;
    assert_eq!(scene.attempts(), 2);
    scene.charts.keep_only(&a, &HashSet::from([fixed]));
    tokio::time::sleep(100 * MINUTE).await;
    assert_eq!(scene.attempts(), 2);
    assert_eq!(scene.charts.table().entries.len(), 1);
    scene.charts.forget(&a);
    tokio::time::sleep(MINUTE).await;
    assert!(scene.charts.table().entries.is_empty() && scene.charts.table().of_owner.is_empty());
}

#[tokio::test(start_paused = true)]
async fn after_failures_it_waits_longer_and_longer_and_what_was_found_stays() {
    let mut scene = scene([Ok(("1.0.0", b"one".to_vec())), Err(refused("503"))]);
    let a = owner("a");
    scene.want(&a, &wish("web", "^1")).await;
    scene.changed().await;
    scene.changed().await;
    let standing = scene.want(&a, &wish("web", "^1")).await;
    assert_eq!(standing.found.unwrap().version, "1.0.0");
    assert_eq!(standing.trouble.unwrap().message, "503");
    let before = scene.attempts();
    tokio::time::sleep(60 * MINUTE).await;
    assert!((8..20).contains(&(scene.attempts() - before)), "{}", scene.attempts() - before);
    assert!(scene.changed.try_recv().is_err(), "the same failure again is no news");
    *scene.network.answers.lock().unwrap() = [Ok(("1.0.0", b"one".to_vec()))].into();
    scene.changed().await;
    assert_eq!(scene.want(&a, &wish("web", "^1")).await.trouble, None);
}

#[tokio::test(start_paused = true)]
async fn other_credentials_are_tried_at_once() {
    let mut scene = scene([Err(refused("401")), Ok(("1.0.0", b"one".to_vec()))]);
    let a = owner("a");
    let want = async |version| scene.charts.want(&a, wish("web", "1.0.0"), MINUTE, password(version)).await.1;
    want("1").await;
    scene.changed.recv().await.unwrap();
    let began = Instant::now();
    want("2").await;
    scene.changed.recv().await.unwrap();
    assert!(began.elapsed() < 2 * Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(want("2").await.found.is_some());
    let asked: Vec<_> =
        scene.network.asked.lock().unwrap().iter().map(|(_, with)| with.clone().unwrap()).collect();
    assert_eq!(asked, ["u/1", "u/2"]);
}

#[tokio::test(start_paused = true)]
async fn the_next_host_goes_on_with_what_was_found_and_asks_the_network_only_when_it_is_time() {
    let mut first = scene([Ok(("1.0.0", b"one".to_vec()))]);
    let a = owner("a");
    first.want(&a, &wish("web", "^1")).await;
    first.changed().await;
    let next = on(first.base, [Err(refused("no network"))]);
    let standing = next.want(&a, &wish("web", "^1")).await;
    assert_eq!(standing.found.as_ref().unwrap().version, "1.0.0");
    assert_eq!(next.charts.read(&standing.found.unwrap().digest).await.unwrap(), b"one");
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(next.attempts(), 0);
    tokio::time::sleep(6 * MINUTE).await;
    assert!(next.attempts() > 0);
    assert!(next.want(&a, &wish("web", "^1")).await.found.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_broken_copy_is_fetched_again_and_who_wishes_for_it_is_called() {
    let mut scene = scene([Ok(("1.0.0", b"one".to_vec()))]);
    let a = owner("a");
    scene.want(&a, &wish("web", "1.0.0")).await;
    scene.changed().await;
    let digest = digest_of(b"one");
    let file = scene.base.path().join("charts").join(format!("{}.tgz", digest.trim_start_matches("sha256:")));
    std::fs::write(&file, b"on").unwrap();
    assert!(scene.charts.read(&digest).await.is_err());
    assert_eq!(scene.want(&a, &wish("web", "1.0.0")).await.found, None);
    scene.changed().await;
    assert_eq!(scene.charts.read(&digest).await.unwrap(), b"one");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(scene.want(&a, &wish("web", "1.0.0")).await.found, None);
    scene.changed().await;
    assert_eq!(scene.charts.read(&digest).await.unwrap(), b"one");
}

#[tokio::test(start_paused = true)]
async fn few_are_fetched_at_once() {
    let mut scene = scene([Ok(("1.0.0", b"one".to_vec()))]);
    for n in 0..20 {
        scene.want(&owner("a"), &wish(&format!("web{n}"), "1.0.0")).await;
    }
    for _ in 0..20 {
        scene.changed().await;
    }
    assert_eq!(*scene.network.running.lock().unwrap(), (0, AT_ONCE));
}

#[tokio::test(start_paused = true)]
async fn without_a_place_to_keep_charts_nothing_is_fetched_and_it_is_told_why() {
    let network = Arc::new(Network::default());
    let why = "charts: Read-only file system".to_owned();
    let (charts, mut changed) =
        Charts::new(Err(why.clone()), Box::new(Arc::clone(&network)), Metrics::default());
    charts.want(&owner("a"), wish("web", "1"), MINUTE, None).await;
    changed.recv().await.unwrap();
    let (_, standing) = charts.want(&owner("a"), wish("web", "1"), MINUTE, None).await;
    assert_eq!(standing.trouble, Some(Trouble { reason: "NoCache", message: why }));
    assert!(network.asked.lock().unwrap().is_empty());
}
