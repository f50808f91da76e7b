//! Control groups: a worker joins one for the duration of its job. Source: cgroups(7).

use plumb_workload::process::ControlGroup;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Membership of a worker in a control group.
#[derive(Debug)]
pub(crate) struct Joined {
    directory: PathBuf,
    /// Group of the worker before it joined.
    previous: PathBuf,
    version: Version,
    stays: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    /// cgroup v1: one hierarchy per controller.
    One,
    /// cgroup v2: the unified hierarchy.
    Two,
}

/// The hierarchy that controls I/O.
struct Hierarchy {
    root: PathBuf,
    version: Version,
}

/// Error from joining or leaving a control group.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroupError {
    /// The name does not name a group below the root.
    #[error("the control group `{name}` (fio's cgroup) is not a path below the root; use a name without `..`")]
    NoName { name: String },
    /// No hierarchy that controls I/O is mounted.
    #[error("the control group `{name}` (fio's cgroup): no hierarchy that controls I/O is mounted")]
    NoHierarchy { name: String },
    /// The kernel does not support I/O weights.
    #[error(
        "the control group `{name}` has no {}: this kernel does not support I/O weights here; leave the weight (fio's \
         cgroup_weight) out",
        file.display()
    )]
    NoWeights {
        name: String,
        /// Missing control file.
        file: PathBuf,
    },
    #[error(
        "the control group `{name}` (fio's cgroup): {what}: {source}{}",
        if source.kind() == io::ErrorKind::PermissionDenied { "; this requires root" } else { "" }
    )]
    Failed {
        name: String,
        /// Path or action that failed, for the message.
        what: String,
        source: io::Error,
    },
    /// The group could not be left.
    #[error("the control group {}: {source}", directory.display())]
    Left { directory: PathBuf, source: io::Error },
}

/// Returns the directory of a workload's control group; `None` if no hierarchy that controls I/O is mounted.
pub fn control_group_directory(name: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    Some(hierarchy(&mounts)?.root.join(name.trim_matches('/')))
}

/// Creates the group if it is missing, sets its weight, and joins it. Only the calling thread joins where the kernel
/// supports that; otherwise the whole process does.
///
/// # Errors
/// The step that failed.
pub(crate) fn join(group: &ControlGroup) -> Result<Joined, GroupError> {
    let name = group.name.trim_matches('/');
    let failed = |what: &str| {
        let (name, what) = (name.to_owned(), what.to_owned());
        move |source| GroupError::Failed { name, what, source }
    };
    if name.is_empty() || name.split('/').any(|part| part == "..") {
        return Err(GroupError::NoName { name: name.to_owned() });
    }
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(failed("/proc/self/mounts"))?;
    let Some(Hierarchy { root, version }) = hierarchy(&mounts) else {
        return Err(GroupError::NoHierarchy { name: name.to_owned() });
    };
    let directory = root.join(name);
    let path = |path: &Path| path.display().to_string();
    fs::create_dir_all(&directory).map_err(failed(&path(&directory)))?;
    if let Some(weight) = group.weight {
        let (file, text) = match version {
            Version::One => (directory.join("blkio.weight"), weight.to_string()),
            Version::Two => (directory.join("io.weight"), format!("default {weight}")),
        };
        write_into(&file, &text).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GroupError::NoWeights { name: name.to_owned(), file: file.clone() },
            _ => failed(&path(&file))(error),
        })?;
    }
    let own = fs::read_to_string("/proc/thread-self/cgroup").unwrap_or_default();
    let joined = Joined { previous: root.join(parse_own_group(&own, version)), directory, version, stays: group.stays };
    joined.enter(&joined.directory).map_err(failed("cannot be joined"))?;
    Ok(joined)
}

impl Joined {
    /// Returns to the previous group. Removes the group unless it should stay or still has members.
    ///
    /// # Errors
    /// The step that failed.
    pub(crate) fn leave(self) -> Result<(), GroupError> {
        let failed = |source| GroupError::Left { directory: self.directory.clone(), source };
        self.enter(&self.previous).map_err(failed)?;
        if self.stays {
            return Ok(());
        }
        match fs::remove_dir(&self.directory) {
            // The last member to leave removes the group.
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EBUSY | libc::ENOTEMPTY | libc::ENOENT)) => {
                Err(failed(error))
            }
            _ => Ok(()),
        }
    }

    fn enter(&self, group: &Path) -> io::Result<()> {
        let thread = crate::os::thread_number().to_string();
        let of_thread = match self.version {
            Version::One => "tasks",
            Version::Two => "cgroup.threads",
        };
        if write_into(&group.join(of_thread), &thread).is_ok() {
            return Ok(());
        }
        write_into(&group.join("cgroup.procs"), &rustix::process::getpid().as_raw_nonzero().to_string())
    }
}

/// Finds the first mounted hierarchy, as fio does: the one of controller blkio, or the unified one.
fn hierarchy(mounts: &str) -> Option<Hierarchy> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (root, kind, options) = (words.next()?, words.next()?, words.next()?);
        let version = match kind {
            "cgroup" if options.split(',').any(|option| option == "blkio") => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        Some(Hierarchy { root: PathBuf::from(root.replace("\\040", " ")), version })
    })
}

/// Parses the group of a thread, relative to the root of its hierarchy, from `/proc/…/cgroup`.
fn parse_own_group(own: &str, version: Version) -> String {
    let group = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let fits = match version {
            Version::One => controllers.split(',').any(|controller| controller == "blkio"),
            Version::Two => controllers.is_empty(),
        };
        fits.then(|| group.trim_start_matches('/').to_owned())
    });
    group.unwrap_or_default()
}

fn write_into(path: &Path, text: &str) -> io::Result<()> {
    plumb_guard::write_setting(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_that_controls_io_is_found_among_others() {
        let both = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                    cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let found = hierarchy(both).unwrap();
        assert_eq!((found.root.to_str(), found.version), (Some("/sys/fs/cgroup/blkio"), Version::One));
        let found = hierarchy("cgroup2 /a\\040b cgroup2 rw 0 0\n").unwrap();
        assert_eq!((found.root.to_str(), found.version), (Some("/a b"), Version::Two));
        assert!(hierarchy("tmpfs / tmpfs rw 0 0\n").is_none());
    }

    #[test]
    fn the_group_of_a_thread_is_parsed() {
        let own = "4:memory:/m\n3:cpu,blkio:/a/b\n0::/user.slice\n";
        assert_eq!(
            (parse_own_group(own, Version::One), parse_own_group(own, Version::Two)),
            ("a/b".to_owned(), "user.slice".to_owned())
        );
        assert_eq!(parse_own_group("", Version::Two), "");
    }

    // Protects: a group exists while it has members, and a thread returns to the group it came from.
    #[test]
    fn a_group_is_joined_and_left() {
        let group = ControlGroup { name: format!("plumb-test-{}", std::process::id()), weight: None, stays: false };
        let own = || fs::read_to_string("/proc/thread-self/cgroup").unwrap_or_default();
        let before = own();
        let done = std::thread::spawn(move || {
            let joined = join(&group)?;
            let (inside, directory) = (own(), joined.directory.clone());
            joined.leave()?;
            Ok::<_, GroupError>((inside.contains(&group.name), directory.exists(), own()))
        });
        match done.join().unwrap() {
            Ok((was_inside, is_left, after)) => assert_eq!((was_inside, is_left, after), (true, false, before)),
            Err(reason) => {
                assert!(std::env::var_os("CI").is_none(), "{reason}");
                eprintln!("SKIPPED: {reason}");
            }
        }
    }

    #[test]
    fn a_name_stays_below_the_root() {
        let group = ControlGroup { name: "a/../../b".to_owned(), weight: None, stays: false };
        assert!(join(&group).unwrap_err().to_string().contains("below the root"));
    }
}
