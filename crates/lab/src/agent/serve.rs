//! Reads requests and writes replies.

use super::{Agent, AgentSettings, jobs};
use crate::build::recover;
use crate::host::HostError;
use crate::protocol::{HostRequest, Reply, VERSION};
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::signals::StopFlag;
use plumb_text::bounded::{INPUT_BYTES_MAX, line_at_most};
use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

/// Time limit for writing the last replies: the client may no longer read them.
const FAREWELL: Duration = Duration::from_secs(5);

/// Interval between checks for shutdown while no request arrives.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Answers requests one after another until it is asked to end or the link closes, then takes down what it built.
/// Requests and replies are JSON, one per line; an empty line is a heartbeat.
///
/// # Errors
/// Returns the parts that could not be taken down, or the reason why the agent cannot work.
pub fn serve(
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    settings: AgentSettings,
    stop: StopFlag,
) -> Result<(), HostError> {
    let requests = read(reader, settings.silence, stop);
    let (replies, written) = write(writer);
    let say = |reply: Reply| {
        // When replies are no longer read, requests end too.
        let _ = replies.send(reply);
    };
    let mut agent = match Agent::new(settings.clone(), stop) {
        Ok(agent) => agent,
        Err(error) => {
            say(refusal(&error));
            drop(replies);
            let _ = written.recv_timeout(FAREWELL);
            return Err(error);
        }
    };
    // Remove the files of earlier agents that were killed.
    jobs::remove_left(&settings.state);
    if let Err(error) = recover(&settings.journals(), &mut |text| say(Reply::Progress { text: text.to_owned() })) {
        say(Reply::Progress { text: format!("left by an earlier run: {error}") });
    }
    let is_bound = settings.policy.is_some();
    loop {
        // The system of a client is about to go: an answer now would let it measure without one.
        if is_bound && stop.requested() {
            break;
        }
        let request = match requests.recv_timeout(POLL_INTERVAL) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) if !stop.requested() => continue,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        };
        let mut progress = |text: &str| say(Reply::Progress { text: text.to_owned() });
        let answer = match request {
            Err(error) => Reply::Failed { reason: format!("not a request: {error}"), refused: false },
            Ok(HostRequest::Hello { version: VERSION }) => Reply::Hello(agent.facts().clone()),
            Ok(HostRequest::Hello { version }) => Reply::Failed {
                reason: format!("this agent speaks protocol version {VERSION}, not {version}"),
                refused: false,
            },
            Ok(HostRequest::Inspect(inspection)) => Reply::Inspected { objections: agent.inspect(&inspection) },
            Ok(HostRequest::Fits { work }) => Reply::Inspected { objections: agent.fits(&work) },
            Ok(HostRequest::Build { tag, steps, safety }) => match agent.build(&tag, &steps, &safety, &mut progress) {
                Ok(made) => Reply::Built { made },
                Err(error) => refusal(&error),
            },
            Ok(HostRequest::Run(job)) => match agent.run(&job, &mut progress) {
                Ok(answer) => Reply::Ran(Box::new(answer)),
                Err(error) => refusal(&error),
            },
            Ok(HostRequest::Undo) => match agent.undo(&mut progress) {
                Ok(()) => Reply::Undone,
                Err(error) => refusal(&error),
            },
            Ok(HostRequest::Bye) => break,
        };
        say(answer);
    }
    let undone = agent.undo(&mut |_| ());
    drop(replies);
    let _ = written.recv_timeout(FAREWELL);
    undone
}

fn refusal(error: &HostError) -> Reply {
    match error {
        HostError::Failed { reason, refused } => Reply::Failed { reason: reason.clone(), refused: *refused },
        HostError::Lost(reason) => Reply::Failed { reason: reason.clone(), refused: false },
    }
}

/// Reads requests on a separate thread, so that the end of the link is noticed during a request.
fn read(
    reader: impl Read + Send + 'static,
    silence: Option<Duration>,
    stop: StopFlag,
) -> Receiver<Result<HostRequest, plumb_document::json::JsonError>> {
    let (sender, requests) = unbounded();
    let (lines, received) = unbounded::<String>();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        // A longer request ends the connection, as does invalid UTF-8.
        while let Ok(Some(line)) = line_at_most(&mut reader, INPUT_BYTES_MAX) {
            let Ok(line) = String::from_utf8(line) else { return };
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let mut last = Instant::now();
        loop {
            let line = match silence {
                None => received.recv().map_err(|_| ()),
                Some(silence) => match received.recv_timeout(silence.saturating_sub(last.elapsed())) {
                    Ok(line) => Ok(line),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(()),
                },
            };
            let Ok(line) = line else { break };
            last = Instant::now();
            if line.trim().is_empty() {
                continue;
            }
            if sender.send(plumb_document::json::from_str(&line)).is_err() {
                break;
            }
        }
        stop.request();
    });
    requests
}

/// Writes replies on a separate thread, so that a stalled link blocks no other thread. The receiver is
/// notified when all are written.
fn write(mut writer: impl Write + Send + 'static) -> (Sender<Reply>, Receiver<()>) {
    let (replies, queue) = unbounded::<Reply>();
    let (done, written) = unbounded();
    std::thread::spawn(move || {
        for reply in queue.iter() {
            let Ok(mut line) = plumb_document::json::to_vec(&reply) else { continue };
            line.push(b'\n');
            if writer.write_all(&line).and_then(|()| writer.flush()).is_err() {
                break;
            }
        }
        let _ = done.send(());
    });
    (replies, written)
}
