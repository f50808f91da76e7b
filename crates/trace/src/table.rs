//! Recordings as tables of text: one op per line, with columns given by a description. The
//! published traces are named descriptions.
//!
//! A description is the separator, a blank, and the columns, separated by commas:
//! `, time:us,op,offset,length`. See [`PRESETS`].

use crate::error::{LineProblem, TraceError};
use crate::lines::{LineParser, Sink, integer, scaled};
use crate::record::{FileName, Record, RecordedAct, Task};
use std::collections::HashSet;

/// A published format.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Name for options and messages.
    pub name: &'static str,
    /// Its columns, as a description.
    pub description: &'static str,
    /// Origin of the format.
    pub source: &'static str,
}

/// Published formats. `_` separates columns by blanks.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "spc",
        description: ", file,offset:512,length,op,time:s",
        source: "Storage Performance Council, trace file format 1.0.1 (UMass traces Financial, WebSearch)",
    },
    Preset {
        name: "msr",
        description: ", time:100ns,file,file,op,offset,length,took:100ns",
        source: "MSR Cambridge traces (SNIA IOTTA), README",
    },
    Preset {
        name: "alibaba",
        description: ", file,op,offset,length,time:us",
        source: "Alibaba block traces 2020, README",
    },
    Preset {
        name: "tencent",
        description: ", time:s,offset:512,length:512,op,file",
        source: "Tencent CBS traces (SNIA IOTTA), README",
    },
    Preset {
        name: "systor",
        description: ", time:s,took:s,op,file,offset,length",
        source: "SYSTOR '17 traces (SNIA IOTTA)",
    },
    Preset {
        name: "fiu",
        description: "_ time:ns,task,command,offset:512,length:512,op,major,minor",
        source: "FIU IODedup traces (SNIA IOTTA), README",
    },
    Preset {
        name: "fiu-files",
        description: "_ -,time:ns,op,file,-,offset,length",
        source: "FIU traces of non-blocking writes (SNIA IOTTA)",
    },
    Preset {
        name: "blkreplay",
        description: "; time:s,offset:512,length:512,op,-,took:s",
        source: "blkreplay's `.load` files",
    },
    Preset {
        name: "dxt",
        description: "_ layer,task,op,-,offset,length,time:s,end:s",
        source: "darshan-dxt-parser of Darshan 3",
    },
    Preset {
        name: "csv",
        description: ", time:ns,took:ns,op,file,offset,length,result,process,task,command",
        source: "what `plumb trace convert` writes as CSV",
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Column {
    Ignored,
    /// The interface that made an op, as Darshan names it.
    Layer,
    Time(u64),
    Took(u64),
    End(u64),
    Op,
    Offset(u64),
    Length(u64),
    File,
    Major,
    Minor,
    Process,
    Task,
    Command,
    Result,
}

/// Reads a table.
#[derive(Debug)]
pub(crate) struct Table {
    /// Separator; a blank matches any number of blanks.
    separator: char,
    columns: Vec<Column>,
    /// Whether a line has matched. Lines before that are a header.
    has_begun: bool,
    /// File of the following lines, if a comment names it, as in Darshan.
    file: Option<String>,
    /// Darshan's times are unsorted and count from the start of the job.
    is_relative: bool,
    /// Files whose POSIX calls, below MPI-IO, are recorded too.
    posix_files: HashSet<String>,
}

impl Table {
    /// Creates a reader for a description.
    pub(crate) fn new(description: &str) -> Result<Table, TraceError> {
        let invalid = |what: String| TraceError::Description { what };
        let known = PRESETS.iter().find(|preset| preset.name == description);
        let text = known.map_or(description, |preset| preset.description);
        let (separator, columns) = text
            .split_once(' ')
            .filter(|(separator, _)| separator.chars().count() == 1)
            .ok_or_else(|| invalid(format!("`{text}` must be a separator, a blank, and columns")))?;
        let separator =
            separator.chars().next().map_or(',', |separator| if separator == '_' { ' ' } else { separator });
        let columns: Vec<Column> = columns
            .split(',')
            .map(|word| column(word.trim()).ok_or_else(|| invalid(format!("`{word}` is not a column"))))
            .collect::<Result<_, _>>()?;
        let offsets = columns.iter().filter(|column| matches!(column, Column::Offset(_) | Column::Length(_))).count();
        if !columns.contains(&Column::Op) || offsets != 2 {
            return Err(invalid("the columns op, offset and length are needed".to_owned()));
        }
        let is_relative = columns.iter().any(|column| matches!(column, Column::End(_)));
        Ok(Table { separator, columns, has_begun: false, file: None, is_relative, posix_files: HashSet::new() })
    }
}

fn column(word: &str) -> Option<Column> {
    let (name, unit) = word.split_once(':').unwrap_or((word, ""));
    let unit = match unit {
        "" => 1,
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        "100ns" => 100,
        number => number.parse().ok().filter(|&number| number > 0)?,
    };
    Some(match name {
        "-" => Column::Ignored,
        "layer" => Column::Layer,
        "time" => Column::Time(unit),
        "took" => Column::Took(unit),
        "end" => Column::End(unit),
        "op" => Column::Op,
        "offset" => Column::Offset(unit),
        "length" => Column::Length(unit),
        "file" => Column::File,
        "major" => Column::Major,
        "minor" => Column::Minor,
        "process" => Column::Process,
        "task" => Column::Task,
        "command" => Column::Command,
        "result" => Column::Result,
        _ => return None,
    })
}

/// Parses the various names of ops.
fn op(word: &str) -> Option<RecordedAct> {
    Some(match word.to_ascii_lowercase().as_str() {
        "r" | "0" | "rs" | "ra" => RecordedAct::Read,
        "w" | "1" | "ws" | "append" => RecordedAct::Write,
        "d" | "discard" | "t" => RecordedAct::Trim,
        "f" | "flush" => RecordedAct::Sync,
        other => RecordedAct::named(other).or_else(|| RecordedAct::named(&format!("f{other}")))?,
    })
}

impl LineParser for Table {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if let Some((_, name)) = comment.split_once("file_name: ") {
                self.file = Some(name.trim().to_owned());
            }
            return Ok(());
        }
        if self.repeats_posix(line) {
            return Ok(());
        }
        match self.record(line, sink) {
            Ok(record) => {
                self.has_begun = true;
                sink.pending.whole(record);
                Ok(())
            }
            // A header, such as column names or free text. But a line that contains an op is an error.
            Err(_) if !self.has_begun && !self.has_op(line) => Ok(()),
            Err(problem) => Err(problem),
        }
    }
}

impl Table {
    fn words<'a>(&self, line: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match self.separator {
            ' ' => Box::new(line.split_ascii_whitespace()),
            separator => Box::new(line.split(separator).map(str::trim)),
        }
    }

    /// Returns `true` for an MPI-IO call on a file whose POSIX calls are in the recording: they are the same bytes,
    /// one layer lower. darshan-dxt-parser prints those first.
    fn repeats_posix(&mut self, line: &str) -> bool {
        let Some(at) = self.columns.iter().position(|column| *column == Column::Layer) else { return false };
        let file = self.file.as_deref().unwrap_or_default();
        let is_known = self.posix_files.contains(file);
        match self.words(line).nth(at) {
            Some("X_POSIX") if !is_known => {
                self.posix_files.insert(file.to_owned());
                false
            }
            Some("X_MPIIO") => is_known,
            _ => false,
        }
    }

    fn has_op(&self, line: &str) -> bool {
        self.columns.iter().zip(self.words(line)).any(|(column, word)| *column == Column::Op && op(word).is_some())
    }

    fn record(&self, line: &str, sink: &mut Sink) -> Result<Record, LineProblem> {
        let (mut at_ns, mut took_ns, mut end_ns, mut act) = (0, None, None, None);
        let (mut offset, mut length, mut result) = (0, 0, None);
        let mut file = self.file.clone().unwrap_or_default();
        let (mut major, mut minor, mut task) = (None, None, Task::default());
        let mut words = self.words(line);
        for &column in &self.columns {
            let word = match words.next() {
                Some(word) if !word.is_empty() => word,
                // Flushes have no range, and trailing columns may be missing.
                _ if act.is_some_and(|act: RecordedAct| !act.moves_data()) => break,
                _ if matches!(
                    column,
                    Column::Ignored
                        | Column::Layer
                        | Column::Took(_)
                        | Column::Result
                        | Column::Command
                        | Column::Process
                        | Column::Task
                ) =>
                {
                    continue;
                }
                _ => return Err(LineProblem::Missing { what: name_of(column) }),
            };
            let not_a_number = || LineProblem::NoNumber { word: word.to_owned(), what: name_of(column) };
            let number = |unit: u64| scaled(word, unit).ok_or_else(not_a_number);
            let small = || word.parse::<u32>().map_err(|_| not_a_number());
            match column {
                Column::Ignored | Column::Layer => {}
                Column::Time(unit) => at_ns = number(unit)?,
                // No op takes zero time: some formats write 0 for unknown.
                Column::Took(unit) => took_ns = Some(number(unit)?).filter(|took_ns| *took_ns > 0),
                Column::End(unit) => end_ns = Some(number(unit)?),
                Column::Op => act = Some(op(word).ok_or_else(|| LineProblem::UnknownAct { act: word.to_owned() })?),
                Column::Offset(unit) => offset = number(unit)?,
                Column::Length(unit) => length = number(unit)?,
                Column::File => {
                    if !file.is_empty() {
                        file.push('.');
                    }
                    file.push_str(word);
                }
                Column::Major => major = Some(small()?),
                Column::Minor => minor = Some(small()?),
                Column::Process => task.process = small()?,
                Column::Task => task.thread = small()?,
                Column::Command => task.command = word.to_owned(),
                Column::Result => result = Some(integer(word).ok_or_else(not_a_number)?),
            }
        }
        let act = act.ok_or(LineProblem::NoAct)?;
        let number = match (major, minor, device(&file)) {
            (Some(major), Some(minor), _) | (None, None, Some((major, minor))) => {
                sink.names.file(FileName::Device { major, minor })
            }
            _ => sink.names.path(if file.is_empty() { "device" } else { &file }),
        };
        if !self.is_relative {
            at_ns = sink.since_first(at_ns);
        }
        let mut record = Record::ranged(at_ns, number, act, offset, length);
        if task.process == 0 {
            task.process = task.thread;
        }
        record.task = sink.names.task(task);
        record.took_ns = took_ns.or(end_ns.map(|end_ns| end_ns.saturating_sub(at_ns))).unwrap_or(record.took_ns);
        record.result = result.unwrap_or(record.result);
        Ok(record)
    }
}

/// Parses the numbers of a device from its printed name.
fn device(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("device ")?.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn name_of(column: Column) -> &'static str {
    match column {
        Column::Ignored => "column",
        Column::Layer => "layer",
        Column::Time(_) => "time",
        Column::Took(_) => "duration",
        Column::End(_) => "end",
        Column::Op => "op",
        Column::Offset(_) => "offset",
        Column::Length(_) => "length",
        Column::File => "file",
        Column::Major | Column::Minor => "number of a device",
        Column::Process | Column::Task => "number of a process",
        Column::Command => "command",
        Column::Result => "result",
    }
}

/// Detects the published format of a first line.
pub(crate) fn detect(line: &str) -> Option<&'static str> {
    if line.starts_with("# DXT") {
        return Some("dxt");
    }
    if line.starts_with("time,took,op,file,") {
        return Some("csv");
    }
    let is_number = |word: Option<&&str>| word.is_some_and(|word| scaled(word, 1).is_some());
    let is_letter = |word: Option<&&str>| word.is_some_and(|word| matches!(*word, "R" | "W" | "r" | "w"));
    let columns: Vec<&str> = line.trim().split(',').collect();
    let at = |place: usize| columns.get(place);
    if columns.len() >= 5 {
        if columns.len() == 7 && matches!(columns[3], "Read" | "Write") && is_number(at(0)) && is_number(at(6)) {
            return Some("msr");
        }
        if is_letter(at(1)) && [2, 3, 4].iter().all(|&place| is_number(at(place))) {
            return Some("alibaba");
        }
        if is_letter(at(3)) && [1, 2, 4].iter().all(|&place| is_number(at(place))) {
            return Some("spc");
        }
        if is_letter(at(2)) && columns.len() == 6 && is_number(at(0)) && is_number(at(5)) {
            return Some("systor");
        }
        if columns.len() == 5 && matches!(columns[3], "0" | "1") && (0..5).all(|place| is_number(at(place))) {
            return Some("tencent");
        }
    }
    let parts: Vec<&str> = line.split(';').map(str::trim).collect();
    if parts.len() >= 4 && is_letter(parts.get(3)) && is_number(parts.first()) {
        return Some("blkreplay");
    }
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.len() >= 8 && is_letter(words.get(5)) && is_number(words.first()) && is_number(words.get(3)) {
        return Some("fiu");
    }
    let is_vfs = |word: &&str| matches!(*word, "READ" | "WRITE" | "OPEN" | "CLOSE" | "FSYNC");
    if words.len() >= 5 && words.get(2).is_some_and(is_vfs) && is_number(words.first()) && is_number(words.get(1)) {
        return Some("fiu-files");
    }
    None
}
