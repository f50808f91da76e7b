//! Parses arguments into settings.

use super::options::find;
use plumb_tools::Support;
use plumb_tools::options::Takes;

/// Error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SysbenchUsageError {
    /// Printed to standard output after the version, as sysbench does.
    #[error("FATAL: {0}")]
    Fatal(String),
    /// Printed to standard error.
    #[error("{0}")]
    Usage(String),
}

/// The request of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Page(String),
    Version,
    Run(SysbenchSettings),
}

/// The command after `fileio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Prepare,
    Run(TestMode),
    Cleanup,
}

/// Mode of the `run` command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestMode {
    /// `seqwr`: create and write sequentially.
    Create,
    /// `seqrewr`: rewrite sequentially.
    Rewrite,
    /// `seqrd`: read sequentially.
    Read,
    /// `rndrd`: read at random offsets.
    RandomRead,
    /// `rndwr`: write at random offsets.
    RandomWrite,
    /// `rndrw`: read and write at random offsets.
    RandomMix,
}

impl TestMode {
    const WORDS: [(&'static str, TestMode); 6] = [
        ("seqwr", TestMode::Create),
        ("seqrewr", TestMode::Rewrite),
        ("seqrd", TestMode::Read),
        ("rndrd", TestMode::RandomRead),
        ("rndwr", TestMode::RandomWrite),
        ("rndrw", TestMode::RandomMix),
    ];

    /// Returns `true` if offsets are random.
    pub fn is_random(self) -> bool {
        matches!(self, TestMode::RandomRead | TestMode::RandomWrite | TestMode::RandomMix)
    }

    /// Returns `true` if the mode writes nothing.
    pub fn only_reads(self) -> bool {
        matches!(self, TestMode::Read | TestMode::RandomRead)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoMode {
    /// `pread` and `pwrite`.
    Sync,
    /// `io_submit`, from libaio.
    Async,
    Mmap,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchSettings {
    /// The command after `fileio`.
    pub command: Command,
    /// `--threads`: number of threads.
    pub threads: u32,
    pub limits: RunLimits,
    pub report: ReportOptions,
    /// `--rand-seed`: seed of random numbers; 0 takes a new one each time.
    pub seed: u64,
    pub files: FileOptions,
    pub requests: RequestOptions,
    pub flush: FlushOptions,
}

/// Limits on the amount of work and on its rate.
#[derive(Debug, Clone, PartialEq)]
pub struct RunLimits {
    /// `--events`: limit of requests and flushes; 0 for none.
    pub events: u64,
    /// `--time`: limit of the run time, seconds; 0 for none.
    pub time_s: u64,
    /// `--rate`: requests and flushes per second; 0 for no limit.
    pub rate: u32,
}

/// Output during the run and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportOptions {
    /// `--report-interval`: seconds between interim reports; 0 for none.
    pub interval_s: u64,
    /// `--percentile`: percentile to print; 0 for none.
    pub percentile: u32,
    /// `--histogram`: whether a latency histogram is printed.
    pub histogram: bool,
}

/// The files, and how they are opened.
#[derive(Debug, Clone, PartialEq)]
pub struct FileOptions {
    /// `--file-num`: number of files.
    pub count: u32,
    /// `--file-total-size`: bytes in all files together.
    pub total: u64,
    /// Whether files are opened with `O_SYNC`.
    pub sync: bool,
    /// Whether files are opened with `O_DSYNC`.
    pub dsync: bool,
    /// Whether files are opened with `O_DIRECT`.
    pub direct: bool,
}

/// Requests: size, system calls and mix.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOptions {
    /// `--file-block-size`: bytes per request.
    pub block: u64,
    /// `--file-merged-requests`: blocks per sequential request; 0 for one.
    pub merged: u32,
    /// `--file-rw-ratio`: reads per write.
    pub ratio: f64,
    /// `--file-io-mode`: the system calls of requests.
    pub io: IoMode,
    /// `--file-async-backlog`: queue depth with [`IoMode::Async`].
    pub backlog: u32,
    /// `--validate`: whether blocks have trailers, and reads are checked.
    pub validates: bool,
}

/// Flushes of files, and the calls that make them.
#[derive(Debug, Clone, PartialEq)]
pub struct FlushOptions {
    /// `--file-fsync-freq`: number of requests after which all files are flushed; 0 for never.
    pub every: u32,
    /// `--file-fsync-all`: whether each write is flushed.
    pub each: bool,
    /// `--file-fsync-end`: whether all files are flushed at the end.
    pub at_end: bool,
    /// `--file-fsync-mode=fdatasync`: whether `fdatasync` is used instead of `fsync`.
    pub data_only: bool,
}

impl SysbenchSettings {
    /// Returns the size of each file, bytes.
    pub fn file_bytes(&self) -> u64 {
        self.files.total / u64::from(self.files.count)
    }

    /// Returns the size of a sequential request, bytes.
    pub fn request_bytes(&self) -> u64 {
        self.requests.block.saturating_mul(u64::from(self.requests.merged.max(1)))
    }
}

/// Size of a validated block's trailer, bytes.
const TRAILER_BYTES: u64 = 12;

/// Options as given, in order.
struct Given<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Given<'a> {
    fn text(&self, name: &'static str) -> &'a str {
        let last = self.0.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value);
        last.unwrap_or_else(|| find(name).map_or("", |row| row.default))
    }

    fn number(&self, name: &'static str) -> Result<i64, SysbenchUsageError> {
        let text = self.text(name);
        let number = if text.is_empty() { Some(0) } else { text.parse().ok().filter(|n| i32::try_from(*n).is_ok()) };
        number.ok_or_else(|| SysbenchUsageError::Usage(format!("Invalid value for the '{name}' option: '{text}'")))
    }

    /// Parses a number that must be at least `least`. `named` is the name in messages.
    fn count(&self, name: &'static str, named: &str, least: i64) -> Result<u32, SysbenchUsageError> {
        let number = self.number(name)?;
        match u32::try_from(number) {
            Ok(count) if number >= least => Ok(count),
            _ => Err(SysbenchUsageError::Fatal(format!("Invalid value for {named}: {number}"))),
        }
    }

    /// Parses a limit. As in sysbench, a negative number means no limit.
    fn most(&self, name: &'static str) -> Result<u32, SysbenchUsageError> {
        Ok(u32::try_from(self.number(name)?).unwrap_or(0))
    }

    fn size(&self, name: &'static str) -> Result<u64, SysbenchUsageError> {
        let text = self.text(name);
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let power = match unit.chars().next().map(|unit| unit.to_ascii_uppercase()) {
            None => Some(0),
            Some(unit) => "KMGT".find(unit).map(|at| at as u32 + 1),
        };
        let bytes = number.parse::<u64>().ok().zip(power);
        let bytes = bytes.and_then(|(number, power)| number.checked_mul(1024u64.checked_pow(power)?));
        match bytes.filter(|&bytes| bytes > 0 && i64::try_from(bytes).is_ok()) {
            Some(bytes) => Ok(bytes),
            None => Err(SysbenchUsageError::Fatal(format!("Invalid value for {name}: {text}"))),
        }
    }

    /// Replaces options by deprecated ones. As in sysbench, a deprecated option takes precedence if it has an effect.
    /// Source: `init` in `sysbench.c`.
    fn take_deprecated(&mut self) -> Result<(), SysbenchUsageError> {
        for (old, least, new) in DEPRECATED {
            if self.is_given(old) && self.number(old)? >= least {
                let value = self.text(old);
                self.0.push((new, value));
            }
        }
        Ok(())
    }

    fn asks(&self, name: &'static str) -> bool {
        self.is_given(name) && self.flag(name)
    }

    fn is_given(&self, name: &'static str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    fn flag(&self, name: &'static str) -> bool {
        is_on(self.text(name)).unwrap_or(false)
    }
}

fn is_on(text: &str) -> Option<bool> {
    match text {
        "" | "on" | "true" | "1" => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// Deprecated options: name, smallest value with an effect, and new name.
const DEPRECATED: [(&str, i64, &str); 4] =
    [("num-threads", 2, "threads"), ("max-requests", 1, "events"), ("max-time", 1, "time"), ("tx-rate", 1, "rate")];

/// sysbench's own warnings about a valid command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings {
    /// Printed to standard error, before everything else.
    pub errors: String,
    /// Printed to standard output, before the version.
    pub output: String,
}

/// Returns the warnings about a command line.
pub fn warnings(words: &[String]) -> Warnings {
    let mut warnings = Warnings::default();
    let mut given = Given(Vec::new());
    for word in words {
        let Some(option) = word.strip_prefix("--") else { continue };
        if option.starts_with("test=") {
            warnings.errors.push_str(
                "WARNING: the --test option is deprecated. You can pass a script name or path on the command line \
                 without any options.\n",
            );
        }
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if let Some(row) = find(name) {
            given.0.push((row.name, value));
        }
    }
    if given.take_deprecated().is_err() || ["help", "version"].iter().any(|page| given.asks(page)) {
        return warnings;
    }
    let used = |old| given.number(old).ok().filter(|_| given.is_given(old));
    for (old, least, new) in DEPRECATED.iter().take(3) {
        if used(old).is_some_and(|number| number >= *least) {
            warnings.output.push_str(&format!("WARNING: --{old} is deprecated, use --{new} instead\n"));
        }
    }
    if given.number("events") == Ok(0) && given.number("time") == Ok(0) {
        warnings.output.push_str("WARNING: Both event and time limits are disabled, running an endless test\n");
    }
    if used("tx-rate").is_some_and(|rate| rate > 0) {
        warnings.output.push_str("WARNING: --tx-rate is deprecated, use --rate instead\n");
    }
    warnings
}

/// Parses the arguments after `sysbench`.
///
/// # Errors
/// [`SysbenchUsageError`]
pub fn read(words: &[String]) -> Result<Action, SysbenchUsageError> {
    let mut given = Given(Vec::new());
    let (mut test, mut command) = (None, None);
    for word in words {
        let Some(option) = word.strip_prefix("--") else {
            match (test, command) {
                (None, _) => test = Some(word.as_str()),
                (_, None) => command = Some(word.as_str()),
                _ => return Err(SysbenchUsageError::Usage(format!("Unrecognized command line argument: {word}"))),
            }
            continue;
        };
        if let Some(name) = option.strip_prefix("test=") {
            test = Some(name);
            continue;
        }
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let invalid = || SysbenchUsageError::Usage(format!("invalid option: {word}"));
        let row = find(name).ok_or_else(invalid)?;
        if row.takes == Takes::Flag {
            is_on(value).ok_or_else(invalid)?;
        }
        match row.support {
            Support::Works | Support::Ignored(_) => {}
            Support::NotYet(why) | Support::Never(why) => {
                // An unsupported option with its default value is harmless.
                if value != row.default {
                    return Err(SysbenchUsageError::Usage(format!("--{}: not supported: {why}", row.name)));
                }
            }
        }
        given.0.push((row.name, value));
    }
    given.take_deprecated()?;
    if given.asks("help") {
        return Ok(Action::Page(super::options::help()));
    }
    if given.asks("version") {
        return Ok(Action::Version);
    }
    let Some(test) = test else { return Ok(Action::Page(super::options::help())) };
    if test != "fileio" {
        return Err(SysbenchUsageError::Fatal(format!(
            "Cannot find benchmark '{test}': of sysbench's tests, Plumb has `fileio`; use sysbench itself for the others"
        )));
    }
    let run = match command {
        None => {
            let message = "The 'fileio' test requires a command argument. See 'sysbench fileio help'";
            return Err(SysbenchUsageError::Usage(message.to_owned()));
        }
        Some("help") => return Ok(Action::Page(super::options::help_of_test())),
        Some("prepare") => Command::Prepare,
        Some("cleanup") => Command::Cleanup,
        Some("run") => Command::Run(mode(given.text("file-test-mode"))?),
        Some(other) => return Err(SysbenchUsageError::Usage(format!("Unknown command: {other}"))),
    };
    settings(&given, run).map(Action::Run)
}

fn mode(word: &str) -> Result<TestMode, SysbenchUsageError> {
    let known = TestMode::WORDS.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode);
    known.ok_or_else(|| {
        SysbenchUsageError::Fatal(match word {
            "" => "Missing required argument: --file-test-mode".to_owned(),
            word => format!("Invalid IO operations mode: {word}."),
        })
    })
}

fn fatal(what: &str, value: &str) -> SysbenchUsageError {
    SysbenchUsageError::Fatal(format!("{what}: {value}"))
}

fn settings(given: &Given<'_>, command: Command) -> Result<SysbenchSettings, SysbenchUsageError> {
    let [sync, dsync, direct] = extra_flags(given)?;
    let distribution = given.text("rand-type");
    if !["uniform", "gaussian", "special", "pareto", "zipfian"].contains(&distribution) {
        return Err(fatal("Invalid random numbers distribution", &format!("{distribution}.")));
    }
    let io = io_mode(given)?;
    let data_only = match given.text("file-fsync-mode") {
        "fsync" => false,
        "fdatasync" => true,
        other => return Err(fatal("Invalid fsync mode", &format!("{other}."))),
    };
    let ratio = read_write_ratio(given, command)?;
    let runs = matches!(command, Command::Run(_));
    let backlog = match io {
        IoMode::Async if runs => given.count("file-async-backlog", "file-async-backlog", 1)?,
        _ => 1,
    };
    let each = given.flag("file-fsync-all");
    let settings = SysbenchSettings {
        command,
        threads: given.count("threads", "--threads", 1)?,
        limits: RunLimits {
            events: given.most("events")?.into(),
            time_s: given.number("time")?.max(0) as u64,
            rate: given.count("rate", "--rate", 0)?,
        },
        report: ReportOptions {
            interval_s: given.most("report-interval")?.into(),
            percentile: given.count("percentile", "--percentile", 0)?,
            histogram: given.flag("histogram"),
        },
        seed: u64::from(given.number("rand-seed")? as u32),
        files: FileOptions {
            count: given.count("file-num", "file-num", 1)?,
            total: given.size("file-total-size")?,
            sync,
            dsync,
            direct,
        },
        requests: RequestOptions {
            block: given.size("file-block-size")?,
            merged: given.count("file-merged-requests", "file-merged-requests", 0)?,
            ratio,
            io,
            backlog,
            validates: given.asks("validate"),
        },
        flush: FlushOptions {
            every: if each { 0 } else { given.count("file-fsync-freq", "file-fsync-freq", 0)? },
            each,
            at_end: !each && given.flag("file-fsync-end"),
            data_only,
        },
    };
    settings.check()?;
    Ok(settings)
}

/// Parses the flags of `--file-extra-flags`: sync, dsync, direct.
fn extra_flags(given: &Given<'_>) -> Result<[bool; 3], SysbenchUsageError> {
    let mut flags = [false; 3];
    for word in given.text("file-extra-flags").split(',').filter(|word| !word.is_empty()) {
        let known = ["sync", "dsync", "direct"].iter().position(|known| *known == word);
        flags[known.ok_or_else(|| fatal("Invalid value for file-extra-flags", word))?] = true;
    }
    Ok(flags)
}

fn io_mode(given: &Given<'_>) -> Result<IoMode, SysbenchUsageError> {
    match given.text("file-io-mode") {
        "sync" => Ok(IoMode::Sync),
        "async" => Ok(IoMode::Async),
        "mmap" => Ok(IoMode::Mmap),
        other => Err(fatal("unknown I/O mode", other)),
    }
}

/// Returns the reads per write. As in sysbench, only modes that use the value check it.
fn read_write_ratio(given: &Given<'_>, command: Command) -> Result<f64, SysbenchUsageError> {
    match (command, given.text("file-rw-ratio")) {
        (Command::Run(TestMode::RandomMix), text) => {
            let ratio = text.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
            ratio.ok_or_else(|| fatal("Invalid value for --file-rw-ratio", text))
        }
        (_, text) => Ok(text.parse().unwrap_or(0.0)),
    }
}

impl SysbenchSettings {
    fn check(&self) -> Result<(), SysbenchUsageError> {
        let RequestOptions { block, io, backlog, validates, .. } = self.requests;
        if validates && self.command != Command::Cleanup && block <= TRAILER_BYTES {
            let what = "Invalid value for file-block-size: with --validate, more than 12";
            return Err(fatal(what, &block.to_string()));
        }
        let in_flight = if io == IoMode::Async { backlog } else { 1 };
        if validates && self.command == Command::Run(TestMode::RandomMix) && self.threads.max(in_flight) > 1 {
            return Err(SysbenchUsageError::Fatal(
                "--validate with --file-test-mode=rndrw: a read may see half of another write; use --threads=1 and \
                 --file-io-mode=sync, or rndrd"
                    .to_owned(),
            ));
        }
        if self.report.percentile > 100 {
            return Err(fatal("Invalid value for --percentile", &self.report.percentile.to_string()));
        }
        if self.report.histogram && self.report.percentile == 0 {
            return Err(SysbenchUsageError::Fatal("--histogram cannot be used with --percentile=0".to_owned()));
        }
        if self.command != Command::Cleanup && self.file_bytes() == 0 {
            return Err(SysbenchUsageError::Fatal(
                "Invalid value for file-total-size: each file would be empty".to_owned(),
            ));
        }
        Ok(())
    }
}
