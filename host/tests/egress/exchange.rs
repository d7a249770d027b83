//! One exchange: where it may go, and how it ends when the other side does its worst.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use pilothouse::egress::Egress;
use pilothouse::egress::address::Reach;
use pilothouse::egress::exchange::{Answer, Order, Times, send};
use pilothouse::egress::failure::Failure;
use pilothouse::egress::identity::{Pem, Roots, Tls, tls};
use pilothouse::egress::metrics::Metrics;
use pilothouse::egress::place::Target;
use pilothouse::plugin::limits::{Budget, Limits, LimitsSpec, Purse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;

use crate::server::{Authority, Pair, Scripted, acceptor, full, mebibytes, serve, serve_streams};

const SERVICE: &str = "10.1.2.3:8080";
const SERVICES: Reach = Reach { private: true, loopback: false };

fn egress(network: &Arc<Scripted>) -> Egress {
    Egress::new(network.clone(), Metrics::default())
}

/// A network in which `web.shop.svc:8080` is a server of this machine.
fn with_service(server: std::net::SocketAddr) -> Arc<Scripted> {
    let network = Arc::new(Scripted::default());
    network.name("web.shop.svc", &["10.1.2.3"]);
    network.door(SERVICE, server);
    network
}

fn order(address: &str, reach: Reach) -> Order {
    Order {
        plugin: "test".to_owned(),
        target: Target::of(&address.parse().unwrap()).unwrap(),
        reach,
        tls: None,
        times: Times::default(),
        purse: None,
    }
}

async fn get(egress: &Egress, order: Order) -> Result<Response<Answer>, Failure> {
    let request = Request::get(format!("{}/path?x=y", order.target)).body(Empty::<Bytes>::new()).unwrap();
    send(egress, order, request).await
}

async fn whole(response: Response<Answer>) -> Result<Bytes, Failure> {
    Ok(response.into_body().collect().await?.to_bytes())
}

fn purse(mib: u64) -> Purse {
    let spec = LimitsSpec { host_mib: Some(mib), ..LimitsSpec::default() };
    Budget::new(&Limits::effective(spec, LimitsSpec::default())).purse()
}

#[tokio::test]
async fn a_request_reaches_its_server_in_origin_form_and_is_counted() {
    let server = serve(None, |request| async move {
        let host = request.headers()["host"].to_str().unwrap().to_owned();
        Response::new(full(format!("{} {} {host}", request.method(), request.uri())))
    });
    let egress = egress(&with_service(server.await));
    let answer = get(&egress, order("http://web.shop.svc:8080", SERVICES)).await.unwrap();
    assert_eq!(whole(answer).await.unwrap(), "GET /path?x=y web.shop.svc:8080");
    assert_eq!(egress.metrics.count("test", "2xx"), 1);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let server = serve(None, |_| async {
        Response::builder().status(302).header("location", "http://169.254.169.254/").body(full("")).unwrap()
    });
    let network = with_service(server.await);
    let answer = get(&egress(&network), order("http://web.shop.svc:8080", SERVICES)).await.unwrap();
    assert_eq!(answer.status(), 302);
    assert_eq!(network.met.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn names_that_lead_to_the_cloud_the_link_or_unasked_into_the_cluster_are_not_met() {
    let everything = Reach { private: true, loopback: true };
    for (addresses, reach) in [
        (&["169.254.169.254"][..], everything),
        (&["::ffff:169.254.169.254"], everything),
        (&["fd00:ec2::254"], everything),
        (&["10.96.0.1"], Reach::default()),
        (&["127.0.0.1"], SERVICES),
        // One bad address is enough.
        (&["8.8.8.8", "10.96.0.1"], Reach::default()),
    ] {
        let network = Arc::new(Scripted::default());
        network.name("a.example", addresses);
        let failure = get(&egress(&network), order("http://a.example", reach)).await.unwrap_err();
        assert!(matches!(failure, Failure::Prohibited { .. }), "{addresses:?}: {failure}");
        assert!(network.met.lock().unwrap().is_empty(), "{addresses:?}");
    }
    let network = Arc::new(Scripted::default());
    let failure = get(&egress(&network), order("http://169.254.169.254", everything)).await.unwrap_err();
    assert!(failure.to_string().contains("no grant reaches it"), "{failure}");
}

#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_met() {
    let network = Arc::new(Scripted::default());
    network.name_in_turn("a.example", &[&["8.8.8.8"], &["10.96.0.1"]]);
    let network_of = egress(&network);
    let first = get(&network_of, order("http://a.example", Reach::default())).await.unwrap_err();
    assert!(matches!(first, Failure::Connect { .. }), "{first}");
    assert_eq!(network.resolved.load(Ordering::Relaxed), 1);
    assert_eq!(*network.met.lock().unwrap(), ["8.8.8.8:80".parse().unwrap()]);
    let second = get(&network_of, order("http://a.example", Reach::default())).await.unwrap_err();
    assert!(matches!(second, Failure::Prohibited { .. }), "{second}");
}

#[tokio::test]
async fn an_endless_answer_ends_with_the_budget_and_a_large_one_flows() {
    let server = serve(None, |_| async { Response::new(mebibytes(96)) }).await;
    let network = with_service(server);
    let egress = egress(&network);
    let bounded = Order { purse: Some(purse(3)), ..order("http://web.shop.svc:8080", SERVICES) };
    let failure = whole(get(&egress, bounded).await.unwrap()).await.unwrap_err();
    assert!(failure.to_string().contains("budget of bytes"), "{failure}");

    let mut body = get(&egress, order("http://web.shop.svc:8080", SERVICES)).await.unwrap().into_body();
    let (mut total, mut largest) = (0, 0);
    while let Some(frame) = body.frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        total += piece.len();
        largest = largest.max(piece.len());
    }
    assert_eq!(total, 96 << 20);
    assert!(largest <= 512 << 10, "read ahead: {largest}");
}

#[tokio::test]
async fn an_endless_head_and_what_is_no_http_are_refused() {
    let endless = serve_streams(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(&[b'x'; 1024]).await.is_ok() {}
    });
    let endless =
        get(&egress(&with_service(endless.await)), order("http://web.shop.svc:8080", SERVICES)).await;
    assert!(matches!(endless, Err(Failure::Protocol { .. })), "{endless:?}");
    let ssh = serve_streams(|mut stream| async move {
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let ssh = get(&egress(&with_service(ssh.await)), order("http://web.shop.svc:8080", SERVICES)).await;
    assert!(matches!(ssh, Err(Failure::Protocol { .. })), "{ssh:?}");
}

#[tokio::test]
async fn whoever_is_slow_is_given_up_with_the_step_that_was_slow() {
    let short = Duration::from_millis(60);
    let times = Times { first_byte: short, ..Times::default() };
    let silent = Order { times, ..order("http://web.shop.svc:8080", SERVICES) };
    let network = with_service(serve_streams_silently().await);
    let failure = get(&egress(&network), silent).await.unwrap_err();
    assert_eq!(failure.to_string(), "web.shop.svc:8080: the answer took longer than 60ms");

    let stalls = serve_streams(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let times = Times { between: short, ..Times::default() };
    let stalls_order = Order { times, ..order("http://web.shop.svc:8080", SERVICES) };
    let answer = get(&egress(&with_service(stalls.await)), stalls_order).await.unwrap();
    let failure = whole(answer).await.unwrap_err();
    assert!(failure.to_string().contains("the next piece of the answer took longer"), "{failure}");

    let deaf = Order {
        times: Times { end: Some(Instant::now() + short), ..Times::default() },
        ..order("http://web.shop.svc:8080", SERVICES)
    };
    let endless = serve(None, |_| async { Response::new(mebibytes(usize::MAX)) }).await;
    let answer = get(&egress(&with_service(endless)), deaf).await.unwrap();
    let failure = whole(answer).await.unwrap_err();
    assert!(matches!(failure, Failure::Deadline { .. }), "{failure}");
}

async fn serve_streams_silently() -> std::net::SocketAddr {
    serve_streams(|mut stream| async move {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_whole_one() {
    for head in ["content-length: 100", "transfer-encoding: chunked"] {
        let server = serve_streams(move |mut stream| async move {
            let _ = stream.read(&mut [0; 1024]).await;
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n5\r\nhello").as_bytes()).await;
        });
        let answer =
            get(&egress(&with_service(server.await)), order("http://web.shop.svc:8080", SERVICES)).await;
        let failure = whole(answer.unwrap()).await.unwrap_err();
        assert!(matches!(failure, Failure::Broken { .. }), "{head}: {failure}");
    }
}

#[tokio::test]
async fn letting_an_answer_go_closes_its_connection() {
    let (closed, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let server = serve_streams(move |mut stream| {
        let closed = closed.clone();
        async move {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
            let _ = stream.read_to_end(&mut Vec::new()).await;
            let _ = closed.send(());
        }
    });
    let answer = get(&egress(&with_service(server.await)), order("http://web.shop.svc:8080", SERVICES)).await;
    drop(answer.unwrap());
    assert!(seen.recv().await.is_some());
}

fn pem(text: &str) -> Pem {
    Pem { place: "test".to_owned(), text: text.as_bytes().to_vec() }
}

fn identity(authority: &Authority, pair: Option<&Pair>) -> Tls {
    let (certificate, key) = pair.map_or((pem(""), pem("")), |pair| (pem(&pair.certificate), pem(&pair.key)));
    let pair = pair.map(|_| (&certificate, &key));
    tls(&Roots::default(), Some(&pem(&authority.pem())), pair, None).unwrap()
}

#[tokio::test]
async fn both_sides_are_known_by_their_certificates_or_do_not_talk() {
    let (servers, clients, others) = (Authority::new(), Authority::new(), Authority::new());
    let tls = acceptor(&servers.signs("web.shop.svc"), Some(&clients));
    let server = serve(Some(tls), |_| async { Response::new(full("inside")) }).await;
    let egress = egress(&with_service(server));
    let asked = |identity| Order { tls: Some(identity), ..order("https://web.shop.svc:8080", SERVICES) };

    let known = clients.signs("me");
    let answer = get(&egress, asked(identity(&servers, Some(&known)))).await.unwrap();
    assert_eq!(whole(answer).await.unwrap(), "inside");

    let wrong_authority = get(&egress, asked(identity(&others, Some(&known)))).await.unwrap_err();
    assert!(matches!(wrong_authority, Failure::Certificate { .. }), "{wrong_authority}");
    for stranger in [Some(others.signs("me")), None] {
        let refused = get(&egress, asked(identity(&servers, stranger.as_ref()))).await.unwrap_err();
        assert!(matches!(refused, Failure::Tls { .. }), "{refused}");
    }

    let network = with_service(server);
    network.name("other.shop.svc", &["10.1.2.3"]);
    let other_name = Order {
        target: Target::of(&"https://other.shop.svc:8080".parse().unwrap()).unwrap(),
        ..asked(identity(&servers, Some(&known)))
    };
    let egress = Egress::new(network.clone(), Metrics::default());
    let refused = get(&egress, other_name).await.unwrap_err();
    assert!(matches!(refused, Failure::Certificate { .. }), "{refused}");
    let told = Tls { server_name: Some("web.shop.svc".to_owned()), ..identity(&servers, Some(&known)) };
    let named =
        Order { target: Target::of(&"https://other.shop.svc:8080".parse().unwrap()).unwrap(), ..asked(told) };
    assert!(get(&egress, named).await.is_ok());
}

#[tokio::test]
async fn a_server_without_tls_is_no_server_with_it() {
    let plain = serve(None, |_| async { Response::new(full("")) }).await;
    let asked = Order {
        tls: Some(identity(&Authority::new(), None)),
        ..order("https://web.shop.svc:8080", SERVICES)
    };
    let failure = get(&egress(&with_service(plain)), asked).await.unwrap_err();
    assert!(matches!(failure, Failure::Tls { .. }), "{failure}");
}

#[tokio::test]
async fn a_request_whose_body_is_over_the_budget_is_not_sent_whole() {
    let server = serve(None, |request| async move {
        let got = request.into_body().collect().await.map(|body| body.to_bytes().len());
        Response::new(full(format!("{got:?}")))
    });
    let asked = Order { purse: Some(purse(2)), ..order("http://web.shop.svc:8080", SERVICES) };
    let request = Request::put("http://web.shop.svc:8080/").body(mebibytes(5)).unwrap();
    let failure = send(&egress(&with_service(server.await)), asked, request).await.unwrap_err();
    assert!(failure.to_string().contains("budget of bytes"), "{failure}");
}

#[tokio::test]
async fn a_tunnel_is_refused() {
    let request =
        Request::builder().method("CONNECT").uri("web.shop.svc:8080").body(Empty::<Bytes>::new()).unwrap();
    let network = Arc::new(Scripted::default());
    let failure =
        send(&egress(&network), order("http://web.shop.svc:8080", SERVICES), request).await.unwrap_err();
    assert!(matches!(failure, Failure::Invalid(_)), "{failure}");
}
