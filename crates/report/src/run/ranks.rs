//! The ranks of a run, and the spread between them.

use super::Detail;
use crate::format;
use plumb_result::{PhaseResult, RankHost, RankSpread, RunResult};

/// Largest number of hosts on a page; `-v` lists all.
const HOSTS_IN_BRIEF: usize = 4;

/// Returns `4 ranks on 2 hosts (node1: 2, node2: 2), Open MPI 4.1.4`; `None` for a single process.
pub(super) fn line(result: &RunResult, detail: Detail) -> Option<String> {
    let ranks = result.ranks.as_ref()?;
    let shown = match detail {
        Detail::Full => ranks.hosts.len(),
        Detail::Brief => HOSTS_IN_BRIEF.min(ranks.hosts.len()),
    };
    let host = |host: &RankHost| format!("{}: {}", host.name, host.ranks);
    let mut names: Vec<String> = ranks.hosts[..shown].iter().map(host).collect();
    if shown < ranks.hosts.len() {
        names.push(format!("{} more", ranks.hosts.len() - shown));
    }
    let hosts = match ranks.hosts.as_slice() {
        [one] => one.name.clone(),
        all => format!("{} hosts ({})", all.len(), names.join(", ")),
    };
    let all = if ranks.count == 1 { "1 rank".to_owned() } else { format!("{} ranks", ranks.count) };
    Some(format!("{all} on {hosts}, {}", ranks.transport))
}

/// Returns `ranks: first done after 4.98 s (rank 2 on node2), last after 5.01 s (rank 0 on node1), started within 12 µs`.
pub(super) fn spread(phase: &PhaseResult, detail: Detail) -> Option<String> {
    let spread = phase.ranks.as_ref()?;
    let RankSpread { first_done, start_skew_ns, .. } = &**spread;
    let last = spread.last_done();
    let when = |ns: u64| format::time_brief(ns as f64);
    let mut text = format!(
        "ranks: first done after {} (rank {} on {}), last after {} (rank {} on {}), started within {}",
        when(first_done.done_ns),
        first_done.rank,
        first_done.host,
        when(last.done_ns),
        last.rank,
        last.host,
        when(*start_skew_ns),
    );
    if let Some(of) = &spread.read_files_of {
        text.push_str(&format!("; each read the files of {of}"));
    }
    if detail == Detail::Full {
        let slow = spread.slowest.iter().map(|one| format!("{} on {} {}", one.rank, one.host, when(one.done_ns)));
        text.push_str(&format!(
            "; half of them after {}; slowest: {}",
            when(spread.median_done_ns),
            slow.collect::<Vec<_>>().join(", ")
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::RankDone;

    fn done(rank: u32, done_ns: u64) -> RankDone {
        RankDone { rank, host: format!("node{rank}"), done_ns, ops: 1, bytes: 1 }
    }

    // Protects: a page names the first and the last rank, and with `-v` all slow ones.
    #[test]
    fn first_and_last_are_named() {
        let spread = RankSpread::from_ranks(vec![done(0, 2_000_000_000), done(1, 1_000_000_000)], 12_000);
        let mut phase = PhaseResult {
            name: "write".to_owned(),
            wall_ns: 2_000_000_000,
            metrics: Default::default(),
            done: Default::default(),
            steps: Vec::new(),
            replay: None,
            fidelity: Vec::new(),
            network: Vec::new(),
            first_done: None,
            ranks: spread.map(Box::new),
            notes: Vec::new(),
            caches: None,
            limiter: None,
        };
        let brief = super::spread(&phase, Detail::Brief).unwrap();
        assert_eq!(
            brief,
            "ranks: first done after 1.0 s (rank 1 on node1), last after 2.0 s (rank 0 on node0), started within 12 µs"
        );
        let full = super::spread(&phase, Detail::Full).unwrap();
        assert!(full.ends_with("slowest: 0 on node0 2.0 s, 1 on node1 1.0 s"), "{full}");
        if let Some(spread) = &mut phase.ranks {
            spread.read_files_of = Some("another host".to_owned());
        }
        let brief = super::spread(&phase, Detail::Brief).unwrap();
        assert!(brief.ends_with("started within 12 µs; each read the files of another host"), "{brief}");
    }
}
