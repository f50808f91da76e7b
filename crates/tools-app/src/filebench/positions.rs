//! Sets of positions: `define posset`, from version 1.4. A random read or write goes to one of them.

use super::script::Attributes;
use super::usage_error::FilebenchUsageError;
use super::variables::{Locals, Variables};
use plumb_workload::Bytes;
use plumb_workload::library_random::LibraryRandom;

/// Limit of positions in a set. Source: Filebench 1.4.9.1.
const ENTRIES_MAX: u64 = 512;

/// Positions are multiples of this, bytes. Source: Filebench 1.4.9.1.
const ALIGNMENT: u64 = 512;

/// Seed of a set without one. Filebench then asks the system for numbers; Plumb draws the same ones each time.
const USUAL_SEED: u64 = 1;

/// Draws the positions of a set, and returns them with its name. With a seed, they equal Filebench's, which uses
/// `rand` of the GNU C library.
///
/// # Errors
/// An attribute is missing or invalid.
pub(super) fn draw(
    attributes: &Attributes,
    variables: &Variables,
) -> Result<(String, Vec<Bytes>), FilebenchUsageError> {
    let none = Locals::new();
    let missing = |name: &str, help: &str| {
        FilebenchUsageError::at(attributes.place, format!("the set of positions has no `{name}`"))
            .help(format!("add `{help}`"))
    };
    let text = |name: &str| attributes.get(name).map(|found| variables.text(&found.value, &none)).transpose();
    let number = |name: &str| attributes.get(name).map(|found| variables.integer(&found.value, &none)).transpose();
    let name = text("name")?.ok_or_else(|| missing("name", "name=places"))?;
    let place = |name: &str| attributes.get(name).map_or(attributes.place, |found| found.place);
    match text("type")?.ok_or_else(|| missing("type", "type=rnd"))?.as_str() {
        "rnd" => {}
        other => {
            let error =
                FilebenchUsageError::at(place("type"), format!("there are no sets of positions of type `{other}`"));
            return Err(error.help("use `type=rnd`"));
        }
    }
    let entries = number("entries")?.ok_or_else(|| missing("entries", "entries=50"))?;
    if !(1..=ENTRIES_MAX).contains(&entries) {
        let error = FilebenchUsageError::at(place("entries"), format!("a set of {entries} positions"));
        return Err(error.help(format!("use 1 to {ENTRIES_MAX}")));
    }
    let max = number("max")?.filter(|&max| max > 0).ok_or_else(|| missing("max", "max=1g"))?;
    let seed = number("seed")?.filter(|&seed| seed > 0).unwrap_or(USUAL_SEED);
    let mut numbers = LibraryRandom::seeded(seed as u32);
    // Filebench scales to 64 bits, then divides by the size of equal parts.
    let part = u64::MAX / max.saturating_add(ALIGNMENT);
    let drawn = (0..entries).map(|_| {
        let all = (f64::from(numbers.draw()) / f64::from(LibraryRandom::MAX) * u64::MAX as f64) as u64;
        Bytes((all / part.max(1)).min(max) / ALIGNMENT * ALIGNMENT)
    });
    Ok((name, drawn.collect()))
}
