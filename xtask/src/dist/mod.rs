//! `cargo xtask dist`: everything that people install, for two machines, and the check that it installs.
//!
//! What is made needs no network once the tools and dependencies are here. Programs for glibc are linked by zig, which
//! knows the symbols of each version of it, so that they run where [`OLDEST_GLIBC`] does; static ones by LLD with Rust's
//! own musl.

mod check;
mod clean_root;
mod compile;
mod glibc;
mod image;
mod machine;
mod packages;
mod recipes;
mod sbom;
mod stage;
mod sums;
mod tarball;
mod tools;

use crate::tools::target_directory;
use anyhow::{Result, bail, ensure};
use machine::Machine;
use std::path::{Path, PathBuf};

/// The glibc that the packages must run with: that of RHEL 8, Debian 10 and Ubuntu 18.10, and of `manylinux_2_28`.
const OLDEST_GLIBC: glibc::Version = glibc::Version { major: 2, minor: 28 };

/// What the static program may be at most, stripped: 12 MB.
const STATIC_BYTES_MAX: u64 = 12_000_000;

/// What is made or checked.
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

/// Where the files of a release go, and nothing else.
fn directory() -> PathBuf {
    target_directory().join("dist")
}

/// Where what they are made of lies meanwhile.
fn work_directory() -> PathBuf {
    target_directory().join("dist-work")
}

/// The version of Plumb.
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Makes the files of a release, or checks them.
pub fn run(options: &Options) -> Result<()> {
    match options.task {
        Task::Make => make(options),
        Task::Check => check::all(&options.machines, &options.suite),
    }
}

fn make(options: &Options) -> Result<()> {
    tools::provide(&tools::for_machines(tools::TO_MAKE, &options.machines))?;
    let dir = directory();
    // Files of an earlier call are not of this release.
    if dir.exists() {
        std::fs::remove_dir_all(&dir)?;
    }
    std::fs::create_dir_all(&dir)?;
    let mut built = Vec::new();
    for machine in &options.machines {
        built.push(make_for(*machine, &dir)?);
    }
    let statics: Vec<(Machine, PathBuf)> = built.iter().map(|one| (one.machine, one.fixed.clone())).collect();
    image::write(&dir, &statics)?;
    sbom::write(&dir)?;
    release_note(&dir, &built)?;
    sums::write(&dir)?;
    println!("everything is in {}", dir.display());
    Ok(())
}

/// The programs of one machine.
struct Built {
    machine: Machine,
    fixed: PathBuf,
    glibc: glibc::Version,
}

fn make_for(machine: Machine, dir: &Path) -> Result<Built> {
    let fixed = compile::fixed(machine)?;
    let bytes = std::fs::metadata(&fixed)?.len();
    ensure!(bytes <= STATIC_BYTES_MAX, "{}: {bytes} bytes, more than {STATIC_BYTES_MAX}", fixed.display());
    println!("{}: static program, {:.1} MB", machine.name(), bytes as f64 / 1e6);
    let shared = compile::shared(machine, dir)?;
    let oldest = glibc::oldest(&std::fs::read(&shared)?)?;
    ensure!(oldest <= OLDEST_GLIBC, "{} needs glibc {oldest}; {OLDEST_GLIBC} is promised", shared.display());
    println!("{}: program for glibc {oldest} and later", machine.name());
    let stage = stage::make(machine, &fixed, &shared, oldest)?;
    packages::deb(machine, &stage, dir)?;
    packages::rpm(machine, &stage, dir)?;
    tarball::write(machine, &stage, &fixed, dir)?;
    Ok(Built { machine, fixed, glibc: oldest })
}

fn release_note(dir: &Path, built: &[Built]) -> Result<()> {
    let mut note = format!("# Plumb {}\n\n", version());
    note.push_str(
        "| file | runs on |\n|---|---|\n\
         | `.deb`, `.rpm`, `.whl` | Linux with glibc, see below |\n\
         | `-static.tar.gz`, `-oci.tar` | any Linux 5.10 or later; without MPI, see README in the archive |\n\
         | `.cdx.json` | what is inside (CycloneDX) |\n\n\
         Oldest glibc, measured from the symbol versions of the program:\n\n",
    );
    for one in built {
        note.push_str(&format!("- {}: {}\n", one.machine.name(), one.glibc));
    }
    note.push_str("\n`sha256sum -c SHA256SUMS` checks the files.\n");
    std::fs::write(dir.join("RELEASE.md"), note)?;
    Ok(())
}
