//! Data written by fio verifies here, and data written here verifies with fio. Both detect corruption at the same
//! offset and with the same exit code.

use crate::common::{Home, needs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every method that all versions of fio know.
const METHODS: [&str; 18] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];

/// Minimum number of methods that detect a changed byte: meta only checks headers, null never detects anything, and
/// sha512 does not before fio 3.39.
const SEEING: i32 = 15;

/// The first version with the current headers. It also draws offsets from other seeds.
const STAMPS_OF_TODAY: (u32, u32) = (3, 41);

/// A way of writing blocks, with extra options for writing and for reading only.
struct Way {
    words: &'static str,
    written: &'static str,
    read: &'static str,
    /// Skips blocks, so both must draw the same offsets.
    in_part: bool,
}

const fn way(words: &'static str) -> Way {
    Way { words, written: "", read: "", in_part: false }
}

const WAYS: [Way; 11] = [
    way("--rw=write --bs=4k"),
    way("--rw=randwrite --bs=4k --direct=1"),
    // Unless errors are fatal, fio keeps only the error of the last header of a read.
    way("--rw=randwrite --bsrange=4k-16k --verify_fatal=1"),
    way("--rw=randwrite --bs=8k --verify_interval=2k --verify_offset=1000 --verify_fatal=1"),
    way("--rw=randwrite --bs=4k --ioengine=io_uring --iodepth=16"),
    way("--rw=write --bsrange=4k-16k --ioengine=libaio --iodepth=8 --verify_fatal=1"),
    way("--rw=randwrite --bs=4k --verify_pattern=0xabcd%o"),
    Way { in_part: true, ..way("--rw=randrw --bs=4k --rwmixread=30") },
    way("--rw=randwrite --bs=4k --verify_async=2"),
    // fio reads nothing back if a read-only job has a backlog.
    Way { written: "--verify_backlog=7", ..way("--rw=randwrite --bs=4k") },
    Way { written: "--do_verify=0", read: "--verify_dump=1", ..way("--rw=randwrite --bs=4k --numjobs=2") },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Fio,
    Plumb,
}

/// The exit code of a command, and the detected corruption: file and offset.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    code: i32,
    wrong: BTreeSet<(String, u64)>,
}

/// Runs one job per method in `dir`.
fn run(home: &Home, dir: &Path, tool: Tool, words: &[&str]) -> (Found, String) {
    let mut command = match tool {
        Tool::Fio => Command::new("fio"),
        Tool::Plumb => home.command(["as", "fio"]),
    };
    command.current_dir(dir).stdin(Stdio::null());
    command.args(["--eta=never", "--thread", "--size=256k", "--verify_state_save=0"]);
    command.args(words.iter().flat_map(|words| words.split_whitespace()));
    for method in METHODS {
        command.args([format!("--name={method}"), format!("--verify={method}")]);
        if method == "pattern" && !words.iter().any(|words| words.contains("verify_pattern")) {
            command.arg("--verify_pattern=0x5a17");
        }
    }
    let output = command.output().expect("it runs");
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let wrong = text.lines().filter_map(|line| match tool {
        Tool::Fio => place(line.split_once("at file ")?.1, " offset "),
        Tool::Plumb => place(line.split_once("error=")?.1, ", offset "),
    });
    (Found { code: output.status.code().unwrap_or(-1), wrong: wrong.collect() }, text)
}

fn place(text: &str, between: &str) -> Option<(String, u64)> {
    let (file, rest) = text.split_once(between)?;
    let offset = rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    Some((file.rsplit('/').next()?.to_owned(), offset))
}

/// Returns the version of the installed fio as two numbers.
fn fio_version() -> Option<(u32, u32)> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.trim().strip_prefix("fio-")?.split(['.', '-']).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Changes one byte in the first file of each method, after every header of its block.
fn damage(dir: &Path) {
    const BLOCK: usize = 4096;
    for method in METHODS {
        let path = dir.join(format!("{method}.0.0"));
        let mut bytes = std::fs::read(&path).unwrap();
        let from = bytes.len() / 2 / BLOCK * BLOCK;
        let block = bytes[from..].chunks(BLOCK).position(|block| block.iter().any(|&byte| byte != 0));
        bytes[from + block.expect("something was written") * BLOCK + 1900] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
    }
}

/// Lets `writer` write and both read; then both look for one changed byte per file.
fn both_agree(home: &Home, dir: &Path, writer: Tool, way: &Way) {
    std::fs::create_dir(dir).unwrap();
    let (written, text) = run(home, dir, writer, &[way.words, way.written]);
    assert_eq!(written.code, 0, "{writer:?} {}: {text}", way.words);
    let reading = [way.words, way.read, "--verify_only=1"];
    for reader in [Tool::Fio, Tool::Plumb] {
        let (read, text) = run(home, dir, reader, &reading);
        assert_eq!(read.code, 0, "{writer:?} wrote, {reader:?} reads {}: {text}", way.words);
    }
    damage(dir);
    let several = ["interval", "bsrange"].iter().any(|word| way.words.contains(word));
    let [(by_fio, _), (by_plumb, text)] = [Tool::Fio, Tool::Plumb].map(|reader| {
        let (mut found, text) = run(home, dir, reader, &reading);
        if several {
            // fio takes the offset from a header, which this method does not have.
            found.wrong = found
                .wrong
                .into_iter()
                .map(|(file, at)| if file == "pattern.0.0" { (file, 0) } else { (file, at) })
                .collect();
        }
        (found, text)
    });
    assert_eq!(by_fio, by_plumb, "{writer:?} wrote {}, one byte a file was changed: {text}", way.words);
    // Skipped blocks are not read back, whether damaged or not.
    let least = if way.in_part { 1 } else { SEEING };
    assert!(by_plumb.code >= least, "{writer:?} {}: {text}", way.words);
}

#[test]
fn what_fio_wrote_verifies_and_what_it_verifies_was_written() {
    if !needs::tools(&["fio"]) {
        return;
    }
    let home = Home::new();
    let version = fio_version().expect("fio tells its version");
    let mut writers = vec![Tool::Fio];
    if version >= STAMPS_OF_TODAY {
        writers.push(Tool::Plumb);
    } else {
        needs::not_shown(&format!(
            "fio {}.{} reads no stamps of fio 3.41 and later, which are what Plumb writes; bytes that older versions read \
             are compared in the engine's own tests",
            version.0, version.1
        ));
    }
    let ways = WAYS.iter().filter(|way| !way.in_part || version >= STAMPS_OF_TODAY);
    for (number, way) in ways.enumerate() {
        for writer in &writers {
            let dir: PathBuf = home.work().join(format!("{number}-{writer:?}"));
            both_agree(&home, &dir, *writer, way);
        }
    }
}
