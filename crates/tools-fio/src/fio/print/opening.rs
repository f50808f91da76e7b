//! The text that `normal` prints before the run: a line for each job, the version, the number of
//! workers, and the files to lay out.

use super::number::plain;
use super::report::Display;
use crate::fio::Compat;

/// The facts known before the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunOpening {
    pub version: String,
    /// The jobs, in order.
    pub jobs: Vec<JobLine>,
    pub threads: u32,
    pub processes: u32,
    /// Files that are laid out before the run.
    pub layouts: Vec<MissingFiles>,
    /// Whether to reproduce fio's own mistakes.
    pub compat: Compat,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct JobLine {
    pub name: String,
    /// Number of its reporting group.
    pub group: u32,
    /// fio's name of `rw`: `randrw`.
    pub rw: String,
    /// Block sizes of reads, writes and trims.
    pub blocks: [BlockRange; 3],
    /// Under `bs_is_seq_rand`, the first two are for sequential and random ops, and there is no third.
    pub blocks_are_seq_rand: bool,
    pub engine: String,
    pub depth: u32,
    /// `numjobs`; more than one is shown as a line of dots.
    pub copies: u32,
    pub display: Display,
    /// Activity of a job that does no I/O: `ioengine=cpuio, cpuload=50, cpucycle=50000`.
    pub activity: Option<String>,
}

/// Smallest and largest block in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockRange {
    pub min_bytes: u64,
    pub max_bytes: u64,
}

/// Files that a job needs and that do not exist yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingFiles {
    pub job: String,
    pub files: u64,
    pub bytes: u64,
}

/// Formats the lines, each with its line end.
pub fn opening(opening: &RunOpening) -> String {
    let mut text = String::new();
    for job in opening.jobs.iter().filter(|job| job.activity.is_none()) {
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
        if let Some(words) = &job.activity {
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
