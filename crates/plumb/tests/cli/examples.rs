//! `examples/`: the scripts for exported numbers run here, in Python and in R, and both give the exported result.

use crate::common::Home;
use crate::common::needs::{self, PYTHON};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

/// Returns the study of the examples, and its numbers in both forms.
fn exported() -> Home {
    let home = Home::new();
    home.file("two-disks.toml", &std::fs::read_to_string(example("two-disks.toml")).unwrap());
    home.plumb("study run two-disks.toml").expect(0);
    for (form, name) in [("--ndjson", "runs.ndjson"), ("--csv", "runs.csv")] {
        let text = home.plumb(&format!("export --study two-disks {form}")).expect(0).out;
        home.file(name, &text);
    }
    home
}

/// Computes `depth 1: the second is 0.667 times as fast` from the same lines.
fn expected(home: &Home) -> Vec<String> {
    let lines = std::fs::read_to_string(home.work().join("runs.ndjson")).unwrap();
    let mut logs: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    for line in lines.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["metric"] == "read.iops" && row["verdict"] != "reject" {
            let text = |name: &str| row[name].as_str().unwrap().to_owned();
            let level = (text("factor.depth"), text("factor.device"));
            logs.entry(level).or_default().push(row["value"].as_f64().unwrap().ln());
        }
    }
    assert_eq!(logs.len(), 4, "{logs:?}");
    let means: Vec<(&String, f64)> =
        logs.iter().map(|((depth, _), logs)| (depth, logs.iter().sum::<f64>() / logs.len() as f64)).collect();
    let line = |pair: &[(&String, f64)]| {
        format!("depth {}: the second is {:.3} times as fast", pair[0].0, (pair[1].1 - pair[0].1).exp())
    };
    means.chunks(2).map(line).collect()
}

fn says_what_is_expected(command: &mut Command, home: &Home) {
    let output = command.current_dir(home.work()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    for line in expected(home) {
        assert!(printed.contains(&line), "{line} is not in:\n{printed}");
    }
}

#[test]
fn the_notebook_runs() {
    if !needs::program(PYTHON, &["-c", "import pandas"]) {
        return;
    }
    let home = exported();
    // Like a notebook, but without one: its code cells, in order.
    let notebook: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(example("levels.ipynb")).unwrap()).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter().filter(|cell| cell["cell_type"] == "code");
    let lines = |cell: &serde_json::Value| -> String {
        cell["source"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
    };
    let script: Vec<String> = cells.map(lines).collect();
    assert!(script.len() > 2);
    says_what_is_expected(Command::new(PYTHON).args(["-c", &script.join("\n")]), &home);
}

#[test]
fn the_r_script_runs() {
    if !needs::program("Rscript", &["--version"]) {
        return;
    }
    let home = exported();
    says_what_is_expected(Command::new("Rscript").arg(example("levels.R")).arg("runs.csv"), &home);
}
