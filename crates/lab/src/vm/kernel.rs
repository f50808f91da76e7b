//! Finds kernels. A kernel is an image and the modules that were built with it.

use super::VmSpec;
use super::error::VmError;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Path of its image.
    pub(super) image: PathBuf,
    /// Release, as `uname -r` prints it.
    pub(super) release: String,
    /// Directory of its modules, such as `/lib/modules/6.1.0-1-amd64`.
    pub(super) modules: PathBuf,
}

/// Returns directories that have a `boot` and a `lib/modules`, in search order.
///
/// These are `/`, the directories in `PLUMB_KERNELS` (separated by colons), and each directory in `plumb/kernels`
/// below `/var/lib` and the user's data directory. A kernel package unpacked there need not be installed.
pub(super) fn places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut places = vec![PathBuf::from("/")];
    places.extend(variable("PLUMB_KERNELS").iter().flat_map(std::env::split_paths));
    let home = variable("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute()).or(home);
    for parent in [Some(PathBuf::from(UNPACKED)), data.map(|data| data.join("plumb/kernels"))].into_iter().flatten() {
        let mut inside: Vec<PathBuf> =
            std::fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        inside.sort();
        places.extend(inside);
    }
    places
}

/// Directory of unpacked kernels that are not installed.
const UNPACKED: &str = "/var/lib/plumb/kernels";

/// Word for this machine's own kernel.
const OWN: &str = "own";

/// Word for the newest kernel found.
const NEWEST: &str = "newest";

/// A kernel that was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    /// The kernel to boot.
    pub(super) kernel: Kernel,
    /// A warning if no kernel was named and the expected one is missing, so another one boots.
    pub(super) note: Option<String>,
}

/// Chooses the kernel of a machine, preferably from its root.
///
/// # Errors
/// Returns the errors of [`find`].
pub(super) fn choose(spec: &VmSpec) -> Result<Choice, VmError> {
    let root = spec.root.as_deref().filter(|_| spec.kernel.is_none());
    if let Some(kernel) = root.and_then(of_root) {
        return Ok(Choice { kernel, note: None });
    }
    let mut chosen = find(spec.kernel.as_deref(), &places())?;
    if let Some(root) = root {
        let release = &chosen.kernel.release;
        let why = if root.is_dir() { "has no kernel" } else { "is an image, whose own kernel is not used" };
        let note = format!("root = {} {why}, so Linux {release} boots; name one with `kernel`", root.display());
        chosen.note = Some(note);
    }
    Ok(chosen)
}

/// Finds the kernel that a study names: a release such as `6.1`, `own` (this machine's), `newest`, the path of an
/// image, or a directory with an unpacked package. Without a name, uses this machine's own, else the newest.
///
/// # Errors
/// Returns an error if there is none. It lists the existing kernels and the package that has the named one.
pub(super) fn find(wanted: Option<&str>, places: &[PathBuf]) -> Result<Choice, VmError> {
    let own = rustix::system::uname().release().to_string_lossy().into_owned();
    find_on(&own, wanted, places)
}

/// Does the work of [`find`] on a machine that runs this release.
fn find_on(own: &str, wanted: Option<&str>, places: &[PathBuf]) -> Result<Choice, VmError> {
    let named = |kernel| Choice { kernel, note: None };
    let is_word = wanted.is_none_or(|wanted| [OWN, NEWEST].contains(&wanted));
    let path = wanted.map(Path::new).filter(|path| !is_word && (path.components().count() > 1 || path.exists()));
    match path {
        Some(path) if path.is_dir() => {
            let found = best(kernels_in(path));
            return found.map(named).ok_or_else(|| VmError::NoKernelIn { dir: path.to_owned() });
        }
        Some(path) => return of_image(path, places).map(named),
        None => {}
    }
    let found: Vec<Kernel> = places.iter().flat_map(|place| kernels_in(place)).collect();
    let releases = || found.iter().map(|kernel| kernel.release.clone()).collect();
    let of_this_machine = || found.iter().find(|kernel| kernel.release == own).cloned();
    match wanted {
        Some(OWN) => {
            of_this_machine().map(named).ok_or_else(|| VmError::NoOwnKernel { own: own.to_owned(), known: releases() })
        }
        Some(series) if series != NEWEST => {
            let of_series = found.iter().filter(|kernel| is_of(&kernel.release, series)).cloned().collect();
            best(of_series).map(named).ok_or_else(|| missing(wanted, &found))
        }
        Some(_) => best(found.clone()).map(named).ok_or_else(|| missing(None, &found)),
        None => match (of_this_machine(), best(found.clone())) {
            (Some(kernel), _) => Ok(named(kernel)),
            (None, Some(kernel)) => {
                let note = format!(
                    "no kernel is named, and this machine's own ({own}) is not here, so Linux {} boots; `kernel = \"newest\"` asks \
                     for that",
                    kernel.release
                );
                Ok(Choice { kernel, note: Some(note) })
            }
            (None, None) => Err(missing(None, &found)),
        },
    }
}

/// Returns the kernel that is installed in a root, if any.
fn of_root(root: &Path) -> Option<Kernel> {
    best(kernels_in(root))
}

fn missing(wanted: Option<&str>, found: &[Kernel]) -> VmError {
    let arch = debian_arch();
    VmError::NoKernel {
        wanted: wanted.map(str::to_owned),
        known: found.iter().map(|kernel| kernel.release.clone()).collect(),
        package: match wanted {
            Some(wanted) => format!("linux-image-{wanted}…-{arch}"),
            None => format!("linux-image-{arch}"),
        },
        pattern: format!("linux-image-{}", wanted.unwrap_or_default()),
        unpacked: UNPACKED,
    }
}

fn debian_arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Whether a release belongs to a series: `6.1.0-1-amd64` belongs to `6.1`, and `6.12.9` does not.
pub(crate) fn is_of(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// Returns all kernels below a directory that have both an image and modules.
fn kernels_in(place: &Path) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for modules in ["lib/modules", "usr/lib/modules"].map(|name| place.join(name)) {
        for entry in std::fs::read_dir(&modules).into_iter().flatten().flatten() {
            let release = entry.file_name().to_string_lossy().into_owned();
            // Debian and others use `boot`; some distributions keep the image with the modules.
            let images = [place.join("boot").join(format!("vmlinuz-{release}")), entry.path().join("vmlinuz")];
            if let Some(image) = images.into_iter().find(|image| image.is_file())
                && kernels.iter().all(|kernel: &Kernel| kernel.release != release)
            {
                kernels.push(Kernel { image, release, modules: entry.path() });
            }
        }
    }
    kernels
}

/// Returns the newest kernel. Cloud and real-time builds come last: they lack drivers or behave differently.
fn best(kernels: Vec<Kernel>) -> Option<Kernel> {
    let special = |kernel: &Kernel| kernel.release.contains("-cloud") || kernel.release.contains("-rt");
    kernels.into_iter().max_by(|a, b| special(b).cmp(&special(a)).then_with(|| by_version(&a.release, &b.release)))
}

/// Compares versions, digits by number.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// Returns the kernel of a named image.
fn of_image(image: &Path, places: &[PathBuf]) -> Result<Kernel, VmError> {
    let head = head(image).map_err(|source| VmError::Kernel { image: image.to_owned(), source })?;
    let named = || {
        let name = image.file_name()?.to_str()?;
        name.strip_prefix("vmlinuz-").map(str::to_owned)
    };
    let release = release_in(&head).or_else(named).ok_or_else(|| VmError::Nameless { image: image.to_owned() })?;
    let nearby = image.parent().map(|dir| [dir.to_owned(), dir.join(".."), dir.join("../..")]);
    let roots = nearby.into_iter().flatten().chain(places.iter().cloned());
    let modules = roots
        .flat_map(|root| ["lib/modules", "usr/lib/modules"].map(|name| root.join(name).join(&release)))
        .find(|dir| dir.is_dir());
    match modules {
        Some(modules) => Ok(Kernel { image: image.to_owned(), release, modules }),
        None => Err(VmError::NoModulesOf { image: image.to_owned(), release }),
    }
}

/// Reads the beginning of a file, as far as headers go.
fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path)?.take(64 << 10).read_to_end(&mut head)?;
    Ok(head)
}

/// Reads the release from an x86 image's header. Source: the kernel's
/// Documentation/arch/x86/boot.rst, `kernel_version`.
fn release_in(head: &[u8]) -> Option<String> {
    (head.get(0x202..0x206)? == b"HdrS").then_some(())?;
    let at = usize::from(u16::from_le_bytes(head.get(0x20e..0x210)?.try_into().ok()?)) + 0x200;
    let text = head.get(at..)?.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(text).ok()?.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(place: &Path, release: &str) {
        std::fs::create_dir_all(place.join("boot")).unwrap();
        std::fs::create_dir_all(place.join("lib/modules").join(release)).unwrap();
        std::fs::write(place.join("boot").join(format!("vmlinuz-{release}")), b"").unwrap();
    }

    // Protects: 6.1 does not match 6.12, the newest build wins, and special builds are used only without a plain one.
    #[test]
    fn a_series_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for release in ["6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-57-cloud-amd64", "6.12.117+deb12-amd64"] {
            kernel(dir.path(), release);
        }
        let places = [dir.path().to_owned()];
        let found = |wanted| find(Some(wanted), &places).map(|chosen| chosen.kernel.release);
        assert_eq!(found("6.1").unwrap(), "6.1.0-56-amd64");
        assert_eq!(found("6.12").unwrap(), "6.12.117+deb12-amd64");
        assert_eq!(found("6.1.0-9-amd64").unwrap(), "6.1.0-9-amd64");
        assert_eq!(found("6.1.0-57").unwrap(), "6.1.0-57-cloud-amd64");
        assert_eq!(find(Some(dir.path().to_str().unwrap()), &[]).unwrap().kernel.release, "6.12.117+deb12-amd64");
        let message = found("5.10").unwrap_err().to_string();
        assert!(
            message.contains("no kernel 5.10") && message.contains("6.1.0-9-amd64") && message.contains("dpkg-deb -x"),
            "{message}"
        );
    }

    // Protects: a study of this machine's kernel never measures another one, and a study that names
    // none reports which one boots.
    #[test]
    fn another_kernel_never_boots_in_silence() {
        let dir = tempfile::tempdir().unwrap();
        for release in ["6.1.0-9-amd64", "6.12.117+deb12-amd64"] {
            kernel(dir.path(), release);
        }
        let places = [dir.path().to_owned()];
        let found =
            |own: &str, wanted| find_on(own, wanted, &places).map(|chosen| (chosen.kernel.release, chosen.note));
        let here = |release: &str| (release.to_owned(), None);
        assert_eq!(found("6.1.0-9-amd64", Some("own")).unwrap(), here("6.1.0-9-amd64"));
        assert_eq!(found("6.1.0-9-amd64", None).unwrap(), here("6.1.0-9-amd64"));
        let message = found("6.18.44", Some("own")).unwrap_err().to_string();
        assert!(
            message.contains("6.18.44") && message.contains("6.12.117") && message.contains("`kernel`"),
            "{message}"
        );
        let (release, note) = found("6.18.44", None).unwrap();
        let note = note.unwrap();
        assert!(release.starts_with("6.12") && note.contains("6.18.44") && note.contains("6.12.117"), "{note}");
        assert_eq!(found("6.18.44", Some("newest")).unwrap(), here("6.12.117+deb12-amd64"));
        assert!(
            find_on("6.18.44", Some("newest"), &[]).unwrap_err().to_string().contains("no kernel with its modules")
        );
    }

    #[test]
    fn an_image_is_found_with_its_modules() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path(), "6.1.0-9-amd64");
        let image = dir.path().join("boot/vmlinuz-6.1.0-9-amd64");
        assert_eq!(find(image.to_str(), &[]).unwrap().kernel.release, "6.1.0-9-amd64");
        // The header gives the release, so the file name does not matter.
        let mut bytes = vec![0; 0x300];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x20_u16.to_le_bytes());
        bytes[0x220..0x231].copy_from_slice(b"5.9.9 (me@here) #");
        let other = dir.path().join("bzImage");
        std::fs::write(&other, &bytes).unwrap();
        let message = find(other.to_str(), &[]).unwrap_err().to_string();
        assert!(message.contains("is Linux 5.9.9, whose modules"), "{message}");
        // A truncated header must not panic.
        for length in 0..bytes.len() {
            let _ = release_in(&bytes[..length]);
        }
        let message = find(Some("/nowhere/vmlinuz"), &[]).unwrap_err().to_string();
        assert!(message.contains("/nowhere/vmlinuz"), "{message}");
    }
}
