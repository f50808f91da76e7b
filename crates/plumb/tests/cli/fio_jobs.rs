//! fio jobs as users write them, from the job file to the result: each test shows one kind of job.

use crate::common::{CommandOutput, Home};
use serde_json::Value;

/// Runs a job file with this text, and returns its JSON.
fn run(home: &Home, text: &str, code: i32) -> (Value, CommandOutput) {
    std::fs::write(home.work().join("job.fio"), text).unwrap();
    let output = home.plumb("as fio job.fio --output-format=json --output=out.json").expect(code);
    let written = std::fs::read_to_string(home.work().join("out.json")).unwrap();
    (plumb_document::json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}")), output)
}

/// Returns the ops of each job in one direction.
fn ops(root: &Value, direction: &str) -> Vec<u64> {
    let jobs = root["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job[direction]["total_ios"].as_u64().unwrap()).collect()
}

/// These engines create the files themselves, so nothing is laid out, and the length is only the number of ops.
#[test]
fn calls_on_names_are_one_op_a_file() {
    let home = Home::new();
    let text = "[global]\nfilesize=4k\nnrfiles=3\n[a]\nioengine=filecreate\n[b]\nioengine=dircreate\n\
                [c]\nioengine=filestat\n[d]\nioengine=dirstat\n[e]\nioengine=filedelete\n[f]\nioengine=dirdelete\n\
                [g]\nstonewall\nioengine=filecreate\ncreate_on_open=1\nopenfiles=1\nfallocate=none\n";
    let (root, _) = run(&home, text, 0);
    assert_eq!(ops(&root, "read"), [3; 7]);
    let there = |name: &str| home.work().join(name).exists();
    assert!(there("a.0.2") && there("b.0.2") && there("g.0.2"), "what is made stays");
    assert!(!there("e.0.0") && !there("f.0.0"), "what is deleted is gone");
}

/// A writer saves its progress even after success, so that another job can verify up to it.
#[test]
fn a_verify_state_is_kept_by_the_writer_and_loaded_by_the_reader() {
    let home = Home::new();
    let both = "[global]\nfilename=shared\nsize=256k\nverify=crc32c\n[job]\n";
    let (written, _) = run(&home, &format!("{both}rw=write\ndo_verify=0\n"), 0);
    assert_eq!(ops(&written, "write"), [64]);
    assert!(home.work().join("local-job-0-verify.state").exists());
    let (read, _) = run(&home, &format!("{both}rw=read\nverify_state_load=1\n"), 0);
    assert_eq!(ops(&read, "read"), [64]);
    let _ = std::fs::remove_file(home.work().join("local-job-0-verify.state"));
    let _ = run(&home, &format!("{both}rw=write\nverify_state_save=0\n"), 0);
    assert!(!home.work().join("local-job-0-verify.state").exists(), "not where it is not wanted");
}

/// A receiver waits for its sender as long as needed: its time begins when the sender is connected.
#[test]
fn the_time_of_a_receiver_begins_with_its_sender() {
    let home = Home::new();
    let socket = "[global]\nioengine=net\nprotocol=unix\nfilename=socket\nbs=4k\nsize=64k\n";
    let jobs = "[receive]\nrw=read\nruntime=1\n[send]\nrw=write\nstartdelay=2\n";
    let (root, _) = run(&home, &format!("{socket}{jobs}"), 0);
    assert_eq!((ops(&root, "read"), ops(&root, "write")), (vec![16, 0], vec![0, 16]));
}

/// Protects: a log is replayed onto the files of a job with the same name, and onto others only if they were named.
/// Bytes that look like user data are kept, regardless of their creator.
#[test]
fn a_log_is_no_permission_to_overwrite_what_it_names() {
    let home = Home::new();
    let made = home.work().join("made.0.0");
    let bytes: Vec<u8> = (0..64_u32 << 10).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let log = "fio version 3 iolog\n1 made.0.0 add\n2 made.0.0 open\n3 made.0.0 write 4096 4096\n4 made.0.0 close\n";
    std::fs::write(home.work().join("log"), log).unwrap();
    std::fs::write(&made, &bytes).unwrap();
    let other = home.plumb("as fio --name=other --read_iolog=log").expect(1);
    let way_out = format!("PLUMB_ALLOW={}", made.canonicalize().unwrap().display());
    assert!(other.err.contains(&way_out), "{}", other.err);
    assert_eq!(std::fs::read(&made).unwrap(), bytes);
    home.plumb("as fio --name=other --read_iolog=log --plumb-allow=.").expect(0);
    assert_ne!(std::fs::read(&made).unwrap(), bytes, "a directory covers its files");
    std::fs::remove_file(&made).unwrap();
    std::fs::write(&made, &bytes).unwrap();
    // A name that fio generates does not grant permission either.
    home.plumb("as fio --name=made --read_iolog=log").expect(1).expect_stderr(&[&way_out]);
    assert_eq!(std::fs::read(&made).unwrap(), bytes);
    std::fs::remove_file(&made).unwrap();
    home.plumb("as fio --name=made --rw=write --size=64k").expect(0);
    let ours = std::fs::read(&made).unwrap();
    home.plumb("as fio --name=made --read_iolog=log").expect(0);
    assert_ne!(std::fs::read(&made).unwrap(), ours, "the job's own files");
}

/// Protects: the histogram and the latency log use the same clock readings, to the nanosecond.
#[test]
fn histogram_and_log_agree_to_the_nanosecond() {
    let home = Home::new();
    let text = "[n]\nioengine=null\nsize=16m\nwrite_lat_log=n\n";
    std::fs::write(home.work().join("job.fio"), text).unwrap();
    home.plumb("as fio job.fio --output-format=json+ --output=out.json").expect(0);
    let written = std::fs::read_to_string(home.work().join("out.json")).unwrap();
    let root: Value = plumb_document::json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    let log = std::fs::read_to_string(home.work().join("n_clat.1.log")).unwrap();
    let logged: Vec<u64> = log.lines().map(|line| line.split(", ").nth(1).unwrap().parse().unwrap()).collect();
    let reported = &root["jobs"][0]["read"]["clat_ns"];
    assert_eq!(logged.len(), 4096);
    assert_eq!(
        (reported["min"].as_u64(), reported["max"].as_u64()),
        (logged.iter().min().copied(), logged.iter().max().copied())
    );
    let mean = logged.iter().sum::<u64>() as f64 / logged.len() as f64;
    assert!((reported["mean"].as_f64().unwrap() - mean).abs() < 1e-3, "{reported} {mean}");
    // Below 128 ns, fio has a bucket for each nanosecond.
    for (value, count) in reported["bins"].as_object().unwrap() {
        let value: u64 = value.parse().unwrap();
        if value < 128 {
            let logged = logged.iter().filter(|&&logged| logged == value).count() as u64;
            assert_eq!(count.as_u64(), Some(logged), "{value} ns");
        }
    }
}

/// Protects: the act test has a slice for each of its hours, fails if a whole hour is too slow, and keeps its table out
/// of JSON documents. A simulated disk takes no real time and is always equally slow.
#[test]
fn a_device_is_certified_hour_by_hour() {
    let home = Home::new();
    let words = "as fio --size=1g --profile=act --device-names=sim:hdd --threads-per-queue=2 --read-req-num-512-blocks=65536 \
                 --large-block-op-kbytes=64m";
    let output = home.plumb(&format!("{words} --test-duration=7200 --output-format=json --output=out.json")).expect(1);
    let table: Vec<&str> = output.err.lines().skip_while(|line| !line.starts_with(" -----")).collect();
    assert!(table[1].starts_with("    1\t0.00\t0.00\t100.00") && table[2].starts_with("    2\t"), "{table:?}");
    assert!(output.err.contains("act: test complete, device(s): FAILED"), "{}", output.err);
    let written = std::fs::read_to_string(home.work().join("out.json")).unwrap();
    let root: Value = plumb_document::json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert!(ops(&root, "read").iter().sum::<u64>() > 0 && root["jobs"][0]["jobname"] == "act-read-sim:hdd");
    // As in fio, the rest of an hour is printed but not judged.
    let short = home.plumb(&format!("{words} --test-duration=60")).expect(0);
    assert!(short.out.contains("device(s): FAILED"), "{}", short.out);
}

/// Shares are kept from the first op on: a job that is ready early does not run ahead.
#[test]
fn the_jobs_of_a_flow_keep_to_their_weights() {
    let home = Home::new();
    let text = "[global]\nioengine=null\nsize=100g\nruntime=1\nflow_id=1\nthread\n[a]\nflow=1\n[b]\nflow=9\n";
    let (root, _) = run(&home, text, 0);
    let started = ops(&root, "read");
    let share = started[0] as f64 / started.iter().sum::<u64>() as f64;
    assert!((0.08..0.12).contains(&share), "{started:?}");
}

/// Protects jobs of gcsfuse and others: fio creates the directories of its own file names, below `directory=`, which
/// must exist, or the working directory.
#[test]
fn directories_of_file_names_are_made() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("d")).unwrap();
    let global = "[global]\nrw=read\nsize=16k\nbs=4k\n";
    let (_, printed) = run(
        &home,
        &format!("{global}[a]\nnumjobs=2\nnrfiles=2\ndirectory=d\nfilename_format=$jobname.$jobnum/$filenum\n"),
        0,
    );
    assert_eq!(printed.code, 0);
    for name in ["d/a.0/0", "d/a.0/1", "d/a.1/0", "d/a.1/1"] {
        assert!(home.work().join(name).is_file(), "{name}");
    }
    let inside = home.work().join("new/deep/file");
    run(&home, &format!("{global}[b]\nfilename=x/y/z\n[c]\nfilename={}\n", inside.display()), 0);
    assert!(home.work().join("x/y/z").is_file() && inside.is_file());
    let outside = tempfile::tempdir().unwrap();
    let (_, printed) = run(&home, &format!("{global}[e]\nfilename={}\n", outside.path().join("no/file").display()), 1);
    printed.expect_stderr(&["mkdir -p"]);
    assert!(!outside.path().join("no").exists(), "it is neither below `directory=` nor below the working directory");
}

/// Protects scripts that read the output of `exec_prerun`: one file per job for any `numjobs`, as in fio.
#[test]
fn commands_of_copies_write_to_the_file_of_their_job() {
    let home = Home::new();
    let job = "[m]\nnumjobs=2\nsize=16k\nrw=read\nexec_prerun=echo hello\nexec_postrun=echo bye\n";
    run(&home, job, 0);
    for (name, text) in [("m.prerun.txt", "hello\n"), ("m.postrun.txt", "bye\n")] {
        assert_eq!(std::fs::read_to_string(home.work().join(name)).unwrap(), text, "{name}");
    }
}
