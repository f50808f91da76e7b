//! Prepares a Bonnie++ command line.

use super::user::{KeptStore, become_user};
use plumb_cli::output::error_text;
use plumb_engine::semaphore::Semaphores;
use plumb_tools_classic::bonnie::{BonnieSettings, Machine, Meeting, Refusal, Test};
use plumb_tools_run::ToolCall;
use plumb_tools_run::simulated;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Key of its semaphores, one for each test.
pub(super) const SEMAPHORE_KEY: i32 = 4711;

pub(super) const SEMAPHORES: u16 = Test::ALL.len() as u16;

/// The result of everything that precedes a run.
pub(super) enum Prepared {
    Run(Box<BonnieSettings>, Machine, KeptStore),
    Done(String),
}

pub(super) fn prepared(call: &ToolCall<'_>) -> Result<Prepared, Refusal> {
    let ToolCall { called, words, common, .. } = *call;
    let mut kept = KeptStore::default();
    let mut machine = machine();
    let mut settings = BonnieSettings::read(called, words, &machine)?;
    let is_simulated = settings.directory.as_deref().is_some_and(simulated::is_named);
    if is_simulated {
        // A simulated machine must be the same in each run.
        machine = Machine { ram_mib: simulated::MEMORY_MIB, pid: 1, time_s: 0, ..machine };
        settings = BonnieSettings::read(called, words, &machine)?;
    }
    if let Some(directory) = &settings.directory
        && !is_simulated
        && !Path::new(directory).is_dir()
    {
        return Err(settings.usage(&format!("Can't change to directory \"{directory}\".\n")));
    }
    if settings.run_as.user.is_some() || settings.run_as.group.is_some() {
        let became = become_user(settings.run_as.user.as_deref(), settings.run_as.group.as_deref(), common)?;
        if !settings.quiet {
            error_text!("{}", became.message);
        }
        kept = became.kept;
    } else if !is_simulated && rustix::process::geteuid().is_root() {
        return Err(settings.usage("You must use the \"-u\" switch when running as root.\n"));
    }
    settings.check_meeting()?;
    let refused = |what: &'static str| move |error| Refusal(format!("{what}: {error}\n"));
    match settings.meeting {
        Meeting::Make(count) => {
            Semaphores::make(SEMAPHORE_KEY, SEMAPHORES, count).map_err(refused("Can't get semaphore"))?;
            return Ok(Prepared::Done(format!("Creating semaphore for {count} procs.\n")));
        }
        Meeting::Remove => {
            let found = Semaphores::find(SEMAPHORE_KEY, 1).map_err(refused("Can't get semaphore ID"))?;
            found.remove().map_err(refused("Can't get remove semaphore"))?;
            return Ok(Prepared::Done("Semaphore removed.\n".to_owned()));
        }
        _ => {}
    }
    settings.check()?;
    Ok(Prepared::Run(Box::new(settings), machine, kept))
}

pub(super) fn machine() -> Machine {
    let page_bytes = rustix::param::page_size() as u64;
    let ram_bytes = plumb_engine::ram_bytes();
    Machine {
        // In the tool's own steps, which round down twice.
        ram_mib: (page_bytes / 1024 * (ram_bytes / page_bytes / 1024)) as i64,
        node: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        pid: std::process::id(),
        time_s: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
    }
}
