//! Pages that describe a recording, and the differences between two.

use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_trace::show::{Sheet, SheetTable, Unit, differences, distances};

/// Formats a number with its unit.
pub(crate) fn set(value: f64, unit: Unit) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    match unit {
        Unit::Count if value < 10_000.0 && value.fract() == 0.0 => format!("{value}"),
        Unit::Count => format::count(value),
        Unit::Bytes => format::bytes_brief(value),
        Unit::Time => format::time(value),
        Unit::Share => format::percent(value),
        Unit::Ratio => format::ratio(value),
        Unit::PerSecond => format::per_second(value),
        Unit::BytesPerSecond => format::rate_si(value),
    }
}

/// Describes a recording in a sentence. `name` is the file, `form` its format.
pub fn answer(name: &str, form: &str, sheet: &Sheet) -> String {
    let value = |section: &str, name: &str, unit: Unit| {
        sheet.value(section, name).map_or(MISSING.to_owned(), |value| set(value, unit))
    };
    let many = |thing: &str| {
        let count = sheet.value("mix", thing).unwrap_or(0.0);
        format!("{} {}", set(count, Unit::Count), if count == 1.0 { thing.trim_end_matches('s') } else { thing })
    };
    let mut answer = format!(
        "{name} ({form}): {} in {} on {} by {}",
        many("ops"),
        value("mix", "length", Unit::Time),
        many("files"),
        many("threads")
    );
    if sheet.value("data ops", "mean size").is_some() {
        answer.push_str(&format!(
            "; {} of data ops read, half are of {} or less, {} are sequential; the working set is {}",
            value("mix", "reads of data ops", Unit::Share),
            value("data ops", "size p50", Unit::Bytes),
            value("data ops", "sequential in their file", Unit::Share),
            value("locality", "working set", Unit::Bytes)
        ));
    }
    answer + "."
}

/// Returns the page of a recording. `name` is the file, `form` its format.
pub fn page(name: &str, form: &str, sheet: &Sheet, style: &Style) -> String {
    let mut page = format!("{}\n", style.ink(Ink::Strong, &style.wrap(&answer(name, form, sheet), 0)));
    let mut section = "";
    let width = sheet.metrics.iter().map(|metric| metric.name.len()).max().unwrap_or(0);
    for metric in &sheet.metrics {
        if metric.section != section {
            section = metric.section;
            page.push_str(&format!("\n{}\n", style.ink(Ink::Faint, section)));
        }
        page.push_str(&format!("  {:width$}  {:>10}\n", metric.name, set(metric.value, metric.unit)));
    }
    sheet.tables.iter().filter(|table| !table.rows.is_empty()).for_each(|table| page.push_str(&table_of(table, style)));
    if !sheet.notes.is_empty() {
        page.push('\n');
        sheet.notes.iter().for_each(|note| page.push_str(&format!("{}\n", style.wrap(note, 0))));
    }
    page
}

/// Number of rows of each table on one screen.
const BRIEF_ROWS: usize = 5;

/// Files that the start of a program reads: libraries, locale and time zone.
const OF_START: [&str; 10] = [
    "/lib/",
    "/lib64/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/share/locale/",
    "/usr/share/zoneinfo/",
    "/etc/ld.so.",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/usr/local/lib/",
];

/// Returns the page of a recording on one screen: the sentence, the most important numbers, the ops,
/// and the program's own files.
pub fn brief(name: &str, form: &str, sheet: &Sheet, style: &Style) -> String {
    let mut page = format!("{}\n\n", style.ink(Ink::Strong, &style.wrap(&answer(name, form, sheet), 0)));
    let number = |section: &str, name: &str| {
        let found = sheet.metrics.iter().find(|metric| (metric.section, metric.name) == (section, name))?;
        Some(set(found.value, found.unit))
    };
    let lines = [
        [("read", "mix", "read"), ("written", "mix", "written"), ("durable writes", "mix", "durable writes")],
        [("ops", "arrivals", "ops"), ("data", "arrivals", "data"), ("in flight", "arrivals", "mean in flight")],
    ];
    for line in lines {
        let parts =
            line.into_iter().filter_map(|(label, section, name)| Some(format!("{label} {}", number(section, name)?)));
        let parts: Vec<String> = parts.collect();
        if !parts.is_empty() {
            page.push_str(&format!("  {}\n", parts.join(" · ")));
        }
    }
    let is_of_start = |name: &str| OF_START.iter().any(|start| name.starts_with(start));
    for name in ["ops", "busiest files"] {
        let Some(table) = sheet.table(name).filter(|table| !table.rows.is_empty()) else { continue };
        let own: Vec<_> = table.rows.iter().filter(|(key, _)| name == "ops" || !is_of_start(key)).cloned().collect();
        let mut rows = if own.is_empty() { table.rows.clone() } else { own };
        rows.truncate(BRIEF_ROWS);
        page.push_str(&table_of(&SheetTable { rows, ..table.clone() }, style));
    }
    page.push('\n');
    sheet.notes.iter().for_each(|note| page.push_str(&format!("{}\n", style.wrap(note, 0))));
    page.push_str(&style.ink(Ink::Faint, "All numbers, sizes, miss ratios and threads: -v"));
    page.push('\n');
    page
}

fn table_of(table: &SheetTable, style: &Style) -> String {
    let column = |title: &str, align, cells| Column { title: title.to_owned(), cells, align, hide_order: None };
    // File names come from other programs, and must not be able to move the cursor.
    let plain = |key: &str| key.replace(char::is_control, "\u{fffd}");
    let keys = table.rows.iter().map(|(key, _)| plain(key)).collect();
    let mut columns = vec![column(table.key, Align::Left, keys)];
    for (place, (title, unit)) in table.columns.iter().enumerate() {
        let cells = table.rows.iter().map(|(_, values)| set(values[place], *unit)).collect();
        columns.push(column(title, Align::Right, cells));
    }
    let lines = table::set(columns, style.width);
    let head = style.ink(Ink::Faint, &format!("{}\n{}", table.name, lines.head));
    format!("\n{head}\n{}\n", lines.rows.join("\n"))
}

/// Returns a sentence that states whether two recordings are alike.
pub fn likeness(sheets: [&Sheet; 2]) -> String {
    match distances(sheets[0], sheets[1]).iter().filter(|(_, distance)| *distance > 0.1).count() {
        0 => "The two are alike: no distribution differs by more than 10 % anywhere.".to_owned(),
        1 => "One distribution differs by more than 10 % somewhere.".to_owned(),
        far => format!("{far} distributions differ by more than 10 % somewhere."),
    }
}

/// Returns the page with the differences of two recordings.
pub fn comparison(names: [&str; 2], sheets: [&Sheet; 2], style: &Style) -> String {
    let distances = distances(sheets[0], sheets[1]);
    let mut page = format!("{}\n\n", style.ink(Ink::Strong, &style.wrap(&likeness(sheets), 0)));
    page.push_str(&format!("A  {}\nB  {}\n\n", names[0], names[1]));
    let found = differences(sheets[0], sheets[1]);
    let column =
        |title: &str, align, cells: Vec<String>| Column { title: title.to_owned(), cells, align, hide_order: None };
    let side = |side: usize| found.iter().map(|one| set(one.values[side], one.metric.unit)).collect();
    let ratio =
        |values: [f64; 2]| if values[0] == values[1] { "=".to_owned() } else { format::ratio(values[1] / values[0]) };
    let columns = vec![
        column(
            "",
            Align::Left,
            found.iter().map(|one| format!("{}: {}", one.metric.section, one.metric.name)).collect(),
        ),
        column("A", Align::Right, side(0)),
        column("B", Align::Right, side(1)),
        column("B / A", Align::Right, found.iter().map(|one| ratio(one.values)).collect()),
    ];
    let lines = table::set(columns, style.width);
    page.push_str(&format!("{}\n{}\n", style.ink(Ink::Faint, &lines.head), lines.rows.join("\n")));
    if !distances.is_empty() {
        let columns = vec![
            column("distribution", Align::Left, distances.iter().map(|(name, _)| (*name).to_owned()).collect()),
            column("distance", Align::Right, distances.iter().map(|(_, distance)| format!("{distance:.3}")).collect()),
        ];
        let lines = table::set(columns, style.width);
        page.push_str(&format!("\n{}\n{}\n", style.ink(Ink::Faint, &lines.head), lines.rows.join("\n")));
        let note = "A distance is the largest difference of the shares of ops up to any value (Kolmogorov-Smirnov), 0 to 1; that of miss \
                    ratio curves is their mean difference.";
        page.push_str(&format!("\n{}\n", style.wrap(note, 0)));
    }
    page
}

/// Up to this difference, a number or distribution of a model is like the recording's; up to twice that, nearly.
const LIKE: f64 = 0.1;

/// Returns the verdict on a difference or distance of a model: pass, warn or fail.
pub fn goodness_verdict(distance: f64) -> &'static str {
    match distance {
        distance if distance <= LIKE => "pass",
        distance if distance <= 2.0 * LIKE => "warn",
        _ => "fail",
    }
}

/// Returns the page that compares a model with its recording: differences of shares, and distances of
/// distributions, 0 to 1 each.
pub fn goodness(lines: &[(&str, f64)], style: &Style) -> String {
    let verdict = |distance: f64| match goodness_verdict(distance) {
        "pass" => ("PASS", Ink::Good),
        "warn" => ("WARN", Ink::Caution),
        _ => ("FAIL", Ink::Bad),
    };
    let unlike = lines.iter().filter(|(_, distance)| *distance > LIKE).count();
    let answer = match unlike {
        0 => "The model is like the recording in all that is compared.".to_owned(),
        1 => "The model differs from the recording in one thing.".to_owned(),
        unlike => format!("The model differs from the recording in {unlike} things."),
    };
    let mut page = format!("{}\n", style.ink(Ink::Strong, &answer));
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, distance) in lines {
        let (word, ink) = verdict(*distance);
        page.push_str(&format!("  {name:width$}  {}  {distance:.3}\n", style.ink(ink, word)));
    }
    page
}
