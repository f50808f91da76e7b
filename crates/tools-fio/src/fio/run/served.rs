//! Jobs of a client, read and lowered on the host that runs them: files and devices are looked at here.

use super::disk::{DiskFiles, this_machine};
use super::layout;
use super::logs::{KEPT_BYTES_MAX, KeptLogs, Logs, Place};
use super::progress::unix_ms;
use super::trigger::{self, TriggerError};
use plumb_bench::AgentPolicy;
use plumb_document::json;
use plumb_engine::LoggedOp;
use plumb_tools::FileError;
use plumb_tools_fio::fio::lower::{AskedRecording, Entropy, Found, Lowered, Places, RecordedFiles, lower};
use plumb_tools_fio::fio::print::MissingFiles;
use plumb_tools_fio::fio::{self, Files, Fio, Machine, MissingFile};
use plumb_workload::Workload;
use plumb_workload_text::validate::validate;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// How a client asks an agent for this.
pub const ASKED: &str = "fio ";

/// How a client says that its trigger was pulled, with the command of `--trigger-remote` behind it.
pub const PULLED: &str = "fio-trigger ";

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct JobsAsked {
    /// fio's words.
    pub words: Vec<String>,
    /// The texts of the job files, by the names in the words.
    pub files: BTreeMap<String, String>,
    /// Variables of the client's environment that the texts name.
    pub environment: BTreeMap<String, String>,
    /// The client's address.
    pub client: String,
    /// Job files that lie here are read, too.
    pub reads_here: bool,
    /// For what is drawn anew in each run.
    pub entropy: u64,
    /// The client has a command for its trigger.
    pub has_trigger: bool,
}

/// What a host tells of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct PhaseTold {
    /// The lines of its logs, by their files' names.
    pub logs: BTreeMap<String, String>,
    /// What went wrong with them.
    pub wrong: Vec<String>,
}

/// What becomes of them on this host.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct JobsServed {
    /// What is done; `None` where something is wrong.
    pub workload: Option<Workload>,
    /// Each copy of each job.
    pub copies: Vec<CopyServed>,
    /// Files that are written first.
    pub layouts: Vec<LayoutServed>,
    /// What is wrong, or doubtful.
    pub said: Vec<String>,
    /// What this host calls itself.
    pub name: String,
    /// Its kind of processor, as fio calls it.
    pub processor: String,
    /// Of the machine, which job files may ask for.
    pub cpus: u32,
    /// The same.
    pub page_bytes: u64,
    /// The same.
    pub memory_mib: u64,
    /// Texts of job files that lie here.
    pub files: BTreeMap<String, String>,
}

/// A copy of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct CopyServed {
    /// Its job's number.
    pub job: u32,
    /// Its phase's number.
    pub phase: u32,
    /// The name of its group.
    pub group: String,
}

/// Files of a job that are written first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct LayoutServed {
    /// The job.
    pub job: String,
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl JobsServed {
    /// The machine, as the client's job files see it.
    pub(super) fn machine(&self, environment: BTreeMap<String, String>) -> Machine {
        Machine { environment, cpus: self.cpus, page_bytes: self.page_bytes, memory_mib: self.memory_mib }
    }
}

/// Jobs of a client that this host runs.
pub struct FioService {
    fio: Fio,
    lowered: Lowered,
    phase_start_unix_ms: u64,
    logs: KeptLogs,
    wrong: Vec<String>,
}

impl FioService {
    /// Reads what is asked for; the service where it can be done, and the answer.
    pub fn of(asked: &str, policy: &AgentPolicy) -> (Option<FioService>, Vec<u8>) {
        let (service, served) = match json::from_str::<JobsAsked>(asked) {
            Ok(asked) => serve(&asked, policy),
            Err(error) => {
                let said = vec![format!("the client's words: {error}")];
                (None, JobsServed { said, ..JobsServed::default() })
            }
        };
        (service, json::to_vec(&served).unwrap_or_default())
    }

    /// The clock of a phase starts.
    pub fn clock_starts(&mut self) {
        self.phase_start_unix_ms = unix_ms();
    }

    /// The ops of a worker, for its logs.
    pub fn op_log(&mut self, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let mut logs = Logs::new(&self.fio, &self.lowered, Place::Memory(self.logs.clone()));
        logs.write(worker, self.phase_start_unix_ms, ops);
        self.wrong.extend(logs.error.map(|error| error.to_string()));
    }

    /// What the client is told of a phase that is over.
    pub fn tells(&mut self) -> String {
        let (files, is_cut) = self.logs.take();
        let mut wrong = std::mem::take(&mut self.wrong);
        if is_cut {
            let mib = KEPT_BYTES_MAX >> 20;
            wrong.push(format!("only the first {mib} MiB of the logs of a phase are sent; give log_avg_msec"));
        }
        if files.is_empty() && wrong.is_empty() {
            return String::new();
        }
        let lines = |(name, bytes): (String, Vec<u8>)| (name, String::from_utf8_lossy(&bytes).into_owned());
        json::to_string(&PhaseTold { logs: files.into_iter().map(lines).collect(), wrong }).unwrap_or_default()
    }
}

/// Runs the command of a client's trigger; what is told of it.
pub fn pulled(command: &str, policy: &AgentPolicy) -> Vec<u8> {
    let ran = if policy.may_exec { trigger::run(command) } else { Err(TriggerError::Forbidden) };
    ran.err().map_or_else(Vec::new, |error| error.to_string().into_bytes())
}

fn serve(asked: &JobsAsked, policy: &AgentPolicy) -> (Option<FioService>, JobsServed) {
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
            served.said = errors.0.iter().map(ToString::to_string).collect();
            return (None, served);
        }
    };
    if asked.has_trigger && !policy.may_exec {
        served.said = vec![TriggerError::Forbidden.to_string()];
        return (None, served);
    }
    served.files = std::mem::take(&mut places.read_here);
    match lower(&fio, &mut places, Entropy(asked.entropy), validate) {
        Err(errors) => served.said = errors.0.iter().map(ToString::to_string).collect(),
        Ok(lowered) if !lowered.unrunnable.is_empty() => {
            let why = lowered.unrunnable.iter();
            served.said =
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
            served.said = super::say::warning(&fio.warnings, &lowered.warnings).into_iter().collect();
            served.workload = Some(lowered.workload.clone());
            let (logs, wrong) = (KeptLogs::default(), Vec::new());
            let service = FioService { fio, lowered, phase_start_unix_ms: unix_ms(), logs, wrong };
            return (Some(service), served);
        }
    }
    (None, served)
}

/// What a client's jobs may see of this host.
struct Allowed<'a> {
    asked: &'a JobsAsked,
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
    fn look(&mut self, path: &str) -> Found {
        // The run says later that it is not allowed.
        if self.allows(path) { self.disk.look(path) } else { Found::Absent }
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

    fn recording(&mut self, asked: &AskedRecording) -> Result<RecordedFiles, FileError> {
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
