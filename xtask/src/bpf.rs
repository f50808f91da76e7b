//! The kernel programs of `plumb trace record`. Their sources are in C, and their objects are checked in, so that
//! building Plumb needs no clang. The same sources and the same clang give the same bytes in any directory.

use crate::tools::{run, workspace};
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources to compile, each into one object.
const PROGRAMS: [&str; 2] = ["blocks.bpf", "calls.bpf"];

/// All files that determine the objects.
const SOURCES: [&str; 4] = ["blocks.bpf.c", "calls.bpf.c", "kernel.h", "record.h"];

/// Lists the compiler and the checksums of sources and objects.
const LIST: &str = "objects.list";

/// Packages of the required programs.
const NEEDS: &str = "apt-get install clang llvm, on the Debian whose clang is named there";

fn directory() -> PathBuf {
    workspace().join("crates/trace/bpf")
}

/// Compiles the objects into the tree, and lists them.
pub fn build() -> Result<()> {
    let directory = directory();
    compile(&directory)?;
    fs::write(directory.join(LIST), list(&directory, &compiler()?)?)?;
    println!("{}: {}", directory.display(), PROGRAMS.map(|program| format!("{program}.o")).join(", "));
    Ok(())
}

/// Compiles the objects elsewhere, and compares them.
pub fn check() -> Result<()> {
    let (known, here) = (directory(), tempfile::tempdir()?);
    for source in SOURCES {
        fs::copy(known.join(source), here.path().join(source))?;
    }
    let listed = fs::read_to_string(known.join(LIST))?;
    let listed = listed.lines().find_map(|line| line.strip_prefix("compiler ")).unwrap_or("unknown");
    let compiler = compiler()?;
    compile(here.path())?;
    for program in PROGRAMS {
        let object = format!("{program}.o");
        if fs::read(known.join(&object))? != fs::read(here.path().join(&object))? {
            bail!(
                "{object} differs from what its sources make.\nIt was compiled by {listed}; here is {compiler}.\n\
                 If sources have changed, run `cargo xtask bpf` ({NEEDS})"
            );
        }
    }
    println!("{} objects are what {compiler} makes of their sources", PROGRAMS.len());
    Ok(())
}

fn compiler() -> Result<String> {
    let output =
        Command::new("clang").arg("--version").output().with_context(|| format!("cannot run clang: {NEEDS}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned())
}

/// Compiles in a directory, whose path does not appear in the objects. Types (BTF) are kept, and sections for debuggers
/// are removed.
fn compile(directory: &Path) -> Result<()> {
    for program in PROGRAMS {
        let (source, object) = (format!("{program}.c"), format!("{program}.o"));
        let mut clang = Command::new("clang");
        clang.current_dir(directory).args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
        clang.arg(format!("-ffile-prefix-map={}=.", directory.display())).arg("-fdebug-compilation-dir=.");
        run(clang.args(["-c", &source, "-o", &object])).with_context(|| format!("needed: {NEEDS}"))?;
        run(Command::new("llvm-strip").current_dir(directory).args(["-g", &object]))
            .with_context(|| format!("needed: {NEEDS}"))?;
    }
    Ok(())
}

/// Returns the list for these sources and objects.
fn list(directory: &Path, compiler: &str) -> Result<String> {
    let mut list = format!("compiler {compiler}\n");
    let objects = PROGRAMS.map(|program| format!("{program}.o"));
    for name in SOURCES.iter().copied().chain(objects.iter().map(String::as_str)) {
        let sum = Sha256::digest(fs::read(directory.join(name)).with_context(|| name.to_owned())?);
        let sum = sum.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        writeln!(list, "{sum}  {name}")?;
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without clang, the checksums still show that a source was changed and not compiled.
    #[test]
    fn objects_are_of_these_sources() {
        let listed = fs::read_to_string(directory().join(LIST)).unwrap();
        let compiler = listed.lines().next().and_then(|line| line.strip_prefix("compiler ")).unwrap();
        assert_eq!(list(&directory(), compiler).unwrap(), listed, "run `cargo xtask bpf`");
    }

    /// A header that is not in the list could change objects unnoticed.
    #[test]
    fn all_files_in_the_directory_are_known() {
        let mut found: Vec<String> = fs::read_dir(directory())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".c") || name.ends_with(".h"))
            .collect();
        found.sort();
        assert_eq!(found, SOURCES);
    }
}
