//! `plumb import` of other tools' results: stored, shown, exported and compared.

use crate::common::Home;

const FIO: &str = r#"{"fio version":"fio-3.36","timestamp_ms":1700000000000,"global options":{"bs":"4k","directory":"/mnt/a"},
    "jobs":[{"jobname":"=1+1","error":0,"read":{"io_bytes":4096000,"io_kbytes":4000,"bw_bytes":2048000,"bw":2000,"iops":500.0,
    "runtime":2000,"total_ios":1000,"lat_ns":{"min":100,"max":900,"mean":300.0,"N":1000,"percentile":{"99.000000":800}}}}]}"#;

// Protects: an imported run is listed, shown with its origin and verdict, queried, exported, and imported elsewhere
// only once.
#[test]
fn a_file_of_fio_becomes_a_run() {
    let home = Home::new();
    home.file("a.json", FIO);
    home.plumb("import a.json").expect(0).expect_stdout(&["fio: added"]);
    home.file("copy.json", FIO);
    home.plumb("import copy.json").expect(0).expect_stdout(&["already stored, unchanged"]);
    home.plumb("list").expect(0).expect_stdout(&["2023-11-14 22:13", "fio", "/mnt/a", "unknown"]);
    let page = home.plumb("show last").expect(0).out;
    for part in
        ["fio 3.36, imported from a.json (json), run 2023-11-14 22:13:20 UTC", "read.bw", "2.05 MB/s", "Not judged: "]
    {
        assert!(page.contains(part), "{part} is not in:\n{page}");
    }
    assert!(!page.contains("seed"));
    home.plumb("show last -v").expect(0).expect_stdout(&["bs = 4k"]);
    let numbers = home.plumb_args(["query", "SELECT metric, value, unit, tier FROM result", "--json"]).expect(0).out;
    assert!(numbers.contains("2048000") && numbers.contains("unknown"), "{numbers}");
    // A job name must not become a spreadsheet formula.
    home.plumb("export --csv").expect(0).expect_stdout(&[",'=1+1,read.bw,"]);
    let exported = home.plumb("export").expect(0).out;
    home.file("all.json", &exported);
    home.plumb("--db other.db import all.json").expect(0).expect_stdout(&["added"]);
    assert_eq!(home.plumb("--db other.db export").expect(0).out, exported);
}

// Protects: one run per side allows no claim, however large the difference, and file times do not pair runs.
#[test]
fn imported_runs_are_compared_without_a_claim() {
    let home = Home::new();
    for (name, seconds, tag) in [("a.txt", 4, "old"), ("b.txt", 1, "new")] {
        let text = format!(
            "$ dd if=/dev/zero of=f bs=1M count=100\n104857600 bytes (105 MB, 100 MiB) copied, {seconds} s, 1 MB/s\n"
        );
        home.file(name, &text);
        let run = home.plumb(&format!("import {name} --json")).expect(0).json();
        let id = run[0]["run"].as_str().unwrap().to_owned();
        home.plumb(&format!("tag {id} {tag}")).expect(0);
    }
    let comparison = home.plumb("compare --from-store tag:old tag:new --json").expect(0).json();
    let contrasts = comparison["contrasts"].as_array().unwrap();
    assert_eq!(contrasts.len(), 1, "{comparison}");
    assert_eq!(contrasts[0]["metric"], "write.bw");
    assert_eq!(contrasts[0]["verdict"], "cannot-tell", "{comparison}");
    let notes = comparison["notes"].to_string();
    assert!(notes.contains("2 of the runs are imported") && notes.contains("no pairs"), "{notes}");
    home.plumb("compare --from-store tag:old tag:new").expect(0).expect_stdout(&["imported", "was not recorded"]);
}

// Protects: numbers without a metric are shown, and a comparison says why it omits them.
#[test]
fn numbers_without_a_metric_are_shown_and_not_compared() {
    let home = Home::new();
    for (name, mean) in [("a.json", 0.25), ("b.json", 0.5)] {
        let text = format!(
            r#"{{"results":[{{"command":"sync","mean":{mean},"stddev":0.01,"median":{mean},"times":[{mean}]}}]}}"#
        );
        home.file(name, &text);
        home.plumb(&format!("import {name}")).expect(0).expect_stdout(&["hyperfine: added"]);
        let run = home.plumb("list --json").expect(0).json()[0]["id"].as_str().unwrap().to_owned();
        home.plumb(&format!("tag {run} {}", &name[..1])).expect(0);
    }
    home.plumb("show last").expect(0).expect_stdout(&[
        "hyperfine, imported from b.json (JSON), file of",
        "time mean",
        "500 ms",
        "lower",
    ]);
    let output = home.plumb("compare --from-store tag:a tag:b --json");
    assert!(output.json()["notes"].to_string().contains("no metric was measured on both sides"), "{}", output.out);
}

// Protects: an unreadable file is refused with its name, the missing part and a suggestion, and nothing of it is
// stored.
#[test]
fn what_cannot_be_read_is_refused() {
    let home = Home::new();
    home.file("good.json", FIO);
    home.file("cut.json", &FIO[..FIO.len() - 20]);
    home.file("words.txt", "nothing was measured\n");
    home.plumb("import good.json cut.json").expect(2).expect_stderr(&["cut.json", "fio", "copy it again", "--from"]);
    home.plumb("import words.txt").expect(2).expect_stderr(&["words.txt", "--from TOOL", "bonnie++"]);
    home.plumb("import words.txt --from iozone").expect(2).expect_stderr(&["words.txt", "iozone", "-R"]);
    home.plumb("import words.txt --from nothing").expect(2).expect_stderr(&["--from nothing", "fio"]);
    home.plumb("list").expect(0).expect_stdout(&["no runs are stored"]);
}

/// Returns the value of a metric of the only run in a database.
#[track_caller]
fn stored(home: &Home, database: &str, phase: &str, metric: &str) -> f64 {
    let sql = format!("SELECT value FROM result WHERE phase = '{phase}' AND metric = '{metric}'");
    let table = home.plumb_args(["--db", database, "query", &sql, "--json"]).expect(0).json();
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{sql} in {database}: {rows:?}");
    rows[0][0].as_f64().unwrap_or_else(|| panic!("{sql} in {database}: {rows:?}"))
}

// Protects: output of our own dialects is parsed back to the measured values, within the tool's rounding.
#[test]
fn what_the_dialects_print_is_read_as_it_was_measured() {
    const FIO: &str = "as fio --name=j --rw=write --bs=4k --size=16m --output=out --output-format=";
    // The command, the file, a metric here and its phase in the file and in the run, and the tolerance: each tool
    // rounds differently, and Bonnie++ stops its clock a little later.
    let cases: &[(&str, &str, &str, &str, &str, f64)] = &[
        (&format!("{FIO}json"), "out", "write.lat.mean", "j", "1-j", 1e-6),
        (&format!("{FIO}json+"), "out", "write.lat.p50", "j", "1-j", 0.01),
        (&format!("{FIO}terse"), "out", "write.lat.mean", "j", "1-j", 0.01),
        (&format!("{FIO}normal"), "out", "write.lat.mean", "j", "1-j", 0.02),
        ("as iozone -s 4m -r 64k -i 0 -f f", "stdout", "write.bw", "write 4MiB by 64KiB", "write-4096k-64k", 1e-3),
        (
            "as iozone -a -n 64 -g 64 -i 0 -R -b out -f f",
            "out",
            "write.bw",
            "rewrite 64KiB by 4KiB",
            "rewrite-64k-4k",
            1e-3,
        ),
        ("as iozone -a -n 64 -g 64 -i 0 -R -f f", "stdout", "write.bw", "write 64KiB by 32KiB", "write-64k-32k", 1e-3),
        ("as bonnie++ -d . -u root -r 0 -s 192m -n 0 -f -D -q", "stdout", "write.bw", "put-block", "put-block", 0.02),
        ("as elbencho -w -s 16m -b 64k --csvfile out f", "out", "write.bw", "WRITE", "WRITE", 0.01),
        ("as elbencho -w -s 16m -b 64k --jsonfile out f", "out", "write.bw", "WRITE", "WRITE", 0.01),
    ];
    for (line, file, metric, phase, own_phase, tolerance) in cases {
        let home = Home::new();
        let printed = home.plumb(&format!("--db own.db {line}")).expect_measured();
        home.file("stdout", &printed.out);
        home.plumb(&format!("--db imported.db import {file}")).expect(0).expect_stdout(&["added"]);
        let own = stored(&home, "own.db", own_phase, metric);
        let imported = stored(&home, "imported.db", phase, metric);
        assert!((imported / own - 1.0).abs() <= *tolerance, "{line}: measured {own}, read {imported}");
    }
}

/// Commands of each dialect and output format, the stream or file with the output, and the minimum number of metrics to
/// parse back.
const FORMS: [(&str, &str, usize); 25] = [
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=normal", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=json", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=json+", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=terse --terse-version=2", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=terse --terse-version=3", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=terse --terse-version=4", "out", 4),
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --output-format=terse --terse-version=5", "out", 4),
    // Its numbers combine both directions, which have no metric.
    ("fio --name=a --rw=randrw --bs=4k --size=8m --filename=f1 --unified_rw_reporting=1", "out", 0),
    ("iozone -i0 -i1 -s 4m -r 64k -f ioz", "out", 4),
    ("iozone -R -i0 -i1 -s 4m -r 64k -f ioz", "out", 4),
    ("iozone -R -b ioz.xls -i0 -i1 -s 4m -r 64k -f ioz", "ioz.xls", 4),
    // Its output does not say whether it read or wrote.
    ("dd if=/dev/zero of=dd1 bs=64k count=640", "err", 0),
    ("ior -w -r -b 64m -t 64k -o iorf", "out", 4),
    ("ior -w -r -b 64m -t 64k -o iorf -O summaryFormat=JSON", "out", 4),
    ("mdtest -n 50 -d md", "out", 4),
    ("elbencho -w -t 1 -s 32m -b 64k --csvfile e.csv ef", "e.csv", 2),
    ("elbencho -w -t 1 -s 32m -b 64k --jsonfile e.json ef", "e.json", 2),
    ("elbencho -w -t 1 -s 32m -b 64k --lat ef", "out", 2),
    // Of one thread: fs_mark adds up the rates of its threads, each over its own time, and not over that of the phase.
    ("fs_mark -d m -n 500 -s 4096 -t 1", "out", 1),
    ("fs_mark -d m -n 500 -s 4096 -t 1 -v -l fl", "fl", 1),
    ("dbench -t 1 1 -D .", "out", 0),
    ("vdbench -f raw", "out", 3),
    ("vdbench -f raw -o vo", "vo/flatfile.html", 3),
    ("vdbench -f files", "out", 3),
    ("vdbench -f files -o vf", "vf/flatfile.html", 3),
];

/// Returns the metrics of the last run in a database: names, values, units.
fn last_metrics(home: &Home, database: &str) -> (Vec<(String, Option<f64>, String)>, usize) {
    let run = home.plumb(&format!("{database} show last --json")).expect_measured().json();
    let of_phase = |phase: &serde_json::Value| {
        let metrics = phase["metrics"].as_object().cloned().unwrap_or_default();
        metrics
            .into_iter()
            .map(|(name, value)| (name, value["value"].as_f64(), value["unit"].to_string()))
            .collect::<Vec<_>>()
    };
    let metrics = run["phases"].as_array().unwrap().iter().flat_map(of_phase).collect();
    (metrics, run["imported"]["numbers"].as_array().map_or(0, Vec::len))
}

// Protects: output in a tool's format is parsed back with value and unit, in each format.
#[test]
fn every_printed_form_is_imported() {
    let home = Home::new();
    home.file("raw", "sd=sd1,lun=vd,size=4m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=max,elapsed=1,interval=1\n");
    home.file(
        "files",
        "fsd=fsd1,anchor=.,depth=1,width=1,files=4,size=64k\nfwd=fwd1,fsd=fsd1,operation=read,xfersize=4k\n\
         rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=1,interval=1\n",
    );
    for (number, (words, from, least)) in FORMS.into_iter().enumerate() {
        let output = home.plumb(&format!("as {words} --plumb-quiet")).expect(0);
        let file = match from {
            "out" => home.file("printed", &output.out),
            "err" => home.file("printed", &output.err),
            name => home.work().join(name),
        };
        let database = format!("--db imported-{number}.db");
        home.plumb(&format!("{database} import {}", file.display())).expect(0);
        let ((own, _), (imported, numbers)) = (last_metrics(&home, ""), last_metrics(&home, &database));
        let mut read_back = 0;
        for (name, value, unit) in &imported {
            let same: Vec<f64> = own
                .iter()
                .filter(|(own, _, of)| own == name && of == unit)
                .filter_map(|(_, value, _)| *value)
                .collect();
            let (Some(value), false) = (value, same.is_empty()) else { continue };
            // Tools round, and print times in whole microseconds.
            let near = |own: &f64| {
                (own - value).abs()
                    <= 0.1 * own.abs().max(value.abs()) + if name.contains(".lat.") { 1000.0 } else { 0.0 }
            };
            assert!(same.iter().any(near), "{words}: {name} is {value}, measured {same:?}");
            read_back += 1;
        }
        assert!(read_back >= least && imported.len() + numbers > 0, "{words}: {read_back} of {least}: {imported:?}");
    }
}
