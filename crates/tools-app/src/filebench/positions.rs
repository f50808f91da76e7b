//! Sets of positions: `define posset`, of version 1.4. A read or write at random goes to one of them.

use super::script::Attributes;
use super::usage_error::FilebenchUsageError;
use super::variables::{Locals, Variables};
use plumb_workload::Bytes;
use plumb_workload::library_random::LibraryRandom;

/// Most positions of a set. Source: Filebench 1.4.9.1.
const ENTRIES_MAX: u64 = 512;

/// Positions are multiples of this, bytes. Source: the same.
const ALIGNMENT: u64 = 512;

/// The seed of a set that names none. Filebench asks the system for numbers then; here, the same script draws the same ones.
const USUAL_SEED: u64 = 1;

/// The name of a set and its positions: with a seed, those that Filebench draws from the GNU C library's `rand`.
///
/// # Errors
/// An attribute that is missing or wrong.
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
            let wrong =
                FilebenchUsageError::at(place("type"), format!("there are no sets of positions of type `{other}`"));
            return Err(wrong.help("use `type=rnd`"));
        }
    }
    let entries = number("entries")?.ok_or_else(|| missing("entries", "entries=50"))?;
    if !(1..=ENTRIES_MAX).contains(&entries) {
        let wrong = FilebenchUsageError::at(place("entries"), format!("a set of {entries} positions"));
        return Err(wrong.help(format!("use 1 to {ENTRIES_MAX}")));
    }
    let max = number("max")?.filter(|&max| max > 0).ok_or_else(|| missing("max", "max=1g"))?;
    let seed = number("seed")?.filter(|&seed| seed > 0).unwrap_or(USUAL_SEED);
    let mut numbers = LibraryRandom::seeded(seed as u32);
    // Of all 64 bits, as if they were drawn; then of this many equal parts.
    let part = u64::MAX / max.saturating_add(ALIGNMENT);
    let drawn = (0..entries).map(|_| {
        let all = (f64::from(numbers.draw()) / f64::from(LibraryRandom::MAX) * u64::MAX as f64) as u64;
        Bytes((all / part.max(1)).min(max) / ALIGNMENT * ALIGNMENT)
    });
    Ok((name, drawn.collect()))
}
