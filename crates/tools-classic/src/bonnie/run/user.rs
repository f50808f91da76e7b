//! `-u` and `-g`: switches to another user.

use plumb_bench::Bench;
use plumb_cli::common::Common;
use plumb_cli::exit::Stopped;
use plumb_cli::session;
use plumb_store::Store;
use plumb_tools_classic::bonnie::Refusal;
use std::cell::RefCell;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user that the process runs as.
pub(crate) struct Became {
    /// Bonnie++'s message about it.
    pub message: String,
    /// The named database, opened before switching users because the new user may lack access.
    pub kept: KeptStore,
}

/// An open database, until the bench takes it.
#[derive(Default)]
pub(crate) struct KeptStore(RefCell<Option<Box<Store>>>);

impl KeptStore {
    pub(super) fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        match self.0.take() {
            Some(store) => session::bench_of_other_user(*store, common),
            None => session::bench_of_tool(common),
        }
    }
}

/// Continues as this user and group: in this process if it already runs as them or
/// a database was named, else by re-executing.
///
/// # Errors
///
/// The user or group does not exist, or switching is not permitted.
pub(crate) fn become_user(user: Option<&str>, group: Option<&str>, common: &Common) -> Result<Became, Refusal> {
    let ids = wanted(user, group)?;
    let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let group = ids.group.unwrap_or(gid);
    let message = format!("Using uid:{}, gid:{group}.\n", ids.user);
    if (ids.user, group) == (uid, gid) {
        return Ok(Became { message, kept: KeptStore::default() });
    }
    if cfg!(target_os = "linux") && common.db.is_some() && !common.no_store {
        let store = session::store(common).map_err(|stopped| Refusal(format!("{}\n", stopped.message)))?;
        change(ids.user, group).map_err(|error| Refusal(format!("Can't set uid to {}: {error}\n", ids.user)))?;
        return Ok(Became { message, kept: KeptStore(RefCell::new(Some(Box::new(store)))) });
    }
    let refused = |error| Refusal(format!("Can't set uid to {}: {error}\n", ids.user));
    let program = std::env::current_exe().map_err(refused)?;
    let mut words = std::env::args_os();
    let called = words.next().unwrap_or_default();
    let mut command = Command::new(program);
    command.arg0(called).args(words).uid(ids.user).gid(group);
    // The other user cannot write to this one's directories. Without these variables, it gets its own.
    for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
        command.env_remove(variable);
    }
    Err(refused(command.exec()))
}

/// Switches user and group permanently. Only this thread exists yet; later threads and processes inherit its user.
#[cfg(target_os = "linux")]
fn change(user: u32, group: u32) -> std::io::Result<()> {
    use rustix::process::DumpableBehavior;
    use rustix::thread::{Gid, Uid};
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // Otherwise `/proc/self` would still belong to root, including the I/O counters.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    Ok(())
}

/// On other systems, it always re-executes.
#[cfg(not(target_os = "linux"))]
fn change(_user: u32, _group: u32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

struct Ids {
    user: u32,
    group: Option<u32>,
}

/// Resolves names. Numbers are used directly. Source: passwd(5), group(5).
fn wanted(user: Option<&str>, group: Option<&str>) -> Result<Ids, Refusal> {
    let mut ids = Ids { user: 0, group: None };
    if let Some(user) = user {
        let number: Option<u32> = user.parse().ok();
        let found = entry("/etc/passwd", |fields| match number {
            Some(_) => fields.get(2).copied() == Some(user),
            None => fields.first().copied() == Some(user),
        });
        let at = |place: usize| found.as_ref().and_then(|fields| fields.get(place)?.parse().ok());
        ids.user = number.or(at(2)).ok_or_else(|| Refusal(format!("Can't find user {user}\n")))?;
        ids.group = at(3).or_else(|| group_number("nogroup"));
    }
    if let Some(group) = group {
        let number = group.parse().ok().or_else(|| group_number(group));
        ids.group = Some(number.ok_or_else(|| Refusal(format!("Can't find group {group}\n")))?);
    }
    Ok(ids)
}

fn group_number(name: &str) -> Option<u32> {
    entry("/etc/group", |fields| fields.first().copied() == Some(name))?.get(2)?.parse().ok()
}

fn entry(path: &str, is_it: impl Fn(&[&str]) -> bool) -> Option<Vec<String>> {
    let text = plumb_text::bounded::read_to_string(path).ok()?;
    let mut lines = text.lines().map(|line| line.split(':').collect::<Vec<&str>>());
    let found = lines.find(|fields| is_it(fields))?;
    Some(found.into_iter().map(str::to_owned).collect())
}
