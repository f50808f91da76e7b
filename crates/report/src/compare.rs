//! A comparison as a page: the verdict in words, the numbers behind it, and everything in which the two sides differ.

use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use plumb_result::compare::Difference;
use plumb_result::{Better, Comparison, Contrast, ContrastVerdict};

/// The whole page.
pub fn page(comparison: &Comparison, style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&comparison.verdict_note, 0));
    page.push_str("\n\n");
    for contrast in &comparison.contrasts {
        page.push_str(&contrast_lines(contrast, style));
    }
    page.push('\n');
    page.push_str(&left_out(comparison, style));
    page.push_str(&differences(comparison, style));
    page
}

/// One contrast in words: `B is 1.31× faster than A`.
pub fn words(contrast: &Contrast) -> String {
    let Contrast { baseline, candidate, phase, metric, .. } = contrast;
    let what = format!("{phase}, {metric}");
    let ratio = contrast.ratio.unwrap_or(f64::NAN);
    match contrast.verdict {
        ContrastVerdict::Faster => format!("{candidate} is {ratio:.2}× as fast as {baseline} ({what})"),
        ContrastVerdict::Slower => format!("{candidate} is slower than {baseline}: {ratio:.2}× its speed ({what})"),
        ContrastVerdict::Equivalent => format!("{candidate} and {baseline} are equivalent, within 5 % ({what})"),
        ContrastVerdict::Fragile => {
            format!("{what}: the interval and the permutation test disagree; no claim can rest on this")
        }
        ContrastVerdict::CannotTell => match contrast.blocks_needed {
            Some(more) => format!("{what}: cannot tell; about {more} more blocks would settle it"),
            None => format!("{what}: cannot tell"),
        },
    }
}

fn contrast_lines(contrast: &Contrast, style: &Style) -> String {
    let ink = match contrast.verdict {
        ContrastVerdict::Faster | ContrastVerdict::Equivalent => Ink::Good,
        ContrastVerdict::Slower => Ink::Bad,
        ContrastVerdict::CannotTell | ContrastVerdict::Fragile => Ink::Caution,
    };
    let unit = contrast.metric.unit();
    let side = |value: Option<f64>, cv: Option<f64>| {
        let value = value.map_or(MISSING.to_owned(), |value| format::value(value, unit));
        cv.map_or(value.clone(), |cv| format!("{value} (spread {})", format::percent(cv)))
    };
    let interval = match (contrast.ratio, contrast.lo, contrast.hi) {
        (Some(ratio), Some(lo), Some(hi)) => {
            format!("{ratio:.2}×  ({:.0} % {lo:.2} – {hi:.2})", contrast.confidence * 100.0)
        }
        _ => MISSING.to_owned(),
    };
    let direction = match contrast.metric.better() {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better; the ratio is turned so that above 1 is better",
    };
    let verdict = style.ink(ink, &format!("{:11}", contrast.verdict.name()));
    let more = match contrast.blocks_needed {
        Some(more) if contrast.verdict == ContrastVerdict::CannotTell => format!("; about {more} more needed"),
        _ => String::new(),
    };
    format!(
        "  {verdict}  {:14}  {:16}  {interval}   {} blocks{more}\n               {}\n",
        contrast.phase,
        contrast.metric.to_string(),
        contrast.blocks,
        style.ink(
            Ink::Faint,
            &format!(
                "{} {} · {} {} · {direction}",
                contrast.baseline,
                side(contrast.baseline_value, contrast.baseline_cv),
                contrast.candidate,
                side(contrast.candidate_value, contrast.candidate_cv),
            )
        ),
    )
}

fn left_out(comparison: &Comparison, style: &Style) -> String {
    let mut text = String::new();
    for run in &comparison.left_out {
        let line = format!(
            "left out, rejected by checks: run {} of {}: {}",
            crate::run::short_id(&run.run),
            run.side,
            run.reason
        );
        text.push_str(&format!("  {}\n", style.ink(Ink::Bad, &style.wrap(&line, 4))));
    }
    text
}

fn differences(comparison: &Comparison, style: &Style) -> String {
    if comparison.differences.is_empty() {
        return "The two set-ups do not differ in anything that could be seen.\n".to_owned();
    }
    let mut text = String::from("The verdict is about the two set-ups as wholes. They differ in:\n");
    let mut factors: Vec<&str> = comparison.differences.iter().map(|difference| difference.factor.as_str()).collect();
    factors.sort_unstable();
    factors.dedup();
    for factor in factors {
        let of_factor: Vec<&Difference> = comparison.differences.iter().filter(|d| d.factor == factor).collect();
        const SHOWN: usize = 6;
        for difference in of_factor.iter().take(SHOWN) {
            let line = format!("{}: {} | {}", difference.fact, difference.baseline, difference.candidate);
            text.push_str(&format!("  {factor:10} {}\n", style.wrap(&line, 15)));
        }
        if of_factor.len() > SHOWN {
            text.push_str(&format!("  {factor:10} … and {} more (`--json` has all)\n", of_factor.len() - SHOWN));
        }
    }
    text
}
