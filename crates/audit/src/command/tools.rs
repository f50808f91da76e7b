//! Commands of the other tools with dialects: the settings that the dialect read, and the properties that an audit needs.

use super::work::WorkFacts;
use crate::form::Durability;
use plumb_result::CellMetric;
use plumb_tools_classic::dd::keywords::{Conv, Flag};
use plumb_tools_classic::{bonnie, dd, iozone, postmark};
use plumb_workload::copy::CopySpec;
use plumb_workload::program::OpenPromise;

/// Devices that can be written to without damage.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/full"];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DdCommand {
    /// Operands that could be read.
    options: dd::Dd,
    /// The copy that the command makes.
    pub copy: CopySpec,
    /// Operands that every dd rejects, as printed.
    pub refused: Vec<String>,
    /// Operands that only FreeBSD's dd accepts, such as `bs=1m`.
    pub only_bsd: Vec<String>,
}

impl DdCommand {
    pub(super) fn read(words: &[String]) -> DdCommand {
        let dd::PrintedCommand { dd: options, refused, only_bsd } = dd::read_printed(words);
        let copy = dd::lower::copy(&options);
        DdCommand { options, copy, refused, only_bsd }
    }

    /// Returns the copy as facts, with the data source and the kind of output taken from the names.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        let mut facts = WorkFacts::from_workload(&dd::lower::lower(&self.options))?;
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

    /// Returns `if=`.
    pub(crate) fn input(&self) -> Option<&str> {
        self.options.input.as_deref()
    }

    /// Returns `of=`.
    pub(crate) fn output(&self) -> Option<&str> {
        self.options.output.as_deref()
    }

    /// Returns the bytes of a block, if the command states them.
    pub(crate) fn block(&self) -> Option<u64> {
        self.options.block.or(self.options.input_block)
    }

    /// Returns `true` if data reaches the output. A count of 0 only moves the end of the file.
    pub(crate) fn writes_data(&self) -> bool {
        self.copy.count.is_none_or(|count| !count.is_empty()) && !self.is_swapped()
    }

    /// Returns the offset at which the output starts, bytes. In a new file, everything before that offset is a hole.
    pub(crate) fn seeks_to(&self) -> u64 {
        self.copy.seek.length_bytes(self.copy.write_block).unwrap_or(0)
    }

    /// Returns `true` for a single transfer.
    pub(crate) fn is_one_block(&self) -> bool {
        self.copy.count.is_some_and(|count| count.blocks == 1 && count.bytes == 0)
    }

    /// Returns the bytes to copy, if the operands state them.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let count = self.copy.count?;
        self.copy.read_block.0.checked_mul(count.blocks)?.checked_add(count.bytes)
    }

    /// Returns `true` if the command reads real data and discards it.
    pub(crate) fn is_read(&self) -> bool {
        self.output() == Some("/dev/null")
    }

    /// Returns `true` if the input is /dev/null, which means that input and output are swapped.
    pub(crate) fn is_swapped(&self) -> bool {
        self.input() == Some("/dev/null")
    }

    /// Returns the random number generator that supplies the data while the clock runs.
    pub(crate) fn generator(&self) -> Option<&str> {
        self.input().filter(|path| ["/dev/urandom", "/dev/random", "/dev/arandom"].contains(path))
    }

    /// Returns the device that the command overwrites, if any.
    pub(crate) fn overwrites_device(&self) -> Option<&str> {
        self.output().filter(|path| path.starts_with("/dev/") && !HARMLESS.contains(path))
    }

    /// Returns the flag that makes each write durable, as given.
    pub(crate) fn flush_each_flag(&self) -> Option<&'static str> {
        self.options.output_flags.iter().find(|flag| matches!(flag, Flag::Dsync | Flag::Sync)).map(|flag| flag.name())
    }

    /// Returns the flags that make writes durable.
    pub(crate) fn flush_flags(&self) -> Vec<String> {
        let of_output = self.options.output_flags.iter().filter(|flag| matches!(flag, Flag::Dsync | Flag::Sync));
        let of_conversion = self.options.conversions.iter().filter(|one| matches!(one, Conv::Fsync | Conv::Fdatasync));
        of_output
            .map(|flag| format!("oflag={}", flag.name()))
            .chain(of_conversion.map(|one| format!("conv={}", one.name())))
            .collect()
    }

    /// Returns how the writes become durable within the measured time.
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BonnieCommand {
    options: bonnie::BonnieSettings,
}

impl BonnieCommand {
    /// Reads the command like the newest version, or else like 1.03; `None` if both refuse it. Assumes nothing about the machine.
    pub(super) fn read(words: &[String]) -> Option<BonnieCommand> {
        let machine = bonnie::Machine::default();
        let read = |words: &[String]| bonnie::BonnieSettings::read("bonnie++", words, &machine).ok();
        let old = || read(&[&["--as-version=1.03".to_owned()], words].concat());
        read(words).or_else(old).map(|options| BonnieCommand { options })
    }

    /// Returns the tests as facts. Small files and seeks are counted, not listed one by one.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const SEEKERS_MAX: i64 = 64;
        let mut capped = self.options.clone();
        capped.small.files_ki = capped.small.files_ki.min(1);
        capped.large.seeks = 0;
        if capped.large.seekers > SEEKERS_MAX {
            return None;
        }
        let workload = bonnie::lower::lower(&capped, 1, &mut bonnie::random::NumberSource::seeded(1));
        let mut facts = WorkFacts::from_workload(&workload)?;
        facts.push(&["number-of-files"], self.options.small.files_ki.to_string());
        facts.push(&["seeks"], self.options.large.seeks.to_string());
        Some(facts)
    }

    pub(crate) fn directory(&self) -> Option<&str> {
        self.options.directory.as_deref()
    }

    /// Returns `-s`, in bytes; `None` if it is not given, since the machine then decides.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        let stated = self.options.has('s').then(|| u64::try_from(self.options.large.size_mib).ok()).flatten()?;
        stated.checked_mul(1 << 20)
    }

    /// Returns the first number of `-n`, if it is given.
    pub(crate) fn stated_files_1024(&self) -> Option<i64> {
        self.options.has('n').then_some(self.options.small.files_ki)
    }

    /// Returns the number of files in units of 1024, stated or default.
    pub(crate) fn files_1024(&self) -> i64 {
        self.options.small.files_ki
    }

    /// Returns `FlushEach` if an option flushes every op of files; otherwise the version decides.
    pub(super) fn durability(&self) -> Option<Durability> {
        self.options.flushes.then_some(Durability::FlushEach)
    }

    /// Returns the metrics that Bonnie++ prints, per-character tests first.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        let mut yields: Vec<CellMetric> = self.options.tests().into_iter().map(bonnie::Test::kind).collect();
        yields.sort_by_key(|metric| !matches!(metric, CellMetric::CharWrite | CellMetric::CharRead));
        yields
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IozoneCommand {
    options: iozone::IozoneSettings,
}

/// A machine of which nothing is known.
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
    /// Returns `None` if IOzone refuses the command or would run nothing.
    pub(super) fn read(words: &[String]) -> Option<IozoneCommand> {
        match iozone::read(words, &mut Unknown) {
            Ok(iozone::Action::Run(options)) => Some(IozoneCommand { options: *options }),
            Ok(iozone::Action::Print(_)) | Err(_) => None,
        }
    }

    /// Lowers IOzone's passes to their work.
    pub(super) fn work(&self) -> Option<WorkFacts> {
        const CHILDREN_MAX: u32 = 1024;
        const ROUNDS_MAX: u32 = 16;
        let counts = match &self.options.mode {
            iozone::TestMode::Throughput { counts, .. } => counts.as_slice(),
            _ => &[],
        };
        if counts.iter().any(|count| *count > CHILDREN_MAX) || counts.len() > 64 || self.options.repeat > ROUNDS_MAX {
            return None;
        }
        WorkFacts::from_workload(&iozone::lower::lower(&self.options).workload)
    }

    /// Returns the bytes of the largest file, or of all files of several processes.
    pub(crate) fn size_bytes(&self) -> Option<u64> {
        self.options.file_kb_max().checked_mul(1024)
    }

    /// Returns the bytes that each test transfers, if there is one size.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        match &self.options.mode {
            iozone::TestMode::Auto(_) => None,
            _ => self.size_bytes(),
        }
    }

    pub(crate) fn files(&self) -> Vec<&str> {
        match self.options.files.files.as_slice() {
            [] => vec![&self.options.files.file],
            several => several.iter().map(String::as_str).collect(),
        }
    }

    /// Returns how the writes become durable within the measured time.
    pub(crate) fn durability(&self) -> Durability {
        match &self.options {
            options if options.calls.promise != OpenPromise::Plain => Durability::FlushEach,
            options if options.timing.flush => Durability::FlushAtEnd,
            options if options.calls.direct => Durability::Direct,
            options if options.timing.close => Durability::Close,
            _ => Durability::None,
        }
    }

    pub(super) fn reads_cold(&self) -> bool {
        self.options.calls.direct || self.options.files.remount.is_some()
    }

    /// Returns the metrics that IOzone prints for each size.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        iozone::lower::measured(&self.options).into_iter().map(iozone::Pass::kind).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PostmarkCommand {
    /// Its settings; defaults if they were not printed.
    pub settings: postmark::PostmarkSettings,
    /// Names of the printed settings.
    stated: Vec<&'static str>,
}

impl PostmarkCommand {
    /// Executes commands separated by lines or semicolons; returns `None` if none of them is a setting.
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

    /// Returns `true` if a setting, such as `seed`, was printed.
    pub(crate) fn states(&self, name: &str) -> bool {
        self.stated.contains(&name)
    }
}
