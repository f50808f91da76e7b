//! Tree files: lists of directories and files with sizes, for elbencho's custom trees.
//!
//! A line is `d PATH` or `f SIZE PATH`; other lines are ignored. After a comment `# encoding=base64` at the top,
//! paths are in base64, because names may contain line feeds. Source: elbencho 3.1-10, the help of `--treefile`, and
//! files written by `--treescan`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// Comment that marks paths as encoded.
pub const ENCODED: &str = "# encoding=base64";

/// An entry of a scanned directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Directory {
        /// Path below the scanned directory.
        path: Vec<u8>,
    },
    File {
        /// Path below the scanned directory.
        path: Vec<u8>,
        /// Length, bytes.
        bytes: u64,
    },
}

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Path below the benchmark directory.
    pub path: String,
    /// Length, bytes.
    pub bytes: u64,
}

/// The directories and files of a tree file, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeListing {
    /// Paths below the benchmark directory.
    pub dirs: Vec<String>,
    pub files: Vec<TreeFile>,
}

/// Formats a tree file of these entries, with encoded paths.
pub fn text(entries: &[Entry]) -> String {
    let mut text = format!("{ENCODED}\n");
    for entry in entries {
        text.push_str(&match entry {
            Entry::Directory { path } => format!("d {}\n", BASE64.encode(path)),
            Entry::File { path, bytes } => format!("f {bytes} {}\n", BASE64.encode(path)),
        });
    }
    text
}

/// Error in a tree file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {problem}")]
pub struct TreeFileError {
    pub name: String,
    /// Line number, from 1.
    pub line: usize,
    pub problem: TreeProblem,
}

/// Problem in one line of a tree file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeProblem {
    /// The size of a file is missing.
    #[error("the size is missing; write a file as `f BYTES PATH`, with a whole number of bytes")]
    NoSize,
    #[error("the path is missing; write `d PATH` or `f BYTES PATH`")]
    NoPath,
    /// A path is not in the encoding that the file declares.
    #[error("the path is not valid base64: {reason}")]
    NoBase64 { reason: String },
    /// A path is not UTF-8.
    #[error("the path `{path}` is not UTF-8, which results require; remove it")]
    NotUtf8 {
        /// The path, with replacement characters.
        path: String,
    },
    /// A path is not below the benchmark directory.
    #[error("`{path}` leaves the benchmark directory; use paths below it, without `..`")]
    LeadsOut { path: String },
}

/// Parses a tree file. Messages call it `name`.
///
/// # Errors
/// An invalid size or path, or a path outside the benchmark directory. The error has the line number.
pub fn parse(name: &str, text: &[u8]) -> Result<TreeListing, TreeFileError> {
    let is_head = |line: &&[u8]| line.is_empty() || line.starts_with(b"#");
    let encoded = text.split(|&byte| byte == b'\n').take_while(is_head).any(|line| line == ENCODED.as_bytes());
    let mut tree = TreeListing::default();
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        let (kind, rest) = first_word(line);
        let error_at = |problem| TreeFileError { name: name.to_owned(), line: number + 1, problem };
        match kind {
            b"d" => tree.dirs.push(path(rest, encoded).map_err(error_at)?),
            b"f" => {
                let (size, rest) = first_word(rest);
                let bytes = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
                let bytes = bytes.ok_or_else(|| error_at(TreeProblem::NoSize))?;
                tree.files.push(TreeFile { path: path(rest, encoded).map_err(error_at)?, bytes });
            }
            _ => {}
        }
    }
    Ok(tree)
}

/// Splits off the first word. The blanks after it are skipped.
fn first_word(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    (&line[..end], line[end..].trim_ascii())
}

fn path(written: &[u8], encoded: bool) -> Result<String, TreeProblem> {
    let bytes = match encoded {
        true => BASE64.decode(written).map_err(|error| TreeProblem::NoBase64 { reason: error.to_string() })?,
        false => written.to_vec(),
    };
    let path = String::from_utf8(bytes)
        .map_err(|error| TreeProblem::NotUtf8 { path: String::from_utf8_lossy(error.as_bytes()).into_owned() })?;
    if path.is_empty() || path.contains('\0') {
        return Err(TreeProblem::NoPath);
    }
    if path.starts_with('/') || path.split('/').any(|step| step == "..") {
        return Err(TreeProblem::LeadsOut { path });
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_files_are_read_and_the_rest_passed_over() {
        let tree = parse("t", b"# a tree\n\nd a b \n f\t12  a b/c d\nx y\nf 0 z\n").unwrap();
        assert_eq!(tree.dirs, ["a b"]);
        let file = |path: &str, bytes| TreeFile { path: path.to_owned(), bytes };
        assert_eq!(tree.files, [file("a b/c d", 12), file("z", 0)]);
    }

    // Protects names with line feeds, and with blanks at their ends, for which paths are encoded.
    #[test]
    fn tree_files_round_trip() {
        let entries =
            [Entry::Directory { path: b" d\n".to_vec() }, Entry::File { path: b" d\n/f ".to_vec(), bytes: 7 }];
        let text = text(&entries);
        assert_eq!(text, "# encoding=base64\nd IGQK\nf 7 IGQKL2Yg\n");
        let tree = parse("t", text.as_bytes()).unwrap();
        assert_eq!(
            tree,
            TreeListing { dirs: vec![" d\n".into()], files: vec![TreeFile { path: " d\n/f ".into(), bytes: 7 }] }
        );
        // After the first entry, the line is an ordinary comment.
        assert_eq!(parse("t", b"d YQ==\n# encoding=base64\n").unwrap().dirs, ["YQ=="]);
    }

    // Protects files outside the benchmark directory, and users from typos that would change the workload.
    #[test]
    fn invalid_entries_are_refused_with_their_line() {
        for (text, expected) in [
            (&b"d a\nf b"[..], "t:2: the size is missing"),
            (b"f 1k b", "t:1: the size is missing"),
            (b"f -1 b", "t:1: the size is missing"),
            (b"d", "t:1: the path is missing"),
            (b"f 3", "t:1: the path is missing"),
            (b"d ../a", "t:1: `../a` leaves"),
            (b"f 3 /etc/motd", "leaves the benchmark directory"),
            (b"d a/../../b", "leaves the benchmark directory"),
            (b"# encoding=base64\nd *", "t:2: the path is not valid base64"),
            (b"d \xff", "not UTF-8"),
        ] {
            let found = parse("t", text).unwrap_err().to_string();
            assert!(found.contains(expected), "{found}");
        }
        assert_eq!(parse("t", b"d a..b\n").unwrap().dirs, ["a..b"]);
    }
}
