//! The file of a published study: what was printed, and nothing that anybody concluded from it since.

use crate::numbers::{PrintedNumber, PrintedUnit};
use plumb_result::{Better, CellMetric};
use plumb_workload::Bytes;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// A published study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedStudy {
    /// What the study is.
    pub study: StudyHead,
    /// The machine that it ran on.
    #[serde(default)]
    pub machine: TestMachine,
    /// The things compared.
    pub side: Vec<ComparedThing>,
    /// What was varied, apart from the sides.
    #[serde(default)]
    pub factor: Vec<VariedFactor>,
    /// Commands that prepared the system, in their order, before the tests.
    #[serde(default)]
    pub setup: Vec<PreparationStep>,
    /// The tests, in the order in which they were run.
    pub test: Vec<PublishedTest>,
    /// What the authors concluded.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// What the study is.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyHead {
    /// What it is called.
    pub title: String,
    /// Who wrote it.
    #[serde(default)]
    pub authors: Option<String>,
    /// Where it can be read.
    #[serde(default)]
    pub source: Option<String>,
    /// When it appeared.
    #[serde(default)]
    pub year: Option<i32>,
    /// The facts of a side that were meant to differ: `["os"]`. Any other that differs confounds.
    #[serde(default)]
    pub compares: Vec<String>,
    /// In which order the sides were tested.
    #[serde(default)]
    pub order: TestOrder,
    /// How often each test was run, where a test does not say so itself.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// Meaning of the spread of its numbers: of error bars, or of the number after `±`.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// What the authors admit.
    #[serde(default)]
    pub admits: Vec<String>,
    /// What in this file does not stand in the study: commands that were filled in, facts from elsewhere, claims that are
    /// told in other words. The page says it, so that nobody takes it for the authors' own.
    #[serde(default)]
    pub added: Vec<String>,
}

/// In which order the sides were tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TestOrder {
    /// The study does not say.
    #[default]
    NotStated,
    /// All of one side, then all of the next.
    Fixed,
    /// Drawn by lot, or in blocks that hold every side.
    Randomised,
}

/// The machine that the tests ran on.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestMachine {
    /// Memory of the system under test; of the guest where it is a virtual machine.
    #[serde(default)]
    pub ram: Option<Bytes>,
    /// Memory of the machine beneath a virtual one.
    #[serde(default)]
    pub host_ram: Option<Bytes>,
    /// The processor.
    #[serde(default)]
    pub cpu: Option<String>,
    /// The disks.
    #[serde(default)]
    pub disks: Option<String>,
    /// What the narrowest link to the disks carries at most, in bytes a second: `"133MB/s"`.
    #[serde(default)]
    pub link: Option<LinkRate>,
    /// Size of the cache in the disk, or in the controller before it.
    #[serde(default)]
    pub device_cache: Option<Bytes>,
    /// Size of a physical sector of the disks.
    #[serde(default)]
    pub sector: Option<Bytes>,
    /// What virtualises it; absent on bare metal.
    #[serde(default, rename = "virtual")]
    pub virtual_by: Option<String>,
    /// Where the disks are.
    #[serde(default)]
    pub storage: Storage,
}

/// Where the disks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// In the machine.
    #[default]
    Local,
    /// On another machine.
    Network,
}

/// Bytes per second, such as `133MB/s` or `1.5GiB/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRate(pub f64);

/// One of the things compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ComparedThing {
    /// A short name, for cells to refer to.
    pub id: String,
    /// What it is called in full.
    #[serde(default)]
    pub name: Option<String>,
    /// What is known of it: `os`, `kernel`, `fs`, `mount`, `raid` … A fact that both sides state and that differs was
    /// either meant to (`compares`) or confounds.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// Versions of the tools on it: `{ "bonnie++" = "1.03" }`.
    #[serde(default)]
    pub tools: BTreeMap<String, String>,
    /// The devices that the file system lay on: `["/dev/sdb1"]`.
    #[serde(default)]
    pub devices: Vec<String>,
    /// The first sector of the partition, counted in 512 bytes.
    #[serde(default)]
    pub partition_start: Option<u64>,
}

/// Something that was varied, apart from the sides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VariedFactor {
    /// What it is called.
    pub name: String,
    /// The levels that were run.
    pub run: Vec<String>,
    /// The levels whose numbers were published.
    pub shown: Vec<String>,
}

/// A command that prepared the system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PreparationStep {
    /// As printed.
    pub command: String,
    /// The side it was for; all when absent.
    #[serde(default)]
    pub side: Option<String>,
}

/// A test: one command, or the same on every side, and the numbers that came of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTest {
    /// A short name, for claims to refer to.
    pub id: String,
    /// The program that measured: `dd`, `bonnie++`, `iozone`, `postmark` …
    pub tool: String,
    /// Its version, where it was the same on every side.
    #[serde(default)]
    pub version: Option<String>,
    /// For which processor it was built: `i386`.
    #[serde(default)]
    pub build: Option<String>,
    /// The command as printed; for PostMark its settings, parted by `;`.
    #[serde(default)]
    pub command: Option<String>,
    /// Size of the file or of all files, where the command does not say.
    #[serde(default)]
    pub file_size: Option<Bytes>,
    /// How the writes were made durable within the measured time, where the command does not say.
    #[serde(default)]
    pub durability: Option<Durability>,
    /// Meaning of the spread of its numbers; the study's when absent.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// What was done about cached data before reads.
    #[serde(default)]
    pub cache: CacheControl,
    /// How often it was run.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// What the column of its numbers was headed with, where that names a unit.
    #[serde(default)]
    pub heading: Option<String>,
    /// What the authors say that it moved altogether, such as `1.4GB`.
    #[serde(default)]
    pub moved: Option<Bytes>,
    /// How the authors explain options of the command.
    #[serde(default)]
    pub explained: Vec<Explained>,
    /// The numbers.
    pub cell: Vec<PublishedCell>,
}

/// How writes were made durable within the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// Not at all.
    None,
    /// The files were closed, which flushes nothing on a local file system.
    Close,
    /// Flushed once, at the end.
    FlushAtEnd,
    /// Every write was flushed.
    FlushEach,
    /// Written past the page cache, without a flush of the device.
    Direct,
}

/// What was done about cached data before reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheControl {
    /// Nothing that the study mentions.
    #[default]
    None,
    /// Caches were dropped, or the file system unmounted.
    Cold,
    /// The page cache was passed by.
    Direct,
}

/// How the authors explain an option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Explained {
    /// The option: `-n`.
    pub option: String,
    /// Their words.
    #[serde(rename = "as")]
    pub words: String,
}

/// One published number.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedCell {
    /// The side it is of.
    pub side: String,
    /// What it is a number of.
    pub metric: CellMetric,
    /// The number as printed. Text keeps the digits: `"38.0"`.
    #[serde(default)]
    pub value: Option<PrintedNumber>,
    /// The upper end, where a range was printed.
    #[serde(default)]
    pub to: Option<PrintedNumber>,
    /// True where the text says "about", or the number was read off a chart.
    #[serde(default)]
    pub about: bool,
    /// The unit as printed: `MB/s`, `K/sec`, `/s`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Bytes moved, as the tool printed them.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Seconds it took, as the tool printed them.
    #[serde(default)]
    pub seconds: Option<PrintedNumber>,
    /// Operations done, as the tool printed them.
    #[serde(default)]
    pub ops: Option<u64>,
    /// The command, where it is not the test's.
    #[serde(default)]
    pub command: Option<String>,
    /// How often it was measured, where it is not the test's.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// The spread between repetitions: a share of the value (`0.03`, `"3%"`), or a value with its unit (`"4.1 MB/s"`).
    #[serde(default)]
    pub spread: Option<Spread>,
    /// Meaning of that spread; the test's when absent.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// What it is a mean over, other than repetitions: `record sizes 4 KiB to 16 MiB`.
    #[serde(default)]
    pub mean_over: Option<String>,
    /// Why there is no number.
    #[serde(default)]
    pub missing: Option<String>,
    /// What a chart or table shows in place of a missing number.
    #[serde(default)]
    pub drawn: Option<PrintedNumber>,
    /// Other places of the study that state the same number.
    #[serde(default)]
    pub quoted: Vec<Quoted>,
}

/// The meaning of a spread, or of an error bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpreadMeaning {
    /// The standard deviation between repetitions.
    StandardDeviation,
    /// The standard error of the mean.
    StandardError,
    /// Half of a 95 % confidence interval of the mean.
    #[serde(rename = "confidence-95")]
    Confidence95,
    /// Half of the distance between the smallest and the largest repetition.
    HalfRange,
    /// The study shows a spread and does not say what it is.
    NotStated,
}

/// A spread as it was printed.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// A share of the value it belongs to: 0.03 is 3 %.
    Share(f64),
    /// A value of its own.
    Value(PrintedNumber, PrintedUnit),
}

/// The same number in another place of the study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quoted {
    /// Where: `prose`, `table`, `abstract`.
    #[serde(rename = "in")]
    pub place: String,
    /// The number there.
    #[serde(default)]
    pub value: Option<PrintedNumber>,
    /// Its unit there; that of the cell when absent.
    #[serde(default)]
    pub unit: Option<String>,
    /// The block size stated there.
    #[serde(default)]
    pub block: Option<Bytes>,
}

/// What the authors concluded.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// Their words, or what they come to where `added` says so.
    pub text: String,
    /// The numbers it is about: `test`, or `test.metric`; all when absent.
    #[serde(default)]
    pub on: Vec<String>,
    /// The side said to be better.
    #[serde(default)]
    pub better: Option<String>,
    /// The sides it is said to be better than; all others when absent.
    #[serde(default)]
    pub than: Vec<String>,
    /// How much better: `9%`.
    #[serde(default)]
    pub difference: Option<Percent>,
    /// Which direction of the numbers the authors take for the better one, where they say so.
    #[serde(default)]
    pub reads: Option<Better>,
    /// What else is said of the tests.
    #[serde(default)]
    pub asserts: Option<PublishedAssertion>,
}

/// Something that can be said about a test, apart from who won.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PublishedAssertion {
    /// Its files exceed memory, so that caching plays no part.
    BeyondMemory,
    /// Its flags take the cache out of the writes.
    CacheRemoved,
}

/// A percentage: `9%`, or 9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percent(pub f64);

macro_rules! text_form {
    ($type:ident, $expecting:literal, $parse:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let parse: fn(&str) -> Option<f64> = $parse;
                crate::numbers::read_text_or_number(deserializer, $expecting, |text| {
                    parse(text).filter(|value| value.is_finite() && *value >= 0.0).map($type)
                })
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": ["string", "number"], "description": $expecting })
            }
        }
    };
}

impl Spread {
    /// Reads `0.03`, `3%`, `± 3 %` or `4.1 MB/s`.
    pub fn parse(text: &str) -> Option<Spread> {
        let text = text.trim().trim_start_matches(['±', '+', '-', '/']).trim();
        if let Some(percent) = text.strip_suffix('%') {
            return Some(Spread::Share(PrintedNumber::parse(percent)?.value() / 100.0));
        }
        let number = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (PrintedNumber::parse(&text[..number])?, text[number..].trim());
        match unit {
            "" => Some(Spread::Share(number.value())),
            unit => Some(Spread::Value(number, PrintedUnit::parse(unit)?)),
        }
    }
}

const SPREAD: &str = "a spread such as `0.03`, `\"3%\"` or `\"4.1 MB/s\"`";

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Spread, D::Error> {
        crate::numbers::read_text_or_number(deserializer, SPREAD, |text| {
            let is_negative = text.trim().starts_with('-');
            Spread::parse(text).filter(|_| !is_negative)
        })
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Spread {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Spread".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"], "description": SPREAD })
    }
}

text_form!(Percent, "a percentage such as `9%`", |text| text.trim().trim_end_matches('%').trim().parse().ok());
text_form!(LinkRate, "bytes per second such as `133MB/s`", |text| {
    let size = text.trim().strip_suffix("/s")?;
    size.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64)
});

impl SpreadMeaning {
    /// Returns the plural that sentences use.
    pub const fn words(self) -> &'static str {
        match self {
            SpreadMeaning::StandardDeviation => "standard deviations",
            SpreadMeaning::StandardError => "standard errors",
            SpreadMeaning::Confidence95 => "95 % confidence intervals",
            SpreadMeaning::HalfRange => "half ranges",
            SpreadMeaning::NotStated => "not stated",
        }
    }
}

impl Durability {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Durability::None => "no flush",
            Durability::Close => "close without flush",
            Durability::FlushAtEnd => "one flush at the end",
            Durability::FlushEach => "a flush each write",
            Durability::Direct => "direct I/O",
        }
    }

    /// Whether the measured time holds a flush, or passes the cache by.
    pub(crate) const fn reaches_device(self) -> bool {
        matches!(self, Durability::FlushAtEnd | Durability::FlushEach | Durability::Direct)
    }
}
