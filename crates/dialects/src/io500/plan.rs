//! What a configuration asks for: each phase with the words of the tool that runs it.

use super::error::{ConfigError, Io500Error};
use super::find::Find;
use super::hash::seed;
use super::ini::Config;
use super::phase::Phase;
use crate::aiori::Launched;
use crate::{ior, mdtest};

/// Bytes of the files that the last phases of mdtest use, and that are looked for. Source: IO500 isc26.
const HARD_FILE_BYTES: u64 = 3901;

/// What is run.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A test of IOR.
    Ior(Box<ior::Test>),
    /// A run of mdtest.
    Mdtest(Box<mdtest::Settings>),
    /// A file is made.
    Timestamp,
    /// Files are found.
    Find(Find),
}

/// A phase that is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Which.
    pub phase: Phase,
    /// Its command line; none of what has none.
    pub words: Vec<String>,
    /// What that means.
    pub work: Work,
    /// The configuration leaves it out.
    pub is_left_out: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The configuration.
    pub config: Config,
    /// Directory of the data.
    pub data: String,
    /// Directory of the results.
    pub results: String,
    /// The phases, in their order.
    pub tasks: Vec<Task>,
    /// Ranks.
    pub ranks: u32,
    /// Prints what would be run, and runs nothing.
    pub is_dry: bool,
}

/// What a configuration does not say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances<'a> {
    /// The time of the run, as a name.
    pub(super) stamp: &'a str,
    /// Ranks as threads.
    pub(super) ranks: u32,
    /// Ranks as processes.
    pub(super) launched: Option<&'a Launched>,
    /// Nothing is to be run.
    pub(super) is_dry: bool,
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
        let Circumstances { ranks, launched, is_dry, .. } = *circumstances;
        let ranks = launched.map_or(ranks, |launched| launched.ranks);
        let mut plan = Plan { config, data, results, tasks: Vec::new(), ranks, is_dry };
        plan.tasks = Phase::ALL.into_iter().map(|phase| plan.task(phase, circumstances)).collect::<Result<_, _>>()?;
        Ok(plan)
    }

    fn task(&self, phase: Phase, circumstances: &Circumstances<'_>) -> Result<Task, Io500Error> {
        let (config, kind) = (&self.config, phase.kind());
        let wrong =
            |message: String| Io500Error::Phase { name: config.name().to_owned(), phase: phase.name(), message };
        let (words, work) = match kind {
            "timestamp" => (Vec::new(), Work::Timestamp),
            "find" => {
                let find = Find {
                    root: self.data.clone(),
                    newer_than: self.timestamp_file(),
                    bytes: HARD_FILE_BYTES,
                    threads: config.number(kind, "nproc").map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
                };
                (find.words(), Work::Find(find))
            }
            kind if kind.starts_with("ior") => {
                let words = self.ior(phase, circumstances);
                let read = ior::read(&words[1..], circumstances.launched, &mut |path| Err(unnamed(path)));
                let work = match read.map_err(|error| wrong(error.to_string()))? {
                    ior::Asked::Run(mut tests, _) if !tests.is_empty() => Work::Ior(Box::new(tests.swap_remove(0))),
                    _ => return Err(wrong("holds no test".to_owned())),
                };
                (words, work)
            }
            _ => {
                let words = self.mdtest(phase, circumstances);
                let read = mdtest::read(&words[1..], circumstances.launched);
                let work = match read.map_err(|error| wrong(error.to_string()))? {
                    mdtest::Asked::Run(settings, _) => Work::Mdtest(settings),
                    mdtest::Asked::Help => return Err(wrong("holds no run".to_owned())),
                };
                (words, work)
            }
        };
        let runs = |section: &str| config.text(section, "run") != Some("FALSE");
        Ok(Task { phase, words, work, is_left_out: !(runs(kind) && runs(phase.name())) })
    }

    /// The file whose time the phase that finds compares with.
    pub fn timestamp_file(&self) -> String {
        self.result("timestampfile")
    }

    /// A file of the results.
    pub fn result(&self, name: &str) -> String {
        format!("{}/{name}", self.results)
    }

    /// Seconds until the stonewall.
    pub fn wall_s(&self) -> u64 {
        self.config.number("debug", "stonewall-time").unwrap_or(0)
    }

    /// Seconds that a phase that writes must last by the rules.
    pub fn least_s(&self) -> u64 {
        if self.config.is_true("global", "scc") { 30 } else { 300 }
    }

    /// Why no run of this configuration is valid.
    pub fn invalid(&self) -> Vec<String> {
        let (wall, least) = (self.wall_s(), self.least_s());
        let wall = (wall != least).then(|| format!("stonewall-time {wall}s != {least}s"));
        let per_directory = self.files_per_directory().map(|_| "files-per-dir is set".to_owned());
        wall.into_iter().chain(per_directory).collect()
    }

    fn files_per_directory(&self) -> Option<u64> {
        self.config.number("mdtest-hard", "files-per-dir").filter(|&count| count > 0)
    }

    fn stonewall(&self, kind: &str) -> String {
        self.result(&format!("{kind}.stonewall"))
    }

    /// Directories of data that must be there first.
    pub fn directories(&self) -> [String; 2] {
        ["ior-easy", "ior-hard"].map(|kind| format!("{}/{kind}", self.data))
    }

    /// Files that phases of this run write and no phase removes: data of IOR, and what stonewalls let through.
    pub fn files_left(&self) -> Vec<String> {
        let ran = |phase: Phase| self.tasks.iter().any(|task| task.phase == phase && !task.is_left_out);
        let mut left = Vec::new();
        for phase in Phase::ALL.into_iter().filter(|&phase| phase.writes() && ran(phase)) {
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

    /// Directories of data that no phase removes, the innermost first.
    pub fn directories_left(&self) -> Vec<String> {
        let kinds = ["ior-easy", "ior-hard", "mdtest-easy", "mdtest-hard"];
        kinds.into_iter().map(|kind| format!("{}/{kind}", self.data)).chain([self.data.clone()]).collect()
    }

    fn words(&self, tool: &str) -> Vec<String> {
        let packets = self.config.text("global", "dataPacketType").unwrap_or("timestamp");
        vec![tool.to_owned(), format!("--dataPacketType={packets}")]
    }

    /// The back end, and options of it.
    fn api<'a>(&'a self, phase: Phase) -> impl Iterator<Item = String> + 'a {
        let of = |section: &str| self.config.text(section, "API");
        let api = of(phase.name()).or(of(phase.kind())).or(self.config.text("global", "api")).unwrap_or("POSIX");
        std::iter::once("-a".to_owned()).chain(api.split_whitespace().map(str::to_owned))
    }

    /// The last words of a command line: where the times of each rank go, the back end, and ranks that are threads.
    fn ending(&self, phase: Phase, csv: &str, circumstances: &Circumstances<'_>) -> Vec<String> {
        let threads = (circumstances.launched.is_none() && circumstances.ranks != 1).then_some(circumstances.ranks);
        let csv = format!("{csv}={}", self.result(&format!("{}.csv", phase.name())));
        let ranks = threads.map(|threads| format!("--plumb-ranks={threads}"));
        std::iter::once(csv).chain(self.api(phase)).chain(ranks).collect()
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
            // Several trees have no stonewall.
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

/// Words with blanks between them, none of which is a path.
fn split(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

/// Paths that the tools would read in another way.
fn directory_rules(config: &Config, data: &str, results: &str) -> Result<(), ConfigError> {
    let wrong = |key: &str, problem: &str| Err(config.wrong("global", key, problem));
    match () {
        () if data.contains('@') => {
            wrong("datadir", "holds an @, which IOR and mdtest take for a list of directories; use another directory")
        }
        () if data.starts_with("sim:") => {
            wrong("datadir", "is a simulated device, and this works on real files; use a directory")
        }
        () if results.contains(',') => {
            wrong("resultdir", "holds a comma, which IOR takes for a list of directives; use another directory")
        }
        () => Ok(()),
    }
}

/// No words that are made here name a script.
fn unnamed(path: &str) -> crate::FileError {
    crate::FileError::NotPublished { path: path.to_owned() }
}
