//! Jobs of a client, read and lowered on the host that runs them: files and devices are looked at here.

use super::disk::{DiskFiles, this_machine};
use super::layout;
use plumb_dialects::FileError;
use plumb_dialects::fio::lower::{AskedRecording, Entropy, Found, Places, RecordedFiles, lower};
use plumb_dialects::fio::print::MissingFiles;
use plumb_dialects::fio::{self, Files, Machine, MissingFile};
use plumb_document::{FromDocument, ToDocument, json};
use plumb_sorted::SortedMap;
use plumb_study::AgentPolicy;
use plumb_workload::Workload;
use std::path::Path;

/// How a client asks an agent for this.
pub const ASKED: &str = "fio ";

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct JobsAsked {
    /// fio's words.
    pub words: Vec<String>,
    /// The texts of the job files, by the names in the words.
    pub files: SortedMap<String, String>,
    /// Variables of the client's environment that the texts name.
    pub environment: SortedMap<String, String>,
    /// The client's address.
    pub client: String,
    /// Job files that lie here are read, too.
    pub reads_here: bool,
    /// For what is drawn anew in each run.
    pub entropy: u64,
}

/// What becomes of them on this host.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct JobsServed {
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
    pub files: SortedMap<String, String>,
}

/// A copy of a job.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct CopyServed {
    /// Its job's number.
    pub job: u32,
    /// Its phase's number.
    pub phase: u32,
    /// The name of its group.
    pub group: String,
}

/// Files of a job that are written first.
#[derive(Debug, Clone, PartialEq, Default, ToDocument, FromDocument)]
pub struct LayoutServed {
    /// The job.
    pub job: String,
    /// How many.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl JobsServed {
    /// The machine, as the client's job files see it.
    pub fn machine(&self, environment: SortedMap<String, String>) -> Machine {
        Machine { environment, cpus: self.cpus, page_bytes: self.page_bytes, memory_mib: self.memory_mib }
    }
}

/// What an agent answers.
pub fn answer(asked: &str, policy: &AgentPolicy) -> Vec<u8> {
    let served = match json::from_str::<JobsAsked>(asked) {
        Ok(asked) => serve(&asked, policy),
        Err(error) => JobsServed { said: vec![format!("the client's words: {error}")], ..JobsServed::default() },
    };
    json::to_vec(&served).unwrap_or_default()
}

fn serve(asked: &JobsAsked, policy: &AgentPolicy) -> JobsServed {
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
    let mut places = Allowed { asked, policy, disk: DiskFiles::default(), read_here: SortedMap::new() };
    let fio = match fio::read(&asked.words, &machine, &mut places) {
        Ok(fio) => fio,
        Err(errors) => {
            served.said = errors.0.iter().map(ToString::to_string).collect();
            return served;
        }
    };
    served.files = std::mem::take(&mut places.read_here);
    match lower(&fio, &mut places, Entropy(asked.entropy)) {
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
            served.workload = Some(lowered.workload);
        }
    }
    served
}

/// What a client's jobs may see of this host.
struct Allowed<'a> {
    asked: &'a JobsAsked,
    policy: &'a AgentPolicy,
    disk: DiskFiles,
    read_here: SortedMap<String, String>,
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
