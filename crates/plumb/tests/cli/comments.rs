//! Comments and docs in the source are plain English: the phrases of `docs/writing.md` that are never right there.

use crate::words::{files, found, named, root};

/// Phrases of comments, and their plain forms. Only unambiguous ones.
const PHRASES: &[(&str, &str)] = &[
    ("is told", "is printed, is given, learns"),
    ("are told", "are printed, are given, learn"),
    ("whoever", "the actor: the caller, the process"),
    ("somebody", "the actor: the caller, the process"),
    ("anew", "again"),
    ("for ever", "forever"),
    ("beside", "next to, during"),
    ("held against", "compared with"),
    ("lie apart", "differ by"),
    ("is no setting", "unknown setting"),
    ("looks whether", "checks whether"),
    ("looked whether", "checked whether"),
];

/// First words of a comment that make a noun of a clause, such as "What is written".
const OPENINGS: &[&str] = &["What ", "Whoever ", "Who ", "Why "];

/// Returns the text of a line's comment; `None` for code, and for comments after code with a string.
fn comment(line: &str) -> Option<&str> {
    let (code, comment) = line.split_once("//")?;
    let is_text = code.trim().is_empty() || !code.contains('"');
    is_text.then(|| comment.trim_start_matches(['/', '!']).trim())
}

/// Returns a line for each phrase in the comments of a source.
fn unplain(place: &str, source: &str) -> Vec<String> {
    // Each line stays a line, so that the numbers are those of the source.
    let text: String = source.lines().map(|line| format!("{}\n", comment(line).unwrap_or_default())).collect();
    let mut hits = found(place, &text, PHRASES);
    for (number, line) in text.lines().enumerate() {
        if let Some(opening) = OPENINGS.iter().find(|opening| line.starts_with(*opening))
            && !line.contains('?')
        {
            hits.push(format!("{place}:{}: opens with `{}`; name the thing", number + 1, opening.trim()));
        }
    }
    hits
}

#[test]
fn comments_are_plain() {
    let mut sources: Vec<_> = ["crates", "xtask"].iter().flat_map(|folder| files(&root().join(folder), "rs")).collect();
    // These files quote the phrases.
    sources.retain(|path| !path.ends_with("cli/comments.rs") && !path.ends_with("cli/words.rs"));
    assert!(sources.len() > 1_000, "{} sources", sources.len());
    let hits: Vec<String> =
        sources.iter().flat_map(|path| unplain(&named(path), &std::fs::read_to_string(path).unwrap())).collect();
    assert!(hits.is_empty(), "docs/writing.md, \"How Plumb speaks\":\n{}", hits.join("\n"));
}

// Protects: the test sees comments of all forms, and neither code nor questions.
#[test]
fn unplain_comments_are_found() {
    let hits = |source: &str| unplain("a.rs", source).len();
    assert_eq!(hits("/// What is written.\nfn a() {}\n"), 1);
    assert_eq!(hits("let a = 1; // Whoever reads it.\n"), 2);
    assert_eq!(hits("//! The guard is\n//! told.\n"), 1);
    assert_eq!(hits("// What if it fails?\nlet whoever = \"is told\"; // \"anew\"\n"), 0);
}
