//! Devices on a screen: a row for each that was recently active, with bars below it, and the names of the others.

use super::{Grid, bars, column, height, inked, keep_width};
use crate::format::{MISSING, per_second, percent, rate_si, time};
use crate::measure;
use crate::style::{Colour, Ink};
use crate::table::{Align, Column};
use plumb_result::watch::DeviceUse;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{RenderDirection, Widget};
use std::collections::{BTreeMap, VecDeque};

/// Number of intervals that are kept for the bars.
const KEPT: usize = 60;

/// The last intervals of each device.
#[derive(Debug, Default)]
pub struct DeviceHistory {
    devices: BTreeMap<String, VecDeque<DeviceUse>>,
}

impl DeviceHistory {
    /// Adds an interval, and removes devices that no longer exist.
    pub fn push(&mut self, now: &[DeviceUse]) {
        self.devices.retain(|name, _| now.iter().any(|device| device.name == *name));
        for device in now {
            let kept = self.devices.entry(device.name.clone()).or_default();
            kept.push_front(device.clone());
            kept.truncate(KEPT);
        }
    }

    /// Returns the kept intervals of a device, newest first.
    fn intervals(&self, name: &str) -> impl Iterator<Item = &DeviceUse> {
        self.devices.get(name).into_iter().flatten()
    }

    fn was_busy(&self, name: &str) -> bool {
        self.intervals(name).any(|device| !device.is_idle())
    }
}

/// The devices of an interval.
pub(crate) struct DeviceTable<'a> {
    shown: Vec<&'a DeviceUse>,
    grid: Grid,
    /// Names of busy devices without room, and of idle ones, each with its line.
    names: Vec<String>,
    history: &'a DeviceHistory,
    colour: Colour,
}

impl<'a> DeviceTable<'a> {
    /// Chooses the busy devices that fit into `room` lines, in their order.
    pub(crate) fn new(
        now: &'a [DeviceUse],
        history: &'a DeviceHistory,
        colour: Colour,
        width: u16,
        room: usize,
    ) -> DeviceTable<'a> {
        // The line of idle devices, and the line of those left out.
        const NAMES: usize = 2;
        let (busy, idle): (Vec<&DeviceUse>, Vec<&DeviceUse>) =
            now.iter().partition(|device| history.was_busy(&device.name));
        let pitch = Grid::new(columns(&busy), INDENT, width).pitch();
        let most = room.saturating_sub(pitch + NAMES) / (pitch + 1);
        let (shown, left_out) = busy.split_at(busy.len().min(most));
        let names = [("also at work", left_out), ("idle", idle.as_slice())];
        let names = names.into_iter().filter(|(_, devices)| !devices.is_empty()).map(|(what, devices)| {
            let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
            format!("  {what}: {}", names.join(" "))
        });
        DeviceTable {
            shown: shown.to_vec(),
            grid: Grid::new(columns(shown), INDENT, width),
            names: names.collect(),
            history,
            colour,
        }
    }

    /// Returns the height in lines.
    pub(crate) fn height(&self) -> u16 {
        height(self.table_height() + self.names.len())
    }

    fn table_height(&self) -> usize {
        match self.shown.len() {
            0 => 0,
            shown => self.grid.pitch() + shown * (self.grid.pitch() + 1),
        }
    }

    /// Draws the last intervals: bytes read and written, and the mean time of a request.
    fn render_bars(&self, name: &str, area: Rect, buf: &mut Buffer) {
        const LABELS: [(&str, Ink); 3] = [("read ", Ink::Good), ("write ", Ink::Caution), ("latency ", Ink::Bad)];
        const TEXT: u16 = "    read   write   latency ".len() as u16;
        let width = (area.width.saturating_sub(TEXT) / 3).clamp(4, KEPT as u16);
        let part = |label: &str| Constraint::Length(label.len() as u16 + width);
        let right = area.width.min(4);
        let area = Rect { x: area.x + right, width: area.width - right, ..area };
        let parts: [Rect; 3] = Layout::horizontal(LABELS.map(|(label, _)| part(label))).spacing(2).areas(area);
        let picks: [fn(&DeviceUse) -> Option<f64>; 3] = [
            |device| Some(device.read.bytes_per_s),
            |device| Some(device.write.bytes_per_s),
            |device| device.latency_ns,
        ];
        for (((label, ink), part), pick) in LABELS.into_iter().zip(parts).zip(picks) {
            let [left, right] =
                Layout::horizontal([Constraint::Length(label.len() as u16), Constraint::Fill(1)]).areas(part);
            Line::styled(label, self.colour.cell(Ink::Faint)).render(left, buf);
            let values = self.history.intervals(name).map(pick);
            bars(values, RenderDirection::RightToLeft).style(self.colour.cell(ink)).render(right, buf);
        }
    }
}

/// Columns before the first column of the table.
const INDENT: u16 = 2;

impl Widget for &DeviceTable<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let style = |number: usize| match self.shown[number].is_idle() {
            true => self.colour.cell(Ink::Faint),
            false => Style::new(),
        };
        let mut below = area;
        if !self.shown.is_empty() {
            self.grid.render(1, style, self.colour, area, buf);
            let pitch = height(self.grid.pitch());
            let rows = area.rows().skip(usize::from(2 * pitch)).step_by(usize::from(pitch + 1));
            for (row, device) in rows.zip(&self.shown) {
                self.render_bars(&device.name, row, buf);
            }
            below.y = area.y.saturating_add(height(self.table_height()));
        }
        for (row, names) in area.rows().filter(|row| row.y >= below.y).zip(&self.names) {
            inked(names, row.width, self.colour, Ink::Faint).render(row, buf);
        }
    }
}

fn columns(devices: &[&DeviceUse]) -> Vec<Column> {
    let right = Align::Right;
    let mut columns = vec![
        column(devices, "device", Align::Left, None, |device| measure::cut(&device.name, 12)),
        column(devices, "read", right, None, |device| rate(device.read.bytes_per_s)),
        column(devices, "write", right, None, |device| rate(device.write.bytes_per_s)),
        column(devices, "discard", right, Some(1), |device| rate(device.discard.bytes_per_s)),
        column(devices, "IOPS", right, None, |device| ops(device.ops_per_s())),
        column(devices, "reads", right, Some(3), |device| ops(device.read.ops_per_s)),
        column(devices, "writes", right, Some(3), |device| ops(device.write.ops_per_s)),
        column(devices, "flushes", right, Some(2), |device| ops(device.flushes_per_s)),
        column(devices, "a read", right, None, |device| latency(device.read.latency_ns)),
        column(devices, "a write", right, None, |device| latency(device.write.latency_ns)),
        column(devices, "queue", right, None, |device| queue_depth(device.queue_depth)),
        column(devices, "busy", right, None, |device| percent(device.busy)),
    ];
    keep_width(&mut columns, &[8, 9, 9, 9, 8, 8, 8, 8, 7, 7, 5, 6]);
    columns
}

/// Formats a rate; zero is printed as `0`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    if bytes_per_s == 0.0 { "0".to_owned() } else { rate_si(bytes_per_s) }
}

/// Formats requests per second; zero is printed as `0`.
pub(crate) fn ops(per_s: f64) -> String {
    if per_s == 0.0 { "0".to_owned() } else { per_second(per_s) }
}

/// Formats a mean latency. The kernel adds up whole milliseconds, so a sum of 0 means less than one.
pub(crate) fn latency(ns: Option<f64>) -> String {
    match ns {
        None => MISSING.to_owned(),
        Some(0.0) => "< 1 ms".to_owned(),
        Some(ns) => time(ns),
    }
}

/// Formats a mean number of requests in flight; zero is printed as `0`.
pub(crate) fn queue_depth(depth: f64) -> String {
    if depth == 0.0 { "0".to_owned() } else { format!("{depth:.2}") }
}
