//! Errors from preparing a virtual machine.

use std::io;
use std::path::PathBuf;

/// Hint on how to create a root.
const MAKE_ROOT: &str = "make one: mmdebstrap --variant=minbase --include=e2fsprogs bookworm DIR";

/// Error from preparing a virtual machine.
#[derive(Debug, thiserror::Error)]
pub(super) enum VmError {
    /// A file that the machine needs cannot be read.
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A module cannot be decompressed.
    #[error("{}: {reason}", path.display())]
    Packed {
        /// Path of the module.
        path: PathBuf,
        /// Error text of the decompressor.
        reason: String,
    },
    /// The named root does not exist.
    #[error("root = {}: {source}; {MAKE_ROOT}", path.display())]
    NoRoot {
        /// Path as named in the study.
        path: PathBuf,
        source: io::Error,
    },
    /// The directory named as a root contains no system.
    #[error("root = {}: this is not a system: it has no {missing}; {MAKE_ROOT}", path.display())]
    NotRoot {
        path: PathBuf,
        /// Missing path that every system has.
        missing: &'static str,
    },
    /// A part of a root cannot be read.
    #[error("root: {}: {source}; run as a user who may read all of it, such as root", path.display())]
    RootPart {
        /// A directory in the root.
        path: PathBuf,
        source: io::Error,
    },
    /// A root cannot be packed.
    #[error("root = {}: mkfs.ext4 -d cannot pack it: {reason}; run as a user who may read all of it", path.display())]
    Pack {
        path: PathBuf,
        /// Error text of mkfs.ext4.
        reason: String,
    },
    /// mkfs.ext4 is not installed.
    #[error("a root is packed by mkfs.ext4, which is not installed here; Debian's package is e2fsprogs")]
    NoPacker,
    /// An image cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A named kernel cannot be read.
    #[error("kernel {}: {source}", image.display())]
    Kernel {
        /// Path of its image.
        image: PathBuf,
        source: io::Error,
    },
    /// The directory named as a kernel contains none.
    #[error("{} has no boot/vmlinuz-* with its lib/modules", dir.display())]
    NoKernelIn { dir: PathBuf },
    /// No such kernel is installed here.
    #[error(
        "no kernel{} with its modules is installed here{}; install Debian's package {package} (apt-cache search --names-only \
         '^{pattern}'), or unpack it without installing: apt-get download PACKAGE && dpkg-deb -x PACKAGE*.deb \
         {unpacked}/PACKAGE",
        wanted.as_ref().map_or_else(String::new, |wanted| format!(" {wanted}")),
        if known.is_empty() { String::new() } else { format!(" (there is {})", known.join(", ")) }
    )]
    NoKernel {
        /// Requested release.
        wanted: Option<String>,
        /// Releases that are installed here.
        known: Vec<String>,
        /// Debian package that contains it.
        package: String,
        /// Prefix of the package's name.
        pattern: String,
        /// Directory of unpacked kernels.
        unpacked: &'static str,
    },
    /// This machine's own kernel was requested and is not here.
    #[error(
        "this machine runs Linux {own}, and the image and modules of that kernel are not here{}; install its package, or name \
         another one with `kernel`",
        if known.is_empty() { String::new() } else { format!(" (there is {})", known.join(", ")) }
    )]
    NoOwnKernel {
        /// Release that this machine runs.
        own: String,
        /// Releases that are installed here.
        known: Vec<String>,
    },
    /// An image does not contain its release.
    #[error("{}: the kernel release is unknown; name the file vmlinuz-RELEASE, as Debian does", image.display())]
    Nameless { image: PathBuf },
    /// A kernel has no modules.
    #[error(
        "{} is Linux {release}, whose modules are neither in lib/modules/{release} next to it nor in /lib/modules",
        image.display()
    )]
    NoModulesOf {
        /// Path of its image.
        image: PathBuf,
        release: String,
    },
    /// A module directory contains no modules.
    #[error("{} has no kernel modules", dir.display())]
    NoModules { dir: PathBuf },
    /// A module that every machine needs is missing.
    #[error("{} has no module `{name}`, which a virtual machine needs", dir.display())]
    NoModule {
        /// Directory of the modules.
        dir: PathBuf,
        /// Name of the module.
        name: String,
    },
    /// A file is not a kernel module.
    #[error("{} is not a kernel module", path.display())]
    NotModule { path: PathBuf },
    /// A module needs another one that is missing.
    #[error("{} needs the module `{name}`, which is missing", path.display())]
    NeedsModule {
        /// Path of the module.
        path: PathBuf,
        /// Name of the missing module.
        name: String,
    },
    /// KVM cannot be used.
    #[error("accel = \"kvm\": {0}; `auto` and `tcg` run without it")]
    Kvm(NoKvm),
}

/// Reason why KVM cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKvm {
    /// A file that shows KVM's availability cannot be opened.
    #[error("{path}: {source}")]
    Open { path: &'static str, source: io::Error },
    /// The processor has no virtualization extensions.
    #[error("/dev/kvm exists, but /proc/cpuinfo shows neither vmx nor svm")]
    NoExtensions,
}
