//! Tests of pacers on a simulated clock: a device is modeled, and time passes only through its ops.

use super::*;
use crate::control::FlowWords;
use crate::op::{BlockOp, Role};
use crate::rng::{Purpose, Rng, StreamId};
use crate::terms::Ended;
use plumb_workload::OpKind;
use plumb_workload::pace::{Consumer, LatencyGoal, MinimumRate, ThinkBasis, ThinkTime, WeightedFlow};
use plumb_workload::{Arrival, Bytes, Nanos, Pace, PerSecond};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::AtomicU64;

const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// One tick is a nanosecond. Only busy waiting reads this clock.
const CLOCK: Clock = Clock::monotonic();

const ANY_TIME: Ticks = Ticks::MAX / 2;

fn op(kind: OpKind, length: u32) -> BlockOp {
    BlockOp::load(kind, 0, 0, length)
}

fn for_all(per_second: f64) -> ByKind<Option<PerSecond>> {
    ByKind::all(Some(PerSecond(per_second)))
}

/// Returns the random stream for the gaps of a worker's ops.
fn arrivals(worker: u32) -> Rng {
    StreamId { seed: 137, phase: 0, worker }.rng(Purpose::Arrival)
}

fn request<'a>(pace: &Pace, depth: u32, search: &'a SearchWords) -> PacerRequest<'a> {
    PacerRequest {
        pace: *pace,
        clock: CLOCK,
        depth,
        arrivals: arrivals(1),
        sharing: Sharing::Own,
        ramp: Nanos(0),
        paces_all: false,
        flow: None,
        flow_entry: FlowEntry::WithPhase,
        search,
        kinds: None,
    }
}

fn rated(pace: &Pace) -> Rated<'static> {
    static NO_SEARCH: SearchWords = SearchWords::none();
    started(&request(pace, 1, &NO_SEARCH))
}

fn started<'a>(request: &PacerRequest<'a>) -> Rated<'a> {
    let mut pacer = Rated { rates: Rates::new(request), paces_all: request.paces_all };
    pacer.start(0);
    pacer
}

fn full<'a>(pace: &Pace, depth: u32, search: &'a SearchWords) -> FullPacer<'a> {
    let mut pacer = FullPacer::new(&request(pace, depth, search), false);
    pacer.start(0);
    pacer
}

/// Returns the intended start of an op, regardless of its lateness.
fn intended(pacer: &mut impl Pacer, op: &BlockOp) -> Ticks {
    match pacer.due(ANY_TIME, PacedOp::from_op(op)) {
        Due::Now { intended } => intended,
        other => panic!("expected the op to be due, but got {other:?}"),
    }
}

/// Result of a modeled run.
#[derive(Debug, Default)]
struct Driven {
    started: Vec<Ticks>,
    ended: Option<Ended>,
    now: Ticks,
    /// Time at which the measurement was restarted.
    began_anew: Option<Ticks>,
}

/// Runs a pacer on a modeled device. The duration of an op is `service_ns` of the number of ops in flight (including
/// itself) and of its own number.
fn drive(pacer: &mut impl Pacer, depth: usize, until: Ticks, service_ns: impl Fn(usize, usize) -> u64) -> Driven {
    let mut driven = Driven::default();
    let mut flights: BinaryHeap<Reverse<(Ticks, u64)>> = BinaryHeap::new();
    let op = op(OpKind::Read, 4096);
    while driven.now < until {
        let mut wake_at = Ticks::MAX;
        while flights.len() < depth && driven.ended.is_none() {
            match pacer.due(driven.now, PacedOp::from_op(&op)) {
                Due::Now { .. } => {
                    if pacer.restarts() {
                        assert!(flights.is_empty(), "no op of the search is in flight");
                        driven.began_anew = Some(driven.now);
                    }
                    let service = service_ns(flights.len() + 1, driven.started.len());
                    driven.started.push(driven.now);
                    flights.push(Reverse((driven.now + service, service)));
                }
                Due::At(at) => {
                    wake_at = at.max(driven.now + 1);
                    break;
                }
                Due::AfterNext => {
                    assert!(!flights.is_empty(), "the pacer waits with nothing in flight");
                    break;
                }
                Due::End(ended) => driven.ended = Some(ended),
            }
        }
        match flights.peek() {
            Some(&Reverse((at, service))) if at <= wake_at => {
                flights.pop();
                driven.now = at;
                pacer.completed(OpKind::Read, 4096, service, at);
            }
            _ if wake_at < Ticks::MAX => driven.now = wake_at,
            _ => break,
        }
    }
    driven
}

// Protects limits of a mix: its reads and writes share one rate, and do not each get all of it.
#[test]
fn reads_that_count_as_writes_share_their_rate() {
    let rate = ByKind { write: Some(PerSecond(1e6)), ..ByKind::default() };
    let pace = Pace { bytes_per_second: rate, reads_count_as_writes: true, ..Pace::default() };
    let mut pacer = rated(&pace);
    let starts: Vec<Ticks> = [OpKind::Read, OpKind::Write, OpKind::Read, OpKind::Write]
        .map(|kind| intended(&mut pacer, &op(kind, 1000)))
        .into();
    assert_eq!(starts, [0, MS, 2 * MS, 3 * MS]);
    let apart = Pace { reads_count_as_writes: false, ..pace };
    let mut pacer = rated(&apart);
    assert_eq!(intended(&mut pacer, &op(OpKind::Write, 1000)), 0);
    assert_eq!(intended(&mut pacer, &op(OpKind::Read, 1000)), ANY_TIME, "reads without a rate start immediately");
}

// Protects limits of verified reads: they are the load, whatever happens to the data that they read.
#[test]
fn verified_reads_keep_the_rate_but_read_backs_do_not() {
    let pace = Pace { bytes_per_second: for_all(1e6), ..Pace::default() };
    let mut pacer = rated(&pace);
    let read = |role| BlockOp { role, ..op(OpKind::Read, 1000) };
    let starts = [Role::LoadVerified, Role::ReadBack, Role::LoadVerified].map(|role| intended(&mut pacer, &read(role)));
    assert_eq!(starts, [0, ANY_TIME, MS]);
}

#[test]
fn a_rate_of_bytes_is_exact_for_any_sizes() {
    let pace = Pace { bytes_per_second: for_all(300e6), ..Pace::default() };
    let mut pacer = rated(&pace);
    let mut bytes = 0u64;
    for number in 0..1_000_000u32 {
        let length = 512 << (number % 9);
        let exact = (u128::from(bytes) * u128::from(SECOND) / 300_000_000) as u64;
        let start = intended(&mut pacer, &op(OpKind::Read, length));
        assert!(start.abs_diff(exact) <= 1, "op {number} after {bytes} bytes at {start} instead of {exact}");
        bytes += u64::from(length);
    }
}

#[test]
fn a_rate_of_ops_does_not_drift() {
    let pace = Pace { ops_per_second: for_all(300_000.0), ..Pace::default() };
    let mut pacer = rated(&pace);
    let last = (0..=3_000_000).map(|_| intended(&mut pacer, &op(OpKind::Write, 4096))).last();
    assert_eq!(last, Some(10 * SECOND), "3,000,000 gaps at 300,000/s are 10 s");
}

#[test]
fn kinds_keep_their_own_rates_and_flushes_and_read_backs_have_none() {
    let ops_per_second = ByKind { read: Some(PerSecond(1000.0)), write: Some(PerSecond(100.0)), trim: None };
    let pace = Pace { ops_per_second, ..Pace::default() };
    let mut pacer = rated(&pace);
    let starts = |pacer: &mut Rated<'_>, kind| (0..3).map(|_| intended(pacer, &op(kind, 512)) / MS).collect::<Vec<_>>();
    assert_eq!(starts(&mut pacer, OpKind::Read), [0, 1, 2]);
    assert_eq!(starts(&mut pacer, OpKind::Write), [0, 10, 20]);
    assert_eq!(pacer.due(5, PacedOp::from_op(&op(OpKind::Trim, 512))), Due::Now { intended: 5 });
    assert_eq!(pacer.due(6, PacedOp::from_op(&op(OpKind::Fsync, 0))), Due::Now { intended: 6 });
    let back = BlockOp { role: Role::ReadBack, ..op(OpKind::Read, 512) };
    assert_eq!(pacer.due(7, PacedOp::from_op(&back)), Due::Now { intended: 7 });
    assert_eq!(pacer.due(7, PacedOp::from_op(&op(OpKind::Read, 512))), Due::At(3 * MS));
}

#[test]
fn the_narrower_of_two_rates_holds() {
    let pace = Pace { ops_per_second: for_all(1000.0), bytes_per_second: for_all(1e6), ..Pace::default() };
    let mut pacer = rated(&pace);
    intended(&mut pacer, &op(OpKind::Read, 100));
    assert_eq!(intended(&mut pacer, &op(OpKind::Read, 9_900)), MS, "small ops are limited by their number");
    assert_eq!(intended(&mut pacer, &op(OpKind::Read, 100)), 10 * MS, "large ops are limited by their bytes");
}

/// Returns the largest distance between the distribution of the gaps and an exponential one
/// with this mean: the Kolmogorov-Smirnov statistic.
fn distance_from_exponential(gaps: &mut [f64], mean: f64) -> f64 {
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    gaps.iter().enumerate().fold(0.0, |largest: f64, (rank, gap)| {
        let expected = 1.0 - (-gap / mean).exp();
        largest.max((expected - rank as f64 / count).abs()).max((expected - (rank + 1) as f64 / count).abs())
    })
}

#[test]
fn poisson_gaps_are_exponential_at_slow_and_fast_rates() {
    for per_second in [1e3, 1e5, 1e6, 5e6] {
        const COUNT: usize = 400_000;
        let pace = Pace { ops_per_second: for_all(per_second), arrival: Arrival::Poisson, ..Pace::default() };
        // The schedule keeps fractions of a tick, so check it before it is rounded.
        let words = SearchWords::default();
        let mut rates = Rates::new(&request(&pace, 1, &words));
        rates.start(0);
        let mut gaps: Vec<f64> = (0..COUNT)
            .map(|_| {
                let before = rates.next_of(OpKind::Read);
                rates.due(ANY_TIME, PacedOp::from_op(&op(OpKind::Read, 4096)));
                rates.next_of(OpKind::Read) - before
            })
            .collect();
        let mean = 1e9 / per_second;
        let found = gaps.iter().sum::<f64>() / COUNT as f64;
        // Four standard errors of the mean.
        assert!((found / mean - 1.0).abs() < 4.0 / (COUNT as f64).sqrt(), "{per_second}/s: mean gap {found} ns");
        let distance = distance_from_exponential(&mut gaps, mean);
        // The critical value at 1 %.
        assert!(distance < 1.63 / (COUNT as f64).sqrt(), "{per_second}/s: KS statistic {distance}");
    }
}

#[test]
fn a_poisson_rate_of_bytes_holds_for_ops_of_mixed_sizes() {
    let pace = Pace { bytes_per_second: for_all(1e9), arrival: Arrival::Poisson, ..Pace::default() };
    let mut pacer = rated(&pace);
    let (mut bytes, mut last) = (0u64, 0);
    for number in 0..200_000u32 {
        let length = if number.is_multiple_of(5) { 65_536 } else { 4096 };
        last = intended(&mut pacer, &op(OpKind::Read, length));
        bytes += u64::from(length);
    }
    let achieved = bytes as f64 * 1e9 / last as f64;
    assert!((achieved / 1e9 - 1.0).abs() < 0.02, "{achieved} B/s");
}

#[test]
fn the_gaps_of_one_kind_do_not_depend_on_the_rates_of_another_and_the_seed_fixes_them() {
    let starts = |pace: &Pace, worker| {
        let words = SearchWords::default();
        let mut pacer = started(&PacerRequest { arrivals: arrivals(worker), ..request(pace, 1, &words) });
        (0..100).map(|_| intended(&mut pacer, &op(OpKind::Write, 4096))).collect::<Vec<_>>()
    };
    let both = Pace { ops_per_second: for_all(1000.0), arrival: Arrival::Poisson, ..Pace::default() };
    let alone = Pace { ops_per_second: ByKind { read: None, ..for_all(1000.0) }, ..both };
    assert_eq!(starts(&both, 1), starts(&alone, 1));
    assert_ne!(starts(&both, 1), starts(&both, 2));
}

#[test]
fn late_starts_are_caught_up_without_bounds() {
    let pace = Pace { ops_per_second: for_all(1000.0), ..Pace::default() };
    let mut pacer = rated(&pace);
    for number in 0..10_000 {
        assert_eq!(
            pacer.due(10 * SECOND - 1, PacedOp::from_op(&op(OpKind::Read, 1))),
            Due::Now { intended: number * MS }
        );
    }
    assert_eq!(pacer.due(10 * SECOND - 1, PacedOp::from_op(&op(OpKind::Read, 1))), Due::At(10 * SECOND));
}

#[test]
fn rates_take_precedence_over_the_mix() {
    let ops_per_second = ByKind { read: Some(PerSecond(1000.0)), write: Some(PerSecond(500.0)), trim: None };
    let pace = Pace { ops_per_second, ..Pace::default() };
    let (words, kinds) = (SearchWords::default(), KindsDue::default());
    let mut pacer = started(&PacerRequest { kinds: Some(kinds.clone()), ..request(&pace, 1, &words) });
    let (mut now, mut count) = (0, [0u32; 2]);
    // The mix draws only writes, and still yields the reads that are due.
    while now < 10 * SECOND {
        let kind = kinds.choose(OpKind::Write, OpKind::Read);
        match pacer.due(now, PacedOp::from_op(&op(kind, 4096))) {
            Due::Now { .. } => count[(kind == OpKind::Write) as usize] += 1,
            Due::At(at) => {
                now = at;
                let due = pacer.due(now, PacedOp::from_op(&op(kind, 4096)));
                assert_eq!(due, Due::Now { intended: at });
                count[(kind == OpKind::Write) as usize] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(count[0].abs_diff(10_000) <= 1 && count[1].abs_diff(5_000) <= 1, "reads and writes: {count:?}");
}

fn think(think: ThinkTime) -> Pace {
    Pace { think: Some(think), ..Pace::default() }
}

const PAUSE: ThinkTime = ThinkTime {
    pause: Nanos(100),
    at_once: false,
    busy: Nanos(0),
    busy_cycles: 0,
    every: 2,
    counts: ThinkBasis::Completed,
    work: None,
};

#[test]
fn a_pause_comes_after_every_n_ops() {
    let (pace, words) = (think(PAUSE), SearchWords::default());
    let driven = drive(&mut full(&pace, 1, &words), 1, 400, |_, _| 10);
    assert_eq!(driven.started, [0, 10, 120, 130, 240, 250, 360, 370]);
}

#[test]
fn a_pause_begins_once_nothing_is_in_flight() {
    let pace = think(ThinkTime { counts: ThinkBasis::Started, every: 3, ..PAUSE });
    let words = SearchWords::default();
    let driven = drive(&mut full(&pace, 4, &words), 4, 400, |_, number| if number == 1 { 50 } else { 10 });
    assert_eq!(driven.started, [0, 0, 0, 150, 150, 150, 260, 260, 260, 370, 370, 370]);
}

#[test]
fn completions_after_the_pause_begins_count_for_the_next() {
    // Four are in flight when the second completes, at 11. The last of the others ends at 24, and the pause at 124.
    // They were three, so the next pause is due one op later.
    let pace = think(PAUSE);
    let words = SearchWords::default();
    let driven = drive(&mut full(&pace, 4, &words), 4, 300, |_, number| 10 + number as u64);
    assert_eq!(driven.started[..7], [0, 0, 0, 0, 10, 124, 239]);
}

#[test]
fn a_pause_comes_after_a_time_or_n_ops_whichever_is_first() {
    let words = SearchWords::default();
    let by_time = think(ThinkTime { every: 0, work: Some(Nanos(25)), ..PAUSE });
    let driven = drive(&mut full(&by_time, 1, &words), 1, 160, |_, _| 10);
    assert_eq!(driven.started, [0, 10, 20, 130, 140, 150]);
    let by_either = think(ThinkTime { every: 2, work: Some(Nanos(25)), ..PAUSE });
    let driven = drive(&mut full(&by_either, 1, &words), 1, 140, |_, _| 10);
    assert_eq!(driven.started, [0, 10, 120, 130]);
}

#[test]
fn the_busy_part_of_a_pause_is_busy_and_the_rest_sleeps() {
    let pace = think(ThinkTime { pause: Nanos(500), busy: Nanos(200), every: 1, ..PAUSE });
    let words = SearchWords::default();
    let mut pacer = full(&pace, 1, &words);
    assert_eq!(pacer.due(0, PacedOp::from_op(&op(OpKind::Read, 1))), Due::Now { intended: 0 });
    pacer.completed(OpKind::Read, 1, 10, 10);
    assert_eq!(pacer.due(10, PacedOp::from_op(&op(OpKind::Read, 1))), Due::At(10), "the busy time is over");
    assert_eq!(pacer.due(210, PacedOp::from_op(&op(OpKind::Read, 1))), Due::At(510), "then the pause sleeps");
    assert_eq!(pacer.due(510, PacedOp::from_op(&op(OpKind::Read, 1))), Due::Now { intended: 510 });
}

#[test]
fn busy_cycles_come_before_every_op_but_the_first() {
    let pace = think(ThinkTime { pause: Nanos(0), busy_cycles: 50, every: 1, ..PAUSE });
    let words = SearchWords::default();
    let mut pacer = full(&pace, 2, &words);
    assert_eq!(pacer.due(0, PacedOp::from_op(&op(OpKind::Read, 1))), Due::Now { intended: 0 });
    assert_eq!(pacer.due(0, PacedOp::from_op(&op(OpKind::Read, 1))), Due::At(0), "the busy cycles are over");
    assert_eq!(pacer.due(60, PacedOp::from_op(&op(OpKind::Read, 1))), Due::Now { intended: 60 });
}

#[test]
fn pauses_are_caught_up_only_on_request() {
    let starts = |catch_up_thinking| {
        let pace = Pace {
            ops_per_second: for_all(1e7),
            catch_up_thinking,
            think: Some(ThinkTime { pause: Nanos(1000), every: 3, ..PAUSE }),
            ..Pace::default()
        };
        let words = SearchWords::default();
        let mut pacer: FullPacer<'_> = FullPacer::new(&request(&pace, 1, &words), true);
        pacer.start(0);
        drive(&mut pacer, 1, 1500, |_, _| 10).started
    };
    // One every 100 ns; the third ends at 210, and the pause at 1210.
    assert_eq!(starts(false), [0, 100, 200, 1210, 1310, 1410]);
    assert_eq!(starts(true), [0, 100, 200, 1210, 1220, 1230]);
}

#[test]
fn a_rate_below_the_minimum_fails_the_job_with_a_message() {
    let minimum =
        MinimumRate { bytes_per_second: ByKind::all(None), ops_per_second: for_all(1000.0), window: Nanos(100 * MS) };
    let pace = Pace { minimum: Some(minimum), ..Pace::default() };
    let words = SearchWords::default();
    let mut fast = full(&pace, 1, &words);
    assert_eq!(drive(&mut fast, 1, 4 * SECOND, |_, _| MS).ended, None, "1000 ops/s keep the minimum");
    assert_eq!(fast.failure(), None);
    let mut slow = full(&pace, 1, &words);
    // Slow at the start, which is tolerated, and again after 3 s.
    let driven =
        drive(&mut slow, 1, 10 * SECOND, |_, number| if (500..=2500).contains(&number) { MS / 2 } else { 2 * MS });
    assert_eq!(driven.ended, Some(Ended::Failed));
    let failure = slow.failure().unwrap();
    assert_eq!(failure.errno, libc::EIO);
    assert!(failure.message.contains("below the minimum of 1000 ops/s"), "{}", failure.message);
    assert!(driven.now < 3 * SECOND, "failed at {} ns", driven.now);
}

#[test]
fn the_minimum_of_an_unused_kind_fails_nothing() {
    let bytes_per_second = ByKind { read: None, write: Some(PerSecond(1e6)), trim: None };
    let minimum = MinimumRate { bytes_per_second, ops_per_second: ByKind::all(None), window: Nanos(100 * MS) };
    let pace = Pace { minimum: Some(minimum), ..Pace::default() };
    let words = SearchWords::default();
    assert_eq!(drive(&mut full(&pace, 1, &words), 1, 4 * SECOND, |_, _| MS).ended, None);
}

#[test]
fn an_op_that_takes_too_long_ends_the_job() {
    let pace = Pace { longest_op: ByKind::all(Some(Nanos(MS))), ..Pace::default() };
    let words = SearchWords::default();
    let mut pacer = full(&pace, 1, &words);
    let driven = drive(&mut pacer, 1, SECOND, |_, number| if number == 7 { MS + 1 } else { MS });
    assert_eq!((driven.ended, driven.started.len()), (Some(Ended::Failed), 8));
    assert_eq!(pacer.failure().unwrap().errno, libc::ETIMEDOUT);
}

fn goal(percent: f64, keep_on: bool) -> Pace {
    let goal = LatencyGoal { latency: Nanos(1000), window: Nanos(100_000), percent, keep_on };
    Pace { latency_goal: Some(goal), ..Pace::default() }
}

#[test]
fn the_largest_depth_within_the_goal_is_found_and_retried() {
    for best in [1, 2, 3, 7, 12, 31, 64] {
        let (pace, words) = (goal(100.0, false), SearchWords::default());
        let mut pacer = full(&pace, 64, &words);
        // Latency grows with the number in flight, and exceeds the goal beyond the best depth.
        let driven = drive(&mut pacer, 64, SECOND, |in_flight, _| if in_flight <= best { 500 } else { 1500 });
        assert_eq!(driven.ended, Some(Ended::Done), "best {best}");
        assert_eq!((words.depth(), words.is_over()), (Some(best as u32), true));
        let found_at = driven.began_anew.unwrap();
        assert!(driven.now - found_at >= 100_000, "the last trial takes a whole window");
        assert_eq!(pacer.failure(), None);
    }
}

#[test]
fn a_goal_for_a_share_of_ops_allows_the_others_to_be_slow() {
    let (pace, words) = (goal(90.0, false), SearchWords::default());
    let mut pacer = full(&pace, 32, &words);
    // Every 20th op is slow at any depth; with more than 10 in flight, every second one is.
    let slow = |in_flight, number: usize| number.is_multiple_of(20) || (in_flight > 10 && number.is_multiple_of(2));
    let driven = drive(&mut pacer, 32, SECOND, |in_flight, number| if slow(in_flight, number) { 1500 } else { 500 });
    assert_eq!(driven.ended, Some(Ended::Done));
    let depth = words.depth().unwrap();
    // The share of ops started with more than 10 in flight decides, so a slightly higher depth may pass.
    assert!((10..=13).contains(&depth), "depth {depth}");
}

#[test]
fn a_goal_that_no_depth_keeps_fails_the_job() {
    let (pace, words) = (goal(100.0, false), SearchWords::default());
    let mut pacer = full(&pace, 8, &words);
    let driven = drive(&mut pacer, 8, SECOND, |_, _| 1500);
    assert_eq!(driven.ended, Some(Ended::Failed));
    assert_eq!(pacer.failure().unwrap().errno, libc::ETIMEDOUT);
}

#[test]
fn a_search_that_keeps_on_follows_the_device() {
    let (pace, words) = (goal(100.0, true), SearchWords::default());
    let mut pacer = full(&pace, 64, &words);
    let driven = drive(&mut pacer, 64, 3_000_000, |in_flight, _| if in_flight <= 20 { 500 } else { 1500 });
    assert_eq!(driven.ended, None);
    // The search retries a higher depth from time to time.
    assert!((18..=21).contains(&words.depth().unwrap()), "{words:?}");
}

/// Asks pacers of one flow in turn, each as often as it allows. Returns each pacer's started ops after every round.
fn flow_of(weights: &[u32], rounds: usize) -> Vec<Vec<u64>> {
    let (words, search) = (FlowWords::default(), SearchWords::default());
    let paces: Vec<Pace> = weights
        .iter()
        .map(|&weight| Pace { flow: Some(WeightedFlow { flow: 1, weight, sleep: Nanos(0) }), ..Pace::default() })
        .collect();
    let mut pacers: Vec<FullPacer<'_>> = paces
        .iter()
        .map(|pace| FullPacer::new(&PacerRequest { flow: Some(&words), ..request(pace, 1, &search) }, false))
        .collect();
    for pacer in &mut pacers {
        pacer.start(0);
    }
    let mut started = vec![0; weights.len()];
    let mut history = Vec::new();
    let mut now = 0;
    for _ in 0..rounds {
        now += 1_000_000;
        for (pacer, started) in pacers.iter_mut().zip(&mut started) {
            // Start as many as the pacer allows now.
            while let Due::Now { .. } = pacer.due(now, PacedOp::from_op(&op(OpKind::Read, 1))) {
                pacer.completed(OpKind::Read, 1, 1, now);
                *started += 1;
            }
        }
        history.push(started.clone());
    }
    history
}

#[test]
fn the_jobs_of_a_flow_keep_their_weights_at_every_moment() {
    let weights = [1, 3, 8];
    let history = flow_of(&weights, 1000);
    let total = history.last().unwrap().iter().sum::<u64>();
    assert!(total > 1000, "the workers make progress: {total}");
    for started in &history {
        let all: u64 = started.iter().sum();
        for (own, weight) in started.iter().zip(weights) {
            let fair = all as f64 * f64::from(weight) / 12.0;
            assert!((*own as f64) <= fair + 1.0, "{started:?}: weight {weight} is ahead");
        }
    }
}

#[test]
fn late_and_early_workers_of_a_flow_do_not_delay_the_others() {
    let (words, search) = (FlowWords::default(), SearchWords::default());
    let flow = WeightedFlow { flow: 1, weight: 1, sleep: Nanos(0) };
    let pace = Pace { flow: Some(flow), ..Pace::default() };
    let new = || {
        let request = PacerRequest { flow: Some(&words), flow_entry: FlowEntry::AtStart, ..request(&pace, 1, &search) };
        FullPacer::new(&request, false)
    };
    let goes = |pacer: &mut FullPacer<'_>, now| {
        matches!(pacer.due(now, PacedOp::from_op(&op(OpKind::Read, 1))), Due::Now { .. })
    };
    let (mut first, mut second) = (new(), new());
    first.start(0);
    assert!((0..1000).all(|_| goes(&mut first, 0)), "a worker alone is never ahead");
    second.start(0);
    assert!(goes(&mut first, SECOND) && !goes(&mut first, SECOND), "now it is ahead");
    assert!(goes(&mut second, SECOND) && goes(&mut first, 2 * SECOND), "ops made alone do not count");
    drop(second);
    assert!((0..1000).all(|_| goes(&mut first, 3 * SECOND)), "alone again");
}

#[test]
fn a_worker_that_starts_early_does_not_run_ahead_of_its_flow() {
    let (words, search) = (FlowWords::default(), SearchWords::default());
    let pace = |weight| Pace { flow: Some(WeightedFlow { flow: 1, weight, sleep: Nanos(0) }), ..Pace::default() };
    let paces = [pace(1), pace(9)];
    let new = |pace| FullPacer::new(&PacerRequest { flow: Some(&words), ..request(pace, 1, &search) }, false);
    let (mut first, _second) = (new(&paces[0]), new(&paces[1]));
    first.start(0);
    let any = op(OpKind::Read, 1);
    let begun =
        (0..100).filter(|now| matches!(first.due(now * SECOND, PacedOp::from_op(&any)), Due::Now { .. })).count();
    assert_eq!(begun, 1, "the other has nine tenths of the weight and has not begun");
}

#[test]
fn a_flow_that_is_ahead_sleeps_when_its_queue_is_empty() {
    let (words, search) = (FlowWords::default(), SearchWords::default());
    let flow = WeightedFlow { flow: 1, weight: 1, sleep: Nanos(500) };
    let pace = Pace { flow: Some(flow), ..Pace::default() };
    let new = || FullPacer::new(&PacerRequest { flow: Some(&words), ..request(&pace, 2, &search) }, false);
    let (mut first, mut second) = (new(), new());
    first.start(0);
    second.start(0);
    let any = op(OpKind::Read, 1);
    assert_eq!(first.due(0, PacedOp::from_op(&any)), Due::Now { intended: 0 });
    assert_eq!(first.due(0, PacedOp::from_op(&any)), Due::AfterNext);
    first.completed(OpKind::Read, 1, 10, 10);
    assert_eq!(first.due(10, PacedOp::from_op(&any)), Due::At(510));
    assert_eq!(second.due(20, PacedOp::from_op(&any)), Due::Now { intended: 20 });
    assert_eq!(first.due(20, PacedOp::from_op(&any)), Due::At(510), "the sleep is not cut short");
    assert_eq!(first.due(510, PacedOp::from_op(&any)), Due::Now { intended: 510 });
}

#[test]
fn a_worker_gets_the_pacer_that_it_needs() {
    let words = SearchWords::default();
    // Returns whether the pacer is open, and whether it is the plain one that has specialized loops.
    let of = |pace: &Pace| {
        let mut pacer = AnyPacer::new(&request(pace, 1, &words));
        (pacer.table().is_open(), matches!(pacer, AnyPacer::Closed(_)))
    };
    let rates = Pace { bytes_per_second: for_all(1.0), ..Pace::default() };
    assert_eq!(of(&Pace::default()), (false, true));
    assert_eq!(of(&rates), (true, false));
    assert_eq!(of(&Pace::open(PerSecond(1.0), Arrival::Fixed, false)), (true, false));
    assert_eq!(of(&think(PAUSE)), (false, false));
    assert_eq!(of(&Pace { think: Some(PAUSE), ..rates }), (true, false));
}

/// Returns a started open load.
fn open<'a>(per_second: f64, arrival: Arrival, sharing: Sharing<'a>, worker: u32) -> Rated<'a> {
    static NO_SEARCH: SearchWords = SearchWords::none();
    let pace = Pace::open(PerSecond(per_second), arrival, false);
    started(&PacerRequest { sharing, arrivals: arrivals(worker), paces_all: true, ..request(&pace, 1, &NO_SEARCH) })
}

#[test]
fn an_open_load_does_not_drift_and_paces_flushes_as_well() {
    let mut pacer = open(300_000.0, Arrival::Fixed, Sharing::Own, 1);
    let kinds = [OpKind::Read, OpKind::Fsync, OpKind::Stat];
    let starts: Vec<Ticks> = (0..3_000_001).map(|number| intended(&mut pacer, &op(kinds[number % 3], 4096))).collect();
    assert_eq!(starts[0], 0);
    assert_eq!(starts[3_000_000], 10 * SECOND, "3,000,000 gaps at 300,000/s are 10 s to the nanosecond");
}

#[test]
fn the_gaps_of_an_open_poisson_load_are_exponential_from_its_start() {
    let mut pacer = open(300_000.0, Arrival::Poisson, Sharing::Own, 7);
    let starts: Vec<Ticks> = (0..600_000).map(|_| intended(&mut pacer, &op(OpKind::Read, 4096))).collect();
    assert!(starts[0] > 0, "the first op also comes after a gap");
    let mut gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean * 300_000.0 / 1e9 - 1.0).abs() < 0.005, "mean gap {mean} ns");
    let distance = distance_from_exponential(&mut gaps, mean);
    assert!(distance < 0.005, "KS statistic {distance} of gaps in whole nanoseconds");
}

#[test]
fn workers_share_the_starts_of_a_fixed_rate_in_turn() {
    let numbers = AtomicU64::new(0);
    let sharing = Sharing::Group { workers: 2, numbers: &numbers };
    let mut both = [1, 2].map(|worker| open(1e6, Arrival::Fixed, sharing, worker));
    let all: Vec<Ticks> = (0..100).map(|number| intended(&mut both[number % 2], &op(OpKind::Read, 1))).collect();
    assert_eq!(all, (0..100).map(|number| number * 1000).collect::<Vec<u64>>());
}

#[test]
fn an_immediate_pause_does_not_wait_for_ops_in_flight() {
    let think_time = ThinkTime { at_once: true, counts: ThinkBasis::Started, every: 2, ..PAUSE };
    let (pace, words) = (think(think_time), SearchWords::default());
    let mut pacer = full(&pace, 4, &words);
    let any = PacedOp::from_op(&op(OpKind::Read, 1));
    assert_eq!(pacer.due(10, any), Due::Now { intended: 10 });
    assert_eq!(pacer.due(20, any), Due::Now { intended: 20 });
    assert_eq!(pacer.due(30, any), Due::At(130), "with two in flight");
    assert_eq!(pacer.due(129, any), Due::At(130));
    assert_eq!(pacer.due(131, any), Due::Now { intended: 131 });
}

// Protects: a consumer takes 100 batches of ten ops of 4 KiB, one batch every 10 ms, even if the storage is faster.
// Readers run two batches ahead of it, and no further. With slower storage, readers never wait.
#[test]
fn readers_keep_up_with_their_consumer_and_do_not_run_ahead() {
    let (words, search) = (FlowWords::default(), SearchWords::default());
    let consumer = Consumer { batch: Bytes(40_960), busy: Nanos(10_000_000), ahead: 2 };
    let pace = Pace { consumer: Some(consumer), ..Pace::default() };
    let drive_at = |words: &FlowWords, service: u64| {
        let mut pacer = FullPacer::new(&PacerRequest { flow: Some(words), ..request(&pace, 4, &search) }, false);
        pacer.start(0);
        drive(&mut pacer, 4, SECOND, |_, _| service)
    };
    let fast = drive_at(&words, 1_000);
    // 100 steps in a second, plus the batches read ahead.
    assert!((1_000..=1_040).contains(&fast.started.len()), "{}", fast.started.len());
    let slow = drive_at(&FlowWords::default(), 8_000_000);
    assert!((495..=500).contains(&slow.started.len()), "four at a time, 8 ms each: {}", slow.started.len());
}
