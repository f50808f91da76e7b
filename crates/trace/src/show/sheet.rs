//! What was found out about a recording, as numbers with names and units: pages, JSON and comparisons are all made from it.

use super::histogram::Histogram;

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Time,
    /// A part of a whole, 0 to 1.
    Share,
    /// A number without a unit.
    Ratio,
    /// Things a second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
}

impl Unit {
    /// What the unit adds to a name in JSON.
    fn suffix(self) -> &'static str {
        match self {
            Unit::Count | Unit::Ratio => "",
            Unit::Bytes => "_bytes",
            Unit::Time => "_ns",
            Unit::Share => "_share",
            Unit::PerSecond => "_per_s",
            Unit::BytesPerSecond => "_bytes_per_s",
        }
    }
}

/// A number.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The part of the sheet that it belongs to.
    pub section: &'static str,
    /// What it is.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
}

/// A table: a text and numbers a row.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetTable {
    /// What its rows are.
    pub name: &'static str,
    /// What the text of each row is.
    pub key: &'static str,
    /// Its columns of numbers.
    pub columns: Vec<(&'static str, Unit)>,
    /// Its rows; what is not known is not a number.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// All that was found out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// Numbers, those of a section together.
    pub metrics: Vec<Metric>,
    /// Tables.
    pub tables: Vec<SheetTable>,
    /// Whole distributions, for comparisons.
    pub distributions: Vec<(&'static str, Histogram)>,
    /// What limits it, in sentences.
    pub notes: Vec<String>,
}

impl Sheet {
    /// The value of a number.
    pub fn value(&self, section: &str, name: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| (metric.section, metric.name) == (section, name)).map(|metric| metric.value)
    }

    /// A table.
    pub fn table(&self, name: &str) -> Option<&SheetTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    // Called from fifty places that nobody waits for.
    #[inline(never)]
    pub(super) fn put(&mut self, section: &'static str, name: &'static str, value: f64, unit: Unit) {
        self.metrics.push(Metric { section, name, value, unit });
    }

    /// As JSON: an object a section, with names such as `mean_gap_ns`, and a list a table.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\n  \"schema\": \"plumb.trace-sheet/1\"");
        let mut section = "";
        for metric in &self.metrics {
            if metric.section != section {
                out.push_str(if section.is_empty() { "" } else { "\n  }" });
                section = metric.section;
                out.push_str(&format!(",\n  \"{}\": {{", identifier(section)));
            } else {
                out.push(',');
            }
            out.push_str(&format!(
                "\n    \"{}{}\": {}",
                identifier(metric.name),
                metric.unit.suffix(),
                number(metric.value)
            ));
        }
        out.push_str(if section.is_empty() { "" } else { "\n  }" });
        for table in &self.tables {
            let row = |(text, values): &(String, Vec<f64>)| {
                let mut row = format!("\n    {{\"{}\": {}", identifier(table.key), quoted(text));
                for ((name, unit), value) in table.columns.iter().zip(values) {
                    row.push_str(&format!(", \"{}{}\": {}", identifier(name), unit.suffix(), number(*value)));
                }
                row + "}"
            };
            let rows: Vec<String> = table.rows.iter().map(row).collect();
            out.push_str(&format!(",\n  \"{}\": [{}\n  ]", identifier(table.name), rows.join(",")));
        }
        let notes: Vec<String> = self.notes.iter().map(|note| quoted(note)).collect();
        out.push_str(&format!(",\n  \"notes\": [{}]\n}}\n", notes.join(", ")));
        out
    }
}

fn identifier(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// A number of JSON; what is none is `null`.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

/// A text of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    out + "\""
}

/// How two recordings differ in one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// In what.
    pub metric: Metric,
    /// Of the first and of the second.
    pub values: [f64; 2],
}

/// What two sheets say, side by side.
pub fn differences(one: &Sheet, other: &Sheet) -> Vec<Difference> {
    let pair = |metric: &Metric| {
        let value = other.value(metric.section, metric.name)?;
        Some(Difference { metric: metric.clone(), values: [metric.value, value] })
    };
    one.metrics.iter().filter_map(pair).collect()
}

/// How far distributions of two sheets are apart, 0 to 1 each.
pub fn distances(one: &Sheet, other: &Sheet) -> Vec<(&'static str, f64)> {
    let of = |(name, histogram): &(&'static str, Histogram)| {
        let (_, theirs) = other.distributions.iter().find(|(known, _)| known == name)?;
        Some((*name, histogram.distance(theirs)?))
    };
    let mut distances: Vec<_> = one.distributions.iter().filter_map(of).collect();
    // Mean difference of the miss ratios at the same sizes of cache.
    let curve = |sheet: &Sheet| -> Vec<f64> {
        sheet.table("miss ratios").map_or(Vec::new(), |table| table.rows.iter().map(|(_, values)| values[0]).collect())
    };
    let (ours, theirs) = (curve(one), curve(other));
    if let (Some(our_last), Some(their_last)) = (ours.last(), theirs.last()) {
        let longest = ours.len().max(theirs.len());
        let at = |curve: &[f64], last: f64, place: usize| curve.get(place).copied().unwrap_or(last);
        let apart = |place| (at(&ours, *our_last, place) - at(&theirs, *their_last, place)).abs();
        distances.push(("miss ratio curve", (0..longest).map(apart).sum::<f64>() / longest as f64));
    }
    distances
}
