use crate::check::{Check, Judge, Outcome};
use crate::comparison::{NumberFinding, NumberView};
use crate::evidence::ComparisonView;
use crate::text::percent;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "E14",
    title: "Below the noise floor",
    what: "Whether the claimed difference is larger than the noise floor of this set-up (A/A).",
    why: "An interval covers the spread within one comparison, but not what makes two equal sides differ anyway: the \
          order, the place on the disk, the state that the last run left. A/A runs show it. Kohavi, Longbotham, \
          Sommerfield and Henne, \"Controlled experiments on the web: survey and practical guide\", Data Mining and \
          Knowledge Discovery 18, 2009: run A/A tests, and distrust a system whose A/A tests differ.",
    how: "`plumb noise` compares a place with itself in the planned design and keeps, for each number, the far end of \
          the 95 % interval of the ratio. The larger floor of the two places counts.",
    threshold: "a difference smaller than the floor, or an equivalence within a margin smaller than the floor, can \
                only be \"cannot tell\"",
    settled: "By measurement, for each set-up: `plumb noise` measures it.",
    fix: &[Remedy::LONGER_TIME, Remedy::words("Make the set-up quieter."), Remedy::MeasureFloor],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let floored: Vec<(&NumberView<'_>, f64)> =
        view.numbers.iter().filter_map(|number| Some((number, number.floor?))).collect();
    if floored.is_empty() {
        return Outcome::NotApplicable;
    }
    let below: Vec<String> = floored
        .iter()
        .filter(|(number, floor)| is_below_floor(number.found, *floor))
        .map(|(number, floor)| match number.found {
            NumberFinding::Equal { margin } => {
                format!("{} (equal within {}, floor {})", number.name(), percent(margin), percent(*floor))
            }
            NumberFinding::Difference { ratio } => {
                format!("{} ({}, floor {})", number.name(), percent(ratio.ln().abs().exp_m1()), percent(*floor))
            }
            NumberFinding::Nothing => number.name(),
        })
        .collect();
    if below.is_empty() {
        let largest = floored.iter().map(|(_, floor)| *floor).fold(0.0, f64::max);
        return Outcome::pass(format!("no claim is below its noise floor (at most {})", percent(largest)));
    }
    let list = below.join("; ");
    let message = format!("Below the noise floor, so the verdict is \"cannot tell\": {list}.");
    Outcome::warn(list, message)
}

/// Returns `true` if a claim is smaller than the difference of a place from itself. A floor is a share: 0.03
/// is × or ÷ 1.03.
pub fn is_below_floor(found: NumberFinding, floor: f64) -> bool {
    match found {
        NumberFinding::Difference { ratio } => ratio.ln().abs() <= floor.ln_1p(),
        NumberFinding::Equal { margin } => margin < floor,
        NumberFinding::Nothing => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::comparison::NumberFinding;
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    fn level(found: NumberFinding, floor: Option<f64>) -> Option<Level> {
        let mut number = Number::new("read.iops", &[1.0; 6], &[1.0; 6]);
        (number.found, number.floor) = (found, floor);
        Both::equal().with(|both| both.numbers.push(number)).level("E14")
    }

    #[test]
    fn a_claim_below_the_floor_warns() {
        for ratio in [1.04, 1.0 / 1.04] {
            let found = NumberFinding::Difference { ratio };
            assert_eq!(level(found, Some(0.03)), Some(Level::Pass));
            assert_eq!(level(found, Some(0.05)), Some(Level::Warn));
            assert_eq!(level(found, None), None, "an unmeasured floor gives no finding");
        }
    }

    /// A set-up that cannot show 8 % cannot show equality within 5 %.
    #[test]
    fn equivalence_needs_a_floor_within_the_margin() {
        assert_eq!(level(NumberFinding::Equal { margin: 0.05 }, Some(0.08)), Some(Level::Warn));
        assert_eq!(level(NumberFinding::Equal { margin: 0.05 }, Some(0.01)), Some(Level::Pass));
        assert_eq!(level(NumberFinding::Nothing, Some(0.5)), Some(Level::Pass));
    }
}
