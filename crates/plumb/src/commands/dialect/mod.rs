//! `plumb as TOOL`: another tool's language, read by its own rules.
//!
//! A tool is a row of [`TOOLS`]. One that measures is a [`runner::Dialect`]; what all of them share is in [`runner`].

mod bonnie;
mod call;
mod dashes;
mod dbench;
mod dd;
mod elbencho;
mod error;
mod filebench;
mod findings;
mod fio;
mod fs_mark;
mod hpc;
mod io500;
mod iometer;
mod ior;
mod iostat;
mod iozone;
mod iperf2;
pub mod iperf3;
mod md_workbench;
mod mdtest;
mod netperf;
mod own_words;
mod postmark;
mod runner;
mod simulated;
mod sysbench;
mod together;
mod vdbench;

use crate::args::Common;
use crate::exit::{End, Stopped};
pub use call::ToolCall;
pub use elbencho::{ASKED as ELBENCHO_ASKED, ElbenchoService, LOOK_NS as ELBENCHO_LOOKS_NS, ToAgent};
pub use fio::{ASKED as FIO_ASKED, FioService, PULLED as FIO_PULLED, pulled as fio_pulled};
pub use io500::TakesPart;
use runner::speak;
use std::ffi::OsString;
use std::path::Path;

/// A tool whose language is spoken.
struct Tool {
    /// As in `plumb as NAME`; a link of that name is that tool.
    name: &'static str,
    /// Another name for a link.
    also: Option<&'static str>,
    /// Behaves as the tool does, including its error messages and exit codes.
    run: fn(&ToolCall<'_>) -> Result<End, Stopped>,
}

const fn tool(name: &'static str, run: fn(&ToolCall<'_>) -> Result<End, Stopped>) -> Tool {
    Tool { name, also: None, run }
}

/// The tools whose language is spoken.
const TOOLS: &[Tool] = &[
    tool("bon_csv2html", bonnie::csv2html),
    tool("bon_csv2txt", bonnie::csv2txt),
    Tool { also: Some("bonnie"), ..tool("bonnie++", speak::<bonnie::Bonnie>) },
    tool("dbench", speak::<dbench::Dbench>),
    tool("dd", speak::<dd::Copying>),
    tool("elbencho", speak::<elbencho::Elbencho>),
    tool("filebench", speak::<filebench::Script>),
    tool("fio", speak::<fio::Jobs>),
    tool("fs_mark", speak::<fs_mark::FsMark>),
    tool("getc_putc", speak::<bonnie::GetcPutc>),
    tool("io500", speak::<io500::Io500>),
    tool("iometer", speak::<iometer::IoMeter>),
    tool("ior", speak::<ior::Ior>),
    tool("iostat", iostat::as_iostat),
    tool("iozone", speak::<iozone::Iozone>),
    tool("iperf", iperf2::as_iperf),
    tool("iperf3", iperf3::as_iperf3),
    tool("md-workbench", speak::<md_workbench::MdWorkbench>),
    tool("mdtest", speak::<mdtest::Mdtest>),
    tool("netperf", netperf::as_netperf),
    tool("netserver", netperf::as_netserver),
    tool("pjdfstest", crate::commands::posix::pjdfstest::run),
    tool("postmark", speak::<postmark::Shell>),
    tool("sysbench", speak::<sysbench::Sysbench>),
    tool("vdbench", speak::<vdbench::Vdbench>),
    tool("zcav", speak::<bonnie::Zcav>),
];

/// Runs the words as the tool would: the first one names it.
pub fn run(words: &[OsString], common: &Common) -> Result<End, Stopped> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (name, words) = words.split_first().map_or(("", [].as_slice()), |(name, words)| (name.as_str(), words));
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let names = || TOOLS.iter().map(|tool| tool.name);
        let hint = plumb_workload::suggest::nearest(name, names());
        let hint = hint.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        return Err(Stopped::usage(format!(
            "unknown tool `{name}`; supported: {}{hint}",
            names().collect::<Vec<_>>().join(", ")
        )));
    };
    (tool.run)(&ToolCall { called: tool.name, words, common })
}

/// `plumb as TOOL …` without options of Plumb's own, which is all that scripts type: runs it. To set up the parser of the
/// other commands would take a tenth of the time of a short run.
pub fn run_plain(mut words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let _program = words.next()?;
    words.next().filter(|word| word == "as")?;
    let name = words.next()?;
    let tool = TOOLS.iter().find(|tool| name == tool.name)?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some((tool.run)(&ToolCall { called: tool.name, words: &words, common: &Common::of_environment() }))
}

/// A link of a tool's name is that tool: runs it, where the program was called so.
pub fn run_link(called: &Path, words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let name = called.file_name()?.to_str()?;
    let tool = TOOLS.iter().find(|tool| tool.name == name || tool.also == Some(name))?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some((tool.run)(&ToolCall { called: &called.to_string_lossy(), words: &words, common: &Common::of_environment() }))
}
