//! What printed commands do, as far as an audit needs it.

use super::form::Durability;
use super::postmark::Settings;
use plumb_result::CellMetric;
use plumb_workload::Bytes;

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `dd`.
    Dd(Dd),
    /// `bonnie++`.
    Bonnie(Bonnie),
    /// `iozone`.
    Iozone(Iozone),
    /// PostMark's settings.
    Postmark(Postmark),
    /// `mdadm --create`.
    CreateArray {
        /// `/dev/md0`.
        device: String,
        /// `4`, `raid1` …
        level: Option<String>,
        /// Whether building starts a resync.
        resyncs: bool,
    },
    /// Waits for an array: `mdadm --wait`.
    WaitForArray,
    /// `mkfs`, `newfs`.
    Format {
        /// What is formatted.
        device: String,
    },
    /// `mount`.
    Mount {
        /// What is mounted.
        device: String,
        /// Where.
        at: String,
    },
    /// `umount` of a device or a directory.
    Unmount(String),
    /// Something that an audit does not know.
    Other,
}

/// A `dd` command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dd {
    /// `if=`.
    pub input: Option<String>,
    /// `of=`.
    pub output: Option<String>,
    /// `bs=`, in bytes.
    pub block: Option<u64>,
    /// `count=`.
    pub count: Option<u64>,
    /// `oflag=`.
    pub output_flags: Vec<String>,
    /// `iflag=`.
    pub input_flags: Vec<String>,
    /// `conv=`.
    pub conversions: Vec<String>,
    /// Words that are no operands, as printed.
    pub not_operands: Vec<String>,
    /// Numbers with a suffix that only BSD knows: `1m`.
    pub bsd_numbers: Vec<String>,
}

/// A `bonnie++` command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bonnie {
    /// `-d`.
    pub directory: Option<String>,
    /// `-s`, in bytes.
    pub size: Option<u64>,
    /// `-r`, in bytes.
    pub memory: Option<u64>,
    /// The first number of `-n`; 16 when absent.
    pub files_1024: Option<u64>,
    /// `-f`.
    pub fast: bool,
    /// `-b`.
    pub sync_each: bool,
}

/// An `iozone` command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Iozone {
    /// `-f`.
    pub file: Option<String>,
    /// `-s` or `-g`, in bytes, the largest.
    pub size: Option<u64>,
    /// Tests of `-i`; all when empty.
    pub tests: Vec<u8>,
    /// `-e`.
    pub flush: bool,
    /// `-c`.
    pub close: bool,
    /// `-I`.
    pub direct: bool,
    /// `-o`.
    pub sync_each: bool,
    /// `-U`.
    pub remount: bool,
    /// `-S`, in kB.
    pub cache_size: Option<u64>,
}

/// A PostMark configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Postmark {
    /// Its settings, with defaults where none were printed.
    pub settings: Settings,
    /// Names of what was set: `seed`.
    pub stated: Vec<String>,
    /// Whether `location` names several places, which draws random numbers that depend on them.
    pub locations: usize,
}

/// Devices that may be written without harm.
const HARMLESS: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/stdout", "/dev/full"];

/// What a printed command line does: one action for each command in it.
pub fn read(line: &str) -> Vec<Action> {
    if let Some(postmark) = postmark(line) {
        return vec![Action::Postmark(postmark)];
    }
    line.replace("&&", ";").split([';', '|', '\n']).filter(|part| !part.trim().is_empty()).map(one).collect()
}

fn one(part: &str) -> Action {
    let words: Vec<&str> = part
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| matches!(c, '\'' | '"' | '’' | '‘' | '“' | '”')))
        .skip_while(|word| *word == "sudo" || *word == "time")
        .collect();
    let Some((program, arguments)) = words.split_first() else { return Action::Other };
    let program = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    match program.as_str() {
        "dd" => Action::Dd(dd(arguments)),
        "bonnie++" | "bonnie" => Action::Bonnie(bonnie(arguments)),
        "iozone" => Action::Iozone(iozone(arguments)),
        "mdadm" => mdadm(arguments),
        "mount" => mount(arguments),
        "umount" => arguments.last().map_or(Action::Other, |what| Action::Unmount((*what).to_owned())),
        name if name.starts_with("mkfs") || name.starts_with("mke2fs") || name == "newfs" => {
            arguments.last().map_or(Action::Other, |device| Action::Format { device: (*device).to_owned() })
        }
        _ => Action::Other,
    }
}

/// A number with a suffix as `dd` reads it, and whether GNU's `dd` would.
fn dd_number(text: &str) -> Option<(u64, bool)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].to_lowercase().as_str() {
        "" => 1,
        "c" => 1,
        "w" => 2,
        "b" => 512,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    Some((number.checked_mul(factor)?, !text.ends_with(['m', 'g'])))
}

const DD_OPERANDS: [&str; 15] = [
    "if", "of", "bs", "ibs", "obs", "cbs", "count", "skip", "seek", "iseek", "oseek", "conv", "iflag", "oflag",
    "status",
];

fn dd(arguments: &[&str]) -> Dd {
    let mut dd = Dd::default();
    for word in arguments {
        let Some(split) = word.find(|c: char| !c.is_ascii_alphabetic()) else {
            dd.not_operands.push((*word).to_owned());
            continue;
        };
        let (key, value) = (&word[..split], word[split..].trim_start_matches(['=', '/']));
        if !word[split..].starts_with('=') || !DD_OPERANDS.contains(&key) {
            dd.not_operands.push((*word).to_owned());
            // What was meant is plain enough where only the sign is wrong.
            if !DD_OPERANDS.contains(&key) {
                continue;
            }
        }
        // A path keeps its first slash.
        let value = if word[split..].starts_with('=') { &word[split + 1..] } else { value };
        let flags = || value.split(',').map(str::to_owned).collect::<Vec<_>>();
        let mut number = || {
            let (number, gnu) = dd_number(value)?;
            if !gnu {
                dd.bsd_numbers.push((*word).to_owned());
            }
            Some(number)
        };
        match key {
            "if" => dd.input = Some(value.to_owned()),
            "of" => dd.output = Some(value.to_owned()),
            "bs" => dd.block = number(),
            "count" => dd.count = number(),
            "oflag" => dd.output_flags = flags(),
            "iflag" => dd.input_flags = flags(),
            "conv" => dd.conversions = flags(),
            _ => {}
        }
    }
    dd
}

impl Dd {
    /// Bytes that it is told to copy.
    pub fn bytes(&self) -> Option<u64> {
        self.block?.checked_mul(self.count?)
    }

    /// Whether it reads something real and throws it away.
    pub fn is_read(&self) -> bool {
        self.output.as_deref() == Some("/dev/null")
    }

    /// Whether its input is nothing at all: the two ends exchanged.
    pub fn is_swapped(&self) -> bool {
        self.input.as_deref() == Some("/dev/null")
    }

    /// The device that it writes over, where it writes to a device.
    pub fn overwrites_device(&self) -> Option<&str> {
        self.output.as_deref().filter(|path| path.starts_with("/dev/") && !HARMLESS.contains(path))
    }

    /// Flags that make writes durable.
    pub fn flush_flags(&self) -> Vec<String> {
        let of_output = self.output_flags.iter().filter(|flag| matches!(flag.as_str(), "dsync" | "sync"));
        let of_conversion = self.conversions.iter().filter(|flag| matches!(flag.as_str(), "fsync" | "fdatasync"));
        of_output.map(|flag| format!("oflag={flag}")).chain(of_conversion.map(|flag| format!("conv={flag}"))).collect()
    }

    /// How its writes become durable within the time that it prints.
    pub fn durability(&self) -> Durability {
        let has = |flags: &[String], names: [&str; 2]| flags.iter().any(|flag| names.contains(&flag.as_str()));
        if has(&self.output_flags, ["dsync", "sync"]) {
            Durability::FlushEach
        } else if has(&self.conversions, ["fsync", "fdatasync"]) {
            Durability::FlushAtEnd
        } else if has(&self.output_flags, ["direct", "direct"]) {
            Durability::Direct
        } else {
            Durability::None
        }
    }
}

/// A size whose bare number counts `unit` bytes.
fn sized(text: &str, unit: u64) -> Option<u64> {
    let text = text.split(':').next().unwrap_or(text);
    match text.parse::<u64>() {
        Ok(number) => number.checked_mul(unit),
        Err(_) => text.to_lowercase().parse::<Bytes>().ok().map(|bytes| bytes.0),
    }
}

/// Options in the manner of getopt: each letter of `with_value` takes the rest of its word, or the next word.
fn options<'a>(arguments: &[&'a str], with_value: &str) -> Vec<(char, &'a str)> {
    let mut found = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-') else { continue };
        for (at, letter) in letters.char_indices() {
            if with_value.contains(letter) {
                let rest = &letters[at + letter.len_utf8()..];
                let value = if rest.is_empty() { words.next().copied().unwrap_or("") } else { rest };
                found.push((letter, value));
                break;
            }
            found.push((letter, ""));
        }
    }
    found
}

fn bonnie(arguments: &[&str]) -> Bonnie {
    let mut bonnie = Bonnie::default();
    for (letter, value) in options(arguments, "dsnmrugxypzZc") {
        match letter {
            'd' => bonnie.directory = Some(value.to_owned()),
            's' => bonnie.size = sized(value, 1 << 20),
            'r' => bonnie.memory = sized(value, 1 << 20),
            'n' => bonnie.files_1024 = value.split(':').next().and_then(|number| number.parse().ok()),
            'f' => bonnie.fast = true,
            'b' => bonnie.sync_each = true,
            _ => {}
        }
    }
    bonnie
}

fn iozone(arguments: &[&str]) -> Iozone {
    let mut iozone = Iozone::default();
    let mut size_max = None;
    for (letter, value) in options(arguments, "srSibfFgnqytluULHkjJdPVXY+") {
        match letter {
            'f' => iozone.file = Some(value.to_owned()),
            's' => iozone.size = iozone.size.max(sized(value, 1 << 10)),
            'g' => size_max = sized(value, 1 << 10),
            'i' => iozone.tests.extend(value.parse::<u8>().ok()),
            'e' => iozone.flush = true,
            'c' => iozone.close = true,
            'I' => iozone.direct = true,
            'o' => iozone.sync_each = true,
            'U' => iozone.remount = true,
            'S' => iozone.cache_size = value.parse().ok(),
            _ => {}
        }
    }
    iozone.size = iozone.size.or(size_max);
    iozone
}

fn mdadm(arguments: &[&str]) -> Action {
    if arguments.iter().any(|word| matches!(*word, "--wait" | "-W")) {
        return Action::WaitForArray;
    }
    if !arguments.iter().any(|word| matches!(*word, "--create" | "-C")) {
        return Action::Other;
    }
    let level = arguments.iter().find_map(|word| word.strip_prefix("--level=")).map(str::to_owned);
    let striped_only = matches!(level.as_deref(), Some("0" | "raid0" | "stripe" | "linear"));
    let resyncs = !striped_only && !arguments.contains(&"--assume-clean");
    match arguments.iter().find(|word| word.starts_with("/dev/md")) {
        Some(device) => Action::CreateArray { device: (*device).to_owned(), level, resyncs },
        None => Action::Other,
    }
}

fn mount(arguments: &[&str]) -> Action {
    let mut places = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "-o" | "-t" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => places.push(word),
        }
    }
    match places.as_slice() {
        [device, at] => Action::Mount { device: (*device).to_owned(), at: (*at).to_owned() },
        _ => Action::Other,
    }
}

fn postmark(text: &str) -> Option<Postmark> {
    let mut found = Postmark::default();
    for line in text.split([';', '\n']) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["set", key, rest @ ..] = words.as_slice() else { continue };
        let number = |at: usize| rest.get(at).and_then(|word| word.parse::<u64>().ok());
        let settings = &mut found.settings;
        match *key {
            "size" => {
                settings.low = number(0)?;
                settings.high = number(1).unwrap_or(settings.low);
            }
            "number" => settings.number = number(0)?,
            "transactions" => settings.transactions = number(0)?,
            "seed" => settings.seed = u32::try_from(number(0)?).ok()?,
            "subdirectories" => settings.subdirectories = number(0)?,
            "bias" => {
                let value = rest.get(1).and_then(|word| word.parse().ok())?;
                match *rest.first()? {
                    "read" => settings.bias_read = value,
                    "create" => settings.bias_create = value,
                    _ => {}
                }
            }
            "location" => found.locations += 1,
            _ => {}
        }
        found.stated.push((*key).to_owned());
    }
    (!found.stated.is_empty()).then_some(found)
}

impl Action {
    /// The metrics that the command yields.
    pub fn yields(&self) -> Vec<CellMetric> {
        use CellMetric::*;
        match self {
            Action::Bonnie(bonnie) => {
                let mut yields = Vec::new();
                if bonnie.size != Some(0) {
                    if !bonnie.fast {
                        yields.extend([CharWrite, CharRead]);
                    }
                    yields.extend([Write, Rewrite, Read, Seeks]);
                }
                if bonnie.files_1024 != Some(0) {
                    yields.extend([Create, Stat, Delete, RandomCreate, RandomStat, RandomDelete]);
                }
                yields
            }
            Action::Iozone(iozone) => {
                // The tests of -i, by their numbers; all of them where none is named. Source: IOzone's manual.
                const TESTS: [(u8, &[CellMetric]); 8] = [
                    (0, &[Write, Rewrite]),
                    (1, &[Read, Reread]),
                    (2, &[RandomRead, RandomWrite]),
                    (3, &[BackwardRead]),
                    (4, &[RecordRewrite]),
                    (5, &[StrideRead]),
                    (6, &[Fwrite, Frewrite]),
                    (7, &[Fread, Freread]),
                ];
                let asked = |test: u8| iozone.tests.is_empty() || iozone.tests.contains(&test);
                TESTS.iter().filter(|(test, _)| asked(*test)).flat_map(|(_, metrics)| metrics.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dd_of(line: &str) -> Dd {
        match read(line).remove(0) {
            Action::Dd(dd) => dd,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn dd_is_read_with_its_mistakes() {
        let write = dd_of("dd if=/dev/zero of=/dev/md0 bs=1g count=1 oflag=dsync");
        assert_eq!(
            (write.block, write.bytes(), write.durability()),
            (Some(1 << 30), Some(1 << 30), Durability::FlushEach)
        );
        assert_eq!(write.overwrites_device(), Some("/dev/md0"));
        assert_eq!(write.bsd_numbers, ["bs=1g"]);
        let read = dd_of("dd if=/home/namn/test of=/dev/null bs=1m oflag/dsync");
        assert!(read.is_read() && read.overwrites_device().is_none());
        assert_eq!(read.not_operands, ["oflag/dsync"]);
        assert_eq!(read.flush_flags(), ["oflag=dsync"], "what was meant");
        assert!(dd_of("dd of=testfile if=/dev/null bs=1024M count=100").is_swapped());
    }

    #[test]
    fn preparations_are_read() {
        assert_eq!(
            read(
                "mdadm --create --verbose --level=4 --metadata=1.2 --chunk=256 --raid-devices=3 /dev/md0 /dev/sdb /dev/sdc"
            ),
            [Action::CreateArray { device: "/dev/md0".into(), level: Some("4".into()), resyncs: true }]
        );
        assert_eq!(read("mdadm --wait /dev/md0"), [Action::WaitForArray]);
        assert!(matches!(
            &read("mdadm --create /dev/md0 --level=1 --assume-clean")[0],
            Action::CreateArray { resyncs: false, .. }
        ));
        assert_eq!(
            read("mkfs.ext4 /dev/md0 && mount -o noatime /dev/md0 /mnt/raid"),
            [
                Action::Format { device: "/dev/md0".into() },
                Action::Mount { device: "/dev/md0".into(), at: "/mnt/raid".into() }
            ]
        );
    }

    #[test]
    fn the_other_tools_are_read() {
        let Action::Bonnie(bonnie) = read("bonnie++ -d /mnt/raid -r 1024 -n 100:16384:0:20 -s 2048 -u root").remove(0)
        else {
            panic!()
        };
        assert_eq!((bonnie.size, bonnie.files_1024), (Some(2 << 30), Some(100)));
        let Action::Iozone(iozone) = read("Iozone -Ra -s 512m -S 1024 -i 0 -i 1 -b namn.xls").remove(0) else {
            panic!()
        };
        assert_eq!((iozone.size, iozone.tests, iozone.flush), (Some(512 << 20), vec![0, 1], false));
        let Action::Postmark(postmark) =
            read("set size 1000 300000; set number 4000; set transactions 50000").remove(0)
        else {
            panic!()
        };
        assert_eq!((postmark.settings.high, postmark.settings.number, postmark.settings.seed), (300_000, 4000, 42));
        assert!(!postmark.stated.contains(&"seed".to_owned()));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}", words in "(dd|iozone|bonnie\\+\\+|mdadm|mount|set|-[a-zA-Z+]{1,4}|[a-z]{2,5}[=/][0-9a-zA-Z,/]{0,8}| |;|é|-n|:){0,20}") {
            let _ = read(&text);
            let _ = read(&words);
        }
    }
}
