use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::percent;
use plumb_result::Remedy;
use plumb_workload::OpKind;

/// Above this share of the ops' time, making content is part of the number.
const WARN_SHARE: f64 = 0.05;

pub(crate) static CHECK: Check = Check {
    code: "B5",
    title: "Cost of content",
    what: "How much of the time went into generating written data and verifying read data.",
    why: "A published SSD test fed its writes from /dev/urandom and measured the random number generator.",
    how: "Time for filling and verifying, from a calibration with the same content, against the time of reads, \
          writes and flushes (at most the workers' wall time, since ops in flight overlap).",
    threshold: "more than 5 % warns",
    settled: "By reasoning: 5 % is the margin within which comparisons treat two as equal.",
    fix: &[
        Remedy::setting("content", "zero", "Use content that is cheaper to make, where nothing below compresses"),
        Remedy::setting("block", "1MiB", "Use bigger blocks"),
        Remedy::setting("count", "4", "Use more workers"),
    ],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    // The cost of a job's checks is not measured.
    let verifies =
        view.plan.workers.iter().any(|group| group.verify.is_some() && group.work.foreign_stream().is_none());
    let moved = view.ops(OpKind::Write) > 0 || (verifies && view.ops(OpKind::Read) > 0);
    if !moved || view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let fill: u64 = view.measured.workers.iter().map(|worker| worker.fill_ns).sum();
    let wall: u128 = view.measured.io_workers().map(|worker| u128::from(worker.wall_ns)).sum();
    let service = |kind: OpKind| view.measured.ops.get(&kind).map_or(0, |op| op.service.sum());
    // A flush does the work of the writes before it.
    let kinds = [OpKind::Read, OpKind::Write, OpKind::Fsync, OpKind::Fdatasync, OpKind::EndFsync];
    let end = view.measured.end;
    let at_the_end = end.flush_ns.filter(|_| end.inside_clock).map_or(0, u128::from);
    let spent = (kinds.into_iter().map(service).sum::<u128>() + at_the_end).min(wall);
    if spent == 0 {
        return Outcome::skipped("how long the ops took is not known");
    }
    let share = fill as f64 / spent as f64;
    let observed = format!("{} of the ops' time", percent(share));
    if share > WARN_SHARE {
        let message = format!("Generating and verifying content took {} of the ops' time.", percent(share));
        Outcome::warn(observed, message)
    } else {
        Outcome::pass(observed)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    /// The scene's ops take 10 s together.
    #[test]
    fn expensive_content_warns() {
        assert_eq!(Scene::writing(MIB).fill(500_000_000).level("B5"), Some(Level::Pass));
        assert_eq!(Scene::writing(MIB).fill(510_000_000).level("B5"), Some(Level::Warn));
    }

    // Protects clean runs that flush their writes: the time is that of both.
    #[test]
    fn the_time_of_content_is_compared_with_writes_and_flushes() {
        // 256 writes of 10 ms, with 6 % of that for content.
        let written = || Scene::writing(MIB).op_time(10_000_000).fill(154_000_000);
        assert_eq!(written().level("B5"), Some(Level::Warn));
        assert_eq!(written().fsyncs(10, 100_000_000).level("B5"), Some(Level::Pass));
        let mut at_the_end = written();
        at_the_end.measured().end.flush_ns = Some(1_000_000_000);
        assert_eq!(at_the_end.level("B5"), Some(Level::Pass));
    }

    #[test]
    fn without_the_time_of_the_ops_it_is_skipped() {
        let mut blind = Scene::writing(MIB).fill(500_000_000);
        blind.measured().workers.iter_mut().for_each(|worker| worker.wall_ns = 0);
        assert_eq!(blind.level("B5"), Some(Level::Skipped));
    }

    #[test]
    fn reading_without_verifying_fills_nothing() {
        assert_eq!(Scene::reading(MIB).level("B5"), None);
    }
}
