//! Reports as a list of parts, printed for a terminal or as Markdown with the same content.

use crate::measure;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_chart::Chart;
use plumb_result::Level;
use plumb_text::markdown::escaped;

/// One part of a report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReportPart {
    /// Heading of the following parts.
    Heading(String),
    /// A paragraph, with its ink.
    Text(Ink, String),
    /// Lines of one kind, each with a head and a text.
    List(Vec<Item>),
    Table(ReportTable),
    /// Facts about several things; facts that all share are printed once.
    Facts(FactTable),
    /// A chart, left out on a terminal.
    Chart(Box<Chart>),
}

impl ReportPart {
    pub(crate) fn chart(chart: Chart) -> ReportPart {
        ReportPart::Chart(Box::new(chart))
    }

    /// Applies `change` to every text of the part.
    pub(crate) fn map_texts(&mut self, change: &mut dyn FnMut(&str) -> String) {
        let mut each = |text: &mut String| *text = change(text);
        match self {
            ReportPart::Heading(text) | ReportPart::Text(_, text) => each(text),
            ReportPart::List(items) => {
                items.iter_mut().flat_map(|item| [&mut item.head, &mut item.text]).for_each(each);
            }
            ReportPart::Table(table) => {
                table.columns.iter_mut().for_each(|head| each(&mut head.title));
                table.rows.iter_mut().flatten().for_each(each);
            }
            ReportPart::Facts(facts) => {
                facts.columns.iter_mut().for_each(&mut each);
                for (name, values) in &mut facts.rows {
                    each(name);
                    values.iter_mut().for_each(&mut each);
                }
            }
            ReportPart::Chart(chart) => chart.map_texts(change),
        }
    }
}

/// Facts by name, with a value for each column; empty if unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactTable {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) ink: Ink,
    /// Head of the line, such as `warn A3`; may be empty.
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Item {
    /// Creates the line of a finding: `warn A3`, its sentence, and its remedy if there is one.
    pub(crate) fn finding(level: Level, code: &str, message: &str, remedy: &str) -> Item {
        let ink = match level {
            Level::Fail => Ink::Bad,
            Level::Warn => Ink::Caution,
            Level::Note | Level::Skipped | Level::Pass => Ink::Faint,
        };
        let text = if remedy.is_empty() { message.to_owned() } else { format!("{message} → {remedy}") };
        Item { ink, head: format!("{} {code}", level.name()), text }
    }

    /// Creates the line for a report without warnings.
    pub(crate) fn no_warnings() -> Item {
        Item { ink: Ink::Good, head: String::new(), text: "No warnings.".to_owned() }
    }
}

/// A table whose rows all have as many cells as there are columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportTable {
    pub(crate) columns: Vec<ColumnHead>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// Title and layout of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnHead {
    pub(crate) title: String,
    pub(crate) align: Align,
    /// As in [`Column::hide_order`]; Markdown shows all columns.
    pub(crate) hide_order: Option<u32>,
}

impl ColumnHead {
    pub(crate) fn new(title: &str, align: Align, hide_order: Option<u32>) -> ColumnHead {
        ColumnHead { title: title.to_owned(), align, hide_order }
    }
}

/// Prints the parts for a terminal.
pub(crate) fn terminal(parts: &[ReportPart], style: &Style) -> String {
    let mut page = String::new();
    for part in parts {
        match part {
            ReportPart::Heading(title) => {
                page.push_str(&format!("\n{}\n", style.ink(Ink::Strong, &style.wrap(title, 0))));
            }
            ReportPart::Text(ink, text) => page.push_str(&format!("{}\n", style.ink(*ink, &style.wrap(text, 0)))),
            ReportPart::List(items) => page.extend(items.iter().map(|item| line(item, style))),
            ReportPart::Table(table) => page.push_str(&columns(table, style)),
            ReportPart::Facts(facts) => page.extend(fact_items(facts).iter().map(|item| line(item, style))),
            ReportPart::Chart(_) => {}
        }
    }
    page
}

/// Returns one line for each fact that all share, and one for each thing if they differ, because values may be long.
fn fact_items(facts: &FactTable) -> Vec<Item> {
    let width = facts.rows.iter().map(|(name, _)| measure::width(name)).max().unwrap_or(0);
    let item = |head: &str, text: String| Item { ink: Ink::Strong, head: measure::left(head, width + 1), text };
    let mut items = Vec::new();
    for (name, values) in &facts.rows {
        match shared(values) {
            Some(value) => items.push(item(name, value.clone())),
            None => items.extend(
                facts
                    .columns
                    .iter()
                    .zip(values)
                    .filter(|(_, value)| !value.is_empty())
                    .map(|(column, value)| item(name, format!("({column}) {value}"))),
            ),
        }
    }
    items
}

fn shared(values: &[String]) -> Option<&String> {
    let first = values.first()?;
    values.iter().all(|value| value == first).then_some(first)
}

fn line(item: &Item, style: &Style) -> String {
    if item.head.is_empty() {
        return format!("  {}\n", style.wrap(&item.text, 4));
    }
    format!("  {} {}\n", style.ink(item.ink, &item.head), style.wrap(&item.text, measure::width(&item.head) + 3))
}

fn columns(table: &ReportTable, style: &Style) -> String {
    let column = |(index, head): (usize, &ColumnHead)| Column {
        title: head.title.clone(),
        cells: table.rows.iter().map(|row| row.get(index).cloned().unwrap_or_default()).collect(),
        align: head.align,
        hide_order: head.hide_order,
    };
    let lines = table::set(table.columns.iter().enumerate().map(column).collect(), style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &lines.head));
    text.extend(lines.rows.iter().map(|row| format!("{row}\n")));
    text
}

/// Prints the parts as Markdown (GitHub's, which has tables). Charts are images in `images`.
pub(crate) fn markdown(parts: &[ReportPart], images: &str) -> String {
    let mut page = String::new();
    for part in parts {
        match part {
            ReportPart::Heading(title) => page.push_str(&format!("## {}\n\n", escaped(title))),
            ReportPart::Text(Ink::Strong, text) => page.push_str(&format!("**{}**\n\n", escaped(text))),
            ReportPart::Text(_, text) => page.push_str(&format!("{}\n\n", escaped(text))),
            ReportPart::List(items) => {
                page.extend(items.iter().map(|item| match item.head.is_empty() {
                    true => format!("- {}\n", escaped(&item.text)),
                    false => format!("- **{}** {}\n", escaped(&item.head), escaped(&item.text)),
                }));
                page.push('\n');
            }
            ReportPart::Table(table) => page.push_str(&pipes(table)),
            ReportPart::Facts(facts) => page.push_str(&pipes(&fact_table(facts))),
            ReportPart::Chart(chart) => {
                let alt = escaped(&chart.alt.replace(['[', ']'], " "));
                let title = escaped(&chart.title);
                page.push_str(&format!(
                    "### {title}\n\n![{alt}]({images}/{}.svg)\n\n{}\n\n",
                    chart.name,
                    escaped(&chart.caption)
                ));
            }
        }
    }
    page
}

/// Returns a table with one column for each thing, or a single column if nothing differs.
pub(crate) fn fact_table(facts: &FactTable) -> ReportTable {
    let alike = facts.rows.iter().all(|(_, values)| shared(values).is_some());
    let columns: &[String] = if alike { &[] } else { &facts.columns };
    let head = |title: &str| ColumnHead::new(title, Align::Left, None);
    let row = |(name, values): &(String, Vec<String>)| {
        let values = if alike { &values[..values.len().min(1)] } else { values.as_slice() };
        std::iter::once(name.clone()).chain(values.iter().cloned()).collect()
    };
    let titles = if alike { vec![head("")] } else { columns.iter().map(|title| head(title)).collect() };
    ReportTable {
        columns: std::iter::once(head("")).chain(titles).collect(),
        rows: facts.rows.iter().map(row).collect(),
    }
}

fn pipes(table: &ReportTable) -> String {
    let row = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = row(&mut table.columns.iter().map(|head| escaped(&head.title)));
    text.push_str(&row(&mut table.columns.iter().map(|head| match head.align {
        Align::Left => "---".to_owned(),
        Align::Right => "---:".to_owned(),
    })));
    text.extend(table.rows.iter().map(|cells| row(&mut cells.iter().map(|cell| escaped(cell)))));
    text.push('\n');
    text
}
