//! `plumb audit` end to end: the published studies, the document's example, and invalid files.

use crate::common::Home;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

fn study(name: &str) -> String {
    root().join("audits").join(name).display().to_string()
}

/// Returns the block of the document that begins with this mark.
fn block(mark: &str) -> String {
    let text = std::fs::read_to_string(root().join("docs/audit.md")).unwrap();
    let (_, rest) = text.split_once(&format!("```{mark}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// The document's example equals the program's output.
#[test]
fn the_document_s_example_is_true() {
    let home = Home::new();
    home.file("study.toml", &block("ini study.toml"));
    let output = home.plumb("audit study.toml");
    assert_eq!(output.code, 3, "{}", output.err);
    let shown = block("console");
    let shown = shown.strip_prefix("$ plumb audit study.toml\n").unwrap();
    assert_eq!(output.out.trim_end(), shown.trim_end());
}

#[test]
fn published_studies_are_rejected_with_their_findings() {
    let home = Home::new();
    for name in ["three-systems", "raid4-vs-raid5", "mirrors", "ext3-kernels"] {
        let output = home.plumb_args(["audit", "--json", &study(&format!("{name}.toml"))]);
        assert_eq!(output.code, 3, "{name}: {}", output.err);
        let audit: serde_json::Value = plumb_document::json::from_str(&output.out).unwrap();
        assert_eq!(audit["schema"], "plumb.audit/1");
        assert_eq!(audit["verdict"], "reject");
        assert!(audit["findings"].as_array().unwrap().len() > 10);
    }
    let several = home.plumb_args(["audit", &study("mirrors.toml"), &study("ext3-kernels.toml")]);
    assert!(several.out.contains("gmirror") && several.out.contains("PostMark"), "{}", several.out);
}

/// A sound study ends with 0.
#[test]
fn a_sound_study_is_accepted() {
    let home = Home::new();
    let text = block("ini study.toml")
        .replace("order = \"fixed\"", "order = \"randomised\"")
        .replace("repetitions = 1", "repetitions = 8\nspread-is = \"standard-deviation\"")
        .replace("6.1.0-32", "6.1.0-30")
        .replace("\"136.4\"", "\"143.0\"")
        .replace("seconds = \"150.2\"", "seconds = \"150.2\", spread = 0.01")
        .replace("seconds = \"142.2\"", "seconds = \"142.2\", spread = 0.01")
        .replace("10.7", "5.6");
    home.file("study.toml", &text);
    let output = home.plumb("audit study.toml");
    assert_eq!(output.code, 0, "{}{}", output.out, output.err);
    assert!(output.out.contains("1 of 1 claim stands") && output.out.contains("none"), "{}", output.out);
}

/// A bad file ends with 2, with its place and the reason; results of other files are not printed.
#[test]
fn a_file_that_is_no_study_is_refused() {
    let home = Home::new();
    home.file("study.toml", &block("ini study.toml").replace("side = \"b\"", "side = \"c\""));
    let output = home.plumb_args(["audit", &study("mirrors.toml"), "study.toml", "nothing.toml"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""));
    for words in ["study.toml:", "unknown side `c`", "cannot read nothing.toml"] {
        assert!(output.err.contains(words), "{}", output.err);
    }
}

#[test]
fn codes_and_schemas_are_explained() {
    let home = Home::new();
    assert!(home.plumb("explain P3").out.contains("mounted"));
    // A code shared by audit and checks is explained for both.
    home.plumb("explain e1").expect(0).expect_stdout(&["Too few runs", "Why this threshold", "beneath-noise"]);
    home.plumb("explain Z9").expect(2).expect_stderr(&["A1–A10", "P1–P10"]);
    for (code, has_check) in [("E1", true), ("P3", false)] {
        let output = home.plumb(&format!("explain {code} --json")).expect(0);
        let explained: serde_json::Value = plumb_document::json::from_str(&output.out).unwrap();
        assert_eq!(explained["check"].is_object(), has_check, "{code}");
        assert_eq!(explained["audit_rules"][0]["code"], code);
    }
    for form in ["audit", "audit-result"] {
        let output = home.plumb_args(["schema", form]);
        let schema: serde_json::Value = plumb_document::json::from_str(&output.out).unwrap();
        assert!(schema["properties"].is_object(), "{form}");
    }
}
