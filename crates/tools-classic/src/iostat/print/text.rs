//! Columns of text.

use super::colour::Palette;
use super::number::{Pen, Scale};
use super::{FrameEnvironment, IostatSettings, Rates, Report};
use crate::iostat::{Columns, CpuShares, DataUnit, DeviceRow, TableLayout};
use plumb_result::blocks::BlockOps;

pub(super) fn opening(environment: &FrameEnvironment) -> String {
    let FrameEnvironment { system, release, host, machine, processors, date, .. } = environment;
    format!("{system} {release} ({host}) \t{date} \t_{machine}_\t({processors} CPU)\n\n")
}

pub(super) fn report(report: &Report, settings: &IostatSettings, palette: &Palette) -> String {
    let mut pen = Pen { palette, decimals: settings.decimals, human: settings.human, text: String::new() };
    if settings.timestamp {
        pen.text.push_str(&format!("{}\n", report.time));
    }
    if settings.cpu {
        cpu(&mut pen, &report.cpu);
    }
    if settings.disk {
        let last = report.parts.len();
        for (number, rows) in (1..).zip(&report.parts) {
            let parts = if last == 1 { Parts::All } else { Parts::One(number) };
            head(&mut pen, settings, parts);
            for row in rows {
                line(&mut pen, row, report.interval_cs, settings, parts);
            }
            if number < last {
                pen.text.push('\n');
            }
        }
    }
    pen.text.push('\n');
    pen.text
}

fn cpu(pen: &mut Pen, cpu: &CpuShares) {
    pen.text.push_str("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for share in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle] {
        pen.percent(7, share);
    }
    pen.text.push_str("\n\n");
}

/// The part of the extended columns to print, one of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    All,
    One(usize),
}

impl Parts {
    fn has(self, number: usize) -> bool {
        self == Parts::All || self == Parts::One(number)
    }
}

fn head(pen: &mut Pen, settings: &IostatSettings, parts: Parts) {
    let text = &mut pen.text;
    let is_pretty = settings.layout != TableLayout::Lines;
    if !is_pretty {
        text.push_str("Device       ");
    }
    let is_extended = matches!(settings.columns, Columns::Extended | Columns::ExtendedShort);
    let (space, unit) = match settings.unit {
        DataUnit::Kilobytes => (" ", "kB"),
        DataUnit::Megabytes => (" ", "MB"),
        DataUnit::Sectors if is_extended => ("", "sec"),
        DataUnit::Sectors => ("", "Blk"),
    };
    match settings.columns {
        Columns::ExtendedShort => {
            text.push_str(&format!("      tps     {space}{unit}/s    rqm/s   await  areq-sz  aqu-sz  %util"));
        }
        Columns::Extended => {
            for (number, letter) in [(1, 'r'), (2, 'w'), (3, 'd')] {
                if parts.has(number) {
                    text.push_str(&format!(
                        "     {letter}/s    {space}{letter}{unit}/s   {letter}rqm/s  %{letter}rqm {letter}_await {letter}areq-sz"
                    ));
                }
            }
            if parts.has(4) {
                text.push_str("     f/s f_await  aqu-sz  %util");
            }
        }
        Columns::BasicShort => {
            text.push_str("      tps");
            for what in ["_read/s", " _w+d/s", "_read", " _w+d"] {
                let (wide, what) = what.strip_prefix(' ').map_or(("", what), |what| (" ", what));
                text.push_str(&format!("   {wide}{space}{unit}{what}"));
            }
        }
        Columns::Basic => {
            text.push_str("      tps");
            for what in ["_read/s", "_wrtn/s", "_dscd/s", "_read", "_wrtn", "_dscd"] {
                text.push_str(&format!("   {space}{unit}{what}"));
            }
        }
    }
    if is_pretty {
        text.push_str(" Device");
    }
    text.push('\n');
}

fn line(pen: &mut Pen, row: &DeviceRow, interval_cs: u64, settings: &IostatSettings, parts: Parts) {
    let rates = Rates::new(row, interval_cs);
    let is_extended = matches!(settings.columns, Columns::Extended | Columns::ExtendedShort);
    if is_extended && row.devices == 0 {
        return;
    }
    let is_pretty = settings.layout != TableLayout::Lines;
    if !is_pretty {
        pen.name(&format!("{:<13}", row.name));
    }
    match settings.columns {
        Columns::Basic | Columns::BasicShort => basic(pen, &rates, settings),
        Columns::ExtendedShort => extended_short(pen, &rates, settings),
        Columns::Extended => {
            let work = &row.work;
            for (number, ops) in [(1, &work.reads), (2, &work.writes), (3, &work.discards)] {
                if parts.has(number) {
                    direction(pen, &rates, ops, settings);
                }
            }
            if parts.has(4) {
                pen.float(Scale::Plain, 7, rates.per_second(work.flushes.ops));
                pen.float(Scale::Plain, 7, work.flushes.mean_ms());
                pen.float(Scale::Plain, 7, rates.queue());
                pen.percent(6, rates.busy_percent());
            }
        }
    }
    if is_pretty {
        pen.text.push_str(&format!("{} {}{}", pen.palette.name, row.name, pen.palette.normal));
    }
    pen.text.push('\n');
}

/// Converts an amount per second to the requested unit; for human-readable output, the pen chooses one.
fn amount(sectors_per_second: f64, settings: &IostatSettings) -> f64 {
    if settings.human { sectors_per_second } else { sectors_per_second / settings.unit.sectors() as f64 }
}

fn direction(pen: &mut Pen, rates: &Rates, ops: &BlockOps, settings: &IostatSettings) {
    pen.float(Scale::Plain, 7, rates.per_second(ops.ops));
    pen.float(Scale::Sectors, 9, amount(rates.per_second(ops.sectors), settings));
    pen.float(Scale::Plain, 8, rates.per_second(ops.merges));
    pen.percent(6, ops.merged_percent());
    pen.float(Scale::Plain, 7, ops.mean_ms());
    pen.float(Scale::Kilobytes, 8, ops.mean_sectors() / 2.0);
}

fn extended_short(pen: &mut Pen, rates: &Rates, settings: &IostatSettings) {
    let work = &rates.row.work;
    let moved = work.moved();
    pen.float(Scale::Plain, 8, rates.per_second(moved.ops));
    let sectors = [work.reads, work.writes, work.discards].map(|ops| rates.per_second(ops.sectors));
    pen.float(Scale::Sectors, 9, amount(sectors[0] + sectors[1] + sectors[2], settings));
    pen.float(Scale::Plain, 8, rates.per_second(moved.merges));
    pen.float(Scale::Plain, 7, moved.mean_ms());
    pen.float(Scale::Kilobytes, 8, moved.mean_sectors() / 2.0);
    pen.float(Scale::Plain, 7, rates.queue());
    pen.percent(6, rates.busy_percent());
}

fn basic(pen: &mut Pen, rates: &Rates, settings: &IostatSettings) {
    let work = &rates.row.work;
    pen.float(Scale::Plain, 8, rates.per_second(work.moved().ops));
    let [reads, writes, discards] =
        [work.reads, work.writes, work.discards].map(|ops| amount(rates.per_second(ops.sectors), settings));
    let total = |sectors: u64| if settings.human { sectors } else { sectors / settings.unit.sectors() };
    let [read, written, discarded] = rates.row.sectors;
    let (speeds, totals) = match settings.columns {
        Columns::BasicShort => {
            (vec![reads, writes + discards], vec![total(read), total(written.wrapping_add(discarded))])
        }
        _ => (vec![reads, writes, discards], vec![total(read), total(written), total(discarded)]),
    };
    speeds.into_iter().for_each(|speed| pen.float(Scale::Sectors, 12, speed));
    totals.into_iter().for_each(|sum| pen.whole(Scale::Sectors, 10, sum));
}
