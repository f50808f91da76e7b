//! Where kernels are found. A kernel is an image and the modules that were built with it.

use super::error::VmError;
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Its image.
    pub(super) image: PathBuf,
    /// What `uname -r` says when it runs.
    pub(super) release: String,
    /// Its modules, such as `/lib/modules/6.1.0-1-amd64`.
    pub(super) modules: PathBuf,
}

/// Directories below which there are a `boot` and a `lib/modules`, in the order in which they are looked through.
///
/// These are `/`, what `PLUMB_KERNELS` names (several with colons), and each directory in `plumb/kernels` below
/// `/var/lib` and the user's data directory: a kernel's package that is unpacked there need not be installed.
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

/// Where kernels lie that are unpacked and not installed.
const UNPACKED: &str = "/var/lib/plumb/kernels";

/// The kernel that a study means: a release such as `6.1`, the path of an image, or a directory into which a package was
/// unpacked. Without any, this machine's own, else the newest.
///
/// # Errors
/// There is none; what there is, and which package has it.
pub(super) fn find(wanted: Option<&str>, places: &[PathBuf]) -> Result<Kernel, VmError> {
    let path = wanted.map(Path::new).filter(|path| path.components().count() > 1 || path.exists());
    match path {
        Some(path) if path.is_dir() => {
            let found = best(kernels_in(path));
            found.ok_or_else(|| VmError::NoKernelIn { dir: path.to_owned() })
        }
        Some(path) => of_image(path, places),
        None => {
            let found: Vec<Kernel> = places.iter().flat_map(|place| kernels_in(place)).collect();
            let chosen = match wanted {
                Some(wanted) => best(found.iter().filter(|kernel| is_of(&kernel.release, wanted)).cloned().collect()),
                None => {
                    let own = rustix::system::uname().release().to_string_lossy().into_owned();
                    let is_own = |kernel: &&Kernel| kernel.release == own;
                    found.iter().find(is_own).cloned().or_else(|| best(found.clone()))
                }
            };
            chosen.ok_or_else(|| missing(wanted, &found))
        }
    }
}

/// The kernel that is installed in a root, if any.
pub(super) fn of_root(root: &Path) -> Option<Kernel> {
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

/// Whether a release is of a series: `6.1.0-1-amd64` is of `6.1`, and `6.12.9` is not.
fn is_of(release: &str, series: &str) -> bool {
    release.strip_prefix(series).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// All below a directory that have both an image and modules.
fn kernels_in(place: &Path) -> Vec<Kernel> {
    let mut kernels = Vec::new();
    for modules in ["lib/modules", "usr/lib/modules"].map(|name| place.join(name)) {
        for entry in std::fs::read_dir(&modules).into_iter().flatten().flatten() {
            let release = entry.file_name().to_string_lossy().into_owned();
            // Debian, and others with a `boot`; those that keep the image with the modules.
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

/// The newest; builds for clouds and for real time come last, since they lack drivers or answer other questions.
fn best(kernels: Vec<Kernel>) -> Option<Kernel> {
    let special = |kernel: &Kernel| kernel.release.contains("-cloud") || kernel.release.contains("-rt");
    kernels.into_iter().max_by(|a, b| special(b).cmp(&special(a)).then_with(|| by_version(&a.release, &b.release)))
}

/// By numbers where there are numbers.
fn by_version(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

/// The kernel of an image that somebody named.
fn of_image(image: &Path, places: &[PathBuf]) -> Result<Kernel, VmError> {
    let head = head(image).map_err(|source| VmError::Kernel { image: image.to_owned(), source })?;
    let named = || {
        let name = image.file_name()?.to_str()?;
        name.strip_prefix("vmlinuz-").map(str::to_owned)
    };
    let release = release_in(&head).or_else(named).ok_or_else(|| VmError::Nameless { image: image.to_owned() })?;
    let beside = image.parent().map(|dir| [dir.to_owned(), dir.join(".."), dir.join("../..")]);
    let roots = beside.into_iter().flatten().chain(places.iter().cloned());
    let modules = roots
        .flat_map(|root| ["lib/modules", "usr/lib/modules"].map(|name| root.join(name).join(&release)))
        .find(|dir| dir.is_dir());
    match modules {
        Some(modules) => Ok(Kernel { image: image.to_owned(), release, modules }),
        None => Err(VmError::NoModulesOf { image: image.to_owned(), release }),
    }
}

/// The beginning of a file, as far as headers go.
fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut head = Vec::new();
    std::fs::File::open(path)?.take(64 << 10).read_to_end(&mut head)?;
    Ok(head)
}

/// The release in an x86 image's header. Source: the kernel's Documentation/arch/x86/boot.rst, `kernel_version`.
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

    // Protects: 6.1 is not 6.12, the newest build is meant, and no special one where there is a plain one.
    #[test]
    fn a_series_is_found() {
        let dir = tempfile::tempdir().unwrap();
        for release in ["6.1.0-9-amd64", "6.1.0-56-amd64", "6.1.0-57-cloud-amd64", "6.12.117+deb12-amd64"] {
            kernel(dir.path(), release);
        }
        let places = [dir.path().to_owned()];
        let found = |wanted| find(Some(wanted), &places).map(|kernel| kernel.release);
        assert_eq!(found("6.1").unwrap(), "6.1.0-56-amd64");
        assert_eq!(found("6.12").unwrap(), "6.12.117+deb12-amd64");
        assert_eq!(found("6.1.0-9-amd64").unwrap(), "6.1.0-9-amd64");
        assert_eq!(found("6.1.0-57").unwrap(), "6.1.0-57-cloud-amd64");
        assert_eq!(find(Some(dir.path().to_str().unwrap()), &[]).unwrap().release, "6.12.117+deb12-amd64");
        let said = found("5.10").unwrap_err().to_string();
        assert!(
            said.contains("no kernel 5.10") && said.contains("6.1.0-9-amd64") && said.contains("dpkg-deb -x"),
            "{said}"
        );
    }

    #[test]
    fn an_image_is_found_with_its_modules() {
        let dir = tempfile::tempdir().unwrap();
        kernel(dir.path(), "6.1.0-9-amd64");
        let image = dir.path().join("boot/vmlinuz-6.1.0-9-amd64");
        assert_eq!(find(image.to_str(), &[]).unwrap().release, "6.1.0-9-amd64");
        // By its own word, whatever it is called.
        let mut bytes = vec![0; 0x300];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x20_u16.to_le_bytes());
        bytes[0x220..0x231].copy_from_slice(b"5.9.9 (me@here) #");
        let other = dir.path().join("bzImage");
        std::fs::write(&other, &bytes).unwrap();
        let said = find(other.to_str(), &[]).unwrap_err().to_string();
        assert!(said.contains("is Linux 5.9.9, whose modules"), "{said}");
        // Cut anywhere, it is an answer all the same.
        for length in 0..bytes.len() {
            let _ = release_in(&bytes[..length]);
        }
        let said = find(Some("/nowhere/vmlinuz"), &[]).unwrap_err().to_string();
        assert!(said.contains("/nowhere/vmlinuz"), "{said}");
    }
}
