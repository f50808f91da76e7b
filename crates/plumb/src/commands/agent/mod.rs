//! `plumb agent`: the remote end of a host. Studies start it themselves, in virtual machines and on other hosts. Users
//! let it listen, for runs on many hosts.

mod builder;
pub(crate) mod rank;

use crate::args::{AgentArguments, FarEndArguments};
use crate::commands::net::{MadeKeys, make_keys};
use plumb_cli::agent::listen::Keyless;
use plumb_cli::agent::{Ground, listen, serve_clients};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_engine::guard::open_channel;
use plumb_engine::signals;
use plumb_lab::agent::{AgentSettings, serve};
use plumb_lab::vm::VmSpec;
use plumb_lab::{Host, Vm};
use plumb_text::bounded::{INPUT_BYTES_MAX, line_at_most};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

#[cfg(target_os = "linux")]
pub(crate) fn init() -> Result<End, Stopped> {
    match plumb_lab::agent::run_as_init() {
        Ok(never) => match never {},
        Err(error) => Err(Stopped::io(format!("cannot switch off: {error}"))),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn init() -> Result<End, Stopped> {
    Err(Stopped::usage("Plumb is the first process of a Linux machine only"))
}

/// Makes keys, or serves clients until a signal comes.
pub(crate) fn run(arguments: &AgentArguments) -> Result<End, Stopped> {
    match &arguments.init {
        Some(directory) => init_keys(directory),
        None => serve_clients(arguments, "plumb agent"),
    }
}

/// Runs the far end of a host: answers requests on standard input. Nothing else may write to standard output.
pub(crate) fn far_end(arguments: &FarEndArguments) -> Result<End, Stopped> {
    if let Some(parent) = arguments.with_parent {
        return Err(become_program(parent, arguments.gently, &arguments.program));
    }
    if arguments.rank {
        return rank::run(arguments);
    }
    if let Some(address) = &arguments.detached {
        let FarEndArguments { keys, allow, allow_exec, allow_build, build_device, obeys, keyless, .. } = arguments;
        let listening = AgentArguments {
            listen: Some(address.clone()),
            keys: keys.clone(),
            allow: allow.clone(),
            allow_exec: *allow_exec,
            allow_build: allow_build.then(|| build_device.clone()),
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
        policy: None,
    };
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    let served = match &arguments.port {
        None => serve(std::io::stdin(), std::io::stdout(), settings, stop),
        Some(path) => {
            let failed = |error: std::io::Error| Stopped::io(format!("{}: {error}", path.display()));
            let port = open_channel(path).map_err(failed)?;
            serve(port.try_clone().map_err(failed)?, port, settings, stop)
        }
    };
    served.map(|()| End::Done).map_err(Stopped::from)
}

fn init_keys(directory: &Path) -> Result<End, Stopped> {
    let MadeKeys { server, client, fingerprint } = make_keys(directory)?;
    let (server, client) = (server.display(), client.display());
    output::print(&format!(
        "{server}: key and token of all agents, whose certificate is\n  {fingerprint}\n{client}: that fingerprint and the token, for \
         those who may measure with them\n\non each host:    plumb agent --listen 0.0.0.0 --keys {server}\nwhere you type:  plumb run \
         WORKLOAD --at DIR --hosts a,b --hosts-keys {client}\n"
    ));
    Ok(End::Done)
}

fn relay(file: &Path, program: std::path::PathBuf) -> Result<End, Stopped> {
    let failed = |error: &dyn std::fmt::Display| Stopped::usage(format!("{}: {error}", file.display()));
    let text = plumb_text::bounded::read_to_string(file).map_err(|error| failed(&error))?;
    let spec: VmSpec = plumb_document::toml::from_str(&text).map_err(|error| failed(&error))?;
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

/// Executes another program that the kernel ends together with this process's parent. Returns only on an error.
fn become_program(parent: u32, gently: bool, program: &[OsString]) -> Stopped {
    let Some((name, words)) = program.split_first() else {
        return Stopped::usage("--with-parent needs a program after `--`");
    };
    if let Err(error) = set_parent_process_death_signal(Some(if gently { Signal::TERM } else { Signal::KILL })) {
        return Stopped::io(format!("the kernel cannot end a process with its parent: {error}"));
    }
    // A parent that died before the call above sends no signal.
    if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get().cast_unsigned()) != Some(parent) {
        return Stopped::io(format!("the parent process {parent} has exited"));
    }
    let error = std::process::Command::new(name).args(words).exec();
    Stopped::io(format!("cannot start {}: {error}", name.to_string_lossy()))
}
