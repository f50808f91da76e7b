//! How values are read, and the errors in them.

/// Whose reading applies where fio silently misreads a value, or prints something wrong or misleading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// The intended meaning, with a warning. Output has fio's layout but correct values: no percentile is outside the
    /// minimum and maximum, a separator in a name does not shift the fields after it, and zeros that were not measured
    /// are named.
    #[default]
    Meant,
    /// fio's reading, without a warning, and its output byte for byte.
    Strict,
}

/// Settings for reading values, and the doubts found.
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

/// A value that fio reads differently from what was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    /// The text.
    pub written: String,
    /// What it is taken for.
    pub here: String,
    /// What fio does: `reads 5 µs`.
    pub fio: String,
}

/// Why a value is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// Nothing is there.
    #[error("a value is required")]
    Missing,
    /// Not a number.
    #[error("`{text}` is not a number")]
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
    /// Not in the list.
    #[error("`{text}` is not one of {allowed}{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NotAChoice {
        /// The text.
        text: String,
        /// The allowed values.
        allowed: String,
        /// The closest match.
        nearest: Option<&'static str>,
    },
    /// There are too many of them.
    #[error("at most {most} are allowed")]
    TooMany {
        /// The maximum.
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
