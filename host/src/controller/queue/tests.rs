//! The queue's contract, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, advance, timeout};

use super::*;
use crate::object::Gvk;

fn queue() -> Queue {
    queue_with(100)
}

fn queue_with(lane_concurrency: usize) -> Queue {
    let options = Options { lane_concurrency, seed: Some(1), ..Options::default() };
    Queue::new(&options, Arc::default())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(Arc::new(Gvk::new("", "v1", "Thing")), Some("a"), name)
}

fn lane(name: &str) -> Arc<str> {
    Arc::from(name)
}

fn changed(queue: &Queue, name: &str) {
    queue.add(&key(name), &lane("one"), Reason::Changed, Priority::High);
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

async fn next(queue: &Queue) -> Work {
    timeout(Duration::from_secs(3600), queue.next())
        .await
        .expect("work within the hour")
        .expect("not draining")
}

/// Work that is there without waiting.
async fn at_once(queue: &Queue) -> Option<Work> {
    timeout(Duration::ZERO, queue.next()).await.ok().flatten()
}

#[tokio::test(start_paused = true)]
async fn adds_of_a_waiting_key_are_merged_into_one_call() {
    let queue = queue();
    changed(&queue, "x");
    queue.add(&key("x"), &lane("one"), Reason::Resync, Priority::Low);
    changed(&queue, "x");
    let work = next(&queue).await;
    assert_eq!(work.reasons, [Reason::Changed, Reason::Resync]);
    assert_eq!(work.priority, Priority::High);
    queue.finish(work, Verdict::Done);
    assert!(at_once(&queue).await.is_none());
    assert_eq!(queue.snapshot().known, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_added_while_it_runs_is_handed_out_again_only_after_its_call() {
    let queue = queue();
    changed(&queue, "x");
    let first = next(&queue).await;
    changed(&queue, "x");
    assert!(at_once(&queue).await.is_none());
    queue.finish(first, Verdict::Done);
    let second = at_once(&queue).await.expect("again");
    assert_eq!(second.reasons, [Reason::Changed]);
    queue.finish(second, Verdict::Done);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_is_woken_by_an_add() {
    let queue = queue();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { next(&queue).await.key.clone() }
    });
    tokio::task::yield_now().await;
    changed(&queue, "x");
    assert_eq!(worker.await.unwrap(), key("x"));
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_and_success_forgets_them() {
    let queue = queue();
    changed(&queue, "x");
    let mut waits = Vec::new();
    for failures in 0..4 {
        let start = Instant::now();
        let work = next(&queue).await;
        assert_eq!(work.failures, failures);
        waits.push(start.elapsed().as_millis());
        queue.finish(work, Verdict::Retry);
    }
    // 5, 10, 20 ms ± 10 %, and a timer's grain of one millisecond.
    for (wait, expected) in waits.iter().zip([0, 5, 10, 20]) {
        assert!(wait.abs_diff(expected) <= expected / 10 + 1, "{waits:?}");
    }
    queue.finish(next(&queue).await, Verdict::Done);
    changed(&queue, "x");
    assert_eq!(at_once(&queue).await.expect("no back-off left").failures, 0);
}

async fn fail(queue: &Queue, name: &str, times: u32) {
    changed(queue, name);
    for _ in 0..times {
        queue.finish(next(queue).await, Verdict::Retry);
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_child_neither_cuts_nor_lengthens_the_back_off() {
    let queue = queue();
    fail(&queue, "x", 8).await;
    let start = Instant::now();
    for n in 0..20 {
        queue.add(&key("x"), &lane("one"), Reason::Child(key(&format!("c{n}"))), Priority::High);
        assert!(at_once(&queue).await.is_none());
    }
    let work = next(&queue).await;
    assert_eq!(work.failures, 8);
    assert!(start.elapsed() > ms(570) && start.elapsed() < ms(710), "{:?}", start.elapsed());
    assert!(work.reasons.contains(&Reason::Retry) && work.reasons.contains(&Reason::Child(key("c0"))));
}

#[tokio::test(start_paused = true)]
async fn a_changed_spec_runs_at_once_and_forgets_the_failures() {
    for reason in [Reason::Changed, Reason::Manual, Reason::Configuration, Reason::Start] {
        let queue = queue();
        fail(&queue, "x", 12).await;
        queue.add(&key("x"), &lane("one"), reason, Priority::High);
        assert_eq!(at_once(&queue).await.expect("at once").failures, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_that_comes_while_a_call_fails_is_tried_at_once() {
    let queue = queue();
    fail(&queue, "x", 12).await;
    let work = next(&queue).await;
    changed(&queue, "x");
    queue.finish(work, Verdict::Retry);
    let work = at_once(&queue).await.expect("the failed call did not know the change");
    assert_eq!(work.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_failing_hook_that_changes_its_own_object_is_no_busy_loop() {
    let queue = queue();
    changed(&queue, "x");
    let start = Instant::now();
    let mut calls = 0;
    while start.elapsed() < Duration::from_secs(10) {
        let work = next(&queue).await;
        calls += 1;
        changed(&queue, "x");
        queue.finish(work, Verdict::Retry);
    }
    assert!(calls < 120, "{calls} calls in ten seconds");
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_a_lower_bound_for_the_back_off() {
    let queue = queue();
    changed(&queue, "x");
    queue.finish(next(&queue).await, Verdict::RetryAfter(Duration::from_secs(7)));
    let start = Instant::now();
    let work = next(&queue).await;
    assert_eq!((start.elapsed(), work.failures), (Duration::from_secs(7), 1));
}

#[tokio::test(start_paused = true)]
async fn requeue_after_calls_again_with_the_reason_timer() {
    let queue = queue();
    changed(&queue, "x");
    queue.finish(next(&queue).await, Verdict::RequeueAfter(Duration::from_secs(30)));
    let start = Instant::now();
    let work = next(&queue).await;
    assert_eq!((start.elapsed(), &work.reasons[..]), (Duration::from_secs(30), &[Reason::Timer][..]));
}

#[tokio::test(start_paused = true)]
async fn of_several_delayed_adds_the_earliest_counts() {
    let queue = queue();
    for seconds in [20, 5, 60] {
        queue.add_after(&key("x"), &lane("one"), Reason::Start, Priority::Low, Duration::from_secs(seconds));
    }
    let start = Instant::now();
    queue.finish(next(&queue).await, Verdict::Done);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    assert_eq!(queue.snapshot().known, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_takes_the_place_of_the_delayed_one() {
    let queue = queue();
    changed(&queue, "x");
    queue.finish(next(&queue).await, Verdict::RequeueAfter(Duration::from_secs(30)));
    changed(&queue, "x");
    queue.finish(at_once(&queue).await.expect("changed"), Verdict::Done);
    assert_eq!(queue.snapshot().known, 0);
}

#[tokio::test(start_paused = true)]
async fn a_resync_asked_for_during_the_call_is_kept() {
    let queue = queue();
    changed(&queue, "x");
    let work = next(&queue).await;
    queue.add_after(&key("x"), &lane("one"), Reason::Resync, Priority::Low, Duration::from_secs(600));
    queue.finish(work, Verdict::Done);
    let start = Instant::now();
    let work = next(&queue).await;
    assert_eq!((start.elapsed(), work.priority), (Duration::from_secs(600), Priority::Low));
}

#[tokio::test(start_paused = true)]
async fn urgent_objects_go_first_and_every_fifth_is_one_that_is_not() {
    let queue = queue();
    for n in 0..3 {
        queue.add(&key(&format!("low{n}")), &lane("one"), Reason::Start, Priority::Low);
    }
    for n in 0..9 {
        changed(&queue, &format!("high{n}"));
    }
    let mut order = String::new();
    while let Some(work) = at_once(&queue).await {
        order.push(if work.priority == Priority::High { 'h' } else { 'l' });
        queue.finish(work, Verdict::Done);
    }
    assert_eq!(order, "hhhhlhhhhlhl");
}

#[tokio::test(start_paused = true)]
async fn a_low_object_that_becomes_urgent_overtakes() {
    let queue = queue();
    queue.add(&key("a"), &lane("one"), Reason::Start, Priority::Low);
    queue.add(&key("b"), &lane("one"), Reason::Start, Priority::Low);
    changed(&queue, "b");
    assert_eq!(at_once(&queue).await.expect("work").key, key("b"));
}

/// Runs calls of given lengths on some workers for a while; the worker time each lane got.
async fn shares(queue: &Queue, workers: usize, lanes: &[(&str, u64)], time: Duration) -> Vec<Duration> {
    let end = Instant::now() + time;
    let tasks: Vec<_> = (0..workers)
        .map(|_| {
            let queue = queue.clone();
            let lengths: Vec<_> = lanes.iter().map(|(name, length)| (lane(name), ms(*length))).collect();
            tokio::spawn(async move {
                let mut got = vec![Duration::ZERO; lengths.len()];
                while Instant::now() < end {
                    let work = next(&queue).await;
                    let at = lengths.iter().position(|(name, _)| *name == work.lane).expect("known lane");
                    tokio::time::sleep(lengths[at].1).await;
                    got[at] += lengths[at].1;
                    queue.add(&work.key, &work.lane, Reason::Changed, Priority::High);
                    queue.finish(work, Verdict::Done);
                }
                got
            })
        })
        .collect();
    let mut sum = vec![Duration::ZERO; lanes.len()];
    for task in tasks {
        for (sum, got) in sum.iter_mut().zip(task.await.unwrap()) {
            *sum += got;
        }
    }
    sum
}

#[tokio::test(start_paused = true)]
async fn a_noisy_plugin_and_a_slow_one_get_no_more_time_than_a_quiet_one() {
    let queue = queue();
    let lanes = [("noisy", 1), ("slow", 1000), ("quiet", 5)];
    for (name, objects) in [("noisy", 5000), ("slow", 50), ("quiet", 10)] {
        for n in 0..objects {
            queue.add(&key(&format!("{name}{n}")), &lane(name), Reason::Changed, Priority::High);
        }
    }
    let shares = shares(&queue, 4, &lanes, Duration::from_secs(300)).await;
    let total: Duration = shares.iter().sum();
    for share in &shares {
        let part = share.as_secs_f64() / total.as_secs_f64();
        assert!((0.29..0.38).contains(&part), "{shares:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rested_lane_has_saved_up_nothing() {
    let queue = queue();
    for n in 0..100 {
        queue.add(&key(&format!("busy{n}")), &lane("busy"), Reason::Changed, Priority::High);
    }
    let _ = shares(&queue, 1, &[("busy", 100)], Duration::from_secs(600)).await;
    for n in 0..100 {
        queue.add(&key(&format!("late{n}")), &lane("late"), Reason::Changed, Priority::High);
    }
    let shares = shares(&queue, 1, &[("busy", 100), ("late", 100)], Duration::from_secs(20)).await;
    assert!(shares[0].abs_diff(shares[1]) <= ms(200), "{shares:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lane_never_runs_more_calls_at_once_than_it_may() {
    let queue = queue_with(2);
    for n in 0..5 {
        changed(&queue, &format!("x{n}"));
    }
    let first = at_once(&queue).await.expect("one");
    let _second = at_once(&queue).await.expect("two");
    assert!(at_once(&queue).await.is_none());
    queue.finish(first, Verdict::Done);
    let _third = at_once(&queue).await.expect("a slot is free");
    queue.set_concurrency(&lane("one"), 3);
    let _fourth = at_once(&queue).await.expect("a slot more");
    assert!(at_once(&queue).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn of_a_kind_with_a_bound_no_more_are_worked_on_at_once_and_others_go_by() {
    let queue = queue();
    let other = |name: &str| ObjectKey::new(Arc::new(Gvk::new("", "v1", "Other")), Some("a"), name);
    changed(&queue, "x0");
    changed(&queue, "x1");
    changed(&queue, "x2");
    let first = at_once(&queue).await.expect("no bound yet");
    queue.set_kind_concurrency(&key("").gvk, Some(2));
    queue.add(&key("low"), &lane("one"), Reason::Resync, Priority::Low);
    changed(&queue, "x3");
    queue.add(&other("y"), &lane("one"), Reason::Changed, Priority::High);
    let ready = at_once(&queue).await.expect("it was ready before");
    assert_eq!(ready.key, key("x1"));
    let ready_too = at_once(&queue).await.expect("so was this one");
    assert_eq!(ready_too.key, key("x2"));
    let passing = at_once(&queue).await.expect("another kind");
    assert_eq!(passing.key, other("y"));
    assert!(at_once(&queue).await.is_none());
    assert_eq!(queue.snapshot().lanes[0].depth_high + queue.snapshot().lanes[0].depth_low, 2);
    queue.finish(first, Verdict::Done);
    assert!(at_once(&queue).await.is_none(), "two are at work");
    queue.finish(ready, Verdict::Done);
    let third = at_once(&queue).await.expect("one ended");
    assert_eq!(third.key, key("x3"), "the urgent one goes first");
    drop((ready_too, third));
    let fourth = at_once(&queue).await.expect("two failed, and one waits");
    assert_eq!(fourth.key, key("low"));
    queue.finish(fourth, Verdict::Done);
    for _ in 0..2 {
        let again = next(&queue).await;
        queue.finish(again, Verdict::Done);
    }
    queue.finish(passing, Verdict::Done);
    assert_eq!(queue.snapshot().known, 0);
}

#[tokio::test(start_paused = true)]
async fn a_bound_that_is_taken_away_or_an_object_that_goes_makes_room() {
    let queue = queue();
    queue.set_kind_concurrency(&key("").gvk, Some(1));
    for name in ["a", "b", "c", "d"] {
        changed(&queue, name);
    }
    queue.remove(&key("a"));
    let second = at_once(&queue).await.expect("the place of the one that went");
    assert_eq!(second.key, key("b"));
    queue.remove(&key("c"));
    queue.remove(&key("b"));
    assert!(at_once(&queue).await.is_none(), "its call goes on");
    queue.finish(second, Verdict::Done);
    assert_eq!(at_once(&queue).await.expect("it ended").key, key("d"));
    for name in ["e", "f", "g"] {
        changed(&queue, name);
    }
    assert!(at_once(&queue).await.is_some(), "the work before was dropped and waits to be tried again");
    queue.set_kind_concurrency(&key("").gvk, None);
    let (_e, _f) = (at_once(&queue).await.expect("one"), at_once(&queue).await.expect("two"));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_panics_does_not_lose_its_key() {
    let queue = queue();
    changed(&queue, "x");
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _work = next(&queue).await;
            panic!("a bug in a worker");
        }
    });
    assert!(worker.await.is_err());
    assert_eq!(next(&queue).await.failures, 1);
}

#[tokio::test(start_paused = true)]
async fn a_removed_key_is_gone_and_a_running_call_of_it_says_nothing_any_more() {
    let queue = queue();
    changed(&queue, "waits");
    queue.add_after(&key("delayed"), &lane("one"), Reason::Start, Priority::Low, ms(5));
    changed(&queue, "runs");
    let _ = (queue.remove(&key("waits")), queue.remove(&key("delayed")));
    let work = at_once(&queue).await.expect("the third");
    queue.remove(&key("runs"));
    queue.finish(work, Verdict::RetryAfter(ms(1)));
    advance(Duration::from_secs(60)).await;
    assert!(at_once(&queue).await.is_none());
    assert_eq!(queue.snapshot().known, 0);
}

#[tokio::test(start_paused = true)]
async fn an_object_created_again_while_the_call_for_its_predecessor_runs_is_not_lost() {
    let queue = queue();
    changed(&queue, "x");
    let work = next(&queue).await;
    queue.remove(&key("x"));
    changed(&queue, "x");
    assert!(at_once(&queue).await.is_none());
    queue.finish(work, Verdict::Retry);
    assert_eq!(at_once(&queue).await.expect("the new one").failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_removed_lane_takes_its_keys_along_and_leaves_others() {
    let queue = queue();
    changed(&queue, "x");
    queue.add(&key("y"), &lane("two"), Reason::Changed, Priority::High);
    queue.remove_lane("one");
    let work = at_once(&queue).await.expect("the other lane's");
    assert_eq!(work.key, key("y"));
    assert_eq!(queue.snapshot().lanes.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_key_moves_to_the_lane_it_was_added_to_last() {
    let queue = queue();
    changed(&queue, "x");
    queue.add(&key("x"), &lane("two"), Reason::Start, Priority::Low);
    assert_eq!(at_once(&queue).await.expect("once").lane, lane("two"));
    assert!(at_once(&queue).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn draining_stops_every_worker_and_waits_for_running_calls() {
    let queue = queue();
    changed(&queue, "x");
    let work = next(&queue).await;
    changed(&queue, "y");
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { while queue.next().await.is_some() {} })
        })
        .collect();
    let draining = tokio::spawn({
        let queue = queue.clone();
        async move { queue.drain().await }
    });
    for worker in waiting {
        worker.await.unwrap();
    }
    tokio::task::yield_now().await;
    assert!(!draining.is_finished());
    queue.finish(work, Verdict::Retry);
    draining.await.unwrap();
    assert!(queue.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_registry_shows_the_queue_under_controller_runtimes_names() {
    let mut registry = prometheus_client::registry::Registry::default();
    let metrics = QueueMetrics::register(&mut registry);
    let queue = Queue::new(&Options { lane_concurrency: 1, ..Options::default() }, metrics);
    crate::controller::metrics::QueueCollector::register(queue.clone(), &mut registry);
    changed(&queue, "x");
    changed(&queue, "y");
    queue.finish(next(&queue).await, Verdict::Retry);
    let work = next(&queue).await;
    advance(Duration::from_secs(3)).await;
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    for line in [
        r#"workqueue_depth{name="one",controller="one",priority="0"} 0"#,
        r#"workqueue_adds_total{name="one",controller="one"} 2"#,
        r#"workqueue_retries_total{name="one",controller="one"} 1"#,
        r#"workqueue_unfinished_work_seconds{name="one",controller="one"} 3.0"#,
        r#"workqueue_longest_running_processor_seconds{name="one",controller="one"} 3.0"#,
        r#"workqueue_queue_duration_seconds_count{name="one",controller="one"} 2"#,
        r#"workqueue_work_duration_seconds_count{name="one",controller="one"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    queue.finish(work, Verdict::Done);
}
