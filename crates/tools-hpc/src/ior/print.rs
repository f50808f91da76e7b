//! IOR's reports: the table, CSV and JSON.

pub use super::json::json;
pub use super::tables::{op_csv_name, rank_csv, rank_csv_head};

use super::result::{Access, AccessKind};
use super::settings::{Api, Form, Hog, Random, Reorder, Test};
use crate::aiori::{Divisor, FileSystem, Spread, VERSION, percentiles_ms};
use plumb_result::histogram::Histogram;
use serde_json::{Value, json};

pub(super) const MIB: f64 = 1048576.0;

/// Facts known before the first test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The command line, as printed.
    pub command: String,
    /// Start time, in the format of ctime(3).
    pub began: String,
    /// System and host.
    pub machine: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    pub test: Test,
    /// Start time, in the format of ctime(3).
    pub began: String,
    /// Name of its first file.
    pub file: String,
    /// File system of that file.
    pub file_system: FileSystem,
    /// The back end's description of its version.
    pub api_version: String,
    /// Writes and reads of all repetitions, in order.
    pub accesses: Vec<Access>,
}

impl Done {
    pub(super) fn accesses_of_kind(&self, kind: AccessKind) -> Vec<&Access> {
        self.accesses.iter().filter(|access| access.kind == kind).collect()
    }
}

/// Formats the first lines of a table.
pub fn head(session: &Session) -> String {
    format!(
        "IOR-{VERSION}: MPI Coordinated Test of Parallel I/O\n{:<20}: {}\n{:<20}: {}\n{:<20}: {}\n",
        "Began", session.began, "Command line", session.command, "Machine", session.machine
    )
}

/// Formats a size as IOR does: with a unit from 1 MiB on.
fn size(bytes: u64) -> String {
    for (unit, shift) in [("TiB", 40), ("GiB", 30), ("MiB", 20)] {
        let of_unit = 1u64 << shift;
        if bytes >= of_unit {
            return match bytes.is_multiple_of(of_unit) {
                true => format!("{} {unit}", bytes / of_unit),
                false => format!("{:.2} {unit}", bytes as f64 / of_unit as f64),
            };
        }
    }
    format!("{bytes} bytes")
}

/// Returns a test's options in IOR's words.
pub(super) fn options(done: &Done, ranks_per_node: u32) -> Vec<(&'static str, Value)> {
    let test = &done.test;
    let ordering = match test.order.random {
        Random::No => "sequential",
        Random::InBlock | Random::Anywhere => "random",
    };
    let mut options = vec![
        ("api", json!(api_name(test))),
        ("apiVersion", json!(done.api_version)),
        ("test filename", json!(test.files.names.join("@"))),
        ("access", json!(if test.files.file_per_rank { "file-per-process" } else { "single-shared-file" })),
        ("type", json!(if test.phases.collective { "collective" } else { "independent" })),
        ("segments", json!(test.size.segments)),
        ("ordering in a file", json!(ordering)),
    ];
    let between = |name: &str| ("ordering inter file", json!(name));
    let distance = || ("task offset", json!(test.order.node_distance));
    match test.order.reorder {
        Reorder::No => options.push(between("no tasks offsets")),
        Reorder::Constant => options.extend([between("constant task offset"), distance()]),
        Reorder::Random => {
            options.extend([between("random task offset"), distance()]);
            options.push(("reorder random seed", json!(test.order.reorder_seed)));
        }
        // IOR prints nothing about it here.
        Reorder::Permuted => {}
    }
    let nodes = test.tasks.div_ceil(ranks_per_node.max(1));
    options.extend([
        ("nodes", json!(nodes)),
        ("tasks", json!(test.tasks)),
        ("clients per node", json!(ranks_per_node)),
    ]);
    match test.caching.hog {
        Some(Hog::Process(bytes)) => options.push(("memoryPerProcess", json!(size(bytes)))),
        Some(Hog::ShareOfNode(share)) => options.push(("memoryPerNode", json!(format!("{} %", share * 100.0)))),
        None => {}
    }
    options.extend([
        ("memoryBuffer", json!("CPU")),
        ("dataAccess", json!("CPU")),
        ("GPUDirect", json!("0")),
        ("repetitions", json!(test.repetition.repetitions)),
        ("xfersize", json!(size(test.size.transfer_bytes))),
        ("blocksize", json!(size(test.size.block_bytes))),
        ("aggregate filesize", json!(size(test.all_bytes()))),
    ]);
    if test.phases.dry {
        options.push(("dryRun", json!(1)));
    }
    if test.output.verbosity > 0 {
        options.push(("verbose", json!(test.output.verbosity)));
    }
    if test.limits.wall_s > 0 {
        options.push(("stonewallingTime", json!(test.limits.wall_s)));
        options.push(("stoneWallingWearOut", json!(u8::from(test.limits.wear_out))));
    }
    options
}

/// Formats the lines before a test's table.
pub fn test_head(done: &Done, ranks_per_node: u32) -> String {
    let test = &done.test;
    if test.output.form != Form::Table {
        return String::new();
    }
    let mut text = format!("{:<20}: {}\n{:<20}: {}\n", "TestID", test.id, "StartTime", done.began);
    text.push_str(&done.file_system.lines(&done.file));
    text.push_str("\nOptions: \n");
    for (name, value) in options(done, ranks_per_node) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("{name:<20}: {value}\n"));
    }
    text.push_str("\nResults: \n");
    text
}

/// Formats the header of a test's table.
pub fn table_head(test: &Test) -> &'static str {
    match test.output.form {
        Form::Table => {
            "\naccess    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   \
             total(s)   iter\n------    ---------  ----       ----------  ---------- ---------  --------   --------   \
             --------   --------   ----\n"
        }
        Form::Csv if test.id == 0 => {
            "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n"
        }
        Form::Csv | Form::Json => "",
    }
}

/// Formats the line about the data seed of a repetition, for `-v -v`.
pub fn data_stamp(test: &Test, clock_seed: i32) -> String {
    if test.output.verbosity < 2 {
        return String::new();
    }
    let stamp = test.data.seed.filter(|seed| *seed != 0).unwrap_or(clock_seed).cast_unsigned();
    format!("Using Time Stamp {stamp} (0x{stamp:x}) for Data Signature\n")
}

/// Formats the lines of `-v` at the start of a phase. `readers` holds the number of ranks that read
/// the data of each rank.
pub fn begins(test: &Test, phase: &str, readers: &[u32], now: &str) -> String {
    match (phase, test.output.verbosity) {
        ("write-check", 1..) => format!("Verifying contents of the file(s) just written.\n{now}\n\n"),
        ("write", 3..) => format!("Commencing write performance test: {now}\n"),
        ("read", 3..) => format!("{}Commencing read performance test: {now}\n", file_hits(test, readers)),
        ("read", 2) => file_hits(test, readers),
        _ => String::new(),
    }
}

/// Formats the line of `-Z` with `-v -v`: how many ranks' data is read by 0, 1, … ranks.
fn file_hits(test: &Test, readers: &[u32]) -> String {
    if test.order.reorder != Reorder::Random {
        return String::new();
    }
    let mut line = "#File Hits Dist:".to_owned();
    let (mut seen, mut hits) = (0, 0);
    while seen < readers.len() && (hits as usize) < readers.len() {
        let ranks = readers.iter().filter(|&&count| count == hits).count();
        line.push_str(&format!(" {ranks}"));
        seen += ranks;
        hits += 1;
    }
    line + "\n"
}

/// Formats the row about the removal of files, for `-v`.
pub fn removal_row(test: &Test, seconds: f64, repetition: u32) -> String {
    match (test.output.form, test.output.verbosity) {
        (Form::Table, 1..) => {
            let none: String = ["-"; 8].iter().enumerate().fold("remove    ".to_owned(), |row, (place, none)| {
                format!("{row}{none:<width$}", width = if place == 2 { 12 } else { 11 })
            });
            format!("{none}{} {repetition:<4}\n", number(seconds))
        }
        _ => String::new(),
    }
}

/// Returns the best rates of a test in MiB/s, if IOR prints them: with `-v`, for the measured kinds.
pub(super) fn maxima(done: &Done) -> Vec<(AccessKind, f64)> {
    let is_asked = |kind: AccessKind| match kind {
        AccessKind::Write => done.test.phases.writes,
        AccessKind::Read => done.test.phases.reads,
        AccessKind::WriteCheck => false,
    };
    let best = |kind| done.accesses_of_kind(kind).iter().map(|access| access.bandwidth()).reduce(f64::max);
    let kinds = [AccessKind::Write, AccessKind::Read].into_iter().filter(|kind| is_asked(*kind));
    if done.test.output.verbosity == 0 {
        Vec::new()
    } else {
        kinds.filter_map(|kind| Some((kind, best(kind)?))).collect()
    }
}

/// Formats the lines at the end of a test, for `-v`.
pub fn test_tail(done: &Done) -> String {
    if done.test.output.form != Form::Table {
        return String::new();
    }
    let line = |(kind, rate): (AccessKind, f64)| {
        let name = if kind == AccessKind::Write { "Max Write:" } else { "Max Read: " };
        format!("{name} {:.2} MiB/sec ({:.2} MB/sec)\n", rate / MIB, rate / 1e6)
    };
    maxima(done).into_iter().map(line).collect()
}

/// Formats hints below a heading, as IOR does.
pub fn hints(heading: &str, hints: &[(String, String)]) -> String {
    let lines: String = hints.iter().map(|(name, value)| format!("\t{name} = {value}\n")).collect();
    format!("\n{heading} {{\n{lines}}}\n")
}

/// Formats a number of the table; small numbers get more digits.
fn number(value: f64) -> String {
    let digits = if value < 1.0 {
        6
    } else if value < 3600.0 {
        2
    } else {
        0
    };
    format!("{value:<10.digits$}")
}

pub(super) fn access_name(access: &Access) -> &'static str {
    if access.kind == AccessKind::Write { "write" } else { "read" }
}

/// Formats the row of a result; empty for a phase that only verifies.
pub fn row(test: &Test, access: &Access) -> String {
    if access.kind == AccessKind::WriteCheck {
        return String::new();
    }
    let name = access_name(access);
    let values = [
        access.bandwidth() / MIB,
        access.iops(test),
        access.mean_transfer_s(),
        test.size.block_bytes as f64 / 1024.0,
        test.size.transfer_bytes as f64 / 1024.0,
        access.open_s,
        access.transfer_s,
        access.close_s,
        access.total_s,
    ];
    if test.output.form == Form::Csv {
        let values: String = values.iter().map(|value| format!("{value:.4},")).collect();
        return format!("{name},{values}{},{}\n", test.tasks, access.repetition);
    }
    let mut text = format!("{name:<10}");
    for (place, value) in values.into_iter().enumerate() {
        text.push_str(&number(value));
        text.push_str(if place == 2 { "  " } else { " " });
    }
    text.push_str(&format!("{:<4}\n", access.repetition));
    text
}

/// Formats remarks before the row of a result: about the stonewall, and about missing bytes.
pub fn remarks(test: &Test, access: &Access) -> String {
    let mut text = String::new();
    if test.limits.wear_out && test.output.verbosity > 0 {
        let at_wall = access.ranks.iter().enumerate().filter_map(|(rank, times)| Some((rank, times.at_wall?)));
        let lines = at_wall.map(|(rank, pairs)| format!("{rank}: stonewalling pairs accessed: {pairs}\n"));
        text.extend(lines);
    }
    if let (Some((min, max, mean)), true) = (access.at_wall(), test.limits.wear_out) {
        let gib = |transfers: f64| transfers * test.size.transfer_bytes as f64 / (1u64 << 30) as f64;
        text.push_str(&format!(
            "stonewalling pairs accessed min: {min} max: {max} -- min data: {:.1} GiB mean data: {:.1} GiB time: {:.1}s\n",
            gib(min as f64),
            gib(mean),
            f64::from(test.limits.wall_s)
        ));
    }
    if access.bytes != test.all_bytes() && access.kind != AccessKind::WriteCheck {
        text.push_str(&format!(
            "WARNING: Expected aggregate file size       = {}\nWARNING: Using actual aggregate bytes moved = {}\n",
            test.all_bytes(),
            access.bytes
        ));
        if test.limits.wall_s > 0 {
            text.push_str("WARNING: Maybe caused by deadlineForStonewalling\n");
        }
    }
    if access.short > 0 {
        text.push_str(&format!(
            "WARNING: {} transfers moved less than was asked for: is the file long enough?\n",
            access.short
        ));
    }
    for failed in &access.failed {
        text.push_str(&format!("ERROR: {failed}\n"));
    }
    if access.mismatched > 0 {
        text.push_str(&format!(
            "WARNING: Incorrect data on {} ({} transfers).\n",
            if access.kind == AccessKind::Read { "read" } else { "write" },
            access.mismatched
        ));
    }
    text
}

pub(super) struct Summary {
    pub(super) bandwidth: Spread,
    pub(super) ops: Spread,
    pub(super) mean_s: f64,
    pub(super) bytes: u64,
}

impl Summary {
    pub(super) fn new(test: &Test, accesses: &[&Access]) -> Summary {
        let all = |of: &dyn Fn(&Access) -> f64| accesses.iter().map(|access| of(access)).collect::<Vec<f64>>();
        Summary {
            bandwidth: Spread::from_values(&all(&|access| access.bandwidth() / MIB), Divisor::Count),
            ops: Spread::from_values(&all(&|access| access.ops(test)), Divisor::Count),
            mean_s: Spread::from_values(&all(&|access| access.total_s), Divisor::Count).mean,
            bytes: accesses.first().map_or(0, |access| access.bytes),
        }
    }
}

pub(super) fn api_name(test: &Test) -> &'static str {
    match test.api {
        Api::Posix => "POSIX",
        Api::Aio(_) => "AIO",
        Api::Mmap => "MMAP",
        Api::MpiIo(_) => "MPIIO",
        Api::Dummy(_) => "DUMMY",
    }
}

/// Returns the reordering flags of the summary: constant, random.
pub(super) fn reorder_flags(test: &Test) -> (u8, u8) {
    match test.order.reorder {
        Reorder::No => (0, 0),
        Reorder::Constant => (1, 0),
        Reorder::Random => (0, 1),
        Reorder::Permuted => (0, 2),
    }
}

/// Formats the summary of all tests, and the latencies, which IOR itself does not print.
pub fn summary(all: &[Done], ranks_per_node: u32) -> String {
    if all.first().is_some_and(|done| done.test.output.form != Form::Table) {
        return String::new();
    }
    let mut text = "\nSummary of all tests:\nOperation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  \
                    Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) Test# #Tasks tPN reps fPP reord reordoff \
                    reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum\n"
        .to_owned();
    for done in all {
        for kind in [AccessKind::Write, AccessKind::Read] {
            let accesses = done.accesses_of_kind(kind);
            let Some(first) = accesses.first() else { continue };
            let test = &done.test;
            let sum = Summary::new(test, &accesses);
            text.push_str(&format!("{:<9} ", access_name(first)));
            for spread in [&sum.bandwidth, &sum.ops] {
                let Spread { max, min, mean, deviation } = spread;
                text.push_str(&format!("{max:>10.2} {min:>10.2} {mean:>10.2} {deviation:>10.2} "));
            }
            let wall = match first.at_wall().filter(|_| test.limits.wear_out) {
                Some((_, _, mean)) => {
                    let rate = mean * test.size.transfer_bytes as f64 / f64::from(test.limits.wall_s.max(1)) / MIB;
                    format!("{:>10.2} {rate:>13.2} ", f64::from(test.limits.wall_s))
                }
                None => format!("{:>10} {:>13} ", "NA", "NA"),
            };
            let (constant, random) = reorder_flags(test);
            text.push_str(&format!(
                "{:>10.5} {wall}{:>5} {:>6} {ranks_per_node:>3} {:>4} {:>3} {constant:>5} {:>8} {random:>9} {:>4} {:>6} \
                 {:>8} {:>8} {:>9.1} {:>3} {:>6}\n",
                sum.mean_s,
                test.id,
                test.tasks,
                test.repetition.repetitions,
                u8::from(test.files.file_per_rank),
                test.order.node_distance,
                test.order.reorder_seed,
                test.size.segments,
                test.size.block_bytes,
                test.size.transfer_bytes,
                sum.bytes as f64 / MIB,
                api_name(test),
                test.reference
            ));
        }
    }
    text.push_str(&latencies(all));
    text
}

/// Returns `true` if the time of a call is the latency of its transfer. With AIO, the request may still be
/// in flight after the call.
pub(super) fn has_latencies(test: &Test) -> bool {
    !matches!(test.api, Api::Aio(_))
}

fn latencies(all: &[Done]) -> String {
    let all: Vec<&Done> = all.iter().filter(|done| has_latencies(&done.test)).collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text =
        "\nLatency of single transfers (ms):\nOperation        p50        p90        p99      p99.9        Max Test#\n"
            .to_owned();
    for done in all {
        for kind in [AccessKind::Write, AccessKind::Read] {
            let accesses = done.accesses_of_kind(kind);
            let Some(first) = accesses.first() else { continue };
            let mut latency = Histogram::default();
            accesses.iter().for_each(|access| latency.merge(&access.latency));
            text.push_str(&format!("{:<9}", access_name(first)));
            for ms in percentiles_ms(&latency) {
                text.push_str(&format!(" {ms:>10.6}"));
            }
            text.push_str(&format!(" {:>5}\n", done.test.id));
        }
    }
    text
}

pub fn tail(all: &[Done], ended: &str) -> String {
    match all.first().map(|done| done.test.output.form) {
        Some(Form::Table) | None => format!("{:<20}: {ended}\n", "Finished"),
        Some(Form::Json | Form::Csv) => String::new(),
    }
}
