//! The job itself, and its files.

use super::keywords::{Advice, Fallocate, FileType, LockFile, Word, WriteHint};
use super::values::Values;
use crate::fio::value::Between;
use crate::fio::value::distribution::FileService;
use plumb_workload::Nanos;

/// The job itself: its name, copies, order and group.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// A sentence for people.
    pub description: Option<String>,
    /// So many copies, each with files and offsets of its own.
    pub numjobs: u32,
    /// The copies are threads of one process.
    pub thread: bool,
    /// Wait for all earlier jobs, and open a new group.
    pub stonewall: bool,
    /// Wait for this earlier job.
    pub wait_for: Option<String>,
    /// Open a new group.
    pub new_group: bool,
    /// Report the jobs of the group as one.
    pub group_reporting: bool,
    /// Do it all so many times.
    pub loops: u32,
    /// Wait so long first.
    pub start_delay: Between<Nanos>,
    /// Niceness, -20 to 19.
    pub nice: i32,
    /// Run as this user.
    pub uid: Option<u32>,
    /// Run as this group.
    pub gid: Option<u32>,
    /// The control group that it runs in.
    pub cgroup: Option<String>,
    /// That group's share of I/O.
    pub cgroup_weight: Option<u32>,
    /// That group stays.
    pub cgroup_nodelete: bool,
    /// Run this command line before.
    pub exec_prerun: Option<String>,
    /// Run this command line after.
    pub exec_postrun: Option<String>,
}

impl Identity {
    pub(super) fn of(values: &Values) -> Identity {
        Identity {
            description: values.text("description"),
            numjobs: values.count("numjobs"),
            thread: values.switch("thread"),
            stonewall: values.switch("stonewall"),
            wait_for: values.text("wait_for"),
            new_group: values.switch("new_group"),
            group_reporting: values.switch("group_reporting"),
            loops: values.count("loops"),
            start_delay: values.time_between("startdelay").unwrap_or(Between { low: Nanos(0), high: Nanos(0) }),
            nice: values.maybe_whole("nice").and_then(|nice| i32::try_from(nice).ok()).unwrap_or(0),
            uid: values.maybe_count("uid"),
            gid: values.maybe_count("gid"),
            cgroup: values.text("cgroup"),
            cgroup_weight: values.maybe_count("cgroup_weight"),
            cgroup_nodelete: values.switch("cgroup_nodelete"),
            exec_prerun: values.text("exec_prerun"),
            exec_postrun: values.text("exec_postrun"),
        }
    }
}

/// Which files and devices, how they are made, opened and left.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSet {
    /// Named files and devices; names are generated where there are none.
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
    /// So many files, where names are generated.
    pub nrfiles: u32,
    /// At most so many open at once.
    pub openfiles: Option<u32>,
    /// Which file the next op goes to.
    pub service: FileService,
    /// How files are locked.
    pub lock: LockFile,
    /// Bytes of each file.
    pub filesize: Option<Between<u64>>,
    /// Work beyond the present end.
    pub append: bool,
    /// Write until no space is left.
    pub fill_device: bool,
    /// How space is reserved.
    pub fallocate: Fallocate,
    /// Make files that are missing.
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
    /// What the kernel is told about the pattern.
    pub advice: Advice,
    /// Drop the files' pages from the page cache first.
    pub invalidate: bool,
    /// How long written data is expected to live.
    pub write_hint: Option<WriteHint>,
}

impl FileSet {
    pub(super) fn of(values: &Values) -> FileSet {
        FileSet {
            filenames: values.names("filename"),
            directories: values.names("directory"),
            filename_format: values.text("filename_format").unwrap_or_default(),
            unique_filename: values.switch("unique_filename"),
            filetype: FileType::of(values),
            opendirs: values.names("opendir"),
            nrfiles: values.count("nrfiles").max(1),
            openfiles: values.count_unless_zero("openfiles"),
            service: values.file_service("file_service_type").unwrap_or(FileService::RoundRobin { ops: 1 }),
            lock: LockFile::of(values),
            filesize: values.wide_between("filesize"),
            append: values.switch("file_append"),
            fill_device: values.switch("fill_device"),
            fallocate: Fallocate::of(values),
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
            write_hint: WriteHint::maybe(values),
        }
    }
}
