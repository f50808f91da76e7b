//! Converts parameters to definitions, and definitions to runs.

use super::file_systems::{FileStorage, FileWork};
use super::format::Format;
use super::general::{General, Host, on_hosts};
use super::parse::{Parameter, is_key, numbers, parameters, seconds, size};
use super::run_definition::{RunDefinition, is_loop, loop_of};
use super::script::{DataLimit, Rate, Run, Script, curve};
use super::settings::VdbenchSettings;
use super::storage::{Opened, Storage, Transfers, Work};
use super::usage_error::{Reason, VdbenchUsageError};
use super::values::{
    at_least_one, check_limits, count_of, divided, open_flags, percent, range, skew, threads, transfers,
};

/// Default points of a curve, in percent of the largest rate.
const CURVE: [u64; 6] = [10, 50, 70, 80, 90, 100];

/// The section to which parameters belong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    General,
    Host,
    Storage,
    Work,
    FileSystem,
    FileWork,
    Run,
}

/// Reads the parameters of a file.
pub(super) struct Reader {
    pub(super) storage: Vec<Storage>,
    pub(super) works: Vec<Work>,
    pub(super) file_systems: Vec<FileStorage>,
    pub(super) file_works: Vec<FileWork>,
    pub(super) runs: Vec<RunDefinition>,
    pub(super) general: General,
    pub(super) hosts: Vec<Host>,
    pub(super) notes: Vec<String>,
    /// Defaults of storage and work definitions.
    usual: (Storage, Work),
    usual_files: (FileStorage, FileWork),
    usual_run: RunDefinition,
    section: Section,
    /// Whether the current definition sets the defaults of later ones.
    is_default: bool,
}

impl Script {
    /// Parses a parameter file. Errors call it `file`. `settings` apply to all runs.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn parse(file: &str, text: &str, settings: &VdbenchSettings) -> Result<Script, VdbenchUsageError> {
        let read = || {
            let found = parameters(text)?;
            let mut reader = Reader::new();
            for parameter in &found {
                reader.take(parameter).map_err(|reason| (parameter.line, reason))?;
            }
            reader.notes.iter_mut().for_each(|note| *note = format!("{file}:{note}"));
            reader.runs(found.last().map_or(1, |parameter| parameter.line), settings)
        };
        read().map_err(|(line, reason)| VdbenchUsageError { file: file.to_owned(), line, reason })
    }
}

impl Reader {
    fn new() -> Reader {
        let storage = Storage {
            name: String::new(),
            line: 0,
            path: String::new(),
            bytes: None,
            threads: 8,
            offset: 0,
            align: None,
            hit_area: 1 << 20,
            range: (0, 100),
            opened: Opened::default(),
            counted: None,
        };
        let work = Work {
            name: String::new(),
            line: 0,
            storage: Vec::new(),
            read_percent: 100,
            transfers: Transfers::Fixed(4096),
            random_percent: 100,
            ends_at_end: false,
            skew: None,
            range: None,
            stride: None,
            hits: (0, 0),
            rate: None,
            threads: None,
            opened: None,
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
            format: None,
            data: DataLimit::default(),
            loops: String::new(),
        };
        let usual_run = RunDefinition {
            run,
            line: 0,
            works: Vec::new(),
            file_works: Vec::new(),
            storage: Vec::new(),
            rates: vec![Rate::Max],
            loops: Vec::new(),
        };
        Reader {
            storage: Vec::new(),
            works: Vec::new(),
            file_systems: Vec::new(),
            file_works: Vec::new(),
            runs: Vec::new(),
            general: General::default(),
            hosts: Vec::new(),
            notes: Vec::new(),
            usual: (storage, work),
            usual_files: Default::default(),
            usual_run,
            section: Section::General,
            is_default: false,
        }
    }

    fn take(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let (name, line) = (parameter.values[0].clone(), parameter.line);
        // In a definition of another kind, the same keyword names a definition to use.
        match (parameter.key.as_str(), self.section) {
            ("sd", Section::General | Section::Host | Section::Storage) => {
                self.begin(Section::Storage, &name);
                if !self.is_default {
                    self.storage.push(Storage { name, line, ..self.usual.0.clone() });
                }
                Ok(())
            }
            ("wd", Section::General | Section::Host | Section::Storage | Section::Work) => {
                self.begin(Section::Work, &name);
                if !self.is_default {
                    self.works.push(Work { name, line, ..self.usual.1.clone() });
                }
                Ok(())
            }
            ("rd", _) => {
                self.begin(Section::Run, &name);
                if !self.is_default {
                    let usual = &self.usual_run;
                    self.runs.push(RunDefinition {
                        run: Run { name, ..usual.run.clone() },
                        line,
                        works: usual.works.clone(),
                        file_works: usual.file_works.clone(),
                        storage: usual.storage.clone(),
                        rates: usual.rates.clone(),
                        loops: usual.loops.clone(),
                    });
                }
                Ok(())
            }
            ("fsd", Section::General | Section::Host | Section::FileSystem) => {
                self.begin(Section::FileSystem, &name);
                if !self.is_default {
                    self.file_systems.push(FileStorage { name, line, ..self.usual_files.0.clone() });
                }
                Ok(())
            }
            ("fwd", Section::General | Section::Host | Section::FileSystem | Section::FileWork) => {
                self.begin(Section::FileWork, &name);
                if !self.is_default {
                    let work = FileWork { name, line, ..self.usual_files.1.clone() };
                    self.file_works.push(work.for_format());
                }
                Ok(())
            }
            ("hd" | "host", Section::General | Section::Host) => {
                self.begin(Section::Host, &name);
                if !self.is_default {
                    self.hosts.push(Host::new(&name, line));
                }
                Ok(())
            }
            ("rg", _) => {
                let way_out = "use `plumb trace replay` for replays";
                Err(Reason::General { key: parameter.key.clone(), way_out })
            }
            (_, Section::General) => {
                let note = self.general.set(parameter)?;
                self.notes.extend(note.map(|note| format!("{line}: {note}")));
                Ok(())
            }
            (_, Section::Host) => self.read_host(parameter),
            (_, Section::Storage) => self.read_storage(parameter),
            (_, Section::Work) => self.read_work(parameter),
            (_, Section::FileSystem) => match (self.is_default, self.file_systems.last_mut()) {
                (false, Some(one)) => one.set(parameter),
                _ => self.usual_files.0.set(parameter),
            },
            (_, Section::FileWork) => match (self.is_default, self.file_works.last_mut()) {
                (false, Some(work)) => work.set(parameter, &self.hosts),
                _ => self.usual_files.1.set(parameter, &self.hosts),
            },
            (_, Section::Run) => self.read_run(parameter),
        }
    }

    fn read_host(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        match (self.is_default, self.hosts.last_mut()) {
            (false, Some(host)) => host.set(parameter),
            _ => Host::new("default", parameter.line).set(parameter),
        }
    }

    fn begin(&mut self, section: Section, name: &str) {
        self.section = section;
        self.is_default = name.eq_ignore_ascii_case("default");
    }

    fn read_storage(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let storage = match (self.is_default, self.storage.last_mut()) {
            (false, Some(storage)) => storage,
            _ => &mut self.usual.0,
        };
        let value = &parameter.values[0];
        match parameter.key.as_str() {
            key if is_key(key, &["lun"]) => storage.path = value.clone(),
            key if is_key(key, &["size"]) => storage.bytes = Some(at_least_one(parameter, divided(parameter))?),
            key if is_key(key, &["count"]) => storage.counted = Some(count_of(parameter)?),
            key if is_key(key, &["host"]) || key == "hd" => on_hosts(parameter, &self.hosts)?,
            // Names of Solaris counters, and of data validation, which is rejected where a run requests it.
            key if is_key(key, &["kstat", "instance", "journal"]) => {}
            key if is_key(key, &["threads"]) => storage.threads = threads(parameter)?,
            key if is_key(key, &["offset"]) => {
                storage.offset = size(value).ok_or_else(|| parameter.value("a size such as 1m"))?;
            }
            key if is_key(key, &["align"]) => {
                let bytes = size(value).filter(|bytes| bytes % 512 == 0);
                let bytes =
                    check_limits(parameter, bytes.ok_or_else(|| parameter.value("a multiple of 512"))?, (0, 1 << 30))?;
                storage.align = (bytes > 0).then_some(bytes);
            }
            key if is_key(key, &["hitarea"]) => storage.hit_area = at_least_one(parameter, size(value))?,
            key if is_key(key, &["range"]) => storage.range = range(parameter)?,
            key if is_key(key, &["openflags"]) => storage.opened = open_flags(parameter)?,
            key => {
                let way_out = match key {
                    "streams" => "use a workload definition with a `range=` for each",
                    "fsd" | "fwd" => "use a file for storage and one for file systems",
                    "replay" => "use `plumb trace replay`",
                    "resetlun" | "resetbus" => "resets are not supported: reset the device yourself",
                    key if key.starts_with("dedup") || key == "compratio" => "use `plumb run` with `content`",
                    _ => "vdbench has no such parameter: check its spelling",
                };
                return Err(Reason::Key { key: key.to_owned(), definition: "storage definition", way_out });
            }
        }
        Ok(())
    }

    fn read_work(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let work = match (self.is_default, self.works.last_mut()) {
            (false, Some(work)) => work,
            _ => &mut self.usual.1,
        };
        let value = &parameter.values[0];
        match parameter.key.as_str() {
            "sd" => work.storage = parameter.values.clone(),
            key if is_key(key, &["rdpct", "readpct"]) => work.read_percent = percent(parameter, value)?,
            key if is_key(key, &["wrpct", "writepct"]) => work.read_percent = 100 - percent(parameter, value)?,
            key if is_key(key, &["rhpct"]) => work.hits.0 = percent(parameter, value)?,
            key if is_key(key, &["whpct"]) => work.hits.1 = percent(parameter, value)?,
            key if is_key(key, &["xfersize"]) => work.transfers = transfers(parameter)?,
            key if is_key(key, &["seekpct"]) => {
                (work.random_percent, work.ends_at_end) = match value.to_ascii_lowercase().as_str() {
                    "eof" => (0, true),
                    word if word.starts_with("po") && "poisson".starts_with(word) => {
                        return Err(Reason::not_supported(
                            key,
                            value,
                            "use `plumb run` with a pattern, or seekpct=random",
                        ));
                    }
                    word if "sequential".starts_with(word) => (0, false),
                    word if "random".starts_with(word) => (100, false),
                    _ => (percent(parameter, value)?, false),
                };
            }
            key if is_key(key, &["skew"]) => work.skew = skew(parameter)?,
            key if is_key(key, &["host"]) || key == "hd" => on_hosts(parameter, &self.hosts)?,
            key if is_key(key, &["range"]) => work.range = Some(range(parameter)?),
            key if is_key(key, &["stride"]) => {
                let ends: Option<Vec<u64>> = parameter.values.iter().map(|value| size(value)).collect();
                work.stride = match ends.as_deref() {
                    Some(&[least, most]) if least == most && least <= 1 << 40 => Some(least),
                    Some(&[least, most]) if least < most => {
                        let way_out = "use the same size twice, such as stride=(1m,1m)";
                        return Err(Reason::not_supported(key, &parameter.joined_values(), way_out));
                    }
                    _ => return Err(parameter.value("(MIN,MAX), two sizes up to 1t,")),
                };
            }
            key if is_key(key, &["iorate"]) => {
                let rate = size(value).ok_or_else(|| parameter.value("I/Os per second"))?;
                work.rate = Some(check_limits(parameter, rate, (0, 1 << 32))?).filter(|rate| *rate > 0);
            }
            key if is_key(key, &["threads"]) => work.threads = Some(threads(parameter)?),
            key if is_key(key, &["openflags"]) => work.opened = Some(open_flags(parameter)?),
            key => {
                let way_out = match key {
                    "priority" => "use `iorate=` of the definition, or `skew=`",
                    "hotband" => "use `rhpct=` and `whpct=` with the storage's `hitarea=`",
                    "streams" => "use a workload definition with a `range=` for each",
                    _ => "vdbench has no such parameter: check its spelling",
                };
                return Err(Reason::Key { key: key.to_owned(), definition: "workload definition", way_out });
            }
        }
        Ok(())
    }

    fn read_run(&mut self, parameter: &Parameter) -> Result<(), Reason> {
        let definition = match (self.is_default, self.runs.last_mut()) {
            (false, Some(run)) => run,
            _ => &mut self.usual_run,
        };
        let value = &parameter.values[0];
        let run = &mut definition.run;
        let seconds = || seconds(value).ok_or_else(|| parameter.value("a time such as 90, 30m or 2h"));
        // Values up to 100 are multiples and may have a fraction.
        let number = || value.parse::<f64>().ok().or_else(|| size(value).map(|bytes| bytes as f64));
        let bytes = || number().filter(|bytes| bytes.is_finite() && *bytes > 0.0);
        let data = || bytes().map(Some).ok_or_else(|| parameter.value("bytes such as 10g, or times the storage"));
        let list = |read| {
            let expected = "numbers such as (1,2,4), (10-100,10) or (1-64,d)";
            numbers(&parameter.values, read).ok_or_else(|| parameter.value(expected))
        };
        match parameter.key.as_str() {
            "wd" => definition.works = parameter.values.clone(),
            "fwd" => definition.file_works = parameter.values.clone(),
            "sd" | "fsd" => definition.storage = parameter.values.clone(),
            "maxdata" => run.data.all = data()?,
            "maxdataread" => run.data.read = data()?,
            "maxdatawritten" => run.data.written = data()?,
            key if is_key(key, &["format"]) => run.format = Format::read(parameter)?,
            key if is_key(key, &["iorate", "fwdrate"]) => {
                definition.rates = match value.to_ascii_lowercase().as_str() {
                    "max" => vec![Rate::Max],
                    "curve" => curve(&CURVE),
                    _ => list(size)?.into_iter().map(Rate::PerSecond).collect(),
                };
                if definition.rates.contains(&Rate::PerSecond(0)) {
                    return Err(parameter.value("max, curve, or rates of at least 1"));
                }
            }
            key if is_key(key, &["curve"]) => {
                let points = list(size)?;
                if points.iter().any(|point| !(1..=100).contains(point)) {
                    return Err(parameter.value("percentages from 1 to 100"));
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
                    _ => return Err(Reason::not_supported(key, value, "use exponential or deterministic")),
                };
            }
            key if key.starts_with("for") || is_loop(key) => {
                let (what, read) = loop_of(parameter)?;
                let values = list(read)?;
                for value in &values {
                    check_limits(parameter, *value, what.limits())?;
                }
                definition.loops.retain(|(known, _)| *known != what);
                definition.loops.push((what, values));
            }
            key => {
                let way_out = match key {
                    "startcmd" | "start_cmd" | "endcmd" | "end_cmd" => "run the command yourself",
                    "openflags" => "say it in the definitions of storage or file systems",
                    "replay" => "use `plumb trace replay`",
                    "stopcurve" => "give the points of the curve by `curve=`",
                    "mount" => "mount the file system yourself",
                    _ => "vdbench has no such parameter: check its spelling",
                };
                return Err(Reason::Key { key: key.to_owned(), definition: "run definition", way_out });
            }
        }
        Ok(())
    }
}
