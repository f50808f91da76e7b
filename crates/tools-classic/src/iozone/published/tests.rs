use super::super::Pass;
use super::*;
use plumb_result::{CellMetric, Unit};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Vec<PublishedNumber> {
    published(bytes).unwrap_or_else(|unread| panic!("{unread}: {}", unread.help))
}

fn all_of(numbers: &[PublishedNumber], kind: CellMetric) -> Vec<(&str, &str)> {
    let of = numbers.iter().filter(|number| number.kind == kind);
    of.map(|number| (number.printed.as_str(), number.conditions.as_str())).collect()
}

// Protects: a number of the table belongs to its column, and is in KiB per second.
#[test]
fn a_table_is_read_column_by_column() {
    let numbers = read(include_bytes!("../../../golden/iozone/auto_Ra_small.out"));
    // 35 rows of 13 rates; the report after the table repeats them.
    assert_eq!(numbers.len(), 35 * 13);
    let first: Vec<(CellMetric, &str)> =
        numbers[..13].iter().map(|number| (number.kind, number.printed.as_str())).collect();
    assert_eq!(first[0], (CellMetric::Write, "1232453 kBytes/sec"));
    assert_eq!(first[5], (CellMetric::RandomWrite, "4018152 kBytes/sec"));
    assert_eq!(first[8], (CellMetric::StrideRead, "10402178 kBytes/sec"));
    assert_eq!(first[12], (CellMetric::Freread, "20962191 kBytes/sec"));
    assert_eq!((numbers[0].value, numbers[0].unit), (1_232_453.0 * 1024.0, Unit::BytesPerSecond));
    assert_eq!(numbers[0].conditions, "iozone, 64KiB by 4KiB");
    let every = read(include_bytes!("../../../golden/iozone/ext_E.out"));
    let kinds: Vec<CellMetric> = every.iter().map(|number| number.kind).collect();
    let passes: Vec<CellMetric> = Pass::ALL[..17].iter().map(|pass| pass.kind()).collect();
    assert_eq!(kinds, passes);
    assert_eq!(every[16].printed, "1217583 kBytes/sec");
}

// Protects: skipped tests do not shift columns, and a 0 is not a number.
#[test]
fn unmeasured_cells_have_no_number() {
    let head = "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   \
                fwrite frewrite    fread  freread\n";
    let row = "            4096       4    78025        0                                      1028043\n";
    let numbers = read(format!("\tOPS Mode. Output is in operations per second.\n{head}{row}\n").as_bytes());
    assert_eq!(all_of(&numbers, CellMetric::Write), [("78025 ops/sec", "iozone, 4MiB by 4KiB")]);
    assert_eq!(numbers.len(), 2);
    assert_eq!((numbers[1].value, numbers[1].unit), (1_028_043.0, Unit::OpsPerSecond));
    assert_eq!(numbers[1].kind, CellMetric::BackwardRead);
}

// Protects: totals of several processes are reported with the number of processes.
#[test]
fn blocks_of_several_processes_are_read() {
    let numbers = read(include_bytes!("../../../golden/iozone/throughput_t1_t2_t4_R_C.out"));
    // Three numbers of processes, four passes.
    assert_eq!(numbers.len(), 12);
    let writes = all_of(&numbers, CellMetric::Write);
    assert_eq!(writes[0], ("4423462.50 kBytes/sec", "iozone, 4MiB by 64KiB, 1 at once"));
    assert_eq!(writes[1], ("8584065.50 kBytes/sec", "iozone, 4MiB by 64KiB, 2 at once"));
}

// Protects: the spreadsheet and the report of one run contain the same numbers.
#[test]
fn the_report_and_the_spreadsheet_are_read() {
    let sheet = read(include_bytes!("../../../golden/iozone/auto.xls"));
    // Four passes, nine record sizes that fit the only file.
    assert_eq!(sheet.len(), 4 * 9);
    assert_eq!(all_of(&sheet, CellMetric::Write)[0], ("2348509 kBytes/sec", "iozone, 1MiB by 4KiB"));
    assert_eq!(all_of(&sheet, CellMetric::Reread)[8], ("32098538 kBytes/sec", "iozone, 1MiB by 1MiB"));
    let text = include_str!("../../../golden/iozone/auto_Ra_small.out");
    let mut report = read(text.split_once("Excel output is below:").unwrap().1.as_bytes());
    let mut table = read(text.as_bytes());
    for numbers in [&mut report, &mut table] {
        numbers.sort_by(|one, other| (one.kind, &one.conditions).cmp(&(other.kind, &other.conditions)));
    }
    assert_eq!(report, table);
    let text = include_str!("../../../golden/iozone/throughput_t1_t2_t4_R_C.out");
    let report = read(&text.as_bytes()[text.find("\"Throughput").unwrap()..]);
    assert_eq!(report.len(), 12);
    assert_eq!(all_of(&report, CellMetric::Write)[1].1, "iozone, Record size = 64 kBytes, column 2 of its processes");
}

// Protects: CPU usage is not parsed as a rate.
#[test]
fn processors_are_no_rates() {
    let text = include_str!("../../../golden/iozone/cpu_plus_u_auto.out");
    let report = read(text.split_once("Excel output is below:").unwrap().1.as_bytes());
    assert_eq!(report.len(), read(text.as_bytes()).len());
}

// Protects: a truncated file, or one of another tool, is refused with its place and a hint.
#[test]
fn unreadable_files_are_refused_with_their_place() {
    let sheet = include_bytes!("../../../golden/iozone/auto.xls");
    let cut = published(&sheet[..sheet.len() - 7]).unwrap_err();
    assert!(cut.place.starts_with("byte ") && cut.message.contains("ends within a record"), "{cut}");
    let head = "  KB  reclen   write rewrite    read    reread\n";
    for (row, place, message) in [
        ("  64  4  123x  5\n", "line 2", "`123x` is not a number"),
        ("  64  4  12345678901234  5\n", "line 2", "two numbers run together"),
        ("  64  x  5\n", "line 2", "`x` is not a size"),
    ] {
        let unread = published(format!("{head}{row}").as_bytes()).unwrap_err();
        assert!(unread.place == place && unread.message.contains(message), "{unread}");
    }
    assert!(published(b"PK\x03\x04abc").unwrap_err().message.contains("later kind"));
    assert!(published(b"hello").unwrap_err().message.contains("no IOzone results"));
}

proptest! {
    // Protects: no file causes a panic.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "[ \"0-9.a-zA-Z\\n=-]{0,300}", at in 0usize..3636, byte: u8) {
        let _ = published(&bytes);
        let _ = published(text.as_bytes());
        let _ = published(format!("  kB  reclen  write rewrite\n{text}").as_bytes());
        let _ = published(format!("\"Writer report\"\n{text}").as_bytes());
        let mut sheet = include_bytes!("../../../golden/iozone/auto.xls").to_vec();
        sheet[at] = byte;
        let _ = published(&sheet);
        let _ = published(&sheet[..at]);
    }
}
