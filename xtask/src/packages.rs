//! The Debian packages that tests and benchmarks use.

use crate::tools::run;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A package and its purpose. Fidelity and speed are measured against the peers.
struct Package {
    name: &'static str,
    purpose: &'static str,
}

const PACKAGES: &[Package] = &[
    Package { name: "fio", purpose: "peer" },
    Package { name: "bonnie++", purpose: "peer" },
    Package { name: "postmark", purpose: "peer" },
    Package { name: "iperf", purpose: "peer" },
    Package { name: "iperf3", purpose: "peer" },
    Package { name: "sysbench", purpose: "peer" },
    Package { name: "fsmark", purpose: "peer" },
    Package { name: "dbench", purpose: "peer" },
    Package { name: "sysstat", purpose: "peer" },
    Package { name: "iozone3", purpose: "peer, from non-free" },
    Package { name: "netperf", purpose: "peer, from non-free" },
    Package { name: "e2fsprogs", purpose: "file systems under test" },
    Package { name: "xfsprogs", purpose: "file systems under test" },
    Package { name: "btrfs-progs", purpose: "file systems under test" },
    Package { name: "f2fs-tools", purpose: "file systems under test" },
    Package { name: "bindfs", purpose: "FUSE file systems under test" },
    Package { name: "fdisk", purpose: "partitions under test" },
    Package { name: "mdadm", purpose: "arrays under test" },
    Package { name: "lvm2", purpose: "volumes under test" },
    Package { name: "dmsetup", purpose: "mapped devices under test" },
    Package { name: "thin-provisioning-tools", purpose: "volumes under test" },
    Package { name: "qemu-system-x86", purpose: "virtual machines" },
    Package { name: "qemu-utils", purpose: "images of virtual machines under test" },
    Package { name: "openssh-client", purpose: "remote hosts under test" },
    Package { name: "openssh-server", purpose: "remote hosts under test" },
    Package { name: "iproute2", purpose: "links that tests cut" },
    Package { name: "cpio", purpose: "images of virtual machines under test" },
    Package { name: "openmpi-bin", purpose: "launcher of ranks" },
    Package { name: "mpich", purpose: "launcher of ranks" },
    Package { name: "slurmctld", purpose: "a cluster's scheduler under test" },
    Package { name: "slurmd", purpose: "a cluster's scheduler under test" },
    Package { name: "slurm-client", purpose: "a cluster's scheduler under test" },
    Package { name: "munge", purpose: "a cluster's scheduler under test" },
    Package { name: "openssl", purpose: "another maker and reader of keys" },
    Package { name: "procps", purpose: "kill, by which tests send signals" },
    Package { name: "perl", purpose: "prove, which reads conformance reports" },
    Package { name: "chromium", purpose: "pages of plumb serve under test" },
    Package { name: "zsh", purpose: "completions under test" },
    Package { name: "fish", purpose: "completions under test" },
    Package { name: "groff", purpose: "manual page under test" },
    Package { name: "valgrind", purpose: "instructions per op" },
    Package { name: "strace", purpose: "system calls of backends, compared with fio's" },
    Package { name: "musl-tools", purpose: "static build" },
    Package { name: "mmdebstrap", purpose: "a clean Debian, in which the package is installed" },
    Package { name: "rpm", purpose: "RPM under test" },
    Package { name: "postgresql", purpose: "the database that a team shares" },
    Package { name: "python3-openpyxl", purpose: "another reader of workbooks" },
    Package { name: "python3-pandas", purpose: "the notebook of examples/" },
    Package { name: "r-base-core", purpose: "the script of examples/" },
    Package { name: "ansible-core", purpose: "the inventory of examples/, the collection of packaging/" },
    Package { name: "jq", purpose: "the inventory of examples/" },
    Package { name: "minisign", purpose: "another maker and reader of bundles' signatures" },
    Package { name: "docker-compose", purpose: "the services of examples/" },
    Package { name: "kubernetes-client", purpose: "the jobs of examples/" },
    Package { name: "python3-yaml", purpose: "the recipes of examples/" },
];

/// Programs that also exist in third-party packages, which conflict with Debian's.
const ALSO_ELSEWHERE: [(&str, &str); 2] = [("kubernetes-client", "kubectl"), ("docker-compose", "docker-compose")];

/// Prints the missing packages of the tests, and the command that installs them.
pub fn report() {
    let Some(missing) = missing(PACKAGES) else {
        eprintln!("no dpkg here: the tests look for their tools themselves; they are {}", names(PACKAGES.iter()));
        return;
    };
    if missing.is_empty() {
        return;
    }
    eprintln!("missing packages; tests that need them are skipped, and fail under CI:");
    for package in &missing {
        eprintln!("  {:12} {}", package.name, package.purpose);
    }
    eprintln!(
        "as root, `cargo xtask test --install` installs them, or: apt-get install {}",
        names(missing.into_iter())
    );
}

/// Installs the missing packages of the tests.
///
/// # Errors
///
/// The user is not root, apt is missing, or apt fails. A package that the archive lacks is reported and skipped: tests
/// that need it are skipped, and fail under CI.
pub fn provide() -> Result<()> {
    provide_some(PACKAGES)
}

/// Installs the C compiler for static programs, if it is missing.
///
/// # Errors
/// As [`provide`].
pub fn provide_for_static_build() -> Result<()> {
    let is_for_it = |package: &&Package| package.name == "musl-tools";
    provide_some(PACKAGES.iter().filter(is_for_it))
}

fn provide_some(packages: impl IntoIterator<Item = &'static Package>) -> Result<()> {
    let Some(missing) = missing(packages) else { bail!("--install uses Debian's packages, and there is no dpkg here") };
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() {
        bail!("--install needs root to install {}", names(missing.into_iter()));
    }
    println!("installing {} Debian packages, which tests and benchmarks use:", missing.len());
    for package in &missing {
        println!("  {:24} {}", package.name, package.purpose);
    }
    add_non_free(Path::new("/etc/apt")).context("adding the non-free component to the package sources")?;
    apt(&["update", "--quiet"])?;
    let all: Vec<&str> = missing.iter().map(|package| package.name).collect();
    for line in sizes(&all) {
        println!("  {line}");
    }
    if install(&all).is_ok() {
        return Ok(());
    }
    // A package that the archive lacks must not prevent the installation of the others.
    for package in missing {
        if let Err(error) = install(&[package.name]) {
            eprintln!("not installed: {} ({}): {error:#}", package.name, package.purpose);
        }
    }
    Ok(())
}

/// Installs Debian packages by apt-get.
pub fn install(packages: &[&str]) -> Result<()> {
    let options = ["install", "--yes", "--quiet", "--no-install-recommends"];
    apt(&options.into_iter().chain(packages.iter().copied()).collect::<Vec<_>>())
}

/// Runs apt-get without prompts.
pub fn apt(arguments: &[&str]) -> Result<()> {
    run(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive").stdout(Stdio::null()))
}

/// Returns the lines in which apt states how many packages an installation adds, and how much it downloads and needs.
/// Empty if apt fails: the installation itself then prints the reason.
fn sizes(packages: &[&str]) -> Vec<String> {
    let options = ["install", "--assume-no", "--no-install-recommends"];
    let output = Command::new("apt-get").args(options).args(packages).env("LC_ALL", "C").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    lines_of_sizes(&text).map(str::to_owned).collect()
}

fn lines_of_sizes(text: &str) -> impl Iterator<Item = &str> {
    let says_how_much = |line: &&str| {
        line.contains(" newly installed")
            || line.starts_with("Need to get ")
            || line.starts_with("After this operation")
    };
    text.lines().filter(says_how_much)
}

fn names<'a>(packages: impl Iterator<Item = &'a Package>) -> String {
    packages.map(|package| package.name).collect::<Vec<_>>().join(" ")
}

/// Whether this process is root.
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Whether a directory of PATH has the program.
pub fn is_on_path(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(program).is_file()))
}

/// Returns the packages that are not installed; `None` without dpkg.
fn missing(packages: impl IntoIterator<Item = &'static Package>) -> Option<Vec<&'static Package>> {
    let installed = |package: &Package| {
        let output =
            Command::new("dpkg-query").args(["--show", "--showformat=${db:Status-Status}", package.name]).output();
        output.map(|output| output.stdout == b"installed")
    };
    let mut missing = Vec::new();
    for package in packages {
        let elsewhere = ALSO_ELSEWHERE.iter().find(|(name, _)| *name == package.name);
        match installed(package) {
            Err(_) => return None,
            Ok(true) => {}
            Ok(false) if elsewhere.is_some_and(|(_, program)| is_on_path(program)) => {}
            Ok(false) => missing.push(package),
        }
    }
    Some(missing)
}

/// Adds `non-free` next to `main` in Debian's existing sources, in both of apt's formats. Third-party sources are left
/// alone: they have no such component.
fn add_non_free(apt: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> = vec![apt.join("sources.list")];
    if let Ok(folder) = std::fs::read_dir(apt.join("sources.list.d")) {
        files.extend(folder.flatten().map(|entry| entry.path()));
    }
    for file in files {
        let is_source = file.extension().is_some_and(|extension| extension == "list" || extension == "sources");
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let changed = with_non_free(&text);
        if is_source && changed != text {
            println!("  adding the component non-free to {}, for iozone3 and netperf", file.display());
            std::fs::write(&file, changed).with_context(|| format!("writing {}", file.display()))?;
        }
    }
    Ok(())
}

fn with_non_free(sources: &str) -> String {
    // An empty line ends a stanza of the newer format; in the older one, each line is a source.
    let stanzas = sources.split("\n\n").map(|stanza| {
        let of_debian = stanza.lines().any(|line| line.starts_with("URIs:") && line.contains("debian"));
        let lines = stanza.lines().map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let names_components = (line.starts_with("Components:") && of_debian)
                || (line.starts_with("deb ")
                    && words.iter().any(|word| word.contains("://") && word.contains("debian")));
            if names_components && words.contains(&"main") && !words.contains(&"non-free") {
                format!("{line} non-free")
            } else {
                line.to_owned()
            }
        });
        lines.collect::<Vec<_>>().join("\n")
    });
    let mut text = stanzas.collect::<Vec<_>>().join("\n\n");
    if sources.ends_with('\n') && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{lines_of_sizes, with_non_free};

    // Protects: the size of an installation is printed before it begins.
    #[test]
    fn sizes_are_read_from_apts_words() {
        let text = "Reading package lists...\nThe following NEW packages will be installed:\n  fio\n0 upgraded, 1 newly installed, 0 to remove and 3 \
                    not upgraded.\nNeed to get 581 kB of archives.\nAfter this operation, 2107 kB of additional disk space will be used.\n\
                    Do you want to continue? [Y/n] N\nAbort.\n";
        let lines: Vec<&str> = lines_of_sizes(text).collect();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].contains("581 kB") && lines[2].contains("2107 kB"), "{lines:?}");
    }

    #[test]
    fn both_formats_of_sources_gain_non_free_once() {
        let deb822 = "Types: deb\nURIs: http://mirror/debian\nComponents: main\n";
        assert_eq!(with_non_free(deb822), deb822.replace("main", "main non-free"));
        let one_line = "# main\ndeb http://mirror/debian bookworm main\n";
        assert_eq!(with_non_free(one_line), "# main\ndeb http://mirror/debian bookworm main non-free\n");
        assert_eq!(with_non_free(&with_non_free(one_line)), with_non_free(one_line));
    }

    #[test]
    fn other_peoples_sources_are_left_alone() {
        let other = "Types: deb\nURIs: https://packages.example.org/node\nComponents: main\n";
        let debian = "Types: deb\nURIs: http://mirror/debian\nComponents: main\n";
        let both = format!("{debian}\n{other}");
        assert_eq!(with_non_free(&both), format!("{}\n{other}", debian.replace("main", "main non-free")));
        let line = "deb https://packages.example.org/apt tools main\n";
        assert_eq!(with_non_free(line), line);
    }
}
