//! Tools' files that are simulated devices: names that begin with `sim:`, such as `sim:ssd?slow=5%`.
//!
//! To a tool such a name is a disk, and a directory of it where the tool wants one; what it asks of the machine before it
//! makes its workload is answered here. The targets of one name share one device.

use plumb_workload::files::Names;
use plumb_workload::{
    Backend, BlockStream, Bytes, CachePolicy, NullTarget, Phase, Program, RunAs, SimDevice, SimTarget, Target, Work,
    WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size of a device whose name does not say it (`sim:hdd?size=1TiB`).
const DEVICE_BYTES: u64 = 64 << 30;

/// Memory of the machine that simulated devices are in, MiB.
pub const MEMORY_MIB: i64 = 1024;

/// A file that holds nothing has a place of its own all the same, bytes.
const SMALLEST_FILE_BYTES: u64 = 4096;

/// What holds zeros or random bytes without end, and takes no time to give them.
const SOURCES: [&str; 3] = ["/dev/zero", "/dev/random", "/dev/urandom"];

/// What takes everything.
const SINK: &str = "/dev/null";

/// Why a simulated device cannot stand where it is named.
#[derive(Debug, thiserror::Error)]
pub enum Unsimulated {
    /// It is none.
    #[error(transparent)]
    Name(#[from] plumb_workload::sim::SimError),
    /// Its size is none.
    #[error("`size={said}` is not a size such as `1TiB`")]
    SaidSize {
        /// What was found.
        said: String,
    },
    /// The words have files of both kinds.
    #[error("simulated and real files cannot be mixed in one run; name `sim:` devices only, or none")]
    Mixed,
    /// Nothing says how large the files are.
    #[error("`{name}` has no size here; give one")]
    Size {
        /// The device.
        name: String,
    },
    /// The tool's work needs real files.
    #[error("`{name}`: this needs real files; name a file")]
    Work {
        /// The device.
        name: String,
    },
    /// A companion needs real time.
    #[error("`{name}`: programs and CPU load take real time, which a simulated device does not have; remove it")]
    Companion {
        /// The job that it is.
        name: String,
    },
}

/// A device as it is named.
struct Named {
    device: SimDevice,
    /// As its name says.
    bytes: Option<u64>,
}

/// The name of the simulated device that a path leads to, or below.
fn device_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let device = &text[text.find("sim:").filter(|&at| at == 0 || text[..at].ends_with('/'))?..];
    Some(device.split('/').next().unwrap_or(device))
}

impl Named {
    fn read(name: &str) -> Result<Named, Unsimulated> {
        let (model, settings) = name.split_once('?').unwrap_or((name, ""));
        let (sizes, faults): (Vec<&str>, Vec<&str>) =
            settings.split('&').filter(|setting| !setting.is_empty()).partition(|setting| setting.starts_with("size="));
        let bytes = |setting: &&str| {
            let said = setting.trim_start_matches("size=");
            let bytes = said.parse::<Bytes>().ok().filter(|bytes| bytes.0 > 0);
            bytes.map(|bytes| bytes.0).ok_or_else(|| Unsimulated::SaidSize { said: said.to_owned() })
        };
        let settings = if faults.is_empty() { String::new() } else { format!("?{}", faults.join("&")) };
        let device = format!("{model}{settings}").parse()?;
        Ok(Named { device, bytes: sizes.last().map(bytes).transpose()? })
    }
}

/// Whether a path is that of a simulated device, or below one.
pub fn is_named(path: &str) -> bool {
    device_of(Path::new(path)).is_some()
}

/// The size of the simulated device that a path is; `None` for another path.
///
/// # Errors
/// The name is none of a device.
pub fn device_bytes(path: &str) -> Result<Option<u64>, Unsimulated> {
    let named = device_of(Path::new(path)).map(Named::read).transpose()?;
    Ok(named.map(|named| named.bytes.unwrap_or(DEVICE_BYTES)))
}

/// The workload on the simulated devices that its files name; `None` where they name none. Relative names begin at `base`.
///
/// # Errors
/// A name is none, or what it names cannot be simulated.
pub fn on_devices(workload: &Workload, base: &Path) -> Result<Option<Workload>, Unsimulated> {
    let base = base.to_str().filter(|base| base.starts_with("sim:")).map(Path::new);
    let mut simulated = workload.clone();
    // Of each name, the target that has the device.
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for (name, target) in &workload.target {
        let Some(path) = path_of(target) else { continue };
        let path = base.map_or(path.clone(), |base| base.join(&path));
        let Some(device) = device_of(&path) else { continue };
        let users = workload.phase.iter().flat_map(|phase| &phase.workers);
        let users: Vec<&WorkerGroup> = users.filter(|group| group.targets().any(|user| user == name)).collect();
        let placed = on_device(target, &users, device)?;
        let owner = owners.entry(device.to_owned()).or_insert_with(|| name.clone());
        let shares = (owner != name).then(|| owner.clone());
        simulated.target.insert(name.clone(), Target::Sim(SimTarget { shares, ..placed }));
    }
    if owners.is_empty() {
        return Ok(None);
    }
    for (name, target) in &mut simulated.target {
        let ends = simulated.phase.iter().flat_map(|phase| &phase.workers).filter_map(|group| group.work.copy());
        let is_end = |end: &Option<String>| end.as_deref() == Some(name.as_str());
        let stands_for = |devices: &[&str]| {
            let path = path_of(target);
            path.is_some_and(|path| devices.iter().any(|device| path == Path::new(device)))
        };
        let takes_no_time = |copy: &plumb_workload::copy::CopySpec| match (is_end(&copy.from), is_end(&copy.to)) {
            (true, false) => stands_for(&SOURCES),
            (false, true) => stands_for(&[SINK]),
            _ => false,
        };
        match target {
            Target::Sim(_) => {}
            _ if { ends }.any(takes_no_time) => *target = Target::Null(NullTarget::of(Bytes(DEVICE_BYTES))),
            _ => return Err(Unsimulated::Mixed),
        }
    }
    if let Some(companion) = simulated.phase.iter().find_map(|phase| phase.companions.first()) {
        return Err(Unsimulated::Companion { name: companion.name.clone() });
    }
    simulated.phase.iter_mut().for_each(simulate);
    Ok(Some(simulated))
}

/// A target as one of the device of this name, for those who use it.
fn on_device(target: &Target, users: &[&WorkerGroup], name: &str) -> Result<SimTarget, Unsimulated> {
    let Named { device, bytes } = Named::read(name)?;
    if users.iter().any(|group| group.work.copy().is_some()) {
        let size = Bytes(bytes.unwrap_or(DEVICE_BYTES));
        return Ok(SimTarget { device, size, files: None, preallocated_percent: 0, shares: None });
    }
    let (names, lengths) = match target {
        Target::JobFiles(files) => (&files.names, files.lengths.as_slice()),
        Target::Scratch(scratch) if !matches!(scratch.names, Names::Trees(_)) => (&scratch.names, [].as_slice()),
        _ => return Err(Unsimulated::Work { name: name.to_owned() }),
    };
    if let Names::Postmark(run) = names
        && !run.locations.iter().all(|location| device_of(&location.path) == Some(name))
    {
        return Err(Unsimulated::Mixed);
    }
    let count = names.count() as u64;
    let laid_out = lengths.iter().map(|length| length.0).max().unwrap_or(0);
    let needed = |group: &&WorkerGroup| match &group.work {
        Work::Blocks(stream) => count.saturating_mul(reached_bytes(stream, count as usize)),
        Work::Program(program) => needed_by_program(program, group.count, count),
        _ => 0,
    };
    let needed = users.iter().map(needed).max().unwrap_or(0).max(count.saturating_mul(laid_out));
    let moves_bytes = users.iter().any(|group| group.work.op_kinds().iter().any(|kind| kind.moves_bytes()));
    let size = match bytes.unwrap_or(0).max(needed) {
        0 if moves_bytes => return Err(Unsimulated::Size { name: name.to_owned() }),
        0 => count.saturating_mul(SMALLEST_FILE_BYTES),
        bytes => bytes,
    };
    Ok(SimTarget {
        device,
        size: Bytes(size),
        files: (count > 1 || matches!(target, Target::Scratch(_))).then_some(count),
        preallocated_percent: 100,
        shares: None,
    })
}

/// Bytes of all `count` files together, which are equal, for a program of this many workers. The files that it opens to
/// move records reach as far as it goes; the others are small.
fn needed_by_program(program: &Program, workers: u32, count: u64) -> u64 {
    let of_run = |run: &plumb_workload::program::Postmark| run.high.0.next_multiple_of(SMALLEST_FILE_BYTES);
    if let Some(each) = program.postmarks().map(|step| of_run(&step.run)).max() {
        return count.saturating_mul(each);
    }
    let reach = program.reach_bytes();
    let behind = count - program.opened_files(workers, count).max(1).min(count) + 1;
    // The last of them begins at its equal part, and reaches to the end.
    let opened = u128::from(reach) * u128::from(count);
    let opened = u64::try_from(opened.div_ceil(u128::from(behind.max(1)))).unwrap_or(u64::MAX);
    opened.max(count.saturating_mul(program.longest_file_bytes()))
}

/// The first path of a target.
fn path_of(target: &Target) -> Option<PathBuf> {
    match target {
        Target::JobFiles(files) => files.names.path(0),
        Target::Scratch(scratch) => scratch.names.path(0),
        _ => target.path().map(Path::to_owned),
    }
}

/// How far a stream goes in each of its files.
fn reached_bytes(stream: &BlockStream, files: usize) -> u64 {
    match stream {
        BlockStream::Fio(stream) => {
            stream.ranges.iter().map(|range| range.start.0.saturating_add(range.length.0)).max().unwrap_or(0)
        }
        BlockStream::Sweep(sweep) => sweep.ends(files).into_iter().max().unwrap_or(0),
        BlockStream::Requests(requests) => requests.file_bytes.0,
        BlockStream::Accesses(accesses) => accesses.start.0.saturating_add(accesses.length.0),
        BlockStream::Plumb(_) | BlockStream::Trace(_) => 0,
    }
}

/// Virtual time has neither the kernel's calls nor its processes.
fn simulate(phase: &mut Phase) {
    // A copy says for each end how that is opened, and makes its calls by itself.
    if phase.workers.iter().any(|group| group.work.copy().is_some()) {
        return;
    }
    let direct = |group: &WorkerGroup| group.work.foreign_stream().is_some() && group.files.direct;
    phase.cache = if phase.workers.iter().all(direct) { CachePolicy::Direct } else { CachePolicy::AsIs };
    for group in &mut phase.workers {
        group.backend = Backend::Sim;
        group.run_as = RunAs::Thread;
    }
}
