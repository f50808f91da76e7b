//! mdtest's report.

use super::lower::{Lowered, MAKER, OTHERS};
use super::result::{IterationResult, RankTime, Test};
use super::settings::{MdtestSettings, Prints};
use crate::aiori::{Divisor, FileSystem, Spread, VERSION, exponent, node_map, percentiles_ms};
use plumb_result::histogram::Histogram;

/// Formats the first lines. `began` is in mdtest's format of date and time.
pub fn head(settings: &MdtestSettings, command: &[String], began: &str) -> String {
    let ranks = settings.ranks;
    let (called, words) = command.split_first().map_or(("mdtest", [].as_slice()), |(name, rest)| (name.as_str(), rest));
    let words: String = words.iter().map(|word| format!(" '{word}'")).collect();
    let warning = if settings.phases.reads && settings.data.read_bytes == 0 {
        "WARNING: Read bytes is 0, thus, a read test will actually just open/close\n"
    } else {
        ""
    };
    let launched = settings.launched.as_ref();
    let nodes = launched.map_or(1, |launched| launched.nodes);
    let map = node_map(launched, ranks);
    let options = super::verbose::options(settings);
    format!(
        "-- started at {began} --\n\nmdtest-{VERSION} was launched with {ranks} total task(s) on {nodes} node(s)\n\
         Command line used: {called}{words}\n{warning}{options}Nodemap: {map}\n"
    )
}

/// Formats the lines about the file system, and the warnings before the first test.
pub fn place(settings: &MdtestSettings, file_system: &FileSystem, seed: i32) -> String {
    let path = settings.tree.directories.first().map(String::as_str).unwrap_or_default();
    let mut text = file_system.lines(path);
    if settings.order.stride > 0 {
        text.push_str(&format!(
            "V-0: Rank   0 Line     0 Shifting ranks by {} for each phase.\n",
            settings.order.stride
        ));
    }
    if let Some(given) = settings.order.random_seed {
        let seed = if given == 0 { seed.cast_unsigned() } else { given };
        text.push_str(&format!("random seed: {seed}\n"));
    }
    text
}

/// Formats the numbers of tasks and items.
pub fn tasks(settings: &MdtestSettings, lowered: &Lowered) -> String {
    let (tasks, items) = (lowered.facts.tasks, u64::from(lowered.facts.tasks).saturating_mul(lowered.items));
    match (settings.tree.files_too, settings.tree.directories_too) {
        (true, true) => format!("{tasks} tasks, {items} files/directories\n"),
        (true, false) if settings.order.shared => format!("{tasks} tasks, 1 file\n"),
        (true, false) => format!("{tasks} tasks, {items} files\n"),
        (false, true) => format!("{tasks} tasks, {items} directories\n"),
        (false, false) => String::new(),
    }
}

/// Formats the line about a stonewall that some rank met before it finished all its items.
pub fn wall(result: &IterationResult, items: u64) -> Option<String> {
    let at_wall = &result.at_wall;
    let (min, max) = (at_wall.iter().min()?, at_wall.iter().max()?);
    if *min >= items {
        return None;
    }
    let mean = at_wall.iter().sum::<u64>() as f64 / at_wall.len() as f64;
    Some(format!("Continue stonewall hit min: {min} max: {max} avg: {mean:.1} \n\n"))
}

/// Formats mdtest's warnings about failures in an iteration, and counts further ones.
pub fn warnings(result: &IterationResult) -> String {
    let mut text = String::new();
    for test in result.tests() {
        for fault in &test.faults {
            text.push_str(&format!(
                "WARNING: unable to {} {}: {}\n",
                fault.op.name(),
                fault.path.display(),
                fault.message
            ));
        }
        let listed = test.faults.len() as u64;
        if test.fault_count > listed {
            text.push_str(&format!("WARNING: {} more operations failed\n", test.fault_count - listed));
        }
    }
    text
}

/// Value printed in a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Figure {
    Rate,
    Time,
}

/// Formats the tables after the last iteration.
pub fn report(settings: &MdtestSettings, results: &[IterationResult]) -> String {
    let figures: &[Figure] = match settings.output.prints {
        Prints::Rates => &[Figure::Rate],
        Prints::Times => &[Figure::Time],
        Prints::Both => &[Figure::Rate, Figure::Time],
    };
    let mut text = String::new();
    for &figure in figures {
        if settings.output.prints_all {
            text.push_str(&each_rank(settings, results, figure));
        }
        text.push_str(&table(settings, results, figure));
    }
    text.push_str(&latencies(results));
    text
}

/// Returns the tests that have a row, except those of trees.
fn rows(settings: &MdtestSettings) -> impl Iterator<Item = Test> + '_ {
    Test::ALL.iter().copied().filter(move |test| match test {
        test if test.is_of_tree() => false,
        Test::FileCreation | Test::FileStat | Test::FileRead | Test::FileRemoval => settings.tree.files_too,
        _ => settings.tree.directories_too,
    })
}

fn each_rank(settings: &MdtestSettings, results: &[IterationResult], figure: Figure) -> String {
    let what = if figure == Figure::Rate { "rate" } else { "time" };
    let mut text = format!("\nPer process result ({what}):\n");
    for (number, result) in results.iter().enumerate() {
        text.push_str(&format!("iteration: {number}\n"));
        for test in rows(settings).chain([Test::TreeCreation, Test::TreeRemoval]) {
            text.push_str(&format!("Test {}", test.name()));
            for rank in 0..settings.tasks.1 as usize {
                let of_rank = result.test(test).and_then(|test| test.ranks.get(rank)).copied().unwrap_or_default();
                let value = if figure == Figure::Rate { of_rank.rate() } else { of_rank.time_ns as f64 / 1e9 };
                let comma = if rank == 0 { ' ' } else { ',' };
                text.push_str(&format!("{comma}{}", exponent(value, 6)));
            }
            text.push('\n');
        }
    }
    text
}

fn table(settings: &MdtestSettings, results: &[IterationResult], figure: Figure) -> String {
    let what = if figure == Figure::Rate { "rate (in ops/sec)" } else { "time (in ms/op)" };
    let (ranks, line) = match settings.output.rank_statistics {
        true => (
            "per Rank: Max            Min           Mean      per Iteration:",
            "         ---            ---           ----       ",
        ),
        false => ("               ", ""),
    };
    let mut text = format!(
        "\nSUMMARY {what}: (of {} iterations)\n   Operation     {ranks} Max            Min           Mean        Std Dev\n   \
         ---------      {line}               ---            ---           ----        -------\n",
        results.len()
    );
    for test in rows(settings).filter(|test| *test != Test::DirectoryRead) {
        row(&mut text, settings, results, figure, test, 18);
    }
    for test in [Test::TreeCreation, Test::TreeRemoval] {
        row(&mut text, settings, results, figure, test, 18);
    }
    text
}

fn row(
    text: &mut String,
    settings: &MdtestSettings,
    results: &[IterationResult],
    figure: Figure,
    test: Test,
    name_width: usize,
) {
    let of_iteration = |result: &IterationResult| match (result.test(test), figure) {
        (None, _) => 0.0,
        (Some(test), Figure::Rate) => test.rate(),
        (Some(test), Figure::Time) => test.ms_per_item(),
    };
    let of_rank = |rank: &RankTime| match figure {
        Figure::Rate => rank.rate(),
        Figure::Time if rank.items == 0 => 0.0,
        Figure::Time => rank.time_ns as f64 / 1e6 / rank.items as f64,
    };
    text.push_str(&format!("   {:<name_width$} ", test.name()));
    if settings.output.rank_statistics {
        let ranks = results.iter().filter_map(|result| result.test(test)).flat_map(|test| &test.ranks);
        let spread = Spread::from_values(&ranks.map(of_rank).collect::<Vec<_>>(), Divisor::CountLessOne);
        text.push_str(&format!("{:>14.3} {:>14.3} {:>14.3}     ", spread.max, spread.min, spread.mean));
    }
    let spread = Spread::from_values(&results.iter().map(of_iteration).collect::<Vec<_>>(), Divisor::CountLessOne);
    text.push_str(&format!(
        "    {:>14.3} {:>14.3} {:>14.3} {:>14.3}\n",
        spread.max, spread.min, spread.mean, spread.deviation
    ));
}

/// Formats latencies of single operations, which mdtest itself does not print.
fn latencies(results: &[IterationResult]) -> String {
    let mut text = "\nLATENCY (in ms): (of single operations, all iterations)\n   Operation                        p50            \
                    p90            p99          p99.9            Max\n   ---------                        ---            \
                    ---            ---          -----            ---\n"
        .to_owned();
    for &test in Test::ALL {
        let mut latency = Histogram::default();
        results.iter().filter_map(|result| result.test(test)).for_each(|test| latency.merge(&test.latency));
        if latency.count() == 0 {
            continue;
        }
        text.push_str(&format!("   {:<18} ", test.name()));
        for ms in percentiles_ms(&latency) {
            text.push_str(&format!(" {ms:>14.6}"));
        }
        text.push('\n');
    }
    text
}

pub fn tail(ended: &str) -> String {
    format!("-- finished at {ended} --\n\n")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpFile {
    pub path: String,
    /// Bytes that mdtest counts for each operation.
    pub bytes: u64,
}

/// Returns the file for the ops of a worker, `GROUP/NUMBER`, in a phase. Only tests of files have one, but not files
/// that rank 0 creates for all.
pub fn op_file(settings: &MdtestSettings, phase: &str, worker: &str) -> Option<OpFile> {
    let prefix = settings.output.op_csv.as_ref()?;
    let test = Test::of_phase(phase)?;
    let bytes = match test {
        Test::FileCreation | Test::FileRemoval => settings.data.write_bytes,
        Test::FileRead => settings.data.read_bytes,
        Test::FileStat => 1,
        _ => return None,
    };
    let (group, rank) = worker.rsplit_once('/')?;
    let rank: u32 = rank.parse().ok().filter(|_| ![MAKER, OTHERS].contains(&group))?;
    Some(OpFile { path: format!("{prefix}-{}-{rank:05}.csv", test.name()), bytes: bytes.max(1) })
}

/// Returns the header row of `--saveRankPerformanceDetails`.
pub fn csv_head() -> String {
    let columns: String = Test::ALL.iter().map(|test| format!(",rate-{0},time-{0}", test.name())).collect();
    format!("rank,items{columns}\n")
}

/// Formats the rows that are appended for each number of tasks.
pub fn csv(results: &[IterationResult], items: u64) -> String {
    let cell = |rate: f64, time_ns: u64| format!(",{},{}", exponent(rate, 10), exponent(time_ns as f64 / 1e9, 10));
    // The items before a stonewall, if there was one.
    let items = results.first().and_then(|result| result.at_wall.iter().max()).map_or(items, |&most| most.min(items));
    let mut text = format!("all,{items}");
    for &test in Test::ALL {
        text.push_str(&match results.first().and_then(|result| result.test(test)) {
            Some(test) if test.items > 0 => cell(test.rate(), test.time_ns),
            _ => ",,".to_owned(),
        });
    }
    text.push('\n');
    for result in results {
        let ranks = result.tests().map(|test| test.ranks.len()).max().unwrap_or(0);
        for rank in 0..ranks {
            text.push_str(&format!("{rank},"));
            for test in Test::ALL.iter().copied().filter(|test| !test.is_of_tree()) {
                text.push_str(&match result.test(test).and_then(|test| test.ranks.get(rank)) {
                    Some(of_rank) if of_rank.items > 0 => cell(of_rank.rate(), of_rank.time_ns),
                    _ => ",,".to_owned(),
                });
            }
            text.push('\n');
        }
    }
    text
}
