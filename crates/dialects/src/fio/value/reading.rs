//! How values are read, and what may be wrong with them.

/// Whose way holds where fio silently misreads, or prints something that is wrong or that readers stumble over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// What was meant, with a warning. In print, what is right, in fio's layout: no percentile lies outside the smallest
    /// and largest value, a separator in a name does not shift the fields behind it, and zeros that were not measured are
    /// named.
    #[default]
    Meant,
    /// fio's, without a word, and to the byte what it prints.
    Strict,
}

/// What holds while values are read, and what was noticed.
#[derive(Debug)]
pub struct ValueReading<'a> {
    /// Whose reading holds.
    pub compat: Compat,
    /// What `k` is: 1024 or 1000.
    pub kb_base: u64,
    /// Where the two readings differed.
    pub doubts: &'a mut Vec<Doubt>,
}

impl ValueReading<'_> {
    pub(super) fn doubt(&mut self, written: &str, here: String, fio: String) {
        self.doubts.push(Doubt { written: written.to_owned(), here, fio });
    }
}

/// A text that fio reads otherwise than it was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The text.
    pub written: String,
    /// What it is taken for.
    pub here: String,
    /// What fio does: `reads 5 µs`.
    pub fio: String,
}

/// Why a value cannot be taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// Nothing is there.
    #[error("a value is needed")]
    Missing,
    /// It is no number.
    #[error("`{text}` is no number")]
    NotANumber {
        /// The text.
        text: String,
    },
    /// It is outside its bounds.
    #[error("{value} is outside {bounds}")]
    OutOfBounds {
        /// The value.
        value: String,
        /// What is allowed.
        bounds: String,
    },
    /// It is no word of the list.
    #[error("`{text}` is not among {allowed}{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NotAChoice {
        /// The text.
        text: String,
        /// The words that may be said.
        allowed: String,
        /// The word most like it.
        nearest: Option<&'static str>,
    },
    /// There are too many of them.
    #[error("at most {most} are allowed")]
    TooMany {
        /// So many are allowed.
        most: usize,
    },
    /// It does not follow its grammar.
    #[error("{0}")]
    Grammar(String),
}

impl ValueError {
    pub(super) fn grammar(reason: impl Into<String>) -> ValueError {
        ValueError::Grammar(reason.into())
    }

    pub(super) fn not_a_choice(text: &str, words: &'static [&'static str]) -> ValueError {
        let nearest = plumb_workload::suggest::nearest(text, words.iter().copied());
        ValueError::NotAChoice { text: text.to_owned(), allowed: words.join(", "), nearest }
    }
}
