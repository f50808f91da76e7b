//! From parameters to definitions, and from these to runs.

use super::file_systems::{FileStorage, FileWork};
use super::parse::{Parameter, Wrong, numbers, parameters, size};
use super::runs::{RunDefinition, loop_of};
use super::settings::Settings;
use super::values::{at_least_one, curve, percent, threads, transfers};

/// Points of a curve, in per cent of the largest rate, where none are said.
const CURVE: [u64; 6] = [10, 50, 70, 80, 90, 100];

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
    pub(super) file_works: Vec<FileWork>,
    /// The file systems that these use.
    pub(super) file_systems: Vec<FileStorage>,
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

/// Where parameters go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    General,
    Storage,
    Work,
    FileSystem,
    FileWork,
    Run,
}

/// Reads a file.
pub(super) struct Reader<'a> {
    pub(super) file: &'a str,
    pub(super) storage: Vec<Storage>,
    pub(super) works: Vec<Work>,
    pub(super) file_systems: Vec<FileStorage>,
    pub(super) file_works: Vec<FileWork>,
    pub(super) runs: Vec<RunDefinition>,
    /// What each definition begins with.
    usual: (Storage, Work),
    usual_files: (FileStorage, FileWork),
    usual_run: RunDefinition,
    section: Section,
    /// The definition at hand is that of all further ones.
    is_default: bool,
}

impl Run {
    /// Whether gaps between operations are exponential.
    pub(super) fn is_poisson(&self) -> bool {
        self.poisson
    }

    /// Whether it works on files of file systems.
    pub fn has_files(&self) -> bool {
        !self.file_works.is_empty()
    }

    /// The directories that its files lie in, in the order of its file systems.
    pub fn anchors(&self) -> impl Iterator<Item = &str> {
        self.file_systems.iter().map(|one| one.anchor.as_str())
    }
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

/// Files are made for each run, so that most of what `format` may say asks for nothing more.
fn format(parameter: &Parameter) -> Result<(), String> {
    let known = ["yes", "no", "restart", "complete"];
    match parameter.values.iter().find(|value| !known.contains(&value.to_ascii_lowercase().as_str())) {
        Some(value) => Err(format!("`format={value}` is not supported; files are made for each run: use yes or no")),
        None => Ok(()),
    }
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
            file_works: Vec::new(),
            file_systems: Vec::new(),
            rate: Rate::Max,
            elapsed_s: 30,
            interval_s: 1,
            warmup_s: 0,
            pause_s: 0,
            poisson: true,
            threads: None,
            loops: String::new(),
        };
        let usual_run =
            RunDefinition { run, works: Vec::new(), file_works: Vec::new(), rates: vec![Rate::Max], loops: Vec::new() };
        Reader {
            file,
            storage: Vec::new(),
            works: Vec::new(),
            file_systems: Vec::new(),
            file_works: Vec::new(),
            runs: Vec::new(),
            usual: (storage, work),
            usual_files: Default::default(),
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
                        file_works: usual.file_works.clone(),
                        rates: usual.rates.clone(),
                        loops: usual.loops.clone(),
                    });
                }
                Ok(())
            }
            ("fsd", Section::General | Section::FileSystem) => {
                self.begin(Section::FileSystem, &name);
                if !self.is_default {
                    self.file_systems.push(FileStorage { name, ..self.usual_files.0.clone() });
                }
                Ok(())
            }
            ("fwd", Section::General | Section::FileSystem | Section::FileWork) => {
                self.begin(Section::FileWork, &name);
                if !self.is_default {
                    self.file_works.push(FileWork { name, ..self.usual_files.1.clone() });
                }
                Ok(())
            }
            ("hd" | "rg", _) => {
                Err("hosts and replays are not supported; use `mpirun` or `plumb trace replay`".to_owned())
            }
            (_, Section::General) => self.general(parameter),
            (_, Section::Storage) => self.of_storage(parameter),
            (_, Section::Work) => self.of_work(parameter),
            (_, Section::FileSystem) => match (self.is_default, self.file_systems.last_mut()) {
                (false, Some(one)) => one.set(parameter),
                _ => self.usual_files.0.set(parameter),
            },
            (_, Section::FileWork) => match (self.is_default, self.file_works.last_mut()) {
                (false, Some(work)) => work.set(parameter),
                _ => self.usual_files.1.set(parameter),
            },
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
            "fwd" => definition.file_works = parameter.values.clone(),
            key if is_key(key, &["format"]) => format(parameter)?,
            key if is_key(key, &["iorate", "fwdrate"]) => {
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
            key if (key.starts_with("for") && !is_key(key, &["format"]))
                || key == "threads"
                || is_key(key, &["operations"]) =>
            {
                let (what, read) = loop_of(parameter)?;
                let values = list(read)?;
                let (least, most) = what.limits();
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
}
