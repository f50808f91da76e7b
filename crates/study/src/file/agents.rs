//! Hosts whose agents make the runs of a study, and their limits compared with the lab's hosts.

use super::error::StudyError;
use super::form::{HostForm, StudyForm};
use super::level_form::Binds;
use super::study::{LOCAL, Study};
use super::workload::WorkloadText;
use plumb_document::Table;
use plumb_lab::Step;
use plumb_lab::protocol::HostWork;
use plumb_workload::KeyPath;
use plumb_workload::keypath::Segment;
use plumb_workload_text::native::{Document, LocatedFailure, place_of};

/// Name of the host that stands for the agents on the command line.
const AGENTS: &str = "agents";

/// Replaces this machine, or the agents in the file, by hosts of the command line.
///
/// # Errors
/// The study runs on other hosts.
pub(super) fn replace_hosts(
    document: &Document<'_>,
    tree: &Table,
    form: &mut StudyForm,
    hosts: &[String],
) -> Result<(), StudyError> {
    if hosts.is_empty() {
        return Ok(());
    }
    let chooses = form.factor.iter().position(|factor| factor.binds == Some(Binds::Host));
    let is_free = chooses.is_none() && form.hosts.iter().all(|(_, host)| host.agents.is_some()) && form.hosts.len() < 2;
    if !is_free {
        let path = match chooses {
            Some(index) => vec![Segment::from("factor"), Segment::from(index), Segment::from("name")],
            None => vec![Segment::from("hosts")],
        };
        let names: Vec<String> = form.hosts.keys().map(|name| format!("`{name}`")).collect();
        let named = if names.is_empty() { format!("`{LOCAL}`") } else { names.join(", ") };
        return Err(document
            .failures(vec![LocatedFailure {
                span: place_of(tree, &KeyPath(path)),
                message: format!("the study chooses its own hosts ({named}), so --hosts has no place in it"),
                help: "leave --hosts out, and write `agents = [\"node1\", \"node2\"]` at a host of `[hosts]`"
                    .to_owned(),
            }])
            .into());
    }
    let name = form.hosts.keys().next().cloned().unwrap_or_else(|| AGENTS.to_owned());
    form.hosts.insert(name, HostForm { agents: Some(hosts.to_vec()), ..HostForm::default() });
    Ok(())
}

/// Reports errors in a host that consists of several agents.
pub(super) fn check_agents(name: &str, host: &HostForm, agents: &[String], fail: &mut dyn FnMut(String, &str)) {
    let HostForm { ssh, boot, kernel, agent, vm, agents: _ } = host;
    if ssh.is_some() || vm.is_some() || boot.is_some() || kernel.is_some() || agent.is_some() {
        fail(
            format!("`{name}` is agents, and more than that"),
            "leave out its other keys; an agent that ssh is to reach is written `agents = [\"ssh:root@box\"]`",
        );
    }
    if agents.is_empty() {
        fail(format!("`{name}` has no agents"), "name at least one, such as `agents = [\"node1\"]`");
    }
    for (place, agent) in agents.iter().enumerate() {
        // Sets in a selector of pods have blanks: `k8s:app in (a, b)`.
        let has_blank = agent.contains(char::is_whitespace) && !agent.starts_with("k8s:");
        if agent.is_empty() || has_blank {
            fail(format!("`{agent}` is no host"), "write HOST, HOST:PORT, ssh:HOST, k8s:SELECTOR, local or unix:PATH");
        } else if agents[..place].contains(agent) {
            fail(format!("`{name}` names {agent} twice"), "name each host once");
        }
    }
}

impl Study<'_> {
    fn are_agents(&self, host: &str) -> bool {
        self.form.hosts.get(host).is_some_and(|host| host.agents.is_some())
    }

    /// Returns `true` if any run is made by agents.
    pub(super) fn has_agents(&self) -> bool {
        self.form.hosts.values().any(|host| host.agents.is_some())
    }

    /// Rejects steps that have no effect on runs of agents. Whether an agent builds at all, only the agent says.
    pub(super) fn agents_build(&self, host: &str, steps: &[Step]) -> Result<(), StudyError> {
        let limited = |step: &Step| matches!(step, Step::Loop(step) if step.limits.is_some());
        if !self.are_agents(host) || !steps.iter().any(limited) {
            return Ok(());
        }
        Err(self.failed(
            self.place(&["provision"]),
            format!("`limits` of a loop device do not hold on `{host}`: agents start the processes of a run elsewhere"),
            "leave `limits` out, or measure on a host with `ssh` or `vm`",
        ))
    }

    /// Rejects works that agents cannot run: they only run Plumb's own workloads.
    pub(super) fn agents_run(&self, host: &str, text: &WorkloadText, work: &HostWork) -> Result<(), StudyError> {
        let what = match work {
            _ if !self.are_agents(host) => return Ok(()),
            HostWork::Native { toml } if toml.contains("${made.") => {
                return Err(self.failed(
                    self.place(&["target", "path"]),
                    format!("`{}` runs on a device, whose name differs between the hosts of `{host}`", text.name),
                    "put a file system on it with a step `mkfs`, and mount that",
                ));
            }
            HostWork::Native { .. } => return Ok(()),
            HostWork::Dialect { tool, .. } => format!("is in the language of {tool}"),
            HostWork::Conformance(_) => "tests rules of a file system".to_owned(),
        };
        Err(self.failed(
            text.place.clone(),
            format!("`{}` {what}, and agents run Plumb's own workloads only", text.name),
            "write it as one (`plumb as TOOL --translate …` prints it), or measure it on a host with `ssh`",
        ))
    }
}
