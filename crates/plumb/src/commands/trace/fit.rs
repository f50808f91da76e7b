//! `plumb trace fit`: fits a workload to a recording, and compares the two.

use super::replay::{self, At};
use super::{FitArguments, ReplayArguments, new_file, stopped};
use plumb_bench::{Policies, Progress, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::session;
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_engine::sim::SimRun;
use plumb_report::trace::{goodness, goodness_verdict};
use plumb_trace::show::{COMPARED_MIN, Character, Likeness, Sheet, characterise};
use plumb_trace::{Names, Record, RecordedAct, open_as};
use plumb_workload::blocks::{BlockSize, Mix, Pattern, WeightedSize};
use plumb_workload::{
    Arrival, Blocks, Bytes, End as PhaseEnd, FileTarget, Flush, Nanos, OpKind, Pace, PerSecond, Phase, SimDevice,
    SimModel, SimTarget, Size, Stop, Target, WorkerGroup, Workload,
};
use plumb_workload_text::native;
use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

const TARGET: &str = "data";

/// Shortest run of a model, ns: a shorter one has too few ops for a comparison.
const SHORTEST_NS: f64 = 1e9;

/// Longest run of a model, ns.
const LONGEST_NS: f64 = 60e9;

/// Zipf exponent below which accesses count as uniform.
const EVEN_ZIPF: f64 = 0.2;

/// Variance of gaps over their squared mean, above which arrivals count as random.
const RANDOM_GAPS: f64 = 0.5;

/// Measurements of a recording that a model is made from.
struct Seen {
    sheet: Sheet,
    /// Counts of reads, writes and flushes.
    counts: [f64; 3],
    length_ns: f64,
}

/// Returns `true` for ops that models have.
fn is_modelled(act: RecordedAct) -> bool {
    matches!(act, RecordedAct::Read | RecordedAct::Write | RecordedAct::Sync | RecordedAct::Datasync)
}

fn read(arguments: &FitArguments) -> Result<Seen, Stopped> {
    let mut reader = open_as(&arguments.file, arguments.input.waits(), arguments.input.format()?).map_err(stopped)?;
    let mut character = Character::new();
    for record in reader.by_ref() {
        let record = record.map_err(stopped)?;
        if is_modelled(record.act) {
            character.add(&record);
        }
    }
    Ok(read_sheet(character.finish(reader.names())))
}

fn read_sheet(sheet: Sheet) -> Seen {
    let count = |name: &str| {
        let row = sheet.table("ops").and_then(|table| table.rows.iter().find(|(act, _)| act == name));
        row.and_then(|(_, values)| values.first().copied()).unwrap_or(0.0)
    };
    let counts = [count("read"), count("write"), count("fsync") + count("fdatasync")];
    let length_ns = sheet.value("mix", "length").unwrap_or(0.0);
    Seen { sheet, counts, length_ns }
}

/// Makes a model, runs it on a simulated device, and prints how similar it is to the recording.
pub(super) fn run(arguments: &FitArguments, common: &Common) -> Result<End, Stopped> {
    let (waits, format) = (arguments.input.waits(), arguments.input.format()?);
    let fitted = match arguments.level {
        0 => None,
        level => Some(plumb_trace::model::fit(&arguments.file, waits, format, level).map_err(stopped)?),
    };
    let (model, seen, left_out) = match fitted {
        Some(fitted) => (Some(fitted.model.to_string()), read_sheet(fitted.sheet), fitted.left_out),
        None => (None, read(arguments)?, 0),
    };
    if seen.counts[0] + seen.counts[1] == 0.0 {
        return Err(Stopped::usage(format!("{} has no reads or writes to model", arguments.file.display())));
    }
    let streams = match arguments.level {
        0 => vec![one(&seen)],
        _ => split(&seen),
    };
    let fio = arguments.fio.as_ref().map(|path| (path, job(&seen, &streams)));
    let (workload, dry) = match &model {
        Some(text) => {
            let plain = ReplayArguments::plain(arguments.file.clone(), PathBuf::from("."));
            let workload = replay::workload("fit", &plain, &At::parse(&plain.at)?, Some(text.clone()))?;
            let text = Box::new(Cursor::new(text.clone()));
            let mut drawn = plumb_trace::read(text, &arguments.file, waits).map_err(stopped)?;
            (workload, characterise(&mut drawn).map_err(stopped)?)
        }
        // A run on a simulated device, which takes almost no time.
        None => {
            let dry = dry_run(&workload(&arguments.file, &seen, streams.clone(), true), common)?;
            (workload(&arguments.file, &seen, streams, false), dry)
        }
    };
    let toml = native::to_toml(&workload).map_err(Stopped::usage)?;
    let likeness = Likeness::new(&seen.sheet, &dry);
    let outputs = [("--output", &arguments.output, Some(&toml)), ("--model", &arguments.model, model.as_ref())];
    for (option, path, text) in outputs {
        if let (Some(path), Some(text)) = (path, text) {
            write(option, path, text)?;
        }
    }
    if let Some((path, job)) = fio {
        write("--fio", path, &job)?;
    }
    if common.json {
        output::print(&json(&likeness, arguments.level, left_out));
        return Ok(End::Done);
    }
    match arguments.output {
        // Standard output has the workload, for a pipe.
        None => {
            output::print(&toml);
            error_line!("{}", page(&likeness, left_out));
        }
        Some(_) => output::print(&page(&likeness, left_out)),
    }
    Ok(End::Done)
}

fn json(likeness: &Likeness, level: u8, left_out: u64) -> String {
    let line = |(name, distance): &(&str, f64)| {
        let verdict = goodness_verdict(*distance);
        format!("\n    {{\"name\": \"{name}\", \"distance\": {distance}, \"verdict\": \"{verdict}\"}}")
    };
    let few: Vec<String> = likeness.too_few.iter().map(|name| format!("\"{name}\"")).collect();
    let lines: Vec<String> = likeness.distances.iter().map(line).collect();
    format!(
        "{{\n  \"schema\": \"plumb.trace-fit/1\",\n  \"level\": {level},\n  \"goodness\": [{}\n  ],\n  \"too_few\": [{}],\n  \
         \"not_modelled\": {left_out}\n}}\n",
        lines.join(","),
        few.join(", ")
    )
}

fn page(likeness: &Likeness, left_out: u64) -> String {
    let mut page = goodness(&likeness.distances, &session::style());
    if !likeness.too_few.is_empty() {
        page.push_str(&format!("Not compared: {}, fewer than {COMPARED_MIN} of them.\n", likeness.too_few.join(", ")));
    }
    if left_out > 0 {
        page.push_str(&format!("Not modelled: {left_out} ops that failed, or of other kinds.\n"));
    }
    page
}

fn write(option: &str, path: &Path, text: &str) -> Result<(), Stopped> {
    let output = OutputFile::named(option, path);
    Ok(new_file(output)?.write_all(text.as_bytes()).map_err(output.failed())?)
}

#[derive(Clone)]
struct StreamModel {
    name: &'static str,
    blocks: Blocks,
    /// Share of the recording's ops, 0 to 1.
    share: f64,
}

/// Returns the most frequent sizes, with their shares.
fn sizes(seen: &Seen, column: usize) -> Option<BlockSize> {
    let table = seen.sheet.table("sizes")?;
    let rows = table.rows.iter().filter(|(_, values)| values[column] > 0.0 && values[0] > 0.0);
    // Blocks of a range are multiples of its smallest one; other sizes are rounded up to a sector.
    let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
    rows.for_each(|(_, values)| *sizes.entry((values[0] as u64).next_multiple_of(512)).or_default() += values[column]);
    let table: Vec<_> = sizes.into_iter().map(|(size, weight)| WeightedSize { size: Bytes(size), weight }).collect();
    match table.as_slice() {
        [] => None,
        [only] => Some(BlockSize::Fixed(only.size)),
        _ => Some(BlockSize::Weighted(table)),
    }
}

fn blocks(seen: &Seen, pattern: Pattern) -> Blocks {
    let [reads, writes, flushes] = seen.counts;
    let percent = (reads / (reads + writes) * 100.0).round() as u32;
    let (of_reads, of_writes) = (sizes(seen, 2), sizes(seen, 3));
    Blocks {
        pattern,
        block: of_reads.clone().or_else(|| of_writes.clone()).unwrap_or_default(),
        write_block: of_reads.and(of_writes),
        mix: Mix { read: percent, write: 100 - percent, trim: 0 },
        fsync_every: if flushes > 0.0 && writes > 0.0 { (writes / flushes).round().max(1.0) as u64 } else { 0 },
        ..Blocks::default()
    }
}

/// Returns the pattern of ops that continue no other op.
fn scattered(seen: &Seen) -> Pattern {
    match seen.sheet.value("locality", "Zipf exponent") {
        Some(theta) if theta > EVEN_ZIPF => Pattern::Zipf { theta: (theta * 100.0).round() / 100.0 },
        _ => Pattern::Random,
    }
}

/// Models a recording as one stream that is wholly sequential or wholly scattered, whichever prevails.
fn one(seen: &Seen) -> StreamModel {
    let sequential = seen.sheet.value("data ops", "sequential in their file").unwrap_or(0.0);
    let pattern = if sequential > 0.5 { Pattern::Sequential } else { scattered(seen) };
    StreamModel { name: "all", blocks: blocks(seen, pattern), share: 1.0 }
}

/// Models a recording as two streams: ops that continue other ops, and the rest.
fn split(seen: &Seen) -> Vec<StreamModel> {
    let runs = seen.sheet.value("data ops", "continue a recent op").unwrap_or(0.0);
    let stream = |name, pattern, share| StreamModel { name, blocks: blocks(seen, pattern), share };
    let both = [stream("runs", Pattern::Sequential, runs), stream("scattered", scattered(seen), 1.0 - runs)];
    both.into_iter().filter(|stream| stream.share >= 0.005).collect()
}

fn length_ns(seen: &Seen) -> f64 {
    seen.length_ns.clamp(SHORTEST_NS, LONGEST_NS)
}

fn range_bytes(seen: &Seen) -> u64 {
    let used = seen.sheet.value("locality", "working set").unwrap_or(0.0) as u64;
    let largest = seen.sheet.value("data ops", "size p99").unwrap_or(0.0) as u64;
    used.max(largest * 2).max(1 << 20).next_multiple_of(4096)
}

fn rate(seen: &Seen) -> Option<f64> {
    (seen.length_ns > 0.0).then(|| (seen.counts[0] + seen.counts[1]) / (seen.length_ns / 1e9))
}

fn workload(path: &Path, seen: &Seen, streams: Vec<StreamModel>, is_dry: bool) -> Workload {
    let random = seen.sheet.value("arrivals", "squared variation of gaps").unwrap_or(1.0) > RANDOM_GAPS;
    let depth = seen.sheet.value("arrivals", "in flight p99").unwrap_or(1.0).max(1.0) as u32;
    let groups = streams.into_iter().map(|stream| {
        let arrival = if random { Arrival::Poisson } else { Arrival::Fixed };
        let pace = rate(seen).map(|rate| Pace::open(PerSecond((rate * stream.share).max(0.001)), arrival, false));
        WorkerGroup {
            name: Some(stream.name.to_owned()),
            depth: depth.min(1024),
            pace: pace.unwrap_or_default(),
            log_ops: is_dry,
            ..WorkerGroup::new(TARGET, stream.blocks)
        }
    });
    let bytes = range_bytes(seen);
    let target = if is_dry {
        Target::Sim(SimTarget {
            device: SimDevice::healthy(SimModel::Ram),
            size: Bytes(bytes),
            files: None,
            preallocated_percent: 0,
            shares: None,
        })
    } else {
        Target::File(FileTarget {
            path: PathBuf::from("data"),
            size: Some(Size::Bytes(Bytes(bytes))),
            prepare: plumb_workload::Prepare::Write,
            content: Default::default(),
        })
    };
    let phase = Phase {
        stop: Stop { time: Some(Nanos(length_ns(seen) as u64)), ..Stop::default() },
        end: PhaseEnd { flush: Flush::None, ..PhaseEnd::default() },
        ..Phase::new("model", groups.collect())
    };
    Workload {
        name: replay::name("fit", path),
        description: String::new(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: vec![phase],
        repeat: None,
    }
}

#[derive(Default)]
struct OpRecords(Vec<Record>);

impl Progress for OpRecords {
    fn op_log(&mut self, _phase: &str, _worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.0.extend(ops.filter_map(|op| {
            let act = match op.kind {
                OpKind::Read => RecordedAct::Read,
                OpKind::Write => RecordedAct::Write,
                OpKind::Fsync => RecordedAct::Sync,
                _ => return None,
            };
            let took_ns = op.complete_ns.saturating_sub(op.submit_ns);
            Some(Record { took_ns, ..Record::ranged(op.submit_ns, 0, act, op.offset, op.length) })
        }));
    }
}

/// Runs a model on virtual time, and returns the sheet of its ops.
fn dry_run(workload: &Workload, common: &Common) -> Result<Sheet, Stopped> {
    let mut bench = session::bench(&Common { no_store: true, ..common.clone() })?;
    let sim_run = SimRun { seed: workload.seed, run_index: 0, plot_index: 0 };
    let base = Path::new("/tmp");
    let request = RunRequest { workload, policies: Policies::AsWritten, base, command: "", dialect: None, sim_run };
    let mut op_records = OpRecords::default();
    bench.run(&request, &mut op_records)?;
    let mut records = op_records.0;
    records.sort_by_key(|record| record.at_ns);
    let (mut character, mut names) = (Character::new(), Names::default());
    names.path("model");
    names.task(Default::default());
    records.iter().for_each(|record| character.add(record));
    Ok(character.finish(&names))
}

/// Formats the model as an fio job file, as far as fio can express it.
fn job(seen: &Seen, streams: &[StreamModel]) -> String {
    let depth = seen.sheet.value("arrivals", "in flight p99").unwrap_or(1.0).max(1.0) as u32;
    let mut text = format!(
        "[global]\nfilename=plumb-fit.data\nsize={}\nruntime={}\ntime_based=1\nioengine=libaio\niodepth={depth}\n",
        range_bytes(seen),
        (length_ns(seen) / 1e9).ceil() as u64
    );
    for stream in streams {
        let Blocks { pattern, block, write_block, mix, fsync_every, .. } = &stream.blocks;
        let kinds = match (mix.read, mix.write) {
            (100, _) => "read",
            (_, 100) => "write",
            _ => "rw",
        };
        let order = if *pattern == Pattern::Sequential { "" } else { "rand" };
        text.push_str(&format!("\n[{}]\nrw={order}{kinds}\n", stream.name));
        if kinds == "rw" {
            text.push_str(&format!("rwmixread={}\n", mix.read));
        }
        if let Pattern::Zipf { theta } = pattern {
            text.push_str(&format!("random_distribution=zipf:{theta}\n"));
        }
        let write = write_block.as_ref().unwrap_or(block);
        text.push_str(&format!("bssplit={},{}\n", split_of(block), split_of(write)));
        if let Some(rate) = rate(seen) {
            // fio's rates for reads and for writes are separate.
            let each = |percent: u32| ((rate * stream.share * f64::from(percent) / 100.0).round() as u64).max(1);
            text.push_str(&format!("rate_iops={},{}\nrate_process=poisson\n", each(mix.read), each(mix.write)));
        }
        if *fsync_every > 0 {
            text.push_str(&format!("fsync={fsync_every}\n"));
        }
    }
    text
}

/// Formats sizes for fio: `4096/75:8192/25`. fio's percentages are whole numbers, so the last one takes the rest.
fn split_of(block: &BlockSize) -> String {
    let BlockSize::Weighted(table) = block else { return format!("{}/100", block.max().0) };
    let total: f64 = table.iter().map(|entry| entry.weight).sum();
    let mut left = 100;
    let mut parts = Vec::new();
    for (number, entry) in table.iter().enumerate() {
        let percent = ((entry.weight / total * 100.0).round() as u32).min(left);
        let percent = if number + 1 == table.len() { left } else { percent };
        left -= percent;
        if percent > 0 {
            parts.push(format!("{}/{percent}", entry.size.0));
        }
    }
    parts.join(":")
}
