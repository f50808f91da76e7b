//! Follows jobs that run on other hosts: stores their logs and polls the trigger.

use super::Serving;
use crate::fio::complain;
use crate::fio::progress::unix_ms;
use crate::fio::served::{PULLED, PhaseMessage};
use crate::fio::trigger::TriggerWatch;
use plumb_bench::{HostReport, Progress, Second};
use plumb_cli::ranks;
use plumb_document::json;
use plumb_engine::guard::{OutputError, OutputFile};
use plumb_engine::signals::StopFlag;
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::invocation::Trigger;
use plumb_tools_fio::fio::value::choice::LogName;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Progress of jobs that run on other hosts.
pub(crate) struct ClientProgress<'a> {
    serving: &'a [Serving],
    /// Start of each phase, in milliseconds since 1970.
    pub starts: Vec<u64>,
    /// Logs that this run has created; further lines are appended.
    begun: BTreeSet<PathBuf>,
    /// Whether part of a host's log is missing.
    pub lost_logs: bool,
    trigger: TriggerWatch,
    stop: StopFlag,
}

impl<'a> ClientProgress<'a> {
    pub(super) fn new(serving: &'a [Serving], asked: &Trigger, stop: StopFlag) -> ClientProgress<'a> {
        // As in fio, the command of `--trigger` does not run on the client.
        let trigger = TriggerWatch::new(&Trigger { command: None, ..asked.clone() });
        ClientProgress { serving, starts: Vec::new(), begun: BTreeSet::new(), lost_logs: false, trigger, stop }
    }

    /// Runs the command of `--trigger-remote` on each host if the trigger was pulled, and returns whether all
    /// succeeded. A host that the command shuts down does not answer.
    pub(super) fn pull(&self, command: Option<&str>) -> bool {
        let Some(command) = command.filter(|_| self.trigger.is_pulled()) else { return true };
        let Some(ranks) = ranks::joined() else { return false };
        match ranks.ask_each(self.stop, vec![format!("{PULLED}{command}"); self.serving.len()]) {
            Ok(answers) => {
                for (host, answer) in self.serving.iter().zip(&answers).filter(|(_, answer)| !answer.is_empty()) {
                    complain(format!("{}: {}", host.place_name(), String::from_utf8_lossy(answer)));
                }
                answers.iter().all(Vec::is_empty)
            }
            Err(error) => {
                complain(error);
                false
            }
        }
    }
}

impl Progress for ClientProgress<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        self.starts.push(unix_ms());
    }

    fn live(&mut self, _second: &Second<'_>) {
        self.trigger.poll(self.stop);
    }

    fn receive_reports(&mut self, hosts: Vec<HostReport>) {
        for HostReport { number, text } in hosts.into_iter().filter(|host| !host.text.is_empty()) {
            let Some(serving) = self.serving.get(number as usize) else { continue };
            let errors = match json::from_str::<PhaseMessage>(&text) {
                Ok(message) => {
                    let logs = message.logs.iter();
                    let failed = logs.filter_map(|(name, lines)| serving.keep(name, lines, &mut self.begun).err());
                    failed.map(|error| error.to_string()).chain(message.wrong).collect()
                }
                Err(error) => vec![error.to_string()],
            };
            self.lost_logs |= !errors.is_empty();
            errors.iter().for_each(|error| complain(format!("{}: {error}", serving.place_name())));
        }
    }
}

/// Error from storing a host's log.
#[derive(Debug, thiserror::Error)]
enum LogError {
    /// A log that no job asked for.
    #[error("`{0}` is not a log of these jobs")]
    NotAsked(String),
    /// The local log file cannot be written.
    #[error(transparent)]
    Write(#[from] OutputError),
}

impl Serving {
    /// Stores log lines as fio's client does: under the log's name with the host's name appended.
    fn keep(&self, name: &str, lines: &str, begun: &mut BTreeSet<PathBuf>) -> Result<(), LogError> {
        let own_name = match self.host.asked.reads_here {
            // A job file on the host must not choose where files are written on this machine.
            true => Path::new(name).file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            false => name.to_owned(),
        };
        if !has_log(&self.fio, name) || own_name.is_empty() {
            return Err(LogError::NotAsked(name.to_owned()));
        }
        let host = self.place_name().replace('/', "_");
        let path = PathBuf::from(format!("{own_name}.{host}"));
        let is_new = begun.insert(path.clone());
        let output = OutputFile::made_up("log", &path);
        let written = if is_new { output.write(lines.as_bytes()) } else { output.append_all(lines.as_bytes()) };
        Ok(written?)
    }
}

/// Whether some job asks for a log of this name.
fn has_log(fio: &Fio, name: &str) -> bool {
    let is_of = |base: &LogName, job: &str| {
        let base = match base {
            LogName::OfJob => job,
            LogName::Named(base) => base,
        };
        // `_bw.1.log`
        let rest = name.strip_prefix(base).and_then(|rest| rest.strip_prefix('_')?.strip_suffix(".log"));
        rest.is_some_and(|rest| !rest.contains('/'))
    };
    fio.jobs.iter().any(|job| {
        let logs = &job.logs;
        let mut bases = [&logs.bw, &logs.iops, &logs.lat, &logs.hist].into_iter().flatten();
        bases.any(|base| is_of(base, &job.name)) || job.replay.write_iolog.as_deref() == Some(name)
    })
}
