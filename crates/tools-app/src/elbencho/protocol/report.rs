//! Merges the results of all services into the report of a phase.

use super::ServiceResult;
use crate::elbencho::lower::PhaseKind;
use crate::elbencho::print::{Both, PhaseContext, PhaseReport, ServiceDone, WorkDone};

/// Work of one service when the first thread of any service was seen to have finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FirstDone {
    /// Work done, without the reads of a mix, which are in `mixed`.
    pub done: WorkDone,
    pub mixed: WorkDone,
}

/// Builds the report of a phase from the named results. `first` is `None` if no poll saw a finished thread; the totals
/// take its place. Returns `None` if no thread of any service had work.
///
/// As in elbencho, FIRST DONE has the work that a poll saw right after the first thread had finished, and the time of
/// that thread: the protocol has no exact amounts.
pub fn report(
    kind: PhaseKind,
    name: &str,
    seen: PhaseContext,
    results: &[(String, ServiceResult)],
    first: Option<&[FirstDone]>,
) -> Option<PhaseReport> {
    let times = || results.iter().flat_map(|(_, result)| result.elapsed_us.iter().copied());
    let elapsed_us = Both { first: times().min()?, last: times().max()? };
    let mut all = PhaseReport::timed(kind, seen, 0);
    name.clone_into(&mut all.name);
    all.elapsed_us = elapsed_us;
    all.each_ms = times().map(|us| us / 1000).collect();
    for (number, (service, result)) in results.iter().enumerate() {
        let us = result.elapsed_us.iter().copied().max().unwrap_or(0);
        all.services.push(ServiceDone { name: service.clone(), us });
        if result.elapsed_us.is_empty() {
            continue;
        }
        let totals = FirstDone { done: result.done, mixed: result.mixed };
        let by_first = first.and_then(|first| first.get(number)).copied().unwrap_or(totals);
        all.done.first.add(by_first.done);
        all.done.last.add(result.done);
        all.mixed.first.add(by_first.mixed);
        all.mixed.last.add(result.mixed);
        all.entries.merge(&result.entries);
        all.entries_mixed.merge(&result.entries_mixed);
        all.ios.merge(&result.ios);
        all.ios_mixed.merge(&result.ios_mixed);
    }
    let mean = |pick: fn(&ServiceResult) -> u32| {
        let sum: u64 = results.iter().map(|(_, result)| u64::from(pick(result))).sum();
        u32::try_from(sum / results.len().max(1) as u64).unwrap_or(u32::MAX)
    };
    all.seen.cpu = Both { first: mean(|result| result.cpu.first), last: mean(|result| result.cpu.last) };
    Some(all)
}
