//! Suggestions for mistyped words.

/// Longest word to compare, in characters. All of Plumb's names are shorter. The time grows with the product of both lengths; a word
/// of 70 KB took seconds.
const LETTERS_MAX: usize = 64;

/// Returns the candidate that is closest to `word`, if one is close enough.
///
/// Closeness is the optimal string alignment distance (insert, delete, replace, swap neighbours), ignoring case and
/// `-`/`_`; at most a third of the word may differ. A candidate also counts if it is a prefix of `word`, or `word` is a
/// prefix of it. Words longer than 64 characters never match.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| is_short(text).then(|| text.to_lowercase().replace(['-', '_', ' '], ""));
    let wanted = plain(word).filter(|wanted| !wanted.is_empty())?;
    let allowed = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = plain(candidate)?;
            let distance = strsim::osa_distance(&wanted, &name);
            let contained = wanted.len() >= 3 && (name.starts_with(&wanted) || wanted.starts_with(&name));
            (distance <= allowed || contained).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Returns the first candidate with the fewest edits (insert, delete, replace) from `word`, if there are fewer than
/// `fewer_than`. Words longer than 64 characters never match.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, fewer_than: usize) -> Option<&'a str> {
    if !is_short(word) {
        return None;
    }
    let counted = candidates
        .into_iter()
        .filter(|candidate| is_short(candidate))
        .map(|candidate| (strsim::levenshtein(word, candidate), candidate));
    counted.min_by_key(|(edits, _)| *edits).filter(|(edits, _)| *edits < fewer_than).map(|(_, candidate)| candidate)
}

/// Returns `true` if a word is short enough to compare. Stops counting at the limit.
fn is_short(word: &str) -> bool {
    word.chars().nth(LETTERS_MAX).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_was_meant() {
        let names = ["depth", "target", "io-uring", "permutation", "work"];
        for (typed, meant) in
            [("dpeth", "depth"), ("io_uring", "io-uring"), ("IOURING", "io-uring"), ("perm", "permutation")]
        {
            assert_eq!(nearest(typed, names), Some(meant), "{typed}");
        }
    }

    #[test]
    fn stays_silent_when_nothing_is_near() {
        assert_eq!(nearest("colour", ["depth", "target"]), None);
        assert_eq!(nearest("", ["depth"]), None);
    }

    #[test]
    fn counts_edits() {
        for (a, b, edits) in
            [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("größe", "grösse", 2)]
        {
            assert_eq!(strsim::osa_distance(a, b), edits, "{a} {b}");
        }
    }

    // Without the limit, comparing a word of 1 MB with its prefix takes too long.
    #[test]
    fn long_words_are_not_compared() {
        let long = "depth".repeat(200_000);
        assert_eq!(nearest(&long, ["depth"]), None);
        assert_eq!(nearest("depth", [long.as_str()]), None);
        assert_eq!(closest(&long, [long.as_str()], usize::MAX), None);
        assert_eq!(
            nearest(&"x".repeat(LETTERS_MAX), ["x".repeat(LETTERS_MAX).as_str()]).map(str::len),
            Some(LETTERS_MAX)
        );
    }
}
