//! Process settings of a worker (user, CPUs, priority, control group). They apply to the
//! calling thread, before its clock starts.
#![allow(unsafe_code)]

pub(crate) mod cgroup;

use cgroup::{GroupError, Joined};
use plumb_guard::{OutputError, OutputFile};
use plumb_workload::process::{IoPriority, NodeMemory, ProcessRules};
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, Gid, Uid, sched_setaffinity, set_thread_res_gid, set_thread_res_uid};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// `IOPRIO_WHO_PROCESS`, and the bit positions of class and hint in a priority. Source: ioprio_set(2), linux/ioprio.h.
#[cfg(target_os = "linux")]
const IOPRIO_WHO_PROCESS: libc::c_int = 1;
const IOPRIO_CLASS_SHIFT: u32 = 13;
const IOPRIO_HINT_SHIFT: u32 = 3;

/// Error from applying the process settings of a worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("{what}: {source}")]
    Denied {
        /// Setting that failed, for the message.
        what: String,
        source: io::Error,
    },
    #[error(transparent)]
    Group(#[from] GroupError),
    /// A job's command could not be run.
    #[error("{when} command `{line}`: {problem}")]
    Command {
        /// `prerun`, `postrun`.
        when: &'static str,
        line: String,
        problem: CommandProblem,
    },
    /// A job's command exited with an error.
    #[error("{when} command `{line}` failed: {status}; see {}", output.display())]
    Failed {
        /// `prerun`, `postrun`.
        when: &'static str,
        line: String,
        status: ExitStatus,
        /// Output file of the command.
        output: PathBuf,
    },
}

/// Reason why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandProblem {
    /// The output path is a symbolic link, so the output would go elsewhere.
    #[error(
        "its output would go to {}, which is a symbolic link; remove the link, or run in another directory",
        path.display()
    )]
    Link {
        /// Path of the output file.
        path: PathBuf,
    },
    #[error("its output cannot be written to {}: {source}", path.display())]
    Output { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Start(#[from] io::Error),
}

/// Applies the rules to the calling thread. The user is changed last, because the other settings may need
/// the rights of the original user.
///
/// # Errors
/// The setting that failed.
pub(crate) fn apply(rules: &ProcessRules) -> Result<Option<Joined>, ProcessError> {
    if let Some(nice) = rules.nice {
        outcome(set_nice(nice), || format!("cannot set niceness {nice}"))?;
    }
    if let Some(name) = &rules.name {
        outcome(set_name(name), || format!("cannot set the thread name {name}"))?;
    }
    if let Some(priority) = rules.io_priority {
        outcome(set_io_priority(priority), || {
            format!("cannot set I/O priority class {}, level {}", priority.class, priority.level)
        })?;
    }
    if !rules.any_of_cpus.is_empty() {
        outcome(set_cpus(&rules.any_of_cpus), || format!("cannot run on CPUs {:?}", rules.any_of_cpus))?;
    }
    if let Some(nodes) = &rules.memory_nodes {
        outcome(set_memory_nodes(nodes), || format!("cannot allocate memory on {nodes:?}"))?;
    }
    let joined = rules.cgroup.as_ref().map(cgroup::join).transpose()?;
    if let Some(gid) = rules.gid {
        outcome(set_gid(gid), || format!("cannot run as group {gid}"))?;
    }
    if let Some(uid) = rules.uid {
        outcome(set_uid(uid), || format!("cannot run as user {uid}"))?;
    }
    Ok(joined)
}

fn outcome(result: io::Result<()>, what: impl FnOnce() -> String) -> Result<(), ProcessError> {
    result.map_err(|source| ProcessError::Denied { what: what(), source })
}

#[cfg(target_os = "linux")]
fn returned(value: libc::c_long) -> io::Result<()> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets the name of the calling thread; the kernel truncates it to 15 bytes.
#[cfg(target_os = "linux")]
fn set_name(name: &str) -> io::Result<()> {
    let name = std::ffi::CString::new(name).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    Ok(rustix::thread::set_name(&name)?)
}

#[cfg(target_os = "linux")]
fn set_nice(nice: i32) -> io::Result<()> {
    // `None` means the calling thread.
    Ok(rustix::process::setpriority_process(None, nice)?)
}

#[cfg(target_os = "linux")]
fn set_io_priority(priority: IoPriority) -> io::Result<()> {
    // SAFETY: no memory is passed; 0 is the calling thread.
    returned(unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, priority_value(priority)) })
}

/// Encodes a priority as the kernel's number.
pub(crate) fn priority_value(priority: IoPriority) -> u32 {
    u32::from(priority.class) << IOPRIO_CLASS_SHIFT
        | u32::from(priority.hint) << IOPRIO_HINT_SHIFT
        | u32::from(priority.level)
}

#[cfg(target_os = "linux")]
fn set_cpus(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

/// Bits in a node mask. Source: set_mempolicy(2), which takes this many bits plus one.
#[cfg(target_os = "linux")]
const NODE_BITS: usize = 1024;

#[cfg(target_os = "linux")]
fn set_memory_nodes(nodes: &NodeMemory) -> io::Result<()> {
    let mut mask = [0u64; NODE_BITS / 64];
    let (mode, nodes) = match nodes {
        NodeMemory::Default => (libc::MPOL_DEFAULT, &[][..]),
        NodeMemory::Local => (libc::MPOL_LOCAL, &[][..]),
        NodeMemory::Prefer(node) => (libc::MPOL_PREFERRED, std::slice::from_ref(node)),
        NodeMemory::Bind(nodes) => (libc::MPOL_BIND, nodes.as_slice()),
        NodeMemory::Interleave(nodes) => (libc::MPOL_INTERLEAVE, nodes.as_slice()),
    };
    for &node in nodes {
        let word = mask.get_mut(node as usize / 64).ok_or_else(|| io::Error::from_raw_os_error(libc::EINVAL))?;
        *word |= 1 << (node % 64);
    }
    let (pointer, bits) = if nodes.is_empty() { (std::ptr::null(), 0) } else { (mask.as_ptr(), NODE_BITS + 1) };
    // SAFETY: the kernel reads the mask, which outlives the call and has the number of bits passed,
    // or is null with 0 bits.
    returned(unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, pointer, bits) })
}

// Raw system calls change only this worker's thread. The C library would change all threads of the process.
#[cfg(target_os = "linux")]
fn set_gid(gid: u32) -> io::Result<()> {
    let gid = Gid::from_raw_unchecked(gid);
    Ok(set_thread_res_gid(gid, gid, gid)?)
}

#[cfg(target_os = "linux")]
fn set_uid(uid: u32) -> io::Result<()> {
    let uid = Uid::from_raw_unchecked(uid);
    Ok(set_thread_res_uid(uid, uid, uid)?)
}

#[cfg(not(target_os = "linux"))]
mod not_linux {
    use super::{IoPriority, NodeMemory};
    use std::io;

    fn unsupported() -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }
    pub(super) fn set_name(_name: &str) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_nice(_nice: i32) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_io_priority(_priority: IoPriority) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_cpus(_cpus: &[u32]) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_memory_nodes(_nodes: &NodeMemory) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_gid(_gid: u32) -> io::Result<()> {
        unsupported()
    }
    pub(super) fn set_uid(_uid: u32) -> io::Result<()> {
        unsupported()
    }
}
#[cfg(not(target_os = "linux"))]
use not_linux::{set_cpus, set_gid, set_io_priority, set_memory_nodes, set_name, set_nice, set_uid};

/// When a command of a job runs. The name is part of the output file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// Creates an empty output file for a command. The name is predictable, so a symbolic link planted there is not
/// followed: its target would be overwritten.
fn output_file(path: &Path) -> Result<File, CommandProblem> {
    OutputFile::made_up("the output of a command", path).create().map_err(|error| match error {
        OutputError::Link { path, .. } => CommandProblem::Link { path },
        error => CommandProblem::Output { path: path.to_owned(), source: error.into() },
    })
}

/// Returns `/bin/sh -c line`.
pub fn shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    command
}

/// Runs a shell command line in `base`, with its output in `JOB.prerun.txt` or `JOB.postrun.txt` there.
///
/// # Errors
/// The command could not be run, or it exited with an error.
pub(crate) fn run_command(line: &str, when: When, job: &str, base: &Path) -> Result<(), ProcessError> {
    let name = match when {
        When::Before => "prerun",
        When::After => "postrun",
    };
    let output: PathBuf = base.join(format!("{}.{name}.txt", job.replace('/', "_")));
    let failed = |problem| ProcessError::Command { when: name, line: line.to_owned(), problem };
    let file = output_file(&output).map_err(failed)?;
    let errors = file.try_clone().map_err(|error| failed(error.into()))?;
    let mut command = shell(line);
    command.current_dir(base).stdin(Stdio::null()).stdout(file).stderr(errors);
    let status = command.status().map_err(|error| failed(error.into()))?;
    match status.success() {
        true => Ok(()),
        false => Err(ProcessError::Failed { when: name, line: line.to_owned(), status, output }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Runs `work` in a new thread, so that its settings end with the thread.
    fn in_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::spawn(work).join().unwrap()
    }

    #[test]
    fn niceness_priority_and_cpu_apply_to_one_thread() {
        let rules = ProcessRules {
            name: Some("a-name-of-more-than-fifteen-bytes".to_owned()),
            nice: Some(5),
            io_priority: Some(IoPriority { class: 3, level: 0, hint: 0 }),
            any_of_cpus: vec![0],
            ..ProcessRules::default()
        };
        let niceness = || {
            let stat = fs::read_to_string("/proc/thread-self/stat").unwrap();
            stat.rsplit(')').next().unwrap().split_whitespace().nth(16).unwrap().to_owned()
        };
        let before = niceness();
        let seen = in_a_thread(move || {
            apply(&rules).unwrap();
            let status = fs::read_to_string("/proc/thread-self/status").unwrap();
            let nice = niceness();
            let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap().to_owned();
            // SAFETY: no memory is passed.
            let priority = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) };
            let name = fs::read_to_string("/proc/thread-self/comm").unwrap();
            (nice, cpus, priority, name)
        });
        assert_eq!(seen.0, "5");
        assert!(seen.1.ends_with("\t0"), "{}", seen.1);
        assert_eq!(seen.2 >> IOPRIO_CLASS_SHIFT, 3);
        assert_eq!(seen.3, "a-name-of-more-\n");
        assert_eq!(niceness(), before, "this thread is unchanged");
    }

    #[test]
    fn a_user_change_applies_to_one_thread() {
        if !rustix::process::geteuid().is_root() {
            assert!(std::env::var_os("CI").is_none(), "needs root");
            eprintln!("SKIPPED: another user needs root");
            return;
        }
        let rules = ProcessRules { uid: Some(65534), gid: Some(65534), ..ProcessRules::default() };
        let owner = |text: &str| text.lines().find(|line| line.starts_with("Uid:")).map(str::to_owned);
        let seen = in_a_thread(move || {
            apply(&rules).unwrap();
            owner(&fs::read_to_string("/proc/thread-self/status").unwrap())
        });
        assert_eq!(seen, Some("Uid:\t65534\t65534\t65534\t65534".to_owned()));
        assert!(rustix::process::geteuid().is_root());
    }

    #[test]
    fn denied_settings_are_named() {
        let rules = ProcessRules { any_of_cpus: vec![1023], ..ProcessRules::default() };
        let error = in_a_thread(move || apply(&rules).unwrap_err().to_string());
        assert!(error.contains("1023"), "{error}");
        let rules = ProcessRules { memory_nodes: Some(NodeMemory::Bind(vec![5000])), ..ProcessRules::default() };
        assert!(in_a_thread(move || apply(&rules).unwrap_err().to_string()).contains("5000"));
    }

    #[test]
    fn a_command_keeps_its_output_and_reports_failure() {
        let place = tempfile::tempdir().unwrap();
        run_command("echo out; echo err >&2", When::Before, "job", place.path()).unwrap();
        assert_eq!(fs::read_to_string(place.path().join("job.prerun.txt")).unwrap(), "out\nerr\n");
        let error = run_command("exit 3", When::After, "job", place.path()).unwrap_err().to_string();
        assert!(error.contains("exit 3") && error.contains("job.postrun.txt"), "{error}");
    }

    // Protects: a symbolic link in place of the output file does not cost the user the link's target.
    #[test]
    fn command_output_does_not_follow_links() {
        let place = tempfile::tempdir().unwrap();
        let precious = place.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, place.path().join("job.prerun.txt")).unwrap();
        let error = run_command("touch ran", When::Before, "job", place.path()).unwrap_err().to_string();
        assert!(error.contains("symbolic link") && error.contains("job.prerun.txt"), "{error}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
        assert!(!place.path().join("ran").exists(), "the command does not run");
    }
}
