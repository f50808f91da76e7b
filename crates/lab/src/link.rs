//! The near end of the protocol: asks an agent somewhere else.

use crate::host::{Host, HostError, Listener};
use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, HostRequest, Reply, RunAnswer, RunJob, VERSION};
use crate::step::{MadeNames, Safety, Step};
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::signals::StopFlag;
use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

/// Between two signs of life.
const PULSE: Duration = Duration::from_secs(5);

/// How much longer than a run's own limit its answer may take: the run removes its test data, caches are written back.
const RUN_GRACE: Duration = Duration::from_secs(120);

/// How often it is looked whether somebody wants to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A host that is the agent at the other end of a link. What differs from one to another is what the near side knows.
pub(crate) trait FarHost {
    /// What it is.
    fn facts(&self) -> &HostFacts;

    /// The link to its agent.
    fn link(&mut self) -> &mut Link;

    /// The error of a link that was lost for this reason, with what the near side knows about it.
    fn explained(&mut self, reason: &str) -> HostError;

    /// Waits for its end, after goodbye was said.
    fn end(&mut self) -> Result<(), HostError>;
}

impl<F: FarHost> Host for F {
    fn facts(&self) -> &HostFacts {
        FarHost::facts(self)
    }

    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
        self.link().objections(&HostRequest::Inspect(inspection.clone())).map_err(|error| told(self, error))
    }

    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        self.link().objections(&HostRequest::Fits { work: work.to_vec() }).map_err(|error| told(self, error))
    }

    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        self.link().build(tag, steps, safety, listener).map_err(|error| told(self, error))
    }

    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        self.link().run(job, listener).map_err(|error| told(self, error))
    }

    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        self.link().undo(listener).map_err(|error| told(self, error))
    }

    fn close(mut self: Box<Self>) -> Result<(), HostError> {
        self.link().bye();
        self.end()
    }
}

fn told(host: &mut impl FarHost, error: HostError) -> HostError {
    match error {
        HostError::Lost(reason) => host.explained(&reason),
        error => error,
    }
}

/// A link to an agent.
pub(crate) struct Link {
    to: Sender<Vec<u8>>,
    from: Receiver<Heard>,
    interrupted: Option<StopFlag>,
}

enum Heard {
    Reply(Box<Reply>),
    /// Something else: what a shell or a login script says.
    Noise(String),
}

impl Link {
    /// Over these ends. The writer is closed when the link is dropped.
    pub(crate) fn new(
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        interrupted: Option<StopFlag>,
    ) -> Link {
        Link { to: write(writer), from: read(reader), interrupted }
    }

    /// Asks who is there.
    pub(crate) fn hello(&mut self, limit: Duration) -> Result<HostFacts, HostError> {
        match self.ask(&HostRequest::Hello { version: VERSION }, Some(limit), &mut |_| ())? {
            Reply::Hello(facts) if facts.version == VERSION => Ok(facts),
            Reply::Hello(facts) => Err(HostError::Failed {
                reason: format!("its agent speaks version {} of the protocol, and not {VERSION}", facts.version),
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

    /// Says goodbye; the agent takes down what it built and ends.
    pub(crate) fn bye(&mut self) {
        let _ = self.send(&HostRequest::Bye);
    }

    fn send(&mut self, request: &HostRequest) -> Result<(), HostError> {
        let mut line = plumb_document::json::to_vec(request)
            .map_err(|error| HostError::Failed { reason: format!("a request: {error}"), refused: false })?;
        line.push(b'\n');
        self.to.send(line).map_err(|_| HostError::Lost("nothing can be sent to it any more".into()))
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
            match self.from.recv_timeout(LOOK_EVERY) {
                Ok(Heard::Reply(reply)) => match *reply {
                    Reply::Progress { text } => listener(&text),
                    Reply::Failed { reason, refused } => return Err(HostError::Failed { reason, refused }),
                    reply => return Ok(reply),
                },
                Ok(Heard::Noise(text)) => noise.push(text),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let said = if noise.is_empty() { String::new() } else { format!("; it said: {}", noise.join(" ")) };
                    return Err(HostError::Lost(format!("it has exited{said}")));
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
    HostError::Lost(format!("it answered something else: {reply}"))
}

/// Writes in a thread of its own, with a sign of life when there is nothing to say.
fn write(mut writer: impl Write + Send + 'static) -> Sender<Vec<u8>> {
    let (to, lines) = unbounded::<Vec<u8>>();
    std::thread::spawn(move || {
        loop {
            let line = match lines.recv_timeout(PULSE) {
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

fn read(reader: impl Read + Send + 'static) -> Receiver<Heard> {
    let (heard, from) = unbounded();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(line) = line else { return };
            let text = String::from_utf8_lossy(&line);
            let heard_now = match plumb_document::json::from_str(&text) {
                Ok(reply) => Heard::Reply(Box::new(reply)),
                Err(_) if text.trim().is_empty() => continue,
                Err(_) => Heard::Noise(text.trim().chars().take(500).collect()),
            };
            if heard.send(heard_now).is_err() {
                return;
            }
        }
    });
    from
}
