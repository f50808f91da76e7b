//! A study with everything that follows from its words: what the commands do, what the rates are, how large the sets.

use crate::command::{self, CommandAction};
use crate::form::{
    CacheControl, ComparedThing, Durability, PublishedCell, PublishedStudy, PublishedTest, Spread, SpreadMeaning,
};
use crate::numbers::{Base, Explanation, PrintedUnit, base_of_tool, explain};
use crate::postmark::{Totals, replay};
use plumb_result::CellMetric;

/// A study, read closely.
pub(crate) struct View<'a> {
    pub(crate) study: &'a PublishedStudy,
    pub(crate) tests: Vec<TestView<'a>>,
    /// All cells, in the order of the file.
    pub(crate) cells: Vec<CellView<'a>>,
}

/// A test, read closely.
pub(crate) struct TestView<'a> {
    pub(crate) test: &'a PublishedTest,
    /// What its command does.
    pub(crate) actions: Vec<CommandAction>,
    /// What its PostMark settings move.
    pub(crate) totals: Option<Totals>,
}

/// A cell, read closely.
pub(crate) struct CellView<'a> {
    pub(crate) cell: &'a PublishedCell,
    pub(crate) test: &'a PublishedTest,
    /// Place of its test.
    pub(crate) test_index: usize,
    pub(crate) side: Option<&'a ComparedThing>,
    /// What its own command, or its test's, does.
    pub(crate) actions: Vec<CommandAction>,
    pub(crate) unit: Option<PrintedUnit>,
    /// Bytes divided by seconds, as printed.
    pub(crate) exact: Option<f64>,
    /// Which unit explains the printed rate, where bytes and seconds were printed.
    pub(crate) explanation: Option<Explanation>,
    /// The best value there is: bytes per second, a number per second, or seconds.
    pub(crate) value: Option<f64>,
    /// Size of the file, or of all files at the most.
    pub(crate) set_bytes: Option<u64>,
    /// The same at the start, where files come and go.
    pub(crate) set_bytes_start: Option<u64>,
    /// How its writes became durable within the measured time; `None` where that is unknown.
    pub(crate) durability: Option<Durability>,
    pub(crate) repetitions: Option<u32>,
    /// The declared meaning of its spread.
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

    /// Cells of one test and metric, a side each.
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

    /// Cells of a test.
    pub(crate) fn of_test(&self, test_index: usize) -> impl Iterator<Item = &CellView<'a>> {
        self.cells.iter().filter(move |cell| cell.test_index == test_index)
    }

    /// Whether a side runs Linux, as far as it says.
    pub(crate) fn is_linux(side: &ComparedThing) -> bool {
        let os = side.facts.get("os").map(|os| os.to_lowercase()).unwrap_or_default();
        let elsewhere = ["bsd", "solaris", "darwin", "macos", "windows"].iter().any(|name| os.contains(name));
        !os.is_empty() && !elsewhere
    }

    /// Bytes of memory that can hold a set: the system's own, and the host's.
    pub(crate) fn memories(&self) -> Vec<(&'static str, u64)> {
        let machine = &self.study.machine;
        let own = if machine.virtual_by.is_some() { "the guest" } else { "the machine" };
        [(own, machine.ram), ("the host", machine.host_ram)]
            .into_iter()
            .filter_map(|(whose, ram)| Some((whose, ram?.0)).filter(|(_, ram)| *ram > 0))
            .collect()
    }

    /// A dd that reads a file to its end reads what an earlier dd wrote there.
    fn infer_read_sizes(&mut self) {
        for at in 0..self.cells.len() {
            let (earlier, rest) = self.cells.split_at_mut(at);
            let Some(cell) = rest.first_mut().filter(|cell| cell.set_bytes.is_none()) else { continue };
            let read = cell.actions.iter().find_map(CommandAction::file_read_whole);
            let written = read.and_then(|file| {
                let of_side = earlier.iter().rev().filter(|other| other.cell.side == cell.cell.side);
                of_side.flat_map(|other| &other.actions).find_map(|action| action.bytes_written_to(file))
            });
            cell.set_bytes = written;
            cell.set_bytes_start = written;
        }
    }

    /// Bonnie++ 1.0x writes characters with putc and flushes nothing; from 1.9x on it makes one system call a byte and
    /// flushes every phase. Where no version is stated, its character rate shows it.
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

    /// The generation of Bonnie++ that the rates of one test and side show.
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

/// How Bonnie++ writes characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BonnieGeneration {
    /// 1.0x: putc, and no flush.
    Stdio,
    /// 1.9x and later: one system call a byte, and a flush in every phase.
    SystemCalls,
}

/// What the rates of a side show.
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

/// Student's t, two-sided 95 %, to three terms; within 1 % from 5 degrees of freedom on. Source: Abramowitz and Stegun
/// 26.7.5.
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
            // Places are drawn, too, and their names are not those of a paper.
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
            // Half of the range of six runs or more exceeds their standard deviation (d2 of six is 2.534).
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

    /// The printed number, of a range its middle, as bytes per second, a number per second, or seconds.
    pub(crate) fn printed_value(&self) -> Option<f64> {
        let value = self.cell.value.as_ref()?.value();
        let printed = self.cell.to.as_ref().map_or(value, |to| (value + to.value()) / 2.0);
        let factor = self.unit.map_or(1.0, |unit| unit.factor(base_of_tool(&self.test.tool)));
        Some(printed * factor)
    }

    /// What findings call it: `test.metric@side`.
    pub(crate) fn id(&self) -> String {
        format!("{}.{}@{}", self.test.id, self.cell.metric.name(), self.cell.side)
    }

    /// As printed, with its unit.
    pub(crate) fn printed(&self) -> Option<String> {
        let value = self.cell.value.as_ref()?;
        let about = if self.cell.about { "~" } else { "" };
        let to = self.cell.to.as_ref().map(|to| format!("–{to}")).unwrap_or_default();
        let unit = self.cell.unit.as_deref().map(|unit| format!(" {unit}")).unwrap_or_default();
        Some(format!("{about}{value}{to}{unit}"))
    }

    /// The command that measured it, as printed.
    pub(crate) fn command(&self) -> Option<&'a str> {
        self.cell.command.as_deref().or(self.test.command.as_deref())
    }

    /// The version of the tool that measured it.
    pub(crate) fn version(&self) -> Option<&'a str> {
        self.side.and_then(|side| side.tools.get(&self.test.tool)).or(self.test.version.as_ref()).map(String::as_str)
    }

    /// Whether something was done about cached data before a read.
    pub(crate) fn is_cold(&self) -> bool {
        self.test.cache != CacheControl::None || self.actions.iter().any(CommandAction::reads_cold)
    }

    /// Whether it is a rate of bytes.
    pub(crate) fn is_byte_rate(&self) -> bool {
        matches!(self.unit, Some(PrintedUnit::Bytes { .. }))
    }

    /// The factor of its unit as its tool means it.
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

    /// Against the tables of Student's distribution.
    #[test]
    fn student_is_the_tables() {
        for (degrees, t) in [(5.0, 2.571), (9.0, 2.262), (20.0, 2.086), (100.0, 1.984)] {
            assert!((student_95(degrees) / t - 1.0).abs() < 0.01, "{degrees}: {}", student_95(degrees));
        }
    }
}
