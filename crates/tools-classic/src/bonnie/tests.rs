//! Tests against output of the real tool and its CSV readers.

use super::lower::lower;
use super::print::{Results, Took};
use super::random::NumberSource;
use super::*;
use plumb_workload::files::Names;
use plumb_workload::program::{FileOrder, Moves, RecordOrder, Step};
use plumb_workload::{Target, Work, Workload};

fn machine() -> Machine {
    Machine { ram_mib: 24104, node: "golden".to_owned(), pid: 100, time_s: 5 }
}

fn parse(words: &str) -> Result<BonnieSettings, Refusal> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    BonnieSettings::read("bonnie++", &words, &machine())
}

fn settings(words: &str) -> BonnieSettings {
    parse(words).unwrap()
}

// Protects callers that ask which tests a command line runs: they are the phases of its workload.
#[test]
fn the_tests_of_settings_are_the_phases() {
    for words in [
        "-r 0 -s 4 -n 1",
        "-r 0 -s 4 -f -n 0",
        "-r 0 -s 0 -n 1",
        "--as-version=1.03 -r 0 -s 2 -n 0",
        "-r 0 -s 4 -f0 -n 1",
    ] {
        let settings = settings(words);
        let workload = lower(&settings, 1, &mut NumberSource::seeded(1));
        let phases: Vec<Option<Test>> = workload.phase.iter().map(|phase| Test::of_phase(&phase.name)).collect();
        let tests: Vec<Option<Test>> = settings.tests().into_iter().map(Some).collect();
        assert_eq!(phases, tests, "{words}");
        assert!(settings.has('n') && settings.has('s') && !settings.has('x'));
    }
}

/// Numbers of the C library after `srand(1)` and `srand(42)`.
#[test]
fn numbers_are_those_of_the_c_library() {
    let mut numbers = NumberSource::seeded(1);
    assert_eq!([numbers.draw(), numbers.draw(), numbers.draw()], [1_804_289_383, 846_930_886, 1_681_692_777]);
    let mut numbers = NumberSource::seeded(7);
    // The first words that `generate_randfile -s 7` writes.
    assert_eq!([numbers.draw(), numbers.draw(), numbers.draw()], [0x3e52_dff5, 0x6f19_e243, 0x4bda_073b]);
    assert_eq!(NumberSource::seeded(0), NumberSource::seeded(1));
    let mut file = NumberSource::of_file(&[0x3e, 0x52, 0xdf, 0xf5, 0xff, 0xff, 0xff, 0xfe, 9]).unwrap();
    assert_eq!([file.draw(), file.draw(), file.draw()], [0x3e52_dff5, 2, 0x3e52_dff5]);
    assert_eq!(NumberSource::of_file(b"abc"), None);
}

#[test]
fn sizes_are_read_as_the_tool_reads_them() {
    let found = settings("-u root -r 0 -s 2g:64k:2k:3 -n 4:16k:1024:20:4096 -f1 -b -D -q -z 42 -m x -x 3");
    assert_eq!(
        (found.large.size_mib, found.large.chunk_bytes, found.large.seeks, found.large.seekers),
        (2048, 65536, 2048, 3)
    );
    assert_eq!((found.small.files_ki, found.small.max_bytes, found.small.min_bytes), (4, 16384, 1024));
    assert_eq!((found.small.directories, found.small.chunk_bytes, found.large.per_char_mib), (20, 4096, 1));
    assert!(found.flushes && found.direct && found.quiet);
    assert_eq!((found.seed.text().as_str(), found.machine.name.as_str(), found.runs), ("42", "x", Some(3)));
    assert_eq!(settings("-r 0 -f -s 1t").large.per_char_mib, 0);
    assert_eq!(settings("-r 0 -s 1").large.per_char_mib, 1, "no more than the file");
    assert_eq!(settings("-r 0 -n 1:-1").links(), Some(Links::Hard));
    // Without -s: twice the memory, rounded up from half a GiB on.
    assert_eq!(settings("-r 700").large.size_mib, 1400);
    assert_eq!(settings("-r 800").large.size_mib, 2048);
    assert_eq!(parse("-r 0 -z 4294967295").unwrap().seed.text(), "4294967295");
}

#[test]
fn errors_have_the_tools_words() {
    let usage = "usage:\nbonnie++ [-d scratch-dir] [-c concurrency] [-s size(MiB)[:chunk-size(b)]]\n      \
                 [-n number-to-stat[:max-size[:min-size][:num-directories[:chunk-size]]]]\n      \
                 [-m machine-name] [-r ram-size-in-MiB]\n      \
                 [-x number-of-tests] [-u uid-to-use:gid-to-use] [-g gid-to-use]\n      \
                 [-q] [-f] [-b] [-p processes | -y] [-z seed | -Z random-file]\n      [-D]\n\nVersion: 2.00a\n";
    let refusal = |words: &str| parse(words).and_then(|found| found.check()).unwrap_err().0;
    assert_eq!(refusal("-d . -u root -r 0 -s 64 -n 0 -f 2"), usage);
    assert_eq!(refusal("-r 0 -s 64 -y"), format!("bonnie++: option requires an argument -- 'y'\n{usage}"));
    assert_eq!(refusal("-h"), format!("bonnie++: invalid option -- 'h'\n{usage}"));
    let ram = "File size should be double RAM for good results, RAM is 24104M.\n";
    assert_eq!(refusal("-s 256 -n 0"), format!("{ram}{usage}"));
    for line in
        ["-r 0 -s 0 -n 0", "-r 0 -s 8:100", "-r 0 -s 8:300", "-c 0", "-c 201", "-r 0 -p 3 -y s", "-r 0 -n 1:5:9"]
    {
        assert_eq!(refusal(line), usage, "{line}");
    }
    assert!(
        refusal("--as-version=1.03 -h")
            .starts_with("bonnie++: invalid option -- 'h'\nusage: bonnie++ [-d scratch-dir]")
    );
    assert_eq!(refusal("--as-version=1.03 -s 256 -n 0"), ram);
    assert!(refusal("--as-version 3").contains("use 2.00, 1.97 or 1.03"));
    assert!(refusal("--compat=loose").contains("strict"));
    assert!(refusal("-r 1 -s 2 -n 16").starts_with("When testing 16K of files in 1 MiB of RAM"));
}

/// Version 1.03 has other letters: `-y` takes no value, and `-f` takes no attached one.
#[test]
fn versions_have_their_own_letters() {
    let old = settings("--as-version=1.03 -r 0 -s 16:16k -y -n 8:4096:0:8");
    assert_eq!(
        (old.meeting, old.large.chunk_bytes, old.large.seekers, old.small.directories),
        (Meeting::Wait, 16384, 3, 8)
    );
    assert_eq!(old.large.per_char_mib, 16, "the whole file");
    assert!(parse("--as-version=1.03 -c 2").is_err());
    assert_eq!(settings("-r 0 -y s").meeting, Meeting::Wait);
    assert_eq!(settings("-r 0 -y prompt").meeting, Meeting::Prompt);
    assert_eq!(settings("-p 3").meeting, Meeting::Make(3));
    assert_eq!(settings("-p -1").meeting, Meeting::Remove);
}

fn lowered(words: &str) -> Workload {
    let settings = settings(words);
    let mut numbers = match settings.seed {
        Seed::Number(seed) => NumberSource::seeded(seed),
        Seed::File(_) => panic!("no file"),
    };
    let workload = lower(&settings, 100, &mut numbers);
    let problems = plumb_workload_text::validate::validate(&workload);
    assert!(problems.is_empty(), "{words}: {problems:?}");
    workload
}

fn names(workload: &Workload) -> Vec<String> {
    match &workload.target["bonnie"] {
        Target::Scratch(scratch) => match &scratch.names {
            Names::Made(names) => names.iter().map(|name| name.display().to_string()).collect(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn steps(workload: &Workload, phase: &str) -> Vec<Step> {
    let phase = workload.phase.iter().find(|found| found.name == phase).unwrap();
    phase
        .workers
        .iter()
        .flat_map(|group| match &group.work {
            Work::Program(script) => script.steps.clone(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn every_test_is_a_phase_in_its_place() {
    let all: Vec<String> = lowered("-r 0 -s 2 -n 1 -z 42").phase.into_iter().map(|phase| phase.name).collect();
    assert_eq!(all, Test::ALL.iter().map(|test| test.phase().to_owned()).collect::<Vec<_>>());
    let fast: Vec<String> = lowered("-r 0 -s 2 -n 0 -f -z 42").phase.into_iter().map(|phase| phase.name).collect();
    assert_eq!(fast, ["put-block", "rewrite", "get-block", "seeks"]);
    for words in [
        "--as-version=1.03 -r 0 -s 2 -n 1:10:5:3 -b",
        "--as-version=1.97 -r 0 -s 2:4k -n 1:-1 -D",
        "-r 0 -s 2 -n 1:-2:0:7 -b -D --compat=strict",
        "-r 0 -s 0 -n 1:3000:0:1:256",
        "-r 0 -s 1:1024k:3:5 -n 0 -b",
    ] {
        lowered(words);
    }
}

/// 8192 tickets, a tenth of them updates, distributed among five seekers.
#[test]
fn seeks_are_the_tools_own() {
    let workload = lowered("-r 0 -s 64 -n 0 -f -z 42");
    let mut numbers = NumberSource::seeded(42);
    let expected: Vec<(u64, bool)> =
        (0..8192).map(|_| numbers.draw()).map(|ticket| (u64::from(ticket) % 8192 * 8192, ticket % 10 == 0)).collect();
    let mut found: Vec<Vec<(u64, bool)>> = Vec::new();
    for step in steps(&workload, "seeks") {
        if let Step::Transfer(transfer) = step
            && let RecordOrder::Listed(records) = transfer.order
        {
            found.push(records.iter().map(|record| (record.offset.0, record.does == Some(Moves::Rewrite))).collect());
        }
    }
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1639, 1639, 1638, 1638, 1638]);
    let merged: Vec<(u64, bool)> = (0..8192).map(|number| found[number % 5][number / 5]).collect();
    assert_eq!(merged, expected);
    // strace of the real tool with -z 42 shows 9017 seeks to a position: one per ticket, one more per update, one at
    // the start of two other tests, and one by the C library while looking up the user.
    let updates = expected.iter().filter(|(_, updates)| *updates).count();
    assert_eq!(8192 + updates + 2 + 1, 9017);
}

#[test]
fn names_are_made_of_the_seed() {
    // Without the large file, nothing is drawn before the first name.
    let names = names(&lowered("-r 0 -s 0 -n 1 -z 42"));
    assert_eq!(names.len(), 1 + 2 * 1024);
    assert_eq!(names[0], "Bonnie.100");
    assert!(
        names[1].starts_with("Bonnie.100/0000000000") && names[1024].starts_with("Bonnie.100/00000003ff"),
        "{}",
        names[1]
    );
    assert!(names[1025].ends_with("0000000000") && names[2048].ends_with("00000003ff"));
    let many = self::names(&lowered("-r 0 -s 0 -n 1:0:0:3 -z 42"));
    assert_eq!(many[1..4], ["Bonnie.100/00000", "Bonnie.100/00001", "Bonnie.100/00002"]);
    // 1024 / 3, and one more in the first directories.
    assert!(many[4 + 341].starts_with("Bonnie.100/00000/") && many[4 + 342].starts_with("Bonnie.100/00001/"));
    let old = self::names(&lowered("--as-version=1.03 -r 0 -s 1 -n 1"));
    assert_eq!(old[..2], ["Bonnie.100.000", "Bonnie.100"]);
    assert!(old[2].starts_with("Bonnie.100/0000000"), "{}", old[2]);
}

#[test]
fn shuffled_orders_hold_every_file_once() {
    let workload = lowered("-r 0 -s 0 -n 1 -z 42");
    for phase in ["ran-stat", "ran-delete"] {
        let Step::Each(each) = &steps(&workload, phase)[0] else { panic!("{phase}") };
        let FileOrder::Listed(order) = &each.order else { panic!("{phase}") };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (1025..2049).collect::<Vec<u32>>());
        assert_ne!(&sorted, order);
    }
}

fn took(elapsed_s: f64, cpu_percent: f64, latency_us: f64) -> Took {
    Took { elapsed_s, cpu_s: elapsed_s * (cpu_percent + 0.5) / 100.0, latency_s: (latency_us + 0.5) / 1e6 }
}

/// Results of the golden run at 8 % of a processor, rebuilt from its line of values.
fn limited(settings: &BonnieSettings) -> Results {
    let mut results = Results::default();
    let files = f64::from(settings.files());
    let (mib, bytes) = (settings.large.size_mib as f64 * 1024.0, settings.large.per_char_mib as f64 * 1024.0);
    let of = |amount: f64, rate: f64| amount / (rate + 0.5);
    let short = 0.4;
    let all = [
        (of(bytes, 291.0), 8.0, 141_000.0),
        (of(mib, 189_069.0), 7.0, 91_929.0),
        (of(mib, 223_353.0), 7.0, 97_899.0),
        (of(bytes, 437.0), 8.0, 93_502.0),
        (of(mib, 439_362.0), 7.0, 88_236.0),
        (8192.0 / 13966.0, 25.0, 156_000.0),
        (of(files, 7391.0), 6.0, 94_183.0),
        (short, 6.0, 78_209.0),
        (of(files, 7504.0), 7.0, 96_806.0),
        (of(files, 6742.0), 6.0, 94_413.0),
        (short, 6.0, 90_936.0),
        (of(files, 6150.0), 8.0, 92_668.0),
    ];
    for (test, (elapsed_s, cpu, latency_us)) in Test::ALL.iter().copied().zip(all) {
        results.set(test, took(elapsed_s, cpu, latency_us));
    }
    results
}

const LIMITED: &str = "-r 0 -s 256 -f1 -n 8:4096:0:8 -m golden -z 42";

const LIMITED_TABLE: &str = "\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
golden         256M  291k   8  185m   7  218m   7  437k   8  429m   7 13966  25
Latency               141ms   91929us   97899us   93502us   88236us     156ms
Version 2.00a       ------Sequential Create------ --------Random Create--------
golden              -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max            /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
         8:4096:0/8  8192   6 +++++ +++  8192   7  8192   6 +++++ +++  8192   8
Latency             94183us   78209us   96806us   94413us   90936us   92668us
";

const LIMITED_VALUES: &str = "1.98,2.00a,golden,1,42,256M,,8192,5,291,8,189069,7,223353,7,437,8,439362,7,13966,25,8,4096,,,8,\
7391,6,+++++,+++,7504,7,6742,6,+++++,+++,6150,8,141ms,91929us,97899us,93502us,88236us,156ms,94183us,78209us,96806us,\
94413us,90936us,92668us\n";

/// /golden/bonnie/full_cpulimited_8pct: byte-exact, and corrected.
#[test]
fn prints_what_the_tool_prints() {
    let exact = settings(&format!("--compat=strict {LIMITED}"));
    assert_eq!(print::table(&exact, &limited(&exact)), LIMITED_TABLE);
    assert_eq!(print::values(&exact, &limited(&exact)), LIMITED_VALUES);
    let truth = settings(LIMITED);
    let table = LIMITED_TABLE.replace(
        "  8192   6 +++++ +++  8192   7  8192   6 +++++ +++  8192   8",
        "  7391   6 +++++ +++  7504   7  6742   6 +++++ +++  6150   8",
    );
    assert_eq!(print::table(&truth, &limited(&truth)), table);
    assert_eq!(print::values(&truth, &limited(&truth)), LIMITED_VALUES.replace("4096,,,8,7391", "4096,,8,,7391"));
    assert_eq!(truth.corrections().len(), 2);
    assert!(exact.corrections().is_empty());
}

#[test]
fn lines_of_values_have_the_columns_of_their_version() {
    for (version, columns) in [("1.03", 27), ("1.97", 48), ("2.00", 50)] {
        for words in ["-r 0 -s 256 -n 8", "-r 0 -s 0 -n 8:100:10:3", "-r 0 -s 256:4k -n 0", "-r 0 -s 2048 -n 1:-2"] {
            let found = settings(&format!("--as-version={version} {words}"));
            let line = print::values(&found, &limited(&found));
            assert_eq!(line.trim_end().split(',').count(), columns, "{version} {words}: {line}");
            assert_eq!(print::header(&found).trim_end().split(',').count(), columns);
        }
    }
    // Protects readers of 2.00a's lines: it omits the chunk size, while 1.97 has it.
    for (version, chunk) in [("1.97", "4k"), ("2.00", "")] {
        let found = settings(&format!("--as-version={version} -r 0 -s 256:4k -n 0"));
        let line = print::values(&found, &limited(&found));
        assert_eq!(line.split(',').nth(6), Some(chunk), "{line}");
        assert!(found.corrections().is_empty());
    }
    let exact = settings("--compat=strict -r 0");
    assert_eq!(print::header(&exact).trim_end().split(',').count(), 48, "as 2.00a prints it");
}

/// golden/bonnie/v103e_full_cpulimited.
#[test]
fn the_old_version_prints_its_own_table() {
    let old = settings("--as-version=1.03 -r 0 -s 96 -n 8:4096:0 -m golden");
    let mut results = Results::default();
    let (kib, files) = (96.0 * 1024.0, 8192.0);
    for (test, elapsed_s, cpu) in [
        (Test::BytesOut, kib / 27269.5, 8.0),
        (Test::BlocksOut, 0.1, 8.0),
        (Test::Rewrite, 0.1, 8.0),
        (Test::BytesIn, kib / 27326.5, 7.0),
        (Test::BlocksIn, 0.1, 8.0),
        (Test::Seeks, 0.1, 8.0),
        (Test::CreateInOrder, files / 8198.5, 7.0),
        (Test::StatInOrder, 0.1, 8.0),
        (Test::DeleteInOrder, files / 9156.5, 7.0),
        (Test::CreateAtRandom, files / 9065.5, 7.0),
        (Test::StatAtRandom, 0.1, 8.0),
        (Test::DeleteAtRandom, files / 9104.5, 8.0),
    ] {
        results.set(test, took(elapsed_s, cpu, 5.0));
    }
    let table = "\
Version 1.03e       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
golden          96M 27269   8 +++++ +++ +++++ +++ 27326   7 +++++ +++ +++++ +++
                    ------Sequential Create------ --------Random Create--------
                    -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max            /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
           8:4096:0  8198   7 +++++ +++  9156   7  9065   7 +++++ +++  9104   8
";
    assert_eq!(print::table(&old, &results), table);
    let line = "golden,96M,27269,8,+++++,+++,+++++,+++,27326,7,+++++,+++,+++++,+++,8:4096:0,8198,7,+++++,+++,9156,7,9065,7,\
                +++++,+++,9104,8\n";
    assert_eq!(print::values(&old, &results), line);
}

#[test]
fn names_give_way_to_sizes() {
    let head = |words: &str| {
        let found = settings(words);
        let table = print::table(&found, &Results::default());
        table.lines().nth(3).unwrap_or_default().get(..19).unwrap_or_default().to_owned()
    };
    assert_eq!(head("-r 0 -s 64:64k:2000:3 -n 0 -m golden"), "gol 64M:64k::2000:3");
    assert_eq!(head("--compat=strict -r 0 -s 64:64k:2000:3 -n 0 -m golden"), "golde 64M:64k::2000");
    assert_eq!(head("--compat=strict -c 4 -r 0 -s 64:4096 -n 0 -m golden"), "golden     64M:4k:4");
    assert_eq!(head("-r 0 -s 2048 -n 0 -m golden"), "golden           2G".to_owned());
}

/// The tool's two readers, compared with the real ones on the golden lines.
#[test]
fn readers_print_what_the_real_ones_print() {
    let lines = LIMITED_VALUES;
    let printed = table::text(lines);
    assert!(printed.out.contains("golden 256M::8192:5  291k   8  185m   7  218m   7  437k   8  429m   7 13966  25\n"));
    assert!(printed.out.contains("golden     8:4096:8  7391   6 +++++ +++  7504   7"));
    let old = "1.97,1.97,golden,1,42,256M,,1,2,3,4,5,6,7,8,9,10,11,12\n";
    assert_eq!(table::text(old).err, format!("Expected 1.98, got 1.97 from {old}"));
    assert_eq!(html::page(old).err, format!("Can't process: {old}"));
    let page = html::page(&format!("{}{lines}", print::header(&settings("-r 0"))));
    assert!(page.err.is_empty(), "{}", page.err);
    assert!(page.out.contains("<td rowspan=\"2\" bgcolor=\"#FFFFFF\" class=\"rowheader\"><font size=+1>golden</td>"));
    assert!(page.out.contains("<td>185</td><td>7</td>"), "{}", page.out);
}
