//! Information that all hosts need about this process.

use plumb_engine::private_directory::{PrivateDirectoryError, user_directory};
use plumb_engine::signals::StopFlag;
use std::path::PathBuf;
use std::time::Duration;

/// Information that all hosts need about this process.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Path of Plumb's own executable: it runs the work, here and elsewhere.
    pub program: PathBuf,
    /// Directory for the journals of systems built here, and for files that runs need.
    pub state: PathBuf,
    /// Directory for cached images of virtual machines.
    pub cache: PathBuf,
    /// Executable to copy to other machines instead: `PLUMB_AGENT`, perhaps a static build.
    pub far_program: Option<PathBuf>,
    /// ssh and its arguments: `PLUMB_SSH`, split like a shell does.
    pub ssh: Vec<String>,
    /// Time limit for booting a machine; `None` uses the default of each kind of host.
    pub boot_timeout: Option<Duration>,
    /// Whether errors show all of ssh's output.
    pub verbose: bool,
    /// Interrupt flag, checked while waiting for a host.
    pub interrupted: Option<StopFlag>,
}

impl Surroundings {
    /// Uses the user's own directories. Source: XDG Base Directory Specification.
    ///
    /// # Errors
    /// Returns an error if the environment names no directory of the user's and
    /// none could be created: [`user_directory`].
    pub fn of_environment(program: PathBuf) -> Result<Surroundings, PrivateDirectoryError> {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let below = |name: &str, in_home: &str| Ok(user_directory(name, in_home)?.join("plumb"));
        let ssh = std::env::var("PLUMB_SSH").ok().and_then(|text| shlex::split(&text)).filter(|ssh| !ssh.is_empty());
        Ok(Surroundings {
            program,
            state: below("XDG_STATE_HOME", ".local/state")?,
            cache: below("XDG_CACHE_HOME", ".cache")?,
            far_program: absolute("PLUMB_AGENT"),
            ssh: ssh.unwrap_or_else(|| vec!["ssh".to_owned()]),
            boot_timeout: None,
            verbose: false,
            interrupted: None,
        })
    }

    /// Returns the directory of the undo journals.
    pub fn journals(&self) -> PathBuf {
        self.state.join("journals")
    }
}
