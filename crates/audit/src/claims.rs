//! Checks the authors' conclusions against their numbers.

use crate::command::CommandAction;
use crate::form::{Claim, PublishedAssertion};
use crate::rules::{AppliedTo, Draft, Rule, by_chance, listed, side_name};
use crate::view::{CellView, View};
use plumb_result::{AuditFinding, AuditedClaim, Better, ClaimVerdict, Level};
use plumb_trust::MIN_RUNS_TO_CLAIM;
use plumb_trust::text::{bytes, count, percent};

/// Student's t, two-sided 95 %, at 5 degrees of freedom: the fewest that two sides with six runs have (Welch). With
/// more runs it is smaller, so this constant errs towards "cannot tell".
const T_95: f64 = 2.571;
/// Relative difference below which two sides count as equal.
const TIE: f64 = 0.005;
/// Uncertainty of a value that was read off a chart.
const ABOUT: f64 = 0.03;
/// Assumed spread between runs if none was measured.
const ASSUMED_SPREAD: f64 = 0.05;

pub(crate) static CACHE_REMAINS: Rule = Rule {
    code: "A3",
    name: "cache-remains",
    what: "Flags that are said to bypass the cache but do not.",
    fix: "Flush within the measured time, and read with cold caches.",
    stage: AppliedTo::Claim,
};

pub(crate) static NOT_BEYOND_MEMORY: Rule = Rule {
    code: "B6",
    name: "not-beyond-memory",
    what: "Files that are said to exceed memory but fit in it.",
    fix: "Compare memory with the files that exist at one time, not with the bytes transferred.",
    stage: AppliedTo::Claim,
};

pub(crate) static BELOW_NOISE: Rule = Rule {
    code: "E1",
    name: "beneath-noise",
    what: "A difference that noise alone can cause with this number of runs.",
    fix: "Repeat each side at least six times, and claim no difference below the spread.",
    stage: AppliedTo::Claim,
};

pub(crate) static NOT_REPEATED: Rule = Rule {
    code: "E1",
    name: "not-repeated",
    what: "A difference larger than usual noise, but not shown to be reproducible.",
    fix: "Repeat each side at least six times, on at least two plots.",
    stage: AppliedTo::Claim,
};

pub(crate) static AVERAGED_DIFFERENCE: Rule = Rule {
    code: "E4",
    name: "averaged-difference",
    what: "One difference, averaged over tests that differ by other amounts.",
    fix: "State the difference of each test.",
    stage: AppliedTo::Claim,
};

pub(crate) static DIRECTION: Rule = Rule {
    code: "E11",
    name: "direction",
    what: "A metric read in the wrong direction: its smaller value is taken as better, or the reverse.",
    fix: "Take the direction from the metric, not from the number.",
    stage: AppliedTo::Claim,
};

pub(crate) static DIFFERENCE: Rule = Rule {
    code: "P1",
    name: "difference",
    what: "A stated difference that the numbers do not show.",
    fix: "Compute differences from the printed numbers.",
    stage: AppliedTo::Claim,
};

pub(crate) static CONTRADICTED: Rule = Rule {
    code: "P10",
    name: "contradicted",
    what: "A conclusion contradicted by rows of the same study.",
    fix: "Conclude only what every row says, or name the rows it holds for.",
    stage: AppliedTo::Claim,
};

/// A checked claim, with the findings of the check.
pub(crate) struct CheckedClaim {
    pub(crate) claim: AuditedClaim,
    pub(crate) findings: Vec<AuditFinding>,
}

/// Checks one claim. `findings` come from the rules, and affect the claim if they concern its numbers.
pub(crate) fn check(view: &View<'_>, claim: &Claim, findings: &[AuditFinding]) -> CheckedClaim {
    let cells: Vec<&CellView<'_>> = view.cells.iter().filter(|cell| is_about(claim, cell)).collect();
    let mut state = State { verdict: ClaimVerdict::Stands, because: Vec::new(), findings: Vec::new() };
    if let Some(better) = &claim.better {
        direction(claim, &cells, &mut state);
        who_is_better(view, claim, better, &cells, &mut state);
    }
    match claim.asserts {
        Some(PublishedAssertion::BeyondMemory) => beyond_memory(view, &cells, &mut state),
        Some(PublishedAssertion::CacheRemoved) => cache_removed(&cells, &mut state),
        None => {}
    }
    let ids: Vec<String> = cells.iter().map(|cell| cell.id()).collect();
    let touching: Vec<&AuditFinding> = findings
        .iter()
        .filter(|finding| finding.level >= Level::Warn)
        .filter(|finding| finding.cells.is_empty() || finding.cells.iter().any(|cell| ids.contains(cell)))
        .collect();
    // Claims about sizes and flags depend on sizes and flags only.
    if !touching.is_empty() && claim.better.is_some() {
        state.lower(ClaimVerdict::Unsupported);
    }
    let mut names: Vec<String> = touching.iter().map(|finding| format!("{} {}", finding.code, finding.rule)).collect();
    names.dedup();
    CheckedClaim {
        claim: AuditedClaim {
            text: claim.text.clone(),
            verdict: state.verdict,
            cells: ids,
            because: state.because,
            findings: names,
        },
        findings: state.findings,
    }
}

struct State {
    verdict: ClaimVerdict,
    because: Vec<String>,
    findings: Vec<AuditFinding>,
}

impl State {
    fn lower(&mut self, verdict: ClaimVerdict) {
        self.verdict = self.verdict.max(verdict);
    }

    fn find(&mut self, rule: &Rule, level: Level, cells: Vec<String>, observed: String, message: String) {
        self.because.push(message.clone());
        self.findings.push(rule.finding(Draft { level, cells, observed, message }));
    }
}

/// Returns `true` if a claim's `on` names a cell: `test`, or `test.metric`.
pub(crate) fn is_about(claim: &Claim, cell: &CellView<'_>) -> bool {
    claim.on.is_empty()
        || claim
            .on
            .iter()
            .any(|on| *on == cell.test.id || *on == format!("{}.{}", cell.test.id, cell.cell.metric.name()))
}

fn direction(claim: &Claim, cells: &[&CellView<'_>], state: &mut State) {
    let Some(read) = claim.reads else { return };
    let wrong: Vec<&&CellView<'_>> = cells.iter().filter(|cell| cell.cell.metric.better() != read).collect();
    let Some(first) = wrong.first() else { return };
    let (word, real) = match first.cell.metric.better() {
        Better::Higher => ("lower", "higher"),
        Better::Lower => ("higher", "lower"),
    };
    let unit = first.cell.unit.as_deref().unwrap_or("a number");
    let tests: Vec<String> =
        wrong.iter().map(|cell| format!("{}.{}", cell.test.id, cell.cell.metric.name())).collect::<Vec<_>>();
    let mut tests_once = tests;
    tests_once.dedup();
    state.find(
        &DIRECTION,
        Level::Fail,
        wrong.iter().map(|cell| cell.id()).collect(),
        format!("{unit}: {real} is better"),
        format!("{} is read as if {word} were better; with the unit {unit}, {real} is better.", listed(&tests_once)),
    );
}

struct SidePair<'a, 'v> {
    claimed: &'a CellView<'v>,
    other: &'a CellView<'v>,
    /// Ratio by which the claimed side is better: above 1 is better, in either direction of the metric.
    ratio: f64,
}

fn who_is_better(view: &View<'_>, claim: &Claim, better: &str, cells: &[&CellView<'_>], state: &mut State) {
    let mut pairs = Vec::new();
    for claimed in cells.iter().filter(|cell| cell.cell.side == better) {
        for other in cells.iter().filter(|other| {
            other.cell.side != better
                && other.test_index == claimed.test_index
                && other.cell.metric == claimed.cell.metric
                && (claim.than.is_empty() || claim.than.contains(&other.cell.side))
        }) {
            let (Some(a), Some(b)) = (claimed.value, other.value) else { continue };
            if claimed.unit.zip(other.unit).is_some_and(|(one, two)| !one.is_same_kind(two)) {
                continue;
            }
            if a > 0.0 && b > 0.0 {
                let ratio = if claimed.cell.metric.better() == Better::Higher { a / b } else { b / a };
                pairs.push(SidePair { claimed, other, ratio });
            }
        }
    }
    if pairs.is_empty() {
        state.lower(ClaimVerdict::Unsupported);
        state.because.push("No numbers of both sides were published for it.".to_owned());
        return;
    }
    contradictions(view, better, &pairs, state);
    stated_difference(claim, &pairs, state);
    // If the numbers contradict the claim, noise is irrelevant.
    if state.verdict != ClaimVerdict::Contradicted {
        noise(&pairs, state);
    }
}

fn contradictions(view: &View<'_>, better: &str, pairs: &[SidePair<'_, '_>], state: &mut State) {
    let against: Vec<&SidePair<'_, '_>> = pairs
        .iter()
        .filter(|pair| {
            let about = pair.claimed.cell.about || pair.other.cell.about;
            pair.ratio < 1.0 / (1.0 + if about { ABOUT } else { TIE })
        })
        .collect();
    if against.is_empty() {
        return;
    }
    state.lower(ClaimVerdict::Contradicted);
    let rows: Vec<String> = against
        .iter()
        .map(|pair| {
            let printed = |cell: &CellView<'_>| cell.printed().unwrap_or_default();
            format!(
                "{}.{} ({} against {} of {})",
                pair.claimed.test.id,
                pair.claimed.cell.metric.name(),
                printed(pair.claimed),
                printed(pair.other),
                side_name(view.study, &pair.other.cell.side)
            )
        })
        .collect();
    let cells = against.iter().flat_map(|pair| [pair.claimed.id(), pair.other.id()]).collect();
    state.find(
        &CONTRADICTED,
        Level::Fail,
        cells,
        format!("{} of {} say otherwise", against.len(), count(pairs.len() as u64, "comparison")),
        format!("{} is not better on {}.", side_name(view.study, better), listed(&rows)),
    );
}

fn stated_difference(claim: &Claim, pairs: &[SidePair<'_, '_>], state: &mut State) {
    let Some(stated) = claim.difference else { return };
    // Authors state a difference relative to either side.
    let real: Vec<f64> =
        pairs.iter().flat_map(|pair| [pair.ratio - 1.0, 1.0 - 1.0 / pair.ratio]).map(|share| share * 100.0).collect();
    let near = |share: &f64| (share.abs() - stated.0).abs() <= 0.5 + stated.0 * 0.05;
    if real.iter().any(near) {
        return;
    }
    let cells = pairs.iter().flat_map(|pair| [pair.claimed.id(), pair.other.id()]).collect();
    state.lower(ClaimVerdict::Unsupported);
    if let Some(shares) = averaged(pairs).into_iter().find(|shares| near(&mean(shares))) {
        let parts: Vec<String> = shares.iter().map(|share| format!("{share:.1} %")).collect();
        state.find(
            &AVERAGED_DIFFERENCE,
            Level::Warn,
            cells,
            parts.join(", "),
            format!(
                "The difference of {} % is a mean over {}, which differ by {}.",
                stated.0,
                count(pairs.len() as u64, "comparison"),
                listed(&parts)
            ),
        );
        return;
    }
    let parts: Vec<String> = real.iter().map(|share| format!("{share:.1} %")).collect();
    state.find(
        &DIFFERENCE,
        Level::Warn,
        cells,
        parts.join(", "),
        format!("The stated difference is {} %; the numbers give {}.", stated.0, listed(&parts)),
    );
}

/// Returns the differences of several comparisons in percent, relative to either side; empty if there is nothing to average.
fn averaged(pairs: &[SidePair<'_, '_>]) -> Vec<Vec<f64>> {
    if pairs.len() < 2 {
        return Vec::new();
    }
    let against_other = pairs.iter().map(|pair| (pair.ratio - 1.0) * 100.0).collect();
    let against_claimed = pairs.iter().map(|pair| (1.0 - 1.0 / pair.ratio) * 100.0).collect();
    vec![against_other, against_claimed]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn noise(pairs: &[SidePair<'_, '_>], state: &mut State) {
    let runs = |pair: &SidePair<'_, '_>| {
        [pair.claimed, pair.other].iter().map(|cell| cell.repetitions.unwrap_or(1)).min().unwrap_or(1)
    };
    let enough = |pair: &SidePair<'_, '_>| {
        let spreads = pair.claimed.spread.zip(pair.other.spread);
        runs(pair) >= MIN_RUNS_TO_CLAIM && spreads.is_some()
    };
    let bare: Vec<&SidePair<'_, '_>> = pairs.iter().filter(|pair| !enough(pair)).collect();
    if let Some(smallest) = bare.iter().min_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs())) {
        let fewest = bare.iter().map(|pair| runs(pair)).min().unwrap_or(1);
        let difference = (smallest.ratio - 1.0).abs();
        let chance = by_chance(smallest.ratio, ASSUMED_SPREAD, runs(smallest));
        let stated = if bare.iter().all(|pair| pair.claimed.repetitions.is_none()) { " (not stated)" } else { "" };
        state.lower(ClaimVerdict::Unsupported);
        let (which, rest) = if bare.len() > 1 {
            ("The smallest difference,", ", comes from")
        } else {
            ("A difference of", " comes from")
        };
        let rests = format!("{which} {}{rest} {} a side{stated}", percent(difference), count(u64::from(fewest), "run"));
        // Below this, the usual spread between runs cannot cause the difference; one provisioning per side still may.
        const CHANCE_MIN: f64 = 0.01;
        let (rule, message) = if chance >= CHANCE_MIN {
            let often = percent(chance);
            let spread = percent(ASSUMED_SPREAD);
            (
                &BELOW_NOISE,
                format!("{rests}: if runs spread by {spread}, equal systems show it in {often} of such comparisons."),
            )
        } else {
            (&NOT_REPEATED, format!("{rests}: large, but not shown to be reproducible with another run, mkfs or boot."))
        };
        let cells = bare.iter().flat_map(|pair| [pair.claimed.id(), pair.other.id()]).collect();
        let observed = format!("{} from {}{stated}", percent(difference), count(u64::from(fewest), "run"));
        state.find(rule, Level::Warn, cells, observed, message);
    }
    for pair in pairs.iter().filter(|pair| enough(pair)) {
        let part = |cell: &CellView<'_>| {
            let spread = cell.spread.unwrap_or(0.0);
            spread * spread / f64::from(cell.repetitions.unwrap_or(1).max(1))
        };
        let half = T_95 * (part(pair.claimed) + part(pair.other)).sqrt();
        let difference = pair.ratio.ln();
        if difference.abs() <= half {
            state.lower(ClaimVerdict::Unsupported);
            state.find(
                &BELOW_NOISE,
                Level::Warn,
                vec![pair.claimed.id(), pair.other.id()],
                format!("{} ± {}", percent(difference.exp() - 1.0), percent(half.exp() - 1.0)),
                format!(
                    "The difference of {} on {}.{} is within its own uncertainty of ± {}.",
                    percent((pair.ratio - 1.0).abs()),
                    pair.claimed.test.id,
                    pair.claimed.cell.metric.name(),
                    percent(half.exp() - 1.0)
                ),
            );
        }
    }
}

fn beyond_memory(view: &View<'_>, cells: &[&CellView<'_>], state: &mut State) {
    let Some((whose, ram)) = view.memories().into_iter().max_by_key(|(_, ram)| *ram) else {
        state.lower(ClaimVerdict::Unsupported);
        state.because.push("The size of memory is not stated.".to_owned());
        return;
    };
    let mut tests: Vec<usize> = cells.iter().map(|cell| cell.test_index).collect();
    tests.dedup();
    for index in tests {
        let of_test: Vec<&&CellView<'_>> = cells.iter().filter(|cell| cell.test_index == index).collect();
        let Some(set) = of_test.iter().filter_map(|cell| cell.set_bytes).max() else { continue };
        let Some(test) = view.tests.get(index) else { continue };
        let blocks = match test.totals {
            Some(totals) => format!(
                " (from {} at the start; at most {} in blocks of 4 KiB)",
                bytes(totals.set_bytes_start),
                bytes(totals.set_blocks_bytes_max)
            ),
            None => String::new(),
        };
        if set <= ram {
            state.lower(ClaimVerdict::Contradicted);
            state.find(
                &NOT_BEYOND_MEMORY,
                Level::Fail,
                of_test.iter().map(|cell| cell.id()).collect(),
                format!("{} against {}", bytes(set), bytes(ram)),
                format!(
                    "The files of {} are at most {}{blocks}; {whose} has {} of memory: they fit.",
                    test.test.id,
                    bytes(set),
                    bytes(ram)
                ),
            );
        } else {
            state.because.push(format!(
                "The files of {} are up to {}{blocks}, {} of the memory.",
                test.test.id,
                bytes(set),
                percent(set as f64 / ram as f64)
            ));
        }
    }
}

fn cache_removed(cells: &[&CellView<'_>], state: &mut State) {
    let wrong: Vec<&&CellView<'_>> = cells
        .iter()
        .filter(|cell| {
            let one_write = cell
                .actions
                .iter()
                .any(|action| matches!(action, CommandAction::Dd(dd) if dd.is_one_block() && !dd.is_read()));
            let read_warm = cell.cell.metric.reads() && !cell.is_cold();
            let unflushed = cell.cell.metric.writes() && cell.durability.is_some_and(|rule| !rule.reaches_device());
            one_write || read_warm || unflushed
        })
        .collect();
    if wrong.is_empty() {
        return;
    }
    state.lower(ClaimVerdict::Contradicted);
    state.find(
        &CACHE_REMAINS,
        Level::Fail,
        wrong.iter().map(|cell| cell.id()).collect(),
        format!("{} of {}", wrong.len(), count(cells.len() as u64, "number")),
        "The flags bypass no cache: a flush waits for what the cache holds at that moment, and caches below keep \
         what they have."
            .to_owned(),
    );
}
