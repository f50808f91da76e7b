//! Members of md arrays that fail and are rebuilt. Source: mdadm(8), "Manage mode".

use super::mdadm::{Array, SYNC_TIMEOUT, wait_for_sync};
use crate::command::{Command, CommandError, word};
use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::{Degrade, Rebuild, Wait};
use crate::system;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for pending I/O to release a failed member.
const PATIENCE: Duration = Duration::from_secs(10);

/// Attempts to remove the member within that time.
const ATTEMPTS: u32 = 50;

pub(super) fn degrade(step: &Degrade, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let array = own_array(&step.array, site)?;
    let member = site.resolve_one("member", &step.member)?;
    let shown = Array::at(&array);
    if shown.member(&member).is_none() {
        return Err(Cause::field("member", &step.member, "not a member of the array"));
    }
    let [fail, remove] = degrade_commands(&array, &member);
    site.run(&fail)?;
    system::wait_until(PATIENCE, || shown.member(&member).is_none_or(|state| state.contains("faulty")));
    let mut attempt = 1;
    loop {
        match site.run(&remove) {
            Ok(_) => return Ok(vec![]),
            Err(Cause::Command(CommandError::Failed { stderr, .. }))
                if attempt < ATTEMPTS && stderr.contains("busy") =>
            {
                attempt += 1;
                site.wait(PATIENCE / ATTEMPTS)?;
            }
            Err(cause) => return Err(cause),
        }
    }
}

pub(super) fn rebuild(step: &Rebuild, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let array = own_array(&step.array, site)?;
    let shown = Array::at(&array);
    let lacks = shown.degraded();
    if lacks == 0 {
        return Err(Cause::field("array", &step.array, "it lacks no member; degrade it first"));
    }
    let member = site.claim_one("member", &step.member)?;
    let [zero, add] = rebuild_commands(&array, &member);
    match site.run(&zero) {
        // mdadm complains if there is no superblock.
        Ok(_) | Err(Cause::Command(CommandError::Failed { .. })) => {}
        Err(cause) => return Err(cause),
    }
    site.run(&add)?;
    if step.wait == Wait::Sync {
        let timeout = step.timeout.map_or(SYNC_TIMEOUT, |seconds| Duration::from_secs(seconds.0));
        wait_for_sync(&array, lacks - 1, timeout, site)?;
    }
    Ok(vec![])
}

fn degrade_commands(array: &Path, member: &Path) -> [Command; 2] {
    ["--fail", "--remove"]
        .map(|verb| Command::new("mdadm", ["--manage".to_owned(), word(array), verb.to_owned(), word(member)]))
}

fn rebuild_commands(array: &Path, member: &Path) -> [Command; 2] {
    [
        // A known member would only be updated from the bitmap instead of rebuilt.
        Command::new("mdadm", ["--zero-superblock".to_owned(), "--force".to_owned(), word(member)]),
        Command::new("mdadm", ["--manage".to_owned(), word(array), "--add".to_owned(), word(member)]),
    ]
}

/// Returns an array that was built here. An array may be in use, so the write guard cannot be asked.
fn own_array(name: &str, site: &Site<'_>) -> Result<PathBuf, Cause> {
    let array = site.resolve_one("array", name)?;
    if site.is_own(&array) {
        return Ok(array);
    }
    Err(Cause::field("array", name, "it was not built by these steps; name one that an `mdadm` step made"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_fails_before_removal_and_returns_as_a_new_device() {
        let (array, member) = (Path::new("/dev/md0"), Path::new("/dev/vdc"));
        let lines = degrade_commands(array, member).map(|command| command.to_string());
        assert_eq!(lines, ["mdadm --manage /dev/md0 --fail /dev/vdc", "mdadm --manage /dev/md0 --remove /dev/vdc"]);
        let lines = rebuild_commands(array, member).map(|command| command.to_string());
        assert_eq!(lines, ["mdadm --zero-superblock --force /dev/vdc", "mdadm --manage /dev/md0 --add /dev/vdc"]);
    }
}
