//! Draws the state of a run with widgets.

use super::{DonePhase, KEPT, LivePicture, StudyProgress, busiest};
use crate::format::{self, MISSING};
use crate::measure;
use crate::run::FoundText;
use crate::screen::{DeviceTable, Grid, bars, column, gauge, head, height, inked, keep_width, line, stack};
use crate::style::{Colour, Ink, Style};
use crate::table::Align;
use plumb_result::stream::{StreamMeasured, StreamOps};
use plumb_result::{Finding, Tier};
use plumb_stats::steady::{RoundRule, snia};
use plumb_workload::OpKind;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{RenderDirection, Widget};

/// The screen of a run. If there is little room, findings have priority over devices, and both over completed phases.
pub struct RunScreen<'a> {
    /// State of the runs.
    pub picture: &'a LivePicture,
    /// Colours of the screen.
    pub colour: Colour,
}

impl Widget for &RunScreen<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let (picture, colour) = (self.picture, self.colour);
        let study_height = picture.study.as_ref().map_or(0, |study| 1 + u16::from(!study.trouble.is_empty()));
        let seconds = Seconds::new(picture, colour, area.width);
        let parts = [1, study_height, 1, 1, 1, seconds.height(), 2, 1, 1, area.height];
        let [first, study, what, progress, _, table, bars, state, _, rest] = stack(area, parts);
        head(&title(picture), "q closes this screen  Ctrl-C stops", colour, first, buf);
        if let Some(progress) = &picture.study {
            render_study(progress, colour, study, buf);
        }
        line(&current_phase(picture), what.width).render(what, buf);
        render_progress(picture, colour, progress, buf);
        seconds.render(table, buf);
        render_bars(picture, colour, bars, buf);
        self.render_state(state, buf);
        self.render_rest(usize::from(area.height), rest, buf);
    }
}

impl RunScreen<'_> {
    /// Draws the parts whose height depends on that of the window, `rows`: devices, findings, completed phases.
    fn render_rest(&self, rows: usize, area: Rect, buf: &mut Buffer) {
        let (picture, colour, width) = (self.picture, self.colour, area.width);
        let found = findings(picture, colour, width, (rows / 4).max(3));
        let devices = picture.second.as_ref().map_or(&[][..], |second| &second.devices);
        let room = usize::from(area.height).saturating_sub(found.height() + 1);
        let devices = DeviceTable::new(devices, &picture.devices, colour, width, room);
        let gap = u16::from(devices.height() > 0);
        let [above, _, middle, _, below] = stack(area, [devices.height(), gap, height(found.height()), 1, area.height]);
        devices.render(above, buf);
        found.render(middle, buf);
        render_done(picture, colour, below, buf);
    }

    /// Draws depth, origin of the bytes, errors, and whether the rate is steady.
    fn render_state(&self, area: Rect, buf: &mut Buffer) {
        let Some(second) = &self.picture.second else { return };
        let rates: Vec<f64> = self.picture.history.iter().map(|moment| moment.rate).collect();
        let text = state(second, &rates);
        match second.errors {
            0 => line(&text, area.width),
            _ => inked(&text, area.width, self.colour, Ink::Bad),
        }
        .render(area, buf);
    }
}

fn title(picture: &LivePicture) -> String {
    let study = picture.study.as_ref().map_or("", |study| study.name.as_str());
    // The only workload of a study may have the study's name.
    let workload = Some(picture.workload.as_str()).filter(|workload| *workload != study).unwrap_or_default();
    joined(["plumb", study, workload, picture.place.as_str()])
}

fn current_phase(picture: &LivePicture) -> String {
    joined([picture.part.as_str(), picture.phase_place.as_str(), picture.phase.as_str()])
}

fn joined<const N: usize>(parts: [&str; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// Draws the progress of a study, and its latest failure.
fn render_study(study: &StudyProgress, colour: Colour, area: Rect, buf: &mut Buffer) {
    let mut parts = vec![format!("{} of {} runs", study.ended, study.runs)];
    parts.extend((study.rejected > 0).then(|| format!("{} rejected", study.rejected)));
    parts.extend((study.failed > 0).then(|| format!("{} failed", study.failed)));
    parts.extend(Some(study.left.clone()).filter(|left| !left.is_empty()));
    let [above, below] = stack(area, [1, 1]);
    gauge(f64::from(study.ended) / f64::from(study.runs.max(1)), &parts.join(" · "), above, buf);
    inked(&study.trouble, below.width, colour, Ink::Caution).render(below, buf);
}

/// Draws the progress of the phase.
fn render_progress(picture: &LivePicture, colour: Colour, area: Rect, buf: &mut Buffer) {
    if !picture.preparing.is_empty() {
        return inked(&picture.preparing, area.width, colour, Ink::Faint).render(area, buf);
    }
    let elapsed_ns = picture.second.as_ref().map_or(0, |second| second.start_ns + second.length_ns);
    let elapsed = if elapsed_ns == 0 { "0 s".to_owned() } else { format::time_brief(elapsed_ns as f64) };
    let left = picture.left_ns.filter(|ns| *ns > 0);
    let left = left.map_or(String::new(), |ns| format!("about {} left", format::time_brief(ns as f64)));
    match picture.time_ns.filter(|time_ns| *time_ns > 0) {
        Some(time_ns) => {
            let text = joined([&format!("{elapsed} of {}", format::time_brief(time_ns as f64)), &left]);
            gauge(elapsed_ns as f64 / time_ns as f64, &text, area, buf);
        }
        None if elapsed_ns > 0 => line(&joined([&format!("{elapsed} so far"), &left]), area.width).render(area, buf),
        None => line(&left, area.width).render(area, buf),
    }
}

/// The last second, by kind of op.
enum Seconds {
    /// A row for each kind of op.
    Numbers { grid: Grid, kinds: usize, colour: Colour },
    /// The reason why there are no numbers.
    Without(Line<'static>),
}

impl Seconds {
    fn new(picture: &LivePicture, colour: Colour, width: u16) -> Seconds {
        let Some(second) = &picture.second else {
            let text = match (&picture.study, picture.phase.is_empty()) {
                (Some(_), true) => "not measuring now",
                (None, true) if !picture.done.is_empty() => "the phase has ended",
                _ => "waiting for the first second",
            };
            return Seconds::Without(inked(text, width, colour, Ink::Faint));
        };
        let rows: Vec<(OpKind, &StreamOps)> =
            second.ops.iter().filter(|(_, ops)| ops.count > 0).map(|(kind, ops)| (*kind, ops)).collect();
        if rows.is_empty() {
            return Seconds::Without(inked("nothing completed in the last second", width, colour, Ink::Caution));
        }
        let rows: Vec<&(OpKind, &StreamOps)> = rows.iter().collect();
        let right = Align::Right;
        let bytes = |ops: &StreamOps| if ops.bytes > 0 { format::rate_si(ops.bytes_per_s) } else { MISSING.to_owned() };
        let mut columns = vec![
            column(&rows, "last second", Align::Left, None, |(kind, _)| kind.name().to_owned()),
            column(&rows, "bytes", right, None, |(_, ops)| bytes(ops)),
            column(&rows, "ops", right, None, |(_, ops)| format::per_second(ops.ops_per_s)),
            column(&rows, "p50", right, None, |(_, ops)| time(ops.p50_ns)),
            column(&rows, "p90", right, Some(1), |(_, ops)| time(ops.p90_ns)),
            column(&rows, "p99", right, None, |(_, ops)| time(ops.p99_ns)),
            column(&rows, "p99.9", right, Some(2), |(_, ops)| time(ops.p999_ns)),
            column(&rows, "max", right, None, |(_, ops)| time(ops.max_ns)),
        ];
        keep_width(&mut columns, &[11, 9, 9, 8, 8, 8, 8, 8]);
        Seconds::Numbers { grid: Grid::new(columns, 0, width), kinds: rows.len(), colour }
    }

    fn height(&self) -> u16 {
        match self {
            Seconds::Numbers { grid, kinds, .. } => height(grid.pitch() * (1 + kinds)),
            Seconds::Without(_) => 1,
        }
    }

    fn render(self, area: Rect, buf: &mut Buffer) {
        match self {
            Seconds::Numbers { grid, colour, .. } => grid.render(0, |_| Default::default(), colour, area, buf),
            Seconds::Without(line) => line.render(area, buf),
        }
    }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or(MISSING.to_owned(), |ns| format::time(ns as f64))
}

/// Draws the seconds of the phase: rate and p99 latency of the kind of op that takes the most time.
fn render_bars(picture: &LivePicture, colour: Colour, area: Rect, buf: &mut Buffer) {
    const LABEL: u16 = "rate  ".len() as u16;
    const TOP: u16 = " fdatasync up to 999 MB/s".len() as u16;
    let width = area.width.saturating_sub(LABEL + TOP).min(KEPT as u16);
    let kept = &picture.history[picture.history.len().saturating_sub(width.into())..];
    let busiest = picture.second.as_ref().and_then(busiest);
    let moves_bytes = busiest.is_some_and(|(_, ops)| ops.bytes > 0);
    let kind = busiest.map_or("", |(kind, _)| kind.name());
    let rate: fn(f64) -> String = if moves_bytes { format::rate_si } else { format::per_second };
    let highest = kept.iter().map(|moment| moment.rate).fold(0.0, f64::max);
    let slowest = kept.iter().filter_map(|moment| moment.p99_ns).max();
    let rates = bars(kept.iter().map(|moment| Some(moment.rate)), RenderDirection::LeftToRight);
    let times = bars(kept.iter().map(|moment| moment.p99_ns.map(|ns| ns as f64)), RenderDirection::LeftToRight);
    let lines = [
        ("rate", Ink::Good, rates, Some(rate(highest))),
        ("p99", Ink::Bad, times, slowest.map(|ns| format::time(ns as f64))),
    ];
    for (row, (label, ink, bars, top)) in area.rows().zip(lines) {
        let [left, middle, right] =
            Layout::horizontal([Constraint::Length(LABEL), Constraint::Length(width), Constraint::Fill(1)]).areas(row);
        inked(label, left.width, colour, Ink::Faint).render(left, buf);
        bars.style(colour.cell(ink)).render(middle, buf);
        if let Some(top) = top.filter(|_| !kept.is_empty()) {
            inked(&format!(" {kind} up to {top}"), right.width, colour, Ink::Faint).render(right, buf);
        }
    }
}

fn state(second: &StreamMeasured, rates: &[f64]) -> String {
    let mut parts = vec![format!("in flight {:.1} of {}", second.in_flight, second.depth_asked)];
    match second.tier {
        Some(Tier::Device) => parts.push("served by the device".to_owned()),
        Some(Tier::Cache) => parts.push("served by memory".to_owned()),
        Some(Tier::Server) => parts.push("served by the server".to_owned()),
        Some(Tier::Mixed { device_share }) => {
            parts.push(format!("{} served by memory", format::percent(1.0 - device_share)))
        }
        Some(Tier::Unknown) | None => {}
    }
    if second.errors > 0 {
        parts.push(format!("{} errors", second.errors));
    }
    parts.extend(steadiness(rates));
    parts.join(" · ")
}

/// Judges steadiness by SNIA's round rule with seconds as rounds: the spread of the last five rates.
pub(super) fn steadiness(rates: &[f64]) -> Option<String> {
    let rule = RoundRule::default();
    let last = &rates[rates.len().checked_sub(rule.window as usize)?..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    if mean <= 0.0 {
        return None;
    }
    let (low, high) = last.iter().fold((f64::MAX, 0.0f64), |(low, high), &rate| (low.min(rate), high.max(rate)));
    let range = format::percent((high - low) / mean);
    Some(match snia(last, &rule) {
        Some(_) => format!("steady: range {range} in {} s", rule.window),
        None => format!("not steady: range {range} in {} s", rule.window),
    })
}

/// Draws each check once: its latest finding, and the number of phases with one.
fn findings(picture: &LivePicture, colour: Colour, width: u16, room: usize) -> Text<'static> {
    let mut checks: Vec<(&Finding, usize)> = Vec::new();
    for finding in &picture.findings {
        match checks.iter_mut().find(|(known, _)| known.code == finding.code) {
            Some((_, phases)) => *phases += 1,
            None => checks.push((finding, 1)),
        }
    }
    if checks.is_empty() {
        return inked("no findings so far", width, colour, Ink::Faint).into();
    }
    let mut lines: Vec<Line<'static>> = Vec::new();
    for (number, (finding, phases)) in checks.iter().enumerate() {
        let found = found_lines(finding, *phases, colour, width);
        let further = checks.len() - number;
        // Reserve one line for the number of further checks.
        if lines.len() + found.len() + usize::from(further > 1) > room && number > 0 {
            lines.push(inked(&format!("and {further} more"), width, colour, Ink::Faint));
            break;
        }
        lines.extend(found);
    }
    lines.into()
}

fn found_lines(finding: &Finding, phases: usize, colour: Colour, width: u16) -> Vec<Line<'static>> {
    let aside = (phases > 1).then(|| format!("in {phases} phases so far"));
    let FoundText { head, ink, body } =
        FoundText::new(finding, aside.as_deref(), &Style { width: width.into(), colour });
    let mut body = body.lines().map(|text| line(text, width));
    let head = Span::styled(measure::cut(&head, width.into()), colour.cell(ink));
    let first = body.next().unwrap_or_default();
    let first = std::iter::once(head).chain(first.spans).collect::<Line<'static>>();
    std::iter::once(first).chain(body).collect()
}

/// Draws completed phases, the latest last.
fn render_done(picture: &LivePicture, colour: Colour, area: Rect, buf: &mut Buffer) {
    let all: Vec<&DonePhase> = picture.done.iter().collect();
    let pitch = done_grid(&all, area.width).pitch();
    let most = (usize::from(area.height) / pitch).saturating_sub(1);
    let shown = &all[all.len().saturating_sub(most)..];
    if !shown.is_empty() {
        done_grid(shown, area.width).render(0, |_| Default::default(), colour, area, buf);
    }
}

fn done_grid(phases: &[&DonePhase], width: u16) -> Grid {
    let right = Align::Right;
    let rate = |done: &DonePhase| match done.ops.bytes {
        0 => format::per_second(done.ops.ops_per_s),
        _ => format::rate_si(done.ops.bytes_per_s),
    };
    let mut columns = vec![
        column(phases, "done", Align::Left, None, |done| measure::cut(&done.name, 28)),
        column(phases, "", Align::Left, None, |done| done.kind.name().to_owned()),
        column(phases, "rate", right, None, rate),
        column(phases, "p50", right, None, |done| time(done.ops.p50_ns)),
        column(phases, "p99", right, None, |done| time(done.ops.p99_ns)),
    ];
    keep_width(&mut columns, &[20, 6, 9, 8, 8]);
    Grid::new(columns, 0, width)
}
