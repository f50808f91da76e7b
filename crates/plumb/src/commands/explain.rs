//! `plumb explain`: explains checks.

use plumb_audit::Rule;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output;
use plumb_cli::session;
use plumb_trust::Check;
use serde_json::{Value, json};

pub(crate) fn run(code: Option<&str>, common: &Common) -> Result<End, Stopped> {
    match code {
        None if common.json => {
            session::print_json(&plumb_trust::CHECKS.iter().map(|check| head(check)).collect::<Vec<_>>())?
        }
        None => {
            let line = |code: &str, title: &str| format!("{code:4} {title}\n");
            let mut lines: String = plumb_trust::CHECKS.iter().map(|check| line(check.code, check.title)).collect();
            let number = |rule: &&Rule| rule.code.strip_prefix('P').and_then(|number| number.parse::<u32>().ok());
            let mut of_audits: Vec<(u32, &Rule)> =
                plumb_audit::RULES.iter().filter_map(|rule| Some((number(rule)?, *rule))).collect();
            of_audits.sort_by_key(|(number, _)| *number);
            lines.extend(of_audits.iter().map(|(_, rule)| line(rule.code, &format!("{} (plumb audit)", rule.name))));
            output::print(&lines);
        }
        Some(code) => {
            let check = plumb_trust::explain(code);
            // Audits compare published numbers with rules; these share the codes of checks, and have some codes of their own.
            let rules = plumb_audit::rules_of(code);
            if check.is_none() && rules.is_empty() {
                return Err(Stopped::usage(unknown(code)));
            }
            if common.json {
                session::print_json(&whole(check, &rules))?;
            } else {
                let width = session::style().width;
                let parts = [plumb_trust::explanation(code, width), plumb_audit::explanation(code, width)];
                output::print(&parts.into_iter().flatten().collect::<Vec<_>>().join("\n"));
            }
        }
    }
    Ok(End::Done)
}

fn unknown(code: &str) -> String {
    let mut known: Vec<&str> = plumb_trust::CHECKS.iter().map(|check| check.code).collect();
    known.extend(plumb_audit::RULES.iter().map(|rule| rule.code).filter(|code| code.starts_with('P')));
    // Codes of one letter are numbered from 1.
    let mut ranges: Vec<String> = Vec::new();
    for letter in ["A", "B", "C", "D", "E", "P"] {
        let last = known.iter().filter_map(|code| code.strip_prefix(letter)?.parse::<u32>().ok()).max();
        ranges.extend(last.map(|last| format!("{letter}1–{letter}{last}")));
    }
    format!(
        "unknown check `{code}`; the checks are {}. `plumb explain` lists them; P codes belong to `plumb audit`",
        ranges.join(", ")
    )
}

fn head(check: &Check) -> Value {
    json!({ "code": check.code, "title": check.title, "threshold": check.threshold })
}

fn whole(check: Option<&Check>, rules: &[&Rule]) -> Value {
    let check = check.map(|check| {
        let scopes: Vec<&str> = check.judges.iter().map(|judge| judge.scope().name()).collect();
        json!({
            "code": check.code, "title": check.title, "made_for": scopes, "what": check.what, "why": check.why,
            "how": check.how, "threshold": check.threshold, "settled": check.settled, "fix": check.fix_in_words(),
        })
    });
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| json!({ "code": rule.code, "rule": rule.name, "what": rule.what, "fix": rule.fix }))
        .collect();
    json!({ "check": check, "audit_rules": rules })
}
