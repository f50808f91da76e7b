//! Development tasks: `cargo xtask check CRATE | test | bench NAME | calibrate | aa | musl | dist | ior DIR | posix | schema | bpf`.
//!
//! Tasks that use Plumb's own crates are the program `xtask-measure`, so that tests and builds start without compiling those
//! crates for this program.

use anyhow::{Result, bail};
use std::os::unix::process::CommandExt;
use std::process::Command;
use xtask::suites::{self, Tier};
use xtask::tools::{cargo, run, target_directory, workspace};
use xtask::{bpf, dist, fast, kernels, packages, panics, python, rebuild_share};

const USAGE: &str = "\
cargo xtask check CRATE [FILTER…]
                           format, lints and fast tests of one crate, named as its folder or package (engine,
                           plumb-engine); FILTERs are parts of test names
cargo xtask test --fast    fast tests of all crates: without root, other tools and virtual machines; the last lines say
                           what was left out
cargo xtask test [ARGS…]   run the tests, and print first which packages and kernels they lack; ARGS go to `cargo
                           test`. Options, in front of ARGS: --install installs what is missing (Debian, as root);
                           --lab also runs the lab tier, which boots virtual machines and takes minutes longer; without
                           it, the last lines name the tests left out
cargo xtask bench NAME     time Plumb and its peers alternately and print ratios; NAME is `classic` (all that is promised
                           against fio's hot loops, dd, IOzone, Bonnie++, PostMark, sysbench, fs_mark and dbench),
                           `engine` (the hot loops, and instructions of an op), `fio` (fio's command lines in both),
                           `fidelity` (whether both measure the same), `flows` (file sets against bare calls), `trees`
                           (mdtest and IOR), `filebench` (varmail, fileserver and webserver), `start` (commands that
                           hardly do anything), `scaling` (jobs and depth, with fio's), `agents` (what 1 to 1,000
                           hosts cost the one that leads; --only 1000), or `team` (a PostgreSQL
                           database with a million runs: pushes and queries; --only push leaves the queries out); --rounds N; --binary FILE
                           instead of a build with the profile `dist`; --peers DIR: programs of the other tools, or
                           fio's source with t/io_uring built; --only TEXT: cases whose names contain TEXT, not in
                           `flows`
cargo xtask calibrate      how often Plumb is right and wrong on simulated devices, against its bars;
                           --scale small|full, --seed N, --only SCENARIO, --tell N (explain N trials)
cargo xtask aa             how often Plumb claims a difference between equals on real file systems (as root; 100
                           comparisons and 60 studies, about 90 minutes; goes on where it was interrupted);
                           --comparisons N, --studies N, --gates N, --seed N, --binary FILE, --work DIR
                           [target/aa]
cargo xtask aa gate        the same of gates: how often one of equals on ext4 and tmpfs answers `regression` (200
                           gates of at most 20 s, about an hour)
cargo xtask aa power       how often gates on simulated devices find a regression, answer falsely, and decide in the
                           time that they ask for; --trials N [200], --only TEXT, --binary FILE; with --real as root:
                           on tmpfs, an overlay and ext4 (40 gates of each)
cargo xtask musl           build the static binary; --install installs Debian's musl-tools first (as root)
cargo xtask dist           make the files of a release in target/release-files: .deb, .rpm, wheel, static tarball, image,
                           SBOM, sums; --machine x86-64|aarch64 for one machine; --check installs and runs what
                           was made (as root; --suite NAME: in that Debian)
cargo xtask ior DIR        run the test scripts of a fetched and built IOR (DIR) with Plumb in its place, and compare
                           random command lines of IOR and mdtest in both; --mpi openmpi|mpich [openmpi], of which
                           DIR is built with the same; --mixes N [40], --seed N, --binary FILE
cargo xtask posix          run `plumb posix` on ext2, ext3, ext4, xfs, btrfs, tmpfs, overlay, bindfs, fuse-overlayfs and
                           ntfs-3g, made for it (as root), and compare with what is known to fail there, and with
                           what pjdfstest found; --only KIND,…, --binary FILE, --reports DIRECTORY
cargo xtask traps          make set-ups that mislead a benchmark on this machine (as root), run Plumb in each, and print
                           what it was to say and said; then clean set-ups, of which it must say nothing (15 minutes);
                           --only TEXT, --list, --tries N [3] where others disturb a clean set-up, --binary FILE,
                           --work DIR [target/traps]
cargo xtask rebuild-share  print, for each crate, its lines and the share of all lines that cargo compiles again
                           after a change in it
cargo xtask schema         write the JSON Schemas that `plumb schema` prints, from the types, and the dataclasses of the Python
                           package from the schemas
cargo xtask bpf            compile the kernel's programs of `plumb trace record` (crates/trace/bpf) with Debian's clang;
                           --check compares the result with the objects there instead, byte by byte";

/// Tasks of `xtask-measure`.
const MEASURING: [&str; 7] = ["bench", "calibrate", "aa", "ior", "posix", "traps", "schema"];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["check", name, filters @ ..] => fast::check(name, filters),
        ["test", "--fast"] => fast::run(&fast::Selection { folder: None, filters: &[] }),
        ["test", "--fast", rest @ ..] => bail!(
            "unexpected after --fast: {}; `cargo xtask check CRATE FILTER` runs single tests, `cargo xtask test` all",
            rest.join(" ")
        ),
        ["test", rest @ ..] => test(rest),
        ["rebuild-share"] => rebuild_share::print(),
        ["musl"] => musl(),
        ["musl", "--install"] => packages::provide_for_static_build().and_then(|()| musl()),
        ["dist", rest @ ..] => dist::run(&dist::Options::parse(rest)?),
        ["bpf"] => bpf::build(),
        ["bpf", "--check"] => bpf::check(),
        [task, ..] if MEASURING.contains(task) => Err(become_measuring(&arguments)),
        _ => bail!("usage:\n{USAGE}"),
    }
}

/// Replaces this process by `xtask-measure` in the same working directory, to which paths in the arguments are
/// relative. Returns only on failure.
fn become_measuring(arguments: &[&str]) -> anyhow::Error {
    let mut command = cargo();
    command.current_dir(".").args(["run", "--quiet", "--locked", "--package", "xtask-measure", "--manifest-path"]);
    let error = command.arg(workspace().join("Cargo.toml")).arg("--").args(arguments).exec();
    anyhow::Error::from(error).context("cannot start cargo")
}

fn test(arguments: &[&str]) -> Result<()> {
    let (mut arguments, mut tier, mut installs) = (arguments, Tier::Usual, false);
    loop {
        arguments = match arguments {
            ["--install", rest @ ..] => {
                installs = true;
                rest
            }
            ["--lab", rest @ ..] => {
                tier = Tier::Lab;
                rest
            }
            _ => break,
        };
    }
    if installs {
        packages::provide()?;
        // Tests that need it are skipped without it, and fail under CI.
        if let Err(error) = python::provide() {
            eprintln!("not installed: the packages for tests of the Python package: {error:#}");
        }
    } else {
        packages::report();
        python::report();
    }
    if tier == Tier::Lab {
        if installs {
            kernels::provide();
        } else {
            kernels::report();
        }
    }
    let environment = suites::environment(tier);
    if arguments.is_empty() {
        return suites::run(tier, &environment);
    }
    // A failure must not hide another one in a later crate.
    let mut tests = cargo();
    tests.envs(environment).args(["test", "--workspace", "--locked", "--no-fail-fast"]).args(arguments);
    if tier == Tier::Lab {
        let has_separator = arguments.contains(&"--");
        tests.args((!has_separator).then_some("--")).arg("--include-ignored");
    }
    run(&mut tests)
}

/// Builds the binary that runs on any Linux. SQLite is C, so a compiler for musl is needed: Debian's musl-tools.
fn musl() -> Result<()> {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    if !packages::is_on_path("musl-gcc") {
        bail!("needs musl-gcc; as root, `cargo xtask musl --install` installs it, or: apt-get install musl-tools");
    }
    run(Command::new("rustup").args(["target", "add", TARGET]).current_dir(workspace()))?;
    run(cargo().args(["build", "--release", "--locked", "--package", dist::PACKAGE, "--target", TARGET]))?;
    let binary = target_directory().join(TARGET).join("release/plumb");
    run(Command::new(&binary).arg("--version"))?;
    panics::check(&binary)?;
    let bytes = std::fs::metadata(&binary)?.len();
    println!("static build: {:.1} MiB", bytes as f64 / 1_048_576.0);
    Ok(())
}
