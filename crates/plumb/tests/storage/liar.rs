//! A fake disk: a FUSE file system with one file, `image`, that claims more than it has, below a loop device. Source:
//! the protocol of include/uapi/linux/fuse.h, version 7.31; only the requests that a loop device and `mount` make.

use crate::common::disks::system;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Behaviour beyond the real capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lie {
    /// Addresses start over at 0.
    Wraps,
    /// Writes are lost, and reads return zeros.
    Drops,
}

pub(crate) struct Liar {
    pub device: PathBuf,
    directory: tempfile::TempDir,
    server: Option<JoinHandle<()>>,
}

impl Liar {
    /// Creates a device that claims `claims` bytes and has `keeps`.
    pub(crate) fn new(claims: u64, keeps: u64, lie: Lie) -> Liar {
        let directory = tempfile::tempdir().unwrap();
        let fuse = OpenOptions::new().read(true).write(true).open("/dev/fuse").unwrap();
        // `mount` inherits the descriptor.
        rustix::io::fcntl_setfd(&fuse, rustix::io::FdFlags::empty()).unwrap();
        let options = format!("fd={},rootmode=40000,user_id=0,group_id=0", fuse.as_raw_fd());
        let at = directory.path().to_str().unwrap();
        system("mount", &["-i", "-t", "fuse", "-o", &options, "liar", at]);
        rustix::io::fcntl_setfd(&fuse, rustix::io::FdFlags::CLOEXEC).unwrap();
        let disk = Disk { claims, lie, bytes: vec![0; keeps as usize] };
        let server = std::thread::spawn(move || serve(fuse, disk));
        let image = directory.path().join("image");
        let device = system("losetup", &["--find", "--show", "--direct-io=on", image.to_str().unwrap()]);
        Liar { device: device.into(), directory, server: Some(server) }
    }

    fn mount_point(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        let run = |program: &str, arguments: &[&str]| {
            std::process::Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
        };
        run("losetup", &["--detach", self.device.to_str().unwrap()]);
        // The kernel releases the image a moment later.
        let at = self.mount_point().to_str().unwrap().to_owned();
        for _ in 0..100 {
            if run("umount", &[&at]) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

struct Disk {
    claims: u64,
    lie: Lie,
    bytes: Vec<u8>,
}

impl Disk {
    /// Returns the offset where bytes from `at` on are kept, and how many are contiguous there; `None` if they are
    /// lost.
    fn kept(&self, at: u64) -> Option<(usize, usize)> {
        let keeps = self.bytes.len() as u64;
        let place = match self.lie {
            Lie::Wraps => at % keeps,
            Lie::Drops if at >= keeps => return None,
            Lie::Drops => at,
        };
        Some((place as usize, (keeps - place) as usize))
    }

    fn write(&mut self, mut offset: u64, mut data: &[u8]) {
        while let Some((place, room)) = self.kept(offset).filter(|_| !data.is_empty()) {
            let (now, later) = data.split_at(room.min(data.len()));
            self.bytes[place..place + now.len()].copy_from_slice(now);
            (offset, data) = (offset + now.len() as u64, later);
        }
    }

    fn read(&self, offset: u64, length: usize) -> Vec<u8> {
        let length = length.min(self.claims.saturating_sub(offset) as usize);
        let mut data = vec![0; length];
        let mut done = 0;
        while let Some((place, room)) = self.kept(offset + done as u64).filter(|_| done < length) {
            let now = room.min(length - done);
            data[done..done + now].copy_from_slice(&self.bytes[place..place + now]);
            done += now;
        }
        data
    }
}

const ROOT: u64 = 1;
const IMAGE: u64 = 2;
const NO_ENTRY: i32 = 2;
const NO_CALL: i32 = 38;
const UNMOUNTED: i32 = 19;

/// A sequence of little-endian fields.
#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u16(mut self, value: u16) -> Fields {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Fields {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Fields {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn zeros(mut self, count: usize) -> Fields {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// `struct fuse_attr`.
    fn attributes(self, node: u64, disk: &Disk) -> Fields {
        let (size, mode) = if node == ROOT { (0, 0o040_755) } else { (disk.claims, 0o100_644) };
        self.u64(node).u64(size).u64(size / 512).zeros(36).u32(mode).u32(1).zeros(12).u32(4096).u32(0)
    }
}

/// Answers requests until it is unmounted.
fn serve(mut fuse: File, mut disk: Disk) {
    let mut request = vec![0; 1 << 20];
    loop {
        let length = match fuse.read(&mut request) {
            Ok(length) => length,
            Err(error) if error.raw_os_error() == Some(UNMOUNTED) => return,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => panic!("/dev/fuse: {error}"),
        };
        let (header, body) = request[..length].split_at(40);
        let u32_at = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
        let u64_of = |bytes: &[u8], at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        let (operation, unique, node) = (u32_at(4), u64_of(header, 8), u64_of(header, 16));
        let size = |at: usize| u32::from_ne_bytes(body[at..at + 4].try_into().unwrap()) as usize;
        let answer = match operation {
            // FORGET and BATCH_FORGET have no answer.
            2 | 42 => continue,
            // LOOKUP.
            1 if body.starts_with(b"image\0") => Ok(Fields::default().u64(IMAGE).zeros(32).attributes(IMAGE, &disk)),
            1 => Err(NO_ENTRY),
            // GETATTR, SETATTR: `struct fuse_attr_out`.
            3 | 4 => Ok(Fields::default().zeros(16).attributes(node, &disk)),
            // OPEN, OPENDIR: nothing is cached (FOPEN_DIRECT_IO).
            14 | 27 => Ok(Fields::default().u64(0).u32(1).u32(0)),
            // READ: handle, offset, size.
            15 => Ok(Fields(disk.read(u64_of(body, 8), size(16)))),
            // WRITE: the same, and 40 bytes before the data.
            16 => {
                let length = size(16);
                disk.write(u64_of(body, 8), &body[40..40 + length]);
                Ok(Fields::default().u32(length as u32).u32(0))
            }
            // STATFS.
            17 => Ok(Fields::default().zeros(80)),
            // RELEASE, FSYNC, FLUSH, RELEASEDIR, ACCESS, DESTROY.
            18 | 20 | 25 | 29 | 34 | 38 => Ok(Fields::default()),
            // INIT: large writes (FUSE_BIG_WRITES).
            26 => Ok(Fields::default().u32(7).u32(31).u32(0).u32(1 << 5).u16(16).u16(12).u32(128 << 10).zeros(40)),
            _ => Err(NO_CALL),
        };
        let (error, data) = answer.map_or_else(|errno| (-errno, Vec::new()), |fields| (0, fields.0));
        let reply = Fields::default().u32(16 + data.len() as u32).u32(error as u32).u64(unique);
        let _ = fuse.write(&[reply.0, data].concat());
    }
}
