//! Options of IOR and mdtest in tables, which the parser, `-h`, the documentation and the tests use.

use plumb_tools::Support::{Ignored, Never, NotYet, Works};
use plumb_tools::options::Takes::{Flag, Number, Text};
use plumb_tools::options::{Opt, Table, long};

/// Returns the key of an option in settings: its letter, else its name.
pub(super) fn key(row: &Opt) -> String {
    row.letter.map_or_else(|| row.name.to_owned(), |letter| letter.to_string())
}

/// Formats a row of `-h`.
fn help_row(row: &Opt) -> String {
    let value = match row.default {
        _ if row.takes.is_flag() => String::new(),
        "" => "=STRING".to_owned(),
        default => format!("={default}"),
    };
    let names = match (row.letter, row.name) {
        (Some(_), "") | (None, _) => format!("{}{value}", row.written()),
        (Some(letter), name) => format!("-{letter}, --{name}{value}"),
    };
    let why = match row.support {
        Works => String::new(),
        Ignored(why) => format!(" (ignored: {why})"),
        NotYet(why) => format!(" (not yet: {why})"),
        Never(why) => format!(" (never: {why})"),
    };
    format!("  {names:<30}{}{why}\n", row.what)
}

/// Options of the back ends, which both tools accept.
#[rustfmt::skip]
pub const BACKENDS: &[Opt] = &[
    long("posix.odirect", Flag, "Open files with O_DIRECT"),
    long("posix.rangelocks", Flag, "Lock the range of each transfer").but(NotYet("leave it out")),
    long("aio.max-pending", Number, "Limit of AIO requests that are prepared or in flight").or("128"),
    long("aio.granularity", Number, "Number of AIO requests that are submitted together").or("16"),
    long("dummy.delay-only-rank0", Flag, "Delay only rank 0").but(NotYet("the delays apply to every rank")),
    long("dummy.delay-create", Number, "Delay of a create of DUMMY, µs").or("0"),
    long("dummy.delay-close", Number, "Delay of a close of DUMMY, µs").or("0"),
    long("dummy.delay-sync", Number, "Delay of a sync of DUMMY, µs").or("0"),
    long("dummy.delay-xfer", Number, "Delay of a transfer of DUMMY, µs").or("0"),
    long("mpiio.showHints", Flag, "Print the hints that are given, and those of the opened file"),
    long("mpiio.preallocate", Flag, "Reserve the space of a file as it is opened for writing"),
    long("mpiio.useStridedDatatype", Flag, "With useFileView, move one transfer of every segment in a call"),
    long("mpiio.useFileView", Flag, "Show each task only its own blocks (MPI_File_set_view)"),
    long("mpiio.hintsFileName", Text, "A file of hints, a line each: IOR_HINT__MPI__NAME=VALUE"),
    long("mmap.madv_dont_need", Flag, "Advise MADV_DONTNEED"),
    long("mmap.madv_pattern", Flag, "Advise the pattern: random or sequential"),
    long("plumb-ranks", Number, "Ranks, as threads of this process (Plumb's own option)").or("1"),
];

/// Formats the page of `-h` for these options.
pub fn help(tool: &str, table: Table) -> String {
    let lines = |are_flags: bool| -> String {
        table.rows().filter(|row| row.takes.is_flag() == are_flags).map(help_row).collect()
    };
    format!("Synopsis {tool}\n\nFlags\n{}\nOptional arguments\n{}", lines(true), lines(false))
}
