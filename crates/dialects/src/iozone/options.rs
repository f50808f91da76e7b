//! Every option of IOzone, in one table: parser, help and completion are made from it.

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A word.
    Word(&'static str),
    /// As many arguments as there are processes.
    Words(&'static str),
}

/// One option.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// How it is written, without the dash: `a`, or `+u`.
    pub name: &'static str,
    /// What follows.
    pub takes: Takes,
    /// What it is for.
    pub help: &'static str,
}

const fn row(name: &'static str, takes: Takes, help: &'static str) -> OptionRow {
    OptionRow { name, takes, help }
}

use Takes::{Nothing, Word, Words};

/// In the order of the help.
pub const TABLE: &[OptionRow] = &[
    row("a", Nothing, "Full automatic mode: all record sizes for all file sizes"),
    row("A", Nothing, "As -a -z -i 0 -i 1"),
    row(
        "b",
        Word("FILE"),
        "Write the report to FILE as a spreadsheet: BIFF 2, or a workbook if the name ends in .xlsx",
    ),
    row("B", Nothing, "Use mmap files"),
    row("c", Nothing, "Include close in the timing"),
    row("C", Nothing, "Show the bytes of each child in throughput tests"),
    row("d", Word("#"), "Microseconds between the starts of children"),
    row("D", Nothing, "Use msync(MS_ASYNC) on mmap files"),
    row("e", Nothing, "Include flushes (fsync, fflush) in the timing"),
    row("E", Nothing, "Run the extension tests too: pwrite, pread"),
    row("f", Word("FILE"), "File to use"),
    row("F", Words("FILES"), "One file per child, after -t"),
    row("g", Word("#"), "Largest file of -a, in kB, or #m or #g"),
    row("G", Nothing, "Use msync(MS_SYNC) on mmap files"),
    row("h", Nothing, "Help"),
    row("H", Word("#"), "POSIX async I/O with this queue depth, with bcopy"),
    row(
        "i",
        Word("#"),
        "Test to run: 0 write/rewrite, 1 read/reread, 2 random read/write, 3 backward read, 4 record rewrite, 5 stride read, 6 fwrite/refwrite, 7 fread/refread, 8 random mix (with -t), 9 pwrite/repwrite, 10 pread/repread (9 and 10 with -E or -t)",
    ),
    row("I", Nothing, "Use O_DIRECT for all file operations"),
    row("j", Word("#"), "Stride of the stride test, in records"),
    row("J", Word("#"), "Milliseconds of computing before each operation"),
    row("k", Word("#"), "POSIX async I/O with this queue depth, without bcopy"),
    row("K", Nothing, "Occasionally read out of order"),
    row("l", Word("#"), "Smallest number of processes"),
    row("L", Word("#"), "Cache line size of the processor, in bytes"),
    row("m", Nothing, "Use several buffers"),
    row("M", Nothing, "Print the output of uname -a"),
    row("n", Word("#"), "Smallest file of -a, in kB, or #m or #g"),
    row("N", Nothing, "Print microseconds per operation"),
    row("o", Nothing, "Writes are synchronous (O_SYNC)"),
    row("O", Nothing, "Print operations per second"),
    row("p", Nothing, "Purge the processor's cache before operations"),
    row("P", Word("#"), "Bind processes to processors, starting with this one"),
    row("q", Word("#"), "Largest record of -a, in kB, or #m or #g"),
    row("Q", Nothing, "Write files of offsets and latencies"),
    row("r", Word("#"), "Record size in kB, or #k, #m, #g"),
    row("R", Nothing, "Print a report for spreadsheets"),
    row("s", Word("#"), "File size in kB, or #k, #m, #g"),
    row("S", Word("#"), "Size of the processor's cache in kB"),
    row("t", Word("#"), "Throughput test with this many processes"),
    row("T", Nothing, "Use threads for throughput tests"),
    row("u", Word("#"), "Largest number of processes"),
    row("U", Word("DIR"), "Mount point to remount between tests"),
    row("v", Nothing, "Version"),
    row("V", Word("#"), "Write this byte pattern and verify it"),
    row("w", Nothing, "Keep the files"),
    row("W", Nothing, "Lock files while they are used"),
    row("x", Nothing, "No stonewall"),
    row("X", Word("FILE"), "Telemetry file for writes: lines of offset, size and delay"),
    row("y", Word("#"), "Smallest record of -a, in kB, or #m or #g"),
    row("Y", Word("FILE"), "Telemetry file for reads: lines of offset, size and delay"),
    row("z", Nothing, "With -a: small records for large files too"),
    row("Z", Nothing, "Mix mmap and file I/O"),
    row("+a", Word("#"), "Percentage of compressible data"),
    row("+A", Word("#"), "madvise: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed"),
    row("+b", Word("#,#"), "Bursts: size in kB, and milliseconds between bursts"),
    row("+B", Nothing, "Make the mix of test 8 sequential"),
    row("+c", Word("HOST"), "Run as a client of this host"),
    row("+C", Word("#"), "Percentage of duplicates within a file"),
    row("+d", Nothing, "Diagnostic mode: every byte is checked"),
    row("+D", Nothing, "Writes are synchronous (O_DSYNC)"),
    row("+E", Nothing, "Read an existing file without changing it"),
    row("+F", Nothing, "Truncate files before the writes of the mix"),
    row("+h", Word("HOST"), "Name of this host"),
    row("+H", Word("HOST"), "Take the time from this host"),
    row("+i", Word("PORT"), "Port of the controlling host"),
    row("+J", Nothing, "Include compute time in throughput"),
    row("+k", Nothing, "File size is the total of all children"),
    row("+K", Word("#"), "Number of children of test 8 that read"),
    row("+l", Nothing, "Lock records"),
    row("+L", Nothing, "Lock records, with one shared file"),
    row("+m", Word("FILE"), "Run on the machines listed in this file"),
    row("+M", Nothing, "Make duplicates compressible too"),
    row("+n", Nothing, "No retests"),
    row("+N", Nothing, "Do not truncate existing files"),
    row("+O", Word("#"), "Operations per second per child"),
    row("+p", Word("#"), "Percentage of children of test 8 that read"),
    row("+P", Word("PORT"), "Port of the time host"),
    row("+q", Word("#"), "Seconds between tests"),
    row("+Q", Word("#"), "Block size of duplicates, in bytes"),
    row("+r", Nothing, "Use O_RSYNC|O_SYNC for all I/O"),
    row("+R", Word("FILE"), "Read file names from FILE"),
    row("+s", Nothing, "Print nothing"),
    row("+S", Word("#"), "Seed of duplicates"),
    row("+t", Nothing, "Network test, with -+m"),
    row("+T", Nothing, "Time stamps"),
    row("+u", Nothing, "Print CPU utilization"),
    row("+V", Nothing, "One shared file, without locks"),
    row("+w", Word("#"), "Percentage of duplicates across files"),
    row("+W", Word("#"), "Skew of duplicates between children"),
    row("+x", Word("#"), "Multiplier from one size to the next"),
    row("+X", Nothing, "Pattern 0xBB"),
    row("+y", Word("#"), "Percentage of duplicates within and across files"),
    row("+z", Nothing, "Write latency histograms, with -t"),
    row("+Z", Nothing, "Pattern 0xA5, as in old data sets"),
];

/// Those that are Plumb's own, with two dashes.
pub const OWN: &[(&str, &str)] = &[
    ("compat=strict", "Follow IOzone 3.489 exactly, including its errors"),
    ("xlsx=FILE", "Write a workbook with charts and a heat map"),
    ("repeat=#", "Run all tests N times; rates are means, and the workbook has their intervals"),
];

/// The row of an option.
pub fn find(name: &str) -> Option<&'static OptionRow> {
    TABLE.iter().find(|row| row.name == name)
}
