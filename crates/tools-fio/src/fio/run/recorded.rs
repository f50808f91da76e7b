//! Recordings that fio's jobs replay: inspected before a run, and merged on request.

use plumb_cli::recordings::waits;
use plumb_engine::guard::OutputFile;
use plumb_tools_fio::fio::lower::{Merge, RecordedFile, RecordedFiles, RecordedName, RecordingRequest};
use plumb_tools_run::error::DialectError;
use plumb_trace::{FileName, MergedPart, MergedRecording, TraceError, outline};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(super) fn files(asked: &RecordingRequest) -> Result<RecordedFiles, TraceError> {
    let outline = open(asked).and_then(outline)?;
    let files = outline.files.into_iter().map(|file| RecordedFile {
        name: match file.name {
            FileName::Path(path) => RecordedName::Path(path),
            FileName::Device { major, minor } => RecordedName::Device { major, minor },
        },
        end_bytes: file.end_bytes,
        reads: file.reads,
        writes: file.writes,
        trims: file.trims,
    });
    Ok(RecordedFiles { files: files.collect(), largest_bytes: outline.largest_bytes, waits: outline.waits })
}

pub(super) fn write(merge: &Merge) -> Result<(), DialectError> {
    let path = Path::new(&merge.path);
    let merged = open(&merge.from)?;
    let file = OutputFile::named("merge_blktrace_file", path).create()?;
    Ok(plumb_trace::write(merged, &mut BufWriter::new(file), path)?)
}

/// Returns the device file of a block device.
pub(super) fn device_node(major: u32, minor: u32) -> Option<String> {
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let node = Path::new("/dev").join(link.file_name()?);
    node.exists().then(|| node.to_string_lossy().into_owned())
}

fn open(asked: &RecordingRequest) -> Result<MergedRecording, TraceError> {
    let part = |part: &plumb_tools_fio::fio::lower::RecordingPart| MergedPart {
        path: PathBuf::from(&part.path),
        percent: part.percent,
        times: part.times,
        copy: 0,
    };
    let parts: Vec<MergedPart> = asked.parts.iter().map(part).collect();
    MergedRecording::open(&parts, waits(asked.waits))
}
