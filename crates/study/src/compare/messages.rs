//! Describes a comparison in words.

use super::comparison_log::ComparisonLog;
use super::plan::CompareSide;
use super::request::{CompareRequest, ComparisonEnded};
use plumb_result::Remedy;
use plumb_result::compare::{Replicate, RunCheck, SideLoad, StoredOrder, StoredWork};
use plumb_result::metric::Subject;
use plumb_result::number::{self, Digits, percent};
use plumb_result::run::TierName;
use plumb_result::verdict::{LOAD, under_declared_load, under_undeclared_load};
use plumb_result::{Contrast, ContrastVerdict, Histogram, Level, LoadDeclared, Metric, Quantity, Tail, tails};
use plumb_stats::stop::StopReason;
use plumb_trust::advice::{CommandContext, budget_text, sentences};
use plumb_workload_text::named::NamedWorkload;

/// The context of a comparison's note.
pub(crate) struct NoteContext<'a> {
    pub(crate) confounded: bool,
    /// Number of runs rejected by their checks.
    pub(crate) left_out: usize,
    pub(crate) ended: ComparisonEnded,
    pub(crate) blocks: usize,
    pub(crate) run_checks: &'a [RunCheck],
    pub(crate) tails: &'a [Tail],
    /// The load of other processes on each side.
    pub(crate) under_load: &'a [SideLoad],
    /// The command and the settings of its user.
    pub(crate) command_context: &'a CommandContext,
}

/// Describes the whole comparison: the result, its cause if a check knows it, and its limits.
pub(crate) fn note(request: &CompareRequest<'_>, contrasts: &[Contrast], context: &NoteContext<'_>) -> String {
    let names = [request.baseline.name.as_str(), request.candidate.name.as_str()];
    let all = contrasts;
    let contrasts: &[Contrast] = &all.iter().filter(|one| !one.rejected).cloned().collect::<Vec<_>>();
    let mut text = load_words(context);
    if contrasts.is_empty() && !all.is_empty() {
        text.push_str(&nothing_left(names, context));
        return text;
    }
    text.push_str(&with_tails(
        found(names[0], names[1], contrasts, 0.05, context.left_out),
        names,
        contrasts,
        context.tails,
    ));
    text.push_str(&cause(contrasts, context.run_checks));
    text.push_str(confounded(context.confounded));
    if context.left_out > 0 {
        let runs = if context.left_out == 1 { "run was" } else { "runs were" };
        text.push_str(&format!(" {} {runs} rejected by checks and left out.", context.left_out));
    }
    text.push_str(&from_memory(contrasts));
    match context.ended {
        ComparisonEnded::Interrupted => text.push_str(" Interrupted: this is what was measured before."),
        ComparisonEnded::By(reason) => text.push_str(&way_on(request, contrasts, context, reason)),
        ComparisonEnded::NothingAccepted => {}
    }
    text
}

/// Describes the declared load, or the load that rejected every run: it comes before any number.
fn load_words(context: &NoteContext<'_>) -> String {
    let largest =
        context.under_load.iter().max_by(|one, other| one.load.device_share.total_cmp(&other.load.device_share));
    match largest {
        Some(side) if side.load.declared == LoadDeclared::Yes => format!("{} ", under_declared_load(&side.load)),
        _ => String::new(),
    }
}

/// Names the cause of rejected runs: their load, or the first check that failed.
pub(crate) fn why_rejected(run_checks: &[RunCheck], under_load: &[SideLoad]) -> String {
    let mut failed = run_checks.iter().filter(|check| check.finding.level == Level::Fail).peekable();
    let Some(first) = failed.peek().copied() else { return "Rejected by the checks.".to_owned() };
    let load = under_load.iter().map(|side| &side.load);
    let load = load.max_by(|one, other| one.device_share.total_cmp(&other.device_share));
    if let Some(load) = load
        && failed.all(|check| LOAD.contains(&check.finding.code.as_str()))
    {
        return under_undeclared_load(load);
    }
    let message = &first.finding.message;
    let sentence = message.find(". ").map_or(message.as_str(), |end| &message[..end]);
    format!("Rejected: {} ({}).", sentence.trim_end_matches('.'), first.finding.code)
}

/// Describes a comparison in which the checks rejected a run of every block.
fn nothing_left([a, b]: [&str; 2], context: &NoteContext<'_>) -> String {
    let why = why_rejected(context.run_checks, context.under_load);
    let runs = if context.left_out == 1 { "1 run".to_owned() } else { format!("{} runs", context.left_out) };
    format!("{why} No claim about {a} and {b}: a run of every block was rejected ({runs} in all).")
}

const fn confounded(is_confounded: bool) -> &'static str {
    if is_confounded {
        " Confounded: more than the declared factor differs, so none of this is about that factor alone."
    } else {
        ""
    }
}

/// The context of a note about stored runs.
pub(crate) struct StoredNoteContext<'a> {
    pub(crate) confounded: bool,
    /// Number of runs that do not count.
    pub(crate) left_out: usize,
    pub(crate) run_checks: &'a [RunCheck],
    pub(crate) works: &'a [StoredWork],
    pub(crate) tails: &'a [Tail],
}

/// Describes a comparison of stored runs: the result, and how far the order of the runs supports it.
pub(crate) fn stored_note([a, b]: [&str; 2], contrasts: &[Contrast], context: &StoredNoteContext<'_>) -> String {
    let mut text = with_tails(found(a, b, contrasts, 0.05, 0), [a, b], contrasts, context.tails);
    text.push_str(&cause(contrasts, context.run_checks));
    text.push_str(confounded(context.confounded));
    if context.left_out > 0 {
        let runs =
            if context.left_out == 1 { "1 run was".to_owned() } else { format!("{} runs were", context.left_out) };
        text.push_str(&format!(" {runs} left out."));
    }
    text.push_str(&from_memory(contrasts));
    text.push_str(
        " These are stored runs, chosen after they were measured: exploratory, and corrected for these numbers alone.",
    );
    let has = |order: StoredOrder| context.works.iter().any(|work| work.interleaving == order);
    if has(StoredOrder::Pairs) {
        text.push_str(" Neighbours in time are compared as pairs.");
    }
    if has(StoredOrder::Stretches) {
        text.push_str(" The sides took turns in stretches of several runs, and a stretch is one sample.");
    }
    if has(StoredOrder::Apart) {
        text.push_str(
            " Not interleaved: a difference may be one of time, and no claim is made. `plumb compare` interleaves both sides.",
        );
    }
    text
}

/// Checks that name a limit of a run, and that can fire on one side alone.
const CAUSES: &[&str] = &["C12", "C2", "C9", "C13", "C7", "B9", "C1"];

/// Names the cause of the slower side: a check that explains at least half of its runs, and none of the other side's.
fn cause(contrasts: &[Contrast], run_checks: &[RunCheck]) -> String {
    let is = |verdict| contrasts.iter().any(|contrast| contrast.verdict == verdict);
    let Some(first) = contrasts.first() else { return String::new() };
    let slower = match (is(ContrastVerdict::Faster), is(ContrastVerdict::Slower)) {
        (true, false) => &first.baseline,
        (false, true) => &first.candidate,
        _ => return String::new(),
    };
    let of_side = |code: &str, is_slower: bool| {
        run_checks.iter().find(|check| check.finding.code == code && (check.side == *slower) == is_slower)
    };
    let named = CAUSES.iter().find_map(|&code| {
        // Numbers exclude rejected runs, so a check that rejected them does not explain a difference.
        let held_back = |check: &&RunCheck| check.finding.level == Level::Warn && 2 * check.runs >= check.of;
        of_side(code, true).filter(held_back).filter(|_| of_side(code, false).is_none())
    });
    named.map_or(String::new(), |check| {
        format!(
            " Likely cause, on {slower} only: {} ({}).",
            check.finding.message.trim_end_matches('.'),
            check.finding.code
        )
    })
}

/// Describes the result for B against A in one sentence. `margin` is that of equivalence.
pub(crate) fn found(a: &str, b: &str, contrasts: &[Contrast], margin: f64, left_out: usize) -> String {
    let count = |verdict| contrasts.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (faster, slower) = (count(ContrastVerdict::Faster), count(ContrastVerdict::Slower));
    let (equivalent, total) = (count(ContrastVerdict::Equivalent), contrasts.len());
    // A number with several speeds (E4) has no single ratio for the headline.
    let one = |contrast: &Contrast| match contrast.ratio {
        Some(ratio) if contrast.baseline_modes.is_empty() && contrast.candidate_modes.is_empty() => {
            format!(" ({}×)", number::ratio(ratio))
        }
        _ => String::new(),
    };
    let capped = capped_for_one_reason(contrasts);
    match contrasts {
        [] if left_out > 0 => format!("No result for {a} and {b}: the checks rejected a run of every block."),
        [] => format!("No result for {a} and {b}: no number was measured on both sides."),
        _ if capped.is_some() => {
            format!("No claim about {a} and {b}: {}.", capped.map(lower).unwrap_or_default())
        }
        [only] if faster == 1 => format!("{b} is faster than {a}{}.", one(only)),
        [only] if slower == 1 => format!("{b} is slower than {a}{}.", one(only)),
        _ if equivalent == total => format!("{a} and {b} are equivalent, within {}.", percent(margin, Digits::Spoken)),
        _ if faster == total => format!("{b} is faster than {a} on every metric{}.", range(contrasts)),
        _ if slower == total => format!("{b} is slower than {a} on every metric{}.", range(contrasts)),
        _ if faster + slower + equivalent == 0 => {
            format!("Inconclusive: cannot tell {a} and {b} apart, nor call them equal.")
        }
        _ => mixed(a, b, [("faster", faster), ("slower", slower), ("equivalent", equivalent)], total),
    }
}

/// Adds a difference that equivalence leaves out: the slowest op of one side, if it took several times as long as all
/// ops of the other side.
fn with_tails(found: String, names: [&str; 2], contrasts: &[Contrast], tails: &[Tail]) -> String {
    let equivalent = contrasts.iter().filter(|one| one.verdict == ContrastVerdict::Equivalent).count();
    let Some(difference) = tails::difference(tails, names).filter(|_| equivalent > 0) else { return found };
    let is_rate = |one: &Contrast| matches!(one.metric.quantity, Quantity::Bandwidth | Quantity::Rate);
    let what = match contrasts {
        [only] if is_rate(only) => "in the rate",
        _ => "in these numbers",
    };
    match found.strip_suffix('.') {
        Some(found) if equivalent == contrasts.len() => format!("{found}, {what}; but {difference}."),
        _ => format!("{found} Equal numbers leave this out: {difference}."),
    }
}

/// Formats ` (0.82× to 0.85×)`; nothing if a number has several speeds (E4).
fn range(contrasts: &[Contrast]) -> String {
    let one_speed = |one: &Contrast| one.baseline_modes.is_empty() && one.candidate_modes.is_empty();
    let ratios: Option<Vec<f64>> = contrasts.iter().map(|one| one.ratio.filter(|_| one_speed(one))).collect();
    let Some(ratios) = ratios else { return String::new() };
    let (least, most) = ratios.iter().fold((f64::INFINITY, 0.0f64), |(lo, hi), &one| (lo.min(one), hi.max(one)));
    let (least, most) = (format!("{}×", number::ratio(least)), format!("{}×", number::ratio(most)));
    if least == most { format!(" ({least})") } else { format!(" ({least} to {most})") }
}

/// Formats `B against A: faster in 16 of 17 numbers, equivalent in 1.`
fn mixed(a: &str, b: &str, counts: [(&str, usize); 3], total: usize) -> String {
    let open = total - counts.iter().map(|(_, count)| count).sum::<usize>();
    let counts = counts.into_iter().chain([("open", open)]).filter(|(_, count)| *count > 0);
    let of = |position: usize| if position == 0 { format!(" of {total} numbers") } else { String::new() };
    let text = counts.enumerate().map(|(position, (word, count))| format!("{word} in {count}{}", of(position)));
    format!("{b} against {a}: {}.", text.collect::<Vec<_>>().join(", "))
}

/// Returns advice to settle the open contrasts: more plots, the budget for the blocks that they need, or a note that
/// no budget is enough. Contrasts that a check forbids need no blocks.
fn way_on(
    request: &CompareRequest<'_>,
    contrasts: &[Contrast],
    context: &NoteContext<'_>,
    ended: StopReason,
) -> String {
    let blocks = context.blocks;
    let open = || contrasts.iter().filter(|one| one.verdict == ContrastVerdict::CannotTell);
    let plots = open().filter(|one| one.unit == Replicate::Plot).filter_map(|one| one.blocks_needed).max();
    if let Some(more) = plots.filter(|&more| more > 0) {
        let s = if more == 1 { "" } else { "s" };
        return format!(" To settle what is open, provision about {more} more place{s} on each side.");
    }
    if ended == StopReason::Precise {
        return String::new();
    }
    let needed: Vec<u32> =
        open().filter(|one| one.unit == Replicate::Block).filter_map(|one| one.blocks_needed).collect();
    let total = |more: u32| more.saturating_add(blocks as u32);
    let most = request.rule.blocks_max;
    let reachable: Vec<u32> = needed.iter().copied().filter(|&more| total(more) <= most).collect();
    let Some(&more) = reachable.iter().max() else {
        return needed
            .iter()
            .min()
            .map_or(String::new(), |&least| out_of_reach(request, contrasts, total(least), context));
    };
    let wanted = request.budget.as_secs_f64() * f64::from(total(more)) / blocks.max(1) as f64;
    let budget = budget_text((wanted * 1e9) as u64);
    let what = match needed.len() - reachable.len() {
        0 => "it".to_owned(),
        _ => format!("{} of the {} open numbers", reachable.len(), needed.len()),
    };
    let blocks = if more == 1 { "block" } else { "blocks" };
    format!(" The time budget is spent; about {more} more {blocks} should settle {what}: `--budget {budget}`.")
}

/// Returns advice if more blocks than the limit would be needed: longer runs, whose spread falls with the root of
/// their length, and the phase that needs least.
fn out_of_reach(
    request: &CompareRequest<'_>,
    contrasts: &[Contrast],
    blocks: u32,
    context: &NoteContext<'_>,
) -> String {
    let most = request.rule.blocks_max;
    // A fifth more than just enough, because spreads are estimates.
    let factor = 1.2 * f64::from(blocks) / f64::from(most.max(1));
    let at_least_ns = Some((request.scale.time_ns as f64 * factor) as u64);
    let mut remedies = vec![Remedy::LongerTime { phase: None, at_least_ns }];
    let first = contrasts.first().map(|one| one.phase.as_str());
    if contrasts.iter().any(|one| Some(one.phase.as_str()) != first)
        && let Some(nearest) =
            contrasts.iter().filter(|one| !one.phase.is_empty()).min_by_key(|one| one.blocks_needed.unwrap_or(u32::MAX))
    {
        remedies.push(Remedy::NamePhase { phase: nearest.phase.clone().into() });
    }
    remedies.push(Remedy::words("Make the machine quieter."));
    format!(
        " At this spread it would take about {blocks} blocks to settle; the limit is {most}. {}",
        sentences(&remedies, context.command_context)
    )
}

/// Names the side whose numbers come from memory.
fn from_memory(contrasts: &[Contrast]) -> String {
    let Some(first) = contrasts.first() else { return String::new() };
    let all_of = |tier: TierName, of: fn(&Contrast) -> Option<TierName>| {
        let mut tiers = contrasts.iter().filter_map(of).peekable();
        tiers.peek().is_some() && tiers.all(|one| one == tier)
    };
    let baseline = all_of(TierName::Cache, |contrast| contrast.baseline_tier);
    let candidate = all_of(TierName::Cache, |contrast| contrast.candidate_tier);
    match (baseline, candidate) {
        (true, true) => " Both sides measure memory, not a device.".to_owned(),
        (true, false) => format!(" {} measures memory, not a device.", first.baseline),
        (false, true) => format!(" {} measures memory, not a device.", first.candidate),
        (false, false) => String::new(),
    }
}

/// Returns the reason why every contrast was capped, if it is the same for all.
fn capped_for_one_reason(contrasts: &[Contrast]) -> Option<&str> {
    let first = contrasts.first()?.capped.as_ref()?;
    let same = |contrast: &Contrast| contrast.capped.as_ref().is_some_and(|capped| capped.code == first.code);
    contrasts.iter().all(same).then_some(first.reason.as_str())
}

/// Lowercases the start, for use within a sentence.
fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// Lists requests that the runs could not meet.
pub(crate) fn run_notes(comparison_log: &ComparisonLog) -> Vec<String> {
    let notes = comparison_log.notes.iter();
    notes.map(|((workload, phase, note), sides)| placed_note(workload, phase, note, sides)).collect()
}

/// Lists those, and numbers that lack a value on one side.
pub(crate) fn notes(workloads: &[&'static NamedWorkload], time_ns: u64, comparison_log: &ComparisonLog) -> Vec<String> {
    let mut notes = run_notes(comparison_log);
    for named in workloads {
        if !comparison_log.accepted_pairs.contains_key(named.name) {
            // If that is true of all works, the verdict says so, and the runs show the reason.
            if !comparison_log.accepted_pairs.is_empty() {
                notes.push(format!("{}: not compared, because the checks rejected a run of every block", named.name));
            }
            continue;
        }
        let lacking = missing(named, time_ns, comparison_log);
        notes.extend(lacking.into_iter().map(|(metric, why)| format!("{}: {metric}: {why}", named.name)));
    }
    notes
}

/// Lists planned numbers of a work that no run has, or not every run, with the reason. A number of only some runs
/// is compared without a claim.
pub(crate) fn missing(
    named: &'static NamedWorkload,
    time_ns: u64,
    comparison_log: &ComparisonLog,
) -> Vec<(Metric, String)> {
    let is_whole = |metric: Metric| {
        let mut cells = comparison_log.rows.keys().filter(|cell| cell.workload == named.name);
        cells.any(|cell| cell.metric == metric && comparison_log.lacking(cell) == 0)
    };
    let planned = comparison_log.planned.iter().filter(|one| one.workload == named.name).map(|one| one.metric);
    let missing = planned.filter(|&metric| !is_whole(metric));
    missing.map(|metric| (metric, too_little(named, metric, time_ns, comparison_log))).collect()
}

/// Explains why a run lacks a number, and the run time that it needs.
fn too_little(named: &'static NamedWorkload, metric: Metric, time_ns: u64, comparison_log: &ComparisonLog) -> String {
    let plain = "too few samples in a run; give each run more `--time`";
    let Metric { subject: Subject::Op(kind), quantity: Quantity::Latency(stat) } = metric else {
        return plain.to_owned();
    };
    let had = |(index, side): (usize, &Histogram)| {
        let runs = comparison_log.by_side[index].accepted.get(named.name).copied().unwrap_or(0);
        side.count() / u64::from(runs.max(1))
    };
    let of_kind =
        comparison_log.latencies.iter().filter(|(key, _)| key.workload == named.name && key.op == kind.name());
    let fewest = of_kind.flat_map(|(_, sides)| sides.iter().enumerate().map(had)).min().unwrap_or(0);
    let Some(quantile) = stat.quantile().filter(|_| fewest > 0) else { return plain.to_owned() };
    let needed = (plumb_result::MIN_SAMPLES_BEYOND as f64 / (1.0 - quantile)).ceil() as u64;
    // A fifth more than just enough, because runs vary.
    let seconds = (time_ns as f64 / 1e9 * 1.2 * needed as f64 / fewest as f64).ceil();
    format!("a run needs {needed} {kind} ops, and had about {fewest}; try `--time {seconds:.0}s`", kind = kind.name())
}

/// Lists places that share a plot, each with the first of them.
pub(crate) fn shared_provisionings(sides: [&CompareSide; 2], comparison_log: &ComparisonLog) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, log) in sides.into_iter().zip(&comparison_log.by_side) {
        for (&place, &first) in log.provisionings.by_place.iter().filter(|&(&place, &first)| place != first as usize) {
            let [one, other] = [first as usize, place].map(|place| &side.plots[place].name);
            notes.push(format!("{other} shares a plot with {one}: the two count as one place"));
        }
    }
    notes
}

/// Formats `small-files/read on A and B: …`; workload and phase of the same name are one word.
fn placed_note(workload: &str, phase: &str, note: &str, sides: &[String]) -> String {
    let place = if workload == phase { workload.to_owned() } else { format!("{workload}/{phase}") };
    format!("{place} on {}: {note}", sides.join(" and "))
}
