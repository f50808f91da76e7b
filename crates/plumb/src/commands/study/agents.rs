//! Hosts of a study whose agents make each run together, and build the same system before it.

use plumb_cli::builder;
use plumb_cli::exit::Stopped;
use plumb_cli::hosts::{places, reached};
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::{Inspection, Objection, ObjectionKind, PlannedBuild, PlannedWork, WorkPlace};
use plumb_lab::protocol::{HostFacts, LedHosts, RunAnswer, RunJob};
use plumb_lab::step::{MadeNames, Safety, Step};
use plumb_lab::{Host, HostError, Local, Surroundings};
use plumb_study::preflight::Inspected;
use plumb_workload::Bytes;
use std::path::Path;
use std::sync::mpsc::channel;

/// Hosts whose agents make each run together. This machine coordinates them.
pub(super) struct Agents {
    coordinator: Local,
    led: LedHosts,
    surroundings: Surroundings,
    /// Connections over which a system stands, one for each host; empty if nothing is built.
    builders: Vec<Builder>,
}

/// A host with a connection for building.
struct Builder {
    name: String,
    host: Box<dyn Host + Send>,
}

impl Agents {
    /// Connects to no host yet: each run does, and the first build.
    pub(super) fn new(led: LedHosts, surroundings: &Surroundings) -> Result<Agents, HostError> {
        let coordinator = Local::new(surroundings)?;
        Ok(Agents { coordinator, led, surroundings: surroundings.clone(), builders: Vec::new() })
    }

    /// Returns an error if a system no longer stands. Runs would then measure the directory below its mount point.
    fn check_standing(&mut self) -> Result<(), HostError> {
        for builder in &mut self.builders {
            builder.host.fits(&[])?;
        }
        Ok(())
    }
}

impl Host for Agents {
    fn facts(&self) -> &HostFacts {
        self.coordinator.facts()
    }

    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
        let mut builders = builders(&self.led, &self.surroundings)?;
        let found = inspect_builds(&mut builders, inspection);
        close(builders, found)
    }

    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        let found = on_each(&mut self.builders, &mut |_| (), |host, _| host.fits(work))?;
        Ok(joined(&self.builders, found))
    }

    /// Builds the same steps on all hosts at once. If one fails, they are taken down on the others.
    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        if steps.is_empty() {
            return Ok(MadeNames::default());
        }
        if self.builders.is_empty() {
            self.builders = builders(&self.led, &self.surroundings)?;
        }
        let built = on_each(&mut self.builders, listener, |host, listener| host.build(tag, steps, safety, listener));
        match built {
            // Devices may differ between hosts, directories do not.
            Ok(made) => Ok(made.into_iter().next().unwrap_or_default()),
            Err(error) => {
                let undone = self.undo(listener);
                // Hosts that were lost take their systems down themselves.
                if let (HostError::Failed { reason, refused }, Err(HostError::Failed { reason: left, .. })) =
                    (&error, &undone)
                {
                    return Err(HostError::Failed { reason: format!("{reason}; {left}"), refused: *refused });
                }
                Err(error)
            }
        }
    }

    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        self.check_standing()?;
        let answer = self.coordinator.run(&RunJob { led: Some(self.led.clone()), ..job.clone() }, listener);
        self.check_standing()?;
        answer
    }

    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        on_each(&mut self.builders, listener, |host, listener| host.undo(listener)).map(drop)
    }

    fn close(self: Box<Self>) -> Result<(), HostError> {
        close(self.builders, Ok(()))
    }
}

/// Connects to the agents of all hosts, to build there.
fn builders(led: &LedHosts, surroundings: &Surroundings) -> Result<Vec<Builder>, HostError> {
    let places = places(&led.hosts);
    // At once, so that silent hosts cost the timeout only once.
    let opened: Vec<Result<Builder, HostError>> = std::thread::scope(|scope| {
        let begun: Vec<_> = places
            .into_iter()
            .map(|place| {
                scope.spawn(move || {
                    let host = builder::open(&place, led.keys.as_deref(), surroundings)?;
                    Ok(Builder { name: place.name, host })
                })
            })
            .collect();
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    opened.into_iter().collect()
}

fn panicked() -> HostError {
    HostError::Lost("a thread that speaks to a host panicked".to_owned())
}

/// A line of a host, by its place among the hosts.
struct HostLine {
    host: usize,
    text: String,
}

/// Makes a request of all hosts at once. The first host's lines are passed on as they are, as commands for the record
/// of the build; those of others get their host's name.
///
/// # Errors
/// Returns the first host's failure, after all have answered. A lost host counts more than one that failed.
fn on_each<T: Send>(
    builders: &mut [Builder],
    listener: Listener<'_>,
    ask: impl Fn(&mut dyn Host, Listener<'_>) -> Result<T, HostError> + Sync,
) -> Result<Vec<T>, HostError> {
    let several = builders.len() > 1;
    let names: Vec<String> = builders.iter().map(|builder| builder.name.clone()).collect();
    let (sender, lines) = channel();
    let ask = &ask;
    let answers: Vec<Result<T, HostError>> = std::thread::scope(|scope| {
        let begun: Vec<_> = builders
            .iter_mut()
            .enumerate()
            .map(|(number, builder)| {
                let sender = sender.clone();
                scope.spawn(move || {
                    let mut say = |line: &str| {
                        // The receiver lives until all threads have ended.
                        let _ = sender.send(HostLine { host: number, text: line.to_owned() });
                    };
                    ask(builder.host.as_mut(), &mut say)
                })
            })
            .collect();
        drop(sender);
        for HostLine { host, text } in lines {
            match host {
                0 => listener(&text),
                host => listener(&format!("{}: {text}", names[host])),
            }
        }
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    let mut done = Vec::new();
    let mut failed: Option<HostError> = None;
    for (answer, name) in answers.into_iter().zip(&names) {
        match answer {
            Ok(answer) => done.push(answer),
            Err(error @ HostError::Lost(_)) if !matches!(failed, Some(HostError::Lost(_))) => failed = Some(error),
            Err(HostError::Failed { reason, refused }) if failed.is_none() => {
                let reason = if several { format!("{name}: {reason}") } else { reason };
                failed = Some(HostError::Failed { reason, refused });
            }
            Err(_) => {}
        }
    }
    failed.map_or(Ok(done), Err)
}

/// Puts the objections of all hosts into one list, each with the names of its hosts if there are several.
fn joined(builders: &[Builder], found: Vec<Vec<Objection>>) -> Vec<Objection> {
    let mut all: Vec<(Objection, Vec<&str>)> = Vec::new();
    for (builder, objections) in builders.iter().zip(found) {
        for objection in objections {
            match all.iter_mut().find(|(known, _)| *known == objection) {
                Some((_, names)) => names.push(&builder.name),
                None => all.push((objection, vec![&builder.name])),
            }
        }
    }
    let several = builders.len() > 1;
    let named = |(objection, names): (Objection, Vec<&str>)| match several {
        true => Objection { text: format!("{}: {}", names.join(", "), objection.text), ..objection },
        false => objection,
    };
    all.into_iter().map(named).collect()
}

fn inspect_builds(builders: &mut [Builder], inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
    let found = on_each(builders, &mut |_| (), |host, _| host.inspect(inspection))?;
    Ok(joined(builders, found))
}

/// Closes the connections, and returns the answer, or the first error if there is none yet.
fn close<T>(builders: Vec<Builder>, answer: Result<T, HostError>) -> Result<T, HostError> {
    let closed: Vec<Result<(), HostError>> = std::thread::scope(|scope| {
        let begun: Vec<_> = builders.into_iter().map(|builder| scope.spawn(move || builder.host.close())).collect();
        begun.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(panicked()))).collect()
    });
    let answer = answer?;
    closed.into_iter().collect::<Result<(), HostError>>().map(|()| answer)
}

/// Connects to hosts whose agents make runs. Checks access to directories that exist, the free space there, and the
/// systems that are to be built.
pub(super) fn inspect(
    led: &LedHosts,
    surroundings: &Surroundings,
    of: &dyn Fn(u64) -> Inspection,
) -> Result<Inspected, HostError> {
    let by_agents = |hosts: u64| format!("{} by their agents", plumb_trust::text::count(hosts, "host"));
    let mut inspected = Inspected { what: by_agents(led.hosts.len() as u64), ..Inspected::default() };
    let (built, found): (Vec<PlannedBuild>, Vec<PlannedBuild>) =
        of(0).builds.into_iter().partition(|build| !build.steps.is_empty());
    if !found.is_empty() {
        let (hosts, objections) = directories(led, surroundings, found)?;
        // One selector or one `slurm:` may mean several hosts.
        (inspected.what, inspected.objections) = (by_agents(hosts.into()), objections);
    }
    if built.is_empty() {
        return Ok(inspected);
    }
    let mut builders = match builders(led, surroundings) {
        Ok(builders) => builders,
        Err(HostError::Failed { reason, .. }) => {
            inspected.not_built = Some(reason);
            return Ok(inspected);
        }
        Err(lost) => return Err(lost),
    };
    let ram_bytes = builders.iter().map(|builder| builder.host.facts().ram_bytes).min().unwrap_or_default();
    let mut inspection = of(ram_bytes);
    inspection.builds.retain(|build| !build.steps.is_empty());
    let found = inspect_builds(&mut builders, &inspection);
    inspected.objections.extend(close(builders, found)?);
    Ok(inspected)
}

/// Checks work in directories that are there already, on all hosts. Returns the number of hosts as well.
fn directories(
    led: &LedHosts,
    surroundings: &Surroundings,
    builds: Vec<PlannedBuild>,
) -> Result<(u32, Vec<Objection>), HostError> {
    let lost = |stopped: Stopped| HostError::Lost(stopped.message);
    let stop = surroundings.interrupted.unwrap_or_else(StopFlag::detached);
    let ranks = reached(&places(&led.hosts), led.keys.as_deref()).map_err(lost)?;
    let mut objections: Vec<Objection> = Vec::new();
    for PlannedWork { name, place, bytes } in builds.into_iter().flat_map(|build| build.work) {
        let WorkPlace::Directory(dir) = place else { continue };
        let objection = match (ranks.free_for_each(stop, Path::new(&dir)), bytes) {
            (Err(error), _) => error.to_string(),
            (Ok(free), Some(bytes)) if bytes > free => {
                format!("{name}: its data take {}, and each host may write {} at {dir}", Bytes(bytes), Bytes(free))
            }
            _ => continue,
        };
        if !objections.iter().any(|known| known.text == objection) {
            objections.push(Objection { text: objection, kind: ObjectionKind::Wrong });
        }
    }
    let hosts = ranks.size();
    ranks.dismiss(0);
    Ok((hosts, objections))
}
