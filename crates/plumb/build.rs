//! Packs the JSON Schemas that `plumb schema` prints, and asks the linker for a small program, as far as it can.

use lzma_rust2::{XzOptions, XzWriter};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR")?);
    pack_schemas(&out)?;
    // Readable builds keep all that perf and gdb use; the others have no debug information.
    if variable("PROFILE")? == "release" && variable("DEBUG")? == "false" {
        Linker::new(&out)?.link_small()?;
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, Box<dyn Error>> {
    env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// All in one, since they say much the same; as text they would be a tenth of the program. Each one's name, and where it
/// begins and ends in the text, is beside it.
fn pack_schemas(out: &Path) -> Outcome {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    println!("cargo::rerun-if-changed={}", schemas.display());
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&schemas)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let (mut text, mut places) = (Vec::new(), String::from("&[\n"));
    for path in &paths {
        let Some(name) = path.file_stem() else { continue };
        let start = text.len();
        text.extend(fs::read(path)?);
        places.push_str(&format!("    ({:?}, {start}..{}),\n", name.to_string_lossy(), text.len()));
    }
    places.push_str("]\n");
    let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
    packed.write_all(&text)?;
    fs::write(out.join("schemas.xz"), packed.finish()?)?;
    fs::write(out.join("schemas.rs"), places)?;
    Ok(())
}

/// The linker, which differs from machine to machine. What it can do is found out with a program that does next to nothing.
struct Linker {
    rustc: String,
    host: String,
    target: String,
    out: PathBuf,
    /// What it is given.
    arguments: Vec<String>,
}

impl Linker {
    fn new(out: &Path) -> Result<Linker, Box<dyn Error>> {
        fs::write(out.join("trial.rs"), "fn main() { println!(\"{}\", std::env::args().count()); }\n")?;
        Ok(Linker {
            rustc: variable("RUSTC")?,
            host: variable("HOST")?,
            target: variable("TARGET")?,
            out: out.to_owned(),
            arguments: Vec::new(),
        })
    }

    fn link_small(mut self) -> Outcome {
        if !self.target.contains("-linux-") {
            return Ok(());
        }
        // LLD folds functions of the same code into one. For static programs rustc calls the system's linker; LLD comes
        // with it all the same.
        let fold = "-Wl,--icf=all".to_owned();
        if !self.take(vec![fold.clone()]) {
            let lld = self.sysroot()?.join("lib/rustlib").join(&self.host).join("bin/gcc-ld");
            self.take(vec![format!("-B{}", lld.display()), "-fuse-ld=lld".to_owned(), fold]);
        }
        // Addresses to relocate as a bit map: 40 KB where the list has 900. The C library must know of it: glibc from
        // 2.36 on, and musl from 1.2.4.
        self.take(vec!["-Wl,-z,pack-relative-relocs".to_owned()]);
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

    /// Gives it these as well, if the trial links, and starts where it can be started.
    fn take(&mut self, arguments: Vec<String>) -> bool {
        let before = self.arguments.len();
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

    /// What was built for another machine is taken to start.
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
