//! Errors in options of IOR, mdtest and md-workbench.

use plumb_tools::permission;

/// Error in a command line, a directive, or a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// The option does not exist.
    #[error("unknown option `{word}`{}", hint(.nearest))]
    Unknown {
        word: String,
        /// The most similar option, with its dashes.
        nearest: Option<String>,
    },
    /// The option belongs to a back end that Plumb does not support.
    #[error("`{word}` is an option of the back end {backend}, which is not yet supported: {}", without(.backend))]
    OfBackEnd {
        /// The option, as the user typed it.
        word: String,
        /// The back end that has the option.
        backend: String,
    },
    /// An argument is not an option.
    #[error("unexpected argument `{word}`; options begin with a dash")]
    NoOption { word: String },
    #[error("{option} needs a value: {option} {what}")]
    NoValue {
        /// The option, with its dashes.
        option: String,
        /// Placeholder of the value.
        what: &'static str,
    },
    #[error("{option}: `{value}` {problem}")]
    Value {
        /// The option, with its dashes.
        option: String,
        value: String,
        /// Problem with the value, and a hint.
        problem: String,
    },
    /// The option is not supported.
    #[error("{option} is {when} supported: {why}")]
    Unsupported {
        /// The option, with its dashes.
        option: String,
        /// `not yet` or `never`.
        when: &'static str,
        /// Reason, or a hint.
        why: &'static str,
    },
    /// The option was given in a script or as a directive.
    #[error("{option} works on the command line only; give it there")]
    OnCommandLine {
        /// The option, with its dashes.
        option: String,
    },
    /// Options exclude each other. The text names them and contains a hint.
    #[error("{0}")]
    Conflict(&'static str),
    /// The user did not allow a shell command.
    #[error("{}; {}", permission::refused(.option, .line), permission::way_out())]
    Command {
        /// The option, with its dashes.
        option: &'static str,
        line: String,
    },
    /// The requested tree is impossible.
    #[error("{message}; {help}")]
    Tree { message: String, help: &'static str },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// IOR's back ends that Plumb does not support. Source: `available_aiori` in its `aiori.c`.
const OTHER_BACK_ENDS: [&str; 17] = [
    "PMDK", "DFS", "HDF5", "HDFS", "IME", "NCMPI", "S3-libs3", "S3", "S3_plus", "S3_EMC", "S3-curl", "RADOS", "CEPHFS",
    "Gfarm", "CHFS", "FINCHFS", "LIBNFS",
];

/// Returns the hint for an unsupported back end. It does not offer another back end, because
/// that would be another workload.
fn without(backend: &str) -> &'static str {
    match backend {
        "DFS" => {
            "measure it with IOR itself; a container that dfuse mounts can be measured with POSIX, but on another path, \
             through the kernel"
        }
        "CEPHFS" | "LIBNFS" => {
            "measure it with IOR itself; a mount of it can be measured with POSIX, but on another path, through the kernel"
        }
        _ => "measure it with IOR itself",
    }
}

/// Returns the problem with the name of a back end. `those` lists the tool's back ends.
pub(crate) fn back_end_problem(name: &str, those: &str) -> String {
    match OTHER_BACK_ENDS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(known) => format!("is a back end that is not yet supported; {}", without(known)),
        // IOR's back ends that Plumb's mdtest does not support.
        None if ["AIO", "MPIIO", "MMAP"].iter().any(|known| known.eq_ignore_ascii_case(name)) => {
            format!("is a back end that is not yet supported; use {those}")
        }
        None => format!("is not a back end; use {those}"),
    }
}

/// Returns the unsupported back end to which an option belongs: `dfs.pool` is one of DFS.
pub(super) fn other_back_end(option: &str) -> Option<String> {
    let (prefix, _) = option.split_once('.')?;
    let known = OTHER_BACK_ENDS.iter().find(|known| known.eq_ignore_ascii_case(prefix))?;
    Some((*known).to_owned())
}
