//! Facts that a replay of recorded calls needs in advance: files that must exist, the length of the recording, and
//! the threads that were alive at the same time.

mod files;
mod lanes;
mod shares;

use crate::error::TraceError;
use crate::outline::Recorded;
use crate::own::has_other_file;
use crate::record::{FileName, Record, RecordedAct, UNKNOWN_NS};
pub use crate::record::{end_of, open_flag};
use files::{Files, Kind, follow};
use lanes::lanes;
pub use shares::{Apart, Shares, shares};
use std::collections::HashMap;

/// Kind of an initial entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialKind {
    Directory,
    /// A file of this size.
    File {
        /// Size in bytes.
        bytes: u64,
    },
    /// A symbolic link; its target is not recorded.
    Link,
}

/// An entry that must exist before a recording begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InitialEntry {
    /// Number of the file.
    pub file: u32,
    pub kind: InitialKind,
}

/// Totals of one act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActSum {
    /// Number of records, including failures.
    pub count: u64,
    /// Number of failures.
    pub failed: u64,
    /// Bytes moved by this act.
    pub bytes: u64,
}

/// Requirements and totals of a whole recording of calls.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Survey {
    /// All its files, in the order of their first mention.
    pub files: Vec<FileName>,
    /// Entries that must exist before. Omits directories that contain another entry.
    pub initial: Vec<InitialEntry>,
    /// Names that must not exist before: the recording creates them, or finds them absent.
    pub absent: Vec<u32>,
    /// Highest offset of records in each file, bytes.
    pub reaches: Vec<u64>,
    /// Maximum total size of its files, in bytes.
    pub reach_bytes: u64,
    /// Process of each thread.
    pub processes: Vec<u32>,
    /// Lane of each thread: threads with disjoint lifetimes share one.
    pub lanes: Vec<u32>,
    /// Number of lanes.
    pub lane_count: u32,
    /// Totals by the number of the act.
    pub acts: [ActSum; 25],
    /// Start of the first record, ns.
    pub first_ns: u64,
    /// Start of the last record, ns.
    pub last_ns: u64,
    /// Latest known end of a record, ns.
    pub end_ns: u64,
    /// Sum of all known durations, ns.
    pub busy_ns: u64,
    /// Whether every record has a duration.
    pub has_durations: bool,
    /// Length of the largest read, in bytes.
    pub largest_read: u64,
    /// Length of the largest write, in bytes.
    pub largest_write: u64,
    /// Whether any op uses names or descriptors.
    pub has_names: bool,
    /// Number of records on unwanted files.
    pub skipped: u64,
    /// Whether it has descriptors and open flags.
    pub has_handles: bool,
    /// Number of waits of fio's version 2. Its manual and fio itself differ about them.
    pub waits: u64,
}

/// Reads a recording to its end. `wanted` selects files, and `own` threads; times are those of the whole recording.
///
/// # Errors
/// Returns the problem with the recording.
pub fn survey(
    mut reader: impl Recorded,
    wanted: impl Fn(&FileName) -> bool,
    own: impl Fn(u32) -> bool,
) -> Result<Survey, TraceError> {
    let mut survey = Survey { has_durations: true, first_ns: u64::MAX, ..Survey::default() };
    let mut known = Files::default();
    let mut keeps: Vec<bool> = Vec::new();
    let mut alive: Vec<(u64, u64)> = Vec::new();
    while let Some(record) = reader.next() {
        let record = record?;
        let names = reader.names();
        while keeps.len() < names.files().len() {
            keeps.push(wanted(&names.files()[keeps.len()]));
        }
        while survey.processes.len() < names.tasks().len() {
            survey.processes.push(names.tasks()[survey.processes.len()].process);
        }
        let other = has_other_file(record.act).then_some(record.aux as u32);
        if !own(record.task) {
            if is_replayed(record.act) && keeps.get(record.file as usize) == Some(&true) {
                survey.first_ns = survey.first_ns.min(record.at_ns);
            }
            continue;
        }
        let is_wanted = |file: u32| keeps.get(file as usize).copied().unwrap_or(false);
        if !is_wanted(record.file) || other.is_some_and(|other| !is_wanted(other)) {
            survey.skipped += 1;
            continue;
        }
        known.grow(record.file.max(other.unwrap_or(0)));
        if survey.reaches.len() <= record.file as usize {
            survey.reaches.resize(record.file as usize + 1, 0);
        }
        if record.act.moves_data() || record.act == RecordedAct::Trim {
            let reach = &mut survey.reaches[record.file as usize];
            *reach = (*reach).max(record.offset.saturating_add(record.length));
        }
        survey.count(&record);
        let task = record.task as usize;
        if alive.len() <= task {
            alive.resize(task + 1, (u64::MAX, 0));
        }
        let end_ns = end_of(&record);
        alive[task] = (alive[task].0.min(record.at_ns), alive[task].1.max(end_ns));
        let process = survey.processes.get(task).copied().unwrap_or(0);
        let is_new = [Some(record.file), other].map(|file| file.filter(|file| known.is_unknown(*file)));
        follow(&mut known, &record, process, other);
        survey.absent.extend(is_new[0].filter(|file| !known.may_have_existed(*file)));
        // A rename does not show whether its new name existed before.
        survey.absent.extend(is_new[1].filter(|file| !known.is_unknown(*file)));
    }
    survey.waits = reader.waits();
    survey.files = reader.names().files().to_vec();
    if survey.first_ns == u64::MAX {
        survey.first_ns = 0;
    }
    let mut reach: HashMap<u32, u64> = HashMap::new();
    for (number, object) in known.objects.iter().enumerate() {
        let largest = object.size.max(object.needed);
        reach.insert(number as u32, largest);
        let Some(file) = object.initial else { continue };
        let kind = match object.kind {
            Kind::Directory => InitialKind::Directory,
            Kind::Link => InitialKind::Link,
            Kind::File | Kind::Unknown => InitialKind::File { bytes: object.needed },
        };
        survey.initial.push(InitialEntry { file, kind });
    }
    survey.reach_bytes = reach.values().fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
    (survey.lanes, survey.lane_count) = lanes(&alive);
    Ok(survey)
}

/// Whether a replay performs this act. I/O through maps is not recorded.
fn is_replayed(act: RecordedAct) -> bool {
    !matches!(act, RecordedAct::Add | RecordedAct::Map | RecordedAct::Other)
}

impl Survey {
    fn count(&mut self, record: &Record) {
        let act = &mut self.acts[record.act as usize];
        act.count += 1;
        act.failed += u64::from(record.result < 0);
        let bytes = if record.act == RecordedAct::Trim { record.length } else { record.moved() };
        act.bytes = act.bytes.saturating_add(bytes);
        if !is_replayed(record.act) {
            return;
        }
        self.first_ns = self.first_ns.min(record.at_ns);
        self.last_ns = self.last_ns.max(record.at_ns);
        self.end_ns = self.end_ns.max(end_of(record));
        match record.took_ns {
            UNKNOWN_NS => self.has_durations = false,
            took_ns => self.busy_ns = self.busy_ns.saturating_add(took_ns),
        }
        match record.act {
            RecordedAct::Read => self.largest_read = self.largest_read.max(record.length),
            RecordedAct::Write => self.largest_write = self.largest_write.max(record.length),
            RecordedAct::Trim | RecordedAct::Sync | RecordedAct::Datasync | RecordedAct::Add => {}
            _ => self.has_names = true,
        }
        self.has_handles |= record.handle != 0;
        self.has_names |= record.handle != 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use crate::record::FileName;
    use std::io::Cursor;
    use std::path::Path;

    fn read_survey(text: &str) -> Survey {
        let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
        survey(crate::read(input, Path::new("r"), Waits::Manual).unwrap(), |_| true, |_| true).unwrap()
    }

    fn initial(text: &str) -> Vec<(String, InitialKind)> {
        let survey = read_survey(text);
        let mut found: Vec<_> =
            survey.initial.iter().map(|entry| (survey.files[entry.file as usize].to_string(), entry.kind)).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found
    }

    #[test]
    fn bytes_read_before_they_are_written_existed() {
        let found = initial(
            "7 1.0 openat(AT_FDCWD</w>, \"old\", O_RDWR) = 3</w/old> <0.1>\n\
             7 1.1 pread64(3</w/old>, \"\"..., 4096, 8192) = 4096 <0.1>\n\
             7 1.2 openat(AT_FDCWD</w>, \"new\", O_RDWR|O_CREAT, 0644) = 4</w/new> <0.1>\n\
             7 1.3 pwrite64(4</w/new>, \"\"..., 4096, 0) = 4096 <0.1>\n\
             7 1.4 pread64(4</w/new>, \"\"..., 4096, 0) = 4096 <0.1>\n\
             7 1.5 openat(AT_FDCWD</w>, \"was\", O_RDWR|O_CREAT, 0644) = 5</w/was> <0.1>\n\
             7 1.6 pread64(5</w/was>, \"\"..., 100, 0) = 100 <0.1>\n",
        );
        assert_eq!(
            found,
            [
                ("/w/old".to_owned(), InitialKind::File { bytes: 12288 }),
                ("/w/was".to_owned(), InitialKind::File { bytes: 100 })
            ]
        );
    }

    #[test]
    fn names_are_followed_through_renames_and_removals() {
        let found = initial(
            "7 1.0 rename(\"/w/a\", \"/w/b\") = 0 <0.1>\n\
             7 1.1 openat(AT_FDCWD</w>, \"b\", O_RDONLY) = 3</w/b> <0.1>\n\
             7 1.2 read(3</w/b>, \"\"..., 4096) = 1000 <0.1>\n\
             7 1.3 unlink(\"/w/b\") = 0 <0.1>\n\
             7 1.4 mkdir(\"/w/d\", 0755) = 0 <0.1>\n\
             7 1.5 stat(\"/w/none\", 0x7ff) = -1 ENOENT (No such file or directory) <0.1>\n\
             7 1.6 stat(\"/w/there\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.1>\n\
             7 1.7 rmdir(\"/w/old\") = 0 <0.1>\n\
             7 1.8 readlink(\"/w/link\", \"x\", 4096) = 1 <0.1>\n",
        );
        let file = |bytes| InitialKind::File { bytes };
        let expected = [
            ("/w/a", file(1000)),
            ("/w/link", InitialKind::Link),
            ("/w/old", InitialKind::Directory),
            ("/w/there", file(0)),
        ];
        assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn a_recording_of_block_io_has_no_names_and_one_of_descriptors_does() {
        assert!(!read_survey("fio version 3 iolog\n0 a add\n1 a read 0 512\n").has_names);
        let survey = read_survey("fio version 3 iolog\n0 a add\n1 a open\n1 a read 4096 512\n9 a write 0 512\n");
        assert!(survey.has_names && !survey.has_durations);
        assert_eq!((survey.last_ns, survey.largest_read, survey.largest_write), (9_000, 512, 512));
        assert_eq!(survey.files, [FileName::Path("a".to_owned())]);
        assert_eq!(survey.initial, [InitialEntry { file: 0, kind: InitialKind::File { bytes: 4608 } }]);
        assert_eq!((survey.absent, survey.reaches), (vec![], vec![4608]));
    }

    #[test]
    fn created_or_missing_names_did_not_exist() {
        let survey = read_survey(
            "7 1.0 mkdir(\"/w/d\", 0755) = 0 <0.1>\n\
             7 1.1 stat(\"/w/none\", 0x7ff) = -1 ENOENT (No such file or directory) <0.1>\n\
             7 1.2 rename(\"/w/d\", \"/w/e\") = 0 <0.1>\n\
             7 1.3 unlink(\"/w/was\") = 0 <0.1>\n",
        );
        let names: Vec<String> = survey.absent.iter().map(|file| survey.files[*file as usize].to_string()).collect();
        assert_eq!(names, ["/w/d", "/w/none", "/w/e"]);
    }
}
