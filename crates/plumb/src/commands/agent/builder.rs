//! A session in which a client builds systems on this host, within the permissions of the agent's owner.

use crate::args::FarEndArguments;
use plumb_cli::agent::allowed;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::session;
use plumb_cluster::star::{Link, build_session};
use plumb_engine::signals;
use plumb_lab::BuildPolicy;
use plumb_lab::agent::{AgentSettings, serve};
use std::time::Duration;

/// Silence of the client after which its system is taken down. It sends a line every 5 s.
const SILENCE: Duration = Duration::from_secs(20);

/// Refusal of an agent whose owner permits no builds.
const NOT_ALLOWED: &str = "the agent builds nothing: it was started without `--allow-build`";

/// Answers the lab's requests until the connection ends, then takes down what was built.
pub(super) fn run(arguments: &FarEndArguments, mut link: Link) -> Result<End, Stopped> {
    let mut say = |line: String| link.writer.write_all(line.as_bytes()).and_then(|()| link.writer.flush());
    if !arguments.allow_build {
        let _ = say(build_session::answer(Some(NOT_ALLOWED)));
        return Err(Stopped::usage(NOT_ALLOWED));
    }
    let settings = settings(arguments).inspect_err(|stopped| {
        let _ = say(build_session::answer(Some(&stopped.message)));
    })?;
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    say(build_session::answer(None)).map_err(|error| Stopped::io(format!("the connection to the client: {error}")))?;
    serve(link.reader, link.writer, settings, stop).map(|()| End::Done).map_err(Stopped::from)
}

fn settings(arguments: &FarEndArguments) -> Result<AgentSettings, Stopped> {
    let program = std::env::current_exe()
        .map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))?;
    let surroundings = session::surroundings(program)?;
    let policy = BuildPolicy {
        allow: allowed(&arguments.allow)?,
        devices: arguments.build_device.clone(),
        may_exec: arguments.allow_exec,
    };
    Ok(AgentSettings {
        program: surroundings.program,
        state: surroundings.state,
        expendable: Vec::new(),
        silence: Some(SILENCE),
        policy: Some(policy),
    })
}
