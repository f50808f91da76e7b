//! `plumb study plan` end to end: the pages of four studies, the included studies, and refused ones.

use crate::common::Home;
use plumb_study::plan::{Plan, PlanCell};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn page(sketch: &str) -> String {
    let file = root().join(format!("crates/study/src/file/fixtures/{sketch}.toml"));
    let output = Home::new().plumb_args(["study", "plan", file.to_str().unwrap(), "--runs"]).expect(0);
    output.out
}

#[test]
fn plan_of_three_distributions() {
    insta::assert_snapshot!(page("three-distros"));
}

#[test]
fn plan_of_two_raid_levels() {
    insta::assert_snapshot!(page("raid4-vs-raid5"));
}

#[test]
fn plan_of_two_mirrors() {
    insta::assert_snapshot!(page("mdadm-vs-gmirror"));
}

#[test]
fn plan_of_two_kernels() {
    insta::assert_snapshot!(page("ext3-kernels"));
}

/// `study run` accepts the JSON plan of every included study.
#[test]
fn every_study_that_is_shipped_has_a_plan_and_a_page() {
    let home = Home::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("studies")).unwrap() {
        let file = entry.unwrap().path();
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(root().join(format!("docs/studies/{name}.md")).is_file(), "no page about {name}");
        let mut runs = Vec::new();
        for scale in ["full", "small"] {
            let output =
                home.plumb_args(["study", "plan", file.to_str().unwrap(), "--scale", scale, "--json"]).expect(0);
            let plan: Plan = plumb_document::json::from_str(&output.out).unwrap();
            assert!(plan.is_intact() && plan.name == name && plan.scale == scale, "{name}");
            let workloads = plan.cells.iter().map(|cell| cell.workload.as_str());
            assert!(workloads.count() >= 4, "{name}");
            runs.push(plan.runs.len());
        }
        assert!(runs[1] < runs[0], "{name}: {runs:?}");
        seen += 1;
    }
    assert_eq!(seen, 8);
}

// Protects: published tests can be run as printed, next to the published numbers.
#[test]
fn what_was_published_is_a_scale_of_its_study() {
    let home = Home::new();
    for (name, loads, imports) in [("raid4-vs-raid5", 2, 4), ("three-systems", 4, 7), ("mirrors", 7, 8)] {
        let file = root().join(format!("studies/{name}.toml"));
        let output =
            home.plumb_args(["study", "plan", file.to_str().unwrap(), "--scale", "published", "--json"]).expect(0);
        let plan: Plan = plumb_document::json::from_str(&output.out).unwrap();
        let load = plan.factors.iter().find(|factor| factor.name == "load").unwrap();
        assert_eq!((load.levels.len(), plan.imports.len()), (loads, imports), "{name}");
        assert!(!plan.warnings.iter().any(|warning| warning.contains("import")), "{:?}", plan.warnings);
    }
}

// Protects: even at small scale, each published claim is next to a number of ours.
#[test]
fn published_claims_are_part_of_the_smallest_plan() {
    let home = Home::new();
    for name in ["raid4-vs-raid5", "three-systems", "mirrors", "ext3-kernels"] {
        let file = root().join(format!("studies/{name}.toml"));
        let output = home.plumb_args(["study", "plan", file.to_str().unwrap(), "--scale", "small", "--json"]).expect(0);
        let plan: Plan = plumb_document::json::from_str(&output.out).unwrap();
        assert!(!plan.claims.is_empty(), "{name}");
        for claim in &plan.claims {
            let levels = claim.levels.as_ref().unwrap_or_else(|| panic!("{name}: {}", claim.text));
            let has_levels =
                |cell: &&PlanCell| levels.iter().all(|(factor, level)| cell.levels.get(factor) == Some(level));
            assert!(plan.cells.iter().any(|cell| has_levels(&cell)), "{name}: {}: {levels:?}", claim.text);
        }
    }
}

// Protects: PostMark's published sets run as printed, without the sweep that this study adds.
#[test]
fn the_published_mail_spools_are_a_scale() {
    let home = Home::new();
    let file = root().join("studies/ext3-kernels.toml");
    for scale in ["published", "published-kernels"] {
        let output = home.plumb_args(["study", "plan", file.to_str().unwrap(), "--scale", scale, "--json"]).expect(0);
        let plan: Plan = plumb_document::json::from_str(&output.out).unwrap();
        assert_eq!((plan.cells.len(), plan.imports.len(), plan.claims.len()), (2 * 3 * 3, 6, 3), "{scale}");
        assert!(plan.factors.iter().all(|factor| factor.name != "working-set"), "{scale}");
        for set in ["set number 2000", "set number 4000", "set number 30000", "set transactions 50000"] {
            assert!(output.out.contains(set), "{scale}: {set}");
        }
    }
    let file = root().join("studies/three-systems.toml");
    let output = home.plumb_args(["study", "plan", file.to_str().unwrap(), "--scale", "distributions"]).expect(0);
    output.expect_stdout(&["by plot ubuntu, mint, fedora", "system=ubuntu"]);
}

#[test]
fn a_study_that_is_wrong_ends_with_2_and_points_at_it() {
    let home = Home::new();
    home.file(
        "study.toml",
        "[experiment]\nname = \"x\"\n[workload]\nraed = { size = \"1MiB\" }\n[target]\npath = \"sim:hdd\"\n",
    );
    let output = home.plumb("study plan study.toml");
    assert_eq!(output.code, 2);
    assert!(output.err.contains("study.toml:4:") && output.err.contains("did you mean `read`?"), "{}", output.err);
    let output = home.plumb("study plan nothing.toml");
    assert!(output.code == 2 && output.err.contains("cannot read nothing.toml"), "{}", output.err);
}
