//! The page of a study's plan: the steps, their order, their cost, and the differences that they can show.

use crate::format;
use crate::style::{Ink, Style};
use crate::table::{Align, Column, set, width_of};

/// The printed parts of a plan.
#[derive(Debug, Clone, Default)]
pub struct PlanView {
    pub name: String,
    /// The question that the study asks.
    pub question: String,
    pub scale: String,
    pub seed: u64,
    pub hash: String,
    pub factors: Vec<FactorView>,
    pub cells: Vec<PlannedCell>,
    /// Every plot, in execution order.
    pub plots: Vec<PlotView>,
    /// Descriptions of hosts that together make the runs of one host name.
    pub agents: Vec<String>,
    /// Description of the comparison.
    pub compare: String,
    /// Counts that every run has to meet, one line each.
    pub expected: Vec<String>,
    /// Data and devices that may be destroyed.
    pub expendable: Vec<String>,
    /// Published numbers to compare with.
    pub imports: Vec<String>,
    /// Number of runs, duration and bytes written.
    pub cost: CostView,
    /// Differences that the study can detect.
    pub power: PowerView,
    /// Objections of a careful reader.
    pub warnings: Vec<String>,
}

/// The cost of a study.
#[derive(Debug, Clone, Default)]
pub struct CostView {
    /// Number of runs that are skipped once enough is known or time is up.
    pub optional_runs: usize,
    /// Duration; `None` if it depends on the hosts.
    pub seconds: Option<f64>,
    /// Bytes written; `None` if they depend on the hosts.
    pub written_bytes: Option<u64>,
}

/// The statistical power of a study.
#[derive(Debug, Clone, Default)]
pub struct PowerView {
    /// Whether the study makes no claims.
    pub exploratory: bool,
    /// The smallest ratio that is detected in four of five studies.
    pub detectable_ratio: Option<f64>,
    /// The assumed spread, in words: `a spread of 5 % from one run to the next`.
    pub spread: String,
    /// Source of the spread, such as `study 018f…`; `None` if it is assumed.
    pub spread_from: Option<String>,
    /// Degrees of freedom of that estimate.
    pub spread_freedom: Option<u32>,
    /// Number of verdicts that share the probability of a false claim.
    pub verdicts: u32,
    /// Sample of each verdict, in words: `4 plots a side`.
    pub counted: String,
}

#[derive(Debug, Clone)]
pub struct FactorView {
    pub name: String,
    pub levels: Vec<String>,
    /// Whether a change of level needs a new plot.
    pub hard: bool,
}

#[derive(Debug, Clone)]
pub struct PlannedCell {
    /// Level of every factor, in the factors' order.
    pub levels: Vec<String>,
    pub workload: String,
    /// Number of runs of the cell.
    pub runs: u32,
    /// Description of the work, in one line.
    pub work: String,
}

/// One plot of the plan: its place, its build steps, and its runs.
#[derive(Debug, Clone)]
pub struct PlotView {
    /// Number of its block, from 0.
    pub block: u32,
    /// Levels of the hard factors, such as `level=4`.
    pub levels: String,
    pub host: String,
    /// Commands on this machine before and after, and the build steps in between, one line each.
    pub steps: Vec<String>,
    /// Cells in execution order; one list for each repetition.
    pub runs: Vec<Vec<u32>>,
}

/// Amount of detail on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything, except that the steps of each kind of provisioning are shown once, and the work of each cell is left out.
    Brief,
    /// Every step of every plot, and the work of each cell.
    Full,
}

/// Rated endurance of a typical drive in bytes written. Source: vendors' data sheets of 1 TB drives, around 0.3 drive
/// writes per day over five years.
const RATED_BYTES: f64 = 600e12;

/// Returns the page of the plan.
pub fn page(plan: &PlanView, detail: Detail, style: &Style) -> String {
    let mut lines = Vec::new();
    let title = match plan.question.is_empty() {
        true => plan.name.clone(),
        false => format!("{}: {}", plan.name, plan.question),
    };
    lines.push(style.ink(Ink::Strong, &style.wrap(&title, 2)));
    lines.push(String::new());
    for text in [cost(plan), power(&plan.power)] {
        lines.push(format!("  {}", style.wrap(&text, 2)));
    }
    let frozen = format!("Scale {}, seed {}, plan {}. Nothing has been touched.", plan.scale, plan.seed, plan.hash);
    lines.push(format!("  {}", style.wrap(&frozen, 2)));
    section(&mut lines, style, "Compared");
    lines.push(format!("  {}", style.wrap(&plan.compare, 2)));
    if !plan.factors.is_empty() {
        section(&mut lines, style, "Factors");
        factors(&mut lines, plan, style);
    }
    if !plan.expected.is_empty() {
        section(&mut lines, style, "Expected counts");
        lines.extend(plan.expected.iter().map(|count| format!("  {}", style.wrap(count, 4))));
    }
    section(&mut lines, style, "Cells");
    cells(&mut lines, plan, detail, style);
    section(&mut lines, style, "Provisionings, with the order of cells on each");
    plots(&mut lines, plan, detail, style);
    if !plan.agents.is_empty() {
        section(&mut lines, style, "Hosts that measure together");
        lines.extend(plan.agents.iter().map(|agents| format!("  {}", style.wrap(agents, 4))));
    }
    if !plan.expendable.is_empty() {
        section(&mut lines, style, "Will be destroyed");
        lines.extend(plan.expendable.iter().map(|device| format!("  {device}")));
    }
    if !plan.imports.is_empty() {
        section(&mut lines, style, "Published numbers to compare with");
        lines.extend(plan.imports.iter().map(|import| format!("  {import}")));
    }
    if !plan.warnings.is_empty() {
        section(&mut lines, style, "Warnings");
        for warning in &plan.warnings {
            lines.push(format!("  {} {}", style.ink(Ink::Caution, "!"), style.wrap(warning, 4)));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn section(lines: &mut Vec<String>, style: &Style, title: &str) {
    lines.push(String::new());
    lines.push(style.ink(Ink::Strong, &style.wrap(title, 0)));
}

fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

fn cost(plan: &PlanView) -> String {
    let runs: usize = plan.plots.iter().flat_map(|plot| &plot.runs).map(Vec::len).sum();
    let time = match plan.cost.seconds {
        Some(seconds) => format!("about {}", format::time(seconds * 1e9)),
        None => "duration depends on the hosts".to_owned(),
    };
    let written = match plan.cost.written_bytes {
        Some(0) => "no data is written".to_owned(),
        Some(bytes) => format!(
            "about {} are written ({} of a 600 TB endurance rating)",
            format::bytes_iec(bytes as f64),
            format::percent(bytes as f64 / RATED_BYTES)
        ),
        None => "bytes written depend on the hosts".to_owned(),
    };
    let optional = match plan.cost.optional_runs {
        0 => String::new(),
        optional => format!(" ({optional} of them optional)"),
    };
    format!(
        "{}{optional} of {} on {}, {time}; {written}. Assumed: 100 MB/s, 1000 ops/s at random, 10 s a step.",
        counted(runs, "run"),
        counted(plan.cells.len(), "cell"),
        counted(plan.plots.len(), "plot"),
    )
}

fn power(power: &PowerView) -> String {
    if power.exploratory {
        return "Exploratory: every verdict will be `cannot-tell`.".to_owned();
    }
    // A difference this large is hardly ever the one of interest.
    const LARGE: f64 = 2.0;
    let verdicts = match power.verdicts {
        0 | 1 => "1 verdict".to_owned(),
        count => format!("{count} verdicts, corrected"),
    };
    let spread = &power.spread;
    let freedom = match power.spread_freedom {
        Some(1) => ", 1 degree of freedom".to_owned(),
        Some(freedom) => format!(", {freedom} degrees of freedom"),
        None => String::new(),
    };
    let from = power.spread_from.as_ref().map_or(" (assumed)".to_owned(), |from| format!(" (as in {from}{freedom})"));
    match power.detectable_ratio {
        Some(ratio) if ratio >= LARGE => format!(
            "At {}, nothing below {}× can be claimed in four of five studies ({verdicts}; {spread}{from}). Use more, or \
             fewer `primary` metrics.",
            power.counted,
            format::ratio(ratio)
        ),
        Some(ratio) => format!(
            "Detects a difference of {} or more in four of five studies ({verdicts}; {spread}{from}; {}).",
            format::percent(ratio - 1.0),
            power.counted
        ),
        None => format!("Cannot detect any difference: {} are too few ({verdicts}).", power.counted),
    }
}

fn factors(lines: &mut Vec<String>, plan: &PlanView, style: &Style) {
    let column = |title: &str, cells: Vec<String>, hide_order| Column {
        title: title.to_owned(),
        cells,
        align: Align::Left,
        hide_order,
    };
    let each = |text: &dyn Fn(&FactorView) -> String| plan.factors.iter().map(text).collect::<Vec<_>>();
    let columns = vec![
        column("factor", each(&|factor| factor.name.clone()), None),
        column("changes", each(&|factor| if factor.hard { "by plot" } else { "from run to run" }.to_owned()), Some(1)),
        column("levels", each(&|factor| factor.levels.join(", ")), None),
    ];
    if width_of(&columns) > style.width {
        lines.extend(plan.factors.iter().map(|factor| {
            let change = if factor.hard { "by plot" } else { "from run to run" };
            let text = format!("{} (changes {change}): {}", factor.name, factor.levels.join(", "));
            format!("  {}", style.wrap(&text, 4))
        }));
        return;
    }
    let table = set(columns, style.width);
    lines.push(style.ink(Ink::Faint, &table.head));
    lines.extend(table.rows);
}

fn cells(lines: &mut Vec<String>, plan: &PlanView, detail: Detail, style: &Style) {
    let each = |text: &dyn Fn(usize, &PlannedCell) -> String| -> Vec<String> {
        plan.cells.iter().enumerate().map(|(index, cell)| text(index, cell)).collect()
    };
    let column =
        |title: &str, cells: Vec<String>, align| Column { title: title.to_owned(), cells, align, hide_order: None };
    let mut columns = vec![column("cell", each(&|index, _| (index + 1).to_string()), Align::Right)];
    for (index, factor) in plan.factors.iter().enumerate() {
        columns.push(column(&factor.name, each(&|_, cell| cell.levels[index].clone()), Align::Left));
    }
    let is_told = plan.cells.iter().all(|cell| cell.levels.contains(&cell.workload));
    if !is_told {
        columns.push(column("workload", each(&|_, cell| cell.workload.clone()), Align::Left));
    }
    columns.push(column("runs", each(&|_, cell| cell.runs.to_string()), Align::Right));
    // Output that is not a narrow terminal may be a file, in which each cell should stay on one line.
    let table = set(columns, if style.width < Style::PLAIN.width { style.width } else { usize::MAX });
    lines.push(style.ink(Ink::Faint, &table.head));
    for (row, cell) in table.rows.into_iter().zip(&plan.cells) {
        lines.push(row);
        if detail == Detail::Full {
            lines.push(format!("        {}", style.ink(Ink::Faint, &style.wrap(&cell.work, 10))));
        }
    }
}

fn plots(lines: &mut Vec<String>, plan: &PlanView, detail: Detail, style: &Style) {
    let mut shown: Vec<&str> = Vec::new();
    let width = plan.plots.len().to_string().len();
    let mut block = None;
    for (index, plot) in plan.plots.iter().enumerate() {
        if block != Some(plot.block) {
            block = Some(plot.block);
            lines.push(style.ink(Ink::Faint, &format!("  block {}", plot.block + 1)));
        }
        let levels = if plot.levels.is_empty() { String::new() } else { format!("{}, ", plot.levels) };
        let orders: Vec<String> = plot
            .runs
            .iter()
            .map(|repeat| repeat.iter().map(|cell| (cell + 1).to_string()).collect::<Vec<_>>().join(" "))
            .collect();
        let text = format!("{levels}on {}: {}", plot.host, orders.join(" | "));
        lines.push(format!("  {:>width$}  {}", index + 1, style.wrap(&text, 6 + width)));
        if detail == Detail::Full || !shown.contains(&plot.levels.as_str()) {
            shown.push(&plot.levels);
            for step in &plot.steps {
                lines.push(format!("      {}", style.ink(Ink::Faint, &style.wrap(step, 8))));
            }
        }
    }
}
