//! Paths as text. File names are bytes on Unix, but JSON, SQLite and pages hold text.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Returns the path as text. A path that is not UTF-8 is quoted as bash and zsh read it, `$'/mnt/d\xff'`: no byte is
/// lost, and it can be pasted into a shell. An absolute path never begins with `$`, so the two forms cannot be confused.
pub fn path_text(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let mut quoted = String::from("$'");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' | '\'' => quoted.extend(['\\', letter]),
                letter if letter.is_ascii_control() => {
                    let _ = write!(quoted, "\\x{:02x}", letter as u32);
                }
                letter => quoted.push(letter),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(quoted, "\\x{byte:02x}");
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::process::Command;

    fn text(bytes: &[u8]) -> String {
        path_text(Path::new(OsStr::from_bytes(bytes)))
    }

    #[test]
    fn utf8_is_unchanged_and_other_bytes_are_quoted() {
        assert_eq!(text("/mnt/größe\\x2d".as_bytes()), "/mnt/größe\\x2d");
        assert_eq!(text(b"/m/d\xff"), "$'/m/d\\xff'");
        assert_eq!(text(b"/m/\xffab"), "$'/m/\\xffab'");
    }

    // Protects: no byte of a name is lost, and a path copied from a page can be pasted into a shell.
    #[test]
    fn quoted_paths_read_back_in_a_shell() {
        for bytes in [&b"/m/\xffa\\b'c\x01\xc3\xa9"[..], b"/\xff\xfe", b"/\xffff"] {
            let script = format!("printf %s {}", text(bytes));
            let output = Command::new("bash").args(["-c", &script]).output().expect("this test needs bash");
            assert_eq!(output.stdout, bytes, "{script}");
        }
    }
}
