//! The program that `plumb serve` starts.

use clap::Parser;
use plumb_cli::common::Common;
use plumb_cli::output::error_line;
use plumb_cli::serve::ServeArguments;
use std::path::PathBuf;
use std::process::ExitCode;

/// The allocator of musl has one lock for all threads.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Show stored results in a browser: runs, comparisons, histories.
#[derive(Debug, Parser)]
#[command(name = "plumb serve", version, max_term_width = 100)]
struct Arguments {
    #[command(flatten)]
    serve: ServeArguments,

    /// The results database [default: plumb.db in the user's data directory], or the address of a team's:
    /// postgres://USER@HOST/DATABASE.
    #[arg(long, global = true, value_name = "FILE", env = "PLUMB_DB")]
    db: Option<PathBuf>,
}

fn main() -> ExitCode {
    let Arguments { serve, db } = Arguments::parse();
    let common = Common { db, ..Common::of_environment() };
    match plumb_serve::run(&serve, &common) {
        Ok(end) => ExitCode::from(end.number()),
        Err(stopped) => {
            error_line!("error: {}", stopped.message);
            ExitCode::from(stopped.end.number())
        }
    }
}
