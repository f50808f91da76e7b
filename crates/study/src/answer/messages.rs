//! Formats verdicts as sentences.

use crate::compare::messages::found;
use crate::plan::power::PlannedUnit;
use crate::plan::{Correction, Levels, Plan};
use plumb_lab::protocol::HostWork;
use plumb_result::compare::typical_runs;
use plumb_result::number::{self, BYTES, Digits, percent};
use plumb_result::study::{ComparedLevels, StudyContrast, StudyCounts};
use plumb_result::{Contrast, ContrastVerdict, Unit};

/// Returns the name of a level as a side: `xfs`, or `level 4` if the level alone is unclear.
pub(super) fn side(by: &str, level: &str) -> String {
    let says_nothing = level.chars().next().is_none_or(|first| first.is_ascii_digit())
        || matches!(level, "on" | "off" | "yes" | "no" | "true" | "false" | "none");
    if says_nothing { format!("{by} {level}") } else { level.to_owned() }
}

/// Formats levels like `size 4k, depth 16`.
pub(super) fn levels(levels: &Levels) -> String {
    levels.iter().map(|(name, level)| format!("{name} {level}")).collect::<Vec<_>>().join(", ")
}

/// Names a number and its work, like `write (size 4k) write.bw`.
fn place(contrast: &Contrast, within: &Levels) -> String {
    // A contrast between works has no single work, nor a phase if their phases have different names.
    let workload = contrast.workload.as_deref().unwrap_or_default();
    let mut words = match (workload, contrast.phase.as_str()) {
        (workload, phase) if workload.is_empty() || workload == phase => vec![phase.to_owned()],
        (workload, phase) => vec![format!("{workload}/{phase}")],
    };
    if !within.is_empty() {
        words.push(format!("({})", levels(within)));
    }
    words.push(contrast.metric.to_string());
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

/// Formats the verdict of one contrast.
pub(super) fn contrast(contrast: &Contrast, within: &Levels, margin: f64, unit: PlannedUnit) -> String {
    if contrast.metric.device_count().is_some() {
        return counted(contrast, within, margin, unit, Counts::Judged);
    }
    let Contrast { baseline: a, candidate: b, .. } = contrast;
    let place = place(contrast, within);
    let ratio = match (contrast.ratio, contrast.lo, contrast.hi) {
        (Some(ratio), Some(lo), Some(hi)) => {
            let interval = number::ratio_interval(lo, hi);
            format!("{}× ({:.0} % {interval})", number::ratio(ratio), contrast.confidence * 100.0)
        }
        _ => "no ratio".to_owned(),
    };
    let units = count(contrast.blocks, unit);
    let reason = contrast.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    let text = match contrast.verdict {
        ContrastVerdict::Faster => format!("{b} is faster than {a}: {ratio}, {units}"),
        ContrastVerdict::Slower => format!("{b} is slower than {a}: {ratio}, {units}"),
        ContrastVerdict::Equivalent => {
            format!("{a} and {b} are equivalent within {}: {ratio}, {units}", percent(margin, Digits::Spoken))
        }
        ContrastVerdict::CannotTell if contrast.capped.is_some() => {
            format!("no claim about {a} and {b}{reason}")
        }
        ContrastVerdict::CannotTell => format!("cannot tell {a} and {b} apart{reason}; {ratio}, {units}"),
        ContrastVerdict::Fragile => format!("{a} and {b} may differ{reason}; {ratio}, {units}"),
    };
    let more = match contrast.blocks_needed {
        Some(more) if more > 0 => format!("; about {} more would settle it", count(more, unit)),
        _ => String::new(),
    };
    format!("{place}: {text}{more}")
}

/// The basis of a verdict over counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    /// Every run of a side counted the same.
    Exact,
    /// The spread of the counts.
    Judged,
}

/// Formats the verdict over counts. Ratios are those of the counts: 1.50 times is half as much again.
pub(super) fn counted(contrast: &Contrast, within: &Levels, margin: f64, unit: PlannedUnit, counts: Counts) -> String {
    let exact = counts == Counts::Exact;
    let Contrast { baseline: a, candidate: b, .. } = contrast;
    let values = match (contrast.candidate_value, contrast.baseline_value) {
        (Some(candidate), Some(baseline)) => {
            let unit = contrast.metric.unit();
            format!(" ({} against {})", amount(candidate, unit), amount(baseline, unit))
        }
        _ => String::new(),
    };
    let units = count(contrast.blocks, unit);
    let how = match (contrast.ratio, contrast.lo, contrast.hi) {
        _ if exact => {
            let times = contrast.ratio.map_or("no ratio (a count is 0)".to_owned(), |ratio| times(1.0 / ratio));
            format!("{times}{values}, the same in every run of {units}")
        }
        (Some(ratio), Some(lo), Some(hi)) => format!(
            "{} times{values} ({:.0} % {}), {units}",
            number::ratio(1.0 / ratio),
            contrast.confidence * 100.0,
            number::ratio_interval(1.0 / hi, 1.0 / lo)
        ),
        _ => format!("no ratio{values}, {units}"),
    };
    let reason = contrast.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    let text = match contrast.verdict {
        ContrastVerdict::Faster => format!("{b} has fewer than {a}: {how}"),
        ContrastVerdict::Slower => format!("{b} has more than {a}: {how}"),
        ContrastVerdict::Equivalent if exact && contrast.baseline_value == contrast.candidate_value => {
            let value = contrast.baseline_value.map_or(String::new(), |value| amount(value, contrast.metric.unit()));
            format!("{a} and {b} have exactly as many: {value} in every run of {units}")
        }
        ContrastVerdict::Equivalent => {
            format!("{a} and {b} are equivalent within {}: {how}", percent(margin, Digits::Spoken))
        }
        ContrastVerdict::CannotTell if contrast.capped.is_some() => {
            format!("no claim about {a} and {b}{reason}")
        }
        ContrastVerdict::CannotTell => format!("cannot tell {a} and {b} apart{reason}; {how}"),
        ContrastVerdict::Fragile => format!("{a} and {b} may differ{reason}; {how}"),
    };
    format!("{}: {text}", place(contrast, within))
}

/// Formats `exactly 1.50 times`, without `exactly` if two decimals round it.
fn times(ratio: f64) -> String {
    let is_whole = ((ratio * 100.0).round() - ratio * 100.0).abs() < 1e-9;
    if is_whole { format!("exactly {ratio:.2} times") } else { format!("{ratio:.3} times") }
}

/// Formats a count in its unit.
fn amount(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes if value < 1024.0 && value.fract() == 0.0 => format!("{value:.0} B"),
        Unit::Bytes => BYTES.set(value, Digits::Three),
        Unit::BytesPerOp => format!("{} an op", BYTES.set(value, Digits::Three)),
        Unit::BytesPerByte => format!("{value:.3} B/B"),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        _ => format!("{value:.1}"),
    }
}

/// Returns one sentence about all device counts of B against A; `None` if none was compared.
fn counts_found(a: &str, b: &str, contrasts: &[Contrast]) -> Option<String> {
    let count = |verdict| contrasts.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (fewer, more) = (count(ContrastVerdict::Faster), count(ContrastVerdict::Slower));
    let (equal, total) = (count(ContrastVerdict::Equivalent), contrasts.len());
    let ratio =
        |one: &Contrast| one.ratio.map_or(String::new(), |ratio| format!(" ({} times)", number::ratio(1.0 / ratio)));
    let text = match contrasts {
        [] => return None,
        [only] if fewer == 1 => format!("{b} has fewer {} than {a}{}.", only.metric, ratio(only)),
        [only] if more == 1 => format!("{b} has more {} than {a}{}.", only.metric, ratio(only)),
        _ if equal == total => format!("{a} and {b} count the same."),
        _ if fewer + more + equal == 0 => format!("{a} and {b} cannot be told apart."),
        _ => {
            let open = total - fewer - more - equal;
            let counts = [("more", more), ("fewer", fewer), ("the same", equal), ("open", open)];
            let counts = counts.into_iter().filter(|(_, count)| *count > 0);
            let of = |at: usize| if at == 0 { format!(" of {total} numbers") } else { String::new() };
            let text = counts.enumerate().map(|(at, (word, count))| format!("{word} in {count}{}", of(at)));
            let largest = largest_difference(contrasts).unwrap_or_default();
            format!("{b} against {a}: {}{largest}.", text.collect::<Vec<_>>().join(", "))
        }
    };
    Some(format!("On the devices: {text}"))
}

/// Names the count with the largest claimed difference, which equal numbers must not hide.
fn largest_difference(contrasts: &[Contrast]) -> Option<String> {
    let distance = |one: &&Contrast| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let differing = contrasts.iter().filter(|one| {
        let is_claimed = matches!(one.verdict, ContrastVerdict::Faster | ContrastVerdict::Slower);
        is_claimed && one.ratio.is_some_and(|ratio| ratio > 0.0 && ratio.is_finite())
    });
    // Among equal ones take the first: they are one measurement in two numbers.
    const EQUAL: f64 = 1e-9;
    let largest = differing.reduce(|most, one| if distance(&one) > distance(&most) + EQUAL { one } else { most })?;
    let work = largest.workload.as_ref().map_or(String::new(), |work| format!(" of {work}"));
    let ratio = number::ratio(1.0 / largest.ratio?);
    Some(format!("; the largest difference is in {}{work}, {ratio} times", largest.metric))
}

/// Formats the number of units: `4 plots a side`, `3 plots` that hold both sides, `6 pairs`.
fn count(count: u32, unit: PlannedUnit) -> String {
    let (one, side) = match unit {
        PlannedUnit::Plot => ("plot", " a side"),
        PlannedUnit::PairsOnPlot => ("plot", ""),
        PlannedUnit::Pair => ("pair", ""),
    };
    format!("{count} {one}{}{side}", if count == 1 { "" } else { "s" })
}

/// Explains the status of another question: how it differs from the plan's, and which contrasts the plan declared.
pub(super) fn explain_question(
    [asked, planned]: [&ComparedLevels; 2],
    [declared, exploratory]: [u32; 2],
    correction: Correction,
) -> String {
    let contrasts = |count: u32| if count == 1 { "1 contrast".to_owned() } else { format!("{count} contrasts") };
    let question = format!("Asked: {}. The plan asks: {}.", compared(asked, planned), compared(planned, planned));
    if declared + exploratory == 0 {
        return question;
    }
    if exploratory == 0 {
        return format!("{question} The plan declared all of it: the verdicts are its own.");
    }
    let corrected = match correction {
        Correction::Holm => "corrected for their number (Holm)",
        Correction::BenjaminiHochberg => "corrected for their number (Benjamini and Hochberg)",
        Correction::None => "not corrected for their number",
    };
    let own = match declared {
        0 => String::new(),
        declared => format!(" {} of the plan keep the plan's verdicts.", contrasts(declared)),
    };
    format!(
        "{question} {} that the plan did not declare: exploratory, {corrected}, and not for other questions \
         asked of the same data.{own} To claim what is exploratory, plan a study that asks it.",
        contrasts(exploratory)
    )
}

/// Formats a question like `device within depth, in read.iops`; with the levels if they differ from the plan's.
fn compared(levels: &ComparedLevels, planned: &ComparedLevels) -> String {
    let mut text = levels.by.clone();
    if levels.by == planned.by && levels.levels != planned.levels {
        text.push_str(&format!(" ({})", levels.levels.join(", ")));
    }
    if !levels.within.is_empty() {
        text.push_str(&format!(" within {}", levels.within.join(", ")));
    }
    if !levels.metrics.is_empty() {
        text.push_str(&format!(", in {}", levels.metrics.join(", ")));
    }
    text
}

/// Summarizes the findings for B against A: the plan's numbers, and those asked for afterwards.
fn of_level(
    plan: &Plan,
    [a, b]: [&str; 2],
    contrasts: &[StudyContrast],
    counts: &StudyCounts,
    emulated: bool,
) -> Vec<String> {
    let judged = contrasts.iter().filter(|one| one.is_judged() && one.contrast.candidate == b);
    let (exploratory, planned): (Vec<&StudyContrast>, Vec<&StudyContrast>) = judged.partition(|one| one.exploratory);
    let has_planned = !planned.is_empty() || exploratory.is_empty();
    let groups = [("", planned, has_planned), ("Exploratory: ", exploratory.clone(), !exploratory.is_empty())];
    let mut lines = Vec::new();
    for (head, group, _) in groups.into_iter().filter(|(_, _, is_there)| *is_there) {
        let (of_devices, of_times): (Vec<Contrast>, Vec<Contrast>) =
            group.into_iter().map(|one| one.contrast.clone()).partition(|one| one.metric.device_count().is_some());
        let of_devices = counts_found(a, b, &of_devices);
        let of_times = (!of_times.is_empty() || of_devices.is_none())
            .then(|| found(a, b, &of_times, plan.compare.equivalence, counts.rejected as usize));
        // Exact numbers come first if times are meaningless.
        let (first, second) = if emulated { (of_devices, of_times) } else { (of_times, of_devices) };
        lines.extend(first.into_iter().chain(second).map(|text| format!("{head}{text}")));
    }
    lines
}

/// Builds the answer: a sentence for each level compared with the baseline, and the limits of all of them.
pub(super) fn answer(plan: &Plan, contrasts: &[StudyContrast], counts: &StudyCounts, emulated: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let by = &plan.compare.by;
    let levels = plan.factors.iter().find(|factor| factor.name == *by).map_or(&[][..], |factor| &factor.levels);
    // A study that only tests rules has no numbers to compare.
    let has_numbers = plan.runs.iter().any(|run| !matches!(run.work, HostWork::Conformance(_)));
    if let Some((baseline, candidates)) = levels.split_first().filter(|_| has_numbers) {
        let a = side(by, baseline);
        for candidate in candidates {
            let b = side(by, candidate);
            lines.extend(of_level(plan, [&a, &b], contrasts, counts, emulated));
        }
    } else if has_numbers {
        lines.push(format!("The plan compares by `{by}`, which is not a factor: all cells are shown, none compared."));
    }
    lines.extend(typical_runs(contrasts.iter().filter(|one| one.primary).map(|one| &one.contrast)));
    if emulated {
        lines.push(
            "The machines were emulated: times mean nothing; what their devices counted is what can be compared."
                .to_owned(),
        );
    }
    if counts.open > 0 {
        lines.push(format!(
            "The study is not done: {} of {} runs are still to come (`plumb study resume`).",
            counts.open, counts.runs
        ));
    }
    if counts.made_again > 0 {
        lines.push(format!(
            "{} made again because checks rejected the first result, which is kept and is in no number.",
            if counts.made_again == 1 { "1 run was".to_owned() } else { format!("{} runs were", counts.made_again) }
        ));
    }
    let mut missing = Vec::new();
    if counts.failed > 0 {
        missing.push(format!("{} failed", counts.failed));
    }
    if counts.rejected > 0 {
        missing.push(format!(
            "{} {} rejected by checks",
            counts.rejected,
            if counts.rejected == 1 { "was" } else { "were" }
        ));
    }
    if !missing.is_empty() {
        lines.push(format!("Of {} runs, {}; they are excluded from all numbers.", counts.runs, missing.join(" and ")));
    }
    lines
}
