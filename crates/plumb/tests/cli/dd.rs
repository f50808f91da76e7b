//! `plumb as dd` end to end, compared with the real dd: the same command lines in two directories leave the same bytes,
//! and have the same output and exit code.

use crate::common::needs::tools;
use crate::common::{CommandOutput, Home, wait_until};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Creates the files in both directories: every byte value, lines of several lengths, zeros.
fn lay_out(directory: &Path) {
    let bytes: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    std::fs::write(directory.join("f"), bytes).unwrap();
    let text: String = (0..200)
        .map(|at| format!("Line {at} of some Text{}with  spaces{}\n", " ".repeat(at % 40), " ".repeat(at % 7)))
        .collect();
    std::fs::write(directory.join("t"), text).unwrap();
    let all: Vec<u8> = (0..=u8::MAX).chain(0..=u8::MAX).collect();
    std::fs::write(directory.join("all"), all).unwrap();
}

/// Returns a shell in which `dd` is this program.
fn shell(home: &Home, directory: &Path, program: &Path, line: &str) -> Command {
    let plumb = home.command([""]);
    let mut command = Command::new("bash");
    for (name, value) in plumb.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let functions = format!("dd() {{ (exec -a dd '{}' \"$@\"); }}; set -o pipefail; {line}", program.display());
    command.args(["-c", &functions]).current_dir(directory).env("PLUMB_ALLOW", "./f,./t,./x").env("LC_ALL", "C.UTF-8");
    command.stdin(Stdio::null());
    command
}

/// The files and output of a command line; times and rates are masked.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    code: i32,
    out: Vec<u8>,
    err: String,
    files: Vec<(String, Vec<u8>)>,
}

fn masked(err: &str) -> String {
    let lines = err.lines().map(|line| match line.split_once(" copied, ") {
        Some((amount, _)) => format!("{amount} copied"),
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn left(home: &Home, name: &str, program: &Path, line: &str) -> Left {
    let directory = home.work().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    lay_out(&directory);
    let output = shell(home, &directory, program, line).output().unwrap();
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    Left {
        code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
        out: output.stdout,
        err: masked(&String::from_utf8_lossy(&output.stderr)),
        files,
    }
}

fn ours(home: &Home) -> PathBuf {
    PathBuf::from(home.command([""]).get_program())
}

pub(crate) fn compare(lines: &[&str]) {
    if !tools(&["/usr/bin/dd", "bash"]) {
        return;
    }
    let home = Home::new();
    let ours = ours(&home);
    for line in lines {
        let theirs = left(&home, "theirs", Path::new("/usr/bin/dd"), line);
        let mine = left(&home, "ours", &ours, line);
        // Plumb's additions to dd's output are marked as its own.
        let printed = mine.err.lines().filter(|printed| !printed.starts_with("plumb: ")).collect::<Vec<_>>().join("\n");
        assert_eq!((mine.code, &printed), (theirs.code, &theirs.err), "{line}");
        assert!(mine.out == theirs.out, "{line}: other bytes on standard output");
        for (mine, theirs) in mine.files.iter().zip(&theirs.files) {
            assert!(mine == theirs, "{line}: {} differs from {} of dd", mine.0, theirs.0);
        }
        assert_eq!(mine.files.len(), theirs.files.len(), "{line}");
    }
}

/// The usual forms of dd benchmarks, at reduced size.
#[test]
fn the_standard_forms_copy_as_dd_does() {
    compare(&[
        "dd if=/dev/zero of=x bs=1M count=5",
        "dd if=/dev/zero of=x bs=1M count=5 conv=fdatasync",
        "dd if=/dev/zero of=x bs=1M count=5 conv=fsync",
        "dd if=/dev/zero of=x bs=64k count=5 oflag=dsync",
        "dd if=/dev/zero of=x bs=1M count=2 oflag=direct; dd if=x of=/dev/null bs=1M iflag=direct",
        "dd if=f of=/dev/null bs=4k count=65536",
        "dd if=/dev/zero of=/dev/null count=20000",
        "dd if=f of=x",
        "dd if=/dev/null of=f bs=64M count=100; ls -s f",
    ]);
}

#[test]
fn places_counts_and_blocks_are_dds() {
    compare(&[
        "dd if=f of=x bs=1000 skip=2 seek=3",
        "dd if=f of=x ibs=700 obs=3000",
        "dd if=/dev/zero of=x ibs=512 obs=4096 count=33",
        "dd if=f of=x bs=4k count=3; dd if=f of=x bs=4k count=3 conv=notrunc seek=2",
        "dd if=f of=x count=1 seek=5 bs=1k; dd if=f of=x count=1 seek=2 bs=1k",
        "dd if=/dev/zero of=x bs=4k count=10000B seek=3 conv=notrunc",
        "dd if=f of=x bs=100 skip=11B count=1111B seek=7B",
        // Less than a block: the output is truncated when it is opened, and its length is not set separately.
        "dd if=f of=x bs=1k count=2; dd if=f of=x bs=100 count=1 seek=7B; od -c x | head -2",
        "dd if=f of=x bs=1k count=2; dd if=f of=x count=0 seek=7B",
        "dd if=f of=x bs=1k count=2; dd if=f of=x count=0 seek=519B",
        "dd if=f of=x oflag=seek_bytes seek=7 iflag=skip_bytes,count_bytes skip=11 count=1111 bs=100",
        "dd if=f of=x oflag=append conv=notrunc bs=1k count=3; dd if=f of=x oflag=append conv=notrunc bs=1k count=2",
        "dd if=f of=x skip=1000000",
        "dd if=f of=x bs=1k count=0",
        "dd if=f of=x bs=64k oflag=direct",
        "dd if=f of=x iflag=nocache oflag=nocache bs=4k; dd if=f iflag=nocache count=0",
        "dd if=/dev/zero of=x bs=1k count=50 conv=sparse",
        "(head -c 9000 /dev/zero; echo a; head -c 9000 /dev/zero) | dd of=x bs=1k conv=sparse iflag=fullblock",
    ]);
}

// Protects data that would be lost with exit 0: a stream that the parent closed before starting dd accepts nothing.
#[test]
fn closed_streams_are_dds() {
    compare(&[
        "dd if=f bs=100 count=2 >&-",
        "dd if=f count=1 >&-",
        "dd if=f bs=100 count=0 >&-",
        "dd if=f ibs=50 obs=200 count=4 >&-",
        "dd if=f bs=100 count=2 seek=1 >&-",
        "dd if=f bs=100 count=1 conv=fsync >&-",
        "dd if=f bs=100 count=2 status=none >&-",
        "dd of=x bs=100 count=2 <&-",
        "dd of=x bs=100 count=2 skip=1 <&-",
        "dd of=x bs=100 count=2 skip=1 conv=sync <&-",
        "dd bs=100 count=2 <&- >&-",
        "dd if=f of=x bs=100 count=2 <&- >&-",
        "dd if=f of=x bs=100 count=2 2>&-",
        "dd if=f of=x bs=100 count=2 2>&- status=none",
        "dd if=f bs=100 count=2 2>&-",
        "dd if=f bs=100 count=2 2>/dev/full",
        "dd if=f bs=100 count=2 >&- 2>&-",
        "dd if=nofile 2>&-",
    ]);
}

#[test]
fn unwritable_and_unreachable_files_are_reported_like_dd() {
    compare(&[
        "dd if=f of=/dev/full",
        "dd if=f of=/dev/full bs=1k count=2",
        "dd if=f of=/dev/full ibs=512 obs=1k",
        "dd if=f of=/dev/full ibs=1k obs=512",
        "dd if=f of=/dev/full ibs=1k obs=200k",
        "dd if=/dev/zero of=/dev/full conv=swab count=3",
        "dd if=f of= count=1",
        "dd if=f of=x bs=1k count=1 oflag=append",
        "dd if=f of=x oflag=seek_bytes,append seek=2 bs=1k count=3k iflag=fullblock,count_bytes,skip_bytes skip=1",
        "dd if=f of=x oflag=append seek=2 bs=1k count=3",
        "dd if=f of=x seek=9223372036854775807 bs=1",
        "dd if=f of=x seek=9223372036854775807 bs=1 conv=notrunc",
        "dd if=f of=x seek=99999999999999999 bs=1M",
        "dd if=f of=/dev/null seek=99999999999999999 bs=1M",
        "dd if=f of=/dev/null seek=99999999999999999 bs=1M conv=notrunc",
        "dd if=f of=/dev/null skip=99999999999999999 bs=1M",
        "dd if=f of=x bs=9223372036854775807",
        "dd if=f of=x ibs=9223372036854775807",
        "dd if=f of=/dev/null obs=999P",
        "dd if=f of=/dev/null bs=999P",
    ]);
}

#[test]
fn pipes_and_streams_are_dds() {
    compare(&[
        "head -c 100000 f | dd of=/dev/null bs=64k iflag=fullblock",
        "(head -c 1000 f; sleep 0.3; head -c 500 f; sleep 0.3; head -c 20 f) | dd bs=4k of=x count=5",
        "cat f | dd of=x bs=1k skip=50",
        "cat f | dd of=x bs=1k skip=50000",
        "dd if=f bs=7 count=5 status=noxfer | od -c",
        "dd if=f bs=7 count=5 status=none | od -c",
        "dd if=f bs=1k seek=3 count=1 | od -c",
        "dd < f > x",
        "dd < f >> t",
        "cat f | dd | cat > x",
        "dd count=3 < f | cat > x",
        "dd if=/proc/version | wc -c",
        // The reader goes away, and dd ends silently.
        "dd if=/dev/zero bs=1k | head -c 10 | wc -c",
        "mkfifo p; (cat p > x & dd if=f of=p bs=1k; wait)",
    ]);
}

/// Every byte through every table, and lines of every length, in blocks that split them anywhere.
#[test]
fn conversions_are_byte_for_byte_dds() {
    compare(&[
        "for c in ascii ebcdic ibm lcase ucase swab ascii,ucase ebcdic,lcase ibm,ucase,swab; do dd if=all conv=$c of=x.$c; done",
        "for b in 1 2 7 100 511; do dd if=t ibs=$b conv=swab of=x.$b; dd if=t ibs=$b conv=block cbs=20 of=b.$b; done",
        "for c in 1 2 13 33 80 500; do dd if=t conv=block cbs=$c of=b.$c; dd if=t conv=unblock cbs=$c of=u.$c; done",
        "for c in 1 13 80; do dd if=t conv=ebcdic cbs=$c of=e.$c; dd if=e.$c conv=ascii cbs=$c of=a.$c; done",
        "dd if=t conv=lcase,swab,block cbs=31 ibs=333 obs=77 of=x",
        "dd if=t bs=3000 conv=sync of=x",
        "dd if=t of=x ibs=3000 obs=700 conv=sync,block cbs=30",
        // From a file, because the number of reads from a pipe is random.
        "printf 'abc\\ndefgh\\n' >p; dd cbs=4 conv=block,ucase <p",
        "printf 'abc' >p; dd conv=swab <p; printf '' >p; dd conv=block cbs=3 <p; printf '\\n\\n' >p; dd conv=block cbs=3 <p",
    ]);
}

#[test]
fn failures_are_reported_like_dd() {
    compare(&[
        "dd if=/nothing of=x",
        "dd if=f of=/nothing/x",
        "dd if=. of=x",
        "dd if=f of=.",
        "dd if=f of=f conv=excl",
        "dd if=f of=y conv=nocreat",
        "dd if=/dev/zero of=t2 bs=1m count=2",
        "dd if=/dev/zero of=/dev/null bs=1g count=1",
        "dd if=t of=/dev/null bs=1M oflag/dsync",
        "dd if=/dev/zero of=test bs=1M count=20 oag=dsync",
        "dd if=f of=/dev/full bs=4k",
        "dd iflag=directory",
        "dd -x",
        "dd --foo",
        "dd bs=0x10",
        "dd status=x",
        "dd if=/proc/self/mem of=/dev/null bs=4k count=2 conv=noerror,sync",
        "dd if=/proc/self/mem of=/dev/null bs=4k count=2",
    ]);
}

/// Returns the calls on data, with the file, the requested size and the result.
fn calls(home: &Home, name: &str, program: &Path, words: &str) -> Vec<String> {
    let directory = home.work().join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir(&directory).unwrap();
    lay_out(&directory);
    let traces = home.work().join(format!("{name}.traces"));
    let _ = std::fs::remove_dir_all(&traces);
    std::fs::create_dir(&traces).unwrap();
    // One file per thread, so that lines are not split.
    let line = format!(
        "strace -ff -y -s 0 -e trace=read,write,lseek,fsync,fdatasync,ftruncate,copy_file_range,splice -o {} {} {words}",
        traces.join("t").display(),
        program.display()
    );
    let ran = shell(home, &directory, program, &line).output().unwrap();
    assert!(ran.status.success(), "{words}: {}", String::from_utf8_lossy(&ran.stderr));
    let mut files: Vec<PathBuf> = std::fs::read_dir(&traces).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let place = format!("<{}/", directory.canonicalize().unwrap().display());
    let reported = |line: &str| -> Option<String> {
        let (call, rest) = line.split_once('(')?;
        let (_, rest) = rest.split_once(&place)?;
        let (file, rest) = rest.split_once('>')?;
        // Querying a file's position moves nothing.
        if call == "lseek" && rest.contains("0, SEEK_CUR") {
            return None;
        }
        let rest = rest.replace("\"\"...", "").replace("\"\"", "");
        let words: String = rest.chars().filter(|c| !c.is_whitespace() && *c != ',').collect();
        Some(format!("{call} {file} {words}"))
    };
    text.lines().filter_map(reported).collect()
}

/// The same calls in the same order, with the same sizes at the same offsets, if a size was given.
#[test]
fn calls_are_those_of_dd() {
    if !tools(&["/usr/bin/dd", "bash", "strace"]) {
        return;
    }
    let home = Home::new();
    let ours = ours(&home);
    for words in [
        "if=/dev/zero of=x bs=64k count=5",
        "if=/dev/zero of=x bs=64k count=5 conv=fdatasync",
        "if=/dev/zero of=x bs=64k count=5 conv=fsync",
        "if=/dev/zero of=x bs=64k count=5 oflag=dsync",
        "if=f of=/dev/null bs=4k",
        "if=f of=x bs=3000 skip=2 seek=3",
        "if=f of=x bs=4k count=10000B",
        "if=f of=x ibs=700 obs=3000",
        "if=f of=x obs=10000 conv=sync",
        "if=t of=x ibs=100 obs=333 conv=block cbs=40",
        "if=/dev/zero of=x bs=4k count=5 conv=sparse",
    ] {
        let theirs = calls(&home, "theirs", Path::new("/usr/bin/dd"), words);
        let mine = calls(&home, "ours", &ours, &format!("as dd --compat=strict {words}"));
        assert!(!theirs.is_empty(), "{words}");
        assert_eq!(mine, theirs, "{words}");
    }
    // Without a size, the kernel chooses how to copy.
    let free = calls(&home, "ours", &ours, "as dd if=f of=x");
    assert!(free.iter().any(|call| call.starts_with("copy_file_range")), "{free:?}");
    assert!(free.len() < 20, "{free:?}");
    let strict = calls(&home, "ours", &ours, "as dd --compat=strict if=f of=x");
    assert_eq!(strict, calls(&home, "theirs", Path::new("/usr/bin/dd"), "if=f of=x"));
}

/// A user's files are safe, and Plumb may rewrite its own.
#[test]
fn files_that_plumb_did_not_make_are_not_overwritten() {
    let home = Home::new();
    let mine = home.file("mine", "what I wrote");
    home.file("other", "something else");
    let refused = ["PLUMB_ALLOW=", "mine"];
    home.plumb("as dd if=other of=mine bs=4k").expect(1).expect_stderr(&refused);
    home.plumb("as dd if=other of=mine conv=notrunc count=1").expect(1).expect_stderr(&refused);
    home.plumb("as dd if=/dev/zero of=mine seek=5 count=1").expect(1).expect_stderr(&refused);
    let exchanged = home.plumb("as dd if=/dev/null of=mine").expect(1);
    exchanged.expect_stderr(&["/dev/null is empty", "12 bytes", "are input and output swapped?", "PLUMB_ALLOW="]);
    home.plumb("as dd if=missing of=mine").expect(1).expect_stderr(&["failed to open 'missing'"]);
    std::os::unix::fs::symlink("mine", home.work().join("link")).unwrap();
    home.plumb("as dd if=other of=link").expect(1).expect_stderr(&refused);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "what I wrote");
    // With permission, it may be overwritten.
    home.plumb("as dd --plumb-allow=mine if=other of=mine status=none").expect(0);
    assert_eq!(std::fs::read_to_string(&mine).unwrap(), "something else");
    // An empty file has nothing to lose, and Plumb may create its own files again.
    home.file("empty", "");
    for _ in 0..2 {
        home.plumb("as dd if=other of=empty bs=4k").expect(0);
        home.plumb("as dd if=other of=new bs=3").expect(0);
        home.plumb("as dd if=other of=new bs=3 conv=notrunc").expect(0);
    }
    // A device of an unknown type.
    home.plumb("as dd if=other of=/dev/loop-control count=1").expect(1).expect_stderr(&["a character device"]);
}

/// The published series of a comparison of two mirrors, at a thousandth of its size: one file, rewritten at each block
/// size and read back. Its last line had `if` and `of` swapped, and truncated 100 GB that had just been written.
#[test]
fn a_published_series_runs_as_typed_up_to_the_line_that_would_lose_what_it_wrote() {
    let home = Home::new();
    let testfile = home.work().join("testfile");
    for (block, count, bytes) in
        [("4k", 256, 1 << 20), ("64k", 16, 1 << 20), ("1M", 1, 1 << 20), ("100k", 10, 1_024_000)]
    {
        home.plumb(&format!("as dd if=/dev/zero of=testfile bs={block} count={count}")).expect(0);
        assert_eq!(testfile.metadata().unwrap().len(), bytes);
        home.plumb(&format!("as dd if=testfile of=/dev/null bs={block} count={count}")).expect(0);
    }
    let swapped =
        ["if=/dev/null of=testfile bs=1M count=100", "if=empty of=testfile", "if=testfile2 of=testfile skip=9"];
    home.file("empty", "");
    home.file("testfile2", "short");
    for words in swapped {
        let output = home.plumb(&format!("as dd {words}")).expect(1);
        output.expect_stderr(&["is empty", "1024000 bytes that would be lost", "are input and output swapped?"]);
        assert_eq!(testfile.metadata().unwrap().len(), 1_024_000, "{words}");
    }
    // In a cron job, standard input is /dev/null.
    home.plumb("as dd of=testfile").expect(1).expect_stderr(&["standard input is empty"]);
    home.plumb("as dd if=empty of=testfile bs=100k seek=9")
        .expect(1)
        .expect_stderr(&["102400 bytes that would be lost"]);
    // With `conv=notrunc` or an explicit permission, it is allowed.
    home.plumb("as dd if=/dev/null of=testfile conv=notrunc").expect(0);
    home.plumb("as dd if=/dev/null of=testfile bs=1M seek=1").expect(0);
    home.plumb("as dd if=/dev/zero of=testfile bs=1 count=0").expect(0);
    assert_eq!(testfile.metadata().unwrap().len(), 0, "a count of 0 is no mistake");
    home.plumb("as dd if=/dev/zero of=testfile bs=4k count=1").expect(0);
    home.plumb("as dd --plumb-allow=testfile if=/dev/null of=testfile").expect(0);
    assert_eq!(testfile.metadata().unwrap().len(), 0);
}

/// The device under the root file system is mounted, itself or one of its partitions.
#[test]
fn a_mounted_device_is_refused() {
    let home = Home::new();
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let device = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (device, place) = (words.next()?, words.next()?);
        (place == "/" && device.starts_with("/dev/") && Path::new(device).exists()).then(|| device.to_owned())
    });
    let Some(device) = device else {
        return crate::common::needs::not_shown("the root is no device here; the guard's own tests mount one");
    };
    let refused = home.plumb_args(["as", "dd", "if=/dev/zero", &format!("of={device}"), "count=0"]).expect(1);
    refused.expect_stderr(&["mounted", "umount"]);
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until the copy has opened its input: it then has descriptors besides the standard ones.
fn wait_for_copy(child: &Child, path: &str) {
    let threads = format!("/proc/{}/task", child.id());
    let listed = |directory: &Path| std::fs::read_dir(directory).into_iter().flatten().flatten().map(|one| one.path());
    // A worker has its own descriptor table.
    let is_open = |thread: &Path| {
        listed(&thread.join("fd")).any(|one| std::fs::read_link(one).is_ok_and(|to| to == Path::new(path)))
    };
    wait_until("the copy begins", || listed(Path::new(&threads)).any(|thread| is_open(&thread)));
}

/// Sends SIGUSR1 and returns all lines of the answer.
fn answer(child: &mut Child) -> String {
    let mut printed = String::new();
    let mut byte = [0];
    // Byte by byte, so that no later output is consumed.
    while !(printed.contains("copied, ") && printed.ends_with('\n')) {
        let read = child.stderr.as_mut().unwrap().read(&mut byte).unwrap();
        assert!(read > 0, "it ended without an answer: {printed}");
        printed.push(char::from(byte[0]));
    }
    printed
}

/// Waits for the end, and appends the rest of its output.
fn end(mut child: Child, err: &mut String) -> ExitStatus {
    wait_until("it ends", || child.try_wait().unwrap().is_some());
    child.stderr.take().unwrap().read_to_string(err).unwrap();
    child.wait().unwrap()
}

#[test]
fn who_asks_is_answered_and_ctrl_c_ends_it_with_the_counts() {
    let home = Home::new();
    let mut child = home.start("as dd if=/dev/zero of=/dev/null bs=64k");
    wait_for_copy(&child, "/dev/zero");
    signal(&child, "-USR1");
    let mut err = answer(&mut child);
    // It continues.
    assert!(child.try_wait().unwrap().is_none(), "{err}");
    signal(&child, "-INT");
    let ended = end(child, &mut err);
    assert_eq!(ended.signal(), Some(2), "{err}");
    assert_eq!(err.matches(" records in\n").count(), 2, "{err}");
    assert_eq!(err.matches("copied, ").count(), 2, "{err}");
    // The partial result is stored.
    let runs = home.query("SELECT dialect, status FROM run");
    assert_eq!(runs.len(), 1, "{runs:?}");
}

/// A read that blocks is interrupted too.
#[test]
fn a_copy_that_waits_for_its_input_answers() {
    let home = Home::new();
    let mut command = home.command(["as", "dd", "bs=1k"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let writer = child.stdin.take();
    // Standard input is replaced after both ends have been opened.
    let standard_input = format!("/proc/{}/fd/0", child.id());
    wait_until("the copy begins", || std::fs::read_link(&standard_input).is_ok_and(|to| to == Path::new("/dev/null")));
    signal(&child, "-USR1");
    let mut err = answer(&mut child);
    signal(&child, "-TERM");
    let ended = end(child, &mut err);
    // Until here, input could still have arrived.
    drop(writer);
    assert_eq!(ended.signal(), Some(15), "{err}");
    assert_eq!(err.matches("0+0 records in\n").count(), 1, "an answer, and no last word: {err}");
}

/// Returns the result of the run that was stored last.
fn stored(home: &Home) -> serde_json::Value {
    home.plumb("show last --json").expect_measured().json()
}

/// A copy into the page cache is reported as such; one that is flushed is not.
#[test]
fn a_copy_lands_in_the_store_with_what_it_measured() {
    let home = Home::new();
    home.plumb("as dd if=/dev/zero of=x bs=64k count=100").expect(0).says_nothing();
    let result = stored(&home);
    assert_eq!(result["workload"]["description"], "A copy like that of GNU coreutils 9.1 dd.");
    let metrics = &result["phases"][0]["metrics"];
    assert!(metrics["write.bw"]["value"].as_f64().unwrap() > 0.0);
    assert!(metrics.get("read.bw").is_none(), "zeros are no read of storage: {metrics}");
    assert!(metrics["write.bw"]["tier"] != "device", "it is still in memory: {metrics}");
    home.plumb("as dd --as-version=freebsd if=x of=/dev/null bs=64k").expect(0);
    let result = stored(&home);
    assert_eq!(result["workload"]["description"], "A copy like that of FreeBSD dd.");
    assert!(result["phases"][0]["metrics"].get("read.bw").is_some());
    let dialects = home.query("SELECT DISTINCT dialect FROM run");
    assert_eq!(dialects, [["dd"]]);
}

/// Protects: short reads that share a clock reading are each counted, including the short one at the end.
#[test]
fn short_blocks_are_each_counted() {
    let home = Home::new();
    std::fs::write(home.work().join("x"), vec![7; 512 * 20_000 + 100]).unwrap();
    let output = home.plumb("as dd if=x of=/dev/null bs=512").expect(0);
    output.expect_stderr(&["\n20000+1 records in\n20000+1 records out\n10240100 bytes"]);
    let phase = &stored(&home)["phases"][0];
    assert_eq!(phase["done"]["read"], serde_json::json!({ "ops": 20_001, "bytes": 10_240_100 }));
    let mean_ns = phase["metrics"]["read.lat.mean"]["value"].as_f64().unwrap();
    assert!(mean_ns * 20_001.0 <= phase["wall_ns"].as_f64().unwrap(), "no more time than passed: {phase}");
}

#[test]
fn a_translated_copy_is_a_workload_that_runs() {
    let home = Home::new();
    home.file("in", "abcdefghij");
    let text = home.plumb("as dd --translate if=in of=out bs=4 count=2 conv=fsync,ucase").expect(0).out;
    home.file("copy.toml", &text);
    home.plumb("run copy.toml").expect_measured();
    assert_eq!(std::fs::read_to_string(home.work().join("out")).unwrap(), "ABCDEFGH");
    home.plumb("as dd --plan if=in of=new bs=4k skip=3 count=10B")
        .expect(0)
        .expect_stdout(&["skips 3 blocks of the input"]);
    assert!(!home.work().join("new").exists());
}

#[test]
fn help_version_and_a_link_answer() {
    let home = Home::new();
    assert!(home.plumb("as dd --version").expect(0).out.starts_with("dd (coreutils) "));
    home.plumb("as dd --help").expect(0).expect_stdout(&["conv=", "fullblock"]);
    let link = home.work().join("dd");
    std::os::unix::fs::symlink(ours(&home), &link).unwrap();
    let output = Command::new(&link).arg("--version").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("dd (coreutils) "));
}

impl CommandOutput {
    /// Panics if there is output on standard output.
    fn says_nothing(&self) {
        assert_eq!(self.out, "", "{}", self.command);
    }
}

/// `plumb as TOOL` skips the parser of Plumb's other commands. With one of Plumb's options before it, the same words
/// must have the same effect.
#[test]
fn arguments_of_a_tool_mean_the_same_after_options_of_plumb() {
    let home = Home::new();
    let words = ["as", "dd", "if=/dev/zero", "of=block", "bs=4k", "count=2", "--no-store"];
    let plain = home.plumb_args(words).expect(1);
    let behind = home.plumb_args(["--verbose"].into_iter().chain(words)).expect(1);
    assert_eq!((plain.out, plain.err.clone()), (behind.out, behind.err));
    assert!(plain.err.contains("unrecognized option '--no-store'"), "{}", plain.err);
    home.plumb_args(&words[..6]).expect(0);
    home.plumb_args(["query", "SELECT count(*) FROM run"]).expect(0).expect_stdout(&["1"]);
    home.plumb_args(["--no-store"].into_iter().chain(words[..6].iter().copied())).expect(0);
    home.plumb_args(["query", "SELECT count(*) FROM run"]).expect(0).expect_stdout(&["1"]);
}
