//! Recipes: how each kind of step is built, and what is written ahead to undo it. Command lines are made by pure functions.

mod age;
mod btrfs;
mod cmd;
mod content;
mod dm;
mod driver;
mod fill;
mod freebsd;
mod limits;
mod loops;
mod lvm;
mod mdadm;
mod member;
mod mkfs;
mod mount;
mod nfs;
mod overlay;
mod partition;
mod precondition;
mod queue;
mod sysctl;
mod tmpfs;
mod tune;
mod zram;

use crate::error::Cause;
use crate::site::Site;
use crate::step::Step;

/// Builds one step; what it made is known by its name from here on.
pub(crate) fn build(step: &Step, site: &mut Site<'_>) -> Result<(), Cause> {
    site.check_stop()?;
    if let Some(name) = step.name() {
        check_name(name, site)?;
    }
    let made = match step {
        Step::Loop(step) => loops::build(step, site)?,
        Step::Partition(step) => partition::build(step, site)?,
        Step::Mdadm(step) => mdadm::build(step, site)?,
        Step::Degrade(step) => member::degrade(step, site)?,
        Step::Rebuild(step) => member::rebuild(step, site)?,
        Step::Lvm(step) => lvm::build(step, site)?,
        Step::Dm(step) => dm::build(step, site)?,
        Step::Zram(step) => zram::build(step, site)?,
        Step::Mkfs(step) => mkfs::build(step, site)?,
        Step::Btrfs(step) => btrfs::build(step, site)?,
        Step::Mount(step) => mount::build(step, site)?,
        Step::Tune(step) => tune::build(step, site)?,
        Step::Overlay(step) => overlay::build(step, site)?,
        Step::Tmpfs(step) => tmpfs::build(step, site)?,
        Step::Nfs(step) => nfs::build(step, site)?,
        Step::Queue(step) => queue::build(step, site)?,
        Step::Readahead(step) => queue::readahead(step, site)?,
        Step::Sysctl(step) => sysctl::build(step, site)?,
        Step::Fill(step) => fill::build(step, site)?,
        Step::Age(step) => age::build(step, site)?,
        Step::Precondition(step) => precondition::build(step, site)?,
        Step::Cmd(step) => cmd::build(step, site)?,
        Step::Gmirror(step) => freebsd::gmirror(step, site)?,
        Step::Newfs(step) => freebsd::newfs(step, site)?,
        Step::Zpool(step) => freebsd::zpool(step, site)?,
    };
    site.say_versions(step);
    if let Some(name) = step.name() {
        let made = made.into_iter().map(|path| path.to_string_lossy().into_owned()).collect();
        site.standing.made.insert(name.to_owned(), made);
    }
    Ok(())
}

/// Names become parts of device names and paths.
fn check_name(name: &str, site: &Site<'_>) -> Result<(), Cause> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if name.is_empty() || name.len() > 24 || !begins_well || !name.chars().all(is_plain) {
        return Err(Cause::field(
            "name",
            name,
            "write 1 to 24 letters, digits, `-` and `_`, beginning with a letter or digit",
        ));
    }
    if ["expendable", "disks"].contains(&name) {
        return Err(Cause::field(
            "name",
            name,
            "it is the name of the devices that the study may destroy; choose another",
        ));
    }
    if site.standing.made.contains_key(name) {
        return Err(Cause::field("name", name, "an earlier step has this name; choose another"));
    }
    Ok(())
}
