//! Tests against the output of IOzone 3.489: `crates/tools-classic/golden/iozone`.

use super::lower::{Row, lower};
use super::print::report::{surfaces, surfaces_until, text};
use super::print::throughput::ThroughputReport;
use super::print::{Child, MeasuredPass, Round, biff, head, table, throughput};
use super::settings::{IozoneSettings, TestMode};
use super::sweep::SizePoint;
use super::{Action, IozoneUsageError, Machine, Pass, read};
use std::collections::BTreeMap;
use std::path::Path;

struct FakeMachine;

impl Machine for FakeMachine {
    fn file(&mut self, path: &str) -> Result<String, plumb_tools::FileError> {
        match path {
            "telemetry" => Ok("# offset size delay\n0 4096\n8192 65536 3\n4096 512\n".to_owned()),
            "names" => Ok("a\nb\n".to_owned()),
            _ => Err(plumb_tools::FileError::Io {
                path: path.to_owned(),
                source: std::io::Error::other("No such file or directory"),
            }),
        }
    }

    fn uname(&mut self) -> String {
        "Linux desk".to_owned()
    }

    fn processors(&mut self) -> u32 {
        2
    }
}

/// A machine with this `uname -a`.
struct NamedMachine(String);

impl Machine for NamedMachine {
    fn file(&mut self, path: &str) -> Result<String, plumb_tools::FileError> {
        FakeMachine.file(path)
    }

    fn uname(&mut self) -> String {
        self.0.clone()
    }

    fn processors(&mut self) -> u32 {
        FakeMachine.processors()
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().skip(1).map(str::to_owned).collect()
}

fn settings(line: &str) -> IozoneSettings {
    match read(&words(line), &mut FakeMachine) {
        Ok(Action::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

fn refusal(line: &str) -> IozoneUsageError {
    match read(&words(line), &mut FakeMachine) {
        Err(error) => error,
        other => panic!("{line}: {other:?}"),
    }
}

/// Returns the golden's text after its date.
// Protects: a number beyond all sizes becomes the maximum, without a panic.
#[test]
fn numbers_beyond_all_sizes_end_at_the_largest() {
    const MANY: &str = "199999999999999999999024";
    for option in ["-S", "-d", "-J", "-+q", "-s", "-r 4 -s", "-a -g", "-t 2 -s"] {
        let _ = read(&words(&format!("iozone {option} {MANY}")), &mut FakeMachine);
    }
    assert_eq!(settings(&format!("iozone -S {MANY}")).buffers.cache_bytes, u64::MAX);
}

// Protects callers that ask what a command line measures: it equals the phases of its workload.
#[test]
fn measured_passes_have_phases() {
    for words in ["-i 0 -i 1", "-i 3 -i 2 -+n", "-t 2 -i 0 -i 2", "-I -E", "-+E -f f -i 1 -i 3"] {
        let settings = settings(&format!("iozone {words}"));
        let lowered = super::lower::lower(&settings);
        let printed = lowered.phases.iter().filter(|phase| !phase.is_silent).map(|phase| phase.pass);
        assert_eq!(super::lower::measured(&settings), printed.collect::<Vec<_>>(), "{words}");
    }
    assert_eq!(settings("iozone -t 3 -s 1g").file_kb_max(), 3 << 20);
    assert_eq!(settings("iozone -a -g 1g").file_kb_max(), 1 << 20);
}

fn after_date(golden: &str) -> &str {
    let date = golden.find("\tRun began").unwrap();
    golden[date..].split_once("\n\n").unwrap().1
}

/// Returns a pass with a rate in whole kB/s and a CPU usage.
fn measured(pass: Pass, point: SizePoint, rate_kb: u64, cpu_percent: f64) -> MeasuredPass {
    let elapsed_ns = 1_000_000_000;
    let cpu_ns = (cpu_percent * 1e7).round() as u64;
    // In the middle of a kB, because rates are truncated.
    let round = Round { bytes: rate_kb * 1024 + 512, ops: 1, elapsed_ns, cpu_ns, ..Round::default() };
    MeasuredPass { pass, point, children: 0, rounds: vec![round] }
}

/// Returns the rows of a golden's table: sizes, and rates in the order of the columns.
fn rows(golden: &str) -> Vec<Vec<u64>> {
    let table = golden.split("freread").nth(1).unwrap();
    let table = table.split("iozone test complete").next().unwrap();
    let numbers = |line: &str| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    table.lines().map(numbers).filter(|row| row.len() > 2).collect()
}

fn passes(settings: &IozoneSettings) -> Vec<Pass> {
    let tests = settings.table().iter().filter(|test| settings.includes(**test));
    tests.flat_map(|test| test.passes()).copied().collect()
}

/// Returns the CPU usage in a golden's report, by pass, file and record in kB.
fn cpu_shares(golden: &str, settings: &IozoneSettings) -> BTreeMap<(Pass, u64, u64), f64> {
    let mut shares = BTreeMap::new();
    for pass in passes(settings) {
        let title = format!("\"{} CPU utilization report", pass.title());
        let Some(report) = golden.split(&title).nth(1) else { continue };
        let mut lines = report.lines().skip(1);
        let number = |word: &str| word.trim_matches('"').parse::<f64>().unwrap();
        let records: Vec<f64> = lines.next().unwrap().split_whitespace().map(number).collect();
        for line in lines.take_while(|line| line.starts_with('"')) {
            let row: Vec<f64> = line.split_whitespace().map(number).collect();
            for (record, share) in records.iter().zip(&row[1..]) {
                shares.insert((pass, row[0] as u64, *record as u64), *share);
            }
        }
    }
    shares
}

/// Returns everything that a single-process run prints after the date.
fn stream(line: &str, golden: &str) -> String {
    let settings = settings(&format!("{line} --compat=strict"));
    let shares = cpu_shares(golden, &settings);
    let mut all = Vec::new();
    for row in rows(golden) {
        let point = SizePoint { file_kb: row[0], record_bytes: row[1] * 1024 };
        for (pass, rate) in passes(&settings).into_iter().zip(&row[2..]) {
            let share = shares.get(&(pass, row[0], row[1])).copied().unwrap_or(0.0);
            all.push(measured(pass, point, *rate, share));
        }
    }
    let command: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut text_of = head::settings(&settings, &command) + &head::rest(&settings) + &table::head(&settings);
    let points: Vec<SizePoint> = super::print::report::sweep(&settings).points().collect();
    for point in points {
        text_of.push_str(&table::row(&settings, point, &all, settings.reports.rate));
    }
    text_of.push_str("\niozone test complete.\n");
    if settings.reports.report {
        text_of.push_str(&text(&surfaces(&settings, &all)));
    }
    text_of
}

/// Removes IOzone's text about its clock, which has a resolution of a microsecond.
fn without_clock(golden: &str) -> String {
    let of_clock =
        |line: &&str| !line.starts_with("Timer resolution is poor") && !line.starts_with("reported inaccurate");
    golden.lines().filter(of_clock).map(|line| format!("{line}\n")).collect()
}

#[test]
fn streams_of_their_own_print_the_same_table_and_report() {
    for (line, golden) in [
        ("iozone -Ra -n 64k -g 1m -f /mnt/t/mnt/f", include_str!("../../golden/iozone/auto_Ra_small.out")),
        (
            "iozone -Ra -+u -n 1m -g 2m -y 64k -q 256k -i 0 -i 1 -f f",
            include_str!("../../golden/iozone/cpu_plus_u_auto.out"),
        ),
        ("iozone -E -s 4m -r 64k -f f", include_str!("../../golden/iozone/ext_E.out")),
    ] {
        assert_eq!(stream(line, golden), without_clock(after_date(golden)), "{line}");
    }
}

/// Replaces every digit by the same one: numbers computed from rounded ones differ in their last digits.
fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect()
}

fn number_after(line: &str, word: &str) -> Option<f64> {
    line.split_once(word)?.1.split_whitespace().next()?.trim_end_matches(',').parse().ok()
}

/// Parses a golden of throughput tests with `-C` into measurements.
fn blocks(golden: &str) -> Vec<MeasuredPass> {
    let order = [Pass::Write, Pass::Rewrite, Pass::Read, Pass::Reread];
    let point = SizePoint { file_kb: 4096, record_bytes: 65536 };
    let mut all = Vec::new();
    for (number, block) in golden.split("Children see throughput for").skip(1).enumerate() {
        let parent_rate = block.lines().find_map(|line| number_after(line, "\t= ").filter(|_| line.contains("Parent")));
        let children: Vec<Child> = block
            .lines()
            .filter(|line| line.contains("xfer count"))
            .map(|line| {
                let kb = number_after(line, "xfer count =").unwrap();
                let rate = number_after(line, "Throughput =").unwrap();
                let elapsed_ns = if rate > 0.0 { (kb / rate * 1e9).round() as u64 } else { 1 };
                Child { bytes: (kb * 1024.0) as u64, ops: (kb / 64.0) as u64, elapsed_ns, cpu_ns: 0 }
            })
            .collect();
        let bytes = children.iter().map(|child| child.bytes).sum();
        let parent_ns = (bytes as f64 / 1024.0 / parent_rate.unwrap() * 1e9) as u64;
        let count = children.len() as u32;
        let round = Round { bytes, children, parent_ns, ..Round::default() };
        all.push(MeasuredPass { pass: order[number % 4], point, children: count, rounds: vec![round] });
    }
    all
}

#[test]
fn throughput_tests_print_the_same_blocks_and_report() {
    let golden = include_str!("../../golden/iozone/throughput_t1_t2_t4_R_C.out");
    let line = "iozone -R -C -t 1 -t 2 -t 4 -s 4m -r 64k -i 0 -i 1";
    let settings = settings(&format!("{line} --compat=strict"));
    let command: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut text = head::settings(&settings, &command) + &head::rest(&settings);
    let all = blocks(golden);
    let TestMode::Throughput { counts, point, .. } = &settings.mode else { panic!("{settings:?}") };
    for count in counts {
        text.push_str(&throughput::head(&settings, *point));
        for measured in all.iter().filter(|one| one.children == *count) {
            text.push_str(&throughput::block(&settings, measured));
        }
        text.push_str("\n\n");
    }
    text.push_str(&ThroughputReport::new(&settings, &all).text());
    text.push_str("\niozone test complete.\n");
    assert_eq!(shape(&text), shape(after_date(golden)));
}

/// IOzone ignores a first child with 0 when it computes the minimum.
#[test]
fn the_smallest_is_the_smallest() {
    let golden = include_str!("../../golden/iozone/throughput_t1_t2_t4_R_C.out");
    let rewriters = blocks(golden).into_iter().find(|one| one.pass == Pass::Rewrite && one.children == 2).unwrap();
    let line = "iozone -t 2 -s 4m -r 64k -i 0 -i 1";
    let ours = throughput::block(&settings(line), &rewriters);
    assert!(ours.contains("Min xfer \t\t\t\t\t=       0.00 kB\n"), "{ours}");
    let theirs = throughput::block(&settings(&format!("{line} --compat=strict")), &rewriters);
    assert!(theirs.contains("Min xfer \t\t\t\t\t=    4096.00 kB\n"), "{theirs}");
}

/// Byte-exact, except for one uninitialised byte after each label in IOzone's file.
#[test]
fn the_spreadsheet_has_the_same_bytes() {
    let golden = include_bytes!("../../golden/iozone/auto.xls");
    let line = "iozone -Ra -s 1m -S 1024 -i 0 -i 1 -b namn.xls";
    let settings = settings(line);
    let cells = cells(golden);
    let rates: Vec<f64> = cells.iter().filter(|cell| cell.column > 0).map(|cell| cell.value).collect();
    let mut all = Vec::new();
    // Two rows per table: the header with all record sizes, and the only file with those that fit.
    const HEAD: usize = 13;
    const FIT: usize = 9;
    for (pass, table) in passes(&settings).into_iter().zip(rates.chunks(HEAD + FIT)) {
        for (record_kb, rate) in table[..FIT].iter().zip(&table[HEAD..]) {
            let point = SizePoint { file_kb: 1024, record_bytes: *record_kb as u64 * 1024 };
            all.push(measured(pass, point, *rate as u64, 0.0));
        }
    }
    let ours = biff::surfaces(&format!("{line} "), &surfaces(&settings, &all));
    assert_eq!(ours.len(), golden.len());
    let labels = label_ends(golden);
    for (at, (ours, theirs)) in ours.iter().zip(golden).enumerate() {
        assert!(ours == theirs || labels.contains(&at), "byte {at}: {ours} is not {theirs}");
    }
}

struct Cell {
    column: u16,
    value: f64,
}

/// Returns the records of a BIFF 2 stream with offset, kind and bytes.
fn records(bytes: &[u8]) -> Vec<(usize, u16, &[u8])> {
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (kind, length) = (word(at), usize::from(word(at + 2)));
        records.push((at, kind, &bytes[at + 4..at + 4 + length]));
        at += 4 + length;
    }
    records
}

fn cells(bytes: &[u8]) -> Vec<Cell> {
    let numbers = records(bytes).into_iter().filter(|(_, kind, _)| *kind == 3);
    numbers
        .map(|(_, _, data)| Cell {
            column: u16::from_le_bytes([data[2], data[3]]),
            value: f64::from_le_bytes(data[7..15].try_into().unwrap()),
        })
        .collect()
}

fn label_ends(bytes: &[u8]) -> Vec<usize> {
    records(bytes).into_iter().filter(|(_, kind, _)| *kind == 4).map(|(at, _, data)| at + 3 + data.len()).collect()
}

#[test]
fn large_files_have_no_small_records_unless_requested() {
    let entries = |line: &str| {
        let settings = settings(line);
        let TestMode::Auto(sweep) = settings.mode else { panic!("{line}") };
        let of = |file_kb: u64| {
            let entries = sweep.entries.iter().filter(move |entry| entry.point.file_kb == file_kb);
            entries.map(|entry| (entry.point.record_bytes / 1024, entry.is_run)).collect::<Vec<_>>()
        };
        (of(16 << 10).len(), of(32 << 10))
    };
    let (small, large) = entries("iozone -a");
    assert_eq!((small, large.len()), (13, 13));
    assert_eq!(large[..5], [(4, false), (8, false), (16, false), (32, false), (64, true)]);
    for line in ["iozone -a -z", "iozone -a -y 4k", "iozone -a -q 16m", "iozone -A"] {
        assert!(entries(line).1.iter().all(|(_, is_run)| *is_run), "{line}");
    }
    let TestMode::Auto(sweep) = settings("iozone -r 64k -r 16k -s 1m -s 4m").mode else { panic!() };
    let points: Vec<(u64, u64)> = sweep.points().map(|point| (point.file_kb, point.record_bytes >> 10)).collect();
    assert_eq!(points, [(1024, 16), (1024, 64), (4096, 16), (4096, 64)]);
}

#[test]
fn errors_have_iozones_words_and_codes() {
    assert_eq!(refusal("iozone").code, 255);
    assert!(refusal("iozone").out.contains("Usage: For usage information type iozone -h"));
    assert_eq!(refusal("iozone -? -Y").err, "iozone: invalid option -- '?'\n");
    assert_eq!(refusal("iozone -? -Y").out, "Unsupported option -> (null) <-\n");
    for (line, code) in [
        ("iozone -t 2 -F a b -f c", 10),
        ("iozone -t 2 -f a -F b c", 11),
        ("iozone -F a b -t 2", 12),
        ("iozone -t 2 -F a", 13),
        ("iozone -t 2000", 14),
        ("iozone -t 2 -U /mnt", 16),
        ("iozone -r 32m", 23),
        ("iozone -+~", 255),
        ("iozone -+R names -t 2", 13),
        ("iozone -t 3 -+R names", 13),
        ("iozone -t 2 -+R nowhere", 2),
    ] {
        assert_eq!(refusal(line).code, code, "{line}");
    }
    for refused in
        ["+m list", "+c host", "+s", "+i 1", "+h host", "+t", "+H host", "+P 1", "+M", "+Q 4096", "+S 1", "+W 10"]
    {
        let error = refusal(&format!("iozone -{refused}"));
        assert_eq!(error.code, 2, "{refused}");
        assert!(error.err.len() > "iozone: \n".len(), "{refused} is refused without a reason");
    }
    for (line, code) in [
        ("iozone -N -t 2", 17),
        ("iozone -a -t 2", 17),
        ("iozone -t 2 -f a", 17),
        ("iozone -B -H 4", 18),
        ("iozone -+E -f f", 19),
        ("iozone -+E -f f -i 0", 20),
        ("iozone -H 4 -k 4", 20),
        ("iozone -a -s 64k -r 128k", 23),
        ("iozone -s 32k -r 64k", 23),
    ] {
        assert_eq!(settings(line).messages.trouble.map(|trouble| trouble.code), Some(code), "{line}");
    }
}

/// Tests that IOzone skips silently are reported once.
#[test]
fn skipped_tests_are_reported() {
    for line in
        ["iozone -i 0 -i 11", "iozone -i 0 -i 12", "iozone -i 0 -i 9", "iozone -i 0 -i 8", "iozone -t 2 -i 0 -i 4"]
    {
        let settings = settings(line);
        assert_eq!(settings.messages.notes.len(), 1, "{line}");
        assert!(settings.messages.notes[0].starts_with("not run: "), "{line}");
    }
    assert!(settings("iozone -E -i 0 -i 9").messages.notes.is_empty());
    assert!(settings("iozone -i 0 -i 11 --compat=strict").messages.notes.is_empty());
}

/// A rate of records applies to children of throughput tests; elsewhere IOzone accepts and ignores it.
#[test]
fn records_a_second_are_of_children_only() {
    let spacings = |line: &str| -> Vec<Option<plumb_workload::Nanos>> {
        let lowered = super::lower::lower(&settings(line));
        let groups = lowered.workload.phase.iter().flat_map(|phase| &phase.workers);
        let scripts = groups.filter_map(|group| match &group.work {
            plumb_workload::Work::Program(script) => Some(script),
            _ => None,
        });
        scripts.flat_map(|script| script.transfers().map(|transfer| transfer.spacing)).collect()
    };
    assert_eq!(spacings("iozone -+O 100 -i 0 -s 64k"), [None, None]);
    assert_eq!(spacings("iozone -t 1 -+O 100 -i 0 -s 64k"), [Some(plumb_workload::Nanos(10_000_000)); 2]);
}

/// As strace shows for IOzone's children: a fractional number of them is rounded down.
#[test]
fn so_many_children_of_the_mix_read() {
    for (line, readers) in
        [("-t 2 -+p 1", 0), ("-t 2 -+p 50", 1), ("-t 2 -+p 70", 1), ("-t 3 -+p 70", 2), ("-t 3 -+p 100", 3)]
    {
        let lowered = super::lower::lower(&settings(&format!("iozone -i 0 -i 8 -s 64k {line}")));
        let mix = lowered.workload.phase.last().unwrap();
        let reads = |group: &&plumb_workload::WorkerGroup| match &group.work {
            plumb_workload::Work::Program(script) => !script.writes(),
            _ => false,
        };
        assert_eq!(mix.workers.iter().filter(reads).count(), readers, "{line}");
    }
}

#[test]
fn a_size_is_what_it_means() {
    let point = |line: &str| match settings(line).mode {
        TestMode::Single(point) => point.file_kb,
        mode => panic!("{mode:?}"),
    };
    assert_eq!(point("iozone -s 1.5m"), 1536);
    assert_eq!(settings("iozone -s 1.5m").messages.notes, ["-s 1.5m is read as 1536 kB; IOzone reads it as 1024 kB"]);
    assert_eq!(point("iozone -s 1.5m --compat=strict"), 1024);
    assert_eq!(point("iozone -i 0"), 512);
}

/// Every workload of a command line is valid.
#[test]
fn lowered_workloads_are_valid() {
    for line in [
        "iozone -s 64k",
        "iozone -E -s 64k",
        "iozone -a -g 256k",
        "iozone -B -D -s 64k",
        "iozone -k 4 -s 64k",
        "iozone -e -c -o -I -W -s 64k -J 3 -m -p",
        "iozone -X telemetry -Y telemetry",
        "iozone -t 3 -T -s 64k",
        "iozone -t 3 -F a b c -s 64k -+p 70 -d 5 -x -P 0",
        "iozone -l 1 -u 3 -+k -+L -s 300k",
        "iozone -+d -s 64k -+q 1 -+b 16,5 --repeat=3",
        "iozone -s 1m -s 1m -r 4k",
        "iozone -K -Z -s 2m",
        "iozone -K -Z -B -s 2m",
        "iozone -K -H 4 -s 2m",
        "iozone -t 2 -+R names -+O 100 -K -s 2m -+B -+F",
    ] {
        let lowered = super::lower::lower(&settings(line));
        let problems = plumb_workload_text::validate::validate(&lowered.workload);
        assert!(problems.is_empty(), "{line}: {problems:?}");
        assert_eq!(lowered.phases.len(), lowered.workload.phase.len(), "{line}");
    }
}

// Protects a sweep that does not fit on the disk: the rows before run and are printed, and no row is zero.
#[test]
fn skipped_rows_do_not_change_the_others() {
    let settings = settings("iozone -a -n 64k -g 256k -i 0 -i 1 -R");
    let mut lowered = lower(&settings);
    let rows = lowered.rows();
    let sizes: Vec<_> = rows.iter().map(|row| (row.file_kb, row.children, row.writes_bytes)).collect();
    assert_eq!(sizes, [(64, 0, 64 << 10), (128, 0, 128 << 10), (256, 0, 256 << 10)]);
    assert_eq!(lowered.paths(), [Path::new("iozone.tmp")]);
    let (phases, whole) = (lowered.phases.clone(), lowered.workload.phase.len());
    lowered.leave_out(&rows[1]);
    assert_eq!(lowered.phases.len(), lowered.workload.phase.len());
    assert!(lowered.phases.len() < whole && !lowered.phases.iter().any(|phase| phase.point.file_kb == 128));
    let kept: Vec<_> = phases.into_iter().filter(|phase| phase.point.file_kb != 128).collect();
    assert_eq!(lowered.phases, kept);
    for (phase, meaning) in lowered.workload.phase.iter().zip(&lowered.phases) {
        assert!(phase.name.contains(&format!("-{}k-", meaning.point.file_kb)), "{}", phase.name);
    }
    let measured: Vec<MeasuredPass> = lowered
        .phases
        .iter()
        .map(|phase| MeasuredPass { pass: phase.pass, point: phase.point, children: 0, rounds: vec![] })
        .collect();
    for surface in surfaces(&settings, &measured) {
        assert_eq!(surface.rows.iter().map(|(file_kb, _)| *file_kb).collect::<Vec<_>>(), [64, 256]);
    }
}

#[test]
fn children_need_room_together_and_reading_needs_none() {
    let rows = |line: &str| lower(&settings(line)).rows();
    let row = |children, writes_bytes| Row { file_kb: 64, children, writes_bytes };
    assert_eq!(rows("iozone -t 1 -t 4 -s 64k -i 0"), [row(1, 64 << 10), row(4, 256 << 10)]);
    assert_eq!(rows("iozone -E -s 64k -i 1 -f mine"), []);
}

// Protects the report of an interrupted sweep: rows up to the current size, with 0 for missing values.
#[test]
fn an_interrupted_report_ends_at_the_size_at_hand() {
    let settings = settings("iozone -a -n 64k -g 256k -i 0 -i 1 -R");
    let point = |file_kb, record_bytes| SizePoint { file_kb, record_bytes };
    let round = Round { bytes: 1 << 20, ops: 1, elapsed_ns: 1_000_000_000, ..Round::default() };
    let pass = |pass, point| MeasuredPass { pass, point, children: 0, rounds: vec![round.clone()] };
    let done: Vec<MeasuredPass> =
        [4, 8, 16, 32, 64].into_iter().map(|kb| pass(Pass::Write, point(64, kb << 10))).collect();
    let measured = [done, vec![pass(Pass::Write, point(128, 4096))]].concat();
    let rows = |at| surfaces_until(&settings, &measured, at).remove(0).rows;
    let whole = (64, vec![1024.0; 5]);
    assert_eq!(rows(Some(point(128, 8192))), [whole.clone(), (128, vec![1024.0, 0.0])]);
    assert_eq!(rows(Some(point(64, 65536))), std::slice::from_ref(&whole));
    // A size has started before anything of it is measured.
    let rows = surfaces_until(&settings, &measured[..5], Some(point(128, 4096))).remove(0).rows;
    assert_eq!(rows, [whole, (128, vec![0.0])]);
    assert_eq!(surfaces_until(&settings, &measured, None).remove(0).rows, []);
}

// Protects the report of an interrupted throughput test: the current test has a line without a rate.
#[test]
fn a_throughput_test_without_a_rate_is_a_zero() {
    let settings = settings("iozone -t 2 -s 64k -R");
    let point = SizePoint { file_kb: 64, record_bytes: 4096 };
    let measured = [MeasuredPass { pass: Pass::Write, point, children: 2, rounds: Vec::new() }];
    let text = ThroughputReport::new(&settings, &measured).text();
    assert!(text.ends_with("\"  Initial write \"       0.00 \n\n"), "{text}");
}

// Protects text that scripts look for: IOzone's lines about its options, including oddities.
#[test]
fn options_print_iozones_lines() {
    let echo = |line: &str| settings(line).messages.echo.concat();
    assert_eq!(echo("iozone -+a 50 -s 64k"), "\tZero Percent 50\n \tFile size set to 64 kB\n");
    let refusal = |line: &str| {
        let words: Vec<String> = line.split_whitespace().skip(1).map(str::to_owned).collect();
        let Err(error) = read(&words, &mut FakeMachine) else { panic!("{line} is valid") };
        (error.out, error.code)
    };
    let unread = |which| (format!("Unable to open {which} telemetry file \"nofile\"\n"), 174);
    assert_eq!(refusal("iozone -Y nofile"), unread("read"));
    assert_eq!(refusal("iozone -X nofile"), unread("write"));
    let unlisted = |next| (format!("Failed to stat the iozone input file: {next}\n"), 2);
    assert_eq!(refusal("iozone -+R nofile -t 2"), unlisted("-t"));
    assert_eq!(refusal("iozone -t 2 -+R nofile"), unlisted("(null)"));
}

// Protects the lines around `-M`. IOzone prints 80 bytes and then, without a terminator, the next line. A shorter
// machine line repeats nothing, and each further `-M` repeats the text after it.
#[test]
fn what_follows_a_long_line_of_the_machine_is_printed_twice() {
    let lines = |uname_bytes: usize, options: &str| -> String {
        let words: Vec<String> = options.split_whitespace().map(str::to_owned).collect();
        let Ok(Action::Run(settings)) = read(&words, &mut NamedMachine("x".repeat(uname_bytes))) else { panic!() };
        let head = head::settings(&settings, &[]);
        let letter = |line: &str| match line.split_whitespace().next() {
            Some("Machine") => "M",
            Some("File") => "s",
            Some("Record") => "r",
            _ => "",
        };
        head.lines().map(letter).collect()
    };
    // As the real tool prints them if `uname -a` has 67 and 66 bytes.
    assert_eq!(lines(67, "-M -s 64k -r 4k -i 0"), "Mssr");
    assert_eq!(lines(66, "-M -s 64k -r 4k -i 0"), "Msr");
    assert_eq!(lines(67, "-M -s 64k -M -r 4k -i 0"), "MssMrr");
    assert_eq!(lines(67, "-s 64k -M -M -M -r 4k -i 0"), "sMMMrMMrMrr");
    assert_eq!(lines(67, "-s 64k -M -i 0"), "sM");
    // The line ends where the next one begins.
    let words = ["-M", "-s", "64k"].map(str::to_owned);
    let Ok(Action::Run(settings)) = read(&words, &mut NamedMachine("x".repeat(90))) else { panic!() };
    let twice = "\tFile size set to 64 kB\n".repeat(2);
    assert!(head::settings(&settings, &[]).starts_with(&format!("\n\tMachine = {}{twice}", "x".repeat(68))));
}

// Protects reports of tests that `-i` names but that do not run: IOzone prints them with 0.
#[test]
fn tests_that_a_mode_leaves_out_are_reported_as_0() {
    let reported = |line: &str| -> Vec<(Pass, Vec<f64>)> {
        let settings = settings(line);
        let point = SizePoint { file_kb: 64, record_bytes: 4096 };
        let all = super::lower::measured(&settings).into_iter().map(|pass| measured(pass, point, 7, 0.0));
        let surfaces = surfaces(&settings, &all.collect::<Vec<_>>());
        surfaces.into_iter().map(|surface| (surface.pass, surface.rows[0].1.clone())).collect()
    };
    let ran = |pass: Pass| (pass, vec![7.0]);
    let left_out = |pass: Pass| (pass, vec![0.0]);
    let auto = [Pass::Write, Pass::Rewrite, Pass::Read, Pass::Reread].map(ran).to_vec();
    let fwrites = [Pass::Fwrite, Pass::Refwrite].map(left_out).to_vec();
    assert_eq!(reported("iozone -A -s 64k -r 4k -i 6 -R"), [auto.clone(), fwrites.clone()].concat());
    assert_eq!(reported("iozone -A -E -s 64k -r 4k -R"), auto);
    let mapped = [vec![ran(Pass::Write), ran(Pass::Rewrite)], fwrites].concat();
    assert_eq!(reported("iozone -B -s 64k -r 4k -i 0 -i 6 -R"), mapped);
    assert_eq!(reported("iozone -s 64k -r 4k -i 0 -i 9 -R"), [Pass::Write, Pass::Rewrite].map(ran), "not without -E");
}

// Protects the columns of `-A`: there are no others, even with `-i`.
#[test]
fn auto_mode_2_has_four_columns() {
    let settings = settings("iozone -A -s 64k -i 6");
    let head = format!("{}\n              kB  reclen    write  rewrite    read    reread\n", " ".repeat(60));
    assert_eq!(table::head(&settings), head);
    let point = SizePoint { file_kb: 64, record_bytes: 4096 };
    let row = table::row(&settings, point, &[], settings.reports.rate);
    assert_eq!(row, "              64       4        0        0        0        0\n");
}
