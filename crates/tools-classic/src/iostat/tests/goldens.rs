//! Comparisons of whole outputs.

use crate::iostat::print::{FrameEnvironment, TimeFormat, palette};
use crate::iostat::{Action, Compat, DeviceNames, IostatSettings, Session, read};
use plumb_probe::Sysroot;
use plumb_probe::blocks::{BlockWatch, Elsewhere};
use plumb_result::blocks::{DeviceNumber, MachineReading};
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/iostat")
}

/// The machine on which the samples were taken.
pub(super) struct Described;

const PERSISTENT: [(&str, &str); 2] = [("wwn-0x5000c500a0b1c2d3", "sda"), ("wwn-0x5000c500a0b1c2d3-part1", "sda1")];

impl DeviceNames for Described {
    fn resolve(&mut self, word: &str) -> String {
        word.strip_prefix("/dev/").unwrap_or(word).to_owned()
    }

    fn number(&mut self, name: &str) -> Option<DeviceNumber> {
        let known = name.strip_prefix("disk/by-id/").and_then(|name| self.of_persistent("id", name));
        (known.as_deref() == Some("sda")).then_some(DeviceNumber { major: 8, minor: 0 })
    }

    fn of_registered(&mut self, name: &str) -> Option<String> {
        (name == "vg-home").then(|| "dm-0".to_owned())
    }

    fn registered(&mut self, number: DeviceNumber) -> Option<String> {
        (number == DeviceNumber { major: 252, minor: 0 }).then(|| "vg-home".to_owned())
    }

    fn has_type(&mut self, kind: &str) -> bool {
        kind == "id"
    }

    fn of_persistent(&mut self, _: &str, name: &str) -> Option<String> {
        PERSISTENT.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
    }

    fn persistent(&mut self, _: &str, name: &str) -> Option<String> {
        PERSISTENT.iter().find(|pair| pair.1 == name).map(|pair| pair.0.to_owned())
    }

    fn is_directory(&mut self, path: &str) -> bool {
        path == "/there"
    }
}

/// Returns a sample, read by the probe from copies of the original files.
fn read_sample(number: usize) -> MachineReading {
    let text = std::fs::read_to_string(golden().join(format!("look{number}"))).unwrap();
    let (uptime, rest) = text.split_once('\n').unwrap();
    let (cpu, disks) = rest.split_once('\n').unwrap();
    let tree = tempfile::tempdir().unwrap();
    let file = |path: &str, content: &str| {
        let place = tree.path().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, content).unwrap();
    };
    file("proc/uptime", uptime);
    file("proc/stat", cpu);
    file("proc/diskstats", disks);
    for whole in disks.lines().filter_map(|line| line.split_whitespace().nth(2)) {
        let place = match whole.strip_prefix("sda") {
            Some("") | None => whole.replace('/', "!"),
            Some(_) => format!("sda/{whole}"),
        };
        std::fs::create_dir_all(tree.path().join("sys/block").join(place)).unwrap();
    }
    BlockWatch::with_elsewhere_in(&Sysroot::at(tree.path()), Elsewhere::Nowhere).read().unwrap()
}

/// A command line and iostat's output.
struct Golden {
    name: String,
    environment: Vec<(String, String)>,
    words: Vec<String>,
    answer: String,
}

impl Golden {
    fn all() -> Vec<Golden> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(golden()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
        files.sort();
        files.iter().map(|file| Golden::read(file)).collect()
    }

    fn read(file: &Path) -> Golden {
        let text = std::fs::read_to_string(file).unwrap();
        let (command, answer) = text.strip_prefix("$ ").and_then(|text| text.split_once('\n')).unwrap();
        let (before, after) = command.split_once("iostat").unwrap();
        let pair = |word: &str| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Golden {
            name: file.file_stem().unwrap().to_string_lossy().into_owned(),
            environment: before.split_whitespace().filter_map(pair).collect(),
            words: after.split_whitespace().map(str::to_owned).collect(),
            answer: answer.to_owned(),
        }
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|pair| pair.0 == name).map(|pair| pair.1.as_str())
    }

    fn settings(&self, compat: Compat) -> IostatSettings {
        let Ok(Action::Report(settings)) =
            read(&self.words, self.variable("POSIXLY_CORRECT").is_some(), &mut Described)
        else {
            panic!("{}", self.name);
        };
        IostatSettings { compat, ..*settings }
    }

    /// Returns Plumb's output, to the end or until Ctrl-C during the wait after `until` reports.
    fn ours(&self, compat: Compat, until: usize) -> String {
        let format = TimeFormat::from_variable(self.variable("S_TIME_FORMAT"));
        let is_iso = format != TimeFormat::from_variable(None);
        let environment = FrameEnvironment {
            system: "Linux".to_owned(),
            release: "6.1.0".to_owned(),
            host: "vm".to_owned(),
            machine: "x86_64".to_owned(),
            processors: 2,
            date: if is_iso { "2026-11-20" } else { "11/20/26" }.to_owned(),
            palette: palette(self.variable("S_COLORS"), self.variable("S_COLORS_SGR"), false),
        };
        let time = if is_iso { "2026-11-20T19:05:08+0000" } else { "11/20/26 19:05:08" };
        let mut session = Session::new(self.settings(compat), environment);
        let mut text = session.opening();
        for number in 1.. {
            text.push_str(&session.report(&read_sample(number), time.to_owned(), &mut Described));
            if !session.goes_on() || number == until {
                break;
            }
            text.push_str(session.between());
        }
        // The command line prints through this, which converts colour marks.
        plumb_text::visible(&(text + session.closing())).into_owned()
    }
}

fn assert_same(name: &str, ours: &str, theirs: &str) {
    // After a group, all devices come in directory order, which is arbitrary.
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
        if name.starts_with("unordered") {
            lines.sort();
        }
        lines.concat()
    };
    let (ours, theirs) = (lines(ours), lines(theirs));
    for (number, (ours, theirs)) in (1..).zip(ours.lines().zip(theirs.lines())) {
        assert_eq!(ours, theirs, "{name}, line {number}");
    }
    assert_eq!(ours, theirs, "{name}: the end");
}

// Protects: columns, widths, decimals, order, units, colours, JSON and blank lines of every format are byte-exact.
#[test]
fn every_text_is_iostats() {
    let all = Golden::all();
    assert!(all.len() >= 40, "{} goldens", all.len());
    for golden in &all {
        assert_same(&golden.name, &golden.ours(Compat::Strict, usize::MAX), &golden.answer);
    }
}

// Protects: corrected output differs from iostat's only where iostat is wrong: for groups and replaced devices.
#[test]
fn corrections_are_limited_to_wrong_numbers() {
    for golden in Golden::all().iter().filter(|golden| golden.variable("S_COLORS").is_none()) {
        let ours = golden.ours(Compat::Meant, usize::MAX);
        let is_wrong = |line: &str| {
            let is_of = |name: &str| line.split_whitespace().any(|word| word.trim_matches(['"', ',']) == name);
            ["sdb", "both", "other", "all"].into_iter().any(is_of)
        };
        let kept = |text: &str| -> String {
            text.lines().filter(|line| !is_wrong(line)).map(|line| format!("{line}\n")).collect()
        };
        assert_same(&golden.name, &kept(&ours), &kept(&golden.answer));
    }
}

/// Returns the numbers in the lines of a name.
fn lines_of(text: &str, name: &str) -> Vec<Vec<f64>> {
    let of_name = text.lines().filter(|line| line.split_whitespace().next() == Some(name));
    of_name.map(|line| line.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()).collect()
}

// Protects: a group has the sum of its devices and their mean utilisation, in every report.
#[test]
fn a_group_is_what_its_devices_did() {
    let golden = Golden::read(&golden().join("group.txt"));
    let ours = golden.ours(Compat::Meant, usize::MAX);
    let (vda, loop7, both) = (lines_of(&ours, "vda"), lines_of(&ours, "loop7"), lines_of(&ours, "both"));
    assert_eq!(both.len(), 3);
    for ((vda, loop7), both) in vda.iter().zip(&loop7).zip(&both) {
        assert!((vda[0] + loop7[0] - both[0]).abs() < 0.011, "{ours}");
        let last = both.len() - 1;
        assert!(((vda[last] + loop7[last]) / 2.0 - both[last]).abs() < 0.011, "{ours}");
    }
    let theirs = lines_of(&golden.answer, "both");
    assert!(theirs[2].last() < theirs[1].last() && vda[2].last() > vda[1].last(), "iostat's fall though the use rises");
    let parts = Golden::read(&self::golden().join("group_pretty.txt")).ours(Compat::Meant, usize::MAX);
    let sums = parts.lines().filter(|line| line.ends_with(" both")).count();
    let zero = parts.lines().filter(|line| line.starts_with("    0.00      0.0k") && line.ends_with(" both")).count();
    assert_eq!((sums, zero), (12, 1), "only discards of the last report are none: {parts}");
}

// Protects: a counter that fell does not print a number near 2^64.
#[test]
fn a_device_that_was_replaced_counts_from_zero() {
    let golden = Golden::read(&golden().join("three_x.txt"));
    let last = |text: &str| lines_of(text, "sdb").last().unwrap().clone();
    assert!(last(&golden.answer)[1] > 1e18, "iostat's");
    assert_eq!(last(&golden.ours(Compat::Meant, usize::MAX))[1], 49.50, "100 sectors in 1.01 s");
}

// Protects: after Ctrl-C, JSON is complete, and text ends with its blank line.
#[test]
fn an_early_end_is_an_end() {
    for (name, until) in [("json", 1), ("json", 2), ("json_time", 1), ("json_time", 2)] {
        let text = Golden::read(&golden().join(format!("{name}.txt"))).ours(Compat::Meant, until);
        let value: serde_json::Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
        let reports = value["sysstat"]["hosts"][0]["statistics"].as_array().unwrap().len();
        assert_eq!(reports, if name == "json_time" { until - 1 } else { until });
    }
    let text = Golden::read(&golden().join("three_x.txt")).ours(Compat::Meant, 1);
    assert!(text.ends_with("\n\n\n"));
}
