//! Files and devices: how they are chosen, created, opened and removed.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Two};
use crate::fio::value::kind::{ANY, at_least, at_most};
use crate::fio::value::syntax::{Count, FILE_SERVICE, NAMES, Range, SWITCH, TEXT, Wide, Word, choice};
use crate::fio::value::{Between, Maybe, UnlessZero};
use plumb_workload::blocks::fio::FileChoice;
use plumb_workload::files::{Allocation, FileLock, WriteLife};

/// Maximum number of files of all copies of all jobs of a run: each file takes memory.
pub const FILES_MAX: u64 = 1 << 22;

// Rows that other modules use.
pub(in crate::fio) const NRFILES: Row<Count> = row("nrfiles", One, Count(at_most(1 << 20))).or("nr_files").default("1");

options! {
    /// Names of the files and devices of a job.
    pub struct NameOptions {
        /// Files or devices to use, shared by all copies of the job.
        filenames: Vec<String> = row("filename", One, NAMES).last();
        /// Directory for generated files; with several, the copies of the job take turns.
        directories: Vec<String> = row("directory", One, NAMES);
        /// Pattern for generated file names, from $jobname, $jobnum, $filenum and $clientuid.
        filename_format: String = row("filename_format", Two, TEXT).default("$jobname.$jobnum.$filenum").last();
        /// In client/server runs, prefix generated file names with the client's address.
        unique_filename: bool = row("unique_filename", Two, SWITCH).default("1");
        /// File type to assume where it cannot be detected.
        filetype: FileType = row("filetype", Two, choice::<FileType>()).default("none");
        /// Use every file found below these directories.
        opendirs: Vec<String> = row("opendir", Two, NAMES);
    }
}

options! {
    /// Files and devices: their choice, layout, opening and removal.
    pub struct FileOptions {
        /// Number of files the job uses.
        nrfiles: u32 = NRFILES;
        /// Maximum number of files open at the same time.
        openfiles: Option<u32> = row("openfiles", One, UnlessZero(Count(ANY)));
        /// How the file for the next op is chosen.
        service: FileChoice = row("file_service_type", Two, FILE_SERVICE).default("roundrobin");
        /// Lock files during I/O: no lock, an exclusive lock, or a readers-writer lock.
        lock: FileLock = row("lockfile", Two, choice::<FileLock>()).default("none").first();
        /// Size of each file; with a range, sizes are random.
        filesize: Option<Between<u64>> = row("filesize", One, Maybe(Range(Wide(at_least(1)))));
        /// Start at the current end of the file.
        append: bool = row("file_append", Two, SWITCH).default("0");
        /// Write until the device or file system is full, and treat ENOSPC as the end of the job.
        fill_device: bool = row("fill_device", Two, SWITCH).or("fill_fs").default("0");
    } with {
        /// Names of files and devices.
        names: NameOptions,
        /// Layout before the job starts.
        layout: LayoutOptions,
        /// Deletion after the job or its loops.
        removal: RemovalOptions,
        /// Hints to the kernel about them.
        hints: HintOptions,
    }
}

options! {
    /// Layout of the files before the job starts.
    pub struct LayoutOptions {
        /// How space is preallocated when a file is laid out.
        fallocate: Allocation = row("fallocate", One, choice::<Allocation>()).default("native");
        /// Create files that do not exist.
        allow_create: bool = row("allow_file_create", Two, SWITCH).default("1");
        /// Allow writes to a mounted device.
        allow_mounted_write: bool = row("allow_mounted_write", Two, SWITCH).default("0");
        /// Lay out files one job at a time.
        create_serialize: bool = row("create_serialize", Two, SWITCH).default("1");
        /// Call fsync on each file after laying it out.
        create_fsync: bool = row("create_fsync", Two, SWITCH).default("1");
        /// Create each file when it is first opened instead of beforehand.
        create_on_open: bool = row("create_on_open", One, SWITCH).default("0");
        /// Only lay out the files; do no other I/O.
        create_only: bool = row("create_only", Two, SWITCH).default("0");
        /// Read all files into the page cache before the job starts.
        pre_read: bool = row("pre_read", Two, SWITCH).default("0");
        /// Lay out files in full before writing, so that writes overwrite existing data.
        overwrite: bool = row("overwrite", Two, SWITCH).default("0");
    }
}

options! {
    /// Deletion of the files after the job or its loops.
    pub struct RemovalOptions {
        /// Delete the job's files when it ends.
        unlink: bool = row("unlink", One, SWITCH).default("0");
        /// Delete the job's files between loops; those of the last loop are kept.
        unlink_each_loop: bool = row("unlink_each_loop", Two, SWITCH).default("0");
    }
}

options! {
    /// Hints to the kernel about the files.
    pub struct HintOptions {
        /// Access pattern hint given to the kernel (posix_fadvise).
        advice: Advice = row("fadvise_hint", Two, choice::<Advice>()).default("1");
        /// Evict the files from the page cache before the job starts, before each loop, and before verification.
        invalidate: bool = row("invalidate", One, SWITCH).default("1");
        /// Expected lifetime of written data (a hint to the device).
        write_hint: Option<WriteLife> = row("write_hint", Two, Maybe(choice::<WriteLife>()));
    }
}

words! {
    /// The type of a file.
    FileType:
    /// Detected from the file.
    Unstated = "none",
    Regular = "file",
    Block = "block",
    Character = "char",
}

words! {
    for FileLock:
    None = "none",
    Exclusive = "exclusive",
    ReadWrite = "readwrite",
}

words! {
    for Allocation:
    None = "none" | "0",
    Native = "native",
    Posix = "posix" | "1",
    Keep = "keep",
    Truncate = "truncate",
}

words! {
    /// Access pattern hints to the kernel (posix_fadvise).
    Advice:
    None = "0",
    /// Sequential or random, by the job's `rw`.
    ByPattern = "1",
    Random = "random",
    Sequential = "sequential",
    NoReuse = "noreuse",
}

words! {
    for WriteLife:
    None = "none",
    Short = "short",
    Medium = "medium",
    Long = "long",
    Extreme = "extreme",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Files,
            &[
                ("filename=/x:/y", |job| job.files.names.filenames == ["/x", "/y"]),
                ("directory=/d:/e", |job| job.files.names.directories == ["/d", "/e"]),
                ("filename_format=$jobname.x", |job| job.files.names.filename_format == "$jobname.x"),
                ("unique_filename=0", |job| !job.files.names.unique_filename),
                ("filetype=block", |job| job.files.names.filetype == FileType::Block),
                ("opendir=/o", |job| job.files.names.opendirs == ["/o"]),
                ("nrfiles=7", |job| job.files.nrfiles == 7),
                ("openfiles=7", |job| job.files.openfiles == Some(7)),
                ("file_service_type=random:8", |job| job.files.service == FileChoice::Random { ops: 8 }),
                ("lockfile=exclusive", |job| job.files.lock == FileLock::Exclusive),
                ("filesize=1m-4m", |job| job.files.filesize == Some(Between { low: 1 << 20, high: 4 << 20 })),
                ("file_append=1", |job| job.files.append),
                ("fill_device=1", |job| job.files.fill_device),
                ("fallocate=keep", |job| job.files.layout.fallocate == Allocation::Keep),
                ("allow_file_create=0", |job| !job.files.layout.allow_create),
                ("allow_mounted_write=1", |job| job.files.layout.allow_mounted_write),
                ("create_serialize=0", |job| !job.files.layout.create_serialize),
                ("create_fsync=0", |job| !job.files.layout.create_fsync),
                ("create_on_open=1", |job| job.files.layout.create_on_open),
                ("create_only=1", |job| job.files.layout.create_only),
                ("pre_read=1", |job| job.files.layout.pre_read),
                ("overwrite=1", |job| job.files.layout.overwrite),
                ("unlink=1", |job| job.files.removal.unlink),
                ("unlink_each_loop=1", |job| job.files.removal.unlink_each_loop),
                ("fadvise_hint=random", |job| job.files.hints.advice == Advice::Random),
                ("invalidate=0", |job| !job.files.hints.invalidate),
                ("write_hint=long", |job| job.files.hints.write_hint == Some(WriteLife::Long)),
            ],
        );
    }
}
