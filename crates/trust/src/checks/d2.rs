use crate::check::{Check, Judge, Outcome};
use crate::comparison::{ComparisonSide, ComparisonView};
use crate::evidence::is_virtual_disk;
use crate::not_seen::NotSeen;
use crate::text::{percent, short};
use plumb_result::observe::{Extents, LayerKind, TargetFacts};
use plumb_result::{Remedy, Seen};

/// Rates of a disk fall from its outer edge to its inner one by half, about evenly: a tenth of the disk is up to 5 %
/// of the rate, the margin of comparisons.
const WARN_DISTANCE: f64 = 0.10;
/// From this many extents per GiB on, seeks of 8 ms cost a disk of 200 MB/s about 5 %.
const MANY_PER_GIB: f64 = 32.0;
/// This many times as many extents are a different layout.
const UNLIKE: f64 = 4.0;

pub(crate) static CHECK: Check = Check {
    code: "D2",
    title: "Layout",
    what: "Whether the test files of the two sides were at similar places of a spinning disk, and in similar numbers \
           of extents. What a virtual disk reports about rotation is ignored.",
    why: "A disk reads its outer tracks twice as fast as its inner ones: Van Meter, \"Observing the Effects of \
          Multi-Zone Disks\", USENIX 1997. Comparing two file systems on two partitions compares the tracks. Every \
          extent costs a seek: Smith and Seltzer, \"File System Aging\", SIGMETRICS 1997.",
    how: "FIEMAP when the clock started: the middle between the lowest and the highest physical byte, plus the \
          partition's start, as a share of the disk; extents per GiB.",
    threshold: "on a spinning disk, places that differ by more than 10 % of the disk warn (in a virtual machine, where \
                the tracks are unknown, they are noted); 4 times as many extents, and more than 32 per GiB, are noted",
    settled: "By reasoning: rates of a disk fall from its outer edge to its inner one by half, about evenly, so a \
              tenth of the disk is up to 5 % of the rate, the margin of comparisons; from 32 extents per GiB on, seeks \
              of 8 ms cost a disk of 200 MB/s about 5 %.",
    fix: &[Remedy::words(
        "Measure both sides on the same partition, with a new file system for each, or swap the partitions between two series.",
    )],
    judges: &[Judge::Comparison(examine)],
};

/// A side's files: the storage under them, and their extents.
struct Placement<'a> {
    side: &'a str,
    facts: &'a TargetFacts,
    extents: Extents,
}

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let one = match placement(&view.baseline) {
        Ok(placement) => placement,
        Err(Unseen::NoFiles) => return Outcome::NotApplicable,
        Err(Unseen::Reason(reason)) => return Outcome::skipped(reason),
    };
    let other = match placement(&view.candidate) {
        Ok(placement) => placement,
        Err(Unseen::NoFiles) => return Outcome::NotApplicable,
        Err(Unseen::Reason(reason)) => return Outcome::skipped(reason),
    };
    let spins = [&one, &other].into_iter().any(|placement| spins(placement.facts));
    let mut observed: Vec<String> = Vec::new();
    let mut unplaced: Option<String> = None;
    if spins {
        match (position(&one), position(&other)) {
            (Ok(first), Ok(second)) => {
                let seen =
                    format!("{} at {} of the disk, {} at {}", one.side, percent(first), other.side, percent(second));
                // Slightly more than a tenth is a tenth.
                if (first - second).abs() > WARN_DISTANCE + 1e-9 {
                    let message = format!("The files are on different parts of a spinning disk: {seen}.");
                    let is_virtual = |side: &ComparisonSide<'_>| {
                        side.environment.virtualisation.value().is_some_and(|name| name != "none")
                    };
                    return if is_virtual(&view.baseline) || is_virtual(&view.candidate) {
                        Outcome::note(seen, message)
                    } else {
                        Outcome::warn(seen, message)
                    };
                }
                observed.push(seen);
            }
            (Err(reason), _) | (_, Err(reason)) => unplaced = Some(reason.to_string()),
        }
    }
    let (first, second) = (per_gib(&one.extents), per_gib(&other.extents));
    let seen = format!("{} extents per GiB on {}, {} on {}", short(first), one.side, short(second), other.side);
    let (few, many) = (first.min(second), first.max(second));
    if many > MANY_PER_GIB && many > UNLIKE * few {
        return Outcome::note(seen.clone(), format!("The files are fragmented differently: {seen}."));
    }
    observed.push(seen);
    match unplaced {
        Some(reason) => Outcome::skipped(reason),
        None => Outcome::pass(observed.join("; ")),
    }
}

enum Unseen {
    NoFiles,
    Reason(String),
}

/// Returns the first target of a side whose extents are known, over all of its phases.
fn placement<'a>(side: &ComparisonSide<'a>) -> Result<Placement<'a>, Unseen> {
    let on_disk = |facts: &TargetFacts| {
        let is_real = |fs: &plumb_result::observe::FileSystem| !fs.in_memory && !fs.remote;
        facts.filesystem.value().is_some_and(is_real)
    };
    let targets: Vec<(&String, &TargetFacts)> = side.targets.iter().filter(|(_, facts)| on_disk(facts)).collect();
    let mut reason = None;
    for (name, facts) in &targets {
        let observations: Vec<&Seen<Extents>> =
            side.record.phases.iter().filter_map(|phase| phase.extents_before.get(*name)).collect();
        // Use the last observation: files that a first phase wrote have extents only afterwards.
        let seen = observations.iter().rev().filter_map(|seen| seen.value()).find(|extents| extents.total_bytes > 0);
        if let Some(extents) = seen {
            return Ok(Placement { side: side.name, facts, extents: *extents });
        }
        let why = observations.iter().find_map(|seen| seen.as_result().err());
        reason.get_or_insert_with(|| why.unwrap_or("the extents of the files were not read").to_owned());
    }
    Err(reason.map_or(Unseen::NoFiles, Unseen::Reason))
}

fn spins(facts: &TargetFacts) -> bool {
    let mut leaves = facts.stack.iter().filter(|layer| facts.leaves.contains(&layer.name));
    leaves.any(|layer| layer.rotational == Some(true) && !is_virtual_disk(layer))
}

fn per_gib(extents: &Extents) -> f64 {
    const GIB: f64 = (1u64 << 30) as f64;
    let data = extents.total_bytes.saturating_sub(extents.hole_bytes);
    if data == 0 { 0.0 } else { extents.extents as f64 / (data as f64 / GIB) }
}

/// Returns the position of the middle of the files on the disk, 0–1, or the reason why it is unknown.
fn position(placement: &Placement<'_>) -> Result<f64, NotSeen> {
    let kind = placement.facts.filesystem.value().map_or("", |fs| fs.kind.as_str());
    if kind == "btrfs" {
        return Err(NotSeen::AddressesOfBtrfs);
    }
    let place = placement.extents.place.ok_or(NotSeen::NoPlace)?;
    let top = placement.facts.stack.first().ok_or(NotSeen::NoDeviceBelowFiles)?;
    let (offset, size) = match top.kind {
        LayerKind::Loop => return Err(NotSeen::BehindLoop),
        LayerKind::Partition => {
            let disk = placement.facts.stack.iter().find(|layer| top.below.contains(&layer.name));
            let disk = disk.ok_or_else(|| NotSeen::NoDisk { partition: top.name.clone() })?;
            (top.start_bytes.unwrap_or(0), disk.size_bytes)
        }
        // For arrays and volumes use their own length: their stripes cover all disks alike.
        _ => (0, top.size_bytes),
    };
    if size == 0 {
        return Err(NotSeen::UnknownSize { device: top.name.clone() });
    }
    let middle = place.lowest_byte as f64 / 2.0 + place.end_byte as f64 / 2.0;
    Ok((offset as f64 + middle) / size as f64)
}

#[cfg(test)]
mod tests {
    use crate::fixture::{GIB, MIB, Scene, compare};
    use plumb_result::observe::{BlockLayer, LayerKind};
    use plumb_result::{Level, Seen};

    fn disk(place_gib: u64, extents: u64) -> Scene {
        Scene::reading(2 * GIB).lies_at(place_gib * GIB, extents).rotational(true)
    }

    fn level(baseline: &Scene, candidate: &Scene) -> Option<Level> {
        compare(baseline, candidate, 6, None).level("D2")
    }

    #[test]
    fn places_on_a_spinning_disk_must_be_alike() {
        assert_eq!(level(&disk(10, 1), &disk(110, 1)), Some(Level::Pass));
        assert_eq!(level(&disk(10, 1), &disk(111, 1)), Some(Level::Warn));
        let solid = |place| disk(place, 1).rotational(false);
        assert_eq!(level(&solid(10), &solid(900)), Some(Level::Pass));
        let guest = |place| disk(place, 1).virtualisation("kvm");
        assert_eq!(level(&guest(10), &guest(900)), Some(Level::Note));
    }

    /// Two partitions of one disk: the same offset in each is not the same place on the disk.
    #[test]
    fn a_partition_counts_from_its_start() {
        let on_partition = |start_gib: u64| {
            let mut scene = disk(1, 1);
            let facts = scene.observations.targets.values_mut().next().unwrap();
            facts.stack.insert(
                0,
                BlockLayer {
                    name: "vda1".to_owned(),
                    kind: LayerKind::Partition,
                    below: vec!["vda".to_owned()],
                    start_bytes: Some(start_gib * GIB),
                    size_bytes: 300 * GIB,
                    ..BlockLayer::default()
                },
            );
            scene
        };
        assert_eq!(level(&on_partition(0), &on_partition(0)), Some(Level::Pass));
        assert_eq!(level(&on_partition(0), &on_partition(600)), Some(Level::Warn));
    }

    #[test]
    fn unlike_numbers_of_pieces_are_noted() {
        assert_eq!(level(&disk(10, 2), &disk(10, 60)), Some(Level::Pass), "few a GiB");
        assert_eq!(level(&disk(10, 2), &disk(10, 200)), Some(Level::Note));
        assert_eq!(level(&disk(10, 150), &disk(10, 200)), Some(Level::Pass), "alike");
    }

    #[test]
    fn unknown_layouts_are_skipped() {
        let unplaced = Scene::reading(GIB).rotational(true);
        assert_eq!(level(&unplaced, &unplaced), Some(Level::Skipped));
        let mut unseen = Scene::reading(MIB);
        unseen.seen().extents_before.values_mut().for_each(|seen| *seen = Seen::no("no FIEMAP"));
        assert_eq!(level(&unseen, &Scene::reading(MIB)), Some(Level::Skipped));
        assert_eq!(level(&Scene::reading(MIB).in_memory(), &Scene::reading(MIB)), None);
    }
}
