//! `plumb as iometer` end to end.

use crate::common::Home;
use serde_json::json;

/// Returns a configuration with two tests: a database on a file, then a series of queue depths.
fn config(target: &str, sectors: u64) -> String {
    format!(
        "Version 1.1.0 \n'TEST SETUP\n'Test Description\n\tsmall\n'Run Time\n'\thours      minutes    seconds\n\t0          0          1\n\
         'Queue Depth Cycling\n'\tstart      end        step       step type\n\t1,4,4,EXPONENTIAL\n\
         'Test Type\n\tCYCLE_OUTSTANDING_IOS\n'END test setup\n\
         'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\n\tDatabase,DISK\n\
         'size,% of size,% reads,% random,delay,burst,align,reply\n\t8192,100,67,100,0,1,0,0\n'END access specifications\n\
         'MANAGER LIST\n'Manager ID, manager name\n\t1,HERE\n'Manager network address\n\t\n'Worker\n\tWorker 1\n'Worker type\n\tDISK\n\
         'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection\n\t1,DISABLED,1\n\
         'Disk maximum size,starting sector,Data pattern\n\t{sectors},0,0\n'End default target settings for worker\n\
         'Target assignments\n'Target\n\t{target}\n'Target type\n\tDISK\n'End target\n'End target assignments\n'End worker\n'End manager\n\
         'END manager list\nVersion 1.1.0 \n"
    )
}

/// Protects the whole path: the test file is created in the directory, each queue depth is a test with a stored result,
/// the share of reads is that of the file, and results are appended in IOMeter's format.
#[test]
fn tests_follow_one_another() {
    let home = Home::new();
    std::fs::create_dir(home.work().join("disk")).unwrap();
    home.file("a.icf", &config("disk", 16_384));
    home.plumb("as iometer /c a.icf /r r.csv").expect(0).expect_stderr(&["test 1 of 2", "test 2 of 2"]);
    let results = std::fs::read_to_string(home.work().join("r.csv")).unwrap();
    assert!(results.starts_with("'Test Type,Test Description\n6,small\n'Version\n1.1.0 \n'Time Stamp\n"), "{results}");
    assert!(results.ends_with("'End Test\n") && results.matches("'Access specifications").count() == 1, "{results}");
    let rows = |kind: &str| {
        let rows =
            results.lines().filter(|line| line.starts_with(kind)).map(|line| line.split(',').collect::<Vec<_>>());
        rows.collect::<Vec<_>>()
    };
    let header = results.lines().find(|line| line.starts_with("'Target Type")).unwrap().split(',').collect::<Vec<_>>();
    let column = |name: &str| header.iter().position(|header| *header == name).unwrap();
    for (row, depth) in rows("DISK").iter().zip(["1", "4"]) {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert_eq!((row[column("Target Name")], row[column("Queue Depth")]), ("disk", depth));
        let all = number("Read I/Os") + number("Write I/Os");
        assert!(all > 100.0 && (0.5..0.85).contains(&(number("Read I/Os") / all)), "{row:?}");
        assert_eq!(number("Bytes Read"), number("Read I/Os") * 8192.0);
        assert_eq!(row[60 - 1..].iter().map(|count| count.parse::<f64>().unwrap()).sum::<f64>(), all, "{row:?}");
    }
    assert_eq!([rows("ALL").len(), rows("MANAGER").len(), rows("WORKER").len(), rows("DISK").len()], [2; 4]);
    assert_eq!(std::fs::metadata(home.work().join("disk/iobw.tst")).unwrap().len(), 8 << 20);
    home.plumb("--db imported.db import r.csv").expect(0);
    let imported = home.plumb("--db imported.db show last --json").expect_measured().json();
    let phases = imported["phases"].as_array().unwrap();
    for (row, name) in rows("ALL").iter().zip(["test 1: Database", "test 2: Database"]) {
        let phase =
            phases.iter().find(|phase| phase["name"] == name).unwrap_or_else(|| panic!("no {name}: {imported}"));
        let value = phase["metrics"]["read.iops"]["value"].as_f64();
        assert_eq!(value, row[column("Read IOps")].parse().ok(), "{name}");
    }
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("iometer"), json!(2)]]);
}

#[test]
fn files_that_cannot_run_are_refused_with_the_reason() {
    let home = Home::new();
    home.file("windows.icf", &config("C: \"\"", 16_384));
    home.plumb("as iometer /c windows.icf").expect(1).expect_stderr(&["is a Windows drive", "write the path"]);
    home.file("full.icf", &config(".", 0));
    home.plumb("as iometer /c full.icf").expect(1).expect_stderr(&["a maximum size of 0 would fill the disk"]);
    let listed = home.plumb("as iometer /l").expect(0);
    assert!(
        listed.out.contains("\tDefault,NONE\n") && listed.out.contains("\t2048,100,67,100,0,1,2048,0\n"),
        "{}",
        listed.out
    );
}
