//! Other machines, over the user's own ssh.

mod trouble;

use crate::error::failed;
use crate::host::HostError;
use crate::link::{FarHost, Link};
use crate::protocol::HostFacts;
use crate::surroundings::Surroundings;
use crate::vm::{is_of, loaded_part};
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::signals::StopFlag;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use trouble::Trouble;

/// A machine that is reached by ssh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshSpec {
    /// Destination for ssh: `root@box`, or a name of the user's `ssh_config`.
    pub to: String,
    /// Command that boots the wanted system, run on whichever system is up.
    pub boot: Option<String>,
    /// Kernel that must run there: a release such as `6.1`, or a prefix of one. `None` accepts any.
    pub kernel: Option<String>,
    /// Plumb binary to copy there; `None` uses the one for all other machines.
    pub agent: Option<PathBuf>,
}

/// Options in addition to the user's own settings. ssh must ask nothing, and must notice a lost peer within 20 s.
const OPTIONS: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=4",
];

/// Seconds of silence after which the remote agent takes down what it built and exits.
const SILENCE_S: u32 = 20;

/// Printed by the remote shell once it has the program.
const COPIED: &str = "plumb: copied";

/// Lines of ssh's standard error that are kept.
const TAIL_LINES: usize = 20;

/// Time limit for a starting agent to answer, over a slow link.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for the remote end to take down what it built and exit.
const BYE_TIMEOUT: Duration = Duration::from_secs(60);

/// A program that has lost its input exits within this time.
const FAREWELL: Duration = Duration::from_secs(10);

/// Time limit for a boot.
const BOOT_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Interval between attempts to reach a booting machine.
const BOOT_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// A machine with Plumb's agent on it. The agent ends on drop.
pub struct Ssh {
    link: Link,
    facts: HostFacts,
    connection: Connection,
}

/// A program that was copied to another machine and runs there.
pub struct FarProgram {
    pub reader: BufReader<ChildStdout>,
    pub writer: ChildStdin,
    /// Ends the program when dropped.
    pub life: FarLife,
}

/// Keeps a program on another machine alive.
pub struct FarLife {
    connection: Connection,
}

impl Drop for FarLife {
    fn drop(&mut self) {
        // The remote end removes the copied file.
        self.connection.wait(FAREWELL);
    }
}

/// Copies this program to a machine and starts it there with these arguments. `to` is ssh's destination. The
/// arguments must need no shell quoting.
///
/// # Errors
/// Returns an error if the machine cannot be reached or the copied program does not run there.
pub fn start_remote(to: &str, words: &str, surroundings: &Surroundings) -> Result<FarProgram, HostError> {
    let spec = SshSpec { to: to.to_owned(), boot: None, kernel: None, agent: None };
    let (connection, reader, writer) = bring_program(&spec, words, surroundings)?;
    Ok(FarProgram { reader, writer, life: FarLife { connection } })
}

/// Copies the program to a machine and starts it.
fn bring_program(
    spec: &SshSpec,
    words: &str,
    surroundings: &Surroundings,
) -> Result<(Connection, BufReader<ChildStdout>, ChildStdin), HostError> {
    if spec.to.is_empty() || spec.to.starts_with('-') {
        return Err(failed(format!("ssh = \"{}\": not a host; write for example root@box", spec.to)));
    }
    let program = spec.agent.as_ref().or(surroundings.far_program.as_ref()).unwrap_or(&surroundings.program);
    let bytes = std::fs::read(program).map_err(|error| failed(format!("{}: {error}", program.display())))?;
    let bytes = loaded_part(&bytes);
    let mut connection = Connection::open(spec, &start_script(bytes.len(), words), surroundings)?;
    match connection.bring(bytes, surroundings.interrupted) {
        Ok((reader, writer)) => Ok((connection, reader, writer)),
        Err(HostError::Lost(reason)) => Err(connection.explain_loss(&reason)),
        Err(error) => Err(error),
    }
}

impl Ssh {
    /// Checks that ssh reaches the machine, whichever system is up.
    ///
    /// # Errors
    /// Returns the reason if it does not.
    pub fn reach(spec: &SshSpec, surroundings: &Surroundings) -> Result<(), HostError> {
        boot_identity(spec, surroundings).map(drop)
    }

    /// Boots the machine if asked to, copies Plumb to it, and starts the agent there.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be reached, does not come back, or the copied
    /// program does not run there.
    pub fn connect(spec: &SshSpec, surroundings: &Surroundings) -> Result<Ssh, HostError> {
        if spec.to.is_empty() || spec.to.starts_with('-') {
            return Err(failed(format!("ssh = \"{}\": not a host; write for example root@box", spec.to)));
        }
        if let Some(command) = &spec.boot {
            boot(spec, command, surroundings)?;
        }
        let words = format!("agent --silence {SILENCE_S}");
        let (mut connection, reader, writer) = bring_program(spec, &words, surroundings)?;
        let mut link = Link::new(reader, writer, surroundings.interrupted);
        match link.hello(HELLO_TIMEOUT) {
            Ok(facts) => match &spec.kernel {
                // Another system came up than the wanted one.
                Some(wanted) if !is_of(&facts.kernel, wanted) => Err(failed(format!(
                    "{}: kernel = \"{wanted}\", but it runs {}; boot the other system, or change `boot`",
                    spec.to, facts.kernel
                ))),
                _ => Ok(Ssh { link, facts, connection }),
            },
            Err(HostError::Lost(reason)) => {
                let static_build = "a static build runs on any Linux of the same processor: `cargo xtask musl` makes one, \
                                    and PLUMB_AGENT names it";
                Err(connection
                    .explain_loss(&format!("Plumb was copied and does not run there: {reason}; {static_build}")))
            }
            Err(error) => Err(error),
        }
    }
}

impl FarHost for Ssh {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn explain_loss(&mut self, reason: &str) -> HostError {
        self.connection.explain_loss(reason)
    }

    fn end(&mut self) -> Result<(), HostError> {
        if self.connection.wait(BYE_TIMEOUT) {
            Ok(())
        } else {
            Err(self.connection.explain_loss(&format!("it did not exit within {} s", BYE_TIMEOUT.as_secs())))
        }
    }
}

/// Returns the script for the remote side. It reads the program from standard input, runs it, and removes it, however
/// it ends. The user's login shell may be any, so this calls POSIX `sh`.
fn start_script(bytes: usize, words: &str) -> String {
    let script = format!(
        "d=$(mktemp -d \"${{TMPDIR:-/tmp}}/plumb-agent.XXXXXXXX\") || exit 1; trap \"rm -rf '$d'\" EXIT; \
         trap \"exit 1\" HUP INT TERM; head -c {bytes} >\"$d/plumb\" && chmod 700 \"$d/plumb\" && echo \"{COPIED}\" && \
         \"$d/plumb\" {words}"
    );
    format!("exec sh -c '{}'", script.replace('\'', "'\\''"))
}

/// A running ssh process.
struct Connection {
    child: Child,
    to: String,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
    /// Closed when all of its standard error was read.
    stderr_closed: Receiver<Infallible>,
    /// Whether errors show all of ssh's output.
    verbose: bool,
}

impl Connection {
    fn open(spec: &SshSpec, script: &str, surroundings: &Surroundings) -> Result<Connection, HostError> {
        let mut command = command(&surroundings.ssh)?;
        command.args(OPTIONS).arg("--").arg(&spec.to).arg(script);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| not_started(&surroundings.ssh, &error))?;
        let stderr_lines = Arc::new(Mutex::new(VecDeque::new()));
        let (reads, stderr_closed) = unbounded();
        if let Some(pipe) = child.stderr.take() {
            let stderr_lines = Arc::clone(&stderr_lines);
            std::thread::spawn(move || {
                let _closed_at_the_end: Sender<Infallible> = reads;
                for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                    let mut stderr_lines = stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
                    if stderr_lines.len() == TAIL_LINES {
                        stderr_lines.pop_front();
                    }
                    stderr_lines.push_back(String::from_utf8_lossy(&line).trim().chars().take(500).collect());
                }
            });
        }
        Ok(Connection { child, to: spec.to.clone(), stderr_lines, stderr_closed, verbose: surroundings.verbose })
    }

    /// Sends the program, and waits until it is there.
    fn bring(
        &mut self,
        bytes: Vec<u8>,
        interrupted: Option<StopFlag>,
    ) -> Result<(BufReader<ChildStdout>, ChildStdin), HostError> {
        let (Some(mut stdin), Some(stdout)) = (self.child.stdin.take(), self.child.stdout.take()) else {
            return Err(HostError::Lost("it has no pipes".into()));
        };
        let (done, wait) = unbounded();
        std::thread::spawn(move || {
            let brought = || -> std::io::Result<_> {
                stdin.write_all(&bytes)?;
                stdin.flush()?;
                let mut reader = BufReader::new(stdout);
                wait_for(&mut reader, COPIED)?;
                Ok((reader, stdin))
            };
            let _ = done.send(brought());
        });
        loop {
            match wait.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(ends)) => return Ok(ends),
                Ok(Err(error)) => return Err(HostError::Lost(format!("copying Plumb to it: {error}"))),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(HostError::Lost("copying Plumb to it failed".into()));
                }
                Err(RecvTimeoutError::Timeout) if interrupted.is_some_and(StopFlag::requested) => {
                    return Err(HostError::Lost("interrupted".into()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Waits for ssh to exit by itself. Returns `true` if it did.
    fn wait(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        loop {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            if start.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the error for a lost connection, in ssh's words if it gave a reason, else with `reason`. A permanent
    /// cause is not a loss: retrying would not help.
    fn explain_loss(&mut self, reason: &str) -> HostError {
        /// The master of a shared connection keeps the pipe open as long as it lives.
        const LAST_WORDS: Duration = Duration::from_secs(2);
        // ssh prints the reason as it exits, and it may still be in the pipe then.
        if self.wait(LAST_WORDS) {
            let _ = self.stderr_closed.recv_timeout(LAST_WORDS);
        }
        let stderr_lines = self.stderr_lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = stderr_lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        let trouble = Trouble::parse(&lines);
        let mut text = match (&trouble, lines.last()) {
            (Some(trouble), _) => trouble.sentence(&self.to),
            (None, Some(last)) => format!("{}: {reason}; ssh said: {last}", self.to),
            (None, None) => format!("{}: {reason}", self.to),
        };
        if self.verbose && !lines.is_empty() {
            text.push_str(&format!("\n  ssh: {}", lines.join("\n  ssh: ")));
        }
        match trouble {
            Some(trouble) if !trouble.may_pass() => failed(text),
            _ => HostError::Lost(text),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Killing ssh closes the link, and the remote agent cleans up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads up to a line. Skips the output of login scripts before it.
fn wait_for(reader: &mut impl BufRead, wanted: &str) -> std::io::Result<()> {
    /// More lines than any greeting has.
    const LINES: usize = 10_000;
    let mut line = Vec::new();
    for _ in 0..LINES {
        line.clear();
        if reader.by_ref().take(64 << 10).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if String::from_utf8_lossy(&line).trim() == wanted {
            return Ok(());
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "the remote end exited before it had everything"))
}

fn command(ssh: &[String]) -> Result<Command, HostError> {
    let (program, words) = ssh.split_first().ok_or_else(|| failed("PLUMB_SSH is empty"))?;
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

fn not_started(ssh: &[String], error: &std::io::Error) -> HostError {
    let program = ssh.first().map_or("ssh", String::as_str);
    failed(format!("cannot start {program}: {error}; Debian's package is openssh-client, and PLUMB_SSH names another"))
}

/// Identifies the boot of a system. Sources: random(4) of Linux, `kern.boottime` of FreeBSD's sysctl(3).
const WHICH_BOOT: &str = "cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime";

/// Outcome of a command on a machine.
struct Answer {
    success: bool,
    out: String,
    err: String,
}

fn ask(spec: &SshSpec, words: &str, surroundings: &Surroundings) -> Result<Answer, HostError> {
    let mut command = command(&surroundings.ssh)?;
    command.args(OPTIONS).arg("--").arg(&spec.to).arg(words).stdin(Stdio::null());
    let output = command.output().map_err(|error| not_started(&surroundings.ssh, &error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(Answer { success: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) })
}

/// Returns the identity of a machine's current boot.
fn boot_identity(spec: &SshSpec, surroundings: &Surroundings) -> Result<String, HostError> {
    let Answer { success, out, err: stderr } = ask(spec, WHICH_BOOT, surroundings)?;
    if !success || out.is_empty() {
        return Err(match Trouble::parse(&stderr.lines().collect::<Vec<_>>()) {
            Some(trouble) if !trouble.may_pass() => failed(trouble.sentence(&spec.to)),
            Some(trouble) => HostError::Lost(trouble.sentence(&spec.to)),
            None => HostError::Lost(format!(
                "{}: it must be reachable before it can be rebooted; ssh said: {}",
                spec.to,
                stderr.lines().last().unwrap_or_default()
            )),
        });
    }
    Ok(out)
}

/// Boots a machine and waits until it is back.
fn boot(spec: &SshSpec, boot_command: &str, surroundings: &Surroundings) -> Result<(), HostError> {
    let before = boot_identity(spec, surroundings)?;
    // A machine that goes down cuts the connection, so the command's exit status means nothing.
    let stderr = ask(spec, boot_command, surroundings)?.err;
    let start = Instant::now();
    loop {
        if let Answer { success: true, out: now, .. } = ask(spec, WHICH_BOOT, surroundings)?
            && !now.is_empty()
            && now != before
        {
            return Ok(());
        }
        if start.elapsed() > surroundings.boot_timeout.unwrap_or(BOOT_TIMEOUT) {
            let stderr = if stderr.is_empty() { String::new() } else { format!("; `{boot_command}` said: {stderr}") };
            let waited = start.elapsed().as_secs();
            return Err(HostError::Lost(format!("{}: did not reboot within {waited} s{stderr}", spec.to)));
        }
        if surroundings.interrupted.is_some_and(StopFlag::requested) {
            return Err(HostError::Lost("interrupted".into()));
        }
        std::thread::sleep(BOOT_POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: greetings of login scripts are skipped, and an end before the line is an error.
    #[test]
    fn greetings_are_passed_over() {
        let mut text = format!("Welcome!\n\u{7}\n{COPIED}\n{{}}\n").into_bytes();
        let mut reader = BufReader::new(&text[..]);
        wait_for(&mut reader, COPIED).unwrap();
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "{}\n");
        text.truncate(12);
        assert!(wait_for(&mut BufReader::new(&text[..]), COPIED).is_err());
    }

    fn here(ssh: &str) -> Surroundings {
        let mut surroundings = Surroundings::of_environment("/bin/true".into()).unwrap();
        surroundings.ssh = vec!["sh".into(), "-c".into(), ssh.into()];
        surroundings
    }

    // Protects: an option of ssh is not accepted as a host.
    #[test]
    fn a_host_is_not_an_option() {
        let spec = SshSpec { to: "-oProxyCommand=x".into(), boot: None, kernel: None, agent: None };
        let error = Ssh::connect(&spec, &here("exit 0")).err().unwrap();
        assert!(error.to_string().contains("not a host"), "{error}");
    }

    // Protects: ssh's reason is reported even if it arrives after ssh's exit.
    #[test]
    fn last_words_are_waited_for() {
        let spec = SshSpec { to: "box".into(), boot: None, kernel: None, agent: None };
        let late = "(sleep 0.3; echo 'box: Permission denied (publickey).' >&2) >/dev/null & exit 255";
        let error = Ssh::connect(&spec, &here(late)).err().unwrap().to_string();
        assert!(error.contains("the login is refused (it accepts publickey)"), "{error}");
    }

    // Protects: the same boot is not taken for a new one, and the command's output is reported. A
    // shell stands in for ssh.
    #[test]
    fn a_boot_is_seen_by_another_identity() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("boot");
        std::fs::write(&file, "one").unwrap();
        let ssh = |command: &str| {
            // The last argument is the command for the other side.
            format!("for w; do :; done; case $w in *boot_id*) cat {0};; *) {command};; esac", file.display())
        };
        let spec = SshSpec { to: "box".into(), boot: Some("reboot".into()), kernel: None, agent: None };
        boot(&spec, "reboot", &here(&ssh(&format!("echo two >{}; exit 255", file.display())))).unwrap();
        let mut never = here(&ssh("echo no such entry >&2; exit 1"));
        never.boot_timeout = Some(Duration::ZERO);
        let error = boot(&spec, "reboot", &never).unwrap_err();
        assert!(error.to_string().contains("did not reboot") && error.to_string().contains("no such entry"), "{error}");
    }
}
