//! Runs `plumb posix` on ten file systems, created on loop devices, and compares with known
//! failures and with the results of pjdfstest.

use crate::mount::{LoopDevice, LoopMode};
use anyhow::{Context, Result, bail};
use plumb_posix::selects;
use plumb_result::{Conformance, PosixOutcome};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::tools::{Profile, plumb, run_quietly, target_directory};

/// Known failures by file system, and the results of pjdfstest, a line each; its header explains the format.
const KNOWN: &str = include_str!("posix.txt");

#[derive(Debug, Default)]
pub(crate) struct Options {
    /// An existing `plumb`; `None` builds one.
    binary: Option<PathBuf>,
    /// Kinds of file systems; empty for all.
    only: Vec<String>,
    /// Directory for the reports, if any.
    reports: Option<PathBuf>,
}

impl Options {
    /// Parses the words after `posix`.
    pub(crate) fn parse(mut words: &[&str]) -> Result<Options> {
        let mut options = Options::default();
        while let [option, rest @ ..] = words {
            let [value, behind @ ..] = rest else { bail!("`{option}` needs a value") };
            match *option {
                "--binary" => options.binary = Some(std::path::absolute(value)?),
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--reports" => options.reports = Some(std::path::absolute(value)?),
                _ => bail!("`{option}`: expected `--binary FILE`, `--only KIND,…` or `--reports DIRECTORY`"),
            }
            words = behind;
        }
        match options.only.iter().find(|only| !KINDS.contains(&only.as_str())) {
            Some(unknown) => bail!("`--only {unknown}`: expected some of {}", KINDS.join(", ")),
            None => Ok(options),
        }
    }
}

const KINDS: [&str; 10] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "bindfs", "fuse-overlayfs", "ntfs-3g"];

/// Bytes of an image.
const IMAGE: u64 = 1 << 30;

/// A mounted file system. When dropped, its mounts are undone in reverse order, then its device.
struct Place {
    path: PathBuf,
    mounted: Vec<PathBuf>,
    _device: Option<LoopDevice>,
}

impl Drop for Place {
    fn drop(&mut self) {
        for path in self.mounted.iter().rev() {
            // A FUSE server may still be exiting.
            for _ in 0..50 {
                if Command::new("umount").arg(path).output().is_ok_and(|output| output.status.success()) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    }
}

impl Place {
    fn new(folder: &Path, kind: &str) -> Result<Place> {
        let path = folder.join(kind);
        std::fs::create_dir_all(&path)?;
        let mut place = Place { path: path.clone(), mounted: Vec::new(), _device: None };
        let below = |name: &str| folder.join(format!("{kind}-{name}"));
        match kind {
            "tmpfs" => place.mount(Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&path), &path)?,
            "ntfs-3g" => {
                let device = place.device(&below("image"))?;
                run_quietly(Command::new("mkntfs").args(["-q", "-Q", "-F"]).arg(&device))?;
                place.mount(Command::new("ntfs-3g").args(["-o", "permissions,acl"]).arg(&device).arg(&path), &path)?;
            }
            "overlay" | "bindfs" | "fuse-overlayfs" => {
                let base = below("base");
                std::fs::create_dir_all(&base)?;
                place.on_device("ext4", &below("image"), &base)?;
                let [lower, upper, work] = ["lower", "upper", "work"].map(|name| base.join(name));
                for directory in [&lower, &upper, &work] {
                    std::fs::create_dir(directory)?;
                }
                let layers =
                    format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
                let mut command = Command::new(if kind == "overlay" { "mount" } else { kind });
                match kind {
                    "overlay" => command.args(["-t", "overlay", "-o", &layers, "overlay"]),
                    "bindfs" => command.arg(&upper),
                    _ => command.args(["-o", &layers]),
                };
                place.mount(command.arg(&path), &path)?;
            }
            kind => place.on_device(kind, &below("image"), &path)?,
        }
        Ok(place)
    }

    fn device(&mut self, image: &Path) -> Result<String> {
        std::fs::File::create(image)?.set_len(IMAGE)?;
        let device = LoopDevice::attach(image, LoopMode::Cached).context("no loop device: this needs root")?;
        let node = device.node().to_owned();
        self._device = Some(device);
        Ok(node)
    }

    fn on_device(&mut self, kind: &str, image: &Path, at: &Path) -> Result<()> {
        let device = self.device(image)?;
        let force = if kind.starts_with("ext") { "-F" } else { "-f" };
        run_quietly(Command::new(format!("mkfs.{kind}")).args(["-q", force]).arg(&device))?;
        self.mount(Command::new("mount").args(["-t", kind]).arg(&device).arg(at), at)
    }

    fn mount(&mut self, command: &mut Command, at: &Path) -> Result<()> {
        run_quietly(command)?;
        self.mounted.push(at.to_owned());
        Ok(())
    }
}

/// Known results for a kind.
struct Known<'a> {
    /// Patterns of cases that fail.
    cases: Vec<&'a str>,
    /// Patterns of cases that may fail or pass.
    sometimes: Vec<&'a str>,
    /// Failing files of pjdfstest, with the number of failed assertions.
    pjdfstest: Vec<(&'a str, u32)>,
    /// Files that fail for another reason, which no case tests.
    explained: Vec<&'a str>,
}

fn known(kind: &str) -> Known<'static> {
    let mut known = Known { cases: Vec::new(), sometimes: Vec::new(), pjdfstest: Vec::new(), explained: Vec::new() };
    for line in KNOWN.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["case", of, pattern] if *of == kind => known.cases.push(pattern),
            ["sometimes", of, pattern] if *of == kind => known.sometimes.push(pattern),
            ["pjdfstest", of, file, count] if *of == kind => known.pjdfstest.push((file, count.parse().unwrap_or(0))),
            ["explained", of, file, _] if *of == kind => known.explained.push(file),
            _ => {}
        }
    }
    known
}

/// Result of a run, compared with the known failures.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compared {
    failing: usize,
    /// Failing cases that are not known.
    new: Vec<String>,
    /// Patterns of known failures that now pass.
    gone: Vec<String>,
    /// Failed assertions of pjdfstest with a failing case, with an explanation, and with neither, and their files.
    found: u32,
    explained: u32,
    missed: Vec<String>,
}

fn compared(report: &Conformance, known: &Known<'_>) -> Compared {
    let fails = |outcome: PosixOutcome| outcome.is_failure() || outcome == PosixOutcome::Blocked;
    let failing: Vec<&str> =
        report.cases.iter().filter(|case| fails(case.outcome)).map(|case| case.id.as_str()).collect();
    let mut compared = Compared { failing: failing.len(), ..Compared::default() };
    let is_known = |id: &&&str| known.cases.iter().chain(&known.sometimes).any(|pattern| selects(pattern, id));
    compared.new = failing.iter().filter(|id| !is_known(id)).map(|id| (*id).to_owned()).collect();
    let is_gone = |pattern: &&&str| !failing.iter().any(|id| selects(pattern, id));
    compared.gone = known.cases.iter().filter(is_gone).map(|pattern| (*pattern).to_owned()).collect();
    let files = plumb_posix::pjdfstest();
    for (name, assertions) in &known.pjdfstest {
        let covered = files.iter().find(|file| file.name == *name).and_then(|file| file.covered.as_ref().ok());
        let patterns = covered.map_or(&[][..], Vec::as_slice);
        if failing.iter().any(|id| patterns.iter().any(|pattern| selects(pattern, id))) {
            compared.found += assertions;
        } else if known.explained.contains(name) {
            compared.explained += assertions;
        } else {
            compared.missed.push(format!("{name} ({assertions})"));
        }
    }
    compared
}

/// Runs all kinds, and prints a table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = plumb(options.binary.as_deref(), Profile::Release)?;
    let folder = target_directory().join("posix");
    std::fs::create_dir_all(&folder)?;
    let mut wrong = Vec::new();
    println!(
        "{:<15} {:>5} {:>7} {:>7} {:>10}  pjdfstest's failures",
        "file system", "cases", "seconds", "failing", "as known"
    );
    for kind in KINDS.into_iter().filter(|kind| options.only.is_empty() || options.only.iter().any(|only| only == kind))
    {
        let site = tempfile::tempdir_in(&folder)?;
        let place = Place::new(site.path(), kind)?;
        let mut command = Command::new(&binary);
        command.arg("posix").arg(&place.path).args(["--no-known", "--level", "common", "--no-store", "--json"]);
        let output = command.output().with_context(|| format!("cannot start {}", binary.display()))?;
        let report: Conformance = plumb_document::json::from_slice(&output.stdout)
            .with_context(|| format!("{kind}: {}", String::from_utf8_lossy(&output.stderr).trim()))?;
        drop(place);
        if let Some(reports) = &options.reports {
            std::fs::create_dir_all(reports)?;
            std::fs::write(reports.join(format!("{kind}.json")), &output.stdout)?;
        }
        let known = known(kind);
        let compared = compared(&report, &known);
        let all: u32 = known.pjdfstest.iter().map(|(_, count)| count).sum();
        println!(
            "{kind:<15} {:>5} {:>7.1} {:>7} {:>10}  {all}: {} found, {} explained, {} neither",
            report.cases.len(),
            report.seconds,
            compared.failing,
            compared.failing - compared.new.len(),
            compared.found,
            compared.explained,
            all - compared.found - compared.explained
        );
        wrong.extend(compared.new.iter().map(|id| format!("{kind}: {id} fails, and was not known to")));
        wrong.extend(compared.gone.iter().map(|pattern| format!("{kind}: {pattern} does not fail any more")));
        wrong.extend(compared.missed.iter().map(|file| format!("{kind}: pjdfstest fails in {file}, and no case does")));
    }
    match wrong.len() {
        0 => Ok(()),
        count => bail!("{count} differ from what is known (xtask/measure/src/posix.txt):\n{}", wrong.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the sums equal those of pjdfstest's runs, and each line is parsed.
    #[test]
    fn known_failures_include_all_of_pjdfstests() {
        let sums = KINDS.map(|kind| known(kind).pjdfstest.iter().map(|(_, count)| count).sum::<u32>());
        assert_eq!(sums, [28, 28, 28, 30, 32, 28, 28, 122, 78, 65]);
        let read: usize = KINDS
            .iter()
            .map(|kind| known(kind))
            .map(|known| known.cases.len() + known.sometimes.len() + known.pjdfstest.len() + known.explained.len())
            .sum();
        assert_eq!(read, KNOWN.lines().filter(|line| !line.starts_with('#')).count());
    }
}
