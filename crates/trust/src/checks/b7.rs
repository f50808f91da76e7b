use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::not_seen::NotSeen;
use crate::text::{bytes, count};
use plumb_result::Remedy;
use plumb_workload::{Blocks, Pattern, Size, Target, Workload};
use std::collections::BTreeSet;

pub(crate) static CHECK: Check = Check {
    code: "B7",
    title: "Overlapping streams",
    what: "Whether workers that read or write sequentially covered the same bytes: the second of two readers is then \
           served from a cache that the first filled, or two writers write the same blocks. Random patterns may share \
           a range.",
    why: "In a published SSD test, 30 fio threads read the same blocks in order: the later ones are served by what the \
          first fetched, and the sum of the rates is not the disk's.",
    how: "The ranges of sequential workers (target, offset, offset-increment, span, first file), as far as each of \
          them got.",
    threshold: "any byte that two workers covered warns",
    settled: "Nothing to settle: ranges, and how far each worker got, are exact.",
    fix: &[Remedy::words(
        "Give each worker its own part: `offset-increment` with `span`, or a `files` target with one file per worker.",
    )],
    judges: &[Judge::Phase(examine)],
};

/// A contiguous part of one file of a target that a worker covered.
#[derive(Debug, Clone, PartialEq)]
struct Stretch<'a> {
    target: &'a str,
    file: u64,
    start: u64,
    end: u64,
    /// Number of the worker within the phase.
    worker: usize,
}

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing {
        return Outcome::NotApplicable;
    }
    let mut stretches = match stretches(view) {
        Ok(stretches) => stretches,
        Err(reason) => return Outcome::skipped(reason),
    };
    let walkers = BTreeSet::from_iter(stretches.iter().map(|stretch| stretch.worker));
    if walkers.len() < 2 {
        return Outcome::NotApplicable;
    }
    let Overlaps { workers: meeting, most } = overlaps(&mut stretches);
    if meeting.is_empty() {
        return Outcome::pass(format!("{} without overlap", count(walkers.len() as u64, "stream")));
    }
    let observed = format!("{} of {} streams share up to {}", meeting.len(), walkers.len(), bytes(most));
    let message = format!("{} sequential workers covered the same bytes (up to {}).", meeting.len(), bytes(most));
    Outcome::warn(observed, message)
}

/// Workers that covered the same bytes.
struct Overlaps {
    workers: BTreeSet<usize>,
    /// The largest number of bytes that two of them share in one stretch.
    most: u64,
}

/// Walks the stretches in order, and compares each with the stretch of another worker that reaches furthest.
fn overlaps(stretches: &mut [Stretch<'_>]) -> Overlaps {
    stretches.sort_by(|one, other| (one.target, one.file, one.start).cmp(&(other.target, other.file, other.start)));
    let mut overlaps = Overlaps { workers: BTreeSet::new(), most: 0 };
    // The furthest so far, and the furthest of any other worker.
    let mut furthest: [Option<&Stretch<'_>>; 2] = [None, None];
    for here in &*stretches {
        let same_file = |other: &&Stretch<'_>| (other.target, other.file) == (here.target, here.file);
        if !furthest[0].as_ref().is_some_and(same_file) {
            furthest = [None, None];
        }
        if let Some(other) = furthest.into_iter().flatten().find(|other| other.worker != here.worker)
            && other.end > here.start
        {
            overlaps.most = overlaps.most.max(here.end.min(other.end) - here.start);
            overlaps.workers.extend([here.worker, other.worker]);
        }
        furthest = match furthest {
            [Some(first), second] if first.worker == here.worker => {
                [Some(if here.end > first.end { here } else { first }), second]
            }
            [Some(first), _] if here.end > first.end => [Some(here), Some(first)],
            [Some(first), Some(second)] if here.end <= second.end => [Some(first), Some(second)],
            [Some(first), _] => [Some(first), Some(here)],
            [None, _] => [Some(here), None],
        };
    }
    overlaps
}

/// Returns the stretches that each sequential worker covered.
fn stretches<'a>(view: &'a PhaseView<'_>) -> Result<Vec<Stretch<'a>>, NotSeen> {
    let mut stretches = Vec::new();
    let mut worker = 0;
    for group in &view.plan.workers {
        for number in 0..group.count {
            let measured = view.measured.workers.get(worker);
            if let Some(blocks) = group.work.blocks()
                && goes_in_order(blocks)
            {
                let Some(measured) = measured else { return Err(NotSeen::NoWorkers) };
                // Ops during the ramp are not counted; assume that they ran at the same speed.
                let ramp = 1.0 + view.plan.ramp.0 as f64 / measured.wall_ns.max(1) as f64;
                let went = (measured.bytes as f64 * ramp) as u64;
                for piece in walked(view.workload, &group.target, blocks, number, went)? {
                    stretches.push(Stretch { worker, target: &group.target, ..piece });
                }
            }
            worker += 1;
        }
    }
    Ok(stretches)
}

fn goes_in_order(blocks: &Blocks) -> bool {
    matches!(blocks.pattern, Pattern::Sequential | Pattern::Reverse | Pattern::Stride { .. })
}

/// Returns the stretches that a worker covered with `went` bytes. They follow the engine's plan: the files in turn,
/// worker `i` from file `i` on, each worker's offset further by the increment.
fn walked(
    workload: &Workload,
    target: &str,
    blocks: &Blocks,
    number: u32,
    went: u64,
) -> Result<Vec<Stretch<'static>>, NotSeen> {
    let Lengths { files, each } = lengths(workload, target)?;
    let whole = each.saturating_mul(files);
    let offset = blocks.offset.0.saturating_add(blocks.offset_increment.0.saturating_mul(u64::from(number)));
    let length = blocks.span.map_or(whole.saturating_sub(offset), |span| span.0);
    let end = offset.saturating_add(length).min(whole);
    // A stride touches all of its range from the start; after one pass, every pattern has covered everything.
    let (from, to) = match blocks.pattern {
        _ if went >= end.saturating_sub(offset) => (offset, end),
        Pattern::Reverse => (end - went, end),
        Pattern::Stride { .. } => (offset, end),
        _ => (offset, offset + went),
    };
    let mut pieces = Vec::new();
    let (first, last) = (from / each.max(1), to.saturating_sub(1) / each.max(1));
    for turn in first..=last.min(files.saturating_sub(1)) {
        let (begin, stop) = (from.max(turn * each), to.min((turn + 1).saturating_mul(each)));
        if begin < stop {
            pieces.push(Stretch {
                target: "",
                file: (turn + u64::from(number)) % files,
                start: begin - turn * each,
                end: stop - turn * each,
                worker: 0,
            });
        }
    }
    Ok(pieces)
}

/// The lengths of a target's files.
struct Lengths {
    files: u64,
    /// Bytes of each file.
    each: u64,
}

fn lengths(workload: &Workload, target: &str) -> Result<Lengths, NotSeen> {
    // If the length is not stated, a range ends where the target does.
    let of = |size: Option<Size>| size.and_then(Size::fixed).map_or(u64::MAX, |bytes| bytes.0);
    match workload.target.get(target) {
        Some(Target::File(file)) => Ok(Lengths { files: 1, each: of(file.size) }),
        Some(Target::Files(files)) => Ok(Lengths { files: u64::from(files.count.max(1)), each: of(Some(files.size)) }),
        Some(Target::Device(device)) => Ok(Lengths { files: 1, each: of(device.size) }),
        Some(Target::Sim(sim)) => Ok(Lengths { files: 1, each: sim.size.0 }),
        Some(Target::Null(null)) => Ok(Lengths { files: 1, each: null.size.0 }),
        Some(
            Target::Tree(_)
            | Target::JobFiles(_)
            | Target::Scratch(_)
            | Target::SharedTree(_)
            | Target::Recorded(_)
            | Target::Host(_),
        )
        | None => Err(NotSeen::UnknownRange { target: target.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::{Mix, Pattern};

    #[test]
    fn thirty_readers_of_the_same_bytes_warn() {
        let finding = Scene::reading(1000 * MIB).workers(30, 1000 * MIB).finding("B7").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.starts_with("30 sequential workers"), "{}", finding.message);
    }

    #[test]
    fn workers_with_parts_of_their_own_pass() {
        let parts =
            |span: u64| Scene::reading(1000 * MIB).workers(4, span * MIB).offset_increment(250 * MIB).span(span * MIB);
        assert_eq!(parts(250).level("B7"), Some(Level::Pass));
        assert_eq!(parts(251).level("B7"), Some(Level::Warn));
    }

    /// Without a span, a worker's range extends to the end of the target: only its progress counts.
    #[test]
    fn the_progress_of_each_worker_counts() {
        let got = |each: u64| Scene::reading(1000 * MIB).workers(4, each * MIB).offset_increment(250 * MIB);
        assert_eq!(got(250).level("B7"), Some(Level::Pass));
        assert_eq!(got(251).level("B7"), Some(Level::Warn));
    }

    #[test]
    fn without_the_workers_own_counts_it_is_skipped() {
        let mut blind = Scene::reading(1000 * MIB).workers(30, 1000 * MIB);
        blind.measured().workers.clear();
        assert_eq!(blind.level("B7"), Some(Level::Skipped));
    }

    #[test]
    fn files_are_taken_in_turn() {
        let files = |each: u64| Scene::reading(1000 * MIB).files(4, 100 * MIB).workers(4, each * MIB);
        assert_eq!(files(100).level("B7"), Some(Level::Pass));
        assert_eq!(files(101).level("B7"), Some(Level::Warn));
        assert_eq!(Scene::reading(1000 * MIB).files(2, 100 * MIB).workers(4, 100 * MIB).level("B7"), Some(Level::Warn));
    }

    #[test]
    fn a_writer_that_follows_a_reader_overlaps_too() {
        let two = |offset: u64| Scene::reading(1000 * MIB).workers(1, 400 * MIB).second_group(Mix::WRITE, offset * MIB);
        assert_eq!(two(0).level("B7"), Some(Level::Warn));
        assert_eq!(two(400).level("B7"), Some(Level::Pass));
    }

    #[test]
    fn one_stream_and_random_patterns_cannot_meet() {
        assert_eq!(Scene::reading(MIB).level("B7"), None);
        assert_eq!(Scene::reading(1000 * MIB).workers(30, MIB).pattern(Pattern::Permutation).level("B7"), None);
        assert_eq!(Scene::stats(100).level("B7"), None);
    }

    /// Both cover the whole file, in different directions.
    #[test]
    fn directions_meet_in_the_middle() {
        let reverse = |each: u64| {
            Scene::reading(1000 * MIB).workers(2, each * MIB).offset_increment(100 * MIB).pattern(Pattern::Reverse)
        };
        assert_eq!(reverse(10).level("B7"), Some(Level::Warn), "both begin at the end of the file");
    }
}
