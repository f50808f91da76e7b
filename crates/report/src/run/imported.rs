//! The page of an imported result: its numbers, their source, and the warning that nothing shows whether they can be trusted.

use super::{Detail, PageOptions, last_line, not_possible, state};
use crate::format::{self, MISSING};
use crate::list;
use crate::style::{Ink, Style};
use plumb_result::imported::TimeSource;
use plumb_result::metric::Better;
use plumb_result::{Imported, RunResult};

/// Largest number of numbers on a brief page.
const NUMBERS_IN_BRIEF: usize = 40;

/// Returns the whole page.
pub(super) fn page(result: &RunResult, imported: &Imported, options: &PageOptions<'_>, style: &Style) -> String {
    let mut page = state(result, style);
    page.push_str(&head(result, imported, style));
    page.push_str(&numbers(result, imported, options.detail, style));
    page.extend(imported.notes.iter().map(|note| not_possible(note, style)));
    let without =
        "Imported: neither the storage that answered nor other activity was recorded. It supports no claim by itself.";
    page.push_str(&format!("{}\n", style.wrap(without, 0)));
    if options.detail == Detail::Full && !imported.settings.is_empty() {
        page.push_str("\nSettings, in the tool's words:\n");
        for (name, value) in &imported.settings {
            page.push_str(&format!("  {}\n", style.wrap(&format!("{name} = {value}"), 4)));
        }
        page.push('\n');
    }
    page + &last_line(result, options, style)
}

/// Describes the source, `fio 3.36, imported from results.json (json), run 2026-11-20 18:46:27 UTC`, and the command.
fn head(result: &RunResult, imported: &Imported, style: &Style) -> String {
    let version = if result.tool.version.is_empty() { String::new() } else { format!(" {}", result.tool.version) };
    let file = if imported.file.is_empty() { "standard input" } else { &imported.file };
    let at = result.started_at.get(..19).unwrap_or(&result.started_at).replace('T', " ");
    let at = match imported.time {
        TimeSource::Tool => format!("run {at} UTC"),
        TimeSource::File => format!("file of {at} UTC"),
    };
    let host = &result.environment.hostname;
    let host = if host.is_empty() { String::new() } else { format!(", on {host}") };
    let name = &result.tool.name;
    let wording = format!("{name}{version}, imported from {file} ({}), {at}{host}", imported.form);
    let mut text = format!("{}\n", style.ink(Ink::Strong, &style.wrap(&wording, 2)));
    for path in result.target.values().map(|facts| &facts.path) {
        text.push_str(&format!("  {}\n", style.wrap(path, 4)));
    }
    if let Some(command) = &imported.command {
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(command, 4))));
    }
    text + "\n"
}

fn numbers(result: &RunResult, imported: &Imported, detail: Detail, style: &Style) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for phase in &result.phases {
        let mut name = match phase.wall_ns {
            0 => phase.name.clone(),
            wall_ns => format!("{}, {}", phase.name, format::time_brief(wall_ns as f64)),
        };
        let metrics = phase.metrics.iter().map(|(metric, value)| {
            let shown = value.value.map_or(MISSING.to_owned(), |value| format::metric(value, *metric));
            (metric.to_string(), shown, better(metric.better()))
        });
        let others = imported.numbers.iter().filter(|number| number.phase == phase.name).map(|number| {
            let shown = number.value.map_or(MISSING.to_owned(), |value| in_unit(value, &number.unit));
            (number.name.clone(), shown, number.better.map_or("", better))
        });
        for (number, value, better) in metrics.chain(others) {
            rows.push(vec![std::mem::take(&mut name), number, value, better.to_owned()]);
        }
    }
    let more = rows.len().saturating_sub(NUMBERS_IN_BRIEF);
    if detail == Detail::Brief && more > 0 {
        rows.truncate(NUMBERS_IN_BRIEF);
    }
    let mut text = list::table(&["phase", "number", "value", "better"], &rows, style);
    if detail == Detail::Brief && more > 0 {
        text.push_str(&format!("{more} more numbers with -v\n"));
    }
    text + "\n"
}

const fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

/// Formats a number without a metric in its unit.
fn in_unit(value: f64, unit: &str) -> String {
    match unit {
        "ns" => format::time(value),
        "B/s" => format::rate_si(value),
        "ops/s" => format::per_second(value),
        "" => format::count(value),
        unit => format!("{} {unit}", (value * 1e3).round() / 1e3),
    }
}
