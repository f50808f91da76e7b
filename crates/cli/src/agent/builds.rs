//! `--allow-build`: systems that clients of a listening agent may build on its host.

use super::{AgentArguments, allowed};
use crate::exit::Stopped;
use crate::output::error_line;
use crate::session;
use plumb_engine::guard::is_below_any;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Returns the arguments of a client's process that let it build.
pub(super) fn words(arguments: &AgentArguments) -> Vec<OsString> {
    let Some(devices) = &arguments.allow_build else { return Vec::new() };
    let devices = devices.iter().flat_map(|device| [OsString::from("--build-device"), device.into()]);
    std::iter::once(OsString::from("--allow-build")).chain(devices).collect()
}

/// Checks what `--allow-build` names, takes down what clients of a killed agent left, and prints what clients may do.
///
/// # Errors
/// A device does not exist, or clients could write to the journals that say how to take systems down.
pub(super) fn prepare(arguments: &AgentArguments, program: PathBuf, name: &str) -> Result<(), Stopped> {
    let Some(devices) = &arguments.allow_build else { return Ok(()) };
    devices.iter().try_for_each(|device| check_device(device))?;
    let surroundings = session::surroundings(program)?;
    let allow = allowed(&arguments.allow)?;
    let journals = surroundings.journals();
    if is_below_any(&allow, &journals) {
        let all: Vec<String> = allow.iter().map(|path| path.display().to_string()).collect();
        return Err(Stopped::usage(format!(
            "clients may write below {}, and the journals in {} hold commands that this user runs: allow another directory with \
             --allow, or set XDG_STATE_HOME to one that clients cannot reach",
            all.join(", "),
            journals.display()
        )));
    }
    let recovered = plumb_lab::recover(&journals, &mut |_| ());
    match recovered {
        Ok(recovered) => {
            for found in recovered.iter().filter(|found| found.undone > 0) {
                error_line!("{name}: took down what process {} left of {}", found.pid, found.tag);
            }
        }
        Err(error) => error_line!("{name}: warning: {error}"),
    }
    let all: Vec<String> = allow.iter().map(|path| path.display().to_string()).collect();
    let destroyed = if devices.is_empty() { String::new() } else { format!(", and destroy {}", devices.join(", ")) };
    let beyond = if arguments.allow_exec { "; with --allow-exec, also by any command" } else { "" };
    error_line!("{name}: clients may build systems below {}{destroyed}{beyond}", all.join(", "));
    Ok(())
}

/// Checks that a path is a block device. A serial may belong to a device that comes later.
fn check_device(device: &str) -> Result<(), Stopped> {
    let way_out =
        "--allow-build takes block devices that clients may destroy, by paths such as /dev/disk/by-id/… or serials";
    if device.is_empty() {
        return Err(Stopped::usage(format!("--allow-build: a device has no name; {way_out}, or no value for none")));
    }
    let path = Path::new(device);
    match fs::metadata(path) {
        Ok(_) if path.is_relative() => {
            Err(Stopped::usage(format!("--allow-build {device}: the path is relative; {way_out}")))
        }
        Err(_) if path.is_relative() => Ok(()),
        Ok(found) if found.file_type().is_block_device() => Ok(()),
        Ok(_) => Err(Stopped::usage(format!("--allow-build {device}: not a block device; {way_out}"))),
        Err(error) => Err(Stopped::usage(format!("--allow-build {device}: {error}; {way_out}"))),
    }
}
