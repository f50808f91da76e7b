//! Simulated devices named as a tool's files: names that begin with `sim:`, such as `sim:ssd?slow=5%`.
//!
//! For a tool such a name is a disk, or a directory on it if the tool needs one. This module answers what the tool
//! asks of the system before it builds its workload. Targets with the same name share one device.

use plumb_workload::files::Names;
use plumb_workload::{
    Backend, BlockStream, Bytes, CachePolicy, NullTarget, Phase, Program, RunAs, SimDevice, SimTarget, Target, Work,
    WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size of a device whose name does not state one (`sim:hdd?size=1TiB`).
const DEVICE_BYTES: u64 = 64 << 30;

/// Memory of the simulated machine, MiB.
pub const MEMORY_MIB: i64 = 1024;

/// Space for an empty file, bytes.
const SMALLEST_FILE_BYTES: u64 = 4096;

/// Files that return endless zeros or random bytes. A simulation reads them in no time.
const SOURCES: [&str; 3] = ["/dev/zero", "/dev/random", "/dev/urandom"];

/// Discards everything written to it.
const SINK: &str = "/dev/null";

/// Error from using a simulated device.
#[derive(Debug, thiserror::Error)]
pub enum Unsimulated {
    #[error(transparent)]
    Name(#[from] plumb_workload::sim::SimError),
    /// The value of `size=` is not a size.
    #[error("`size={text}` is not a size such as `1TiB`")]
    InvalidSize { text: String },
    /// The arguments name both simulated and real files.
    #[error("simulated and real files cannot be mixed in one run; name `sim:` devices only, or none")]
    Mixed,
    /// The arguments do not state the size of the files.
    #[error("`{name}` has no size here; give one")]
    Size { name: String },
    /// The tool's work needs real files.
    #[error("`{name}`: this needs real files; name a file")]
    Work { name: String },
    /// A companion needs real time.
    #[error("`{name}`: programs and CPU load take real time, which a simulated device does not have; remove it")]
    Companion { name: String },
}

/// A device name, parsed.
struct Named {
    device: SimDevice,
    /// Size, if the name states one.
    bytes: Option<u64>,
}

/// Returns the name of the simulated device that a path names, or contains as a parent.
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
            let text = setting.trim_start_matches("size=");
            let bytes = text.parse::<Bytes>().ok().filter(|bytes| bytes.0 > 0);
            bytes.map(|bytes| bytes.0).ok_or_else(|| Unsimulated::InvalidSize { text: text.to_owned() })
        };
        let settings = if faults.is_empty() { String::new() } else { format!("?{}", faults.join("&")) };
        let device = format!("{model}{settings}").parse()?;
        Ok(Named { device, bytes: sizes.last().map(bytes).transpose()? })
    }
}

/// Returns `true` if a path is a simulated device or a path on one.
pub fn is_named(path: &str) -> bool {
    device_of(Path::new(path)).is_some()
}

/// Returns the size of the simulated device that a path names; `None` for any other path.
///
/// # Errors
/// The device name is invalid.
pub fn device_bytes(path: &str) -> Result<Option<u64>, Unsimulated> {
    let named = device_of(Path::new(path)).map(Named::read).transpose()?;
    Ok(named.map(|named| named.bytes.unwrap_or(DEVICE_BYTES)))
}

/// Moves a workload to the simulated devices that its files name. Returns `None` if no file names one.
/// Relative names start at `base`.
///
/// # Errors
/// A device name is invalid, or the work cannot be simulated.
pub fn on_devices(workload: &Workload, base: &Path) -> Result<Option<Workload>, Unsimulated> {
    let base = base.to_str().filter(|base| base.starts_with("sim:")).map(Path::new);
    let mut simulated = workload.clone();
    // The target that owns each device, by device name.
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
            _ if { ends }.any(takes_no_time) => *target = Target::Null(NullTarget::with_size(Bytes(DEVICE_BYTES))),
            _ => return Err(Unsimulated::Mixed),
        }
    }
    if let Some(companion) = simulated.phase.iter().find_map(|phase| phase.companions.first()) {
        return Err(Unsimulated::Companion { name: companion.name.clone() });
    }
    simulated.phase.iter_mut().for_each(simulate);
    Ok(Some(simulated))
}

/// Returns a target on the device with this name, for its users.
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

/// Returns the total bytes of all `count` files, which have equal sizes, for a program with `workers` workers. Files
/// that are opened to move records extend as far as the program reaches; the others are small.
fn needed_by_program(program: &Program, workers: u32, count: u64) -> u64 {
    let of_run = |run: &plumb_workload::program::Postmark| run.high.0.next_multiple_of(SMALLEST_FILE_BYTES);
    if let Some(each) = program.postmarks().map(|step| of_run(&step.run)).max() {
        return count.saturating_mul(each);
    }
    let reach = program.reach_bytes();
    let parts_to_end = count - program.opened_files(workers, count).max(1).min(count) + 1;
    // The last opened file starts at its equal share of the space, and extends to the end.
    let opened = u128::from(reach) * u128::from(count);
    let opened = u64::try_from(opened.div_ceil(u128::from(parts_to_end.max(1)))).unwrap_or(u64::MAX);
    opened.max(count.saturating_mul(program.longest_file_bytes()))
}

/// Returns the first path of a target.
fn path_of(target: &Target) -> Option<PathBuf> {
    match target {
        Target::JobFiles(files) => files.names.path(0),
        Target::Scratch(scratch) => scratch.names.path(0),
        _ => target.path().map(Path::to_owned),
    }
}

/// Returns the highest offset that a stream reaches in each of its files.
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

/// Replaces backends, processes and cache policies: virtual time has no system calls and no processes.
fn simulate(phase: &mut Phase) {
    // A copy states how each end is opened, and makes its calls itself.
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
