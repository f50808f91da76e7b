//! Parses the command line like iostat: word by word; the order matters.

use super::{
    Action, Columns, Compat, DataUnit, DeviceList, DeviceNames, IostatSettings, OtherPlace, TableLayout, Which,
};
use crate::iostat::devices::Placement;
use plumb_tools::options::Takes::{Nothing, Optional, Value};
use plumb_tools::options::{Opt, letter, long};

/// iostat's answer to an invalid command line.
pub const USAGE: &str = "\
Usage: iostat [ options ] [ <interval> [ <count> ] ]
Options are:
[ -c ] [ -d ] [ -h ] [ -k | -m ] [ -N ] [ -s ] [ -t ] [ -V ] [ -x ] [ -y ] [ -z ]
[ { -f | +f } <directory> ] [ -j { ID | LABEL | PATH | UUID | ... } ]
[ --compact ] [ --dec={ 0 | 1 | 2 } ] [ --human ] [ --pretty ] [ -o JSON ]
[ [ -H ] -g <group_name> ] [ -p [ <device> [,...] | ALL ] ]
[ <device> [...] | ALL ]
";

/// All options, for completion. An option whose words the parser compares literally has a row for each value.
pub const OPTIONS: &[Opt] = &[
    letter('c', Nothing, "processors"),
    letter('d', Nothing, "devices"),
    letter('x', Nothing, "extended statistics: latencies, sizes, queue and utilization"),
    letter('s', Nothing, "few columns"),
    letter('p', Optional("[DEVICE,…|ALL]"), "devices with their partitions; all of them without a name or with ALL"),
    letter('g', Value("NAME"), "group the devices that follow under a name"),
    letter('H', Nothing, "show only group totals"),
    letter('j', Value("ID|LABEL|PATH|UUID"), "persistent names, as in /dev/disk/by-…"),
    letter('N', Nothing, "device mapper names"),
    letter('k', Nothing, "kB of 1024 bytes"),
    letter('m', Nothing, "MB of 1024 kB"),
    letter('h', Nothing, "same as --human --pretty"),
    long("human", Nothing, "numbers with units"),
    long("pretty", Nothing, "device names at the end of the line, extended columns in four parts"),
    long("compact", Nothing, "no parts"),
    long("dec=0", Nothing, "no decimals"),
    long("dec=1", Nothing, "one decimal"),
    long("dec=2", Nothing, "two decimals"),
    letter('o', Value("JSON"), "JSON"),
    letter('t', Nothing, "print the time of each report"),
    letter('y', Nothing, "omit the report since boot"),
    letter('z', Nothing, "omit idle devices"),
    letter('f', Value("DIRECTORY"), "read counters from this directory instead of the machine's"),
    long("+f", Value("DIRECTORY"), "read counters from this directory as well"),
    letter('V', Nothing, "the version"),
    long("compat=strict", Nothing, "Plumb's own: compute group totals as sysstat 12.6.1 does"),
    long("compat=meant", Nothing, "Plumb's own: compute group totals correctly"),
];

/// An error in a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IostatUsageError {
    /// An invalid command line; iostat answers with [`USAGE`].
    #[error("{0}")]
    Usage(String),
    #[error("Invalid type of persistent device name")]
    PersistentType { given: String },
}

fn usage<T>(reason: impl Into<String>) -> Result<T, IostatUsageError> {
    Err(IostatUsageError::Usage(reason.into()))
}

/// The options read so far.
#[derive(Default)]
struct GivenOptions {
    reports: ReportOptions,
    layout: LayoutOptions,
    devices: DeviceOptions,
    other_place: Option<OtherPlace>,
    compat: Compat,
}

/// The tables to print, and their times.
#[derive(Default)]
struct ReportOptions {
    cpu: bool,
    disk: bool,
    timestamp: bool,
    omit_first: bool,
    interval_s: Option<u64>,
    count: Option<u64>,
}

/// Columns and layout of tables.
#[derive(Default)]
struct LayoutOptions {
    extended: bool,
    short: bool,
    pretty: bool,
    human: bool,
    compact: bool,
    json: bool,
    decimals: Option<usize>,
    kilobytes: bool,
    megabytes: bool,
}

/// The devices to print, and their names.
#[derive(Default)]
struct DeviceOptions {
    everything: bool,
    all_devices: bool,
    groups: bool,
    any_device: bool,
    only_groups: bool,
    omit_idle: bool,
    registered_names: bool,
    persistent: Option<String>,
    list: DeviceList,
}

/// Parses a command line without the program's name. `posixly_correct`:
/// whether the environment contains POSIXLY_CORRECT.
///
/// # Errors
///
/// Arguments that iostat would refuse, with the reason.
pub fn read(words: &[String], posixly_correct: bool, names: &mut dyn DeviceNames) -> Result<Action, IostatUsageError> {
    let mut given = GivenOptions::default();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "-p" => match words.next_if(|next| !next.starts_with('-') && !is_number(next)) {
                Some(list) => given.partitions_of(list, names),
                None => given.devices.everything = true,
            },
            "-g" => {
                let Some(name) = words.next() else { return usage("-g needs a group name: -g NAME DEVICE …") };
                given.devices.groups = true;
                given.devices.list.add_group(name);
            }
            "--human" => given.layout.human = true,
            "--pretty" => given.layout.pretty = true,
            "--compact" => given.layout.compact = true,
            "--compat=meant" => given.compat = Compat::Meant,
            "--compat=strict" => given.compat = Compat::Strict,
            "-f" | "+f" => {
                let directory = words.next().filter(|path| given.other_place.is_none() && names.is_directory(path));
                let Some(directory) = directory else {
                    return usage(format!(
                        "{word} needs an existing directory and can be given once: {word} DIRECTORY"
                    ));
                };
                let place = if word == "-f" { OtherPlace::Instead } else { OtherPlace::Additional };
                given.other_place = Some(place(directory.into()));
            }
            "-j" => {
                let Some(kind) = words.next() else {
                    return usage("-j needs a name type: -j ID, LABEL, PATH or UUID");
                };
                let lower = kind.to_lowercase();
                if lower.contains('/') || !names.has_type(&lower) {
                    return Err(IostatUsageError::PersistentType { given: kind.to_owned() });
                }
                given.devices.persistent = Some(lower);
                given.layout.pretty = true;
            }
            "-o" => match words.next() {
                Some("JSON") => given.layout.json = true,
                other => {
                    return usage(format!("unknown output format `{}`; use -o JSON", other.unwrap_or_default()));
                }
            },
            word if word.starts_with("--dec=") => match word {
                "--dec=0" => given.layout.decimals = Some(0),
                "--dec=1" => given.layout.decimals = Some(1),
                "--dec=2" => given.layout.decimals = Some(2),
                _ => return usage(format!("`{word}`: use 0, 1 or 2 decimals")),
            },
            word if word.starts_with("--") => return usage(format!("unknown option `{word}`")),
            word if word.starts_with('-') => {
                for letter in word.chars().skip(1) {
                    if letter == 'V' {
                        return Ok(Action::Version);
                    }
                    given.letter(letter)?;
                }
            }
            word if !is_number(word) => given.device(word, names),
            word => given.number(word)?,
        }
    }
    given.settings(posixly_correct)
}

/// Whether a word has only digits; the empty word counts as well.
fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit())
}

impl GivenOptions {
    fn letter(&mut self, letter: char) -> Result<(), IostatUsageError> {
        match letter {
            'c' => self.reports.cpu = true,
            'd' => self.reports.disk = true,
            'H' => self.devices.only_groups = true,
            'h' => (self.layout.pretty, self.layout.human) = (true, true),
            'k' if self.layout.megabytes => return usage("-k and -m cannot be combined"),
            'k' => self.layout.kilobytes = true,
            'm' if self.layout.kilobytes => return usage("-k and -m cannot be combined"),
            'm' => self.layout.megabytes = true,
            'N' => self.devices.registered_names = true,
            'p' => self.devices.everything = true,
            's' => self.layout.short = true,
            't' => self.reports.timestamp = true,
            'x' => self.layout.extended = true,
            'y' => self.reports.omit_first = true,
            'z' => self.devices.omit_idle = true,
            _ => return usage(format!("unknown option -{letter}")),
        }
        Ok(())
    }

    fn number(&mut self, word: &str) -> Result<(), IostatUsageError> {
        // Only digits: a value that does not fit is limited to the maximum, as in strtol(3).
        let value = if word.is_empty() { 0 } else { word.parse::<i64>().unwrap_or(i64::MAX).unsigned_abs() };
        match (self.reports.interval_s, self.reports.count) {
            (None, _) => self.reports.interval_s = Some(value),
            (Some(_), None) if value == 0 => return usage("a count of 0 reports; use 1 or more"),
            (Some(0), None) => return usage(format!("{word} reports at an interval of 0; use 1 s or more")),
            (Some(_), None) => self.reports.count = Some(value),
            (Some(_), Some(_)) => return usage(format!("unexpected `{word}` after interval and count")),
        }
        Ok(())
    }

    /// Sorts devices in the list unless there are groups or all devices are requested, as far
    /// as known when a word is read.
    fn order(&self) -> Placement {
        if self.devices.groups || self.devices.everything { Placement::AsSaid } else { Placement::Sorted }
    }

    fn named(&self, word: &str, names: &mut dyn DeviceNames) -> String {
        let name = names.resolve(word).replace('/', "!");
        match &self.devices.persistent {
            Some(kind) => names.of_persistent(kind, &name).unwrap_or(name),
            None => name,
        }
    }

    fn add(&mut self, word: &str, names: &mut dyn DeviceNames) -> usize {
        let name = self.named(word, names);
        let known = if self.devices.registered_names { names.of_registered(&name) } else { None };
        let number = names.number(known.as_deref().unwrap_or(&name).replace('!', "/").as_str());
        let order = self.order();
        self.devices.list.add_named(known.as_deref().unwrap_or(&name), number, order)
    }

    fn device(&mut self, word: &str, names: &mut dyn DeviceNames) {
        self.devices.any_device = true;
        if word == "ALL" {
            self.devices.all_devices = true;
        } else {
            self.add(word, names);
        }
    }

    fn partitions_of(&mut self, list: &str, names: &mut dyn DeviceNames) {
        self.devices.any_device = true;
        for word in list.split(',').filter(|word| !word.is_empty()) {
            if word == "ALL" {
                self.devices.everything = true;
            } else {
                let at = self.add(word, names);
                self.devices.list.with_partitions(at);
            }
        }
    }

    fn settings(self, posixly_correct: bool) -> Result<Action, IostatUsageError> {
        if self.devices.only_groups && !self.devices.groups {
            return usage("-H needs a group; add one with -g");
        }
        let unit = match (self.layout.kilobytes, self.layout.megabytes) {
            (_, true) => DataUnit::Megabytes,
            (false, false) if posixly_correct => DataUnit::Sectors,
            _ => DataUnit::Kilobytes,
        };
        let columns = match (self.layout.extended, self.layout.short) {
            (false, false) => Columns::Basic,
            (false, true) => Columns::BasicShort,
            (true, false) => Columns::Extended,
            (true, true) => Columns::ExtendedShort,
        };
        let layout = match (self.layout.json, self.layout.pretty, self.layout.compact) {
            (true, _, _) => TableLayout::Json,
            (false, true, true) => TableLayout::NameLast,
            (false, true, false) => TableLayout::Parts,
            (false, false, _) => TableLayout::Lines,
        };
        let which = if self.devices.everything {
            Which::Everything
        } else if self.devices.all_devices || !self.devices.any_device {
            Which::Whole
        } else {
            Which::Named
        };
        let neither = !self.reports.cpu && !self.reports.disk;
        let interval_s = self.reports.interval_s.unwrap_or(0);
        Ok(Action::Report(Box::new(IostatSettings {
            cpu: self.reports.cpu || neither,
            disk: self.reports.disk
                || neither
                || self.devices.everything
                || self.layout.extended
                || self.devices.any_device,
            timestamp: self.reports.timestamp,
            columns,
            layout,
            human: self.layout.human,
            decimals: self.layout.decimals,
            unit,
            which,
            list: self.devices.list,
            never_used: self.devices.any_device,
            omit_idle: self.devices.omit_idle,
            only_groups: self.devices.only_groups,
            omit_first: self.reports.omit_first,
            registered_names: self.devices.registered_names,
            persistent: self.devices.persistent,
            other_place: self.other_place,
            interval_s,
            count: if interval_s == 0 { Some(1) } else { self.reports.count },
            compat: self.compat,
        })))
    }
}
