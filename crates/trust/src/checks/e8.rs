use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{nanos, percent, short};
use plumb_result::Remedy;

/// Fewer ticks than this make an error of more than 1 %.
const MIN_TICKS: f64 = 100.0;

pub(crate) static CHECK: Check = Check {
    code: "E8",
    title: "Coarse clock",
    what: "Whether the measured time is long enough for the clock that measured it.",
    why: "A clock with a tick of t is wrong by up to t. PostMark uses `time(2)`, whose tick is a second, so its rate \
          over a run of 20 s may be off by 5 %. Imported numbers carry their tool's tick.",
    how: "Wall time of the phase against the smallest step of the clock (measured), or the tick of the tool that the \
          number comes from.",
    threshold: "less than 100 ticks warns",
    settled: "By calculation: a clock errs by up to one tick, and one of 100 is 1 %, a fifth of the margin of \
              comparisons.",
    fix: &[Remedy::LONGER_TIME, Remedy::words("Use a finer clock.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.ground == Ground::Nothing || view.is_virtual_time() || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    of_tick(view.measured.wall_ns, view.measured.clock_cost_ns)
}

/// Judges whether an elapsed time is long enough for a clock whose smallest step is `tick_ns`; both in ns.
pub(crate) fn of_tick(elapsed_ns: u64, tick_ns: f64) -> Outcome {
    if tick_ns.is_nan() || tick_ns <= 0.0 {
        return Outcome::skipped("the clock's smallest step is not known");
    }
    let elapsed = elapsed_ns as f64;
    let observed = format!("{} in ticks of {}", nanos(elapsed), nanos(tick_ns));
    if elapsed >= MIN_TICKS * tick_ns {
        return Outcome::pass(observed);
    }
    let message = if elapsed > 0.0 {
        format!(
            "{} is only {} ticks of a clock that steps by {}: the rate may be off by {}.",
            nanos(elapsed),
            short(elapsed / tick_ns),
            nanos(tick_ns),
            percent((tick_ns / elapsed).min(1.0))
        )
    } else {
        format!("No time passed on a clock that steps by {}.", nanos(tick_ns))
    };
    let at_least_ns = Some((MIN_TICKS * tick_ns) as u64);
    Outcome::warn(observed, message)
        .remedies(vec![Remedy::LongerTime { phase: None, at_least_ns }, Remedy::words("Use a finer clock.")])
}

#[cfg(test)]
mod tests {
    use super::of_tick;
    use crate::check::Outcome;
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_hundred_ticks_are_enough() {
        assert_eq!(Scene::reading(MIB).clock_cost(20.0).wall_ns(2000).level("E8"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).clock_cost(20.0).wall_ns(1999).level("E8"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).virtual_time().wall_ns(1).level("E8"), None);
    }

    #[test]
    fn seconds_of_another_tool_are_coarse() {
        assert!(matches!(of_tick(100 * SECOND, SECOND as f64), Outcome::Pass { .. }));
        let Outcome::Found(found) = of_tick(20 * SECOND, SECOND as f64) else { panic!("20 ticks are too few") };
        assert!(found.level == Level::Warn && found.message.contains("off by 5 %"), "{}", found.message);
        assert!(matches!(of_tick(0, SECOND as f64), Outcome::Found(_)));
        assert!(matches!(of_tick(SECOND, 0.0), Outcome::Skipped { .. }));
    }
}
