use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::limiter::busiest_worker;
use crate::plan;
use crate::text::{ops_rate, percent, short};
use crate::tier::rate_tier;
use plumb_result::{Remedy, Tier};

/// Above this share of a processor, a worker has no time left to issue more ops.
const CPU_SHARE: f64 = 0.90;
/// A load generator that cannot reach this many times the result may be the limit.
const CEILING: f64 = 2.0;
/// A null ceiling below this share of the result is wrong, beyond the noise of both.
pub(crate) const POSSIBLE: f64 = 0.5;
/// Above this share of a processor in user mode, Plumb computes and not the kernel.
const USER_SHARE: f64 = 0.50;

const MORE_WORKERS: Remedy = Remedy::setting("count", "4", "Use more workers");
const LARGER_BLOCKS: Remedy = Remedy::setting("block", "1MiB", "Use bigger blocks");
const CHEAPER_CONTENT: Remedy = Remedy::setting("content", "zero", "Use content that is cheaper to make");

pub(crate) static CHECK: Check = Check {
    code: "B2",
    title: "Limited by the load generator",
    what: "Whether Plumb, and not the storage, set the rate. It warns where Plumb's own code takes most of a \
           processor, or where the same workers are hardly faster without any storage. A worker whose processor time \
           goes to the kernel (copying, journalling, submitting) measures just that: it is noted.",
    why: "Traeger et al., \"A Nine Year Study of File System and Storage Benchmarking\", ACM TOS 2008: many published \
          numbers show the processor. Gregg's active benchmarking: find the limiter before believing the number.",
    how: "Processor time of each worker, in user mode and in the kernel, against its wall time; ops per second that \
          the same workers reach against the null backend on this machine (a ceiling below half of the result was \
          measured while the machine was disturbed, and is ignored).",
    threshold: "a worker above 90 % of a processor, with more than half a processor in user mode, or a null ceiling \
                below 2 times the result, warns; a worker above 90 %, mostly in the kernel, is noted",
    settled: "By reasoning: interrupts and clock ticks keep a full worker a little below 100 %; at half of the null \
              ceiling, half of each op's time is the generator's own.",
    fix: &[MORE_WORKERS, LARGER_BLOCKS, CHEAPER_CONTENT],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing || view.is_virtual_time() || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    let result = view.measured.per_second(view.measured.count());
    // The same workers cannot be much slower without storage. Such a ceiling was measured on a disturbed
    // machine, and is not evidence.
    let is_possible = |ceiling: &f64| result.is_some_and(|rate| *ceiling >= POSSIBLE * rate);
    let ceiling = view.seen.null_ceiling_ops.value().copied().filter(is_possible);
    if let (Some(result), Some(ceiling)) = (result, ceiling)
        && ceiling < CEILING * result
    {
        let observed = format!("{} of at most {}", ops_rate(result), ops_rate(ceiling));
        let reached = match ceiling > result {
            true => format!("reach only {}, {} times the result", ops_rate(ceiling), short(ceiling / result)),
            false => format!("are no faster ({})", ops_rate(ceiling)),
        };
        let message = format!("Plumb itself may be the limit: without storage its workers {reached}.");
        return Outcome::warn(observed, message).remedies(vec![
            twice_the_workers(view),
            LARGER_BLOCKS,
            CHEAPER_CONTENT,
        ]);
    }
    let ceiling_seen = ceiling.map_or_else(String::new, |ceiling| format!("; null ceiling {}", ops_rate(ceiling)));
    // A worker that waits by spinning is always busy; only the ceiling is evidence.
    let busiest = if plan::spins(view.plan) { None } else { busiest_worker(view) };
    let Some(cpu) = busiest else {
        return match ceiling {
            Some(ceiling) => Outcome::pass(format!("null ceiling {}", ops_rate(ceiling))),
            None => Outcome::skipped("neither the workers' processor time nor the null ceiling is known"),
        };
    };
    let observed = format!("busiest worker {} of a processor{ceiling_seen}", percent(cpu.total));
    if cpu.total <= CPU_SHARE {
        return Outcome::pass(observed);
    }
    if cpu.user > USER_SHARE {
        let message = format!(
            "Plumb's own work limits the rate: a worker used {} of a processor, {} of that in Plumb.",
            percent(cpu.total),
            percent(cpu.user / cpu.total)
        );
        return Outcome::warn(observed, message).remedies(vec![
            twice_the_workers(view),
            LARGER_BLOCKS,
            CHEAPER_CONTENT,
        ]);
    }
    let in_kernel = percent(cpu.system / cpu.total);
    let message = format!("One processor per worker is the limit, {in_kernel} of it in the kernel, not the storage.");
    let outcome = Outcome::note(observed, message);
    if moves_to_a_device(view) { outcome.remedy(twice_the_workers(view)) } else { outcome.remedies(Vec::new()) }
}

/// Suggests twice the workers of the largest group.
fn twice_the_workers(view: &PhaseView<'_>) -> Remedy {
    let most = view.plan.workers.iter().map(|group| group.count).max().unwrap_or(1);
    Remedy::Setting {
        key: "count".into(),
        value: most.saturating_mul(2).to_string().into(),
        purpose: "Use more workers to load the storage further".into(),
    }
}

/// Returns `true` if some byte rate of the phase is above that of memory alone.
fn moves_to_a_device(view: &PhaseView<'_>) -> bool {
    let mut moving = view.measured.ops.iter().filter(|(kind, op)| kind.moves_bytes() && op.bytes > 0);
    moving.any(|(kind, _)| rate_tier(view, *kind).tier != Tier::Cache)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;
    use plumb_workload::CachePolicy;

    #[test]
    fn a_worker_without_time_left_warns() {
        assert_eq!(Scene::reading(MIB).cpu(0.2, 0.7).level("B2"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).cpu(0.6, 0.31).level("B2"), Some(Level::Warn));
    }

    /// Processor time is counted in ticks, but no worker uses more than its processor.
    #[test]
    fn no_worker_uses_more_than_a_processor() {
        let finding = Scene::reading(MIB).cpu(0.7, 0.39).finding("B2").unwrap();
        assert!(finding.observed.contains("busiest worker 100 % of a processor"), "{}", finding.observed);
        assert!(!finding.message.contains("109"), "{}", finding.message);
    }

    /// Copying, journalling and submitting are the kernel's work: such a phase measures just that.
    #[test]
    fn a_worker_whose_time_goes_to_the_kernel_is_noted() {
        assert_eq!(Scene::reading(MIB).cpu(0.2, 0.71).level("B2"), Some(Level::Note));
        assert_eq!(Scene::writing(MIB).cpu(0.3, 0.69).level("B2"), Some(Level::Note));
    }

    /// A deliberately busy companion does not limit the workers that do I/O.
    #[test]
    fn a_busy_companion_is_not_the_limit() {
        let mut scene = Scene::reading(MIB).cpu(0.2, 0.3);
        let mut companion = scene.measured().workers[0].clone();
        (companion.depth_asked, companion.cpu_user_ns) = (0, companion.wall_ns);
        scene.measured().workers.push(companion);
        assert_eq!(scene.level("B2"), Some(Level::Pass));
    }

    #[test]
    fn a_low_ceiling_warns() {
        // 256 ops in 10 s are 25.6 ops/s.
        assert_eq!(Scene::reading(MIB).null_ceiling(51.2).level("B2"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).null_ceiling(51.1).level("B2"), Some(Level::Warn));
    }

    /// A result of twice the ceiling shows that the ceiling is wrong.
    #[test]
    fn a_ceiling_far_below_the_result_is_not_evidence() {
        for ceiling in [0.0, 12.7] {
            let finding = Scene::reading(MIB).null_ceiling(ceiling).finding("B2").unwrap();
            assert_eq!(finding.level, Level::Pass, "{ceiling}: {}", finding.message);
        }
        let near = Scene::reading(MIB).null_ceiling(25.0).finding("B2").unwrap();
        assert_eq!(near.level, Level::Warn);
        assert!(near.message.contains("are no faster"), "{}", near.message);
    }

    #[test]
    fn copying_memory_may_use_a_whole_processor() {
        let cached = || Scene::reading(MIB).cache(CachePolicy::Warm).device_read(0).own_read(0);
        assert_eq!(cached().cpu(0.1, 0.89).level("B2"), Some(Level::Note));
        assert_eq!(cached().cpu(0.6, 0.39).level("B2"), Some(Level::Warn));
        assert_eq!(Scene::stats(1000).cpu(0.1, 0.89).level("B2"), Some(Level::Note));
    }

    #[test]
    fn without_processor_time_and_ceiling_it_is_skipped() {
        assert_eq!(Scene::reading(MIB).cpu(0.0, 0.0).level("B2"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).cpu(0.9, 0.1).virtual_time().level("B2"), None);
    }
}
