//! `bon_csv2html`: turns CSV lines into a page, with the best and worst of each column in colour.

use super::Version;
use super::table::PrintedRun;

const COLUMNS: usize = 50;
const NAME: usize = 2;
const CONCURRENCY: usize = 3;
const FILE_SIZE: usize = 5;
const CHUNK_SIZE: usize = 6;
const NUM_FILES: usize = 21;
const FILE_CHUNK_SIZE: usize = 25;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Word,
    Speed,
    Cpu,
    Latency,
}

fn holds(column: usize) -> Holds {
    match column {
        9..=20 | 26..=37 if (column % 2 == 1) == (column < 21) => Holds::Speed,
        9..=20 | 26..=37 => Holds::Cpu,
        38..=49 => Holds::Latency,
        _ => Holds::Word,
    }
}

/// Formats the page of all lines of values.
pub fn page(lines: &str) -> PrintedRun {
    let mut printed = PrintedRun::default();
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.split(['\n', '\r']).filter(|line| !line.is_empty()) {
        let columns: Vec<String> = line.split(',').map(str::to_owned).collect();
        if columns[0] == Version::V200.format() {
            rows.push(Row { columns, marks: std::array::from_fn(usual_mark) });
        } else if !columns[0].starts_with("format_version") {
            printed.err.push_str(&format!("Can't process: {line}\n"));
        }
    }
    (0..COLUMNS).filter(|&column| holds(column) != Holds::Word).for_each(|column| colour(&mut rows, column));
    let used = |column: usize| {
        let usual = if column == CONCURRENCY { "1" } else { "" };
        rows.iter().any(|row| row.value(column) != usual)
    };
    let shown = Shown {
        concurrency: used(CONCURRENCY),
        chunk: used(CHUNK_SIZE),
        of_files: (NUM_FILES + 1..=FILE_CHUNK_SIZE).filter(|&column| used(column)).collect(),
    };
    printed.out.push_str(&shown.head());
    rows.iter().for_each(|row| printed.out.push_str(&shown.rows(row)));
    printed.out.push_str("</table>\n</body></html>\n");
    printed
}

fn usual_mark(column: usize) -> Option<String> {
    match column {
        NAME => Some("bgcolor=\"#FFFFFF\" class=\"rowheader\"><font size=+1".to_owned()),
        CONCURRENCY..=CHUNK_SIZE | NUM_FILES..=FILE_CHUNK_SIZE => Some("class=\"size\" bgcolor=\"#FFFFFF\"".to_owned()),
        _ => None,
    }
}

struct Row {
    columns: Vec<String>,
    /// Attributes of a cell's tag.
    marks: [Option<String>; COLUMNS],
}

impl Row {
    fn value(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", String::as_str)
    }

    /// Returns the value by which a column is ranked; 0 if it is empty.
    fn rank(&self, column: usize) -> f64 {
        let number = leading_number(self.value(column));
        match holds(column) {
            Holds::Cpu => match (leading_number(self.value(column - 1)), number) {
                (Some(work), Some(cpu)) => cpu / work,
                _ => 0.0,
            },
            Holds::Latency => {
                let unit = self.value(column).trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == '.');
                let factor = match unit {
                    "us" => 1.0,
                    "ms" => 1e3,
                    _ => 1e6,
                };
                number.unwrap_or(0.0) * factor
            }
            _ => number.unwrap_or(0.0),
        }
    }

    fn cell(&self, column: usize, extra: &str) -> String {
        let value = match column {
            11 | 13 | 17 if self.columns.len() > column => {
                // The value is in KiB/s and shown in MiB/s.
                let kib = leading_number(self.value(column)).unwrap_or(0.0) as i64;
                ((kib + 512) / 1024).to_string()
            }
            _ => self.value(column).to_owned(),
        };
        let mark = self.marks[column].as_ref().map(|mark| format!(" {mark}")).unwrap_or_default();
        format!("<td{extra}{mark}>{value}</td>")
    }

    fn cells(&self, columns: std::ops::RangeInclusive<usize>) -> String {
        columns.map(|column| self.cell(column, "")).collect()
    }
}

/// Colours the best of a column green and the worst red, if there are several.
fn colour(rows: &mut [Row], column: usize) {
    let kind = holds(column);
    let ranks: Vec<f64> = rows.iter().map(|row| row.rank(column)).collect();
    let mut values: Vec<f64> = ranks.iter().copied().filter(|&rank| rank != 0.0).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    let wide = (kind == Holds::Latency).then(|| "colspan=\"2\"".to_owned());
    let (Some(&least), Some(&most), true) = (values.first(), values.last(), values.len() > 1) else {
        if wide.is_some() {
            rows.iter_mut().for_each(|row| row.marks[column].clone_from(&wide));
        }
        return;
    };
    // Small differences do not use the whole range of colours.
    let stretch = (2.0 / (most / least)).sqrt().max(1.0);
    let (least, most) = (least / stretch, most * stretch);
    for (row, rank) in rows.iter_mut().zip(ranks) {
        row.marks[column] = match (rank == 0.0, kind) {
            (true, Holds::Latency) => wide.clone(),
            (true, _) => None,
            (false, _) => {
                let from_worst = if kind == Holds::Speed { rank - least } else { most - rank };
                let green = ((255.0 * from_worst / (most - least)) as i64).min(255);
                let wide = wide.as_ref().map(|wide| format!(" {wide}")).unwrap_or_default();
                Some(format!("bgcolor=\"#{:02X}{green:02X}00\"{wide}", 255 - green))
            }
        };
    }
}

/// Flags of the optional columns to show.
struct Shown {
    concurrency: bool,
    chunk: bool,
    of_files: Vec<usize>,
}

impl Shown {
    fn head(&self) -> String {
        let left = 2 + usize::from(self.chunk) + usize::from(self.concurrency);
        let middle = 1 + self.of_files.len();
        let twice =
            |names: &[&str]| names.iter().map(|name| format!("<td colspan=\"2\">{name}</td>")).collect::<String>();
        let rate = |unit: &str| {
            format!(
                "<td class=\"ksec\"><font size=-2>{unit}/sec</font></td>\
                 <td class=\"ksec\"><font size=-2>% CPU</font></td>"
            )
        };
        let group = |span: &str, size: &str, name: &str| {
            format!("<td {span} class=\"header\"><font size=+{size}><b>{name}</b></font></td>")
        };
        let single = |name: &str| format!("<td>{name}</td>");
        let of_files = self.of_files.iter().map(|column| {
            single(match column {
                22 => "Max Size",
                23 => "Min Size",
                24 => "Num Dirs",
                _ => "Chunk Size",
            })
        });
        [
            "<!DOCTYPE html PUBLIC \"-//W3C//Dtd XHTML 1.0 Strict//EN\" \
             \"http://www.w3.org/tr/xhtml1/Dtd/xhtml1-strict.dtd\"><html xmlns=\"http://www.w3.org/1999/xhtml\"><head>\
             <meta http-equiv=\"Content-Type\" content=\"text/html;charset=utf-8\" />\
             <title>Bonnie++ Benchmark results</title><style type=\"text/css\">\
             td.header {text-align: center; background-color: \"#CCFFFF\" }\
             td.rowheader {text-align: center; background-color: \"#CCCFFF\" }\
             td.size {text-align: center; background-color: \"#CCCFFF\" }\
             td.ksec {text-align: center; fontstyle: italic }</style></head><body>\
             <table border=\"3\" cellpadding=\"2\" cellspacing=\"1\"><tr>"
                .to_owned(),
            group(&format!("colspan=\"{left}\""), "1", &format!("Version {}", Version::V200.name())),
            group("colspan=\"6\"", "2", "Sequential Output"),
            group("colspan=\"4\"", "2", "Sequential Input"),
            group("colspan=\"2\" rowspan=\"2\"", "2", "Random<br>Seeks"),
            format!("<td colspan=\"{middle}\" class=\"header\"></td>"),
            group("colspan=\"6\"", "2", "Sequential Create"),
            group("colspan=\"6\"", "2", "Random Create"),
            "</tr>\n<tr>".to_owned(),
            if self.concurrency { "<td colspan=\"2\">Concurrency</td>".to_owned() } else { "<td></td>".to_owned() },
            single("Size"),
            if self.chunk { single("Chunk Size") } else { String::new() },
            twice(&["Per Char", "Block", "Rewrite", "Per Char", "Block"]),
            single("Num Files"),
            of_files.collect(),
            twice(&["Create", "Read", "Delete", "Create", "Read", "Delete"]),
            format!("</tr><tr><td colspan=\"{left}\"></td>"),
            rate("M").repeat(5),
            rate(""),
            format!("<td colspan=\"{middle}\"></td>"),
            rate("").repeat(6),
            "</tr>\n".to_owned(),
        ]
        .concat()
    }

    fn rows(&self, row: &Row) -> String {
        let only = |shown: bool, column: usize| if shown { row.cell(column, "") } else { String::new() };
        let of_files: String = self.of_files.iter().map(|&column| row.cell(column, "")).collect();
        let label = |span: usize| format!("<td class=\"size\" bgcolor=\"#FFFFFF\" colspan=\"{span}\">Latency</td>");
        let middle = 1 + self.of_files.len();
        let own = middle.min(2);
        let before = if middle > own { format!("<td colspan=\"{}\"></td>", middle - own) } else { String::new() };
        [
            "<tr>".to_owned(),
            row.cell(NAME, " rowspan=\"2\""),
            only(self.concurrency, CONCURRENCY),
            row.cell(FILE_SIZE, ""),
            only(self.chunk, CHUNK_SIZE),
            row.cells(9..=NUM_FILES),
            of_files,
            row.cells(26..=37),
            "</tr>\n<tr>".to_owned(),
            label(1 + usize::from(self.chunk) + usize::from(self.concurrency)),
            row.cells(38..=43),
            before,
            label(own),
            row.cells(44..=49),
            "</tr>\n".to_owned(),
        ]
        .concat()
    }
}

/// Parses the number at the start of a field.
pub(super) fn leading_number(text: &str) -> Option<f64> {
    let end = text.find(|digit: char| !digit.is_ascii_digit() && digit != '.').unwrap_or(text.len());
    text[..end].parse().ok()
}
