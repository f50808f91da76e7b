//! Opens the lab's hosts for a study.

use super::agents::{self, Agents};
use plumb_cli::common::Common;
use plumb_cli::exit::Stopped;
use plumb_cli::session;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::Inspection;
use plumb_lab::protocol::LedHosts;
use plumb_lab::ssh::SshSpec;
use plumb_lab::vm::{VmCheck, outlook};
use plumb_lab::{Host, HostError, LineError, Local, Ssh, Surroundings, Vm};
use plumb_study::conduct::{COMMAND_LIMIT, Hosts};
use plumb_study::plan::HostPlan;
use plumb_study::preflight::Inspected;
use std::path::PathBuf;

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

    fn led(&self, hosts: &[String]) -> LedHosts {
        LedHosts { hosts: hosts.to_vec(), keys: self.keys.clone() }
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
            HostPlan::Agents(hosts) => Box::new(Agents::new(self.led(hosts), &self.surroundings)?),
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
                return Ok(Inspected { what, objections, ..Inspected::default() });
            }
            HostPlan::Ssh { destination, boot: Some(_), .. } => {
                let spec = ssh_spec(host).expect("`Ssh` hosts only");
                Ssh::reach(&spec, &self.surroundings)?;
                return Ok(Inspected {
                    what: format!("{destination}, which ssh reaches"),
                    unchecked: vec!["only that ssh reaches it; its own system boots when it is measured".to_owned()],
                    ..Inspected::default()
                });
            }
            HostPlan::Agents(hosts) => return agents::inspect(&self.led(hosts), &self.surroundings, of),
            HostPlan::Local | HostPlan::Ssh { .. } => {}
        }
        let mut host = self.open(name, host, listener)?;
        let inspection = of(host.facts().ram_bytes);
        let objections = host.inspect(&inspection)?;
        let what = format!("{} {}", host.facts().system, host.facts().kernel);
        host.close()?;
        Ok(Inspected { what, objections, ..Inspected::default() })
    }

    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError> {
        let output = plumb_lab::run_line(line, COMMAND_LIMIT, stop)?;
        output.lines().for_each(listener);
        Ok(())
    }
}
