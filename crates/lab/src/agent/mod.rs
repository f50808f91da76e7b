//! The far end of the protocol: builds, runs and takes systems down on its own machine, on request.

mod build;
mod device_counters;
mod expand;
#[cfg(target_os = "linux")]
mod init;
pub(crate) mod jobs;
#[cfg(target_os = "linux")]
mod root;
mod serve;
mod settings;

pub use build::Agent;
pub use device_counters::{CountersError, DeviceCounters, DeviceReadings};
#[cfg(target_os = "linux")]
pub use init::run_as_init;
pub use serve::serve;
pub use settings::AgentSettings;
