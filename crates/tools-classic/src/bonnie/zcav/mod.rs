//! `zcav`, part of Bonnie++: the speed of a device from start to end.
//!
//! [`ZcavSettings::read`] parses its command line, [`lower`](lower::lower) creates one phase with one worker per
//! device, and [`print`] prints the times of the blocks.

pub mod lower;
pub mod print;
#[cfg(test)]
mod tests;

use super::Refusal;
use super::keywords::{Options, number, without_compat};

const MIB: u64 = 1 << 20;
/// Maximum size of a device in MiB.
const MOST_MIB: i64 = 1 << 40;

/// A device or file, and the destination of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZcavDevice {
    pub path: String,
    /// `-l`; `None` for standard output.
    pub log: Option<String>,
}

impl ZcavDevice {
    /// Whether the path is `-`.
    pub(crate) fn is_standard_input(&self) -> bool {
        self.path == "-"
    }

    pub fn file(&self) -> &str {
        if self.is_standard_input() { "/dev/stdin" } else { &self.path }
    }
}

/// Options of a `zcav` command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZcavSettings {
    /// Count like 2.00a, even if wrong (`--compat=strict`).
    pub is_exact: bool,
    /// `-b`, in MiB: the size of a block, which gets a line.
    pub block_mib: i64,
    /// In MiB, after the colon of `-b`: the size of a call.
    pub chunk_mib: i64,
    pub loops: i64,
    /// `-r`, in MiB; whole blocks before it are skipped.
    pub start_mib: i64,
    /// `-r`, in MiB; `None` for the end of the device.
    pub end_mib: Option<i64>,
    /// `-s`: only every Nth block.
    pub every: i64,
    pub writes: bool,
    pub user: Option<String>,
    /// `-g`, or after the colon of `-u`.
    pub group: Option<String>,
    /// Devices that are read or written at the same time.
    pub devices: Vec<ZcavDevice>,
}

impl ZcavSettings {
    /// Parses a command line without the program name, which is `called`.
    ///
    /// # Errors
    ///
    /// Messages about arguments that are invalid.
    pub fn read(called: &str, words: &[String]) -> Result<ZcavSettings, Refusal> {
        let (is_exact, words) = without_compat(words)?;
        let mut settings = ZcavSettings {
            is_exact,
            block_mib: 512,
            chunk_mib: 1,
            loops: 1,
            start_mib: 0,
            end_mib: None,
            every: 1,
            writes: false,
            user: None,
            group: None,
            devices: Vec::new(),
        };
        let mut log = None;
        let mut operands = 0;
        let mut options = Options::new(called, "b:c:f:g:l:r:s:u:w", &words);
        loop {
            let next = options.next();
            // A log's name applies only to the next file.
            for path in &options.operands()[operands..] {
                settings.devices.push(ZcavDevice { path: path.clone(), log: log.take() });
            }
            operands = options.operands().len();
            let Some(next) = next else { break };
            let (letter, value) = next.map_err(|error| usage(&error.to_string()))?;
            match (letter, value.unwrap_or_default()) {
                ('f', path) => settings.devices.push(ZcavDevice { path, log: log.take() }),
                ('l', path) => log = Some(path),
                (letter, value) => settings.take(letter, &value)?,
            }
        }
        if settings.writes && settings.devices.iter().any(ZcavDevice::is_standard_input) {
            return Err(Refusal("-: standard input is read and not written to; name the file\n".to_owned()));
        }
        let right = !settings.devices.is_empty()
            && (1..=MOST_MIB).contains(&settings.block_mib)
            && (1..=settings.block_mib.min(1024)).contains(&settings.chunk_mib)
            && (1..=1000).contains(&settings.loops)
            && settings.end_mib.is_none_or(|end| end > settings.start_mib && end <= MOST_MIB);
        if right { Ok(settings) } else { Err(usage("")) }
    }

    fn take(&mut self, letter: char, value: &str) -> Result<(), Refusal> {
        match letter {
            'b' => {
                let (block, chunk) = value.split_once(':').map_or((value, None), |(block, chunk)| (block, Some(chunk)));
                self.block_mib = number(block);
                self.chunk_mib = chunk.map_or(self.chunk_mib, number);
            }
            'c' => self.loops = number(value),
            'g' => self.group = Some(value.to_owned()),
            'r' => match value.split_once(':') {
                Some((start, end)) => {
                    self.start_mib = number(start);
                    self.end_mib = Some(number(end));
                    // The tool's message for an invalid start.
                    if self.start_mib <= 0 {
                        return Err(usage(""));
                    }
                }
                None => self.end_mib = Some(number(value)),
            },
            's' => {
                self.every = number(value);
                if !(2..=20).contains(&self.every) {
                    return Err(usage(""));
                }
            }
            'u' => {
                let (user, group) = value.split_once(':').map_or((value, None), |(user, group)| (user, Some(group)));
                self.user = Some(user.to_owned());
                self.group = group.map(str::to_owned).or(self.group.take());
            }
            _ => self.writes = true,
        }
        Ok(())
    }

    pub fn block_bytes(&self) -> u64 {
        self.block_mib as u64 * MIB
    }

    /// Returns a sentence about what 2.00a counts wrongly for these settings.
    pub fn correction(&self) -> Option<&'static str> {
        (!self.is_exact && self.first_block() > 0)
            .then_some("blocks before the range of -r are not reported as read; zcav 2.00a reports them")
    }

    fn first_block(&self) -> u64 {
        (self.start_mib / self.block_mib) as u64
    }
}

/// The parts of a device that one loop transfers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZcavBlocks {
    /// Offset of each whole block in bytes.
    pub blocks: Vec<u64>,
    /// Offset and length of the rest after the last whole block, if the device ends before the range.
    pub tail: Option<(u64, u64)>,
}

impl ZcavBlocks {
    /// Creates the plan for a device of this size.
    pub fn new(settings: &ZcavSettings, device_bytes: u64) -> ZcavBlocks {
        let block = settings.block_bytes();
        let end = settings.end_mib.map_or(u64::MAX, |end| (end / settings.block_mib) as u64);
        let every = settings.every as u64;
        let wanted =
            (settings.first_block()..end).filter(|number| number.is_multiple_of(every)).map(|number| number * block);
        let mut plan = ZcavBlocks { blocks: Vec::new(), tail: None };
        for offset in wanted {
            if offset + block > device_bytes {
                plan.tail = (offset < device_bytes).then(|| (offset, device_bytes - offset));
                break;
            }
            plan.blocks.push(offset);
        }
        plan
    }

    /// Returns the bytes that a loop transfers.
    pub fn bytes(&self, settings: &ZcavSettings) -> u64 {
        self.blocks.len() as u64 * settings.block_bytes() + self.tail.map_or(0, |(_, bytes)| bytes)
    }
}

/// Returns the usage, after the error.
pub fn usage(error: &str) -> Refusal {
    Refusal(format!(
        "{error}Usage: zcav [-b block-size[:chunk-size]] [-c count]
            [-r [start offset:]end offset] [-w]
            [-u uid-to-use:gid-to-use] [-g gid-to-use]
            [-s skip rate]
            [-l log-file] [-f] file-name
            [-l log-file [-f] file-name]...

File name of \"-\" means standard input
Count is the number of times to read the data (default 1).
Max size is the amount of data to read from each device.

Version: 2.00a
"
    ))
}
