//! Turns a configuration into phases, each with the arguments of the tool that runs it.

use super::error::{ConfigError, Io500Error};
use super::find::Find;
use super::hash::seed;
use super::ini::Config;
use super::phase::Phase;
use crate::aiori::Launched;
use crate::{ior, md_workbench, mdtest};

/// Size of the files of mdtest's hard phases, for which the find phases search. Source: IO500 isc26.
const HARD_FILE_BYTES: u64 = 3901;

/// Number of data sets per rank in md-workbench's phases. Source: IO500 isc26.
const WORKBENCH_SETS: u64 = 10;
/// Time for creating the data sets at the rate of mdtest's easy phase, s. Source: IO500 isc26.
const WORKBENCH_S: u64 = 60;
/// Rate to assume if that phase did not run, thousands per second. Source: IO500 isc26.
const WORKBENCH_KIOPS: f64 = 10.0;

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Ior(Box<ior::Test>),
    Mdtest(Box<mdtest::MdtestSettings>),
    Workbench(Box<md_workbench::MdWorkbenchSettings>),
    /// Creation of the timestamp file.
    Timestamp,
    Find(Find),
}

/// A phase that is ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub phase: Phase,
    /// The tool's arguments; empty for a phase without a tool.
    pub words: Vec<String>,
    pub work: Work,
    /// Whether the configuration skips the phase.
    pub is_left_out: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub config: Config,
    /// Directory of the test data.
    pub data: String,
    pub results: String,
    /// The phases, in order.
    pub tasks: Vec<Task>,
    pub ranks: u32,
    /// Whether the phases are only printed.
    pub is_dry: bool,
    /// Whether the extended mode is used.
    pub is_extended: bool,
}

/// Facts that a configuration does not contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances<'a> {
    /// Time of the run, used as a name.
    pub(super) stamp: &'a str,
    /// Number of ranks, as threads.
    pub(super) ranks: u32,
    /// Ranks as processes; `None` without a launcher.
    pub(super) launched: Option<&'a Launched>,
    /// Whether the phases are only printed.
    pub(super) is_dry: bool,
    /// Whether the extended mode is used.
    pub(super) is_extended: bool,
}

impl Task {
    /// Returns the task with `count` files in each data set, and as many to renew. Only tasks of md-workbench change.
    #[must_use]
    pub fn with_files_per_set(mut self, count: u64) -> Task {
        if let Work::Workbench(settings) = &mut self.work {
            (settings.dataset.objects, settings.dataset.renewals) = (count, count);
            for word in &mut self.words {
                if let Some(option) = ["-P=", "-I="].into_iter().find(|option| word.starts_with(option)) {
                    *word = format!("{option}{count}");
                }
            }
        }
        self
    }
}

impl Plan {
    pub(super) fn new(config: Config, circumstances: &Circumstances<'_>) -> Result<Plan, Io500Error> {
        let directory = |key: &str| {
            let path = config.text("global", key).unwrap_or(".").to_owned();
            let is_stamped = config.is_true("global", &format!("timestamp-{key}"));
            if is_stamped { format!("{path}/{}", circumstances.stamp) } else { path }
        };
        let (data, results) = (directory("datadir"), directory("resultdir"));
        directory_rules(&config, &data, &results)?;
        workbench_rules(&config)?;
        let Circumstances { ranks, launched, is_dry, is_extended, .. } = *circumstances;
        let ranks = launched.map_or(ranks, |launched| launched.ranks);
        let mut plan = Plan { config, data, results, tasks: Vec::new(), ranks, is_dry, is_extended };
        let phases = Phase::ALL.iter().copied().filter(|phase| is_extended || !phase.is_extended());
        plan.tasks = phases.map(|phase| plan.task(phase, circumstances)).collect::<Result<_, _>>()?;
        Ok(plan)
    }

    fn task(&self, phase: Phase, circumstances: &Circumstances<'_>) -> Result<Task, Io500Error> {
        let (config, kind) = (&self.config, phase.kind());
        let invalid =
            |message: String| Io500Error::Phase { name: config.name().to_owned(), phase: phase.name(), message };
        let (words, work) = match kind {
            "timestamp" => (Vec::new(), Work::Timestamp),
            kind if kind.starts_with("find") => {
                // Files of the easy phase are empty, and older than the timestamp.
                let conditions = (phase != Phase::FindEasy).then(|| (self.timestamp_file(), HARD_FILE_BYTES));
                let (newer_than, bytes) = conditions.unzip();
                let find = Find {
                    root: match phase {
                        Phase::FindEasy => format!("{}/mdtest-easy", self.data),
                        Phase::FindHard => format!("{}/mdtest-hard", self.data),
                        _ => self.data.clone(),
                    },
                    newer_than,
                    bytes,
                    threads: config.number(kind, "nproc").map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
                };
                (find.words(), Work::Find(find))
            }
            kind if kind.starts_with("ior") => {
                let words = self.ior(phase, circumstances);
                let read = ior::read(&words[1..], circumstances.launched, &mut |path| Err(unnamed(path)));
                let work = match read.map_err(|error| invalid(error.to_string()))? {
                    ior::Invocation::Run(mut tests, _) if !tests.is_empty() => {
                        Work::Ior(Box::new(tests.swap_remove(0)))
                    }
                    _ => return Err(invalid("holds no test".to_owned())),
                };
                (words, work)
            }
            "mdworkbench" => {
                let words = self.workbench(phase, circumstances);
                let read = md_workbench::read(&words[1..], circumstances.launched);
                let work = match read.map_err(|error| invalid(error.to_string()))? {
                    md_workbench::Invocation::Run(settings, _) => Work::Workbench(settings),
                    md_workbench::Invocation::Help => return Err(invalid("holds no run".to_owned())),
                };
                (words, work)
            }
            _ => {
                let words = self.mdtest(phase, circumstances);
                let read = mdtest::read(&words[1..], circumstances.launched);
                let work = match read.map_err(|error| invalid(error.to_string()))? {
                    mdtest::Invocation::Run(settings, _) => Work::Mdtest(settings),
                    mdtest::Invocation::Help => return Err(invalid("holds no run".to_owned())),
                };
                (words, work)
            }
        };
        let runs = |section: &str| config.text(section, "run") != Some("FALSE");
        Ok(Task { phase, words, work, is_left_out: !(runs(kind) && runs(phase.name())) })
    }

    /// Returns the file with whose time the find phase compares.
    pub fn timestamp_file(&self) -> String {
        self.result("timestampfile")
    }

    /// Returns the path of a result file.
    pub fn result(&self, name: &str) -> String {
        format!("{}/{name}", self.results)
    }

    /// Returns the seconds until the stonewall.
    pub fn wall_s(&self) -> u64 {
        self.config.number("debug", "stonewall-time").unwrap_or(0)
    }

    /// Returns the minimum duration of a phase that writes, according to the rules, s.
    pub fn least_s(&self) -> u64 {
        if self.config.is_true("global", "scc") { 30 } else { 300 }
    }

    /// Returns the reasons why no run of this configuration is valid.
    pub fn invalid(&self) -> Vec<String> {
        let (wall, least) = (self.wall_s(), self.least_s());
        let wall = (wall != least).then(|| format!("stonewall-time {wall}s != {least}s"));
        let per_directory = self.files_per_directory().map(|_| "files-per-dir is set".to_owned());
        wall.into_iter().chain(per_directory).collect()
    }

    /// Returns the number of files per data set of md-workbench, unless the configuration states it: a minute's work
    /// at the rate of mdtest's easy phase, in thousands per second.
    pub fn files_per_set(&self, mdtest_kiops: f64) -> Option<u64> {
        let kiops = if mdtest_kiops > 0.0 { mdtest_kiops } else { WORKBENCH_KIOPS };
        let files = kiops * 1e3 * self.wall_s().min(WORKBENCH_S) as f64 / f64::from(self.ranks.max(1));
        let is_said = self.config.number("mdworkbench", "precreatePerSet").is_some();
        (!is_said).then_some((files as u64 / WORKBENCH_SETS).max(1))
    }

    fn files_per_directory(&self) -> Option<u64> {
        self.config.number("mdtest-hard", "files-per-dir").filter(|&count| count > 0)
    }

    fn stonewall(&self, kind: &str) -> String {
        self.result(&format!("{kind}.stonewall"))
    }

    /// Returns the data directories that must exist before the first phase.
    pub fn directories(&self) -> [String; 2] {
        ["ior-easy", "ior-hard"].map(|kind| format!("{}/{kind}", self.data))
    }

    /// Returns files that phases write and no phase removes: data of IOR, and files that a stonewall left.
    pub fn files_left(&self) -> Vec<String> {
        let ran = |phase: Phase| self.tasks.iter().any(|task| task.phase == phase && !task.is_left_out);
        let mut left = Vec::new();
        for phase in Phase::ALL.iter().copied().filter(|&phase| phase.writes() && ran(phase)) {
            left.push(self.stonewall(phase.kind()));
            let easy = format!("{}/ior-easy/ior_file_easy", self.data);
            match phase {
                Phase::IorEasyWrite if self.config.is_true("ior-easy", "filePerProc") => {
                    left.extend((0..self.ranks).map(|rank| format!("{easy}.{rank:08}")));
                }
                Phase::IorEasyWrite => left.push(easy),
                Phase::IorHardWrite => left.push(format!("{}/ior-hard/file", self.data)),
                _ => {}
            }
        }
        left
    }

    /// Returns data directories that no phase removes, the innermost first.
    pub fn directories_left(&self) -> Vec<String> {
        let kinds = ["ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard", "mdworkbench"];
        kinds.into_iter().map(|kind| format!("{}/{kind}", self.data)).chain([self.data.clone()]).collect()
    }

    fn words(&self, tool: &str) -> Vec<String> {
        let packets = self.config.text("global", "dataPacketType").unwrap_or("timestamp");
        vec![tool.to_owned(), format!("--dataPacketType={packets}")]
    }

    /// Returns the back end and its options.
    fn api<'a>(&'a self, phase: Phase) -> impl Iterator<Item = String> + 'a {
        let of = |section: &str| self.config.text(section, "API");
        let api = of(phase.name()).or(of(phase.kind())).or(self.config.text("global", "api")).unwrap_or("POSIX");
        std::iter::once("-a".to_owned()).chain(api.split_whitespace().map(str::to_owned))
    }

    /// Returns the last arguments: the file for the times of each rank, the back end, and ranks as threads.
    fn ending(&self, phase: Phase, csv: &str, circumstances: &Circumstances<'_>) -> Vec<String> {
        let csv = format!("{csv}={}", self.result(&format!("{}.csv", phase.name())));
        std::iter::once(csv).chain(self.api(phase)).chain(threads(circumstances)).collect()
    }

    fn ior(&self, phase: Phase, circumstances: &Circumstances<'_>) -> Vec<String> {
        let kind = phase.kind();
        let text = |key: &str| self.config.text(kind, key).unwrap_or_default();
        let is_easy = kind == "ior-easy";
        let is_random = phase == Phase::IorRandomRead;
        let own_files = is_easy && self.config.is_true(kind, "filePerProc");
        let wall = format!("-D {} -O stoneWallingWearOut=1", self.wall_s());
        let mut words = self.words("ior");
        words.extend(split(&format!("-g -G {} -k -e -o", seed(kind, circumstances.stamp))));
        words.push(format!("{}/{kind}/{}", self.data, if is_easy { "ior_file_easy" } else { "file" }));
        words.extend(split(&match (is_easy, is_random) {
            (true, false) => format!("-t {} -b {}", text("transferSize"), text("blockSize")),
            (true, true) => "-t=4096 -b=4096 -s=10000000 -z -z".to_owned(),
            (false, _) => format!("-t 47008 -b 47008 -s {}", text("segmentCount")),
        }));
        words.extend(own_files.then(|| "-F".to_owned()));
        let collective = self.config.text(phase.name(), "collective").or(self.config.text(kind, "collective"));
        words.extend((collective == Some("TRUE")).then(|| "-c".to_owned()));
        if !is_random {
            words.extend(split("-C -Q 1 -O"));
            words.push(format!("stoneWallingStatusFile={}", self.stonewall(kind)));
        } else if own_files {
            words.extend(split("-C -Q 2"));
        }
        words.extend(split(&match phase {
            phase if phase.writes() => format!("-w {wall}"),
            _ if is_random => format!("-r {wall}"),
            _ => "-r -R".to_owned(),
        }));
        words.push("-O".to_owned());
        words.extend(self.ending(phase, "saveRankPerformanceDetailsCSV", circumstances));
        words
    }

    fn mdtest(&self, phase: Phase, circumstances: &Circumstances<'_>) -> Vec<String> {
        let kind = phase.kind();
        let is_easy = kind == "mdtest-easy";
        let per_directory = self.files_per_directory().filter(|_| !is_easy);
        let items = self.config.text(kind, "n").unwrap_or_default();
        let mut words = self.words("mdtest");
        words.extend(split(&format!("-n {items} -F -P -G {} -N 1", seed(kind, circumstances.stamp))));
        words.extend(split(&match is_easy {
            true => "-u -L".to_owned(),
            false => format!("-t -w {HARD_FILE_BYTES} -e {HARD_FILE_BYTES}"),
        }));
        words.extend(per_directory.map(|count| format!("-I={count}")));
        let directory = format!("{}/{kind}", self.data);
        words.extend(["-d".to_owned(), directory, "-x".to_owned(), self.stonewall(kind)]);
        words.extend(split(&match phase.mdtest() {
            // mdtest has no stonewall with several trees.
            Some(mdtest::Test::FileCreation) if per_directory.is_some() => "-C -Y".to_owned(),
            Some(mdtest::Test::FileCreation) => format!("-C -Y -W {}", self.wall_s()),
            Some(mdtest::Test::FileStat) => "-T".to_owned(),
            Some(mdtest::Test::FileRead) => "-E -X".to_owned(),
            _ => "-r".to_owned(),
        }));
        words.extend(self.ending(phase, "--saveRankPerformanceDetails", circumstances));
        words
    }
}

impl Plan {
    fn workbench(&self, phase: Phase, circumstances: &Circumstances<'_>) -> Vec<String> {
        let kind = phase.kind();
        let text = |key: &str| self.config.text(kind, key);
        let mut words = self.words("md-workbench");
        words.push("--process-reports".to_owned());
        words.extend(self.api(phase));
        words.push(format!("-o={}/{kind}", self.data));
        words.extend(split(&format!("-t={} -O=1", text("waitingTime").unwrap_or("0"))));
        words.push(format!("--run-info-file={}", self.result(&format!("{kind}.status"))));
        let by_rate = self.files_per_set(0.0).unwrap_or(0).to_string();
        let (objects, renewals) = (text("precreatePerSet"), text("filesPerProc"));
        words.extend(split(&format!(
            "-D={WORKBENCH_SETS} -G={} -P={} -I={}",
            seed("md-workbench", circumstances.stamp),
            objects.unwrap_or(&by_rate),
            renewals.unwrap_or(&by_rate)
        )));
        words.extend(split(match phase {
            Phase::WorkbenchCreate => "-1",
            Phase::WorkbenchBench => "-2 -R=2 -X",
            _ => "-3",
        }));
        words.extend(threads(circumstances));
        words
    }
}

/// Returns the option for several ranks as threads.
fn threads(circumstances: &Circumstances<'_>) -> Option<String> {
    let threads = (circumstances.launched.is_none() && circumstances.ranks != 1).then_some(circumstances.ranks);
    threads.map(|threads| format!("--plumb-ranks={threads}"))
}

/// Splits arguments at blanks. None of them is a path.
fn split(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

/// Rejects paths that the tools would interpret differently.
fn directory_rules(config: &Config, data: &str, results: &str) -> Result<(), ConfigError> {
    let invalid = |key: &str, problem: &str| Err(config.invalid("global", key, problem));
    match () {
        () if data.contains('@') => {
            invalid("datadir", "holds an @, which IOR and mdtest take for a list of directories; use another directory")
        }
        () if data.starts_with("sim:") => {
            invalid("datadir", "is a simulated device, and this works on real files; use a directory")
        }
        () if results.contains(',') => {
            invalid("resultdir", "holds a comma, which IOR takes for a list of directives; use another directory")
        }
        () => Ok(()),
    }
}

/// Checks that both counts of files are given, or neither.
fn workbench_rules(config: &Config) -> Result<(), ConfigError> {
    let is_said = |key: &str| config.text("mdworkbench", key).is_some();
    match (is_said("precreatePerSet"), is_said("filesPerProc")) {
        (true, false) => {
            Err(config.invalid("mdworkbench", "precreatePerSet", "goes with filesPerProc; give both or neither"))
        }
        (false, true) => {
            Err(config.invalid("mdworkbench", "filesPerProc", "goes with precreatePerSet; give both or neither"))
        }
        _ => Ok(()),
    }
}

/// The generated arguments never name a script.
fn unnamed(path: &str) -> plumb_tools::FileError {
    plumb_tools::FileError::NotPublished { path: path.to_owned() }
}
