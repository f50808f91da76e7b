//! Finds and replaces names in free text.

use super::{Anonymiser, NameKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A name at the beginning of a text.
struct Found {
    kind: NameKind,
    /// Length of the name in bytes.
    length: usize,
}

/// Directories that exist on every machine.
const SYSTEM: [&str; 10] =
    ["/proc", "/sys", "/etc", "/bin", "/sbin", "/lib", "/boot", "/usr/bin", "/usr/sbin", "/usr/lib"];

/// Returns `true` if a path reveals nothing about its owner: the root, a system directory, or a kernel device name.
pub(super) fn is_kept_path(path: &str) -> bool {
    let is_below =
        |directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match path.strip_prefix("/dev") {
        Some("") => true,
        Some(rest) if rest.starts_with('/') => !rest[1..].contains('/') && rest.len() > 1,
        _ => path == "/" || SYSTEM.iter().any(|directory| is_below(directory)),
    }
}

/// Returns the text with all names replaced.
pub(super) fn replaced(anonymiser: &mut Anonymiser, text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut before = None;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        let found = known(anonymiser, before, rest).or_else(|| by_form(before, rest));
        match found {
            Some(Found { kind, length }) => {
                out.push_str(&anonymiser.replacement(kind, &rest[..length]));
                before = rest[..length].chars().next_back();
                at += length;
            }
            None => {
                out.push(letter);
                before = Some(letter);
                at += letter.len_utf8();
            }
        }
    }
    out
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric()
}

/// Matches a learned name, longest first. A path match extends to the end of the path, and a host match covers its domain.
fn known(anonymiser: &Anonymiser, before: Option<char>, rest: &str) -> Option<Found> {
    let first = rest.as_bytes().first()?.to_ascii_lowercase();
    for name in &anonymiser.known {
        if name.is_ambiguous || name.text.as_bytes()[0].to_ascii_lowercase() != first {
            continue;
        }
        let begins = match name.kind {
            NameKind::Path | NameKind::User => rest.starts_with(&name.text),
            _ => rest.get(..name.text.len()).is_some_and(|head| head.eq_ignore_ascii_case(&name.text)),
        };
        // Do not match `data` in `metadata`. A path may follow anything but a letter or digit.
        let is_begun = before.is_none_or(|before| !is_word(before) || !is_word(rest.chars().next().unwrap_or(' ')));
        let is_inside = name.text.starts_with('/') && before.is_some_and(|before| is_word(before) || before == '/');
        if !begins || !is_begun || is_inside {
            continue;
        }
        let behind = &rest[name.text.len()..];
        let further = match name.kind {
            NameKind::Path if behind.starts_with('/') => path_length(behind),
            NameKind::Host => domain_length(behind),
            _ => 0,
        };
        let is_ended = further > 0 || behind.chars().next().is_none_or(|next| !is_word(next));
        let is_ended = is_ended || !name.text.ends_with(is_word);
        if is_ended {
            return Some(Found { kind: name.kind, length: name.text.len() + further });
        }
        // The learned path is only a prefix of another path's component: replace that whole path.
        if name.kind == NameKind::Path && name.text.starts_with('/') {
            return Some(Found { kind: NameKind::Path, length: path_length(rest).max(name.text.len()) });
        }
    }
    None
}

/// Returns the length of a domain suffix such as `.example.org`.
fn domain_length(text: &str) -> usize {
    let mut length = 0;
    while let Some(rest) = text[length..].strip_prefix('.') {
        let label = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        if label == 0 {
            break;
        }
        length += 1 + label;
    }
    length
}

/// Matches a name that is recognisable by its form.
fn by_form(before: Option<char>, rest: &str) -> Option<Found> {
    if before.is_some_and(is_word) {
        return None;
    }
    let first = rest.as_bytes().first()?;
    match first {
        b'/' => path(before, rest),
        b'~' if rest.starts_with("~/") && before != Some('/') => {
            Some(Found { kind: NameKind::Path, length: path_length(rest) })
        }
        b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' => {
            uuid(rest).or_else(|| mac(rest)).or_else(|| wide_name(rest)).or_else(|| address(rest))
        }
        b'n' | b't' | b'w' => wide_name(rest),
        _ => None,
    }
}

/// Matches an absolute path of at least two characters after the slash.
fn path(before: Option<char>, rest: &str) -> Option<Found> {
    if before.is_some_and(|before| matches!(before, '/' | '.' | '<' | '_' | '-' | '~' | '…' | '*' | ')' | '%')) {
        return None;
    }
    let length = path_length(rest);
    let found = &rest[..length];
    let is_path = length > 2 && found[1..].starts_with(|c: char| is_word(c) || c == '.' || c == '_');
    (is_path && !is_kept_path(found)).then_some(Found { kind: NameKind::Path, length })
}

/// Returns the length in bytes of a path at the start of a text, without trailing punctuation.
fn path_length(text: &str) -> usize {
    let is_end = |c: char| c.is_whitespace() || c.is_control() || "\"'`,;:()[]{}<>|→·…“”".contains(c);
    let path = &text[..text.find(is_end).unwrap_or(text.len())];
    let path = path.trim_end_matches(['.', '!', '?', '*']);
    path.len()
}

fn hex_length(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_hexdigit).count()
}

/// Matches a UUID, except version 7, which Plumb uses for runs and studies.
fn uuid(text: &str) -> Option<Found> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let mut rest = text;
    for (number, length) in GROUPS.into_iter().enumerate() {
        if number > 0 {
            rest = rest.strip_prefix('-')?;
        }
        if hex_length(rest) != length {
            return None;
        }
        rest = &rest[length..];
    }
    let length = text.len() - rest.len();
    let is_own = text.as_bytes().get(14) == Some(&b'7');
    let is_ended = rest.chars().next().is_none_or(|next| !is_word(next));
    (is_ended && !is_own).then_some(Found { kind: NameKind::Uuid, length })
}

/// Matches a MAC address: six pairs of hex digits.
fn mac(text: &str) -> Option<Found> {
    const LENGTH: usize = 17;
    let text = text.as_bytes();
    let separator = *text.get(2).filter(|byte| matches!(byte, b':' | b'-'))?;
    let fits = |(place, byte): (usize, &u8)| if place % 3 == 2 { *byte == separator } else { byte.is_ascii_hexdigit() };
    let is_mac = text.len() >= LENGTH && text[..LENGTH].iter().enumerate().all(fits);
    let is_ended = text.get(LENGTH).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != separator);
    (is_mac && is_ended).then_some(Found { kind: NameKind::Address, length: LENGTH })
}

/// Matches a world wide name: `naa.5000…`, `eui.0025…`, `wwn-0x5000…`, `0x5000…`.
fn wide_name(text: &str) -> Option<Found> {
    const DIGITS: usize = 12;
    let prefix =
        ["naa.", "eui.", "nvme.", "t10.", "wwn-0x", "0x5"].into_iter().find(|prefix| text.starts_with(prefix))?;
    let rest = &text[prefix.len()..];
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let length = rest.find(is_end).unwrap_or(rest.len());
    let is_name = match prefix {
        "t10." | "nvme." => length > 4,
        _ => hex_length(rest) >= DIGITS,
    };
    is_name.then_some(Found { kind: NameKind::Serial, length: prefix.len() + length })
}

/// Matches an IP address other than loopback and unspecified ones.
fn address(text: &str) -> Option<Found> {
    let is_part = |byte: &u8| byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':');
    let token = &text[..text.bytes().take_while(|byte| is_part(byte)).count()];
    let four = &token[..token.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count()];
    let four = four.trim_end_matches('.');
    let ends = |length: usize| text[length..].chars().next().is_none_or(|next| !is_word(next));
    if let Ok(address) = four.parse::<Ipv4Addr>() {
        let is_public = !address.is_loopback() && !address.is_unspecified();
        return (is_public && ends(four.len())).then_some(Found { kind: NameKind::Address, length: four.len() });
    }
    // A port or punctuation may follow an IPv6 address, so retry without the last group.
    let mut six = token.trim_end_matches(['.', ':']);
    while six.bytes().filter(|byte| *byte == b':').count() >= 2 {
        if let Ok(IpAddr::V6(address)) = six.parse::<IpAddr>() {
            let is_public = address != Ipv6Addr::LOCALHOST && address != Ipv6Addr::UNSPECIFIED;
            return (is_public && ends(six.len())).then_some(Found { kind: NameKind::Address, length: six.len() });
        }
        six = &six[..six.rfind(':')?];
    }
    None
}
