use crate::check::{Check, Judge, Outcome};
use crate::evidence::{PhaseView, RunView};
use crate::plan::expected_kinds;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "E9",
    title: "Missing numbers",
    what: "Which requested numbers are missing: a kind of op that never completed, or a phase that never ran. They are \
           shown as missing, never as 0.",
    why: "A published comparison of three distributions drew its failed cells as 0, and readers saw a slow system \
          where there was no measurement.",
    how: "Ops and phases of the workload against those of the measurement.",
    threshold: "any missing number is noted; a phase that never ran warns",
    settled: "Nothing to settle: a number is there or it is not.",
    fix: &[Remedy::LONGER_TIME, Remedy::words("Remove what cannot run here. If an error stopped it, B9 names it.")],
    judges: &[Judge::Phase(kinds), Judge::Run(phases)],
};

fn kinds(view: &PhaseView<'_>) -> Outcome {
    let expected = expected_kinds(view.plan);
    let missing: Vec<&str> = expected.iter().filter(|kind| view.ops(**kind) == 0).map(|kind| kind.name()).collect();
    if missing.is_empty() {
        return Outcome::pass("every kind of op has its numbers");
    }
    let list = missing.join(", ");
    Outcome::note(
        format!("missing: {list}"),
        format!("No op of these kinds completed; their numbers are missing, not 0: {list}."),
    )
}

fn phases(view: &RunView<'_>) -> Outcome {
    let ran = |name: &str| view.measurement.phases.iter().any(|measured| measured.name == name);
    let missing: Vec<&str> =
        view.workload.phase.iter().map(|phase| phase.name.as_str()).filter(|name| !ran(name)).collect();
    if missing.is_empty() {
        return Outcome::pass("every phase ran");
    }
    let list = missing.join(", ");
    let why = if view.measurement.interrupted { " (the run was interrupted)" } else { "" };
    Outcome::warn(
        format!("missing: {list}"),
        format!("These phases never ran{why}; their numbers are missing, not 0: {list}."),
    )
}

#[cfg(test)]
mod tests {
    use crate::fixture::{MIB, Scene};
    use plumb_result::Level;

    #[test]
    fn a_kind_that_never_completed_is_missing() {
        assert_eq!(Scene::reading(MIB).level("E9"), Some(Level::Pass));
        let finding = Scene::reading(MIB).also_writes().finding("E9").unwrap();
        assert_eq!(finding.level, Level::Note);
        assert!(finding.message.contains("not 0: write"), "{}", finding.message);
    }

    #[test]
    fn a_phase_that_never_ran_is_missing() {
        assert_eq!(Scene::reading(MIB).further_phase("later").level("E9"), Some(Level::Warn));
    }
}
