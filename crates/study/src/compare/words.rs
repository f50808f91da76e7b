//! A comparison in words.

use super::ledger::Ledger;
use super::{CompareRequest, CompareSide, Ended};
use plumb_result::{Contrast, ContrastVerdict};
use plumb_stats::stop::StopReason;
use plumb_workload::named::Named;

/// Words for the whole: what was found, and what limits it.
pub(crate) fn note(
    request: &CompareRequest<'_>,
    contrasts: &[Contrast],
    confounded: bool,
    left_out: usize,
    ended: Ended,
) -> String {
    let count = |verdict| contrasts.iter().filter(|contrast| contrast.verdict == verdict).count();
    let (a, b) = (&request.baseline.name, &request.candidate.name);
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
    let mut said = match contrasts {
        [] if left_out > 0 => format!("Nothing can be said about {a} and {b}: no run of both sides could be used."),
        [] => format!("Nothing can be said about {a} and {b}: no number was measured on both sides."),
        _ if capped.is_some() => {
            format!("Nothing is claimed about {a} and {b}: {}.", capped.map(lower).unwrap_or_default())
        }
        [only] if faster == 1 => format!("{b} is faster than {a}{}.", one(only)),
        [only] if slower == 1 => format!("{b} is slower than {a}{}.", one(only)),
        _ if equivalent == total => format!("{a} and {b} are equivalent, within 5 %."),
        _ if faster == total => format!("{b} is faster than {a} in everything that was measured."),
        _ if slower == total => format!("{b} is slower than {a} in everything that was measured."),
        _ if faster + slower + equivalent == 0 => format!("Cannot tell {a} and {b} apart, nor call them equal."),
        _ => format!(
            "{b} against {a}: faster in {faster}, slower in {slower}, equivalent in {equivalent} of {total}; the rest is open."
        ),
    };
    if confounded {
        said.push_str(
            " Confounded: more than the declared factor differs, so none of this is about that factor alone.",
        );
    }
    if left_out > 0 {
        let runs = if left_out == 1 { "run was" } else { "runs were" };
        said.push_str(&format!(" {left_out} {runs} rejected by checks and left out."));
    }
    let open = contrasts.iter().any(|contrast| contrast.verdict == ContrastVerdict::CannotTell);
    match ended {
        Ended::Interrupted => said.push_str(" It was interrupted; this is what was measured before."),
        Ended::By(StopReason::Budget) if open => {
            said.push_str(" The time budget ended it; a larger `--budget` may settle what is open.");
        }
        Ended::By(_) | Ended::NothingAccepted => {}
    }
    said
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
pub(crate) fn notes(workloads: &[&'static Named], ledger: &Ledger) -> Vec<String> {
    let mut notes: Vec<String> =
        ledger.notes.iter().map(|((workload, phase, note), sides)| said_note(workload, phase, note, sides)).collect();
    for named in workloads {
        if !ledger.accepted_pairs.contains(named.name) {
            // Where that is so of all, it is the verdict; and why is said with the runs.
            if !ledger.accepted_pairs.is_empty() {
                notes.push(format!("{}: nothing to compare; the checks rejected a run of every block", named.name));
            }
            continue;
        }
        let compared =
            |name: &str| ledger.rows.keys().any(|cell| cell.workload == named.name && cell.metric.to_string() == name);
        let missing: Vec<&str> = named.headline.iter().copied().filter(|name| !compared(name)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            notes.push(format!(
                "{}: {missing}: too little happened in a run to tell; give each run more `--time`",
                named.name
            ));
        }
    }
    notes
}

/// Places that are one provisioning, each with the first of them.
pub(crate) fn shared_provisionings(sides: [&CompareSide; 2], ledger: &Ledger) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, provisionings) in sides.into_iter().zip(&ledger.provisionings) {
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
