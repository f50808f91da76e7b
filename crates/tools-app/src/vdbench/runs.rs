//! Converts definitions to runs.

use super::definitions::Reader;
use super::file_systems::{FileStorage, FileWork};
use super::general::Host;
use super::operation::{OPERATIONS, Operation};
use super::run_definition::{Loop, RunDefinition};
use super::script::{Rate, Run, Script};
use super::settings::VdbenchSettings;
use super::storage::{Storage, Transfers, Work};
use super::usage_error::{Placed, Reason};
use super::values::share;

/// Limit of runs in one file.
const RUNS_MAX: usize = 10_000;

/// Returns `true` if a pattern (`sd1`, `sd*`, `sd1-sd3`) matches a name.
fn matches_name(pattern: &str, name: &str) -> bool {
    if let Some(prefix) = pattern.strip_suffix('*') {
        return name.starts_with(prefix);
    }
    let parts = |text: &str| {
        let digits = text.len() - text.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        let (stem, number) = text.split_at(text.len() - digits);
        Some((stem.to_owned(), number.parse::<u64>().ok()?))
    };
    if let Some((first, last)) = pattern.split_once('-')
        && let (Some((stem, first)), Some((last_stem, last)), Some((own, number))) =
            (parts(first), parts(last), parts(name))
    {
        return stem == last_stem && own == stem && (first..=last).contains(&number);
    }
    pattern == name
}

impl Reader {
    /// Returns all runs with the definitions that they use. `last` is the last line with a parameter.
    pub(super) fn runs(self, last: usize, settings: &VdbenchSettings) -> Result<Script, Placed> {
        let Reader { storage, works, file_systems, file_works, runs: definitions, general, hosts, notes, .. } = self;
        if let Some(other) = hosts.iter().find_map(Host::elsewhere) {
            return Err(other);
        }
        let storage: Vec<Storage> = storage.into_iter().flat_map(Storage::expanded).collect();
        let file_systems: Vec<FileStorage> = file_systems.into_iter().flat_map(FileStorage::expanded).collect();
        let has_files = !file_systems.is_empty() || !file_works.is_empty();
        let is_whole = if has_files { !file_works.is_empty() } else { !storage.is_empty() && !works.is_empty() };
        if definitions.is_empty() || !is_whole {
            return Err((last, Reason::Incomplete));
        }
        if has_files && (!storage.is_empty() || !works.is_empty()) {
            return Err((last, Reason::Both));
        }
        if let Some(unnamed) = storage.iter().find(|one| one.path.is_empty()) {
            let definition = format!("sd={}", unnamed.name);
            return Err((unnamed.line, Reason::Missing { definition, key: "lun" }));
        }
        works.iter().try_for_each(check)?;
        file_works.iter().try_for_each(FileWork::check)?;
        let mut runs = Vec::new();
        for definition in &definitions {
            let run = if has_files {
                with_files(definition, &file_systems, &file_works)?
            } else {
                Run { works: used_works(definition, &storage, &works)?, ..definition.run.clone() }
            };
            let too_many = || (definition.line, Reason::TooManyRuns { definition: definition.name(), most: RUNS_MAX });
            let mut combinations: Vec<Vec<(Loop, u64)>> = vec![Vec::new()];
            for (what, values) in &definition.loops {
                let with = |before: &Vec<(Loop, u64)>, value: u64| [before.as_slice(), &[(*what, value)]].concat();
                combinations = combinations
                    .iter()
                    .flat_map(|before| values.iter().map(move |value| with(before, *value)))
                    .collect();
                if combinations.len() > RUNS_MAX {
                    return Err(too_many());
                }
            }
            // Creating files has no rate limit.
            let rates = if run.format.is_some() { &[Rate::Max] } else { definition.rates.as_slice() };
            for combination in &combinations {
                for rate in rates {
                    runs.push(one_run(definition, &run, combination, *rate, settings)?);
                }
            }
            if runs.len() > RUNS_MAX {
                return Err(too_many());
            }
        }
        let runs = (0..general.repeats).flat_map(|_| runs.clone()).collect();
        Ok(Script { storage, runs, makes_anchors: general.makes_anchors, notes })
    }
}

/// Returns a name with a number in place of `%d` (`%04d` with leading zeros) or `*`, or else at its end.
fn numbered(name: &str, number: u64) -> String {
    if let Some((before, format)) = name.split_once('%')
        && let Some((width, after)) = format.split_once('d')
        && width.len() <= 3
        && width.chars().all(|digit| digit.is_ascii_digit())
    {
        let columns = width.parse::<usize>().unwrap_or(0);
        return match width.starts_with('0') {
            true => format!("{before}{number:0columns$}{after}"),
            false => format!("{before}{number:columns$}{after}"),
        };
    }
    if name.contains('*') { name.replace('*', &number.to_string()) } else { format!("{name}{number}") }
}

impl Storage {
    /// Returns the definitions that `count=` stands for, or only this one.
    fn expanded(self) -> Vec<Storage> {
        let Some((start, count)) = self.counted else { return vec![self] };
        let one = |number: u64| Storage {
            name: numbered(&self.name, number),
            path: if self.path.is_empty() { String::new() } else { numbered(&self.path, number) },
            counted: None,
            ..self.clone()
        };
        (start..start + count).map(one).collect()
    }
}

/// Checks combinations of parameters in a workload definition.
fn check(work: &Work) -> Result<(), Placed> {
    let (has_hits, is_random) = (work.hits != (0, 0), work.random_percent == 100);
    let (found, way_out) = match () {
        () if work.stride.is_some() && has_hits => {
            ("`stride` with `rhpct` or `whpct` is not supported", "use one of them")
        }
        () if work.stride.is_some() && !is_random => {
            ("`stride` is for seeks, and some of its transfers follow one another", "use seekpct=random")
        }
        () if has_hits && !is_random => ("`rhpct` and `whpct` are for random transfers", "use seekpct=random"),
        () if work.rate.is_some() && work.skew.is_some() => ("it has both a rate and a skew", "use one of them"),
        () => return Ok(()),
    };
    Err((work.line, Reason::together(format!("wd={}", work.name), found, way_out)))
}

/// Returns the workload definitions of a run, each with the names of its storage.
fn used_works(definition: &RunDefinition, storage: &[Storage], works: &[Work]) -> Result<Vec<Work>, Placed> {
    let is_used = |work: &&Work| definition.works.iter().any(|pattern| matches_name(pattern, &work.name));
    let mut used: Vec<Work> = works.iter().filter(is_used).cloned().collect();
    if used.is_empty() {
        return Err(definition.uses_none("workload definition", "wd"));
    }
    for work in &mut used {
        let patterns = if definition.storage.is_empty() { &work.storage } else { &definition.storage };
        let is_used = |one: &&Storage| patterns.iter().any(|pattern| matches_name(pattern, &one.name));
        let names: Vec<String> = storage.iter().filter(is_used).map(|one| one.name.clone()).collect();
        if names.is_empty() {
            let (what, definition) = ("storage definition", format!("wd={}", work.name));
            return Err((work.line, Reason::UsesNone { definition, what, key: "sd" }));
        }
        work.storage = names;
    }
    // Workloads with their own rate do not take part in the division of the rest.
    let skews = used.iter_mut().filter(|work| work.rate.is_none()).map(|work| &mut work.skew).collect();
    share(skews).map_err(|sum| definition.skews(sum))?;
    Ok(used)
}

/// Adds file workload definitions and file systems to a run.
fn with_files(definition: &RunDefinition, all: &[FileStorage], works: &[FileWork]) -> Result<Run, Placed> {
    let is_used = |work: &&FileWork| {
        !work.is_format() && definition.file_works.iter().any(|pattern| matches_name(pattern, &work.name))
    };
    let mut used: Vec<FileWork> = works.iter().filter(is_used).cloned().collect();
    if used.is_empty() {
        return Err(definition.uses_none("file workload definition", "fwd"));
    }
    let mut file_systems: Vec<FileStorage> = Vec::new();
    let mut add = |one: &FileStorage| {
        if file_systems.iter().all(|known| known.name != one.name) {
            file_systems.push(one.clone());
        }
    };
    for work in &mut used {
        let patterns = if definition.storage.is_empty() { &work.file_systems } else { &definition.storage };
        let is_used = |one: &&FileStorage| patterns.iter().any(|pattern| matches_name(pattern, &one.name));
        let own: Vec<&FileStorage> = all.iter().filter(is_used).collect();
        if own.is_empty() {
            let (what, definition) = ("file system definition", work.definition());
            return Err((work.line, Reason::UsesNone { definition, what, key: "fsd" }));
        }
        work.file_systems = own.iter().map(|one| one.name.clone()).collect();
        own.iter().for_each(|one| add(one));
        let Some(target) = &work.target else { continue };
        let conflict = |found, way_out| (work.line, Reason::together(work.definition(), found, way_out));
        let Some(target) = all.iter().find(|one| one.name == *target) else {
            return Err(conflict("its `target=` is not a file system definition", "define it by `fsd=`"));
        };
        if own.iter().any(|one| one.name == target.name) {
            return Err(conflict("its `target=` is where its files are", "name another file system definition"));
        }
        if own.iter().any(|one| !one.is_like(target)) {
            let way_out = "give both the same `depth=`, `width=`, `files=` and `sizes=`";
            return Err(conflict("its `target=` has other files or directories", way_out));
        }
        add(target);
    }
    if let Some(format) = definition.run.format {
        let format_work = works.iter().find(|work| work.is_format());
        let how = format_work.cloned().unwrap_or_else(FileWork::usual_format);
        let operation = if format.directories { Operation::Mkdir } else { Operation::Format };
        let each = |one: &FileStorage| FileWork {
            file_systems: vec![one.name.clone()],
            operation,
            direct: one.direct,
            ..how.clone()
        };
        let mut file_works: Vec<FileWork> = file_systems.iter().map(each).collect();
        share(file_works.iter_mut().map(|work| &mut work.skew).collect()).map_err(|sum| definition.skews(sum))?;
        let name = format!("format_for_{}", definition.run.name);
        return Ok(Run { name, file_works, file_systems, ..definition.run.clone() });
    }
    let has_skew = used.iter().any(|work| work.skew.is_some());
    if has_skew && definition.rates.contains(&Rate::Max) {
        return Err(definition.together("a skew of files without a rate is not supported", "use fwdrate=NUMBER"));
    }
    share(used.iter_mut().map(|work| &mut work.skew).collect()).map_err(|sum| definition.skews(sum))?;
    Ok(Run { file_works: used, file_systems, ..definition.run.clone() })
}

/// Rejects data limits that cannot be met: a run ends by the total of its transfers.
fn check_data(definition: &RunDefinition, run: &Run) -> Result<(), Placed> {
    let only = |percent: u8, operation: Operation| {
        run.works.iter().all(|work| work.read_percent == percent)
            && run.file_works.iter().all(|work| work.counts() == [operation])
    };
    let is_multiple = |limit: Option<f64>| run.has_files() && limit.is_some_and(|limit| limit <= 100.0);
    let (found, way_out) = match run.data {
        data if data.read.is_some() && !only(100, Operation::Read) => {
            ("`maxdataread` of a run that does more than read is not supported", "use maxdata=BYTES")
        }
        data if data.written.is_some() && !only(0, Operation::Write) => {
            ("`maxdatawritten` of a run that does more than write is not supported", "use maxdata=BYTES")
        }
        data if [data.all, data.read, data.written].into_iter().any(is_multiple) => {
            ("`maxdata` up to 100 is a multiple of storage, and file systems have none", "use maxdata=BYTES")
        }
        _ => return Ok(()),
    };
    Err(definition.together(found, way_out))
}

fn one_run(
    definition: &RunDefinition,
    usual: &Run,
    loops: &[(Loop, u64)],
    rate: Rate,
    settings: &VdbenchSettings,
) -> Result<Run, Placed> {
    let mut run = Run { rate, ..usual.clone() };
    run.elapsed_s = settings.elapsed_s.unwrap_or(run.elapsed_s);
    run.interval_s = settings.interval_s.unwrap_or(run.interval_s);
    run.warmup_s = settings.warmup_s.unwrap_or(run.warmup_s);
    let mut loop_texts = Vec::new();
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
            // A run that only creates files has no other operations.
            Loop::Operations if run.format.is_some() => {}
            Loop::Operations => files.for_each(|work| work.operation = OPERATIONS[value as usize].1),
        }
        loop_texts.push(match what {
            Loop::Transfers if value % 1024 == 0 => format!("xfersize={}k", value / 1024),
            Loop::Transfers => format!("xfersize={value}"),
            Loop::Operations => format!("operations={}", OPERATIONS[value as usize].0),
            what => format!("{}={value}.0", what.name()),
        });
    }
    run.file_systems.iter().try_for_each(FileStorage::check)?;
    check_data(definition, &run)?;
    if let Some(work) = run.file_works.iter().find(|work| work.copies() && work.target.is_none()) {
        return Err((work.line, Reason::Missing { definition: work.definition(), key: "target" }));
    }
    let operation = run.file_works.first().map(|work| work.operation);
    let is_mixed = run.file_works.iter().any(|work| Some(work.operation) != operation);
    if is_mixed && run.file_works.iter().any(FileWork::copies) {
        let found = "copies or moves together with other operations cannot be told apart";
        return Err(definition.together(found, "use a run for each operation"));
    }
    run.loops = if loop_texts.is_empty() { "None".to_owned() } else { loop_texts.join(" ") };
    Ok(run)
}
