//! Recipes: how to build and undo each kind of step. Pure functions make the command lines.

mod age;
pub(crate) mod btrfs;
mod cmd;
mod content;
pub(crate) mod dm;
pub(crate) mod driver;
mod fill;
pub(crate) mod freebsd;
mod limits;
pub(crate) mod link;
pub(crate) mod loops;
pub(crate) mod lvm;
pub(crate) mod mdadm;
mod member;
pub(crate) mod mkfs;
pub(crate) mod mount;
pub(crate) mod nfs;
mod overlay;
pub(crate) mod partition;
mod precondition;
mod queue;
mod sysctl;
mod tmpfs;
mod tune;
mod zram;

use crate::error::Cause;
use crate::names;
use crate::site::Site;
use crate::step::Step;
use std::path::Path;

/// Builds one step and registers what it made under its name.
pub(crate) fn build(step: &Step, site: &mut Site<'_>) -> Result<(), Cause> {
    site.check_stop()?;
    if let Some(name) = step.name() {
        names::check(name, site.standing.made.contains_key(name))?;
    }
    freebsd::need_system(step)?;
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
        Step::Link(step) => link::build(step, site)?,
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

/// Checks a step alone, without the devices that it is built on.
pub(crate) fn check(step: &Step) -> Result<(), Cause> {
    match step {
        Step::Loop(step) => loops::check(step),
        Step::Mdadm(step) => mdadm::level(step).map(drop),
        Step::Lvm(step) => lvm::check(step),
        Step::Dm(step) => dm::check(step),
        Step::Zram(step) => zram::check(step),
        Step::Mkfs(step) => mkfs::command(step, Path::new("DEVICE")).map(drop),
        Step::Tune(step) => tune::check(step),
        Step::Queue(step) => queue::check(step),
        Step::Readahead(step) => queue::check_readahead(step),
        Step::Sysctl(step) => sysctl::check(step),
        Step::Link(step) => link::check(step),
        Step::Fill(step) => fill::check(step).map(drop),
        Step::Age(step) => age::check(step),
        Step::Precondition(step) => precondition::check(step).map(drop),
        Step::Gmirror(step) => freebsd::check_gmirror(step),
        Step::Newfs(step) => freebsd::check_newfs(step),
        Step::Partition(_)
        | Step::Degrade(_)
        | Step::Rebuild(_)
        | Step::Btrfs(_)
        | Step::Mount(_)
        | Step::Overlay(_)
        | Step::Tmpfs(_)
        | Step::Nfs(_)
        | Step::Cmd(_)
        | Step::Zpool(_) => Ok(()),
    }
}
