//! `plumb as iperf3`: the client and the server of iperf3's protocol.

pub mod client;
mod control;
mod local;
pub mod output;
mod running;
pub mod server;
mod users;

pub use control::TestError;
pub use local::Local;

use jiff::Timestamp;
use output::{Out, Paper};
use plumb_cli::background;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{error_line, error_text, print};
use plumb_cli::session;
use plumb_engine::guard::OutputFile;
use plumb_engine::net::{Flow, buffers};
use plumb_engine::signals::{self, StopFlag};
use plumb_tools_net::iperf3::{
    self, COOKIE_BYTES, Client, Ending, Invocation, Iperf3Settings, Json, Opened, Output, Start, VERSION, help,
};
use plumb_tools_run::ToolCall;
use plumb_tools_run::cpus::run_on;
use plumb_tools_run::dashes;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

/// Runs `iperf3`. As in iperf3, the exit code is 0 after success, else 1.
pub fn as_iperf3(call: &ToolCall<'_>) -> Result<End, Stopped> {
    dashes::hint(call);
    let settings = match iperf3::read(call.words) {
        Ok(Invocation::Help) => return Ok(printed(&help())),
        Ok(Invocation::Version) => return Ok(printed(&format!("iperf {VERSION}\n{}\n", system()))),
        Ok(Invocation::Run(settings)) => settings,
        Err(error) => {
            error_text!(
                "iperf3: parameter error - {error}\n\nUsage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n"
            );
            return Ok(End::DialectFailed);
        }
    };
    for (name, why) in &settings.ignored {
        error_line!("plumb: option --{name} has no effect: {why}");
    }
    let bind = settings.bind.as_deref().map(str::parse::<IpAddr>);
    let Ok(bind) = bind.transpose() else {
        return Ok(failed(&"-B must be an address, such as 192.0.2.1 or ::"));
    };
    let paper = match Paper::open(settings.log.as_deref(), settings.stamp.as_deref()) {
        Ok(paper) => paper,
        Err(error) => return Ok(failed(&error)),
    };
    if let Some(processor) = settings.processor
        && let Err(error) = run_on(&[processor])
    {
        return Ok(failed(&format!("unable to set CPU affinity to {processor}: {error}")));
    }
    let local = Local::from_settings(&settings, &session::permissions(call.common)?);
    match &settings.end {
        iperf3::End::Server(server) if server.daemon && !background::is_here() => {
            // Warn here: the daemon has no standard error.
            server::warn_of_strangers(&bind.into(), server.key.is_some());
            background::start_again()?;
            Ok(End::Done)
        }
        iperf3::End::Server(server) => {
            background::leave_session();
            let gate = match users::gate(server, settings.padding) {
                Ok(gate) => gate,
                Err(error) => return Ok(failed(&error)),
            };
            write_pid(&settings)?;
            let own = server::Own { local, identity: None, gate };
            server::serve(&settings, server, bind.into(), own, &paper, stop_flag()?)
        }
        iperf3::End::Client(client) => {
            write_pid(&settings)?;
            as_client(&settings, client, bind, local, &paper)
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> End {
    error_line!("iperf3: error - {error}");
    End::DialectFailed
}

fn printed(text: &str) -> End {
    print(text);
    End::Done
}

fn stop_flag() -> Result<StopFlag, Stopped> {
    signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))
}

fn write_pid(settings: &Iperf3Settings) -> Result<(), Stopped> {
    let Some(path) = &settings.pid_file else { return Ok(()) };
    OutputFile::named("--pidfile", path)
        .write(format!("{}\0", std::process::id()).as_bytes())
        .map_err(|error| Stopped { end: End::DialectFailed, message: format!("iperf3: error - {error}") })
}

fn as_client(
    settings: &Iperf3Settings,
    client: &Client,
    bind: Option<IpAddr>,
    local: Local,
    paper: &Paper,
) -> Result<End, Stopped> {
    let place = client::Place {
        host: client.host.clone(),
        port: settings.port,
        local_address: None,
        bind,
        is_v6: settings.is_v6,
        client_port: client.client_port,
        timeout: client.connect_ms.map(Duration::from_millis),
        trust: None,
        local,
    };
    let look = client::OutputStyle { unit: settings.unit, verbose: settings.verbose, interval_s: settings.interval_s };
    let system = system();
    let sink = paper.clone();
    let mut out = Out::new(settings.output, false, &system, Box::new(move |text| sink.write(text)));
    out.begin_lines(client.params.report.title.as_ref(), &paper.stamp);
    if settings.verbose {
        out.text(&format!("iperf {VERSION}\n{system}\nTime: {}\n", time_text(now_ms())));
    }
    let stop = stop_flag()?;
    let mut params = client.params.clone();
    params.token = match users::token(client, settings.padding) {
        Ok(token) => token,
        Err(error) => return Ok(failed(&error)),
    };
    if let Some(file) = place
        .local
        .file
        .as_ref()
        .filter(|_| params.end.time_s.is_none() && params.end.blocks == 0 && params.end.bytes == 0)
    {
        params.end.bytes = file.bytes();
    }
    let tested = match client::test(&place, &params, look, &mut out, stop) {
        Ok(tested) => tested,
        Err(error) => {
            out.end(None, None, Some(&error.to_string()));
            if settings.output == Output::Text {
                paper.complain(&format!("iperf3: error - {error}"));
            }
            return Ok(End::DialectFailed);
        }
    };
    let Ending { output, .. } = &tested.ending;
    out.text(&tested.report.ending(&tested.ending));
    if let Some(output) = output {
        let text = match output {
            Json::Text(text) => text.clone(),
            json => json.page(),
        };
        out.text(&format!("\nServer output:\n{text}\n"));
    }
    let error = tested.interrupted.then(|| TestError::Interrupted("client").to_string());
    match &error {
        None => out.text("\niperf Done.\n"),
        Some(error) if settings.output == Output::Text => paper.complain(&format!("iperf3: {error}")),
        Some(_) => {}
    }
    out.end(Some(&tested.report), Some(&tested.ending), error.as_deref());
    Ok(End::Done)
}

/// Returns `Linux host release version machine`.
pub fn system() -> String {
    let uname = rustix::system::uname();
    let parts = [uname.sysname(), uname.nodename(), uname.release(), uname.version(), uname.machine()];
    parts.map(|part| part.to_string_lossy().into_owned()).join(" ")
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

fn time_text(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// Returns the facts known after the streams are connected.
fn start_of(cookie: &[u8; COOKIE_BYTES], peer: (String, u16), segment: Option<u32>, first: Option<&Flow>) -> Start {
    let time_ms = now_ms();
    Start {
        system: system(),
        time: time_text(time_ms),
        time_ms,
        peer,
        cookie: String::from_utf8_lossy(&cookie[..COOKIE_BYTES - 1]).into_owned(),
        segment: segment.unwrap_or(0),
        buffers: first.map(|flow| buffers(flow.socket.as_fd())).unwrap_or_default(),
    }
}

/// Returns a stream for the output.
fn named(local: std::io::Result<SocketAddr>, remote: std::io::Result<SocketAddr>, socket: i32, sends: bool) -> Opened {
    let end = |address: std::io::Result<SocketAddr>| {
        address.map(|address| (address.ip().to_canonical().to_string(), address.port())).unwrap_or_default()
    };
    Opened { socket, sends, local: end(local), remote: end(remote) }
}
