use clap::Args;
use std::path::PathBuf;

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Print JSON instead of text.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print every finding, every percentile and what each number is based on.
    #[arg(long, short, global = true)]
    pub verbose: bool,

    /// The results database [default: plumb.db in the user's data directory]. Commands that read results also take the
    /// address of a team's database, `postgres://USER@HOST/DATABASE`.
    #[arg(long, global = true, value_name = "FILE", env = "PLUMB_DB")]
    pub db: Option<PathBuf>,

    /// The serial of a device whose contents may be destroyed; may be given several times.
    #[arg(long, global = true, value_name = "SERIAL")]
    pub destroy: Vec<String>,

    /// Do not store the result.
    #[arg(long, global = true)]
    pub no_store: bool,

    /// Files, directories, and paths or serials of devices that may be overwritten, separated by
    /// commas. Their contents will be destroyed.
    #[arg(long, global = true, value_name = "PATH-OR-SERIAL,…", env = "PLUMB_ALLOW", hide_env_values = true)]
    pub plumb_allow: Option<String>,
}

impl Common {
    /// Reads the options from the environment only, for another tool's command line.
    pub fn of_environment() -> Common {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Common {
            json: false,
            verbose: false,
            db: std::env::var_os("PLUMB_DB").filter(|value| !value.is_empty()).map(PathBuf::from),
            destroy: Vec::new(),
            no_store: false,
            plumb_allow: text("PLUMB_ALLOW"),
        }
    }
}
