//! Traces a command with strace.

use super::Home;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Runs a command in the working directory under strace, which follows its threads and gets these further options, and
/// returns all of its output. The command must succeed.
#[track_caller]
pub fn traced(home: &Home, command: &Command, options: &[&str]) -> String {
    let path = home.work().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "0"]).args(options).arg("-o").arg(&path);
    strace.arg(command.get_program()).args(command.get_args()).current_dir(home.work());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    strace.stdin(Stdio::null());
    let output = strace.output().unwrap();
    // Some real tools print text that is not UTF-8.
    let lossy_text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let status = output.status;
    assert!(status.success(), "{strace:?}: {status}\n{}\n{}", lossy_text(&output.stdout), lossy_text(&output.stderr));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    text
}

/// Returns the calls in strace's output, each with its thread, in the order in which they ended. A call that was
/// interrupted by another thread's is printed in two lines, and joined here.
pub fn whole_calls(text: &str) -> Vec<(&str, String)> {
    let mut begun: BTreeMap<&str, &str> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in text.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some((begin, _)) = call.split_once(" <unfinished") {
            begun.insert(thread, begin);
        } else if let Some((_, end)) = call.split_once(" resumed>").filter(|_| call.starts_with("<...")) {
            calls.push((thread, begun.remove(thread).unwrap_or_default().to_owned() + end));
        } else {
            calls.push((thread, call.to_owned()));
        }
    }
    calls
}

/// Returns the first difference of these calls, with the calls around it.
pub fn same<A: AsRef<str>, B: AsRef<str>>(real: &[A], ours: &[B]) -> Result<(), String> {
    let differ = real.iter().zip(ours).position(|(real, ours)| real.as_ref() != ours.as_ref());
    if differ.is_none() && real.len() == ours.len() {
        return Ok(());
    }
    let at = differ.unwrap_or(real.len().min(ours.len()));
    let around = |calls: &[&str]| -> String {
        let from = at.saturating_sub(4);
        calls.iter().skip(from).take(9).enumerate().map(|(by, call)| format!("\n    {}: {call}", from + by)).collect()
    };
    let real: Vec<&str> = real.iter().map(AsRef::as_ref).collect();
    let ours: Vec<&str> = ours.iter().map(AsRef::as_ref).collect();
    Err(format!(
        "call {at} differs of {} and {}\n  real:{}\n  ours:{}",
        real.len(),
        ours.len(),
        around(&real),
        around(&ours)
    ))
}
