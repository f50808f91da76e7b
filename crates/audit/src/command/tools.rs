//! The tools whose words are dialects': what was said, as the dialect reads it, and what an audit asks of it.

use super::work::WorkFacts;
use crate::form::Durability;
use plumb_result::CellMetric;
use plumb_tools_classic::dd::keywords::{Conv, Flag};
use plumb_tools_classic::{bonnie, dd, iozone, postmark};
use plumb_workload::copy::CopySpec;
use plumb_workload::program::OpenPromise;

/// Devices that may be written without harm.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/full"];

/// A `dd` command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DdCommand {
    /// As far as it could be read.
    said: dd::Dd,
    /// What it does.
    pub copy: CopySpec,
    /// Words that no dd takes, as printed.
    pub refused: Vec<String>,
    /// Words that only FreeBSD's dd takes: `bs=1m`.
    pub only_bsd: Vec<String>,
}

impl DdCommand {
    pub(super) fn read(words: &[String]) -> DdCommand {
        let dd::PrintedCommand { dd: said, refused, only_bsd } = dd::read_printed(words);
        let copy = dd::lower::copy(&said);
        DdCommand { said, copy, refused, only_bsd }
    }

    /// Its copy, and what the names of its ends say: where the data comes from, and whether it goes to a device.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        let mut facts = WorkFacts::of(&dd::lower::lower(&self.said))?;
        let source = match self.input() {
            Some("/dev/zero") => "zeros",
            Some("/dev/null") => "nothing",
            _ if self.generator().is_some() => "a random number generator",
            Some(_) => "a file",
            None => "standard input",
        };
        facts.push(&["source"], source.to_owned());
        let kind = if self.overwrites_device().is_some() { "a device" } else { "a file" };
        facts.push(&["kind-of-target"], kind.to_owned());
        Some(facts)
    }

    /// `if=`.
    pub(crate) fn input(&self) -> Option<&str> {
        self.said.input.as_deref()
    }

    /// `of=`.
    pub(crate) fn output(&self) -> Option<&str> {
        self.said.output.as_deref()
    }

    /// Bytes of a block, where the command says them.
    pub(crate) fn block(&self) -> Option<u64> {
        self.said.block.or(self.said.input_block)
    }

    /// Whether bytes reach its output: a count of 0 only moves the end of the file.
    pub(crate) fn writes_data(&self) -> bool {
        self.copy.count.is_none_or(|count| !count.is_empty()) && !self.is_swapped()
    }

    /// Where its output begins, bytes: before that, a new file has a hole.
    pub(crate) fn seeks_to(&self) -> u64 {
        self.copy.seek.length_bytes(self.copy.write_block).unwrap_or(0)
    }

    /// Whether it makes a single transfer.
    pub(crate) fn is_one_block(&self) -> bool {
        self.copy.count.is_some_and(|count| count.blocks == 1 && count.bytes == 0)
    }

    /// Bytes that it is to copy, where its words say how many.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let count = self.copy.count?;
        self.copy.read_block.0.checked_mul(count.blocks)?.checked_add(count.bytes)
    }

    /// Whether it reads something real and throws it away.
    pub(crate) fn is_read(&self) -> bool {
        self.output() == Some("/dev/null")
    }

    /// Whether its input is nothing at all: the two ends exchanged.
    pub(crate) fn is_swapped(&self) -> bool {
        self.input() == Some("/dev/null")
    }

    /// The generator that makes its data while the clock runs.
    pub(crate) fn generator(&self) -> Option<&str> {
        self.input().filter(|path| ["/dev/urandom", "/dev/random", "/dev/arandom"].contains(path))
    }

    /// The device that it writes over, where it writes to a device.
    pub(crate) fn overwrites_device(&self) -> Option<&str> {
        self.output().filter(|path| path.starts_with("/dev/") && !HARMLESS.contains(path))
    }

    /// The flag by which each write is durable, as it was said.
    pub(crate) fn flush_each_flag(&self) -> Option<&'static str> {
        self.said.output_flags.iter().find(|flag| matches!(flag, Flag::Dsync | Flag::Sync)).map(|flag| flag.name())
    }

    /// Flags that make writes durable.
    pub(crate) fn flush_flags(&self) -> Vec<String> {
        let of_output = self.said.output_flags.iter().filter(|flag| matches!(flag, Flag::Dsync | Flag::Sync));
        let of_conversion = self.said.conversions.iter().filter(|one| matches!(one, Conv::Fsync | Conv::Fdatasync));
        of_output
            .map(|flag| format!("oflag={}", flag.name()))
            .chain(of_conversion.map(|one| format!("conv={}", one.name())))
            .collect()
    }

    /// How its writes become durable within the time that it prints.
    pub(crate) fn durability(&self) -> Durability {
        let output = &self.copy.output;
        if output.dsync || output.sync {
            Durability::FlushEach
        } else if self.copy.fsync || self.copy.fdatasync {
            Durability::FlushAtEnd
        } else if output.direct {
            Durability::Direct
        } else {
            Durability::None
        }
    }
}

/// A `bonnie++` command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BonnieCommand {
    said: bonnie::BonnieSettings,
}

impl BonnieCommand {
    /// As the newest version reads it, else as 1.03 does; `None` where both refuse it. Nothing is known of the machine.
    pub(super) fn read(words: &[String]) -> Option<BonnieCommand> {
        let machine = bonnie::Machine::default();
        let read = |words: &[String]| bonnie::BonnieSettings::read("bonnie++", words, &machine).ok();
        let old = || read(&[&["--as-version=1.03".to_owned()], words].concat());
        read(words).or_else(old).map(|said| BonnieCommand { said })
    }

    /// Its tests; small files and seeks are counted, and not listed one by one.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const SEEKERS_MAX: i64 = 64;
        let mut capped = self.said.clone();
        capped.small.files_ki = capped.small.files_ki.min(1);
        capped.large.seeks = 0;
        if capped.large.seekers > SEEKERS_MAX {
            return None;
        }
        let workload = bonnie::lower::lower(&capped, 1, &mut bonnie::random::NumberSource::seeded(1));
        let mut facts = WorkFacts::of(&workload)?;
        facts.push(&["number-of-files"], self.said.small.files_ki.to_string());
        facts.push(&["seeks"], self.said.large.seeks.to_string());
        Some(facts)
    }

    /// `-d`.
    pub(crate) fn directory(&self) -> Option<&str> {
        self.said.directory.as_deref()
    }

    /// `-s`, in bytes; where it was not said, the machine decides.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let stated = self.said.says('s').then(|| u64::try_from(self.said.large.size_mib).ok()).flatten()?;
        stated.checked_mul(1 << 20)
    }

    /// The first number of `-n`, where it was said.
    pub(crate) fn stated_files_1024(&self) -> Option<i64> {
        self.said.says('n').then_some(self.said.small.files_ki)
    }

    /// So many files, stated or not.
    pub(crate) fn files_1024(&self) -> i64 {
        self.said.small.files_ki
    }

    /// Every op of files is flushed; else the version decides.
    pub(super) fn durability(&self) -> Option<Durability> {
        self.said.flushes.then_some(Durability::FlushEach)
    }

    /// What it prints, single bytes first.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        let mut yields: Vec<CellMetric> = self.said.tests().into_iter().map(bonnie::Test::kind).collect();
        yields.sort_by_key(|metric| !matches!(metric, CellMetric::CharWrite | CellMetric::CharRead));
        yields
    }
}

/// An `iozone` command.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IozoneCommand {
    said: iozone::IozoneSettings,
}

/// A machine about which nothing is known.
struct Unknown;

impl iozone::Machine for Unknown {
    fn file(&mut self, path: &str) -> Result<String, plumb_tools::FileError> {
        Err(plumb_tools::FileError::NotPublished { path: path.to_owned() })
    }

    fn uname(&mut self) -> String {
        String::new()
    }

    fn processors(&mut self) -> u32 {
        1
    }
}

impl IozoneCommand {
    /// `None` where IOzone refuses it, or runs nothing.
    pub(super) fn read(words: &[String]) -> Option<IozoneCommand> {
        match iozone::read(words, &mut Unknown) {
            Ok(iozone::Action::Run(said)) => Some(IozoneCommand { said: *said }),
            Ok(iozone::Action::Print(_)) | Err(_) => None,
        }
    }

    /// Lowers its passes to their work.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const CHILDREN_MAX: u32 = 1024;
        const ROUNDS_MAX: u32 = 16;
        let counts = match &self.said.mode {
            iozone::TestMode::Throughput { counts, .. } => counts.as_slice(),
            _ => &[],
        };
        if counts.iter().any(|count| *count > CHILDREN_MAX) || counts.len() > 64 || self.said.repeat > ROUNDS_MAX {
            return None;
        }
        WorkFacts::of(&iozone::lower::lower(&self.said).workload)
    }

    /// Bytes of the largest file, or of all files of its processes.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.said.file_kb_max().checked_mul(1024)
    }

    /// Bytes that each test transfers, where there is one size.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        match &self.said.mode {
            iozone::TestMode::Auto(_) => None,
            _ => self.size_bytes(),
        }
    }

    /// What it works on.
    pub(crate) fn files(&self) -> Vec<&str> {
        match self.said.files.files.as_slice() {
            [] => vec![&self.said.files.file],
            several => several.iter().map(String::as_str).collect(),
        }
    }

    /// How its writes become durable within the time that it prints.
    pub(crate) fn durability(&self) -> Durability {
        match &self.said {
            said if said.calls.promise != OpenPromise::Plain => Durability::FlushEach,
            said if said.timing.flush => Durability::FlushAtEnd,
            said if said.calls.direct => Durability::Direct,
            said if said.timing.close => Durability::Close,
            _ => Durability::None,
        }
    }

    pub(super) fn reads_cold(&self) -> bool {
        self.said.calls.direct || self.said.files.remount.is_some()
    }

    /// What it prints, of each size.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        iozone::lower::measured(&self.said).into_iter().map(iozone::Pass::kind).collect()
    }
}

/// A PostMark configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PostmarkCommand {
    /// Its settings, with defaults where none were printed.
    pub settings: postmark::PostmarkSettings,
    /// Commands that set them.
    stated: Vec<&'static str>,
}

impl PostmarkCommand {
    /// Obeys commands that are parted by lines or semicolons; `None` where none of them sets anything.
    pub(super) fn read(text: &str) -> Option<PostmarkCommand> {
        let mut language = postmark::Language::default();
        let mut stated = Vec::new();
        for line in text.split([';', '\n']) {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(name) = postmark::Language::command(&line).and_then(|name| name.strip_prefix("set ")) {
                language.obey(&line);
                stated.push(name);
            }
        }
        (!stated.is_empty()).then_some(PostmarkCommand { settings: language.settings, stated })
    }

    /// Whether a setting was printed: `seed`.
    pub(crate) fn states(&self, name: &str) -> bool {
        self.stated.contains(&name)
    }
}
