//! Readers of other tools' results: one file per tool, and a row in [`TOOLS`].

use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;

mod bonnie;
mod bonnie_table;
mod crystaldiskmark;
mod dbench;
mod dd;
mod diskspd;
mod elbencho;
mod elbencho_text;
mod filebench;
mod fio;
mod fio_text;
mod fs_mark;
mod hdparm;
mod hyperfine;
mod io500;
mod iometer;
mod ioping;
mod ior;
mod iostat;
mod iozone;
mod iperf2;
mod iperf3;
mod iperf3_text;
mod kubestr;
mod md_workbench;
mod mdtest;
mod mlperf;
mod netperf;
mod phoronix;
mod postmark;
mod rados;
mod sysbench;
mod vdbench;
mod warp;
mod yabs;

/// A tool whose results can be read.
pub struct Tool {
    /// Name, as `--from` accepts it.
    pub name: &'static str,
    /// Description of the files that can be read.
    pub what: &'static str,
    /// Returns `true` if a file seems to be the tool's.
    pub(crate) recognises: fn(&Input<'_>) -> bool,
    pub(crate) read: fn(&Input<'_>) -> Result<Vec<Run>, Unread>,
}

/// Returns `true` if a tool's reader uses all values of a repeated JSON key.
pub(crate) fn reads_repeated(tool: &str, path: &str) -> bool {
    tool == "iperf3" && iperf3::reads_repeated(path)
}

macro_rules! tools {
    ($($name:literal $module:ident $what:literal,)*) => {
        /// All tools. The first one that recognises a file reads it, so tools whose files contain another's output come first.
        pub const TOOLS: &[Tool] =
            &[$(Tool { name: $name, what: $what, recognises: $module::recognises, read: $module::read },)*];
    };
}

tools! {
    "kubestr" kubestr "what `kubestr fio` prints, as text or with `-o json`",
    "yabs" yabs "what YABS (yet-another-bench-script) prints",
    "io500" io500 "result_summary.txt and what it prints",
    "fio" fio "JSON, JSON+, terse output of versions 2 to 5, the files of write_*_log, and normal output",
    "iozone" iozone "its text, the report of -R, and the spreadsheet of -b (BIFF 2)",
    "bonnie++" bonnie "its CSV lines, of 1.03, 1.96, 1.97, 1.98 and 2.00, and its tables",
    "postmark" postmark "its report, verbose or terse",
    "elbencho" elbencho "its text, and the files of --csvfile and --jsonfile",
    "mdtest" mdtest "its summaries of rates and times",
    "ior" ior "its text, and summaries as JSON and CSV",
    "filebench" filebench "what a run prints, of 1.4 and 1.5",
    "iperf3" iperf3 "what -J and --json-stream print, and its text",
    "iperf2" iperf2 "its text, and the lines of -y C",
    "netperf" netperf "its tables, and the output of -k, -o and -O of omni tests",
    "sysbench" sysbench "what `sysbench fileio run` prints, of 0.4 to 1.1",
    "vdbench" vdbench "flatfile.html, summary.html and what it prints",
    "hyperfine" hyperfine "the file of --export-json",
    "phoronix" phoronix "composite.xml of the Phoronix Test Suite",
    "warp" warp "what `warp` and `warp analyze` print",
    "mlperf-storage" mlperf "summary.json of a run of MLPerf Storage (DLIO)",
    "crystaldiskmark" crystaldiskmark "the text that it copies and saves, of 3 to 9",
    "diskspd" diskspd "its text",
    "hdparm" hdparm "what -t and -T print",
    "ioping" ioping "its statistics",
    "fs_mark" fs_mark "its output and its log",
    "md-workbench" md_workbench "the lines of its phases, also with -v",
    "iometer" iometer "the CSV of its results, of 2006 and 1.1",
    "iostat" iostat "its reports, as text and with -o JSON",
    "dbench" dbench "what it prints, of 3 and 4",
    "rados" rados "what `rados bench` prints, which is what CBT keeps of it; CBT's fio files are fio's",
    "dd" dd "its last line, of GNU, BSD, macOS and BusyBox, in any language",
}
