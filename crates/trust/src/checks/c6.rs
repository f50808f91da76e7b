use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::{count, percent};
use plumb_result::Remedy;

/// Above this, more than ordinary turbo moved the frequency. A processor that spends half of its time at its one-core
/// turbo and half at its all-core turbo (4.8 and 4.2 GHz) varies by 7 %; one that falls from turbo to its base clock
/// half-way (4.2 and 2.4 GHz), by 27 %.
const WARN_COV: f64 = 0.10;

pub(crate) static CHECK: Check = Check {
    code: "C6",
    title: "Processor speed",
    what: "Whether the processors ran at one speed: no power-saving governor, no thermal throttling, a steady \
           frequency.",
    why: "The processor's part of each op grows as its clock falls, and on fast storage half of the time is the \
          processor's. Cached reads on a throttled laptop lose a third without any change of the disk. Linux: \
          Documentation/admin-guide/pm/cpufreq.rst.",
    how: "`scaling_governor`; `core_throttle_count` and `package_throttle_count` before and after; `scaling_cur_freq` \
          of the fastest processor, once a second.",
    threshold: "any throttling, or a frequency that varies by more than 10 %, warns; any governor but `performance` is \
                noted",
    settled: "By reasoning: a processor that spends half of its time at its one-core turbo and half at its all-core \
              turbo (4.8 and 4.2 GHz) varies by 7 %; one that falls from turbo to its base clock half-way (4.2 and 2.4 \
              GHz), by 27 %. 10 % lies between.",
    fix: &[Remedy::words("Set the governor with `cpupower frequency-set -g performance`, and check the cooling.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() {
        return Outcome::NotApplicable;
    }
    let seen = &view.seen.conditions;
    let throttled = match (seen.before.cpu_throttles.as_result(), seen.after.cpu_throttles.as_result()) {
        (Ok(before), Ok(after)) => Ok(after.saturating_sub(*before)),
        (Err(reason), _) | (_, Err(reason)) => Err(reason),
    };
    if let Ok(times) = throttled
        && times > 0
    {
        let observed = format!("throttled {}", count(times, "time"));
        return Outcome::warn(observed, format!("Heat throttled the processors {}.", count(times, "time")));
    }
    let frequency = seen.frequency.as_result();
    if let Ok(spread) = frequency
        && spread.cov > WARN_COV
    {
        let range = format!("{:.1} to {:.1} GHz", spread.lowest_hz / 1e9, spread.highest_hz / 1e9);
        return Outcome::warn(
            format!("frequency varies by {}", percent(spread.cov)),
            format!("The fastest processor's frequency varied by {} ({range}).", percent(spread.cov)),
        );
    }
    let governor = view.environment.governor.as_result();
    if let Ok(governor) = governor
        && governor != "performance"
    {
        return Outcome::note(
            format!("governor {governor}"),
            format!("The CPU governor is `{governor}`: processor speed changes with the load."),
        );
    }
    let mut facts: Vec<String> = Vec::new();
    facts.extend(governor.ok().map(|governor| format!("governor {governor}")));
    facts.extend(throttled.ok().map(|_| "no throttling".to_owned()));
    facts.extend(frequency.ok().map(|spread| format!("frequency within {}", percent(spread.cov))));
    match governor.err().into_iter().chain(throttled.err()).chain(frequency.err()).next() {
        Some(reason) if facts.is_empty() => Outcome::skipped(reason),
        _ => Outcome::pass(facts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn throttling_and_an_unsteady_clock_warn() {
        assert_eq!(Scene::reading(MIB).governor("performance").level("C6"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).throttled(1).level("C6"), Some(Level::Warn));
        assert_eq!(Scene::reading(MIB).frequency_cov(0.09).level("C6"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).frequency_cov(0.27).level("C6"), Some(Level::Warn));
    }

    #[test]
    fn a_governor_that_saves_power_is_noted() {
        assert_eq!(Scene::reading(MIB).governor("schedutil").level("C6"), Some(Level::Note));
        // Actual throttling outweighs a possible one.
        assert_eq!(Scene::reading(MIB).governor("schedutil").throttled(2).level("C6"), Some(Level::Warn));
    }

    #[test]
    fn a_guest_that_sees_nothing_is_skipped() {
        assert_eq!(Scene::reading(MIB).unseen_processors("no cpufreq").level("C6"), Some(Level::Skipped));
        assert_eq!(Scene::reading(MIB).virtual_time().level("C6"), None);
    }
}
