//! A comparison of two equal places.

use super::Site;
use super::answer::{Ending, read_comparison};
use super::places::{Mounted, STORAGES, TRIAL};
use anyhow::Result;
use plumb_workload_text::named::NAMED;

/// A comparison ends within this time plus one more block, so that it takes at most 30 s.
const BUDGET: &str = "24s";
/// Length of each timed phase: six blocks of the shortest work take half of the budget.
const TIME: &str = "800ms";
const SIZE: &str = "24MiB";

/// Kinds of two equal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// Two new file systems of one kind, each on a separate device.
    Twins,
    /// One directory, twice.
    Same,
}

impl Pair {
    /// Returns the name in a trial's description.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Pair::Twins => "two of the same",
            Pair::Same => "one twice",
        }
    }
}

/// Runs a comparison. Storage, then pair, then work vary in turn: 64 indices cover all combinations once.
pub(super) fn run(site: &Site<'_>, index: u32, seed: u64) -> Result<(String, Ending)> {
    let index = index as usize;
    let storage = STORAGES[index % STORAGES.len()];
    let pair = if (index / STORAGES.len()).is_multiple_of(2) { Pair::Twins } else { Pair::Same };
    let work = NAMED[index / (2 * STORAGES.len()) % NAMED.len()].name;
    let folder = tempfile::Builder::new().prefix(TRIAL).tempdir_in(site.work)?;
    let first = Mounted::mount(storage, site.work, folder.path(), 'a')?;
    let second = match pair {
        Pair::Twins => Some(Mounted::mount(storage, site.work, folder.path(), 'b')?),
        Pair::Same => None,
    };
    let places = [first.place(), second.as_ref().map_or(first.place(), Mounted::place)];
    let places = places.map(|place| place.to_string_lossy().into_owned());
    let seed = seed.to_string();
    let output = site.plumb(
        folder.path(),
        &[
            "compare",
            &places[0],
            &places[1],
            "--for",
            work,
            "--budget",
            BUDGET,
            "--time",
            TIME,
            "--size",
            SIZE,
            "--seed",
            &seed,
            "--json",
            "--no-store",
        ],
    )?;
    Ok((format!("{}, {}, {work}", storage.name(), pair.name()), read_comparison(&output)))
}
