//! A file system on one device.

use super::mount;
use crate::command::Command;
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Mkfs;
use crate::tool::mkfs::{MAKERS, maker};
use std::path::Path;

pub(super) fn build(step: &Mkfs, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let device = site.claim_one("device", &step.device)?;
    site.run(&command(step, &device)?)?;
    let Some(target) = &step.mount else { return Ok(vec![device]) };
    let point = mount::Request { source: &device, fs: Some(&step.fs), target, options: &step.mount_options };
    mount::mount(&point, site)
}

pub(crate) fn command(step: &Mkfs, device: &Path) -> Result<Command, Cause> {
    let Some(maker) = maker(&step.fs) else {
        let known: Vec<&str> = MAKERS.iter().map(|maker| maker.fs).collect();
        return Err(Cause::field("fs", &step.fs, format!("write one of {}", known.join(", "))));
    };
    Ok(Command::new(maker.program, maker.quiet.iter().copied()).args(options(step)).arg(device.to_string_lossy()))
}

/// Returns mkfs options. Makes ext4 initialize its journal and inode tables fully, unless the step sets these
/// options. Otherwise the kernel would write them during the first measurements. Source: mke2fs(8), `-E`, of
/// which the last one counts.
fn options(step: &Mkfs) -> Vec<String> {
    let mut options = step.options.clone();
    if !matches!(step.fs.as_str(), "ext2" | "ext3" | "ext4") {
        return options;
    }
    let unsaid = ["lazy_itable_init", "lazy_journal_init"]
        .into_iter()
        .filter(|setting| !step.options.iter().any(|option| option.contains(setting)));
    let whole = unsaid.map(|setting| format!("{setting}=0")).collect::<Vec<_>>().join(",");
    if whole.is_empty() {
        return options;
    }
    match options.iter().rposition(|option| option == "-E").and_then(|at| options.get_mut(at + 1)) {
        Some(extended) => extended.push_str(&format!(",{whole}")),
        None => options.extend(["-E".to_owned(), whole]),
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Mkfs {
        plumb_document::json::from_str(text).unwrap()
    }

    #[test]
    fn each_file_system_has_a_quiet_tool_without_questions() {
        let line = |text: &str| command(&step(text), Path::new("/dev/md0")).map(|command| command.to_string());
        assert_eq!(
            line(r#"{"fs": "ext3", "device": "@a", "options": ["-O", "none,has_journal", "-I", "128"]}"#).unwrap(),
            "mkfs.ext3 -q -F -O none,has_journal -I 128 -E lazy_itable_init=0,lazy_journal_init=0 /dev/md0"
        );
        assert_eq!(
            line(r#"{"fs": "ext4", "device": "@a", "options": ["-E", "stride=64", "-I", "128"]}"#).unwrap(),
            "mkfs.ext4 -q -F -E stride=64,lazy_itable_init=0,lazy_journal_init=0 -I 128 /dev/md0"
        );
        assert_eq!(
            line(r#"{"fs": "ext4", "device": "@a", "options": ["-E", "lazy_itable_init=1"]}"#).unwrap(),
            "mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=0 /dev/md0"
        );
        assert_eq!(
            line(r#"{"fs": "ext4", "device": "@a", "options": ["-E", "lazy_journal_init=1"]}"#).unwrap(),
            "mkfs.ext4 -q -F -E lazy_journal_init=1,lazy_itable_init=0 /dev/md0"
        );
        assert_eq!(line(r#"{"fs": "xfs", "device": "@a"}"#).unwrap(), "mkfs.xfs -q -f /dev/md0");
        let error = line(r#"{"fs": "ntfs", "device": "@a"}"#).unwrap_err().to_string();
        assert_eq!(error, "`fs` is `ntfs`: write one of ext2, ext3, ext4, xfs, btrfs, f2fs");
    }
}
