//! The live view: a screen, or plain lines.

pub use crate::screen::DeviceHistory;

use crate::format::{percent, rate_si};
use crate::measure;
use crate::screen::{
    DeviceTable, Grid, column, head, height, inked, keep_width, latency, line, ops, queue_depth, rate, stack,
};
use crate::style::{Colour, Ink, Style};
use crate::table::{Align, Column};
use plumb_result::watch::{ProcessRate, Watched};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Text;
use ratatui::widgets::Widget;

/// Contents of the first line.
#[derive(Debug, Clone, PartialEq)]
pub struct Title {
    /// Name of the host.
    pub host: String,
    /// Current time, such as `12:34:56`.
    pub clock: String,
    /// Length of an interval, such as `1 s`.
    pub interval: String,
    /// Whether the picture is paused.
    pub state: PictureState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureState {
    Live,
    Paused,
}

/// Explains `busy` and `written` to first-time readers.
const NOTES: &str = "busy: share of the time with a request in flight; not a measure of saturation, since a device that works \
                     in parallel may be 100 % busy and have room. written: dirtied in memory or written directly; it may \
                     reach a device later.";

/// The screen. If there is little room, devices come first, then processes; the notes are left out if they do not fit.
pub struct WatchScreen<'a> {
    /// The last interval; `None` before the end of the first one.
    pub now: Option<&'a Watched>,
    /// The intervals that the bars show.
    pub history: &'a DeviceHistory,
    /// Contents of the first line.
    pub title: &'a Title,
    /// Colours of the screen.
    pub colour: Colour,
}

/// Lines that processes need at least: a gap, their head, two processes, and the number of unreadable ones.
const LEAST_PROCESSES: usize = 5;

/// Smallest height of a window with notes, in lines.
const ROOMY: usize = 20;

/// Height of the notes in 80 columns, including the gap above them, in lines.
const NOTES_ROOM: usize = 4;

impl Widget for &WatchScreen<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Title { host, clock, interval, state } = self.title;
        let title = format!("plumb watch · {host} · {clock} · every {interval}");
        let keys = match state {
            PictureState::Live => "p pauses  q quits",
            PictureState::Paused => "paused  p resumes  q quits",
        };
        let [first, rest] = stack(area, [1, area.height.saturating_sub(1)]);
        head(&title, keys, self.colour, first, buf);
        match self.now {
            Some(now) => self.render_interval(now, rest, buf),
            None => line(&format!("the first numbers come in {interval}"), rest.width).render(rest, buf),
        }
    }
}

impl WatchScreen<'_> {
    fn render_interval(&self, now: &Watched, area: Rect, buf: &mut Buffer) {
        // The first line of the screen, the processors, and a gap.
        const ABOVE: usize = 3;
        let (rows, width, colour) = (usize::from(area.height) + 1, area.width, self.colour);
        let set = Style { width: width.into(), colour };
        let notes = Text::raw(set.wrap(NOTES, 0)).style(colour.cell(Ink::Faint));
        let least_below = if rows < ROOMY { LEAST_PROCESSES } else { LEAST_PROCESSES + NOTES_ROOM };
        let room = rows.saturating_sub(ABOVE + least_below);
        let devices = DeviceTable::new(&now.devices, self.history, colour, width, room);
        let devices_height = if now.devices.is_empty() { 1 } else { devices.height() };
        let room = rows.saturating_sub(ABOVE + usize::from(devices_height) + 1 + notes.height() + 1);
        let processes = ProcessTable::new(now, colour, width, room);
        let used = ABOVE + usize::from(devices_height) + 1 + processes.height();
        let notes_height = if used + notes.height() < rows { height(notes.height()) } else { 0 };
        let [processors, _, middle, _, below, _, last] =
            stack(area, [1, 1, devices_height, 1, height(processes.height()), 1, notes_height]);
        line(&processors_text(now), width).render(processors, buf);
        match now.devices.is_empty() {
            true => line("  no block device has been used", width).render(middle, buf),
            false => devices.render(middle, buf),
        }
        processes.render(below, buf);
        notes.render(last, buf);
    }
}

fn processors_text(now: &Watched) -> String {
    let cpu = &now.cpu;
    let stolen = if cpu.steal > 0.0 { format!(", stolen {}", percent(cpu.steal)) } else { String::new() };
    format!(
        "CPUs: programs {}, kernel {}, I/O wait {}, idle {}{stolen}",
        percent(cpu.user),
        percent(cpu.kernel),
        percent(cpu.iowait),
        percent(cpu.idle)
    )
}

/// Returns the number of processes whose I/O is not readable.
fn closed(now: &Watched) -> Option<String> {
    let all = now.processes_readable + now.processes_closed;
    let way_out = if now.is_root { "" } else { "; root can read all" };
    (now.processes_closed > 0).then(|| {
        format!("the I/O of {} of {all} processes is not readable by this user{way_out}", now.processes_closed)
    })
}

/// The processes that did the most I/O.
struct ProcessTable {
    shown: usize,
    grid: Grid,
    closed: Option<String>,
    colour: Colour,
}

impl ProcessTable {
    /// Chooses the processes that have room in `room` lines, but at least three.
    fn new(now: &Watched, colour: Colour, width: u16, room: usize) -> ProcessTable {
        let closed = closed(now);
        let all: Vec<&ProcessRate> = now.processes.iter().collect();
        let pitch = Grid::new(process_columns(&all, width), 2, width).pitch();
        let rows = room.saturating_sub(pitch + usize::from(closed.is_some())) / pitch;
        let shown = &all[..all.len().min(rows.clamp(3, 20))];
        let grid = Grid::new(process_columns(shown, width), 2, width);
        ProcessTable { shown: shown.len(), grid, closed, colour }
    }

    fn table_height(&self) -> usize {
        if self.shown == 0 { 1 } else { self.grid.pitch() * (1 + self.shown) }
    }

    fn height(&self) -> usize {
        self.table_height() + usize::from(self.closed.is_some())
    }

    fn render(&self, area: Rect, buf: &mut Buffer) {
        let [table, last] = stack(area, [height(self.table_height()), 1]);
        match self.shown {
            0 => line("  processes: no I/O", table.width).render(table, buf),
            _ => self.grid.render(0, |_| Default::default(), self.colour, table, buf),
        }
        if let Some(closed) = &self.closed {
            inked(&format!("  {closed}"), last.width, self.colour, Ink::Caution).render(last, buf);
        }
    }
}

fn process_columns(processes: &[&ProcessRate], width: u16) -> Vec<Column> {
    let right = Align::Right;
    let name_width = usize::from(width).saturating_sub(50).clamp(16, 40);
    let mut columns = vec![
        column(processes, "process (any device)", Align::Left, None, |one| measure::cut(&one.command, name_width)),
        column(processes, "pid", right, None, |one| one.pid.to_string()),
        column(processes, "read", right, None, |one| rate(one.read_bytes_per_s)),
        column(processes, "written", right, None, |one| rate(one.write_bytes_per_s)),
    ];
    keep_width(&mut columns, &[name_width, 7, 9, 9]);
    columns
}

/// Returns the first lines of plain output.
pub fn plain_opening() -> String {
    let style = Style::PLAIN;
    let lines: Vec<String> = style.wrap(NOTES, 0).lines().map(|line| format!("# {line}\n")).collect();
    lines.concat()
}

/// Largest number of processes in a plain interval.
const PLAIN_PROCESSES: usize = 5;

/// Formats one interval in lines that begin with the time: one for each device, and one for processes.
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
            queue_depth(device.queue_depth),
            percent(device.busy),
        ));
    }
    if text.is_empty() {
        text.push_str(&format!("{clock} no device was used\n"));
    }
    let active: Vec<String> = now.processes.iter().take(PLAIN_PROCESSES).map(one).collect();
    let more = now.processes.len().saturating_sub(PLAIN_PROCESSES);
    let mut wording = match active.is_empty() {
        true => "no I/O".to_owned(),
        false => active.join("; "),
    };
    if more > 0 {
        wording.push_str(&format!("; {more} more"));
    }
    if let Some(closed) = closed(now) {
        wording.push_str(&format!(" ({closed})"));
    }
    text.push_str(&format!("{clock} processes: {wording}\n"));
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
