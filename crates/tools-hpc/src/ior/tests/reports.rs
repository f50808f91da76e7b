//! Tests of the order of JSON's keys, of the lines of `-Z`, and of the times of AIO.

use super::*;

/// Returns the keys of a JSON text, in order.
fn keys(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix('"')?.split_once("\":")).map(|(key, _)| key).collect()
}

// Protects scripts that compare or split IOR's JSON as text: its keys have the order of IOR 4.1.0+dev, followed by
// Plumb's own.
#[test]
fn keys_of_json_have_iors_order() {
    let session = print::Session { command: "ior".to_owned(), began: "now".to_owned(), machine: "Linux vm".to_owned() };
    let text = print::json(&session, &[done("-v -w -r -O summaryFormat=JSON")], "later", 1);
    let head = ["Version", "Began", "Command line", "Machine", "tests"];
    let test = ["TestID", "StartTime", "Path", "Capacity", "Used Capacity", "Inodes", "Used Inodes", "Parameters"];
    let parameters = "testID refnum api platform testFileName deadlineForStonewall stoneWallingWearOut maxTimeDuration \
                      dryRun nodes tasksPerNode repetitions multiFile interTestDelay fsync fsyncperwrite \
                      useExistingTestFile uniqueDir readFile writeFile filePerProc reorderTasks reorderTasksRandom \
                      reorderTasksRandomSeed randomOffset checkWrite checkRead keepFile keepFileWithError verbose \
                      setTimeStampSignature/incompressibleSeed collective segmentCount transferSize blockSize";
    let options = [
        "Options",
        "api",
        "apiVersion",
        "test filename",
        "access",
        "type",
        "segments",
        "ordering in a file",
        "ordering inter file",
        "nodes",
        "tasks",
        "clients per node",
        "memoryBuffer",
        "dataAccess",
        "GPUDirect",
        "repetitions",
        "xfersize",
        "blocksize",
        "aggregate filesize",
        "verbose",
        "Results",
    ];
    let result = "access bwMiB blockKiB xferKiB iops latency openTime wrRdTime closeTime totalTime";
    let max = ["max", "writeMiB", "writeMB", "readMiB", "readMB", "summary"];
    let summary = "operation API TestID ReferenceNumber segmentCount blockSize transferSize numTasks tasksPerNode \
                   repetitions filePerProc reorderTasks taskPerNodeOffset reorderTasksRandom reorderTasksRandomSeed \
                   bwMaxMIB bwMinMIB bwMeanMIB bwStdMIB OPsMax OPsMin OPsMean OPsSD MeanTime xsizeMiB";
    let own = ["errors", "latencyPercentiles", "max", "p50", "p90", "p99", "p99.9"];
    let twice = |keys: &'static str| [keys, keys].into_iter().flat_map(str::split_whitespace);
    let expected: Vec<&str> = head
        .into_iter()
        .chain(test)
        .chain(parameters.split_whitespace())
        .chain(options)
        .chain(twice(result))
        .chain(max)
        .chain(twice(summary))
        .chain(["Finished"])
        .collect();
    let mut found = keys(&text);
    // Plumb's own keys follow each result.
    let mut at = 0;
    while let Some(start) = found[at..].iter().position(|key| *key == "errors") {
        at += start;
        assert_eq!(found[at - 1], "totalTime", "{text}");
        found.drain(at..at + own.len());
    }
    assert_eq!(found, expected, "{text}");
    assert!(text.contains("\"platform\": \"vm(Linux)\""), "{text}");
}

// Protects the lines of `-Z`: with `-v -v`, how many ranks' data is read by 0, 1, 2, … ranks; with `-Z -Z`, IOR
// prints nothing about the order.
#[test]
fn random_reading_is_reported_as_in_ior() {
    let random = test("-Z -v -v -r");
    assert_eq!(print::begins(&random, "read", &[1, 0, 2, 1], "now"), "#File Hits Dist: 1 2 1\n");
    assert_eq!(print::begins(&random, "read", &[1, 1, 1], "now"), "#File Hits Dist: 0 3\n");
    // With one rank, IOR's loop ends here.
    assert_eq!(print::begins(&random, "read", &[1], "now"), "#File Hits Dist: 0\n");
    let loud = print::begins(&test("-Z -vvv -r"), "read", &[1, 1], "now");
    assert_eq!(loud, "#File Hits Dist: 0 2\nCommencing read performance test: now\n");
    for other in ["-Z -v -r", "-Z -Z -v -v -r", "-C -v -v -r", "-v -v -r"] {
        assert_eq!(print::begins(&test(other), "read", &[1, 1], "now"), "", "{other}");
    }
    assert_eq!(print::begins(&random, "write", &[1, 1], "now"), "");
    let facts = Facts { ranks_per_node: 1, ..Facts::default() };
    let readers = lower::readers(&test("-Z -X 3 --plumb-ranks 8"), &facts);
    assert_eq!((readers.len(), readers.iter().sum::<u32>()), (8, 8));
    assert_eq!(lower::readers(&test("-Z -Z --plumb-ranks 4"), &facts), [1; 4]);
    let lines = |line: &str| print::test_head(&done(line), 1).lines().filter(|line| is_of_order(line)).count();
    assert_eq!([lines(""), lines("-C"), lines("-Z"), lines("-Z -Z")], [1, 2, 3, 0]);
}

fn is_of_order(line: &str) -> bool {
    ["ordering inter file", "task offset", "reorder random seed"].iter().any(|name| line.starts_with(name))
}

// Protects the rate of AIO: requests continue during `interIODelay`, so its time counts, as in IOR. The time of a
// call is never reported as a transfer's latency.
#[test]
fn times_of_aio_include_the_delays() {
    let transfer_s = |line: &str| Access::from_measurement(&measured("write", 1), &test(line), 0).unwrap().transfer_s;
    let (posix, aio) = (transfer_s("--interIODelay=500"), transfer_s("-a AIO --interIODelay=500"));
    assert!((aio - posix - 4.0 * 500e-6).abs() < 1e-9, "{aio} {posix}");
    assert!(!print::summary(&[done("-a AIO")], 1).contains("Latency of single transfers"));
    let session = print::Session { command: String::new(), began: String::new(), machine: String::new() };
    assert!(!print::json(&session, &[done("-a AIO")], "later", 1).contains("latencyPercentiles"));
    assert!(print::test_head(&done("-a aio"), 1).contains("api                 : AIO\n"));
}
