//! A study with derived facts: the actions of commands, the rates, and the sizes of file sets.

use crate::command::{self, CommandAction};
use crate::form::{
    CacheControl, ComparedThing, Durability, PublishedCell, PublishedStudy, PublishedTest, Spread, SpreadMeaning,
};
use crate::numbers::{Base, Explanation, PrintedUnit, base_of_tool, explain};
use crate::postmark::{Totals, replay};
use plumb_result::CellMetric;

/// A study with derived facts.
pub(crate) struct View<'a> {
    pub(crate) study: &'a PublishedStudy,
    pub(crate) tests: Vec<TestView<'a>>,
    /// All cells, in the order of the file.
    pub(crate) cells: Vec<CellView<'a>>,
}

/// A test with derived facts.
pub(crate) struct TestView<'a> {
    pub(crate) test: &'a PublishedTest,
    pub(crate) actions: Vec<CommandAction>,
    /// Bytes that a run with the test's PostMark settings transfers.
    pub(crate) totals: Option<Totals>,
}

/// A cell with derived facts.
pub(crate) struct CellView<'a> {
    pub(crate) cell: &'a PublishedCell,
    pub(crate) test: &'a PublishedTest,
    pub(crate) test_index: usize,
    pub(crate) side: Option<&'a ComparedThing>,
    /// Actions of the cell's command, or else of the test's.
    pub(crate) actions: Vec<CommandAction>,
    pub(crate) unit: Option<PrintedUnit>,
    /// Bytes divided by seconds, as printed.
    pub(crate) exact: Option<f64>,
    /// Reading of the unit that explains the printed rate, if bytes and seconds were printed.
    pub(crate) explanation: Option<Explanation>,
    /// Most precise value available: bytes per second, counts per second, or seconds.
    pub(crate) value: Option<f64>,
    /// Size of the file, or at most of all files.
    pub(crate) set_bytes: Option<u64>,
    /// Size at the start, if files are created and deleted.
    pub(crate) set_bytes_start: Option<u64>,
    /// Durability of the writes within the measured time; `None` if unknown.
    pub(crate) durability: Option<Durability>,
    pub(crate) repetitions: Option<u32>,
    /// Declared meaning of the cell's spread.
    pub(crate) spread_is: Option<SpreadMeaning>,
    /// Standard deviation between repetitions, as a share of the value.
    pub(crate) spread: Option<f64>,
}

impl<'a> View<'a> {
    pub(crate) fn new(study: &'a PublishedStudy) -> View<'a> {
        let tests: Vec<TestView<'a>> = study.test.iter().map(TestView::new).collect();
        let mut cells: Vec<CellView<'a>> = Vec::new();
        for (test_index, test) in tests.iter().enumerate() {
            cells.extend(test.test.cell.iter().map(|cell| CellView::new(study, test, test_index, cell)));
        }
        let mut view = View { study, tests, cells };
        view.infer_read_sizes();
        view.infer_bonnie();
        view
    }

    /// Returns the cells of each test and metric, one per side.
    pub(crate) fn rows(&self) -> Vec<Vec<&CellView<'a>>> {
        let mut rows: Vec<Vec<&CellView<'a>>> = Vec::new();
        for cell in &self.cells {
            match rows
                .iter_mut()
                .find(|row| row[0].test_index == cell.test_index && row[0].cell.metric == cell.cell.metric)
            {
                Some(row) => row.push(cell),
                None => rows.push(vec![cell]),
            }
        }
        rows
    }

    pub(crate) fn of_test(&self, test_index: usize) -> impl Iterator<Item = &CellView<'a>> {
        self.cells.iter().filter(move |cell| cell.test_index == test_index)
    }

    /// Returns `true` if a side states an operating system that may be Linux.
    pub(crate) fn is_linux(side: &ComparedThing) -> bool {
        let os = side.facts.get("os").map(|os| os.to_lowercase()).unwrap_or_default();
        let elsewhere = ["bsd", "solaris", "darwin", "macos", "windows"].iter().any(|name| os.contains(name));
        !os.is_empty() && !elsewhere
    }

    /// Returns the memories that can cache a file set, in bytes: the system's own, and the host's.
    pub(crate) fn memories(&self) -> Vec<(&'static str, u64)> {
        let machine = &self.study.machine;
        let own = if machine.virtual_by.is_some() { "the guest" } else { "the machine" };
        [(own, machine.ram), ("the host", machine.host_ram)]
            .into_iter()
            .filter_map(|(whose, ram)| Some((whose, ram?.0)).filter(|(_, ram)| *ram > 0))
            .collect()
    }

    /// Infers the sizes of files that a dd reads to their ends from the dd that wrote them earlier.
    fn infer_read_sizes(&mut self) {
        for at in 0..self.cells.len() {
            let (earlier, rest) = self.cells.split_at_mut(at);
            let Some(cell) = rest.first_mut().filter(|cell| cell.set_bytes.is_none()) else { continue };
            let read = cell.actions.iter().find_map(CommandAction::fully_read_file);
            let written = read.and_then(|file| {
                let of_side = earlier.iter().rev().filter(|other| other.cell.side == cell.cell.side);
                of_side.flat_map(|other| &other.actions).find_map(|action| action.bytes_written_to(file))
            });
            cell.set_bytes = written;
            cell.set_bytes_start = written;
        }
    }

    /// Infers the durability of Bonnie++. 1.0x writes characters with putc and flushes nothing; 1.9x and later make one
    /// system call per byte and flush every phase. If no version is stated, the character rate shows it.
    fn infer_bonnie(&mut self) {
        let generations: Vec<Option<BonnieGeneration>> = (0..self.cells.len()).map(|at| self.generation(at)).collect();
        for (cell, generation) in self.cells.iter_mut().zip(generations) {
            if cell.durability.is_none() {
                cell.durability = generation.map(BonnieGeneration::durability);
            }
        }
    }

    fn generation(&self, at: usize) -> Option<BonnieGeneration> {
        let cell = self.cells.get(at)?;
        if !is_bonnie(&cell.test.tool) {
            return None;
        }
        match cell.version() {
            Some(version) => BonnieGeneration::of_version(version),
            None => self.bonnie_by_rates(cell.test_index, &cell.cell.side).map(|seen| seen.generation),
        }
    }

    /// Infers the generation of Bonnie++ from the rates of one test and side.
    pub(crate) fn bonnie_by_rates(&self, test_index: usize, side: &str) -> Option<BonnieSeen> {
        let rate = |metric| {
            let found = self.of_test(test_index).find(|cell| cell.cell.side == side && cell.cell.metric == metric);
            found.and_then(|cell| cell.value)
        };
        let share = rate(CellMetric::CharWrite)? / rate(CellMetric::Write)?;
        let generation = if share < 0.05 {
            BonnieGeneration::SystemCalls
        } else if share > 0.2 {
            BonnieGeneration::Stdio
        } else {
            return None;
        };
        Some(BonnieSeen { generation, share })
    }
}

/// Character output of Bonnie++.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BonnieGeneration {
    /// 1.0x: putc, and no flush.
    Stdio,
    /// 1.9x and later: one system call per byte, and a flush in every phase.
    SystemCalls,
}

/// A generation of Bonnie++, inferred from the rates of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BonnieSeen {
    pub(crate) generation: BonnieGeneration,
    /// Rate of characters as a share of the rate of blocks.
    pub(crate) share: f64,
}

impl BonnieGeneration {
    fn of_version(version: &str) -> Option<BonnieGeneration> {
        let mut numbers = version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse::<u32>().ok());
        match (numbers.next()?, numbers.next().unwrap_or(0)) {
            (1, minor) if minor < 90 => Some(BonnieGeneration::Stdio),
            _ => Some(BonnieGeneration::SystemCalls),
        }
    }

    const fn durability(self) -> Durability {
        match self {
            BonnieGeneration::Stdio => Durability::Close,
            BonnieGeneration::SystemCalls => Durability::FlushAtEnd,
        }
    }
}

/// Approximates Student's t, two-sided 95 %, to three terms; within 1 % for at least 5 degrees of
/// freedom. Source: Abramowitz and Stegun 26.7.5.
fn student_95(degrees: f64) -> f64 {
    let (x, degrees) = (1.959_964_f64, degrees.max(1.0));
    let second = (x.powi(3) + x) / (4.0 * degrees);
    let third = (5.0 * x.powi(5) + 16.0 * x.powi(3) + 3.0 * x) / (96.0 * degrees * degrees);
    x + second + third
}

pub(crate) fn is_bonnie(tool: &str) -> bool {
    tool.to_lowercase().starts_with("bonnie")
}

impl<'a> TestView<'a> {
    fn new(test: &'a PublishedTest) -> TestView<'a> {
        let actions = test.command.as_deref().map(command::read).unwrap_or_default();
        let totals = actions.iter().find_map(|action| match action {
            // Several locations are drawn, too, and their names are unknown.
            CommandAction::Postmark(postmark) if postmark.settings.locations.len() < 2 => {
                replay(&postmark.settings).ok()
            }
            _ => None,
        });
        TestView { test, actions, totals }
    }
}

impl<'a> CellView<'a> {
    fn new(
        study: &'a PublishedStudy,
        test_view: &TestView<'a>,
        test_index: usize,
        cell: &'a PublishedCell,
    ) -> CellView<'a> {
        let test = test_view.test;
        let actions = match cell.command.as_deref() {
            Some(line) => command::read(line),
            None => test_view.actions.clone(),
        };
        let unit = cell.unit.as_deref().and_then(PrintedUnit::parse);
        let usual = base_of_tool(&test.tool);
        let seconds = cell.seconds.as_ref().map(|seconds| seconds.value()).filter(|seconds| *seconds > 0.0);
        let exact = cell.bytes.zip(seconds).map(|(bytes, seconds)| bytes as f64 / seconds);
        let explanation = match (&cell.value, unit, exact) {
            (Some(printed), Some(unit @ PrintedUnit::Bytes { .. }), Some(exact)) if !cell.about => {
                Some(explain(printed, unit, usual, exact))
            }
            _ => None,
        };
        let mut view = CellView {
            cell,
            test,
            test_index,
            side: study.side.iter().find(|side| side.id == cell.side),
            actions,
            unit,
            exact,
            explanation,
            value: exact,
            set_bytes: None,
            set_bytes_start: None,
            durability: None,
            repetitions: cell.repetitions.or(test.repetitions).or(study.study.repetitions),
            spread_is: cell.spread_is.or(test.spread_is).or(study.study.spread_is),
            spread: None,
        };
        view.value = exact.or_else(|| view.printed_value());
        view.set_bytes = view.find_set(test_view);
        view.set_bytes_start = test_view.totals.map(|totals| totals.set_bytes_start).or(view.set_bytes);
        view.durability = view.find_durability();
        view.spread = view.find_spread();
        view
    }

    fn find_spread(&self) -> Option<f64> {
        let printed = match self.cell.spread.as_ref()? {
            Spread::Share(share) => *share,
            Spread::Value(number, unit) => {
                let of = self.printed_value().filter(|value| *value > 0.0)?;
                number.value() * unit.factor(base_of_tool(&self.test.tool)) / of
            }
        };
        let runs = f64::from(self.repetitions.unwrap_or(1).max(1));
        Some(match self.spread_is {
            Some(SpreadMeaning::StandardError) => printed * runs.sqrt(),
            Some(SpreadMeaning::Confidence95) => printed * runs.sqrt() / student_95(runs - 1.0),
            // With six runs or more, half of the range exceeds the standard deviation (d2 of six is 2.534).
            Some(SpreadMeaning::StandardDeviation | SpreadMeaning::HalfRange | SpreadMeaning::NotStated) | None => {
                printed
            }
        })
    }

    fn find_set(&self, test: &TestView<'_>) -> Option<u64> {
        if let Some(size) = self.test.file_size {
            return Some(size.0);
        }
        let by_command = self.actions.iter().find_map(|action| match action {
            CommandAction::Postmark(_) => test.totals.map(|totals| totals.set_bytes_max),
            action => action.set_bytes(),
        });
        by_command.or(self.cell.bytes).filter(|bytes| *bytes > 0)
    }

    fn find_durability(&self) -> Option<Durability> {
        self.test.durability.or_else(|| self.actions.iter().find_map(CommandAction::durability))
    }

    /// Returns the printed number in bytes per second, counts per second, or seconds; the middle of a printed range.
    pub(crate) fn printed_value(&self) -> Option<f64> {
        let value = self.cell.value.as_ref()?.value();
        let printed = self.cell.to.as_ref().map_or(value, |to| (value + to.value()) / 2.0);
        let factor = self.unit.map_or(1.0, |unit| unit.factor(base_of_tool(&self.test.tool)));
        Some(printed * factor)
    }

    /// Returns the cell's name in findings: `test.metric@side`.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}@{}", self.test.id, self.cell.metric.name(), self.cell.side)
    }

    /// Returns the number as printed, with its unit.
    pub(crate) fn printed(&self) -> Option<String> {
        let value = self.cell.value.as_ref()?;
        let about = if self.cell.about { "~" } else { "" };
        let to = self.cell.to.as_ref().map(|to| format!("–{to}")).unwrap_or_default();
        let unit = self.cell.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        Some(format!("{about}{value}{to}{unit}"))
    }

    /// Returns the command that measured the cell, as printed.
    pub(crate) fn command(&self) -> Option<&'a str> {
        self.cell.command.as_deref().or(self.test.command.as_deref())
    }

    /// Returns the version of the tool that measured the cell.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.side.and_then(|side| side.tools.get(&self.test.tool)).or(self.test.version.as_ref()).map(String::as_str)
    }

    /// Returns `true` if cached data was dropped or bypassed before a read.
    pub(crate) fn is_cold(&self) -> bool {
        self.test.cache != CacheControl::None || self.actions.iter().any(CommandAction::reads_cold)
    }

    /// Returns `true` for a rate of bytes.
    pub(crate) fn is_byte_rate(&self) -> bool {
        matches!(self.unit, Some(PrintedUnit::Bytes { .. }))
    }

    /// Returns the base of the cell's unit, as the tool means it.
    pub(crate) fn base(&self) -> Base {
        match self.explanation {
            Some(Explanation::Base(base) | Explanation::Moved { base, .. }) => base,
            _ => base_of_tool(&self.test.tool),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with tables of Student's distribution.
    #[test]
    fn student_matches_the_tables() {
        for (degrees, t) in [(5.0, 2.571), (9.0, 2.262), (20.0, 2.086), (100.0, 1.984)] {
            assert!((student_95(degrees) / t - 1.0).abs() < 0.01, "{degrees}: {}", student_95(degrees));
        }
    }
}
