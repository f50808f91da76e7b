use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::stated::conversion;
use crate::text::count;
use plumb_result::Remedy;

pub(crate) static CHECK: Check = Check {
    code: "E11",
    title: "Unit and direction",
    what: "Whether every number is in its metric's unit and read in its metric's direction.",
    why: "A published comparison read random seeks per second as if fewer were better, and compared MiB/s of one side \
          with MB/s of the other, which are 5 % apart: as much as most claims (`audits/mirrors.toml`). Plumb's own \
          numbers cannot be wrong in this way, because a metric's name fixes its unit and direction; imported ones \
          can.",
    how: "The unit and direction that the source states, against the metric's; what can be converted is converted, \
          with the original kept.",
    threshold: "a unit of something else, an unknown unit, or the wrong direction fails",
    settled: "Nothing to settle: units and directions are a table.",
    fix: &[Remedy::words(
        "State the unit that the tool prints (`MB/s`, `MiB/s`, `us`), and put the number under the right metric.",
    )],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    if view.numbers.is_empty() {
        return Outcome::NotApplicable;
    }
    let mut converted = 0;
    for number in view.numbers {
        let Some(stated) = number.stated else { continue };
        match conversion(number.metric, stated.unit, stated.better) {
            Ok(_) => converted += 1,
            Err(error) => {
                let unit = stated.unit.unwrap_or("no unit");
                return Outcome::fail(format!("{}: {unit}", number.name()), format!("{}: {error}.", number.name()));
            }
        }
    }
    Outcome::pass(match converted {
        0 => "every number has its metric's unit and direction".to_owned(),
        several => format!("{} of others, in units of the same kind", count(several, "number")),
    })
}

#[cfg(test)]
mod tests {
    use crate::comparison::Stated;
    use crate::fixture::{Both, Number};
    use plumb_result::{Better, Level};

    fn level(metric: &str, unit: Option<&'static str>, better: Option<Better>) -> Option<Level> {
        let mut number = Number::new(metric, &[1.0; 6], &[1.0; 6]);
        number.stated = Some(Stated { unit, better });
        Both::equal().with(|both| both.numbers.push(number)).level("E11")
    }

    #[test]
    fn plumbs_own_numbers_pass() {
        let own = Both::equal().with(|both| both.numbers.push(Number::new("read.bw", &[1.0; 6], &[1.0; 6])));
        assert_eq!(own.level("E11"), Some(Level::Pass));
    }

    #[test]
    fn imported_numbers_must_match_their_metric() {
        assert_eq!(level("read.bw", Some("MiB/s"), Some(Better::Higher)), Some(Level::Pass));
        assert_eq!(level("read.bw", Some("ms"), None), Some(Level::Fail));
        assert_eq!(level("read.lat.p99", Some("ms"), Some(Better::Higher)), Some(Level::Fail));
    }
}
