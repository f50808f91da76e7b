use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::plan::expected_kinds;
use crate::text::{bytes, count};
use plumb_result::Remedy;
use plumb_workload::{OpKind, Phase};

pub(crate) static CHECK: Check = Check {
    code: "A8",
    title: "Short or empty",
    what: "Whether ops moved as many bytes as requested, and whether the phase did anything at all.",
    why: "A published comparison ends with a dd from /dev/null into the test file: it read 0 bytes and truncated a \
          file of 100 GiB. PostMark ignores the return value of write().",
    how: "The return value of each read and write against its request; bytes and ops of the phase.",
    threshold: "any short op warns; no byte, or no op, fails",
    settled: "Nothing to settle: a short op is a fact, and so is a phase without bytes. Found in 300 of 300 runs on \
              simulated devices (docs/calibration.md).",
    fix: &[Remedy::words("Check that the file is as long as the range to read, and that the device is not full.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let measured = view.measured;
    let expected = expected_kinds(view.plan);
    if measured.count() == 0 {
        let why = match has_ramp(view.plan) && measured.fault_count == 0 {
            true => {
                "The work ended within its ramp, which is not measured: shorten the ramp, or let the work last longer."
            }
            false => "No op completed in this phase.",
        };
        return Outcome::fail("0 ops", why);
    }
    // Only in a phase of data ops: within a program over files a kind may be rare, and E9 reports missing ones.
    let only_data = expected.iter().all(|kind| matches!(kind, OpKind::Read | OpKind::Write | OpKind::Trim));
    if only_data && measured.bytes() == 0 {
        return Outcome::fail("0 bytes", format!("0 bytes moved in {}.", count(measured.count(), "op")));
    }
    if measured.short_count > 0 {
        return Outcome::warn(
            count(measured.short_count, "short op"),
            format!("{} moved fewer bytes than requested.", count(measured.short_count, "op")),
        );
    }
    Outcome::pass(format!("{}, {}", count(measured.count(), "op"), bytes(measured.bytes())))
}

fn has_ramp(plan: &Phase) -> bool {
    plan.ramp.0 > 0 || plan.workers.iter().any(|group| group.ramp.0 > 0 || group.ramp_until.is_some())
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn what_moved_passes_and_nothing_fails() {
        assert_eq!(Scene::reading(MIB).level("A8"), Some(Level::Pass));
        assert_eq!(Scene::reading(0).level("A8"), Some(Level::Fail));
        assert_eq!(Scene::reading(MIB).no_ops().level("A8"), Some(Level::Fail));
    }

    // Protects: a ramp that is too long is named as the cause, not a short file.
    #[test]
    fn work_that_ends_within_its_ramp_is_reported() {
        let finding = |scene: Scene| scene.finding("A8").unwrap().message;
        assert!(finding(Scene::reading(MIB).no_ops().ramp_s(5)).contains("within its ramp"));
        assert!(!finding(Scene::reading(MIB).no_ops()).contains("ramp"));
    }

    #[test]
    fn one_short_op_warns() {
        assert_eq!(Scene::reading(MIB).short(1).level("A8"), Some(Level::Warn));
    }

    #[test]
    fn metadata_moves_no_bytes_and_need_not() {
        assert_eq!(Scene::stats(1000).level("A8"), Some(Level::Pass));
    }
}
