//! Compressed devices in memory. Source: the kernel's `admin-guide/blockdev/zram.rst`.

use super::driver::{lacks, load_module};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Zram;
use crate::system;
use crate::undo::Undo;
use plumb_engine::guard::write_setting;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CONTROL: &str = "/sys/class/zram-control";

/// Maximum number of devices.
const COUNT_MAX: u64 = 64;

pub(super) fn build(step: &Zram, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    let count = step.count.map_or(1, |count| count.0);
    if !Path::new(CONTROL).is_dir() {
        load_module("zram");
    }
    if !Path::new(CONTROL).is_dir() {
        return Err(lacks("zram", "zram"));
    }
    (0..count).map(|_| add(step, site)).collect()
}

/// Checks the step without building it.
pub(super) fn check(step: &Zram) -> Result<(), Cause> {
    let count = step.count.map_or(1, |count| count.0);
    if !(1..=COUNT_MAX).contains(&count) {
        return Err(Cause::field("count", count, format!("write 1 to {COUNT_MAX}")));
    }
    if step.size.0 == 0 {
        return Err(Cause::field("size", step.size, "write a size above 0"));
    }
    Ok(())
}

fn add(step: &Zram, site: &mut Site<'_>) -> Result<PathBuf, Cause> {
    let number = hot_add(site)?;
    let node = PathBuf::from(format!("/dev/zram{number}"));
    for (file, value) in settings(step, number) {
        write_setting(&file, &value).map_err(|error| match file.ends_with("comp_algorithm") {
            true => {
                let known = system::text(&file).unwrap_or_default();
                Cause::field("algorithm", &value, format!("this kernel has {known}"))
            }
            false => Cause::io(format!("write `{value}` into {}", file.display()))(error),
        })?;
    }
    system::wait_until(Duration::from_secs(5), || node.exists());
    site.own(&node);
    Ok(node)
}

/// Adds a device. The kernel picks the lowest free number, so the undo for that number is recorded first.
fn hot_add(site: &mut Site<'_>) -> Result<u32, Cause> {
    let expected = (0..).find(|number| !Path::new(&format!("/sys/block/zram{number}")).exists()).unwrap_or(0);
    let id = site.record_undo(Undo::Zram { number: expected })?;
    let action = || Cause::io(format!("add a device by {CONTROL}/hot_add"));
    let text = system::text(&Path::new(CONTROL).join("hot_add")).map_err(action())?;
    let number = text.parse().map_err(std::io::Error::other).map_err(action())?;
    if number != expected {
        // Another program took the number in between.
        site.record_undo(Undo::Zram { number })?;
        site.cancel(id)?;
    }
    Ok(number)
}

/// Returns the settings in the order to write them: the algorithm is fixed once the size is set.
fn settings(step: &Zram, number: u32) -> Vec<(PathBuf, String)> {
    let dir = PathBuf::from(format!("/sys/block/zram{number}"));
    let algorithm = step.algorithm.iter().map(|algorithm| (dir.join("comp_algorithm"), algorithm.clone()));
    algorithm.chain([(dir.join("disksize"), step.size.0.to_string())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_algorithm_is_chosen_before_the_size() {
        let step: Zram = plumb_document::json::from_str(r#"{"size": "64MiB", "algorithm": "zstd"}"#).unwrap();
        let written = settings(&step, 3);
        assert_eq!(written[0], ("/sys/block/zram3/comp_algorithm".into(), "zstd".to_owned()));
        assert_eq!(written[1], ("/sys/block/zram3/disksize".into(), "67108864".to_owned()));
    }
}
