//! Activity of the block devices in a run of each cell.

use super::{factors, level, without_empty};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format;
use crate::style::Ink;
use crate::table::Align;
use plumb_result::study::{RunCount, StudyReport};

pub(super) fn devices(report: &StudyReport) -> Vec<ReportPart> {
    if report.cells.iter().all(|cell| cell.devices.is_empty()) {
        return Vec::new();
    }
    let factors = factors(report);
    let mut columns: Vec<ColumnHead> =
        factors.iter().map(|factor| ColumnHead::new(factor, Align::Left, None)).collect();
    columns.extend([
        ColumnHead::new("work", Align::Left, Some(1)),
        ColumnHead::new("device", Align::Left, None),
        ColumnHead::new("reads", Align::Right, None),
        ColumnHead::new("read", Align::Right, Some(3)),
        ColumnHead::new("per byte", Align::Right, Some(4)),
        ColumnHead::new("writes", Align::Right, None),
        ColumnHead::new("written", Align::Right, Some(5)),
        ColumnHead::new("per byte", Align::Right, None),
        ColumnHead::new("flushes", Align::Right, Some(2)),
    ]);
    let count = |of: RunCount| exact(of, |value| format!("{value:.0}"));
    let bytes = |of: RunCount| exact(of, format::bytes_iec);
    let per_byte = |of: Option<f64>| of.map_or(String::new(), |of| format!("{of:.3}"));
    let mut rows = Vec::new();
    for cell in &report.cells {
        for device in &cell.devices {
            let mut row: Vec<String> = factors.iter().map(|factor| level(cell, factor)).collect();
            row.extend([
                cell.workload.clone(),
                // A kernel name is useful next to the role only if all builds have the same one.
                match device.names.as_slice() {
                    [name] => format!("{} {name}", device.device),
                    _ => device.device.clone(),
                },
                count(device.reads),
                bytes(device.read_bytes),
                per_byte(device.read_per_byte),
                count(device.writes),
                bytes(device.written_bytes),
                per_byte(device.written_per_byte),
                count(device.flushes),
            ]);
            rows.push(row);
        }
    }
    let mut table = ReportTable { columns, rows };
    without_empty(&mut table);
    vec![
        ReportPart::Heading("Device operations per run".to_owned()),
        ReportPart::Table(table),
        ReportPart::Text(
            Ink::Faint,
            "@ names a device as the study file does; ~ marks means where runs differ. Per byte: per byte that the workload moved. Counts include laying \
             out its files."
                .to_owned(),
        ),
    ]
}

/// Returns the times that a model of a disk needs for the devices' activity, for machines whose own times mean nothing.
pub(super) fn modelled(report: &StudyReport) -> Vec<ReportPart> {
    let [assumptions, cells @ ..] = report.modelled.as_slice() else { return Vec::new() };
    let item = |cell: &String| {
        let (head, text) = cell.split_once(": ").unwrap_or(("", cell));
        Item { ink: Ink::Faint, head: head.to_owned(), text: text.to_owned() }
    };
    vec![
        ReportPart::Heading("Device operations per op, and a model's times".to_owned()),
        ReportPart::Text(Ink::Faint, assumptions.clone()),
        ReportPart::List(cells.iter().map(item).collect()),
    ]
}

fn exact(of: RunCount, set: impl Fn(f64) -> String) -> String {
    if of.is_exact() { set(of.mean) } else { format!("~{}", set(of.mean)) }
}
