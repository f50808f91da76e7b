//! Tools on simulated devices: they print as usual, times follow from the device's model, the same command prints the
//! same bits, and no file is created.

use crate::common::{CommandOutput, Home};
use std::io::Write;
use std::process::Stdio;

/// Bytes per second of a disk.
const HDD_BYTES_PER_S: f64 = 210e6;

/// Bytes per second of an SSD's link.
const SSD_BYTES_PER_S: f64 = 550e6;

/// A home whose working directory must be empty at the end.
struct Untouched(Home);

impl Untouched {
    fn new() -> Untouched {
        Untouched(Home::new())
    }

    /// Runs a command twice; the output must be the same.
    fn twice(&self, line: &str, code: i32) -> CommandOutput {
        let output = self.0.plumb(line).expect(code);
        let again = self.0.plumb(line).expect(code);
        assert_eq!((&output.out, &output.err), (&again.out, &again.err), "{line}");
        self.is_untouched();
        output
    }

    fn is_untouched(&self) {
        let left: Vec<_> = std::fs::read_dir(self.0.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Whether a time or rate is as expected, allowing for a run's own speed and a few seeks.
fn is_about(measured: f64, expected: f64) -> bool {
    (0.94..1.10).contains(&(measured / expected))
}

fn number(word: &str) -> f64 {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error}"))
}

/// Returns the seconds in dd's last line.
fn seconds(output: &CommandOutput) -> f64 {
    let line = output.err.lines().find(|line| line.contains(" copied, ")).unwrap_or_else(|| panic!("{}", output.err));
    number(line.split(" copied, ").nth(1).unwrap().split(' ').next().unwrap())
}

/// Reading and writing take the device's time, and that of both ends if both are simulated.
#[test]
fn copies_take_the_time_of_their_devices() {
    let home = Untouched::new();
    let mib_100 = f64::from(100 << 20);
    let read = home.twice("as dd if=sim:hdd of=/dev/null bs=1M count=100", 0);
    assert!(is_about(seconds(&read), mib_100 / HDD_BYTES_PER_S), "{}", read.err);
    read.expect_stderr(&["100+0 records in\n100+0 records out\n104857600 bytes (105 MB, 100 MiB) copied, "]);
    let written = home.twice("as dd if=/dev/zero of=sim:ssd bs=1M count=100 oflag=direct conv=fsync", 0);
    assert!(is_about(seconds(&written), mib_100 / SSD_BYTES_PER_S), "{}", written.err);
    let both = home.twice("as dd if=sim:hdd of=sim:ssd bs=1M count=100", 0);
    assert!(is_about(seconds(&both), mib_100 / HDD_BYTES_PER_S + mib_100 / SSD_BYTES_PER_S), "{}", both.err);
    let slow = home.twice("as dd if=sim:hdd?slow=100% of=/dev/null bs=1M count=100", 0);
    assert!(is_about(seconds(&slow), 2.0 * mib_100 / HDD_BYTES_PER_S), "{}", slow.err);
}

/// Making writes durable takes time: none in memory, once at the end, or with each write.
#[test]
fn flushes_of_copies_take_time() {
    let home = Untouched::new();
    let of = |words: &str| seconds(&home.twice(&format!("as dd if=/dev/zero bs=4k count=200 {words}"), 0));
    let cached = of("of=sim:hdd?write-cache=64MiB");
    let durable = of("of=sim:hdd?write-cache=64MiB conv=fdatasync");
    let around = of("of=sim:hdd?write-cache=64MiB oflag=direct");
    let each = of("of=sim:hdd?write-cache=64MiB oflag=direct,dsync");
    assert!(cached < 0.001 && cached < around && around < durable, "{cached} {around} {durable}");
    // A rotation of the disk takes 8.3 ms, and each write waits for more than half of it.
    assert!(each > 200.0 * 0.004, "{each}");
}

/// A simulated device ends like a block device, and has the same alignment of blocks.
#[test]
fn copies_meet_the_end_of_the_device() {
    let home = Untouched::new();
    home.twice("as dd if=sim:hdd?size=1000000 of=/dev/null bs=64k", 0)
        .expect_stderr(&["15+1 records in\n15+1 records out"]);
    home.twice("as dd if=/dev/zero of=sim:ssd?size=1MiB bs=64k", 1).expect_stderr(&[
        "error writing",
        "No space left on device",
        "17+0 records in\n16+0 records out",
    ]);
    home.twice("as dd if=sim:hdd of=/dev/null bs=1000 count=2 iflag=direct", 1).expect_stderr(&["Invalid argument"]);
    home.twice("as dd if=sim:hdd?size=1MiB of=/dev/null bs=64k skip=15", 0).expect_stderr(&["1+0 records in"]);
    home.twice("as dd if=sim:floppy of=/dev/null", 1).expect_stderr(&["unknown simulated device `sim:floppy`"]);
    home.twice("as dd if=sim:hdd of=x count=1", 1).expect_stderr(&["cannot be mixed"]);
    home.twice("as dd if=sim:hdd?size=much of=/dev/null", 1).expect_stderr(&["`size=much` is not a size"]);
}

/// Real ends take no virtual time; a simulated device returns zeros.
#[test]
fn copies_go_through_streams() {
    let home = Untouched::new();
    let output = home.0.plumb("as dd if=sim:ram bs=1k count=3").expect(0);
    assert_eq!(output.out, "\0".repeat(3072));
    home.is_untouched();
}

/// Returns the fields of Bonnie++'s line of values after the machine's name.
fn values(out: &str) -> Vec<String> {
    let line = out.lines().find(|line| line.contains(",m,")).unwrap_or_else(|| panic!("{out}"));
    line.split(',').map(str::to_owned).collect()
}

#[test]
fn bonnie_runs_on_a_simulated_disk() {
    let home = Untouched::new();
    let output = home.twice("as bonnie++ -q -d sim:hdd -s 256 -r 0 -n 1:3000:0:2 -m m", 0);
    let values = values(&output.out);
    // Without read-ahead, each chunk of 8 KiB also waits 15 us for its command.
    let in_kib_per_s = 8.0 / (8192.0 / HDD_BYTES_PER_S + 15e-6);
    let get_block = 17;
    assert!(is_about(number(&values[get_block]), in_kib_per_s), "{values:?}");
    // On a machine with simulated memory.
    let output = home.0.plumb("as bonnie++ -q -d sim:nvme -n 0 -m m").expect(0);
    assert!(output.out.contains(",2G,"), "{}", output.out);
}

#[test]
fn elbencho_runs_on_simulated_disks_and_in_their_directories() {
    let home = Untouched::new();
    let read = home.twice("as elbencho -r -t 1 -s 512m -b 1m --direct --cpu --nolive sim:hdd", 0);
    let row = read.out.lines().find(|line| line.contains("Throughput MiB/s")).unwrap_or_else(|| panic!("{}", read.out));
    let rate = number(row.split_whitespace().last().unwrap());
    assert!(is_about(rate, HDD_BYTES_PER_S / f64::from(1 << 20)), "{row}");
    // Two threads share the disk and its head movements.
    let two = home.twice("as elbencho -r -t 2 -s 512m -b 1m --direct --nolive sim:hdd", 0);
    let row = two.out.lines().find(|line| line.contains("Throughput MiB/s")).unwrap();
    assert!(number(row.split_whitespace().last().unwrap()) < rate, "{row}");
    let tree = home.twice("as elbencho -d -w --stat -r -F -D --sync -t 2 -n 2 -N 5 -s 10k -b 4k --nolive sim:ssd", 0);
    for phase in ["MKDIRS", "WRITE", "STAT", "READ", "RMFILES", "RMDIRS"] {
        assert!(tree.out.contains(&format!("\n{phase} ")), "{phase}: {}", tree.out);
    }
    let below = home.twice("as elbencho -w -r -t 2 -n 2 -N 5 -s 10k -b 4k --nolive sim:ssd/data", 0);
    assert!(below.out.contains("Files/s") || below.out.contains("Files total"), "{}", below.out);
}

#[test]
fn zcav_reads_and_writes_a_simulated_disk() {
    let home = Untouched::new();
    for words in ["-r 1024 sim:hdd", "-w -r 1024 sim:hdd"] {
        let output = home.0.plumb(&format!("as zcav {words}")).expect(0);
        assert_eq!(output.out, home.0.plumb(&format!("as zcav {words}")).expect(0).out);
        let rows: Vec<Vec<f64>> = output
            .out
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split(' ').map(number).collect())
            .collect();
        assert_eq!(rows.len(), 2, "{}", output.out);
        let in_mib_per_s = HDD_BYTES_PER_S / f64::from(1 << 20);
        let flushes = words.starts_with("-w");
        assert!(rows.iter().all(|row| flushes && row[1] < in_mib_per_s || is_about(row[1], in_mib_per_s)), "{rows:?}");
    }
    home.is_untouched();
}

#[test]
fn getc_putc_has_a_directory_on_a_simulated_disk() {
    let home = Untouched::new();
    home.twice("as getc_putc -d sim:ssd -m m -s 64", 0);
}

/// Runs a session of PostMark with these lines typed.
fn session(home: &Home, arguments: &str, lines: &str) -> CommandOutput {
    let mut command = home.command(arguments.split_whitespace());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    CommandOutput {
        command: format!("{arguments}: {lines}"),
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn postmark_has_locations_on_simulated_disks() {
    let home = Untouched::new();
    let lines = "set location sim:hdd\nset number 200\nset subdirectories 4\nset transactions 300\nrun\n";
    let mut before = String::new();
    for arguments in ["as postmark", "as postmark", "as postmark --compat=strict", "as postmark --compat=strict"] {
        let printed = session(&home.0, arguments, lines);
        home.is_untouched();
        let seconds: Vec<f64> = printed
            .out
            .lines()
            .filter_map(|line| Some(number(line.trim().split_once(" seconds of transactions")?.0)))
            .collect();
        let reads: Vec<f64> =
            printed.out.lines().filter_map(|line| Some(number(line.trim().split_once(" read (")?.0))).take(1).collect();
        // A read of a file needs a seek: from 0.8 to 20 ms.
        let (&[seconds], &[reads]) = (&seconds[..], &reads[..]) else { panic!("{}", printed.out) };
        assert!((reads * 0.0008..reads * 0.020 + 3.0).contains(&seconds), "{}", printed.out);
        if arguments == "as postmark" && !before.is_empty() {
            assert_eq!(before, printed.out);
        }
        before = printed.out;
    }
    let mixed = "set location sim:hdd\nset location +sim:ssd\nrun\n";
    let printed =
        home.0.command(["as", "postmark"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = printed.unwrap();
    child.stdin.take().unwrap().write_all(mixed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && err.contains("cannot be mixed"), "{err}");
}

/// Protects copies between devices: data read from one is written to the other, and each takes its own time.
#[test]
fn files_are_copied_from_one_device_to_another() {
    let home = Home::new();
    home.file(
        "copies.toml",
        "name = \"copies\"\n\
         [target.from.sim]\ndevice = \"sim:nvme\"\nsize = \"64MiB\"\nfiles = 64\npreallocated-percent = 100\n\
         [target.to.sim]\ndevice = \"sim:hdd\"\nsize = \"64MiB\"\nfiles = 64\n\
         [[phase]]\nname = \"copy\"\n[[phase.workers]]\ntarget = \"from\"\ncount = 2\nlimit.passes = 32\n\
         work.program.count-transactions = true\n\
         work.program.steps = [{ copy = { file = \"sequential\", to = \"to\", request = \"256KiB\", moves = true } }]\n",
    );
    home.plumb("run copies.toml").expect(0);
    let exported: serde_json::Value = serde_json::from_str(&home.plumb("export last").expect(0).out).unwrap();
    let phase = &exported[0]["phases"][0];
    let done = |kind: &str| phase["done"][kind]["ops"].as_u64().unwrap_or(0);
    let counts = ["open", "create", "read", "write", "close", "unlink"].map(done);
    assert_eq!(counts, [64, 64, 256, 256, 128, 64], "{phase:#}");
    let mean = |metric: &str| phase["metrics"][metric]["value"].as_f64().unwrap();
    assert!(mean("write.lat.mean") > 10.0 * mean("read.lat.mean"), "{phase:#}");
    assert_eq!(done("read") * (256 << 10), phase["done"]["write"]["bytes"].as_u64().unwrap());
}
