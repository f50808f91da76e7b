//! The far end of the protocol: builds, runs and takes down what it is asked to, on the machine where it is.

mod build;
mod expand;
#[cfg(target_os = "linux")]
mod init;
pub(crate) mod jobs;
mod look;
#[cfg(target_os = "linux")]
mod root;
mod serve;
mod settings;

pub use build::Agent;
#[cfg(target_os = "linux")]
pub use init::run_as_init;
pub use look::{DeviceLook, LookError, RunLooks};
pub use serve::serve;
pub use settings::AgentSettings;
