//! Packs the JSON Schemas that `plumb schema` prints, and asks the linker for a small program, as far as it can.

#![allow(clippy::disallowed_methods)] // writes into the build directory

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR")?);
    plumb_packed::pack(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas"), "json", "schemas")?;
    // Readable builds keep all that perf and gdb use; the others have no debug information.
    if variable("PROFILE")? == "release" && variable("DEBUG")? == "false" {
        Linker::new(&out)?.link_small()?;
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, Box<dyn Error>> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// The linker, which differs from machine to machine. What it can do is found out with a program that does next to nothing.
struct Linker {
    rustc: String,
    host: String,
    target: String,
    out: PathBuf,
    /// Whether it is LLD itself, and not a compiler that passes arguments on (`-Wl,`).
    is_bare: bool,
    /// What it is given.
    arguments: Vec<String>,
}

/// The variable with the oldest glibc that the program has to run with, such as `2.28`; `cargo xtask dist` sets it. Unset: the
/// glibc of the machine that builds.
const OLDEST_GLIBC: &str = "PLUMB_OLDEST_GLIBC";

/// The first glibc that reads packed relative relocations.
const PACKED_RELOCATIONS: [u32; 2] = [2, 36];

impl Linker {
    fn new(out: &Path) -> Result<Linker, Box<dyn Error>> {
        fs::write(out.join("trial.rs"), "fn main() { println!(\"{}\", std::env::args().count()); }\n")?;
        Ok(Linker {
            rustc: variable("RUSTC")?,
            host: variable("HOST")?,
            target: variable("TARGET")?,
            out: out.to_owned(),
            is_bare: env::var("RUSTC_LINKER").is_ok_and(|linker| linker.ends_with("lld")),
            arguments: Vec::new(),
        })
    }

    fn link_small(mut self) -> Outcome {
        if !self.target.contains("-linux-") {
            return Ok(());
        }
        // LLD folds functions with the same code into one. For static programs rustc calls the system's linker; LLD is part of
        // the toolchain all the same.
        let fold = "-Wl,--icf=all".to_owned();
        if !self.take(vec![fold.clone()]) {
            let lld = self.sysroot()?.join("lib/rustlib").join(&self.host).join("bin/gcc-ld");
            self.take(vec![format!("-B{}", lld.display()), "-fuse-ld=lld".to_owned(), fold]);
        }
        // Addresses to relocate as a bit map: 40 KB instead of 900 for the list. The C library must support it: glibc does
        // since 2.36, musl since 1.2.4.
        if self.reads_packed_relocations()? {
            self.take(vec!["-Wl,-z,pack-relative-relocs".to_owned()]);
        }
        // Nothing unwinds in a release (`panic = "abort"`), but compilers write the tables for it: an eighth of the program.
        let script = self.out.join("no-unwinding.ld");
        fs::write(
            &script,
            "SECTIONS { /DISCARD/ : { *(.eh_frame .eh_frame_hdr .gcc_except_table .gcc_except_table.*) } }\nINSERT AFTER .comment;\n",
        )?;
        self.take(vec![format!("-Wl,-T,{}", script.display())]);
        for argument in &self.arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
        Ok(())
    }

    /// Whether every C library that the program has to run with reads packed relative relocations.
    fn reads_packed_relocations(&self) -> Result<bool, Box<dyn Error>> {
        println!("cargo::rerun-if-env-changed={OLDEST_GLIBC}");
        match env::var(OLDEST_GLIBC) {
            Ok(oldest) if self.target.ends_with("-gnu") => {
                let numbers: Result<Vec<u32>, _> = oldest.split('.').map(str::parse).collect();
                let numbers = numbers.map_err(|error| format!("{OLDEST_GLIBC}={oldest}: {error}"))?;
                Ok(numbers.as_slice() >= PACKED_RELOCATIONS.as_slice())
            }
            _ => Ok(true),
        }
    }

    /// Passes these as well, if the trial program links, and starts where it can be started.
    fn take(&mut self, arguments: Vec<String>) -> bool {
        let before = self.arguments.len();
        let own = |argument: String| match argument.strip_prefix("-Wl,") {
            Some(words) if self.is_bare => words.split(',').map(str::to_owned).collect(),
            _ => vec![argument],
        };
        let arguments: Vec<String> = arguments.into_iter().flat_map(own).collect();
        self.arguments.extend(arguments);
        let works = self.links() && self.starts();
        if !works {
            self.arguments.truncate(before);
        }
        works
    }

    fn links(&self) -> bool {
        let mut rustc = Command::new(&self.rustc);
        rustc.current_dir(&self.out).args(["trial.rs", "--target", &self.target, "-Cpanic=abort"]);
        if let Ok(linker) = env::var("RUSTC_LINKER") {
            rustc.arg(format!("-Clinker={linker}"));
        }
        rustc.args(
            env::var("CARGO_ENCODED_RUSTFLAGS")
                .iter()
                .flat_map(|flags| flags.split('\x1f'))
                .filter(|flag| !flag.is_empty()),
        );
        rustc.args(self.arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
        rustc.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// A program for another machine is assumed to start.
    fn starts(&self) -> bool {
        let machine = |triple: &str| triple.split('-').next().map(str::to_owned);
        if machine(&self.host) != machine(&self.target) {
            return true;
        }
        Command::new(self.out.join("trial")).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn sysroot(&self) -> Result<PathBuf, Box<dyn Error>> {
        let said = Command::new(&self.rustc).args(["--print", "sysroot"]).output()?;
        Ok(PathBuf::from(String::from_utf8(said.stdout)?.trim_end()))
    }
}
