//! An agent that waits for clients on other hosts: its addresses, admission of clients, and its background mode.

mod builds;
pub mod listen;
pub mod local;

use crate::exit::{End, Stopped};
use crate::output::{self, error_line};
use crate::unauthenticated;
use clap::Args;
use listen::{AgentAddress, Door, Keyless, Listening};
use local::LOCAL;
use plumb_engine::guard::{OutputFile, open_channel};
use plumb_engine::signals;
use plumb_tls::Identity;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Arguments of `plumb agent`.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentArguments {
    /// Wait for clients. Without ADDRESS, or at `local` or `unix:PATH`, for those of this user and root on this host; an address
    /// of TCP, with a port or without [default port: 8766], needs --keys.
    #[arg(
        long,
        value_name = "ADDRESS",
        num_args = 0..=1,
        default_missing_value = LOCAL,
        required_unless_present = "init"
    )]
    pub listen: Option<String>,
    /// Encrypt, and admit only clients that prove that they know the token: FILE is the server.keys that --init makes.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub keys: Option<PathBuf>,
    /// Make new keys in DIR: server.keys for agents, and client.keys for those who may measure with them.
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    pub init: Option<PathBuf>,
    /// A directory or device that clients may use; may be given several times [default: the working directory].
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,
    /// Let workloads of clients start programs, and connect to other hosts.
    #[arg(long)]
    pub allow_exec: bool,
    /// Let clients build systems for their studies on this host, and take them down: images, file systems and mounts below --allow,
    /// and file systems in memory. DEVICE, by path or serial, may be destroyed as well, if a study lists it; no other device is.
    /// Commands and settings of the host also need --allow-exec.
    #[arg(long, value_name = "DEVICE,…", num_args = 0..=1, value_delimiter = ',', conflicts_with = "init")]
    pub allow_build: Option<Vec<String>>,
    /// With --listen: go on in the background, and write the process id to this file.
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub pid_file: Option<PathBuf>,
    /// Whether clients may interrupt each other and stop the agent, as those of elbencho's services do.
    #[arg(skip)]
    pub obeys: bool,
    /// Policy for TCP clients without keys.
    #[arg(skip)]
    pub keyless: Keyless,
}

/// Default port of an agent.
pub const PORT: u16 = 8766;

/// Serves clients until a signal; `name` is the emulated tool's name.
///
/// # Errors
/// The agent cannot bind the address or read the keys.
pub fn serve_clients(arguments: &AgentArguments, name: &'static str) -> Result<End, Stopped> {
    match &arguments.pid_file {
        Some(file) => in_background(arguments, name, Some(file)).map(|_| End::Done),
        None => listen(arguments, name, Ground::Fore),
    }
}

/// Foreground or background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Prints messages to the terminal that started it.
    Fore,
    /// Detaches: the parent process ends once the agent listens.
    Back,
}

fn own_program() -> Result<PathBuf, Stopped> {
    std::env::current_exe().map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))
}

/// Serves clients until a signal.
///
/// # Errors
/// The agent cannot bind the address or read the keys.
pub fn listen(arguments: &AgentArguments, name: &'static str, ground: Ground) -> Result<End, Stopped> {
    let identity = arguments.keys.as_deref().map(Identity::load).transpose().map_err(Stopped::usage)?;
    builds::prepare(arguments, own_program()?, name)?;
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

/// Starts a background process that serves, and returns its PID once it listens. Writes the PID to a file if one is given.
///
/// # Errors
/// The agent cannot bind the address or read the keys.
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
        if let Some(mut stderr) = child.stderr.take() {
            let _ = stderr.read_to_string(&mut why);
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

/// Returns the arguments that limit what the process of a client may do.
fn rank_words(arguments: &AgentArguments) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for path in &arguments.allow {
        words.extend([OsString::from("--allow"), path.clone().into_os_string()]);
    }
    for (word, is_set) in [("--allow-exec", arguments.allow_exec), ("--obeys", arguments.obeys)] {
        words.extend(is_set.then(|| word.into()));
    }
    words.extend(builds::words(arguments));
    words
}

/// Returns the paths that clients may use, absolute: those given, or the working directory.
///
/// # Errors
/// The working directory is gone.
pub fn allowed(given: &[PathBuf]) -> Result<Vec<PathBuf>, Stopped> {
    let failed = |error| Stopped::io(format!("the working directory: {error}"));
    match given {
        [] => Ok(vec![std::env::current_dir().map_err(failed)?]),
        paths => Ok(paths.iter().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone())).collect()),
    }
}

/// Resolves an address or a host name, with or without a port.
pub fn addresses(text: &str, port: u16) -> Result<Vec<SocketAddr>, Stopped> {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let with_port = match bare.parse::<IpAddr>() {
        Ok(ip) => return Ok(vec![SocketAddr::new(ip, port)]),
        Err(_) if text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) => text.to_owned(),
        Err(_) => format!("{text}:{port}"),
    };
    let found: Vec<SocketAddr> = with_port
        .to_socket_addrs()
        .map_err(|error| Stopped::usage(format!("`{text}` is not a host: {error}")))?
        .collect();
    Ok(found.into_iter().take(1).collect())
}
