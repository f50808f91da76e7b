//! Recordings that jobs replay: their names, their files, and which are merged beforehand.

use super::clone::JobClone;
use super::error::{JobFault, LowerError, LowerErrors};
use super::facts::{Layout, Recorded, moves, ops_limit};
use super::names::files;
use super::places::{Found, Places, RecordedName, RecordingPart, RecordingRequest};
use crate::fio::Fio;
use crate::fio::job::FioJob;
use crate::fio::value::Compat;
use plumb_workload::Bytes;
use plumb_workload::blocks::trace::{Recording, SkipOps, Waits};
use plumb_workload::files::Names;
use std::path::{Path, PathBuf};

/// A recording to be written before the jobs begin (`merge_blktrace_file`).
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    pub path: String,
    pub from: RecordingRequest,
}

/// Returns all recordings to be merged before the jobs begin.
///
/// # Errors
///
/// Options contradict each other.
pub fn merges(fio: &Fio) -> Result<Vec<Merge>, LowerErrors> {
    let mut merges: Vec<Merge> = Vec::new();
    for job in &fio.jobs {
        let Some(path) = &job.replay.merge_file else { continue };
        let merge = requested(job, 0, fio.invocation.compat).map(|from| Merge { path: path.clone(), from }).map_err(
            |fault| LowerErrors(vec![LowerError { name: job.name.clone(), place: job.place.clone(), fault }]),
        )?;
        if !merges.contains(&merge) {
            merges.push(merge);
        }
    }
    Ok(merges)
}

/// Resolves `read_iolog`: the file for this copy, or all files if they are merged.
fn requested(job: &FioJob, copy: u32, compat: Compat) -> Result<RecordingRequest, JobFault> {
    let replay = &job.replay;
    let waits = if compat == Compat::Strict { Waits::Fio } else { Waits::Manual };
    let paths = replay.read_iolog.as_deref().map(listed).unwrap_or_default();
    let Some(first) = paths.first() else {
        let why = "it names the recordings to merge";
        return Err(JobFault::Needs { option: "merge_blktrace_file", needs: "read_iolog", why });
    };
    if replay.merge_file.is_none() {
        let path = paths.get(copy as usize % paths.len()).unwrap_or(first).clone();
        return Ok(RecordingRequest { parts: vec![RecordingPart { path, percent: 100.0, times: 1 }], waits });
    }
    for (option, given) in
        [("merge_blktrace_scalars", replay.merge_scalars.len()), ("merge_blktrace_iters", replay.merge_iters.len())]
    {
        if given > 0 && given != paths.len() {
            let why = format!(
                "it has {given} numbers for {} recordings; give one per recording in `read_iolog`",
                paths.len()
            );
            return Err(JobFault::Unsupported { option: option.to_owned(), why });
        }
    }
    let mut parts = Vec::with_capacity(paths.len());
    for (number, path) in paths.into_iter().enumerate() {
        let percent = replay.merge_scalars.get(number).copied().unwrap_or(100.0);
        let times = replay.merge_iters.get(number).copied().unwrap_or(1.0);
        if !(times >= 1.0 && times.fract() == 0.0 && times <= f64::from(u32::MAX)) {
            let why = format!("{times} is not a valid number of repetitions; use a whole number, 1 or more");
            return Err(JobFault::Unsupported { option: "merge_blktrace_iters".to_owned(), why });
        }
        parts.push(RecordingPart { path, percent, times: times as u32 });
    }
    Ok(RecordingRequest { parts, waits })
}

/// Splits a colon-separated list. `\:` is a colon in a name.
fn listed(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                ':'
            }
            ':' => {
                names.push(String::new());
                continue;
            }
            letter => letter,
        };
        if let Some(name) = names.last_mut() {
            name.push(letter);
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Reads the recording of a copy; `None` if it replays none.
pub(super) fn recorded(
    job: &FioJob,
    copy: u32,
    compat: Compat,
    places: &mut dyn Places,
) -> Result<Option<Recorded>, JobFault> {
    if job.replay.read_iolog.is_none() && job.replay.merge_file.is_none() {
        return Ok(None);
    }
    let asked = requested(job, copy, compat)?;
    if let Some(part) = asked.parts.iter().find(|part| part.path == "-") {
        let why = format!("a recording is read twice, but `{}` can be read only once; name a file", part.path);
        return Err(JobFault::Unsupported { option: "read_iolog".to_owned(), why });
    }
    let files = places
        .recording(&asked)
        .map_err(|why| JobFault::Unsupported { option: "read_iolog".to_owned(), why: why.to_string() })?;
    let path = match (&job.replay.merge_file, asked.parts.first()) {
        (Some(path), _) => path.clone(),
        (None, Some(part)) => part.path.clone(),
        (None, None) => return Ok(None),
    };
    Ok(Some(Recorded { path, waits: asked.waits, files }))
}

/// Returns the files of a replay: those of the recording, or the file that receives all ops. If the recording's files
/// equal the names that fio generates for this copy, they count as generated, not as given by the user.
pub(super) fn names(job: &FioJob, copy: u32, recorded: &Recorded, places: &mut dyn Places) -> Result<Names, JobFault> {
    let directory = job.files.names.directories.first();
    let placed = |name: &str| match directory {
        // A recording made in a directory already contains full paths.
        Some(directory) if !name.starts_with('/') => Path::new(directory).join(name),
        _ => PathBuf::from(name),
    };
    if let Some(to) = &job.replay.redirect {
        return Ok(Names::Given(vec![placed(to)]));
    }
    let mut names = Vec::with_capacity(recorded.files.files.len());
    for file in &recorded.files.files {
        names.push(match &file.name {
            RecordedName::Path(path) => placed(path),
            RecordedName::Device { major, minor } => match places.device_node(*major, *minor) {
                Some(path) => PathBuf::from(path),
                None => {
                    let why = format!(
                        "{} was recorded on device {major}:{minor}, which this machine does not have; replay it on \
                         another with `replay_redirect`",
                        recorded.path
                    );
                    return Err(JobFault::Unsupported { option: "read_iolog".to_owned(), why });
                }
            },
        });
    }
    let own = files(job, copy, places);
    let is_own =
        own.count() == names.len() && (0..names.len()).all(|number| own.path(number).as_ref() == names.get(number));
    Ok(if is_own { own } else { Names::Given(names) })
}

/// Returns the required lengths of the files.
pub(super) fn layout(copy: &JobClone<'_>, places: &mut dyn Places) -> Layout {
    let Some(recorded) = &copy.recorded else { return Layout::default() };
    let scale = u64::from(copy.job.replay.scale.max(1));
    let end = |end_bytes: u64| match scale {
        1 => end_bytes,
        // `replay_scale` divides offsets, not lengths.
        _ => end_bytes.min((end_bytes / scale).saturating_add(recorded.files.largest_bytes)),
    };
    let mut ends: Vec<u64> = recorded.files.files.iter().map(|file| end(file.end_bytes)).collect();
    if copy.job.replay.redirect.is_some() {
        ends = vec![ends.into_iter().max().unwrap_or(0)];
    }
    let mut layout = Layout::default();
    for (number, end) in ends.into_iter().enumerate() {
        let path = copy.names.path(number).unwrap_or_default();
        let found = places.find(&path.to_string_lossy());
        let is_laid_out = matches!(found, Found::Absent | Found::Regular { .. });
        layout.lengths.push(Bytes(if is_laid_out { end } else { 0 }));
        layout.fresh += usize::from(match found {
            Found::Absent => true,
            Found::Regular { bytes } => bytes < end,
            _ => false,
        });
    }
    if layout.lengths.iter().all(|length| length.0 == 0) {
        layout.lengths.clear();
    }
    layout
}

/// Returns the ops of a replay.
pub(super) fn recording(copy: &mut JobClone<'_>, recorded: &Recorded) -> Recording {
    let replay = &copy.job.replay;
    let skips = |kind: &str| replay.skip.contains(&kind);
    let stop = &copy.job.stop;
    let recording = Recording {
        speed_percent: (!replay.no_stall).then_some(replay.time_scale_percent.max(1)),
        scale: replay.scale.max(1),
        align: replay.align.map(|align| Bytes(align.into())),
        one_file: replay.redirect.is_some(),
        skip: SkipOps { read: skips("read"), write: skips("write"), trim: skips("trim"), sync: skips("sync") },
        moves: moves(copy.job, recorded),
        waits: recorded.waits,
        loops: u64::from(copy.job.identity.loops.max(1)),
        repeat_until_time: stop.time_based && stop.runtime.is_some(),
        io_bytes: match copy.job.direction.region.io_size {
            Some(crate::fio::value::FileRegion::Bytes(bytes)) if bytes > 0 => Some(Bytes(bytes)),
            _ => None,
        },
        max_ops: ops_limit(copy.job.direction.region.number_ios),
        ..Recording::new(PathBuf::from(&recorded.path), Bytes(recorded.files.largest_bytes.max(1)))
    };
    if recorded.files.waits > 0 && recorded.waits == Waits::Manual && !replay.no_stall {
        copy.warnings.push(format!(
            "{}: waits are read as microseconds since the previous wait, as fio's manual says; fio itself reads them \
             as milliseconds since the start (--compat=strict)",
            recorded.path
        ));
    }
    recording
}
