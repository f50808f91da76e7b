//! `plumb agent`: the remote end of a host. Studies start it by themselves, in virtual machines and on other hosts; people let it listen,
//! for runs on many hosts.

pub mod listen;
pub mod local;
pub mod rank;

use crate::args::{AgentArguments, FarEndArguments};
use crate::commands::net::{MadeKeys, make_keys};
use crate::exit::{End, Stopped};
use crate::output::{self, error_line};
use crate::session;
use crate::unauthenticated;
use listen::{AgentAddress, Door, Keyless, Listening};
use plumb_channel::Identity;
use plumb_engine::guard::{OutputFile, open_channel};
use plumb_engine::signals;
use plumb_lab::agent::{AgentSettings, serve};
use plumb_lab::vm::VmSpec;
use plumb_lab::{Host, HostError, Vm};
use plumb_text::bounded::{INPUT_BYTES_MAX, line_at_most};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// As the first process of a virtual machine.
#[cfg(target_os = "linux")]
pub fn init() -> Result<End, Stopped> {
    match plumb_lab::agent::run_as_init() {
        Ok(never) => match never {},
        Err(error) => Err(Stopped::io(format!("cannot switch off: {error}"))),
    }
}

/// Virtual machines run Linux.
#[cfg(not(target_os = "linux"))]
pub fn init() -> Result<End, Stopped> {
    Err(Stopped::usage("Plumb is the first process of a Linux machine only"))
}

/// Makes keys, or serves clients until a signal comes.
pub fn run(arguments: &AgentArguments) -> Result<End, Stopped> {
    match &arguments.init {
        Some(directory) => init_keys(directory),
        None => serve_clients(arguments, "plumb agent"),
    }
}

/// The far end of a host: answers requests on standard input, where nothing else is said.
pub fn far_end(arguments: &FarEndArguments) -> Result<End, Stopped> {
    if let Some(parent) = arguments.with_parent {
        return Err(become_program(parent, arguments.gently, &arguments.program));
    }
    if arguments.rank {
        return rank::run(arguments);
    }
    if let Some(address) = &arguments.detached {
        let FarEndArguments { keys, allow, allow_exec, obeys, keyless, .. } = arguments;
        let listening = AgentArguments {
            listen: Some(address.clone()),
            keys: keys.clone(),
            allow: allow.clone(),
            allow_exec: *allow_exec,
            obeys: *obeys,
            keyless: if *keyless { Keyless::OnLoopback } else { Keyless::Refused },
            ..AgentArguments::default()
        };
        return listen(&listening, "plumb agent", Ground::Back);
    }
    let program = std::env::current_exe()
        .map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))?;
    if let Some(file) = &arguments.vm {
        return relay(file, program);
    }
    let surroundings = session::surroundings(program)?;
    let settings = AgentSettings {
        program: surroundings.program,
        state: arguments.state.clone().unwrap_or(surroundings.state),
        expendable: Vec::new(),
        silence: arguments.silence.map(Duration::from_secs),
    };
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let served = match &arguments.port {
        None => serve(std::io::stdin(), std::io::stdout(), settings, stop),
        Some(path) => {
            let said = |error: std::io::Error| Stopped::io(format!("{}: {error}", path.display()));
            let port = open_channel(path).map_err(said)?;
            serve(port.try_clone().map_err(said)?, port, settings, stop)
        }
    };
    served.map(|()| End::Done).map_err(Stopped::from)
}

/// The port of an agent, where none is said.
pub const PORT: u16 = 8766;

/// Makes the keys of agents and of their clients.
fn init_keys(directory: &Path) -> Result<End, Stopped> {
    let MadeKeys { server, client, fingerprint } = make_keys(directory)?;
    let (server, client) = (server.display(), client.display());
    output::print(&format!(
        "{server}: key and token of all agents, whose certificate is\n  {fingerprint}\n{client}: that fingerprint and the token, for \
         who may measure with them\n\non each host:    plumb agent --listen 0.0.0.0 --keys {server}\nwhere you type:  plumb run \
         WORKLOAD --at DIR --hosts a,b --hosts-keys {client}\n"
    ));
    Ok(End::Done)
}

/// Serves clients until a signal comes; `name` is what is spoken as.
///
/// # Errors
/// The address cannot be had, or the keys cannot be read.
pub fn serve_clients(arguments: &AgentArguments, name: &'static str) -> Result<End, Stopped> {
    match &arguments.pid_file {
        Some(file) => in_background(arguments, name, Some(file)).map(|_| End::Done),
        None => listen(arguments, name, Ground::Fore),
    }
}

/// Whether somebody looks at what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Fore,
    /// Whoever started it waits until it listens, and goes.
    Back,
}

fn own_program() -> Result<PathBuf, Stopped> {
    std::env::current_exe().map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))
}

fn listen(arguments: &AgentArguments, name: &'static str, ground: Ground) -> Result<End, Stopped> {
    let identity = arguments.keys.as_deref().map(Identity::load).transpose().map_err(Stopped::usage)?;
    let words = rank_words(arguments);
    let addresses = agent_addresses(arguments)?;
    let door = Door::open(Listening {
        addresses: addresses.clone(),
        identity,
        keyless: arguments.keyless,
        has_allowed: !arguments.allow.is_empty(),
        words,
        program: own_program()?,
        name,
        obeys: arguments.obeys,
    })?;
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    for address in door.addresses() {
        error_line!("{name}: listening on {address}");
    }
    if ground == Ground::Fore {
        warn_of_strangers(name, arguments);
    }
    if ground == Ground::Back {
        let _ = rustix::process::setsid();
        output::print("listening\n");
        let nothing = open_channel("/dev/null").map_err(Stopped::io)?;
        let silent = rustix::stdio::dup2_stdout(&nothing).and_then(|()| rustix::stdio::dup2_stderr(&nothing));
        silent.map_err(|error| Stopped::io(format!("cannot go on in the background: {error}")))?;
    }
    door.serve(stop)
}

/// Resolves `--listen` into the addresses to bind.
fn agent_addresses(arguments: &AgentArguments) -> Result<Vec<AgentAddress>, Stopped> {
    let address = arguments.listen.as_deref().unwrap_or(local::LOCAL);
    match local::socket_of(address)? {
        Some(path) => Ok(vec![AgentAddress::Local(path)]),
        None => Ok(addresses(address, PORT)?.into_iter().map(AgentAddress::Tcp).collect()),
    }
}

/// Warns if TCP clients are served without authentication.
fn warn_of_strangers(name: &str, arguments: &AgentArguments) {
    if arguments.keys.is_none() && arguments.keyless == Keyless::OnLoopback {
        let allowed: Vec<String> = arguments.allow.iter().map(|path| path.display().to_string()).collect();
        unauthenticated::warn_on_loopback(name, &allowed.join(":"));
    }
}

/// Serves in the background: this process goes once the other one, whose number this is, listens. It may write that to a file.
///
/// # Errors
/// The address cannot be had, or the keys cannot be read.
pub fn in_background(arguments: &AgentArguments, name: &str, file: Option<&Path>) -> Result<u32, Stopped> {
    let address = arguments.listen.as_deref().unwrap_or(local::LOCAL);
    if let Some(file) = file {
        OutputFile::named("--pid-file", file).check()?;
    }
    let mut command = std::process::Command::new(own_program()?);
    command.args(["agent", "--detached", address]).args(rank_words(arguments));
    if let Some(keys) = &arguments.keys {
        command.arg("--keys").arg(keys);
    }
    if arguments.keyless == Keyless::OnLoopback {
        command.arg("--keyless");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Stopped::io)?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        let _ = BufReader::new(out).read_line(&mut line);
    }
    if line.is_empty() {
        let mut why = String::new();
        if let Some(mut said) = child.stderr.take() {
            let _ = said.read_to_string(&mut why);
        }
        let is_usage = child.wait().is_ok_and(|status| status.code() == Some(End::Usage.number().into()));
        let why = why.trim().trim_start_matches("error: ");
        return Err(if is_usage { Stopped::usage(why) } else { Stopped::io(why) });
    }
    warn_of_strangers(name, arguments);
    if let Some(file) = file {
        let number = format!("{}\n", child.id());
        OutputFile::named("--pid-file", file).replace(number.as_bytes()).inspect_err(|_| {
            let _ = child.kill();
        })?;
    }
    Ok(child.id())
}

/// What the process of a client is told of what it may do.
fn rank_words(arguments: &AgentArguments) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for path in &arguments.allow {
        words.extend([OsString::from("--allow"), path.clone().into_os_string()]);
    }
    for (word, is_said) in [("--allow-exec", arguments.allow_exec), ("--obeys", arguments.obeys)] {
        words.extend(is_said.then(|| word.into()));
    }
    words
}

/// Where to listen, or whom to reach: an address or a name, with a port or without.
pub fn addresses(text: &str, port: u16) -> Result<Vec<SocketAddr>, Stopped> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = match bare.parse::<IpAddr>() {
        Ok(ip) => return Ok(vec![SocketAddr::new(ip, port)]),
        Err(_) if text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => text.to_owned(),
        Err(_) => format!("{text}:{port}"),
    };
    let found: Vec<SocketAddr> =
        with_port.to_socket_addrs().map_err(|error| Stopped::usage(format!("`{text}` is no host: {error}")))?.collect();
    Ok(found.into_iter().take(1).collect())
}

/// Boots a machine and passes requests on to it.
fn relay(file: &Path, program: std::path::PathBuf) -> Result<End, Stopped> {
    let said = |error: &dyn std::fmt::Display| Stopped::usage(format!("{}: {error}", file.display()));
    let text = plumb_text::bounded::read_to_string(file).map_err(|error| said(&error))?;
    let spec: VmSpec = plumb_document::toml::from_str(&text).map_err(|error| said(&error))?;
    let mut host: Box<dyn Host> = Box::new(Vm::boot(&spec, &session::surroundings(program)?)?);
    let answer = |reply: &plumb_lab::protocol::Reply| -> Result<(), Stopped> {
        let line = plumb_document::json::to_string(reply).map_err(Stopped::io)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Stopped::io)
    };
    let mut input = std::io::stdin().lock();
    let unread = |error| Stopped::io(format!("standard input: {error}"));
    while let Some(line) = line_at_most(&mut input, INPUT_BYTES_MAX).map_err(unread)? {
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        let request =
            plumb_document::json::from_str(&line).map_err(|error| Stopped::usage(format!("not a request: {error}")))?;
        match plumb_lab::host::answer(host.as_mut(), request, &mut |text| {
            let _ = answer(&plumb_lab::protocol::Reply::Progress { text: text.to_owned() });
        }) {
            Some(reply) => answer(&reply)?,
            None => break,
        }
    }
    host.close()?;
    Ok(End::Done)
}

/// Becomes another program that the kernel ends together with this one's parent. Returns only why not.
fn become_program(parent: u32, gently: bool, program: &[OsString]) -> Stopped {
    let Some((name, words)) = program.split_first() else {
        return Stopped::usage("--with-parent needs a program after `--`");
    };
    if let Err(error) = set_parent_process_death_signal(Some(if gently { Signal::TERM } else { Signal::KILL })) {
        return Stopped::io(format!("the kernel cannot end a process with its parent: {error}"));
    }
    // If it has already died, no signal comes.
    if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get().cast_unsigned()) != Some(parent) {
        return Stopped::io(format!("process {parent}, which started this, is gone"));
    }
    let error = std::process::Command::new(name).args(words).exec();
    Stopped::io(format!("cannot start {}: {error}", name.to_string_lossy()))
}

impl From<HostError> for Stopped {
    fn from(error: HostError) -> Stopped {
        let end = if matches!(error, HostError::Failed { refused: true, .. }) { End::Refused } else { End::Io };
        Stopped { end, message: error.to_string() }
    }
}
