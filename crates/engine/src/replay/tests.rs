//! Tests of the dealer without the worker loop: which calls it deals, in which order, and to which lane.

use super::call::{CallAct, CallSurvey, DealtCall, NO_SLOT, RecordedCall};
use super::deal::{Deal, Dealer};
use super::order::Ancestors;
use crate::source::trace::ReplayError;
use plumb_workload::ReplayOrder;
use std::sync::Arc;

fn call(number: u64, act: CallAct, task: u32, handle: u32) -> RecordedCall {
    RecordedCall {
        at_ns: number * 1_000,
        took_ns: 100,
        offset: 0,
        length: 1,
        result: 1,
        aux: 0,
        file: 0,
        task,
        handle,
        act,
    }
}

fn deal(calls: Vec<Result<RecordedCall, ReplayError>>, order: ReplayOrder, lanes: u32) -> Arc<Deal> {
    let survey = CallSurvey {
        paths: vec!["/f".to_owned()],
        processes: vec![7; 8],
        lanes: (0..8).collect(),
        lane_count: 8,
        ..CallSurvey::default()
    };
    let ancestors = Ancestors { parents: vec![u32::MAX] };
    let dealer = Dealer::new(Box::new(calls.into_iter()), &survey, ancestors, order, lanes);
    // Deals in this thread, so that nothing is dealt ahead.
    Deal::begin(dealer, lanes, true).unwrap()
}

/// Takes all calls of a lane and ends each immediately.
fn all(deal: &Deal, lane: u32) -> Vec<DealtCall> {
    let mut found = Vec::new();
    while let Some(batch) = deal.take(lane) {
        for dealt in &batch.calls {
            deal.progress.end(dealt.number, 1);
        }
        found.extend(batch.calls);
    }
    found
}

#[test]
fn each_thread_has_its_lane_and_its_order() {
    let calls = (0..1000).map(|number| Ok(call(number, CallAct::Stat, (number % 3) as u32, 0))).collect();
    let deal = deal(calls, ReplayOrder::Thread, 2);
    let numbers = |lane| all(&deal, lane).iter().map(|dealt| dealt.number).collect::<Vec<_>>();
    let (one, other) = (numbers(0), numbers(1));
    assert_eq!(one, (0..1000).filter(|number| number % 3 != 1).collect::<Vec<_>>());
    assert_eq!(other, (0..1000).filter(|number| number % 3 == 1).collect::<Vec<_>>());
}

#[test]
fn open_descriptors_have_their_own_slots() {
    let calls = [
        call(0, CallAct::Open, 0, 4),
        call(1, CallAct::Open, 1, 5),
        call(2, CallAct::Read, 1, 4),
        call(3, CallAct::Close, 0, 4),
        call(4, CallAct::Open, 0, 4),
        call(5, CallAct::Write, 0, 4),
        call(6, CallAct::Close, 0, 9),
        call(7, CallAct::Read, 0, 12),
        call(8, CallAct::Stat, 0, 0),
    ];
    let deal = deal(calls.into_iter().map(Ok).collect(), ReplayOrder::Thread, 1);
    let slots: Vec<u32> = all(&deal, 0).iter().map(|dealt| dealt.slot).collect();
    // Descriptor 4 opens again before its first slot is free; 9 was never opened, and 12 was open before the recording.
    assert_eq!(slots, [0, 1, 0, 0, 2, 2, NO_SLOT, 3, NO_SLOT]);
}

/// Another program was started, which closed the descriptor without a recorded call.
#[test]
fn a_reused_descriptor_number_gets_a_new_slot() {
    let calls = [
        call(0, CallAct::Open, 0, 4),
        RecordedCall { file: 1, ..call(1, CallAct::Read, 0, 4) },
        RecordedCall { file: 1, ..call(2, CallAct::Read, 0, 4) },
    ];
    let deal = deal(calls.into_iter().map(Ok).collect(), ReplayOrder::Thread, 1);
    assert_eq!(all(&deal, 0).iter().map(|dealt| dealt.slot).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn a_failed_open_gets_no_slot() {
    let failed = RecordedCall { result: -2, handle: 0, ..call(0, CallAct::Open, 0, 0) };
    let deal = deal(vec![Ok(failed)], ReplayOrder::Thread, 1);
    assert_eq!(all(&deal, 0)[0].slot, NO_SLOT);
}

#[test]
fn an_error_within_a_recording_ends_the_replay_and_is_reported() {
    let calls = vec![
        Ok(call(0, CallAct::Stat, 0, 0)),
        Err(ReplayError::Read("line 7: `x` is no number".into())),
        Ok(call(2, CallAct::Stat, 0, 0)),
    ];
    let deal = deal(calls, ReplayOrder::Thread, 1);
    assert_eq!(all(&deal, 0).len(), 1);
    assert_eq!(deal.error.text().as_deref(), Some("line 7: `x` is no number"));
}

/// Another process makes the calls of the other thread, and this one opens the files that were opened there itself.
#[test]
fn calls_of_other_processes_are_not_dealt_here() {
    let calls = [
        call(0, CallAct::Open, 0, 4),
        call(1, CallAct::Read, 1, 4),
        call(2, CallAct::Close, 0, 4),
        call(3, CallAct::Stat, 1, 0),
    ];
    let survey = CallSurvey {
        paths: vec!["/f".to_owned()],
        processes: vec![7; 2],
        lanes: vec![0, 0],
        lane_count: 1,
        own: vec![false, true],
        ..CallSurvey::default()
    };
    let calls: Vec<Result<RecordedCall, ReplayError>> = calls.into_iter().map(Ok).collect();
    let ancestors = Ancestors { parents: vec![u32::MAX] };
    let dealer = Dealer::new(Box::new(calls.into_iter()), &survey, ancestors, ReplayOrder::Thread, 1);
    let deal = Deal::begin(dealer, 1, true).unwrap();
    let made: Vec<_> = all(&deal, 0).iter().map(|dealt| (dealt.call.at_ns, dealt.call.act, dealt.slot)).collect();
    assert_eq!(
        made,
        [(1_000, CallAct::Read, 0), (3_000, CallAct::Stat, NO_SLOT)],
        "at the times of the complete recording"
    );
}

#[test]
fn too_many_open_files_are_refused() {
    let calls = (0..70_000).map(|number| Ok(call(number, CallAct::Open, 0, number as u32 + 1))).collect();
    let deal = deal(calls, ReplayOrder::Thread, 1);
    assert_eq!(all(&deal, 0).len(), 65_536);
    assert!(deal.error.text().unwrap().contains("more than 65536"), "{:?}", deal.error.text());
}

/// The dealer's thread runs ahead of the replay, but only as far as it has places.
#[test]
fn the_dealer_thread_serves_several_lanes_until_the_end() {
    let many = 300_000_u64;
    let calls = (0..many).map(|number| Ok(call(number, CallAct::Stat, (number % 4) as u32, 0)));
    let survey = CallSurvey { processes: vec![7; 4], lanes: (0..4).collect(), lane_count: 4, ..CallSurvey::default() };
    let dealer = Dealer::new(Box::new(calls), &survey, Ancestors::default(), ReplayOrder::Total, 4);
    let deal = Deal::begin(dealer, 4, false).unwrap();
    let lanes: Vec<_> = (0..4)
        .map(|lane| {
            let deal = Arc::clone(&deal);
            std::thread::spawn(move || {
                deal.progress.register(lane);
                let mut count = 0;
                while let Some(mut batch) = deal.take(lane) {
                    for dealt in batch.calls {
                        for wait in batch.waits.drain(..dealt.waits as usize) {
                            while !deal.progress.is_met(wait) {
                                deal.progress.wait_for(wait, lane);
                            }
                        }
                        assert!(!deal.progress.begin(dealt.number), "{} was overtaken", dealt.number);
                        deal.progress.end(dealt.number, 1);
                        count += 1;
                    }
                }
                count
            })
        })
        .collect();
    let counts: Vec<u64> = lanes.into_iter().map(|lane| lane.join().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u64>(), many);
}
