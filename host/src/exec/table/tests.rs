use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::time::{Instant, sleep};

use super::*;
use crate::exec::fake::{SUCCESS, Socket, V5, command, server};
use crate::object::Gvk;

fn owner(name: &str) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("example.com", "v1", "App")), Some("shop"), name)
}

fn given(attempt: &str) -> Given {
    Given { attempt: attempt.parse().unwrap(), known_by: attempt.to_owned(), command: command(&["x"]) }
}

/// Writes, and never ends. Who hangs up is told of.
fn endless() -> (Api, mpsc::UnboundedReceiver<()>) {
    let (hung_up, ended) = mpsc::unbounded_channel();
    let api = server(V5, move |_, mut socket: Socket| {
        let hung_up = hung_up.clone();
        async move {
            socket.say(1, b"at work").await;
            while let Some(Ok(_)) = socket.0.next().await {}
            let _ = hung_up.send(());
        }
    });
    (api, ended)
}

fn ends(code: &'static [u8]) -> Api {
    server(V5, move |_, mut socket: Socket| async move {
        socket.say(1, b"said").await;
        sleep(Duration::from_secs(5)).await;
        socket.say(3, code).await;
    })
}

#[tokio::test(start_paused = true)]
async fn whoever_gave_a_command_is_called_when_it_has_ended() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let (owner, other) = (owner("a"), owner("b"));
    commands.start(&owner, "freeze", given("1"), "backup", ends(SUCCESS)).unwrap();
    sleep(Duration::from_secs(1)).await;
    let running = Standing { ended: None, output: "said".to_owned() };
    assert_eq!(commands.find(&owner, "freeze", "1"), Some(running));
    assert_eq!(called.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(called.recv().await, Some(vec![owner.clone()]));
    let ended = Standing { ended: Some(Ok(0)), output: "said".to_owned() };
    assert_eq!(commands.find(&owner, "freeze", "1"), Some(ended.clone()));
    assert_eq!(commands.look(&owner, "freeze", 1), Some(ended));
    assert_eq!((commands.look(&owner, "freeze", 2), commands.look(&owner, "thaw", 1)), (None, None));
    // It is one command: another attempt, name or object knows nothing of it.
    assert_eq!(commands.find(&owner, "freeze", "2"), None);
    assert_eq!(commands.find(&owner, "thaw", "1"), None);
    assert_eq!(commands.find(&other, "freeze", "1"), None);
}

#[tokio::test(start_paused = true)]
async fn a_command_that_never_ends_is_given_up_at_its_time_out() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let (api, mut hung_up) = endless();
    let (owner, began) = (owner("a"), Instant::now());
    commands.start(&owner, "freeze", given("1"), "backup", api).unwrap();
    assert_eq!(called.recv().await, Some(vec![owner.clone()]));
    let limit = Duration::from_secs(60);
    assert_eq!(began.elapsed(), limit);
    let given_up = Standing { ended: Some(Err(ExecError::TimedOut(limit))), output: "at work".to_owned() };
    assert_eq!(commands.find(&owner, "freeze", "1"), Some(given_up));
    hung_up.recv().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_forgotten_is_stopped_and_nobody_is_called() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let (api, mut hung_up) = endless();
    let (a, b) = (owner("a"), owner("b"));
    for name in ["one", "two"] {
        commands.start(&a, name, given("1"), "backup", api.clone()).unwrap();
        commands.start(&b, name, given("1"), "backup", api.clone()).unwrap();
    }
    sleep(Duration::from_secs(1)).await;
    commands.forget(&a, "one");
    hung_up.recv().await.unwrap();
    assert_eq!(commands.find(&a, "one", "1"), None);
    commands.forget_all(&b);
    hung_up.recv().await.unwrap();
    hung_up.recv().await.unwrap();
    assert_eq!(commands.find(&b, "two", "1"), None);
    assert!(commands.find(&a, "two", "1").is_some());
    assert_eq!((called.try_recv(), hung_up.try_recv()), (Err(TryRecvError::Empty), Err(TryRecvError::Empty)));
}

#[tokio::test(start_paused = true)]
async fn another_attempt_begins_anew_in_the_place_of_the_one_before() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let (api, mut hung_up) = endless();
    let owner = owner("a");
    commands.start(&owner, "freeze", given("1"), "backup", api).unwrap();
    sleep(Duration::from_secs(1)).await;
    commands.start(&owner, "freeze", given("2"), "backup", ends(SUCCESS)).unwrap();
    hung_up.recv().await.unwrap();
    assert_eq!(commands.find(&owner, "freeze", "1"), None);
    assert_eq!(called.recv().await, Some(vec![owner.clone()]));
    assert_eq!(commands.find(&owner, "freeze", "2").unwrap().ended, Some(Ok(0)));
    // The one that was stopped has no end to tell.
    sleep(Duration::from_secs(120)).await;
    assert_eq!(called.try_recv(), Err(TryRecvError::Empty));
}

#[tokio::test(start_paused = true)]
async fn a_plugin_runs_so_many_at_once_and_others_are_not_held_up() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let start = |index: usize, plugin: &str| {
        commands.start(&owner(&format!("{plugin}-{index}")), "x", given("1"), plugin, ends(SUCCESS))
    };
    for index in 0..AT_ONCE {
        start(index, "backup").unwrap();
    }
    assert_eq!(start(AT_ONCE, "backup"), Err(Full::Running));
    assert_eq!(commands.find(&owner(&format!("backup-{AT_ONCE}")), "x", "1"), None);
    // Beginning one anew takes the place of the one before.
    commands.start(&owner("backup-0"), "x", given("2"), "backup", ends(SUCCESS)).unwrap();
    start(0, "other").unwrap();
    called.recv().await.unwrap();
    start(AT_ONCE, "backup").unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_object_has_so_many_names() {
    let (commands, mut called) = Commands::new(Metrics::default());
    let owner = owner("a");
    for index in 0..NAMES {
        commands.start(&owner, &index.to_string(), given("1"), "backup", ends(SUCCESS)).unwrap();
        called.recv().await.unwrap();
    }
    assert_eq!(commands.start(&owner, "more", given("1"), "backup", ends(SUCCESS)), Err(Full::Names));
    commands.forget(&owner, "0");
    commands.start(&owner, "more", given("1"), "backup", ends(SUCCESS)).unwrap();
}
