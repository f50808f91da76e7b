//! Tests of dd's numbers, amounts, operands and output. The command-line tests compare with the real dd.

use super::human::{self, Base};
use super::keywords::Status;
use super::number::{self, NotNumber, Number};
use super::*;
use plumb_result::copy::{CopyBlocks, CopyCounts, CopyEvent, CopyStep};
use plumb_workload::copy::{CopyExtent, CopySpec};
use plumb_workload::{CachePolicy, Work};
use plumb_workload_text::{native, validate};
use proptest::prelude::*;

fn read_line(line: &str) -> Result<Dd, DdUsageError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    read(&words, Marks::Curved)
}

fn copy_of(line: &str) -> CopySpec {
    let workload = lower::lower(&read_line(line).unwrap());
    assert_eq!(validate::validate(&workload), [], "{line}");
    let text = native::to_toml(&workload).unwrap();
    assert_eq!(native::parse("dd.toml", &text).unwrap_or_else(|error| panic!("{line}: {error}\n{text}")), workload);
    match &workload.phase[0].workers[0].work {
        Work::Copy(copy) => (**copy).clone(),
        other => panic!("{line}: {other:?}"),
    }
}

/// Output of GNU dd 9.1 for each, as observed.
#[test]
fn gnu_numbers_are_gnus() {
    let value = |text| number::gnu(text).map(|number| number.value);
    for (text, expected) in [
        ("5B", 5),
        ("5Bx2", 10),
        ("2x1kB", 2000),
        ("1kBx2", 2000),
        ("bB", 512),
        ("cB", 1),
        ("5bB", 2560),
        ("kx2", 2048),
        ("2xk", 2048),
        (" 5", 5),
        ("+5", 5),
        ("5kD", 5000),
        ("5kDB", 5000),
        ("007", 7),
        ("1xM", 1 << 20),
        ("3MiB", 3 << 20),
        ("2GB", 2_000_000_000),
        ("1E", 1 << 60),
        ("3w", 6),
        ("0x9999999999999999999999999", 0),
        // 9.1 itself refuses a second `x`, which its manual allows.
        ("2x3x4", 24),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
    for text in [
        "", "1m", "1g", "kBB", "kiBB", "1KiBB", "2x", "0xg", "x5", "Bx", "5BB", "+", "+k", " k", "5D", "1iB", "1ki",
        "1e3", "5xx", "-1", "1b1",
    ] {
        assert_eq!(value(text), Err(NotNumber::Invalid), "{text:?}");
    }
    for text in ["9E", "9999999999999999999999", "1Z", "8Ex2"] {
        assert_eq!(value(text), Err(NotNumber::TooLarge), "{text}");
    }
    assert!(number::gnu("1kB").unwrap().counts_bytes && !number::gnu("1k").unwrap().counts_bytes);
    assert!(number::gnu("0x10").unwrap().is_zero_multiplier && !number::gnu("00x10").unwrap().is_zero_multiplier);
}

#[test]
fn bsd_numbers_are_the_bsds() {
    let value = |text| number::bsd(text).map(|number| number.value);
    for (text, expected) in [
        ("1m", 1 << 20),
        ("1M", 1 << 20),
        ("2b", 1024),
        ("3W", 12),
        ("0x10", 16),
        ("010", 8),
        ("2x3x4", 24),
        ("2*3k", 6144),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
    assert_eq!(value("m"), Err(NotNumber::NoDigits));
    assert_eq!(value("1q"), Err(NotNumber::Invalid));
    assert_eq!(value("9999999p"), Err(NotNumber::TooLarge));
}

proptest! {
    /// No input causes a panic.
    #[test]
    fn any_text_is_a_number_or_none(text in "\\PC{0,12}") {
        let _ = number::gnu(&text);
        let _ = number::bsd(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(text in "(if|of|bs|count|conv|iflag|oflag|status|seek|--as-version)?=?[a-z0-9,xB]{0,8}") {
        let _ = read(&[text], Marks::Straight);
    }

    /// A factor and a suffix multiply, for any values.
    #[test]
    fn suffixes_multiply(digits in 0u64..1_000_000, power in 0usize..4, times in 1u64..100) {
        let suffix = ["", "K", "M", "G"][power];
        let expected = digits * 1024u64.pow(power as u32) * times;
        let read = number::gnu(&format!("{digits}{suffix}x{times}"));
        prop_assert_eq!(read.map(|read| read.value), Ok(expected));
        let iec = number::gnu(&format!("{digits}{}", ["", "KiB", "MiB", "GiB"][power])).map(|read| read.value);
        prop_assert_eq!(iec, Ok(digits * 1024u64.pow(power as u32)));
        let si = number::gnu(&format!("{digits}{}", ["", "kB", "MB", "GB"][power])).map(|read| read.value);
        prop_assert_eq!(si, Ok(digits * 1000u64.pow(power as u32)));
    }

    /// A printed amount is off by at most half of its last digit.
    #[test]
    fn amounts_are_rounded_correctly(amount in 0u64..u64::MAX) {
        for (base, factor) in [(Base::Si, 1000.0f64), (Base::Iec, 1024.0)] {
            let printed = human::bytes(amount, base);
            let (number, unit) = printed.split_once(' ').unwrap();
            let letter = unit.chars().next().unwrap().to_ascii_uppercase();
            let power = "BKMGTPEZY".find(letter).unwrap() as i32;
            let value: f64 = number.parse().unwrap();
            let step = if number.contains('.') { 0.05 } else { 0.5 };
            let off = (value - amount as f64 / factor.powi(power)).abs();
            prop_assert!(off <= step * 1.000_001, "{} printed as {}", amount, printed);
        }
    }
}

/// Last lines of real runs of GNU dd 9.1.
#[test]
fn amounts_and_rates_read_as_dds() {
    for (bytes, si, iec) in [
        (268_435_456, "268 MB", "256 MiB"),
        (22_288, "22 kB", "22 KiB"),
        (10_000, "10 kB", "9.8 KiB"),
        (1_224_736_768, "1.2 GB", "1.1 GiB"),
        (2_048_000, "2.0 MB", "2.0 MiB"),
        (4096, "4.1 kB", "4.0 KiB"),
        (117_964_800_000, "118 GB", "110 GiB"),
        (999_999, "1.0 MB", "977 KiB"),
    ] {
        assert_eq!((human::bytes(bytes, Base::Si).as_str(), human::bytes(bytes, Base::Iec).as_str()), (si, iec));
    }
    for (bytes, ns, rate) in [
        (268_435_456, 130_021_000, "2.1 GB/s"),
        (8, 73_456, "109 kB/s"),
        (1, 27_656, "36.2 kB/s"),
        (0, 65_839, "0.0 kB/s"),
        (2_048_000, 359_051_000, "5.7 MB/s"),
        (17_525_768_192, 509_799_000, "34.4 GB/s"),
        (268_435_456, 967_732_000, "277 MB/s"),
    ] {
        assert_eq!(human::rate(bytes, ns), rate);
    }
}

fn counts(whole: u64, short: u64, written_bytes: u64) -> CopyCounts {
    let blocks = CopyBlocks { whole, short };
    CopyCounts { read: blocks, written: blocks, written_bytes, ..CopyCounts::default() }
}

#[test]
fn the_last_lines_are_each_personalitys() {
    let ended = |line: &str, counts: &CopyCounts, ns| {
        Reporter::new(&read_line(line).unwrap(), "dd").hear(CopyEvent::Ended, counts, ns)
    };
    assert_eq!(
        ended("", &counts(1, 1, 100_000), 169_470),
        "1+1 records in\n1+1 records out\n100000 bytes (100 kB, 98 KiB) copied, 0.00016947 s, 590 MB/s\n"
    );
    assert_eq!(
        ended("", &counts(1, 0, 999), 28_305),
        "1+0 records in\n1+0 records out\n999 bytes copied, 2.8305e-05 s, 35.3 MB/s\n"
    );
    assert_eq!(
        ended("", &counts(1, 0, 1), 27_656),
        "1+0 records in\n1+0 records out\n1 byte copied, 2.7656e-05 s, 36.2 kB/s\n"
    );
    assert_eq!(ended("", &counts(0, 0, 0), 0), "0+0 records in\n0+0 records out\n0 bytes copied, 0 s, Infinity B/s\n");
    assert_eq!(ended("status=noxfer", &counts(10, 0, 10), 5), "10+0 records in\n10+0 records out\n");
    assert_eq!(ended("status=none", &counts(10, 0, 10), 5), "");
    let cut = CopyCounts { cut_lines: 1, ..counts(0, 1, 8) };
    assert!(ended("conv=block cbs=4", &cut, 73_456).contains("\n1 truncated record\n"));
    // As in the study of FreeBSD 8 and Debian 5.
    assert_eq!(
        ended("--as-version=freebsd", &counts(262_144, 0, 1_073_741_824), 20_888_121_000),
        "262144+0 records in\n262144+0 records out\n1073741824 bytes transferred in 20.888121 secs (51404424 bytes/sec)\n"
    );
}

/// A progress line overwrites the previous one; an error, and the end, begin a new line.
#[test]
fn progress_is_one_line() {
    let mut reporter = Reporter::new(&read_line("status=progress of=big").unwrap(), "dd");
    let first = reporter.hear(CopyEvent::Second, &counts(1, 0, 94_613_209_088), 1_000_100_000);
    assert_eq!(first, "\r94613209088 bytes (95 GB, 88 GiB) copied, 1 s, 94.6 GB/s");
    let shorter = reporter.hear(CopyEvent::Second, &counts(1, 0, 9), 2_000_100_000);
    assert_eq!(shorter.trim_end(), "\r9 bytes copied, 2 s, 0.0 kB/s");
    assert_eq!(shorter.len(), first.len(), "the old line is erased");
    let failed = reporter.hear(CopyEvent::Failed { what: CopyStep::Write, errno: 28 }, &counts(1, 0, 5), 3);
    assert_eq!(failed, "\ndd: error writing 'big': No space left on device\n");
    assert!(reporter.has_failed());
    assert!(reporter.hear(CopyEvent::Ended, &counts(1, 0, 5), 4).starts_with("1+0 records in\n"));
}

#[test]
fn errors_have_dds_words() {
    let message = |line: &str| read_line(line).unwrap_err().text("dd");
    let hint = "Try 'dd --help' for more information.\n";
    assert_eq!(message("bs=1m"), "dd: invalid number: ‘1m’\n");
    assert_eq!(message("bs=9E"), "dd: invalid number: ‘9E’: Value too large for defined data type\n");
    assert_eq!(message("oag=dsync"), format!("dd: unrecognized operand ‘oag=dsync’\n{hint}"));
    assert_eq!(message("oflag/dsync"), format!("dd: unrecognized operand ‘oflag/dsync’\n{hint}"));
    assert_eq!(message("oflag=fullblock"), format!("dd: invalid output flag: ‘fullblock’\n{hint}"));
    assert_eq!(message("conv=a,swab"), format!("dd: invalid conversion: ‘a’\n{hint}"));
    assert_eq!(message("conv=lcase,ucase"), "dd: cannot combine lcase and ucase\n");
    assert_eq!(message("--foo"), format!("dd: unrecognized option '--foo'\n{hint}"));
    assert_eq!(message("--as-version=gnu --as-version=freebsd bs=1q"), "dd: bs: illegal numeric value\n");
    assert_eq!(message("--as-version freebsd bs=1k ibs=2"), "dd: ibs: illegal argument combination or already set\n");
    assert_eq!(
        message("bs=0x10"),
        "dd: warning: ‘0x’ is a zero multiplier; use ‘00x’ if that is intended\ndd: invalid number: ‘0x10’\n"
    );
    let straight = read(&["bs=1m".to_owned()], Marks::of_locale(|_| Some("C".to_owned())));
    assert_eq!(straight.unwrap_err().text("dd"), "dd: invalid number: '1m'\n");
}

// Protects users who type a published command: its misprints are explained, and correct arguments are not.
#[test]
fn slips_of_print_are_explained() {
    let meant = |line: &str| read_line(line).unwrap_err().meant;
    let bsd = "`bs=1m` is a size for FreeBSD's dd, not GNU's: use `bs=1M`, or put `--as-version=freebsd` before it";
    assert_eq!(meant("if=/dev/zero of=test bs=1m count=2000 oflag=dsync").as_deref(), Some(bsd));
    assert!(meant("bs=1g").unwrap().contains("use `bs=1G`"));
    assert_eq!(meant("oflag/dsync").as_deref(), Some("unknown operand `oflag/dsync`; did you mean `oflag=dsync`?"));
    assert_eq!(meant("oag=dsync").as_deref(), Some("unknown operand `oag=dsync`; did you mean `oflag=dsync`?"));
    assert_eq!(meant("bs=many"), None);
    assert_eq!(meant("speak=up"), None);
}

#[test]
fn names_are_quoted_as_a_shell_reads_them() {
    assert_eq!(quote::file("a b"), "'a b'");
    assert_eq!(quote::file("it's"), "\"it's\"");
    assert_eq!(quote::file("a'$b"), "'a'\\''$b'");
    assert_eq!(quote::file_if_needed("a/b.c"), "a/b.c");
    assert_eq!(quote::file_if_needed("standard input"), "'standard input'");
}

#[test]
fn a_command_line_is_a_copy() {
    let plain = copy_of("if=a of=b");
    assert!(plain.in_kernel && plain.gathers && plain.truncate);
    assert!(!copy_of("--compat=strict if=a of=b").in_kernel, "one call per block");
    assert!(!copy_of("if=a of=b bs=512").in_kernel && !copy_of("if=a of=b bs=512").gathers);
    let bytes = copy_of("bs=4k count=10000B skip=5 seek=3B");
    assert_eq!(bytes.count, Some(CopyExtent { blocks: 2, bytes: 1808 }));
    assert_eq!((bytes.skip, bytes.seek), (CopyExtent { blocks: 5, bytes: 0 }, CopyExtent { blocks: 0, bytes: 3 }));
    assert_eq!(copy_of("count=0").count, Some(CopyExtent::default()));
    assert_eq!(copy_of("--as-version=freebsd count=0").count, None, "no limit, to the BSDs");
    assert_eq!(copy_of("conv=sync,block cbs=8").pad, Some(b' '));
    assert_eq!(copy_of("conv=sync,block").pad, Some(0), "without records there are no lines");
    assert_eq!(read_line("status=progress").unwrap().status, Status::Progress);
}

/// A phase is direct if all its storage is opened directly.
#[test]
fn direct_is_what_storage_is_opened_as() {
    let cache = |line: &str| lower::lower(&read_line(line).unwrap()).phase[0].cache;
    assert_eq!(cache("if=/dev/zero of=f oflag=direct bs=4k"), CachePolicy::Direct);
    assert_eq!(cache("if=f of=/dev/null iflag=direct bs=4k"), CachePolicy::Direct);
    assert_eq!(cache("if=f of=g oflag=direct bs=4k"), CachePolicy::AsIs);
    assert_eq!(cache("if=/dev/zero of=/dev/null"), CachePolicy::AsIs);
}

/// Plain numbers are the same in both syntaxes.
#[test]
fn plain_numbers_are_plain() {
    assert_eq!(number::gnu("12"), Ok(Number { value: 12, counts_bytes: false, is_zero_multiplier: false }));
}
