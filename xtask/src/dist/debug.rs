//! Debug information in a separate file: gdb, perf and debuginfod find it by the program's build id.

use super::work_directory;
use crate::tools::run;
use anyhow::{Context, Result, ensure};
use object::Object;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A shipped program and its separated debug information.
pub(super) struct Split {
    /// With symbols, but without line tables.
    pub program: PathBuf,
    /// Line tables and build id, for debuggers.
    pub debug: PathBuf,
    /// Build id of both, in hexadecimal digits.
    pub build_id: String,
}

impl Split {
    /// Returns the file name of the program.
    pub(super) fn name(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the install path of the debug information. Source: "Debugging Information in Separate Files", GDB
    /// manual.
    pub(super) fn installed_debug(&self) -> String {
        let (folder, name) = self.build_id.split_at(2);
        format!("usr/lib/debug/.build-id/{folder}/{name}.debug")
    }
}

/// Splits a program. `name` is the file name of the debug information, which the program refers to.
///
/// # Errors
///
/// The program has no build id or no debug information, or llvm-objcopy fails.
pub(super) fn split(program: &Path, name: &str) -> Result<Split> {
    let dir = work_directory().join(format!("split-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir)?;
    let file_name = program.file_name().with_context(|| program.display().to_string())?;
    let split = Split { program: dir.join(file_name), debug: dir.join(name), build_id: build_id(program)? };
    let objcopy = |options: &[&str], from: &Path, to: &Path| {
        run(Command::new("llvm-objcopy").current_dir(&dir).args(options).arg(from).arg(to))
    };
    objcopy(&["--only-keep-debug", "--compress-debug-sections"], program, &split.debug)?;
    objcopy(&["--strip-debug", &format!("--add-gnu-debuglink={name}")], program, &split.program)?;
    check(&split)?;
    Ok(split)
}

fn build_id(program: &Path) -> Result<String> {
    let bytes = std::fs::read(program).with_context(|| program.display().to_string())?;
    let file = object::File::parse(&*bytes)?;
    let id = file.build_id()?.with_context(|| format!("{} has no build id", program.display()))?;
    ensure!(id.len() >= 8, "{}: a build id of {} bytes", program.display(), id.len());
    Ok(id.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Checks that backtraces of the program contain function names, and that its debug information has their lines.
fn check(split: &Split) -> Result<()> {
    let bytes = std::fs::read(&split.program)?;
    let program = object::File::parse(&*bytes)?;
    ensure!(program.section_by_name(".symtab").is_some(), "{} has no symbols", split.program.display());
    ensure!(program.section_by_name(".debug_line").is_none(), "{} has line tables", split.program.display());
    let bytes = std::fs::read(&split.debug)?;
    let debug = object::File::parse(&*bytes)?;
    ensure!(debug.section_by_name(".debug_line").is_some(), "{} has no line tables", split.debug.display());
    ensure!(build_id(&split.debug)? == split.build_id, "{} has another build id", split.debug.display());
    Ok(())
}
