//! Fills a file system to a given share.

use super::content::write_random;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Fill;
use plumb_engine::guard::OutputFile;
use plumb_engine::guard::space::Space;
use plumb_engine::rng::{Rng, splitmix64};
use plumb_workload::units::Bytes;
use std::fs::File;
use std::path::Path;

const FILE_BYTES: u64 = 64 << 20;

pub(super) fn build(step: &Fill, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let percent = check(step)?;
    let file_bytes = step.file_size.map_or(FILE_BYTES, |bytes| bytes.0);
    let parent = site.resolve_one("directory", &step.directory)?;
    let dir = site.own_dir("directory", &parent)?;
    let missing = missing_bytes(&dir, percent)?;
    if !site.is_on_own(&dir) {
        // Others use it too: leave them some space.
        let file = File::open(&dir).map_err(Cause::io("open the directory"))?;
        Space::admit(Space::read(&file).map_err(Cause::io("see how much space is free"))?, &dir, missing)?;
    }
    site.say(&format!("filling {} to {percent} %: {} to write", parent.display(), Bytes(missing)));
    let seed = step.seed.map_or(0, |seed| seed.0);
    let mut number = 0_u64;
    // The file system's own overhead shows up only after writing.
    loop {
        let missing = missing_bytes(&dir, percent)?;
        if missing == 0 {
            return Ok(vec![]);
        }
        let path = dir.join(format!("fill{number:06}"));
        let action = format!("write {}", path.display());
        let mut file = OutputFile::made_up("the file", &path)
            .create_new()
            .map_err(std::io::Error::from)
            .map_err(Cause::io(&action))?;
        write_random(&mut file, missing.min(file_bytes), Rng::new(splitmix64(seed) ^ number), site)?;
        file.sync_all().map_err(Cause::io(&action))?;
        number += 1;
    }
}

/// Checks the step without building it. Returns the share to fill, in percent.
pub(super) fn check(step: &Fill) -> Result<u64, Cause> {
    if step.file_size == Some(Bytes(0)) {
        return Err(Cause::field("file-size", Bytes(0), "write a size above 0"));
    }
    percent(&step.to.0).ok_or_else(|| Cause::field("to", &step.to, "write a share from 1% to 100%"))
}

fn percent(text: &str) -> Option<u64> {
    let number: u64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (1..=100).contains(&number).then_some(number)
}

/// Returns the bytes missing to the share. Counts like df(1): used out of used plus available, without
/// the blocks reserved for root.
fn missing_bytes(dir: &Path, percent: u64) -> Result<u64, Cause> {
    let file = File::open(dir).map_err(Cause::io(format!("open {}", dir.display())))?;
    let stat = rustix::fs::fstatvfs(&file).map_err(Cause::io("see how much space is free"))?;
    let used = stat.f_blocks.saturating_sub(stat.f_bfree);
    Ok(missing_blocks(used, stat.f_bavail, percent).saturating_mul(stat.f_frsize))
}

fn missing_blocks(used: u64, available: u64, percent: u64) -> u64 {
    let wanted = u128::from(used.saturating_add(available)) * u128::from(percent) / 100;
    u64::try_from(wanted).unwrap_or(u64::MAX).saturating_sub(used).min(available)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_that_of_df() {
        assert_eq!(missing_blocks(20, 80, 80), 60);
        assert_eq!(missing_blocks(90, 10, 80), 0);
        assert_eq!(missing_blocks(0, 100, 100), 100);
        assert_eq!((percent("80%"), percent("101%"), percent("0%"), percent("80")), (Some(80), None, None, None));
    }
}
