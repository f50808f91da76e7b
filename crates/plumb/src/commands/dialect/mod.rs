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
mod verdicts;

use crate::args::Common;
use crate::exit::{End, Stopped};
pub use call::ToolCall;
pub use elbencho::{ASKED as ELBENCHO_ASKED, ElbenchoService, LOOK_NS as ELBENCHO_LOOKS_NS, ToAgent};
pub use fio::{ASKED as FIO_ASKED, FioService, PULLED as FIO_PULLED, pulled as fio_pulled};
pub use io500::TakesPart;
use own_words::{STRICT, VerdictOptions};
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
    /// Whether `-q` is an option of the tool's own.
    has_q: bool,
    /// Whether it makes runs that the checks judge.
    is_judged: bool,
}

const fn tool(name: &'static str, run: fn(&ToolCall<'_>) -> Result<End, Stopped>) -> Tool {
    Tool { name, also: None, run, has_q: false, is_judged: true }
}

/// A tool whose runs no check judges, or that makes none.
const fn unjudged(name: &'static str, run: fn(&ToolCall<'_>) -> Result<End, Stopped>) -> Tool {
    Tool { has_q: true, is_judged: false, ..tool(name, run) }
}

impl Tool {
    /// Runs the tool's words, without those of Plumb's own that all tools share.
    fn call(&self, called: &str, words: &[String], common: &Common) -> Result<End, Stopped> {
        let (words, verdicts) = VerdictOptions::taken_from(words, self.has_q);
        if verdicts.strict && !self.is_judged {
            return Err(Stopped::usage(format!(
                "{STRICT}: {} makes no runs that Plumb's checks judge; leave the option out",
                self.name
            )));
        }
        (self.run)(&ToolCall { called, words: &words, common, verdicts })
    }
}

/// The tools whose language is spoken.
const TOOLS: &[Tool] = &[
    unjudged("bon_csv2html", bonnie::csv2html),
    unjudged("bon_csv2txt", bonnie::csv2txt),
    Tool { also: Some("bonnie"), has_q: true, ..tool("bonnie++", speak::<bonnie::Bonnie>) },
    tool("dbench", speak::<dbench::Dbench>),
    tool("dd", speak::<dd::Copying>),
    tool("elbencho", speak::<elbencho::Elbencho>),
    tool("filebench", speak::<filebench::Script>),
    tool("fio", speak::<fio::Jobs>),
    tool("fs_mark", speak::<fs_mark::FsMark>),
    Tool { has_q: true, ..tool("getc_putc", speak::<bonnie::GetcPutc>) },
    tool("io500", speak::<io500::Io500>),
    tool("iometer", speak::<iometer::IoMeter>),
    tool("ior", speak::<ior::Ior>),
    unjudged("iostat", iostat::as_iostat),
    Tool { has_q: true, ..tool("iozone", speak::<iozone::Iozone>) },
    unjudged("iperf", iperf2::as_iperf),
    unjudged("iperf3", iperf3::as_iperf3),
    Tool { has_q: true, ..tool("md-workbench", speak::<md_workbench::MdWorkbench>) },
    tool("mdtest", speak::<mdtest::Mdtest>),
    unjudged("netperf", netperf::as_netperf),
    unjudged("netserver", netperf::as_netserver),
    unjudged("pjdfstest", crate::commands::posix::pjdfstest::run),
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
    tool.call(tool.name, words, common)
}

/// `plumb as TOOL …` without options of Plumb's own, which is all that scripts type: runs it. To set up the parser of the
/// other commands would take a tenth of the time of a short run.
pub fn run_plain(mut words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let _program = words.next()?;
    words.next().filter(|word| word == "as")?;
    let name = words.next()?;
    let tool = TOOLS.iter().find(|tool| name == tool.name)?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(tool.call(tool.name, &words, &Common::of_environment()))
}

/// A link of a tool's name is that tool: runs it, where the program was called so.
pub fn run_link(called: &Path, words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let name = called.file_name()?.to_str()?;
    let tool = TOOLS.iter().find(|tool| tool.name == name || tool.also == Some(name))?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(tool.call(&called.to_string_lossy(), &words, &Common::of_environment()))
}
