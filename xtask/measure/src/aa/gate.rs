//! A gate of two equal places.

use super::Site;
use super::answer::{Ending, read_gate};
use super::comparison::Pair;
use super::places::{Mounted, Storage, TRIAL};
use crate::mount::FileSystem;
use anyhow::Result;
use plumb_workload_text::named::NAMED;

/// A gate ends within this time, if its first six blocks fit into it. With start and end it takes at most 20 s.
const BUDGET: &str = "18s";
const SIZE: &str = "24MiB";

/// Storage of gates: the kinds that a CI pipeline has.
const STORAGES: [Storage; 2] = [Storage::Memory, Storage::Disk(FileSystem::Ext4)];

/// Runs a gate. Storage, then pair, then work vary in turn: 32 indices cover all combinations once.
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
    let [a, b] = places.map(|place| place.to_string_lossy().into_owned());
    let seed = seed.to_string();
    let words = ["gate", "--baseline", &a, "--candidate", &b, "--for", work, "--budget", BUDGET, "--size", SIZE];
    let rest = ["--seed", &seed, "--json", "--no-store"];
    let output = site.plumb(folder.path(), &[words.as_slice(), rest.as_slice()].concat())?;
    Ok((format!("{}, {}, {work}", storage.name(), pair.name()), read_gate(&output)))
}
