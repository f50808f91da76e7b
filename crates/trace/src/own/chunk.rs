//! A chunk: the names that its records use, then a column for each field.

use super::bits::{put_varint, take, varint};
use super::column::{Sign, Tables, decode, encode};
use super::{BlockHeader, BlockKind};
use crate::names::Names;
use crate::record::{FileName, Record, RecordedAct, Task, UNKNOWN_NS};

/// Maximum number of records in a chunk.
pub const CHUNK_RECORDS_MAX: usize = 1 << 16;

/// The columns, in their order in the file.
const COLUMNS: [Sign; 11] = {
    use Sign::{Signed, Unsigned};
    // Act, flags, time, duration, task, file, offset, length, result, aux, handle.
    [Unsigned, Unsigned, Unsigned, Unsigned, Unsigned, Unsigned, Signed, Unsigned, Signed, Unsigned, Unsigned]
};

/// Whether an act's offset continues from its file's last.
fn has_range(act: RecordedAct) -> bool {
    use RecordedAct::{Allocate, Map, Read, Seek, SyncRange, Trim, Write};
    matches!(act, Read | Write | Trim | Allocate | SyncRange | Map | Seek)
}

/// Whether an act's `aux` is the number of a file.
pub(crate) fn has_other_file(act: RecordedAct) -> bool {
    matches!(act, RecordedAct::Rename | RecordedAct::Link)
}

/// Maps numbers of the whole recording to those of a chunk.
#[derive(Debug, Default)]
struct Local {
    /// For each number: the chunk that it was last used in, and its number there.
    seen: Vec<(u64, u32)>,
    chunk: u64,
    used: Vec<u32>,
}

impl Local {
    fn begin(&mut self) {
        self.chunk += 1;
        self.used.clear();
    }

    fn number(&mut self, global: u32) -> u32 {
        let place = global as usize;
        if place >= self.seen.len() {
            self.seen.resize(place + 1, (0, 0));
        }
        if self.seen[place].0 != self.chunk {
            self.seen[place] = (self.chunk, self.used.len() as u32);
            self.used.push(global);
        }
        self.seen[place].1
    }
}

#[derive(Debug, Default)]
pub(super) struct Encoder {
    files: Local,
    tasks: Local,
    columns: [Vec<u64>; COLUMNS.len()],
    ends: Vec<u64>,
}

impl Encoder {
    /// Returns the bytes of a chunk with its header. Sorts its records by time.
    pub(super) fn chunk(&mut self, records: &mut [Record], names: &Names) -> Vec<u8> {
        records.sort_by_key(|record| record.at_ns);
        let first_ns = records.first().map_or(0, |record| record.at_ns);
        let last_ns = records.last().map_or(0, |record| record.at_ns);
        self.files.begin();
        self.tasks.begin();
        self.ends.clear();
        self.columns.iter_mut().for_each(Vec::clear);
        let (mut before_ns, mut before_file, mut highest) = (first_ns, u32::MAX, 0);
        for record in records.iter() {
            let known = self.files.used.len() as u32;
            let file = self.files.number(record.file);
            let aux = match has_other_file(record.act) {
                true => self
                    .files
                    .number(u32::try_from(record.aux).unwrap_or(u32::MAX).min(names.files().len() as u32))
                    .into(),
                false => record.aux,
            };
            let file_code = if file == before_file {
                0
            } else if file == known {
                1
            } else {
                2 + u64::from(highest.max(known) - file)
            };
            (before_file, highest) = (file, self.files.used.len() as u32);
            self.ends.resize(self.files.used.len(), 0);
            let end = &mut self.ends[file as usize];
            let offset = if has_range(record.act) { record.offset.wrapping_sub(*end) } else { record.offset };
            if has_range(record.act) {
                *end = record.offset.wrapping_add(record.length);
            }
            let fields = [
                record.act as u64,
                record.flags.into(),
                record.at_ns - before_ns,
                if record.took_ns == UNKNOWN_NS { 0 } else { record.took_ns + 1 },
                self.tasks.number(record.task).into(),
                file_code,
                offset,
                record.length,
                record.result.wrapping_sub(record.expected_result()) as u64,
                aux,
                record.handle.into(),
            ];
            before_ns = record.at_ns;
            self.columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field));
        }
        let mut payload = Vec::new();
        self.put_names(names, &mut payload);
        for (column, sign) in self.columns.iter().zip(COLUMNS) {
            encode(column, sign, &mut payload);
        }
        let header = BlockHeader {
            kind: BlockKind::Chunk,
            payload_bytes: payload.len() as u32,
            count: records.len() as u32,
            payload_crc: crc32c::crc32c(&payload),
            first_ns,
            last_ns,
        };
        [header.to_bytes().as_slice(), &payload].concat()
    }

    fn put_names(&self, names: &Names, out: &mut Vec<u8>) {
        put_varint(out, self.files.used.len() as u64);
        let unknown = FileName::Path(String::new());
        let mut before = "";
        for &number in &self.files.used {
            match names.files().get(number as usize).unwrap_or(&unknown) {
                FileName::Device { major, minor } => {
                    out.push(1);
                    put_varint(out, (*major).into());
                    put_varint(out, (*minor).into());
                }
                FileName::Path(path) => {
                    let same = path.bytes().zip(before.bytes()).take_while(|(one, other)| one == other).count();
                    out.push(0);
                    put_varint(out, same as u64);
                    put_varint(out, (path.len() - same) as u64);
                    out.extend_from_slice(&path.as_bytes()[same..]);
                    before = path;
                }
            }
        }
        put_varint(out, self.tasks.used.len() as u64);
        let unknown = Task::default();
        for &number in &self.tasks.used {
            let task = names.tasks().get(number as usize).unwrap_or(&unknown);
            put_varint(out, task.process.into());
            put_varint(out, task.thread.into());
            put_varint(out, task.command.len() as u64);
            out.extend_from_slice(task.command.as_bytes());
        }
    }
}

#[derive(Debug, Clone)]
pub struct RawChunk {
    /// Offset of its header in the file, in bytes.
    pub at: u64,
    pub(super) count: u32,
    pub(super) payload_crc: u32,
    pub(super) first_ns: u64,
    pub(super) payload: Vec<u8>,
}

/// A chunk's records, with the chunk's own numbers for files and tasks.
#[derive(Debug, Default)]
pub struct Decoded {
    pub records: Vec<Record>,
    files: Vec<FileName>,
    tasks: Vec<Task>,
}

/// Maps numbers of a chunk to those of the whole recording.
pub(crate) struct Numbers {
    files: Vec<u32>,
    tasks: Vec<u32>,
}

impl Numbers {
    /// Replaces a record's numbers with those of the whole recording.
    #[inline]
    pub(crate) fn apply(&self, record: &mut Record) {
        // Checked when the chunk was decoded.
        record.file = self.files.get(record.file as usize).copied().unwrap_or(0);
        record.task = self.tasks.get(record.task as usize).copied().unwrap_or(0);
        if has_other_file(record.act) {
            record.aux = self.files.get(record.aux as usize).copied().unwrap_or(0).into();
        }
    }
}

impl Decoded {
    /// Returns the whole recording's numbers for the chunk's files and tasks. Adds new names.
    pub(crate) fn numbers(&mut self, names: &mut Names) -> Numbers {
        Numbers {
            files: self.files.drain(..).map(|name| names.file(name)).collect(),
            tasks: self.tasks.drain(..).map(|task| names.task(task)).collect(),
        }
    }

    /// Replaces the chunk's numbers with those of the whole recording.
    pub fn number(&mut self, names: &mut Names) {
        let numbers = self.numbers(names);
        self.records.iter_mut().for_each(|record| numbers.apply(record));
    }
}

#[derive(Debug, Default)]
pub struct Decoder {
    tables: Tables,
    columns: [Vec<u64>; COLUMNS.len()],
    ends: Vec<u64>,
}

impl Decoder {
    /// Decodes the records of a chunk.
    ///
    /// # Errors
    /// Returns the problem with the chunk.
    pub fn decode(&mut self, chunk: &RawChunk, out: &mut Decoded) -> Result<(), &'static str> {
        if crc32c::crc32c(&chunk.payload) != chunk.payload_crc {
            return Err("the checksum of the chunk is wrong");
        }
        let count = chunk.count as usize;
        if count > CHUNK_RECORDS_MAX {
            return Err("the chunk has too many records");
        }
        let mut input = chunk.payload.as_slice();
        names(&mut input, out)?;
        for column in &mut self.columns {
            decode(&mut input, count, &mut self.tables, column)?;
        }
        if !input.is_empty() {
            return Err("bytes are left over after the last column");
        }
        out.records.clear();
        out.records.reserve(count);
        self.ends.clear();
        self.ends.resize(out.files.len(), 0);
        let [acts, flags, times, took, tasks, files, offsets, lengths, results, auxes, handles] = &self.columns;
        let (mut at_ns, mut file, mut known) = (chunk.first_ns, u64::MAX, 0_u64);
        let fields = acts.iter().zip(flags).zip(times).zip(took).zip(tasks).zip(files);
        let fields = fields.zip(offsets).zip(lengths).zip(results).zip(auxes).zip(handles);
        for ((((((((((&act, &flags), &time), &took), &task), &code), &offset), &length), &result), &aux), &handle) in
            fields
        {
            let act = RecordedAct::numbered(act).ok_or("unknown act")?;
            at_ns = at_ns.wrapping_add(time);
            match code {
                0 => {}
                1 => {
                    file = known;
                    known += 1;
                }
                back => file = known.wrapping_sub(back - 2),
            }
            if has_other_file(act) {
                known = known.max(aux.saturating_add(1));
                if aux >= self.ends.len() as u64 {
                    return Err("the number of a file is too high");
                }
            }
            let end = usize::try_from(file).ok().and_then(|file| self.ends.get_mut(file));
            let end = end.ok_or("the number of a file is too high")?;
            if task >= out.tasks.len() as u64 {
                return Err("the number of a task is too high");
            }
            let mut record = Record {
                at_ns,
                took_ns: if took == 0 { UNKNOWN_NS } else { took - 1 },
                offset,
                length,
                result: 0,
                aux,
                file: file as u32,
                task: task as u32,
                handle: handle as u32,
                act,
                flags: flags as u8,
            };
            if has_range(act) {
                record.offset = offset.wrapping_add(*end);
                *end = record.offset.wrapping_add(length);
            }
            record.result = record.expected_result().wrapping_add(result as i64);
            out.records.push(record);
        }
        Ok(())
    }
}

fn names(input: &mut &[u8], out: &mut Decoded) -> Result<(), &'static str> {
    const SHORT: &str = "a name is cut off";
    out.files.clear();
    out.tasks.clear();
    let mut path = Vec::new();
    for _ in 0..varint(input).ok_or(SHORT)? {
        let name = match take(input, 1).ok_or(SHORT)? {
            [1] => {
                let mut number = || varint(input).and_then(|number| u32::try_from(number).ok());
                let (major, minor) = (number().ok_or(SHORT)?, number().ok_or(SHORT)?);
                FileName::Device { major, minor }
            }
            _ => {
                let same = varint(input).ok_or(SHORT)?;
                let rest = varint(input).ok_or(SHORT)?;
                if same > path.len() as u64 {
                    return Err("a name shares more bytes with the previous one than that has");
                }
                path.truncate(same as usize);
                path.extend_from_slice(take(input, rest).ok_or(SHORT)?);
                FileName::Path(String::from_utf8(path.clone()).map_err(|_| "a name is not UTF-8")?)
            }
        };
        out.files.push(name);
    }
    for _ in 0..varint(input).ok_or(SHORT)? {
        let mut number = || varint(input).and_then(|number| u32::try_from(number).ok());
        let (process, thread) = (number().ok_or(SHORT)?, number().ok_or(SHORT)?);
        let size = varint(input).ok_or(SHORT)?;
        let command = take(input, size).ok_or(SHORT)?;
        let command = String::from_utf8(command.to_vec()).map_err(|_| "a name is not UTF-8")?;
        out.tasks.push(Task { process, thread, command });
    }
    Ok(())
}

/// A part of a file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Offset of the part, in bytes.
    pub at: u64,
    pub reason: &'static str,
}
