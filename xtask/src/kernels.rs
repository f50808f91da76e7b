//! Kernels that tests boot in virtual machines: Debian's, unpacked but not installed, so that this machine's boot
//! configuration is unchanged.

use crate::packages::apt;
use crate::tools::run;
use anyhow::{Context, Result, bail};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Directory in which Plumb looks for kernels that are not installed.
const KERNELS: &str = "/var/lib/plumb/kernels";

const SERIES: [&str; 2] = ["6.1", "6.12"];

/// Prints the missing kernels, and the command that unpacks them.
pub fn report() {
    for series in SERIES.into_iter().filter(|series| !is_here(series)) {
        eprintln!(
            "no kernel {series}: tests that boot it are skipped, and fail under CI; as root, `cargo xtask test --install \
             --lab` unpacks one (docs/hosts.md)"
        );
    }
}

/// Unpacks missing kernels, as root. Prints failures; tests that need such a kernel report it.
pub fn provide() {
    for series in SERIES.into_iter().filter(|series| !is_here(series)) {
        if let Err(error) = unpack(series) {
            eprintln!("not unpacked: a kernel {series}: {error:#}");
        }
    }
}

fn is_here(series: &str) -> bool {
    let start = format!("vmlinuz-{series}.");
    let roots = std::fs::read_dir(KERNELS).into_iter().flatten().flatten().map(|entry| entry.path());
    roots.chain([Path::new("/").to_owned()]).any(|root| {
        let images = std::fs::read_dir(root.join("boot")).into_iter().flatten().flatten();
        images.into_iter().any(|image| image.file_name().to_string_lossy().starts_with(&start))
    })
}

fn unpack(series: &str) -> Result<()> {
    apt(&["update", "--quiet"])?;
    let output = Command::new("apt-cache").args(["search", "--names-only", "^linux-image-6"]).output()?;
    let listed = String::from_utf8(output.stdout)?;
    let Some(package) = newest(&listed, series) else {
        bail!("the archive has no package linux-image-{series}…-amd64")
    };
    let size = installed_kib(package).map_or(String::new(), |kib| format!(" ({} MiB)", kib / 1024));
    println!("unpacking {package}{size} into {KERNELS}, for virtual machines: this system does not boot it");
    let dir = Path::new(KERNELS).join(package);
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    // apt's own user cannot write here, so apt downloads as root, with a warning.
    let work = tempfile::Builder::new().prefix("plumb-kernel-").permissions(Permissions::from_mode(0o700)).tempdir()?;
    let script = "cd \"$0\" && apt-get download --quiet \"$1\" >/dev/null && dpkg-deb -x \"$1\"*.deb \"$2\"";
    let unpacked = run(Command::new("sh").args(["-c", script]).arg(work.path()).arg(package).arg(&dir));
    if unpacked.is_err() {
        let _ = std::fs::remove_dir_all(&dir);
    }
    unpacked
}

/// Returns the unpacked size of a package in KiB, as the archive states it.
fn installed_kib(package: &str) -> Option<u64> {
    let output = Command::new("apt-cache").args(["show", "--no-all-versions", package]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Installed-Size:")?.trim().parse().ok())
}

/// Returns the newest plain build of a series in the output of `apt-cache search`.
fn newest<'a>(listed: &'a str, series: &str) -> Option<&'a str> {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let plain = names.filter(|name| {
        let version = name.strip_prefix("linux-image-").and_then(|rest| rest.strip_suffix("-amd64"));
        version.is_some_and(|version| {
            version.strip_prefix(series).is_some_and(|rest| rest.starts_with('.'))
                && !version.ends_with("-cloud")
                && !version.ends_with("-rt")
        })
    });
    plain.max_by_key(|name| numbers(name))
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_plain_build() {
        let listed = "linux-image-6.1.0-9-amd64 - Linux 6.1\nlinux-image-6.1.0-10-amd64 - Linux 6.1\n\
                      linux-image-6.1.0-11-cloud-amd64 - x\nlinux-image-6.1.0-12-amd64-dbg - x\n\
                      linux-image-6.1.0-13-rt-amd64 - x\nlinux-image-6.12.9+deb12-amd64 - Linux 6.12\n";
        assert_eq!(newest(listed, "6.1"), Some("linux-image-6.1.0-10-amd64"));
        assert_eq!(newest(listed, "6.12"), Some("linux-image-6.12.9+deb12-amd64"));
        assert_eq!(newest(listed, "5.10"), None);
    }
}
