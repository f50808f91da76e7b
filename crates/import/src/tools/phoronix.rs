//! The Phoronix Test Suite: `composite.xml`. Each system is a run, each test a phase. Its MB/s are MiB/s in some test profiles and
//! 1000 KiB/s in others, and its IOPS are copied from fio, such as 12.3k. So no metric fits them, and the unit is kept as printed.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use crate::xml::{self, Element};
use plumb_result::metric::Better;
use plumb_result::published::Unread;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("<PhoronixTestSuite>")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let root = xml::parse(input.text())?;
    let Some(suite) = root.one("PhoronixTestSuite") else {
        return Err(unread("", "the file contains no <PhoronixTestSuite>", "pass the file composite.xml of a result"));
    };
    let mut runs: Vec<(String, Run)> = Vec::new();
    for result in suite.all("Result") {
        for entry in result.one("Data").into_iter().flat_map(|data| data.all("Entry")) {
            let name = entry.text_of("Identifier").unwrap_or_default().to_owned();
            let at = runs.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                runs.push((name.clone(), begun(suite, &name)));
                runs.len() - 1
            });
            number(&mut runs[at].1, result, entry);
        }
    }
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// Creates the run of a system, with the file's facts about it.
fn begun(suite: &Element, name: &str) -> Run {
    let mut run = Run::new("composite.xml");
    run.version = suite
        .one("Generated")
        .and_then(|one| one.text_of("TestClient"))
        .unwrap_or_default()
        .replace("Phoronix Test Suite v", "");
    run.set("system", Some(name));
    run.set("title", suite.one("Generated").and_then(|one| one.text_of("Title")));
    let system = suite.all("System").find(|system| system.text_of("Identifier") == Some(name));
    for part in ["Hardware", "Software", "TestClientVersion", "TimeStamp", "Notes"] {
        run.set(part, system.and_then(|system| system.text_of(part)));
    }
    run.note("MB/s of the Phoronix Test Suite is MiB/s in some test profiles and 1000 KiB/s in others");
    run
}

fn number(run: &mut Run, result: &Element, entry: &Element) {
    let text = |name: &str| result.text_of(name).unwrap_or_default();
    let scale = text("Scale").to_owned();
    let better = match text("Proportion") {
        "HIB" => Some(Better::Higher),
        "LIB" => Some(Better::Lower),
        _ => None,
    };
    let name =
        [text("Title"), text("Description")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
    let what = result.text_of("Identifier").map(str::to_owned);
    run.set(&name, what);
    let phase = run.phase_named(&name);
    // A failed test has no value.
    let value = entry.text_of("Value").and_then(decimal);
    phase.number_or_null("result", value, &scale, better);
    let raw: Vec<f64> =
        entry.text_of("RawString").into_iter().flat_map(|text| text.split(':')).filter_map(decimal).collect();
    if raw.len() > 1 {
        for (at, value) in raw.iter().enumerate() {
            phase.number(&format!("trial {}", at + 1), Some(*value), &scale, better);
        }
    }
}
