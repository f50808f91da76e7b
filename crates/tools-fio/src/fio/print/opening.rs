//! What `normal` prints before the run: a line for each job, the version, how many workers, which files are laid out.

use super::number::plain;
use super::report::Display;
use crate::fio::Compat;

/// Everything that is known before the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunOpening {
    /// fio's version string.
    pub version: String,
    /// The jobs, in order.
    pub jobs: Vec<JobLine>,
    /// Workers that are threads.
    pub threads: u32,
    /// Workers that are processes.
    pub processes: u32,
    /// Files that are written before the run.
    pub layouts: Vec<MissingFiles>,
    /// Whether fio's own slips are kept.
    pub compat: Compat,
}

/// A job's line.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobLine {
    /// Its name.
    pub name: String,
    /// Number of its reporting group.
    pub group: u32,
    /// `rw`, as fio names it: `randrw`.
    pub rw: String,
    /// Block sizes of reads, writes and trims.
    pub blocks: [BlockRange; 3],
    /// Under `bs_is_seq_rand` the first two are of sequential and random ops, and there is no third.
    pub blocks_are_seq_rand: bool,
    /// `ioengine`.
    pub engine: String,
    /// `iodepth`.
    pub depth: u32,
    /// `numjobs`; more than one is shown as a line of dots.
    pub copies: u32,
    /// How numbers are shown.
    pub display: Display,
    /// What a job that does no I/O does instead: `ioengine=cpuio, cpuload=50, cpucycle=50000`.
    pub beside: Option<String>,
}

/// Smallest and largest block, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockRange {
    /// Smallest.
    pub min_bytes: u64,
    /// Largest.
    pub max_bytes: u64,
}

/// Files that a job needs and that are not there yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingFiles {
    /// The job.
    pub job: String,
    /// How many files.
    pub files: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// The lines, each with its end.
pub fn opening(opening: &RunOpening) -> String {
    let mut text = String::new();
    for job in opening.jobs.iter().filter(|job| job.beside.is_none()) {
        let range =
            |one: BlockRange| format!("{}-{}", job.display.bytes(one.min_bytes), job.display.bytes(one.max_bytes));
        let [read, write, trim] = job.blocks.map(range);
        let blocks = if job.blocks_are_seq_rand {
            format!("bs=(R) {read}, (W) {write}, bs_is_seq_rand")
        } else {
            format!("bs=(R) {read}, (W) {write}, (T) {trim}")
        };
        text += &format!(
            "{}: (g={}): rw={}, {blocks}, ioengine={}, iodepth={}\n",
            plain(&job.name, None, opening.compat),
            job.group,
            job.rw,
            job.engine,
            job.depth
        );
        if job.copies > 1 {
            text += "...\n";
        }
    }
    text += &format!("{}\n", opening.version);
    let count = |number: u32, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {many}")),
    };
    let workers: Vec<String> =
        [count(opening.threads, "thread", "threads"), count(opening.processes, "process", "processes")]
            .into_iter()
            .flatten()
            .collect();
    if !workers.is_empty() {
        text += &format!("Starting {}\n", workers.join(" and "));
    }
    for job in &opening.jobs {
        if let Some(words) = &job.beside {
            let line = format!("{} (noop): {words}\n", plain(&job.name, None, opening.compat));
            text += &line.repeat(job.copies.max(1) as usize);
        }
    }
    for layout in &opening.layouts {
        let name = plain(&layout.job, None, opening.compat);
        let mib = layout.bytes >> 20;
        text += &match layout.files {
            1 => format!("{name}: Laying out IO file (1 file / {mib}MiB)\n"),
            files => format!("{name}: Laying out IO files ({files} files / total {mib}MiB)\n"),
        };
    }
    text
}
