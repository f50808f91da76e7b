//! elbencho's names of files and directories.

use crate::elbencho::settings::ElbenchoSettings;
use plumb_workload::files::Names;
use std::path::PathBuf;

fn below(path: &str, name: &str) -> PathBuf {
    PathBuf::from(path).join(name)
}

/// Returns the directory of a rank: its own, or rank 0's if directories are shared.
fn rank_dir(settings: &ElbenchoSettings, rank: u32) -> String {
    format!("r{}", if settings.dataset.dirsharing { 0 } else { rank })
}

/// Returns the directories of one thread: those of its rank in each path, and its own.
pub(super) fn directories(settings: &ElbenchoSettings, rank: u32) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of_rank = rank_dir(settings, rank);
    let paths = &settings.paths;
    let ranks = paths.iter().map(|path| below(path, &of_rank)).collect();
    let own = (0..settings.dataset.dirs).map(|dir| {
        let path = &paths[(rank as usize + dir as usize) % paths.len()];
        below(path, &format!("{of_rank}/d{dir}"))
    });
    (ranks, own.collect())
}

/// Returns the files of one thread; `None` if it has none.
pub(super) fn files(settings: &ElbenchoSettings, rank: u32) -> Option<Names> {
    let paths = &settings.paths;
    let dirs = settings.dataset.dirs.max(1);
    let count = dirs.checked_mul(settings.dataset.files).filter(|count| *count > 0)?;
    let of_rank = rank_dir(settings, rank);
    let flat = settings.dataset.dirs == 0;
    if flat {
        let path = &paths[rank as usize % paths.len()];
        return Some(Names::Numbered { path: below(path, &format!("r{rank}-f{{}}")), count, per_directory: None });
    }
    // A brace in the path itself would be read as a number pattern.
    if let [path] = paths.as_slice()
        && !path.contains('{')
    {
        let path = below(path, &format!("{of_rank}/d{{dir}}/r{rank}-f{{}}"));
        return Some(Names::Numbered { path, count, per_directory: Some(settings.dataset.files) });
    }
    let all = (0..dirs).flat_map(|dir| {
        let path = &paths[(rank as usize + dir as usize) % paths.len()];
        let of_rank = &of_rank;
        (0..settings.dataset.files).map(move |file| below(path, &format!("{of_rank}/d{dir}/r{rank}-f{file}")))
    });
    Some(Names::Made(all.collect()))
}
