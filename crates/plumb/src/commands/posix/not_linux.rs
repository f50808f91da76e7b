//! `plumb posix` where there is no Linux.

#[path = "arguments.rs"]
mod arguments;

pub(crate) use arguments::PosixArguments;

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};

fn not_here() -> Stopped {
    Stopped::usage("conformance is tested by system calls of Linux; this is another system")
}

/// Says so.
pub(crate) fn run(_: &PosixArguments, _: &Common) -> Result<End, Stopped> {
    Err(not_here())
}

/// `plumb as pjdfstest`.
pub(crate) mod pjdfstest {
    use plumb_cli::exit::{End, Stopped};
    use plumb_tools_run::ToolCall;

    /// Says so.
    pub(crate) fn run(_: &ToolCall<'_>) -> Result<End, Stopped> {
        Err(super::not_here())
    }
}
