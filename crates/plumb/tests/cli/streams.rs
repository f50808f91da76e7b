//! The calls of IOzone, PostMark and Bonnie++ equal those of the real tools for all options. Mixes are drawn from the
//! options that the dialects' pages list as supported, so that a fix for a few fixed command lines is not enough.
//! `PLUMB_TEST_SEED` sets another seed, and `PLUMB_TEST_LAB` adds more mixes.

use crate::common::breadth;
use crate::common::draws::Draws;
use crate::common::needs;
use crate::{bonnie, iozone, postmark};
use std::panic::AssertUnwindSafe;

/// Draws mixes and runs each with both tools. Reports all that differ, with the seed that draws them again.
fn each_mix(usual: u64, compared: impl Fn(&mut Draws) -> Result<(), String>) {
    let seed = match std::env::var("PLUMB_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap_or_else(|_| panic!("PLUMB_TEST_SEED={seed}: is not a whole number")),
        Err(_) => 17,
    };
    let count = if breadth::is_lab() { 15 } else { usual };
    let differ: Vec<String> = (0..count)
        .filter_map(|number| {
            // If a tool ends with an error, the next mixes must still run.
            let run = AssertUnwindSafe(|| compared(&mut Draws::for_case(seed, number)));
            let reported = std::panic::catch_unwind(run).unwrap_or_else(|_| Err("a tool failed: see above".to_owned()));
            reported.err().map(|why| format!("PLUMB_TEST_SEED={seed}, mix {number}: {why}"))
        })
        .collect();
    assert!(differ.is_empty(), "{} of {count} mixes differ\n{}", differ.len(), differ.join("\n"));
}

/// Options of IOzone that change how a process does its I/O, and that can be combined freely.
const IOZONE_FREE: &[&str] = &[
    "-e",
    "-c",
    "-W",
    "-m",
    "-p",
    "-K",
    "-w",
    "-+n",
    "-+N",
    "-R",
    "-O",
    "-Q",
    "-+u",
    "-S 512",
    "-L 64",
    "-j 3",
    "-b out.xls",
    "-+T",
    "-C",
    "-J 1",
];

/// At most one of these, because they exclude each other.
const IOZONE_OPEN: &[&str] =
    &["-o", "-I", "-I -o", "-+D", "-I -+D", "-+r", "-B", "-B -D", "-B -G", "-B -+A 1", "-B -o", "-Z", "-Z -B"];
const IOZONE_CONTENT: &[&str] = &["-V 7", "-+d", "-+X", "-+Z", "-+a 30", "-+w 40", "-+y 20", "-+C 50 -+a 10"];

fn iozone_free(draws: &mut Draws, checked: bool) -> String {
    let mut words = String::new();
    if draws.percent(60) {
        words += &format!(" {}", draws.one(IOZONE_OPEN));
    }
    for option in IOZONE_FREE {
        // The buffers of `-m` are not aligned for `-I`: the real tool fails.
        if draws.percent(15) && !(*option == "-m" && words.contains("-I")) {
            words += &format!(" {option}");
        }
    }
    if draws.percent(30) {
        words += &format!(" {}", draws.one(if checked { IOZONE_CONTENT } else { &IOZONE_CONTENT[2..4] }));
    }
    words
}

fn iozone_sizes(draws: &mut Draws) -> String {
    let record_kb = draws.one(&[4, 8, 16, 32, 64]);
    format!(" -r {record_kb}k -s {}k", record_kb * draws.number(1..=12))
}

/// One process: one size, or a sweep of sizes.
fn iozone_alone(draws: &mut Draws) -> iozone::Line {
    let mut words = match draws.number(0..=5) {
        0 => format!("-a -n 64k -g {} -y 8k -q 64k", draws.one(&["64k", "128k", "256k"])),
        1 => "-r 16k -r 64k -s 64k -s 128k".to_owned(),
        2 => "-a -z -n 64k -g 300k -y 4k -q 100k -+x 3".to_owned(),
        _ => iozone_sizes(draws).trim().to_owned(),
    };
    if draws.percent(80) {
        words += " -i 0";
        for test in 1..=7 {
            if draws.percent(35) {
                words += &format!(" -i {test}");
            }
        }
        if draws.percent(30) {
            words += draws.one(&[" -E -i 9", " -E -i 9 -i 10", " -i 10 -E"]);
        }
    }
    words += &iozone_free(draws, true);
    // Neither with a mapping, nor with the extra reads of `-K`, which async I/O skips.
    if draws.percent(10) && !words.contains("-B") && !words.contains("-K") {
        words += draws.one(&[" -H 2", " -k 4"]);
    }
    iozone::Line::new(&format!("{words} -f f"), &["f"])
}

/// Several processes. The stonewall randomly cuts off the last ops, so it is off.
fn iozone_together(draws: &mut Draws) -> iozone::Line {
    let names = ["a", "b", "c"];
    let count = draws.number(1..=3) as usize;
    let shared = draws.percent(20);
    let mut words = format!("-x -t {count} -i 0");
    if draws.percent(30) {
        words += " -T";
    }
    for test in [1, 2, 3, 5, 6, 7, 9, 10] {
        if draws.percent(20) {
            words += &format!(" -i {test}");
        }
    }
    if draws.percent(25) && count > 1 {
        words += draws.one(&[" -i 8 -+B", " -i 8 -+p 50 -+B", " -i 8 -+B -+F", " -i 8 -+K 1 -+B"]);
    }
    if draws.percent(15) {
        words += draws.one(&[" -P 0", " -d 100", " -+k", " -+O 500"]);
    }
    words += &iozone_sizes(draws);
    // Children of the real tool find errors in their own data (`-V`, `-+d`, `-+w`).
    words += &iozone_free(draws, false);
    if shared {
        words += draws.one(&[" -+L", " -+V"]);
    }
    let files = if shared { &names[..1] } else { &names[..count] };
    iozone::Line::new(&format!("{words} -F {}", names[..count].join(" ")), files)
}

#[test]
fn any_mix_of_iozones_options_makes_its_calls() {
    if needs::tools(&["iozone", "strace"]) {
        each_mix(3, |draws| {
            let line = if draws.percent(70) { iozone_alone(draws) } else { iozone_together(draws) };
            iozone::compared(&line)
        });
    }
}

#[test]
fn any_mix_of_postmarks_settings_makes_its_calls() {
    if needs::tools(&["postmark", "strace"]) {
        each_mix(4, |draws| postmark::compared(&postmark_script(draws), 12));
    }
}

fn postmark_script(draws: &mut Draws) -> String {
    let mut script = format!("set number {}\nset transactions {}\n", draws.number(1..=60), draws.number(10..=120));
    let low = draws.number(1..=9000);
    let high = low + draws.number(0..=15_000);
    let block = |draws: &mut Draws| draws.one(&[1, 100, 511, 512, 1024, 4096, 5000, 8192, 20_000]);
    for setting in [
        format!("size {low} {high}"),
        format!("size {low}"),
        format!("seed {}", draws.number(0..=2_147_483_647)),
        format!("read {}", block(draws).max(64)),
        format!("write {}", block(draws).max(64)),
        format!("buffering {}", draws.one(&["true", "false"])),
        format!("bias read {}", draws.number(0..=11) as i64 - 1),
        format!("bias create {}", draws.number(0..=11) as i64 - 1),
        format!("subdirectories {}", draws.number(1..=9)),
        format!("report {}", draws.one(&["verbose", "terse"])),
    ] {
        if draws.percent(45) {
            script += &format!("set {setting}\n");
        }
    }
    if draws.percent(20) {
        // Settings persist, and seeds start over.
        script += "run\n";
    }
    script + "run\nquit\n"
}

#[test]
fn any_mix_of_bonnies_options_makes_its_calls() {
    if needs::root_and(&["bonnie++", "strace"]) {
        each_mix(2, |draws| bonnie::compared(&bonnie_words(draws), 40));
    }
}

/// Without single bytes, whose calls are made by the C library, and with either the large file or the small ones. The
/// real tool fails with a chunk size for small files, and with `-D` when it moves single bytes.
fn bonnie_words(draws: &mut Draws) -> String {
    let mut words = format!("{} -r 0 -m golden", draws.one(&["-u root", "-u root:root", "-u 0", "-u root -g root"]));
    words += &match draws.percent(15) {
        true => format!(" -Z {}", bonnie::NUMBERS),
        false => format!(" -z {}", draws.number(0..=2_000_000_000)),
    };
    for (option, percent) in [("-q", 50), ("-b", 30), ("-x 2", 15), ("-c 3", 15), ("-d .", 20)] {
        if draws.percent(percent) {
            words += &format!(" {option}");
        }
    }
    if draws.percent(50) {
        words += draws.one(&[" -f", " -f0"]);
        words += if draws.percent(30) { " -D" } else { "" };
        let chunk = if words.contains("-D") { 4096 << draws.number(0..=4) } else { 512 << draws.number(0..=7) };
        let seeks = draws.number(1..=80);
        return words + &format!(" -n 0 -s {}:{chunk}:{seeks}:{}", draws.number(1..=3), draws.number(1..=5));
    }
    words += " -s 0 -n 1";
    match draws.number(0..=5) {
        0 => words,
        1 => words + ":-1",
        2 => words + ":-2",
        _ => {
            let least = draws.number(0..=3000);
            let most = least + draws.number(0..=6000);
            words + &format!(":{most}:{least}:{}", draws.number(1..=6))
        }
    }
}
