//! Shared helpers of the tests: a place to run in, an observer, and small file systems.

use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::{CarriedDebt, SimRun};
use plumb_engine::testdir::TestDirs;
use plumb_engine::trace::Recordings;
use plumb_engine::{DropCaches, EngineError, Live, MpiIo, Nobody, Observer, Part, Setting, TargetView};
use plumb_result::{Measurement, PhaseMeasurement, PhaseObservations};
use plumb_workload::{OpKind, RunAs, Workload};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError, RwLock, mpsc};
use std::time::Duration;
use tempfile::TempDir;

/// Held for writing by a run that forks. Its workers inherit every open descriptor of this program. They would hold the
/// devices and listeners of other tests' runs, and the guard would see another process with their files open.
static FORKS: RwLock<()> = RwLock::new(());

/// A place to run workloads in, which is removed afterwards.
pub(crate) struct Place {
    base: TempDir,
    state: TempDir,
    pub stop: StopFlag,
    pub content_seed: u64,
    pub drop_caches: DropCaches,
    pub sim_run: SimRun,
    pub permissions: Permissions,
    pub recordings: Option<&'static dyn Recordings>,
    pub part: Part,
    pub mpi_io: Option<Arc<dyn MpiIo>>,
}

impl Place {
    /// Next to the compiled tests: more often a real file system than /tmp.
    pub(crate) fn new() -> Place {
        Place::on(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    pub(crate) fn on(directory: &Path) -> Place {
        Place {
            base: tempfile::tempdir_in(directory).unwrap(),
            state: tempfile::tempdir().unwrap(),
            stop: StopFlag::detached(),
            content_seed: 0,
            drop_caches: DropCaches::Never,
            sim_run: SimRun { seed: 1, run_index: 0, plot_index: 0 },
            permissions: Permissions::none(),
            recordings: None,
            part: Part::All,
            mpi_io: None,
        }
    }

    /// State directory: the records of test directories and files.
    pub(crate) fn state(&self) -> &Path {
        self.state.path()
    }

    /// Runs a workload whose text is valid, watched by `observer`.
    pub(crate) fn try_run(&self, text: &str, observer: &mut dyn Observer) -> Result<Measurement, EngineError> {
        let workload = workload(text);
        let forks = workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| group.run_as == RunAs::Process);
        let (_alone, _beside) = match forks {
            true => (Some(FORKS.write().unwrap_or_else(PoisonError::into_inner)), None),
            false => (None, Some(FORKS.read().unwrap_or_else(PoisonError::into_inner))),
        };
        let test_dirs = TestDirs::new(self.state.path());
        let setting = Setting {
            kept: None,
            base: self.base.path(),
            permissions: &self.permissions,
            stop: self.stop,
            test_dirs: &test_dirs,
            drop_caches: self.drop_caches,
            sim_run: self.sim_run,
            sim_debt: CarriedDebt::default(),
            content_seed: self.content_seed,
            recordings: self.recordings,
            net: None,
            unopened: Default::default(),
            say: |_| {},
            copy_listener: None,
            part: self.part,
            others: None,
            mpi_io: self.mpi_io.clone(),
        };
        let outcome = plumb_engine::run(&workload, &setting, observer);
        assert_eq!(self.left_behind(), Vec::<PathBuf>::new(), "test directories are removed after every run");
        outcome
    }

    pub(crate) fn watch(&self, text: &str, observer: &mut dyn Observer) -> Measurement {
        self.try_run(text, observer).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    pub(crate) fn run(&self, text: &str) -> Measurement {
        self.watch(text, &mut Nobody)
    }

    /// Runs a workload of one phase, and returns that phase.
    pub(crate) fn phase(&self, text: &str) -> PhaseMeasurement {
        let mut measurement = self.run(text);
        assert_eq!((measurement.phases.len(), measurement.interrupted), (1, false));
        measurement.phases.remove(0)
    }

    /// Base of the relative paths of jobs.
    pub(crate) fn base(&self) -> &Path {
        self.base.path()
    }

    /// Returns the test directories that still exist.
    pub(crate) fn left_behind(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.base.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("plumb-test-")).collect()
    }
}

/// Parses a workload; panics with the line of an error.
pub(crate) fn workload(text: &str) -> Workload {
    plumb_workload_text::native::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Called with a name and the targets.
type Hook<'a> = Box<dyn FnMut(&str, &[TargetView<'_>]) + 'a>;

/// Called with the value reported to the observer.
type Reported<'a, T> = Box<dyn FnMut(&T) + 'a>;

/// Called with the reported text.
type TextHook<'a> = Box<dyn FnMut(&str) + 'a>;

/// Observes a run, logs the calls in order, and runs a test's hook at each point.
#[derive(Default)]
pub(crate) struct Spy<'a> {
    /// `ready`, `begins NAME`, `clock NAME`, `stopped NAME`, `simulated NAME`; neither preparations nor intervals.
    pub log: Vec<String>,
    pub preparing: Vec<String>,
    pub intervals: Vec<Live>,
    pub observations: Vec<PhaseObservations>,
    pub at_begin: Option<Hook<'a>>,
    pub at_end: Option<Hook<'a>>,
    pub at_interval: Option<Reported<'a, Live>>,
    pub at_preparing: Option<TextHook<'a>>,
}

impl<'a> Spy<'a> {
    pub(crate) fn at_begin(hook: impl FnMut(&str, &[TargetView<'_>]) + 'a) -> Spy<'a> {
        Spy { at_begin: Some(Box::new(hook)), ..Spy::default() }
    }

    pub(crate) fn at_end(hook: impl FnMut(&str, &[TargetView<'_>]) + 'a) -> Spy<'a> {
        Spy { at_end: Some(Box::new(hook)), ..Spy::default() }
    }
}

impl Observer for Spy<'_> {
    fn preparing(&mut self, what: &str) {
        self.preparing.push(what.to_owned());
        if let Some(hook) = &mut self.at_preparing {
            hook(what);
        }
    }

    fn targets_ready(&mut self, _targets: &[TargetView<'_>]) {
        self.log.push("ready".to_owned());
    }

    fn phase_begins(&mut self, phase: &str, targets: &[TargetView<'_>]) {
        self.log.push(format!("begins {phase}"));
        if let Some(hook) = &mut self.at_begin {
            hook(phase, targets);
        }
    }

    fn clock_starts(&mut self, phase: &str) {
        self.log.push(format!("clock {phase}"));
    }

    fn interval(&mut self, live: &Live) {
        if let Some(hook) = &mut self.at_interval {
            hook(live);
        }
        self.intervals.push(live.clone());
    }

    fn clock_stopped(&mut self, phase: &str, targets: &[TargetView<'_>], _processes: &[u32]) {
        self.log.push(format!("stopped {phase}"));
        if let Some(hook) = &mut self.at_end {
            hook(phase, targets);
        }
    }

    fn simulated(&mut self, phase: PhaseObservations) {
        self.log.push(format!("simulated {}", phase.name));
        self.observations.push(phase);
    }
}

/// Returns everything below a root except directories, in order.
pub(crate) fn tree_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Returns the completed ops of one kind.
pub(crate) fn count(phase: &PhaseMeasurement, kind: OpKind) -> u64 {
    phase.ops.get(&kind).map_or(0, |op| op.count)
}

/// Returns the bytes of one kind of op.
pub(crate) fn bytes(phase: &PhaseMeasurement, kind: OpKind) -> u64 {
    phase.ops.get(&kind).map_or(0, |op| op.bytes)
}

/// Checks the invariants of every phase.
pub(crate) fn consistent(phase: &PhaseMeasurement) {
    let name = &phase.name;
    for (kind, op) in &phase.ops {
        assert_eq!(op.count, op.service.count(), "{name}: {} matches its histogram", kind.name());
        if !kind.moves_bytes() {
            assert_eq!(op.bytes, 0, "{name}: a {} moves no bytes", kind.name());
        }
        let by_interval: u64 = phase.intervals.iter().filter_map(|i| i.ops.get(kind)).map(|counts| counts.count).sum();
        assert_eq!(by_interval, op.count, "{name}: the series of {} adds up to the total", kind.name());
    }
    let workers = |pick: fn(&plumb_result::WorkerMeasurement) -> u64| phase.workers.iter().map(pick).sum::<u64>();
    assert_eq!(workers(|worker| worker.count), phase.count(), "{name}: workers add up");
    assert_eq!(workers(|worker| worker.bytes), phase.bytes(), "{name}: workers add up");
    let mut at = 0;
    for interval in &phase.intervals {
        assert_eq!(interval.start_ns, at, "{name}: intervals follow each other");
        assert!(interval.length_ns > 0);
        at += interval.length_ns;
    }
    assert!(phase.first_done_ns.unwrap_or(0) <= phase.wall_ns);
    assert!(phase.workers.iter().all(|worker| worker.wall_ns <= phase.wall_ns));
    let (counted, listed) = (phase.fault_count, &phase.faults);
    assert!(counted >= listed.len() as u64, "{name}: all faults are counted: {counted} of {listed:?}");
}

/// Far longer than any test may take, even on a busy machine.
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

/// Runs `work`, and fails if it does not end in time. The wait is split into slices, so that a machine suspended in
/// between loses at most one of them.
pub(crate) fn within<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> T {
    const SLICE: Duration = Duration::from_millis(500);
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || sender.send(work()).is_ok());
    for _ in 0..limit.as_millis() / SLICE.as_millis() {
        match receiver.recv_timeout(SLICE) {
            Ok(value) => return value,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("the thread ended without a panic and without a value"),
            },
        }
    }
    panic!("the test has not ended after {limit:?}")
}

/// Prints that a test was skipped. In CI, where everything must be available, this is a failure.
pub(crate) fn skipped(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "cannot be skipped under CI: {reason}");
    eprintln!("SKIPPED: {reason}");
}

fn command(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A small file system of its own, unmounted when it is dropped.
pub(crate) struct Mounted {
    root: TempDir,
    device: Option<String>,
    image: Option<tempfile::NamedTempFile>,
}

impl Mounted {
    /// Mounts a tmpfs; prints a notice and returns `None` if that is impossible.
    pub(crate) fn tmpfs(bytes: u64) -> Option<Mounted> {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().to_str().unwrap();
        if command("mount", &["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs", target]).is_none() {
            skipped("mounting a tmpfs needs root");
            return None;
        }
        Some(Mounted { root, device: None, image: None })
    }

    /// Mounts a file system of `kind` (`ext4`, `xfs` or `btrfs`); prints a notice and
    /// returns `None` if that is impossible.
    pub(crate) fn on_loop(kind: &str, bytes: u64) -> Option<Mounted> {
        Mounted::on_loop_in(Path::new(env!("CARGO_TARGET_TMPDIR")), kind, bytes)
    }

    /// Like [`on_loop`](Mounted::on_loop), with its sparse image in a directory.
    pub(crate) fn on_loop_in(directory: &Path, kind: &str, bytes: u64) -> Option<Mounted> {
        let mounted = Mounted::try_on_loop_in(directory, kind, bytes);
        if mounted.is_none() {
            skipped(&format!("mounting {kind} on a loop device needs root, mkfs.{kind} and kernel support"));
        }
        mounted
    }

    /// Like [`on_loop_in`](Mounted::on_loop_in), without a notice.
    pub(crate) fn try_on_loop_in(directory: &Path, kind: &str, bytes: u64) -> Option<Mounted> {
        let image = tempfile::NamedTempFile::new_in(directory).unwrap();
        image.as_file().set_len(bytes).unwrap();
        let path = image.path().to_str().unwrap();
        let quiet: &[&str] = if kind == "minix" { &[] } else { &["-q"] };
        command(&format!("mkfs.{kind}"), &[quiet, &[path]].concat())?;
        let device = command("losetup", &["-f", "--show", path])?;
        let root = tempfile::tempdir().unwrap();
        let mounted = command("mount", &["-t", kind, &device, root.path().to_str().unwrap()]);
        let file_system = Mounted { root, device: Some(device), image: Some(image) };
        mounted.map(|_| file_system)
    }

    /// Image file that contains the file system.
    pub(crate) fn image(&self) -> &Path {
        self.image.as_ref().map_or(Path::new(""), |image| image.path())
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Loop device of the file system.
    pub(crate) fn device(&self) -> &str {
        self.device.as_deref().unwrap_or_default()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let root = self.root.path().to_str().unwrap();
        // A worker process of another test may briefly hold a copy of a descriptor.
        for _ in 0..100 {
            if command("umount", &[root]).is_some() || command("mountpoint", &["-q", root]).is_none() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        if let Some(device) = &self.device {
            command("losetup", &["-d", device]);
        }
    }
}
