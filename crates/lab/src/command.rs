//! Commands of the system: described as data first, then run, without a shell.

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

/// How long a command may take unless it says otherwise: mkfs of a large, slow disk is done by then.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(600);

/// How much of what a command said is kept: its end.
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
    /// The exit code up to which all went well.
    code_max: i32,
}

/// Why a command did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed.
    #[error("`{command}`: {}", not_installed(program))]
    Missing {
        /// The command line.
        command: String,
        /// The program.
        program: String,
    },
    /// It ended with an error.
    #[error("`{command}` ended with {status}{said}", said = quoted(stderr))]
    Failed {
        /// The command line.
        command: String,
        /// `exit status: 1`.
        status: String,
        /// The last lines that it said.
        stderr: String,
    },
    /// It took too long, and was killed.
    #[error("`{command}` was killed after {seconds} s{said}; set a longer `timeout` if it needs one", said = quoted(stderr))]
    TooLong {
        /// The command line.
        command: String,
        /// How long it had, seconds.
        seconds: u64,
        /// The last lines that it said.
        stderr: String,
    },
    /// The user stopped it.
    #[error("`{command}` was interrupted")]
    Interrupted {
        /// The command line.
        command: String,
    },
    /// It could not be started.
    #[error("`{command}` could not be started: {source}")]
    Start {
        /// The command line.
        command: String,
        /// What the system said.
        source: io::Error,
    },
}

fn quoted(said: &str) -> String {
    // The last lines tell what went wrong, or else the first one does, before a page about how to use the tool.
    let lines: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => String::new(),
        [first, between @ .., fourth, third, second, last] if !between.is_empty() => {
            format!(": {}", [first, "…", fourth, third, second, last].join(" / "))
        }
        few => format!(": {}", few.join(" / ")),
    }
}

/// The variable that marks the processes of a witness that may be killed between their start and hearing of it.
pub(crate) const MARK: &str = "PLUMB_LAB_COMMAND";

/// Who hears of the process that a command becomes.
pub(crate) trait Witness {
    /// By what the process is known until it was heard of: the value of [`MARK`] in its environment.
    fn mark(&self) -> Option<String> {
        None
    }
    /// It runs as this process, the leader of a group of its own.
    fn started(&mut self, pid: u32);
    /// It runs no more.
    fn ended(&mut self, pid: u32);
}

/// Nobody does.
pub(crate) struct NoWitness;

impl Witness for NoWitness {
    fn started(&mut self, _: u32) {}
    fn ended(&mut self, _: u32) {}
}

impl Command {
    /// A program and its arguments.
    pub(crate) fn new(program: &str, args: impl IntoIterator<Item = impl Into<String>>) -> Command {
        Command {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            stdin: String::new(),
            timeout: TIMEOUT,
            code_max: 0,
        }
    }

    /// With a highest exit code that is no failure: e2fsck(8) ends with 1 when it has put something right.
    pub(crate) fn up_to_code(mut self, code: i32) -> Command {
        self.code_max = code;
        self
    }

    /// With one argument in front of the others.
    pub(crate) fn first_arg(mut self, arg: impl Into<String>) -> Command {
        self.args.insert(0, arg.into());
        self
    }

    /// With one argument more.
    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Command {
        self.args.push(arg.into());
        self
    }

    /// With more arguments.
    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Command {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// With this on its standard input, which holds nothing otherwise.
    pub(crate) fn stdin(mut self, text: impl Into<String>) -> Command {
        self.stdin = text.into();
        self
    }

    /// With this time at most.
    pub(crate) fn within(mut self, timeout: Duration) -> Command {
        self.timeout = timeout;
        self
    }

    /// Runs it to its end; what it printed.
    ///
    /// # Errors
    /// It is missing, fails, takes too long, or the user wants to stop. It runs no more then.
    pub(crate) fn run(&self, witness: &mut dyn Witness, stop: Option<StopFlag>) -> Result<String, CommandError> {
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
            // A Ctrl-C is for Plumb, which takes things down in order.
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
            return Ok(end_of(&stdout));
        }
        // Some tools complain on standard output.
        let said = Some(end_of(&stderr)).filter(|said| !said.trim().is_empty()).unwrap_or_else(|| end_of(&stdout));
        Err(CommandError::Failed { command: self.to_string(), status: status.to_string(), stderr: said })
    }

    /// Files instead of pipes: what a command leaves running in the background cannot make anyone wait for their end.
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

/// Runs a line of the user's own in a shell; what it printed on standard output, the end of it where it is long.
///
/// # Errors
/// It fails, takes longer than this, or the user wants to stop. It is killed then, with all that it has started in its process
/// group.
pub fn run_line(line: &str, limit: Duration, stop: Option<StopFlag>) -> Result<String, LineError> {
    Ok(Command::new("sh", ["-c", line]).within(limit).run(&mut NoWitness, stop)?)
}

/// Whether a shell takes a line of the user's own; nothing of it runs.
///
/// # Errors
/// What the shell says against it.
pub fn check_line(line: &str) -> Result<(), LineError> {
    Ok(Command::new("sh", ["-n", "-c", line]).run(&mut NoWitness, None).map(drop)?)
}

/// Why a line of the user's own did not do what it was to do, told without the line: whoever ran it shows that.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It ended with an error.
    #[error("{status}{said}", said = quoted(stderr))]
    Failed {
        /// `exit status: 1`.
        status: String,
        /// The last lines that it said.
        stderr: String,
    },
    /// It took too long, and was killed.
    #[error("killed after {seconds} s, with every process it started{said}", said = quoted(stderr))]
    TooLong {
        /// How long it had, seconds.
        seconds: u64,
        /// The last lines that it said.
        stderr: String,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
    /// No shell ran it.
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

/// A path as a word of a command line.
pub(crate) fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Kills a process group, whose leader it is.
pub(crate) fn kill_group(leader: u32) {
    if let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(pid, Signal::KILL);
    }
}

/// As one word of a POSIX shell.
fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:,+@%=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Short commands are noticed soon, long ones cost nothing.
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
    // The child's writes have moved the offset that both share.
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

/// Where a program lies.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    std::env::split_paths(&search_path()).map(|dir| dir.join(program)).find(is_program)
}

/// Packages of Debian 12 and 13 that have a program.
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

/// That a program is not installed, with the package that has it; `None` where it is.
pub(crate) fn missing(program: &str) -> Option<String> {
    find(program).is_none().then(|| not_installed(program))
}

/// That a program is not installed, with the package that has it.
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

    /// What is wrong stands before a tool's page of usage, or at the end of what it did.
    #[test]
    fn the_first_line_and_the_last_ones_are_quoted() {
        assert_eq!(quoted("\n"), "");
        assert_eq!(quoted("a\nb\n"), ": a / b");
        assert_eq!(quoted("invalid option\nb\nc\nd\ne\nf\n"), ": invalid option / … / c / d / e / f");
        assert_eq!(quoted("a\nb\nc\nd\ne"), ": a / b / c / d / e");
    }

    #[test]
    fn a_command_gets_its_words_and_its_input_and_says_what_it_printed() {
        let command = Command::new("cat", ["-", "/dev/null"]).stdin("a\nb");
        assert_eq!(run(&command).unwrap(), "a\nb");
        assert_eq!(command.to_string(), r"printf 'a\nb' | cat - /dev/null");
        assert_eq!(Command::new("printf", ["%s", "it's $HOME"]).to_string(), r"printf %s 'it'\''s $HOME'");
        assert_eq!(run(&Command::new("printf", ["%s", "it's $HOME"])).unwrap(), "it's $HOME");
    }

    #[test]
    fn what_fails_is_shown_with_what_it_said() {
        let error = run(&Command::new("ls", ["/nowhere/at all"])).unwrap_err().to_string();
        assert!(error.starts_with("`ls '/nowhere/at all'` ended with exit status: "), "{error}");
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        let missing = CommandError::Missing { command: "mdadm --create".to_owned(), program: "mdadm".to_owned() };
        let text = "`mdadm --create`: mdadm is not installed; on Debian: apt install mdadm";
        assert_eq!(missing.to_string(), text);
        let error = run(&Command::new("plumb-has-no-such-program", ["x"])).unwrap_err();
        assert!(matches!(error, CommandError::Missing { .. }) && !error.to_string().contains("apt"), "{error:?}");
    }

    // Protects: neither a command that hangs nor what it started outlives its time.
    #[test]
    fn what_takes_too_long_is_killed_with_its_children() {
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
            Command::new("sh", ["-c", "sleep 1000 & echo waiting >&2; wait"]).within(Duration::from_millis(300));
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
    fn a_line_of_the_users_is_killed_in_time_and_says_why() {
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
    fn the_user_may_stop_it() {
        let flag = StopFlag::detached();
        flag.request();
        let error = Command::new("sleep", ["1000"]).run(&mut NoWitness, Some(flag)).unwrap_err();
        assert!(matches!(error, CommandError::Interrupted { .. }), "{error:?}");
    }

    #[test]
    fn what_runs_in_the_background_keeps_nobody() {
        let text = run(&Command::new("sh", ["-c", "sleep 3 & echo done"])).unwrap();
        assert_eq!(text, "done\n");
    }
}
