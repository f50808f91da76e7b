//! Reads and lowers a client's jobs on the host that runs them, so that files and devices are inspected there.

use super::disk::{DiskFiles, this_machine};
use super::layout;
use super::logs::{KEPT_BYTES_MAX, KeptLogs, Logs, Place};
use super::progress::unix_ms;
use super::trigger::{self, TriggerError};
use plumb_bench::AgentPolicy;
use plumb_document::json;
use plumb_engine::LoggedOp;
use plumb_tools::FileError;
use plumb_tools_fio::fio::lower::{Entropy, Found, Lowered, Places, RecordedFiles, RecordingRequest, lower};
use plumb_tools_fio::fio::print::MissingFiles;
use plumb_tools_fio::fio::{self, Files, Fio, Machine, MissingFile};
use plumb_workload::Workload;
use plumb_workload_text::validate::validate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Prefix of a client's request to an agent.
pub const ASKED: &str = "fio ";

/// Prefix of the message that the client's trigger was pulled; the command of `--trigger-remote` follows.
pub const PULLED: &str = "fio-trigger ";

/// A client's request.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct JobsRequest {
    pub words: Vec<String>,
    /// Texts of the job files, by the names in `words`.
    pub files: BTreeMap<String, String>,
    /// Variables of the client's environment that the texts refer to.
    pub environment: BTreeMap<String, String>,
    pub client: String,
    /// Whether job files on the agent's host are read as well.
    pub reads_here: bool,
    /// Seed for values that differ in each run.
    pub entropy: u64,
    /// Whether the client has a command for its trigger.
    pub has_trigger: bool,
}

/// A host's message after a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PhaseMessage {
    /// Log lines by file name.
    pub logs: BTreeMap<String, String>,
    /// Errors from writing the logs.
    pub wrong: Vec<String>,
}

/// A host's answer to [`JobsRequest`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct JobsServed {
    /// The lowered workload; `None` after an error.
    pub workload: Option<Workload>,
    /// All copies of all jobs.
    pub copies: Vec<CopyServed>,
    /// Files to be laid out first.
    pub layouts: Vec<LayoutServed>,
    /// Errors and warnings.
    #[serde(rename = "said")]
    pub messages: Vec<String>,
    /// Name of this host.
    pub name: String,
    /// Processor type, as fio names it.
    pub processor: String,
    /// Number of CPUs, for `$ncpus` in job files.
    pub cpus: u32,
    pub page_bytes: u64,
    pub memory_mib: u64,
    /// Texts of job files on this host.
    pub files: BTreeMap<String, String>,
}

/// A copy of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct CopyServed {
    pub job: u32,
    pub phase: u32,
    /// Name of its worker group.
    pub group: String,
}

/// Files of a job that are laid out first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct LayoutServed {
    pub job: String,
    pub files: u64,
    pub bytes: u64,
}

impl JobsServed {
    /// Returns the machine facts that the client's job files can refer to.
    pub(super) fn machine(&self, environment: BTreeMap<String, String>) -> Machine {
        Machine { environment, cpus: self.cpus, page_bytes: self.page_bytes, memory_mib: self.memory_mib }
    }
}

/// A client's jobs, run by this host.
pub struct FioService {
    fio: Fio,
    lowered: Lowered,
    phase_start_unix_ms: u64,
    logs: KeptLogs,
    log_errors: Vec<String>,
}

impl FioService {
    /// Handles a request. Returns the answer, and the service if the jobs can run.
    pub fn accept(asked: &str, policy: &AgentPolicy) -> (Option<FioService>, Vec<u8>) {
        let (service, served) = match json::from_str::<JobsRequest>(asked) {
            Ok(asked) => serve(&asked, policy),
            Err(error) => {
                let messages = vec![format!("invalid request from the client: {error}")];
                (None, JobsServed { messages, ..JobsServed::default() })
            }
        };
        (service, json::to_vec(&served).unwrap_or_default())
    }

    /// Records the clock start of a phase.
    pub fn clock_starts(&mut self) {
        self.phase_start_unix_ms = unix_ms();
    }

    /// Writes the logs from a worker's ops.
    pub fn op_log(&mut self, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let mut logs = Logs::new(&self.fio, &self.lowered, Place::Memory(self.logs.clone()));
        logs.write(worker, self.phase_start_unix_ms, ops);
        self.log_errors.extend(logs.error.map(|error| error.to_string()));
    }

    /// Returns the message to the client after a phase.
    pub fn report_phase(&mut self) -> String {
        let (files, is_cut) = self.logs.take();
        let mut wrong = std::mem::take(&mut self.log_errors);
        if is_cut {
            let mib = KEPT_BYTES_MAX >> 20;
            wrong.push(format!("only the first {mib} MiB of the logs of a phase are sent; give log_avg_msec"));
        }
        if files.is_empty() && wrong.is_empty() {
            return String::new();
        }
        let lines = |(name, bytes): (String, Vec<u8>)| (name, String::from_utf8_lossy(&bytes).into_owned());
        json::to_string(&PhaseMessage { logs: files.into_iter().map(lines).collect(), wrong }).unwrap_or_default()
    }
}

/// Runs the command of a client's trigger and returns the answer.
pub fn pulled(command: &str, policy: &AgentPolicy) -> Vec<u8> {
    let ran = if policy.may_exec { trigger::run(command) } else { Err(TriggerError::Forbidden) };
    ran.err().map_or_else(Vec::new, |error| error.to_string().into_bytes())
}

fn serve(asked: &JobsRequest, policy: &AgentPolicy) -> (Option<FioService>, JobsServed) {
    let machine = Machine { environment: asked.environment.clone(), ..this_machine() };
    let uname = rustix::system::uname();
    let mut served = JobsServed {
        name: uname.nodename().to_string_lossy().into_owned(),
        processor: uname.machine().to_string_lossy().replace('_', "-"),
        cpus: machine.cpus,
        page_bytes: machine.page_bytes,
        memory_mib: machine.memory_mib,
        ..JobsServed::default()
    };
    let mut places = Allowed { asked, policy, disk: DiskFiles::default(), read_here: BTreeMap::new() };
    let fio = match fio::read(&asked.words, &machine, &mut places) {
        Ok(fio) => fio,
        Err(errors) => {
            served.messages = errors.0.iter().map(ToString::to_string).collect();
            return (None, served);
        }
    };
    if asked.has_trigger && !policy.may_exec {
        served.messages = vec![TriggerError::Forbidden.to_string()];
        return (None, served);
    }
    served.files = std::mem::take(&mut places.read_here);
    match lower(&fio, &mut places, Entropy(asked.entropy), validate) {
        Err(errors) => served.messages = errors.0.iter().map(ToString::to_string).collect(),
        Ok(lowered) if !lowered.unrunnable.is_empty() => {
            let why = lowered.unrunnable.iter();
            served.messages =
                why.map(|one| format!("job `{}`: {}: {}", fio.jobs[one.job].name, one.what, one.why)).collect();
        }
        Ok(lowered) => {
            let layouts = layout::layouts(&fio, &lowered, &mut places);
            served.layouts = layouts
                .into_iter()
                .map(|MissingFiles { job, files, bytes }| LayoutServed { job, files, bytes })
                .collect();
            served.copies = lowered
                .jobs
                .iter()
                .map(|copy| CopyServed {
                    job: copy.job as u32,
                    phase: copy.phase as u32,
                    group: copy.group_name.clone(),
                })
                .collect();
            served.messages = super::say::warning(&fio.warnings, &lowered.warnings).into_iter().collect();
            served.workload = Some(lowered.workload.clone());
            let (logs, log_errors) = (KeptLogs::default(), Vec::new());
            let service = FioService { fio, lowered, phase_start_unix_ms: unix_ms(), logs, log_errors };
            return (Some(service), served);
        }
    }
    (None, served)
}

/// Restricts which files of this host a client's jobs can see.
struct Allowed<'a> {
    asked: &'a JobsRequest,
    policy: &'a AgentPolicy,
    disk: DiskFiles,
    read_here: BTreeMap<String, String>,
}

impl Allowed<'_> {
    fn allows(&self, path: &str) -> bool {
        self.policy.allows(Path::new(path), Path::new("."))
    }
}

impl Files for Allowed<'_> {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        if let Some(text) = self.asked.files.get(path) {
            return Ok(text.clone());
        }
        if !self.asked.reads_here || path == "-" || !self.allows(path) {
            return Err(MissingFile { reason: "the agent was started for other paths (`--allow`)".to_owned() });
        }
        let text = Files::read(&mut self.disk, path)?;
        self.read_here.insert(path.to_owned(), text.clone());
        Ok(text)
    }
}

impl Places for Allowed<'_> {
    fn find(&mut self, path: &str) -> Found {
        // The run reports later that the path is not allowed.
        if self.allows(path) { self.disk.find(path) } else { Found::Absent }
    }

    fn client(&self) -> Option<String> {
        Some(self.asked.client.clone()).filter(|client| !client.is_empty())
    }

    fn free_bytes(&mut self, path: &str) -> Option<u64> {
        if self.allows(path) { self.disk.free_bytes(path) } else { None }
    }

    fn files_below(&mut self, directory: &str) -> Vec<String> {
        if self.allows(directory) { self.disk.files_below(directory) } else { Vec::new() }
    }

    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, FileError> {
        match asked.parts.iter().find(|part| !self.allows(&part.path)) {
            None => self.disk.recording(asked),
            Some(part) => {
                let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
                Err(FileError::Io { path: part.path.clone(), source })
            }
        }
    }

    fn device_node(&mut self, major: u32, minor: u32) -> Option<String> {
        self.disk.device_node(major, minor)
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        self.disk.cpus_of_node(node)
    }
}
