use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use plumb_result::Remedy;

/// Number of missing numbers named in the message.
const NAMED: usize = 6;

pub(crate) static CHECK: Check = Check {
    code: "E10",
    title: "Everything planned is shown",
    what: "Whether every planned number is shown, whatever its value.",
    why: "Showing only what suits is the oldest of benchmarking's sins. Heiser, \"Systems Benchmarking Crimes\": \
          selective benchmarking, and benchmark sub-setting without strong justification. Plumb leaves a number out \
          only where too little was measured for it, and says so.",
    how: "The headline numbers of every requested workload, against those that have a contrast.",
    threshold: "anything missing is noted, with how many are shown out of how many",
    settled: "Nothing to settle: a number is shown or it is not.",
    fix: &[Remedy::LONGER_TIME, Remedy::words("Find out why runs were rejected.")],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let planned = view.planned;
    if planned.is_empty() {
        return Outcome::NotApplicable;
    }
    let shown =
        |workload: &str, metric| view.numbers.iter().any(|one| one.workload == workload && one.metric == metric);
    let missing: Vec<String> = planned
        .iter()
        .filter(|one| !shown(&one.workload, one.metric))
        .map(|one| format!("{}: {}", one.workload, one.metric))
        .collect();
    let observed = format!("{} of {}", planned.len() - missing.len(), planned.len());
    if missing.is_empty() {
        return Outcome::pass(format!("{observed} planned numbers are shown"));
    }
    let more = missing.len().saturating_sub(NAMED);
    let named = missing[..missing.len() - more].join(", ");
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    Outcome::note(observed.clone(), format!("Only {observed} planned numbers are shown; missing: {named}{rest}."))
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    #[test]
    fn missing_numbers_are_counted_and_named() {
        let both = |planned: &[&'static str]| {
            Both::equal().with(|both| {
                both.numbers.push(Number::new("read.iops", &[1.0; 6], &[1.0; 6]));
                both.planned = planned.to_vec();
            })
        };
        assert_eq!(both(&["read.iops"]).level("E10"), Some(Level::Pass));
        let found = both(&["read.iops", "read.lat.p99"]).judge().finding("E10").unwrap();
        assert_eq!((found.level, found.observed.as_str()), (Level::Note, "1 of 2"));
        assert!(found.message.contains("work: read.lat.p99"), "{}", found.message);
        assert_eq!(both(&[]).level("E10"), None, "without a plan nothing can be missing");
    }
}
