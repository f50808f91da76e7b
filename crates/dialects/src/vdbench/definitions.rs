//! From parameters to definitions, and from these to runs.

use super::parse::{Parameter, Wrong, numbers, parameters, size};
use super::settings::Settings;
use super::values::{THREADS_MAX, at_least_one, curve, percent, share, threads, transfers};

/// Points of a curve, in per cent of the largest rate, where none are said.
const CURVE: [u64; 6] = [10, 50, 70, 80, 90, 100];

/// Most runs of one file.
const RUNS_MAX: usize = 10_000;

/// A storage definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Storage {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) bytes: Option<u64>,
    pub(super) threads: u64,
    pub(super) offset: u64,
    pub(super) direct: bool,
    pub(super) sync: bool,
}

/// How large transfers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transfers {
    /// Always so.
    Fixed(u64),
    /// Sizes, each with its per cent.
    Mix(Vec<(u64, u8)>),
}

/// A workload definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    pub(super) name: String,
    pub(super) storage: Vec<String>,
    pub(super) read_percent: u8,
    pub(super) transfers: Transfers,
    pub(super) random_percent: u8,
    pub(super) ends_at_end: bool,
    pub(super) skew: Option<f64>,
    /// The part of the storage, in per cent.
    pub(super) range: (u64, u64),
}

/// How fast a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As fast as it goes.
    Max,
    /// The first run of a curve: as fast as it goes, controlled by skews.
    CurveMax,
    /// A point of a curve, per cent of what its first run did.
    CurvePercent(u64),
    /// I/Os a second.
    PerSecond(u64),
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name.
    pub name: String,
    pub(super) works: Vec<Work>,
    /// How fast.
    pub rate: Rate,
    /// Seconds that are measured.
    pub elapsed_s: u64,
    /// Seconds of an interval.
    pub interval_s: u64,
    /// Seconds before.
    pub warmup_s: u64,
    /// Seconds of waiting before it.
    pub pause_s: u64,
    pub(super) poisson: bool,
    pub(super) threads: Option<u64>,
    /// What the loops of `forX` have at this run.
    pub loops: String,
}

/// A parameter file.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub(super) storage: Vec<Storage>,
    /// Its runs, in order.
    pub runs: Vec<Run>,
}

struct RunDefinition {
    run: Run,
    works: Vec<String>,
    rates: Vec<Rate>,
    loops: Vec<(Loop, Vec<u64>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loop {
    Threads,
    Transfers,
    Reads,
    Random,
}

impl Loop {
    fn name(self) -> &'static str {
        match self {
            Loop::Threads => "threads",
            Loop::Transfers => "xfersize",
            Loop::Reads => "rdpct",
            Loop::Random => "seekpct",
        }
    }
}

/// Where parameters go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    General,
    Storage,
    Work,
    Run,
}

/// Whether names that are said (`sd1`, `sd*`, `sd1-sd3`) include one.
fn is_meant(said: &str, name: &str) -> bool {
    if let Some(prefix) = said.strip_suffix('*') {
        return name.starts_with(prefix);
    }
    let parts = |text: &str| {
        let digits = text.len() - text.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let (stem, number) = text.split_at(text.len() - digits);
        Some((stem.to_owned(), number.parse::<u64>().ok()?))
    };
    if let Some((first, last)) = said.split_once('-')
        && let (Some((stem, first)), Some((last_stem, last)), Some((own, number))) =
            (parts(first), parts(last), parts(name))
    {
        return stem == last_stem && own == stem && (first..=last).contains(&number);
    }
    said == name
}

/// Reads a file.
struct Reader<'a> {
    file: &'a str,
    storage: Vec<Storage>,
    works: Vec<Work>,
    runs: Vec<RunDefinition>,
    /// What each definition begins with.
    usual: (Storage, Work),
    usual_run: RunDefinition,
    section: Section,
    /// The definition at hand is that of all further ones.
    is_default: bool,
}

impl Script {
    /// What its storage definitions name, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.storage.iter().map(|one| one.path.as_str())
    }

    /// Reads a parameter file called `file`; what `settings` say holds for all runs.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(file: &str, text: &str, settings: &Settings) -> Result<Script, Wrong> {
        let wrong = |line: usize, reason: String| Wrong { file: file.to_owned(), line, reason };
        let found = parameters(text).map_err(|(line, reason)| wrong(line, reason))?;
        let mut reader = Reader::new(file);
        for parameter in &found {
            reader.take(parameter).map_err(|reason| wrong(parameter.line, reason))?;
        }
        let last = found.last().map_or(1, |parameter| parameter.line);
        reader.runs(settings).map_err(|reason| wrong(last, reason))
    }
}

fn is_key(key: &str, full: &[&str]) -> bool {
    // As the tool has it: the beginning of a keyword is the keyword.
    key.len() > 1 && full.iter().any(|full| full.starts_with(key))
}

impl Reader<'_> {
    fn new(file: &str) -> Reader<'_> {
        let storage = Storage {
            name: String::new(),
            path: String::new(),
            bytes: None,
            threads: 8,
            offset: 0,
            direct: false,
            sync: false,
        };
        let work = Work {
            name: String::new(),
            storage: Vec::new(),
            read_percent: 100,
            transfers: Transfers::Fixed(4096),
            random_percent: 100,
            ends_at_end: false,
            skew: None,
            range: (0, 100),
        };
        let run = Run {
            name: String::new(),
            works: Vec::new(),
            rate: Rate::Max,
            elapsed_s: 30,
            interval_s: 1,
            warmup_s: 0,
            pause_s: 0,
            poisson: true,
            threads: None,
            loops: String::new(),
        };
        let usual_run = RunDefinition { run, works: Vec::new(), rates: vec![Rate::Max], loops: Vec::new() };
        Reader {
            file,
            storage: Vec::new(),
            works: Vec::new(),
            runs: Vec::new(),
            usual: (storage, work),
            usual_run,
            section: Section::General,
            is_default: false,
        }
    }

    fn take(&mut self, parameter: &Parameter) -> Result<(), String> {
        let name = parameter.values[0].clone();
        // In a definition of another kind, the same word says which it uses.
        match (parameter.key.as_str(), self.section) {
            ("sd", Section::General | Section::Storage) => {
                self.begin(Section::Storage, &name);
                if !self.is_default {
                    self.storage.push(Storage { name, ..self.usual.0.clone() });
                }
                Ok(())
            }
            ("wd", Section::General | Section::Storage | Section::Work) => {
                self.begin(Section::Work, &name);
                if !self.is_default {
                    self.works.push(Work { name, ..self.usual.1.clone() });
                }
                Ok(())
            }
            ("rd", _) => {
                self.begin(Section::Run, &name);
                if !self.is_default {
                    let usual = &self.usual_run;
                    self.runs.push(RunDefinition {
                        run: Run { name, ..usual.run.clone() },
                        works: usual.works.clone(),
                        rates: usual.rates.clone(),
                        loops: usual.loops.clone(),
                    });
                }
                Ok(())
            }
            ("fsd" | "fwd", _) => {
                Err("file systems (FSD, FWD) are not supported; use `plumb run` or `plumb as filebench`".to_owned())
            }
            ("hd" | "rg", _) => {
                Err("hosts and replays are not supported; use `mpirun` or `plumb trace replay`".to_owned())
            }
            (_, Section::General) => self.general(parameter),
            (_, Section::Storage) => self.of_storage(parameter),
            (_, Section::Work) => self.of_work(parameter),
            (_, Section::Run) => self.of_run(parameter),
        }
    }

    fn begin(&mut self, section: Section, name: &str) {
        self.section = section;
        self.is_default = name.eq_ignore_ascii_case("default");
    }

    fn general(&mut self, parameter: &Parameter) -> Result<(), String> {
        match parameter.key.as_str() {
            // They change what is printed, not what is measured.
            "messagescan" | "report" | "histogram" => Ok(()),
            "startcmd" | "endcmd" => Err(format!("`{}` is not supported; run the command yourself", parameter.key)),
            key => Err(format!("`{key}` is not supported here; remove it")),
        }
    }

    fn of_storage(&mut self, parameter: &Parameter) -> Result<(), String> {
        let storage = match (self.is_default, self.storage.last_mut()) {
            (false, Some(storage)) => storage,
            _ => &mut self.usual.0,
        };
        let value = &parameter.values[0];
        match parameter.key.as_str() {
            key if is_key(key, &["lun"]) => storage.path = value.clone(),
            key if is_key(key, &["size"]) => storage.bytes = Some(at_least_one(parameter, size(value))?),
            key if is_key(key, &["threads"]) => storage.threads = threads(parameter, value)?,
            key if is_key(key, &["offset"]) => {
                storage.offset = size(value).ok_or_else(|| format!("`{value}` is no offset"))?;
            }
            key if is_key(key, &["openflags"]) => {
                for flag in &parameter.values {
                    match flag.to_ascii_lowercase().as_str() {
                        "o_direct" | "directio" => storage.direct = true,
                        "o_sync" | "o_dsync" | "o_rsync" => storage.sync = true,
                        other => return Err(format!("open flag `{other}` is not supported")),
                    }
                }
            }
            key => return Err(format!("`{key}` of a storage definition is not supported; remove it")),
        }
        Ok(())
    }

    fn of_work(&mut self, parameter: &Parameter) -> Result<(), String> {
        let work = match (self.is_default, self.works.last_mut()) {
            (false, Some(work)) => work,
            _ => &mut self.usual.1,
        };
        let value = &parameter.values[0];
        match parameter.key.as_str() {
            "sd" => work.storage = parameter.values.clone(),
            key if is_key(key, &["rdpct", "readpct"]) => work.read_percent = percent(value)?,
            key if is_key(key, &["wrpct", "writepct"]) => work.read_percent = 100 - percent(value)?,
            key if is_key(key, &["xfersize"]) => work.transfers = transfers(parameter)?,
            key if is_key(key, &["seekpct"]) => {
                (work.random_percent, work.ends_at_end) = match value.to_ascii_lowercase().as_str() {
                    "eof" => (0, true),
                    word if "sequential".starts_with(word) => (0, false),
                    word if "random".starts_with(word) => (100, false),
                    _ => (percent(value)?, false),
                };
            }
            key if is_key(key, &["skew"]) => {
                let skew = value.parse::<f64>().ok().filter(|skew| *skew > 0.0 && *skew <= 100.0);
                work.skew =
                    Some(skew.ok_or_else(|| format!("a skew of `{value}`: a number above 0, at most 100, expected"))?);
            }
            key if is_key(key, &["range"]) => {
                let ends: Option<Vec<u64>> = parameter.values.iter().map(|value| value.parse().ok()).collect();
                work.range = match ends.as_deref() {
                    Some(&[from, to]) if from < to && to <= 100 => (from, to),
                    _ => return Err("a range must be (FROM,TO), per cent of the storage".to_owned()),
                };
            }
            key => return Err(format!("`{key}` of a workload definition is not supported; remove it")),
        }
        Ok(())
    }

    fn of_run(&mut self, parameter: &Parameter) -> Result<(), String> {
        let definition = match (self.is_default, self.runs.last_mut()) {
            (false, Some(run)) => run,
            _ => &mut self.usual_run,
        };
        let value = &parameter.values[0];
        let run = &mut definition.run;
        let seconds = || value.parse::<u64>().ok().filter(|seconds| *seconds <= u64::from(u32::MAX));
        let seconds = || seconds().ok_or_else(|| format!("`{value}` is no number of seconds"));
        let list = |read| {
            let found = numbers(&parameter.values, read);
            found.ok_or_else(|| format!("the numbers of `{}` cannot be read", parameter.key))
        };
        match parameter.key.as_str() {
            "wd" => definition.works = parameter.values.clone(),
            key if is_key(key, &["iorate"]) => {
                definition.rates = match value.to_ascii_lowercase().as_str() {
                    "max" => vec![Rate::Max],
                    "curve" => curve(&CURVE),
                    _ => list(size)?.into_iter().map(Rate::PerSecond).collect(),
                };
                if definition.rates.contains(&Rate::PerSecond(0)) {
                    return Err("a rate is 0; use at least 1".to_owned());
                }
            }
            key if is_key(key, &["curve"]) => {
                let points = list(|text| text.parse().ok())?;
                if points.iter().any(|point| !(1..=100).contains(point)) {
                    return Err("a point of a curve is no per cent from 1 to 100".to_owned());
                }
                definition.rates = curve(&points);
            }
            key if is_key(key, &["elapsed"]) => run.elapsed_s = seconds()?.max(1),
            key if is_key(key, &["interval"]) => run.interval_s = seconds()?.max(1),
            key if is_key(key, &["warmup"]) => run.warmup_s = seconds()?,
            key if is_key(key, &["pause"]) => run.pause_s = seconds()?,
            key if is_key(key, &["distribution"]) => {
                run.poisson = match value.to_ascii_lowercase() {
                    word if "exponential".starts_with(&word) => true,
                    word if "deterministic".starts_with(&word) => false,
                    word => {
                        return Err(format!(
                            "distribution `{word}` is not supported; use exponential or deterministic"
                        ));
                    }
                };
            }
            key if key.starts_with("for") || key == "threads" => {
                let (what, read): (Loop, fn(&str) -> Option<u64>) = match key.trim_start_matches("for") {
                    key if is_key(key, &["threads"]) => (Loop::Threads, size),
                    key if is_key(key, &["xfersizes"]) => (Loop::Transfers, size),
                    key if is_key(key, &["rdpct", "readpct"]) => (Loop::Reads, |text| text.parse().ok()),
                    key if is_key(key, &["seekpct"]) => (Loop::Random, |text| text.parse().ok()),
                    _ => {
                        return Err(format!(
                            "`{key}` is not supported; use forthreads, forxfersize, forrdpct or forseekpct"
                        ));
                    }
                };
                let values = list(read)?;
                let (least, most) = match what {
                    Loop::Threads => (1, THREADS_MAX),
                    Loop::Transfers => (1, 1 << 30),
                    Loop::Reads | Loop::Random => (0, 100),
                };
                if values.iter().any(|value| !(least..=most).contains(value)) {
                    return Err(format!("a value of `{key}` is not from {least} to {most}"));
                }
                definition.loops.retain(|(known, _)| *known != what);
                definition.loops.push((what, values));
            }
            key => return Err(format!("`{key}` of a run definition is not supported; remove it")),
        }
        Ok(())
    }

    /// All runs, with what they use.
    fn runs(self, settings: &Settings) -> Result<Script, String> {
        let Reader { file, storage, works, runs: definitions, .. } = self;
        if storage.is_empty() || works.is_empty() || definitions.is_empty() {
            return Err(format!("{file} must have an `sd=`, a `wd=` and an `rd=`"));
        }
        if let Some(unnamed) = storage.iter().find(|one| one.path.is_empty()) {
            return Err(format!("sd={} lacks its `lun=`", unnamed.name));
        }
        let mut runs = Vec::new();
        for definition in &definitions {
            let is_used = |work: &&Work| definition.works.iter().any(|said| is_meant(said, &work.name));
            let mut used: Vec<Work> = works.iter().filter(is_used).cloned().collect();
            if used.is_empty() {
                return Err(format!("rd={}: it uses no workload definition", definition.run.name));
            }
            for work in &mut used {
                let is_used = |one: &&Storage| work.storage.iter().any(|said| is_meant(said, &one.name));
                let names: Vec<String> = storage.iter().filter(is_used).map(|one| one.name.clone()).collect();
                if names.is_empty() {
                    return Err(format!("wd={}: it uses no storage definition", work.name));
                }
                work.storage = names;
            }
            share(&mut used).map_err(|reason| format!("rd={}: {reason}", definition.run.name))?;
            let mut combinations: Vec<Vec<(Loop, u64)>> = vec![Vec::new()];
            for (what, values) in &definition.loops {
                let with = |before: &Vec<(Loop, u64)>, value: u64| [before.as_slice(), &[(*what, value)]].concat();
                combinations = combinations
                    .iter()
                    .flat_map(|before| values.iter().map(move |value| with(before, *value)))
                    .collect();
                if combinations.len() > RUNS_MAX {
                    return Err(format!("rd={}: more than {RUNS_MAX} runs", definition.run.name));
                }
            }
            for combination in &combinations {
                for rate in &definition.rates {
                    runs.push(one_run(definition, &used, combination, *rate, settings));
                }
            }
            if runs.len() > RUNS_MAX {
                return Err(format!("more than {RUNS_MAX} runs"));
            }
        }
        Ok(Script { storage, runs })
    }
}

fn one_run(definition: &RunDefinition, used: &[Work], loops: &[(Loop, u64)], rate: Rate, settings: &Settings) -> Run {
    let mut run = Run { rate, works: used.to_vec(), ..definition.run.clone() };
    run.elapsed_s = settings.elapsed_s.unwrap_or(run.elapsed_s);
    run.interval_s = settings.interval_s.unwrap_or(run.interval_s);
    run.warmup_s = settings.warmup_s.unwrap_or(run.warmup_s);
    let mut told = Vec::new();
    for &(what, value) in loops {
        match what {
            Loop::Threads => run.threads = Some(value),
            Loop::Transfers => run.works.iter_mut().for_each(|work| work.transfers = Transfers::Fixed(value)),
            Loop::Reads => run.works.iter_mut().for_each(|work| work.read_percent = value as u8),
            Loop::Random => run.works.iter_mut().for_each(|work| work.random_percent = value as u8),
        }
        told.push(match what {
            Loop::Transfers if value % 1024 == 0 => format!("xfersize={}k", value / 1024),
            Loop::Transfers => format!("xfersize={value}"),
            what => format!("{}={value}.0", what.name()),
        });
    }
    run.loops = if told.is_empty() { "None".to_owned() } else { told.join(" ") };
    run
}
