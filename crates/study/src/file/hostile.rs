//! Values of every wrong kind, at every position of a study file.

use super::{FilesInDirectory, PlanOptions, plan};

/// A study with every key that takes a value of its own kind.
const STUDY: &str = r#"
[experiment]
name = "x"
question = "q"
budget = "1h"
seed = 1
[hosts]
box.ssh = "root@box"
box.boot = "reboot"
box.kernel = "6.1"
box.agent = "/plumb"
vm.vm.kernel = "6.1"
vm.vm.root = "/root"
vm.vm.disks = ["64MiB"]
vm.vm.memory = "512MiB"
vm.vm.cpus = 1
vm.vm.accel = "auto"
vm.vm.boot-timeout = 30
[safety]
expendable = [{ serial = "a" }]
[[factor]]
name = "f"
levels = [1, 2]
change = "hard"
exclusive = false
on-enter = "true"
when = {}
[[factor]]
name = "h"
binds = "host"
levels = ["box", "vm"]
[[provision]]
kind = "loop"
name = "d"
directory = "/tmp"
size = "64MiB"
count = 3
fill = "sparse"
direct-io = true
sector-size = 512
limits = { read-bps = "1MiB" }
[[provision]]
kind = "mdadm"
name = "md"
level = 5
devices = "@d"
wait = "none"
[[provision]]
kind = "mkfs"
fs = "ext4"
device = "@md"
options = ["-q"]
mount = "/mnt/x"
mount-options = ["noatime"]
[[provision]]
kind = "queue"
device = "@d"
set = { scheduler = "none" }
[target]
fill = "random"
prewrite = false
[workload.a]
write = { size = "1MiB", block = "4k" }
[workload.b]
dialect = "iozone"
args = "-i 0 -s 1m"
set = {}
stdin = []
cache = "cold"
[design]
order = "ABBA"
plots = 1
repeat = 1
exploratory = true
exclude = []
timeout = "60s"
[stop]
metric = "write.bw"
half-width = "5%"
[compare]
by = "f"
within = ["h"]
metrics = ["write.bw"]
primary = ["write.bw"]
equivalence = "5%"
correction = "holm"
effects = "f"
"#;

const WRONG: [&str; 12] = [
    "-1",
    "1.5",
    "true",
    "\"\"",
    "\"${nope}\"",
    "[[]]",
    "[1, \"a\", {}]",
    "{ a = 1 }",
    "{ a = {} }",
    "nan",
    "1979-05-27",
    "-9223372036854775808",
];

/// Internal words, which mean nothing to the author of the file.
const INSIDE: [&str; 14] = [
    "untagged",
    "did not match",
    "variant",
    "struct",
    "tuple",
    "newtype",
    "serde",
    "i64",
    "u32",
    "u64",
    "f64",
    "invalid type",
    "invalid value",
    "@kind",
];

// Protects: `repeat = -1` was answered with "untagged enum RepeatForm".
#[test]
fn no_error_shows_internal_words() {
    let planned = |text: &str| {
        let planned =
            plan("study.toml", text, &PlanOptions::default(), &mut FilesInDirectory("/no/such/directory".into()));
        planned.map(drop).map_err(|error| error.to_string())
    };
    planned(STUDY).unwrap();
    let (mut refused, mut tried) = (0, 0);
    for (number, line) in STUDY.lines().enumerate() {
        let Some((key, _)) = line.split_once(" = ") else { continue };
        for value in WRONG {
            let changed = |(index, old): (usize, &str)| match index == number {
                true => format!("{key} = {value}\n"),
                false => format!("{old}\n"),
            };
            let text: String = STUDY.lines().enumerate().map(changed).collect();
            tried += 1;
            let Err(error) = planned(&text) else { continue };
            refused += 1;
            // The line itself is quoted below.
            let head = error.lines().find(|line| line.starts_with("error: ")).unwrap_or(&error);
            let inside = INSIDE.iter().find(|word| head.contains(*word));
            assert!(inside.is_none(), "{key} = {value}: {inside:?} in {error}");
        }
    }
    assert!(refused * 2 > tried, "{refused} of {tried} wrong values were refused");
}
