//! The live view: a screen of so many lines and columns, or plain lines.

use crate::format::{MISSING, per_second, percent, rate_si, sparkline, time};
use crate::measure;
use crate::style::{Ink, Style};
use crate::table::{Align, Column, set};
use plumb_result::watch::{DeviceUse, ProcessRate, Watched};
use std::collections::{BTreeMap, VecDeque};

/// Intervals that are kept for the sparklines.
const KEPT: usize = 60;

/// What each device did in the last intervals.
#[derive(Debug, Default)]
pub struct DeviceHistory {
    devices: BTreeMap<String, VecDeque<DeviceUse>>,
}

impl DeviceHistory {
    /// Takes in an interval.
    pub fn push(&mut self, now: &[DeviceUse]) {
        self.devices.retain(|name, _| now.iter().any(|device| device.name == *name));
        for device in now {
            let kept = self.devices.entry(device.name.clone()).or_default();
            kept.push_back(device.clone());
            while kept.len() > KEPT {
                kept.pop_front();
            }
        }
    }

    fn of(&self, name: &str) -> impl Iterator<Item = &DeviceUse> + Clone {
        self.devices.get(name).into_iter().flatten()
    }

    fn was_busy(&self, name: &str) -> bool {
        self.of(name).any(|device| !device.is_idle())
    }
}

/// What the first line says.
#[derive(Debug, Clone, PartialEq)]
pub struct Title {
    /// Name of the host.
    pub host: String,
    /// The time, `12:34:56`.
    pub clock: String,
    /// Length of an interval, `1 s`.
    pub interval: String,
    /// Whether the picture stands still.
    pub state: PictureState,
}

/// Whether the picture stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureState {
    /// It goes on.
    Live,
    /// It stands.
    Paused,
}

/// What `busy` and `written` are, for whoever reads them for the first time.
const NOTES: &str = "busy: share of the time with a request in flight; no measure of saturation, since a device that works \
                     in parallel may be 100 % busy and have room. written: dirtied in memory or written directly; it may \
                     reach a device later.";

/// A screen of at most `rows` lines, none wider than the style says.
pub fn screen(now: &Watched, history: &DeviceHistory, title: &Title, style: &Style, rows: usize) -> Vec<String> {
    let notes: Vec<String> = style.wrap(NOTES, 0).lines().map(|line| style.ink(Ink::Faint, line)).collect();
    let mut lines = vec![head(title, style), processors(now, style), String::new()];
    let least_below = if rows < ROOMY { LEAST_PROCESSES } else { LEAST_PROCESSES + NOTES_ROOM };
    devices(&now.devices, history, style, rows.saturating_sub(lines.len() + least_below), &mut lines);
    if now.devices.is_empty() {
        lines.push("  no block device was ever used here".to_owned());
    }
    lines.push(String::new());
    let room = rows.saturating_sub(lines.len() + notes.len() + 1);
    who(now, style, room, &mut lines);
    if lines.len() + notes.len() < rows {
        lines.push(String::new());
        lines.extend(notes);
    }
    lines.truncate(rows);
    lines
}

/// Lines that processes need at least: a gap, their head, two of them, what is not seen.
const LEAST_PROCESSES: usize = 5;

/// A window of fewer lines has no room for notes.
const ROOMY: usize = 20;

/// Lines of the notes in 80 columns, with the gap above them.
const NOTES_ROOM: usize = 4;

fn head(title: &Title, style: &Style) -> String {
    let left = format!("plumb watch · {} · {} · every {}", title.host, title.clock, title.interval);
    let right = match title.state {
        PictureState::Live => "p pauses  q quits",
        PictureState::Paused => "paused  p goes on  q quits",
    };
    let gap = style.width.saturating_sub(measure::width(&left) + measure::width(right));
    match gap {
        0..2 => style.ink(Ink::Strong, &measure::cut(&left, style.width)),
        gap => format!("{}{}{}", style.ink(Ink::Strong, &left), " ".repeat(gap), style.ink(Ink::Faint, right)),
    }
}

fn processors(now: &Watched, style: &Style) -> String {
    let cpu = &now.cpu;
    let mut text = format!(
        "CPUs: programs {}, kernel {}, I/O wait {}, idle {}",
        percent(cpu.user),
        percent(cpu.kernel),
        percent(cpu.iowait),
        percent(cpu.idle)
    );
    if cpu.steal > 0.0 {
        text.push_str(&format!(", stolen {}", percent(cpu.steal)));
    }
    measure::cut(&text, style.width)
}

/// A rate; nothing is a plain 0.
fn rate(bytes_per_s: f64) -> String {
    if bytes_per_s == 0.0 { "0".to_owned() } else { rate_si(bytes_per_s) }
}

fn ops(per_s: f64) -> String {
    if per_s == 0.0 { "0".to_owned() } else { per_second(per_s) }
}

/// The kernel adds up whole milliseconds: a sum of none is less than one.
fn latency(ns: Option<f64>) -> String {
    match ns {
        None => MISSING.to_owned(),
        Some(0.0) => "< 1 ms".to_owned(),
        Some(ns) => time(ns),
    }
}

fn depth(depth: f64) -> String {
    if depth == 0.0 { "0".to_owned() } else { format!("{depth:.2}") }
}

/// A column: its title, its side, when it leaves, and what it says of one of the rows.
pub(crate) fn column<T>(
    rows: &[&T],
    title: &str,
    align: Align,
    leaves: Option<u32>,
    cell: impl Fn(&T) -> String,
) -> Column {
    Column { title: title.to_owned(), cells: rows.iter().map(|row| cell(row)).collect(), align, leaves }
}

/// Devices that did something lately, each with its bars; the names of the others.
pub(crate) fn devices(now: &[DeviceUse], history: &DeviceHistory, style: &Style, room: usize, lines: &mut Vec<String>) {
    let (busy, idle): (Vec<&DeviceUse>, Vec<&DeviceUse>) =
        now.iter().partition(|device| history.was_busy(&device.name));
    // Head, the line of idle ones, that of those left out.
    let most = room.saturating_sub(3) / 2;
    let (shown, left_out) = busy.split_at(busy.len().min(most));
    if !shown.is_empty() {
        let right = Align::Right;
        let mut columns = vec![
            column(shown, "device", Align::Left, None, |device| measure::cut(&device.name, 12)),
            column(shown, "read", right, None, |device| rate(device.read.bytes_per_s)),
            column(shown, "write", right, None, |device| rate(device.write.bytes_per_s)),
            column(shown, "discard", right, Some(1), |device| rate(device.discard.bytes_per_s)),
            column(shown, "IOPS", right, None, |device| ops(device.ops_per_s())),
            column(shown, "reads", right, Some(3), |device| ops(device.read.ops_per_s)),
            column(shown, "writes", right, Some(3), |device| ops(device.write.ops_per_s)),
            column(shown, "flushes", right, Some(2), |device| ops(device.flushes_per_s)),
            column(shown, "a read", right, None, |device| latency(device.read.latency_ns)),
            column(shown, "a write", right, None, |device| latency(device.write.latency_ns)),
            column(shown, "queue", right, None, |device| depth(device.queue_depth)),
            column(shown, "busy", right, None, |device| percent(device.busy)),
        ];
        keep_width(&mut columns, &[8, 9, 9, 9, 8, 8, 8, 8, 7, 7, 5, 6]);
        let table = set(columns, style.width);
        // What does not fit a narrow window goes on in the next line.
        lines.extend(table.head.lines().map(|line| style.ink(Ink::Strong, line)));
        for (device, row) in shown.iter().zip(table.rows) {
            let inked = |line: &str| if device.is_idle() { style.ink(Ink::Faint, line) } else { line.to_owned() };
            lines.extend(row.lines().map(inked));
            lines.push(bars(history, &device.name, style));
        }
    }
    if !left_out.is_empty() {
        lines.push(style.ink(Ink::Faint, &measure::cut(&format!("  also at work: {}", names(left_out)), style.width)));
    }
    if !idle.is_empty() {
        lines.push(style.ink(Ink::Faint, &measure::cut(&format!("  idle: {}", names(&idle)), style.width)));
    }
}

fn names(devices: &[&DeviceUse]) -> String {
    devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>().join(" ")
}

/// The last intervals: what was read and written, and how long a request took.
fn bars(history: &DeviceHistory, name: &str, style: &Style) -> String {
    const TEXT: usize = "    read   write   latency ".len();
    let width = (style.width.saturating_sub(TEXT) / 3).clamp(4, KEPT);
    let spark = |pick: fn(&DeviceUse) -> Option<f64>| {
        let kept = history.of(name).count();
        let line = sparkline(history.of(name).skip(kept.saturating_sub(width)).map(pick));
        format!("{line:>width$}")
    };
    format!(
        "    {}{}  {}{}  {}{}",
        style.ink(Ink::Faint, "read "),
        style.ink(Ink::Good, &spark(|device| Some(device.read.bytes_per_s))),
        style.ink(Ink::Faint, "write "),
        style.ink(Ink::Caution, &spark(|device| Some(device.write.bytes_per_s))),
        style.ink(Ink::Faint, "latency "),
        style.ink(Ink::Bad, &spark(|device| device.latency_ns)),
    )
}

/// What is not seen of the processes.
fn closed(now: &Watched) -> Option<String> {
    let all = now.processes_readable + now.processes_closed;
    let way_out = if now.is_root { "" } else { "; root sees all" };
    (now.processes_closed > 0)
        .then(|| format!("the I/O of {} of {all} processes is closed to this user{way_out}", now.processes_closed))
}

fn who(now: &Watched, style: &Style, room: usize, lines: &mut Vec<String>) {
    let closed = closed(now);
    let rows = room.saturating_sub(1 + usize::from(closed.is_some()));
    let shown: Vec<&ProcessRate> = now.processes.iter().take(rows.clamp(3, 20)).collect();
    if shown.is_empty() {
        lines.push("  who: nobody did any I/O".to_owned());
    } else {
        let right = Align::Right;
        let name_width = style.width.saturating_sub(50).clamp(16, 40);
        let mut columns = vec![
            column(&shown, "who (on any device)", Align::Left, None, |one| measure::cut(&one.command, name_width)),
            column(&shown, "pid", right, None, |one| one.pid.to_string()),
            column(&shown, "read", right, None, |one| rate(one.read_bytes_per_s)),
            column(&shown, "written", right, None, |one| rate(one.write_bytes_per_s)),
        ];
        // Widths that hold from second to second, so that the eye can stay.
        for (column, width) in columns.iter_mut().zip([name_width, 7, 9, 9]) {
            let is_left = column.align == Align::Left;
            column.title =
                if is_left { format!("{:width$}", column.title) } else { format!("{:>width$}", column.title) };
        }
        let table = set(columns, style.width);
        lines.push(style.ink(Ink::Strong, &table.head));
        lines.extend(table.rows);
    }
    lines.extend(closed.map(|text| style.ink(Ink::Caution, &measure::cut(&format!("  {text}"), style.width))));
}

/// Widths that hold from one picture to the next, so that the eye can stay.
pub(crate) fn keep_width(columns: &mut [Column], widths: &[usize]) {
    for (column, width) in columns.iter_mut().zip(widths) {
        column.title = match column.align {
            Align::Left => format!("{:width$}", column.title),
            Align::Right => format!("{:>width$}", column.title),
        };
    }
}

/// What the first lines of plain output say.
pub fn plain_opening() -> String {
    let style = Style::PLAIN;
    let lines: Vec<String> = style.wrap(NOTES, 0).lines().map(|line| format!("# {line}\n")).collect();
    lines.concat()
}

/// Processes that a plain interval names.
const PLAIN_PROCESSES: usize = 5;

/// One interval in lines, each of which begins with the time: a line for every device, one for processes.
pub fn plain(now: &Watched, clock: &str, named: bool) -> String {
    let mut text = String::new();
    for device in now.devices.iter().filter(|device| named || !device.is_idle()) {
        text.push_str(&format!(
            "{clock} {}: read {} in {}, {} each; wrote {} in {}, {} each; queue {}, busy {}\n",
            device.name,
            rate(device.read.bytes_per_s),
            ops(device.read.ops_per_s),
            latency(device.read.latency_ns),
            rate(device.write.bytes_per_s),
            ops(device.write.ops_per_s),
            latency(device.write.latency_ns),
            depth(device.queue_depth),
            percent(device.busy),
        ));
    }
    if text.is_empty() {
        text.push_str(&format!("{clock} nothing was asked of any device\n"));
    }
    let who: Vec<String> = now.processes.iter().take(PLAIN_PROCESSES).map(one).collect();
    let more = now.processes.len().saturating_sub(PLAIN_PROCESSES);
    let mut said = match who.is_empty() {
        true => "nobody".to_owned(),
        false => who.join("; "),
    };
    if more > 0 {
        said.push_str(&format!("; {more} more"));
    }
    if let Some(closed) = closed(now) {
        said.push_str(&format!(" ({closed})"));
    }
    text.push_str(&format!("{clock} who: {said}\n"));
    text
}

fn one(process: &ProcessRate) -> String {
    let ProcessRate { command, pid, read_bytes_per_s, write_bytes_per_s } = process;
    let mut did = Vec::new();
    if *read_bytes_per_s > 0.0 {
        did.push(format!("read {}", rate_si(*read_bytes_per_s)));
    }
    if *write_bytes_per_s > 0.0 {
        did.push(format!("wrote {}", rate_si(*write_bytes_per_s)));
    }
    format!("{command} ({pid}) {}", did.join(" and "))
}

#[cfg(test)]
mod tests;
