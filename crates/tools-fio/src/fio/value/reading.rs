//! Modes of parsing values, and errors.

/// The treatment of values that fio silently misreads, and of numbers that fio prints wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// The intended meaning, with a warning. Output has fio's layout but correct values: no percentile is
    /// outside the minimum and maximum, a separator in a name does not shift the fields after it, and
    /// zeros that were not measured are named.
    #[default]
    Meant,
    /// fio's reading, without a warning, and its output byte for byte.
    Strict,
}

/// Settings for parsing values, and the doubts found.
#[derive(Debug)]
pub struct ValueReading<'a> {
    pub compat: Compat,
    /// Value of `k`: 1024 or 1000.
    pub kb_base: u64,
    /// Values for which the two readings differ.
    pub doubts: &'a mut Vec<Doubt>,
}

impl ValueReading<'_> {
    pub(super) fn doubt(&mut self, written: &str, here: String, fio: String) {
        self.doubts.push(Doubt { written: written.to_owned(), here, fio });
    }
}

/// A value that fio reads differently from its intended meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    pub written: String,
    /// Plumb's interpretation.
    pub here: String,
    /// fio's interpretation: `reads 5 µs`.
    pub fio: String,
}

/// An error in a value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ValueError {
    #[error("a value is required")]
    Missing,
    #[error("`{text}` is not a number")]
    NotANumber { text: String },
    /// A number outside its bounds.
    #[error("{value} is outside {bounds}")]
    OutOfBounds { value: String, bounds: String },
    #[error("`{text}` is not one of {allowed}{}", .nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    NotAChoice { text: String, allowed: String, nearest: Option<&'static str> },
    /// Too many values.
    #[error("at most {most} are allowed")]
    TooMany { most: usize },
    /// A syntax error.
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
