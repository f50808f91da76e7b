//! The command line, as `getopt_long_only` reads it: one dash or two, abbreviated names, `--name value` or
//! `--name=value`, with files anywhere.

use super::error::{FioError, WordLocation};
use super::invocation::{Action, AskedClient, Eta, IdleOf, Invocation, OutputFormat};
use super::jobfile::{OptionLine, Section, SectionKind, kind_of};
use super::options::job::NAME;
use super::options::{self, OptionSpec};
use super::value::kind::{Bare, Kind};
use super::value::{Compat, ValueReading, time};
use plumb_workload::Nanos;

/// The shortest interval between progress updates.
const SHORTEST_ETA: Nanos = Nanos(250_000_000);

/// A command line, sorted into program options, jobs and files.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandLine {
    /// Options that concern the program, not one job.
    pub invocation: Invocation,
    /// The jobs of the command line, and its global options.
    pub sections: Vec<Section>,
    pub files: Vec<String>,
    /// The profile whose jobs are run as well, and the place where the command line names it.
    pub profile: Option<(String, WordLocation)>,
}

/// Whether an option of the command line takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    /// Optional, and only after `=`.
    Perhaps,
    /// Required: after `=`, or as the next word.
    Value,
}

/// Whether a program option is supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Works,
    /// Accepted without effect.
    Ignored(&'static str),
    /// Not supported yet.
    NotYet(&'static str),
    /// Will not be supported.
    Never(&'static str),
}

/// An option of the program as a whole.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOption {
    pub name: &'static str,
    pub letter: Option<char>,
    /// Whether it takes a value.
    pub takes: Takes,
    pub fate: Fate,
    /// A sentence for the help.
    pub doc: &'static str,
}

const fn works(name: &'static str, letter: char, takes: Takes, doc: &'static str) -> ProgramOption {
    ProgramOption { name, letter: Some(letter), takes, fate: Fate::Works, doc }
}

/// Returns an option of Plumb's own.
const fn own(name: &'static str, takes: Takes, doc: &'static str) -> ProgramOption {
    ProgramOption { name, letter: None, takes, fate: Fate::Works, doc }
}

const fn refused(name: &'static str, takes: Takes, fate: Fate) -> ProgramOption {
    ProgramOption { name, letter: None, takes, fate, doc: "" }
}

const OWN_CODE: Fate = Fate::Never("it benchmarks fio's own code.");

/// Every option of the program as a whole.
pub static PROGRAM_OPTIONS: &[ProgramOption] = &[
    works("output", 'o', Takes::Value, "Write results to this file."),
    works(
        "output-format",
        'F',
        Takes::Value,
        "normal, terse (or minimal, csv), json, json+; separate several with commas.",
    ),
    works("minimal", 'm', Takes::Nothing, "Same as --output-format=terse."),
    works("append-terse", 'f', Takes::Perhaps, "Also print terse output."),
    works("terse-version", 'V', Takes::Value, "Version of the terse format: 2, 3, 4 or 5."),
    works("version", 'v', Takes::Nothing, "Print the version."),
    works("help", 'h', Takes::Nothing, "Print this help."),
    works("cmdhelp", 'c', Takes::Perhaps, "Describe a job option; without a name, all of them."),
    works("enghelp", 'i', Takes::Perhaps, "Describe an engine, or engine,option; without a name, list the engines."),
    works("showcmd", 's', Takes::Nothing, "Print job files as command lines."),
    works("parse-only", 'P', Takes::Nothing, "Parse the jobs without running them."),
    works("section", 'x', Takes::Value, "Run only this section of the job files; can be repeated."),
    works("readonly", 'r', Takes::Nothing, "Refuse jobs that write or trim."),
    works("eta", 'e', Takes::Value, "When to show progress: always, never, auto."),
    works("eta-interval", 'O', Takes::Value, "Interval between progress updates."),
    works("eta-newline", 'E', Takes::Value, "Interval between new lines of progress."),
    works("status-interval", 'L', Takes::Value, "Interval between interim results."),
    works("warnings-fatal", 'w', Takes::Nothing, "Treat warnings as errors."),
    works("bandwidth-log", 'b', Takes::Perhaps, "Log the aggregate bandwidth of all jobs."),
    works("aux-path", 'K', Takes::Value, "Directory for state files."),
    works("merge-blktrace-only", 'A', Takes::Nothing, "Exit after merging recordings."),
    works("trigger-file", 'W', Takes::Value, "Run the trigger when this file appears."),
    works("trigger-timeout", 'B', Takes::Value, "Run the trigger after this time."),
    works("trigger", 'H', Takes::Value, "Command that the trigger runs."),
    works(
        "profile",
        'p',
        Takes::Value,
        "Run the jobs of this profile: tiobench (--size=MIB, --block, --numruns, --dir, --threads) or act \
         (--device-names, --load, --test-duration, --threads-per-queue, --read-req-num-512-blocks, \
         --large-block-op-kbytes, --prep).",
    ),
    works(
        "inflate-log",
        'X',
        Takes::Value,
        "Print the lines of a log that was stored compressed (log_store_compressed).",
    ),
    works(
        "idle-prof",
        'I',
        Takes::Value,
        "How idle the processors were: system, percpu; calibrate measures only the unit work.",
    ),
    works("cpuclock-test", 'T', Takes::Nothing, "Compare the clock that Plumb reads on all processors."),
    works("crctest", 'G', Takes::Perhaps, "Measure the checksums that verify uses, or only these; `help` lists them."),
    own("translate", Takes::Nothing, "Plumb's own: print the jobs as a TOML workload for `plumb run`."),
    own("plan", Takes::Nothing, "Plumb's own: print the files, amounts and order of the jobs without running them."),
    own(
        "compat",
        Takes::Value,
        "Plumb's own: `strict` reads ambiguous values exactly as fio does, `meant` as the user meant them.",
    ),
    own(
        "plumb-allow",
        Takes::Value,
        "Plumb's own: files and device serial numbers that may be overwritten, like PLUMB_ALLOW.",
    ),
    // `plumb` removes this option from every tool's words before they are parsed. It
    // is listed here for help and completion.
    own(
        "plumb-stream",
        Takes::Value,
        "Plumb's own: send each second to ndjson:FILE, influx:FILE or openmetrics:ADDRESS, like PLUMB_STREAM.",
    ),
    own("plumb-strict", Takes::Nothing, "Plumb's own: exit with 3 if checks reject the run."),
    own(
        "plumb-quiet",
        Takes::Nothing,
        "Plumb's own: no line on standard error about the run's verdict, like PLUMB_QUIET=1 and -q.",
    ),
    ProgramOption {
        name: "debug",
        letter: Some('d'),
        takes: Takes::Value,
        fate: Fate::Works,
        doc: "Print debug lines of these areas: io, random, parse; other areas of fio have none. `help` lists them all.",
    },
    ProgramOption {
        name: "alloc-size",
        letter: Some('a'),
        takes: Takes::Value,
        fate: Fate::Ignored("memory grows as needed."),
        doc: "",
    },
    ProgramOption {
        name: "max-jobs",
        letter: Some('j'),
        takes: Takes::Value,
        fate: Fate::Ignored("there is no limit to raise."),
        doc: "",
    },
    refused("latency-log", Takes::Value, Fate::Never("fio removed it; use `write_lat_log` in the job instead.")),
    ProgramOption {
        name: "server",
        letter: Some('S'),
        takes: Takes::Perhaps,
        fate: Fate::Works,
        doc: "Run jobs for clients, which are Plumb too: ip:ADDRESS,PORT or ,PORT. PLUMB_AGENT_KEYS names the keys; without, only on this host, and PLUMB_AGENT_ALLOW what may be used.",
    },
    ProgramOption {
        name: "client",
        letter: Some('C'),
        takes: Takes::Value,
        fate: Fate::Works,
        doc: "Run the job files after it on this host, or on the hosts listed in this file, which run `plumb as fio --server`.",
    },
    ProgramOption {
        name: "remote-config",
        letter: Some('R'),
        takes: Takes::Value,
        fate: Fate::Works,
        doc: "Run this job file of the host that the last --client names.",
    },
    ProgramOption {
        name: "daemonize",
        letter: Some('D'),
        takes: Takes::Value,
        fate: Fate::Works,
        doc: "With --server: go on in the background, and write the process id to this file.",
    },
    ProgramOption {
        name: "trigger-remote",
        letter: None,
        takes: Takes::Value,
        fate: Fate::Works,
        doc: "With --client: command that the trigger runs on each host.",
    },
    refused("memcpytest", Takes::Perhaps, OWN_CODE),
];

/// An option that a name on the command line can refer to.
#[derive(Debug, Clone, Copy)]
enum Named {
    Program(&'static ProgramOption),
    Job(&'static OptionSpec),
}

impl Named {
    fn name(self) -> &'static str {
        match self {
            Named::Program(option) => option.name,
            Named::Job(option) => option.name,
        }
    }

    fn value_rule(self) -> Takes {
        match self {
            Named::Program(option) => option.takes,
            Named::Job(option) if option.kind() == Kind::Flag => Takes::Perhaps,
            Named::Job(_) => Takes::Value,
        }
    }
}

pub fn read(words: &[String], errors: &mut Vec<FioError>) -> CommandLine {
    let line =
        CommandLine { invocation: Invocation::default(), sections: Vec::new(), files: Vec::new(), profile: None };
    let mut reader = WordReader { words, next: 0, line, open: false, formats: Vec::new(), errors };
    reader.all();
    let mut formats = reader.formats;
    formats.sort();
    formats.dedup();
    if !formats.is_empty() {
        reader.line.invocation.formats = formats;
    }
    if !reader.line.invocation.hosts.clients.is_empty() {
        reader.line.invocation.hosts.files.clone_from(&reader.line.files);
    }
    reader.line
}

struct WordReader<'a> {
    words: &'a [String],
    next: usize,
    line: CommandLine,
    /// Whether options go into the last section.
    open: bool,
    formats: Vec<OutputFormat>,
    errors: &'a mut Vec<FioError>,
}

impl<'a> WordReader<'a> {
    fn all(&mut self) {
        // An option such as `--version` ends parsing: the words after it are ignored.
        while !(self.errors.is_empty() && self.line.invocation.action.ends()) {
            let Some(word) = self.words.get(self.next) else { return };
            let place = self.place();
            self.next += 1;
            if word == "--" {
                self.line.files.extend_from_slice(&self.words[self.next..]);
                return;
            }
            if let Some(long) = word.strip_prefix("--") {
                self.long(long, place);
            } else if let Some(short) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                self.one_dash(short, place);
            } else {
                self.line.files.push(word.clone());
            }
        }
    }

    fn place(&self) -> WordLocation {
        WordLocation::CommandLine { word: u32::try_from(self.next + 1).unwrap_or(u32::MAX) }
    }

    fn one_dash(&mut self, text: &str, place: WordLocation) {
        let letter = text.chars().next().and_then(|letter| {
            PROGRAM_OPTIONS.iter().find(|option| option.letter == Some(letter)).map(|option| (letter, option))
        });
        let Some((letter, option)) = letter else { return self.long(text, place) };
        let rest = &text[letter.len_utf8()..];
        // A word of several letters after one dash is first tried as an abbreviated long name.
        if !rest.is_empty() && !candidates(text.split('=').next().unwrap_or(text)).is_empty() {
            return self.long(text, place);
        }
        match option.takes {
            Takes::Nothing => {
                self.taken(Named::Program(option), None, place.clone());
                if !rest.is_empty() {
                    self.one_dash(rest, place);
                }
            }
            Takes::Perhaps => {
                let value = (!rest.is_empty()).then(|| rest.to_owned());
                self.taken(Named::Program(option), value, place);
            }
            Takes::Value if !rest.is_empty() => self.taken(Named::Program(option), Some(rest.to_owned()), place),
            Takes::Value => self.with_next_word(Named::Program(option), place),
        }
    }

    fn long(&mut self, text: &str, place: WordLocation) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let found = candidates(name);
        let named = match found.as_slice() {
            [one] => *one,
            [] => {
                let own = PROGRAM_OPTIONS.iter().map(|option| option.name);
                let nearest = options::nearest(name).or_else(|| plumb_workload::suggest::nearest(name, own));
                self.errors.push(FioError::UnknownOption { place, name: name.to_owned(), nearest });
                return;
            }
            several => {
                let candidates = several.iter().map(|named| named.name()).collect();
                self.errors.push(FioError::Ambiguous { place, name: name.to_owned(), candidates });
                return;
            }
        };
        match (named.value_rule(), value) {
            (Takes::Nothing, Some(_)) => {
                self.errors.push(FioError::UnwantedValue { place, option: named.name().to_owned() });
            }
            (Takes::Value, None) => self.with_next_word(named, place),
            (_, value) => self.taken(named, value, place),
        }
    }

    fn with_next_word(&mut self, named: Named, place: WordLocation) {
        match self.words.get(self.next) {
            Some(value) => {
                self.next += 1;
                self.taken(named, Some(value.clone()), place);
            }
            None => self.errors.push(FioError::NoValue { place, option: named.name().to_owned() }),
        }
    }

    fn taken(&mut self, named: Named, value: Option<String>, place: WordLocation) {
        match named {
            Named::Job(option) => self.job_option(option, value, place),
            Named::Program(option) => {
                let given = format!("--{}", option.name);
                match option.fate {
                    Fate::Works => self.program_option(option, value, place),
                    Fate::Ignored(_) => {}
                    Fate::NotYet(why) => self.errors.push(FioError::OptionNotYet { place, option: given, why }),
                    Fate::Never(why) => self.errors.push(FioError::OptionNever { place, option: given, why }),
                }
            }
        }
    }

    fn job_option(&mut self, option: &'static OptionSpec, value: Option<String>, place: WordLocation) {
        let starts = NAME.is(option);
        if starts || !self.open {
            let name = if starts { value.clone().unwrap_or_default() } else { "global".to_owned() };
            let kind = if starts { kind_of(&name) } else { SectionKind::Global };
            let section = Section { kind, name, lines: Vec::new(), place: place.clone(), opens_file: false };
            self.line.sections.push(section);
            self.open = true;
        }
        if let Some(section) = self.line.sections.last_mut() {
            section.lines.push(OptionLine { name: option.name.to_owned(), text: value, place });
        }
    }

    fn program_option(&mut self, option: &'static ProgramOption, value: Option<String>, place: WordLocation) {
        let name = option.name;
        let text = value.clone().unwrap_or_default();
        let invocation = &mut self.line.invocation;
        let mut refuse = |reason: &str| {
            let error =
                FioError::BadWord { place: place.clone(), option: name, text: text.clone(), reason: reason.to_owned() };
            self.errors.push(error);
        };
        match name {
            "output" => invocation.output = value,
            "minimal" => self.formats = vec![OutputFormat::Terse],
            "append-terse" => {
                if self.formats.is_empty() {
                    self.formats.push(OutputFormat::Normal);
                }
                self.formats.push(OutputFormat::Terse);
            }
            "output-format" => {
                self.formats.clear();
                for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
                    match word {
                        "normal" => self.formats.push(OutputFormat::Normal),
                        "terse" | "minimal" | "csv" => self.formats.push(OutputFormat::Terse),
                        "json" => self.formats.push(OutputFormat::Json),
                        "json+" => self.formats.push(OutputFormat::JsonPlus),
                        _ => refuse("use normal, terse, json or json+"),
                    }
                }
            }
            "terse-version" => match text.trim().parse() {
                Ok(version @ 2..=5) => invocation.terse_version = version,
                _ => refuse("use 2, 3, 4 or 5"),
            },
            "version" => invocation.action = Action::Version,
            "help" => invocation.action = Action::Help,
            "cmdhelp" => invocation.action = Action::CommandHelp(value),
            "enghelp" => invocation.action = Action::EngineHelp(value),
            "debug" if matches!(text.as_str(), "help" | "?") => invocation.action = Action::DebugHelp,
            "debug" => invocation.debug.add(&text),
            "profile" => self.line.profile = Some((text, place)),
            "inflate-log" => invocation.action = Action::InflateLog(text),
            "cpuclock-test" => invocation.action = Action::ClockTest,
            "crctest" => invocation.action = Action::ChecksumTest(value),
            "idle-prof" => match text.as_str() {
                "system" => invocation.idle = Some(IdleOf::System),
                "percpu" => invocation.idle = Some(IdleOf::Each),
                "calibrate" => invocation.action = Action::IdleCalibration,
                _ => refuse("use system, percpu or calibrate"),
            },
            "translate" => invocation.action = Action::Translate,
            "plan" => invocation.action = Action::Plan,
            "showcmd" => invocation.action = Action::ShowCommand,
            "parse-only" => {
                if invocation.action == Action::Run {
                    invocation.action = Action::ParseOnly;
                }
            }
            "section" if text == "global" => refuse("global sections are always read; name a job"),
            "section" => invocation.sections.push(text),
            "readonly" => invocation.read_only = true,
            "eta" => match text.as_str() {
                "always" => invocation.progress.eta = Eta::Always,
                "never" => invocation.progress.eta = Eta::Never,
                "auto" => invocation.progress.eta = Eta::Auto,
                _ => refuse("use always, never or auto"),
            },
            "eta-interval" => match seconds(&text) {
                Some(time) if time >= SHORTEST_ETA => invocation.progress.eta_interval = Some(time),
                _ => refuse("use a time of 250ms or more"),
            },
            "eta-newline" => match seconds(&text) {
                Some(time) if time >= Nanos(1_000_000) => invocation.progress.eta_newline = Some(time),
                _ => refuse("use a time of 1ms or more"),
            },
            "status-interval" => match seconds(&text) {
                Some(time) if time >= Nanos(1_000_000) => invocation.progress.status_interval = Some(time),
                _ => refuse("use a time of 1ms or more"),
            },
            "trigger-timeout" => match seconds(&text) {
                Some(time) => invocation.trigger.timeout = Some(time),
                None => refuse("use a time such as 30s"),
            },
            "trigger-file" => invocation.trigger.file = value,
            "trigger" => invocation.trigger.command = value,
            "trigger-remote" => invocation.trigger.remote = value,
            "warnings-fatal" => invocation.warnings_fatal = true,
            "bandwidth-log" => invocation.bandwidth_log = Some(value.unwrap_or_else(|| "agg".to_owned())),
            "aux-path" => invocation.aux_path = value,
            "merge-blktrace-only" => invocation.merge_blktrace_only = true,
            "server" if !invocation.hosts.clients.is_empty() => refuse("one process is either a client or a server"),
            "client" if invocation.hosts.server.is_some() => refuse("one process is either a client or a server"),
            "server" => invocation.hosts.server = Some(text),
            "daemonize" => invocation.hosts.daemonize = value,
            "client" => {
                let behind = self.words[self.next..].iter().take_while(|word| !word.starts_with('-'));
                let files: Vec<String> = behind.cloned().collect();
                self.next += files.len();
                invocation.hosts.clients.push(AskedClient { host: text, files, remote_files: Vec::new() });
            }
            "remote-config" => match invocation.hosts.clients.last_mut() {
                Some(client) => client.remote_files.push(text),
                None => refuse("name its host with --client before it"),
            },
            "plumb-allow" => invocation.allow = value,
            // Only an abbreviation of the option gets here. It would have no effect.
            "plumb-stream" => refuse("write it as --plumb-stream=FORM:WHERE"),
            "plumb-strict" | "plumb-quiet" => refuse("write it in full"),
            "compat" => match text.as_str() {
                "strict" => invocation.compat = Compat::Strict,
                "meant" => invocation.compat = Compat::Meant,
                _ => refuse("use strict or meant"),
            },
            _ => unreachable!("every supported option is handled above; a test tries them all"),
        }
    }
}

/// Returns the options that a name, or an abbreviation, can refer to.
fn candidates(name: &str) -> Vec<Named> {
    if let Some(option) = PROGRAM_OPTIONS.iter().find(|option| option.name == name) {
        return vec![Named::Program(option)];
    }
    if let Some(option) = options::find(name) {
        return vec![Named::Job(option)];
    }
    if name.is_empty() {
        return Vec::new();
    }
    let program = PROGRAM_OPTIONS.iter().filter(|option| option.name.starts_with(name)).map(Named::Program);
    let begins = |option: &&OptionSpec| {
        option.name.starts_with(name) || option.alias.is_some_and(|alias| alias.starts_with(name))
    };
    let mut found: Vec<Named> = program.chain(options::all().filter(begins).map(Named::Job)).collect();
    // Engine options are candidates only if nothing else matches: fio does not know them before it knows the engine.
    let of_engine = |named: &Named| matches!(named, Named::Job(option) if !option.engines.is_empty());
    if found.iter().any(|named| !of_engine(named)) {
        found.retain(|named| !of_engine(named));
    }
    found
}

fn seconds(text: &str) -> Option<Nanos> {
    let mut doubts = Vec::new();
    let mut reading = ValueReading { compat: Compat::Meant, kb_base: 1_024, doubts: &mut doubts };
    time(text, Bare::Seconds, &mut reading).ok()
}
