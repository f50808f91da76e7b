//! The four published studies, and what must be found in each.

use super::*;
use std::path::Path;

fn study(name: &str) -> Audit {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../audits").join(name).with_extension("toml");
    let text = std::fs::read_to_string(&path).unwrap();
    match read(name, &text) {
        Ok(study) => audit(&study),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn dump() {
    for name in ["three-systems", "raid4-vs-raid5", "mirrors", "ext3-kernels"] {
        let audit = study(name);
        println!("==== {} {:?}", audit.title, audit.verdict);
        for f in &audit.findings {
            println!("{:5} {} {}: {}\n      {}\n      {}", f.level.name(), f.code, f.rule, f.message, f.observed, f.cells.join(" "));
        }
        for c in &audit.claims {
            println!("CLAIM {}: {}\n   {:?}\n   {:?}", c.verdict.name(), c.text, c.because, c.findings);
        }
    }
}
