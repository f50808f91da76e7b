//! From words to settings.

use super::options::find;
use plumb_tools::Support;
use plumb_tools::options::Takes;

/// Why a command line cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SysbenchUsageError {
    /// Told on standard output, behind the version, as sysbench tells it.
    #[error("FATAL: {0}")]
    Fatal(String),
    /// Told on standard error.
    #[error("{0}")]
    Usage(String),
}

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A page.
    Page(String),
    /// The version alone.
    Version,
    /// A run.
    Run(SysbenchSettings),
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Files are made.
    Prepare,
    /// They are used.
    Run(TestMode),
    /// They are removed.
    Cleanup,
}

/// What `run` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestMode {
    /// `seqwr`
    Create,
    /// `seqrewr`
    Rewrite,
    /// `seqrd`
    Read,
    /// `rndrd`
    RandomRead,
    /// `rndwr`
    RandomWrite,
    /// `rndrw`
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

    /// Whether requests go to random places.
    pub fn is_random(self) -> bool {
        matches!(self, TestMode::RandomRead | TestMode::RandomWrite | TestMode::RandomMix)
    }

    /// Whether nothing is written.
    pub fn only_reads(self) -> bool {
        matches!(self, TestMode::Read | TestMode::RandomRead)
    }
}

/// By which calls requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IoMode {
    /// `pread` and `pwrite`
    Sync,
    /// `io_submit`
    Async,
    /// Mappings.
    Mmap,
}

/// A command line, understood.
#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchSettings {
    /// What is done.
    pub command: Command,
    /// Threads.
    pub threads: u32,
    /// Most requests and flushes; 0 is no limit.
    pub events: u64,
    /// Seconds; 0 is no limit.
    pub time_s: u64,
    /// Seconds between reports; 0 is none.
    pub report_s: u64,
    /// Which percentile is printed; 0 is none.
    pub percentile: u32,
    /// Requests and flushes a second; 0 is as many as there can be.
    pub rate: u32,
    /// Latencies are printed as a histogram.
    pub histogram: bool,
    /// 0 is another one each time.
    pub seed: u64,
    /// How many files.
    pub files: u32,
    /// Bytes of a request.
    pub block: u64,
    /// Bytes of all files.
    pub total: u64,
    /// By which calls.
    pub io: IoMode,
    /// Requests in flight with [`IoMode::Async`].
    pub backlog: u32,
    /// `O_SYNC`.
    pub sync: bool,
    /// `O_DSYNC`.
    pub dsync: bool,
    /// `O_DIRECT`.
    pub direct: bool,
    /// All files are flushed behind this many requests; 0 is never.
    pub flush_every: u32,
    /// Each write is flushed.
    pub flush_each: bool,
    /// All files are flushed at the end.
    pub flush_end: bool,
    /// By `fdatasync`.
    pub data_only: bool,
    /// Blocks of a request in sequence; 0 is one.
    pub merged: u32,
    /// Reads for each write.
    pub ratio: f64,
    /// Blocks have trailers, and reads are checked.
    pub validates: bool,
}

impl SysbenchSettings {
    /// Bytes of each file.
    pub fn file_bytes(&self) -> u64 {
        self.total / u64::from(self.files)
    }

    /// Bytes of a request in sequence.
    pub fn request_bytes(&self) -> u64 {
        self.block.saturating_mul(u64::from(self.merged.max(1)))
    }
}

/// Bytes of the trailer of a block that is validated.
const TRAILER_BYTES: u64 = 12;

/// The options as they were given.
struct Given<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Given<'a> {
    fn text(&self, name: &'static str) -> &'a str {
        let said = self.0.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| *value);
        said.unwrap_or_else(|| find(name).map_or("", |row| row.default))
    }

    fn number(&self, name: &'static str) -> Result<i64, SysbenchUsageError> {
        let text = self.text(name);
        let number = if text.is_empty() { Some(0) } else { text.parse().ok().filter(|n| i32::try_from(*n).is_ok()) };
        number.ok_or_else(|| SysbenchUsageError::Usage(format!("Invalid value for the '{name}' option: '{text}'")))
    }

    /// A number from `least` on; `named` as messages have it.
    fn count(&self, name: &'static str, named: &str, least: i64) -> Result<u32, SysbenchUsageError> {
        let number = self.number(name)?;
        match u32::try_from(number) {
            Ok(count) if number >= least => Ok(count),
            _ => Err(SysbenchUsageError::Fatal(format!("Invalid value for {named}: {number}"))),
        }
    }

    /// A limit: as sysbench, a negative number is none.
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

    /// Replaces options by deprecated ones, as sysbench does: those win wherever they ask for anything. Source: `init` in
    /// its `sysbench.c`.
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

/// Deprecated options: from which value on they are used, and instead of which option.
const DEPRECATED: [(&str, i64, &str); 4] =
    [("num-threads", 2, "threads"), ("max-requests", 1, "events"), ("max-time", 1, "time"), ("tx-rate", 1, "rate")];

/// Warnings of sysbench itself about a command line that it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Warnings {
    /// On standard error, before all else.
    pub errors: String,
    /// On standard output, before its version.
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

/// Reads the words behind `sysbench`.
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
                // What an option is by default does no harm.
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

fn settings(given: &Given<'_>, command: Command) -> Result<SysbenchSettings, SysbenchUsageError> {
    let fatal = |what: &str, value: &str| SysbenchUsageError::Fatal(format!("{what}: {value}"));
    let mut flags = [false; 3];
    for word in given.text("file-extra-flags").split(',').filter(|word| !word.is_empty()) {
        let known = ["sync", "dsync", "direct"].iter().position(|known| *known == word);
        flags[known.ok_or_else(|| fatal("Invalid value for file-extra-flags", word))?] = true;
    }
    let distribution = given.text("rand-type");
    if !["uniform", "gaussian", "special", "pareto", "zipfian"].contains(&distribution) {
        return Err(fatal("Invalid random numbers distribution", &format!("{distribution}.")));
    }
    let io = match given.text("file-io-mode") {
        "sync" => IoMode::Sync,
        "async" => IoMode::Async,
        "mmap" => IoMode::Mmap,
        other => return Err(fatal("unknown I/O mode", other)),
    };
    let data_only = match given.text("file-fsync-mode") {
        "fsync" => false,
        "fdatasync" => true,
        other => return Err(fatal("Invalid fsync mode", &format!("{other}."))),
    };
    // As in sysbench, only modes that use a value check it.
    let ratio = match (command, given.text("file-rw-ratio")) {
        (Command::Run(TestMode::RandomMix), said) => {
            let ratio = said.parse::<f64>().ok().filter(|number| *number >= 0.0 && number.is_finite());
            ratio.ok_or_else(|| fatal("Invalid value for --file-rw-ratio", said))?
        }
        (_, said) => said.parse().unwrap_or(0.0),
    };
    let runs = matches!(command, Command::Run(_));
    let backlog = match io {
        IoMode::Async if runs => given.count("file-async-backlog", "file-async-backlog", 1)?,
        _ => 1,
    };
    let each = given.flag("file-fsync-all");
    let settings = SysbenchSettings {
        command,
        threads: given.count("threads", "--threads", 1)?,
        events: given.most("events")?.into(),
        time_s: given.number("time")?.max(0) as u64,
        report_s: given.most("report-interval")?.into(),
        percentile: given.count("percentile", "--percentile", 0)?,
        rate: given.count("rate", "--rate", 0)?,
        histogram: given.flag("histogram"),
        seed: u64::from(given.number("rand-seed")? as u32),
        files: given.count("file-num", "file-num", 1)?,
        block: given.size("file-block-size")?,
        total: given.size("file-total-size")?,
        io,
        backlog,
        sync: flags[0],
        dsync: flags[1],
        direct: flags[2],
        flush_every: if each { 0 } else { given.count("file-fsync-freq", "file-fsync-freq", 0)? },
        flush_each: each,
        flush_end: !each && given.flag("file-fsync-end"),
        data_only,
        merged: given.count("file-merged-requests", "file-merged-requests", 0)?,
        ratio,
        validates: given.asks("validate"),
    };
    if settings.validates && command != Command::Cleanup && settings.block <= TRAILER_BYTES {
        return Err(fatal(
            "Invalid value for file-block-size: with --validate, more than 12",
            &settings.block.to_string(),
        ));
    }
    let in_flight = if io == IoMode::Async { settings.backlog } else { 1 };
    if settings.validates && command == Command::Run(TestMode::RandomMix) && settings.threads.max(in_flight) > 1 {
        return Err(SysbenchUsageError::Fatal(
            "--validate with --file-test-mode=rndrw: a read may see half of another write; use --threads=1 and \
             --file-io-mode=sync, or rndrd"
                .to_owned(),
        ));
    }
    if settings.percentile > 100 {
        return Err(fatal("Invalid value for --percentile", &settings.percentile.to_string()));
    }
    if settings.histogram && settings.percentile == 0 {
        return Err(SysbenchUsageError::Fatal("--histogram cannot be used with --percentile=0".to_owned()));
    }
    if command != Command::Cleanup && settings.file_bytes() == 0 {
        return Err(SysbenchUsageError::Fatal(
            "Invalid value for file-total-size: each file would be empty".to_owned(),
        ));
    }
    Ok(settings)
}
