//! `plumb as fio` runs jobs: its output, its files, and its exit codes.

use crate::common::{CommandOutput, Home};
use serde_json::Value;

fn fio(home: &Home, words: &str) -> CommandOutput {
    home.plumb(&format!("as fio {words}"))
}

/// Parses standard output as a single JSON document; anything else in it is an error.
fn document(output: &CommandOutput) -> Value {
    plumb_document::json::from_str(&output.out).unwrap_or_else(|error| panic!("{error}: {}", output.out))
}

/// Masks numbers, which differ from run to run; the words around them do not.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if masked.ends_with('#') => {}
            '0'..='9' => masked.push('#'),
            c => masked.push(c),
        }
    }
    masked
}

/// Scripts look at the exit code and standard error, and parse the text.
#[test]
fn a_job_runs_and_is_reported_like_fio() {
    let home = Home::new();
    // On a busy machine Plumb prints an extra line, unless it is disabled.
    let output = fio(&home, "--plumb-quiet --name=x --size=1m --rw=randread --bs=4k").expect(0);
    assert_eq!(output.err, "", "scripts take words on standard error for a failure");
    let lines: Vec<String> = output.out.lines().map(masked).collect();
    let opening = [
        "x: (g=#): rw=randread, bs=(R) #B-#B, (W) #B-#B, (T) #B-#B, ioengine=psync, iodepth=#",
        "fio-#.#",
        "Starting # process",
        "x: Laying out IO file (# file / #MiB)",
        "",
    ];
    assert_eq!(lines[..5], opening);
    assert!(lines[5].starts_with("x: (groupid=#, jobs=#): err= #: pid=#: "), "{}", lines[5]);
    assert!(lines.iter().any(|line| line == "     issued rwts: total=#,#,#,# short=#,#,#,# dropped=#,#,#,#"));
    assert!(output.out.contains("issued rwts: total=256,0,0,0"), "{}", output.out);
    assert!(output.out.contains("\nRun status group 0 (all jobs):\n   READ: bw="), "{}", output.out);
    assert_eq!(std::fs::metadata(home.work().join("x.0.0")).unwrap().len(), 1 << 20, "fio's name, and it stays");
}

#[test]
fn machine_formats_hold_nothing_else() {
    let home = Home::new();
    let output = fio(&home, "--output-format=json --name=x --ioengine=null --size=1m --rw=write").expect(0);
    let root = document(&output);
    let job = &root["jobs"][0];
    assert_eq!((job["jobname"].as_str(), job["error"].as_i64()), (Some("x"), Some(0)));
    assert_eq!((job["write"]["total_ios"].as_u64(), job["read"]["total_ios"].as_u64()), (Some(256), Some(0)));
    assert_eq!(job["job options"]["rw"], "write");
    let terse = fio(&home, "--minimal --name=x --ioengine=null --size=1m").expect(0);
    assert_eq!((terse.out.lines().count(), terse.out.split(';').nth(2)), (1, Some("x")), "{}", terse.out);
    let both = fio(&home, "--output-format=json+ --output=o.json --name=x --ioengine=null --size=1m").expect(0);
    assert_eq!((both.out.as_str(), both.err.as_str()), ("", ""));
    let written = std::fs::read_to_string(home.work().join("o.json")).unwrap();
    let root: Value = plumb_document::json::from_str(&written).unwrap();
    assert!(root["jobs"][0]["read"]["clat_ns"]["bins"].is_object());
}

#[test]
fn copies_and_groups_are_reported_as_requested() {
    let home = Home::new();
    let of = |words: &str| document(&fio(&home, &format!("--output-format=json {words}")).expect(0));
    let apart = of("--ioengine=null --size=1m --name=a --numjobs=2 --name=b --stonewall");
    let names: Vec<&str> = apart["jobs"].as_array().unwrap().iter().filter_map(|job| job["jobname"].as_str()).collect();
    let groups: Vec<u64> = apart["jobs"].as_array().unwrap().iter().filter_map(|job| job["groupid"].as_u64()).collect();
    assert_eq!((names, groups), (vec!["a", "a", "b"], vec![0, 0, 1]));
    let together = of("--ioengine=null --size=1m --name=a --numjobs=3 --group_reporting");
    let jobs = together["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), jobs[0]["read"]["total_ios"].as_u64()), (1, Some(768)));
}

/// A minute of a disk is simulated at once, and the same command gives the same numbers.
#[test]
fn jobs_run_on_simulated_devices() {
    let home = Home::new();
    let run = |words: &str| {
        let words = format!("--output-format=json --name=s --size=64m --bs=4k --direct=1 {words}");
        document(&fio(&home, &words).expect(0))["jobs"][0].clone()
    };
    let random = "--filename=sim:hdd --rw=randread --ioengine=libaio --iodepth=4 --time_based --runtime=60";
    let first = run(random);
    let read = |job: &Value, key: &str| job["read"][key].as_u64().unwrap();
    assert!(read(&first, "runtime").abs_diff(60_000) < 100, "{}", first["read"]);
    assert!((5_000..50_000).contains(&read(&first, "total_ios")), "{}", first["read"]);
    assert_eq!(first["read"], run(random)["read"]);
    let slow = run("--filename=sim:ssd?slow=100% --rw=read --numjobs=1");
    let fast = run("--filename=sim:ssd --rw=read --numjobs=1");
    assert_eq!((read(&slow, "total_ios"), read(&fast, "total_ios")), (16_384, 16_384));
    assert!(read(&slow, "runtime") * 2 > read(&fast, "runtime") * 3, "{} {}", slow["read"], fast["read"]);
    fio(&home, "--name=s --size=64m --filename=sim:floppy").expect(0);
    assert!(home.work().join("sim").exists(), "no device, and so two files, as fio has them");
    let output = fio(&home, "--name=s --filename=sim:ssd --size=1m --name=t --filename=real --size=1m").expect(1);
    assert!(output.err.contains("cannot be mixed"), "{}", output.err);
    let busy =
        "--name=c --ioengine=cpuio --cpuload=10 --runtime=1 --name=s --ioengine=psync --filename=sim:ssd --size=1m";
    let output = fio(&home, busy).expect(1);
    assert!(output.err.contains("`c`: programs and CPU load take real time"), "{}", output.err);
}

/// A job without I/O is reported like any job, in the order of the jobs, and named by its group.
#[test]
fn companions_are_reported_as_jobs() {
    let home = Home::new();
    let words = "--output-format=json --name=burn --ioengine=cpuio --cpuload=50 --exit_on_io_done=1 --numjobs=2 --name=r \
                 --rw=write --size=1m --bs=4k --name=e --ioengine=exec --program=echo --arguments=heard --wait_for=r";
    let reported = document(&fio(&home, words).expect(0));
    let jobs = reported["jobs"].as_array().unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["burn", "burn", "r", "e"]);
    let moved: Vec<u64> = jobs.iter().map(|job| job["write"]["total_ios"].as_u64().unwrap()).collect();
    assert_eq!(moved, [0, 0, 256, 0]);
    assert!(jobs.iter().all(|job| job["error"] == 0), "{reported}");
    assert_eq!(std::fs::read_to_string(home.work().join("e.stdout")).unwrap(), "heard\n");
    let failed = fio(&home, "--name=e --ioengine=exec --program=false").expect(1);
    assert!(failed.err.contains("the program ended with status 1"), "{}", failed.err);
}

/// Pauses, targets and flows behave as in real time: a busy pause passes, a depth is found, shares are kept.
#[test]
fn paces_run_in_virtual_time() {
    let home = Home::new();
    let jobs = |words: &str| {
        let words = format!("--output-format=json --filename=sim:nvme --size=64m --bs=4k --rw=randread {words}");
        document(&fio(&home, &words).expect(0))["jobs"].as_array().unwrap().clone()
    };
    let until = "--time_based --runtime=5";
    let pauses = jobs(&format!("{until} --thinktime=2000 --thinktime_spin=1000 --name=s"));
    let iops = pauses[0]["read"]["iops"].as_f64().unwrap();
    assert!((400.0..500.0).contains(&iops), "a pause of 2 ms behind each op: {}", pauses[0]["read"]);
    let goal = "--ioengine=libaio --iodepth=64 --latency_target=100 --latency_window=100000 --latency_percentile=99";
    let depth = jobs(&format!("{until} {goal} --name=s"))[0]["latency_depth"].as_u64().unwrap();
    assert!((2..64).contains(&depth), "{depth}");
    let shares = jobs(&format!("{until} --flow=8 --name=a --flow=1 --name=b"));
    let done = |job: usize| shares[job]["read"]["total_ios"].as_f64().unwrap();
    let ratio = done(0).max(done(1)) / done(0).min(done(1));
    assert!((7.5..8.5).contains(&ratio), "{ratio}");
}

/// Intermediate results are separate documents.
#[test]
fn results_so_far_are_valid() {
    let home = Home::new();
    let words = "--output-format=json --status-interval=1 --name=a --ioengine=null --size=1g --rate_iops=100 \
                 --time_based --runtime=3";
    let output = fio(&home, words).expect(0);
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&output.out).into_iter().collect::<Result<_, _>>().unwrap();
    let done: Vec<u64> = documents.iter().filter_map(|one| one["jobs"][0]["read"]["total_ios"].as_u64()).collect();
    assert!(done.len() >= 2 && done.is_sorted() && done[0] > 0, "{done:?}");
}

#[test]
fn logs_have_fio_s_names_and_columns() {
    let home = Home::new();
    let words = "--name=l --size=1m --rw=randrw --write_bw_log=w --write_lat_log=w --write_iops_log=w --write_hist_log=w \
                 --write_iolog=io.log";
    fio(&home, words).expect(0);
    let columns = |name: &str| {
        let text = std::fs::read_to_string(home.work().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let widths: Vec<usize> = text.lines().map(|line| line.split(", ").count()).collect();
        (widths.len(), widths.first().copied())
    };
    for name in ["w_bw.1.log", "w_iops.1.log", "w_lat.1.log", "w_clat.1.log"] {
        assert_eq!(columns(name), (256, Some(5)), "{name}");
    }
    assert_eq!(columns("w_clat_hist.1.log").1, Some(1859));
    let recording = std::fs::read_to_string(home.work().join("io.log")).unwrap();
    let mut lines = recording.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    assert_eq!(lines.next(), Some("0 l.0.0 add"));
    assert!(lines.next().is_some_and(|line| line.ends_with(" l.0.0 open")), "{recording}");
    assert_eq!(lines.filter(|line| line.contains(" read ") || line.contains(" write ")).count(), 256);
}

/// Returns a recording by `write_iolog` without its first line and its times.
fn recorded(home: &Home, words: &str) -> Vec<String> {
    fio(home, &format!("--name=t --size=32k --bs=4k --write_iolog=io.log {words}")).expect(0);
    let text = std::fs::read_to_string(home.work().join("io.log")).unwrap();
    text.lines().skip(1).filter_map(|line| line.split_once(' ')).map(|(_, line)| line.to_owned()).collect()
}

/// fio 3.42's own lines: a flush has the offset of the op before it, and files are opened and closed at the job's
/// position in the sequence.
#[test]
fn recordings_have_fio_s_lines_of_flushes_and_of_files() {
    let home = Home::new();
    let flushes = |words: &str| -> Vec<String> {
        let lines = recorded(&home, words);
        lines.into_iter().filter(|line| line.contains("sync")).collect()
    };
    assert_eq!(flushes("--rw=write --fsync=3"), ["t.0.0 sync 8192 0", "t.0.0 sync 20480 0"]);
    assert_eq!(
        flushes("--rw=write --fdatasync=3 --end_fsync=1"),
        ["t.0.0 datasync 8192 0", "t.0.0 datasync 20480 0", "t.0.0 sync 28672 0"]
    );
    assert_eq!(
        flushes("--rw=write --sync_file_range=write:3"),
        ["t.0.0 sync_file_range 8192 0", "t.0.0 sync_file_range 20480 0"]
    );
    assert_eq!(
        flushes("--rw=write --fsync=4 --loops=2 --size=16k"),
        ["t.0.0 sync 12288 0"],
        "and none as the loop begins"
    );
    // A file range without writes needs no flush, but has its line.
    let ranges: Vec<String> = ["0", "4096", "8192", "4096"].map(|at| format!("t.0.2 sync_file_range {at} 0")).into();
    assert_eq!(flushes("--rw=write --nrfiles=3 --size=36k --sync_file_range=write:2"), ranges);
    assert_eq!(flushes("--rw=write --end_syncfs=1 --ioengine=sync"), [". syncfs 28672 0"]);
    let files = |words: &str| -> String {
        let lines = recorded(&home, words);
        let word = |line: &String| {
            let mut words = line.split(' ');
            let file = words.next().unwrap_or_default().trim_start_matches("t.0.").to_owned();
            format!("{}{file}", words.next().unwrap_or_default())
        };
        lines.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        files("--rw=write --bs=16k --nrfiles=2 --openfiles=1 --fsync_on_close=1"),
        "add0 add1 open0 write0 close0 open1 write1 open0 sync0 close0 sync1 close1",
        "fio flushes as it closes, and logs the flushes at the end"
    );
    assert_eq!(
        files("--rw=write --bs=16k --verify=crc32c --loops=2"),
        "add0 open0 write0 write0 close0 open0 read0 read0 close0 open0 write0 write0 close0 open0 read0 read0 close0"
    );
    assert_eq!(files("--rw=read --bs=16k --nrfiles=2 --number_ios=1"), "add0 add1 open0 read0 close0");
    // A recording can be replayed, including flushes without a known range.
    recorded(&home, "--rw=write --sync_file_range=write:3");
    fio(&home, "--name=again --read_iolog=io.log --filename=t.0.0").expect(0);
}

/// Ops of one submission complete in any order; a recording has them in the order of submission, in every run.
#[test]
fn a_recording_is_in_the_order_of_the_draws() {
    let home = Home::new();
    let words = "--rw=randread --size=1m --bs=4k";
    let one_by_one = recorded(&home, words);
    for _ in 0..3 {
        let batches = "--ioengine=io_uring --iodepth=16 --iodepth_batch=4 --iodepth_low=4";
        assert_eq!(recorded(&home, &format!("{words} {batches}")), one_by_one);
    }
}

/// `t0034` of fio's own tests.
#[test]
fn the_time_of_issue_is_in_the_logs_that_have_one() {
    let home = Home::new();
    let words = "--name=l --size=64k --bs=4k --ioengine=libaio --write_lat_log=w --write_bw_log=w --write_iops_log=w \
                 --log_offset=1 --log_issue_time=1";
    fio(&home, words).expect(0);
    for (name, has_one) in [("clat", true), ("slat", true), ("lat", false), ("bw", false), ("iops", false)] {
        let text = std::fs::read_to_string(home.work().join(format!("w_{name}.1.log"))).unwrap();
        let line = text.lines().last().unwrap();
        let columns: Vec<&str> = line.split(", ").collect();
        assert_eq!((columns.len(), columns[6] != "0"), (7, has_one), "{name}: {line}");
    }
}

#[test]
fn a_job_that_only_verifies_counts_what_it_does_not_write() {
    let home = Home::new();
    let words = "--output-format=json --name=v --size=1m --bs=4k --rw=write --verify=crc32c";
    fio(&home, words).expect(0);
    let root = document(&fio(&home, &format!("{words} --verify_only")).expect(0));
    let (read, write) = (&root["jobs"][0]["read"], &root["jobs"][0]["write"]);
    for (one, figure) in [(read, "total_ios"), (write, "total_ios")] {
        assert_eq!(one[figure].as_u64(), Some(256), "{one}");
    }
    assert_eq!((write["io_bytes"].as_u64(), write["runtime"].as_u64()), (Some(1 << 20), Some(0)));
    // Without `verify`, nothing is written either: fio only draws the writes.
    let before = std::fs::read(home.work().join("v.0.0")).unwrap();
    let words = "--output-format=json --name=v --size=1m --bs=4k --rw=write --verify_only";
    let root = document(&fio(&home, words).expect(0));
    let (read, write) = (&root["jobs"][0]["read"], &root["jobs"][0]["write"]);
    assert_eq!((read["total_ios"].as_u64(), write["total_ios"].as_u64()), (Some(0), Some(256)));
    assert!(std::fs::read(home.work().join("v.0.0")).unwrap() == before, "nothing was written");
}

/// fio 3.42 writes all of `io_size` before it reads back, with every engine.
#[test]
fn a_queue_writes_as_much_as_was_asked_for_before_it_verifies() {
    let home = Home::new();
    for engine in ["psync", "libaio", "io_uring"] {
        let words = format!("--rw=write --bs=8k --io_size=64k --verify=crc32c --ioengine={engine}");
        let lines = recorded(&home, &words);
        let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
        assert_eq!((count(" write "), count(" read ")), (8, 4), "{engine}: {lines:?}");
    }
}

/// As in fio, the file grows by `size` with each run: 1, 2, 3 MiB.
#[test]
fn appending_goes_on_where_the_file_ended() {
    let home = Home::new();
    for mib in 1..=3 {
        fio(&home, "--name=a --rw=write --size=1m --bs=64k --file_append=1 --write_lat_log=w --log_offset=1").expect(0);
        assert_eq!(std::fs::metadata(home.work().join("a.0.0")).unwrap().len(), mib << 20);
        let log = std::fs::read_to_string(home.work().join("w_lat.1.log")).unwrap();
        let first = log.lines().next().and_then(|line| line.split(", ").nth(4)).unwrap().to_owned();
        assert_eq!(first, ((mib - 1) << 20).to_string());
    }
}

/// A mistyped count must not exhaust memory: it is an error with its place, and fio's exit code.
#[test]
fn counts_without_end_are_refused_before_they_take_memory() {
    let home = Home::new();
    std::fs::write(home.work().join("many.fio"), "[global]\nsize=1m\n[a]\nnumjobs=4m\n").unwrap();
    fio(&home, "many.fio").expect(1).expect_stderr(&["many.fio:4: numjobs=4m", "0 to 4096"]);
    let map = "--name=m --ioengine=null --rw=randwrite --size=1024p --bs=512";
    fio(&home, map).expect(1).expect_stderr(&["blocks were used needs", "norandommap"]);
    let long = "--name=s --ioengine=null --size=1m --ss=iops:10% --ss_dur=1000000000";
    fio(&home, long).expect(0);
}

/// fio names the files of a recording even if nothing was done with them.
#[test]
fn empty_recordings_name_the_files_of_the_job() {
    let home = Home::new();
    fio(&home, "--name=n --ioengine=null --size=8k --bs=4k --filename=x:y --write_iolog=io.log").expect(0);
    let recording = std::fs::read_to_string(home.work().join("io.log")).unwrap();
    let ops: Vec<&str> =
        recording.lines().filter(|line| line.contains(" read ")).filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(ops, ["x", "y"], "{recording}");
}

/// A trigger ends the run, and the results so far are printed.
#[test]
fn a_trigger_runs_its_command_and_ends_the_jobs() {
    let home = Home::new();
    let words = ["as", "fio", "--name=a", "--ioengine=null", "--size=1g", "--rate_iops=50", "--runtime=30"];
    let more = ["--time_based", "--trigger-timeout=1", "--trigger=touch pulled", "--output-format=json"];
    let output = home.plumb_args(words.into_iter().chain(more)).expect(0);
    assert!(home.work().join("pulled").exists());
    assert!(document(&output)["jobs"][0]["read"]["runtime"].as_u64().unwrap() < 20_000);
}

/// Protects: a compressed log gives the same lines as an uncompressed one.
#[test]
fn a_stored_log_is_printed_again() {
    let home = Home::new();
    let job = "--name=x --ioengine=null --size=1m --rw=write --write_iops_log=b --per_job_logs=0 --log_offset=1";
    fio(&home, &format!("{job} --log_store_compressed=1")).expect(0);
    let lines = fio(&home, "--inflate-log=b_iops.log.fz").expect(0).out;
    let offsets: Vec<u64> =
        lines.lines().map(|line| line.split(", ").nth(4).and_then(|word| word.parse().ok()).unwrap()).collect();
    assert_eq!(offsets, (0..256).map(|number| number * 4096).collect::<Vec<u64>>());
    fio(&home, "--inflate-log=missing").expect(1).expect_stderr(&["--inflate-log=missing: No such file"]);
}

/// Protects: the parts of `--debug` that fio's tests read: the seeds, derived from the job's own, and the offset of
/// each op.
#[test]
fn debug_prints_seeds_and_ops() {
    let home = Home::new();
    let job = "--name=x --ioengine=null --size=16k --rw=write --debug=random,io";
    let output = fio(&home, job).expect(0).expect_stdout(&["fio: set debug option io", "FIO_RAND_NR_OFFS=24"]);
    let lines = |word: &str| output.out.lines().filter(|line| line.contains(word)).count();
    assert_eq!((lines("rand_seeds["), lines("complete: io_u"), lines("queue: io_u")), (24, 4, 4), "{}", output.out);
    assert!(output.out.contains("off=0x3000,len=0x1000,ddir=1,file=x.0.0"), "{}", output.out);
    // fio 3.42 prints this for its own seed.
    assert!(output.out.contains("rand_seeds[6]=6803328749335347343"), "{}", output.out);
    let json = fio(&home, &format!("{job} --output-format=json")).expect(0).expect_stderr(&["rand_seeds[23]="]);
    document(&json);
}

/// Protects: with `--compat=strict`, offsets along a curve are those of fio 3.42, for any number of blocks. If its hash
/// reaches every block, they are the same without the option.
#[test]
fn curves_are_fio_s_where_that_is_asked_for() {
    let home = Home::new();
    let first = |words: &str| -> Vec<u64> {
        fio(&home, &format!("--name=zz --ioengine=null --rw=randread --write_iolog=l {words}")).expect(0);
        let log = std::fs::read_to_string(home.work().join("l")).unwrap();
        let reads = log.lines().filter(|line| line.contains(" read "));
        reads.take(3).map(|line| line.split(' ').nth(3).and_then(|word| word.parse().ok()).unwrap()).collect()
    };
    let zipf = "--random_distribution=zipf:1.2";
    assert_eq!(first(&format!("--size=1m {zipf}")), [94_208, 724_992, 970_752]);
    assert_eq!(first(&format!("--size=1000k {zipf} --compat=strict")), [266_240, 155_648, 315_392]);
    assert_ne!(first(&format!("--size=1000k {zipf}")), [266_240, 155_648, 315_392], "every block is reached");
    let pareto = first("--size=100m --random_distribution=pareto:0.2 --compat=strict");
    assert_eq!(pareto, [21_454_848, 10_563_584, 466_944]);
}

/// Protects: fio's self-tests and idle statistics have their text, exit codes and positions.
#[test]
fn own_code_is_measured() {
    let home = Home::new();
    let sums = fio(&home, "--crctest=crc32c,md5").expect(0);
    assert!(sums.out.starts_with("md5:\t\t") && sums.out.contains("crc32c:\t\t"), "{}", sums.out);
    assert!(sums.out.lines().all(|line| line.ends_with(" MiB/sec")), "{}", sums.out);
    fio(&home, "--crctest=help").expect(1).expect_stdout(&["sha3-512"]);
    fio(&home, "--crctest=nope").expect(1).expect_stderr(&["fio: unknown hash `nope`"]).expect_stdout(&["crc64"]);
    fio(&home, "--idle-prof=calibrate").expect(0).expect_stdout(&["CPU idleness:", "unit work: mean="]);
    fio(&home, "--idle-prof=nope --name=x").expect(1).expect_stderr(&["use system, percpu or calibrate"]);
    let run = fio(&home, "--idle-prof=percpu --name=x --ioengine=null --size=1m --output-format=json").expect(0);
    let idle = document(&run)["cpu_idleness"].clone();
    assert!(idle["system"].is_number() && idle["cpu-0"].is_number() && idle["unit_mean"].is_number(), "{idle}");
}
