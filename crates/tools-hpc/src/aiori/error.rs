//! Errors in options of IOR and mdtest.

use plumb_tools::permission;

/// An error in a command line, a directive, or a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option `{word}`{}", hint(.nearest))]
    Unknown {
        /// As given.
        word: String,
        /// The closest name, as it is written.
        nearest: Option<String>,
    },
    /// An option of a back end that Plumb does not have.
    #[error("`{word}` is an option of the back end {backend}, which is not yet supported: {}", without(.backend))]
    OfBackEnd {
        /// The option, as the user typed it.
        word: String,
        /// The back end that has the option.
        backend: String,
    },
    /// No option at all.
    #[error("unexpected argument `{word}`; options begin with a dash")]
    NoOption {
        /// As given.
        word: String,
    },
    /// It needs a value.
    #[error("{option} needs a value: {option} {what}")]
    NoValue {
        /// As it is written.
        option: String,
        /// What it takes.
        what: &'static str,
    },
    /// The value is invalid.
    #[error("{option}: `{value}` {problem}")]
    Value {
        /// As it is written.
        option: String,
        /// As given.
        value: String,
        /// The problem, and the way out.
        problem: String,
    },
    /// Not supported.
    #[error("{option} is {when} supported: {why}")]
    Unsupported {
        /// As it is written.
        option: String,
        /// Not yet, or never.
        when: &'static str,
        /// Why, or what to do.
        why: &'static str,
    },
    /// In a script, or among directives.
    #[error("{option} works on the command line only; give it there")]
    OnCommandLine {
        /// As it is written.
        option: String,
    },
    /// Options that do not go together: which, and the way out.
    #[error("{0}")]
    Conflict(&'static str),
    /// A command that the user did not allow.
    #[error("{}; {}", permission::refused(.option, .line), permission::way_out())]
    Command {
        /// As it is written.
        option: &'static str,
        /// What it would run.
        line: String,
    },
    /// A tree that cannot be.
    #[error("{message}; {help}")]
    Tree {
        /// The problem.
        message: String,
        /// The way out.
        help: &'static str,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// IOR's back ends that Plumb does not have. Source: `available_aiori` in its `aiori.c`.
const OTHER_BACK_ENDS: [&str; 17] = [
    "PMDK", "DFS", "HDF5", "HDFS", "IME", "NCMPI", "S3-libs3", "S3", "S3_plus", "S3_EMC", "S3-curl", "RADOS", "CEPHFS",
    "Gfarm", "CHFS", "FINCHFS", "LIBNFS",
];

/// Returns the way out for a missing back end. Another one is another workload, so none is offered in its place.
fn without(backend: &str) -> &'static str {
    match backend {
        "DFS" => {
            "measure it with IOR itself; a container that dfuse mounts is measured with POSIX, which goes another way, \
             through the kernel"
        }
        "CEPHFS" | "LIBNFS" => {
            "measure it with IOR itself; a mount of it is measured with POSIX, which goes another way, through the kernel"
        }
        _ => "measure it with IOR itself",
    }
}

/// Returns the problem with the name of a back end for a tool that has `those`.
pub(crate) fn back_end_problem(name: &str, those: &str) -> String {
    match OTHER_BACK_ENDS.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        Some(known) => format!("is a back end that is not yet supported; {}", without(known)),
        // IOR's, which mdtest does not have here.
        None if ["AIO", "MPIIO", "MMAP"].iter().any(|known| known.eq_ignore_ascii_case(name)) => {
            format!("is a back end that is not yet supported; use {those}")
        }
        None => format!("is not a back end; use {those}"),
    }
}

/// The back end that Plumb does not have and whose option this is, as `dfs.pool` is one of DFS.
pub(super) fn other_back_end(option: &str) -> Option<String> {
    let (prefix, _) = option.split_once('.')?;
    let known = OTHER_BACK_ENDS.iter().find(|known| known.eq_ignore_ascii_case(prefix))?;
    Some((*known).to_owned())
}
