//! Settings: given options, defaults, and rules.

use crate::aiori::{GivenOptions, Launched, OptionError, value_error};
use plumb_workload::NullDelays;
use plumb_workload::program::{ItemName, PacketKind, TreeNames};
use std::path::PathBuf;

/// Limit of phases, all of which are kept until the end. More are probably a mistake.
const ITERATIONS_MAX: u32 = 10_000;
/// Limit of the wait, as a share of an operation's time.
const WAIT_MAX: f64 = 1000.0;

#[derive(Debug, Clone, PartialEq)]
pub struct MdWorkbenchSettings {
    /// The delays of `-a DUMMY`, which makes no call; `None` for POSIX.
    pub dummy: Option<NullDelays>,
    /// `-o`: directory of the data sets.
    pub directory: String,
    pub phases: BenchmarkPhases,
    pub dataset: DataSets,
    pub data: ObjectData,
    pub waits: WaitOptions,
    pub stonewall: Stonewall,
    /// `--run-info-file`: file with the object at which the next run continues.
    pub status_file: String,
    pub output: OutputOptions,
    pub ranks: u32,
    /// The processes of the ranks; `None` for threads.
    pub launched: Option<Launched>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkPhases {
    /// `-1`: whether objects are created.
    pub precreates: bool,
    /// `-2`: whether the benchmark runs.
    pub benchmarks: bool,
    /// `-3`: whether the remaining objects are removed.
    pub cleans_up: bool,
    /// `-R`: iterations of the benchmark.
    pub iterations: u32,
    /// `--read-only`: whether the benchmark neither removes nor creates objects.
    pub reads_only: bool,
    /// `--ignore-precreate-errors`: whether the run continues after a failed creation.
    pub ignores_precreate_errors: bool,
}

/// The objects, and how many of them the benchmark renews.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSets {
    /// `-D`: data sets per rank.
    pub sets: u32,
    /// `-P`: objects per data set.
    pub objects: u64,
    /// `-I`: objects to renew in each data set and iteration.
    pub renewals: u64,
    /// `-O`: distance in ranks between a rank and the objects that it reads.
    pub offset: i64,
    /// `--start-item`: number of the first object.
    pub start_item: Option<u64>,
}

/// The contents of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectData {
    /// `-S`: bytes per object.
    pub object_bytes: u64,
    /// `-G`: seed of the data.
    pub seed: Option<i32>,
    /// `--dataPacketType`: kind of data packets.
    pub packets: PacketKind,
    /// `-X`: whether the data that is read is compared.
    pub verifies: bool,
    /// `--posix.odirect`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WaitOptions {
    /// `-t`: wait after an operation, in millionths of its time.
    pub ppm: u64,
    /// `-T`: whether each iteration runs with several waits.
    pub adapts: bool,
}

/// The stonewall of the benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Stonewall {
    /// `-w`: seconds until the stonewall; 0 for none.
    pub wall_s: u32,
    /// `-W`: whether all ranks continue to the count of the fastest one.
    pub wears_out: bool,
}

/// The report, and the files of latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputOptions {
    /// `-L`: prefix of the names of files with single operations.
    pub latency_files: Option<String>,
    /// `--latency-all`: whether they have the operations of all ranks.
    pub latencies_of_all: bool,
    /// `--print-detailed-stats`: whether counts are printed in columns.
    pub detailed: bool,
    /// `--process-reports`: whether each rank has a line.
    pub reports_ranks: bool,
    /// `-q`: whether only measured values are printed.
    pub quiet: bool,
}

/// Parses a share of time, in millionths.
fn ppm(text: &str) -> Result<u64, OptionError> {
    let share: Option<f64> = text.trim().parse().ok().filter(|share| (0.0..=WAIT_MAX).contains(share));
    share
        .map(|share| (share * 1e6).round() as u64)
        .ok_or_else(|| value_error("t", text, "is not a share of time; use a number such as 0.5, from 0 to 1000"))
}

pub(super) fn settings(given: &GivenOptions, launched: Option<&Launched>) -> Result<MdWorkbenchSettings, OptionError> {
    let dummy = match given.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => None,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Some(given.dummy_delays()?),
        other => {
            return Err(value_error(
                "a",
                other,
                "is a back end that md-workbench does not use here; use POSIX or DUMMY",
            ));
        }
    };
    let phases = ["1", "2", "3"].map(|key| given.is_set(key));
    let all = phases.iter().all(|given| !given);
    let [precreates, benchmarks, cleans_up] = phases.map(|given| given || all);
    let settings = MdWorkbenchSettings {
        dummy,
        directory: given.named("o").unwrap_or_else(|| "./out".to_owned()),
        phases: BenchmarkPhases {
            precreates,
            benchmarks,
            cleans_up,
            iterations: given.small_count("R", 3)?,
            reads_only: given.is_set("read-only"),
            ignores_precreate_errors: given.is_set("ignore-precreate-errors"),
        },
        dataset: DataSets {
            sets: given.small_count("D", 10)?,
            objects: given.count("P", 3000)?,
            renewals: given.count("I", 1000)?,
            offset: given.number("O").unwrap_or(1),
            start_item: Some(given.count("start-item", 0)?).filter(|&item| item > 0),
        },
        data: ObjectData {
            object_bytes: given.count("S", 3901)?,
            verifies: given.is_set("X"),
            seed: given.number("G").filter(|&seed| seed != -1).and_then(|seed| i32::try_from(seed).ok()),
            packets: given.packets("dataPacketType")?,
            direct: given.is_set("posix.odirect"),
        },
        waits: WaitOptions { ppm: given.text("t").map_or(Ok(0), ppm)?, adapts: given.is_set("T") },
        stonewall: Stonewall { wall_s: given.small_count("w", 0)?, wears_out: given.is_set("W") },
        status_file: given.named("run-info-file").unwrap_or_else(|| "md-workbench.status".to_owned()),
        output: OutputOptions {
            latency_files: given.named("L"),
            latencies_of_all: given.is_set("latency-all"),
            detailed: given.is_set("print-detailed-stats"),
            reports_ranks: given.is_set("process-reports"),
            quiet: given.is_set("q"),
        },
        ranks: given.ranks(launched)?,
        launched: launched.cloned(),
    };
    settings.rules()?;
    Ok(settings)
}

impl MdWorkbenchSettings {
    fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let zero = |key: &str| Err(value_error(key, "0", "leaves nothing to do; use at least 1"));
        match () {
            () if self.dataset.sets == 0 => zero("D"),
            () if self.dataset.objects == 0 => zero("P"),
            () if self.phases.benchmarks && self.dataset.renewals == 0 => zero("I"),
            () if self.phases.iterations > ITERATIONS_MAX => {
                Err(value_error("R", self.phases.iterations.to_string(), "is too many; use at most 10000"))
            }
            () if self.data.verifies && self.dummy.is_some() => {
                conflict("-X needs data, which -a DUMMY does not keep; leave it out")
            }
            () if self.phases.precreates
                && self.dataset.start_item.is_some_and(|item| item >= self.dataset.objects) =>
            {
                conflict("--start-item is beyond the objects of -P, and nothing would be created; use a smaller number")
            }
            () if self.output.latencies_of_all && self.launched.is_some() => {
                conflict("--latency-all: operations of other processes are not sent; use --plumb-ranks without mpirun")
            }
            () => match self.names(self.dataset.start_item.unwrap_or(0)).problem() {
                None => Ok(()),
                Some((_, message, help)) => Err(OptionError::Tree { message, help }),
            },
        }
    }

    /// Returns the names of all objects that may exist, starting at the oldest one.
    pub(super) fn names(&self, start: u64) -> TreeNames {
        let rounds = u64::from(self.phases.iterations) * if self.waits.adapts { 8 } else { 1 };
        let rounds = if self.phases.benchmarks { rounds } else { 0 };
        // One more, so that no object is beyond the last name.
        let objects =
            self.dataset.renewals.saturating_mul(rounds).saturating_add(self.dataset.objects).saturating_add(1);
        TreeNames {
            places: vec![PathBuf::from(&self.directory)],
            root: "_".to_owned(),
            roots: self.dataset.sets,
            directory: String::new(),
            own_trees: true,
            branch: 1,
            depth: 0,
            owners: self.ranks,
            items: vec![ItemName { prefix: "file-".to_owned(), suffix: String::new(), shared: true }],
            tree_shift: 0,
            per_directory: objects.saturating_add(start),
            leaves_only: false,
            flat: true,
        }
    }
}
