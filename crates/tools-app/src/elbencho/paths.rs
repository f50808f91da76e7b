//! Expands paths with brackets: `disk[1-4]`, `d[1,3,05-07]`, `{a,b}`.

/// Error from expanding a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    #[error("`{element}` in `{path}` is not a range; write it as 1-4")]
    NoRange {
        element: String,
        /// The path that contains it.
        path: String,
    },
    /// The path expands to more than [`MOST`] paths.
    #[error("`{path}` expands to more than {MOST} paths")]
    TooMany { path: String },
    #[error("the brackets in `{path}` are empty")]
    Nothing { path: String },
}

/// Returns the paths that a word expands to; the word itself if it has no brackets.
///
/// # Errors
/// A range is invalid.
pub(super) fn expand(word: &str) -> Result<Vec<String>, PathsError> {
    let mut done = Vec::new();
    let mut open = vec![word.to_owned()];
    while let Some(path) = open.pop() {
        match once(&path)? {
            None => done.push(path),
            // The first path comes next.
            Some(paths) => open.extend(paths.into_iter().rev()),
        }
        if done.len() + open.len() > MOST {
            return Err(PathsError::TooMany { path: word.to_owned() });
        }
    }
    Ok(done)
}

/// Limit of paths. More are probably a typo.
const MOST: usize = 1 << 20;

/// Expands the first bracket of a path; `None` if there is none.
fn once(path: &str) -> Result<Option<Vec<String>>, PathsError> {
    for (at, open) in path.char_indices() {
        let (close, numbers) = match open {
            '[' => (']', true),
            '{' => ('}', false),
            _ => continue,
        };
        let rest = &path[at + 1..];
        let Some(end) = rest.find(close) else { continue };
        let inner = &rest[..end];
        let is_list = match numbers {
            true => !inner.is_empty() && inner.chars().all(|c| c.is_ascii_digit() || c == ',' || c == '-'),
            false => inner.contains(','),
        };
        if !is_list {
            continue;
        }
        let (before, after) = (&path[..at], &rest[end + 1..]);
        let mut paths = Vec::new();
        for element in inner.split(',').filter(|element| !element.is_empty()) {
            match element.split_once('-') {
                Some((from, to)) if numbers => {
                    let number = |text: &str| text.parse::<u64>().ok();
                    let (Some(first), Some(last)) = (number(from), number(to)) else {
                        return Err(PathsError::NoRange { element: element.to_owned(), path: path.to_owned() });
                    };
                    if last.saturating_sub(first) > MOST as u64 {
                        return Err(PathsError::TooMany { path: path.to_owned() });
                    }
                    let width = from.len();
                    paths.extend((first..=last).map(|number| format!("{before}{number:0width$}{after}")));
                }
                _ => paths.push(format!("{before}{element}{after}")),
            }
        }
        if paths.is_empty() {
            return Err(PathsError::Nothing { path: path.to_owned() });
        }
        return Ok(Some(paths));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_for_numbers_and_words() {
        assert_eq!(expand("/mnt/f").unwrap(), ["/mnt/f"]);
        assert_eq!(expand("f[1-3]").unwrap(), ["f1", "f2", "f3"]);
        assert_eq!(expand("f[08-10,x]").unwrap(), ["f[08-10,x]"], "words in square brackets are not a list");
        assert_eq!(expand("f[08-10,12]").unwrap(), ["f08", "f09", "f10", "f12"]);
        assert_eq!(expand("d[1-2]/f{a,b}").unwrap(), ["d1/fa", "d1/fb", "d2/fa", "d2/fb"]);
        assert_eq!(expand("[::1]").unwrap(), ["[::1]"]);
        assert!(expand("f[1-2-3]").unwrap_err().to_string().contains("1-2-3"));
        assert!(expand("f[,]").unwrap_err().to_string().contains("empty"));
    }
}
