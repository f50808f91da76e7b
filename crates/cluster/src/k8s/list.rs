//! The API server's list of pods, and the hosts that it makes.

use super::error::{NotReady, bounded};
use super::{AGENT_PORT_NAME, PODS_MAX, PodChoice, PodsError};
use plumb_document::json;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Longest name of a pod, which is a name of DNS. Source: RFC 1123.
const NAME_BYTES_MAX: usize = 253;
/// Longest mark of the next page. Servers of today send less than 1 KiB.
const NEXT_BYTES_MAX: usize = 16 << 10;
/// Labels and annotations with the number of a pod: of an indexed Job, and of a StatefulSet.
const INDEX_KEYS: [&str; 2] = ["batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index"];

/// One page of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub pods: Vec<Pod>,
    /// Mark with which the server continues the list.
    pub next: Option<String>,
}

/// A pod, as far as it matters to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub name: String,
    /// Number of the pod in its Job or StatefulSet.
    pub index: Option<u64>,
    pub state: PodState,
}

/// State of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
    /// An agent answers at the address.
    Ready(SocketAddr),
    /// It may become ready. The reason is the server's word, such as `ImagePullBackOff`.
    NotReady { reason: String },
    /// It has ended, or is being deleted.
    Gone { reason: String },
}

/// A pod whose agent can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadyPod {
    pub name: String,
    pub address: SocketAddr,
}

impl Page {
    /// Parses the body of an answer.
    ///
    /// # Errors
    /// The body is not a list of pods, or a name, a port or an address in it is invalid.
    pub fn parse(body: &[u8], default_port: u16) -> Result<Page, PodsError> {
        let list: ListText = json::from_slice(body).map_err(|error| malformed(&error.to_string()))?;
        if list.kind != "PodList" {
            return Err(malformed(&format!("its kind is `{}`", list.kind)));
        }
        let next = list.metadata.and_then(|metadata| metadata.next).filter(|next| !next.is_empty());
        if next.as_ref().is_some_and(|next| next.len() > NEXT_BYTES_MAX) {
            return Err(malformed("the mark of its next page is too long"));
        }
        let pods = list.items.unwrap_or_default();
        let pods = pods.iter().map(|pod| pod.read(default_port));
        Ok(Page { pods: pods.collect::<Result<Vec<Pod>, PodsError>>()?, next })
    }
}

/// Returns the pods that a choice means, in the order of their numbers and then of their names. Without a count all pods have to be
/// ready, because a run by fewer hosts than expected would look like a slow storage.
///
/// # Errors
/// No pod matches, too few are ready, or there are more than one command leads.
pub fn choose(mut pods: Vec<Pod>, choice: &PodChoice, namespace: &str) -> Result<Vec<ReadyPod>, PodsError> {
    let place = || (namespace.to_owned(), choice.selector.clone());
    pods.sort_by(|one, other| {
        let key = |pod: &Pod| (pod.index.is_none(), pod.index);
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    let mut ready = Vec::new();
    let (mut early, mut ended) = (Vec::new(), Vec::new());
    for Pod { name, state, .. } in pods {
        match state {
            PodState::Ready(address) => ready.push(ReadyPod { name, address }),
            PodState::NotReady { reason } => early.push((name, reason)),
            PodState::Gone { reason } => ended.push((name, reason)),
        }
    }
    let wanted = choice.count.unwrap_or(ready.len() + early.len());
    if wanted == 0 {
        let (namespace, selector) = place();
        return Err(PodsError::NoPod { namespace, selector });
    }
    if wanted > PODS_MAX {
        let (namespace, selector) = place();
        return Err(PodsError::TooMany { namespace, selector });
    }
    if ready.len() < wanted {
        let (namespace, selector) = place();
        // Pods that ended explain a missing one only where a number is expected.
        early.extend(ended.into_iter().filter(|_| choice.count.is_some()));
        let not_ready = NotReady { namespace, selector, ready: ready.len(), wanted, others: early };
        return Err(PodsError::NotReady(Box::new(not_ready)));
    }
    ready.truncate(wanted);
    Ok(ready)
}

fn malformed(reason: &str) -> PodsError {
    PodsError::Malformed { reason: bounded(reason) }
}

#[derive(Deserialize)]
struct ListText {
    #[serde(default)]
    kind: String,
    metadata: Option<ListMetadata>,
    items: Option<Vec<PodText>>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct PodText {
    metadata: Metadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    deletion_timestamp: Option<String>,
}

#[derive(Deserialize)]
struct Spec {
    containers: Option<Vec<Container>>,
}

#[derive(Deserialize)]
struct Container {
    ports: Option<Vec<Port>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Port {
    name: Option<String>,
    container_port: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    phase: Option<String>,
    conditions: Option<Vec<Condition>>,
    container_statuses: Option<Vec<ContainerStatus>>,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

#[derive(Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct ContainerStatus {
    state: Option<ContainerState>,
}

#[derive(Deserialize)]
struct ContainerState {
    waiting: Option<Waiting>,
}

#[derive(Deserialize)]
struct Waiting {
    reason: Option<String>,
}

impl PodText {
    fn read(&self, default_port: u16) -> Result<Pod, PodsError> {
        let name = &self.metadata.name;
        if !is_pod_name(name) {
            return Err(malformed(&format!("`{name}` is not the name of a pod")));
        }
        Ok(Pod { name: name.clone(), index: self.index(), state: self.state(default_port)? })
    }

    fn index(&self) -> Option<u64> {
        let texts = [&self.metadata.labels, &self.metadata.annotations];
        let value = |key: &str| texts.iter().find_map(|text| text.as_ref()?.get(key));
        INDEX_KEYS.iter().find_map(|key| value(key)?.parse().ok())
    }

    fn state(&self, default_port: u16) -> Result<PodState, PodsError> {
        let Some(status) = &self.status else { return Ok(PodState::NotReady { reason: "no status".to_owned() }) };
        let phase = status.phase.as_deref().unwrap_or("no phase");
        if self.metadata.deletion_timestamp.is_some() {
            return Ok(PodState::Gone { reason: "being deleted".to_owned() });
        }
        if matches!(phase, "Succeeded" | "Failed") {
            return Ok(PodState::Gone { reason: phase.to_owned() });
        }
        match &status.pod_ip {
            Some(ip) if status.is_ready() => {
                let name = &self.metadata.name;
                let ip: IpAddr = ip.parse().map_err(|_| malformed(&format!("pod {name} has the address `{ip}`")))?;
                Ok(PodState::Ready(SocketAddr::new(ip, self.port(default_port)?)))
            }
            _ => Ok(PodState::NotReady { reason: status.reason().unwrap_or_else(|| bounded(phase)) }),
        }
    }

    fn port(&self, default_port: u16) -> Result<u16, PodsError> {
        let containers = self.spec.iter().filter_map(|spec| spec.containers.as_ref()).flatten();
        let mut ports = containers.filter_map(|container| container.ports.as_ref()).flatten();
        let Some(port) = ports.find(|port| port.name.as_deref() == Some(AGENT_PORT_NAME)) else {
            return Ok(default_port);
        };
        let number = u16::try_from(port.container_port).ok().filter(|&number| number > 0);
        let name = &self.metadata.name;
        number.ok_or_else(|| malformed(&format!("pod {name} has the port {}", port.container_port)))
    }
}

impl Status {
    fn conditions(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().flatten()
    }

    fn is_ready(&self) -> bool {
        self.conditions().any(|condition| condition.kind == "Ready" && condition.status == "True")
    }

    /// Returns the reason why the pod is not ready: that of a waiting container, or of a scheduler that finds no node.
    fn reason(&self) -> Option<String> {
        let states = self.container_statuses.iter().flatten().filter_map(|status| status.state.as_ref());
        let waiting = states.filter_map(|state| state.waiting.as_ref()?.reason.as_deref()).next();
        let unscheduled = |condition: &&Condition| condition.kind == "PodScheduled" && condition.status == "False";
        let scheduler = self.conditions().find(unscheduled).and_then(|condition| condition.reason.as_deref());
        let running = (self.phase.as_deref() == Some("Running")).then_some("running, not ready");
        waiting.or(scheduler).or(running).map(bounded)
    }
}

fn is_pod_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(is_allowed)
}

#[cfg(test)]
mod tests;
