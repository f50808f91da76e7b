//! Tracks the existing files through a recording, and finds those that existed before it.

use crate::record::{Record, RecordedAct, open_flag};
use std::collections::HashMap;

/// Error numbers of Linux, as in recordings.
const ENOENT: i64 = -2;
const EEXIST: i64 = -17;
const ENOTDIR: i64 = -20;
const EISDIR: i64 = -21;
const EINVAL: i64 = -22;

/// A file, independent of its current name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object {
    /// Its name before the recording began; `None` if the recording creates it.
    pub(super) initial: Option<u32>,
    pub(super) kind: Kind,
    /// Size that it must have had before, in bytes, if it existed.
    pub(super) needed: u64,
    /// Current size in bytes, as far as it is known.
    pub(super) size: u64,
    /// Whether its length comes from the recording: it was truncated or created.
    is_known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Unknown,
    File,
    Directory,
    Link,
}

/// Known state of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// Not seen yet.
    Unknown,
    Absent,
    Is(u32),
}

#[derive(Default)]
pub(super) struct Files {
    names: Vec<Name>,
    pub(super) objects: Vec<Object>,
    /// Objects by process and descriptor, or by file in recordings without descriptors.
    handles: HashMap<u64, (u32, u32)>,
}

impl Files {
    pub(super) fn grow(&mut self, file: u32) {
        let wanted = file as usize + 1;
        if self.names.len() < wanted {
            self.names.resize(wanted, Name::Unknown);
        }
    }

    fn object(&mut self, initial: Option<u32>, kind: Kind) -> u32 {
        let is_known = initial.is_none();
        self.objects.push(Object { initial, kind, needed: 0, size: 0, is_known });
        self.objects.len() as u32 - 1
    }

    /// Notes that a name exists. It existed before the recording if nothing shows otherwise.
    fn note_existing(&mut self, file: u32, kind: Kind) -> u32 {
        let number = match self.names[file as usize] {
            Name::Is(number) => number,
            // Absent: an unrecorded op created it, so it must also exist for the replay.
            Name::Unknown | Name::Absent => {
                let number = self.object(Some(file), Kind::Unknown);
                self.names[file as usize] = Name::Is(number);
                number
            }
        };
        let object = &mut self.objects[number as usize];
        if object.kind == Kind::Unknown {
            object.kind = kind;
        }
        number
    }

    pub(super) fn is_unknown(&self, file: u32) -> bool {
        self.names[file as usize] == Name::Unknown
    }

    /// Whether nothing contradicts its existence before the recording.
    pub(super) fn may_have_existed(&self, file: u32) -> bool {
        match self.names[file as usize] {
            Name::Unknown => true,
            // Removed: it existed before that.
            Name::Absent => self.objects.iter().any(|object| object.initial == Some(file)),
            Name::Is(number) => self.objects[number as usize].initial.is_some(),
        }
    }

    /// Notes that a name is created.
    fn note_created(&mut self, file: u32, kind: Kind) -> u32 {
        let number = self.object(None, kind);
        self.names[file as usize] = Name::Is(number);
        number
    }

    fn note_removed(&mut self, file: u32, kind: Kind) {
        self.note_existing(file, kind);
        self.names[file as usize] = Name::Absent;
    }

    /// Notes that a name did not exist, if nothing is known about it.
    fn note_absent(&mut self, file: u32) {
        if self.names[file as usize] == Name::Unknown {
            self.names[file as usize] = Name::Absent;
        }
    }

    /// Returns the object of a record.
    fn object_of_record(&mut self, record: &Record, process: u32) -> u32 {
        match self.handles.get(&handle_key(record, process)) {
            // A descriptor closed unseen by an exec may refer to another file by now.
            Some(&(number, file)) if file == record.file => number,
            _ => self.note_existing(record.file, Kind::Unknown),
        }
    }

    fn reads(&mut self, number: u32, end: u64) {
        let object = &mut self.objects[number as usize];
        if object.initial.is_some() && !object.is_known && end > object.size {
            object.needed = object.needed.max(end);
        }
        object.size = object.size.max(end);
        if object.kind == Kind::Unknown {
            object.kind = Kind::File;
        }
    }

    /// A write beyond the end counts as an append: programs append more often than they leave holes.
    fn writes(&mut self, number: u32, offset: u64, end: u64) {
        self.reads(number, if end > offset { offset } else { 0 });
        let object = &mut self.objects[number as usize];
        object.size = object.size.max(end);
    }
}

/// Returns the key of a descriptor. Recordings without descriptors have one per file.
fn handle_key(record: &Record, process: u32) -> u64 {
    match record.handle {
        0 => 1 << 63 | u64::from(record.file),
        handle => u64::from(process) << 32 & !(1 << 63) | u64::from(handle),
    }
}

/// Updates the files from a record.
pub(super) fn follow(files: &mut Files, record: &Record, process: u32, other: Option<u32>) {
    use RecordedAct::*;
    let (file, result, done) = (record.file, record.result, record.result >= 0);
    let by_handle = record.handle != 0 && record.act != Open;
    match (record.act, result) {
        (Open, ENOENT) if record.aux & open_flag::CREATE == 0 => files.note_absent(file),
        (Open | Mkdir | Symlink, EEXIST) => {
            let kind = if record.act == Mkdir { Kind::Directory } else { Kind::Unknown };
            files.note_existing(file, kind);
        }
        (Open, EISDIR) | (Unlink, EISDIR) => {
            files.note_existing(file, Kind::Directory);
        }
        (Open | List | Rmdir, ENOTDIR) if !by_handle => {}
        (Readlink, EINVAL) => {
            files.note_existing(file, Kind::Unknown);
        }
        (Stat | Unlink | Rmdir | Readlink | Attribute | Truncate, ENOENT) if !by_handle => files.note_absent(file),
        (_, ..0) => {}
        (Open, _) => {
            let flags = record.aux;
            let is_temporary = flags & open_flag::TEMPORARY == open_flag::TEMPORARY;
            let kind = if flags & open_flag::DIRECTORY != 0 && !is_temporary { Kind::Directory } else { Kind::Unknown };
            let creates = flags & open_flag::CREATE != 0;
            let is_new = creates && files.names[file as usize] == Name::Absent;
            let number = if is_temporary {
                files.note_existing(file, Kind::Directory);
                files.object(None, Kind::File)
            } else if flags & open_flag::EXCLUSIVE != 0 && creates || is_new {
                files.note_created(file, Kind::File)
            } else if creates && files.names[file as usize] == Name::Unknown {
                // Later reads show whether it existed.
                let number = files.object(Some(file), Kind::File);
                files.objects[number as usize].initial = None;
                files.objects[number as usize].is_known = false;
                files.names[file as usize] = Name::Is(number);
                number
            } else {
                files.note_existing(file, kind)
            };
            let object = &mut files.objects[number as usize];
            if flags & open_flag::TRUNCATE != 0 {
                (object.size, object.is_known) = (0, true);
            }
            files.handles.insert(handle_key(record, process), (number, file));
        }
        (Close, _) => {
            files.handles.remove(&handle_key(record, process));
        }
        (Read, _) if record.moved() > 0 => {
            let number = files.object_of_record(record, process);
            let end = record.offset.saturating_add(record.moved());
            let object = &mut files.objects[number as usize];
            // Opened with O_CREAT, and a read returns bytes that the recording never wrote: it existed before.
            if object.initial.is_none() && !object.is_known && end > object.size {
                object.initial = Some(file);
            }
            files.reads(number, end);
        }
        (Write, _) if record.moved() > 0 => {
            let number = files.object_of_record(record, process);
            let end = record.offset.saturating_add(record.moved());
            files.writes(number, record.offset, end);
        }
        (Read | Write | Seek | Sync | Datasync | SyncRange | Map, _) => {
            files.object_of_record(record, process);
        }
        (Trim | Allocate, _) => {
            let number = files.object_of_record(record, process);
            let grows = record.act == Allocate && record.aux & 1 == 0;
            if grows {
                let object = &mut files.objects[number as usize];
                object.size = object.size.max(record.offset.saturating_add(record.length));
            }
        }
        (Truncate, _) => {
            let number = files.object_of_record(record, process);
            let object = &mut files.objects[number as usize];
            (object.size, object.is_known) = (record.length, true);
        }
        (List, _) => {
            let number = files.object_of_record(record, process);
            files.objects[number as usize].kind = Kind::Directory;
        }
        (Stat | Attribute, _) if by_handle => {
            files.object_of_record(record, process);
        }
        (Stat | Attribute, _) => {
            files.note_existing(file, Kind::Unknown);
        }
        (Readlink, _) => {
            files.note_existing(file, Kind::Link);
        }
        (Unlink, _) => files.note_removed(file, Kind::Unknown),
        (Rmdir, _) => files.note_removed(file, Kind::Directory),
        (Mkdir, _) if done => {
            files.note_created(file, Kind::Directory);
        }
        (Symlink, _) => {
            files.note_created(file, Kind::Link);
        }
        (Rename, _) => {
            let number = files.note_existing(file, Kind::Unknown);
            if let Some(other) = other.filter(|other| *other != file) {
                files.names[file as usize] = Name::Absent;
                files.names[other as usize] = Name::Is(number);
            }
        }
        (Link, _) => {
            let number = files.note_existing(file, Kind::Unknown);
            if let Some(other) = other {
                files.names[other as usize] = Name::Is(number);
            }
        }
        (Add | SyncAll | Other | Mkdir, _) => {}
    }
}
