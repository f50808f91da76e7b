//! The full screen of a run that goes on: rates, latency, devices, findings, steady state.

use crate::format::{self, MISSING};
use crate::measure;
use crate::run::found;
use crate::style::{Ink, Style};
use crate::table::{Align, Lines, set_flush};
use crate::watch::{DeviceHistory, column, devices, keep_width};
use plumb_result::stream::{StreamMeasured, StreamOps};
use plumb_result::{Finding, PhaseMeasurement, Tier};
use plumb_stats::steady::{RoundRule, snia};
use plumb_workload::OpKind;

/// Seconds that are kept for the lines of bars.
const KEPT: usize = 120;

/// How far a study is.
#[derive(Debug, Clone, Default)]
pub struct StudyProgress {
    /// Its name.
    pub name: String,
    /// Runs that have ended, well or not.
    pub ended: u32,
    /// Runs in all.
    pub runs: u32,
    /// Runs that were rejected, by their checks.
    pub rejected: u32,
    /// Runs that failed.
    pub failed: u32,
    /// `about 2 min left`; empty where it is not known.
    pub left: String,
    /// What went wrong last; empty where nothing did.
    pub trouble: String,
}

/// What is known of the runs so far.
#[derive(Debug, Default)]
pub struct LivePicture {
    /// The study that the runs belong to.
    pub study: Option<StudyProgress>,
    /// The workload's name.
    pub workload: String,
    /// Where it runs.
    pub place: String,
    /// Which run of several this is, `run 2 of 3`.
    pub part: String,
    /// `phase 3 of 11`; empty where there is only one.
    pub phase_place: String,
    /// The phase that goes on.
    pub phase: String,
    /// What goes on that is not measured; empty while a phase is measured.
    pub preparing: String,
    /// When the phase ends by time, ns.
    pub time_ns: Option<u64>,
    /// The most that is left of the run, ns.
    pub left_ns: Option<u64>,
    /// The last second.
    second: Option<StreamMeasured>,
    history: Vec<Moment>,
    devices: DeviceHistory,
    findings: Vec<Finding>,
    done: Vec<DonePhase>,
}

/// What the lines of bars show of a second.
#[derive(Debug, Clone, Copy)]
struct Moment {
    rate: f64,
    p99_ns: Option<u64>,
}

/// A phase that is over.
#[derive(Debug)]
struct DonePhase {
    name: String,
    kind: OpKind,
    ops: StreamOps,
}

/// The kind of op that took the most time, estimated from its median: of a write and its flush, the flush.
pub fn busiest(measured: &StreamMeasured) -> Option<(OpKind, &StreamOps)> {
    let time_ns = |ops: &StreamOps| ops.count.saturating_mul(ops.p50_ns.unwrap_or(0));
    let done = measured.ops.iter().filter(|(_, ops)| ops.count > 0);
    done.max_by_key(|(_, ops)| time_ns(ops)).map(|(kind, ops)| (*kind, ops))
}

/// Its bytes per second, or its ops where it moves none.
pub fn rate_of(ops: &StreamOps) -> f64 {
    if ops.bytes > 0 { ops.bytes_per_s } else { ops.ops_per_s }
}

impl LivePicture {
    /// A run begins: what was shown of the one before goes. Of a study, the phases that are over stay.
    pub fn run_begins(&mut self, workload: &str, place: &str) {
        let before = std::mem::take(self);
        let done = if before.study.is_some() { before.done } else { Vec::new() };
        *self = LivePicture {
            study: before.study,
            workload: workload.to_owned(),
            place: place.to_owned(),
            part: before.part,
            done,
            ..LivePicture::default()
        };
    }

    /// A plot or a run of a study is prepared.
    pub fn study_stage(&mut self, part: &str, workload: &str, what: &str) {
        self.run_begins(workload, "");
        part.clone_into(&mut self.part);
        what.clone_into(&mut self.preparing);
    }

    /// A phase begins.
    pub fn phase_begins(&mut self, phase: &str) {
        self.phase = phase.to_owned();
        self.preparing.clear();
        self.second = None;
        self.history.clear();
    }

    /// A second has passed.
    pub fn second(&mut self, measured: StreamMeasured) {
        let busiest = busiest(&measured);
        let moment = busiest
            .map_or(Moment { rate: 0.0, p99_ns: None }, |(_, ops)| Moment { rate: rate_of(ops), p99_ns: ops.p99_ns });
        self.history.push(moment);
        if self.history.len() > KEPT {
            self.history.remove(0);
        }
        self.devices.push(&measured.devices);
        self.second = Some(measured);
    }

    /// A phase is over.
    pub fn phase_ended(&mut self, phase: &PhaseMeasurement) {
        self.phase_done(&phase.name, &StreamMeasured::of_phase(phase, Vec::new()));
    }

    /// A phase is over, of which this is what was done in all of it.
    pub fn phase_done(&mut self, phase: &str, all: &StreamMeasured) {
        if let Some((kind, ops)) = busiest(all) {
            let name = match &self.study {
                // Its other runs have phases of the same name.
                Some(study) => format!("run {} {phase}", study.ended + 1),
                None => phase.to_owned(),
            };
            self.done.push(DonePhase { name, kind, ops: *ops });
            if self.done.len() > KEPT {
                self.done.remove(0);
            }
        }
        self.second = None;
        self.history.clear();
        self.time_ns = None;
        self.phase.clear();
    }

    /// A finding has become true.
    pub fn found(&mut self, finding: &Finding) {
        self.findings.insert(0, finding.clone());
        // Worst first, and of equals the latest: the order of what is equal stays.
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    }

    /// A finding is taken back.
    pub fn withdrawn(&mut self, finding: &Finding) {
        self.findings.retain(|known| known.code != finding.code || known.phase != finding.phase);
    }
}

/// A screen of at most `rows` lines, none wider than the style says.
pub fn screen(picture: &LivePicture, style: &Style, rows: usize) -> Vec<String> {
    let mut lines = vec![head(picture, style)];
    if let Some(study) = &picture.study {
        lines.extend(study_lines(study, style));
    }
    lines.extend([what(picture, style), progress(picture, style), String::new()]);
    ops(picture, style, &mut lines);
    bars(picture, style, &mut lines);
    lines.push(state(picture, style));
    lines.push(String::new());
    // What is found matters more than idle devices, and both more than what is over.
    let found = findings(picture, style, (rows / 4).max(3));
    if let Some(second) = picture.second.as_ref().filter(|second| !second.devices.is_empty()) {
        let room = rows.saturating_sub(lines.len() + found.len() + 1);
        devices(&second.devices, &picture.devices, style, room, &mut lines);
        lines.push(String::new());
    }
    lines.extend(found);
    let room = rows.saturating_sub(lines.len());
    done(picture, style, room, &mut lines);
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.truncate(rows);
    lines
}

fn head(picture: &LivePicture, style: &Style) -> String {
    let right = "q closes this screen  Ctrl-C stops";
    let study = picture.study.as_ref().map_or("", |study| study.name.as_str());
    // The only workload of a study may have its name.
    let workload = Some(picture.workload.as_str()).filter(|workload| *workload != study).unwrap_or_default();
    let parts = ["plumb", study, workload, picture.place.as_str()];
    let left = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    let room = style.width.saturating_sub(measure::width(right) + 2);
    if room < 24 {
        return style.ink(Ink::Strong, &measure::cut(&left, style.width));
    }
    let left = measure::cut(&left, room);
    let gap = " ".repeat(style.width - measure::width(&left) - measure::width(right));
    format!("{}{gap}{}", style.ink(Ink::Strong, &left), style.ink(Ink::Faint, right))
}

fn what(picture: &LivePicture, style: &Style) -> String {
    let parts = [picture.part.as_str(), picture.phase_place.as_str(), picture.phase.as_str()];
    let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ");
    measure::cut(&text, style.width)
}

/// How far a study is, and what went wrong last.
fn study_lines(study: &StudyProgress, style: &Style) -> Vec<String> {
    let mut parts = vec![format!("{} of {} runs", study.ended, study.runs)];
    parts.extend((study.rejected > 0).then(|| format!("{} rejected", study.rejected)));
    parts.extend((study.failed > 0).then(|| format!("{} failed", study.failed)));
    parts.extend(Some(study.left.clone()).filter(|left| !left.is_empty()));
    let share = f64::from(study.ended) / f64::from(study.runs.max(1));
    let mut lines = vec![measure::cut(&format!("{}  {}", bar(share), parts.join(" · ")), style.width)];
    lines.extend(
        (!study.trouble.is_empty()).then(|| style.ink(Ink::Caution, &measure::cut(&study.trouble, style.width))),
    );
    lines
}

/// A bar of which this share is full.
fn bar(share: f64) -> String {
    const CELLS: usize = 24;
    let full = (share.clamp(0.0, 1.0) * CELLS as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "░".repeat(CELLS - full))
}

/// How far the phase is.
fn progress(picture: &LivePicture, style: &Style) -> String {
    if !picture.preparing.is_empty() {
        return style.ink(Ink::Faint, &measure::cut(&picture.preparing, style.width));
    }
    let elapsed_ns = picture.second.as_ref().map_or(0, |second| second.start_ns + second.length_ns);
    let elapsed = if elapsed_ns == 0 { "0 s".to_owned() } else { format::time_brief(elapsed_ns as f64) };
    let left = picture.left_ns.filter(|ns| *ns > 0);
    let left = left.map_or(String::new(), |ns| format!(" · about {} left", format::time_brief(ns as f64)));
    let text = match picture.time_ns.filter(|time_ns| *time_ns > 0) {
        Some(time_ns) => {
            let bar = bar(elapsed_ns as f64 / time_ns as f64);
            format!("{bar}  {elapsed} of {}{left}", format::time_brief(time_ns as f64))
        }
        None if elapsed_ns > 0 => format!("{elapsed} so far{left}"),
        None => left.trim_start_matches([' ', '·']).to_owned(),
    };
    measure::cut(&text, style.width)
}

/// The last second, by kind of op.
fn ops(picture: &LivePicture, style: &Style, lines: &mut Vec<String>) {
    let Some(second) = &picture.second else {
        let text = match (&picture.study, picture.phase.is_empty()) {
            (Some(_), true) => "nothing is measured now",
            (None, true) if !picture.done.is_empty() => "the phase is over",
            _ => "no second is over yet",
        };
        return lines.push(style.ink(Ink::Faint, text));
    };
    let rows: Vec<(OpKind, &StreamOps)> =
        second.ops.iter().filter(|(_, ops)| ops.count > 0).map(|(kind, ops)| (*kind, ops)).collect();
    if rows.is_empty() {
        return lines.push(style.ink(Ink::Caution, "nothing completed in the last second"));
    }
    let rows: Vec<&(OpKind, &StreamOps)> = rows.iter().collect();
    let time = |ns: Option<u64>| ns.map_or(MISSING.to_owned(), |ns| format::time(ns as f64));
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
    push_table(set_flush(columns, style.width), style, lines);
}

/// A row that does not fit has several lines.
fn push_table(table: Lines, style: &Style, lines: &mut Vec<String>) {
    lines.extend(table.head.lines().map(|line| style.ink(Ink::Strong, line)));
    lines.extend(table.rows.iter().flat_map(|row| row.lines()).map(str::to_owned));
}

/// The seconds of the phase: the rate, and the latency at 99 %, of the kind of op that takes the most time.
fn bars(picture: &LivePicture, style: &Style, lines: &mut Vec<String>) {
    const TEXT: usize = "p99   fdatasync up to 999 MB/s ".len();
    let width = style.width.saturating_sub(TEXT).min(KEPT);
    let kept = &picture.history[picture.history.len().saturating_sub(width)..];
    let busiest = picture.second.as_ref().and_then(busiest);
    let moves_bytes = busiest.is_some_and(|(_, ops)| ops.bytes > 0);
    let kind = busiest.map_or("", |(kind, _)| kind.name());
    let rate: fn(f64) -> String = if moves_bytes { format::rate_si } else { format::per_second };
    let top = kept.iter().map(|moment| moment.rate).fold(0.0, f64::max);
    let slowest = kept.iter().filter_map(|moment| moment.p99_ns).max();
    let line = |name: &str, ink: Ink, values: Vec<Option<f64>>, top: Option<String>| {
        let bars = format::sparkline(values);
        let top = top.filter(|_| !kept.is_empty()).map_or(String::new(), |top| format!(" {kind} up to {top}"));
        format!("{}{}{}", style.ink(Ink::Faint, name), style.ink(ink, &bars), style.ink(Ink::Faint, &top))
    };
    let rates = kept.iter().map(|moment| Some(moment.rate)).collect();
    let times = kept.iter().map(|moment| moment.p99_ns.map(|ns| ns as f64)).collect();
    lines.push(line("rate  ", Ink::Good, rates, Some(rate(top))));
    lines.push(line("p99   ", Ink::Bad, times, slowest.map(|ns| format::time(ns as f64))));
}

/// Depth, where the bytes come from, errors, and whether the rate is steady.
fn state(picture: &LivePicture, style: &Style) -> String {
    let Some(second) = &picture.second else { return String::new() };
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
    let rates: Vec<f64> = picture.history.iter().map(|moment| moment.rate).collect();
    parts.extend(steadiness(&rates));
    let text = measure::cut(&parts.join(" · "), style.width);
    if second.errors > 0 { style.ink(Ink::Bad, &text) } else { text }
}

/// By the round rule of SNIA, with a second as a round: how far apart the rates of the last five are.
fn steadiness(rates: &[f64]) -> Option<String> {
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

/// Each check once: what it found last, and in how many phases.
fn findings(picture: &LivePicture, style: &Style, room: usize) -> Vec<String> {
    let mut checks: Vec<(&Finding, usize)> = Vec::new();
    for finding in &picture.findings {
        match checks.iter_mut().find(|(known, _)| known.code == finding.code) {
            Some((_, phases)) => *phases += 1,
            None => checks.push((finding, 1)),
        }
    }
    if checks.is_empty() {
        return vec![style.ink(Ink::Faint, "no findings so far")];
    }
    let mut lines: Vec<String> = Vec::new();
    for (number, (finding, phases)) in checks.iter().enumerate() {
        let aside = (*phases > 1).then(|| format!("in {phases} phases so far"));
        let text = found(finding, aside.as_deref(), style);
        let further = checks.len() - number;
        let height = text.lines().count();
        // One line is kept for how many more there are.
        if lines.len() + height + usize::from(further > 1) > room && number > 0 {
            lines.push(style.ink(Ink::Faint, &format!("and {further} more")));
            break;
        }
        lines.extend(text.lines().map(str::to_owned));
    }
    lines
}

/// The phases that are over, the latest last.
fn done(picture: &LivePicture, style: &Style, room: usize, lines: &mut Vec<String>) {
    // A gap and the head.
    let Some(most) = room.checked_sub(2).filter(|most| *most > 0) else { return };
    let shown: Vec<&DonePhase> = picture.done.iter().skip(picture.done.len().saturating_sub(most)).collect();
    if shown.is_empty() {
        return;
    }
    let right = Align::Right;
    let rate = |done: &DonePhase| match done.ops.bytes {
        0 => format::per_second(done.ops.ops_per_s),
        _ => format::rate_si(done.ops.bytes_per_s),
    };
    let time = |ns: Option<u64>| ns.map_or(MISSING.to_owned(), |ns| format::time(ns as f64));
    let mut columns = vec![
        column(&shown, "done", Align::Left, None, |done| measure::cut(&done.name, 28)),
        column(&shown, "", Align::Left, None, |done| done.kind.name().to_owned()),
        column(&shown, "rate", right, None, rate),
        column(&shown, "p50", right, None, |done| time(done.ops.p50_ns)),
        column(&shown, "p99", right, None, |done| time(done.ops.p99_ns)),
    ];
    keep_width(&mut columns, &[20, 6, 9, 8, 8]);
    lines.push(String::new());
    push_table(set_flush(columns, style.width), style, lines);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::fixture::{finding, second};
    use crate::style::Colour;
    use plumb_result::stream::StreamEvent;

    fn picture(seconds: u64) -> LivePicture {
        let mut picture = LivePicture::default();
        picture.run_begins("try", "/mnt/a-directory-with-a-rather-long-name/and-another-one/below-it");
        picture.phase_place = "phase 2 of 11".to_owned();
        picture.phase_begins("random-read");
        picture.time_ns = Some(4_000_000_000);
        picture.left_ns = Some(36_000_000_000);
        (0..seconds).for_each(|number| picture.second(second("random-read", 1000 + number, 5000).measured.unwrap()));
        picture
    }

    fn drawn(picture: &LivePicture, width: usize, rows: usize) -> String {
        let lines = screen(picture, &Style { width, colour: Colour::Never }, rows);
        assert!(lines.len() <= rows, "{} rows: {lines:#?}", lines.len());
        for line in &lines {
            assert!(measure::width(line) <= width, "{} columns: {line}", measure::width(line));
        }
        lines.join("\n")
    }

    // Protects: every window, however small, has what fits, and nothing wraps or scrolls.
    #[test]
    fn it_fits_any_window() {
        let mut picture = picture(200);
        for code in 0..40 {
            let message =
                "A sentence that is long enough to need more than one line of a window that is not very wide.";
            let mut found = finding(StreamEvent::Finding, "random-read", message).finding.unwrap();
            found.code = format!("Z{code}");
            picture.found(&found);
        }
        for width in [40, 60, 80, 120, 140] {
            for rows in [1, 5, 10, 24, 40, 60] {
                drawn(&picture, width, rows);
            }
        }
    }

    // Protects: the parts of the screen: what is run, how far it is, rates, latency, devices, findings, steadiness.
    #[test]
    fn it_has_its_parts() {
        let mut picture = picture(6);
        let text = drawn(&picture, 80, 24);
        for part in [
            "plumb · try",
            "phase 2 of 11 · random-read",
            "1.0 s of 4.0 s",
            "about 36 s left",
            "p99.9",
            "5.00 µs",
            "vda",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("in flight 1.5 of 2 · 75 % served by memory · steady: range 0.4"), "{text}");
        assert!(text.contains("no findings so far"), "{text}");
        let found = finding(StreamEvent::Finding, "random-read", "The page cache served the reads.").finding.unwrap();
        picture.found(&found);
        assert!(drawn(&picture, 80, 24).contains("The page cache served the reads."));
        picture.withdrawn(&found);
        assert!(drawn(&picture, 80, 24).contains("no findings so far"));
    }

    // Protects: nothing is made up before the first second, and a second in which nothing completed is said.
    #[test]
    fn nothing_is_made_up() {
        assert!(drawn(&picture(0), 80, 24).contains("no second is over yet"));
        let mut stalled = picture(1);
        let mut measured = second("random-read", 1, 1).measured.unwrap();
        measured.ops.clear();
        stalled.second(measured);
        let text = drawn(&stalled, 80, 24);
        assert!(text.contains("nothing completed in the last second"), "{text}");
        assert!(!text.contains("steady"), "five seconds are needed: {text}");
    }

    // Protects: the rule that says whether a rate is steady.
    #[test]
    fn steady_by_the_last_five_seconds() {
        assert_eq!(steadiness(&[100.0; 4]), None);
        assert_eq!(steadiness(&[1.0, 100.0, 101.0, 100.0, 99.0, 100.0]).unwrap(), "steady: range 2.0 % in 5 s");
        assert!(steadiness(&[100.0, 150.0, 100.0, 50.0, 100.0]).unwrap().starts_with("not steady: range 100 %"));
        assert_eq!(steadiness(&[0.0; 5]), None);
    }

    // Protects: of a study, how far it is, what went wrong, and the phases of the runs before, in any window.
    #[test]
    fn a_study_has_its_line() {
        let mut picture = LivePicture { study: Some(StudyProgress::default()), ..LivePicture::default() };
        let study = picture.study.as_mut().unwrap();
        study.name = "two-disks".to_owned();
        (study.ended, study.runs, study.rejected, study.left) = (5, 16, 1, "about 2 min left".to_owned());
        picture.study_stage("plot 2 of 4", "", "building");
        let text = drawn(&picture, 80, 24);
        assert!(text.contains("plumb · two-disks  ") && text.contains("nothing is measured now"), "{text}");
        assert!(text.contains("5 of 16 runs · 1 rejected · about 2 min left"), "{text}");
        picture.run_begins("random-read", "sim:ssd");
        picture.phase_begins("random-read");
        picture.second(second("random-read", 1000, 5000).measured.unwrap());
        assert!(drawn(&picture, 80, 24).contains("plot 2 of 4 · random-read"));
        picture.phase_done("random-read", &second("random-read", 1000, 5000).measured.unwrap());
        picture.study.as_mut().unwrap().trouble =
            "warning: run 6 of 16 failed, with a reason that is far too long for its line of this window".to_owned();
        picture.run_begins("random-read", "sim:ssd");
        for width in [40, 80] {
            let text = drawn(&picture, width, 24);
            assert!(text.contains("run 6 random-read") && text.contains("warning: run 6 of 16"), "{text}");
        }
    }

    // Protects: a phase that is over stays on the screen with its numbers.
    #[test]
    fn phases_that_are_over_stay() {
        let mut picture = picture(2);
        let mut service = plumb_result::Histogram::new();
        service.record_n(2000, 10);
        let read = plumb_result::OpMeasurement { count: 10, bytes: 40960, service, ..Default::default() };
        picture.phase_ended(&PhaseMeasurement {
            name: "seq-read".to_owned(),
            wall_ns: 1_000_000_000,
            ops: [(OpKind::Read, read)].into(),
            ..PhaseMeasurement::default()
        });
        let text = drawn(&picture, 80, 24);
        assert!(text.contains("done") && text.contains("seq-read") && text.contains("41.0 kB/s"), "{text}");
    }
}
