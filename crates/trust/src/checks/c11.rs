use crate::check::{Check, Judge, Outcome};
use crate::evidence::{Ground, PhaseView};
use crate::text::{count, nanos, short};
use plumb_result::Remedy;
use plumb_workload::OpKind;

/// The latency of an op shorter than this many clock readings includes the clock's cost.
const OP_PER_COST: f64 = 20.0;
/// Clock sources that are read through a slow device or only tick.
const SLOW_SOURCES: &[&str] = &["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Clock sources of the processor itself.
const FAST_SOURCES: &[&str] = &["tsc", "arch_sys_counter"];
/// Ops that make writes durable.
const FLUSHES: [OpKind; 3] = [OpKind::Fsync, OpKind::Fdatasync, OpKind::EndFsync];
/// After a step beyond this, the clock was set …
const STEP_NS: f64 = 10e6;
/// … allowing for twice the slew rate of NTP (500 ppm, adjtimex(2)).
const SLEW: f64 = 1e-3;

pub(crate) static CHECK: Check = Check {
    code: "C11",
    title: "Clock",
    what: "Whether the clock is good enough for what it timed: read from the processor's own counter, cheap compared \
           with an op, and not set during the phase. A guest's own source (kvm-clock, Hyper-V) is as cheap to read and \
           only noted.",
    why: "On a machine that fell back to HPET each reading costs a microsecond, and cached reads of half a microsecond \
          show the clock. Kernel: Documentation/timers/timekeeping.rst.",
    how: "`current_clocksource`; the measured cost of reading the clock against the median of each kind of op; \
          CLOCK_MONOTONIC_RAW against CLOCK_REALTIME over the phase.",
    threshold: "a slow source (hpet, acpi_pm, jiffies), or an op shorter than 20 readings, warns; another source than \
                the processor's, or a step of more than 10 ms, is noted",
    settled: "By reasoning: 20 readings make 5 % of the op, the margin within which comparisons treat two as equal. \
              NTP slews a clock by at most 500 ppm (adjtimex(2)); twice that plus 10 ms is tolerated, and anything \
              beyond is a clock that was set.",
    fix: &[Remedy::words(
        "Boot with `clocksource=tsc tsc=reliable` where the hardware allows it; for very short ops read rates, not \
          latencies.",
    )],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    if view.is_virtual_time() || view.ground == Ground::Nothing || view.measured.count() == 0 {
        return Outcome::NotApplicable;
    }
    let cost = view.measured.clock_cost_ns;
    // A flush of memory does nothing, and its time is of no interest.
    let is_timed = |kind: OpKind| view.ground != Ground::Memory || !FLUSHES.contains(&kind);
    let timed = view.measured.ops.iter().filter(|(kind, _)| is_timed(**kind));
    let medians = timed.filter_map(|(kind, op)| Some((*kind, op, op.service.quantile(0.5)?)));
    let shortest = medians.min_by_key(|(_, _, median)| *median);
    if let Some((kind, op, median)) = shortest
        && (median as f64) < OP_PER_COST * cost
    {
        let shared = match op.untimed_count {
            0 => String::new(),
            untimed => format!(
                " To keep the rate exact, {} of {} were not timed individually: each counts with the time of another op, \
                 or with the mean of the ops timed with it.",
                untimed,
                count(op.count, "op")
            ),
        };
        return Outcome::warn(
            format!("{} takes {}, the clock {}", kind.name(), nanos(median as f64), nanos(cost)),
            format!(
                "A {} takes {} (median), only {} clock readings of {}: the latency includes the clock's.{shared}",
                kind.name(),
                nanos(median as f64),
                short(median as f64 / cost),
                nanos(cost)
            ),
        )
        .remedy("Read the rate, not the latency, or use bigger ops.");
    }
    let source = match view.environment.clocksource.as_result() {
        Ok(source) => source.as_str(),
        // The engine trusts the processor's counter only if the kernel does.
        Err(_) if view.measured.clock == "tsc" => "tsc",
        Err(reason) => return Outcome::skipped(reason),
    };
    let ops = view.measured.ops.values();
    let (untimed, all) = ops.fold((0, 0), |(untimed, all), op| (untimed + op.untimed_count, all + op.count));
    let sampled = match untimed {
        0 => String::new(),
        _ => format!("; {untimed} of {} not timed individually", count(all, "op")),
    };
    let observed = format!("{source}, {} a reading{sampled}", nanos(cost));
    if SLOW_SOURCES.contains(&source) {
        return Outcome::warn(observed, format!("The kernel's clock source {source} is slow to read."));
    }
    if let Some(step) = view.seen.clock_step_ns.value() {
        let step = step.unsigned_abs() as f64;
        if step > STEP_NS + SLEW * view.measured.wall_ns as f64 {
            let message = format!("The wall clock was set by {}; durations do not depend on it.", nanos(step));
            return Outcome::note(format!("step of {}", nanos(step)), message).remedy("");
        }
    }
    if FAST_SOURCES.contains(&source) {
        Outcome::pass(observed)
    } else {
        Outcome::note(observed, format!("The kernel's clock source is {source}, not the processor's own counter."))
            .remedy("")
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn slow_sources_warn_and_a_guests_own_is_noted() {
        assert_eq!(Scene::reading(MIB).clocksource("tsc").level("C11"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).clocksource("kvm-clock").level("C11"), Some(Level::Note));
        assert_eq!(Scene::reading(MIB).clocksource("hpet").level("C11"), Some(Level::Warn));
    }

    #[test]
    fn an_unknown_source_is_skipped() {
        let mut blind = Scene::reading(MIB);
        blind.observations.environment.clocksource = plumb_result::Seen::no("no /sys");
        blind.measured().clock = "monotonic".to_owned();
        assert_eq!(blind.level("C11"), Some(Level::Skipped));
    }

    #[test]
    fn an_op_must_be_long_against_the_clock() {
        assert_eq!(Scene::reading(MIB).op_time(2048).clock_cost(102.4).level("C11"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).op_time(2048).clock_cost(104.0).level("C11"), Some(Level::Warn));
    }

    // Protects: a distribution from a sample says so.
    #[test]
    fn untimed_ops_are_reported() {
        let scene = |untimed| Scene::reading(MIB).op_time(500).clock_cost(50.0).untimed(untimed);
        let message = |scene: Scene| scene.finding("C11").expect("a finding").message;
        assert!(!message(scene(0)).contains("not timed"), "{}", message(scene(0)));
        assert!(message(scene(93)).contains("93 of "), "{}", message(scene(93)));
        let passed = message(scene(93).clock_cost(10.0));
        assert!(passed.starts_with("OK: ") && passed.contains("93 of "), "{passed}");
    }

    #[test]
    fn setting_the_clock_is_noted_and_slewing_is_not() {
        assert_eq!(Scene::reading(MIB).clock_step(-5_000_000).level("C11"), Some(Level::Pass));
        assert_eq!(Scene::reading(MIB).clock_step(-1_000_000_000).level("C11"), Some(Level::Note));
    }
}
