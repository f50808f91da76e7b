//! `plumb report` and `--report`: stored results as HTML, workbook, pictures and Markdown.

use crate::common::needs::{self, PYTHON};
use crate::common::{Home, flat};
use crate::study_conduct::STUDY;
use std::path::Path;
use std::process::Command;

fn read(home: &Home, name: &str) -> String {
    std::fs::read_to_string(home.work().join(name)).unwrap()
}

/// A self-contained page: it fetches nothing and runs nothing, and every chart has a text alternative.
fn is_a_page(html: &str) {
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    // The JSON at the end is escaped text, which may contain any of these words.
    let (html, json) = html.split_once("<details>").unwrap_or((html, ""));
    assert!(!json.contains("<script") && !json.contains("<svg"), "{json}");
    for foreign in ["<script", "src=", "@import", "url(", "href="] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    let links = html.matches("http").count();
    assert_eq!(
        links,
        html.matches("xmlns=\"http://www.w3.org/2000/svg\"").count(),
        "only names of namespaces are addresses"
    );
    assert_eq!(html.matches("<svg").count(), html.matches("role=\"img\" aria-label=\"").count());
    assert!(!html.contains("aria-label=\"\"") && !html.contains("NaN"), "{html}");
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
}

/// Returns the names in a ZIP archive's directory: enough to see that a workbook is complete.
fn names_in(zip: &[u8]) -> String {
    assert_eq!(&zip[..2], b"PK");
    String::from_utf8_lossy(zip).into_owned()
}

#[test]
fn a_run_is_reported_in_every_form() {
    let home = Home::new();
    home.plumb("run mail --at sim:ssd --set time=4s").expect(0);
    let output = home.plumb("report last --html r.html --xlsx r.xlsx --png png --svg svg --md r.md").expect(0).out;
    let html = read(&home, "r.html");
    is_a_page(&html);
    for wanted in [
        "How far to trust it",
        "Latency by percentile",
        "over time",
        "Devices: busy",
        "latency over time",
        "Method",
        "For a paper",
        "seed",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    // The order is answer, numbers, trust, charts, and the JSON in a collapsed section.
    let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = ["<h2>Numbers", "<h2>How far to trust it", "<h2>Charts", "<details>", "plumb.result/1"].map(at);
    assert!(order.is_sorted(), "{order:?}");
    for name in ["r.html", "r.xlsx", "r.md", "png/latency.png", "svg/latency.svg"] {
        assert!(output.contains(name), "{output}");
    }
    let png = std::fs::read(home.work().join("png/latency.png")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    assert!(read(&home, "svg/latency.svg").starts_with("<svg xmlns="));
    let markdown = read(&home, "r.md");
    assert!(markdown.starts_with("# mail at sim:ssd") && markdown.contains("](svg/latency.svg)"), "{markdown}");
    let book = names_in(&std::fs::read(home.work().join("r.xlsx")).unwrap());
    assert!(book.contains("xl/charts/chart1.xml") && book.contains("xl/worksheets/sheet2.xml"));
    // Without a file, the report is Markdown, with words instead of charts.
    home.plumb("report").expect(0).expect_stdout(&["# mail at sim:ssd", "Latency by percentile."]);
    let drawn = home.plumb("show last --plot").expect(0).expect_stdout(&["over 4.0 s", "time of an op", "p99"]).out;
    assert!(drawn.lines().all(|line| line.chars().count() <= 100) && drawn.contains('█'), "{drawn}");
    home.plumb("show last --plot --json").expect(2).expect_stderr(&["plumb show --json"]);
    // Several runs are not called one run.
    home.plumb("run mail --at sim:ssd --set time=1s --runs 3 --report m.html").expect(0);
    let medians = read(&home, "m.html");
    assert!(
        medians.contains("Medians of 3 runs") && medians.contains("was run 3 times") && !medians.contains("One run"),
        "{medians}"
    );
    home.plumb("report nonsense")
        .expect(2)
        .expect_stderr(&["no run \"nonsense\"", "no comparison, gate, sweep, rounds, ladder or study"]);
    home.plumb("report --html missing/r.html").expect(4).expect_stderr(&["cannot write missing/r.html"]);
}

// Protects readers from an empty chart and an empty table where checks rejected the runs of a side.
#[test]
fn a_comparison_without_numbers_has_no_charts() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --set time=200ms").expect(0);
    home.plumb("run random-read --at sim:ssd?background=60% --set time=200ms").expect(3);
    home.plumb("compare --from-store last~1 last --report c.html");
    let page = std::fs::read_to_string(home.work().join("c.html")).unwrap();
    assert!(
        page.contains("How far to trust it") && !page.contains("<h2>Charts") && !page.contains("<h2>Numbers"),
        "{page}"
    );
}

#[test]
fn a_comparison_is_reported_with_its_runs_as_dots() {
    let home = Home::new();
    let line = "compare sim:ssd?cv=2% sim:ssd?slow=30%&cv=2% --for random-read --budget 60s --report c.html";
    home.plumb(line).expect(0);
    let html = read(&home, "c.html");
    is_a_page(&html);
    assert!(
        html.contains("slower") && html.contains("equal for practical purposes") && html.contains("each dot is a run"),
        "{html}"
    );
    assert!(html.contains("Both sides were measured in interleaved blocks"), "{html}");
    // The last measurement was a comparison, so the report is about it.
    home.plumb("report last --html again.html").expect(0);
    assert_eq!(read(&home, "again.html"), html);
    home.plumb(&format!("{line}x/y.html")).expect(2).expect_stderr(&["--report: cannot write c.htmlx/y.html"]);
}

/// IOzone's matrix, from a run here and from another machine's file.
#[test]
fn a_matrix_is_reported_as_a_surface() {
    let home = Home::new();
    home.plumb("as iozone -a -n 256k -g 1m -y 4k -q 64k -i 0 -i 1 -f sim:ssd").expect_measured();
    home.plumb("report last --html m.html --svg svg")
        .expect(0)
        .expect_stdout(&["svg/surface-write.svg", "svg/records-reread.svg"]);
    let html = read(&home, "m.html");
    is_a_page(&html);
    for wanted in ["write by size of file and of record", "All files are smaller than memory", "1 MiB file", "64 KiB"] {
        assert!(html.contains(wanted), "{wanted}");
    }
    // For an imported result, it is unknown whether memory answered.
    home.file("dd.txt", "1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n");
    home.plumb("import dd.txt --from dd").expect(0);
    let row = home.plumb("list --json").expect(0).json();
    let id =
        row.as_array().unwrap().iter().find(|row| row["workload"] == "dd").unwrap()["id"].as_str().unwrap().to_owned();
    home.plumb(&format!("report {id} --html dd.html")).expect(0);
    let html = read(&home, "dd.html");
    assert!(html.contains("nothing was observed while it ran") && !html.contains("No warnings"), "{html}");
    assert!(!html.contains("0.00 B of memory") && html.contains("is not known"), "{html}");
}

#[test]
fn a_sweep_is_reported_with_its_knee() {
    let home = Home::new();
    home.plumb("sweep depth=1..64 sim:ssd --time 300ms --report s.html").expect(0);
    let html = read(&home, "s.html");
    is_a_page(&html);
    assert!(
        html.contains("by depth") && html.contains("Latency by achieved rate") && html.contains("the knee, at depth 8"),
        "{html}"
    );
    // The store keeps the curves: the last measurement was a sweep, which its tag finds as well.
    home.plumb("report last --html last.html").expect(0);
    assert_eq!(read(&home, "last.html"), html);
    let listed = home.plumb("list --json").expect(0).json();
    let run = &listed.as_array().unwrap()[0];
    let tag = run["tags"][0].as_str().unwrap();
    for subject in [tag.to_owned(), format!("tag:{tag}")] {
        home.plumb(&format!("report {subject} --html tag.html")).expect(0);
        assert_eq!(read(&home, "tag.html"), html, "{subject}");
    }
    // A run of a comparison is reported as a run.
    home.plumb(&format!("report {} --md run.md", run["id"].as_str().unwrap())).expect(0);
    assert!(!read(&home, "run.md").contains("by depth"));
}

/// The curve marks sizes beyond the working set: the end of memory, here or further right.
#[test]
fn a_working_set_curve_names_the_size_of_memory() {
    let home = Home::new();
    home.plumb("sweep size=1MiB..64MiB sim:ssd --time 100ms --report w.html").expect(0);
    let html = read(&home, "w.html");
    is_a_page(&html);
    assert!(
        html.contains("by size") && html.contains("64 MiB") && html.contains("All sizes are smaller than memory"),
        "{html}"
    );
}

#[test]
fn a_study_is_reported_by_level_with_everything_of_its_page() {
    let home = Home::new();
    home.file("two-disks.toml", STUDY);
    home.plumb("study run two-disks.toml --report study.xlsx").expect(0);
    assert!(names_in(&std::fs::read(home.work().join("study.xlsx")).unwrap()).contains("xl/charts/chart2.xml"));
    home.plumb("report two-disks.toml --html s.html --md s.md").expect(0);
    let html = read(&home, "s.html");
    is_a_page(&html);
    for wanted in
        ["read.iops by device", "over plots", "device by depth", "Effects on", "Verdicts", "Results by device", "plan"]
    {
        assert!(html.contains(wanted), "{wanted}");
    }
    // The level's name is text, not markup.
    assert!(html.contains("&#38;slow=50%") && !html.contains("%&slow"), "{html}");
    // `last` refers to the newest measurement.
    home.plumb("report last --md last.md").expect(0);
    assert_eq!(read(&home, "last.md"), read(&home, "s.md"));
}

#[test]
fn stored_runs_are_reported_over_time() {
    let home = Home::new();
    for _ in 0..3 {
        home.plumb("run random-read --at sim:ssd --set time=200ms --set size=16MiB --name nightly").expect(0);
    }
    home.plumb("report tag:nightly --html h.html").expect(0);
    let html = read(&home, "h.html");
    is_a_page(&html);
    assert!(html.contains("tag:nightly: 3 runs") && html.contains("no change of level found"), "{html}");
    let by_query = home.plumb_args(["report", "SELECT id FROM run ORDER BY started_at", "--md", "q.md"]).expect(0);
    assert!(by_query.out.contains("q.md"));
    home.plumb("report tag:none").expect(2).expect_stderr(&["no run has the tag `none`"]);
    home.plumb_args(["report", "SELECT 1"]).expect(2).expect_stderr(&["no ids of runs in its first column"]);
}

/// The numbers of an export are the same in both formats, and missing ones are omitted.
#[test]
fn numbers_are_exported_as_json_lines() {
    let home = Home::new();
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=16MiB").expect(0);
    let csv = home.plumb("export --csv").expect(0).out;
    let lines = home.plumb("export --ndjson").expect(0).out;
    assert_eq!(csv.lines().count() - 1, lines.lines().count());
    for line in lines.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            row["run"].is_string()
                && row["metric"].is_string()
                && !row.as_object().unwrap().values().any(|value| value.is_null())
        );
    }
    home.plumb("export --csv --ndjson").expect(2);
    home.plumb("export --ndjson --json").expect(2).expect_stderr(&["exclude each other"]);
    home.plumb("export --ndjson --parquet n.parquet").expect(2);
}

/// Common spreadsheet programs can open it: LibreOffice converts it to a page, openpyxl reads its charts.
#[test]
fn the_workbook_opens_elsewhere() {
    let home = Home::new();
    home.plumb("compare sim:ssd?cv=2% sim:ssd?slow=30%&cv=2% --for random-read --budget 60s --report c.xlsx").expect(0);
    let script = "import openpyxl,sys; book=openpyxl.load_workbook(sys.argv[1]); \
                  print([sheet.title for sheet in book], sum(len(sheet._charts) for sheet in book), \
                  sum(cell.data_type=='f' for sheet in book for row in sheet for cell in row))";
    if !needs::program(PYTHON, &["-c", "import openpyxl"]) {
        return;
    }
    let read = Command::new(PYTHON).args(["-c", script]).arg(home.work().join("c.xlsx")).output().unwrap();
    let printed = String::from_utf8_lossy(&read.stdout).into_owned();
    assert!(
        printed.contains("'Report'") && printed.contains("'Data'"),
        "{printed}{}",
        String::from_utf8_lossy(&read.stderr)
    );
    assert!(flat(&printed).ends_with(" 2 0") || flat(&printed).ends_with(" 3 0"), "charts, and no formulas: {printed}");
    assert!(Path::new(&home.work().join("c.xlsx")).exists());
}
