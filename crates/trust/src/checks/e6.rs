use crate::check::{Check, Judge, Outcome};
use crate::evidence::PhaseView;
use crate::text::count;
use plumb_result::metric::Stat;
use plumb_result::{MIN_SAMPLES_BEYOND, Remedy};
use plumb_workload::OpKind;

pub(crate) static CHECK: Check = Check {
    code: "E6",
    title: "Quantiles without samples",
    what: "Which quantiles have too few samples; they are left blank. A missing p99.99 is usual and only listed.",
    why: "A p99.9 of 500 ops is its maximum under another name. With at least ten samples beyond it, the rank's own \
          spread is about a third of the tail.",
    how: "Number of samples beyond each quantile, per run.",
    threshold: "fewer than 10 samples beyond a quantile: it is left blank; noted for p50 to p99.9. A comparison claims nothing \
                of a number that some of its runs lack",
    settled: "By calculation: the count beyond a quantile varies by its square root, 3.2 of 10, a third. By experiment: where one \
              of two equal sides was 40 % slower in 10 % of its runs, these lacked a p99, and the others made a claim of it \
              in 98 % of 60 comparisons (docs/calibration.md).",
    fix: &[Remedy::LONGER_TIME, Remedy::words("Read a lower quantile.")],
    judges: &[Judge::Phase(examine)],
};

fn examine(view: &PhaseView<'_>) -> Outcome {
    let mut headline = Vec::new();
    let mut far = Vec::new();
    let mut lowest_of_all: Option<Stat> = None;
    let mut shown = false;
    let mut longer = 1.0f64;
    // The distribution of pauses, or of dropping caches, is of no interest.
    let asked = |kind: OpKind| !matches!(kind, OpKind::Delay | OpKind::Evict);
    let kinds = view.measured.ops.iter().filter(|(kind, op)| op.count > 0 && asked(**kind));
    for (kind, op) in kinds {
        let quantiles = Stat::ALL.iter().copied().filter_map(|stat| Some((stat, stat.quantile()?)));
        let (kept, blank): (Vec<_>, Vec<_>) = quantiles.partition(|(_, quantile)| op.service.carries(*quantile));
        shown |= !kept.is_empty();
        // Quantiles are in rising order: above the first without samples none has any.
        let Some((lowest, _)) = blank.first() else { continue };
        let above = if blank.len() > 1 { " and above" } else { "" };
        let samples = count(op.service.count(), "sample");
        let entry = format!("{}{above} of {} ({samples})", lowest.name(), kind.name());
        if *lowest == Stat::P9999 {
            far.push(entry);
        } else {
            headline.push(entry);
            let needed = MIN_SAMPLES_BEYOND as f64 / (1.0 - lowest.quantile().unwrap_or(0.0));
            longer = longer.max(needed / op.service.count().max(1) as f64);
            let is_lower = |known: Stat| lowest.quantile() < known.quantile();
            if lowest_of_all.is_none_or(is_lower) {
                lowest_of_all = Some(*lowest);
            }
        }
    }
    if headline.is_empty() && far.is_empty() {
        return if shown { Outcome::pass("every quantile has enough samples") } else { Outcome::NotApplicable };
    }
    if headline.is_empty() {
        return Outcome::pass(format!("left blank: {}", far.join("; ")));
    }
    headline.extend(far);
    let list = headline.join("; ");
    let message = match (headline.as_slice(), lowest_of_all) {
        ([_, _, ..], Some(lowest)) => format!("Too few samples for {} and above. Left blank: {list}.", lowest.name()),
        _ => format!("Too few samples for {list}."),
    };
    // A fifth more than just enough, because runs vary.
    let at_least_ns = (view.measured.wall_ns as f64 * longer * 1.2) as u64;
    let phase = Some(view.measured.name.clone().into());
    Outcome::note(format!("left blank: {list}"), message).remedies(vec![
        Remedy::LongerTime { phase, at_least_ns: Some(at_least_ns) },
        Remedy::words("Read a lower quantile."),
    ])
}

#[cfg(test)]
mod tests {
    use crate::fixture::Scene;
    use plumb_result::Level;

    #[test]
    fn quantiles_without_samples_are_listed() {
        assert_eq!(Scene::stats(100_000).level("E6"), Some(Level::Pass));
        assert_eq!(Scene::stats(10_000).level("E6"), Some(Level::Pass), "p99.9 has its ten samples, p99.99 is usual");
        let finding = Scene::stats(9_999).finding("E6").unwrap();
        assert_eq!(finding.level, Level::Note);
        assert!(
            finding.message.contains("Too few samples for p99.9 and above of stat (9999 samples)."),
            "{}",
            finding.message
        );
    }
}
