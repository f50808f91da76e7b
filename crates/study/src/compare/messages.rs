//! A comparison in words.

use super::comparison_log::ComparisonLog;
use super::plan::CompareSide;
use super::request::{CompareRequest, ComparisonEnded};
use plumb_result::compare::Replicate;
use plumb_result::metric::Subject;
use plumb_result::number::{Digits, percent};
use plumb_result::run::TierName;
use plumb_result::{Contrast, ContrastVerdict, Histogram, Metric, Quantity};
use plumb_stats::stop::StopReason;
use plumb_workload::named::NamedWorkload;

/// Words for the whole: what was found, and what limits it.
pub(crate) fn note(
    request: &CompareRequest<'_>,
    contrasts: &[Contrast],
    confounded: bool,
    left_out: usize,
    ended: ComparisonEnded,
    blocks: usize,
) -> String {
    let mut said = found(&request.baseline.name, &request.candidate.name, contrasts, 0.05, left_out);
    if confounded {
        said.push_str(
            " Confounded: more than the declared factor differs, so none of this is about that factor alone.",
        );
    }
    if left_out > 0 {
        let runs = if left_out == 1 { "run was" } else { "runs were" };
        said.push_str(&format!(" {left_out} {runs} rejected by checks and left out."));
    }
    said.push_str(&from_memory(contrasts));
    match ended {
        ComparisonEnded::Interrupted => said.push_str(" It was interrupted; this is what was measured before."),
        ComparisonEnded::By(StopReason::Budget | StopReason::BlocksMax) => {
            said.push_str(&way_on(request, contrasts, blocks, ended));
        }
        ComparisonEnded::By(StopReason::Precise) | ComparisonEnded::NothingAccepted => {}
    }
    said
}

/// What was found of B against A, in one sentence. `margin` is that of equivalence.
pub(crate) fn found(a: &str, b: &str, contrasts: &[Contrast], margin: f64, left_out: usize) -> String {
    let count = |verdict| contrasts.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (faster, slower) = (count(ContrastVerdict::Faster), count(ContrastVerdict::Slower));
    let (equivalent, total) = (count(ContrastVerdict::Equivalent), contrasts.len());
    // Of several speeds no one ratio is told in the headline (E4).
    let one = |contrast: &Contrast| match contrast.ratio {
        Some(ratio) if contrast.baseline_modes.is_empty() && contrast.candidate_modes.is_empty() => {
            format!(" ({ratio:.2}×)")
        }
        _ => String::new(),
    };
    let capped = capped_for_one_reason(contrasts);
    match contrasts {
        [] if left_out > 0 => format!("Nothing can be said about {a} and {b}: no run of both sides could be used."),
        [] => format!("Nothing can be said about {a} and {b}: no number was measured on both sides."),
        _ if capped.is_some() => {
            format!("Nothing is claimed about {a} and {b}: {}.", capped.map(lower).unwrap_or_default())
        }
        [only] if faster == 1 => format!("{b} is faster than {a}{}.", one(only)),
        [only] if slower == 1 => format!("{b} is slower than {a}{}.", one(only)),
        _ if equivalent == total => format!("{a} and {b} are equivalent, within {}.", percent(margin, Digits::Spoken)),
        _ if faster == total => format!("{b} is faster than {a} in everything that was measured{}.", range(contrasts)),
        _ if slower == total => format!("{b} is slower than {a} in everything that was measured{}.", range(contrasts)),
        _ if faster + slower + equivalent == 0 => format!("Cannot tell {a} and {b} apart, nor call them equal."),
        _ => mixed(a, b, [("faster", faster), ("slower", slower), ("equivalent", equivalent)], total),
    }
}

/// ` (0.82× to 0.85×)`; nothing where a number has several speeds (E4).
fn range(contrasts: &[Contrast]) -> String {
    let one_speed = |one: &Contrast| one.baseline_modes.is_empty() && one.candidate_modes.is_empty();
    let ratios: Option<Vec<f64>> = contrasts.iter().map(|one| one.ratio.filter(|_| one_speed(one))).collect();
    let Some(ratios) = ratios else { return String::new() };
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &one| (lo.min(one), hi.max(one)));
    let (least, most) = (format!("{least:.2}×"), format!("{most:.2}×"));
    if least == most { format!(" ({least})") } else { format!(" ({least} to {most})") }
}

/// `B against A: faster in 16 of 17 numbers, equivalent in 1.`
fn mixed(a: &str, b: &str, counts: [(&str, usize); 3], total: usize) -> String {
    let open = total - counts.iter().map(|(_, count)| count).sum::<usize>();
    let counts = counts.into_iter().chain([("open", open)]).filter(|(_, count)| *count > 0);
    let of = |position: usize| if position == 0 { format!(" of {total} numbers") } else { String::new() };
    let said = counts.enumerate().map(|(position, (word, count))| format!("{word} in {count}{}", of(position)));
    format!("{b} against {a}: {}.", said.collect::<Vec<_>>().join(", "))
}

/// What would settle the open contrasts: the budget in which those have the blocks that they want that can have them, or
/// that none can. What a check forbids wants no blocks.
fn way_on(request: &CompareRequest<'_>, contrasts: &[Contrast], blocks: usize, ended: ComparisonEnded) -> String {
    let open = || contrasts.iter().filter(|one| one.verdict == ContrastVerdict::CannotTell);
    let wanted: Vec<u32> = open()
        .filter(|one| one.unit == Replicate::Block)
        .filter_map(|one| Some(one.blocks_needed?.saturating_add(blocks as u32)))
        .collect();
    let most = request.rule.blocks_max;
    let Some(least) = wanted.iter().min() else {
        let is_open = open().any(|one| one.blocks_needed.is_some());
        let more = is_open && ended == ComparisonEnded::By(StopReason::Budget);
        return if more {
            " The time budget ended it; a larger `--budget` may settle what is open.".to_owned()
        } else {
            String::new()
        };
    };
    let Some(reachable) = wanted.iter().filter(|&&total| total <= most).max() else {
        return format!(
            " To settle it at this spread would take about {least} blocks, and a comparison has at most {most}: make runs \
             longer (`--time`), or the machine quieter."
        );
    };
    let minutes = (request.budget.as_secs_f64() / 60.0 * f64::from(*reachable) / blocks.max(1) as f64).ceil() as u64;
    let budget = if minutes <= 120 { format!("{minutes}m") } else { format!("{}h", minutes.div_ceil(60)) };
    format!(" The time budget ended it; `--budget {budget}` may settle what is open.")
}

/// Which side's numbers say nothing about a device.
fn from_memory(contrasts: &[Contrast]) -> String {
    let Some(first) = contrasts.first() else { return String::new() };
    let all_of = |tier: TierName, of: fn(&Contrast) -> Option<TierName>| {
        let mut tiers = contrasts.iter().filter_map(of).peekable();
        tiers.peek().is_some() && tiers.all(|one| one == tier)
    };
    let baseline = all_of(TierName::Cache, |contrast| contrast.baseline_tier);
    let candidate = all_of(TierName::Cache, |contrast| contrast.candidate_tier);
    match (baseline, candidate) {
        (true, true) => " Both answered from memory, which says nothing about a device.".to_owned(),
        (true, false) => format!(" {} answered from memory, which says nothing about a device.", first.baseline),
        (false, true) => format!(" {} answered from memory, which says nothing about a device.", first.candidate),
        (false, false) => String::new(),
    }
}

/// The reason for which every contrast was capped, where it is one and the same.
fn capped_for_one_reason(contrasts: &[Contrast]) -> Option<&str> {
    let first = contrasts.first()?.capped.as_ref()?;
    let same = |contrast: &Contrast| contrast.capped.as_ref().is_some_and(|capped| capped.code == first.code);
    contrasts.iter().all(same).then_some(first.reason.as_str())
}

/// Within a sentence.
fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// What was asked for and not had: in the runs, and numbers that could not be compared for want of a value.
pub(crate) fn notes(workloads: &[&'static NamedWorkload], time_ns: u64, comparison_log: &ComparisonLog) -> Vec<String> {
    let mut notes: Vec<String> = comparison_log
        .notes
        .iter()
        .map(|((workload, phase, note), sides)| said_note(workload, phase, note, sides))
        .collect();
    for named in workloads {
        if !comparison_log.accepted_pairs.contains(named.name) {
            // Where that is so of all, it is the verdict; and why is said with the runs.
            if !comparison_log.accepted_pairs.is_empty() {
                notes.push(format!("{}: nothing to compare; the checks rejected a run of every block", named.name));
            }
            continue;
        }
        let compared = |name: &str| {
            comparison_log.rows.keys().any(|cell| cell.workload == named.name && cell.metric.to_string() == name)
        };
        let missing = named.headline.iter().copied().filter(|name| !compared(name));
        notes.extend(
            missing.map(|name| format!("{}: {name}: {}", named.name, too_little(named, name, time_ns, comparison_log))),
        );
    }
    notes
}

/// Why a run has no such number, and how long it would have to be.
fn too_little(named: &'static NamedWorkload, name: &str, time_ns: u64, comparison_log: &ComparisonLog) -> String {
    let plain = "too little happened in a run to tell; give each run more `--time`";
    let Ok(Metric { subject: Subject::Op(kind), quantity: Quantity::Latency(stat) }) = name.parse::<Metric>() else {
        return plain.to_owned();
    };
    let had = |(index, side): (usize, &Histogram)| {
        let runs = comparison_log.accepted[index].get(named.name).copied().unwrap_or(0);
        side.count() / u64::from(runs.max(1))
    };
    let of_kind =
        comparison_log.latencies.iter().filter(|(key, _)| key.workload == named.name && key.op == kind.name());
    let fewest = of_kind.flat_map(|(_, sides)| sides.iter().enumerate().map(had)).min().unwrap_or(0);
    let Some(quantile) = stat.quantile().filter(|_| fewest > 0) else { return plain.to_owned() };
    let needed = (plumb_trust::MIN_SAMPLES_BEYOND as f64 / (1.0 - quantile)).ceil() as u64;
    // A fifth more than just enough, for runs vary.
    let seconds = (time_ns as f64 / 1e9 * 1.2 * needed as f64 / fewest as f64).ceil();
    format!(
        "it takes {needed} {kind} a run, and there were about {fewest}; try `--time {seconds:.0}s`",
        kind = kind.name()
    )
}

/// Places that are one provisioning, each with the first of them.
pub(crate) fn shared_provisionings(sides: [&CompareSide; 2], comparison_log: &ComparisonLog) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, provisionings) in sides.into_iter().zip(&comparison_log.provisionings) {
        for (&place, &first) in provisionings.by_place.iter().filter(|&(&place, &first)| place != first as usize) {
            let [one, other] = [first as usize, place].map(|place| &side.plots[place].name);
            notes.push(format!("a provisioning of its own for {other}: it shares that of {one}, and counts with it"));
        }
    }
    notes
}

/// `small-files/read on A and B: …`; workload and phase of one name are one word.
fn said_note(workload: &str, phase: &str, note: &str, sides: &[String]) -> String {
    let place = if workload == phase { workload.to_owned() } else { format!("{workload}/{phase}") };
    format!("{place} on {}: {note}", sides.join(" and "))
}
