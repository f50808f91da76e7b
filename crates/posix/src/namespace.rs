//! A user namespace for a run: an ordinary user is root of 65,536 IDs there, so that cases with
//! other users can be tested.

use crate::facts::Facts;
use crate::outcome::Done;
use crate::run::{Report, Request, RunError, run_here};
use crate::sys::{self, Map, V, nr};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, io};

const IDS: u32 = 65_536;
/// First ID that root maps.
const ROOT_FIRST: u32 = 0;
/// Maximum length of a message, the same as for workers.
const MESSAGE_MAX: usize = 1 << 18;

/// Runs cases in a process with its own user namespace.
///
/// # Errors
/// Returns an error if there can be none, and the errors of [`crate::run()`].
pub(crate) fn run(request: Request<'_>) -> Result<Report, RunError> {
    let failed = |error: i32| RunError::Namespace(crate::errno::name(error));
    let began = Instant::now();
    let [ours, theirs] = sys::channel().map_err(failed)?;
    let map = Map::shared(-1, 0, 8192).map_err(failed)?;
    let (directory, total) = (request.directory.to_owned(), request.only.len());
    let stop = request.stop;
    let mut request = Some(request);
    let child = sys::spawn(&mut || {
        sys::close(ours);
        let unshared = sys::call(nr!(unshare), &[V::C("CLONE_NEWUSER", i64::from(libc::CLONE_NEWUSER))]);
        let word = [unshared.err().unwrap_or(0) as u8];
        let _ = sys::call(nr!(write), &[V::Fd(theirs), V::B(&word), V::N(1)]);
        // Wait until the maps are written.
        let mut answer = [0u8; 1];
        let got = sys::call(nr!(read), &[V::Fd(theirs), V::W(sys::cells(&mut answer)), V::N(1)]);
        if got != Ok(1) || answer[0] != 1 {
            return 1;
        }
        let become_root = [V::N(0), V::N(0), V::N(0)];
        let _ = sys::call(nr!(setresgid), &become_root);
        let _ = sys::call(nr!(setresuid), &become_root);
        let Some(request) = request.take() else { return 1 };
        match run_here(request) {
            Ok(report) => {
                map.put(report.facts);
                for done in &report.done {
                    let text = format!("{}{}", u8::from(done.flaky), done.to_message());
                    if sys::call(nr!(write), &[V::Fd(theirs), V::B(text.as_bytes()), V::N(text.len() as i64)]).is_err()
                    {
                        return 1;
                    }
                }
                0
            }
            Err(error) => {
                let text = format!("E{error}");
                let _ = sys::call(nr!(write), &[V::Fd(theirs), V::B(text.as_bytes()), V::N(text.len() as i64)]);
                2
            }
        }
    })
    .map_err(failed)?;
    sys::close(theirs);
    let mut word = [0u8; 1];
    let unshared = sys::call(nr!(read), &[V::Fd(ours), V::W(sys::cells(&mut word)), V::N(1)]);
    let mapped = match (unshared, word[0]) {
        (Ok(1), 0) => write_maps(child),
        (Ok(1), error) => Err(NamespaceError::Call(i32::from(error))),
        _ => Err(NamespaceError::Ended),
    };
    let _ = sys::call(nr!(write), &[V::Fd(ours), V::B(&[u8::from(mapped.is_ok())]), V::N(1)]);
    mapped.map_err(|error| RunError::Namespace(error.to_string()))?;
    let mut done = Vec::new();
    let mut error = None;
    let mut bytes = vec![0u8; MESSAGE_MAX];
    while let Ok(length @ 1..) =
        sys::call(nr!(read), &[V::Fd(ours), V::W(sys::cells(&mut bytes)), V::N(MESSAGE_MAX as i64)])
    {
        let text = String::from_utf8_lossy(&bytes[..length as usize]).into_owned();
        let (flaky, rest) = text.split_at(1);
        match flaky {
            "E" => error = Some(rest.to_owned()),
            flaky => done.extend(Done::of_message(rest).map(|one| Done { flaky: flaky == "1", ..one })),
        }
    }
    sys::close(ours);
    sys::wait(child, Duration::from_secs(10));
    match (error, done.is_empty() && total > 0) {
        (Some(why), _) => Err(RunError::Namespace(why)),
        (None, true) => Err(RunError::Probe(directory, "its process ended".to_owned())),
        (None, false) => Ok(Report { facts: map.take::<Facts>(), done, wall: began.elapsed(), stopped: stop() }),
    }
}

/// Reason why there is no user namespace.
enum NamespaceError {
    /// A call failed with this errno.
    Call(i32),
    /// The process of the namespace ended.
    Ended,
    /// A map cannot be written.
    Map(String, io::Error),
    /// The user has no IDs in this file.
    NoIds(&'static str),
    /// The program that writes a map printed this.
    Program(&'static str, String),
    /// The program that writes a map cannot be started.
    NotStarted(&'static str, io::Error),
}

impl fmt::Display for NamespaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamespaceError::Call(error) => f.write_str(&crate::errno::name(*error)),
            NamespaceError::Ended => f.write_str("its process ended"),
            NamespaceError::Map(path, error) => write!(f, "{path}: {error}"),
            NamespaceError::NoIds(file) => {
                write!(f, "{file} assigns no ids to this user; an administrator can add them: usermod --add-subuids")
            }
            NamespaceError::Program(program, stderr) => write!(f, "{program}: {stderr}"),
            NamespaceError::NotStarted(program, error) => {
                write!(f, "{program}: {error}; it comes with the package uidmap")
            }
        }
    }
}

/// Maps root to this user and the rest to IDs that the user may use: those of /etc/subuid by newuidmap(1). As
/// root, maps all IDs unchanged.
#[expect(clippy::disallowed_methods, reason = "writes maps of ids in /proc; this crate depends on no guard")]
fn write_maps(child: i64) -> Result<(), NamespaceError> {
    let (uid, gid) = sys::user_and_group();
    if uid == 0 {
        for kind in ["uid", "gid"] {
            let path = format!("/proc/{child}/{kind}_map");
            let written = std::fs::write(&path, format!("0 {ROOT_FIRST} {IDS}\n"));
            written.map_err(|error| NamespaceError::Map(path, error))?;
        }
        return Ok(());
    }
    for (program, file, id) in [("newuidmap", "/etc/subuid", uid), ("newgidmap", "/etc/subgid", gid)] {
        let first = first_of(file, uid).ok_or(NamespaceError::NoIds(file))?;
        let ids = [0, id, 1, 1, first, IDS - 1].map(|number| number.to_string());
        let output = Command::new(program).arg(child.to_string()).args(ids).stdin(Stdio::null()).output();
        let output = output.map_err(|error| NamespaceError::NotStarted(program, error))?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(NamespaceError::Program(program, stderr));
        }
    }
    Ok(())
}

/// Returns the first ID of a range of at least [`IDS`] - 1 that a file assigns to a user, by number
/// or by name. Source: subuid(5).
fn first_of(file: &str, uid: u32) -> Option<u32> {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid.to_string()).then(|| name.to_owned())
    });
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let owner = fields.next()?;
        let (first, count): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.trim().parse().ok()?);
        let is_ours = name.as_deref() == Some(owner) || owner == uid.to_string();
        (is_ours && count >= IDS - 1).then_some(first)
    })
}
