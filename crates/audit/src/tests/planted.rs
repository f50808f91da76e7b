//! Studies with one planted defect each, and clean ones, in `fixtures/`; counts the findings.

use super::*;

/// Returns the names and texts of the studies in a directory of fixtures.
fn fixtures(directory: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(directory);
    let mut found: Vec<(String, String)> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    found
}

fn warnings(audit: &Audit) -> Vec<String> {
    let above = audit.findings.iter().filter(|finding| finding.level > Level::Note);
    above.map(|finding| format!("{} {}", finding.code, finding.rule)).collect()
}

// Protects: each planted defect is found under its own name, and no claim survives it.
#[test]
fn planted_defects_are_found() {
    let planted = fixtures("planted");
    assert!(planted.len() >= 42, "{}", planted.len());
    let mut missed = Vec::new();
    for (name, text) in planted {
        let first = text.lines().next().unwrap_or_default();
        let expected = first.strip_prefix("# planted: ").expect("the first line names what is planted").to_owned();
        let audit = audited(&name, &text);
        let (found, verdicts) = (warnings(&audit), verdicts(&audit));
        assert!(!verdicts.is_empty(), "{name} claims nothing");
        if !found.contains(&expected) || verdicts.contains(&ClaimVerdict::Stands) {
            missed.push(format!("{name}: {expected} is not among {found:?}, {verdicts:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

// Protects: clean studies have no findings and keep their claims, so that only the planted defects are found.
#[test]
fn clean_studies_keep_their_claims() {
    let clean = fixtures("clean");
    assert!(clean.len() >= 20, "{}", clean.len());
    let mut withdrawn = Vec::new();
    for (name, text) in clean {
        let audit = audited(&name, &text);
        let (found, verdicts) = (warnings(&audit), verdicts(&audit));
        if !found.is_empty() || verdicts.iter().any(|verdict| *verdict != ClaimVerdict::Stands) {
            withdrawn.push(format!("{name}: {found:?}, {verdicts:?}"));
        }
    }
    assert!(withdrawn.is_empty(), "{}", withdrawn.join("\n"));
}
