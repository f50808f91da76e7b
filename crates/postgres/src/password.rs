//! Passwords: `PGPASSWORD`, then the password file of libpq. Source: PostgreSQL 15, 34.16 "The Password File".

use crate::{Address, ShareError};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the password for an address; `None` if neither source has one.
pub(crate) fn find(address: &Address) -> Result<Option<String>, ShareError> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
        return Ok(Some(password));
    }
    match file() {
        Some(path) => of_file(&path, address),
        None => Ok(None),
    }
}

fn file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PGPASSFILE").or_else(|| Some(set("HOME")?.join(".pgpass")))
}

fn of_file(path: &Path, address: &Address) -> Result<Option<String>, ShareError> {
    let failed = |reason: String| ShareError::Password { path: path.to_owned(), reason };
    let metadata = match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        metadata => metadata.map_err(|error| failed(error.to_string()))?,
    };
    if !metadata.is_file() {
        return Ok(None);
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(failed("other users may read it; run `chmod 600` on it".to_owned()));
    }
    let text = plumb_text::bounded::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    Ok(text.lines().find_map(|line| of_line(line, address)))
}

/// Returns the password of a line `host:port:database:user:password` that matches. `*` matches everything, and a
/// backslash escapes the next character.
fn of_line(line: &str, address: &Address) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    // libpq's file names sockets `localhost`.
    let host = if address.host.starts_with('/') { "localhost" } else { &address.host };
    let mut rest = line;
    for expected in [host, &address.port.to_string(), &address.database, &address.user] {
        let (field, after) = field(rest)?;
        if field != expected && !(field == "*" && rest.starts_with("*:")) {
            return None;
        }
        rest = after?;
    }
    Some(field(rest)?.0)
}

/// Splits off the first field; the rest is `None` if no colon follows.
fn field(text: &str) -> Option<(String, Option<&str>)> {
    let mut field = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            ':' => return Some((field, text.get(at + 1..))),
            '\\' => field.push(characters.next()?.1),
            _ => field.push(character),
        }
    }
    Some((field, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text, None).unwrap()
    }

    // Protects: the first matching line counts, and escapes and wildcards are libpq's.
    #[test]
    fn lines_of_the_password_file_match() {
        let at = address("postgres://ann@db:5433/results");
        for (line, password) in [
            ("db:5433:results:ann:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            ("db:5433:results:ann:a\\:b\\\\c", Some("a:b\\c")),
            ("db:5432:results:ann:secret", None),
            ("\\*:*:*:*:escaped", None),
            ("#b:5433:results:ann:secret", None),
            ("db:5433", None),
            ("", None),
            ("db:5433:results:ann:\\", None),
        ] {
            assert_eq!(of_line(line, &at).as_deref(), password, "{line}");
        }
        assert_eq!(of_line("localhost:5432:r:ann:s", &address("postgres://ann@%2Frun/r")).as_deref(), Some("s"));
    }

    // Protects: a password file that others can read is refused, as libpq ignores it, and a missing one is none.
    #[test]
    fn a_readable_password_file_is_refused() {
        let at = address("postgres://ann@db:5433/results");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pgpass");
        assert_eq!(of_file(&path, &at).unwrap(), None);
        std::fs::write(&path, "x:*:*:*:wrong\n*:*:*:*:secret\n*:*:*:*:later\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o640);
        let message = of_file(&path, &at).unwrap_err().to_string();
        assert!(message.contains("chmod 600") && !message.contains("secret"), "{message}");
        mode(0o600);
        assert_eq!(of_file(&path, &at).unwrap().as_deref(), Some("secret"));
    }
}
