//! Orders that rank 0 sends to the other ranks.

use super::JoinedRanks;
use crate::fit::NotHad;
use crate::outcome::RunError;
use crate::work::Work;
use plumb_cluster::{Cluster, ClusterError, star, wait_forever};
use plumb_document::json;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::{CarriedDebt, SimRun};
use plumb_engine::{Part, Process};
use plumb_result::merge::{FilesOfRanks, SharedTargets, WorkingSets};
use plumb_workload::files::Names;
use plumb_workload::replay::{ReplayPart, replay_part};
use plumb_workload::{BlockStream, ReplayShare, Size, Target, Work as GroupWork, Workload};
use plumb_workload_text::native;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A task, or a rank's answer, as bytes that only the caller interprets.
pub type Task = Vec<u8>;

/// One run, as every rank runs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunOrder {
    /// Resolved, with every size in bytes.
    pub(crate) workload: Workload,
    pub(crate) division: Division,
    /// Number of phases of the longest workload, if each rank has its own.
    pub(crate) phases: u32,
    /// Absolute path that test data is made below.
    pub(crate) base: PathBuf,
    pub(crate) content_seed: u64,
    pub(crate) sim: SimOrder,
    pub(crate) may_drop_caches: bool,
    pub(crate) unopened_fails_jobs: bool,
    /// In the format of `PLUMB_ALLOW`.
    pub(crate) allow: String,
    /// File systems that may be filled, and those that must not be.
    pub(crate) fill: Option<(Vec<PathBuf>, Vec<PathBuf>)>,
}

/// The part of a workload that a rank runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Division {
    /// The whole workload, on the rank's own files.
    #[default]
    Each,
    /// A workload of the rank's own, with unchanged names.
    Apart,
    /// See [`Part::Groups`]. For tools whose processes are lowered to one group each; their offsets and file names
    /// stay those of a single run.
    Groups,
    /// See [`Part::Workers`]. For tools whose processes are the workers of a group.
    Workers,
}

impl Division {
    /// Returns the part of a workload that a rank runs.
    pub(crate) fn part(self, rank: u32, size: u32) -> Part {
        match self {
            Division::Each | Division::Apart => Part::All,
            Division::Groups => Part::Groups(Process { number: rank, of: size }),
            Division::Workers => Part::Workers(Process { number: rank, of: size }),
        }
    }

    /// Returns the workload that these ranks run together, out of `size` ranks.
    pub(crate) fn of_ranks(self, workload: &Workload, ranks: &[u32], size: u32) -> Workload {
        if self == Division::Apart {
            return workload.clone();
        }
        if self == Division::Each {
            return plumb_trust::of_ranks(workload, ranks.len() as u32);
        }
        let is_theirs = |number: u64| ranks.contains(&((number % u64::from(size.max(1))) as u32));
        let mut theirs = workload.clone();
        for phase in &mut theirs.phase {
            for (number, group) in phase.workers.iter_mut().enumerate() {
                group.name.get_or_insert_with(|| format!("workers.{number}"));
                group.count = match self {
                    Division::Workers => (0..group.count).filter(|&worker| is_theirs(worker.into())).count() as u32,
                    _ if is_theirs(number as u64) => group.count,
                    _ => 0,
                };
            }
            phase.workers.retain(|group| group.count > 0);
        }
        theirs
    }
}

/// Asks a host to resolve sizes that depend on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResolveOrder {
    pub(super) workload: Workload,
    pub(super) base: PathBuf,
    pub(super) fitted: bool,
}

/// A workload with every size in bytes, as hosts can run it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Resolved {
    /// `None` if a host cannot resolve it; `error` has the reason.
    pub(crate) workload: Option<Workload>,
    /// Requests that the storage cannot meet.
    pub(crate) not_had: Vec<NotHad>,
    pub(super) error: Option<String>,
}

impl Resolved {
    /// Combines the answers of two hosts, keeping the smaller of each size.
    fn and(mut self, mut other: Resolved) -> Resolved {
        if let (Some(mine), Some(other)) = (&mut self.workload, &mut other.workload) {
            for (name, target) in &mut mine.target {
                let theirs = other.target.get_mut(name).and_then(Target::size_mut);
                if let (Some(mine), Some(other)) = (target.size_mut(), theirs) {
                    let least = mine.fixed().into_iter().chain(other.fixed()).min();
                    *mine = least.map_or(*mine, Size::Bytes);
                }
            }
        }
        self
    }
}

/// See [`SimRun`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct SimOrder {
    seed: u64,
    run_index: u32,
    plot_index: u32,
    /// See [`CarriedDebt`].
    #[serde(default)]
    debt: f64,
}

impl SimOrder {
    pub(crate) fn new(SimRun { seed, run_index, plot_index }: SimRun, debt: CarriedDebt) -> SimOrder {
        SimOrder { seed, run_index, plot_index, debt: debt.share() }
    }
}

/// A message from rank 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Order {
    /// Make this run.
    Run(Box<RunOrder>),
    /// Resolve this workload on your host.
    Resolve(Box<ResolveOrder>),
    /// Take part in work that is not a run.
    Other(String),
    /// Exit with this code.
    End(u8),
}

/// The kind of an order that this program cannot read.
#[derive(Deserialize)]
pub(super) enum UnreadOrder {
    Run(IgnoredAny),
    Resolve(IgnoredAny),
    Other(IgnoredAny),
    End(IgnoredAny),
}

impl UnreadOrder {
    /// Returns the answer to an order that cannot be read, if its kind has one.
    ///
    /// # Errors
    /// The kind has no answer, or cannot be read either.
    pub(super) fn refuse(order: &[u8], error: String) -> Result<Resolved, ClusterError> {
        let unread = || ClusterError::Unreadable { rank: 0, error: error.clone() };
        match json::from_slice(order).map_err(|_| unread())? {
            UnreadOrder::Resolve(_) => {
                let error = format!("plumb {} there cannot read the workload, so update it: {error}", star::VERSION);
                Ok(Resolved { error: Some(error), ..Resolved::default() })
            }
            UnreadOrder::Run(_) | UnreadOrder::Other(_) | UnreadOrder::End(_) => Err(unread()),
        }
    }
}

/// An order, or an answer to it, that cannot be written or read as JSON.
pub(super) const UNREADABLE: ClusterError = ClusterError::Unexpected { rank: 0, what: "an order that cannot be read" };

fn send(cluster: &dyn Cluster, order: &Order) -> Result<(), ClusterError> {
    let bytes = json::to_vec(order).map_err(|_| UNREADABLE)?;
    cluster.broadcast(bytes, &wait_forever).map(|_| ())
}

/// Tells all other ranks to exit.
pub(super) fn send_end(cluster: &dyn Cluster, exit_code: u8) -> Result<(), ClusterError> {
    send(cluster, &Order::End(exit_code))
}

/// Orders the other ranks to do work that is not a run.
pub(super) fn send_other(cluster: &dyn Cluster, words: String) -> Result<(), ClusterError> {
    send(cluster, &Order::Other(words))
}

impl JoinedRanks {
    /// Orders each of the other ranks to do work that is not a run, and returns their answers by rank. For a
    /// coordinator that does not measure.
    ///
    /// # Errors
    /// A rank does not answer.
    pub fn ask_each(&self, stop: StopFlag, words: Vec<String>) -> Result<Vec<Task>, ClusterError> {
        for (rank, words) in (1..).zip(words) {
            let bytes = json::to_vec(&Order::Other(words)).map_err(|_| UNREADABLE)?;
            self.cluster.send(rank, &bytes, &wait_forever)?;
        }
        let answers = self.gather(stop, Vec::new())?;
        Ok(answers.into_iter().filter(|(rank, _)| *rank > 0).map(|(_, answer)| answer).collect())
    }

    /// Returns the bytes that each rank may write below a path. The free space is divided among the ranks, because
    /// they may share one file system. For a coordinator that does not measure.
    ///
    /// # Errors
    /// A host cannot read it, or does not answer.
    pub fn free_for_each(&self, stop: StopFlag, base: &Path) -> Result<u64, RunError> {
        Ok(self.least(stop, base, Size::Free(1.0))? / u64::from(self.size().max(1)))
    }

    /// Returns the memory that each host may use: the smallest of all. For a coordinator that does not measure.
    ///
    /// # Errors
    /// A host cannot read it, or does not answer.
    pub(crate) fn ram_of_each(&self, stop: StopFlag, base: &Path) -> Result<u64, RunError> {
        self.least(stop, base, Size::Ram(1.0))
    }

    /// Resolves a size at a path on every host, and returns the smallest result; 0 if there is none.
    fn least(&self, stop: StopFlag, base: &Path, size: Size) -> Result<u64, RunError> {
        const ALL_OF_IT: &str = "name = \"space\"\n[target.all.file]\npath = \"all\"\nsize = \"4KiB\"\n[[phase]]\n\
                                 name = \"none\"\n[[phase.workers]]\ntarget = \"all\"\nwork.blocks.mix.read = 1\n";
        let mut workload =
            native::parse("space", ALL_OF_IT).map_err(|error| RunError::EndedByRank(error.to_string()))?;
        workload.target.values_mut().filter_map(Target::size_mut).for_each(|of_target| *of_target = size);
        let mut resolved = self.resolve(stop, &workload, base, false)?;
        let all = resolved.workload.as_mut().and_then(|workload| workload.target.get_mut("all")?.size_mut().copied());
        Ok(all.and_then(Size::fixed).map_or(0, |bytes| bytes.0))
    }

    /// Returns the workload with every size in bytes, as all hosts can run it, and the requests that they cannot
    /// meet. For a coordinator that does not measure.
    ///
    /// # Errors
    /// A host cannot run it, or does not answer.
    pub(crate) fn resolve(
        &self,
        stop: StopFlag,
        workload: &Workload,
        base: &Path,
        fitted: bool,
    ) -> Result<Resolved, RunError> {
        let order = ResolveOrder { workload: workload.clone(), base: base.to_owned(), fitted };
        send(self.cluster.as_ref(), &Order::Resolve(Box::new(order)))?;
        let mut found: Option<Resolved> = None;
        for (rank, answer) in self.gather(stop, Vec::new())?.into_iter().filter(|(rank, _)| *rank > 0) {
            let answer: Resolved =
                json::from_slice(&answer).map_err(|_| ClusterError::Unexpected { rank, what: "no workload" })?;
            if let Some(error) = answer.error {
                return Err(RunError::EndedByRank(format!("{}: {error}", self.name(rank))));
            }
            found = Some(match found {
                None => answer,
                Some(before) => before.and(answer),
            });
        }
        Ok(found.unwrap_or_default())
    }
}

impl RunOrder {
    /// Orders the other ranks to make this run.
    pub(crate) fn send(self, ranks: &JoinedRanks) -> Result<(), ClusterError> {
        send(ranks.cluster.as_ref(), &Order::Run(Box::new(self)))?;
        ranks.compare_clocks()
    }

    /// Orders each of the other ranks to run its own workload. For a coordinator that does not measure.
    pub(crate) fn send_apart(self, ranks: &JoinedRanks, apart: &[Workload]) -> Result<(), ClusterError> {
        for (rank, workload) in (1..).zip(apart) {
            let own = RunOrder { workload: workload.clone(), ..self.clone() };
            let bytes = json::to_vec(&Order::Run(Box::new(own))).map_err(|_| UNREADABLE)?;
            // The run itself detects a lost rank.
            let _ = ranks.cluster.send(rank, &bytes, &wait_forever);
        }
        ranks.compare_clocks()
    }

    /// Returns the work for the engine of a rank. Ranks write different bytes, and
    /// their simulated devices vary independently.
    pub(crate) fn work(&self, rank: u32, size: u32) -> Work<'_> {
        let SimOrder { seed, run_index, plot_index, debt } = self.sim;
        Work {
            workload: &self.workload,
            part: self.division.part(rank, size),
            base: &self.base,
            content_seed: match self.division {
                Division::Each | Division::Apart => of_rank(self.content_seed, rank),
                // Each worker of the whole workload has its own random numbers already.
                Division::Groups | Division::Workers => self.content_seed,
            },
            sim_run: SimRun { seed: of_rank(seed, rank), run_index, plot_index },
            sim_debt: CarriedDebt::of_share(debt).unwrap_or_default(),
        }
    }
}

/// The workload of one rank, and the files that it shares with the others.
pub(crate) struct WorkloadOfRank {
    pub(crate) workload: Workload,
    pub(crate) files: FilesOfRanks,
}

impl WorkloadOfRank {
    /// Returns a rank's workload. With [`Division::Each`], generated file names get the rank as a prefix, except in
    /// Plumb's own test directories, which need none; files that are named one by one are shared; random choices differ
    /// between ranks. The other divisions leave the workload unchanged.
    ///
    /// # Errors
    /// Several ranks cannot use a target at once, or cannot share the copies of a replay equally.
    pub(crate) fn new(
        workload: &Workload,
        division: Division,
        rank: u32,
        ranks: u32,
    ) -> Result<WorkloadOfRank, RunError> {
        if division == Division::Apart {
            let files = FilesOfRanks { shared: SharedTargets::new(), working_sets: WorkingSets::Apart };
            return Ok(WorkloadOfRank { workload: workload.clone(), files });
        }
        if division != Division::Each {
            // The engine selects the rank's workers. A target that all ranks use is one target.
            let shared: SharedTargets = BTreeSet::from_iter(workload.target.keys().cloned());
            let working_sets = if shared.len() == 1 { WorkingSets::Same } else { WorkingSets::Apart };
            return Ok(WorkloadOfRank { workload: workload.clone(), files: FilesOfRanks { shared, working_sets } });
        }
        let mut own = workload.clone();
        let mut shared = SharedTargets::new();
        own.seed = of_rank(workload.seed, rank);
        for (name, target) in &mut own.target {
            let is_shared = match target {
                target if is_named(target) => true,
                Target::File(_) | Target::Files(_) | Target::Tree(_) | Target::Device(_) => false,
                Target::JobFiles(files) => match &mut files.names {
                    Names::Given(_) => true,
                    Names::Numbered { path, .. } => {
                        *path = with_rank(path, rank);
                        false
                    }
                    Names::Made(paths) => {
                        paths.iter_mut().for_each(|path| *path = with_rank(path, rank));
                        false
                    }
                    Names::Postmark(_) | Names::Trees(_) => {
                        return Err(RunError::OfSeveralRanks { target: name.clone() });
                    }
                },
                Target::Scratch(_) | Target::SharedTree(_) => {
                    return Err(RunError::OfSeveralRanks { target: name.clone() });
                }
                Target::Recorded(_) | Target::Host(_) | Target::Null(_) | Target::Sim(_) => false,
            };
            if is_shared {
                shared.insert(name.clone());
            }
        }
        let share = ReplayShare { number: rank, of: ranks };
        for group in own.phase.iter_mut().flat_map(|phase| &mut phase.workers) {
            let is_shared = shared.contains(&group.target);
            replay_a_part(&mut group.work, share, is_shared)?;
        }
        let working_sets = match shared.len() {
            0 => WorkingSets::Apart,
            some if some == own.target.len() => WorkingSets::Same,
            _ => WorkingSets::Mixed,
        };
        Ok(WorkloadOfRank { workload: own, files: FilesOfRanks { shared, working_sets } })
    }
}

/// Gives a rank its share of a replay: a part of the threads, or the same number of copies as every other rank.
/// Copies on the rank's own files start where they would start in a single process.
fn replay_a_part(work: &mut GroupWork, share: ReplayShare, is_shared: bool) -> Result<(), RunError> {
    let (clones, part) = match work {
        GroupWork::Replay(replay) => (&mut replay.clones, &mut replay.share),
        GroupWork::Blocks(stream) => match &mut **stream {
            BlockStream::Trace(recording) if recording.sheet => (&mut recording.clones, &mut recording.share),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    match replay_part(Some(share), *clones) {
        None => return Err(RunError::ClonesOfRanks { clones: *clones, ranks: share.of }),
        Some(ReplayPart::Copies(_)) if !is_shared => *clones /= share.of.max(1),
        Some(_) => *part = Some(share),
    }
    Ok(())
}

/// Returns `true` for a native target that is the same for every rank: a device, or files with an absolute path. A file
/// set is never shared.
pub(crate) fn is_named(target: &Target) -> bool {
    match target {
        Target::File(file) => file.path.is_absolute(),
        Target::Files(files) => files.path.is_absolute(),
        Target::Device(_) => true,
        _ => false,
    }
}

/// Returns the seed of a rank. Rank 0 does what a single process would do.
fn of_rank(seed: u64, rank: u32) -> u64 {
    // The golden ratio, as in SplitMix64, keeps the seeds of neighbours far apart.
    seed.wrapping_add(u64::from(rank).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Turns `dir/job.0.0` into `dir/rank3.job.0.0`.
fn with_rank(path: &Path, rank: u32) -> PathBuf {
    let mut name = std::ffi::OsString::from(format!("rank{rank}."));
    name.push(path.file_name().unwrap_or_default());
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::blocks::trace::Recording;
    use plumb_workload::files::JobFiles;
    use plumb_workload::{Bytes, Replay, WorkerGroup};

    fn workload() -> Workload {
        let text = "name = \"w\"\n[target.own.file]\npath = \"data\"\nsize = \"1MiB\"\n[target.there.file]\n\
                    path = \"/mnt/data\"\nsize = \"1MiB\"\n[[phase]]\nname = \"p\"\n[[phase.workers]]\ntarget = \"own\"\n\
                    work.blocks.mix.read = 1\n";
        native::parse("w.toml", text).unwrap()
    }

    // Protects: two ranks write to the same file only if the user named it.
    #[test]
    fn generated_names_have_the_rank_and_typed_names_are_shared() {
        let mut workload = workload();
        let files =
            |names| Target::JobFiles(JobFiles { names, lengths: Vec::new(), typed: Vec::new(), make_below: None });
        let numbered = Names::Numbered { path: "dir/job.0.{}".into(), count: 2, per_directory: None };
        workload.target.insert("numbered".to_owned(), files(numbered));
        workload.target.insert("made".to_owned(), files(Names::Made(vec!["a.0".into()])));
        workload.target.insert("said".to_owned(), files(Names::Given(vec!["/dev/sdx".into()])));
        let own = WorkloadOfRank::new(&workload, Division::Each, 3, 4).unwrap();
        let path = |name: &str| match &own.workload.target[name] {
            Target::JobFiles(files) => files.names.path(0).unwrap(),
            _ => PathBuf::new(),
        };
        assert_eq!((path("numbered"), path("made")), ("dir/rank3.job.0.0".into(), "rank3.a.0".into()));
        assert_eq!(path("said"), PathBuf::from("/dev/sdx"));
        assert_eq!(own.files.shared.iter().collect::<Vec<_>>(), ["said", "there"]);
        assert_ne!(own.workload.seed, workload.seed);
        assert_eq!(WorkloadOfRank::new(&workload, Division::Each, 0, 4).unwrap().workload.seed, workload.seed);
    }

    // Protects: ranks replay different parts of a recording's threads, or the same number of copies, and
    // no part is replayed twice.
    #[test]
    fn recordings_are_divided_among_ranks() {
        let mut replay = Replay::new("r".into());
        let mut workload = workload();
        let of = |workload: &Workload, rank| {
            let own = WorkloadOfRank::new(workload, Division::Each, rank, 4)?;
            let replay = own.workload.phase[0].workers[0].work.replay().cloned();
            Ok::<_, RunError>(replay.map(|replay| (replay.clones, replay.share)))
        };
        workload.phase[0].workers[0].work = replay.clone().into();
        assert_eq!(of(&workload, 3).unwrap(), Some((1, Some(ReplayShare { number: 3, of: 4 }))));
        replay.clones = 8;
        workload.phase[0].workers[0].work = replay.clone().into();
        assert_eq!(of(&workload, 3).unwrap(), Some((2, None)));
        replay.clones = 6;
        workload.phase[0].workers[0].work = replay.into();
        assert!(of(&workload, 0).unwrap_err().to_string().contains("6 copies"));
        // On a target that all ranks share, a rank's copies follow those of lower ranks.
        let mut recording = Recording { sheet: true, clones: 4, ..Recording::new("r".into(), Bytes(1)) };
        let mut shared = |recording: &Recording, target: &str| {
            workload.phase[0].workers[0].work = BlockStream::from(recording.clone()).into();
            workload.phase[0].workers[0].target = target.to_owned();
            let own = WorkloadOfRank::new(&workload, Division::Each, 2, 4).unwrap();
            let dealt = own.workload.phase[0].workers[0].work.trace().cloned().unwrap();
            (dealt.clones, dealt.share)
        };
        assert_eq!(shared(&recording, "there"), (4, Some(ReplayShare { number: 2, of: 4 })));
        assert_eq!(shared(&recording, "own"), (1, None));
        // Without a sheet, every rank replays all copies.
        recording.sheet = false;
        assert_eq!(shared(&recording, "own"), (4, None));
    }

    // Protects: the workload of some ranks has only their workers, under their names in the whole workload.
    #[test]
    fn workers_are_divided_among_ranks() {
        let mut workload = workload();
        let group = workload.phase[0].workers[0].clone();
        let other = WorkerGroup { name: Some("second".to_owned()), count: 5, ..group.clone() };
        workload.phase[0].workers = vec![group.clone(), other, group];
        let of = |division: Division, ranks: &[u32]| {
            let theirs = division.of_ranks(&workload, ranks, 2);
            let shown = |group: &WorkerGroup| format!("{}: {}", group.name.as_deref().unwrap_or_default(), group.count);
            theirs.phase[0].workers.iter().map(shown).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(of(Division::Groups, &[0]), "workers.0: 1, workers.2: 1");
        assert_eq!(of(Division::Groups, &[1]), "second: 5");
        assert_eq!(of(Division::Workers, &[0]), "workers.0: 1, second: 3, workers.2: 1");
        assert_eq!(of(Division::Workers, &[1]), "second: 2");
        assert_eq!(of(Division::Workers, &[0, 1]), "workers.0: 1, second: 5, workers.2: 1");
    }

    #[test]
    fn an_order_survives_being_sent() {
        let order = Order::Run(Box::new(RunOrder {
            workload: workload(),
            division: Division::Groups,
            phases: 1,
            base: "/mnt".into(),
            content_seed: u64::MAX,
            sim: SimOrder { seed: 1, run_index: 2, plot_index: 3, debt: 0.1 },
            may_drop_caches: true,
            unopened_fails_jobs: false,
            allow: "a,b".to_owned(),
            fill: Some((vec!["/mnt".into()], Vec::new())),
        }));
        let sent = json::to_vec(&order).unwrap();
        assert_eq!(json::from_slice::<Order>(&sent).unwrap(), order);
        assert_eq!(json::from_slice::<Order>(&json::to_vec(&Order::End(3)).unwrap()).unwrap(), Order::End(3));
    }
}
