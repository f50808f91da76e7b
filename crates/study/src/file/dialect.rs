//! Workloads in the language of other tools.

use super::level_form::{LevelForm, OneOrMany};
use super::levels::RamUnit;
use plumb_lab::protocol::HostWork;
use plumb_tools_app::elbencho;
use plumb_tools_classic::{bonnie, dd, iozone, postmark};
use plumb_tools_fio::fio;
use plumb_workload::suggest::nearest;
use plumb_workload::{Bytes, CachePolicy, Size};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A workload in the language of another tool.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DialectForm {
    /// The tool: `iozone`, `bonnie++`, `postmark`, `fio`, `dd`, `elbencho`.
    pub dialect: String,
    /// Its arguments: a line that is split like in a shell, or a list.
    #[serde(default)]
    pub args: OneOrMany<String>,
    /// Its settings: lines of PostMark, options of fio and elbencho, operands of dd.
    #[serde(default)]
    pub set: BTreeMap<String, LevelForm>,
    /// Lines on its standard input.
    #[serde(default)]
    pub stdin: OneOrMany<String>,
    /// State of the page cache before reads: `as-is`, or `cold`, which no tool can promise between its own passes.
    #[serde(default)]
    pub cache: Option<CachePolicy>,
}

/// An error in a workload in the language of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DialectProblem {
    /// The wrong key.
    pub key: &'static str,
    pub message: String,
    pub help: String,
}

/// The tools that can measure.
const TOOLS: [&str; 6] = ["bonnie++", "dd", "elbencho", "fio", "iozone", "postmark"];

/// Memory of the imaginary machine on which arguments are tried, in bytes.
const TRIAL_RAM_BYTES: f64 = 1_073_741_824.0;

impl DialectProblem {
    fn new(key: &'static str, message: impl Into<String>, help: impl Into<String>) -> DialectProblem {
        DialectProblem { key, message: message.into(), help: help.into() }
    }
}

/// Returns the tool's own name.
pub(crate) fn tool(dialect: &str) -> Option<&'static str> {
    match dialect {
        "bonnie" => Some("bonnie++"),
        other => TOOLS.into_iter().find(|tool| *tool == other),
    }
}

/// Returns the unit in which a tool takes sizes that only the host knows.
pub(crate) fn ram_unit(dialect: &str) -> RamUnit {
    match tool(dialect) {
        // A bare number is kB to the one, and MiB to the other.
        Some("iozone") => RamUnit::KibiWithLetter,
        Some("bonnie++") => RamUnit::Mebi,
        _ => RamUnit::Bytes,
    }
}

/// Builds the work, and tries its arguments in the tool's own parser. `working_set` is the size of the
/// data that it works on.
///
/// # Errors
/// The tool would not accept the arguments.
pub(crate) fn work(form: &DialectForm, working_set: Option<Size>) -> Result<HostWork, DialectProblem> {
    let Some(tool) = tool(&form.dialect) else {
        let help = match nearest(&form.dialect, TOOLS) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("there is `{}`", TOOLS.join("`, `")),
        };
        return Err(DialectProblem::new("dialect", format!("unknown tool `{}`", form.dialect), help));
    };
    if let Some(CachePolicy::Warm | CachePolicy::Direct) = form.cache {
        return Err(DialectProblem::new(
            "cache",
            format!("`cache` does not apply to {tool}: its own options say how it uses the cache"),
            format!("say it in `args` (see `plumb as {tool} --help`), or write the work natively"),
        ));
    }
    let mut args = match &form.args {
        OneOrMany::Many(words) => words.clone(),
        OneOrMany::One(line) => shlex::split(line).ok_or_else(|| {
            DialectProblem::new("args", "a quote is never closed", "close it, or write the words as a list")
        })?,
    };
    let mut lines: Vec<String> = form.stdin.as_slice().to_vec();
    if working_set.is_some() && tool != "postmark" {
        return Err(DialectProblem::new(
            "dialect",
            format!("this workload does not use `${{working-set}}`, which {tool} needs for its size"),
            "write `${working-set}` where the size belongs",
        ));
    }
    match tool {
        "postmark" => {
            let settings = postmark_lines(&form.set, working_set)?;
            lines.splice(0..0, settings);
            if !lines.iter().any(|line| line.starts_with("run")) {
                lines.push("run".to_owned());
            }
            if !lines.iter().any(|line| line.starts_with("quit")) {
                lines.push("quit".to_owned());
            }
        }
        "fio" | "elbencho" => args.extend(form.set.iter().map(|(key, value)| format!("--{key}={value}"))),
        "dd" => args.extend(form.set.iter().map(|(key, value)| format!("{key}={value}"))),
        _ if !form.set.is_empty() => {
            return Err(DialectProblem::new("set", format!("{tool} has no settings by name"), "put them into `args`"));
        }
        _ => {}
    }
    try_words(tool, &args, &lines)?;
    let stdin = lines.iter().map(|line| format!("{line}\n")).collect();
    Ok(HostWork::Dialect { tool: tool.to_owned(), args, stdin })
}

/// Returns the settings of PostMark as its commands, with sizes in bytes.
fn postmark_lines(set: &BTreeMap<String, LevelForm>, working_set: Option<Size>) -> Result<Vec<String>, DialectProblem> {
    const KEYS: [&str; 12] = [
        "bias create",
        "bias read",
        "buffering",
        "location",
        "number",
        "read",
        "report",
        "seed",
        "size",
        "subdirectories",
        "threads",
        "transactions",
    ];
    let mut lines = Vec::new();
    let mut mean_bytes = 5120.0;
    for (key, value) in set {
        let name = key.replace('-', " ");
        if !KEYS.contains(&name.as_str()) && name != "write" {
            let help = match nearest(&name, KEYS) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("there is `{}` and `write`", KEYS.join("`, `")),
            };
            return Err(DialectProblem::new("set", format!("PostMark has no setting `{key}`"), help));
        }
        let value = value.to_string();
        let words: Vec<String> = match name.as_str() {
            "size" | "read" | "write" => value.split_whitespace().map(plain_bytes).collect(),
            _ => value.split_whitespace().map(str::to_owned).collect(),
        };
        if name == "size" {
            let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
            mean_bytes = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
        }
        lines.push(format!("set {name} {}", words.join(" ")));
    }
    if let Some(size) = working_set {
        // As many files as have this size together.
        lines.retain(|line| !line.starts_with("set number "));
        lines.push(match size {
            Size::Bytes(Bytes(bytes)) => format!("set number {}", (bytes as f64 / mean_bytes).round().max(1.0)),
            Size::Ram(factor) => {
                let text = format!("{:.18}", factor / mean_bytes);
                format!("set number ${{ram*{}}}", text.trim_end_matches('0'))
            }
            Size::Free(_) => {
                return Err(DialectProblem::new(
                    "set",
                    "PostMark cannot size its files by free space",
                    "give the working set as bytes or as a share of `ram`",
                ));
            }
        });
    }
    Ok(lines)
}

/// Converts `4k` to 4096; other words stay unchanged.
fn plain_bytes(word: &str) -> String {
    word.parse::<Bytes>().map_or_else(|_| word.to_owned(), |bytes| bytes.0.to_string())
}

fn on_trial(text: &str) -> String {
    with_memory(text, TRIAL_RAM_BYTES)
}

/// Returns the text that a host with this much memory would produce.
pub(crate) fn with_memory(text: &str, ram_bytes: f64) -> String {
    let mut put = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("${ram*") {
        put.push_str(before);
        let (factor, behind) = inside.split_once('}').unwrap_or((inside, ""));
        let bytes = factor.parse::<f64>().unwrap_or(1.0) * ram_bytes;
        put.push_str(&format!("{}", bytes.max(1.0) as u64));
        rest = behind;
    }
    put.push_str(rest);
    put
}

/// An unknown machine.
pub(crate) struct NoMachine;

impl iozone::Machine for NoMachine {
    fn file(&mut self, _: &str) -> Result<String, plumb_tools::FileError> {
        Ok(String::new())
    }
    fn uname(&mut self) -> String {
        "Linux".to_owned()
    }
    fn processors(&mut self) -> u32 {
        2
    }
}

/// Reads no file before a run.
pub(crate) struct NoFiles;

impl fio::Files for NoFiles {
    fn read(&mut self, path: &str) -> Result<String, fio::MissingFile> {
        Err(fio::MissingFile { reason: format!("`{path}` is not read before a run") })
    }
}

/// A host without any files yet.
pub(crate) struct NoPlaces;

impl fio::lower::Places for NoPlaces {
    fn find(&mut self, path: &str) -> fio::lower::Found {
        // A device of the host has a size, which is unknown here.
        if path.starts_with("/dev/") { fio::lower::Found::Block { bytes: 1 << 40 } } else { fio::lower::Found::Absent }
    }

    fn free_bytes(&mut self, _: &str) -> Option<u64> {
        None
    }

    fn files_below(&mut self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn recording(
        &mut self,
        asked: &fio::lower::RecordingRequest,
    ) -> Result<fio::lower::RecordedFiles, plumb_tools::FileError> {
        let path = asked.parts.first().map_or_else(String::new, |part| part.path.clone());
        Err(plumb_tools::FileError::NotPublished { path })
    }

    fn device_node(&mut self, _: u32, _: u32) -> Option<String> {
        None
    }

    fn cpus_of_node(&mut self, _: u32) -> Option<Vec<u32>> {
        None
    }
}

/// Runs the tool's own parser over its arguments. Files named in them are on the host, and are not checked.
fn try_words(tool: &str, args: &[String], lines: &[String]) -> Result<(), DialectProblem> {
    let words: Vec<String> = args.iter().map(|word| on_trial(word)).collect();
    let problem = |key, message: &str| {
        let message = message.trim().lines().next().unwrap_or("its command line is wrong").to_owned();
        Err(DialectProblem::new(
            key,
            format!("{tool} would refuse this: {message}"),
            format!("see `plumb as {tool} --help`"),
        ))
    };
    match tool {
        "dd" => match dd::read(&words, dd::Marks::Straight) {
            Ok(_) => Ok(()),
            Err(error) => problem("args", &error.lines.join(" ")),
        },
        "iozone" => match iozone::read(&words, &mut NoMachine) {
            Ok(_) => Ok(()),
            Err(error) => problem("args", if error.err.trim().is_empty() { &error.out } else { &error.err }),
        },
        "bonnie++" => {
            let machine = bonnie::Machine { ram_mib: 1024, ..bonnie::Machine::default() };
            match bonnie::BonnieSettings::read("bonnie++", &words, &machine) {
                Ok(_) => Ok(()),
                Err(error) => problem("args", &error.0),
            }
        }
        "fio" if words.iter().all(|word| word.starts_with("--")) => {
            match fio::read(&words, &fio::Machine::default(), &mut NoFiles) {
                Ok(_) => Ok(()),
                Err(errors) => problem("args", &errors.to_string()),
            }
        }
        "elbencho" => match elbencho::read(&words, &mut |_| Ok(String::new())) {
            Ok(_) => Ok(()),
            Err(errors) => problem("args", &errors.first().map(ToString::to_string).unwrap_or_default()),
        },
        "postmark" => check_postmark(lines),
        _ => Ok(()),
    }
}

fn check_postmark(lines: &[String]) -> Result<(), DialectProblem> {
    let mut language = postmark::Language::default();
    for line in lines {
        for order in language.obey_typed(&on_trial(line)) {
            let complaint = match order {
                postmark::Answer::Complain(text) => text,
                postmark::Answer::Print(text) if text.starts_with("Eh?") => "it is not a command".to_owned(),
                _ => continue,
            };
            let key = if line.starts_with("set ") { "set" } else { "stdin" };
            return Err(DialectProblem::new(
                key,
                format!("PostMark would not take `{line}`: {complaint}"),
                "see docs/dialects/postmark.md",
            ));
        }
    }
    Ok(())
}

/// Estimates the bytes that a tool reads and writes on a host with this much memory; `None` if unknown.
pub(crate) fn moved_bytes(work: &HostWork, ram: Option<u64>) -> Option<(u64, u64)> {
    let HostWork::Dialect { tool, args, stdin } = work else { return None };
    let depends = args.iter().chain([stdin]).any(|text| text.contains("${ram"));
    let ram = if depends { ram? as f64 } else { TRIAL_RAM_BYTES };
    let words: Vec<String> = args.iter().map(|word| with_memory(word, ram)).collect();
    match tool.as_str() {
        "postmark" => Some(postmark_bytes(&with_memory(stdin, ram))),
        "iozone" => match iozone::read(&words, &mut NoMachine).ok()? {
            iozone::Action::Run(settings) => iozone_bytes(&settings),
            iozone::Action::Print(_) => None,
        },
        "bonnie++" => {
            let machine = bonnie::Machine { ram_mib: (ram / f64::from(1 << 20)) as i64, ..bonnie::Machine::default() };
            let settings = bonnie::BonnieSettings::read("bonnie++", &words, &machine).ok()?;
            Some(bonnie_bytes(&settings))
        }
        _ => None,
    }
}

/// Half of the transactions create a file, half append; half read a file.
fn postmark_bytes(stdin: &str) -> (u64, u64) {
    let mut language = postmark::Language::default();
    stdin.lines().for_each(|line| drop(language.obey_typed(line)));
    let settings = &language.settings;
    let (low, high) = (f64::from(settings.low), f64::from(settings.high));
    let (number, transactions) = (f64::from(settings.number), f64::from(settings.transactions));
    let (threads, mean) = (f64::from(settings.threads.max(1)), f64::midpoint(low, high));
    let written = (number + transactions / 2.0) * mean + transactions / 2.0 * (high - low) / 4.0;
    ((threads * transactions / 2.0 * mean) as u64, (threads * written) as u64)
}

/// Each test covers the file, most of them twice. The automatic mode is unknown.
fn iozone_bytes(settings: &iozone::IozoneSettings) -> Option<(u64, u64)> {
    use iozone::{Test, TestMode};
    let TestMode::Single(point) = &settings.mode else { return None };
    let size = point.file_kb.checked_mul(1024)?;
    let tests: &[Test] = if settings.tests.selects { &settings.tests.include } else { Test::ALL };
    let times = |of: fn(Test) -> u64| tests.iter().map(|test| of(*test)).sum::<u64>();
    let read = times(|test| match test {
        Test::Read | Test::Fread | Test::Pread => 2,
        Test::Random | Test::Backward | Test::Stride => 1,
        _ => 0,
    });
    let written = times(|test| match test {
        Test::Write | Test::Fwrite | Test::Pwrite => 2,
        Test::Random | Test::RecordRewrite => 1,
        _ => 0,
    });
    Some((size.saturating_mul(read), size.saturating_mul(written)))
}

/// The large file is written twice and read twice, plus its part for single bytes once; small
/// files come in two series.
fn bonnie_bytes(settings: &bonnie::BonnieSettings) -> (u64, u64) {
    let mib = |mib: i64| (mib.max(0) as u64).saturating_mul(1 << 20);
    let large = mib(settings.large.size_mib)
        .saturating_mul(2)
        .saturating_add(mib(settings.large.per_char_mib.min(settings.large.size_mib)));
    let mean = u64::midpoint(settings.small.min_bytes.max(0) as u64, settings.small.max_bytes.max(0) as u64);
    let small = u64::from(settings.files()).saturating_mul(mean).saturating_mul(2);
    let all = large.saturating_add(small);
    (all, all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(tool: &str, args: &str, stdin: &str, ram: Option<u64>) -> Option<(u64, u64)> {
        let args = args.split_whitespace().map(str::to_owned).collect();
        moved_bytes(&HostWork::Dialect { tool: tool.to_owned(), args, stdin: stdin.to_owned() }, ram)
    }

    #[test]
    fn estimated_bytes_are_close_to_those_of_tools() {
        const MIB: u64 = 1 << 20;
        assert_eq!(moved("iozone", "-i 0 -i 1 -s 64m -r 4k -e", "", None), Some((128 * MIB, 128 * MIB)));
        assert_eq!(moved("iozone", "-i 0 -s ${ram*0.001953125}k -r 4k", "", Some(MIB)), Some((0, 4 * MIB)));
        assert_eq!(moved("iozone", "-i 0 -s ${ram*0.001953125}k -r 4k", "", None), None);
        let small = 2 * 1024 * 8192;
        assert_eq!(moved("bonnie++", "-s 0 -n 1:16384:0:4 -u root", "", None), Some((small, small)));
        // PostMark's own report at its defaults: 1 430 770 bytes read and 4 662 068 written.
        let (read, written) = moved("postmark", "", "run\nquit\n", None).unwrap();
        assert!(
            (1_000_000..2_000_000).contains(&read) && (4_000_000..5_500_000).contains(&written),
            "{read} {written}"
        );
    }
}
