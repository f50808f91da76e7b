//! dd: the line at the end of a copy; each is a run. The rate is bytes over seconds, which have more digits than the printed rate.
//!
//! GNU and BusyBox print `N bytes (…) copied, T s, R MB/s`, in the user's language and with its decimal point. A line
//! in any language is recognised by its numbers: the third is the first over the second. BSD and macOS print `N bytes
//! transferred in T secs (R bytes/sec)`.

use crate::amount::{decimal, leading};
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_tools_classic::dd::read_printed;
use plumb_workload::OpKind;

struct Report {
    bytes: f64,
    seconds: f64,
    form: &'static str,
}

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| report(last_of(line)).is_some())
}

/// Returns the part of a line that stays on a terminal, after progress was overwritten.
fn last_of(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line).trim()
}

/// Recognises `100+0 records in` in any language.
fn is_records(line: &str) -> bool {
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_one = |word: &str| {
        // Some languages have no blank after the number.
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '+').unwrap_or(word.len());
        word[..end].split_once('+').is_some_and(|(whole, partial)| is_count(whole) && is_count(partial))
    };
    // In Chinese, the verb comes first.
    line.split_whitespace().take(2).any(is_one)
}

fn report(line: &str) -> Option<Report> {
    by_words(line).or_else(|| by_numbers(line))
}

/// A number in a text, and the text after it.
struct Numbered<'a> {
    value: f64,
    /// Value of a one in its last digit.
    step: f64,
    is_whole: bool,
    after: &'a str,
}

/// Returns all numbers of a line, up to the most that a report has.
fn numbers(line: &str) -> Vec<Numbered<'_>> {
    const NUMBERS_MAX: usize = 8;
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()).filter(|_| found.len() < NUMBERS_MAX) {
        let text = &rest[begin..];
        let mut end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
        // `%g` writes 1e-05.
        let digits = text[end..].strip_prefix('e').and_then(|text| text.strip_prefix(['-', '+']));
        if let Some(digits) = digits.filter(|text| text.starts_with(|c: char| c.is_ascii_digit())) {
            end += 2 + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        }
        let number = text[..end].trim_end_matches(['.', ',']);
        let (mantissa, exponent) = number.split_once('e').unwrap_or((number, "0"));
        let decimals = mantissa.split_once(['.', ',']).map_or(0, |(_, decimals)| decimals.len() as i32);
        let power = exponent.parse::<i32>().unwrap_or(0).clamp(-30, 30);
        if let Some(value) = decimal(number) {
            let is_whole = number.bytes().all(|byte| byte.is_ascii_digit());
            found.push(Numbered { value, step: 10f64.powi(power - decimals), is_whole, after: &text[number.len()..] });
        }
        rest = &text[end..];
    }
    found
}

/// Returns the possible factors of a rate's unit: `MB/s`, `МБ/с`, `MB/秒`. BusyBox's prefixes are powers of 1024.
fn units(after: &str) -> Option<[f64; 2]> {
    let (unit, _) = after.trim_start().split_once('/')?;
    let mut letters = unit.chars();
    let (prefix, byte) = match (letters.next(), letters.next(), letters.next()) {
        (Some(byte), None, None) => (None, byte),
        (Some(prefix), Some(byte), None) => (Some(prefix), byte),
        _ => return None,
    };
    let power = match prefix.map(|prefix| prefix.to_lowercase().next().unwrap_or(prefix)) {
        None => 0,
        Some('k' | 'к') => 1,
        Some('m' | 'м') => 2,
        Some('g' | 'г') => 3,
        Some('t' | 'т') => 4,
        Some(_) => return None,
    };
    matches!(byte, 'B' | 'Б' | 'o').then(|| [1000f64.powi(power), 1024f64.powi(power)])
}

/// Parses a report in any language: bytes first, seconds and the rate last. It is accepted if the rate is
/// the ratio of the other two.
fn by_numbers(line: &str) -> Option<Report> {
    let numbers = numbers(line);
    let (bytes, [.., seconds, rate]) = (numbers.first()?, numbers.as_slice()) else { return None };
    if numbers.len() < 3 || !bytes.is_whole || seconds.value <= 0.0 {
        return None;
    }
    // Units start with letters, unlike numbers in file names.
    if !bytes.after.trim_start().starts_with(char::is_alphabetic)
        || !seconds.after.trim_start().starts_with(char::is_alphabetic)
    {
        return None;
    }
    let exact = bytes.value / seconds.value;
    let is_ratio = |unit: f64| {
        let slack = rate.step * unit + exact * (seconds.step / seconds.value) + exact * 1e-3;
        (exact - rate.value * unit).abs() <= slack
    };
    units(rate.after)?.into_iter().any(is_ratio).then_some(Report {
        bytes: bytes.value,
        seconds: seconds.value,
        form: "GNU",
    })
}

fn by_words(line: &str) -> Option<Report> {
    let line = line.replace('，', ", ");
    let count = &line[..line.bytes().take_while(u8::is_ascii_digit).count()];
    let bytes: f64 = count.parse().ok()?;
    let rest = &line[count.len()..];
    // Some languages have no blank after a number.
    if rest.starts_with(|c: char| c.is_ascii() && c != ' ') {
        return None;
    }
    let rest = rest.trim_start();
    // BSD: "bytes transferred in 5.01 secs".
    if let Some((_, took)) = rest.split_once("transferred in ") {
        let (seconds, unit) = leading(took)?;
        return unit.starts_with("sec").then_some(Report { bytes, seconds, form: "BSD" });
    }
    // GNU: the amount, the time and the rate, separated by commas and blanks.
    let parts: Vec<&str> = rest.split(", ").collect();
    let [.., took, rate] = parts.as_slice() else { return None };
    // "/s", and "/с" in Cyrillic.
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
            // A line on truncated records may come between them.
            after_records &= line.contains(char::is_numeric);
            continue;
        };
        // A line that status=progress left is not the final one.
        if counts_records && !after_records {
            continue;
        }
        after_records = false;
        runs.push(build_run(&report, command.take()));
    }
    Ok(runs)
}

/// Returns dd's command line, after a prompt or `time`.
fn typed(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "dd" || word.ends_with("/dd"))?;
    let is_operand = |word: &&str| word.starts_with("if=") || word.starts_with("of=") || word.starts_with("bs=");
    (at <= 4 && words[at..].iter().any(is_operand)).then(|| words[at..].join(" "))
}

fn build_run(report: &Report, command: Option<String>) -> Run {
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
