//! Live export: sends measurements and findings each second to files and scrapers, during the run.
//!
//! [`Streams`] observes runs like the live line. It makes one [`Streamed`] of each second and event, and passes it to
//! every sink. Each sink has its own thread, so that the run waits for no reader, and no failure of a sink ends a run.

mod file;
mod http;
mod server;
mod spec;

pub use spec::StreamSpec;

use crate::exit::Stopped;
use crate::output::{self, error_line};
use clap::Args;
use file::FileSink;
use http::Token;
use jiff::Timestamp;
use plumb_bench::{Progress, RunBegun, Second};
use plumb_report::stream::influx;
use plumb_result::stream::{STREAM_SCHEMA, StreamEvent, StreamMeasured, Streamed};
use plumb_result::watch::DeviceUse;
use plumb_result::{Finding, PhaseMeasurement, Tier, path_text};
use plumb_workload::{Target, Workload};
use server::MetricsServer;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Environment variable with a stream, used if no option is given.
const STREAM_VARIABLE: &str = "PLUMB_STREAM";

/// Environment variable with the token, used if no file is given.
const TOKEN_VARIABLE: &str = "PLUMB_STREAM_TOKEN";

/// Options for live export.
#[derive(Debug, Clone, Default, Args)]
pub struct StreamArguments {
    /// Send each second and each finding while it goes on: `ndjson:FILE` (JSON lines; `plumb schema stream`), `influx:FILE`
    /// (line protocol), or `openmetrics:ADDRESS` (for Prometheus; a port alone is on 127.0.0.1). FILE is added to; `-` is
    /// standard output, and the page then goes to standard error. May be given several times.
    #[arg(long = "stream", value_name = "FORM:WHERE", env = STREAM_VARIABLE, hide_env_values = true)]
    pub streams: Vec<StreamSpec>,
    /// A file with the token (16 characters or more) that scrapers must show; needed for an address that other machines reach
    /// [default: PLUMB_STREAM_TOKEN].
    #[arg(long = "stream-token-file", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl StreamArguments {
    /// Returns `true` if a stream was given on the command line.
    pub fn is_typed(&self) -> bool {
        !self.streams.is_empty() && std::env::var_os(STREAM_VARIABLE).is_none()
    }

    /// Reads the streams from the environment only, for another tool's command line.
    ///
    /// # Errors
    /// PLUMB_STREAM is not a valid stream.
    pub fn of_environment() -> Result<StreamArguments, Stopped> {
        let typed = std::env::var(STREAM_VARIABLE).ok().filter(|typed| !typed.is_empty());
        let invalid = |error| Stopped::usage(format!("{STREAM_VARIABLE}: {error}"));
        let streams = typed.map(|typed| typed.parse::<StreamSpec>().map_err(invalid)).transpose()?;
        Ok(StreamArguments { streams: streams.into_iter().collect(), token_file: None })
    }
}

/// Use of standard output by the command itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardOutput {
    /// A page, which can go to standard error.
    Page,
    /// One JSON document.
    Json,
    /// Another tool's report.
    Tool,
    /// The live screen.
    Screen,
}

/// An event with its time.
pub(crate) struct Stamped {
    line: Streamed,
    /// Time since 1970, ns; strictly increasing in a process.
    at_ns: i64,
}

enum Sink {
    File(FileSink),
    Metrics(MetricsServer),
}

/// A stream, and whether its failure was reported.
struct Open {
    name: String,
    sink: Sink,
    is_reported: bool,
}

/// Sends the events of runs to all streams.
pub struct Streams {
    open: Vec<Open>,
    /// Head of the current run.
    run: Option<RunHead>,
    part: Option<String>,
    phase: Option<String>,
    devices: Vec<DeviceUse>,
    last_ns: i64,
}

struct RunHead {
    id: String,
    workload: String,
    place: String,
    /// Whether its seconds are simulated, and pass as fast as they are computed.
    is_virtual: bool,
}

impl Streams {
    /// Opens every stream.
    ///
    /// # Errors
    /// A stream cannot be opened, is refused, or needs standard output, which is in use.
    pub fn open(arguments: &StreamArguments, standard_output: StandardOutput) -> Result<Streams, Stopped> {
        let on_standard_output: Vec<&StreamSpec> =
            arguments.streams.iter().filter(|spec| spec.takes_standard_output()).collect();
        match (on_standard_output.as_slice(), standard_output) {
            ([], _) => {}
            ([_], StandardOutput::Page) => output::page_to_standard_error(),
            ([_], StandardOutput::Json) => return Err(standard_output_conflict("--json")),
            ([_], StandardOutput::Tool) => return Err(standard_output_conflict("the tool")),
            ([_], StandardOutput::Screen) => return Err(standard_output_conflict("--live")),
            ([_, other, ..], _) => return Err(standard_output_conflict(&format!("--stream {other}"))),
        }
        let mut open = Vec::new();
        for spec in &arguments.streams {
            let sink = match spec {
                StreamSpec::Ndjson(to) => Sink::File(FileSink::open(to, ndjson)?),
                StreamSpec::Influx(to) => {
                    Sink::File(FileSink::open(to, |event| influx::lines(&event.line, event.at_ns))?)
                }
                StreamSpec::OpenMetrics(address) => Sink::Metrics(serve(*address, arguments)?),
            };
            open.push(Open { name: spec.to_string(), sink, is_reported: false });
        }
        Ok(Streams { open, run: None, part: None, phase: None, devices: Vec::new(), last_ns: 0 })
    }

    /// Returns `true` without any stream.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forwards a line from another process, with its place among the runs of this one.
    pub fn pass_on(&mut self, line: Streamed, part: &str) {
        self.send(Streamed { part: Some(part.to_owned()), ..line }, true);
    }

    fn event(&mut self, event: StreamEvent) {
        self.event_with(event, None, None);
    }

    fn event_with(&mut self, event: StreamEvent, measured: Option<StreamMeasured>, finding: Option<Finding>) {
        if self.is_empty() {
            return;
        }
        let Some(run) = &self.run else { return };
        // A finding may concern the whole run.
        let phase = finding.as_ref().map_or_else(|| self.phase.clone(), |finding| finding.phase.clone());
        let is_virtual = run.is_virtual;
        let line = Streamed {
            schema: STREAM_SCHEMA.to_owned(),
            at: String::new(),
            event,
            run: run.id.clone(),
            workload: run.workload.clone(),
            place: run.place.clone(),
            part: self.part.clone(),
            phase,
            measured,
            finding,
        };
        self.send(line, is_virtual);
    }

    fn send(&mut self, line: Streamed, is_virtual: bool) {
        let now = Timestamp::now();
        let now_ns = i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX);
        // Keeps the order of lines if the machine's clock is set back.
        self.last_ns = now_ns.max(self.last_ns.saturating_add(1));
        let at = Timestamp::from_nanosecond(i128::from(self.last_ns)).unwrap_or(now);
        let line = if line.at.is_empty() { Streamed { at: at.to_string(), ..line } } else { line };
        let event = Arc::new(Stamped { line, at_ns: self.last_ns });
        for one in &mut self.open {
            match &mut one.sink {
                Sink::File(file) => {
                    file.send(&event, is_virtual);
                    let failure = file.failure().map(str::to_owned);
                    one.say(failure);
                }
                Sink::Metrics(server) => server.add(&event.line),
            }
        }
    }
}

impl Open {
    /// Prints the failure of a stream, once.
    fn say(&mut self, failure: Option<String>) {
        if let Some(why) = failure.filter(|_| !self.is_reported) {
            self.is_reported = true;
            error_line!("warning: --stream {}: {why}; the run is not affected", self.name);
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        for one in &mut self.open {
            if let Sink::File(file) = &mut one.sink {
                let lost = file.finish();
                one.say(lost);
            }
        }
    }
}

fn standard_output_conflict(by: &str) -> Stopped {
    Stopped::usage(format!("a stream and {by} cannot both have standard output; name a file for the stream"))
}

fn ndjson(event: &Stamped) -> String {
    // Cannot fail: keys are text and numbers are finite.
    plumb_document::json::to_string(&event.line).unwrap_or_default() + "\n"
}

/// Starts a metrics server. Requires a token for addresses that other machines can reach.
fn serve(address: SocketAddr, arguments: &StreamArguments) -> Result<MetricsServer, Stopped> {
    let token = token(arguments)?;
    if token.is_none() && !address.ip().to_canonical().is_loopback() {
        return Err(Stopped::usage(format!(
            "--stream openmetrics:{address}: other machines reach this address, so scrapers must show a token\nName a file that \
             holds one with --stream-token-file, or use openmetrics:127.0.0.1:{}",
            address.port()
        )));
    }
    let server = MetricsServer::start(address, token)
        .map_err(|error| Stopped::usage(format!("--stream openmetrics:{address}: {error}")))?;
    error_line!("metrics: http://{}/metrics", server.address);
    Ok(server)
}

fn token(arguments: &StreamArguments) -> Result<Option<Token>, Stopped> {
    let variable = || std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    let (text, source) = match &arguments.token_file {
        Some(path) => {
            let text = plumb_text::bounded::read_to_string(path)
                .map_err(|error| Stopped::usage(format!("--stream-token-file {}: {error}", path.display())))?;
            (text, format!("--stream-token-file {}", path.display()))
        }
        None => match variable() {
            Some(text) => (text, TOKEN_VARIABLE.to_owned()),
            None => return Ok(None),
        },
    };
    let token = Token::new(&text).ok_or_else(|| {
        Stopped::usage(format!(
            "{source}: a token has at least {} characters, none of them a blank or beyond ASCII, such as those of `openssl rand -hex 32`",
            Token::SHORTEST
        ))
    })?;
    Ok(Some(token))
}

/// Summarises a second.
pub fn measured(second: &Second<'_>) -> StreamMeasured {
    let live = second.live;
    StreamMeasured {
        start_ns: live.interval.start_ns,
        length_ns: live.interval.length_ns,
        ops: StreamMeasured::ops_of(&live.interval, &live.service),
        in_flight: live.in_flight,
        depth_asked: live.depth_asked,
        errors: live.interval_fault_count,
        tier: Some(second.tier).filter(|tier| *tier != Tier::Unknown),
        devices: second.devices.to_vec(),
    }
}

/// Describes where a workload runs: its simulated devices, its existing devices and files, or the directory.
pub fn place_of(workload: &Workload, base: &Path) -> String {
    let mut places: Vec<String> = Vec::new();
    for target in workload.target.values() {
        let place = match target {
            Target::Sim(sim) => sim.device.to_string(),
            Target::Null(_) => "null".to_owned(),
            Target::Device(device) => path_text(&device.path),
            Target::File(file) if file.path.is_absolute() => path_text(&file.path),
            Target::JobFiles(files) => match files.names.path(0) {
                Some(path) if path.is_absolute() => path_text(&path),
                _ => absolute(base),
            },
            _ => absolute(base),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.join(" ")
}

fn absolute(base: &Path) -> String {
    path_text(&std::path::absolute(base).unwrap_or_else(|_| base.to_owned()))
}

impl Progress for Streams {
    fn run_begins(&mut self, run: &RunBegun<'_>) {
        let is_virtual = run.workload.target.values().any(|target| matches!(target, Target::Sim(_)));
        let place = place_of(run.workload, run.base);
        self.run = Some(RunHead { id: run.id.to_owned(), workload: run.workload.name.clone(), place, is_virtual });
        self.phase = None;
        self.event(StreamEvent::RunBegins);
    }

    fn clock_starts(&mut self, phase: &str) {
        self.phase = Some(phase.to_owned());
        self.event(StreamEvent::PhaseBegins);
    }

    fn live(&mut self, second: &Second<'_>) {
        if self.is_empty() {
            return;
        }
        self.event_with(StreamEvent::Interval, Some(measured(second)), None);
    }

    fn phase_devices(&mut self, devices: Vec<DeviceUse>) {
        self.devices = devices;
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let devices = std::mem::take(&mut self.devices);
        self.event_with(StreamEvent::PhaseEnds, Some(StreamMeasured::of_phase(measured, devices)), None);
        self.phase = None;
    }

    fn found(&mut self, finding: &Finding) {
        self.event_with(StreamEvent::Finding, None, Some(finding.clone()));
    }

    fn withdrawn(&mut self, finding: &Finding) {
        self.event_with(StreamEvent::Withdrawn, None, Some(finding.clone()));
    }

    fn block(&mut self, what: &str) {
        self.part = Some(what.to_owned());
    }

    fn run_ended(&mut self) {
        self.event(StreamEvent::RunEnds);
        self.run = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an event of the run with this id.
    pub(super) fn event(run: &str) -> Arc<Stamped> {
        let line = Streamed {
            schema: STREAM_SCHEMA.to_owned(),
            at: String::new(),
            event: StreamEvent::RunBegins,
            run: run.to_owned(),
            workload: "w".to_owned(),
            place: "/p".to_owned(),
            part: None,
            phase: None,
            measured: None,
            finding: None,
        };
        Arc::new(Stamped { line, at_ns: 1 })
    }

    // Protects: addresses that other machines can reach are never served without a token, in any notation.
    #[test]
    fn an_address_beyond_this_machine_needs_a_token() {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
            let spec: StreamSpec = format!("openmetrics:{address}").parse().unwrap();
            let arguments = StreamArguments { streams: vec![spec], token_file: None };
            let stopped = Streams::open(&arguments, StandardOutput::Page).err().unwrap();
            assert!(stopped.message.contains("--stream-token-file"), "{}", stopped.message);
        }
    }

    // Protects: two writers never mix their bytes on standard output.
    #[test]
    fn standard_output_has_one_writer() {
        let open = |specs: &[&str], who| {
            let streams = specs.iter().map(|spec| spec.parse().unwrap()).collect();
            Streams::open(&StreamArguments { streams, token_file: None }, who).err().map(|stopped| stopped.message)
        };
        assert!(open(&["ndjson:-"], StandardOutput::Json).unwrap().contains("--json"));
        assert!(open(&["influx:-"], StandardOutput::Tool).unwrap().contains("the tool"));
        assert!(open(&["ndjson:-", "influx:-"], StandardOutput::Page).unwrap().contains("influx:-"));
    }

    // Protects: times alone give the order of lines.
    #[test]
    fn no_two_events_have_the_same_time() {
        let mut streams = Streams::open(&StreamArguments::default(), StandardOutput::Page).unwrap();
        let first = event("a").line.clone();
        streams.send(first.clone(), true);
        let before = streams.last_ns;
        streams.last_ns = i64::MAX - 10;
        streams.send(first, true);
        assert!(before > 0 && streams.last_ns == i64::MAX - 9);
    }
}
