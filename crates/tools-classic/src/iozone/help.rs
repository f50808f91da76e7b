//! Help and version of IOzone.

use super::options::{OPTIONS, OWN};

pub fn text() -> String {
    let mut text = "iozone: help mode\n\n".to_owned();
    for row in OPTIONS {
        let value = if row.takes.is_flag() { String::new() } else { format!(" {}", row.takes.value()) };
        text.push_str(&format!("           -{}{value}  {}\n", row.name, row.what));
    }
    text.push('\n');
    for (name, help) in OWN {
        text.push_str(&format!("           --{name}  {help}\n"));
    }
    text
}

pub fn version() -> String {
    format!("Plumb {}, compatible with IOzone 3.489\n", env!("CARGO_PKG_VERSION"))
}
