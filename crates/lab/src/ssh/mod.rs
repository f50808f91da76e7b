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
    /// Where it is, in ssh's words: `root@box`, or a name of the user's `ssh_config`.
    pub to: String,
    /// A command that boots the system that is meant, run on whichever is up.
    pub boot: Option<String>,
    /// The kernel that must run there: a release such as `6.1`, or the beginning of one. Any when absent.
    pub kernel: Option<String>,
    /// The Plumb that is copied there; when absent, the one for all other machines.
    pub agent: Option<PathBuf>,
}

/// What ssh is told beside the user's own settings: it asks nothing, and notices within 20 s that the other side is gone.
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

/// After so many seconds without a sign of life the far agent takes down what it built and ends.
const SILENCE_S: u32 = 20;

/// What the far shell says when it has the program.
const COPIED: &str = "plumb: copied";

/// Lines of what ssh says on standard error that are kept.
const TAIL_LINES: usize = 20;

/// How long an agent that starts may take to answer, over a slow link.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the far end may take to take down what it built and end.
const BYE_TIMEOUT: Duration = Duration::from_secs(60);

/// A program that has lost its input ends within this time.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long a boot may take.
const BOOT_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// How often it is asked whether a machine that boots is there again.
const BOOT_ASK_EVERY: Duration = Duration::from_secs(2);

/// A machine with Plumb's agent on it, as long as this lives.
pub struct Ssh {
    link: Link,
    facts: HostFacts,
    connection: Connection,
}

/// A program that was copied to another machine and runs there.
pub struct FarProgram {
    /// What it prints.
    pub reader: BufReader<ChildStdout>,
    /// What it reads.
    pub writer: ChildStdin,
    /// It ends with this.
    pub life: FarLife,
}

/// The life of a program on another machine.
pub struct FarLife {
    connection: Connection,
}

impl Drop for FarLife {
    fn drop(&mut self) {
        // What was copied is removed by the far end.
        self.connection.wait(FAREWELL);
    }
}

/// Copies this program to a machine, in ssh's words for it, and starts it there with these words, which no shell has to be kept from.
///
/// # Errors
/// It is not reached, or what was copied does not run there.
pub fn start_far(to: &str, words: &str, surroundings: &Surroundings) -> Result<FarProgram, HostError> {
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
        Err(HostError::Lost(reason)) => Err(connection.explained(&reason)),
        Err(error) => Err(error),
    }
}

impl Ssh {
    /// Whether ssh reaches it, whichever system is up.
    ///
    /// # Errors
    /// Why it does not.
    pub fn reach(spec: &SshSpec, surroundings: &Surroundings) -> Result<(), HostError> {
        which_boot(spec, surroundings).map(drop)
    }

    /// Boots it where that is asked, copies Plumb to it, and starts the agent there.
    ///
    /// # Errors
    /// It is not reached, does not come back, or what was copied does not run there.
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
                // Another system came up than the one that was meant.
                Some(wanted) if !is_of(&facts.kernel, wanted) => Err(failed(format!(
                    "{}: kernel = \"{wanted}\", but it runs {}; boot the other system, or change `boot`",
                    spec.to, facts.kernel
                ))),
                _ => Ok(Ssh { link, facts, connection }),
            },
            Err(HostError::Lost(reason)) => {
                let static_build = "a static build runs on any Linux of the same processor: `cargo xtask musl` makes one, \
                                    and PLUMB_AGENT names it";
                Err(connection.explained(&format!("Plumb was copied and does not run there: {reason}; {static_build}")))
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

    fn explained(&mut self, reason: &str) -> HostError {
        self.connection.explained(reason)
    }

    fn end(&mut self) -> Result<(), HostError> {
        if self.connection.wait(BYE_TIMEOUT) {
            Ok(())
        } else {
            Err(self.connection.explained(&format!("it did not end within {} s", BYE_TIMEOUT.as_secs())))
        }
    }
}

/// What runs at the other side: takes the program from standard input, runs it, and removes it, whatever ends it. Any shell
/// may be the user's there, and so POSIX's own is named.
fn start_script(bytes: usize, words: &str) -> String {
    let script = format!(
        "d=$(mktemp -d \"${{TMPDIR:-/tmp}}/plumb-agent.XXXXXXXX\") || exit 1; trap \"rm -rf '$d'\" EXIT; \
         trap \"exit 1\" HUP INT TERM; head -c {bytes} >\"$d/plumb\" && chmod 700 \"$d/plumb\" && echo \"{COPIED}\" && \
         \"$d/plumb\" {words}"
    );
    format!("exec sh -c '{}'", script.replace('\'', "'\\''"))
}

/// A process of ssh's.
struct Connection {
    child: Child,
    to: String,
    said: Arc<Mutex<VecDeque<String>>>,
    /// Is closed when all that it said was read.
    said_all: Receiver<Infallible>,
    /// Whether errors show all of what it said.
    verbose: bool,
}

impl Connection {
    fn open(spec: &SshSpec, script: &str, surroundings: &Surroundings) -> Result<Connection, HostError> {
        let mut command = command(&surroundings.ssh)?;
        command.args(OPTIONS).arg("--").arg(&spec.to).arg(script);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| not_started(&surroundings.ssh, &error))?;
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (reads, said_all) = unbounded();
        if let Some(pipe) = child.stderr.take() {
            let said = Arc::clone(&said);
            std::thread::spawn(move || {
                let _closed_at_the_end: Sender<Infallible> = reads;
                for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                    if said.len() == TAIL_LINES {
                        said.pop_front();
                    }
                    said.push_back(String::from_utf8_lossy(&line).trim().chars().take(500).collect());
                }
            });
        }
        Ok(Connection { child, to: spec.to.clone(), said, said_all, verbose: surroundings.verbose })
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

    /// Whether it has ended by itself.
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

    /// Why it is lost: in ssh's words where they say it, else for this reason. A cause that stays is no loss: nothing is tried
    /// again for it.
    fn explained(&mut self, reason: &str) -> HostError {
        /// A shared connection's master keeps the pipe open for as long as it lives.
        const LAST_WORDS: Duration = Duration::from_secs(2);
        // What it has to say of its end comes with its end, and may still be on its way through the pipe then.
        if self.wait(LAST_WORDS) {
            let _ = self.said_all.recv_timeout(LAST_WORDS);
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = said.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        let trouble = Trouble::of_words(&said);
        let mut text = match (&trouble, said.last()) {
            (Some(trouble), _) => trouble.sentence(&self.to),
            (None, Some(last)) => format!("{}: {reason}; ssh said: {last}", self.to),
            (None, None) => format!("{}: {reason}", self.to),
        };
        if self.verbose && !said.is_empty() {
            text.push_str(&format!("\n  ssh: {}", said.join("\n  ssh: ")));
        }
        match trouble {
            Some(trouble) if !trouble.may_pass() => failed(text),
            _ => HostError::Lost(text),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Its end closes the link, and the far agent cleans up.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads up to a line; what login scripts say before it is none of ours.
fn wait_for(reader: &mut impl BufRead, wanted: &str) -> std::io::Result<()> {
    /// More than any greeting.
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
    let (program, words) = ssh.split_first().ok_or_else(|| failed("PLUMB_SSH names no program"))?;
    let mut command = Command::new(program);
    command.args(words);
    Ok(command)
}

fn not_started(ssh: &[String], error: &std::io::Error) -> HostError {
    let program = ssh.first().map_or("ssh", String::as_str);
    failed(format!("cannot start {program}: {error}; Debian's package is openssh-client, and PLUMB_SSH names another"))
}

/// Says which boot of which system it is. Sources: random(4) of Linux, `kern.boottime` of FreeBSD's sysctl(3).
const WHICH_BOOT: &str = "cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime";

/// What became of a command on a machine.
struct Asked {
    success: bool,
    out: String,
    err: String,
}

fn ask(spec: &SshSpec, words: &str, surroundings: &Surroundings) -> Result<Asked, HostError> {
    let mut command = command(&surroundings.ssh)?;
    command.args(OPTIONS).arg("--").arg(&spec.to).arg(words).stdin(Stdio::null());
    let output = command.output().map_err(|error| not_started(&surroundings.ssh, &error))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(Asked { success: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) })
}

/// Which boot of a machine is up now.
fn which_boot(spec: &SshSpec, surroundings: &Surroundings) -> Result<String, HostError> {
    let Asked { success, out, err: said } = ask(spec, WHICH_BOOT, surroundings)?;
    if !success || out.is_empty() {
        return Err(match Trouble::of_words(&said.lines().collect::<Vec<_>>()) {
            Some(trouble) if !trouble.may_pass() => failed(trouble.sentence(&spec.to)),
            Some(trouble) => HostError::Lost(trouble.sentence(&spec.to)),
            None => HostError::Lost(format!(
                "{}: it must be reachable before it can be rebooted; ssh said: {}",
                spec.to,
                said.lines().last().unwrap_or_default()
            )),
        });
    }
    Ok(out)
}

/// Boots a machine and waits until it is there again.
fn boot(spec: &SshSpec, boot_command: &str, surroundings: &Surroundings) -> Result<(), HostError> {
    let before = which_boot(spec, surroundings)?;
    // A machine that goes down takes the connection with it, so that the command's own end says nothing.
    let said = ask(spec, boot_command, surroundings)?.err;
    let start = Instant::now();
    loop {
        if let Asked { success: true, out: now, .. } = ask(spec, WHICH_BOOT, surroundings)?
            && !now.is_empty()
            && now != before
        {
            return Ok(());
        }
        if start.elapsed() > surroundings.boot_timeout.unwrap_or(BOOT_TIMEOUT) {
            let said = if said.is_empty() { String::new() } else { format!("; `{boot_command}` said: {said}") };
            let waited = start.elapsed().as_secs();
            return Err(HostError::Lost(format!("{}: did not reboot within {waited} s{said}", spec.to)));
        }
        if surroundings.interrupted.is_some_and(StopFlag::requested) {
            return Err(HostError::Lost("interrupted".into()));
        }
        std::thread::sleep(BOOT_ASK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: greetings of login scripts are passed over, and an end before the word is an error.
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

    // Protects: a word for ssh itself is no host.
    #[test]
    fn a_host_is_no_option() {
        let spec = SshSpec { to: "-oProxyCommand=x".into(), boot: None, kernel: None, agent: None };
        let error = Ssh::connect(&spec, &here("exit 0")).err().unwrap();
        assert!(error.to_string().contains("not a host"), "{error}");
    }

    // Protects: why ssh ended is known even where its words arrive after its end.
    #[test]
    fn last_words_are_waited_for() {
        let spec = SshSpec { to: "box".into(), boot: None, kernel: None, agent: None };
        let late = "(sleep 0.3; echo 'box: Permission denied (publickey).' >&2) >/dev/null & exit 255";
        let error = Ssh::connect(&spec, &here(late)).err().unwrap().to_string();
        assert!(error.contains("the login is refused (it accepts publickey)"), "{error}");
    }

    // Protects: the same boot is not taken for a new one, and what the command said is told. A shell stands for ssh.
    #[test]
    fn a_boot_is_seen_by_another_identity() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("boot");
        std::fs::write(&file, "one").unwrap();
        let ssh = |command: &str| {
            // The last word is what would run at the other side.
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
