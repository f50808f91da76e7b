//! The numbers of a published study, for comparisons with other results.

use crate::form::PublishedStudy;
use crate::numbers::PrintedUnit;
use crate::rules::side_name;
use crate::view::{CellView, View};
use plumb_result::{PublishedNumber, Unit as PlainUnit};

/// Returns the numbers printed for one side, in file order; if `test` is given, only those of that test. If bytes and
/// seconds were printed, a rate is computed from them, as in the audit. Units are read as the tool means them.
pub fn published(study: &PublishedStudy, side: &str, test: Option<&str>) -> Vec<PublishedNumber> {
    let view = View::new(study);
    let is_meant =
        |cell: &&CellView<'_>| cell.cell.side == side && test.is_none_or(|test| cell.test.id.as_str() == test);
    view.cells.iter().filter(is_meant).filter_map(|cell| number(study, cell)).collect()
}

fn number(study: &PublishedStudy, cell: &CellView<'_>) -> Option<PublishedNumber> {
    const NS_PER_S: f64 = 1e9;
    let (unit, factor) = match cell.unit? {
        PrintedUnit::Bytes { .. } => (PlainUnit::BytesPerSecond, 1.0),
        PrintedUnit::PerSecond { .. } => (PlainUnit::OpsPerSecond, 1.0),
        PrintedUnit::Time { .. } => (PlainUnit::Nanoseconds, NS_PER_S),
    };
    // Printed bytes and seconds determine only a rate in bytes per second.
    let value = if unit == PlainUnit::BytesPerSecond { cell.value? } else { cell.printed_value()? };
    let number =
        PublishedNumber::new(cell.cell.metric, cell.printed()?, value * factor, unit, conditions(study, cell))?;
    Some(PublishedNumber { about: cell.cell.about, ..number })
}

/// Describes the conditions: `bonnie on RAID 4: bonnie++ -d /mnt/raid …, mean over …`.
fn conditions(study: &PublishedStudy, cell: &CellView<'_>) -> String {
    let mut text = format!("{} on {}", cell.test.id, side_name(study, &cell.cell.side));
    let command = cell.cell.command.as_ref().or(cell.test.command.as_ref());
    text.push_str(&format!(": {}", command.unwrap_or(&cell.test.tool)));
    if let Some(size) = cell.test.file_size {
        text.push_str(&format!(", {size}"));
    }
    if let Some(what) = &cell.cell.mean_over {
        text.push_str(&format!(", mean over {what}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::CellMetric;

    const MIRRORS: &str = include_str!("../../../audits/mirrors.toml");

    fn numbers(side: &str, test: Option<&str>) -> Vec<PublishedNumber> {
        published(&crate::tests::read("mirrors.toml", MIRRORS).unwrap(), side, test)
    }

    // Protects: rates are in the unit that their tool means, and are computed from bytes and seconds if both were printed.
    #[test]
    fn numbers_are_read_in_the_unit_that_was_meant() {
        let bonnie = numbers("linux", Some("bonnie"));
        let kinds: Vec<CellMetric> = bonnie.iter().map(|number| number.kind).collect();
        assert_eq!((kinds.len(), kinds[1], kinds[5]), (12, CellMetric::Write, CellMetric::Seeks));
        assert_eq!((bonnie[1].printed.as_str(), bonnie[1].value), ("28895 KB/s", 28895.0 * 1024.0));
        assert_eq!((bonnie[5].value, bonnie[5].unit), (148.5, PlainUnit::OpsPerSecond));
        assert!(bonnie[1].conditions.starts_with("bonnie on Linux: bonnie++ -d /raid/"), "{}", bonnie[1].conditions);
        let dd = numbers("freebsd", Some("dd-4k-write"));
        assert!((dd[0].value - 1_073_741_824.0 / 20.888_121).abs() < 0.001, "{}", dd[0].value);
        let mean = &numbers("freebsd", Some("iozone-16m"))[0];
        assert!(mean.conditions.ends_with("16MiB, mean over record sizes from 4 kB to 16 MB"), "{}", mean.conditions);
    }

    // Protects: missing numbers, and numbers of another side or test, are not returned.
    #[test]
    fn missing_numbers_are_not_returned() {
        assert_eq!(numbers("linux", Some("bonnie-files")), []);
        assert_eq!(numbers("linux", Some("dd-1g-read")), []);
        assert_eq!(numbers("openbsd", None), []);
        assert_eq!(numbers("freebsd", None).len(), 12 + 12 + 10);
    }
}
