//! dd: the line at the end of a copy, each of which is a run. The rate is bytes over seconds, which have more digits than
//! the printed rate. GNU, BusyBox: `N bytes (…) copied, T s, R MB/s`, in the user's language and with its decimal point;
//! BSD and macOS: `N bytes transferred in T secs (R bytes/sec)`.

use crate::amount::{decimal, leading};
use crate::input::Input;
use crate::run::Run;
use plumb_dialects::dd::read_printed;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

struct Report {
    bytes: f64,
    seconds: f64,
    form: &'static str,
}

pub(super) fn is_its(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| report(last_of(line)).is_some())
}

/// What a terminal shows of a line: progress is written over.
fn last_of(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line).trim()
}

/// `100+0 records in`, in any language.
fn is_records(line: &str) -> bool {
    let Some((whole, rest)) = line.split_once('+') else { return false };
    let partial = rest.split_whitespace().next().unwrap_or_default();
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_count(whole) && is_count(partial)
}

fn report(line: &str) -> Option<Report> {
    let line = line.replace('，', ", ");
    let count = &line[..line.bytes().take_while(u8::is_ascii_digit).count()];
    let bytes: f64 = count.parse().ok()?;
    let rest = &line[count.len()..];
    // In some languages no blank follows a number.
    if rest.starts_with(|c: char| c.is_ascii() && c != ' ') {
        return None;
    }
    let rest = rest.trim_start();
    // BSD: "bytes transferred in 5.01 secs".
    if let Some((_, took)) = rest.split_once("transferred in ") {
        let (seconds, unit) = leading(took)?;
        return unit.starts_with("sec").then_some(Report { bytes, seconds, form: "BSD" });
    }
    // GNU: what was copied, the time, the rate; the parts are separated by a comma and a blank.
    let parts: Vec<&str> = rest.split(", ").collect();
    let [.., took, rate] = parts.as_slice() else { return None };
    // "/s", and "/с" where that is the language.
    let has_rate = rate.contains("/s") || rate.contains("/с");
    let (number, unit) = took.trim().split_once(char::is_whitespace)?;
    let unit = unit.trim().trim_end_matches('.');
    let is_seconds = matches!(unit, "s" | "с" | "sec" | "sek" | "seconds" | "秒" | "秒钟") || unit.starts_with("sec");
    (has_rate && is_seconds).then_some(Report { bytes, seconds: decimal(number)?, form: "GNU" })
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let text = input.text();
    let counts_records = text.lines().any(|line| is_records(last_of(line)));
    let mut runs = Vec::new();
    let mut command: Option<String> = None;
    let mut after_records = false;
    for line in text.lines().map(last_of) {
        if let Some(words) = typed(line) {
            command = Some(words);
            continue;
        }
        if is_records(line) {
            after_records = true;
            continue;
        }
        let Some(report) = report(line) else {
            // One record more may be told of between them: truncated ones.
            after_records &= line.contains(char::is_numeric);
            continue;
        };
        // What status=progress leaves behind is no end.
        if counts_records && !after_records {
            continue;
        }
        after_records = false;
        runs.push(of(&report, command.take()));
    }
    Ok(runs)
}

/// A command line of dd's, behind a prompt or `time`.
fn typed(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "dd" || word.ends_with("/dd"))?;
    let is_operand = |word: &&str| word.starts_with("if=") || word.starts_with("of=") || word.starts_with("bs=");
    (at <= 4 && words[at..].iter().any(is_operand)).then(|| words[at..].join(" "))
}

fn of(report: &Report, command: Option<String>) -> Run {
    let mut run = Run::new(report.form);
    let rate = (report.seconds > 0.0).then(|| report.bytes / report.seconds);
    let mut kinds: Vec<OpKind> = Vec::new();
    if let Some(command) = &command {
        let words: Vec<String> =
            command.split_whitespace().skip(1).map(|word| word.trim_matches(['\'', '"']).to_owned()).collect();
        let dd = read_printed(&words).dd;
        let is_nothing = |path: &str| matches!(path, "/dev/zero" | "/dev/null" | "/dev/urandom" | "/dev/random");
        if let Some(path) = dd.input.as_deref().filter(|path| !is_nothing(path)) {
            kinds.push(OpKind::Read);
            run.paths.insert(path.to_owned());
        }
        if let Some(path) = dd.output.as_deref().filter(|path| !is_nothing(path)) {
            kinds.push(OpKind::Write);
            run.paths.insert(path.to_owned());
        }
        for word in &words {
            if let Some((key, value)) = word.split_once('=') {
                run.settings.insert(key.to_owned(), value.to_owned());
            }
        }
    }
    run.command = command;
    let unknown = kinds.is_empty();
    let phase = run.phase("copy");
    phase.wall_ns = Some(report.seconds * 1e9);
    for kind in kinds {
        phase.bandwidth(kind, rate);
    }
    if unknown {
        phase.number_or_null("copied", rate, "B/s", Some(plumb_result::Better::Higher));
        run.note("the file has no command line: whether it read, wrote or both is not known");
    }
    run
}
