//! A running virtual machine.

use super::image::Tools;
use super::qemu::{self, Chosen, GuestMachine};
use super::{DISK_SERIAL, VmSpec, image, kernel, root};
use crate::claim::DirectoryClaim;
use crate::error::failed;
use crate::host::HostError;
use crate::link::{FarHost, Link};
use crate::protocol::HostFacts;
use crate::surroundings::Surroundings;
use crossbeam_channel::Receiver;
use plumb_engine::guard::OutputFile;
use plumb_workload::Bytes;
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Default memory of a machine.
pub(super) const MEMORY_BYTES: u64 = 768 << 20;

/// Minimum memory with which QEMU and a kernel can start.
const MEMORY_MIN_BYTES: u64 = 32 << 20;

/// Default time limit for a boot, in seconds.
const BOOT_TIMEOUT_S: u64 = 300;

/// Time limit for a machine to switch itself off.
const OFF_TIMEOUT: Duration = Duration::from_secs(20);

/// Lines of the console that an error shows.
const CONSOLE_LINES: usize = 12;

/// A virtual machine with Plumb's agent in it. Dropping it removes the machine and its disks.
pub struct Vm {
    link: Link,
    facts: HostFacts,
    process: Process,
}

impl Vm {
    /// Boots the machine, and waits until its agent answers.
    ///
    /// # Errors
    /// Returns the missing requirement (QEMU, the kernel, KVM), or the last lines of the machine's console.
    pub fn boot(spec: &VmSpec, surroundings: &Surroundings) -> Result<Vm, HostError> {
        let arch = std::env::consts::ARCH;
        let qemu = qemu_of(arch)?;
        let accel = Chosen::resolve(spec.accel, qemu::kvm()).map_err(failed)?;
        let memory_bytes = memory_bytes(spec)?;
        let sizes = sizes_of(spec)?;
        let kernel = kernel::choose(spec).map_err(failed)?.kernel;
        let cache = surroundings.cache.join("vm");
        let root = spec.root.as_deref().map(|root| root::provide(root, &cache)).transpose().map_err(failed)?;
        // A program that needs this machine's C library may not run in another userland.
        let (program, tools) = match &root {
            Some(_) => (surroundings.far_program.as_ref().unwrap_or(&surroundings.program), Tools::OfTheRoot),
            None => (&surroundings.program, Tools::OfTheHost),
        };
        let image = image::provide(&kernel, program, tools, &cache).map_err(failed)?;
        let room = MachineFiles::new(&sizes)?;
        let console = room.dir.path().join("console");
        let machine = GuestMachine {
            arch,
            kernel: &kernel.image,
            image: &image,
            disks: &room.disks,
            root: root.as_ref(),
            direct: room.direct,
            memory_bytes,
            cpus: spec.cpus.unwrap_or(1).max(1),
            accel,
            console: &console,
        };
        let (near, far) = UnixStream::pair().map_err(|error| failed(format!("cannot make a socket: {error}")))?;
        let clone =
            |stream: &UnixStream| stream.try_clone().map_err(|error| failed(format!("cannot copy a socket: {error}")));
        let (reader, writer) = (clone(&near)?, clone(&near)?);
        let mut process = Process::start(&surroundings.program, &qemu, qemu::words(&machine), far, near, room)?;
        let mut link = Link::new(reader, writer, surroundings.interrupted);
        let limit = Duration::from_secs(spec.boot_timeout.unwrap_or(BOOT_TIMEOUT_S));
        match link.hello(limit) {
            // Otherwise the results would name the wrong kernel.
            Ok(facts) if facts.kernel != kernel.release => {
                let (runs, image) = (&facts.kernel, kernel.image.display());
                Err(failed(format!("{image} is Linux {}, but the machine runs {runs}", kernel.release)))
            }
            Ok(facts) => {
                process.forget_files();
                Ok(Vm { link, facts, process })
            }
            Err(HostError::Lost(reason)) => {
                let how = format!("Linux {} under {}", kernel.release, accel.name());
                let last_words = process.last_words();
                let image_bytes = image.metadata().map_or(0, |facts| facts.len());
                let hint = if memory_bytes < image_bytes.saturating_mul(4) {
                    let (memory, image) = (memory_bytes >> 20, image_bytes >> 20);
                    format!(
                        "; {memory} MiB of memory may be too little: its files take {image} MiB, twice while it starts"
                    )
                } else {
                    String::new()
                };
                // Some boots fail on a busy host, so report a loss: the conductor of the study tries again.
                Err(HostError::Lost(format!("the virtual machine did not boot ({how}): {reason}{hint}{last_words}")))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns QEMU's process ID, for code that checks for leftovers.
    pub fn pid(&self) -> u32 {
        self.process.pid
    }
}

impl FarHost for Vm {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    /// Adds the last lines of the machine's console.
    fn explain_loss(&mut self, reason: &str) -> HostError {
        HostError::Lost(format!("the virtual machine: {reason}{}", self.process.last_words()))
    }

    fn end(&mut self) -> Result<(), HostError> {
        // QEMU's exit removes everything that it could leave.
        self.process.wait(OFF_TIMEOUT);
        Ok(())
    }
}

/// Returns the path of QEMU for an architecture.
pub(super) fn qemu_of(arch: &str) -> Result<PathBuf, HostError> {
    let qemu = qemu::program(arch);
    image::in_path(&qemu)
        .ok_or_else(|| failed(format!("{qemu} is not installed; Debian's package is {}", qemu_package(arch))))
}

/// Returns the memory size of a machine, in bytes.
pub(super) fn memory_bytes(spec: &VmSpec) -> Result<u64, HostError> {
    let bytes = spec.memory.as_deref().map_or(Ok(MEMORY_BYTES), |text| size("memory", text))?;
    if bytes < MEMORY_MIN_BYTES {
        let (bytes, least) = (Bytes(bytes), Bytes(MEMORY_MIN_BYTES));
        return Err(failed(format!("memory = \"{bytes}\": a machine needs {least} at least")));
    }
    Ok(bytes)
}

/// Returns the sizes of its disks, in bytes.
pub(super) fn sizes_of(spec: &VmSpec) -> Result<Vec<u64>, HostError> {
    spec.disks.iter().map(|text| size("disks", text)).collect()
}

fn qemu_package(arch: &str) -> &'static str {
    if arch == "x86_64" { "qemu-system-x86" } else { "qemu-system-arm" }
}

fn size(key: &str, text: &str) -> Result<u64, HostError> {
    let Bytes(bytes) = text.parse().map_err(|error| failed(format!("{key} = \"{text}\": {error}")))?;
    Ok(bytes)
}

/// The files of a running machine.
struct MachineFiles {
    dir: DirectoryClaim,
    disks: Vec<PathBuf>,
    /// Whether the disks' files support direct I/O.
    direct: bool,
}

const FILES_PREFIX: &str = "plumb-vm-";

/// Removes the files of virtual machines whose process was killed before the boot was complete.
pub(crate) fn remove_left(parent: &Path) -> Vec<PathBuf> {
    DirectoryClaim::remove_left(parent, FILES_PREFIX, |_| true)
}

impl MachineFiles {
    /// Creates sparse files of these sizes. They grow with the data written to them.
    fn new(sizes: &[u64]) -> Result<MachineFiles, HostError> {
        let parent = std::env::temp_dir();
        remove_left(&parent);
        let made = || -> std::io::Result<MachineFiles> {
            let dir = DirectoryClaim::new(&parent, FILES_PREFIX)?;
            let mut disks = Vec::new();
            for (number, bytes) in sizes.iter().enumerate() {
                let path = dir.path().join(format!("{DISK_SERIAL}{}", number + 1));
                OutputFile::made_up("the disk", &path).create_new()?.set_len(*bytes)?;
                disks.push(path);
            }
            let opens_direct = |path: &PathBuf| plumb_probe::read_only::open(path, OFlags::DIRECT).is_ok();
            let direct = disks.iter().all(opens_direct);
            Ok(MachineFiles { dir, disks, direct })
        };
        made().map_err(|error| failed(format!("cannot make a machine's disks in {}: {error}", parent.display())))
    }
}

/// QEMU's process.
struct Process {
    pid: u32,
    /// Our end of the channel. Closing it makes the agent switch the machine off.
    channel: UnixStream,
    ended: Receiver<ExitStatus>,
    status: Option<ExitStatus>,
    /// Kept open, since its name may be removed.
    console: Option<File>,
    errors: File,
    room: Option<MachineFiles>,
}

impl Process {
    fn start(
        program: &Path,
        qemu: &Path,
        words: Vec<String>,
        far: UnixStream,
        channel: UnixStream,
        room: MachineFiles,
    ) -> Result<Process, HostError> {
        let errors = tempfile::tempfile().map_err(|error| failed(format!("cannot make a file: {error}")))?;
        let stderr = errors.try_clone().map_err(|error| failed(format!("cannot copy a descriptor: {error}")))?;
        let console = room.dir.path().join("console");
        let console = OutputFile::made_up("the console", &console)
            .create_new()
            .map_err(std::io::Error::from)
            .and_then(|_| File::open(room.dir.path().join("console")))
            .map_err(|error| failed(format!("cannot make the console's file: {error}")))?;
        let mut command = Command::new(program);
        // QEMU must not outlive this process, however it ends.
        command.args(["agent", "--with-parent", &std::process::id().to_string(), "--"]).arg(qemu).args(words);
        command.stdin(Stdio::from(OwnedFd::from(far))).stdout(Stdio::null()).stderr(stderr);
        let (started, start) = crossbeam_channel::unbounded();
        let (ends, ended) = crossbeam_channel::unbounded();
        // The kernel kills the child when the *thread* that started it exits, so that thread waits for it.
        std::thread::spawn(move || {
            let child = command.spawn();
            // Close our copy of the far end, or its end of file would never arrive.
            drop(command);
            let mut child: Child = match child {
                Ok(child) => {
                    let _ = started.send(Ok(child.id()));
                    child
                }
                Err(error) => {
                    let _ = started.send(Err(error));
                    return;
                }
            };
            if let Ok(status) = child.wait() {
                let _ = ends.send(status);
            }
        });
        let pid = start
            .recv()
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(format!("cannot start {}: {error}", program.display())))?;
        Ok(Process { pid, channel, ended, status: None, console: Some(console), errors, room: Some(room) })
    }

    /// Removes the names of its files, so that the files vanish when it closes them.
    fn forget_files(&mut self) {
        self.room = None;
    }

    /// Waits for QEMU to exit, and kills it after the time limit.
    fn wait(&mut self, limit: Duration) {
        if self.status.is_some() {
            return;
        }
        if let Ok(status) = self.ended.recv_timeout(limit) {
            self.status = Some(status);
            return;
        }
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        self.status = self.ended.recv_timeout(OFF_TIMEOUT).ok();
    }

    /// Kills QEMU and returns the last output of QEMU and of the console.
    fn last_words(&mut self) -> String {
        let _ = self.channel.shutdown(Shutdown::Both);
        self.wait(Duration::from_secs(1));
        let mut words = String::new();
        if let Some(status) = self.status.filter(|status| !status.success()) {
            words.push_str(&format!("; QEMU ended: {status}"));
        }
        let errors = text(&mut self.errors);
        if !errors.trim().is_empty() {
            words.push_str(&format!("; QEMU said: {}", errors.trim()));
        }
        let console = self.console.as_mut().map(text).unwrap_or_default();
        let panic = console.lines().find_map(|line| line.find("Kernel panic").map(|start| &line[start..]));
        if let Some(panic) = panic {
            words.push_str(&format!("; {panic}"));
        }
        let lines: Vec<&str> = console.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            words.push_str("; its console is empty");
        } else {
            let last = &lines[lines.len().saturating_sub(CONSOLE_LINES)..];
            words.push_str(&format!("; its console's last lines:\n  {}", last.join("\n  ")));
        }
        words
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.channel.shutdown(Shutdown::Both);
        // Nothing in it is worth waiting for.
        self.wait(Duration::ZERO);
    }
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}
