//! Commands of the system: described as data first, then run without a shell.

use plumb_engine::signals::StopFlag;
use rustix::process::{Pid, Signal};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Default time limit of a command: enough for mkfs on a large, slow disk.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(600);

/// Maximum bytes kept of a command's output, from its end.
const KEPT_BYTES: u64 = 64 * 1024;

/// Directories of administrators' tools, which a user's `PATH` may lack.
const ADMIN_DIRS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    program: String,
    args: Vec<String>,
    stdin: String,
    timeout: Duration,
    /// Highest exit code that counts as success.
    code_max: i32,
}

/// Output of a command; only the end if it is long.
pub(crate) struct Streams {
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Error from running a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program is not installed.
    #[error("`{command}`: {}", not_installed(program))]
    Missing { command: String, program: String },
    /// The command exited with an error.
    #[error("`{command}` ended with {status}{output}", output = quoted(stderr))]
    Failed {
        command: String,
        /// Exit status, such as `exit status: 1`.
        status: String,
        /// Last lines of its output.
        stderr: String,
    },
    /// The command took too long and was killed.
    #[error("`{command}` was killed after {seconds} s{output}; set a longer `timeout` if it needs one", output = quoted(stderr))]
    TooLong {
        command: String,
        /// Time limit in seconds.
        seconds: u64,
        /// Last lines of its output.
        stderr: String,
    },
    /// The user stopped the command.
    #[error("`{command}` was interrupted")]
    Interrupted { command: String },
    /// The command could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: io::Error },
}

fn quoted(output: &str) -> String {
    // The last lines explain the failure, or else the first line before a usage page.
    let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => String::new(),
        [first, between @ .., fourth, third, second, last] if !between.is_empty() => {
            format!(": {}", [first, "…", fourth, third, second, last].join(" / "))
        }
        few => format!(": {}", few.join(" / ")),
    }
}

/// Environment variable that identifies the processes of a [`Witness`] that is killed before it learns their IDs.
pub(crate) const MARK: &str = "PLUMB_LAB_COMMAND";

/// Observes the process of a command.
pub(crate) trait Witness {
    /// Value of [`MARK`] in the command's environment. Identifies the process until `started` is called.
    fn mark(&self) -> Option<String> {
        None
    }
    /// Called when the command runs as this process, the leader of its own group.
    fn started(&mut self, pid: u32);
    /// Called when the process is gone.
    fn ended(&mut self, pid: u32);
}

/// A [`Witness`] that ignores all calls.
pub(crate) struct NoWitness;

impl Witness for NoWitness {
    fn started(&mut self, _: u32) {}
    fn ended(&mut self, _: u32) {}
}

impl Command {
    /// Creates a command from a program and its arguments.
    pub(crate) fn new(program: &str, args: impl IntoIterator<Item = impl Into<String>>) -> Command {
        Command {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            stdin: String::new(),
            timeout: TIMEOUT,
            code_max: 0,
        }
    }

    /// Sets the highest exit code that counts as success: e2fsck(8) exits with 1 after it corrected errors.
    pub(crate) fn accept_up_to(mut self, code: i32) -> Command {
        self.code_max = code;
        self
    }

    /// Inserts an argument before all others.
    pub(crate) fn first_arg(mut self, arg: impl Into<String>) -> Command {
        self.args.insert(0, arg.into());
        self
    }

    /// Appends one argument to the command.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Command {
        self.args.push(arg.into());
        self
    }

    /// Appends arguments to the command.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Command {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the standard input, which is empty by default.
    pub(crate) fn stdin(mut self, text: impl Into<String>) -> Command {
        self.stdin = text.into();
        self
    }

    pub(crate) fn with_timeout(mut self, timeout: Duration) -> Command {
        self.timeout = timeout;
        self
    }

    /// Runs the command and returns its standard output.
    ///
    /// # Errors
    /// Returns an error if the program is missing, fails, takes too long, or the user interrupts. It
    /// is no longer running then.
    pub(crate) fn run(&self, witness: &mut dyn Witness, stop: Option<StopFlag>) -> Result<String, CommandError> {
        Ok(self.run_for_streams(witness, stop)?.output)
    }

    /// Runs the command and returns both output streams.
    pub(crate) fn run_for_streams(
        &self,
        witness: &mut dyn Witness,
        stop: Option<StopFlag>,
    ) -> Result<Streams, CommandError> {
        let program = find(&self.program)
            .ok_or_else(|| CommandError::Missing { command: self.to_string(), program: self.program.clone() })?;
        let cannot = |source| CommandError::Start { command: self.to_string(), source };
        let (input, stdout, stderr) = self.files().map_err(cannot)?;
        let handle = |file: &File| file.try_clone().map(Stdio::from);
        let mut child = std::process::Command::new(program)
            .args(&self.args)
            .env("LC_ALL", "C")
            .env("PATH", search_path())
            .envs(witness.mark().map(|mark| (MARK, mark)))
            .stdin(handle(&input).map_err(cannot)?)
            .stdout(handle(&stdout).map_err(cannot)?)
            .stderr(handle(&stderr).map_err(cannot)?)
            // Ctrl-C must reach only Plumb, which takes things down in order.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        witness.started(child.id());
        let begin = Instant::now();
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if begin.elapsed() > self.timeout => {
                    break Err(CommandError::TooLong {
                        command: self.to_string(),
                        seconds: self.timeout.as_secs(),
                        stderr: end_of(&stderr),
                    });
                }
                Ok(None) if stop.is_some_and(StopFlag::requested) => {
                    break Err(CommandError::Interrupted { command: self.to_string() });
                }
                Ok(None) => std::thread::sleep(pause(begin.elapsed())),
                Err(source) => break Err(cannot(source)),
            }
        };
        if ended.is_err() {
            kill_group(child.id());
            let _ = child.wait();
        }
        witness.ended(child.id());
        let status = ended?;
        if status.code().is_some_and(|code| code <= self.code_max) {
            return Ok(Streams { output: end_of(&stdout), errors: end_of(&stderr) });
        }
        // Some tools print errors on standard output.
        let output =
            Some(end_of(&stderr)).filter(|output| !output.trim().is_empty()).unwrap_or_else(|| end_of(&stdout));
        Err(CommandError::Failed { command: self.to_string(), status: status.to_string(), stderr: output })
    }

    /// Returns files for the streams. With pipes, a background process that the command left would block
    /// the read to the end.
    fn files(&self) -> io::Result<(File, File, File)> {
        let mut input = memory_file("stdin")?;
        input.write_all(self.stdin.as_bytes())?;
        input.rewind()?;
        Ok((input, memory_file("stdout")?, memory_file("stderr")?))
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.stdin.is_empty() {
            write!(f, "printf {} | ", shell_quoted(&self.stdin.replace('\\', r"\\").replace('\n', r"\n")))?;
        }
        f.write_str(&shell_quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", shell_quoted(arg)))
    }
}

/// Runs a user's line in a shell and returns its standard output; only the end if it is long.
///
/// # Errors
/// Returns an error if the line fails, exceeds the limit, or the user interrupts. The whole
/// process group is killed then.
pub fn run_line(line: &str, limit: Duration, stop: Option<StopFlag>) -> Result<String, LineError> {
    Ok(Command::new("sh", ["-c", line]).with_timeout(limit).run(&mut NoWitness, stop)?)
}

/// Checks the syntax of a user's shell line without running it.
///
/// # Errors
/// Returns the shell's message.
pub fn check_line(line: &str) -> Result<(), LineError> {
    Ok(Command::new("sh", ["-n", "-c", line]).run(&mut NoWitness, None).map(drop)?)
}

/// Error from running a user's line. Does not repeat the line, since callers show it.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// The line exited with an error.
    #[error("{status}{output}", output = quoted(stderr))]
    Failed {
        /// Exit status, such as `exit status: 1`.
        status: String,
        /// Last lines of its output.
        stderr: String,
    },
    /// The line took too long and was killed.
    #[error("killed after {seconds} s, with every process it started{output}", output = quoted(stderr))]
    TooLong {
        /// Time limit in seconds.
        seconds: u64,
        /// Last lines of its output.
        stderr: String,
    },
    /// The user stopped the line.
    #[error("interrupted")]
    Interrupted,
    /// The shell could not be run.
    #[error(transparent)]
    Shell(CommandError),
}

impl From<CommandError> for LineError {
    fn from(error: CommandError) -> LineError {
        match error {
            CommandError::TooLong { seconds, stderr, .. } => LineError::TooLong { seconds, stderr },
            CommandError::Failed { status, stderr, .. } => LineError::Failed { status, stderr },
            CommandError::Interrupted { .. } => LineError::Interrupted,
            other => LineError::Shell(other),
        }
    }
}

/// Converts a path to a command-line argument.
pub(crate) fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Kills the process group of this leader.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// Quotes a text as one word of a POSIX shell.
fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Returns the next polling interval: short at first for short commands, longer for long ones.
fn pause(elapsed: Duration) -> Duration {
    (elapsed / 8).clamp(Duration::from_millis(1), Duration::from_millis(50))
}

#[cfg(target_os = "linux")]
fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?))
}

#[cfg(not(target_os = "linux"))]
fn memory_file(_: &str) -> io::Result<File> {
    tempfile::tempfile()
}

fn end_of(mut file: &File) -> String {
    let mut bytes = vec![];
    let length = file.metadata().map_or(0, |meta| meta.len());
    // The child's writes have moved the shared file offset.
    let read = file
        .seek(SeekFrom::Start(length.saturating_sub(KEPT_BYTES)))
        .and_then(|_| file.take(KEPT_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn search_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let dirs = std::env::split_paths(&own).chain(ADMIN_DIRS.into_iter().map(PathBuf::from));
    std::env::join_paths(dirs).unwrap_or(own)
}

/// Returns the path of a program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    std::env::split_paths(&search_path()).map(|dir| dir.join(program)).find(is_program)
}

/// Packages of Debian 12 and 13 that contain a program.
const PACKAGES: &[(&str, &str)] = &[
    ("bindfs", "bindfs"),
    ("blockdev", "util-linux"),
    ("btrfs", "btrfs-progs"),
    ("dmsetup", "dmsetup"),
    ("dumpe2fs", "e2fsprogs"),
    ("e2fsck", "e2fsprogs"),
    ("exportfs", "nfs-kernel-server"),
    ("fusermount3", "fuse3"),
    ("losetup", "mount"),
    ("lvm", "lvm2"),
    ("mdadm", "mdadm"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ext2", "e2fsprogs"),
    ("mkfs.ext3", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.f2fs", "f2fs-tools"),
    ("mkfs.xfs", "xfsprogs"),
    ("mount", "mount"),
    ("mount.nfs", "nfs-common"),
    ("partx", "util-linux"),
    ("qemu-img", "qemu-utils"),
    ("sfdisk", "fdisk"),
    ("thin_check", "thin-provisioning-tools"),
    ("tune2fs", "e2fsprogs"),
    ("umount", "mount"),
];

/// Returns the message that a program is not installed, with its package. `None` if it is installed.
pub(crate) fn missing(program: &str) -> Option<String> {
    find(program).is_none().then(|| not_installed(program))
}

/// Formats the message that a program is not installed, with its package.
pub(crate) fn not_installed(program: &str) -> String {
    let package = package_of(program).map_or_else(String::new, |package| format!("; on Debian: apt install {package}"));
    format!("{program} is not installed{package}")
}

fn package_of(program: &str) -> Option<&'static str> {
    PACKAGES.iter().find(|(name, _)| *name == program).map(|(_, package)| *package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &Command) -> Result<String, CommandError> {
        command.run(&mut NoWitness, None)
    }

    /// Protects: tools explain the error before their usage page or at the end of their output.
    #[test]
    fn the_first_line_and_the_last_ones_are_quoted() {
        assert_eq!(quoted("\n"), "");
        assert_eq!(quoted("a\nb\n"), ": a / b");
        assert_eq!(quoted("invalid option\nb\nc\nd\ne\nf\n"), ": invalid option / … / c / d / e / f");
        assert_eq!(quoted("a\nb\nc\nd\ne"), ": a / b / c / d / e");
    }

    #[test]
    fn a_command_gets_its_arguments_and_input_and_returns_its_output() {
        let command = Command::new("cat", ["-", "/dev/null"]).stdin("a\nb");
        assert_eq!(run(&command).unwrap(), "a\nb");
        assert_eq!(command.to_string(), r"printf 'a\nb' | cat - /dev/null");
        assert_eq!(Command::new("printf", ["%s", "it's $HOME"]).to_string(), r"printf %s 'it'\''s $HOME'");
        assert_eq!(run(&Command::new("printf", ["%s", "it's $HOME"])).unwrap(), "it's $HOME");
    }

    #[test]
    fn a_failure_includes_the_commands_output() {
        let error = run(&Command::new("ls", ["/nowhere/at all"])).unwrap_err().to_string();
        assert!(error.starts_with("`ls '/nowhere/at all'` ended with exit status: "), "{error}");
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let missing = CommandError::Missing { command: "mdadm --create".to_owned(), program: "mdadm".to_owned() };
        let text = "`mdadm --create`: mdadm is not installed; on Debian: apt install mdadm";
        assert_eq!(missing.to_string(), text);
        let error = run(&Command::new("plumb-has-no-such-program", ["x"])).unwrap_err();
        assert!(matches!(error, CommandError::Missing { .. }) && !error.to_string().contains("apt"), "{error:?}");
    }

    // Protects: neither a hung command nor its children outlive the time limit.
    #[test]
    fn a_slow_command_is_killed_with_its_children() {
        struct Seen(Vec<u32>);
        impl Witness for Seen {
            fn started(&mut self, pid: u32) {
                self.0.push(pid);
            }
            fn ended(&mut self, pid: u32) {
                assert_eq!(self.0, [pid]);
            }
        }
        let mut seen = Seen(vec![]);
        let command =
            Command::new("sh", ["-c", "sleep 1000 & echo waiting >&2; wait"]).with_timeout(Duration::from_millis(300));
        let error = command.run(&mut seen, None).unwrap_err();
        assert!(error.to_string().contains("was killed after 0 s: waiting"), "{error}");
        let group = Pid::from_raw(seen.0[0] as i32).unwrap();
        let is_gone = || rustix::process::test_kill_process_group(group).is_err();
        assert!((0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_gone()
        }));
    }

    #[test]
    fn a_slow_line_is_killed_and_its_output_quoted() {
        let error = run_line("sleep 1000 & echo booting >&2; wait", Duration::from_millis(300), None).unwrap_err();
        assert_eq!(error.to_string(), "killed after 0 s, with every process it started: booting");
        let failed = run_line("echo no such machine >&2; exit 3", TIMEOUT, None).unwrap_err().to_string();
        assert!(failed.contains('3') && failed.ends_with(": no such machine"), "{failed}");
        assert_eq!(run_line("echo up", TIMEOUT, None).unwrap(), "up\n");
        let flag = StopFlag::detached();
        flag.request();
        assert_eq!(run_line("sleep 1000", TIMEOUT, Some(flag)).unwrap_err().to_string(), "interrupted");
    }

    #[test]
    fn the_user_can_interrupt_a_command() {
        let flag = StopFlag::detached();
        flag.request();
        let error = Command::new("sleep", ["1000"]).run(&mut NoWitness, Some(flag)).unwrap_err();
        assert!(matches!(error, CommandError::Interrupted { .. }), "{error:?}");
    }

    #[test]
    fn background_processes_do_not_block() {
        let text = run(&Command::new("sh", ["-c", "sleep 3 & echo done"])).unwrap();
        assert_eq!(text, "done\n");
    }
}
