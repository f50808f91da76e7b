//! The characteristics of a recording, as numbers with names and units. Pages, JSON and comparisons are made from it.

use super::histogram::Histogram;
use super::rates::Rates;

/// Unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain count.
    Count,
    Bytes,
    /// A duration in nanoseconds.
    Time,
    /// A fraction from 0 to 1.
    Share,
    /// A number without a unit.
    Ratio,
    /// Events per second.
    PerSecond,
    BytesPerSecond,
}

impl Unit {
    /// Returns the unit's suffix for names in JSON.
    pub fn suffix(self) -> &'static str {
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

/// All numbers that a sheet can have, grouped by section, in order.
pub const METRICS: [(&str, &str, Unit); 49] = {
    use Unit::*;
    [
        ("mix", "ops", Count),
        ("mix", "length", Time),
        ("mix", "files", Count),
        ("mix", "threads", Count),
        ("mix", "reads of data ops", Share),
        ("mix", "read", Bytes),
        ("mix", "written", Bytes),
        ("mix", "durable writes", Share),
        ("mix", "errors", Count),
        ("arrivals", "ops", PerSecond),
        ("arrivals", "data", BytesPerSecond),
        ("arrivals", "mean gap", Time),
        ("arrivals", "gap p50", Time),
        ("arrivals", "gap p99", Time),
        ("arrivals", "squared variation of gaps", Ratio),
        ("arrivals", "busiest second by mean", Ratio),
        ("arrivals", "dispersion at 1 ms", Ratio),
        ("arrivals", "dispersion at 10 ms", Ratio),
        ("arrivals", "dispersion at 100 ms", Ratio),
        ("arrivals", "dispersion at 1 s", Ratio),
        ("arrivals", "dispersion at 10 s", Ratio),
        ("arrivals", "Hurst exponent", Ratio),
        ("arrivals", "mean in flight", Ratio),
        ("arrivals", "in flight p99", Count),
        ("data ops", "mean size", Bytes),
        ("data ops", "size p50", Bytes),
        ("data ops", "size p99", Bytes),
        ("data ops", "multiples of 512 B", Share),
        ("data ops", "multiples of 4 KiB", Share),
        ("data ops", "sequential in their file", Share),
        ("data ops", "continue a recent op", Share),
        ("data ops", "mean run", Count),
        ("data ops", "seek p50", Bytes),
        ("data ops", "written per flush, mean", Bytes),
        ("locality", "working set", Bytes),
        ("locality", "only read", Bytes),
        ("locality", "only written", Bytes),
        ("locality", "read and written", Bytes),
        ("locality", "first use of a block", Share),
        ("locality", "uses of the hottest 1 %", Share),
        ("locality", "uses of the hottest 10 %", Share),
        ("locality", "uses of the hottest 20 %", Share),
        ("locality", "Zipf exponent", Ratio),
        ("files", "opens", Count),
        ("files", "unlinks", Count),
        ("files", "size at close p50", Bytes),
        ("files", "moved per open p50", Bytes),
        ("files", "lifetime p50", Time),
        ("files", "made and removed", Count),
    ]
};

/// A table's name, its key column, and its columns of numbers.
pub(crate) type TableHead = (&'static str, &'static str, &'static [(&'static str, Unit)]);

/// All tables of a sheet.
pub const TABLES: [TableHead; 5] = {
    use Unit::*;
    [
        (
            "ops",
            "op",
            &[("count", Count), ("part", Share), ("data", Bytes), ("p50", Time), ("p99", Time), ("errors", Count)],
        ),
        ("sizes", "bytes", &[("size", Bytes), ("part", Share), ("reads", Count), ("writes", Count)]),
        ("miss ratios", "MiB of cache", &[("misses", Share)]),
        ("busiest files", "file", &[("ops", Count), ("part", Share), ("read", Bytes), ("written", Bytes)]),
        ("busiest threads", "thread", &[("ops", Count), ("data", Bytes)]),
    ]
};

/// A number of a sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Section of the sheet.
    pub section: &'static str,
    /// Name within the section.
    pub name: &'static str,
    pub value: f64,
    pub unit: Unit,
}

/// A table: each row has a text and numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct SheetTable {
    pub name: &'static str,
    /// Name of the text column.
    pub key: &'static str,
    /// The columns of numbers.
    pub columns: &'static [(&'static str, Unit)],
    /// Rows; NaN for unknown values.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// The characteristics of a recording.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// Numbers, grouped by section.
    pub metrics: Vec<Metric>,
    pub tables: Vec<SheetTable>,
    /// Ops over time.
    pub rates: Rates,
    /// Whole distributions, for comparisons.
    pub distributions: Vec<(&'static str, Histogram)>,
    /// Limitations, in sentences.
    pub notes: Vec<String>,
}

impl Sheet {
    /// Returns the value of a number.
    pub fn value(&self, section: &str, name: &str) -> Option<f64> {
        self.metrics.iter().find(|metric| (metric.section, metric.name) == (section, name)).map(|metric| metric.value)
    }

    /// Returns the table with this name.
    pub fn table(&self, name: &str) -> Option<&SheetTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    // Called from fifty places, none of them time-critical.
    #[inline(never)]
    pub(super) fn put(&mut self, section: &str, name: &str, value: f64) {
        let known = METRICS.iter().find(|known| (known.0, known.1) == (section, name));
        debug_assert!(known.is_some(), "{section}: {name} is not in the table");
        self.metrics.extend(known.map(|&(section, name, unit)| Metric { section, name, value, unit }));
    }

    /// Fills a table.
    pub(super) fn table_of(&mut self, name: &str, rows: Vec<(String, Vec<f64>)>) {
        let known = TABLES.iter().find(|known| known.0 == name);
        debug_assert!(known.is_some(), "{name} is not in the table of tables");
        self.tables.extend(known.map(|&(name, key, columns)| SheetTable { name, key, columns, rows }));
    }

    /// Formats the sheet as JSON: an object per section, with names such as `mean_gap_ns`, and a list per table.
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

/// Returns a name for JSON, without its unit.
pub fn identifier(name: &str) -> String {
    name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
}

/// Formats a number for JSON; `null` if it is not finite.
fn number(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { "null".to_owned() }
}

/// Formats a text for JSON.
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

/// A difference between two recordings.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The number that differs, with the first recording's value.
    pub metric: Metric,
    /// Values of the first and the second recording.
    pub values: [f64; 2],
}

/// Compares the numbers of two sheets.
pub fn differences(one: &Sheet, other: &Sheet) -> Vec<Difference> {
    let pair = |metric: &Metric| {
        let value = other.value(metric.section, metric.name)?;
        Some(Difference { metric: metric.clone(), values: [metric.value, value] })
    };
    one.metrics.iter().filter_map(pair).collect()
}

/// Returns the distances between the distributions of two sheets, each 0 to 1.
pub fn distances(one: &Sheet, other: &Sheet) -> Vec<(&'static str, f64)> {
    let of = |(name, histogram): &(&'static str, Histogram)| {
        let (_, theirs) = other.distributions.iter().find(|(known, _)| known == name)?;
        Some((*name, histogram.distance(theirs)?))
    };
    let mut distances: Vec<_> = one.distributions.iter().filter_map(of).collect();
    // Mean difference of the miss ratios at equal cache sizes.
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
