//! Reads strace's output, with `-f` and any of `-t`, `-tt`, `-ttt`, `-r`, `-T`, `-y`, `-yy`, `-n`, `-xx`, `-X raw`.
//! Source: strace(1) and its output.
//!
//! A call that another thread interrupts is printed in two pieces, which may be cut anywhere. Strings
//! and descriptors' paths have C escapes. Such a recording lacks io_uring, maps, and, without `-y`, the
//! paths of descriptors opened earlier.

use crate::calls::{Argument, Call, Effect};
use crate::error::LineProblem;
use crate::lines::{LineParser, SECOND_NS, Sink, integer, scaled};
use crate::pending::Ticket;
use crate::record::{Record, UNKNOWN_NS};
use crate::world::{Returned, Value, World};
use std::collections::HashMap;

/// Maximum number of threads whose interrupted calls are kept.
const INTERRUPTED_MAX: usize = 1 << 16;

const NSEC_PER_DAY: u64 = 86_400 * SECOND_NS;

/// A call whose second piece is still to come.
#[derive(Debug)]
struct Interrupted {
    text: String,
    at_ns: u64,
    ticket: Ticket,
}

/// Reads strace's text.
#[derive(Debug, Default)]
pub(crate) struct Strace {
    world: World,
    interrupted: HashMap<u32, Interrupted>,
    /// Time of the previous line, and whether times are differences (`-r`).
    before_ns: Option<u64>,
    are_differences: bool,
    /// Values of a call; kept to reuse the buffer.
    values: Vec<Value>,
}

/// Whether a line looks like one of strace's.
pub(crate) fn is_strace(line: &str) -> bool {
    let Some((_, _, rest)) = head(line) else { return false };
    let name = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    rest.starts_with("+++ ") || rest.starts_with("--- ") || (name > 0 && rest[name..].starts_with('('))
}

/// Splits a line into the thread, the time and the rest.
fn head(line: &str) -> Option<(u32, &str, &str)> {
    let mut rest = line.trim_start();
    let mut thread = 0;
    if let Some(inside) = rest.strip_prefix("[pid ") {
        let (number, after) = inside.split_once(']')?;
        (thread, rest) = (number.trim().parse().ok()?, after.trim_start());
    }
    let (mut time, mut after) = rest.split_once(' ')?;
    if thread == 0 && time.bytes().all(|byte| byte.is_ascii_digit()) {
        thread = time.parse().ok()?;
        rest = after.trim_start();
        (time, after) = rest.split_once(' ')?;
    }
    let is_time = time.starts_with(|first: char| first.is_ascii_digit())
        && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b':');
    if !is_time {
        // Without a time.
        return (thread > 0).then_some((thread, "", rest));
    }
    let mut after = after.trim_start();
    if let Some(inside) = after.strip_prefix('[') {
        // The number of the call (-n).
        after = inside.split_once(']')?.1.trim_start();
    }
    Some((thread, time, after))
}

impl Strace {
    /// Parses a time in ns, from any origin.
    fn time(&mut self, text: &str) -> Option<u64> {
        if text.is_empty() {
            return Some(0);
        }
        let mut fields = text.split(':');
        let (first, second, third) = (fields.next()?, fields.next(), fields.next());
        let mut at_ns = match (second, third) {
            (Some(minutes), Some(seconds)) => {
                let hours = first.parse::<u64>().ok()?.checked_mul(60)?;
                let minutes = hours.checked_add(minutes.parse().ok()?)?.checked_mul(60 * SECOND_NS)?;
                minutes.checked_add(scaled(seconds, SECOND_NS)?)?
            }
            _ => scaled(first, SECOND_NS)?,
        };
        match self.before_ns {
            None => self.are_differences = second.is_none() && at_ns == 0,
            Some(before_ns) if self.are_differences => at_ns = at_ns.checked_add(before_ns)?,
            // Past midnight.
            Some(before_ns) if third.is_some() && at_ns + NSEC_PER_DAY / 2 < before_ns => {
                at_ns += (before_ns - at_ns).div_ceil(NSEC_PER_DAY) * NSEC_PER_DAY;
            }
            Some(_) => {}
        }
        self.before_ns = Some(at_ns);
        Some(at_ns)
    }

    /// Parses a whole call: `name(arguments) = result <duration>`.
    fn call(&mut self, text: &str, thread: u32, at_ns: u64, sink: &mut Sink) -> Result<Option<Record>, LineProblem> {
        let Some((name, inside)) = text.split_once('(') else {
            return Err(LineProblem::Other { what: "expected a system call, `name(…) = …`".to_owned() });
        };
        let Some(call) = Call::named(name.trim()) else { return Ok(None) };
        let mut rest = Cursor { text: inside };
        let mut wanted = call.arguments();
        self.values.clear();
        loop {
            let word = rest.argument();
            if !(word.is_empty() && self.values.is_empty() && rest.text.starts_with(')')) {
                self.values.push(value(wanted.next().unwrap_or(Argument::Ignored), word));
            }
            match rest.text.chars().next() {
                Some(',') => rest.text = rest.text[1..].trim_start(),
                Some(')') => break,
                _ => {
                    return Err(LineProblem::Other {
                        what: "the arguments have no end; was the line cut off?".to_owned(),
                    });
                }
            }
        }
        let Some(after) = rest.text[1..].trim_start().strip_prefix('=') else {
            return Err(LineProblem::Missing { what: "the result" });
        };
        let after = after.trim();
        let (result, rest) =
            after.split_once([' ', '<']).map_or((after, ""), |(result, _)| (result, &after[result.len()..]));
        // `?`: it never returned.
        let Some(mut number) = integer(result) else { return Ok(None) };
        let mut result_path = None;
        if let Some(inside) = rest.strip_prefix('<').filter(|_| number >= 0) {
            result_path = Some(unescaped(&inside[..decoration(inside)]));
        }
        if number == -1 {
            number = -rest.trim_start().split(' ').next().and_then(errno).unwrap_or(1);
        }
        let took = rest.rsplit_once('<').and_then(|(_, end)| end.strip_suffix('>'));
        let took_ns = took.and_then(|took| scaled(took, SECOND_NS)).unwrap_or(UNKNOWN_NS);
        let is_thread = call.effect == Effect::Forks && text.contains("CLONE_THREAD");
        let values = std::mem::take(&mut self.values);
        let result_path = result_path.as_deref();
        let returned =
            Returned { call, arguments: &values, result: number, result_path, thread, at_ns, took_ns, is_thread };
        let record = self.world.record(&returned, &mut sink.names);
        self.values = values;
        Ok(record)
    }
}

impl LineParser for Strace {
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem> {
        let Some((thread, time, rest)) = head(line) else {
            // Such as `strace: Process 12 attached`.
            return if line.starts_with("strace:") { Ok(()) } else { Err(LineProblem::Missing { what: "the time" }) };
        };
        let wrong_time = || LineProblem::NoNumber { word: time.to_owned(), what: "time" };
        let at_ns = self.time(time).ok_or_else(wrong_time)?;
        let at_ns = sink.since_first(at_ns);
        if rest.starts_with("+++ ") || rest.starts_with("--- ") {
            return Ok(());
        }
        if let Some(first) = rest.strip_suffix("<unfinished ...>") {
            let name = first.split_once('(').map_or("", |(name, _)| name);
            if Call::named(name).is_none() || self.interrupted.len() >= INTERRUPTED_MAX {
                return Ok(());
            }
            let ticket = sink.pending.reserve();
            let text = first.trim_end().to_owned();
            self.interrupted.insert(thread, Interrupted { text, at_ns, ticket });
            return Ok(());
        }
        if let Some(second) = rest.strip_prefix("<... ") {
            let Some((_, second)) = second.split_once(" resumed>") else {
                return Err(LineProblem::Missing { what: "`resumed>`" });
            };
            // Its first piece was before the recording, or belongs to an ignored call.
            let Some(Interrupted { text, at_ns, ticket }) = self.interrupted.remove(&thread) else { return Ok(()) };
            let joint = if text.ends_with(',') { " " } else { "" };
            let record = self.call(&format!("{text}{joint}{second}"), thread, at_ns, sink)?;
            sink.pending.fill(ticket, record);
            return Ok(());
        }
        if let Some(record) = self.call(rest, thread, at_ns, sink)? {
            sink.pending.whole(record);
        }
        Ok(())
    }
}

/// The rest of the arguments.
struct Cursor<'a> {
    text: &'a str,
}

impl<'a> Cursor<'a> {
    /// Takes an argument: up to a comma or the closing parenthesis outside quotes and brackets.
    fn argument(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (0, 0_u32);
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != b'"' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                }
                b'<' if at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'D') => {
                    at += 1 + decoration(self.text.get(at + 1..).unwrap_or(""));
                }
                b'(' | b'[' | b'{' => depth += 1,
                b')' if depth == 0 => break,
                b',' if depth == 0 => break,
                b')' | b']' | b'}' => depth = depth.saturating_sub(1),
                b'/' if bytes[at..].starts_with(b"/*") => {
                    at = self.text[at..].find("*/").map_or(bytes.len(), |end| at + end + 1);
                }
                _ => {}
            }
            at += 1;
        }
        let at = at.min(bytes.len());
        let (argument, rest) = self.text.split_at_checked(at).unwrap_or((self.text, ""));
        self.text = rest;
        argument.trim()
    }
}

/// Returns the length of a descriptor's decoration in angle brackets, up to the closing one.
/// strace escapes brackets within paths.
fn decoration(text: &str) -> usize {
    let mut depth = 1_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Parses the value of an argument.
fn value(argument: Argument, word: &str) -> Value {
    match argument {
        Argument::Descriptor | Argument::Directory => {
            let (number, path) = match word.split_once('<') {
                Some((number, inside)) => (number, Some(unescaped(&inside[..decoration(inside)]))),
                None => (word, None),
            };
            // With -yy, a device's numbers follow its path.
            let path = path.map(|path| path.split_once('<').map_or(path.clone(), |(path, _)| path.to_owned()));
            match if number == "AT_FDCWD" { Some(-100) } else { integer(number) } {
                Some(number) => Value::Descriptor(number, path),
                None => Value::Unknown,
            }
        }
        Argument::Path | Argument::OtherPath => {
            let inside = word.strip_prefix('"').and_then(|rest| rest.rsplit_once('"'));
            inside.map_or(Value::Unknown, |(inside, _)| Value::Path(unescaped(inside)))
        }
        Argument::OpenFlags => open_flags(word).map_or(Value::Unknown, Value::Number),
        Argument::Mode => i64::from_str_radix(word.trim_start_matches("0o"), 8).map_or(Value::Unknown, Value::Number),
        Argument::Aux if word.contains("AT_REMOVEDIR") => Value::Number(0x200),
        Argument::Ignored => Value::Unknown,
        _ => integer(word).map_or(Value::Unknown, Value::Number),
    }
}

/// Parses the flags of open(2), in words or as a number. Ignores unknown words.
fn open_flags(word: &str) -> Option<i64> {
    // Source: asm-generic/fcntl.h, and that of x86.
    const NAMES: [(&str, i64); 15] = [
        ("O_WRONLY", 1),
        ("O_RDWR", 2),
        ("O_CREAT", 0o100),
        ("O_EXCL", 0o200),
        ("O_NOCTTY", 0o400),
        ("O_TRUNC", 0o1000),
        ("O_APPEND", 0o2000),
        ("O_NONBLOCK", 0o4000),
        ("O_DSYNC", 0o10000),
        ("O_DIRECT", 0o40000),
        ("O_DIRECTORY", 0o200_000),
        ("O_NOFOLLOW", 0o400_000),
        ("O_CLOEXEC", 0o2_000_000),
        ("O_SYNC", 0o4_010_000),
        ("O_TMPFILE", 0o20_200_000),
    ];
    if word.starts_with("O_") {
        let bits = |name: &str| NAMES.iter().find(|(known, _)| *known == name).map_or(0, |(_, bits)| *bits);
        return Some(word.split('|').map(bits).fold(0, |all, bits| all | bits));
    }
    integer(word)
}

/// Returns the number of an error that file systems return. Source: asm-generic/errno-base.h and errno.h.
fn errno(name: &str) -> Option<i64> {
    const NAMES: [(&str, i64); 25] = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("EINTR", 4),
        ("EIO", 5),
        ("ENXIO", 6),
        ("EBADF", 9),
        ("EAGAIN", 11),
        ("ENOMEM", 12),
        ("EACCES", 13),
        ("EFAULT", 14),
        ("EBUSY", 16),
        ("EEXIST", 17),
        ("EXDEV", 18),
        ("ENODEV", 19),
        ("ENOTDIR", 20),
        ("EISDIR", 21),
        ("EINVAL", 22),
        ("ENFILE", 23),
        ("EMFILE", 24),
        ("EFBIG", 27),
        ("ENOSPC", 28),
        ("EROFS", 30),
        ("ENAMETOOLONG", 36),
        ("ENOTEMPTY", 39),
        ("ELOOP", 40),
    ];
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// Decodes C escapes. Invalid UTF-8 becomes the replacement character.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&escape) = bytes.get(at) else { break };
        at += 1;
        let digits = |from: usize, most: usize, radix: u32| {
            let rest = bytes[from..].iter().take(most);
            let digits = rest.map_while(|byte| char::from(*byte).to_digit(radix));
            digits.fold((0_u32, 0), |(value, count), digit| (value * radix + digit, count + 1))
        };
        out.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 11,
            b'f' => 12,
            b'x' => {
                let (value, count) = digits(at, 2, 16);
                at += count;
                value as u8
            }
            b'0'..=b'7' => {
                let (value, count) = digits(at - 1, 3, 8);
                at += count - 1;
                value as u8
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_those_of_c() {
        assert_eq!(unescaped(r#"a\"b\n.txt"#), "a\"b\n.txt");
        assert_eq!(unescaped(r"\x2f\x74\101\0\\"), "/tA\0\\");
        assert_eq!(unescaped(r"\74a\76"), "<a>");
        assert_eq!(unescaped("\\"), "");
    }

    #[test]
    fn arguments_end_at_commas_outside_quotes_and_brackets() {
        let mut rest =
            Cursor { text: r#"3</a,b>, "x\",)", [{iov_base="a,b", iov_len=2}, {1}], 0x5 /* a, b */, 7) = 0"# };
        let mut all = Vec::new();
        loop {
            all.push(rest.argument());
            match rest.text.strip_prefix(',') {
                Some(text) => rest.text = text,
                None => break,
            }
        }
        assert_eq!(all, ["3</a,b>", r#""x\",)""#, r#"[{iov_base="a,b", iov_len=2}, {1}]"#, "0x5 /* a, b */", "7"]);
        assert_eq!(rest.text, ") = 0");
    }
}
