//! `plumb as iostat` end to end, compared with the real one on this machine at the same time.

use crate::common::{Home, needs};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

/// Splits a text into words that are not numbers, and numbers.
fn split_numbers(text: &str) -> (Vec<&str>, Vec<f64>) {
    let is_number = |word: &&str| word.trim_matches([',', '}', '%']).parse::<f64>().is_ok();
    let (numbers, words): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(is_number);
    (words, numbers.iter().map(|word| word.trim_matches([',', '}', '%']).parse().unwrap()).collect())
}

/// Returns the output of the real iostat in a plain environment.
fn real(line: &str) -> Command {
    let mut command = Command::new("iostat");
    command.args(line.split_whitespace()).env("LC_ALL", "C").env_remove("S_COLORS").env_remove("S_TIME_FORMAT");
    command
}

/// Returns the device with the most known activity: the busiest since boot.
fn busiest() -> Option<String> {
    let text = std::fs::read_to_string("/proc/diskstats").ok()?;
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let whole = lines.filter(|words| Path::new("/sys/block").join(words[2]).exists());
    let most = whole.max_by_key(|words| words[3].parse::<u64>().unwrap_or(0) + words[7].parse::<u64>().unwrap_or(0))?;
    Some(most[2].to_owned())
}

// Protects: the same words, columns, devices and order as the real one, and the same numbers since boot.
#[test]
fn rates_agree_with_the_real_iostat() {
    if !needs::tools(&["iostat"]) {
        return;
    }
    let Some(device) = busiest() else { return needs::not_shown("a machine without any block device") };
    let home = Home::new();
    for line in [
        "",
        "-x",
        "-xs",
        "-d -m",
        "-c",
        "-xh",
        "-p ALL -d",
        "-o JSON",
        "-x -o JSON",
        "-dx DEV",
        "-d -g all DEV -H",
        "-s",
    ] {
        let line = line.replace("DEV", &device);
        let child = home.start(&format!("as iostat {line}"));
        let theirs = String::from_utf8(real(&line).output().unwrap().stdout).unwrap();
        let ours = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let ((our_words, our_numbers), (their_words, their_numbers)) = (split_numbers(&ours), split_numbers(&theirs));
        if line.contains('h') || their_numbers.len() != our_numbers.len() {
            // Units change with the numbers, and a device may have appeared just now.
            let heads =
                |text: &str| text.lines().filter(|line| line.contains("/s")).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(heads(&ours), heads(&theirs), "{line}");
            continue;
        }
        assert_eq!(our_words, their_words, "{line}");
        for (ours, theirs) in our_numbers.iter().zip(&their_numbers) {
            // The samples were taken a few milliseconds apart.
            assert!((ours - theirs).abs() <= 0.02 * theirs.abs() + 1.0, "{line}: {ours} beside {theirs}");
        }
    }
}

/// Replaces the machine's counters by recorded ones, for one command in its own namespaces.
const PRETEND: &str = "
    mount --make-rprivate / && mkdir -p block/sda/sda1 block/sda/sda2 block/sda/sda10 || exit 99
    { read -r uptime; read -r cpu; cat > diskstats; } < \"$LOOK\"
    echo \"$uptime\" > uptime; printf '%s\\ncpu0 1 1 1 1\\n' \"$cpu\" > stat
    while read -r major minor name rest; do
        case $name in sda?*) place=block/sda/$name;; */*) place=block/$(echo $name | tr / !);; *) place=block/$name;; esac
        mkdir -p \"$place\" && echo $rest > \"$place/stat\"
    done < diskstats
    for file in uptime stat diskstats; do mount --bind $file /proc/$file || exit 99; done
    mount --bind block /sys/block || exit 99
    exec \"$@\"
";

// Protects: with the same counters, every byte is the same for all options, compared with the real program.
#[test]
fn root_the_same_counters_give_the_same_bytes() {
    if !needs::root_and(&["iostat", "unshare", "mount"]) {
        return;
    }
    let home = Home::new();
    let look = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools-classic/golden/iostat/look2");
    let pretend = |program: &[&str], line: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", PRETEND, "sh"]).args(program).args(line.split_whitespace());
        command.current_dir(home.work()).env("LOOK", &look).env("LC_ALL", "C").env("TZ", "UTC");
        let output = command.env_remove("S_TIME_FORMAT").env_remove("S_COLORS").output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let plumb = home.command([""]).get_program().to_string_lossy().into_owned();
    for line in [
        "",
        "-x",
        "-xs",
        "-s",
        "-xh",
        "-hs",
        "-xm --dec=1",
        "-x --dec=0",
        "-d -p",
        "-p sda -x",
        "-p ALL",
        "-c",
        "-z",
        "-xy",
        "loop0 sdz",
        "sda ALL -d",
        "-o JSON",
        "-x -o JSON",
        "-xs -o JSON -d",
        "-g one sda vda -g two sdb -x",
        "-H -g one sda vda",
        "--human",
        "--pretty --compact -x",
        "-N -d",
        "nosuch -x",
    ] {
        let theirs = pretend(&["iostat"], line);
        if theirs.0 == Some(99) {
            return needs::not_shown("the same counters for both: this machine does not let /proc be covered");
        }
        let is_recorded = ["sda", "46.90"].iter().any(|known| theirs.1.contains(known));
        assert!(is_recorded, "the recorded counters are in front of iostat: {line}: {theirs:?}");
        assert_eq!(pretend(&[&plumb, "as", "iostat"], line), theirs, "{line}");
    }
}

// Protects: an interval of one second lasts one second, and reports are printed when they are ready, not at the end.
#[test]
fn reports_come_one_by_one() {
    let home = Home::new();
    let mut child = home.start("as iostat -d -y 1");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let heads = lines.by_ref().filter(|line| line.starts_with("Device")).take(2).count();
    assert_eq!(heads, 2);
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    assert_eq!(child.wait().unwrap().code(), Some(0), "Ctrl-C is how it ends");
}

// Protects: JSON is complete after Ctrl-C.
#[test]
fn interrupted_json_is_json() {
    let home = Home::new();
    let mut child = home.start("as iostat -o JSON 1");
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    while !text.contains("\"disk\": [") {
        assert!(out.read_line(&mut text).unwrap() > 0, "{text}");
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let value: Value = plumb_document::json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(!value["sysstat"]["hosts"][0]["statistics"].as_array().unwrap().is_empty());
}

// Protects: a reader that stops reading is not reported as an error.
#[test]
fn a_pipe_that_breaks_is_quiet() {
    let home = Home::new();
    let mut child = home.start("as iostat -d 1");
    drop(child.stdout.take());
    let mut complaints = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaints.as_str()), (Some(141), ""));
}

// Protects: exit codes and texts of refused arguments, the version, and the link's name.
#[test]
fn what_is_refused_and_the_link() {
    let home = Home::new();
    let printed = home.plumb("as iostat -Q").expect(1);
    assert!(
        printed.err.starts_with("Usage: iostat [ options ]") && printed.err.ends_with("iostat: unknown option -Q\n")
    );
    home.plumb("as iostat -j nosuch").expect(1).expect_stderr(&["Invalid type of persistent device name", "-j nosuch"]);
    home.plumb("as iostat -V").expect(0).expect_stdout(&["sysstat version 12.6.1"]);
    let none = home.plumb("as iostat -d nosuchdevice").expect(0);
    assert_eq!(none.out.lines().filter(|line| !line.is_empty()).count(), 2, "banner and head: {}", none.out);
    let link = home.work().join("iostat");
    std::os::unix::fs::symlink(home.command([""]).get_program(), &link).unwrap();
    let output = Command::new(&link).args(["-c"]).stderr(Stdio::inherit()).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("avg-cpu:  %user   %nice"));
}

// Protects: one warning, on standard error, if numbers differ from iostat's; none in strict mode.
#[test]
fn groups_warn_once() {
    let home = Home::new();
    let Some(device) = busiest() else { return needs::not_shown("a machine without any block device") };
    let output = home.plumb(&format!("as iostat -dx -g one {device} 1 2")).expect(0);
    assert_eq!(output.err.lines().count(), 1, "{}", output.err);
    assert!(output.err.contains("--compat=strict"));
    assert_eq!(home.plumb(&format!("as iostat -dx --compat=strict -g one {device} 1 2")).expect(0).err, "");
    assert_eq!(home.plumb(&format!("as iostat -dx {device}")).expect(0).err, "");
}
