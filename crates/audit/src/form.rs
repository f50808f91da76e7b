//! The file format of a published study: what the study printed, without later conclusions by others.

use crate::numbers::{PrintedNumber, PrintedUnit};
use plumb_result::{Better, CellMetric};
use plumb_workload::Bytes;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedStudy {
    /// Title, authors and design of the study.
    pub study: StudyHead,
    /// The machine that ran the tests.
    #[serde(default)]
    pub machine: TestMachine,
    /// The systems that the study compares.
    pub side: Vec<ComparedThing>,
    /// Factors that were varied, apart from the sides.
    #[serde(default)]
    pub factor: Vec<VariedFactor>,
    /// Commands that prepared the system, in order, before the tests.
    #[serde(default)]
    pub setup: Vec<PreparationStep>,
    /// The tests, in the order in which they ran.
    pub test: Vec<PublishedTest>,
    /// Conclusions that the authors draw.
    #[serde(default)]
    pub claim: Vec<Claim>,
}

/// Title, authors and design of a study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StudyHead {
    /// Title of the study, as printed.
    pub title: String,
    /// Names of the authors, as printed.
    #[serde(default)]
    pub authors: Option<String>,
    /// Citation or URL of the publication.
    #[serde(default)]
    pub source: Option<String>,
    /// Year in which it was published.
    #[serde(default)]
    pub year: Option<i32>,
    /// Facts that the sides were meant to differ in: `["os"]`. Any other fact that differs is a confounder.
    #[serde(default)]
    pub compares: Vec<String>,
    /// Order in which the sides were tested.
    #[serde(default)]
    pub order: TestOrder,
    /// Repetitions of each test that does not state its own.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// Meaning of the spread of its numbers: of error bars, or of the number after `±`.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// Limitations that the authors admit.
    #[serde(default)]
    pub admits: Vec<String>,
    /// Parts of this file that are not in the study: commands that were filled in, facts from other sources,
    /// paraphrased claims. The page lists them, so that they are not attributed to the authors.
    #[serde(default)]
    pub added: Vec<String>,
}

/// Order in which the sides were tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TestOrder {
    /// The study does not state it.
    #[default]
    NotStated,
    /// All tests of one side, then all of the next.
    Fixed,
    /// Random order, or blocks that contain every side.
    Randomised,
}

/// The machine that ran the tests.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestMachine {
    /// Memory of the system under test; of the guest if it is a virtual machine.
    #[serde(default)]
    pub ram: Option<Bytes>,
    /// Memory of the host of a virtual machine.
    #[serde(default)]
    pub host_ram: Option<Bytes>,
    /// Model of the processor, as stated.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Number and models of the disks.
    #[serde(default)]
    pub disks: Option<String>,
    /// Bandwidth of the slowest link to the disks, in bytes per second: `"133MB/s"`.
    #[serde(default)]
    pub link: Option<LinkRate>,
    /// Cache size of the disk, or of the controller in front of it.
    #[serde(default)]
    pub device_cache: Option<Bytes>,
    /// Size of a physical sector of the disks.
    #[serde(default)]
    pub sector: Option<Bytes>,
    /// Hypervisor; absent on bare metal.
    #[serde(default, rename = "virtual")]
    pub virtual_by: Option<String>,
    /// Location of the disks, relative to the machine.
    #[serde(default)]
    pub storage: Storage,
}

/// Location of the disks, relative to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Attached to the machine itself.
    #[default]
    Local,
    /// Attached to another machine, over the network.
    Network,
}

/// Bytes per second, such as `133MB/s` or `1.5GiB/s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRate(pub f64);

/// A system or configuration that is compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ComparedThing {
    /// Short name that cells refer to.
    pub id: String,
    /// Full name, for sentences and tables.
    #[serde(default)]
    pub name: Option<String>,
    /// Known facts: `os`, `kernel`, `fs`, `mount`, `raid` … A fact that both sides state with different values is
    /// either intended (`compares`) or a confounder.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// Versions of its tools: `{ "bonnie++" = "1.03" }`.
    #[serde(default)]
    pub tools: BTreeMap<String, String>,
    /// Devices under the file system: `["/dev/sdb1"]`.
    #[serde(default)]
    pub devices: Vec<String>,
    /// First sector of the partition, in units of 512 bytes.
    #[serde(default)]
    pub partition_start: Option<u64>,
}

/// A factor that was varied, apart from the sides.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VariedFactor {
    /// Name of the factor, such as `journal mode`.
    pub name: String,
    /// Levels that were run, published or not.
    pub run: Vec<String>,
    /// Levels whose numbers were published.
    pub shown: Vec<String>,
}

/// A command that prepared the system.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PreparationStep {
    /// Command line, exactly as printed.
    pub command: String,
    /// Side that it prepared; all sides if absent.
    #[serde(default)]
    pub side: Option<String>,
}

/// A test: one command, or the same one on every side, with its numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedTest {
    /// Short name that claims refer to.
    pub id: String,
    /// Program that measured: `dd`, `bonnie++`, `iozone`, `postmark` …
    pub tool: String,
    /// Version of the tool, if it was the same on every side.
    #[serde(default)]
    pub version: Option<String>,
    /// Architecture that the tool was built for: `i386`.
    #[serde(default)]
    pub build: Option<String>,
    /// Command line as printed; for PostMark its settings, separated by `;`.
    #[serde(default)]
    pub command: Option<String>,
    /// Size of the file, or of all files, if the command does not state it.
    #[serde(default)]
    pub file_size: Option<Bytes>,
    /// Durability of the writes within the measured time, if the command does not show it.
    #[serde(default)]
    pub durability: Option<Durability>,
    /// Meaning of the spread of its numbers; the study's if absent.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// Handling of cached data before reads.
    #[serde(default)]
    pub cache: CacheControl,
    /// Number of repetitions of the test.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// Heading of the column of its numbers, if it names a unit.
    #[serde(default)]
    pub heading: Option<String>,
    /// Total transfer that the authors state, such as `1.4GB`.
    #[serde(default)]
    pub moved: Option<Bytes>,
    /// The authors' explanations of the command's options.
    #[serde(default)]
    pub explained: Vec<Explained>,
    /// Numbers that the test produced.
    pub cell: Vec<PublishedCell>,
}

/// Durability of writes within the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// No flush and no close.
    None,
    /// The files were closed, which flushes nothing on a local file system.
    Close,
    /// One flush at the end.
    FlushAtEnd,
    /// A flush after every write.
    FlushEach,
    /// Written past the page cache, without a flush of the device.
    Direct,
}

/// Handling of cached data before reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CacheControl {
    /// None mentioned in the study.
    #[default]
    None,
    /// Caches were dropped, or the file system was unmounted.
    Cold,
    /// Reads bypassed the page cache.
    Direct,
}

/// The authors' explanation of an option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Explained {
    /// Option as printed, such as `-n`.
    pub option: String,
    /// Explanation in the authors' words.
    #[serde(rename = "as")]
    pub words: String,
}

/// One published number, with its context.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublishedCell {
    /// Side that the number belongs to.
    pub side: String,
    /// Metric that the number measures.
    pub metric: CellMetric,
    /// Number as printed. Text keeps the digits: `"38.0"`.
    #[serde(default)]
    pub value: Option<PrintedNumber>,
    /// Upper end of a printed range.
    #[serde(default)]
    pub to: Option<PrintedNumber>,
    /// Whether the text says "about", or the number was read off a chart.
    #[serde(default)]
    pub about: bool,
    /// Unit as printed: `MB/s`, `K/sec`, `/s`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Transferred bytes, as the tool printed them.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Seconds that it took, as the tool printed them.
    #[serde(default)]
    pub seconds: Option<PrintedNumber>,
    /// Number of operations, as the tool printed it.
    #[serde(default)]
    pub ops: Option<u64>,
    /// Command line, if it differs from the test's.
    #[serde(default)]
    pub command: Option<String>,
    /// Number of repetitions, if it differs from the test's.
    #[serde(default)]
    pub repetitions: Option<u32>,
    /// Spread between repetitions: a share of the value (`0.03`, `"3%"`), or a value with its unit (`"4.1 MB/s"`).
    #[serde(default)]
    pub spread: Option<Spread>,
    /// Meaning of that spread; the test's if absent.
    #[serde(default)]
    pub spread_is: Option<SpreadMeaning>,
    /// Conditions that it is a mean over, other than repetitions: `record sizes 4 KiB to 16 MiB`.
    #[serde(default)]
    pub mean_over: Option<String>,
    /// Reason why the number is missing.
    #[serde(default)]
    pub missing: Option<String>,
    /// Value that a chart or table shows instead of a missing number.
    #[serde(default)]
    pub drawn: Option<PrintedNumber>,
    /// Other places of the study that state the same number.
    #[serde(default)]
    pub quoted: Vec<Quoted>,
}

/// Meaning of a spread, or of an error bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SpreadMeaning {
    /// The standard deviation between repetitions.
    StandardDeviation,
    /// Standard error of the mean.
    StandardError,
    /// Half of a 95 % confidence interval of the mean.
    #[serde(rename = "confidence-95")]
    Confidence95,
    /// Half of the difference between the largest and the smallest repetition.
    HalfRange,
    /// The study shows a spread without stating its meaning.
    NotStated,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// Share of the number that it belongs to: 0.03 is 3 %.
    Share(f64),
    /// A number with a unit.
    Value(PrintedNumber, PrintedUnit),
}

/// The same number, in another place of the study.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quoted {
    /// Kind of place: `prose`, `table`, `abstract`.
    #[serde(rename = "in")]
    pub place: String,
    /// The number as stated there.
    #[serde(default)]
    pub value: Option<PrintedNumber>,
    /// Unit stated there; that of the cell if absent.
    #[serde(default)]
    pub unit: Option<String>,
    /// The block size as stated there.
    #[serde(default)]
    pub block: Option<Bytes>,
}

/// A conclusion of the authors.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// The authors' words, or a paraphrase if `added` says so.
    pub text: String,
    /// Numbers that the claim is about: `test`, or `test.metric`; all if absent.
    #[serde(default)]
    pub on: Vec<String>,
    /// Side that is claimed to be better.
    #[serde(default)]
    pub better: Option<String>,
    /// Sides that it is claimed to be better than; all others if absent.
    #[serde(default)]
    pub than: Vec<String>,
    /// Claimed difference: `9%`.
    #[serde(default)]
    pub difference: Option<Percent>,
    /// Direction that the authors take for better, if they state it.
    #[serde(default)]
    pub reads: Option<Better>,
    /// Other statement about the tests.
    #[serde(default)]
    pub asserts: Option<PublishedAssertion>,
}

/// A statement about a test, other than which side is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PublishedAssertion {
    /// The files exceed memory, so that caching plays no part.
    BeyondMemory,
    /// The flags remove the effect of the cache on writes.
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
    /// Returns the description that sentences use.
    pub const fn words(self) -> &'static str {
        match self {
            Durability::None => "no flush",
            Durability::Close => "close without flush",
            Durability::FlushAtEnd => "one flush at the end",
            Durability::FlushEach => "a flush each write",
            Durability::Direct => "direct I/O",
        }
    }

    /// Returns `true` if the measured time includes a flush, or the writes bypass the cache.
    pub(crate) const fn reaches_device(self) -> bool {
        matches!(self, Durability::FlushAtEnd | Durability::FlushEach | Durability::Direct)
    }
}
