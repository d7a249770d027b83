use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response};
use kube::client::Body;
use tokio::time::Instant;

use super::*;
use crate::cluster::fence::Fence;
use crate::exec::fake::{Asked, SUCCESS, Socket, V4, V5, command, server};
use crate::exec::protocol::KEPT;
use crate::telemetry::ClientMetrics;

async fn outcome(api: &Api, command: &Command) -> (Result<i32, ExecError>, String) {
    let tail = Mutex::new(Tail::default());
    let result = run(api, command, &tail).await;
    (result, tail.into_inner().unwrap().text())
}

fn failure(reason: &str, code: &str) -> Vec<u8> {
    serde_json::json!({"metadata": {}, "status": "Failure", "reason": reason, "message": "it said no",
        "details": {"causes": [{"reason": "ExitCode", "message": code}]}})
    .to_string()
    .into_bytes()
}

#[tokio::test(start_paused = true)]
async fn a_command_that_ends_well_has_code_0_and_both_of_its_outputs() {
    let api = server(V5, |asked: Asked, mut socket: Socket| async move {
        assert_eq!(
            asked.uri,
            "/api/v1/namespaces/shop/pods/db-0/exec?container=db&stdout=true&stderr=true&stdin=false&command=sync"
        );
        assert_eq!(asked.headers["impersonate-user"], "system:serviceaccount:ops:backup");
        assert_eq!(asked.headers["sec-websocket-protocol"], "v5.channel.k8s.io, v4.channel.k8s.io");
        socket.say(1, b"").await;
        socket.say(1, b"out ").await;
        socket.say(2, b"err").await;
        socket.say(3, SUCCESS).await;
    });
    assert_eq!(outcome(&api, &command(&["sync"])).await, (Ok(0), "out err".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_says_no_has_its_code() {
    let api = server(V4, |_, mut socket: Socket| async move {
        socket.say(2, b"no such table").await;
        socket.say(3, &failure("NonZeroExitCode", "3")).await;
    });
    assert_eq!(outcome(&api, &command(&["x"])).await, (Ok(3), "no such table".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_is_not_there_has_no_code() {
    let api = server(V5, |_, mut socket: Socket| async move {
        socket.say(3, &failure("InternalError", "")).await;
    });
    assert_eq!(outcome(&api, &command(&["x"])).await.0, Err(ExecError::Runtime("it said no".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn of_endless_output_the_end_is_kept() {
    let api = server(V5, |_, mut socket: Socket| async move {
        for _ in 0..1_000 {
            socket.say(1, &[b'x'; 1_024]).await;
        }
        socket.say(1, b"the end").await;
        socket.say(3, SUCCESS).await;
    });
    let (result, output) = outcome(&api, &command(&["yes"])).await;
    assert_eq!((result, output.len()), (Ok(0), KEPT));
    assert!(output.ends_with("xxthe end"), "{output}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_before_the_command_has_told_no_end() {
    let cut = server(V5, |_, mut socket: Socket| async move {
        socket.say(1, b"almost").await;
        drop(socket);
    });
    let closed = server(V5, |_, mut socket: Socket| async move {
        socket.say(1, b"almost").await;
        let _ = socket.0.close(None).await;
    });
    let half = server(V5, |_, mut socket: Socket| async move {
        socket.say(1, b"almost").await;
        socket.say(3, b"{\"status\":\"Succ").await;
    });
    for api in [cut, closed, half] {
        let (result, output) = outcome(&api, &command(&["x"])).await;
        assert!(matches!(result, Err(ExecError::Lost(_))), "{result:?}");
        assert_eq!(output, "almost");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_ends_the_connection() {
    let api = server(V5, |_, mut socket: Socket| async move {
        socket.say(1, &vec![0; LARGEST + 1]).await;
        socket.say(3, SUCCESS).await;
    });
    assert!(matches!(outcome(&api, &command(&["x"])).await.0, Err(ExecError::Lost(_))));
}

#[tokio::test(start_paused = true)]
async fn input_arrives_whole_and_ends() {
    let api = server(V5, |asked: Asked, mut socket: Socket| async move {
        assert!(asked.uri.contains("&stdin=true"), "{}", asked.uri);
        let mut input = Vec::new();
        loop {
            match socket.0.next().await.unwrap().unwrap() {
                Frame::Binary(bytes) if bytes.as_ref() == [255, 0] => break,
                Frame::Binary(bytes) => {
                    assert_eq!(bytes[0], 0);
                    // A command may write all the while.
                    socket.say(1, b".").await;
                    input.extend_from_slice(&bytes[1..]);
                }
                other => panic!("{other:?}"),
            }
        }
        socket.say(1, format!("{} bytes", input.len()).as_bytes()).await;
        socket.say(3, SUCCESS).await;
    });
    let with_input = |size: usize| Command { stdin: Some(vec![b'i'; size]), ..command(&["cat"]) };
    assert_eq!(outcome(&api, &with_input(40_000)).await, (Ok(0), "...40000 bytes".to_owned()));
    assert_eq!(outcome(&api, &with_input(0)).await, (Ok(0), "0 bytes".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cannot_be_told_where_the_input_ends_gets_none() {
    let api = server(V4, |_, mut socket: Socket| async move { socket.say(3, SUCCESS).await });
    let with_input = Command { stdin: Some(b"x".to_vec()), ..command(&["cat"]) };
    assert!(matches!(outcome(&api, &with_input).await.0, Err(ExecError::Lost(why)) if why.contains("v5")));
    assert_eq!(outcome(&api, &command(&["x"])).await.0, Ok(0));
}

#[tokio::test(start_paused = true)]
async fn a_long_silence_is_interrupted_by_signs_of_life() {
    let api = server(V5, |_, mut socket: Socket| async move {
        for _ in 0..3 {
            assert!(matches!(socket.0.next().await, Some(Ok(Frame::Ping(_)))));
        }
        socket.say(3, SUCCESS).await;
    });
    let began = Instant::now();
    assert_eq!(outcome(&api, &command(&["sleep"])).await.0, Ok(0));
    assert_eq!(began.elapsed(), SIGN_OF_LIFE * 3);
}

fn answering(code: u16, message: &'static str) -> Api {
    let service = tower::service_fn(move |_: Request<Body>| async move {
        let body =
            serde_json::json!({"kind": "Status", "status": "Failure", "message": message, "code": code});
        let response = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
        Ok::<_, std::io::Error>(response.unwrap())
    });
    Api::new(kube::Client::new(service, "default"), ClientMetrics::default())
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_from_an_answer_that_never_came() {
    let said = "pods \"db-0\" is forbidden: User \"x\" cannot get resource \"pods/exec\"";
    for code in [400, 403, 404] {
        assert_eq!(
            outcome(&answering(code, said), &command(&["x"])).await.0,
            Err(ExecError::Refused(said.to_owned()))
        );
    }
    let broken = outcome(&answering(500, "broken"), &command(&["x"])).await.0;
    assert_eq!(broken, Err(ExecError::Unreachable("broken".to_owned())));
    // A server that answers as if it were no WebSocket.
    let plain = outcome(&answering(200, ""), &command(&["x"])).await.0;
    assert!(matches!(plain, Err(ExecError::Unreachable(_))), "{plain:?}");
}

#[tokio::test(start_paused = true)]
async fn behind_the_fence_nothing_is_run() {
    let asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&asked);
    let fence = Fence::default();
    let api = server(V5, move |_, mut socket: Socket| {
        seen.store(true, Ordering::SeqCst);
        async move { socket.say(3, SUCCESS).await }
    })
    .behind(fence.clone());
    fence.close();
    let result = outcome(&api, &command(&["x"])).await.0;
    assert!(matches!(&result, Err(ExecError::Unreachable(why)) if why.contains("lease")), "{result:?}");
    assert!(!asked.load(Ordering::SeqCst));
    fence.open_until(Instant::now() + Duration::from_secs(10));
    assert_eq!(outcome(&api, &command(&["x"])).await.0, Ok(0));
}
