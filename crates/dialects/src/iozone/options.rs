//! Every option of IOzone, in one table: parser, help and completion are made from it.

/// What follows an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A word.
    Word(&'static str),
    /// As many words as there are processes.
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
    row("a", Nothing, "All record sizes with all file sizes"),
    row("A", Nothing, "As -a -z -i 0 -i 1"),
    row("b", Word("FILE"), "Write the report to FILE as a spreadsheet: BIFF 2, or a workbook where it ends in .xlsx"),
    row("B", Nothing, "Use mmap files"),
    row("c", Nothing, "Include close in the timing"),
    row("C", Nothing, "Show bytes of each child in throughput tests"),
    row("d", Word("#"), "Microseconds between the starts of children"),
    row("D", Nothing, "Use msync(MS_ASYNC) on mmap files"),
    row("e", Nothing, "Include flushes (fsync, fflush) in the timing"),
    row("E", Nothing, "Run the extension tests too: pwrite, pread"),
    row("f", Word("FILE"), "The file to use"),
    row("F", Words("FILES"), "A file of each child, behind -t"),
    row("g", Word("#"), "Largest file of -a, in kB, or #m or #g"),
    row("G", Nothing, "Use msync(MS_SYNC) on mmap files"),
    row("h", Nothing, "Help"),
    row("H", Word("#"), "POSIX async I/O of this depth, copied"),
    row(
        "i",
        Word("#"),
        "Test to run: 0 write/rewrite, 1 read/reread, 2 random read/write, 3 backward read, 4 record rewrite, 5 stride read, 6 fwrite/refwrite, 7 fread/refread, 8 random mix (with -t), 9 pwrite/repwrite, 10 pread/repread (9 and 10 with -E or -t)",
    ),
    row("I", Nothing, "Use O_DIRECT for all file operations"),
    row("j", Word("#"), "Stride of the stride test, in records"),
    row("J", Word("#"), "Milliseconds of computing before each operation"),
    row("k", Word("#"), "POSIX async I/O of this depth, not copied"),
    row("K", Nothing, "Disturb the order of reads now and then"),
    row("l", Word("#"), "Smallest number of processes"),
    row("L", Word("#"), "Line of the processor's cache, in bytes"),
    row("m", Nothing, "Use several buffers"),
    row("M", Nothing, "Print what uname -a says"),
    row("n", Word("#"), "Smallest file of -a, in kB, or #m or #g"),
    row("N", Nothing, "Print microseconds per operation"),
    row("o", Nothing, "Writes are synchronous (O_SYNC)"),
    row("O", Nothing, "Print operations per second"),
    row("p", Nothing, "Purge the processor's cache before operations"),
    row("P", Word("#"), "Bind processes to processors, from this one on"),
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
    row("V", Word("#"), "Write this byte everywhere and check it"),
    row("w", Nothing, "Keep the files"),
    row("W", Nothing, "Lock files while they are used"),
    row("x", Nothing, "No stonewall"),
    row("X", Word("FILE"), "Telemetry of writes: lines of offset, size and delay"),
    row("y", Word("#"), "Smallest record of -a, in kB, or #m or #g"),
    row("Y", Word("FILE"), "Telemetry of reads: lines of offset, size and delay"),
    row("z", Nothing, "With -a: small records of large files too"),
    row("Z", Nothing, "Mix mmap and file I/O"),
    row("+a", Word("#"), "Per cent that can be compressed"),
    row("+A", Word("#"), "madvise: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed"),
    row("+b", Word("#,#"), "Bursts: kB, and milliseconds between two"),
    row("+B", Nothing, "The mix of test 8 is sequential"),
    row("+c", Word("HOST"), "Be a client of this host"),
    row("+C", Word("#"), "Per cent of duplicates within a file"),
    row("+d", Nothing, "Diagnostic mode: every byte is checked"),
    row("+D", Nothing, "Writes are synchronous (O_DSYNC)"),
    row("+E", Nothing, "Read an existing file, and change nothing"),
    row("+F", Nothing, "Truncate files before the writes of the mix"),
    row("+h", Word("HOST"), "Name of this host"),
    row("+H", Word("HOST"), "Take the time from this host"),
    row("+i", Word("PORT"), "Port of the controlling host"),
    row("+J", Nothing, "Count the time of computing"),
    row("+k", Nothing, "The file size is that of all children together"),
    row("+K", Word("#"), "How many children of test 8 read"),
    row("+l", Nothing, "Lock records"),
    row("+L", Nothing, "Lock records, with one file for all"),
    row("+m", Word("FILE"), "Run on the machines of this list"),
    row("+M", Nothing, "Duplicates that can be compressed too"),
    row("+n", Nothing, "No retests"),
    row("+N", Nothing, "Do not truncate existing files"),
    row("+O", Word("#"), "Operations per second of each child"),
    row("+p", Word("#"), "Per cent of children of test 8 that read"),
    row("+P", Word("PORT"), "Port of the host of the time"),
    row("+q", Word("#"), "Seconds between tests"),
    row("+Q", Word("#"), "Bytes of a block of duplicates"),
    row("+r", Nothing, "O_RSYNC|O_SYNC for all"),
    row("+R", Word("FILE"), "Take the names of files from FILE"),
    row("+s", Nothing, "Print nothing"),
    row("+S", Word("#"), "Seed of duplicates"),
    row("+t", Nothing, "Network test, with -+m"),
    row("+T", Nothing, "Time stamps"),
    row("+u", Nothing, "Print the use of processors"),
    row("+V", Nothing, "One file for all, without locks"),
    row("+w", Word("#"), "Per cent of duplicates across files"),
    row("+W", Word("#"), "Skew of duplicates between children"),
    row("+x", Word("#"), "From one size to the next, times"),
    row("+X", Nothing, "Pattern 0xBB"),
    row("+y", Word("#"), "Per cent of duplicates within and across files"),
    row("+z", Nothing, "Write histograms of latencies, with -t"),
    row("+Z", Nothing, "Pattern 0xA5, of old data"),
];

/// Those that are Plumb's own, with two dashes.
pub const OWN: &[(&str, &str)] = &[
    ("compat=strict", "Do and print what IOzone 3.489 does, where that is wrong too"),
    ("xlsx=FILE", "Write a workbook with charts and a heat map"),
    ("repeat=#", "Run all tests so often; rates are means, and the workbook has their intervals"),
];

/// The row of an option.
pub fn find(name: &str) -> Option<&'static OptionRow> {
    TABLE.iter().find(|row| row.name == name)
}
