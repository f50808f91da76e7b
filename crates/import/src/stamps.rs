//! Removes time stamps that a logger put before each line: `kubectl logs --timestamps`, `docker logs -t`, container log
//! files, `ts`, syslog, journals, continuous integration.

/// Kinds of time stamps to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kinds {
    /// With a date, or as seconds since an epoch: no tool's own lines start like this.
    Dated,
    /// Times of day, too.
    Any,
}

/// Fewest stamped lines, of ten, in output of a logger.
const STAMPED_OF_TEN: usize = 8;

/// Removes the stamps before the lines of a text. Returns `None` if most lines have none.
pub(crate) fn without(text: &str, kinds: Kinds) -> Option<String> {
    let (mut lines, mut stamped) = (0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        lines += 1;
        stamped += usize::from(cut(line, kinds).is_some());
    }
    if stamped == 0 || stamped * 10 < lines * STAMPED_OF_TEN {
        return None;
    }
    let cut_or_whole = |line| cut(line, kinds).unwrap_or(line);
    Some(text.lines().map(cut_or_whole).collect::<Vec<_>>().join("\n") + "\n")
}

/// Returns the rest of a line after its stamp and the logger's other fields.
fn cut(line: &str, kinds: Kinds) -> Option<&str> {
    // Prefixes of kubectl, "[pod/name/container] ", and of docker compose, "name  | ".
    let line = line
        .strip_prefix('[')
        .filter(|rest| rest.starts_with("pod/"))
        .and_then(|rest| rest.split_once("] "))
        .map_or(line, |(_, rest)| rest);
    let line = line
        .split_once(" | ")
        .filter(|(name, _)| !name.is_empty() && name.trim_end().bytes().all(is_name) && name.contains(['_', '-']))
        .map_or(line, |(_, rest)| rest);
    let (is_open, inner) = match line.strip_prefix(['[', '(']) {
        Some(inner) => (true, inner),
        None => (false, line),
    };
    let (end, is_journal) = stamp(inner, is_open, kinds)?;
    let mut rest = &inner[end..];
    if is_open {
        rest = rest.strip_prefix([']', ')'])?;
    }
    rest = rest.strip_prefix(':').unwrap_or(rest);
    let rest = match rest.strip_prefix([' ', '\t']) {
        Some(rest) => rest,
        None if rest.is_empty() => return Some(rest),
        None => return None,
    };
    // containerd adds the stream, and whether the line is complete.
    let stream = ["stdout F ", "stderr F ", "stdout P ", "stderr P "].iter().find_map(|word| rest.strip_prefix(word));
    if let Some(rest) = stream {
        return Some(rest);
    }
    Some(if is_journal { after_program(rest) } else { rest })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Returns the text after `host program[123]: `. Without a process number, a program looks like part of the line.
fn after_program(rest: &str) -> &str {
    let is_word = |text: &str| !text.is_empty() && text.bytes().all(is_name);
    let Some((_, after)) = rest.split_once(' ').filter(|(host, _)| is_word(host)) else { return rest };
    let (program, message) = match after.split_once(": ") {
        Some(parts) => parts,
        None => (after.strip_suffix(':').unwrap_or_default(), ""),
    };
    let number = program.strip_suffix(']').and_then(|program| program.split_once('['));
    match number {
        Some((name, number)) if is_word(name) && number.bytes().all(|byte| byte.is_ascii_digit()) => message,
        _ => rest,
    }
}

/// Reads a stamp, byte by byte.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// Reads exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<()> {
        let found = self.bytes.get(self.at..self.at + count)?.iter().all(u8::is_ascii_digit);
        found.then(|| self.at += count)
    }

    fn any(&mut self, of: &[u8]) -> Option<()> {
        let found = self.bytes.get(self.at).is_some_and(|byte| of.contains(byte));
        found.then(|| self.at += 1)
    }

    fn all_digits(&mut self) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    /// Reads `18:46:23.123`.
    fn time(&mut self) -> Option<()> {
        let begin = self.at;
        let read = |scan: &mut Self| {
            scan.digits(2)?;
            scan.any(b":")?;
            scan.digits(2)?;
            scan.any(b":")?;
            scan.digits(2)?;
            let before = scan.at;
            if scan.any(b".,").is_some() && scan.all_digits() == 0 {
                scan.at = before;
            }
            Some(())
        };
        read(self).or_else(|| {
            self.at = begin;
            None
        })
    }

    /// Reads `Z`, `+01:00` or ` UTC`.
    fn zone(&mut self) {
        let begin = self.at;
        if self.any(b"Zz").is_some() {
            return;
        }
        let has_blank = self.any(b" ").is_some();
        if self.bytes[self.at..].starts_with(b"UTC") || self.bytes[self.at..].starts_with(b"GMT") {
            self.at += 3;
            return;
        }
        if self.any(b"+-").is_some() && self.digits(2).is_some() {
            let before = self.at;
            _ = self.any(b":");
            if self.digits(2).is_some() {
                return;
            }
            self.at = before;
            if !has_blank {
                return;
            }
        }
        self.at = begin;
    }

    fn word(&mut self, words: &[&str]) -> Option<()> {
        let rest = &self.bytes[self.at..];
        let found = words.iter().find(|word| rest.starts_with(word.as_bytes()))?;
        self.at += found.len();
        Some(())
    }
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Returns the end of the stamp at the start of a text, and whether a host and a program may follow it.
fn stamp(text: &str, is_open: bool, kinds: Kinds) -> Option<(usize, bool)> {
    let scan = || Scan { bytes: text.as_bytes(), at: 0 };
    let of_form = |read: fn(&mut Scan<'_>) -> Option<()>| {
        let mut scan = scan();
        read(&mut scan).map(|()| scan.at)
    };
    let of_journals = of_form(skip_syslog).or_else(|| of_form(skip_iso)).map(|end| (end, true));
    let dated = of_journals.or_else(|| of_form(skip_numbers).or_else(|| of_form(skip_epoch)).map(|end| (end, false)));
    // "[   12.345678]" of the kernel's clock, only in brackets.
    let dated = dated.or_else(|| of_form(skip_seconds).filter(|_| is_open).map(|end| (end, false)));
    match kinds {
        Kinds::Dated => dated,
        Kinds::Any => dated.or_else(|| of_form(skip_time).map(|end| (end, false))),
    }
}

/// Reads `2026-11-20T18:46:23.123Z` or `2026/11/20 18:46:23`.
fn skip_iso(scan: &mut Scan<'_>) -> Option<()> {
    scan.digits(4)?;
    scan.any(b"-/")?;
    scan.digits(2)?;
    scan.any(b"-/")?;
    scan.digits(2)?;
    scan.any(b"T _")?;
    scan.time()?;
    scan.zone();
    Some(())
}

/// Reads `20.11.2026 18:46:23` or `11/20/2026 18:46:23`.
fn skip_numbers(scan: &mut Scan<'_>) -> Option<()> {
    scan.digits(2)?;
    scan.any(b"./-")?;
    scan.digits(2)?;
    scan.any(b"./-")?;
    scan.digits(4)?;
    _ = scan.any(b",");
    scan.any(b" -")?;
    scan.time()?;
    scan.zone();
    Some(())
}

/// Reads `Nov 20 18:46:23` or `Fri Nov 20 18:46:23 2026`.
fn skip_syslog(scan: &mut Scan<'_>) -> Option<()> {
    if scan.word(&DAYS).is_some() {
        _ = scan.any(b",");
        scan.any(b" ")?;
    }
    scan.word(&MONTHS)?;
    scan.any(b" ")?;
    _ = scan.any(b" ");
    if scan.all_digits() == 0 {
        return None;
    }
    scan.any(b" ")?;
    scan.time()?;
    scan.zone();
    let before = scan.at;
    let is_year = scan.any(b" ").is_some() && scan.digits(4).is_some();
    // A number that follows may belong to the line itself.
    if !is_year || scan.bytes.get(scan.at).is_some_and(|next| !matches!(next, b' ' | b']' | b')' | b'\t')) {
        scan.at = before;
    }
    Some(())
}

/// Reads `18:46:23`.
fn skip_time(scan: &mut Scan<'_>) -> Option<()> {
    scan.time()
}

/// Reads `1700505983.123456`, the format of `ts %.s`.
fn skip_epoch(scan: &mut Scan<'_>) -> Option<()> {
    scan.digits(10)?;
    scan.any(b".")?;
    (scan.all_digits() >= 3).then_some(())
}

/// Reads `  12.345678`.
fn skip_seconds(scan: &mut Scan<'_>) -> Option<()> {
    while scan.any(b" ").is_some() {}
    let whole = scan.all_digits();
    scan.any(b".")?;
    (whole > 0 && scan.all_digits() >= 3).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a line without its stamp is what the tool printed, for each logger in between.
    #[test]
    fn stamps_of_loggers_are_cut() {
        for (line, rest) in [
            ("2023-01-01T00:00:00.000000000Z   write: IOPS=1", "  write: IOPS=1"),
            ("2023-01-01T00:00:00.000000000Z", ""),
            ("2023-01-01T00:00:00.1+02:00 stdout F a", "a"),
            ("[pod/fio-1/fio] 2023-01-01T00:00:00Z a", "a"),
            ("2023-01-01 00:00:00,123 a", "a"),
            ("2023/01/01 00:00:00 a", "a"),
            ("[2023-01-01 00:00:00.5] a", "a"),
            ("[2023-01-01T00:00:00+0200] a", "a"),
            ("Oct 31 16:56:37 a b", "a b"),
            ("Oct  1 16:56:37 node-1 fio[123]:  read: IOPS=1", " read: IOPS=1"),
            ("Fri Nov 20 18:46:23 2026 [  5]   0.00-1.00", "[  5]   0.00-1.00"),
            ("2023-01-01T00:00:00+0100 node fio[1]: a", "a"),
            ("31.10.2022 16:56:37 a", "a"),
            ("1700505983.123456 a", "a"),
            ("[   12.345678] a", "a"),
            ("fio_1  | 2023-01-01T00:00:00Z a", "a"),
        ] {
            assert_eq!(cut(line, Kinds::Dated), Some(rest), "{line}");
        }
        for line in ["14:17:03.059         1     100.00", "[16:56:37] a", "16:56:37 a"] {
            assert_eq!(cut(line, Kinds::Dated), None, "{line}");
            assert!(cut(line, Kinds::Any).is_some(), "{line}");
        }
        for line in
            ["", "[", "2023", "[  5]   0.00-1.00   sec", "20261120190820,127.0.0.1", "12 34", "Nov", "é", "10:10"]
        {
            assert_eq!(cut(line, Kinds::Any), None, "{line}");
        }
        assert_eq!(without("a\nb\n2023-01-01T00:00:00Z c\n", Kinds::Dated), None);
    }
}
