use crate::check::{Check, Judge, Outcome};
use crate::evidence::ComparisonView;
use crate::text::count;
use plumb_result::Remedy;
use plumb_stats::schedule::{Interleaving, Side, interleaving, stretches};

pub(crate) static CHECK: Check = Check {
    code: "D8",
    title: "Interleaved in time",
    what: "Whether the runs of the two sides take turns in time. If all runs of one side are one stretch, everything that \
           changed with time (drift, temperature, fullness, a neighbour, an update) is part of the difference.",
    why: "With a drift of 0.5 % per run, six runs of one side and then six of the other call equal set-ups different in 56 \
          of 100 comparisons. Plumb's own comparisons run in blocks of both sides; stored runs lie in time as they happened. \
          Box, Hunter and Hunter, \"Statistics for Experimenters\", 2005: block what you can, randomize what you cannot.",
    how: "The order of the runs of each number by the times at which they began: neighbours of both sides are pairs, runs in a row \
          of one side a stretch.",
    threshold: "fewer than two stretches of either side, unless runs pair up: the verdict can only be \"cannot tell\"",
    settled: "By experiment, on equal sides that drift by 0.5 % per run: one side after the other, 56 of 100 comparisons of six \
              runs per side end in a false claim; in blocks, 1 of 1000 (docs/statistics.md).",
    fix: &[Remedy::Interleave, Remedy::words("Select runs that alternate.")],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let mut fewest: Option<usize> = None;
    for number in view.numbers {
        if number.baseline.is_empty() || number.candidate.is_empty() {
            continue;
        }
        let order = number.order();
        let all = stretches(&order);
        if interleaving(&order) == Interleaving::Apart {
            let [one, other] = [view.baseline.name, view.candidate.name];
            let first = if order[0] == Side::A { [one, other] } else { [other, one] };
            let how = match all.len() {
                2 => format!("the runs of {} came first, then those of {}", first[0], first[1]),
                _ => format!("all runs of {} lie between those of {}", first[1], first[0]),
            };
            let observed = all.iter().map(|stretch| letters(order[stretch.start], stretch.len())).collect::<Vec<_>>();
            let message = format!("Not interleaved, so a difference may be one of time: {how}.");
            return Outcome::fail(observed.join(" "), message);
        }
        fewest = Some(fewest.map_or(all.len(), |known| known.min(all.len())));
    }
    match fewest {
        None => Outcome::NotApplicable,
        Some(stretches) => {
            Outcome::pass(format!("the sides took turns, {} of runs", count(stretches as u64, "stretch")))
        }
    }
}

/// Formats `AAA`, or `40 × A`.
fn letters(side: Side, runs: usize) -> String {
    let letter = if side == Side::A { "A" } else { "B" };
    if runs > 8 { format!("{runs} × {letter}") } else { letter.repeat(runs) }
}

#[cfg(test)]
mod tests {
    use crate::comparison::RunValue;
    use crate::fixture::{Both, Number};
    use plumb_result::{Finding, Level};

    /// Returns the finding for runs in this order.
    fn finding(order: &str) -> Option<Finding> {
        let runs = |side: char| -> Vec<RunValue> {
            let of_side = order.chars().enumerate().filter(|(_, letter)| *letter == side);
            of_side.map(|(place, _)| RunValue { run: place as u32, plot: 0, value: 100.0 }).collect()
        };
        let number = Number { sides: [runs('A'), runs('B')], ..Number::new("read.iops", &[], &[]) };
        Both::equal().with(|both| both.numbers.push(number)).judge().finding("D8")
    }

    #[test]
    fn one_side_after_the_other_fails_and_alternation_does_not() {
        let apart = finding("AAAAAABBBBBB").unwrap();
        assert_eq!((apart.level, apart.observed.as_str()), (Level::Fail, "AAAAAA BBBBBB"));
        assert!(apart.message.ends_with("the runs of A came first, then those of B."), "{}", apart.message);
        let between = finding("AAABBBBBBAAA").unwrap();
        assert!(between.message.ends_with("all runs of B lie between those of A."), "{}", between.message);
        for order in ["ABBAABBAABBA", "AAABBBAAABBB", "ABABABABABAB"] {
            assert_eq!(finding(order).unwrap().level, Level::Pass, "{order}");
        }
    }

    #[test]
    fn without_runs_of_both_sides_there_is_no_order() {
        assert!(finding("AAA").is_none());
    }
}
