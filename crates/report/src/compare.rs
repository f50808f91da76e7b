//! A comparison as a page: the verdict in words, the numbers behind it, and everything in which the two sides differ.

use crate::format::{self, MISSING};
use crate::run::short_id;
use crate::style::{Ink, Style};
use plumb_result::compare::{Difference, LeftOut, Mode, Replicate};
use plumb_result::{Better, Comparison, Contrast, ContrastVerdict, Unit};

/// The whole page.
pub fn page(comparison: &Comparison, style: &Style) -> String {
    let mut page = style.ink(Ink::Strong, &style.wrap(&comparison.verdict_note, 0));
    page.push_str("\n\n");
    let family = comparison.contrasts.len();
    for contrast in &comparison.contrasts {
        page.push_str(&contrast_lines(contrast, family, style));
    }
    if !comparison.contrasts.is_empty() {
        page.push('\n');
    }
    page.push_str(&shown(comparison, style));
    page.push_str(&notes(comparison, style));
    page.push_str(&left_out(&comparison.left_out, style));
    page.push_str(&differences(comparison, style));
    page
}

fn contrast_lines(contrast: &Contrast, family: usize, style: &Style) -> String {
    let ink = match contrast.verdict {
        ContrastVerdict::Faster | ContrastVerdict::Equivalent => Ink::Good,
        ContrastVerdict::Slower => Ink::Bad,
        ContrastVerdict::CannotTell | ContrastVerdict::Fragile => Ink::Caution,
    };
    let unit = contrast.metric.unit();
    let side = |value: Option<f64>, cv: Option<f64>, modes: &[Mode]| {
        if !modes.is_empty() {
            return speeds(modes, unit);
        }
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
            format!(" · about {} needed", count(more, contrast.unit, "more "))
        }
        _ => String::new(),
    };
    let head = format!(
        "{:14}  {:16}  {interval}   {}",
        contrast.phase,
        contrast.metric.to_string(),
        count(contrast.blocks, contrast.unit, "")
    );
    let sides = format!(
        "{}{} {} · {} {} · {direction}{more}{}",
        limits(contrast),
        contrast.baseline,
        side(contrast.baseline_value, contrast.baseline_cv, &contrast.baseline_modes),
        contrast.candidate,
        side(contrast.candidate_value, contrast.candidate_cv, &contrast.candidate_modes),
        chance(contrast, family),
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

/// What the verdict's word leaves out, and what took the claim away where a check did.
fn limits(contrast: &Contrast) -> String {
    match (&contrast.capped, &contrast.note) {
        (Some(capped), _) => {
            format!("{}: {} (else {}) · ", capped.code, capped.reason, capped.verdict.name())
        }
        (None, Some(note)) => format!("{note} · "),
        (None, None) => String::new(),
    }
}

/// How likely chance is, where there are several contrasts to be lucky in; and the noise floor with its day.
fn chance(contrast: &Contrast, family: usize) -> String {
    let mut text = String::new();
    if let (Some(p), Some(adjusted)) = (contrast.p, contrast.p_adjusted)
        && family > 1
    {
        text.push_str(&format!(" · p {}, corrected {}", format::probability(p), format::probability(adjusted)));
    }
    if let Some(floor) = &contrast.floor {
        let day = floor.measured_at.split('T').next().unwrap_or_default();
        text.push_str(&format!(" · noise floor {}, {day}", format::percent(floor.share)));
    }
    text
}

/// `95.5 k/s in 80 % of runs, 76.1 k/s in 20 %`: several speeds have no one mean.
pub(crate) fn speeds(modes: &[Mode], unit: Unit) -> String {
    let speed = |(position, mode): (usize, &Mode)| {
        let of = if position == 0 { " of runs" } else { "" };
        format!("{} in {}{of}", format::value(mode.value, unit), format::percent(mode.share))
    };
    modes.iter().enumerate().map(speed).collect::<Vec<_>>().join(", ")
}

/// `1 block`, `8 blocks`, `2 more plots`.
pub(crate) fn count(count: u32, unit: Replicate, more: &str) -> String {
    let unit = match unit {
        Replicate::Block => "block",
        Replicate::Plot => "plot",
    };
    format!("{count} {more}{unit}{}", if count == 1 { "" } else { "s" })
}

/// Nothing that was planned goes missing unseen (E10).
fn shown(comparison: &Comparison, style: &Style) -> String {
    let shown = comparison.contrasts.len();
    let mut text = String::new();
    if let Some(planned) = comparison.planned.filter(|&planned| planned as usize > shown && shown > 0) {
        text.push_str(&format!("  {}\n", style.wrap(&format!("{shown} of {planned} planned numbers are shown."), 2)));
    }
    if let Some(plots) = &comparison.plots {
        let line = format!("places: {} | {}", plots.baseline.join(", "), plots.candidate.join(", "));
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 4))));
    }
    text
}

/// Where the text behind a contrast's verdict begins.
const INDENT: usize = 15;

fn notes(comparison: &Comparison, style: &Style) -> String {
    comparison.notes.iter().map(|note| crate::run::not_had(note, style)).collect()
}

/// Runs that were left out: those that the same checks rejected on the same side make one entry, with one of their
/// reasons in full.
pub(crate) fn left_out(all: &[LeftOut], style: &Style) -> String {
    let mut groups: Vec<(String, Vec<&LeftOut>)> = Vec::new();
    for run in all {
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
    let as_they_are = comparison.varying.is_none() && comparison.plots.is_none();
    let head = if as_they_are {
        "The verdict is about these two places as they are. They differ in:"
    } else {
        "The sides differ in:"
    };
    let mut text = format!("{}\n", style.wrap(head, 0));
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
