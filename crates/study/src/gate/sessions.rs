//! Sessions: runs that are close in time. What a machine was like then, they share.

use crate::compare::stored::Selected;
use plumb_result::RunResult;
use plumb_stats::schedule::Side;
use std::time::Duration;

/// Sessions that a baseline file keeps, and that a change of level is searched in.
pub const SESSIONS_KEPT: usize = 50;

/// Runs closer in time than this are of one session, unless said otherwise.
pub const SESSION_GAP: Duration = Duration::from_secs(3600);

/// How many sessions runs are of.
pub fn session_count(results: &[RunResult], gap: Duration) -> u32 {
    numbered(results.to_vec(), gap).last().and_then(|(_, session)| *session).map_or(0, |last| last as u32 + 1)
}

/// The runs of the newest session, if its newest run is of a suspected one; otherwise none. The next session decides what it was.
pub fn suspected(results: &[RunResult], gap: Duration) -> Vec<RunResult> {
    let all = numbered(results.to_vec(), gap);
    let Some((newest, session)) = all.last() else { return Vec::new() };
    if !newest.gated.is_some_and(|gated| gated.suspected) {
        return Vec::new();
    }
    all.iter().filter(|(_, other)| other == session).map(|(run, _)| run.clone()).collect()
}

/// The runs of the newest sessions, [`SESSIONS_KEPT`] at most, the oldest first. Runs that do not count are left out.
pub fn newest_sessions(results: Vec<RunResult>, gap: Duration) -> Vec<RunResult> {
    let all = numbered(results, gap);
    let last = all.iter().filter_map(|(_, session)| *session).max().unwrap_or(0);
    let first = (last + 1).saturating_sub(SESSIONS_KEPT);
    all.into_iter().filter(|(_, session)| session.is_some_and(|session| session >= first)).map(|(run, _)| run).collect()
}

/// Runs with their sessions, in the order of time.
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

/// The session of each run of a side, from 0, in the order of time; `None` for runs of the other side, and for those that do not
/// count. A run on another machine is of another session. Of imported runs whose time nobody knows, all are one.
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
