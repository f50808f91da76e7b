//! Changes to ext2, ext3 and ext4. Source: tune2fs(8), e2fsck(8), ext4(5). Not undone: the device's content is wiped.

use crate::command::{Command, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{ExtKind, Tune};
use std::path::Path;

/// Exit code of e2fsck after it corrected errors.
const CORRECTED: i32 = 1;

pub(super) fn build(step: &Tune, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    check(step)?;
    let device = site.claim_one("device", &step.device)?;
    site.run_all(&commands(step, &device))?;
    Ok(vec![])
}

/// Checks the step without building it.
pub(super) fn check(step: &Tune) -> Result<(), Cause> {
    if step.to.is_none() && step.options.is_empty() {
        return Err(Cause::field("to", "(nothing)", "name the new kind, or `options` of tune2fs"));
    }
    Ok(())
}

fn commands(step: &Tune, device: &Path) -> Vec<Command> {
    let features = step.to.map(|kind| match kind {
        ExtKind::Ext2 => "^has_journal",
        ExtKind::Ext3 => "has_journal",
        ExtKind::Ext4 => "has_journal,extents,uninit_bg,dir_index",
    });
    let features = features.map(|features| Command::new("tune2fs", ["-O", features, &word(device)]));
    let options = (!step.options.is_empty()).then(|| Command::new("tune2fs", &step.options).arg(word(device)));
    // Several features are valid only after a check, and a checked file system mounts faster.
    // The check is not measured.
    let check = Command::new("e2fsck", ["-f", "-p", &word(device)]).accept_up_to(CORRECTED);
    features.into_iter().chain(options).chain([check]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_follow_the_manual_and_end_with_a_check() {
        let lines = |text: &str| -> Vec<String> {
            let step: Tune = plumb_document::json::from_str(&format!(r#"{{"device": "@d", {text}}}"#)).unwrap();
            commands(&step, Path::new("/dev/a")).iter().map(Command::to_string).collect()
        };
        assert_eq!(lines(r#""to": "ext3""#), ["tune2fs -O has_journal /dev/a", "e2fsck -f -p /dev/a"]);
        assert_eq!(lines(r#""to": "ext2""#)[0], "tune2fs -O '^has_journal' /dev/a");
        assert_eq!(lines(r#""to": "ext4""#)[0], "tune2fs -O has_journal,extents,uninit_bg,dir_index /dev/a");
        assert_eq!(lines(r#""options": ["-m", "0"]"#), ["tune2fs -m 0 /dev/a", "e2fsck -f -p /dev/a"]);
    }
}
