//! Development tasks that use Plumb's own crates, started by `cargo xtask`, which prints their usage: benchmarks
//! against other tools, error rates, traps, conformance, JSON Schemas.

#![allow(clippy::disallowed_methods)] // a tool of development, on files of this tree

mod aa;
mod bench;
mod binomial;
mod calibrate;
mod ior;
mod mount;
#[cfg(target_os = "linux")]
mod posix;
mod schema;
#[cfg(target_os = "linux")]
mod traps;

use anyhow::{Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["bench", "engine", rest @ ..] => bench::engine(&bench::Options::parse(rest)?),
        ["bench", "classic", rest @ ..] => bench::classic(&bench::Options::parse(rest)?),
        ["bench", "fio", rest @ ..] => bench::dialect(&bench::Options::parse(rest)?),
        ["bench", "fidelity", rest @ ..] => bench::fidelity(&bench::Options::parse(rest)?),
        ["bench", "start", rest @ ..] => bench::start(&bench::Options::parse(rest)?),
        ["bench", "agents", rest @ ..] => bench::agents(&bench::Options::parse(rest)?),
        ["bench", "team", rest @ ..] => bench::team(&bench::Options::parse(rest)?),
        ["bench", "scaling", rest @ ..] => bench::scaling(&bench::Options::parse(rest)?),
        ["bench", "filebench", rest @ ..] => bench::filebench(&bench::Options::parse(rest)?),
        ["bench", "trees", rest @ ..] => bench::trees(&bench::Options::parse(rest)?),
        ["bench", "flows", rest @ ..] => bench::flows(&bench::Options::parse(rest)?),
        ["calibrate", rest @ ..] => calibrate::run(&calibrate::Options::parse(rest)?),
        ["aa", "gate", rest @ ..] => aa::run(&aa::Options::of_gates(rest)?),
        ["aa", "power", rest @ ..] => aa::power::run(&aa::power::Options::parse(rest)?),
        ["aa", rest @ ..] => aa::run(&aa::Options::parse(rest)?),
        ["ior", rest @ ..] => ior::compare(&ior::Options::parse(rest)?),
        #[cfg(target_os = "linux")]
        ["posix", rest @ ..] => posix::run(&posix::Options::parse(rest)?),
        #[cfg(target_os = "linux")]
        ["traps", rest @ ..] => traps::run(&traps::Options::parse(rest)?),
        ["schema"] => schema::write(),
        _ => bail!("no such task; `cargo xtask` prints the tasks and their options"),
    }
}
