//! `plumb as ior` end to end.

use crate::common::traced::{traced, whole_calls};
use crate::common::{CommandOutput, Home, needs};

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.work().join(name)).unwrap()
}

/// Returns the columns of the first row of an access.
fn row<'a>(out: &'a str, access: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.split_whitespace().next() == Some(access));
    line.unwrap_or_else(|| panic!("no row of {access}: {out}")).split_whitespace().collect()
}

/// Protects the whole path: a shared file is written and read, its report has IOR's rows, and nothing is left behind.
#[test]
fn a_shared_file_is_written_and_read() {
    let home = Home::new();
    let run = home.plumb("as ior -b 256k -t 64k -s 2 -e -g -o f -i 2 --plumb-ranks 4").expect(0);
    let run =
        run.expect_stdout(&["access : single-shared-file", "aggregate filesize : 2 MiB", "Summary of all tests:"]);
    for access in ["write", "read"] {
        let row = row(&run.out, access);
        assert_eq!((row[4], row[5], row.len()), ("256.00", "64.00", 11), "{}", run.out);
        assert!(row[1].parse::<f64>().unwrap() > 0.0);
    }
    assert!(!home.work().join("f").exists());
    assert_eq!(
        home.query("select dialect, count(*) from run group by dialect"),
        [[serde_json::json!("ior"), serde_json::json!(2)]]
    );
}

/// Protects the layout: each word of a file was written there by its rank, in IOR's data format.
#[test]
fn segments_hold_what_their_ranks_wrote() {
    let home = Home::new();
    home.plumb("as ior -w -k -b 128k -t 64k -s 2 -G 7 -o f --plumb-ranks 2").expect(0);
    let bytes = std::fs::read(home.work().join("f")).unwrap();
    assert_eq!(bytes.len(), 512 << 10);
    let word = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
    for (at, rank) in [(0, 0), (128 << 10, 1), (256 << 10, 0), (384 << 10, 1u64)] {
        assert_eq!(word(at), rank << 32 | 7, "at {at}");
        assert_eq!(word(at + 8), rank << 32 | 8, "at {at}");
    }
    home.plumb("as ior -r -R -k -b 128k -t 64k -s 2 -G 7 -o f --plumb-ranks 2").expect(0);
    // A file for each rank, read by another one.
    let own = "-F -b 128k -t 64k -G 7 -l o -o g -k --plumb-ranks 2";
    home.plumb(&format!("as ior -w {own}")).expect(0);
    let shifted = home
        .command(format!("as ior -r -R -C {own}").split_whitespace())
        .env("IOR_FAKE_TASK_PER_NODES", "1")
        .output()
        .unwrap();
    assert!(shifted.status.success(), "{}", String::from_utf8_lossy(&shifted.stdout));
    std::fs::write(home.work().join("g.00000001"), vec![0; 128 << 10]).unwrap();
    let wrong = home.plumb(&format!("as ior -r -R {own}")).expect(2);
    wrong.expect_stdout(&["Incorrect data on read (2 transfers)"]);
}

/// Protects the stonewall: ranks continue to the furthest position, the file keeps it, and reads stay within it.
#[test]
fn ranks_wear_out_to_the_furthest() {
    let home = Home::new();
    let walled = "-F -k -t 4k -b 1g -O stoneWallingStatusFile=wall -o f --plumb-ranks 2";
    let run = home.plumb(&format!("as ior -w -D 1 -O stoneWallingWearOut=1 --interIODelay=100 {walled}")).expect(0);
    run.expect_stdout(&["stonewalling pairs accessed min: "]);
    let transfers: u64 = read(&home, "wall").trim().parse().unwrap();
    for file in ["f.00000000", "f.00000001"] {
        let path = home.work().join(file);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), transfers * 4096, "{file}");
        // The file is longer than the part before the stonewall.
        std::fs::File::options().write(true).open(path).unwrap().set_len((transfers + 100) * 4096).unwrap();
    }
    home.plumb(&format!("as ior -r -O saveRankPerformanceDetailsCSV=ranks {walled}")).expect(0);
    let ranks = read(&home, "ranks");
    let mut bytes = ranks.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split(',').collect();
        assert_eq!(columns[0], "read", "{ranks}");
        columns[3].parse::<f64>().unwrap() * columns[5].parse::<f64>().unwrap()
    });
    for _ in 0..2 {
        let bytes = bytes.next().unwrap();
        assert!((bytes / (transfers * 4096) as f64 - 1.0).abs() < 1e-6, "{bytes} of {transfers} transfers: {ranks}");
    }
    home.plumb("as ior -w -r -D 1 --interIODelay=100 -t 4k -b 1g -o g")
        .expect(0)
        .expect_stdout(&["Maybe caused by deadlineForStonewalling"]);
}

/// Protects the other modes: mappings, random order, JSON that is valid even with remarks, CSV.
#[test]
fn forms_and_back_ends_work() {
    let home = Home::new();
    home.plumb("as ior -a MMAP -b 128k -t 64k -e -w -r -R -G 1 -o f --plumb-ranks 2").expect(0);
    home.plumb("as ior -z -F -b 256k -t 64k -w -W -G 1 -o f").expect(0);
    home.plumb("as ior -w -k -b 256k -t 64k -o r").expect(0);
    home.plumb("as ior -r -z -z -k -s 3 -b 64k -t 16k -o r").expect(0);
    let json = home.plumb("as ior -D 1 -w -r --interIODelay=100 -t 4k -b 64m -O summaryFormat=JSON -o j").expect(0);
    let value: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(value["tests"][0]["Results"].as_array().unwrap().len(), 2);
    let csv = home.plumb("as ior -b 64k -t 64k -i 2 -O summaryFormat=CSV -o c").expect(0);
    assert_eq!(csv.out.lines().count(), 5, "{}", csv.out);
}

/// Protects scripts and the errors in them.
#[test]
fn scripts_run_their_tests() {
    let home = Home::new();
    home.file(
        "two.ior",
        "IOR START\ntestFile=two\nblockSize=256k\ntransferSize=64k\nRUN\nsegmentCount=2\nRUN\nIOR STOP\n",
    );
    let run = home.plumb("as ior -f two.ior").expect(0);
    run.expect_stdout(&["TestID : 1", "segments : 2"]);
    home.file("bad.ior", "IOR START\nblokSize=1m\nRUN\n");
    home.plumb("as ior -f bad.ior")
        .expect(255)
        .expect_stderr(&["bad.ior:2: unknown option `blokSize=1m`; did you mean `blockSize`?"]);
    home.plumb("as ior -f none").expect(255).expect_stderr(&["none"]);
    home.file("nested.ior", "IOR START\nscript=two.ior\nRUN\n");
    home.plumb("as ior -f nested.ior")
        .expect(255)
        .expect_stderr(&["nested.ior:2: script works on the command line only"]);
    home.plumb("as ior -O directives=segmentCount=2").expect(1).expect_stderr(&["works on the command line only"]);
    // The last value counts.
    let last = home.plumb("as ior -b 64k -t 64k -O segmentCount=2 -s 3 -o s").expect(0);
    last.expect_stdout(&["segments : 3"]);
}

/// Protects the user's files, and against invalid words.
#[test]
fn what_is_not_plumb_s_is_left_alone() {
    let home = Home::new();
    home.file("mine", "text");
    home.plumb("as ior -b 64k -t 64k -o mine").expect(5).expect_stderr(&["mine", "PLUMB_ALLOW"]);
    assert_eq!(read(&home, "mine"), "text");
    home.plumb("as ior -a HDF5").expect(255).expect_stderr(&["not yet supported"]);
    home.plumb("as ior --nosuch").expect(1).expect_stderr(&["unknown option `--nosuch`"]);
    home.plumb("as ior -b 1m -t 300k").expect(255).expect_stderr(&["multiple of"]);
    home.plumb("as ior -h").expect(0).expect_stdout(&["Synopsis ior", "--plumb-ranks"]);
}

/// Protects -u: each rank's file is in a separate directory, which may exist already.
#[test]
fn each_rank_has_a_directory() {
    let home = Home::new();
    for options in ["-w -k", "-w -k", "-r -R -C"] {
        home.plumb(&format!("as ior {options} -u -F -G 7 -b 64k -t 64k -o out --plumb-ranks 2")).expect(0);
        let is_kept = options.contains("-k");
        for file in ["0/out.00000000", "1/out.00000001"] {
            assert_eq!(home.work().join(file).exists(), is_kept, "{options} {file}");
        }
    }
}

/// Protects -K: a file with an error is kept, and only such a file.
#[test]
fn a_file_with_wrong_data_stays() {
    let home = Home::new();
    let layout = "-G 7 -b 64k -t 64k -o out --plumb-ranks 2";
    home.plumb(&format!("as ior -w -k {layout}")).expect(0);
    let mut bytes = std::fs::read(home.work().join("out")).unwrap();
    // In the second rank's part; the first rank removes the shared file.
    bytes[100 << 10] ^= 1;
    std::fs::write(home.work().join("out"), bytes).unwrap();
    // The test, not IOR, changed the file: removing it needs permission.
    home.plumb(&format!("as ior -r -K {layout}")).expect(5).expect_stderr(&["PLUMB_ALLOW="]);
    let allowed = |line: String| {
        let mut command = home.command(line.split(' '));
        command.env("PLUMB_ALLOW", "./out");
        CommandOutput::run(command)
    };
    allowed(format!("as ior -r -R -K {layout}")).expect(1).expect_stdout(&["Incorrect data on read (1 transfers)"]);
    assert!(home.work().join("out").exists());
    allowed(format!("as ior -r -K {layout}")).expect(0);
    assert!(!home.work().join("out").exists(), "nobody looked");
    home.plumb(&format!("as ior -w -r -R -K {layout}")).expect(0);
    assert!(!home.work().join("out").exists(), "nothing was wrong");
}

/// Protects randomPrefill and minTimeDuration: gaps of random writes are filled, and transfers repeat until the time
/// has passed.
#[test]
fn files_are_filled_and_transfers_repeated() {
    let home = Home::new();
    let random = "-z -w -k -b 256k -t 64k --randomPrefill=128k -O stoneWallingWearOutIterations=1 -G 7 -o random";
    home.plumb(&format!("as ior {random}")).expect(0);
    let bytes = std::fs::read(home.work().join("random")).unwrap();
    let filled = bytes.chunks(64 << 10).filter(|block| block.iter().all(|&byte| byte == 0xff)).count();
    assert_eq!((bytes.len(), filled), (256 << 10, 3));
    home.plumb("as ior -w -b 64k -t 32k -O minTimeDuration=1 -o repeated")
        .expect(0)
        .expect_stdout(&["Using actual aggregate bytes"]);
    let result = home.plumb("show --json").expect(0).json();
    let ops = result["phases"][0]["done"]["write"]["ops"].as_u64().unwrap();
    assert!(ops > 2 && ops.is_multiple_of(2), "whole rounds: {ops}");
}

/// Protects savePerOpDataCSV and -M: a file of single transfers for each rank and phase, while memory is occupied.
#[test]
fn single_transfers_are_written_down() {
    let home = Home::new();
    let line = "as ior -F -b 128k -t 32k -i 2 -M 8m -O savePerOpDataCSV=op -o out --plumb-ranks 2";
    home.plumb(line).expect(0).expect_stdout(&["memoryPerProcess : 8 MiB"]);
    for name in ["op-0-00000.csv", "op-1-00001.csv", "op-write-0-00001.csv", "op-write-1-00000.csv"] {
        let text = read(&home, name);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!((rows[0], rows.len()), ("time,runtime,tp", 5), "{name}: {text}");
        assert!(rows[1].starts_with("0.00000000e+00,"), "{name}: {text}");
    }
    let result = home.plumb("show --json").expect(0).json();
    assert_eq!(result["workload"]["phase"][0]["memory-pressure"], "8MiB", "{}", result["workload"]["phase"][0]);
}

/// Protects -a DUMMY with IOR's own test: a stonewall's status file is written and read, JSON is valid, and no file is
/// touched.
#[test]
fn dummy_touches_no_file() {
    let home = Home::new();
    let wall = "as ior -a DUMMY -t 1000 -b 1000 -k -o data --plumb-ranks 2 -O stoneWallingStatusFile=wall";
    home.plumb(&format!("{wall} -w -O stoneWallingWearOut=1 -D 1 -s 15")).expect(0);
    assert_eq!(std::fs::read_to_string(home.work().join("wall")).unwrap().trim(), "15");
    for line in ["-r -D 1 -s 30", "-r -s 30"] {
        home.plumb(&format!("{wall} {line}")).expect(0);
        let result = home.plumb("show --json").expect(0).json();
        assert_eq!(result["phases"][0]["done"]["read"]["ops"], 2 * 15, "{line}: no more than were written");
        assert!(result["workload"]["target"]["files"]["null"].is_object(), "{}", result["workload"]["target"]);
    }
    let json = "-e -F -t 1m -b 1m -A 328883 -O summaryFormat=JSON -O summaryFile=out.json";
    home.plumb(&format!("as ior -a DUMMY {json} --plumb-ranks 2 -o data")).expect(0);
    let text = std::fs::read_to_string(home.work().join("out.json")).unwrap();
    let output: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(output["tests"][0]["Parameters"]["api"], "DUMMY", "{output:#}");
    let mut left: Vec<_> = std::fs::read_dir(home.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["out.json", "wall"]);
    home.plumb("as ior -a DUMMY -w -W").expect(255).expect_stderr(&["DUMMY does not keep"]);
}

// Protects --dryRun: all back ends print their phases, no file is touched, and the result is not attributed to storage.
#[test]
fn a_dry_run_touches_no_file() {
    let home = Home::new();
    std::fs::write(home.work().join("precious"), "data").unwrap();
    for api in ["POSIX", "MMAP", "MPIIO -c --mpiio.useFileView"] {
        let line = format!("as ior -a {api} --dryRun -w -r -R -W -G 7 -b 64k -t 16k -s 2 -o precious");
        let printed = home.plumb(&line).expect(0);
        printed.expect_stdout(&["dryRun : 1", &format!("api : {}", api.split(' ').next().unwrap()), "write", "read"]);
        let result = home.plumb("show --json").expect(0).json();
        let target = &result["workload"]["target"]["files"];
        assert!(target["null"].is_object(), "{target}");
    }
    home.plumb("as ior --dryRun -w -F -b 64k -t 16k -o new --plumb-ranks 2").expect(0);
    assert_eq!(std::fs::read_to_string(home.work().join("precious")).unwrap(), "data");
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 1);
}

// Protects benchpark: in every format, all results are in the named file, and none on standard output.
#[test]
fn a_file_of_results_holds_all_of_them() {
    let home = Home::new();
    let csv = home.plumb("as ior -w -r -t 64k -b 64k -F -i 2 -o f -O summaryFormat=CSV -O summaryFile=s.csv").expect(0);
    let rows = read(&home, "s.csv");
    let accesses: Vec<&str> = rows.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(accesses, ["access", "write", "read", "write", "read"], "{rows}");
    assert_eq!(csv.out, "Writing output to s.csv\n", "as IOR says");
    let table = home.plumb("as ior -v -v -w -t 64k -b 64k -o f -O summaryFile=s.txt").expect(0);
    let text = read(&home, "s.txt");
    for line in ["IOR-", "Options: ", "verbose             : 2", "write ", "remove ", "Max Write: ", "Finished "] {
        assert!(text.lines().any(|reported| reported.starts_with(line)), "{line}: {text}");
    }
    assert!(table.out.contains("\nUsing Time Stamp ") && !table.out.contains("Options"), "{}", table.out);
}

// Protects: failed work is not reported as measured, in any format.
#[test]
fn a_phase_that_failed_has_no_row() {
    let home = Home::new();
    for format in ["default", "CSV", "JSON"] {
        let line = format!("as ior -r -t 4k -b 64k -z -o nofile -O summaryFormat={format}");
        let run = home.plumb(&line).expect(255).expect_stderr(&["nofile", "No such file or directory"]);
        assert!(!run.out.lines().any(|row| row.starts_with("read") || row.contains("bwMiB")), "{format}: {}", run.out);
    }
}

/// Returns the calls of AIO and flushes under strace: requested and actual values, without addresses.
fn requests(home: &Home, line: &str) -> Vec<String> {
    let command = home.command(line.split_whitespace());
    let calls = "trace=io_setup,io_submit,io_getevents,fsync,pwrite64,pread64";
    let text = traced(home, &command, &["-e", calls]);
    let of_call = |call: &str| {
        let (name, rest) = call.split_once('(')?;
        let given = rest.rsplit_once("= ")?.1.split(' ').next()?;
        let counts = rest.split(", ").filter_map(|word| word.parse::<u32>().ok()).map(|count| count.to_string());
        (name.starts_with("io_") || name == "fsync").then(|| {
            let asked: Vec<String> = if name == "io_setup" { Vec::new() } else { counts.collect() };
            format!("{name}({})={given}", asked.join(","))
        })
    };
    whole_calls(&text).iter().filter_map(|(_, call)| of_call(call)).collect()
}

// Protects -a AIO: requests are batched and awaited as in IOR, as strace shows for it; the data is that of POSIX.
#[test]
fn aio_submits_as_ior_does() {
    if !needs::tools(&["strace"]) {
        return;
    }
    let home = Home::new();
    let size = "-a AIO -t 4k -o f";
    let full = |waits: usize, last: &'static str| {
        let submit = "io_submit(16)=16";
        let mut calls = vec!["io_setup()=0"];
        calls.extend([submit; 8]);
        (0..waits).for_each(|_| calls.extend(["io_getevents(16,16)=16", submit]));
        calls.extend(["io_getevents(1,128)=128", last]);
        calls.into_iter().filter(|call| !call.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(requests(&home, &format!("as ior -w -b 1m -k {size}")), full(8, ""));
    assert_eq!(requests(&home, &format!("as ior -w -e -b 640k -k {size}")), full(2, "fsync()=0"));
    assert_eq!(requests(&home, &format!("as ior -r -b 640k -k {size}")), full(2, ""));
    let small = requests(&home, &format!("as ior -w -b 48k --aio.max-pending=8 --aio.granularity=3 {size}"));
    let submit = |count: u32| format!("io_submit({count})={count}");
    let wait = || "io_getevents(3,3)=3".to_owned();
    let setup = "io_setup()=0".to_owned();
    let expected = [
        setup,
        submit(3),
        submit(3),
        submit(2),
        wait(),
        submit(3),
        wait(),
        submit(1),
        "io_getevents(1,6)=6".to_owned(),
    ];
    assert_eq!(small, expected);
    let each = requests(&home, &format!("as ior -w -Y -b 12k {size}"));
    let one = ["io_submit(1)=1", "io_getevents(1,1)=1", "fsync()=0"];
    assert_eq!(each, [&["io_setup()=0"][..], &one, &one, &one].concat());
    // Verified reads are submitted one by one.
    let checked = requests(&home, &format!("as ior -w -W -G 1 -b 8k {size}"));
    let expected =
        [&["io_setup()=0", "io_submit(2)=2", "io_getevents(1,2)=2", "io_setup()=0"][..], &one[..2], &one[..2]].concat();
    assert_eq!(checked, expected);
    home.plumb(&format!("as ior -w -k -G 5 -F -s 2 -b 96k {size} --plumb-ranks 2")).expect(0);
    home.plumb("as ior -r -R -k -G 5 -F -s 2 -b 96k -t 4k -o f --plumb-ranks 2").expect(0);
    let run = home.plumb(&format!("as ior -r -R -z -G 5 -F -s 2 -b 96k {size} --plumb-ranks 2")).expect(0);
    run.expect_stdout(&["api : AIO"]);
}

// Protects against unnoticed data loss: a failed request ends the run as in IOR, and reports its offset.
#[test]
fn a_failed_request_of_aio_ends_the_run() {
    let home = Home::new();
    home.plumb("as ior -w -k -b 64k -t 4k -o f").expect(0);
    let run = home.plumb("as ior -a AIO -r -k -b 128k -t 4k -o f").expect(255);
    let run = run.expect_stderr(&["the read at byte 65536 moved 0 of 4096 bytes; is the file long enough?"]);
    assert!(!run.out.lines().any(|row| row.starts_with("read")), "{}", run.out);
    home.plumb("as ior -a AIO --aio.max-pending=4").expect(255).expect_stderr(&["`4` is too few; use 8 or more"]);
    home.plumb("as ior -a AIO --aio.max-pending=8").expect(255).expect_stderr(&["--aio.granularity: `16` exceeds"]);
}
