use crate::check::{Check, Judge, Outcome};
use crate::comparison::NumberView;
use crate::evidence::ComparisonView;
use plumb_result::Remedy;
use plumb_stats::correlate::{PAIRS_MIN, one_measurement};
use std::collections::BTreeMap;

pub(crate) static CHECK: Check = Check {
    code: "E12",
    title: "One measurement, two names",
    what: "Whether two numbers of one workload follow each other so closely over the runs that they are one \
           measurement: bytes and ops at a fixed block size, or the rate and the latency of a closed loop.",
    why: "PostMark divides the bytes read and the bytes written by one and the same time; a published study showed \
          both as two results, and both in favour of the same kernel (`audits/ext3-kernels.toml`). Two such lines are \
          not two pieces of evidence.",
    how: "Pearson's correlation between the logarithms of both numbers over the runs that have both, after removing \
          each side's (and plot's) own level. A reciprocal counts too.",
    threshold: "a correlation beyond ± 0.999 over at least 6 runs is noted; it warns where a number is imported",
    settled: "By calculation: two unrelated numbers of six runs correlate by more than 0.999 in fewer than two of a \
              million cases, and two that share most of their cause seldom reach it.",
    fix: &[Remedy::words("Read them as one result, and report the one that answers the question.")],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let numbers: Vec<(&NumberView<'_>, BTreeMap<u32, f64>)> = view
        .numbers
        .iter()
        .map(|number| (number, BTreeMap::from_iter(number.residuals().into_iter().map(|one| (one.run, one.log)))))
        .collect();
    let mut asked = false;
    let mut pairs: Vec<String> = Vec::new();
    let mut imported = false;
    for (position, (one, ones)) in numbers.iter().enumerate() {
        for (other, others) in &numbers[position + 1..] {
            if one.workload != other.workload {
                continue;
            }
            let shared: Vec<(f64, f64)> = ones.iter().filter_map(|(run, x)| Some((*x, *others.get(run)?))).collect();
            if shared.len() < PAIRS_MIN {
                continue;
            }
            asked = true;
            if follow_each_other(&shared) {
                imported |= one.stated.is_some() || other.stated.is_some();
                pairs.push(format!("{} and {}", one.name(), other.metric));
            }
        }
    }
    if !asked {
        return Outcome::NotApplicable;
    }
    if pairs.is_empty() {
        return Outcome::pass("no two numbers follow each other");
    }
    let list = pairs.join("; ");
    let message = format!("One measurement under two names: {list}.");
    if imported { Outcome::warn(list, message) } else { Outcome::note(list, message) }
}

/// Returns `true` if both vary, beyond rounding, and together.
fn follow_each_other(pairs: &[(f64, f64)]) -> bool {
    const ROUNDING: f64 = 1e-6;
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let varies = |values: &[f64]| values.iter().any(|value| (value - values[0]).abs() > ROUNDING);
    varies(&x) && varies(&y) && one_measurement(&x, &y).is_some()
}

#[cfg(test)]
mod tests {
    use crate::comparison::Stated;
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    const RUNS: [f64; 6] = [101.0, 97.0, 103.0, 99.0, 104.0, 98.0];

    fn both(metric: &str, values: impl Fn(f64) -> f64) -> Both {
        let of = |scale: f64| RUNS.map(|value| values(value * scale));
        Both::equal().with(|both| {
            both.numbers.push(Number::new("read.iops", &RUNS, &RUNS.map(|value| value * 2.0)));
            both.numbers.push(Number::new(metric, &of(1.0), &of(2.0)));
        })
    }

    #[test]
    fn bytes_and_ops_of_one_block_size_are_one_measurement() {
        let found = both("read.bw", |iops| iops * 4096.0).judge().finding("E12").unwrap();
        assert_eq!(found.level, Level::Note);
        assert!(found.message.contains("read.iops and read.bw"), "{}", found.message);
        assert_eq!(
            both("read.lat.mean", |iops| 1e9 / iops).level("E12"),
            Some(Level::Note),
            "and so is the reciprocal"
        );
    }

    #[test]
    fn numbers_that_vary_on_their_own_are_two() {
        let unrelated = [1.0, 1.1, 0.9, 1.05, 0.97, 1.02];
        let own = |iops: f64| unrelated[RUNS.iter().position(|&v| v == iops || v * 2.0 == iops).unwrap()];
        assert_eq!(both("read.lat.p99", own).level("E12"), Some(Level::Pass));
        assert_eq!(both("read.lat.p99", |_| 7.0).level("E12"), Some(Level::Pass), "a constant follows nothing");
    }

    #[test]
    fn among_imported_numbers_it_warns() {
        let imported = both("read.bw", |iops| iops * 4096.0)
            .with(|both| both.numbers[1].stated = Some(Stated { unit: Some("B/s"), better: None }));
        assert_eq!(imported.level("E12"), Some(Level::Warn));
    }

    #[test]
    fn five_runs_are_exempt() {
        let few = Both::equal().with(|both| {
            both.numbers.push(Number::new("read.iops", &RUNS[..3], &RUNS[..2]));
            both.numbers.push(Number::new("read.bw", &RUNS[..3], &RUNS[..2]));
        });
        assert_eq!(few.level("E12"), None);
    }
}
