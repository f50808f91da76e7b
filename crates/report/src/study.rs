//! A study as a page: the answer, trust, where the spread comes from, what the factors do, and every planned cell.

use crate::document::{ColumnHead, Item, ReportPart, ReportTable, markdown, terminal};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::Align;
use plumb_result::compare::Replicate;
use plumb_result::short_list;
use plumb_result::study::{
    CellValue, EffectLine, GatheredFinding, OurNumber, Published, PublishedBeside, RunCount, StudyCell, StudyContrast,
    StudyReport,
};
use plumb_result::{ContrastVerdict, Finding, Level, Metric};
use std::collections::BTreeMap;

/// The page for a terminal.
pub fn page(report: &StudyReport, style: &Style) -> String {
    terminal(&parts(report), style)
}

/// The page as Markdown.
pub fn page_markdown(report: &StudyReport) -> String {
    format!("# {}\n\n{}", report.name, markdown(&parts(report)))
}

fn parts(report: &StudyReport) -> Vec<ReportPart> {
    let mut parts = Vec::new();
    if !report.question.is_empty() {
        parts.push(ReportPart::Text(Ink::Faint, report.question.clone()));
    }
    parts.extend(report.answer.iter().map(|said| ReportPart::Text(Ink::Strong, said.clone())));
    parts.extend(verdicts(report));
    parts.extend(trust(report));
    parts.extend(spread(report));
    parts.extend(effects(report));
    parts.extend(cells(report));
    parts.extend(published(report));
    parts.extend(devices(report));
    parts.extend(had(report));
    parts
}

fn verdicts(report: &StudyReport) -> Vec<ReportPart> {
    if report.contrasts.is_empty() {
        return Vec::new();
    }
    let row = |one: &StudyContrast| {
        let contrast = &one.contrast;
        let value = |value: Option<f64>| {
            value.map_or(MISSING.to_owned(), |value| shown(value, contrast.metric, report.emulated))
        };
        // Of counts the sentences say how many times as many; the table says the same.
        let turns = contrast.metric.device_count().is_some();
        let said = |value: f64| if turns { 1.0 / value } else { value };
        let ratio = |value: Option<f64>| value.map_or(MISSING.to_owned(), |value| format::ratio(said(value)));
        let interval = match (contrast.lo, contrast.hi) {
            (Some(lo), Some(hi)) => format::interval(said(lo).min(said(hi)), said(lo).max(said(hi))),
            _ => MISSING.to_owned(),
        };
        let unit = match contrast.unit {
            Replicate::Block => "pairs",
            Replicate::Plot => "plots",
        };
        vec![
            if one.primary { contrast.word().to_owned() } else { "secondary".to_owned() },
            contrast.workload.clone().unwrap_or_default(),
            levels(&one.within),
            number(&contrast.phase, contrast.metric),
            contrast.baseline.clone(),
            value(contrast.baseline_value),
            contrast.candidate.clone(),
            value(contrast.candidate_value),
            ratio(contrast.ratio),
            interval,
            contrast.p_adjusted.map_or(MISSING.to_owned(), format::probability),
            format!("{} {unit}", contrast.blocks),
        ]
    };
    let (left, right) = (Align::Left, Align::Right);
    let mut table = ReportTable {
        columns: vec![
            ColumnHead::new("verdict", left, None),
            ColumnHead::new("work", left, Some(3)),
            ColumnHead::new("within", left, None),
            ColumnHead::new("number", left, None),
            ColumnHead::new("baseline", left, Some(2)),
            ColumnHead::new("", right, Some(5)),
            ColumnHead::new("candidate", left, None),
            ColumnHead::new("", right, Some(5)),
            ColumnHead::new("ratio", right, None),
            ColumnHead::new("interval", left, Some(6)),
            ColumnHead::new("p", right, Some(1)),
            ColumnHead::new("over", right, Some(4)),
        ],
        rows: report.contrasts.iter().map(row).collect(),
    };
    without_empty(&mut table);
    let primary: Vec<&StudyContrast> = report.contrasts.iter().filter(|one| one.primary).collect();
    vec![
        ReportPart::Heading("Verdicts".to_owned()),
        ReportPart::List(sentences(&primary)),
        ReportPart::Text(Ink::Faint, String::new()),
        ReportPart::Table(table),
        ReportPart::Text(
            Ink::Faint,
            "Ratio above 1: the candidate is better (higher rate, lower latency). Of device counts: how many times as many \
             it has; fewer is better. p is corrected for the number of verdicts (Holm); counts that never vary have none."
                .to_owned(),
        ),
    ]
}

/// How many numbers may have the same said of them before it is said once for all.
const SAID_EACH_MAX: usize = 2;

/// What is said of each number. Where nothing can be told of many for one reason, that is one sentence: the table has them
/// all.
fn sentences(contrasts: &[&StudyContrast]) -> Vec<Item> {
    let about = |one: &StudyContrast| {
        let untold = one.contrast.verdict == ContrastVerdict::CannotTell;
        one.words.split_once(": ").filter(|_| untold).map(|(_, about)| about.to_owned())
    };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for about in contrasts.iter().copied().filter_map(about) {
        *counts.entry(about).or_default() += 1;
    }
    let mut items = Vec::new();
    for one in contrasts {
        let text = match about(one).map(|about| (counts.get(&about).copied(), about)) {
            // Said already.
            Some((None, _)) => continue,
            Some((Some(count), about)) if count > SAID_EACH_MAX => {
                counts.remove(&about);
                format!("{count} numbers of the table: {about}")
            }
            _ => one.words.clone(),
        };
        items.push(Item { ink: Ink::Strong, head: String::new(), text });
    }
    items
}

/// Columns that say nothing in any row.
fn without_empty(table: &mut ReportTable) {
    let empty: Vec<bool> =
        (0..table.columns.len()).map(|column| table.rows.iter().all(|row| row[column].is_empty())).collect();
    let keep = |index: usize| !empty[index];
    let mut index = 0;
    table.columns.retain(|_| {
        index += 1;
        keep(index - 1)
    });
    for row in &mut table.rows {
        let mut index = 0;
        row.retain(|_| {
            index += 1;
            keep(index - 1)
        });
    }
}

fn trust(report: &StudyReport) -> Vec<ReportPart> {
    let whole = |finding: &Finding| Item {
        ink: ink(finding.level),
        head: format!("{} {}", finding.level.name(), finding.code),
        text: with_remedy(&finding.message, &finding.remedy),
    };
    let of_runs = |finding: &GatheredFinding| Item {
        ink: ink(finding.level),
        head: format!("{} {}", finding.level.name(), finding.code),
        text: with_remedy(&format!("in {} of {} runs: {}", finding.runs, finding.of, finding.message), &finding.remedy),
    };
    let note = |note: &String| Item { ink: Ink::Caution, head: "note".to_owned(), text: note.clone() };
    let mut items: Vec<Item> = report.checks.iter().filter(|one| one.level >= Level::Warn).map(whole).collect();
    items.extend(report.findings.iter().filter(|one| one.level >= Level::Warn).map(of_runs));
    items.extend(report.undeclared.iter().map(|difference| Item {
        ink: Ink::Caution,
        head: "differs".to_owned(),
        text: format!("{}: {} | {}", difference.short(), difference.baseline, difference.candidate),
    }));
    items.extend(report.notes.iter().map(note));
    if items.is_empty() {
        let text = "No warnings.".to_owned();
        items.push(Item { ink: Ink::Good, head: String::new(), text });
    }
    vec![ReportPart::Heading("Trust".to_owned()), ReportPart::List(items)]
}

fn with_remedy(message: &str, remedy: &str) -> String {
    if remedy.is_empty() { message.to_owned() } else { format!("{message} → {remedy}") }
}

const fn ink(level: Level) -> Ink {
    match level {
        Level::Fail => Ink::Bad,
        Level::Warn => Ink::Caution,
        Level::Note | Level::Skipped | Level::Pass => Ink::Faint,
    }
}

fn spread(report: &StudyReport) -> Vec<ReportPart> {
    if report.spread.is_empty() {
        return Vec::new();
    }
    let item = |one: &plumb_result::study::SpreadSources| Item {
        ink: Ink::Strong,
        head: String::new(),
        text: format!(
            "{} {} {}: {} (between provisionings {}, between runs {})",
            one.workload,
            one.phase,
            one.metric,
            one.advice,
            format::percent(one.plots_cv),
            format::percent(one.runs_cv)
        ),
    };
    vec![
        ReportPart::Heading("Where the spread comes from".to_owned()),
        ReportPart::List(report.spread.iter().map(item).collect()),
    ]
}

fn effects(report: &StudyReport) -> Vec<ReportPart> {
    if report.effects.is_empty() {
        return Vec::new();
    }
    let mut parts = vec![ReportPart::Heading("Effects of the factors".to_owned())];
    for table in &report.effects {
        let of_number = format!("{} {}", table.workload, number(&table.phase, table.metric));
        parts.push(ReportPart::Text(Ink::Strong, of_number));
        parts.push(ReportPart::Table(ReportTable {
            columns: vec![
                ColumnHead::new("effect of", Align::Left, None),
                ColumnHead::new("ratio", Align::Right, None),
                ColumnHead::new("95 % interval", Align::Left, None),
                ColumnHead::new("p", Align::Right, Some(1)),
                ColumnHead::new("variation", Align::Right, Some(2)),
            ],
            rows: table.lines.iter().map(effect).collect(),
        }));
    }
    let legend = "Ratio above 1: the level is better than the factor's first, averaged over all other factors; of counts, it has more. \
                  Of two factors: how many times larger one ratio is at the other's level. Not corrected for their number: effects are \
                  no verdicts.";
    parts.push(ReportPart::Text(Ink::Faint, legend.to_owned()));
    parts
}

fn effect(line: &EffectLine) -> Vec<String> {
    let of = |(factor, level): (&String, &String)| format!("{factor} {level}");
    let name = match (line.levels.as_slice(), line.against.as_slice()) {
        ([level], [against]) => format!("{} {level} against {against}", line.name),
        ([], _) => line.name.clone(),
        (levels, _) => line.factors.iter().zip(levels).map(of).collect::<Vec<_>>().join(" × "),
    };
    let interval = match (line.lo, line.hi, &line.reason) {
        (Some(lo), Some(hi), _) => format::interval(lo, hi),
        (_, _, Some(reason)) => reason.clone(),
        _ => String::new(),
    };
    vec![
        name,
        line.ratio.map_or(String::new(), format::ratio),
        interval,
        line.p.map_or(String::new(), format::probability),
        line.share.map_or(String::new(), format::percent),
    ]
}

fn cells(report: &StudyReport) -> Vec<ReportPart> {
    let factors = factors(report);
    let mut columns: Vec<ColumnHead> =
        factors.iter().map(|factor| ColumnHead::new(factor, Align::Left, None)).collect();
    columns.extend([
        ColumnHead::new("work", Align::Left, Some(3)),
        ColumnHead::new("number", Align::Left, None),
        ColumnHead::new("mean", Align::Right, None),
        ColumnHead::new("spread", Align::Right, Some(4)),
        ColumnHead::new("measured", Align::Left, Some(2)),
        ColumnHead::new("over", Align::Left, Some(5)),
        ColumnHead::new("missing", Align::Left, None),
    ]);
    let mut rows = Vec::new();
    for cell in &report.cells {
        let mut row: Vec<String> = factors.iter().map(|factor| level(cell, factor)).collect();
        row.push(cell.workload.clone());
        let missing = missing(cell);
        if cell.values.is_empty() {
            row.extend(["", MISSING, "", "", ""].map(str::to_owned));
            row.push(missing);
            rows.push(row);
            continue;
        }
        for value in &cell.values {
            let mut row = row.clone();
            row.extend(of_value(value, report.emulated));
            row.push(missing.clone());
            rows.push(row);
        }
    }
    let counts = &report.counts;
    let head = if counts.cells_with_value == counts.cells {
        format!("All {} cells", counts.cells)
    } else {
        format!("Cells: {} of {} have a value", counts.cells_with_value, counts.cells)
    };
    let mut table = ReportTable { columns, rows };
    without_empty(&mut table);
    let mut parts = vec![ReportPart::Heading(head), ReportPart::Table(table)];
    let reasons = reasons(report);
    if !reasons.is_empty() {
        parts.push(ReportPart::List(reasons));
    }
    if report.emulated {
        let legend = "Values in brackets were measured under emulation and mean nothing by themselves.".to_owned();
        parts.push(ReportPart::Text(Ink::Faint, legend));
    }
    parts
}

fn of_value(value: &CellValue, emulated: bool) -> [String; 5] {
    let runs = match (value.plots, value.runs) {
        (1, runs) => format!("1 plot, {runs} run{}", if runs == 1 { "" } else { "s" }),
        (plots, runs) => format!("{plots} plots, {runs} runs"),
    };
    [
        number(&value.phase, value.metric),
        shown(value.value, value.metric, emulated),
        value.cv.map_or(MISSING.to_owned(), format::percent),
        value.tier.map_or(String::new(), |tier| tier.name().to_owned()),
        runs,
    ]
}

/// `write write.bw`; a count of devices is of no phase.
fn number(phase: &str, metric: Metric) -> String {
    if metric.device_count().is_some() { metric.to_string() } else { format!("{phase} {metric}") }
}

/// A value with its unit; in brackets where it means nothing by itself.
fn shown(value: f64, metric: Metric, emulated: bool) -> String {
    let text = format::value(value, metric.unit());
    if emulated && metric.device_count().is_none() { format!("[{text}]") } else { text }
}

/// `2 failed, 1 rejected, 3 to come`.
fn missing(cell: &StudyCell) -> String {
    let counts = [(cell.failed, "failed"), (cell.rejected, "rejected"), (cell.open, "to come")];
    let said = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    said.collect::<Vec<_>>().join(", ")
}

/// Each reason once, with the cells that it is of.
fn reasons(report: &StudyReport) -> Vec<Item> {
    let mut all: Vec<(&str, u32, Vec<String>)> = Vec::new();
    for cell in &report.cells {
        for reason in &cell.reasons {
            let name = levels(&cell.levels);
            match all.iter_mut().find(|(known, _, _)| *known == reason.reason) {
                Some((_, runs, cells)) => {
                    *runs += reason.runs;
                    cells.push(name);
                }
                None => all.push((&reason.reason, reason.runs, vec![name])),
            }
        }
    }
    let item = |(reason, runs, cells): (&str, u32, Vec<String>)| {
        const SHOWN: usize = 3;
        let more = if cells.len() > SHOWN { format!(" and {} more", cells.len() - SHOWN) } else { String::new() };
        let cells = format!("{}{more}", cells.into_iter().take(SHOWN).collect::<Vec<_>>().join("; "));
        let runs = if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        Item { ink: Ink::Bad, head: runs, text: format!("of {cells}: {reason}") }
    };
    all.into_iter().map(item).collect()
}

/// Of how many cells a published number has a row each; of more there is one for each work and phase.
const CELLS_EACH_MAX: usize = 4;

/// Numbers of one file that are shown; `--json` has all.
const PUBLISHED_MAX: usize = 40;

fn published(report: &StudyReport) -> Vec<ReportPart> {
    if report.published.is_empty() {
        return Vec::new();
    }
    let (left, right) = (Align::Left, Align::Right);
    let mut table = ReportTable {
        columns: vec![
            ColumnHead::new("published", left, None),
            ColumnHead::new("number", left, None),
            ColumnHead::new("as printed", right, Some(6)),
            ColumnHead::new("that is", right, None),
            ColumnHead::new("ours of", left, Some(5)),
            ColumnHead::new("work", left, Some(3)),
            ColumnHead::new("phase", left, Some(2)),
            ColumnHead::new("ours", right, None),
            ColumnHead::new("ratio", right, None),
            ColumnHead::new("conditions", left, Some(4)),
        ],
        rows: Vec::new(),
    };
    for one in &report.published {
        for number in one.numbers.iter().take(PUBLISHED_MAX) {
            table.rows.extend(beside(one, number, report.emulated));
        }
    }
    without_empty(&mut table);
    let source = |one: &Published| {
        let stands_for = match one.levels.is_empty() {
            true => "every cell".to_owned(),
            false => levels(&one.levels),
        };
        let more = match one.numbers.len().saturating_sub(PUBLISHED_MAX) {
            0 => String::new(),
            more => format!("; {more} more numbers are in `--json`"),
        };
        let text = format!("from {} ({}), for {stands_for}{more}", one.file, one.dialect);
        Item { ink: Ink::Strong, head: one.label.clone(), text }
    };
    let mut parts = vec![
        ReportPart::Heading("Published numbers and ours".to_owned()),
        ReportPart::Text(
            Ink::Faint,
            "A published number comes without evidence, from another machine, and it is unknown what it measured: the ratio \
             (ours / published) is not a verdict."
                .to_owned(),
        ),
        ReportPart::List(report.published.iter().map(source).collect()),
        ReportPart::Text(Ink::Faint, String::new()),
        ReportPart::Table(table),
        ReportPart::List(commands(report)),
    ];
    if report.emulated {
        let legend = "Our values were measured under emulation, mean nothing, and are left out here.".to_owned();
        parts.push(ReportPart::Text(Ink::Faint, legend));
    }
    parts
}

/// What was run for the published numbers, once each.
fn commands(report: &StudyReport) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let numbers = report.published.iter().flat_map(|one| one.numbers.iter().take(PUBLISHED_MAX));
    for (by, what) in numbers.filter_map(|number| number.number.conditions.split_once(": ")) {
        if !items.iter().any(|item| item.head == by && item.text == what) {
            items.push(Item { ink: Ink::Faint, head: by.to_owned(), text: what.to_owned() });
        }
    }
    items
}

/// The rows of a published number: one for each of ours, or one for each work and phase where they are many.
fn beside(from: &Published, number: &PublishedBeside, emulated: bool) -> Vec<Vec<String>> {
    let published = &number.number;
    let row = |of: String, work: String, phase: String, ours: String, ratio: String| {
        let about = if published.about { "~" } else { "" };
        vec![
            from.label.clone(),
            published.kind.name().to_owned(),
            published.printed.clone(),
            format!("{about}{}", format::value(published.value, published.unit)),
            of,
            work,
            phase,
            ours,
            ratio,
            published.conditions.split_once(": ").map_or(published.conditions.as_str(), |(by, _)| by).to_owned(),
        ]
    };
    let none = || MISSING.to_owned();
    if number.ours.is_empty() {
        return vec![row(String::new(), String::new(), String::new(), none(), none())];
    }
    let mut groups: Vec<Vec<&OurNumber>> = Vec::new();
    for one in &number.ours {
        let is_same = |group: &&mut Vec<&OurNumber>| {
            let [first, ..] = group.as_slice() else { return false };
            number.ours.len() > CELLS_EACH_MAX && first.workload == one.workload && first.phase == one.phase
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    let of_group = |group: &Vec<&OurNumber>| {
        let values = |of: fn(&OurNumber) -> Option<f64>, set: &dyn Fn(f64) -> String| {
            let values: Vec<f64> = group.iter().copied().filter(|_| !emulated).filter_map(of).collect();
            match values.as_slice() {
                [] => MISSING.to_owned(),
                [only] => set(*only),
                many => {
                    let least = many.iter().copied().fold(f64::INFINITY, f64::min);
                    format!("{} – {}", set(least), set(many.iter().copied().fold(0.0, f64::max)))
                }
            }
        };
        let of = match group.as_slice() {
            [only] => {
                let mut others = only.levels.clone();
                others.retain(|factor, level| !from.levels.contains_key(factor) && *level != only.workload);
                levels(&others)
            }
            many => format!("{} cells", many.len()),
        };
        row(
            of,
            group[0].workload.clone(),
            number.metric.map_or(String::new(), |metric| self::number(&group[0].phase, metric)),
            values(|one| one.value, &|value| format::value(value, published.unit)),
            values(|one| one.ratio, &format::ratio),
        )
    };
    groups.iter().map(of_group).collect()
}

fn devices(report: &StudyReport) -> Vec<ReportPart> {
    if report.cells.iter().all(|cell| cell.devices.is_empty()) {
        return Vec::new();
    }
    let factors = factors(report);
    let mut columns: Vec<ColumnHead> =
        factors.iter().map(|factor| ColumnHead::new(factor, Align::Left, None)).collect();
    columns.extend([
        ColumnHead::new("work", Align::Left, Some(1)),
        ColumnHead::new("device", Align::Left, None),
        ColumnHead::new("reads", Align::Right, None),
        ColumnHead::new("read", Align::Right, Some(3)),
        ColumnHead::new("per byte", Align::Right, Some(4)),
        ColumnHead::new("writes", Align::Right, None),
        ColumnHead::new("written", Align::Right, Some(5)),
        ColumnHead::new("per byte", Align::Right, None),
        ColumnHead::new("flushes", Align::Right, Some(2)),
    ]);
    let count = |of: RunCount| exact(of, |value| format!("{value:.0}"));
    let bytes = |of: RunCount| exact(of, format::bytes_iec);
    let per_byte = |of: Option<f64>| of.map_or(String::new(), |of| format!("{of:.3}"));
    let mut rows = Vec::new();
    for cell in &report.cells {
        for device in &cell.devices {
            let mut row: Vec<String> = factors.iter().map(|factor| level(cell, factor)).collect();
            row.extend([
                cell.workload.clone(),
                // One name for all builds says more than the role alone; several would say nothing.
                match device.names.as_slice() {
                    [name] => format!("{} {name}", device.device),
                    _ => device.device.clone(),
                },
                count(device.reads),
                bytes(device.read_bytes),
                per_byte(device.read_per_byte),
                count(device.writes),
                bytes(device.written_bytes),
                per_byte(device.written_per_byte),
                count(device.flushes),
            ]);
            rows.push(row);
        }
    }
    let mut table = ReportTable { columns, rows };
    without_empty(&mut table);
    vec![
        ReportPart::Heading("Device operations per run".to_owned()),
        ReportPart::Table(table),
        ReportPart::Text(
            Ink::Faint,
            "@ names a device as the study file does; ~ marks means where runs differ. Per byte: per byte that the workload moved. Counts include laying \
             out its files."
                .to_owned(),
        ),
    ]
}

fn exact(of: RunCount, set: impl Fn(f64) -> String) -> String {
    if of.is_exact() { set(of.mean) } else { format!("~{}", set(of.mean)) }
}

/// How much was had, and how to look further.
fn had(report: &StudyReport) -> Vec<ReportPart> {
    let counts = &report.counts;
    let mut said = format!("{} plots, {} runs: {} done", counts.plots, counts.runs, counts.done);
    for (count, word) in [
        (counts.rejected, "rejected"),
        (counts.failed, "failed"),
        (counts.open, "to come"),
        (counts.not_needed, "not needed"),
    ] {
        if count > 0 {
            said.push_str(&format!(", {count} {word}"));
        }
    }
    let hash: String = report.plan_hash.chars().take(12).collect();
    vec![
        ReportPart::Text(Ink::Faint, String::new()),
        ReportPart::Text(Ink::Faint, format!("{said} · scale {} · plan {hash} · study {}", report.scale, report.id)),
    ]
}

/// The factors of the cells, by name.
fn factors(report: &StudyReport) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in report.cells.iter().flat_map(|cell| cell.levels.keys()) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // What is compared stands first.
    short_list::sort_by_key(&mut names, |name| *name != report.by);
    names
}

fn level(cell: &StudyCell, factor: &str) -> String {
    cell.levels.get(factor).cloned().unwrap_or_default()
}

fn levels(levels: &BTreeMap<String, String>) -> String {
    levels.iter().map(|(name, level)| format!("{name} {level}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;
