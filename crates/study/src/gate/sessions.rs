//! Sessions: runs that are close in time, and share the state of the machine.

use crate::compare::stored::Selected;
use plumb_result::RunResult;
use plumb_stats::schedule::Side;
use std::time::Duration;

/// Number of sessions that a baseline file keeps, and that are searched for a change of level.
pub const SESSIONS_KEPT: usize = 50;

/// By default, runs closer in time than this belong to one session.
pub const SESSION_GAP: Duration = Duration::from_secs(3600);

/// Returns the number of sessions of some runs.
pub fn session_count(results: &[RunResult], gap: Duration) -> u32 {
    numbered(results.to_vec(), gap).last().and_then(|(_, session)| *session).map_or(0, |last| last as u32 + 1)
}

/// Returns the runs of the newest session, if its newest run belongs to a suspected one; otherwise none. The
/// next session decides about it.
pub fn suspected(results: &[RunResult], gap: Duration) -> Vec<RunResult> {
    let all = numbered(results.to_vec(), gap);
    let Some((newest, session)) = all.last() else { return Vec::new() };
    if !newest.gated.is_some_and(|gated| gated.suspected) {
        return Vec::new();
    }
    all.iter().filter(|(_, other)| other == session).map(|(run, _)| run.clone()).collect()
}

/// Returns the accepted runs of the newest sessions, at most [`SESSIONS_KEPT`], the oldest first.
pub fn newest_sessions(results: Vec<RunResult>, gap: Duration) -> Vec<RunResult> {
    let all = numbered(results, gap);
    let last = all.iter().filter_map(|(_, session)| *session).max().unwrap_or(0);
    let first = (last + 1).saturating_sub(SESSIONS_KEPT);
    all.into_iter().filter(|(_, session)| session.is_some_and(|session| session >= first)).map(|(run, _)| run).collect()
}

/// Returns runs with their sessions, in time order.
fn numbered(results: Vec<RunResult>, gap: Duration) -> Vec<(RunResult, Option<usize>)> {
    let mut runs: Vec<Selected> = results
        .into_iter()
        .filter_map(|result| Selected::of_result(Side::A, result))
        .filter(Selected::counts)
        .collect();
    runs.sort_by_key(|one| one.at);
    let sessions = sessions(&runs, Side::A, gap);
    runs.into_iter().map(|run| run.result).zip(sessions).collect()
}

/// Returns the session of each run of a side, from 0, in time order; `None` for runs of the other side, and
/// for those that do not count. A run on another machine belongs to another session. Imported runs of unknown
/// time belong to one session.
pub(crate) fn sessions(runs: &[Selected], side: Side, gap: Duration) -> Vec<Option<usize>> {
    let mut last: Option<&Selected> = None;
    let mut session = 0;
    let of_run = |run: &Selected, last: &Selected| {
        let end_ns = last.at.as_nanosecond() + i128::from(last.wall_ns());
        let is_near = run.at.as_nanosecond() - end_ns < gap.as_nanos() as i128;
        let same_host = run.result.environment.hostname == last.result.environment.hostname;
        is_near && same_host || !run.has_time() || !last.has_time()
    };
    let mut all = Vec::with_capacity(runs.len());
    for run in runs {
        if run.side != side || !run.counts() {
            all.push(None);
            continue;
        }
        if last.is_some_and(|last| !of_run(run, last)) {
            session += 1;
        }
        last = Some(run);
        all.push(Some(session));
    }
    all
}
