//! The HTTP protocol of real elbencho services, as their client speaks it. Nothing here touches the network.
//!
//! A service answers `GET /protocolversion` with its version, which must be [`VERSION`] exactly. A client then uploads
//! the tree file (`/preparefile`), sends all options (`/preparephase`), and for each phase starts it (`/startphase`),
//! polls it (`/status`) and fetches its result (`/benchresult`). `/interruptphase` ends a phase, closes the service's
//! files and may end the service. Bodies are property trees: JSON whose values are strings, and whose lists are objects
//! with one repeated name. Source: elbencho 3.1-10, `Common.h`, `HTTPServiceSWS.cpp`, `RemoteWorker.cpp`.

mod answers;
mod options;
mod property_tree;
mod report;

pub use answers::{AnswerError, ServicePrepared, ServiceResult, ServiceStatus};
pub use options::{OptionsError, ServicePlace, options, shared_from};
pub use report::{FirstDone, report};

use super::lower::PhaseKind;
use super::settings::ElbenchoSettings;

/// The only version of the protocol that is spoken here.
pub const VERSION: &str = "3.1.3";
/// Limit of an answer. A result has four histograms of 112 buckets, and a time for each thread.
pub const ANSWER_BYTES_MAX: u64 = 8 << 20;
/// Limit of a version in digits and dots.
const VERSION_BYTES_MAX: usize = 32;

pub const PROTOCOL_VERSION: &str = "/protocolversion";
pub const STATUS: &str = "/status";
pub const RESULT: &str = "/benchresult";
pub const INTERRUPT: &str = "/interruptphase";
pub const QUIT: &str = "/interruptphase?quit=1";

/// Returns the target of the request that sends the options. `secret` is from [`secret`], or empty.
pub fn prepare_target(secret: &str) -> String {
    format!("/preparephase?ProtocolVersion={VERSION}&PwHash={secret}")
}

/// Returns the target of the request that uploads the tree file.
pub fn tree_target(secret: &str) -> String {
    format!("/preparefile?ProtocolVersion={VERSION}&FileName={}&PwHash={secret}", options::TREE_NAME)
}

/// Returns the target of the request that starts a phase. `id` is a UUID, which the status and the result repeat.
pub fn start_target(kind: PhaseKind, id: &str) -> String {
    format!("/startphase?PhaseCode={}&BenchID={id}", code(kind))
}

/// Returns a phase's number in the protocol.
const fn code(kind: PhaseKind) -> u8 {
    match kind {
        PhaseKind::MkDirs => 2,
        PhaseKind::RmDirs => 3,
        PhaseKind::Write => 4,
        PhaseKind::RmFiles => 5,
        PhaseKind::Read => 6,
        PhaseKind::Sync => 7,
        PhaseKind::DropCache => 8,
        PhaseKind::Stat => 9,
    }
}

/// Returns the version in an answer to [`PROTOCOL_VERSION`]; `None` if it is not one.
pub fn version(body: &str) -> Option<&str> {
    let version = body.trim();
    let is_version = version.len() <= VERSION_BYTES_MAX
        && version.split('.').count() > 1
        && version.split('.').all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
    is_version.then_some(version)
}

/// Returns the form of a shared secret that services compare. It protects nothing from a listener, who can send it again.
pub fn secret(line: &str) -> String {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut halves = [0xc6a4_a793_5bd1_e995_u64, 0xdead_beef_cafe_babe];
    for byte in line.bytes() {
        // A `char` is signed where elbencho is mostly built: x86-64.
        let value = i64::from(byte as i8) as u64;
        for (half, factor) in halves.iter_mut().zip([0x87c3_7b91_1142_53d5_u64, 0x4cf5_ad43_2745_937f]) {
            *half ^= value.wrapping_mul(factor).wrapping_mul(SPREAD);
        }
    }
    halves.map(|half| format!("{half:016x}")).concat()
}

/// A phase, or an action between phases, in the order of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStep {
    /// Begins an iteration, from 0.
    Iteration(u32),
    Phase(PhaseKind),
    /// A `sync` or a drop of caches, which `--timelimit` does not limit.
    Between(PhaseKind),
    /// Pauses, and rotates the hosts.
    Next,
}

/// Returns the steps of a run.
pub fn steps(settings: &ElbenchoSettings) -> Vec<RunStep> {
    let asked = settings.phases;
    let phases = PhaseKind::of(asked);
    let between = [(PhaseKind::Sync, asked.sync), (PhaseKind::DropCache, asked.dropcache)];
    let between = || between.iter().filter(|(_, asked)| *asked).map(|(kind, _)| RunStep::Between(*kind));
    let mut steps = Vec::new();
    for iteration in 0..settings.schedule.iterations {
        steps.push(RunStep::Iteration(iteration));
        steps.extend(between());
        for (number, kind) in phases.iter().enumerate() {
            steps.push(RunStep::Phase(*kind));
            steps.extend(between());
            if number + 1 < phases.len() {
                steps.push(RunStep::Next);
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests;
