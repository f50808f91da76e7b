//! Which files and devices, how they are made, opened and left.

use super::kind::{ANY, Kind, Slots, Special, at_least};
use super::{Category, Shelf, Tier, row};

/// Which files and devices, how they are made, opened and left.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Files,
    options: &[
        row("filename", Tier::One, Kind::Names)
            .last()
            .doc("The files or devices to work on, shared by all copies of the job."),
        row("directory", Tier::One, Kind::Names)
            .doc("Where generated files go; several are used in turn by the copies of the job."),
        row("filename_format", Tier::Two, Kind::Text)
            .default("$jobname.$jobnum.$filenum")
            .last()
            .doc("How generated files are named, from $jobname, $jobnum, $filenum and $clientuid."),
        row("unique_filename", Tier::Two, Kind::Switch)
            .default("1")
            .doc("Prefix generated names with the client's address in client and server runs."),
        row("filetype", Tier::Two, Kind::Choice(&["none", "file", "block", "char"]))
            .default("none")
            .doc("What kind of file the names stand for, where it cannot be seen."),
        row("opendir", Tier::Two, Kind::Names).doc("Work on every file found below these directories."),
        row("nrfiles", Tier::One, Kind::Whole(Slots::One, ANY))
            .or("nr_files")
            .default("1")
            .doc("Spread the job over so many files."),
        row("openfiles", Tier::One, Kind::Whole(Slots::One, ANY)).doc("Keep at most so many of them open at once."),
        row("file_service_type", Tier::Two, Kind::Special(Special::FileService))
            .default("roundrobin")
            .doc("Which file the next op goes to."),
        row("lockfile", Tier::Two, Kind::Choice(&["none", "exclusive", "readwrite"]))
            .default("none")
            .first()
            .doc("Lock a file before working on it: not at all, one user at a time, or many readers and one writer."),
        row("filesize", Tier::One, Kind::Wide(Slots::Two, at_least(1)))
            .doc("Size of each file; a range draws each size at random."),
        row("file_append", Tier::Two, Kind::Switch).default("0").doc("Work beyond the present end of the file."),
        row("fill_device", Tier::Two, Kind::Switch)
            .or("fill_fs")
            .default("0")
            .doc("Write until no space is left, and treat that as the end."),
        row("fallocate", Tier::One, Kind::Choice(&["none", "native", "posix", "keep", "truncate", "0", "1"]))
            .default("native")
            .doc("How space is reserved when a file is laid out."),
        row("allow_file_create", Tier::Two, Kind::Switch).default("1").doc("Make files that are missing."),
        row("allow_mounted_write", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Permit writes to a device that is mounted."),
        row("create_serialize", Tier::Two, Kind::Switch).default("1").doc("Lay files out one job at a time."),
        row("create_fsync", Tier::Two, Kind::Switch).default("1").doc("Sync a file after laying it out."),
        row("create_on_open", Tier::One, Kind::Switch)
            .default("0")
            .doc("Make each file when it is first opened, not beforehand."),
        row("create_only", Tier::Two, Kind::Switch).default("0").doc("Lay the files out and do nothing else."),
        row("pre_read", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Read all files into the page cache before the work begins."),
        row("overwrite", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Lay files out fully before writing, so that writes overwrite."),
        row("unlink", Tier::One, Kind::Switch).default("0").doc("Remove the job's files when it is done."),
        row("unlink_each_loop", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Remove the job's files between loops; those of the last one stay."),
        row("fadvise_hint", Tier::Two, Kind::Choice(&["0", "1", "random", "sequential", "noreuse"]))
            .default("1")
            .doc("What the kernel is told about the access pattern."),
        row("invalidate", Tier::One, Kind::Switch).default("1").doc(
            "Drop the pages of the files from the page cache before the work begins, before it is done again, and \
                 before it is read back.",
        ),
        row("write_hint", Tier::Two, Kind::Choice(&["none", "short", "medium", "long", "extreme"]))
            .doc("How long written data is expected to live."),
    ],
};
