//! The workers of a replay.

use super::call::CallSurvey;
use super::calls::RecordedCalls;
use super::deal::{Deal, Dealer};
use super::lane::{LanePacer, LaneSource};
use super::paths::{OpenDirectories, Paths};
use super::simulated::{Layout, SimulatedCalls};
use super::tally::ReplayTally;
use super::tree::{OpenRecorded, surveyed};
use crate::backend::SyncBackend;
use crate::backend::region::Region;
use crate::barrier::{Barrier, Body};
use crate::bind::run_to_end;
use crate::content::Filler;
use crate::plan::{WorkerPlanError, WorkerSeat};
use crate::rng::StreamId;
use crate::setting::Setting;
use crate::sim::run::SimDevice;
use crate::source::trace::ReplayError;
use crate::terms::Ended;
use crate::worker_error::WorkerError;
use plumb_workload::{Content, OpKind, Replay, Timing};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum bytes of one call.
const MOVED_MAX: u64 = 64 << 20;

/// Minimum memory of a lane.
const MEMORY_MIN: u64 = 32 << 10;

/// Storage that a replay uses.
#[derive(Clone)]
enum Place {
    Files { root: Arc<OwnedFd>, path: PathBuf, paths: Arc<Paths>, content: Content },
    Sim { device: SimDevice, layout: Arc<Layout> },
}

/// State shared by the workers of a replay group.
#[derive(Clone)]
pub(crate) struct ReplayGroup {
    replay: Replay,
    place: Place,
    deal: Arc<Deal>,
    survey: Arc<CallSurvey>,
    pub(crate) tally: Arc<ReplayTally>,
}

impl ReplayGroup {
    /// Prepares a replay on files.
    pub(crate) fn on_files(
        seat: &WorkerSeat<'_>,
        replay: &Replay,
        files: &OpenRecorded,
        setting: &Setting<'_>,
    ) -> Result<ReplayGroup, WorkerPlanError> {
        let root = files.root.as_fd().try_clone_to_owned();
        let root = root.map_err(|error| seat.error(format!("{}: {error}", files.path().display())))?;
        let paths = Arc::clone(&files.paths);
        let place = Place::Files {
            root: Arc::new(root),
            path: files.path().to_owned(),
            paths: Arc::clone(&paths),
            content: files.content,
        };
        ReplayGroup::new(seat, replay, Arc::clone(&files.survey), &paths, place, setting)
    }

    /// Prepares a replay on a simulated device.
    pub(crate) fn on_device(
        seat: &WorkerSeat<'_>,
        replay: &Replay,
        device: &SimDevice,
        bytes: u64,
        setting: &Setting<'_>,
    ) -> Result<ReplayGroup, WorkerPlanError> {
        let survey = surveyed(setting, replay).map_err(|error| seat.error(error))?;
        let paths = Paths::new(&survey.paths);
        let layout = Arc::new(Layout::new(&survey.reaches, bytes));
        let place = Place::Sim { device: device.clone(), layout };
        ReplayGroup::new(seat, replay, Arc::new(survey), &paths, place, setting)
    }

    fn new(
        seat: &WorkerSeat<'_>,
        replay: &Replay,
        survey: Arc<CallSurvey>,
        paths: &Paths,
        place: Place,
        setting: &Setting<'_>,
    ) -> Result<ReplayGroup, WorkerPlanError> {
        check(replay, &survey).map_err(|error| seat.error(error))?;
        let recordings = setting.recordings.ok_or_else(|| seat.error("recordings cannot be read here"))?;
        let calls = recordings.open_calls(replay).map_err(|error| seat.error(error))?;
        let lanes = seat.group.count;
        let dealer = Dealer::new(calls, &survey, paths.ancestors(), replay.order, lanes);
        let is_virtual = matches!(place, Place::Sim { .. });
        let deal = Deal::begin(dealer, lanes, is_virtual)
            .map_err(|error| seat.error(format!("cannot start the thread that reads the recording: {error}")))?;
        let tally = Arc::new(ReplayTally::new(&survey, replay.timing, replay.order, lanes));
        Ok(ReplayGroup { replay: replay.clone(), place, deal, survey, tally })
    }
}

/// Checks that the recording supports the requested timing, and that its calls are not too large.
fn check(replay: &Replay, survey: &CallSurvey) -> Result<(), ReplayError> {
    let timing = match replay.timing {
        Timing::InFlight => Some("in-flight"),
        Timing::ThinkTimes => Some("think-times"),
        Timing::Recorded { .. } | Timing::AsFastAsPossible => None,
    };
    if let (Some(timing), None) = (timing, survey.busy_ns) {
        return Err(ReplayError::NoDurations { path: replay.path.clone(), timing });
    }
    if survey.largest_write > MOVED_MAX {
        return Err(ReplayError::TooLarge {
            path: replay.path.clone(),
            kind: OpKind::Write,
            bytes: survey.largest_write,
            most: MOVED_MAX,
        });
    }
    Ok(())
}

/// A worker of a replay before it starts.
pub(crate) struct ReplayWorker {
    pub(crate) group: ReplayGroup,
    /// Number of the worker in its group.
    pub(crate) lane: u32,
    /// Random stream of the content, different in every run.
    pub(crate) content_stream: StreamId,
}

impl ReplayWorker {
    /// Returns the function that the worker runs.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let ReplayGroup { place, deal, survey, tally, .. } = &self.group;
        match place {
            Place::Sim { device, layout } => {
                barrier.report().backend.write(b"sim");
                self.on(barrier, SimulatedCalls::new(device.clone(), layout))
            }
            Place::Files { root, path, paths, content } => {
                barrier.report().backend.write(b"psync");
                let bytes = survey.largest_read.max(survey.largest_write).clamp(MEMORY_MIN, MOVED_MAX) as usize;
                let memory = Region::new(bytes).map_err(|source| WorkerError::Memory { bytes, source })?;
                let root = root.try_clone().map_err(|source| WorkerError::Backend { backend: "replay", source })?;
                let directories = OpenDirectories::new(root, path.clone(), Arc::clone(paths));
                let filler = Filler::new(*content, self.content_stream);
                self.on(
                    barrier,
                    RecordedCalls::new(deal, survey.has_handles, directories, memory, filler, tally.outcomes()),
                )
            }
        }
    }

    fn on<B>(&self, barrier: &Barrier, mut backend: B) -> Result<Ended, WorkerError>
    where
        B: SyncBackend<Op = super::call::DealtCall>,
    {
        let ReplayGroup { replay, deal, survey, tally, .. } = &self.group;
        barrier.expect(&survey.ops.keys().copied().collect());
        let mut source = LaneSource::new(deal, self.lane);
        let mut pacer = LanePacer::new(deal, &source, replay.timing, *barrier.clock(), tally.lane());
        deal.await_first(self.lane);
        let ended = run_to_end(barrier, &mut source, &mut backend, &mut pacer);
        match (ended, deal.error.text()) {
            // The calls before the read error were replayed.
            (Ended::Done, Some(text)) => Err(ReplayError::Read(text.into()).into()),
            (ended, _) => Ok(ended),
        }
    }
}
