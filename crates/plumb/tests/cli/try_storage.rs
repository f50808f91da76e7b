//! `plumb try` and `plumb run`: several targets, repetitions, names and copies of the page.

use crate::common::Home;

const SHORT: &str = "--size 16MiB --time 200ms";

// Protects: two simulated devices side by side, each with its page, and no verdict from one run each.
#[test]
fn several_storages_stand_side_by_side() {
    let home = Home::new();
    let output = home.plumb(&format!("try sim:hdd sim:nvme {SHORT}")).expect(0);
    assert_eq!(output.out.matches("More: plumb").count(), 2, "{}", output.out);
    output.expect_stdout(&["Random 4 KiB QD1 read", "plumb compare sim:hdd sim:nvme"]);
    home.plumb(&format!("try sim:hdd nowhere {SHORT}")).expect(2).expect_stderr(&["nowhere", "does not exist"]);
    assert!(home.plumb("list").expect(0).out.lines().count() == 3, "a place that is missing costs the other no time");
    home.plumb(&format!("try sim:hdd sim:nvme -o page.txt {SHORT}")).expect(2).expect_stderr(&["once for each"]);
}

// Protects: the median of several runs, which are all stored under the given name.
#[test]
fn runs_are_repeated_and_named() {
    let home = Home::new();
    let line = "run random-read --at sim:ssd?cv=20% --set time=200ms --runs 3 --name";
    let output = home.plumb_args(line.split(' ').chain(["new, disk"])).expect(0);
    output.expect_stdout(&["new, disk", "medians of 3 runs", "Rates of the 3 runs differ by up to"]);
    let rows = home.plumb("list --tag new-disk --json").expect(0).json();
    assert_eq!(rows.as_array().unwrap().len(), 3, "{rows:#}");
    let results = home.plumb("run random-read --at sim:ssd?cv=20% --set time=200ms --runs 3 --json").expect(0).json();
    let rate = |result: &serde_json::Value| result["phases"][0]["metrics"]["read.iops"]["value"].as_f64().unwrap();
    let mut rates: Vec<f64> = results.as_array().unwrap().iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    assert!(rates.len() == 3 && rates[0] < rates[2], "each run of a device that varies draws its own speed: {rates:?}");
    // A condition refers to the medians.
    let asserted = |limit: f64| {
        let condition = format!("read.iops > {limit}");
        let line = "run random-read --at sim:ssd?cv=20% --set time=200ms --runs 3 --assert";
        home.plumb_args(line.split(' ').chain([condition.as_str()]))
    };
    asserted(rates[1] - 1.0).expect(0);
    asserted(rates[1] + 1.0).expect(1);
    home.plumb("try sim:ssd --runs 0").expect(2);
    home.plumb("try sim:ssd --name ,").expect(2).expect_stderr(&["--name is empty"]);
}

// Protects: the copy is the page without colour, or the result; a file that cannot be written is refused before the
// run.
#[test]
fn a_page_goes_to_a_file_as_well() {
    let home = Home::new();
    let output = home.plumb(&format!("try sim:ssd {SHORT} --output page.txt")).expect(0);
    assert_eq!(std::fs::read_to_string(home.work().join("page.txt")).unwrap(), output.out);
    home.plumb(&format!("try sim:ssd {SHORT} -o result.json")).expect(0);
    let text = std::fs::read_to_string(home.work().join("result.json")).unwrap();
    let result: serde_json::Value = plumb_document::json::from_str(&text).unwrap();
    assert_eq!(result["schema"], "plumb.result/1");
    home.plumb(&format!("try sim:ssd {SHORT} -o nowhere/page.txt"))
        .expect(2)
        .expect_stderr(&["--output: cannot write nowhere/page.txt"]);
    assert_eq!(home.plumb("list").expect(0).out.lines().count(), 3);
}

// Protects: findings beyond the three most serious, percentiles and limits are shown with -v, also for a stored run.
#[test]
fn verbose_prints_the_remaining_findings() {
    let home = Home::new();
    let brief = home.plumb(&format!("try sim:ssd {SHORT}")).expect(0);
    let full = home.plumb("show last -v").expect(0);
    assert!(!brief.out.contains("p99.9") && brief.out.lines().count() < 24, "{}", brief.out);
    full.expect_stdout(&["p99.9", "limited by", "note E7", "lacked data in some phases:"]);
}

// Protects: the duration is printed before a workload runs.
#[test]
fn a_run_announces_its_time_and_space() {
    let home = Home::new();
    let line = "run random-read --set size=4MiB --set time=200ms --set cache=as-is";
    let output = home.plumb(line).expect_measured();
    assert!(output.err.contains("makes 4.00 MiB of test data in a new directory"), "{}", output.err);
    assert!(output.err.contains("measures for 200 ms"), "{}", output.err);
    assert!(
        home.plumb(&format!("{line} --json")).expect_measured().err.lines().all(|line| !line.contains("test data"))
    );
    home.plumb("run random-read --at sim:ssd --set time=200ms").expect(0).expect_stderr(&["nothing is written"]);
}

// Protects: a quick look is shorter, and reports its file and times.
#[test]
fn the_first_page_is_short() {
    let home = Home::new();
    home.plumb("try sim:ssd --quick").expect(0).expect_stdout(&["256 MiB file", "1.0 s"]);
}
