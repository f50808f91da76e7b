//! `plumb export` for other programs: Parquet, OpenSearch, Bencher and Horreum.

use crate::common::Home;
use crate::common::needs;
use crate::study_question::measured;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The modules that read the exports, from PyPI.
const MODULES: &str = "import duckdb, jsonschema, pandas, polars, pyarrow";

/// Returns the Python of the environment that `cargo xtask test --install` makes; `None` skips the test.
#[track_caller]
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python-tests/bin/python");
    if Command::new(&python).args(["-c", MODULES]).output().is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    needs::skip(&format!("needs target/python-tests with `{MODULES}`, which `cargo xtask test --install` makes"));
    None
}

/// Runs a script in the working directory, and returns what it printed.
fn run_script(python: &Path, home: &Home, script: &str) -> String {
    let output = Command::new(python).args(["-c", script]).current_dir(home.work()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}\n{script}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes three tagged runs that repeat one measurement.
fn nightly() -> Home {
    let home = Home::new();
    let line = "run random-read --at sim:ssd --set time=200ms --set size=16MiB --runs 3 --name nightly";
    home.plumb(line).expect(0);
    home
}

/// Makes a run whose names are hostile: the workload's, the phase's, the tags'.
fn with_hostile_names() -> Home {
    let home = nightly();
    let mut results = home.plumb("export last").expect(0).json();
    let names = ["say \"x\"\\", "two\nlines\r\u{2028}", "$'/mnt/d\\xff'", "=1+1", &"é🦀".repeat(1700)];
    for (number, name) in names.iter().enumerate() {
        // An imported id must be a UUID.
        results[0]["id"] = format!("019abf2e-7c00-7000-8000-00000000000{number}").into();
        results[0]["workload"]["name"] = (*name).into();
        results[0]["phases"][0]["name"] = (*name).into();
        results[0]["environment"]["hostname"] = (*name).into();
        home.file("hostile.json", &results.to_string());
        // A line feed is refused in a name, so that the others arrive.
        let output = home.plumb("import hostile.json");
        assert!(matches!(output.code, 0 | 2), "{}", output.err);
    }
    assert!(home.query("SELECT count(*) FROM run")[0][0].as_u64().unwrap() >= 6);
    home
}

fn parquet_files(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

// Protects: a nightly export adds each run once, changes no file, and gives equal content an equal name.
#[test]
fn a_parquet_directory_grows_and_never_doubles() {
    let home = nightly();
    let first = home.plumb("export --parquet numbers --site lab").expect(0).out;
    let files = parquet_files(&home.work().join("numbers"));
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(first.trim(), files[0].strip_prefix(home.work()).unwrap().to_str().unwrap());
    let name = files[0].file_stem().unwrap().to_str().unwrap();
    let content = std::fs::read(&files[0]).unwrap();
    assert_eq!((name.len(), &content[..4]), (64, b"PAR1".as_slice()));
    let parent = files[0].parent().unwrap().strip_prefix(home.work()).unwrap().to_str().unwrap();
    assert!(parent.starts_with("numbers/site=lab/month=20"), "{parent}");
    home.plumb("export --parquet numbers --site lab")
        .expect(0)
        .expect_stdout(&["nothing new: the 3 runs are in numbers already"]);
    // The same runs from another host that has no such directory have the same name.
    home.plumb("export --parquet elsewhere --site lab").expect(0);
    assert_eq!(parquet_files(&home.work().join("elsewhere"))[0].file_name(), files[0].file_name());
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=16MiB --seed 9").expect(0);
    home.plumb("export --parquet numbers --site lab").expect(0);
    assert_eq!(std::fs::read(&files[0]).unwrap(), content);
    assert_eq!(parquet_files(&home.work().join("numbers")).len(), 2);
    // Without --site, the site is the host.
    home.plumb("export last --parquet hosts").expect(0).expect_stdout(&["hosts/site="]);
}

#[test]
fn parquet_paths_are_checked() {
    let home = nightly();
    home.plumb("export --parquet one.parquet --site lab").expect(2).expect_stderr(&["--site", "name a directory"]);
    home.plumb("export --csv --site lab").expect(2).expect_stderr(&["--parquet"]);
    home.file("plain", "x");
    home.plumb("export --parquet plain").expect(2).expect_stderr(&["plain is a file", "ends in .parquet"]);
    assert_eq!(std::fs::read_to_string(home.work().join("plain")).unwrap(), "x");
    let piped = home.command(["export", "last", "--parquet", "/dev/stdout"]).output().unwrap().stdout;
    assert!(piped.starts_with(b"PAR1") && piped.ends_with(b"PAR1"), "{} bytes", piped.len());
    let partition = home.plumb("export --parquet numbers --site lab").expect(0).out;
    let damaged = home.work().join(Path::new(partition.trim()).parent().unwrap()).join("damaged.parquet");
    std::fs::write(&damaged, "PAR1 but no more").unwrap();
    home.plumb("export --parquet numbers --site lab").expect(4).expect_stderr(&["damaged.parquet", "Remove it"]);
    // The name of a directory may end as that of a file does.
    std::fs::create_dir(home.work().join("d.parquet")).unwrap();
    home.plumb("export --parquet d.parquet").expect(0).expect_stdout(&["d.parquet/site="]);
    home.plumb("export last --parquet one.parquet --anonymise").expect(0).expect_stdout(&["one.parquet"]);
}

// Protects: four readers see the same rows, types and partitions, also with hostile names.
#[test]
fn parquet_is_read_by_pyarrow_duckdb_pandas_and_polars() {
    let Some(python) = python() else { return };
    let home = with_hostile_names();
    home.plumb("export --parquet numbers").expect(0);
    home.plumb("export --parquet one.parquet").expect(0);
    let script = r#"
import json, duckdb, pandas, polars, pyarrow.parquet as pq, pyarrow.dataset as ds
one = pq.read_table("one.parquet")
rows = duckdb.sql("SELECT * FROM read_parquet('numbers/**/*.parquet', hive_partitioning = true)")
table = ds.dataset("numbers", partitioning="hive").to_table()
frame = pandas.read_parquet("numbers")
lazy = polars.scan_parquet("numbers/**/*.parquet", hive_partitioning=True).collect()
many = [one.num_rows, rows.shape[0], table.num_rows, len(frame), lazy.height]
names = [sorted(set(phases)) for phases in (
    one["phase"].to_pylist(), [row[0] for row in rows.project("phase").fetchall()], table["phase"].to_pylist(),
    frame["phase"], lazy["phase"])]
hosts = [sorted(set(hosts)) for hosts in (
    [row[0] for row in rows.project("site").fetchall()], table["site"].to_pylist(), frame["site"].astype(str), lazy["site"])]
sums = [round(float(total) / 1e3) for total in (
    sum(one["value"].to_pylist()), rows.aggregate("sum(value)").fetchall()[0][0], frame["value"].sum(), lazy["value"].sum())]
types = duckdb.sql("DESCRIBE SELECT * FROM 'one.parquet'").fetchall()
print(json.dumps(dict(many=many, names=names, hosts=hosts, sums=sums, types=[row[:2] for row in types],
    tags=one["tags"].to_pylist()[0], started=str(one.schema.field("started").type),
    schema=pq.read_metadata("one.parquet").metadata[b"plumb.schema"].decode())))
"#;
    let read: Value = serde_json::from_str(&run_script(&python, &home, script)).unwrap();
    let rows = home.query("SELECT count(*) FROM value WHERE value IS NOT NULL")[0][0].clone();
    assert_eq!(read["many"], json!([rows, rows, rows, rows, rows]));
    for (what, values) in [("names", &read["names"]), ("hosts", &read["hosts"]), ("sums", &read["sums"])] {
        let values = values.as_array().unwrap();
        assert!(values.iter().all(|value| *value == values[0]), "{what}: {values:?}");
    }
    let names = read["names"][0].as_array().unwrap();
    for name in ["say \"x\"\\", "$'/mnt/d\\xff'", "=1+1", "random-read"] {
        assert!(names.contains(&name.into()), "{name}: {names:?}");
    }
    assert!(names.iter().any(|name| name.as_str().unwrap().len() > 10_000));
    assert_eq!((&read["started"], &read["schema"]), (&"timestamp[us, tz=UTC]".into(), &"plumb.numbers/1".into()));
    let documented: Vec<Value> = table_of_columns().into_iter().map(|column| json!([column[0], column[1]])).collect();
    assert_eq!(read["types"], Value::from(documented));
}

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/export.md")).unwrap()
}

/// Returns the rows of the page's table of columns: name, type and meaning.
fn table_of_columns() -> Vec<[String; 3]> {
    let page = page();
    let lines = page.lines().skip_while(|line| !line.starts_with("| column |")).skip(2);
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        [cells[0].trim_matches('`').to_owned(), cells[1].to_owned(), cells[2].to_owned()]
    };
    lines.take_while(|line| line.starts_with('|')).map(row).collect()
}

/// Returns the blocks of the page with this mark.
fn blocks(mark: &str) -> Vec<String> {
    let (page, begin) = (page(), format!("```{mark}\n"));
    page.split(&begin).skip(1).map(|part| part.split("\n```").next().unwrap().to_owned()).collect()
}

// Protects: every query and script of the page runs, and finds what it is for.
#[test]
fn the_queries_of_the_page_run() {
    let Some(python) = python() else { return };
    let home = measured();
    for seed in 0..3 {
        home.plumb(&format!(
            "run random-read --at sim:ssd --set time=200ms --set size=16MiB --seed {seed} --name nightly"
        ))
        .expect(0);
    }
    home.plumb("export --parquet numbers --site lab").expect(0);
    let queries = blocks("sql");
    assert_eq!(queries.len(), 8);
    home.file("queries.json", &serde_json::to_string(&queries).unwrap());
    let script = r#"
import duckdb, json
counts = []
for query in json.load(open("queries.json")):
    relation = duckdb.sql(query)
    counts.append(None if relation is None else len(relation.fetchall()))
print(json.dumps(counts))
"#;
    let counts: Vec<Option<u64>> = serde_json::from_str(&run_script(&python, &home, script)).unwrap();
    // The first two make views; one month has no change to show.
    let is_right = |(place, count): (usize, &Option<u64>)| match place {
        0 | 1 => count.is_none_or(|count| count == 0),
        6 => *count == Some(0),
        _ => count.is_some_and(|count| count > 0),
    };
    assert!(counts.iter().enumerate().all(is_right), "{counts:?}");
    for script in blocks("python") {
        let printed = run_script(&python, &home, &script);
        assert!(printed.contains("read.iops"), "{printed}");
    }
}

#[test]
fn opensearch_lines_are_pairs_and_stable() {
    let home = with_hostile_names();
    home.plumb("export --opensearch n.ndjson").expect(0).expect_stdout(&["n.ndjson"]);
    let written = std::fs::read_to_string(home.work().join("n.ndjson")).unwrap();
    // Names that could control a terminal are escaped on standard output, which is the same JSON.
    let printed = home.plumb("export --opensearch -").expect(0).out;
    let parse = |text: &str| -> Vec<Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    assert_eq!(parse(&written), parse(&printed));
    home.plumb("tag last later").expect(0);
    let again = parse(&home.plumb("export --opensearch -").expect(0).out);
    let id = |action: &Value| action["index"]["_id"].as_str().unwrap().to_owned();
    let ids: BTreeSet<String> = parse(&written).iter().step_by(2).map(id).collect();
    assert_eq!(again.iter().step_by(2).map(id).collect::<BTreeSet<_>>(), ids);
    assert_eq!(again.len(), 2 * ids.len());
    let rows = home.query("SELECT count(*) FROM value WHERE value IS NOT NULL")[0][0].as_u64().unwrap();
    assert_eq!(ids.len() as u64, rows);
    let documented: BTreeSet<String> = table_of_columns().into_iter().map(|[name, ..]| name).collect();
    for document in again.iter().skip(1).step_by(2) {
        let fields =
            document.as_object().unwrap().keys().map(|name| if name == "@timestamp" { "started" } else { name });
        let unknown: Vec<&str> = fields.filter(|name| !documented.contains(*name)).collect();
        assert!(unknown.is_empty(), "not on the page: {unknown:?}");
    }
    let template = home.plumb("export --opensearch-template").expect(0).json();
    assert_eq!(template["index_patterns"][0], "plumb-numbers-*");
    home.plumb("export last --opensearch-template").expect(2);
}

// Protects: what the command prints fits Bencher's published schema, and its bounds come from repeated runs.
#[test]
fn bencher_metrics_fit_their_schema() {
    let home = with_hostile_names();
    home.plumb("export --bmf").expect(2).expect_stderr(&["name the runs of one report", "--tag TAG"]);
    let one = home.plumb("export last --bmf").expect(0).json();
    let first = |metrics: &Value| metrics.as_object().unwrap().values().next().unwrap()["read-iops"].clone();
    assert!(first(&one)["lower_value"].is_null() && first(&one)["value"].is_f64(), "{one}");
    let three = home.plumb("export --tag nightly --bmf").expect(0).json();
    let value = |name: &str| first(&three)[name].as_f64().unwrap();
    assert!(value("lower_value") < value("value") && value("value") < value("upper_value"), "{three}");
    home.plumb("run random-read --at sim:hdd --set time=200ms --set size=16MiB --name nightly").expect(0);
    home.plumb("export --tag nightly --bmf").expect(2).expect_stderr(&["sim:ssd", "sim:hdd", "one history"]);
    home.plumb("retract last --reason another-disk").expect(0);
    let kept = home.plumb("export --tag nightly --bmf").expect(0).expect_stderr(&["left out 1 of ", "retracted"]);
    assert_eq!(kept.json(), three, "the retracted run counts no more");
    let Some(python) = python() else { return };
    home.file("bmf.json", &json!([one, three]).to_string());
    // <https://bencher.dev/v0/bmf.json>, with the limits of names that its page adds.
    let script = r#"
import json, jsonschema
measure = {"type": "object", "required": ["value"],
           "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")}}
benchmark = {"type": "object", "patternProperties": {".+": measure}, "propertyNames": {"minLength": 1, "maxLength": 64}}
schema = {"$schema": "http://json-schema.org/draft-07/schema", "type": "object",
          "patternProperties": {".+": benchmark}, "propertyNames": {"minLength": 1, "maxLength": 1024}}
for report in json.load(open("bmf.json")):
    jsonschema.Draft7Validator(schema).validate(report)
"#;
    run_script(&python, &home, script);
}

#[test]
fn horreum_documents_have_what_their_labels_extract() {
    let home = measured();
    let printed = home.plumb("export --horreum").expect(0).out;
    let documents: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.len() as u64, home.query("SELECT count(*) FROM run")[0][0].as_u64().unwrap());
    for document in &documents {
        assert_eq!(document["$schema"], "urn:plumb:run:1");
        assert!(document["start"].as_str() < document["stop"].as_str(), "{document}");
        assert!(document["study"]["factors"].is_object() && document["results"].is_object(), "{document}");
    }
    let labels = home.plumb("export --horreum-labels").expect(0).json();
    let documented: Vec<String> = labels
        .as_array()
        .unwrap()
        .iter()
        .map(|label| {
            let kind = if label["metrics"] == true { "metrics" } else { "filtering" };
            let path = label["extractors"][0]["jsonpath"].as_str().unwrap();
            format!("| `{}` | `{path}` | {kind} |", label["name"].as_str().unwrap())
        })
        .collect();
    assert!(page().contains(&documented.join("\n")), "the page's table is not:\n{}", documented.join("\n"));
}

// Protects: no format prints a name that `--anonymise` promises to replace.
#[test]
fn every_form_is_anonymous() {
    let home = nightly();
    let mut results = home.plumb("export last").expect(0).json();
    results[0]["id"] = "019abf2e-7c00-7000-8000-000000000009".into();
    results[0]["environment"]["hostname"] = "vault-7.example".into();
    home.file("named.json", &results.to_string());
    home.plumb("import named.json").expect(0);
    for form in ["--opensearch -", "--horreum", "--csv", "--parquet a.parquet", "--parquet a"] {
        home.plumb(&format!("export 019abf2e-7c00-7000-8000-000000000009 {form} --anonymise")).expect(0);
    }
    let printed = home.plumb("export 019abf2e-7c00-7000-8000-000000000009 --horreum --anonymise").expect(0).out;
    assert!(printed.contains("\"host\":\"host-"), "{printed}");
    for file in parquet_files(&home.work()).iter().filter(|file| file.extension().is_some_and(|end| end == "parquet")) {
        assert!(
            !file.to_string_lossy().contains("vault") || !file.starts_with(home.work().join("a")),
            "{}",
            file.display()
        );
        let content = std::fs::read(file).unwrap();
        assert!(!content.windows(7).any(|part| part == b"vault-7"), "{}", file.display());
    }
}
