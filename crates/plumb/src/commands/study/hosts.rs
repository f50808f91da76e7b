//! Opens the lab's hosts for a study.

use plumb_cli::common::Common;
use plumb_cli::exit::Stopped;
use plumb_cli::hosts::{places, reached};
use plumb_cli::session;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::{Inspection, Objection, ObjectionKind, PlannedWork, WorkPlace};
use plumb_lab::protocol::{HostFacts, LedHosts, RunAnswer, RunJob};
use plumb_lab::ssh::SshSpec;
use plumb_lab::step::{MadeNames, Safety, Step};
use plumb_lab::vm::{VmCheck, outlook};
use plumb_lab::{Host, HostError, LineError, Local, Ssh, Surroundings, Vm};
use plumb_study::conduct::{COMMAND_LIMIT, Hosts};
use plumb_study::plan::HostPlan;
use plumb_study::preflight::Inspected;
use plumb_workload::Bytes;
use std::path::{Path, PathBuf};

pub(super) struct LabHosts {
    surroundings: Surroundings,
    keys: Option<PathBuf>,
}

impl LabHosts {
    /// Creates hosts that stop their work when `stop` is set.
    pub(super) fn new(stop: StopFlag, keys: Option<PathBuf>, common: &Common) -> Result<LabHosts, Stopped> {
        let program = std::env::current_exe()
            .map_err(|error| Stopped::io(format!("cannot find Plumb's own executable: {error}")))?;
        let mut surroundings = session::surroundings(program)?;
        surroundings.interrupted = Some(stop);
        surroundings.verbose = common.verbose;
        Ok(LabHosts { surroundings, keys })
    }

    /// Takes down leftovers of killed processes on this machine.
    pub(super) fn recover(&self, listener: Listener<'_>) -> Result<(), plumb_lab::LabError> {
        for found in plumb_lab::recover(&self.surroundings.journals(), listener)? {
            if found.undone > 0 {
                listener(&format!("took down what process {} left of {}", found.pid, found.tag));
            }
        }
        Ok(())
    }
}

fn ssh_spec(host: &HostPlan) -> Option<SshSpec> {
    let HostPlan::Ssh { destination, boot, kernel, agent } = host else { return None };
    Some(SshSpec { to: destination.clone(), boot: boot.clone(), kernel: kernel.clone(), agent: agent.clone() })
}

impl Hosts for LabHosts {
    fn open(&mut self, name: &str, host: &HostPlan, listener: Listener<'_>) -> Result<Box<dyn Host>, HostError> {
        Ok(match host {
            HostPlan::Local => Box::new(Local::new(&self.surroundings)?),
            HostPlan::Vm(spec) => {
                listener(&format!("booting {name}"));
                Box::new(Vm::boot(spec, &self.surroundings)?)
            }
            HostPlan::Ssh { destination, .. } => {
                listener(&format!("reaching {destination}"));
                let spec = ssh_spec(host).expect("`Ssh` hosts only");
                Box::new(Ssh::connect(&spec, &self.surroundings)?)
            }
            HostPlan::Agents(hosts) => {
                let led = LedHosts { hosts: hosts.clone(), keys: self.keys.clone() };
                Box::new(Agents { coordinator: Local::new(&self.surroundings)?, led })
            }
        })
    }

    fn inspect(
        &mut self,
        name: &str,
        host: &HostPlan,
        of: &dyn Fn(u64) -> Inspection,
        listener: Listener<'_>,
    ) -> Result<Inspected, HostError> {
        match host {
            HostPlan::Vm(spec) => {
                let VmCheck { what, objections } = outlook(spec, &self.surroundings, of);
                return Ok(Inspected { what, objections, unchecked: Vec::new() });
            }
            HostPlan::Ssh { destination, boot: Some(_), .. } => {
                let spec = ssh_spec(host).expect("`Ssh` hosts only");
                Ssh::reach(&spec, &self.surroundings)?;
                return Ok(Inspected {
                    what: format!("{destination}, which ssh reaches"),
                    objections: Vec::new(),
                    unchecked: vec!["only that ssh reaches it; its own system boots when it is measured".to_owned()],
                });
            }
            HostPlan::Agents(hosts) => return self.inspect_agents(hosts, of),
            HostPlan::Local | HostPlan::Ssh { .. } => {}
        }
        let mut host = self.open(name, host, listener)?;
        let inspection = of(host.facts().ram_bytes);
        let objections = host.inspect(&inspection)?;
        let what = format!("{} {}", host.facts().system, host.facts().kernel);
        host.close()?;
        Ok(Inspected { what, objections, unchecked: Vec::new() })
    }

    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError> {
        let output = plumb_lab::run_line(line, COMMAND_LIMIT, stop)?;
        output.lines().for_each(listener);
        Ok(())
    }
}

impl LabHosts {
    /// Connects to hosts whose agents make runs, and checks access to their directories and the free space there.
    fn inspect_agents(&self, hosts: &[String], of: &dyn Fn(u64) -> Inspection) -> Result<Inspected, HostError> {
        let lost = |stopped: Stopped| HostError::Lost(stopped.message);
        let stop = self.surroundings.interrupted.unwrap_or_else(StopFlag::detached);
        let ranks = reached(&places(hosts), self.keys.as_deref()).map_err(lost)?;
        let mut objections: Vec<Objection> = Vec::new();
        for PlannedWork { name, place, bytes } in of(0).builds.into_iter().flat_map(|build| build.work) {
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
        ranks.dismiss(0);
        let what = format!("{} by their agents", plumb_trust::text::count(hosts.len() as u64, "host"));
        Ok(Inspected { what, objections, unchecked: Vec::new() })
    }
}

/// Hosts whose agents make each run together. This machine coordinates them.
struct Agents {
    coordinator: Local,
    led: LedHosts,
}

impl Host for Agents {
    fn facts(&self) -> &HostFacts {
        self.coordinator.facts()
    }

    fn inspect(&mut self, _: &Inspection) -> Result<Vec<Objection>, HostError> {
        Ok(Vec::new())
    }

    fn fits(&mut self, _: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        Ok(Vec::new())
    }

    /// Plans have no build steps for agents.
    fn build(&mut self, _: &str, _: &[Step], _: &Safety, _: Listener<'_>) -> Result<MadeNames, HostError> {
        Ok(MadeNames::default())
    }

    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        self.coordinator.run(&RunJob { led: Some(self.led.clone()), ..job.clone() }, listener)
    }

    fn undo(&mut self, _: Listener<'_>) -> Result<(), HostError> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), HostError> {
        Ok(())
    }
}
