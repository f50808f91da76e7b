//! Expected failures, as data.

use plumb_cli::exit::Stopped;
use plumb_document::toml;
use plumb_result::{Conformance, PosixOutcome};
use serde::Deserialize;
use std::path::Path;

const KNOWN: &str = include_str!("known.toml");

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectations {
    #[serde(default)]
    expected: Vec<Expected>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// Pattern of case ids, as for `--only`.
    id: String,
    /// Kind of file system; may contain `*`.
    #[serde(default = "any")]
    fs: String,
    /// Kind of file system that holds the files of an overlay; may contain `*`.
    #[serde(default = "any")]
    over: String,
    /// First kernel release that fails.
    #[serde(default)]
    kernel_min: String,
    /// Last kernel release that fails.
    #[serde(default)]
    kernel_max: String,
    reason: String,
    #[serde(default)]
    url: String,
    /// Whether the case may also pass.
    #[serde(default)]
    sometimes: bool,
}

fn any() -> String {
    "*".to_owned()
}

impl Expectations {
    pub(super) fn none() -> Expectations {
        Expectations::default()
    }

    pub(super) fn known() -> Result<Expectations, Stopped> {
        Expectations::parse("known.toml", KNOWN)
    }

    /// Adds the failures of a file; they take precedence over the earlier ones.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), Stopped> {
        let name = path.display().to_string();
        let text = plumb_text::bounded::read_to_string(path)
            .map_err(|error| Stopped::usage(format!("cannot read {name}: {error}")))?;
        let file = Expectations::parse(&name, &text)?;
        self.expected.splice(0..0, file.expected);
        Ok(())
    }

    fn parse(name: &str, text: &str) -> Result<Expectations, Stopped> {
        let file: Expectations = toml::from_str(text).map_err(|error| Stopped::usage(format!("{name}: {error}")))?;
        let cases = plumb_posix::cases();
        for expected in &file.expected {
            if !cases.iter().any(|case| plumb_posix::selects(&expected.id, &case.id)) {
                return Err(Stopped::usage(format!(
                    "{name}: `{}` is not the id of a case; `plumb posix explain` lists all",
                    expected.id
                )));
            }
        }
        Ok(file)
    }

    /// Marks expected failures and unexpected passes. `over` is the kind of file system that holds the files of an
    /// overlay; empty if there is none or it is unknown.
    pub(super) fn apply(&self, conformance: &mut Conformance, over: &str) {
        let (kind, kernel) = (&conformance.filesystem, &conformance.kernel);
        let applies = |expected: &&Expected| {
            glob(&expected.fs, kind)
                && glob(&expected.over, over)
                && (expected.kernel_min.is_empty() || release(kernel) >= release(&expected.kernel_min))
                && (expected.kernel_max.is_empty() || release(kernel) <= release(&expected.kernel_max))
        };
        let here: Vec<&Expected> = self.expected.iter().filter(applies).collect();
        for case in &mut conformance.cases {
            let Some(expected) = here.iter().find(|expected| plumb_posix::selects(&expected.id, &case.id)) else {
                continue;
            };
            case.outcome = match case.outcome {
                outcome if outcome.is_failure() => PosixOutcome::ExpectedFail,
                PosixOutcome::Pass if !expected.sometimes => PosixOutcome::UnexpectedPass,
                _ => continue,
            };
            (case.reason, case.url) = (expected.reason.clone(), expected.url.clone());
        }
    }
}

/// Returns the kind of file system that holds the files of the overlay at a path. Empty if there is none or its upper
/// directory is not visible. Source: proc(5), `Documentation/filesystems/overlayfs.rst`.
pub(super) fn over(path: &Path) -> &'static str {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let Some(upper) = upper_directory(&mounts, &path) else { return "" };
    match rustix::fs::statfs(upper).map(|found| found.f_type as u64) {
        Ok(TMPFS_MAGIC) => "tmpfs",
        _ => "",
    }
}

/// `TMPFS_MAGIC` from linux/magic.h.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// Returns the upper directory of the overlay that contains a path.
fn upper_directory<'m>(mounts: &'m str, path: &Path) -> Option<&'m str> {
    let below = |line: &&str| line.split(' ').nth(4).filter(|point| path.starts_with(point)).map(str::len);
    // Takes the innermost mount, and of several on the same point the last.
    let line = mounts.lines().filter(|line| below(line).is_some()).max_by_key(below)?;
    let (kind, rest) = line.split_once(" - ")?.1.split_once(' ')?;
    let options = rest.rsplit(' ').next()?;
    options.split(',').find_map(|option| option.strip_prefix("upperdir=")).filter(|_| kind == "overlay")
}

/// Parses a kernel release: `6.18.44-arch1` becomes 6, 18 and 44.
fn release(text: &str) -> Vec<u32> {
    let parts = text.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse().ok());
    parts.take(3).collect()
}

fn glob(pattern: &str, text: &str) -> bool {
    pattern == text || pattern.contains('*') && plumb_posix::selects(pattern, text)
}

pub(super) fn apply_baseline(conformance: &mut Conformance, baseline: &Conformance) {
    for case in conformance.cases.iter_mut().filter(|case| case.outcome.is_failure()) {
        let before = baseline.cases.iter().find(|before| before.id == case.id);
        let failed = |outcome: PosixOutcome| outcome.is_failure() || outcome == PosixOutcome::ExpectedFail;
        if before.is_some_and(|before| failed(before.outcome)) {
            case.outcome = PosixOutcome::ExpectedFail;
            case.reason = format!("fails in the baseline of {} too", baseline.started_at);
        }
    }
}

/// Formats the current failures as a file for `--expected`.
pub(super) fn written(conformance: &Conformance) -> String {
    let quoted = |text: &str| {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = format!(
        "# What fails on {} with Linux {}. Say why for each, with an address.\n",
        conformance.filesystem, conformance.kernel
    );
    for case in conformance.cases.iter().filter(|case| case.outcome.is_failure()) {
        let reason = format!("{}: expected {}, got {}", case.what, case.expected, case.got);
        text.push_str(&format!(
            "\n[[expected]]\nid = {}\nfs = {}\nreason = {}\n",
            quoted(&case.id),
            quoted(&conformance.filesystem),
            quoted(&reason)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: the built-in list parses, and each entry names a case, a reason and an address.
    #[test]
    fn known_failures_parse() {
        let known = Expectations::known().unwrap();
        assert!(known.expected.len() > 5);
        for expected in &known.expected {
            assert!(expected.reason.len() > 20 && expected.url.starts_with("https://"), "{expected:?}");
        }
    }

    // Protects: an overlay over tmpfs has the flaw of tmpfs; one over another file system does not.
    #[test]
    fn the_upper_directory_of_an_overlay_is_found() {
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda rw\n\
                      2 1 0:5 / /a rw - overlay overlay rw,lowerdir=/l,upperdir=/x/up,workdir=/w\n\
                      3 2 0:6 / /a/inner rw - tmpfs tmpfs rw\n";
        let upper = |path: &str| upper_directory(mounts, Path::new(path));
        assert_eq!(upper("/a/b"), Some("/x/up"));
        assert_eq!((upper("/a/inner/c"), upper("/ab"), upper_directory("", Path::new("/"))), (None, None, None));
        assert_eq!(over(Path::new("/proc")), "");
        let known = Expectations::known().unwrap();
        let of = |fs: &str, over: &str| {
            let applies = |expected: &&Expected| glob(&expected.fs, fs) && glob(&expected.over, over);
            known.expected.iter().filter(applies).any(|expected| expected.id == "mmap.after-truncate")
        };
        assert_eq!(
            [of("overlay", "tmpfs"), of("overlay", ""), of("tmpfs", ""), of("ext4", "")],
            [true, false, true, false]
        );
    }

    #[test]
    fn releases_compare_by_number() {
        assert!(release("6.18.44-arch1") > release("6.9"));
        assert!(release("5.4") < release("5.10.1"));
        assert!(glob("fuse*", "fuse.sshfs") && !glob("ext4", "ext3") && glob("*", "xfs"));
    }
}
