use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::factors::{confounding, differences};
use crate::text::count;
use plumb_result::Remedy;
use plumb_result::compare::Difference;

/// Number of facts named in the message; the comparison lists them all.
const NAMED: usize = 3;

pub(crate) static CHECK: Check = Check {
    code: "D5",
    title: "Undeclared difference",
    what: "What differs between the two sides, over every recorded fact about machine and storage. Without a declared \
           factor the verdict is about the two set-ups as they are, and differences are noted. With one (`--varying \
           fs`), any other difference confounds the comparison.",
    why: "A published comparison of two kernels changed the whole distribution with them, C library, mkfs defaults and \
          I/O scheduler, and credited the kernel (`audits/ext3-kernels.toml`). Heiser, \"Systems Benchmarking \
          Crimes\": missing specification of the platform.",
    how: "Leaf-by-leaf difference of environment and target facts, each with its factor. Names, mount points and \
          UUIDs, which differ between any two instances, and free space, which varies by itself, are left out.",
    threshold: "with a declared factor, any other difference warns and confounds; without one, differences are noted; \
                places of one side that differ in more than disk and layout warn",
    settled: "Nothing to settle: facts are equal or not. Found in 300 of 300 comparisons on simulated devices \
              (docs/calibration.md).",
    fix: &[Remedy::words("Make the sides equal in the listed facts, or declare what is meant to vary.")],
    judges: &[Judge::Comparison(examine)],
};

/// Facts in which plots of one set-up may differ: each provisioning may get another disk, or another place on it.
const OF_A_PROVISIONING: &[&str] = &["device", "layout", "sim", "fullness"];

fn examine(view: &ComparisonView<'_>) -> Outcome {
    for side in [&view.baseline, &view.candidate] {
        let unlike: Vec<&Difference> =
            side.record.unlike_plots.iter().filter(|one| !OF_A_PROVISIONING.contains(&one.factor.as_str())).collect();
        if !unlike.is_empty() {
            let message =
                format!("The places of {} are not the same set-up: they differ in {}.", side.name, named(&unlike));
            return Outcome::warn(count(unlike.len() as u64, "difference"), message)
                .remedy("Provision every place of a side in the same way.");
        }
    }
    let all = differences(&view.baseline, &view.candidate);
    if all.is_empty() {
        return Outcome::pass("no recorded fact differs");
    }
    let observed = count(all.len() as u64, "difference");
    let Some(declared) = view.varying else {
        let list = named(&all.iter().collect::<Vec<_>>());
        return Outcome::note(
            observed,
            format!("The sides differ in {list}; the verdict is about the two set-ups as they are."),
        );
    };
    let word = declared.name;
    let plots = view.baseline.record.plots.min(view.candidate.record.plots);
    let outside = confounding(&all, declared, plots);
    if outside.is_empty() {
        return Outcome::pass(format!("{observed}, all in {word}"));
    }
    let list = named(&outside);
    let message = format!("Confounded: besides {word}, the sides differ in {list}. No verdict is about {word} alone.");
    Outcome::warn(format!("{observed}, {} outside {word}", outside.len()), message)
}

fn named(differences: &[&Difference]) -> String {
    let mut parts: Vec<String> = differences
        .iter()
        .take(NAMED)
        .map(|one| format!("{} ({} → {})", one.short(), one.baseline, one.candidate))
        .collect();
    if differences.len() > NAMED {
        parts.push(format!("{} more", differences.len() - NAMED));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::SideRecord;
    use crate::fixture::{Both, MIB, Scene, compare};
    use plumb_result::Level;

    fn scene() -> Scene {
        Scene::reading(MIB)
    }

    #[test]
    fn equal_sides_pass() {
        assert_eq!(compare(&scene(), &scene(), 6, Some("fs")).level("D5"), Some(Level::Pass));
    }

    #[test]
    fn the_declared_factor_may_vary_and_nothing_else() {
        assert_eq!(compare(&scene(), &scene().filesystem("xfs"), 6, Some("fs")).level("D5"), Some(Level::Pass));
        let both = scene().filesystem("xfs").kernel("6.12.0");
        let finding = compare(&scene(), &both, 6, Some("fs")).finding("D5").unwrap();
        assert_eq!(finding.level, Level::Warn);
        assert!(finding.message.contains("environment.kernel"), "{}", finding.message);
    }

    /// Three mkfs of one kind are replicates; two of ext4 and one of xfs are not.
    #[test]
    fn the_places_of_a_side_must_be_of_one_kind() {
        let unlike = |other: Scene| {
            let record = SideRecord::default();
            let unlike = differences(&scene().side("A1", 0, &record), &other.side("A2", 0, &record));
            Both::equal().with(|both| both.records[0].unlike_plots = unlike).level("D5")
        };
        assert_eq!(unlike(scene().serial("another")), Some(Level::Pass));
        assert_eq!(unlike(scene().filesystem("xfs")), Some(Level::Warn));
    }

    #[test]
    fn without_a_declared_factor_differences_are_noted() {
        assert_eq!(compare(&scene(), &scene().kernel("6.12.0"), 6, None).level("D5"), Some(Level::Note));
    }
}
