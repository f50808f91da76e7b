//! `plumb posix` on systems other than Linux.

#[path = "arguments.rs"]
mod arguments;

pub(crate) use arguments::PosixArguments;

use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};

fn not_here() -> Stopped {
    Stopped::usage("conformance is tested by system calls of Linux; this is another system")
}

pub(crate) fn run(_: &PosixArguments, _: &Common) -> Result<End, Stopped> {
    Err(not_here())
}

pub(crate) mod pjdfstest {
    use plumb_cli::exit::{End, Stopped};
    use plumb_tools_run::ToolCall;

    pub(crate) fn run(_: &ToolCall<'_>) -> Result<End, Stopped> {
        Err(super::not_here())
    }
}
