//! Files and devices: how they are chosen, created, opened and removed.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_least, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::Between;
use plumb_workload::blocks::fio::FileChoice;
use plumb_workload::files::{Allocation, FileLock, WriteLife};

/// Files of all copies of all jobs of a run: each takes memory.
pub const FILES_MAX: u64 = 1 << 22;

/// Files and devices: how they are chosen, created, opened and removed.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Files,
    options: &[
        row("filename", UsageTier::One, Kind::Names)
            .last()
            .doc("Files or devices to use, shared by all copies of the job."),
        row("directory", UsageTier::One, Kind::Names)
            .doc("Directory for generated files; with several, the copies of the job take turns."),
        row("filename_format", UsageTier::Two, Kind::Text)
            .default("$jobname.$jobnum.$filenum")
            .last()
            .doc("Pattern for generated file names, from $jobname, $jobnum, $filenum and $clientuid."),
        row("unique_filename", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("In client/server runs, prefix generated file names with the client's address."),
        row("filetype", UsageTier::Two, Kind::Choice(FileType::WORDS))
            .default("none")
            .doc("File type to assume where it cannot be detected."),
        row("opendir", UsageTier::Two, Kind::Names).doc("Use every file found below these directories."),
        row("nrfiles", UsageTier::One, Kind::Whole(Slots::One, at_most(1 << 20)))
            .or("nr_files")
            .default("1")
            .doc("Number of files the job uses."),
        row("openfiles", UsageTier::One, Kind::Whole(Slots::One, ANY))
            .doc("Maximum number of files open at the same time."),
        row("file_service_type", UsageTier::Two, Kind::Special(Special::FileService))
            .default("roundrobin")
            .doc("How the file for the next op is chosen."),
        row("lockfile", UsageTier::Two, Kind::Choice(FileLock::WORDS))
            .default("none")
            .first()
            .doc("Lock files during I/O: no lock, an exclusive lock, or a readers-writer lock."),
        row("filesize", UsageTier::One, Kind::Wide(Slots::Two, at_least(1)))
            .doc("Size of each file; with a range, sizes are random."),
        row("file_append", UsageTier::Two, Kind::Switch).default("0").doc("Start at the current end of the file."),
        row("fill_device", UsageTier::Two, Kind::Switch)
            .or("fill_fs")
            .default("0")
            .doc("Write until the device or file system is full, and treat ENOSPC as the end of the job."),
        row("fallocate", UsageTier::One, Kind::Choice(Allocation::WORDS))
            .default("native")
            .doc("How space is preallocated when a file is laid out."),
        row("allow_file_create", UsageTier::Two, Kind::Switch).default("1").doc("Create files that do not exist."),
        row("allow_mounted_write", UsageTier::Two, Kind::Switch).default("0").doc("Allow writes to a mounted device."),
        row("create_serialize", UsageTier::Two, Kind::Switch).default("1").doc("Lay out files one job at a time."),
        row("create_fsync", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("Call fsync on each file after laying it out."),
        row("create_on_open", UsageTier::One, Kind::Switch)
            .default("0")
            .doc("Create each file when it is first opened instead of beforehand."),
        row("create_only", UsageTier::Two, Kind::Switch).default("0").doc("Only lay out the files; do no other I/O."),
        row("pre_read", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Read all files into the page cache before the job starts."),
        row("overwrite", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Lay out files in full before writing, so that writes overwrite existing data."),
        row("unlink", UsageTier::One, Kind::Switch).default("0").doc("Delete the job's files when it ends."),
        row("unlink_each_loop", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Delete the job's files between loops; those of the last loop are kept."),
        row("fadvise_hint", UsageTier::Two, Kind::Choice(Advice::WORDS))
            .default("1")
            .doc("Access pattern hint given to the kernel (posix_fadvise)."),
        row("invalidate", UsageTier::One, Kind::Switch).default("1").doc(
            "Evict the files from the page cache before the job starts, before each loop, and before verification.",
        ),
        row("write_hint", UsageTier::Two, Kind::Choice(WriteLife::WORDS))
            .doc("Expected lifetime of written data (a hint to the device)."),
    ],
};

/// Files and devices: how they are chosen, created, opened and removed.
#[derive(Debug, Clone, PartialEq)]
pub struct FileOptions {
    /// Named files and devices; names are generated if there are none.
    pub filenames: Vec<String>,
    /// Where generated files go, in turn by copy.
    pub directories: Vec<String>,
    /// How names are generated.
    pub filename_format: String,
    /// Prefix generated names with the client's address.
    pub unique_filename: bool,
    /// What kind of file.
    pub filetype: FileType,
    /// Work on every file below these directories.
    pub opendirs: Vec<String>,
    /// Number of files with generated names.
    pub nrfiles: u32,
    /// At most this many open at once.
    pub openfiles: Option<u32>,
    /// How the file for the next op is chosen.
    pub service: FileChoice,
    /// How files are locked.
    pub lock: FileLock,
    /// Bytes of each file.
    pub filesize: Option<Between<u64>>,
    /// Work beyond the present end.
    pub append: bool,
    /// Write until no space is left.
    pub fill_device: bool,
    /// How space is reserved.
    pub fallocate: Allocation,
    /// Create files that do not exist.
    pub allow_create: bool,
    /// Permit writes to mounted devices.
    pub allow_mounted_write: bool,
    /// Lay out one job at a time.
    pub create_serialize: bool,
    /// Sync each file after laying it out.
    pub create_fsync: bool,
    /// Make each file when it is first opened.
    pub create_on_open: bool,
    /// Lay out and do nothing else.
    pub create_only: bool,
    /// Read all files into the page cache first.
    pub pre_read: bool,
    /// Lay files out fully before writing.
    pub overwrite: bool,
    /// Remove the files in the end.
    pub unlink: bool,
    /// Remove the files after every loop.
    pub unlink_each_loop: bool,
    /// The hints that the kernel gets about the pattern.
    pub advice: Advice,
    /// Drop the files' pages from the page cache first.
    pub invalidate: bool,
    /// Expected lifetime of written data (a hint to the device).
    pub write_hint: Option<WriteLife>,
}

impl FileOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> FileOptions {
        FileOptions {
            filenames: values.names("filename"),
            directories: values.names("directory"),
            filename_format: values.text("filename_format").unwrap_or_default(),
            unique_filename: values.switch("unique_filename"),
            filetype: FileType::of(values),
            opendirs: values.names("opendir"),
            nrfiles: values.count("nrfiles"),
            openfiles: values.count_unless_zero("openfiles"),
            service: values.file_service("file_service_type").unwrap_or_default(),
            lock: FileLock::of(values),
            filesize: values.wide_between("filesize"),
            append: values.switch("file_append"),
            fill_device: values.switch("fill_device"),
            fallocate: Allocation::of(values),
            allow_create: values.switch("allow_file_create"),
            allow_mounted_write: values.switch("allow_mounted_write"),
            create_serialize: values.switch("create_serialize"),
            create_fsync: values.switch("create_fsync"),
            create_on_open: values.switch("create_on_open"),
            create_only: values.switch("create_only"),
            pre_read: values.switch("pre_read"),
            overwrite: values.switch("overwrite"),
            unlink: values.switch("unlink"),
            unlink_each_loop: values.switch("unlink_each_loop"),
            advice: Advice::of(values),
            invalidate: values.switch("invalidate"),
            write_hint: WriteLife::maybe(values),
        }
    }
}

words! {
    /// What kind of file a name stands for.
    FileType, "filetype":
    /// It is seen from the file.
    Unstated = "none",
    /// A regular file.
    Regular = "file",
    /// A block device.
    Block = "block",
    /// A character device.
    Character = "char",
}

words! {
    for FileLock, "lockfile":
    None = "none",
    Exclusive = "exclusive",
    ReadWrite = "readwrite",
}

words! {
    for Allocation, "fallocate":
    None = "none" | "0",
    Native = "native",
    Posix = "posix" | "1",
    Keep = "keep",
    Truncate = "truncate",
}

words! {
    /// The hints that the kernel gets about the pattern (posix_fadvise).
    Advice, "fadvise_hint":
    /// Nothing.
    None = "0",
    /// What fits the job: sequential or random.
    ByPattern = "1",
    /// Random.
    Random = "random",
    /// Sequential.
    Sequential = "sequential",
    /// Used once.
    NoReuse = "noreuse",
}

words! {
    for WriteLife, "write_hint":
    None = "none",
    Short = "short",
    Medium = "medium",
    Long = "long",
    Extreme = "extreme",
}
