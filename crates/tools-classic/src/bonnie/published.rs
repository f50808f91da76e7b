//! Parses the numbers of Bonnie++'s CSV lines: 1.03, and 1.9x and later.

use super::Test;
use plumb_result::published::Unread;
use plumb_result::{CellMetric, PublishedNumber, Unit};

/// Positions of the fields in a line. Each rate is followed by its CPU usage.
struct Layout {
    /// Number of fields.
    fields: usize,
    name: usize,
    /// Fields with the file's size.
    size: std::ops::Range<usize>,
    /// First of six pairs: characters, blocks, seeks.
    large: usize,
    /// Fields that describe the small files.
    files: std::ops::Range<usize>,
}

impl Layout {
    /// Returns the first of six pairs for the small files.
    const fn small(&self) -> usize {
        self.files.end
    }
}

const LAYOUTS: [Layout; 3] = [
    // 1.03
    Layout { fields: 27, name: 0, size: 1..2, large: 2, files: 14..15 },
    // 1.96 and 1.97; latencies follow.
    Layout { fields: 48, name: 2, size: 5..7, large: 7, files: 19..24 },
    // From 1.98 on, with the numbers of seeks and seekers.
    Layout { fields: 50, name: 2, size: 5..7, large: 9, files: 21..26 },
];

/// A line with fewer fields is text, not a line of values.
const FIELDS_MIN: usize = 20;

/// The contents of a CSV line.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedLine {
    /// Line number in the text, from 1.
    pub line: usize,
    /// Version of the tool; `None` for 1.03.
    pub version: Option<String>,
    pub machine: String,
    /// Number of processes per test; `None` for 1.03.
    pub concurrency: Option<String>,
    /// Size of the file, followed by the chunk size if it is not the default: `256M:8192`.
    pub size: String,
    /// The small files in the syntax of `-n`: `8:4096:::8`.
    pub files: String,
    /// The tests that ran, in order.
    pub tests: Vec<PublishedTest>,
}

/// A test of a CSV line.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedTest {
    pub test: Test,
    /// `None` if the test was too short to be measured (`+++++`).
    pub rate: Option<PublishedNumber>,
    /// CPU usage in percent.
    pub cpu_percent: Option<f64>,
    /// Longest call in nanoseconds; `None` for 1.03.
    pub latency_max_ns: Option<f64>,
}

/// Parses the numbers of all CSV lines in a text. Other lines, such as tables, are skipped.
///
/// `+++++` marks a test that was too short and is not a number. The maximum latencies after the rates are omitted.
///
/// # Errors
///
/// An incomplete line, or a text without any, with the place.
pub fn published(text: &str) -> Result<Vec<PublishedNumber>, Unread> {
    let rates = published_lines(text)?.into_iter().flat_map(|line| line.tests).filter_map(|test| test.rate);
    let found: Vec<PublishedNumber> = rates.collect();
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

/// Parses all CSV lines in a text. Other lines, such as tables, are skipped.
///
/// # Errors
///
/// An incomplete line, or a text without any, with the place.
pub fn published_lines(text: &str) -> Result<Vec<PublishedLine>, Unread> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let is_head = matches!(fields[0], "name" | "format_version");
        if fields.len() >= FIELDS_MIN && !is_head {
            found.push(of_line(line, &fields).map_err(|unread| Unread { place: format!("line {line}"), ..unread })?);
        }
    }
    if found.is_empty() { Err(nothing()) } else { Ok(found) }
}

fn nothing() -> Unread {
    Unread {
        place: String::new(),
        message: "there are no Bonnie++ results in it".to_owned(),
        help: "give its CSV lines, as `-q` prints them; `+++++` is not a number".to_owned(),
    }
}

fn of_line(line: usize, fields: &[&str]) -> Result<PublishedLine, Unread> {
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.fields == fields.len()) else {
        return Err(Unread {
            place: String::new(),
            message: format!("a line of {} values", fields.len()),
            help: "Bonnie++ 1.03 prints 27, 1.96 and 1.97 print 48, later versions 50; give the whole line".to_owned(),
        });
    };
    let is_new = layout.name > 0;
    let mut found = PublishedLine {
        line,
        version: is_new.then(|| fields[1].to_owned()),
        machine: fields[layout.name].to_owned(),
        concurrency: is_new.then(|| fields[layout.name + 1].to_owned()),
        size: joined(&fields[layout.size.clone()]),
        files: joined(&fields[layout.files.clone()]),
        tests: Vec::new(),
    };
    let (large, small) = Test::ALL.split_at(6);
    let parts = [(large, layout.large, found.size.clone()), (small, layout.small(), format!("-n {}", found.files))];
    let latencies = layout.small() + 2 * small.len();
    for (tests, first, sizes) in parts {
        for (test, field) in tests.iter().zip((first..).step_by(2)) {
            if fields[field].is_empty() {
                continue;
            }
            let conditions = format!("bonnie++ on {}, {sizes}", fields[layout.name]);
            found.tests.push(PublishedTest {
                test: *test,
                rate: number(*test, fields[field], conditions)?,
                cpu_percent: fields[field + 1].parse().ok(),
                latency_max_ns: fields.get(latencies + *test as usize).and_then(|text| latency_ns(text)),
            });
        }
    }
    Ok(found)
}

/// Parses `141ms`, `91929us` or `2s`.
fn latency_ns(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[number.len()..] {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? as f64 * factor)
}

/// Joins related fields like the tool's own tables: `8:16384:1024`.
fn joined(fields: &[&str]) -> String {
    fields.join(":").trim_end_matches(':').to_owned()
}

fn number(test: Test, printed: &str, conditions: String) -> Result<Option<PublishedNumber>, Unread> {
    if printed.is_empty() || printed.bytes().all(|byte| byte == b'+') {
        return Ok(None);
    }
    let is_plain = printed.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let Some(value) = printed.parse::<f64>().ok().filter(|_| is_plain) else {
        return Err(Unread {
            place: String::new(),
            message: format!("`{printed}` is not a number (test `{}`)", test.phase()),
            help: "give the CSV line as Bonnie++ printed it".to_owned(),
        });
    };
    const BYTES_PER_KIB: f64 = 1024.0;
    let (unit, factor, words) = match test {
        _ if test.moves_bytes() => (Unit::BytesPerSecond, BYTES_PER_KIB, "K/sec"),
        _ => (Unit::OpsPerSecond, 1.0, "/sec"),
    };
    Ok(PublishedNumber::new(test.kind(), format!("{printed} {words}"), value * factor, unit, conditions))
}

impl Test {
    /// Whether its rate is in bytes.
    pub fn moves_bytes(self) -> bool {
        self < Test::Seeks
    }

    /// Returns the unit of its rate.
    pub fn kind(self) -> CellMetric {
        match self {
            Test::BytesOut => CellMetric::CharWrite,
            Test::BlocksOut => CellMetric::Write,
            Test::Rewrite => CellMetric::Rewrite,
            Test::BytesIn => CellMetric::CharRead,
            Test::BlocksIn => CellMetric::Read,
            Test::Seeks => CellMetric::Seeks,
            Test::CreateInOrder => CellMetric::Create,
            Test::StatInOrder => CellMetric::Stat,
            Test::DeleteInOrder => CellMetric::Delete,
            Test::CreateAtRandom => CellMetric::RandomCreate,
            Test::StatAtRandom => CellMetric::RandomStat,
            Test::DeleteAtRandom => CellMetric::RandomDelete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "golden,96M,26807,8,+++++,+++,+++++,+++,27263,8,+++++,+++,+++++,+++,8:4096:0/8,9094,8,+++++,+++,\
                       11634,8,9055,8,+++++,+++,8196,8\n";
    const NEW: &str = "1.98,2.00a,golden,1,42,256M,,8192,5,291,8,189069,7,223353,7,437,8,439362,7,13966.5,25,8,4096,,,8,\
                       7391,6,+++++,+++,7504,7,6742,6,+++++,+++,6150,8,141ms,91929us,97899us,93502us,88236us,156ms,\
                       94183us,78209us,96806us,94413us,90936us,92668us\n";

    fn parse(text: &str) -> Vec<(CellMetric, String, f64, String)> {
        let numbers = published(text).unwrap_or_else(|unread| panic!("{unread}"));
        numbers.into_iter().map(|one| (one.kind, one.printed, one.value, one.conditions)).collect()
    }

    // Protects: each number is assigned to the test that printed it, byte rates are in KiB, and `+++++` has no number.
    #[test]
    fn lines_of_all_versions_are_read() {
        let old = parse(OLD);
        let kinds: Vec<CellMetric> = old.iter().map(|one| one.0).collect();
        use CellMetric::*;
        assert_eq!(kinds, [CharWrite, CharRead, Create, Delete, RandomCreate, RandomDelete]);
        let of_characters =
            (CharWrite, "26807 K/sec".to_owned(), 26807.0 * 1024.0, "bonnie++ on golden, 96M".to_owned());
        assert_eq!(old[0], of_characters);
        let of_files = (Create, "9094 /sec".to_owned(), 9094.0, "bonnie++ on golden, -n 8:4096:0/8".to_owned());
        assert_eq!(old[2], of_files);

        // Text around a line is skipped, and so is its header.
        let new = parse(&format!("Version 2.00a, of a machine\nname,{OLD}{NEW}"));
        let kinds: Vec<CellMetric> = new.iter().map(|one| one.0).collect();
        assert_eq!(
            kinds,
            [CharWrite, Write, Rewrite, CharRead, Read, Seeks, Create, Delete, RandomCreate, RandomDelete]
        );
        assert_eq!((new[4].2, new[5].1.as_str(), new[5].2), (439_362.0 * 1024.0, "13966.5 /sec", 13966.5));
        assert_eq!(new[6].3, "bonnie++ on golden, -n 8:4096:::8");

        // 1.96 has no number of seeks in its line.
        let older = NEW.replacen("1.98,2.00a", "1.96,1.96", 1).replacen(",8192,5,", ",", 1);
        assert_eq!(parse(&older), new);
    }

    // Protects importers: a test that was too short has no rate, a test that did not run is missing,
    // and each test has its own latency.
    #[test]
    fn a_line_names_its_tests() {
        let lines = published_lines(NEW).unwrap();
        let [line] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(
            (line.version.as_deref(), line.machine.as_str(), line.size.as_str()),
            (Some("2.00a"), "golden", "256M")
        );
        assert_eq!(line.tests.len(), 12);
        let of = |test: Test| line.tests.iter().find(|one| one.test == test).unwrap();
        assert_eq!((of(Test::BytesOut).latency_max_ns, of(Test::Seeks).latency_max_ns), (Some(141e6), Some(156e6)));
        assert_eq!(
            (of(Test::DeleteAtRandom).latency_max_ns, of(Test::Seeks).cpu_percent),
            (Some(92_668e3), Some(25.0))
        );
        assert_eq!((of(Test::StatInOrder).rate.clone(), of(Test::StatInOrder).cpu_percent), (None, None));
        let fewer = published_lines(&NEW.replacen("291,8,", ",,", 1)).unwrap();
        assert_eq!((fewer[0].tests.len(), fewer[0].tests[0].test), (11, Test::BlocksOut));
    }

    // Protects: an incomplete line is refused with its place and a hint.
    #[test]
    fn incomplete_lines_are_refused_with_their_place() {
        let cut = published(&format!("\n{}", OLD.replacen(",8:4096:0/8", "", 1))).unwrap_err();
        assert_eq!((cut.place.as_str(), cut.message.as_str()), ("line 2", "a line of 26 values"));
        let error = published(&OLD.replacen("26807", "26k", 1)).unwrap_err();
        assert!(error.place == "line 1" && error.message.contains("`26k` is not a number (test `putc`)"), "{error}");
        assert!(published("nothing").unwrap_err().help.contains("CSV lines"));
    }

    proptest! {
        // Protects: no text makes the reader panic.
        #[test]
        fn no_text_panics(text in "\\PC{0,200}", fields in prop::collection::vec("[0-9.+a-z:]{0,6}", 18..52)) {
            let _ = published(&text);
            let _ = published(&fields.join(","));
        }
    }
}
