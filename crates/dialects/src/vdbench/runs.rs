//! From definitions to runs.

use super::definitions::{Rate, Reader, Run, Script, Storage, Transfers, Work};
use super::file_systems::{FileStorage, FileWork, OPERATIONS, operation};
use super::parse::{Parameter, size};
use super::settings::Settings;
use super::values::{THREADS_MAX, share};

/// Most runs of one file.
const RUNS_MAX: usize = 10_000;

/// A run definition, before its loops.
pub(super) struct RunDefinition {
    pub(super) run: Run,
    pub(super) works: Vec<String>,
    pub(super) file_works: Vec<String>,
    pub(super) rates: Vec<Rate>,
    pub(super) loops: Vec<(Loop, Vec<u64>)>,
}

/// What changes from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loop {
    Threads,
    Transfers,
    Reads,
    Random,
    Depth,
    Width,
    Files,
    Sizes,
    Operations,
}

impl Loop {
    fn name(self) -> &'static str {
        match self {
            Loop::Threads => "threads",
            Loop::Transfers => "xfersize",
            Loop::Reads => "rdpct",
            Loop::Random => "seekpct",
            Loop::Depth => "depth",
            Loop::Width => "width",
            Loop::Files => "files",
            Loop::Sizes => "sizes",
            Loop::Operations => "operations",
        }
    }
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

/// Reads a value of a loop.
type ReadValue = fn(&str) -> Option<u64>;

/// The loop that a parameter of a run definition asks for, and how its values are read.
pub(super) fn loop_of(parameter: &Parameter) -> Result<(Loop, ReadValue), String> {
    let number: ReadValue = |text| text.parse().ok();
    let loops: [(&[&str], Loop, ReadValue); 9] = [
        (&["threads"], Loop::Threads, size),
        (&["xfersizes"], Loop::Transfers, size),
        (&["rdpct", "readpct"], Loop::Reads, number),
        (&["seekpct"], Loop::Random, number),
        (&["depth"], Loop::Depth, size),
        (&["width"], Loop::Width, size),
        (&["files"], Loop::Files, size),
        (&["sizes"], Loop::Sizes, size),
        (&["operations"], Loop::Operations, |text| operation(text).ok()),
    ];
    let key = parameter.key.trim_start_matches("for");
    let found = loops.into_iter().find(|(full, ..)| key.len() > 1 && full.iter().any(|full| full.starts_with(key)));
    let (_, what, read) = found.ok_or_else(|| {
        format!(
            "`{}` is not supported; use forthreads, forxfersize, forrdpct or forseekpct, or for files fordepth, forwidth, \
             forfiles, forsizes or foroperations",
            parameter.key
        )
    })?;
    if what == Loop::Operations {
        // Which of them is unknown says more than that the list cannot be read.
        parameter.values.iter().try_for_each(|text| operation(text).map(|_| ()))?;
    }
    Ok((what, read))
}

impl Loop {
    /// The smallest and the largest value.
    pub(super) fn limits(self) -> (u64, u64) {
        match self {
            Loop::Threads => (1, THREADS_MAX),
            Loop::Transfers => (1, 1 << 30),
            Loop::Reads | Loop::Random => (0, 100),
            Loop::Depth | Loop::Width | Loop::Files => (1, 1 << 32),
            Loop::Sizes => (1, 1 << 50),
            Loop::Operations => (0, OPERATIONS.len() as u64),
        }
    }
}

impl Reader<'_> {
    /// All runs, with what they use.
    pub(super) fn runs(self, settings: &Settings) -> Result<Script, String> {
        let Reader { file, storage, works, file_systems, file_works, runs: definitions, .. } = self;
        let has_files = !file_systems.is_empty() || !file_works.is_empty();
        let is_whole = if has_files { !file_works.is_empty() } else { !storage.is_empty() && !works.is_empty() };
        if definitions.is_empty() || !is_whole {
            return Err(format!(
                "{file} must have an `sd=`, a `wd=` and an `rd=`, or an `fsd=`, an `fwd=` and an `rd=`"
            ));
        }
        if has_files && (!storage.is_empty() || !works.is_empty()) {
            return Err(format!("{file} has storage (SD, WD) and file systems (FSD, FWD); use a file for each"));
        }
        if let Some(unnamed) = storage.iter().find(|one| one.path.is_empty()) {
            return Err(format!("sd={} lacks its `lun=`", unnamed.name));
        }
        file_works.iter().try_for_each(FileWork::check)?;
        let mut runs = Vec::new();
        for definition in &definitions {
            let run = if has_files {
                with_files(definition, &file_systems, &file_works)?
            } else {
                Run { works: used_works(definition, &storage, &works)?, ..definition.run.clone() }
            };
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
                    runs.push(one_run(&run, combination, *rate, settings)?);
                }
            }
            if runs.len() > RUNS_MAX {
                return Err(format!("more than {RUNS_MAX} runs"));
            }
        }
        Ok(Script { storage, runs })
    }
}

/// The workload definitions of a run, each with the names of its storage.
fn used_works(definition: &RunDefinition, storage: &[Storage], works: &[Work]) -> Result<Vec<Work>, String> {
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
    let skews = used.iter_mut().map(|work| &mut work.skew).collect();
    share(skews).map_err(|reason| format!("rd={}: {reason}", definition.run.name))?;
    Ok(used)
}

/// A run with its file workload definitions, each with the names of its file systems, and these.
fn with_files(definition: &RunDefinition, all: &[FileStorage], works: &[FileWork]) -> Result<Run, String> {
    let name = &definition.run.name;
    let is_used = |work: &&FileWork| definition.file_works.iter().any(|said| is_meant(said, &work.name));
    let mut used: Vec<FileWork> = works.iter().filter(is_used).cloned().collect();
    if used.is_empty() {
        return Err(format!("rd={name}: it uses no file workload definition"));
    }
    let mut file_systems: Vec<FileStorage> = Vec::new();
    for work in &mut used {
        let is_used = |one: &&FileStorage| work.file_systems.iter().any(|said| is_meant(said, &one.name));
        let own: Vec<&FileStorage> = all.iter().filter(is_used).collect();
        if own.is_empty() {
            return Err(format!("fwd={}: it uses no file system definition", work.name));
        }
        work.file_systems = own.iter().map(|one| one.name.clone()).collect();
        let is_new = |one: &&&FileStorage| file_systems.iter().all(|known| known.name != one.name);
        let new: Vec<FileStorage> = own.iter().filter(is_new).map(|one| (*one).clone()).collect();
        file_systems.extend(new);
    }
    let has_skew = used.iter().any(|work| work.skew.is_some());
    if has_skew && definition.rates.contains(&Rate::Max) {
        return Err(format!("rd={name}: a skew without a rate is not supported for files; use fwdrate=NUMBER"));
    }
    let skews = used.iter_mut().map(|work| &mut work.skew).collect();
    share(skews).map_err(|reason| format!("rd={name}: {reason}"))?;
    Ok(Run { file_works: used, file_systems, ..definition.run.clone() })
}

fn one_run(usual: &Run, loops: &[(Loop, u64)], rate: Rate, settings: &Settings) -> Result<Run, String> {
    let mut run = Run { rate, ..usual.clone() };
    run.elapsed_s = settings.elapsed_s.unwrap_or(run.elapsed_s);
    run.interval_s = settings.interval_s.unwrap_or(run.interval_s);
    run.warmup_s = settings.warmup_s.unwrap_or(run.warmup_s);
    let mut told = Vec::new();
    for &(what, value) in loops {
        let (works, files, systems) = (run.works.iter_mut(), run.file_works.iter_mut(), run.file_systems.iter_mut());
        match what {
            Loop::Threads => {
                run.threads = Some(value);
                files.for_each(|work| work.threads = value);
            }
            Loop::Transfers => {
                works.for_each(|work| work.transfers = Transfers::Fixed(value));
                files.for_each(|work| work.transfers = Transfers::Fixed(value));
            }
            Loop::Reads => {
                works.for_each(|work| work.read_percent = value as u8);
                files.for_each(|work| work.read_percent = Some(value as u8));
            }
            Loop::Random => works.for_each(|work| work.random_percent = value as u8),
            Loop::Depth => systems.for_each(|one| one.depth = value),
            Loop::Width => systems.for_each(|one| one.width = value),
            Loop::Files => systems.for_each(|one| one.files = value),
            Loop::Sizes => systems.for_each(|one| one.sizes = Transfers::Fixed(value)),
            Loop::Operations => files.for_each(|work| work.operation = OPERATIONS[value as usize].1),
        }
        told.push(match what {
            Loop::Transfers if value % 1024 == 0 => format!("xfersize={}k", value / 1024),
            Loop::Transfers => format!("xfersize={value}"),
            Loop::Operations => format!("operations={}", OPERATIONS[value as usize].0),
            what => format!("{}={value}.0", what.name()),
        });
    }
    run.file_systems.iter().try_for_each(FileStorage::check)?;
    run.loops = if told.is_empty() { "None".to_owned() } else { told.join(" ") };
    Ok(run)
}
