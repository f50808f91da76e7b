//! The near end of the protocol: sends requests to an agent elsewhere.

use crate::host::{Host, HostError, Listener};
use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, HostRequest, Reply, RunAnswer, RunJob, VERSION};
use crate::step::{MadeNames, Safety, Step};
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::signals::StopFlag;
use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

/// Interval between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// Grace period for an answer after a run's own limit: the run removes its test data and caches are written back.
const RUN_GRACE: Duration = Duration::from_secs(120);

/// Interval between checks for an interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A host whose agent is at the other end of a link. The implementations differ in what they know on the near side.
pub(crate) trait FarHost {
    /// Returns the facts about the host.
    fn facts(&self) -> &HostFacts;

    /// Returns the link to its agent.
    fn link(&mut self) -> &mut Link;

    /// Returns the error for a link that was lost for this reason, with details that the near side knows.
    fn explain_loss(&mut self, reason: &str) -> HostError;

    /// Waits for the host's end after goodbye was sent.
    fn end(&mut self) -> Result<(), HostError>;
}

impl<F: FarHost> Host for F {
    fn facts(&self) -> &HostFacts {
        FarHost::facts(self)
    }

    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
        self.link().objections(&HostRequest::Inspect(inspection.clone())).map_err(|error| explain(self, error))
    }

    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        self.link().objections(&HostRequest::Fits { work: work.to_vec() }).map_err(|error| explain(self, error))
    }

    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        self.link().build(tag, steps, safety, listener).map_err(|error| explain(self, error))
    }

    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        self.link().run(job, listener).map_err(|error| explain(self, error))
    }

    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        self.link().undo(listener).map_err(|error| explain(self, error))
    }

    fn close(mut self: Box<Self>) -> Result<(), HostError> {
        self.link().send_goodbye();
        self.end()
    }
}

fn explain(host: &mut impl FarHost, error: HostError) -> HostError {
    match error {
        HostError::Lost(reason) => host.explain_loss(&reason),
        error => error,
    }
}

/// A link to an agent.
pub(crate) struct Link {
    to: Sender<Vec<u8>>,
    from: Receiver<LinkInput>,
    interrupted: Option<StopFlag>,
}

enum LinkInput {
    Reply(Box<Reply>),
    /// Any other line, such as the output of a shell or a login script.
    Noise(String),
}

impl Link {
    /// Creates a link over a reader and a writer. The writer is closed on drop.
    pub(crate) fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        interrupted: Option<StopFlag>,
    ) -> Link {
        Link { to: write(writer), from: read(reader), interrupted }
    }

    /// Sends the first request and returns the host's facts.
    pub(crate) fn hello(&mut self, limit: Duration) -> Result<HostFacts, HostError> {
        match self.ask(&HostRequest::Hello { version: VERSION }, Some(limit), &mut |_| ())? {
            Reply::Hello(facts) if facts.version == VERSION => Ok(facts),
            Reply::Hello(facts) => Err(HostError::Failed {
                reason: format!("its agent speaks protocol version {}, not {VERSION}", facts.version),
                refused: false,
            }),
            other => Err(unexpected(&other)),
        }
    }

    fn objections(&mut self, request: &HostRequest) -> Result<Vec<Objection>, HostError> {
        match self.ask(request, None, &mut |_| ())? {
            Reply::Inspected { objections } => Ok(objections),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        let request = HostRequest::Build { tag: tag.to_owned(), steps: steps.to_vec(), safety: safety.clone() };
        match self.ask(&request, None, listener)? {
            Reply::Built { made } => Ok(made),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        let limit = Duration::from_secs(job.timeout_s).saturating_add(RUN_GRACE);
        match self.ask(&HostRequest::Run(job.clone()), Some(limit), listener)? {
            Reply::Ran(answer) => Ok(*answer),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        match self.ask(&HostRequest::Undo, None, listener)? {
            Reply::Undone => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Sends goodbye; the agent then takes down what it built and exits.
    pub(crate) fn send_goodbye(&mut self) {
        let _ = self.send(&HostRequest::Bye);
    }

    /// Waits until the agent has closed the link. Returns `true` if it did.
    pub(crate) fn wait_for_end(&self, limit: Duration) -> bool {
        let start = Instant::now();
        loop {
            match self.from.recv_timeout(limit.saturating_sub(start.elapsed())) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return true,
                Err(RecvTimeoutError::Timeout) => return false,
            }
        }
    }

    fn send(&mut self, request: &HostRequest) -> Result<(), HostError> {
        let mut line = plumb_document::json::to_vec(request)
            .map_err(|error| HostError::Failed { reason: format!("a request: {error}"), refused: false })?;
        line.push(b'\n');
        self.to.send(line).map_err(|_| HostError::Lost("it no longer accepts requests".into()))
    }

    fn ask(
        &mut self,
        request: &HostRequest,
        limit: Option<Duration>,
        listener: Listener<'_>,
    ) -> Result<Reply, HostError> {
        self.send(request)?;
        let start = Instant::now();
        let mut noise = Vec::new();
        loop {
            match self.from.recv_timeout(POLL_INTERVAL) {
                Ok(LinkInput::Reply(reply)) => match *reply {
                    Reply::Progress { text } => listener(&text),
                    Reply::Failed { reason, refused } => return Err(HostError::Failed { reason, refused }),
                    reply => return Ok(reply),
                },
                Ok(LinkInput::Noise(text)) => noise.push(text),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let printed =
                        if noise.is_empty() { String::new() } else { format!("; its output: {}", noise.join(" ")) };
                    return Err(HostError::Lost(format!("it has exited{printed}")));
                }
            }
            if limit.is_some_and(|limit| start.elapsed() > limit) {
                return Err(HostError::Lost(format!("no answer within {} s", start.elapsed().as_secs())));
            }
            if self.interrupted.is_some_and(StopFlag::requested) {
                return Err(HostError::Lost("interrupted".into()));
            }
        }
    }
}

fn unexpected(reply: &Reply) -> HostError {
    let reply = plumb_document::json::to_string(reply).unwrap_or_default();
    let reply: String = reply.chars().take(200).collect();
    HostError::Lost(format!("unexpected reply: {reply}"))
}

/// Writes requests on a separate thread, and a heartbeat when there are none.
fn write(mut writer: impl Write + Send + 'static) -> Sender<Vec<u8>> {
    let (to, lines) = unbounded::<Vec<u8>>();
    std::thread::spawn(move || {
        loop {
            let line = match lines.recv_timeout(HEARTBEAT_INTERVAL) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => b"\n".to_vec(),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if writer.write_all(&line).and_then(|()| writer.flush()).is_err() {
                return;
            }
        }
    });
    to
}

fn read(reader: impl Read + Send + 'static) -> Receiver<LinkInput> {
    let (sender, from) = unbounded();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { return };
            let text = String::from_utf8_lossy(&line);
            let heard_now = match plumb_document::json::from_str(&text) {
                Ok(reply) => LinkInput::Reply(Box::new(reply)),
                Err(_) if text.trim().is_empty() => continue,
                Err(_) => LinkInput::Noise(text.trim().chars().take(500).collect()),
            };
            if sender.send(heard_now).is_err() {
                return;
            }
        }
    });
    from
}
