//! Further questions to a finished study, and its runs as a table.

use crate::commands::fits;
use crate::common::Home;
use serde_json::Value;
use std::collections::BTreeSet;

/// The second device is half as fast again, the third a tenth slower; four in flight are four times as fast.
const STUDY: &str = r#"
[experiment]
name = "three-disks"
seed = 7

[[factor]]
name   = "device"
levels = ["sim:ssd?plot=1%&cv=1%", "sim:ssd?plot=1%&cv=1%&slow=50%", "sim:ssd?plot=1%&cv=1%&slow=10%"]
change = "hard"

[[factor]]
name   = "depth"
levels = [1, 4]

[target]
path = "${device}"

[workload]
random-read = { size = "16MiB", depth = "${depth}", direct = true, time = "200ms" }

[design]
plots  = 3
repeat = 2

[compare]
by      = "device"
within  = ["depth"]
metrics = ["read.iops"]
"#;

pub(crate) fn measured() -> Home {
    let home = Home::new();
    home.file("three-disks.toml", STUDY);
    home.plumb("study run three-disks.toml").expect(0);
    home
}

fn contrasts(report: &Value) -> &Vec<Value> {
    report["contrasts"].as_array().unwrap()
}

#[test]
fn another_question_is_answered_without_measuring_and_marked() {
    let home = measured();
    let before = home.query("SELECT count(*) FROM run");
    let own = home.plumb("study report last --json").expect(0).json();
    fits(&home, "study-report", &own);
    assert!(own["asked"].is_null() && contrasts(&own).iter().all(|one| one["exploratory"] == false));

    let by_depth = home.plumb("study report three-disks --by depth --json").expect(0).json();
    fits(&home, "study-report", &by_depth);
    assert_eq!(contrasts(&by_depth).len(), 3, "one for each device");
    for one in contrasts(&by_depth) {
        assert_eq!(
            (&one["exploratory"], &one["primary"], &one["verdict"]),
            (&true.into(), &false.into(), &"faster".into())
        );
    }
    assert_eq!((&by_depth["asked"]["exploratory"], &by_depth["asked"]["planned"]["by"]), (&3.into(), &"device".into()));
    assert_eq!(by_depth["plan_hash"], own["plan_hash"]);
    home.plumb("study report last --by depth").expect(0).expect_stdout(&[
        "Asked: depth within device",
        "3 contrasts that the plan did not declare: exploratory, corrected for their number (Holm)",
        "Exploratory: depth 4 is faster than depth 1",
        "exploratory",
    ]);
    home.plumb("study report last --by depth --md")
        .expect(0)
        .expect_stdout(&["did not declare: exploratory", "| exploratory |"]);
    let averaged =
        home.plumb_args(["study", "report", "last", "--by", "depth", "--within", "", "--json"]).expect(0).json();
    // An easily changed factor is judged by provisionings: three on each of three devices.
    assert_eq!((contrasts(&averaged).len(), &contrasts(&averaged)[0]["blocks"]), (1, &9.into()));

    // A declared contrast keeps its p-value, even if fewer are requested.
    let one = home.plumb("study report last --within depth=4 --json").expect(0).json();
    for asked in contrasts(&one) {
        assert!(contrasts(&own).contains(asked), "{asked:#}");
    }
    assert_eq!((contrasts(&one).len(), &one["asked"]["exploratory"]), (2, &0.into()));
    assert_eq!(home.query("SELECT count(*) FROM run"), before, "nothing was measured");
}

#[test]
fn what_a_study_does_not_have_is_refused_with_what_it_has() {
    let home = measured();
    for (words, output) in [
        ("--by dpeth", "there is `device`, `depth`"),
        ("--by 4", "it is a level of `depth`: `depth=4`"),
        ("--by depth=8", "`depth` has no level `8`; there is `1`, `4`"),
        ("--by depth --within depth", "`depth` is what is compared"),
        ("--metrics write.bw", "no accepted run of the study has it"),
    ] {
        home.plumb(&format!("study report last {words}")).expect(2).expect_stderr(&[output]);
    }
}

/// A report contains what readers of a published study look for, on the page and in Markdown.
#[test]
fn a_report_names_the_system_and_sets_results_by_level() {
    let home = measured();
    let report = home.plumb("study report last --json").expect(0).json();
    let systems = report["systems"].as_array().unwrap();
    assert_eq!(systems.len(), 3, "one for each device");
    let names: BTreeSet<&str> =
        systems[0]["facts"].as_array().unwrap().iter().map(|fact| fact["name"].as_str().unwrap()).collect();
    for name in ["machine", "processor", "memory", "kernel", "system", "measured by", "devices"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let page =
        home.plumb("study report last").expect(0).expect_stdout(&["Results by device", "Systems", kernel.trim()]);
    assert!(!page.out.contains("Every contrast\n"), "{}", page.out);
    let full = home.plumb("study report last -v").expect(0).expect_stdout(&["Every contrast", "All 6 cells"]);
    assert!(full.out.lines().count() > page.out.lines().count());
    home.plumb("study report last --md").expect(0).expect_stdout(&[
        "## Results by device",
        "## Systems",
        "## Every contrast",
    ]);
}

#[test]
fn runs_of_a_study_are_exported_with_a_column_for_each_factor() {
    let home = measured();
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=16MiB").expect(0);
    let csv = home.plumb("export --study three-disks --csv").expect(0).out;
    let mut lines = csv.split("\r\n").filter(|line| !line.is_empty());
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(head[head.len() - 5..], ["study", "plot", "repeat", "factor.device", "factor.depth"]);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |name: &str| head.iter().position(|title| *title == name).unwrap();
    let of = |name: &str| rows.iter().map(|row| row[column(name)]).collect::<BTreeSet<_>>();
    assert_eq!(of("factor.depth"), ["1", "4"].into());
    assert_eq!((of("run").len(), of("plot").len(), of("repeat").len(), of("study").len()), (36, 9, 2, 1));
    // Next to a run outside the study, its cells are empty; alone, the columns are omitted.
    let all = home.plumb("export --csv").expect(0).out;
    assert!(all.lines().filter(|line| line.ends_with(",,,,,")).count() > 0, "{all}");
    assert!(!home.plumb("export last --csv").expect(0).out.contains("factor."));
}
