//! Runs cases in forked processes, one case at a time in each. A case that hangs or dies fails only itself.

use crate::ctx::{Ctx, Stop};
use crate::facts::Facts;
use crate::image::{self, Image, Stage};
use crate::outcome::{Done, Failure, Outcome};
use crate::sys::{self, AT, Ended, Map, V, nr};
use crate::{Case, Place, cases, selects, tree};
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub struct Request<'a> {
    /// An empty directory that belongs to this run. Other users must be able to search it: mode 0755.
    pub directory: &'a Path,
    pub jobs: usize,
    /// Patterns of ids, as for [`selects`]; empty for all cases.
    pub only: &'a [String],
    /// Patterns of ids to leave out.
    pub without: &'a [String],
    /// Time limit of a case. A slower one is killed and not judged.
    pub limit: Duration,
    /// Record the calls of every case, not only of those that fail.
    pub with_calls: bool,
    /// Repeat failed cases to detect flaky ones.
    pub repeat: bool,
    /// Run in a user namespace of 65,536 IDs.
    pub in_user_namespace: bool,
    /// Called as cases end, with the number of ended cases and the total.
    pub progress: &'a mut dyn FnMut(usize, usize),
    /// Returns `true` if the run should stop.
    pub stop: &'a dyn Fn() -> bool,
}

pub struct Report {
    pub facts: Facts,
    /// The cases, in the order of [`cases`].
    pub done: Vec<Done>,
    pub wall: Duration,
    pub stopped: bool,
}

/// Reason why nothing was run.
#[derive(Debug)]
pub enum RunError {
    /// The directory cannot be used.
    Directory(PathBuf, i32),
    /// The patterns select no case.
    Nothing(Vec<String>),
    /// A user namespace cannot be made.
    Namespace(String),
    /// The probe exceeded its time limit, or died.
    Probe(PathBuf, String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Directory(path, error) => {
                let error = std::io::Error::from_raw_os_error(*error);
                write!(f, "cannot run cases in {}: {error}", path.display())
            }
            RunError::Nothing(patterns) => {
                write!(f, "no case matches {}; `plumb posix explain` lists all ids", patterns.join(", "))
            }
            RunError::Namespace(why) => write!(f, "no user namespace: {why}"),
            RunError::Probe(path, why) => {
                write!(f, "the file system of {} did not answer the probe: {why}", path.display())
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Time limit of the probe.
const PROBE_LIMIT: Duration = Duration::from_secs(60);
/// Polling interval of the watchdog.
const WATCH: Duration = Duration::from_millis(50);

/// Runs the selected cases.
///
/// # Errors
/// Returns an error if the directory cannot be used or no case is selected.
pub fn run(request: Request<'_>) -> Result<Report, RunError> {
    if request.in_user_namespace {
        return crate::namespace::run(request);
    }
    run_here(request)
}

/// Runs them with this process's identity.
pub(crate) fn run_here(request: Request<'_>) -> Result<Report, RunError> {
    let began = Instant::now();
    let cases = cases();
    let wanted = |case: &Case| {
        let matches = |patterns: &[String]| patterns.iter().any(|pattern| selects(pattern, &case.id));
        (request.only.is_empty() || matches(request.only)) && !matches(request.without)
    };
    let chosen: Vec<usize> = (0..cases.len()).filter(|index| wanted(&cases[*index])).collect();
    if chosen.is_empty() {
        return Err(RunError::Nothing(request.only.to_vec()));
    }
    let facts = probe(request.directory)?;
    let mut pool =
        Pool { request, cases: &cases, facts: &facts, workers: Vec::new(), made: 0, total: chosen.len(), ended: 0 };
    let mut done = pool.round(&chosen, pool.request.with_calls);
    // Repeat failed cases with their calls recorded.
    let failed = |done: &Done| matches!(done.outcome, Outcome::Fail(..) | Outcome::Broken(_));
    let is_repeated = |done: &&Done| pool.request.repeat && failed(done);
    let again: Vec<usize> = done.iter().filter(is_repeated).map(|done| done.case).collect();
    pool.total += again.len();
    let repeated = pool.round(&again, true);
    merge(&mut done, repeated);
    // Also run cases that others are blocked by, so that their defects are reported.
    let missing = missing(&done, &cases);
    pool.total += missing.len();
    let more = pool.round(&missing, true);
    done.extend(more);
    let stopped = (pool.request.stop)();
    pool.end();
    resolve(&mut done, &cases);
    let mut in_order: Vec<Option<Done>> = cases.iter().map(|_| None).collect();
    for one in done {
        let index = one.case;
        in_order[index] = Some(one);
    }
    let done = in_order.into_iter().flatten().collect();
    Ok(Report { facts, done, wall: began.elapsed(), stopped })
}

/// Merges a second run of failed cases: the same result, or flaky.
fn merge(done: &mut [Done], repeated: Vec<Done>) {
    for again in repeated {
        let Some(first) = done.iter_mut().find(|done| done.case == again.case) else { continue };
        match again.outcome {
            Outcome::Fail(..) | Outcome::Broken(_) => *first = again,
            _ => first.flaky = true,
        }
    }
}

/// Returns cases that others are blocked by and that did not run.
fn missing(done: &[Done], cases: &[Case]) -> Vec<usize> {
    let mut missing = Vec::new();
    for one in done {
        if let Outcome::Blocked { by, .. } = &one.outcome
            && let Some(index) = cases.iter().position(|case| case.id == *by)
            && !done.iter().any(|done| done.case == index)
            && !missing.contains(&index)
        {
            missing.push(index);
        }
    }
    missing
}

/// Resolves blocked cases. A case that is blocked by a passing one has failed itself. If several are, for the same
/// reason, the first one represents them: the others are blocked by it.
pub(crate) fn resolve(done: &mut [Done], cases: &[Case]) {
    let passed: Vec<usize> = done.iter().filter(|done| is_well(&done.outcome)).map(|done| done.case).collect();
    let mut stands_for: Vec<(String, usize)> = Vec::new();
    for one in done.iter_mut() {
        let Outcome::Blocked { by, why } = &mut one.outcome else { continue };
        let index = cases.iter().position(|case| case.id == *by);
        if index.is_some_and(|index| !passed.contains(&index) && index != one.case) {
            continue;
        }
        match stands_for.iter().find(|(reason, _)| reason == by) {
            Some((_, first)) => *by = cases[*first].id.clone(),
            None => {
                stands_for.push((by.clone(), one.case));
                let failure =
                    Failure { what: "the set-up".to_owned(), expected: "success".to_owned(), got: why.clone() };
                one.outcome = Outcome::Fail(vec![failure], 1);
            }
        }
    }
}

fn is_well(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pass | Outcome::Skip(..))
}

/// Probes in a separate process: probing changes the process, and may hang.
fn probe(directory: &Path) -> Result<Facts, RunError> {
    let failed = |error: i32| RunError::Directory(directory.to_owned(), error);
    let base = open_directory(directory).map_err(failed)?;
    let map = Map::shared(-1, 0, 4096).map_err(failed)?;
    let pid = sys::spawn(&mut || {
        sys::lead_group();
        if enter(base, "probe").is_err() {
            return 1;
        }
        let _ = sys::call(nr!(umask), &[V::O(0)]);
        map.put(Facts::probe());
        0
    })
    .map_err(failed)?;
    let ended = sys::wait(pid, PROBE_LIMIT);
    if ended.is_none() {
        sys::kill(pid);
    }
    tree::remove(base, b"probe");
    sys::close(base);
    match ended {
        Some(Ended::Code(0)) => Ok(map.take()),
        Some(Ended::Code(_)) => Err(failed(libc::EACCES)),
        Some(Ended::Signal(signal)) => Err(RunError::Probe(directory.to_owned(), format!("signal {signal}"))),
        None => Err(RunError::Probe(directory.to_owned(), "it hangs".to_owned())),
    }
}

fn open_directory(path: &Path) -> Result<i32, i32> {
    use std::os::unix::ffi::OsStrExt as _;
    let flags = V::N(i64::from(libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC));
    sys::call(nr!(openat), &[AT, V::S(path.as_os_str().as_bytes()), flags]).map(|fd| fd as i32)
}

/// Makes a directory in another, and makes it the working directory.
fn enter(base: i32, name: &str) -> sys::R {
    sys::call(nr!(fchdir), &[V::Fd(base)])?;
    match sys::call(nr!(mkdirat), &[AT, V::P(name), V::O(0o755)]) {
        Ok(_) | Err(libc::EEXIST) => {}
        error => return error,
    }
    sys::call(nr!(chdir), &[V::P(name)])
}

/// A process that runs cases.
struct Worker {
    pid: i64,
    fd: i32,
    /// Whether it runs only cases that need an image.
    is_for_images: bool,
    current: Option<(usize, Instant)>,
}

struct Pool<'r, 'a> {
    request: Request<'r>,
    cases: &'a [Case],
    facts: &'a Facts,
    workers: Vec<Worker>,
    made: usize,
    total: usize,
    ended: usize,
}

impl Pool<'_, '_> {
    /// Runs cases, and returns their results in the order in which they ended.
    fn round(&mut self, chosen: &[usize], with_calls: bool) -> Vec<Done> {
        let is_for_image = |index: &usize| self.cases[*index].place >= Place::Image;
        let cases = self.cases;
        let on = |place: Place| chosen.iter().copied().filter(move |index| cases[*index].place == place);
        let mut images: VecDeque<usize> =
            on(Place::Image).chain(on(Place::Full)).chain(on(Place::ReadOnly)).chain(on(Place::Quota)).collect();
        let mut here: VecDeque<usize> = chosen.iter().copied().filter(|index| !is_for_image(index)).collect();
        let mut done = Vec::new();
        // An image in its last stage cannot be reused.
        self.workers.retain(|worker| match worker.is_for_images {
            true => {
                sys::kill(worker.pid);
                sys::close(worker.fd);
                false
            }
            false => true,
        });
        loop {
            let stop = (self.request.stop)();
            let queue_of = |is_for_images: bool| if is_for_images { images.len() } else { here.len() };
            let workers_of = |is_for_images: bool| {
                self.workers.iter().filter(|worker| worker.is_for_images == is_for_images).count()
            };
            let wanted = [(false, self.request.jobs.max(1)), (true, 1)];
            let lacking = wanted.into_iter().find(|(is_for_images, most)| {
                let idle = self
                    .workers
                    .iter()
                    .any(|worker| worker.is_for_images == *is_for_images && worker.current.is_none());
                queue_of(*is_for_images) > 0 && workers_of(*is_for_images) < *most && !idle
            });
            if let Some((is_for_images, _)) = lacking
                && !stop
            {
                match self.start(is_for_images) {
                    Ok(worker) => self.workers.push(worker),
                    Err(error) if self.workers.is_empty() => {
                        let why = format!("no process: {}", crate::errno::name(error));
                        let rest = here.drain(..).chain(images.drain(..));
                        done.extend(rest.map(|case| broken(case, &why)));
                    }
                    Err(_) => {}
                }
            }
            for worker in self.workers.iter_mut().filter(|worker| worker.current.is_none() && !stop) {
                let queue = if worker.is_for_images { &mut images } else { &mut here };
                let Some(case) = queue.pop_front() else { continue };
                let message = [&(case as u32).to_le_bytes()[..], &[u8::from(with_calls)]].concat();
                let sent = sys::call(nr!(write), &[V::Fd(worker.fd), V::B(&message), V::N(message.len() as i64)]);
                worker.current = Some((case, Instant::now()));
                // A dead worker is detected below, by its closed socket.
                let _ = sent;
            }
            if self.workers.iter().all(|worker| worker.current.is_none())
                && (stop || here.is_empty() && images.is_empty())
            {
                return done;
            }
            let fds: Vec<i32> = self.workers.iter().map(|worker| worker.fd).collect();
            let ready = sys::readable(&fds, WATCH);
            let mut gone = Vec::new();
            for (at, worker) in self.workers.iter_mut().enumerate() {
                let Some((case, since)) = worker.current else { continue };
                let ended = if ready.contains(&worker.fd) {
                    receive(worker, case)
                } else if since.elapsed() > self.request.limit || stop {
                    sys::kill(worker.pid);
                    let micros = since.elapsed().as_micros() as u64;
                    Received::Gone(Done { outcome: Outcome::Timeout, micros, ..broken(case, "") })
                } else {
                    continue;
                };
                worker.current = None;
                self.ended += 1;
                match ended {
                    Received::Done(one) => done.push(one),
                    Received::Gone(one) => {
                        if !stop {
                            done.push(one);
                        }
                        gone.push(at);
                    }
                }
            }
            for at in gone.into_iter().rev() {
                let worker = self.workers.remove(at);
                sys::close(worker.fd);
            }
            (self.request.progress)(self.ended, self.total);
        }
    }

    fn start(&mut self, is_for_images: bool) -> Result<Worker, i32> {
        let [ours, theirs] = sys::channel()?;
        let directory = self.request.directory;
        let name = format!("w{}", self.made);
        self.made += 1;
        let (facts, cases) = (self.facts, self.cases);
        let pid = sys::spawn(&mut || {
            sys::lead_group();
            sys::close(ours);
            work(theirs, directory, &name, facts, cases)
        });
        sys::close(theirs);
        match pid {
            Ok(pid) => Ok(Worker { pid, fd: ours, is_for_images, current: None }),
            Err(error) => {
                sys::close(ours);
                Err(error)
            }
        }
    }

    /// Ends the workers, which remove their directories.
    fn end(&mut self) {
        for worker in &self.workers {
            sys::close(worker.fd);
        }
        for worker in self.workers.drain(..) {
            if sys::wait(worker.pid, Duration::from_secs(10)).is_none() {
                sys::kill(worker.pid);
            }
        }
        // Remove directories of killed workers.
        if let Ok(base) = open_directory(self.request.directory) {
            (0..self.made).for_each(|number| tree::remove(base, format!("w{number}").as_bytes()));
            sys::close(base);
        }
    }
}

fn broken(case: usize, why: &str) -> Done {
    Done { case, outcome: Outcome::Broken(why.to_owned()), checks: 0, flaky: false, calls: Vec::new(), micros: 0 }
}

enum Received {
    Done(Done),
    Gone(Done),
}

/// Maximum length of a message.
const MESSAGE_MAX: usize = 1 << 18;

fn receive(worker: &Worker, case: usize) -> Received {
    let mut bytes = vec![0u8; MESSAGE_MAX];
    let read = sys::call(nr!(read), &[V::Fd(worker.fd), V::W(sys::cells(&mut bytes)), V::N(MESSAGE_MAX as i64)]);
    match read {
        Ok(length) if length > 0 => {
            let text = String::from_utf8_lossy(&bytes[..length as usize]);
            Received::Done(Done::of_message(&text).unwrap_or_else(|| broken(case, "its result could not be read")))
        }
        _ => {
            let ended = sys::wait(worker.pid, Duration::from_secs(1));
            sys::kill(worker.pid);
            let why = match ended {
                Some(Ended::Signal(signal)) => format!("its process died of signal {signal}"),
                Some(Ended::Code(code)) => format!("its process ended with {code}"),
                None => "its process went away".to_owned(),
            };
            Received::Gone(broken(case, &why))
        }
    }
}

/// Runs a worker until its socket is closed.
fn work(socket: i32, directory: &Path, name: &str, facts: &Facts, cases: &[Case]) -> i32 {
    let _ = sys::call(nr!(umask), &[V::O(0)]);
    if facts.mounts {
        let _ = image::private_mounts();
    }
    // Open it in the new namespace: mounts are not visible through a descriptor of another one.
    let Ok(base) = open_directory(directory) else { return 3 };
    if enter(base, name).is_err() {
        return 3;
    }
    let here = match open_directory(Path::new(".")) {
        Ok(here) => here,
        Err(_) => return 3,
    };
    let mut image: Option<Made> = None;
    let keep = V::N(i64::from(socket.max(base).max(here)) + 1);
    loop {
        let mut message = [0u8; 5];
        match sys::call(nr!(read), &[V::Fd(socket), V::W(sys::cells(&mut message)), V::N(5)]) {
            Ok(5) => {}
            _ => break,
        }
        let index = u32::from_le_bytes([message[0], message[1], message[2], message[3]]) as usize;
        let done = one(index, message[4] != 0, &cases[index], facts, here, &mut image);
        let _ = sys::call(nr!(close_range), &[keep, V::N(i64::from(u32::MAX)), V::N(0)]);
        let text = done.to_message();
        if sys::call(nr!(write), &[V::Fd(socket), V::B(text.as_bytes()), V::N(text.len() as i64)]).is_err() {
            return 4;
        }
    }
    let _ = sys::call(nr!(fchdir), &[V::Fd(base)]);
    if image.is_some() {
        let place = format!("{name}/{}", image::MOUNT_POINT);
        let _ = sys::call(nr!(umount2), &[V::P(&place), V::N(2)]);
    }
    tree::remove(base, name.as_bytes());
    0
}

fn one(index: usize, with_calls: bool, case: &Case, facts: &Facts, here: i32, image: &mut Option<Made>) -> Done {
    let began = Instant::now();
    let mut cx = Ctx::new(facts, with_calls);
    let on_image = case.place >= Place::Image;
    let ready = if on_image { on(image, case.place, facts, here) } else { own_directory(here, index) };
    let ended = ready.and_then(|()| case.execute(&mut cx));
    cx.switch(None);
    if !on_image {
        let _ = sys::call(nr!(fchdir), &[V::Fd(here)]);
        tree::remove(here, directory_of(index).as_bytes());
    }
    let outcome = match ended {
        _ if cx.failed > 0 => Outcome::Fail(std::mem::take(&mut cx.failures), cx.failed),
        Ok(()) if cx.checks == 0 => Outcome::Broken("it executed no check".to_owned()),
        Ok(()) => Outcome::Pass,
        Err(Stop::Skip(kind, why)) => Outcome::Skip(kind, why),
        Err(Stop::Blocked(by, why)) => Outcome::Blocked { by: by.to_owned(), why },
    };
    let (checks, calls) = (cx.checks, cx.calls.take().unwrap_or_default());
    Done { case: index, outcome, checks, flaky: false, calls, micros: began.elapsed().as_micros() as u64 }
}

/// Returns the directory of a case. Separate ones, so that leftovers of one do not affect another.
fn directory_of(case: usize) -> String {
    format!("case-{case}")
}

fn own_directory(here: i32, case: usize) -> Result<(), Stop> {
    let entered = enter(here, &directory_of(case));
    entered
        .map(|_| ())
        .map_err(|error| Stop::Blocked("make.dir", format!("its directory: {}", crate::errno::name(error))))
}

/// The image of a worker, or the reason why it has none.
struct Made {
    /// Whether it is the one with quotas.
    has_quota: bool,
    image: Result<Image, Stop>,
}

/// Advances the image to the stage of a place. Makes it first if needed.
fn on(made: &mut Option<Made>, place: Place, facts: &Facts, here: i32) -> Result<(), Stop> {
    let stage = match place {
        Place::Full => Stage::Full,
        Place::ReadOnly => Stage::ReadOnly,
        Place::Quota => Stage::Quota,
        Place::Here | Place::Mounts | Place::Image => Stage::Fresh,
    };
    let has_quota = stage == Stage::Quota;
    let other = made.take_if(|made| made.has_quota != has_quota).is_some();
    // Without an image, a bind mount may serve as the last stage.
    let fails = made.as_ref().is_some_and(|made| made.image.is_err());
    if made.is_none() || fails && stage == Stage::ReadOnly {
        let _ = sys::call(nr!(fchdir), &[V::Fd(here)]);
        if other {
            let _ = sys::call(nr!(umount2), &[V::P(image::MOUNT_POINT), V::N(2)]);
        }
        *made = Some(Made { has_quota, image: Image::make(facts, stage) });
    }
    match made.as_mut().map(|made| &mut made.image) {
        Some(Ok(image)) => image.enter(facts, stage),
        Some(Err(Stop::Skip(kind, why))) => Err(Stop::Skip(*kind, why.clone())),
        Some(Err(Stop::Blocked(by, why))) => Err(Stop::Blocked(by, why.clone())),
        None => Err(Stop::Blocked("make.dir", "no image".to_owned())),
    }
}
