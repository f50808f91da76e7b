//! Fields of results that hold names.

use super::NameKind;

/// The position of a text in a document.
pub(super) struct FieldName<'a> {
    key: &'a str,
    parent: &'a str,
}

impl FieldName<'_> {
    /// Returns the field at a path of keys. Skips the `yes` of `Seen::Yes`, so that the value belongs to the field itself; the
    /// reason of a value that was not seen is free text.
    pub(super) fn from_path(path: &[String]) -> FieldName<'_> {
        let mut keys = path.iter().rev().map(String::as_str).skip_while(|key| *key == "yes");
        FieldName { key: keys.next().unwrap_or_default(), parent: keys.next().unwrap_or_default() }
    }
}

/// Returns the names in the text of a field.
pub(super) fn names(field: &FieldName<'_>, text: &str) -> Vec<(NameKind, String)> {
    let mut names = users(text);
    match (field.key, field.parent) {
        ("hostname" | "host" | "server" | "peer" | "nodename", _) | ("name", "hosts") => names.extend(hosts(text)),
        ("serial" | "wwn" | "wwid" | "nguid" | "eui64" | "server_certificate" | "machine_id", _) => {
            names.push((NameKind::Serial, text.to_owned()));
        }
        ("uuid" | "partuuid", _) => names.push((NameKind::Uuid, text.to_owned())),
        ("user" | "username" | "owner", _) if text.parse::<u64>().is_err() => {
            names.push((NameKind::User, text.to_owned()));
        }
        ("source", _) => names.extend(mounted(text)),
        ("path" | "mount_point" | "backing_file" | "directory" | "file" | "load" | "save" | "with" | "base", _) => {
            names.extend(paths(text));
        }
        (key, _) => {
            let has = |word: &str| key.contains(word);
            if has("serial") || has("wwid") || has("wwn") {
                names.push((NameKind::Serial, text.to_owned()));
            } else if has("uuid") {
                names.push((NameKind::Uuid, text.to_owned()));
            }
        }
    }
    names
}

/// Returns the names in `[USER@]HOST[:PORT]`.
fn hosts(text: &str) -> Vec<(NameKind, String)> {
    let mut names = Vec::new();
    let mut host = text;
    if let Some((user, rest)) = text.split_once('@') {
        names.push((NameKind::User, user.to_owned()));
        host = rest;
    }
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((name, _)) = host.split_once(':').filter(|(_, port)| is_port(port)) {
        host = name;
    }
    // Skip paths of simulated hosts, and sentences.
    if !host.is_empty() && !host.contains(['/', ' ']) {
        names.push((NameKind::Host, host.to_owned()));
    }
    names
}

/// Returns the names in a mount source: `server:/export`, `//server/share`, or a device.
fn mounted(text: &str) -> Vec<(NameKind, String)> {
    if let Some((server, path)) = text.strip_prefix("//").and_then(|rest| rest.split_once('/')) {
        return vec![(NameKind::Host, server.to_owned()), (NameKind::Path, format!("/{path}"))];
    }
    match text.split_once(":/") {
        Some((server, path)) => {
            let mut names = hosts(server.trim_matches(['[', ']']));
            names.push((NameKind::Path, format!("/{path}")));
            names
        }
        None => paths(text),
    }
}

/// Returns the text as a path. A bare word such as `data` counts only with a digit, capital or separator in it.
fn paths(text: &str) -> Vec<(NameKind, String)> {
    let is_chosen = |c: char| c == '/' || c == '.' || c == '-' || c == '_' || c.is_ascii_digit() || c.is_uppercase();
    let is_name = text.len() >= 4 && text.chars().any(is_chosen) && !text.starts_with("sim:");
    match is_name && !text.contains('\n') {
        true => vec![(NameKind::Path, text.to_owned())],
        false => Vec::new(),
    }
}

/// Returns user names from home directories and mount options in a text.
fn users(text: &str) -> Vec<(NameKind, String)> {
    let mut names = Vec::new();
    for before in ["/home/", "/Users/", "username=", "user="] {
        for (at, _) in text.match_indices(before) {
            let rest = &text[at + before.len()..];
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(rest.len());
            let user = rest[..end].trim_end_matches('.');
            if user.len() > 1 && user.parse::<u64>().is_err() {
                names.push((NameKind::User, user.to_owned()));
            }
        }
    }
    names
}
