//! One result as a page: the answer first, then the numbers, then what the checks say.

use crate::assertion;
use crate::facts;
use crate::format::{self, MISSING};
use crate::measure;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::assertion::{Asserted, PRECONDITIONING, Steadiness};
use plumb_result::limiter::{Bound, Limiter};
use plumb_result::metric::{Stat, Subject};
use plumb_result::observe::TargetFacts;
use plumb_result::run::TierName;
use plumb_result::short_list;
use plumb_result::{Finding, Level, Metric, MetricValue, PhaseResult, Quantity, RunResult, RunVerdict};
use plumb_workload::OpKind;

/// Whether a result can be looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptResult {
    /// It is in the store.
    Stored,
    /// It is not.
    Nowhere,
}

/// The whole page.
pub fn page(result: &RunResult, kept: KeptResult, style: &Style) -> String {
    page_with(result, &RunConditions::default(), kept, style)
}

/// What a run was put under, and how it came out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunConditions {
    /// Of each `--assert`.
    pub assertions: Vec<Asserted>,
    /// Of each phase that was to end as soon as it was steady.
    pub steady: Vec<Steadiness>,
}

/// The whole page of a run under conditions: where something was asserted, whether it holds is the answer.
pub fn page_with(result: &RunResult, conditions: &RunConditions, kept: KeptResult, style: &Style) -> String {
    let mut page = assertion::assertions(&conditions.assertions, result.verdict, style);
    page.push_str(&style.wrap(&sentence(result), 0));
    page.push_str("\n\n");
    page.push_str(&targets(result, style));
    page.push_str(&table(result, style));
    page.push_str(&assertion::steadiness(&conditions.steady, style));
    page.push_str(&limiters(result, style));
    page.push_str(&notes(result, style));
    page.push_str(&findings(&result.checks, style));
    page.push_str(&last_line(result, kept, style));
    page
}

/// A sentence of plain words on top: what this storage does, in the numbers that its phases carry.
pub fn sentence(result: &RunResult) -> String {
    let headline = |kind: OpKind, quantity: fn(OpKind) -> Metric, tier: Option<TierName>| {
        result
            .phases
            .iter()
            // What only prepares the storage is no answer.
            .filter(|phase| !phase.name.starts_with(PRECONDITIONING))
            .filter_map(|phase| phase.metrics.get(&quantity(kind)).map(|value| (phase, value)))
            .filter(|(_, value)| tier.is_none() || value.tier == tier)
            .filter_map(|(phase, value)| value.value.map(|number| (phase, number)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    let mut parts = Vec::new();
    for (kind, verb) in [(OpKind::Read, "reads"), (OpKind::Write, "writes")] {
        if let Some((_, rate)) = headline(kind, Metric::bandwidth, Some(TierName::Device)) {
            parts.push(format!("{verb} up to {}", format::rate_si(rate)));
        } else if let Some((phase, rate)) = headline(kind, Metric::bandwidth, None) {
            let tier = phase.metrics[&Metric::bandwidth(kind)].tier.map_or("unknown", TierName::name);
            let source = match tier {
                "cache" if kind == OpKind::Write => "into memory, which says nothing about a device",
                "cache" => "from memory, which says nothing about a device",
                "mixed" => "of which only a part is the device's",
                _ => "of unknown origin",
            };
            parts.push(format!("{verb} up to {} {source}", format::rate_si(rate)));
        }
    }
    for kind in [OpKind::Fsync, OpKind::Fdatasync] {
        let p50 = result.phases.iter().find_map(|phase| phase.metrics.get(&Metric::latency(kind, Stat::P50))?.value);
        if let Some(p50) = p50 {
            parts.push(format!("makes a small write durable in {} ({}, median)", format::time(p50), kind.name()));
            break;
        }
    }
    if parts.is_empty() {
        for kind in [OpKind::Create, OpKind::Stat, OpKind::Unlink] {
            if let Some((_, rate)) = headline(kind, Metric::rate, None) {
                parts.push(format!("does {} {} a second", format::count(rate), kind.name()));
            }
        }
    }
    // One end of a copy may be something that keeps nothing.
    let is_storage = |target: &&TargetFacts| target.filesystem.value().is_some() || !target.leaves.is_empty();
    let named = result.target.values().find(is_storage).or_else(|| result.target.values().next());
    let name = named.map_or("This run", |target| target.path.as_str());
    let said = match parts.as_slice() {
        [] => "measured nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    };
    let partial = match (&result.error, result.partial) {
        (Some(error), _) => {
            format!(
                " The run ended early; this is what was measured before. The reason: {}.",
                error.trim_end_matches('.')
            )
        }
        (None, true) => " The run was interrupted; this is what was measured before.".to_owned(),
        (None, false) => String::new(),
    };
    let rejected = match result.verdict {
        RunVerdict::Reject => {
            " The checks reject this run: see below before you use any of it. It counts in no comparison."
        }
        _ => "",
    };
    format!("{name} {said}.{partial}{rejected}")
}

fn targets(result: &RunResult, style: &Style) -> String {
    let mut text = String::new();
    let mut said: Vec<String> = Vec::new();
    for target in result.target.values() {
        let stack = facts::stack(target);
        let line = if stack.is_empty() {
            facts::filesystem(target)
        } else {
            format!("{}: {stack}", facts::filesystem(target))
        };
        if !said.contains(&line) {
            text.push_str(&format!("  {}\n", style.wrap(&line, 4)));
            said.push(line);
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// One line of the table.
struct Row {
    label: String,
    rate: String,
    also: String,
    times: [String; 3],
    tier: Option<MetricValue>,
}

const TIMES: [Stat; 3] = [Stat::P50, Stat::P99, Stat::P999];

fn rows(result: &RunResult) -> Vec<Row> {
    let mut rows = Vec::new();
    for phase in &result.phases {
        let mut kinds: Vec<OpKind> = OpKind::ALL.iter().copied().filter(|&kind| worth_a_line(phase, kind)).collect();
        // What gave the phase its name comes first.
        short_list::sort_by_key(&mut kinds, |kind| kind.name() != phase.name);
        for &kind in &kinds {
            let label = if kinds.len() == 1 { phase.name.clone() } else { format!("{}: {}", phase.name, kind.name()) };
            let label = match depth_label(result, &phase.name) {
                Some(depth) if !label.contains("depth") => format!("{label} {depth}"),
                _ => label,
            };
            rows.push(row(phase, kind, label.clone()));
            rows.extend(until_first_done(phase, kind, &label));
        }
        if let Some(value) = phase.metrics.get(&Metric { subject: Subject::Transaction, quantity: Quantity::Rate }) {
            let rate = value.value.map_or(MISSING.to_owned(), format::per_second);
            let blank = || String::new();
            rows.push(Row {
                label: format!("{}: transactions", phase.name),
                rate,
                also: String::new(),
                times: [blank(), blank(), blank()],
                tier: None,
            });
        }
    }
    rows
}

/// Where a worker was done this much before the last one, as a share of the time, its rate has a line of its own.
const MUCH_EARLIER: f64 = 0.05;

/// The rate until the first worker was done, where the others went on for long enough to make it another one.
fn until_first_done(phase: &PhaseResult, kind: OpKind, label: &str) -> Option<Row> {
    let first = phase.first_done.as_ref()?;
    if phase.wall_ns.saturating_sub(first.at_ns) as f64 <= MUCH_EARLIER * phase.wall_ns as f64 {
        return None;
    }
    first.metrics.get(&Metric::rate(kind))?.value?;
    let blank = || String::new();
    let so_far = PhaseResult { metrics: first.metrics.clone(), first_done: None, ..phase.clone() };
    let row = row(&so_far, kind, format!("{label}, until the first was done"));
    Some(Row { times: [blank(), blank(), blank()], ..row })
}

/// They accompany other ops, and have their numbers in `--json`, not a line of the page.
const ACCOMPANY: [OpKind; 3] = [OpKind::Open, OpKind::Close, OpKind::Evict];

fn worth_a_line(phase: &PhaseResult, kind: OpKind) -> bool {
    let present = phase.metrics.contains_key(&Metric::rate(kind));
    let accompanies = ACCOMPANY.contains(&kind);
    present && (!accompanies || phase.metrics.keys().all(|metric| !is_other_op(metric, kind)))
}

fn is_other_op(metric: &Metric, kind: OpKind) -> bool {
    matches!(metric.subject, Subject::Op(other) if other != kind && !ACCOMPANY.contains(&other))
}

fn depth_label(result: &RunResult, phase: &str) -> Option<String> {
    let phase = result.workload.phase.iter().find(|candidate| candidate.name == phase)?;
    let blocks = phase.workers.iter().filter(|group| group.work.has_queue());
    let in_flight: u32 = blocks.map(|group| group.depth * group.count).sum();
    (in_flight > 1).then(|| format!("(depth {in_flight})"))
}

fn row(phase: &PhaseResult, kind: OpKind, label: String) -> Row {
    let get = |metric: Metric| phase.metrics.get(&metric);
    let times = TIMES.map(|stat| {
        get(Metric::latency(kind, stat)).and_then(|value| value.value).map_or(MISSING.to_owned(), format::time)
    });
    let rate = get(Metric::rate(kind)).and_then(|value| value.value);
    let bandwidth = get(Metric::bandwidth(kind));
    // Large blocks are judged by their bytes, small ones by their number.
    let large = match (bandwidth.and_then(|value| value.value), rate) {
        (Some(bytes), Some(ops)) if ops > 0.0 => bytes / ops >= 65536.0,
        _ => false,
    };
    let (rate, also) = match (bandwidth.and_then(|value| value.value), rate) {
        (Some(bytes), Some(ops)) if !large => (format::per_second(ops), format::rate_si(bytes)),
        (Some(bytes), _) => (format::rate_si(bytes), format::rate_iec(bytes)),
        (None, Some(ops)) => (format::per_second(ops), String::new()),
        (None, None) => (MISSING.to_owned(), String::new()),
    };
    let tier =
        get(Metric::bandwidth(kind)).or_else(|| get(Metric::rate(kind))).copied().filter(|value| value.tier.is_some());
    Row { label, rate, also, times, tier }
}

fn tier_text(value: &MetricValue) -> String {
    match (value.tier, value.device_share) {
        (None, _) => String::new(),
        (Some(TierName::Mixed), Some(share)) => format!("mixed, {} device", format::percent(share)),
        (Some(tier), _) => tier.name().to_owned(),
    }
}

fn tier_ink(tier: Option<TierName>) -> Ink {
    match tier {
        Some(TierName::Device) => Ink::Good,
        Some(TierName::Cache | TierName::Mixed) => Ink::Caution,
        Some(TierName::Unknown) | None => Ink::Faint,
    }
}

fn columns(rows: &[Row]) -> Vec<Column> {
    let column = |title: &str, align, leaves, cell: &dyn Fn(&Row) -> String| Column {
        title: title.to_owned(),
        cells: rows.iter().map(cell).collect(),
        align,
        leaves,
    };
    vec![
        column("", Align::Left, None, &|row| row.label.clone()),
        column("rate", Align::Right, None, &|row| row.rate.clone()),
        column("", Align::Left, Some(1), &|row| row.also.clone()),
        column("p50", Align::Right, Some(3), &|row| row.times[0].clone()),
        column("p99", Align::Right, None, &|row| row.times[1].clone()),
        column("p99.9", Align::Right, Some(2), &|row| row.times[2].clone()),
        column("tier", Align::Left, None, &|row| row.tier.as_ref().map_or(String::new(), tier_text)),
    ]
}

fn table(result: &RunResult, style: &Style) -> String {
    let rows = rows(result);
    if rows.is_empty() {
        return String::new();
    }
    let lines = table::set(columns(&rows), style.width);
    let mut text = style.ink(Ink::Faint, &lines.head);
    text.push('\n');
    for (row, plain) in rows.iter().zip(&lines.rows) {
        // The tier is the last column, and the only one in colour.
        let tier = row.tier.as_ref().map_or(String::new(), tier_text);
        let before = plain.strip_suffix(tier.as_str()).unwrap_or(plain);
        text.push_str(before);
        if !tier.is_empty() {
            text.push_str(&style.ink(tier_ink(row.tier.as_ref().and_then(|value| value.tier)), &tier));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// More phases than this are grouped by what bounded them.
const LIMITS_IN_FULL: usize = 4;

/// What bounded each phase, with the utilisation that this rests on.
fn limiters(result: &RunResult, style: &Style) -> String {
    let limited: Vec<_> = result.phases.iter().filter_map(|phase| Some((phase, phase.limiter.as_ref()?))).collect();
    match limited.len() {
        0 => String::new(),
        1..=LIMITS_IN_FULL => limits_in_full(&limited, style),
        _ => limits_by_what(&limited, style),
    }
}

const LIMIT_HEAD: &str = "limit   ";

/// The first line of the block begins with its head, the others below it.
fn limit_head(number: usize, style: &Style) -> String {
    if number == 0 { style.ink(Ink::Faint, LIMIT_HEAD) } else { " ".repeat(LIMIT_HEAD.len()) }
}

fn limits_in_full(limited: &[(&PhaseResult, &Limiter)], style: &Style) -> String {
    // Beside a column of names that are longer than this, nothing else would fit.
    const NAME_MAX: usize = 20;
    let width = limited.iter().map(|(phase, _)| measure::width(&phase.name)).max().unwrap_or(0);
    let mut text = String::new();
    for (number, (phase, limiter)) in limited.iter().enumerate() {
        let head = limit_head(number, style);
        let said = format!("{}: {}", limiter.what.name(), limiter.text);
        let said = if width > NAME_MAX {
            style.wrap(&format!("{}: {said}", phase.name), LIMIT_HEAD.len() + 4)
        } else {
            format!("{}  {}", measure::left(&phase.name, width), style.wrap(&said, LIMIT_HEAD.len() + width + 4))
        };
        text.push_str(&format!("  {head}{said}\n"));
    }
    let tells_busy = |text: &str| text.contains(" busy ") && text.contains(" in flight");
    if limited.iter().any(|(_, limiter)| tells_busy(&limiter.text)) {
        let said = "(busy: something was in flight; what works in parallel may do more at another depth)";
        let indent = LIMIT_HEAD.len() + 2;
        text.push_str(&format!("{:indent$}{}\n", "", style.ink(Ink::Faint, &style.wrap(said, indent))));
    }
    text + "\n"
}

/// `the depth: random-read-1 (100 %), fsync (99 %)`: a line for each thing that bounded some of the phases.
fn limits_by_what(limited: &[(&PhaseResult, &Limiter)], style: &Style) -> String {
    let mut kinds: Vec<Bound> = Vec::new();
    for (_, limiter) in limited {
        if !kinds.contains(&limiter.what) {
            kinds.push(limiter.what);
        }
    }
    let mut text = String::new();
    for (number, kind) in kinds.iter().enumerate() {
        let phases: Vec<String> = limited
            .iter()
            .filter(|(_, limiter)| limiter.what == *kind)
            .map(|(phase, limiter)| match limiter.utilisation {
                Some(used) => format!("{} ({})", phase.name, format::percent(used)),
                None => phase.name.clone(),
            })
            .collect();
        let said = style.wrap(&format!("{}: {}", kind.name(), phases.join(", ")), LIMIT_HEAD.len() + 4);
        text.push_str(&format!("  {}{said}\n", limit_head(number, style)));
    }
    let indent = LIMIT_HEAD.len() + 2;
    let said = "(in brackets, how much of it was used; `--json` says what each rests on)";
    text.push_str(&format!("{:indent$}{}\n\n", "", style.ink(Ink::Faint, &style.wrap(said, indent))));
    text
}

/// A finding as it becomes true, without its remedy, and with more about it in brackets: `fail A1  seq-read: …`.
pub fn told(finding: &Finding, aside: Option<&str>, style: &Style) -> String {
    let head = head(finding);
    let phase = finding.phase.as_ref().map_or(String::new(), |phase| format!("{phase}: "));
    let aside = aside.map_or(String::new(), |aside| format!(" ({aside})"));
    let body = style.wrap(&format!("{phase}{}{aside}", finding.message), head.len());
    format!("{}{body}", style.ink(level_ink(finding.level), &head))
}

/// That a finding was told too early.
pub fn withdrawn(finding: &Finding, style: &Style) -> String {
    let over = finding.phase.as_ref().map_or("the run".to_owned(), |phase| format!("the phase {phase}"));
    style.wrap(&format!("{} no longer holds over the whole of {over}", finding.code), 0)
}

fn head(finding: &Finding) -> String {
    format!("{:4} {:3} ", finding.level.name(), finding.code)
}

fn level_ink(level: Level) -> Ink {
    match level {
        Level::Fail => Ink::Bad,
        Level::Warn => Ink::Caution,
        _ => Ink::Faint,
    }
}

/// What was asked for and not had: one entry for each such thing, with the phases that it is about.
fn notes(result: &RunResult, style: &Style) -> String {
    let mut by_note: Vec<(&str, Vec<&str>)> = Vec::new();
    for phase in &result.phases {
        for note in &phase.notes {
            match by_note.iter_mut().find(|(said, _)| said == note) {
                Some((_, phases)) => phases.push(&phase.name),
                None => by_note.push((note, vec![&phase.name])),
            }
        }
    }
    by_note.iter().map(|(note, phases)| not_had(&format!("{}: {note}", phases.join(", ")), style)).collect()
}

/// A line about something that was asked for and not had.
pub(crate) fn not_had(what: &str, style: &Style) -> String {
    const HEAD: &str = "not had ";
    let body = style.wrap(what, HEAD.len() + 2);
    format!("  {}{body}\n", style.ink(Ink::Caution, HEAD))
}

/// What the checks say, worst first: one entry for each check and level, with the phases that it is about. What passed
/// is left out, what could not be looked at is named.
pub fn findings(findings: &[Finding], style: &Style) -> String {
    let mut text = String::new();
    let mut said: Vec<(&str, Level)> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.level >= Level::Note) {
        let key = (finding.code.as_str(), finding.level);
        if said.contains(&key) {
            continue;
        }
        said.push(key);
        let alike: Vec<&Finding> = findings.iter().filter(|other| (other.code.as_str(), other.level) == key).collect();
        text.push_str(&entry(finding, &alike, style));
    }
    let mut skipped: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.level == Level::Skipped)
        .map(|finding| finding.code.as_str())
        .collect();
    short_list::sort_by_key(&mut skipped, |code| place(code));
    skipped.dedup();
    if !skipped.is_empty() {
        let line = format!("could not look at {} everywhere: `--json` says why", skipped.join(", "));
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&line, 2))));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Where a code stands among the codes: A2 before A10.
fn place(code: &str) -> (&str, u32) {
    let (letter, number) = code.split_at(code.len().min(1));
    (letter, number.parse().unwrap_or(0))
}

/// The first of several findings of one check and level, and which phases the others are about.
fn entry(finding: &Finding, alike: &[&Finding], style: &Style) -> String {
    let (ink, head) = (level_ink(finding.level), head(finding));
    let same = |other: &&&Finding| other.message == finding.message;
    let phases =
        |of: Vec<&&Finding>| of.iter().filter_map(|other| other.phase.as_deref()).collect::<Vec<_>>().join(", ");
    let (here, elsewhere) =
        (phases(alike.iter().filter(same).collect()), phases(alike.iter().filter(|other| !same(other)).collect()));
    let place = if here.is_empty() { String::new() } else { format!("{here}: ") };
    let others = if elsewhere.is_empty() { String::new() } else { format!(" Likewise: {elsewhere}.") };
    let body = style.wrap(&format!("{place}{}{others}", finding.message), head.len() + 2);
    let mut text = format!("  {}{body}\n", style.ink(ink, &head));
    if !finding.remedy.is_empty() && finding.level > Level::Note {
        let remedy = style.wrap(&format!("→ {}", finding.remedy), head.len() + 4);
        text.push_str(&format!("  {:indent$}{remedy}\n", "", indent = head.len()));
    }
    text
}

fn last_line(result: &RunResult, kept: KeptResult, style: &Style) -> String {
    let ink = match result.verdict {
        RunVerdict::Pass => Ink::Good,
        RunVerdict::Caution | RunVerdict::Unknown => Ink::Caution,
        RunVerdict::Reject => Ink::Bad,
    };
    let worst = result.checks.iter().find(|finding| finding.level >= Level::Warn);
    let explain = worst.map_or(String::new(), |finding| format!("   plumb explain {}", finding.code));
    let verdict = style.ink(ink, result.verdict.name());
    let show = match kept {
        KeptResult::Stored => format!("   plumb show {}", short_id(&result.id)),
        KeptResult::Nowhere => String::new(),
    };
    format!("Trust: {verdict}{explain}{show}\n")
}

/// The shortest form of an id that is still unlikely to be ambiguous: UUIDv7 begins with the time in milliseconds, and
/// its last block is random.
pub fn short_id(id: &str) -> &str {
    id.get(..13).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::metric::Unit;
    use plumb_result::run::FirstDone;

    fn phase(first_at_ns: u64) -> PhaseResult {
        let value =
            |value| MetricValue { value: Some(value), unit: Unit::OpsPerSecond, tier: None, device_share: None };
        let rate = Metric::rate(OpKind::Stat);
        PhaseResult {
            name: "stat".to_owned(),
            wall_ns: 1_000_000_000,
            metrics: [(rate, value(1000.0))].into(),
            done: [].into(),
            first_done: Some(FirstDone { at_ns: first_at_ns, metrics: [(rate, value(1500.0))].into() }),
            notes: Vec::new(),
            limiter: None,
        }
    }

    // Protects readers from a rate in which half of the workers had nothing to do any more.
    #[test]
    fn a_first_worker_that_was_done_early_has_a_line() {
        let early = until_first_done(&phase(500_000_000), OpKind::Stat, "stat").unwrap();
        assert_eq!(early.label, "stat, until the first was done");
        assert_eq!(early.rate, format::per_second(1500.0));
        assert!(until_first_done(&phase(990_000_000), OpKind::Stat, "stat").is_none());
        assert!(until_first_done(&phase(500_000_000), OpKind::Unlink, "unlink").is_none());
    }
}
