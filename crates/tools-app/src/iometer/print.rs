//! IOMeter's results as CSV, test by test.

use super::builtin::{COLUMNS, numbers};
use super::config::{Config, Record, Spec, TEST_TYPES};
use super::lower::{Part, parts};
use super::series::Test;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::{PhaseMeasurement, WorkerMeasurement};
use plumb_workload::OpKind;

/// The IOMeter version that the output claims.
const VERSION: &str = "1.1.0";

const HEADER: &str = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,\
    MiBps (Binary),Read MiBps (Binary),Write MiBps (Binary),MBps (Decimal),Read MBps (Decimal),Write MBps (Decimal),\
    Transactions per Second,Connections per Second,Average Response Time,Average Read Response Time,\
    Average Write Response Time,Average Transaction Time,Average Connection Time,Maximum Response Time,\
    Maximum Read Response Time,Maximum Write Response Time,Maximum Transaction Time,Maximum Connection Time,Errors,\
    Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Connections,Transactions per Connection,\
    Total Raw Read Response Time,Total Raw Write Response Time,Total Raw Transaction Time,Total Raw Connection Time,\
    Maximum Raw Read Response Time,Maximum Raw Write Response Time,Maximum Raw Transaction Time,\
    Maximum Raw Connection Time,Total Raw Run Time,Starting Sector,Maximum Size,Queue Depth,% CPU Utilization,% User Time,\
    % Privileged Time,% DPC Time,% Interrupt Time,Processor Speed,Interrupts per Second,CPU Effectiveness,Packets/Second,\
    Packet Errors,Segments Retransmitted/Second,0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,\
    2 to 5 mS,5 to 10 mS,10 to 15 mS,15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,200 to 500 mS,0.5 to 1 S,\
    1 to 2 s,2 to 4.7 s,4.7 to 5 s,5 to 10 s, >= 10 s";

/// Upper ends of the latency classes, ns. The last class is open.
const CLASS_ENDS_NS: [u64; 20] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    4_700_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Ticks per second in raw times.
const TICKS: u64 = 1_000_000_000;

/// Value of cells in which workers or targets differ.
const AMBIGUOUS: i64 = -1;

/// Text after the last test.
pub const END: &str = "'End Test\n";

/// Text after a test that ended early.
pub const ABORTED: &str = "Aborted test\n";

fn time_stamp(now: &str) -> String {
    format!("'Time Stamp\n{now}\n")
}

/// Formats the text before the first test. `now` is a time such as `2026-02-20 14:17:01:003`.
pub fn head(config: &Config, now: &str) -> String {
    let setup = &config.setup;
    let number = TEST_TYPES.iter().position(|(_, kind)| *kind == setup.test_type).unwrap_or(0);
    format!("'Test Type,Test Description\n{number},{}\n'Version\n{VERSION} \n{}", setup.description, time_stamp(now))
}

/// Formats the access specifications, before their first test.
pub fn specs(config: &Config, test: &Test) -> String {
    let mut text = "'Access specifications\n".to_owned();
    let used: Vec<*const Spec> = parts(config, test).map(|part| std::ptr::from_ref(part.spec)).collect();
    for spec in config.specs.iter().filter(|spec| used.contains(&std::ptr::from_ref(*spec))) {
        text.push_str(&format!(
            "'Access specification name,default assignment\n{},{}\n{COLUMNS}\n",
            spec.name, spec.assigned
        ));
        spec.lines.iter().for_each(|line| text.push_str(&format!("{},\n", numbers(line))));
    }
    text.push_str("'End access specifications\n");
    text
}

#[derive(Debug, Clone, Default)]
struct Done {
    reads: Histogram,
    writes: Histogram,
    bytes_read: u64,
    bytes_written: u64,
    errors: u64,
    /// Number of read errors among `errors`; `None` unless known for all parts.
    read_errors: Option<u64>,
    seconds: f64,
}

impl Done {
    fn from_worker(worker: &WorkerMeasurement, seconds: f64) -> Done {
        let of = |kind: OpKind| worker.ops.get(&kind).map(|ops| (ops.service.clone(), ops.bytes)).unwrap_or_default();
        let ((reads, bytes_read), (writes, bytes_written)) = (of(OpKind::Read), of(OpKind::Write));
        let is_known = worker.faults.len() as u64 == worker.fault_count;
        let read_errors = worker.faults.iter().filter(|fault| fault.op == OpKind::Read).count() as u64;
        let errors = worker.fault_count;
        let read_errors = is_known.then_some(read_errors);
        Done { reads, writes, bytes_read, bytes_written, errors, read_errors, seconds }
    }

    fn add(&mut self, other: &Done) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.errors += other.errors;
        self.read_errors = self.read_errors.zip(other.read_errors).map(|(own, further)| own + further);
        self.seconds = self.seconds.max(other.seconds);
    }

    fn sum<'a>(all: impl Iterator<Item = &'a Done>) -> Done {
        let mut sum = Done { read_errors: Some(0), ..Done::default() };
        all.for_each(|done| sum.add(done));
        sum
    }
}

struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    spec: &'a str,
    /// Numbers of managers, workers and disks, if the row has them.
    counts: [Option<usize>; 3],
    /// Whether each transaction is a single I/O. Otherwise nothing is known about transactions.
    is_plain: bool,
    has_raw: bool,
    parts: Vec<&'a Part<'a>>,
    done: Done,
}

/// Returns the common value, or [`AMBIGUOUS`].
fn common(mut numbers: impl Iterator<Item = u64>) -> i64 {
    let first = numbers.next();
    let is_common = numbers.all(|number| Some(number) == first);
    first.filter(|_| is_common).and_then(|number| i64::try_from(number).ok()).unwrap_or(AMBIGUOUS)
}

/// Returns the number of latencies in each class.
fn classes(done: &Done) -> [u64; 21] {
    let mut counts = [0; 21];
    for bucket in done.reads.buckets().chain(done.writes.buckets()) {
        let middle = bucket.lowest / 2 + bucket.highest / 2;
        counts[CLASS_ENDS_NS.partition_point(|end| *end <= middle)] += bucket.count;
    }
    counts
}

impl Row<'_> {
    fn text(&self) -> String {
        let Done { reads, writes, seconds, .. } = &self.done;
        let per_second = |amount: f64| if *seconds > 0.0 { amount / seconds } else { 0.0 };
        let (read, written) = (self.done.bytes_read as f64, self.done.bytes_written as f64);
        let (read_count, write_count) = (reads.count(), writes.count());
        let count = (read_count + write_count) as f64;
        let mean_ms = |sum: u128, count: f64| if count > 0.0 { sum as f64 / count / 1e6 } else { 0.0 };
        let (read_ms, write_ms) = (reads.sum(), writes.sum());
        let mean = mean_ms(read_ms + write_ms, count);
        let longest = |of: &Histogram| of.max().unwrap_or(0);
        let (read_max, write_max) = (longest(reads), longest(writes));
        let ms = |ns: u64| ns as f64 / 1e6;
        let plain = |value: f64| if self.is_plain { format!("{value:.6}") } else { String::new() };
        let mut cells: Vec<String> = Vec::with_capacity(80);
        let own_name = self.name.replace([',', '\n', '\r'], " ");
        cells.extend([self.kind.to_owned(), own_name, self.spec.to_owned()]);
        cells.extend(self.counts.map(|count| count.map(|count| count.to_string()).unwrap_or_default()));
        let rates = [
            count,
            read_count as f64,
            write_count as f64,
            (read + written) / 1_048_576.0,
            read / 1_048_576.0,
            written / 1_048_576.0,
            (read + written) / 1e6,
            read / 1e6,
            written / 1e6,
        ];
        cells.extend(rates.map(|amount| format!("{:.6}", per_second(amount))));
        cells.extend([plain(per_second(count)), "0.000000".to_owned()]);
        let means = [mean, mean_ms(read_ms, read_count as f64), mean_ms(write_ms, write_count as f64)];
        cells.extend(means.map(|ms| format!("{ms:.6}")));
        cells.extend([plain(mean), "0.000000".to_owned()]);
        cells.extend([read_max.max(write_max), read_max, write_max].map(|ns| format!("{:.6}", ms(ns))));
        cells.extend([plain(ms(read_max.max(write_max))), "0.000000".to_owned(), self.done.errors.to_string()]);
        let of_kind = self.done.read_errors;
        cells.extend([of_kind, of_kind.map(|of_reads| self.done.errors - of_reads)].map(optional));
        let raw = [self.done.bytes_read, self.done.bytes_written, read_count, write_count, 0];
        cells.extend(raw.map(|number| number.to_string()));
        cells.push(AMBIGUOUS.to_string());
        if self.has_raw {
            let of_transactions = |ns: u128| if self.is_plain { ns.to_string() } else { String::new() };
            cells.extend([
                read_ms.to_string(),
                write_ms.to_string(),
                of_transactions(read_ms + write_ms),
                "0".to_owned(),
            ]);
            let longest = of_transactions(u128::from(read_max.max(write_max)));
            cells.extend([read_max.to_string(), write_max.to_string(), longest, "0".to_owned()]);
            cells.push(((seconds * TICKS as f64) as u64).to_string());
        } else {
            cells.extend(std::iter::repeat_n(String::new(), 9));
        }
        let parts = || self.parts.iter();
        cells.extend([
            common(parts().map(|part| part.of.first_sector)).to_string(),
            common(parts().map(|part| part.of.sectors)).to_string(),
            common(parts().map(|part| part.depth)).to_string(),
        ]);
        // Plumb's own results have the CPU and network utilization.
        cells.extend(std::iter::repeat_n(String::new(), 5));
        cells.push(if self.has_raw { TICKS.to_string() } else { String::new() });
        cells.extend(std::iter::repeat_n(String::new(), 5));
        cells.extend(classes(&self.done).map(|count| count.to_string()));
        format!("{}\n", cells.join(","))
    }
}

fn optional(number: Option<u64>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// Formats the results of a test, for the entities that the file records.
pub fn results(config: &Config, test: &Test, measured: &PhaseMeasurement, now: &str) -> String {
    let record = config.setup.record;
    let all: Vec<Part<'_>> = parts(config, test).collect();
    let seconds = measured.wall_ns as f64 / 1e9;
    let done: Vec<Done> = measured.workers.iter().map(|worker| Done::from_worker(worker, seconds)).collect();
    // Each group has one worker, in the order of the parts.
    let of = |wanted: &dyn Fn(&Part<'_>) -> bool| {
        let pairs = || all.iter().zip(&done).filter(|(part, _)| wanted(part));
        (pairs().map(|(part, _)| part).collect::<Vec<_>>(), Done::sum(pairs().map(|(_, done)| done)))
    };
    let row = |kind, name, wanted: &dyn Fn(&Part<'_>) -> bool| {
        let (parts, done) = of(wanted);
        let first = parts.first().map_or("", |part| part.spec.name.as_str());
        let spec = if parts.iter().all(|part| part.spec.name == first) { first } else { "" };
        let is_plain = parts.iter().flat_map(|part| &part.spec.lines).all(|line| line.access.reply.0 == 0);
        Row {
            kind,
            name,
            spec: if kind == "DISK" { "" } else { spec },
            counts: [None; 3],
            is_plain,
            has_raw: true,
            parts,
            done,
        }
    };
    let everything = |_: &Part<'_>| true;
    let mut busy: Vec<usize> = all.iter().map(|part| part.worker).collect();
    busy.dedup();
    let counts = [Some(1), Some(busy.len()), Some(all.len())];
    let mut text = format!("'Results\n{HEADER}\n");
    text.push_str(&Row { counts, has_raw: false, ..row("ALL", "All", &everything) }.text());
    if record >= Record::NoWorkers {
        let counts = [None, counts[1], counts[2]];
        text.push_str(&Row { counts, ..row("MANAGER", &config.manager, &everything) }.text());
    }
    for &number in busy.iter().filter(|_| record >= Record::NoTargets) {
        let own = |part: &Part<'_>| part.worker == number;
        let name = config.workers.get(number).map_or("", |worker| worker.name.as_str());
        let worker = row("WORKER", name, &own);
        let counts = [None, None, Some(worker.parts.len())];
        text.push_str(&Row { counts, ..worker }.text());
        for (place, part) in all.iter().enumerate().filter(|(_, part)| record == Record::All && own(part)) {
            let alone = |other: &Part<'_>| std::ptr::eq(other, &raw const all[place]);
            text.push_str(&row("DISK", part.target, &alone).text());
        }
    }
    text.push_str(&time_stamp(now));
    text
}
