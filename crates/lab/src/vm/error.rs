//! Why a virtual machine cannot be made here.

use std::io;
use std::path::PathBuf;

/// How a root is made.
const MAKE_ROOT: &str = "make one: mmdebstrap --variant=minbase --include=e2fsprogs bookworm DIR";

/// Why a virtual machine cannot be made here.
#[derive(Debug, thiserror::Error)]
pub(super) enum VmError {
    /// A file that it is made of cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A module cannot be unpacked.
    #[error("{}: {reason}", path.display())]
    Packed {
        /// The module.
        path: PathBuf,
        /// The unpacker's words.
        reason: String,
    },
    /// A root that was named is not there.
    #[error("root = {}: {source}; {MAKE_ROOT}", path.display())]
    NoRoot {
        /// What was named.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory that was named for a root holds no system.
    #[error("root = {}: this is no system: it has no {missing}; {MAKE_ROOT}", path.display())]
    NotRoot {
        /// The directory.
        path: PathBuf,
        /// What every system has.
        missing: &'static str,
    },
    /// A part of a root cannot be read.
    #[error("root: {}: {source}; run as a user who may read all of it, such as root", path.display())]
    RootPart {
        /// A directory in it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A root cannot be packed.
    #[error("root = {}: mkfs.ext4 -d cannot pack it: {reason}; run as a user who may read all of it", path.display())]
    Pack {
        /// The directory.
        path: PathBuf,
        /// What mkfs.ext4 said.
        reason: String,
    },
    /// There is nothing to pack with.
    #[error("a root is packed by mkfs.ext4, which is not installed here; Debian's package is e2fsprogs")]
    NoPacker,
    /// An image cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The image.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A kernel that was named cannot be read.
    #[error("kernel {}: {source}", image.display())]
    Kernel {
        /// Its image.
        image: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory that was named for a kernel holds none.
    #[error("{} has no boot/vmlinuz-* with its lib/modules", dir.display())]
    NoKernelIn {
        /// The directory.
        dir: PathBuf,
    },
    /// No such kernel is installed here.
    #[error(
        "no kernel{} with its modules is installed here{}; install Debian's package {package} (apt-cache search --names-only \
         '^{pattern}'), or unpack it without installing: apt-get download PACKAGE && dpkg-deb -x PACKAGE*.deb \
         {unpacked}/PACKAGE",
        wanted.as_ref().map_or_else(String::new, |wanted| format!(" {wanted}")),
        if known.is_empty() { String::new() } else { format!(" (there is {})", known.join(", ")) }
    )]
    NoKernel {
        /// The release that was asked for.
        wanted: Option<String>,
        /// Releases that are here.
        known: Vec<String>,
        /// The package that has it.
        package: String,
        /// What its name begins with.
        pattern: String,
        /// Where kernels lie that are not installed.
        unpacked: &'static str,
    },
    /// This machine's own kernel is asked for and is not here.
    #[error(
        "this machine runs Linux {own}, and the image and modules of that kernel are not here{}; install its package, or name \
         another one with `kernel`",
        if known.is_empty() { String::new() } else { format!(" (there is {})", known.join(", ")) }
    )]
    NoOwnKernel {
        /// What runs here.
        own: String,
        /// Releases that are here.
        known: Vec<String>,
    },
    /// An image does not tell its release.
    #[error("{}: the kernel release is unknown; name the file vmlinuz-RELEASE, as Debian does", image.display())]
    Nameless {
        /// The image.
        image: PathBuf,
    },
    /// A kernel has no modules.
    #[error(
        "{} is Linux {release}, whose modules are neither in lib/modules/{release} next to it nor in /lib/modules",
        image.display()
    )]
    NoModulesOf {
        /// Its image.
        image: PathBuf,
        /// Its release.
        release: String,
    },
    /// A directory of modules has none.
    #[error("{} has no kernel modules", dir.display())]
    NoModules {
        /// The directory.
        dir: PathBuf,
    },
    /// A module is missing without which no machine runs.
    #[error("{} has no module `{name}`, which a virtual machine needs", dir.display())]
    NoModule {
        /// The directory of modules.
        dir: PathBuf,
        /// The module.
        name: String,
    },
    /// A module's file is something else.
    #[error("{} is not a kernel module", path.display())]
    NotModule {
        /// The file.
        path: PathBuf,
    },
    /// A module needs another one.
    #[error("{} needs the module `{name}`, which is missing", path.display())]
    NeedsModule {
        /// The module.
        path: PathBuf,
        /// The other one.
        name: String,
    },
    /// KVM cannot be used.
    #[error("accel = \"kvm\": {0}; `auto` and `tcg` run without it")]
    Kvm(NoKvm),
}

/// Why KVM cannot be used here.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoKvm {
    /// A file that tells cannot be opened.
    #[error("{path}: {source}")]
    Open {
        /// The file.
        path: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The processor does not help.
    #[error("/dev/kvm exists, but /proc/cpuinfo shows neither vmx nor svm")]
    NoExtensions,
}
