//! What hosts are given by whoever starts them.

use plumb_engine::private_directory::{PrivateDirectoryError, user_directory};
use plumb_engine::signals::StopFlag;
use std::path::PathBuf;
use std::time::Duration;

/// What all hosts need to know of this process.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Plumb's own executable: it runs the work, here and elsewhere.
    pub program: PathBuf,
    /// Where the journals of what was built here lie, and what a run needs until it ends.
    pub state: PathBuf,
    /// Where images of virtual machines are kept between boots.
    pub cache: PathBuf,
    /// What is brought to other machines instead of it: `PLUMB_AGENT`, a static build perhaps.
    pub far_program: Option<PathBuf>,
    /// ssh with its words: `PLUMB_SSH`, split as a shell does.
    pub ssh: Vec<String>,
    /// How long a machine may take to boot; each kind of host has its own idea.
    pub boot_timeout: Option<Duration>,
    /// Whether errors show all that ssh said.
    pub verbose: bool,
    /// Whether the user wants to end, looked at while a host is waited for.
    pub interrupted: Option<StopFlag>,
}

impl Surroundings {
    /// With the user's own directories. Source: XDG Base Directory Specification.
    ///
    /// # Errors
    /// The environment names no directory of the user's, and none could be made: [`user_directory`].
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

    /// Where the journals of what was built here lie.
    pub fn journals(&self) -> PathBuf {
        self.state.join("journals")
    }
}
