//! hyperfine: the file of `--export-json`. Each command is a phase. Its times cover the whole command, so no metric fits them.

use crate::error::unread;
use crate::input::{Input, list_at, number_at, text_at};
use crate::run::Run;
use plumb_result::published::Unread;

const NS_PER_S: f64 = 1e9;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.is_json() && input.has("\"results\"") && input.has("\"stddev\"") && input.has("\"command\"")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let value = input.json()?;
    let results = list_at(value, &["results"]);
    if results.is_empty() {
        return Err(unread("", "this JSON has no `results`", "pass the file written by `hyperfine --export-json`"));
    }
    let mut run = Run::new("JSON");
    for result in results {
        let command = text_at(result, &["command"]).unwrap_or_default();
        let seconds = |key: &str| number_at(result, &[key]).map(|s| s * NS_PER_S);
        for (name, parameter) in result.get("parameters").and_then(|all| all.as_object()).into_iter().flatten() {
            run.set(&format!("{command}: {name}"), parameter.as_str());
        }
        let exit_codes = list_at(result, &["exit_codes"]);
        let failed = exit_codes.iter().filter(|code| code.as_f64() != Some(0.0)).count();
        if failed > 0 {
            run.note(format!("`{command}`: {failed} of {} runs did not exit with 0", exit_codes.len()));
        }
        let phase = run.phase(command);
        for name in ["mean", "median", "min", "max"] {
            phase.less(&format!("time {name}"), seconds(name), "ns");
        }
        phase.plain("time stddev", seconds("stddev"), "ns");
        phase.less("user", seconds("user"), "ns");
        phase.less("system", seconds("system"), "ns");
        let times = list_at(result, &["times"]);
        phase.plain("runs", (!times.is_empty()).then_some(times.len() as f64), "");
        for (number, time) in times.iter().enumerate() {
            phase.less(&format!("time of run {}", number + 1), time.as_f64().map(|s| s * NS_PER_S), "ns");
        }
    }
    Ok(vec![run])
}
