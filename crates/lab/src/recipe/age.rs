//! Ages a file system: creates and removes files until the free space is fragmented.

use super::content::write_random;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Age;
use plumb_engine::guard::OutputFile;
use plumb_engine::guard::space::Space;
use plumb_engine::rng::{Rng, splitmix64};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;

/// Number of directories that the files are spread over.
const DIRECTORIES: u64 = 16;

/// Number of operations between syncs: a file system allocates delayed blocks at a sync.
const SYNC_EVERY: u64 = 64;

pub(super) fn build(step: &Age, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    let [_, largest] = step.size.map(|bytes| bytes.0);
    let parent = site.resolve_one("directory", &step.directory)?;
    let dir = site.own_dir("directory", &parent)?;
    let handle = File::open(&dir).map_err(Cause::io("open the directory"))?;
    if !site.is_on_own(&dir) {
        let space = Space::read(&handle).map_err(Cause::io("see how much space is free"))?;
        Space::admit(space, &dir, step.files.0.saturating_mul(largest))?;
    }
    for number in 0..DIRECTORIES {
        let path = dir.join(format!("d{number:02}"));
        fs::create_dir(&path).map_err(Cause::io(format!("make {}", path.display())))?;
    }
    site.say(&format!("ageing {}: {} files made or removed", parent.display(), step.operations));
    let seed = step.seed.map_or(0, |seed| seed.0);
    for (number, act) in acts(step, seed).enumerate() {
        perform(&dir, act, seed, site)?;
        if (number as u64 + 1).is_multiple_of(SYNC_EVERY) {
            plumb_engine::sync_file_system(handle.as_fd()).map_err(Cause::io("flush"))?;
        }
    }
    plumb_engine::sync_file_system(handle.as_fd()).map_err(Cause::io("flush"))?;
    Ok(vec![])
}

/// Checks the step without building it.
pub(super) fn check(step: &Age) -> Result<(), Cause> {
    let [smallest, largest] = step.size.map(|bytes| bytes.0);
    if smallest > largest || largest == 0 {
        let text = format!("[{}, {}]", step.size[0], step.size[1]);
        return Err(Cause::field("size", text, "write the smallest first, and the largest above 0"));
    }
    if step.files.0 == 0 {
        return Err(Cause::field("files", step.files, "write 1 or more"));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Make { file: u64, bytes: u64 },
    Remove { file: u64 },
}

/// Returns the operations, the same for the same seed. Creates two files for each one removed until the maximum
/// number is reached. Sizes are uniform on a logarithmic scale.
fn acts(step: &Age, seed: u64) -> impl Iterator<Item = Act> {
    let [smallest, largest] = step.size.map(|bytes| bytes.0);
    let files_max = step.files.0;
    let mut rng = Rng::new(splitmix64(seed));
    let mut living: Vec<u64> = vec![];
    let mut next = 0;
    (0..step.operations.0).map(move |_| {
        let is_full = living.len() as u64 >= files_max;
        if living.is_empty() || (!is_full && rng.below(3) != 0) {
            let span = (largest.max(1) as f64 / smallest.max(1) as f64).ln();
            let bytes = (smallest.max(1) as f64 * (rng.unit() * span).exp()) as u64;
            living.push(next);
            next += 1;
            Act::Make { file: next - 1, bytes: bytes.clamp(smallest, largest) }
        } else {
            let index = rng.below(living.len() as u64) as usize;
            Act::Remove { file: living.swap_remove(index) }
        }
    })
}

fn perform(dir: &Path, act: Act, seed: u64, site: &Site<'_>) -> Result<(), Cause> {
    let path = |file: u64| dir.join(format!("d{:02}/f{file}", file % DIRECTORIES));
    match act {
        Act::Make { file, bytes } => {
            let path = path(file);
            let mut opened = OutputFile::made_up("the file", &path)
                .create_new()
                .map_err(std::io::Error::from)
                .map_err(Cause::io(format!("make {}", path.display())))?;
            write_random(&mut opened, bytes, Rng::new(splitmix64(seed) ^ file), site).map_err(|cause| match cause {
                Cause::Io { source, .. } => {
                    Cause::io(format!("write {}; let `files` or `size` be smaller", path.display()))(source)
                }
                other => other,
            })
        }
        Act::Remove { file } => {
            let path = path(file);
            fs::remove_file(&path).map_err(Cause::io(format!("remove {}", path.display())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_ages_the_same_way_within_its_bounds() {
        let text = r#"{"directory": "/m", "files": 10, "size": ["4k", "64k"], "operations": 500}"#;
        let step: Age = plumb_document::json::from_str(text).unwrap();
        let all: Vec<Act> = acts(&step, 7).collect();
        assert_eq!(all, acts(&step, 7).collect::<Vec<_>>());
        assert_ne!(all, acts(&step, 8).collect::<Vec<_>>());
        assert_eq!(all.len(), 500);
        let mut living = std::collections::BTreeSet::new();
        for act in all {
            match act {
                Act::Make { file, bytes } => {
                    assert!((4096..=65536).contains(&bytes));
                    assert!(living.insert(file) && living.len() <= 10);
                }
                Act::Remove { file } => assert!(living.remove(&file)),
            }
        }
        assert!(!living.is_empty());
    }
}
