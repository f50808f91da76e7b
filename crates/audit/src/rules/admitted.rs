//! Rules about sentences that admit a choice of runs, and about the meaning of the spread.

use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed};
use crate::form::SpreadMeaning;
use crate::view::{CellView, View};
use plumb_result::Level;

pub(crate) static BARS: Rule = Rule {
    code: "E1",
    name: "bars",
    what: "Error bars and spreads whose meaning is not declared, or differs within a row.",
    fix: "Say what they are with spread-is: a standard deviation, a standard error, a confidence interval or a range.",
    stage: AppliedTo::Study(bars),
};

pub(crate) static BEST_OF: Rule = Rule {
    code: "E10",
    name: "best-of",
    what: "Numbers that are the best of several runs, or what is left after runs were removed.",
    fix: "Show the mean or median of all runs with their spread, and remove no run after its number is known.",
    stage: AppliedTo::Study(best_of),
};

fn bars(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    let shown = || view.cells.iter().filter(|cell| cell.cell.value.is_some() && cell.cell.spread.is_some());
    let undeclared: Vec<&CellView<'_>> = shown().filter(|cell| cell.spread_is.is_none()).collect();
    if !undeclared.is_empty() {
        found.push(Draft {
            level: Level::Note,
            cells: ids(undeclared.iter().copied()),
            observed: "not declared".to_owned(),
            message:
                "The meaning of the spread is not declared (spread-is): it is taken for a standard deviation between runs; \
                      as a standard error it would be larger by the root of their number."
                    .to_owned(),
        });
    }
    let not_stated: Vec<&CellView<'_>> =
        shown().filter(|cell| cell.spread_is == Some(SpreadMeaning::NotStated)).collect();
    let admitted: Vec<&String> = sentences(view).filter(|text| leaves_bars_open(text)).collect();
    if !not_stated.is_empty() || !admitted.is_empty() {
        let cells = if not_stated.is_empty() { Vec::new() } else { ids(not_stated.iter().copied()) };
        found.push(Draft {
            level: Level::Warn,
            cells,
            observed: admitted.first().map_or("not stated".to_owned(), |text| (*text).clone()),
            message: "The study shows a spread and does not say what it is: a standard error looks like a standard \
                      deviation that is smaller by the root of the number of runs, so no difference can be judged by it."
                .to_owned(),
        });
    }
    for row in view.rows() {
        let meanings = distinct(row.iter().filter(|cell| cell.cell.spread.is_some()).filter_map(|cell| cell.spread_is));
        if meanings.len() > 1 {
            let names: Vec<String> = meanings.iter().map(|meaning| meaning.words().to_owned()).collect();
            found.push(Draft {
                level: Level::Warn,
                cells: ids(row.iter().copied()),
                observed: names.join(" | "),
                message: format!("The spreads of one row mean different things: {}.", listed(&names)),
            });
        }
    }
    found
}

/// Returns a study's own sentences, and those that a reader added.
fn sentences<'v>(view: &View<'v>) -> impl Iterator<Item = &'v String> {
    view.study.study.admits.iter().chain(&view.study.study.added)
}

fn best_of(view: &View<'_>) -> Vec<Draft> {
    let admitted = sentences(view).filter(|text| keeps_the_best(text)).map(|text| (text.clone(), Vec::new()));
    let means = view.cells.iter().filter_map(|cell| {
        let over = cell.cell.mean_over.as_ref().filter(|over| keeps_the_best(over))?;
        Some((over.clone(), cell.id()))
    });
    let means = grouped(means, |(over, _)| over.clone())
        .into_iter()
        .map(|(over, cells)| (over, cells.into_iter().map(|(_, id)| id).collect()));
    admitted
        .chain(means)
        .map(|(words, cells)| Draft {
            level: Level::Warn,
            cells,
            observed: words.clone(),
            message: format!(
                "The numbers are not those of all runs (\"{words}\"): the best of several grows with their number and hides \
                 the spread, and runs that are removed afterwards are chosen by their result."
            ),
        })
        .collect()
}

/// Returns the text in lower case, with single spaces and without punctuation.
fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '±').filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

/// Returns `true` if a plain text contains a phrase without a negation shortly before it.
fn affirms(text: &str, phrase: &str) -> bool {
    const REACH: usize = 4;
    let mut from = 0;
    while let Some(at) = text[from..].find(phrase) {
        let before = text[..from + at].split_whitespace().rev().take(REACH);
        let denied =
            before.into_iter().any(|word| ["no", "not", "none", "never", "without", "nor", "neither"].contains(&word));
        if !denied {
            return true;
        }
        from += at + phrase.len();
    }
    false
}

/// Returns `true` if a sentence says that only the best runs are shown.
fn keeps_the_best(text: &str) -> bool {
    // "minimum" is not listed: "a minimum of six runs" is a plan.
    const EXTREMES: [&str; 8] = ["best", "fastest", "highest", "lowest", "maximum", "peak", "top", "quickest"];
    const RUNS: [&str; 10] =
        ["runs", "run", "repetitions", "attempts", "tries", "trials", "measurements", "passes", "iterations", "times"];
    const NUMBERS: [&str; 14] = [
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "n", "several",
        "all",
    ];
    let text = plain(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| NUMBERS.contains(&word) || word.chars().all(|c| c.is_ascii_digit());
    // Matches `best of 5 runs`, `maximum over all runs`, `best three of ten runs`, but not `the best of the three systems`.
    let extreme_of = words.windows(2).enumerate().any(|(at, window)| {
        let link = ["of", "over", "among", "from", "out"].contains(&window[1]) || is_number(window[1]);
        let rest = words.get(at + 2..).unwrap_or_default();
        let of_runs = rest.iter().take(4).any(|word| RUNS.contains(word));
        let of_number =
            rest.first().is_some_and(|next| is_number(next)) && rest.get(1).is_none_or(|next| !next.ends_with('s'));
        let is_extreme = EXTREMES.contains(&window[0]) && link && (of_runs || of_number);
        is_extreme && affirms(&text, &format!(" {} {} ", window[0], window[1]))
    });
    let extreme_run = EXTREMES.iter().any(|extreme| {
        [
            "run", "runs", "result", "results", "value", "values", "number", "numbers", "score", "scores", "attempt",
            "pass",
        ]
        .iter()
        .any(|noun| affirms(&text, &format!(" {extreme} {noun} ")))
    });
    let removes =
        ["discarded", "dropped", "removed", "excluded", "left out", "thrown away", "omitted", "ignored", "rejected"]
            .iter()
            .any(|verb| affirms(&text, &format!(" {verb} ")));
    let of_runs = ["outlier", "outliers", "slow", "slowest", "worst", "bad", "low", "lowest"]
        .iter()
        .any(|word| text.contains(&format!(" {word} ")));
    extreme_of || extreme_run || (removes && of_runs)
}

/// Returns `true` if a sentence says that error bars or similar marks are not explained.
fn leaves_bars_open(text: &str) -> bool {
    const SHOWN: [&str; 8] = ["bar", "bars", "whisker", "whiskers", "±", "plus minus", "intervals", "deviations"];
    const OPEN: [&str; 20] = [
        "not say",
        "not said",
        "not state",
        "not stated",
        "unstated",
        "not explain",
        "not explained",
        "unexplained",
        "undefined",
        "not define",
        "not defined",
        "unknown",
        "unclear",
        "unspecified",
        "not specify",
        "not specified",
        "no explanation",
        "without explanation",
        "without saying",
        "not described",
    ];
    let text = plain(text);
    let has = |words: &[&str]| words.iter().any(|word| text.contains(&format!(" {word} ")));
    has(&SHOWN)
        && (has(&OPEN) || [" never ", " unlabel", " doesn t ", " whether "].iter().any(|part| text.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_that_keep_the_best_are_recognised() {
        for text in [
            "The best of five runs is shown.",
            "Best-of-3 throughout.",
            "Shown is the fastest of the ten repetitions.",
            "We report the maximum of 5 runs",
            "Only the best result is plotted.",
            "Outliers were removed by hand.",
            "Slow runs were discarded.",
            "Each bar is the peak of several attempts.",
            "The maximum over all runs is shown.",
            "Shown are the best three of ten runs.",
        ] {
            assert!(keeps_the_best(text), "{text}");
        }
        for text in [
            "Mint is the best of the three systems.",
            "The first run was discarded as a warm-up.",
            "No run was discarded, and no outlier removed.",
            "The mean of ten runs is shown, not the best run.",
            "The disks are old.",
            "One of ten runs was slow.",
            "",
        ] {
            assert!(!keeps_the_best(text), "{text}");
        }
    }

    #[test]
    fn sentences_about_bars_are_recognised() {
        for text in [
            "The meaning of the error bars is not stated.",
            "Error bars are drawn without explanation.",
            "The paper does not say what its whiskers are.",
            "± is never defined.",
            "Whether the bars are standard deviations or standard errors is left out.",
        ] {
            assert!(leaves_bars_open(text), "{text}");
        }
        for text in ["Error bars are standard deviations.", "The kernel is not stated.", "The bar chart starts at 0."] {
            assert!(!leaves_bars_open(text), "{text}");
        }
    }
}
