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

/// The screen. Devices come first where there is little room, then processes; the notes are left out where they do not fit.
pub struct WatchScreen<'a> {
    /// The last interval; `None` before the first is over.
    pub now: Option<&'a Watched>,
    /// The intervals that the bars show.
    pub history: &'a DeviceHistory,
    /// The first line.
    pub title: &'a Title,
    /// Whether the screen is coloured.
    pub colour: Colour,
}

/// Lines that processes need at least: a gap, their head, two of them, and how many are closed to this user.
const LEAST_PROCESSES: usize = 5;

/// A window of fewer lines has no room for notes.
const ROOMY: usize = 20;

/// Lines of the notes in 80 columns, with the gap above them.
const NOTES_ROOM: usize = 4;

impl Widget for &WatchScreen<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let Title { host, clock, interval, state } = self.title;
        let title = format!("plumb watch · {host} · {clock} · every {interval}");
        let keys = match state {
            PictureState::Live => "p pauses  q quits",
            PictureState::Paused => "paused  p goes on  q quits",
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
        // With the first line of the screen, the processors and a gap.
        const ABOVE: usize = 3;
        let (rows, width, colour) = (usize::from(area.height) + 1, area.width, self.colour);
        let set = Style { width: width.into(), colour };
        let notes = Text::raw(set.wrap(NOTES, 0)).style(colour.cell(Ink::Faint));
        let least_below = if rows < ROOMY { LEAST_PROCESSES } else { LEAST_PROCESSES + NOTES_ROOM };
        let room = rows.saturating_sub(ABOVE + least_below);
        let devices = DeviceTable::new(&now.devices, self.history, colour, width, room);
        let devices_height = if now.devices.is_empty() { 1 } else { devices.height() };
        let room = rows.saturating_sub(ABOVE + usize::from(devices_height) + 1 + notes.height() + 1);
        let who = ProcessTable::new(now, colour, width, room);
        let used = ABOVE + usize::from(devices_height) + 1 + who.height();
        let notes_height = if used + notes.height() < rows { height(notes.height()) } else { 0 };
        let [processors, _, middle, _, below, _, last] =
            stack(area, [1, 1, devices_height, 1, height(who.height()), 1, notes_height]);
        line(&processors_text(now), width).render(processors, buf);
        match now.devices.is_empty() {
            true => line("  no block device was ever used here", width).render(middle, buf),
            false => devices.render(middle, buf),
        }
        who.render(below, buf);
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

/// Says how many processes are not seen.
fn closed(now: &Watched) -> Option<String> {
    let all = now.processes_readable + now.processes_closed;
    let way_out = if now.is_root { "" } else { "; root sees all" };
    (now.processes_closed > 0)
        .then(|| format!("the I/O of {} of {all} processes is closed to this user{way_out}", now.processes_closed))
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
            0 => line("  who: nobody did any I/O", table.width).render(table, buf),
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
        column(processes, "who (on any device)", Align::Left, None, |one| measure::cut(&one.command, name_width)),
        column(processes, "pid", right, None, |one| one.pid.to_string()),
        column(processes, "read", right, None, |one| rate(one.read_bytes_per_s)),
        column(processes, "written", right, None, |one| rate(one.write_bytes_per_s)),
    ];
    keep_width(&mut columns, &[name_width, 7, 9, 9]);
    columns
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
            queue_depth(device.queue_depth),
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
