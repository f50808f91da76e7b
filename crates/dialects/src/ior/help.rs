//! What `-h` prints.

use super::options::OPTIONS;
use crate::aiori::{BACKENDS, Takes};

/// The options.
pub fn text() -> String {
    let mut text = "Synopsis ior\n\nFlags\n".to_owned();
    let all = || OPTIONS.iter().chain(BACKENDS);
    all().filter(|row| row.takes == Takes::Flag).for_each(|row| text.push_str(&row.help_row()));
    text.push_str("\nOptional arguments\n");
    all().filter(|row| row.takes != Takes::Flag).for_each(|row| text.push_str(&row.help_row()));
    text
}
