//! `cargo xtask dist`: builds all release artifacts for two machines, and checks that they install.
//!
//! Building needs no network once the tools and dependencies are present. zig links programs for glibc: it knows the
//! symbols of each version of it, so that they run with [`OLDEST_GLIBC`]. LLD links static ones with the musl that Rust
//! includes.

mod check;
mod clean_root;
mod compile;
mod debug;
mod glibc;
mod image;
mod machine;
mod names;
mod packages;
mod programs;
mod recipes;
mod sbom;
mod serving;
mod stage;
mod sums;
mod tarball;
mod tools;
mod wheel;

use crate::tools::target_directory;
use anyhow::{Result, bail, ensure};
use debug::Split;
use machine::Machine;
pub use names::PACKAGE;
use std::path::{Path, PathBuf};

/// The glibc that packages must run with: that of RHEL 8, Debian 10 and Ubuntu 18.10, and of `manylinux_2_28`.
const OLDEST_GLIBC: glibc::Version = glibc::Version { major: 2, minor: 28 };

/// A larger static program gets a warning: find out what it contains.
const STATIC_BYTES_EXPECTED: u64 = 40_000_000;

pub struct Options {
    machines: Vec<Machine>,
    task: Task,
    suite: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Make,
    Check,
}

impl Options {
    /// Reads `--machine x86-64|aarch64`, `--check` and `--suite NAME`.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options =
            Options { machines: Machine::ALL.to_vec(), task: Task::Make, suite: clean_root::SUITE.to_owned() };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match (*argument, rest.clone().next()) {
                ("--check", _) => options.task = Task::Check,
                ("--machine", Some(name)) => {
                    options.machines = vec![Machine::named(name)?];
                    rest.next();
                }
                ("--suite", Some(name)) => {
                    options.suite = (*name).to_owned();
                    rest.next();
                }
                _ => {
                    bail!("unknown option `{argument}`; dist takes --machine x86-64|aarch64, --check and --suite NAME")
                }
            }
        }
        Ok(options)
    }
}

/// Returns the directory for the files of a release, and nothing else.
fn directory() -> PathBuf {
    target_directory().join("release-files")
}

/// Returns the directory for intermediate files.
fn work_directory() -> PathBuf {
    target_directory().join("dist-work")
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Builds the files of a release, or checks them.
pub fn run(options: &Options) -> Result<()> {
    match options.task {
        Task::Make => make(options),
        Task::Check => check::all(&options.machines, &options.suite),
    }
}

fn make(options: &Options) -> Result<()> {
    tools::provide(&tools::for_machines(tools::TO_MAKE, &options.machines))?;
    let dir = directory();
    // Files of an earlier call do not belong to this release.
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    let mut built = Vec::new();
    for machine in &options.machines {
        built.push(make_for(*machine, &dir)?);
    }
    image::write(&dir, &built)?;
    sbom::write(&dir)?;
    release_note(&dir, &built)?;
    sums::write(&dir)?;
    println!("everything is in {}", dir.display());
    Ok(())
}

/// The programs of one machine.
struct Built {
    machine: Machine,
    fixed: Vec<Split>,
    glibc: glibc::Version,
}

fn make_for(machine: Machine, dir: &Path) -> Result<Built> {
    let fixed = programs::split(&compile::fixed(machine)?, &tarball::debug_suffix(machine))?;
    for split in &fixed {
        std::fs::copy(&split.debug, dir.join(split.debug.file_name().unwrap_or_default()))?;
        let bytes = std::fs::metadata(&split.program)?.len();
        println!("{}: static {}, {:.1} MB", machine.name(), split.name(), bytes as f64 / 1e6);
        if bytes > STATIC_BYTES_EXPECTED {
            println!("warning: {}: more than {:.0} MB", split.program.display(), STATIC_BYTES_EXPECTED as f64 / 1e6);
        }
    }
    let suffix = format!("-{}-{}-linux-gnu.debug", version(), machine.name());
    let shared = programs::split(&compile::shared(machine)?, &suffix)?;
    let glibc = oldest_glibc(machine, &shared)?;
    wheel::write(machine, &shared, dir)?;
    let stage = stage::make(machine, &fixed, &shared, glibc)?;
    let debug_stage = stage::make_debug(machine, &shared)?;
    for stage in [&stage, &debug_stage] {
        packages::deb(machine, stage, dir)?;
        packages::rpm(machine, stage, dir)?;
    }
    tarball::write(machine, &stage, &fixed, dir)?;
    Ok(Built { machine, fixed, glibc })
}

/// Returns the oldest glibc that all programs run with.
fn oldest_glibc(machine: Machine, programs: &[Split]) -> Result<glibc::Version> {
    let mut all = Vec::new();
    for split in programs {
        let oldest = glibc::oldest(&std::fs::read(&split.program)?)?;
        ensure!(oldest <= OLDEST_GLIBC, "{} needs glibc {oldest}; {OLDEST_GLIBC} is promised", split.program.display());
        println!("{}: {} for glibc {oldest} and later", machine.name(), split.name());
        all.push(oldest);
    }
    Ok(all.into_iter().max().unwrap_or(OLDEST_GLIBC))
}

fn release_note(dir: &Path, built: &[Built]) -> Result<()> {
    let mut note = format!("# Plumb {}\n\n", version());
    note.push_str(
        "| file | runs on |\n|---|---|\n\
         | `.deb`, `.rpm`, `.whl` | Linux with glibc, see below |\n\
         | `-dbgsym*.deb`, `-debuginfo*.rpm` | line tables of the programs in `.deb`, `.rpm` and `.whl`, for gdb and perf |\n\
         | `-static.tar.gz`, `-oci.tar` | any Linux 5.10 or later; without MPI, see README in the archive |\n\
         | `-static.debug` | line tables of those programs: put them into their directory |\n\
         | `.cdx.json` | what is inside (CycloneDX) |\n\n\
         Oldest glibc, measured from the symbol versions of the programs:\n\n",
    );
    for one in built {
        note.push_str(&format!("- {}: {}\n", one.machine.name(), one.glibc));
    }
    note.push_str("\n`sha256sum -c SHA256SUMS` checks the files.\n");
    std::fs::write(dir.join("RELEASE.md"), note)?;
    Ok(())
}
