//! The nearest name, for errors.

/// The candidate that `word` was most likely meant to be, where one is close enough to say so.
///
/// Closeness is the optimal string alignment distance (insert, delete, replace, swap neighbours), ignoring case and
/// `-`/`_`; at most a third of the word may differ. A candidate that `word` begins, or that begins `word`, also counts.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(word);
    if wanted.is_empty() {
        return None;
    }
    let allowed = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let name = plain(candidate);
            let distance = strsim::osa_distance(&wanted, &name);
            let contained = wanted.len() >= 3 && (name.starts_with(&wanted) || wanted.starts_with(&name));
            (distance <= allowed || contained).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The first of the candidates with the fewest edits (insert, delete, replace) from `word`, where they are fewer than
/// `fewer_than`.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>, fewer_than: usize) -> Option<&'a str> {
    let counted = candidates.into_iter().map(|candidate| (strsim::levenshtein(word, candidate), candidate));
    counted.min_by_key(|(edits, _)| *edits).filter(|(edits, _)| *edits < fewer_than).map(|(_, candidate)| candidate)
}

/// `did you mean …` for the nearest candidate, else the list of all.
pub(crate) fn did_you_mean(word: &str, candidates: &[&str]) -> Option<String> {
    match nearest(word, candidates.iter().copied()) {
        Some(name) => Some(format!("did you mean `{name}`?")),
        None if candidates.is_empty() => None,
        None => Some(format!("there {}", listed(candidates))),
    }
}

/// `is \`a\`` or `are \`a\`, \`b\` and \`c\``.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "is none".to_owned(),
        Some((only, [])) => format!("is {only}"),
        Some((last, others)) => format!("are {} and {last}", others.join(", ")),
    }
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
        assert_eq!(did_you_mean("colour", &["depth", "target"]).unwrap(), "there are `depth` and `target`");
    }

    #[test]
    fn counts_edits() {
        for (a, b, edits) in
            [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("größe", "grösse", 2)]
        {
            assert_eq!(strsim::osa_distance(a, b), edits, "{a} {b}");
        }
    }
}
