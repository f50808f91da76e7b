//! `plumb as TOOL`: runs another tool's command line by that tool's rules.
//!
//! A tool is a row of [`TOOLS`]. One that measures is a [`plumb_tools_run::runner::Dialect`].

use crate::args::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::{output, session};
pub(crate) use plumb_tools_app_run::elbencho::{
    ASKED as ELBENCHO_ASKED, ElbenchoService, LOOK_NS as ELBENCHO_LOOKS_NS, ToAgent,
};
use plumb_tools_app_run::{dbench, elbencho, filebench, fs_mark, iometer, sysbench, vdbench};
use plumb_tools_classic_run::{bonnie, dd, iostat, iozone, postmark};
use plumb_tools_fio_run::fio;
pub(crate) use plumb_tools_fio_run::fio::{ASKED as FIO_ASKED, FioService, PULLED as FIO_PULLED, pulled as fio_pulled};
pub(crate) use plumb_tools_hpc_run::io500::TakesPart;
use plumb_tools_hpc_run::{io500, ior, md_workbench, mdtest};
use plumb_tools_net_run::{iperf2, iperf3, netperf};
use plumb_tools_run::ToolCall;
use plumb_tools_run::own_words::{STRICT, VerdictOptions};
use plumb_tools_run::runner::speak;
use serde_json::json;
use std::ffi::OsString;
use std::path::Path;

struct Tool {
    /// Name in `plumb as NAME`. A link with this name runs the tool.
    name: &'static str,
    /// Description for the list of tools.
    about: &'static str,
    also: Option<&'static str>,
    /// Runs the tool, with the tool's own error messages and exit codes.
    run: fn(&ToolCall<'_>) -> Result<End, Stopped>,
    /// Whether `-q` is one of the tool's own options.
    has_q: bool,
    /// Whether Plumb's checks judge its runs.
    is_judged: bool,
}

const fn tool(name: &'static str, about: &'static str, run: fn(&ToolCall<'_>) -> Result<End, Stopped>) -> Tool {
    Tool { name, about, also: None, run, has_q: false, is_judged: true }
}

/// Defines a tool that makes no runs, or none that the checks judge.
const fn unjudged(name: &'static str, about: &'static str, run: fn(&ToolCall<'_>) -> Result<End, Stopped>) -> Tool {
    Tool { has_q: true, is_judged: false, ..tool(name, about, run) }
}

impl Tool {
    /// Runs the tool, after removing the options of Plumb that all tools share.
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

/// All supported tools, by name.
const TOOLS: &[Tool] = &[
    unjudged("bon_csv2html", "Bonnie++'s results as HTML", bonnie::csv2html),
    unjudged("bon_csv2txt", "Bonnie++'s results as text", bonnie::csv2txt),
    Tool {
        also: Some("bonnie"),
        has_q: true,
        ..tool("bonnie++", "Bonnie++: one file through the page cache, and small files", speak::<bonnie::Bonnie>)
    },
    tool("dbench", "dbench: a file server's load file", speak::<dbench::Dbench>),
    tool("dd", "dd of GNU coreutils, BusyBox or FreeBSD", speak::<dd::Copying>),
    tool("elbencho", "elbencho: files, directories and devices, also on several hosts", speak::<elbencho::Elbencho>),
    tool("filebench", "Filebench: scripts in WML", speak::<filebench::Script>),
    tool("fio", "fio: job files and command lines, also client and server", speak::<fio::Jobs>),
    tool("fs_mark", "fs_mark: files that are written and synchronised", speak::<fs_mark::FsMark>),
    Tool { has_q: true, ..tool("getc_putc", "Bonnie++'s getc_putc: one byte at a time", speak::<bonnie::GetcPutc>) },
    tool("io500", "IO500: the list's bandwidth and metadata phases", speak::<io500::Io500>),
    tool("iometer", "IOMeter: access specifications of an .icf file", speak::<iometer::IoMeter>),
    tool("ior", "IOR: shared and separate files, also with MPI", speak::<ior::Ior>),
    unjudged("iostat", "iostat of sysstat", iostat::as_iostat),
    Tool { has_q: true, ..tool("iozone", "IOzone: file sizes and record sizes in a table", speak::<iozone::Iozone>) },
    unjudged("iperf", "iperf2: TCP and UDP streams", iperf2::as_iperf),
    unjudged("iperf3", "iperf3: TCP and UDP streams", iperf3::as_iperf3),
    Tool {
        has_q: true,
        ..tool("md-workbench", "md-workbench: metadata of many small objects", speak::<md_workbench::MdWorkbench>)
    },
    tool("mdtest", "mdtest: trees of directories and files, also with MPI", speak::<mdtest::Mdtest>),
    unjudged("netperf", "netperf: streams, and requests with responses", netperf::as_netperf),
    unjudged("netserver", "netperf's server", netperf::as_netserver),
    unjudged("pjdfstest", "pjdfstest: conformance to POSIX", crate::commands::posix::pjdfstest::run),
    tool("postmark", "PostMark: a mail server's small files", speak::<postmark::Shell>),
    tool("sysbench", "sysbench fileio", speak::<sysbench::Sysbench>),
    tool("vdbench", "vdbench: parameter files", speak::<vdbench::Vdbench>),
    tool("zcav", "Bonnie++'s zcav: a disk's speed from its beginning to its end", speak::<bonnie::Zcav>),
];

pub(crate) fn list(common: &Common) -> Result<End, Stopped> {
    if common.json {
        let tools: Vec<_> = TOOLS.iter().map(|tool| json!({ "name": tool.name, "about": tool.about })).collect();
        session::print_json(&tools)?;
        return Ok(End::Done);
    }
    output::print(&listed());
    Ok(End::Done)
}

fn listed() -> String {
    let width = TOOLS.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let rows: String = TOOLS.iter().map(|tool| format!("  {:<width$}  {}\n", tool.name, tool.about)).collect();
    format!(
        "Tools whose command lines Plumb runs: `plumb as TOOL ARGUMENTS`, or a link to plumb with the tool's name.\n\n{rows}\n\
         Examples:\n  plumb as fio --name=a --rw=randread --size=1g\n  plumb as dd if=/dev/zero of=file bs=1M count=100\n"
    )
}

/// Runs a tool's command line; the first word is its name.
pub(crate) fn run(words: &[OsString], common: &Common) -> Result<End, Stopped> {
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

/// Runs `plumb as TOOL …` without options of Plumb, the form that scripts use. Skips the parser of the other commands:
/// building it takes a tenth of the time of a short run.
pub(crate) fn run_plain(mut words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let _program = words.next()?;
    words.next().filter(|word| word == "as")?;
    let name = words.next()?;
    let tool = TOOLS.iter().find(|tool| name == tool.name)?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(tool.call(tool.name, &words, &Common::of_environment()))
}

/// Runs the tool whose name the program was called by, through a link.
pub(crate) fn run_link(called: &Path, words: impl Iterator<Item = OsString>) -> Option<Result<End, Stopped>> {
    let name = called.file_name()?.to_str()?;
    let tool = TOOLS.iter().find(|tool| tool.name == name || tool.also == Some(name))?;
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    Some(tool.call(&called.to_string_lossy(), &words, &Common::of_environment()))
}
