//! A comparison as a page: the verdict in words, the numbers behind it, and everything in which the two sides differ.

use crate::format::{self, MISSING};
use crate::run::short_id;
use crate::style::{Ink, Style};
use plumb_result::compare::{Difference, LeftOut};
use plumb_result::{Better, Comparison, Contrast, ContrastVerdict};

/// The whole page.
pub fn page(comparison: &Comparison, style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&comparison.verdict_note, 0));
    page.push_str("\n\n");
    for contrast in &comparison.contrasts {
        page.push_str(&contrast_lines(contrast, style));
    }
    if !comparison.contrasts.is_empty() {
        page.push('\n');
    }
    page.push_str(&notes(comparison, style));
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
            Some(more) => format!("{what}: cannot tell; about {} would settle it", blocks(more, "more ")),
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
            let [ratio, lo, hi] = [ratio, lo, hi].map(format::ratio);
            format!("{ratio}×  ({:.0} % {lo} – {hi})", contrast.confidence * 100.0)
        }
        _ => MISSING.to_owned(),
    };
    let direction = match contrast.metric.better() {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better; the ratio is turned so that above 1 is better",
    };
    let verdict = style.ink(ink, &format!("{:11}", contrast.verdict.name()));
    let more = match contrast.blocks_needed {
        Some(more) if contrast.verdict == ContrastVerdict::CannotTell => {
            format!(" · about {} needed", blocks(more, "more "))
        }
        _ => String::new(),
    };
    let head = format!(
        "{:14}  {:16}  {interval}   {}",
        contrast.phase,
        contrast.metric.to_string(),
        blocks(contrast.blocks, "")
    );
    let sides = format!(
        "{} {} · {} {} · {direction}{more}",
        contrast.baseline,
        side(contrast.baseline_value, contrast.baseline_cv),
        contrast.candidate,
        side(contrast.candidate_value, contrast.candidate_cv),
    );
    let head = if INDENT + head.chars().count() <= style.width { head } else { style.wrap(&head, INDENT) };
    let indent = " ".repeat(INDENT);
    let sides = style
        .wrap(&sides, INDENT)
        .split(&format!("\n{indent}"))
        .map(|line| style.ink(Ink::Faint, line))
        .collect::<Vec<_>>();
    format!("  {verdict}  {head}\n{indent}{}\n", sides.join(&format!("\n{indent}")))
}

/// `1 block`, `8 blocks`, `2 more blocks`.
fn blocks(count: u32, more: &str) -> String {
    format!("{count} {more}block{}", if count == 1 { "" } else { "s" })
}

/// Where the text behind a contrast's verdict begins.
const INDENT: usize = 15;

fn notes(comparison: &Comparison, style: &Style) -> String {
    comparison.notes.iter().map(|note| crate::run::not_had(note, style)).collect()
}

/// Runs that were left out: those that the same checks rejected on the same side make one entry, with one of their
/// reasons in full.
fn left_out(comparison: &Comparison, style: &Style) -> String {
    let mut groups: Vec<(String, Vec<&LeftOut>)> = Vec::new();
    for run in &comparison.left_out {
        let is_code =
            |word: &&str| word.len() >= 2 && word.starts_with(char::is_uppercase) && word[1..].parse::<u32>().is_ok();
        let codes: Vec<&str> = run.reason.split(' ').filter(is_code).collect();
        let key = format!("{} {}", run.side, codes.join(" "));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, runs)) => runs.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    let mut text = String::new();
    for (_, runs) in &groups {
        let Some(first) = runs.first() else { continue };
        let line = match runs.len() {
            1 => format!(
                "left out, rejected by checks: run {} of {}: {}",
                short_id(&first.run),
                first.side,
                first.reason
            ),
            many => format!(
                "left out, rejected by checks: {many} runs of {}, such as {}: {}",
                first.side,
                short_id(&first.run),
                first.reason
            ),
        };
        text.push_str(&format!("  {}\n", style.ink(Ink::Bad, &style.wrap(&line, 4))));
    }
    text
}

fn differences(comparison: &Comparison, style: &Style) -> String {
    if comparison.differences.is_empty() {
        return format!("{}\n", style.wrap("The two set-ups do not differ in anything that could be seen.", 0));
    }
    let mut text = format!("{}\n", style.wrap("The verdict is about the two set-ups as wholes. They differ in:", 0));
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
