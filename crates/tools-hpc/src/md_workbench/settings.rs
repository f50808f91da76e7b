//! Settings: what was said, with defaults, and the rules of what goes together.

use crate::aiori::{Launched, OptionError, Said, wrong};
use plumb_workload::NullDelays;
use plumb_workload::program::{ItemName, PacketKind, TreeNames};
use std::path::PathBuf;

/// More phases than this are a mistake: each is kept until the end.
const ITERATIONS_MAX: u32 = 10_000;
/// Longest wait, as a share of the time of an operation.
const WAIT_MAX: f64 = 1000.0;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct MdWorkbenchSettings {
    /// The delays of `-a DUMMY`, which makes no call; `None` for POSIX.
    pub dummy: Option<NullDelays>,
    /// Directory of the data sets.
    pub directory: String,
    /// Objects are created.
    pub precreates: bool,
    /// The benchmark runs.
    pub benchmarks: bool,
    /// What is left is removed.
    pub cleans_up: bool,
    /// Data sets of each rank.
    pub sets: u32,
    /// Objects of each data set.
    pub objects: u64,
    /// Objects to renew in each data set and iteration.
    pub renewals: u64,
    /// Iterations of the benchmark.
    pub iterations: u32,
    /// Distance in ranks.
    pub offset: i64,
    /// Bytes of an object.
    pub object_bytes: u64,
    /// Wait behind an operation, millionths of its time.
    pub waits_ppm: u64,
    /// Each iteration with several waits.
    pub adapts_wait: bool,
    /// Seconds until the stonewall; 0 for none.
    pub wall_s: u32,
    /// All ranks go on to the count of the fastest.
    pub wears_out: bool,
    /// The benchmark removes and makes nothing.
    pub reads_only: bool,
    /// Verify what is read.
    pub verifies: bool,
    /// Seed of the data.
    pub data_seed: Option<i32>,
    /// Data packets.
    pub packets: PacketKind,
    /// `O_DIRECT`.
    pub direct: bool,
    /// Go on where nothing can be made.
    pub ignores_precreate_errors: bool,
    /// Number of the object to begin with, where it was said.
    pub start_item: Option<u64>,
    /// Keeps where the next run goes on.
    pub status_file: String,
    /// How the files begin that operations are written to.
    pub latency_files: Option<String>,
    /// Those of all ranks.
    pub latencies_of_all: bool,
    /// Counts in columns.
    pub detailed: bool,
    /// A line of each rank.
    pub reports_ranks: bool,
    /// Only what was measured.
    pub quiet: bool,
    /// Ranks.
    pub ranks: u32,
    /// Where they are processes: which.
    pub launched: Option<Launched>,
}

/// A share of time in millionths.
fn ppm(text: &str) -> Result<u64, OptionError> {
    let share: Option<f64> = text.trim().parse().ok().filter(|share| (0.0..=WAIT_MAX).contains(share));
    share
        .map(|share| (share * 1e6).round() as u64)
        .ok_or_else(|| wrong("t", text, "is no share of time; use a number such as 0.5, from 0 to 1000"))
}

/// The settings of what was said.
pub(super) fn settings(said: &Said, launched: Option<&Launched>) -> Result<MdWorkbenchSettings, OptionError> {
    let dummy = match said.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => None,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Some(said.dummy_delays()?),
        other => {
            return Err(wrong("a", other, "is a back end that md-workbench does not use here; use POSIX or DUMMY"));
        }
    };
    let phases = ["1", "2", "3"].map(|key| said.is_set(key));
    let all = phases.iter().all(|said| !said);
    let [precreates, benchmarks, cleans_up] = phases.map(|said| said || all);
    let settings = MdWorkbenchSettings {
        dummy,
        directory: said.named("o").unwrap_or_else(|| "./out".to_owned()),
        precreates,
        benchmarks,
        cleans_up,
        sets: said.small_count("D", 10)?,
        objects: said.count("P", 3000)?,
        renewals: said.count("I", 1000)?,
        iterations: said.small_count("R", 3)?,
        offset: said.number("O").unwrap_or(1),
        object_bytes: said.count("S", 3901)?,
        waits_ppm: said.text("t").map_or(Ok(0), ppm)?,
        adapts_wait: said.is_set("T"),
        wall_s: said.small_count("w", 0)?,
        wears_out: said.is_set("W"),
        reads_only: said.is_set("read-only"),
        verifies: said.is_set("X"),
        data_seed: said.number("G").filter(|&seed| seed != -1).and_then(|seed| i32::try_from(seed).ok()),
        packets: said.packets("dataPacketType")?,
        direct: said.is_set("posix.odirect"),
        ignores_precreate_errors: said.is_set("ignore-precreate-errors"),
        start_item: Some(said.count("start-item", 0)?).filter(|&item| item > 0),
        status_file: said.named("run-info-file").unwrap_or_else(|| "md-workbench.status".to_owned()),
        latency_files: said.named("L"),
        latencies_of_all: said.is_set("latency-all"),
        detailed: said.is_set("print-detailed-stats"),
        reports_ranks: said.is_set("process-reports"),
        quiet: said.is_set("q"),
        ranks: said.ranks(launched)?,
        launched: launched.cloned(),
    };
    settings.rules()?;
    Ok(settings)
}

impl MdWorkbenchSettings {
    /// What does not go together.
    fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let zero = |key: &str| Err(wrong(key, "0", "leaves nothing to do; use at least 1"));
        match () {
            () if self.sets == 0 => zero("D"),
            () if self.objects == 0 => zero("P"),
            () if self.benchmarks && self.renewals == 0 => zero("I"),
            () if self.iterations > ITERATIONS_MAX => {
                Err(wrong("R", self.iterations.to_string(), "is too many; use at most 10000"))
            }
            () if self.verifies && self.dummy.is_some() => {
                conflict("-X needs data, which -a DUMMY does not keep; leave it out")
            }
            () if self.precreates && self.start_item.is_some_and(|item| item >= self.objects) => {
                conflict("--start-item is beyond the objects of -P, and nothing would be created; use a smaller number")
            }
            () if self.latencies_of_all && self.launched.is_some() => {
                conflict("--latency-all: operations of other processes are not sent; use --plumb-ranks without mpirun")
            }
            () => match self.names(self.start_item.unwrap_or(0)).problem() {
                None => Ok(()),
                Some((_, message, help)) => Err(OptionError::Tree { message, help }),
            },
        }
    }

    /// The names of all objects that there may be, from this oldest one on.
    pub(super) fn names(&self, start: u64) -> TreeNames {
        let rounds = u64::from(self.iterations) * if self.adapts_wait { 8 } else { 1 };
        let rounds = if self.benchmarks { rounds } else { 0 };
        // One more, so that none of them is beyond the last.
        let objects = self.renewals.saturating_mul(rounds).saturating_add(self.objects).saturating_add(1);
        TreeNames {
            places: vec![PathBuf::from(&self.directory)],
            root: "_".to_owned(),
            roots: self.sets,
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
