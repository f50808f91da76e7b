//! Problems of a virtual machine and of the systems to build in it, as far as they show without booting it.

use super::error::VmError;
use super::image::{self, PROGRAMS};
use super::machine::{MEMORY_BYTES, memory_bytes, qemu_of, sizes_of};
use super::modules::{ModuleTree, NEEDED, WANTED};
use super::qemu::{self, Chosen};
use super::{VmSpec, kernel, root};
use crate::command;
use crate::error::Cause;
use crate::preflight::{self, Driver, Ground, Inspection, Objection, ObjectionKind, rounded};
use crate::surroundings::Surroundings;
use std::path::Path;

/// Directories of programs in a root.
const PROGRAM_DIRECTORIES: [&str; 6] = ["usr/sbin", "usr/bin", "sbin", "bin", "usr/local/sbin", "usr/local/bin"];

/// Directories of a machine without a root; all are in its memory.
const OWN_DIRECTORIES: [&str; 6] = ["/dev/shm", "/mnt", "/root", "/run", "/tmp", "/"];

/// Result of checking a virtual machine before it boots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VmCheck {
    /// Description of what would boot: `Linux 6.1.0-56-amd64 under KVM`.
    pub what: String,
    /// The problems that were found.
    pub objections: Vec<Objection>,
}

/// Checks a machine and the systems to build in it. `of` returns these systems for a given memory size in bytes.
pub fn outlook(spec: &VmSpec, surroundings: &Surroundings, of: impl FnOnce(u64) -> Inspection) -> VmCheck {
    let mut objections = Vec::new();
    let mut object = |kind, text: String| objections.push(Objection::new(kind, text));
    let wrong = ObjectionKind::Wrong;
    qemu_of(std::env::consts::ARCH).map_err(|error| object(wrong, error.to_string())).ok();
    let accel = Chosen::resolve(spec.accel, qemu::kvm()).map_err(|error| object(wrong, error.to_string())).ok();
    let ram_bytes = memory_bytes(spec).map_err(|error| object(wrong, error.to_string())).unwrap_or(MEMORY_BYTES);
    let disks = sizes_of(spec).map_err(|error| object(wrong, error.to_string())).unwrap_or_default();
    let far = spec.root.as_ref().and(surroundings.far_program.as_ref());
    if let Some(program) = far.filter(|program| !program.is_file()) {
        object(wrong, format!("PLUMB_AGENT is {}, which is not a file", program.display()));
    }
    if let Some(error) = spec.root.as_deref().and_then(|root| root::check(root).err()) {
        object(wrong, error.to_string());
    }
    let chosen = kernel::choose(spec).map_err(|error| object(wrong, error.to_string())).ok();
    if let Some(note) = chosen.as_ref().and_then(|chosen| chosen.note.clone()) {
        object(ObjectionKind::Doubtful, note);
    }
    let tree = chosen.as_ref().and_then(|chosen| match modules_of(&chosen.kernel) {
        Ok(tree) => Some(tree),
        Err(error) => {
            object(wrong, error.to_string());
            None
        }
    });
    let all: u64 = disks.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    let temp = std::env::temp_dir();
    if let Ok(stat) = rustix::fs::statvfs(&temp) {
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if all > free {
            let (all, free) = (rounded(all), rounded(free));
            let text = format!(
                "its disks may grow to {all}, and {} has {free} free; set TMPDIR to a larger directory",
                temp.display()
            );
            object(ObjectionKind::Doubtful, text);
        }
    }
    let release = chosen.as_ref().map(|chosen| chosen.kernel.release.as_str());
    let what = match (release, accel) {
        (Some(release), Some(accel)) => format!("Linux {release} under {}", accel.name()),
        (Some(release), None) => format!("Linux {release}"),
        (None, _) => "no kernel".to_owned(),
    };
    let tools = match &spec.root {
        None => RootTools::OfHere,
        Some(root) if root.is_dir() => RootTools::In(root),
        Some(_) => RootTools::Unknown,
    };
    let ground = UnbootedMachine { tools, tree, release: release.unwrap_or_default(), disks, ram_bytes };
    objections.extend(preflight::of_builds(&of(ram_bytes).builds, &ground));
    VmCheck { what, objections }
}

fn modules_of(kernel: &kernel::Kernel) -> Result<ModuleTree, VmError> {
    let tree = ModuleTree::read(&kernel.modules)?;
    match NEEDED.iter().find(|name| !tree.has(name)) {
        Some(name) => Err(VmError::NoModule { dir: kernel.modules.clone(), name: (*name).to_owned() }),
        None => Ok(tree),
    }
}

/// Origin of a machine's programs.
enum RootTools<'a> {
    /// This machine's programs.
    OfHere,
    /// A root directory.
    In(&'a Path),
    /// An image, which is not opened here.
    Unknown,
}

struct UnbootedMachine<'a> {
    tools: RootTools<'a>,
    /// `None` if its kernel does not exist, which is reported already.
    tree: Option<ModuleTree>,
    release: &'a str,
    disks: Vec<u64>,
    ram_bytes: u64,
}

impl UnbootedMachine<'_> {
    fn lacks(&self, module: &str, what: &str) -> Option<String> {
        let tree = self.tree.as_ref()?;
        let module = module.replace('-', "_");
        // A root has its own modprobe.
        let is_loaded = WANTED.contains(&module.as_str()) || !self.has_tools_of_here();
        if tree.is_built_in(&module) || (tree.has(&module) && is_loaded) {
            return None;
        }
        let why = if tree.has(&module) { "virtual machines do not load its module" } else { "it has no such module" };
        Some(format!("kernel {} has no {what} here: {why} {module}; use another kernel", self.release))
    }
}

impl Ground for UnbootedMachine<'_> {
    fn lacks_program(&self, program: &str) -> Option<String> {
        match self.tools {
            RootTools::Unknown => None,
            RootTools::In(root) => {
                let is_there =
                    PROGRAM_DIRECTORIES.iter().any(|dir| root.join(dir).join(program).symlink_metadata().is_ok());
                (!is_there).then(|| {
                    format!("{program} is not in {}; name its package when you make that root", root.display())
                })
            }
            RootTools::OfHere if !PROGRAMS.contains(&program) => Some(format!(
                "{program} is not among the programs that a virtual machine is given; give it a `root` that has it"
            )),
            RootTools::OfHere => image::in_path(program).is_none().then(|| {
                format!("{} (a virtual machine is given this machine's programs)", command::not_installed(program))
            }),
        }
    }

    fn lacks_driver(&self, driver: Driver) -> Option<String> {
        self.lacks(driver.module, driver.what)
    }

    fn lacks_file_system(&self, fs: &str) -> Option<String> {
        match fs {
            "tmpfs" => None,
            "nfs" => Some("a virtual machine has no network, and so no NFS".to_owned()),
            // ext4's driver mounts them all.
            "ext2" | "ext3" | "ext4" => self.lacks("ext4", &format!("file system {fs}")),
            fs => self.lacks(fs, &format!("file system {fs}")),
        }
    }

    fn has_tools_of_here(&self) -> bool {
        matches!(self.tools, RootTools::OfHere)
    }

    fn is_root(&self) -> bool {
        true
    }

    fn expendable(&self) -> Result<Vec<Option<u64>>, Cause> {
        if self.disks.is_empty() {
            let expected = "the virtual machine has no disks; give it some: vm = { disks = [\"1GiB\"] }";
            return Err(Cause::field("devices", "@disks", expected));
        }
        Ok(self.disks.iter().map(|bytes| Some(*bytes)).collect())
    }

    fn device(&self, path: &Path) -> Result<Option<u64>, Cause> {
        // `vda` is the first disk.
        let letter = path.to_str().and_then(|path| path.strip_prefix("/dev/vd")).filter(|rest| rest.len() == 1);
        let index = letter.and_then(|letter| letter.bytes().next()?.checked_sub(b'a'));
        match index {
            Some(index) => match self.disks.get(usize::from(index)) {
                Some(bytes) => Ok(Some(*bytes)),
                None => {
                    let expected =
                        format!("the virtual machine has {} disks; `@disks` refers to them", self.disks.len());
                    Err(Cause::field("device", path.display(), expected))
                }
            },
            None => Ok(None),
        }
    }

    fn directory(&self, path: &Path) -> Result<Option<u64>, String> {
        let is_there = match self.tools {
            RootTools::Unknown => true,
            RootTools::In(root) => {
                root.join(path.strip_prefix("/").unwrap_or(path)).is_dir()
                    || OWN_DIRECTORIES.iter().any(|own| path == Path::new(own))
            }
            RootTools::OfHere => OWN_DIRECTORIES.iter().any(|own| path == Path::new(own)),
        };
        if is_there {
            return Ok(Some(self.ram_bytes));
        }
        Err("a virtual machine has no such directory; /mnt and /tmp are there, in its memory".to_owned())
    }

    fn directory_to_make(&self, _: &Path) -> Result<Option<u64>, String> {
        // Paths that are not on a disk of the study are in its memory.
        Ok(Some(self.ram_bytes))
    }

    fn mount_point(&self, path: &str) -> Result<(), Cause> {
        if path.starts_with('/') { Ok(()) } else { Err(Cause::field("mount", path, "write an absolute path")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::{PlannedBuild, PlannedWork, WorkPlace};
    use crate::step::Safety;
    use std::path::PathBuf;

    fn kernel(dir: &Path, modules: &[&str], builtin: &[&str]) -> PathBuf {
        let release = "6.1.0-1-amd64";
        let tree = dir.join("lib/modules").join(release);
        std::fs::create_dir_all(tree.join("kernel")).unwrap();
        std::fs::create_dir_all(dir.join("boot")).unwrap();
        std::fs::write(dir.join("boot").join(format!("vmlinuz-{release}")), b"").unwrap();
        for name in modules {
            std::fs::write(tree.join(format!("kernel/{name}.ko")), b"").unwrap();
        }
        let builtin: String = builtin.iter().map(|name| format!("kernel/{name}.ko\n")).collect();
        std::fs::write(tree.join("modules.builtin"), builtin).unwrap();
        dir.to_owned()
    }

    fn problems(spec: &VmSpec, steps: &str, work: &[(&str, u64)]) -> Vec<String> {
        let surroundings = Surroundings::of_environment("/bin/true".into()).unwrap();
        let work = work.iter().map(|(place, bytes)| PlannedWork {
            name: "write".to_owned(),
            place: match place.strip_prefix('@') {
                Some(name) => WorkPlace::Device(name.to_owned()),
                None => WorkPlace::Directory((*place).to_owned()),
            },
            bytes: Some(*bytes),
        });
        let build = PlannedBuild { steps: plumb_document::json::from_str(steps).unwrap(), work: work.collect() };
        let inspection = |_| Inspection { builds: vec![build], safety: Safety::default() };
        let found = outlook(spec, &surroundings, inspection);
        found
            .objections
            .into_iter()
            .map(|objection| objection.text)
            .filter(|text| !text.contains("qemu-system"))
            .collect()
    }

    #[track_caller]
    fn one(found: &[String], parts: &[&str]) {
        assert!(found.len() == 1 && parts.iter().all(|part| found[0].contains(part)), "{parts:?}: {found:#?}");
    }

    // Protects: missing parts of a machine are reported before it boots, and existing ones are not.
    #[test]
    fn a_machine_is_checked_without_booting_it() {
        let dir = tempfile::tempdir().unwrap();
        let place = kernel(dir.path(), &["virtio_blk", "virtio_console", "ext4", "dm_mod"], &["virtio_pci", "loop"]);
        let spec = |disks: &[&str]| VmSpec {
            kernel: Some(place.to_str().unwrap().to_owned()),
            disks: disks.iter().map(|disk| (*disk).to_owned()).collect(),
            ..VmSpec::default()
        };
        let good = r#"[{"kind": "cmd", "run": "cat /proc/mounts"}, {"kind": "tmpfs", "size": "1MiB", "mount": "/m"}]"#;
        assert_eq!(problems(&spec(&["1GiB"]), good, &[("/m", 100)]), [""; 0]);
        one(&problems(&spec(&["much"]), "[]", &[]), &["disks = \"much\""]);
        let small = VmSpec { memory: Some("1MiB".to_owned()), ..spec(&[]) };
        one(&problems(&small, "[]", &[]), &["memory"]);
        // A program that no machine gets; a driver and a file system that the kernel lacks.
        one(&problems(&spec(&[]), r#"[{"kind": "cmd", "run": "no-such-program"}]"#, &[]), &["no-such-program", "root"]);
        one(&problems(&spec(&[]), r#"[{"kind": "zram", "size": "1MiB"}]"#, &[]), &["6.1.0-1-amd64", "zram"]);
        // Disks, and file systems on them.
        let on_disk = r#"[{"kind": "mount", "device": "@disks.2", "mount": "/m"}]"#;
        one(&problems(&spec(&["1GiB"]), on_disk, &[]), &["@disks.2", "@disks.1"]);
        one(&problems(&spec(&[]), on_disk, &[]), &["has no disks"]);
        let on_disk = r#"[{"kind": "mount", "name": "x", "device": "@disks", "mount": "/m"}]"#;
        one(&problems(&spec(&["512MiB"]), on_disk, &[("/m/data", 1 << 30)]), &["write", "1GiB", "512MiB", "/m"]);
        assert_eq!(problems(&spec(&["2GiB"]), on_disk, &[("/m/data", 1 << 30)]), [""; 0]);
        one(
            &problems(&spec(&[]), r#"[{"kind": "loop", "directory": "/var/tmp", "size": "1MiB"}]"#, &[]),
            &["/var/tmp", "/tmp"],
        );
    }

    #[test]
    fn a_missing_kernel_or_root_is_one_objection() {
        let none = VmSpec { kernel: Some("4.4".to_owned()), ..VmSpec::default() };
        one(&problems(&none, r#"[{"kind": "zram", "size": "1MiB"}]"#, &[]), &["linux-image-4.4"]);
        let dir = tempfile::tempdir().unwrap();
        let place = kernel(dir.path(), &["virtio_blk"], &[]);
        let lacks = VmSpec { kernel: place.to_str().map(str::to_owned), ..VmSpec::default() };
        one(&problems(&lacks, "[]", &[]), &["virtio_pci"]);
        let dir = tempfile::tempdir().unwrap();
        let place = kernel(dir.path(), &["virtio_blk", "virtio_console"], &["virtio_pci"]);
        let kernel = place.to_str().map(str::to_owned);
        let rootless = VmSpec { root: Some("/no/such/root".into()), kernel, ..VmSpec::default() };
        one(&problems(&rootless, "[]", &[]), &["/no/such/root", "mmdebstrap"]);
    }
}
