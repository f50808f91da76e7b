//! Facts about the system that IOR, mdtest and IO500 need, and output helpers.

use plumb_cli::output::{error_line, print};
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_tools_hpc::aiori::{FileSystem, Launched, OP_CSV_HEAD, op_csv_row};
use std::cell::RefCell;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Destination of a tool's report.
pub enum Report {
    /// Standard output, immediately.
    Printed,
    /// A buffer, for the dialect that runs the tool.
    Kept(RefCell<String>),
}

impl Report {
    /// Adds text to the report.
    pub fn print(&self, text: &str) {
        match self {
            Report::Printed => print(text),
            Report::Kept(kept) => kept.borrow_mut().push_str(text),
        }
    }

    /// Returns the buffered text.
    pub fn kept(&self) -> String {
        match self {
            Report::Printed => String::new(),
            Report::Kept(kept) => kept.borrow().clone(),
        }
    }
}

/// Returns the local time in mdtest's format.
pub(crate) fn now() -> String {
    jiff::Zoned::now().strftime("%m/%d/%Y %H:%M:%S").to_string()
}

/// Returns system and host, and the kernel with `-v -v`.
pub(crate) fn machine(verbosity: u32) -> String {
    let names = rustix::system::uname();
    let all = [names.sysname(), names.nodename(), names.release(), names.version(), names.machine()];
    let shown = if verbosity >= 2 { all.len() } else { 2 };
    let shown: Vec<_> = all.iter().take(shown).map(|name| name.to_string_lossy()).collect();
    shown.join(" ")
}

/// Returns the default data seed: the seconds since 1970, as in both tools.
pub(crate) fn seed_by_clock() -> i32 {
    jiff::Timestamp::now().as_second() as i32
}

/// Returns the file system of a path, or of its closest existing ancestor.
pub(crate) fn file_system(path: &Path) -> FileSystem {
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let there = if there.as_os_str().is_empty() { Path::new(".") } else { there };
    rustix::fs::statvfs(there).map_or_else(
        |_| FileSystem::default(),
        |found| FileSystem {
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
            free_bytes: found.f_bfree.saturating_mul(found.f_frsize),
            inodes: found.f_files,
            free_inodes: found.f_ffree,
        },
    )
}

/// Returns the processes of a launcher; `None` if there are none.
pub(crate) fn launched() -> Option<Launched> {
    let ranks = plumb_cli::ranks::joined()?;
    let hosts = ranks.roster().hosts();
    let beside_rank_0 = hosts.iter().find(|host| host.ranks.contains(&0)).map(|host| host.ranks.clone());
    Some(Launched { ranks: ranks.size(), nodes: hosts.len() as u32, beside_rank_0: beside_rank_0.unwrap_or_default() })
}

/// Reports options that have no effect.
pub(crate) fn report_ignored(ignored: &[(String, &'static str)]) {
    for (option, why) in ignored {
        error_line!("plumb: {option} has no effect: {why}");
    }
}

/// Reads the count that a stonewall's status file keeps.
pub(crate) fn read_count(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Writes ops of `bytes` bytes each to a file of `savePerOpDataCSV`.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_ops(path: &str, bytes: u64, ops: &mut dyn Iterator<Item = LoggedOp>) -> io::Result<()> {
    let mut file = BufWriter::new(OutputFile::made_up("savePerOpDataCSV", path).create()?);
    file.write_all(OP_CSV_HEAD.as_bytes())?;
    for op in ops {
        let row = op_csv_row(bytes, op.submit_ns, op.complete_ns.saturating_sub(op.submit_ns));
        file.write_all(row.as_bytes())?;
    }
    file.flush()
}
