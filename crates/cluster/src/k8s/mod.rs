//! Pods of a Kubernetes cluster as hosts: the choice that a user makes, and the API server's answers.
//!
//! Nothing here connects; `plumb-cli` asks the server. Source of the fields: the Kubernetes API reference, `PodList` and `Status` of v1.

mod choice;
mod error;
mod list;

pub use choice::PodChoice;
pub use error::PodsError;
pub use list::{Page, Pod, PodState, ReadyPod, choose};

use crate::star::RANKS_MAX;

/// Maximum number of pods of one command.
pub const PODS_MAX: usize = RANKS_MAX as usize - 1;

/// Name of the container port where an agent listens. Pods without such a port use the default port of agents.
pub const AGENT_PORT_NAME: &str = "agent";

/// Longest name of a namespace, or of another object that DNS names as a label. Source: RFC 1123.
const LABEL_BYTES_MAX: usize = 63;

/// Returns `true` for the name of a namespace.
pub fn is_namespace(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_BYTES_MAX).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}
