//! Pairs of read and write tests as a matrix, the table that CrystalDiskMark made popular.

use super::rows::{Aside, Row};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::{Metric, PhaseResult, RunResult};
use plumb_workload::OpKind;

/// Smallest number of tests in a matrix.
const LEAST: usize = 2;

/// A test: the phases `NAME-read` and `NAME-write`.
struct Test<'a> {
    name: &'a str,
    sides: [Option<Row<'a>>; 2],
}

const SIDES: [(&str, OpKind); 2] = [("read", OpKind::Read), ("write", OpKind::Write)];

/// Returns the matrix of a run whose phases are all such pairs; `None` for any other run.
pub(super) fn matrix(result: &RunResult, style: &Style) -> Option<String> {
    let names: Vec<&str> = result.workload.phase.iter().map(|phase| phase.name.as_str()).collect();
    let (pairs, rest) = names.as_chunks::<2>();
    let tests: Vec<Test<'_>> = pairs.iter().map(|pair| test(result, *pair)).collect::<Option<_>>()?;
    if !rest.is_empty() || tests.len() < LEAST || result.phases.is_empty() {
        return None;
    }
    let column = |title: &str, align, cell: &dyn Fn(&Test<'_>) -> String| Column {
        title: title.to_owned(),
        cells: tests.iter().map(cell).collect(),
        align,
        hide_order: None,
    };
    let bandwidth = |side: usize| move |test: &Test<'_>| cell(test, side, Metric::bandwidth, megabytes);
    let rate = |side: usize| move |test: &Test<'_>| cell(test, side, Metric::rate, format::count);
    let columns = vec![
        column("", Align::Left, &|test| test.name.to_owned()),
        column("read MB/s", Align::Right, &bandwidth(0)),
        column("write MB/s", Align::Right, &bandwidth(1)),
        column("read IOPS", Align::Right, &rate(0)),
        column("write IOPS", Align::Right, &rate(1)),
    ];
    let set = table::set_flush(columns, style.width);
    let mut text = format!("{}\n{}\n", style.ink(Ink::Faint, &set.head), set.rows.join("\n"));
    for (words, is_caution, of) in asides(&tests) {
        let (words, ink) = Aside::marked(&format!("{of}: {words}"), is_caution);
        text.push_str(&format!("{}\n", style.ink(ink, &style.wrap(&words, 2))));
    }
    Some(text + "\n")
}

fn test<'a>(result: &'a RunResult, pair: [&'a str; 2]) -> Option<Test<'a>> {
    let name = pair[0].strip_suffix("-read").filter(|name| pair[1].strip_suffix("-write") == Some(name))?;
    let phase = |name: &str| -> Option<&'a PhaseResult> { result.phases.iter().find(|phase| phase.name == name) };
    let row = |side: usize| Row::for_kind(result, phase(pair[side])?, SIDES[side].1);
    Some(Test { name, sides: [row(0), row(1)] })
}

fn cell(test: &Test<'_>, side: usize, metric: fn(OpKind) -> Metric, text: fn(f64) -> String) -> String {
    let value = test.sides[side].as_ref().and_then(|row| row.phase.metrics.get(&metric(SIDES[side].1))?.value);
    value.map_or(MISSING.to_owned(), text)
}

/// Formats MB/s as CrystalDiskMark counts them: 10^6 bytes.
fn megabytes(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e6 {
        large if large >= 1000.0 => format!("{large:.0}"),
        medium if medium >= 10.0 => format!("{medium:.1}"),
        small => format!("{small:.2}"),
    }
}

/// Returns remarks on the numbers, each once: its text, whether it makes the numbers doubtful, and the numbers concerned.
fn asides(tests: &[Test<'_>]) -> Vec<(String, bool, String)> {
    let mut asides: Vec<(String, bool, Vec<String>)> = Vec::new();
    let mut rows = 0;
    for test in tests {
        for ((side, _), row) in SIDES.iter().zip(&test.sides) {
            let Some(row) = row else { continue };
            rows += 1;
            let aside = row.aside();
            let Some(words) = aside.words() else { continue };
            let name = format!("{} {side}", test.name);
            match asides.iter_mut().find(|(known, ..)| *known == words) {
                Some((_, _, names)) => names.push(name),
                None => asides.push((words, !aside.cautions.is_empty(), vec![name])),
            }
        }
    }
    let of = |names: &[String]| if names.len() == rows { "all".to_owned() } else { names.join(", ") };
    asides.into_iter().map(|(words, is_caution, names)| (words, is_caution, of(&names))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_have_the_digits_of_their_size() {
        let texts = [3_512_345_678.0, 551_234_567.0, 50_960_000.0, 1_234_567.0].map(megabytes);
        assert_eq!(texts, ["3512", "551.2", "51.0", "1.23"]);
    }
}
