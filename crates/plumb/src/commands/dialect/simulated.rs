//! Tools' files that are simulated devices: names that begin with `sim:`, such as `sim:ssd?slow=5%`.

use plumb_workload::files::Names;
use plumb_workload::{
    Backend, BlockStream, Bytes, CachePolicy, Phase, RunAs, SimDevice, SimTarget, Target, Work, WorkerGroup, Workload,
};
use std::path::PathBuf;

/// Why a simulated device cannot stand where it is named.
#[derive(Debug, thiserror::Error)]
pub enum Unsimulated {
    /// It is none.
    #[error(transparent)]
    Name(#[from] plumb_workload::sim::SimError),
    /// The words have files of both kinds.
    #[error("simulated and real files cannot be mixed in one run; name `sim:` devices only, or none")]
    Mixed,
    /// Nothing says how large the files are.
    #[error("`{name}` has no size of its own; say how large it is")]
    Size {
        /// The device.
        name: String,
    },
    /// The tool's work needs real files.
    #[error("`{name}`: copies, file sets and PostMark need real files; name a file")]
    Work {
        /// The device.
        name: String,
    },
    /// A companion needs real time.
    #[error("`{name}`: programs and load on processors take real time, and a simulated device has none; leave it out")]
    Companion {
        /// The job that it is.
        name: String,
    },
}

/// The workload on the simulated devices that its files name; `None` where they name none.
pub fn on_devices(workload: &Workload) -> Result<Option<Workload>, Unsimulated> {
    let mut simulated = workload.clone();
    for (name, target) in &workload.target {
        let Some(device) = device_of(target) else { continue };
        let (names, lengths) = match target {
            Target::JobFiles(files) => (&files.names, files.lengths.as_slice()),
            Target::Scratch(scratch) => (&scratch.names, [].as_slice()),
            _ => return Err(Unsimulated::Work { name: device }),
        };
        if let Names::Postmark(_) = names {
            return Err(Unsimulated::Work { name: device });
        }
        let parsed: SimDevice = device.parse()?;
        let count = names.count() as u64;
        let users = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == *name);
        let reach = |group: &WorkerGroup| match &group.work {
            Work::Blocks(stream) => reached_bytes(stream, count as usize),
            Work::Program(program) => program.reach_bytes(),
            _ => 0,
        };
        let laid_out = lengths.iter().map(|length| length.0).max();
        let each = users.map(reach).chain(laid_out).max().unwrap_or(0);
        if each == 0 {
            return Err(Unsimulated::Size { name: device });
        }
        let simulated_target = SimTarget {
            device: parsed,
            size: Bytes(each.saturating_mul(count)),
            files: (count > 1 || matches!(target, Target::Scratch(_))).then_some(count),
            preallocated_percent: 100,
        };
        simulated.target.insert(name.clone(), Target::Sim(simulated_target));
    }
    let is_simulated = |target: &Target| matches!(target, Target::Sim(_));
    if !simulated.target.values().any(is_simulated) {
        return Ok(None);
    }
    if !simulated.target.values().all(is_simulated) {
        return Err(Unsimulated::Mixed);
    }
    if let Some(companion) = simulated.phase.iter().find_map(|phase| phase.companions.first()) {
        return Err(Unsimulated::Companion { name: companion.name.clone() });
    }
    simulated.phase.iter_mut().for_each(simulate);
    Ok(Some(simulated))
}

/// The simulated device that a target names.
fn device_of(target: &Target) -> Option<String> {
    let path: PathBuf = match target {
        Target::JobFiles(files) => files.names.path(0)?,
        Target::Scratch(scratch) => scratch.names.path(0)?,
        Target::Device(device) => device.path.clone(),
        Target::File(file) => file.path.clone(),
        Target::Files(files) => files.path.clone(),
        Target::Tree(tree) => tree.path.clone(),
        Target::Null(_) | Target::Sim(_) => return None,
    };
    let text = path.to_str()?;
    // Below a device there are files of it.
    let device = &text[text.find("sim:").filter(|&at| at == 0 || text[..at].ends_with('/'))?..];
    Some(device.split('/').next().unwrap_or(device).to_owned())
}

/// How far a stream goes in each of its files.
fn reached_bytes(stream: &BlockStream, files: usize) -> u64 {
    match stream {
        BlockStream::Fio(stream) => {
            stream.ranges.iter().map(|range| range.start.0.saturating_add(range.length.0)).max().unwrap_or(0)
        }
        BlockStream::Sweep(sweep) => sweep.ends(files).into_iter().max().unwrap_or(0),
        BlockStream::Plumb(_) | BlockStream::Trace(_) => 0,
    }
}

/// Virtual time has neither the kernel's calls nor its processes.
fn simulate(phase: &mut Phase) {
    let direct = |group: &WorkerGroup| group.work.foreign_stream().is_some() && group.files.direct;
    phase.cache = if phase.workers.iter().all(direct) { CachePolicy::Direct } else { CachePolicy::AsIs };
    for group in &mut phase.workers {
        group.backend = Backend::Sim;
        group.run_as = RunAs::Thread;
    }
}
