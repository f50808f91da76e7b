//! Help and version.

use super::options::{OWN, TABLE, Takes};

/// What `-h` prints.
pub fn text() -> String {
    let mut text = "iozone: help mode\n\n".to_owned();
    for row in TABLE {
        let word = match row.takes {
            Takes::Nothing => String::new(),
            Takes::Word(word) | Takes::Words(word) => format!(" {word}"),
        };
        text.push_str(&format!("           -{}{word}  {}\n", row.name, row.help));
    }
    text.push('\n');
    for (name, help) in OWN {
        text.push_str(&format!("           --{name}  {help}\n"));
    }
    text
}

/// What `-v` prints.
pub fn version() -> String {
    format!("Plumb {}, compatible with IOzone 3.489\n", env!("CARGO_PKG_VERSION"))
}
