//! The page of a sweep: the findings in words, the points as a table, and a chart of each curve.

mod words;

pub use words::words;

use crate::compare::{RejectedTogether, left_out, runs_text, unexplained};
use crate::format::{self, MISSING};
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::compare::RunCheck;
use plumb_result::run::TierName;
use plumb_result::sweep::{Arrivals, LatencySummary, RunSpread, SweepCurve, SweepPoint};
use plumb_result::verdict::{LOAD, under_declared_load, under_undeclared_load};
use plumb_result::{Level, LoadDeclared, RunVerdict, Sweep, SweepKey};
use std::collections::BTreeMap;
use words::{bare, level, per_second};

/// Returns the whole page.
pub fn page(sweep: &Sweep, style: &Style) -> String {
    let mut page = String::new();
    if sweep.curves.len() > 1 && !nothing_accepted(sweep) {
        let partial = if sweep.partial { INTERRUPTED } else { "" };
        let head = format!("{}, {}: {} curves.{partial}", sweep.path, sweep.phase, sweep.curves.len());
        page.push_str(&format!("{}\n", style.ink(Ink::Strong, &style.wrap(&head, 0))));
        for curve in &sweep.curves {
            let wording = curve_text(sweep, curve);
            page.push_str(&format!("  {}\n", style.ink(Ink::Strong, &style.wrap(&wording, 4))));
        }
    } else {
        page.push_str(&style.ink(Ink::Strong, &style.wrap(&sentence(sweep), 0)));
        page.push('\n');
    }
    page.push_str(&format!("{}\n", style.wrap(&verdict(sweep), 0)));
    page.push('\n');
    let has_runs = |curve: &&SweepCurve| curve.points.iter().any(|point| !point.runs.is_empty());
    for curve in sweep.curves.iter().filter(has_runs) {
        page.push_str(&head(sweep, curve, style));
        page.push_str(&table(curve, style));
        if sweep.run_checks.is_empty() {
            page.push_str(&warned(curve, style));
        }
        page.push_str(&chart(curve, style));
    }
    for note in &sweep.notes {
        page.push_str(&format!("  {}{}\n", style.ink(Ink::Caution, "note    "), style.wrap(note, 10)));
    }
    page.push_str(&left_out(&unexplained(&sweep.left_out, &sweep.run_checks), RejectedTogether::All, style));
    for check in &sweep.run_checks {
        page.push_str(&runs_text(&[check], "", style));
    }
    page.push_str(&last_line(sweep));
    page
}

/// Returns whether the runs can be used, and why some are left out.
fn verdict(sweep: &Sweep) -> String {
    let failed = || sweep.run_checks.iter().filter(|check| check.finding.level == Level::Fail);
    let by = |check: &RunCheck| {
        let message = &check.finding.message;
        let first = message.find(". ").map_or(message.as_str(), |end| &message[..end]);
        format!("{} ({}).", first.trim_end_matches('.'), check.finding.code)
    };
    let declared = sweep.under_load.as_deref().filter(|load| load.declared == LoadDeclared::Yes);
    let load = declared.map_or_else(String::new, |load| format!("{} ", under_declared_load(load)));
    let wording = match (failed().next(), sweep.under_load.as_deref()) {
        (Some(first), under_load) => {
            let why = match under_load {
                Some(load)
                    if declared.is_none() && failed().all(|check| LOAD.contains(&check.finding.code.as_str())) =>
                {
                    under_undeclared_load(load)
                }
                _ => format!("Rejected: {}", by(first)),
            };
            let (rejected, all) = (sweep.left_out.len(), sweep.runs.len());
            format!("{why} {rejected} of {all} runs were rejected and left out of the curves.")
        }
        (None, _) => match sweep.run_checks.first() {
            Some(warned) => format!("Trusted with a caution: {}", by(warned)),
            None if sweep.runs.is_empty() => String::new(),
            None if !sweep.left_out.is_empty() => {
                format!("{} of {} runs count.", sweep.runs.len() - sweep.left_out.len(), sweep.runs.len())
            }
            None => "Trusted.".to_owned(),
        },
    };
    format!("{load}{wording}")
}

/// The numbers of a point: those of accepted runs, or of rejected runs if there are no others.
struct ShownNumbers<'a> {
    rate: Option<RunSpread>,
    bandwidth: Option<RunSpread>,
    in_flight: Option<RunSpread>,
    service: &'a LatencySummary,
    response: Option<&'a LatencySummary>,
}

fn shown(point: &SweepPoint) -> ShownNumbers<'_> {
    match &point.rejected {
        Some(numbers) if point.rate.is_none() => ShownNumbers {
            rate: numbers.rate,
            bandwidth: numbers.bandwidth,
            in_flight: numbers.in_flight,
            service: &numbers.service,
            response: numbers.response.as_ref(),
        },
        _ => ShownNumbers {
            rate: point.rate,
            bandwidth: point.bandwidth,
            in_flight: point.in_flight,
            service: &point.service,
            response: point.response.as_ref(),
        },
    }
}

/// Returns the findings of one of several curves, after its name.
fn curve_text(sweep: &Sweep, curve: &SweepCurve) -> String {
    let fixed: Vec<String> = curve.fixed.iter().map(|(key, at)| level(curve, *key, *at)).collect();
    let name = if fixed.is_empty() { format!("along {}", curve.key.name()) } else { fixed.join(", ") };
    format!("{name}: {}", findings_text(sweep, curve))
}

/// Lists checks that warned at points whose numbers are shown.
fn warned(curve: &SweepCurve, style: &Style) -> String {
    let mut by_code: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for point in curve.points.iter().filter(|point| point.rate.is_some()) {
        for (code, _) in point.checks.iter().filter(|(_, level)| **level == Level::Warn) {
            by_code.entry(code).or_default().push(bare(curve, curve.key, point.level));
        }
    }
    let line = |(code, levels): (&str, Vec<String>)| {
        let wording = style.wrap(&format!("at {} (`plumb explain {code}`)", levels.join(", ")), 11);
        format!("  {}{wording}\n", style.ink(Ink::Caution, &format!("warn {code:3} ")))
    };
    let text: String = by_code.into_iter().map(line).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// Returns the command that lists the sweep's runs.
fn last_line(sweep: &Sweep) -> String {
    // `plumb list` shows 20 by default.
    const LISTED: usize = 20;
    let number = if sweep.runs.len() > LISTED { format!(" -n {}", sweep.runs.len()) } else { String::new() };
    match &sweep.tag {
        Some(tag) => format!("Runs: plumb list --tag {tag}{number}\n"),
        None => String::new(),
    }
}

const INTERRUPTED: &str = " Interrupted: this is what was measured before.";

fn nothing_accepted(sweep: &Sweep) -> bool {
    sweep.curves.iter().flat_map(|curve| &curve.points).all(|point| point.rate.is_none())
}

/// Returns the findings in one or a few sentences; the `verdict_note` of the JSON form.
pub fn sentence(sweep: &Sweep) -> String {
    let partial = if sweep.partial { INTERRUPTED } else { "" };
    if nothing_accepted(sweep) {
        let why = match sweep.left_out.len() {
            0 => "no run finished".to_owned(),
            1 => "the checks rejected its only run".to_owned(),
            rejected => format!("the checks rejected all of its {rejected} runs"),
        };
        return format!("{} has no curve: {why}.{partial}", sweep.path);
    }
    let wording = match sweep.curves.as_slice() {
        [only] => findings_text(sweep, only),
        several => several.iter().map(|curve| curve_text(sweep, curve)).collect::<Vec<_>>().join(" "),
    };
    format!("{}, {}: {wording}{partial}", sweep.path, sweep.phase)
}

fn findings_text(sweep: &Sweep, curve: &SweepCurve) -> String {
    let found = words(sweep, curve);
    if found.is_empty() { "The curve has no notable feature.".to_owned() } else { found.join(" ") }
}

fn head(sweep: &Sweep, curve: &SweepCurve, style: &Style) -> String {
    let mut wording = vec![format!("{} along {}", sweep.counted.join(" and "), curve.key.name())];
    wording.extend(curve.fixed.iter().map(|(key, at)| format!("at {}", level(curve, *key, *at))));
    wording.extend(sweep.op_bytes.map(|bytes| format!("{} blocks", format::bytes_brief(bytes as f64))));
    wording.extend(sweep.cache.clone());
    wording.push(match curve.arrivals {
        Arrivals::Closed => "closed loop, so latency is service time".to_owned(),
        Arrivals::Poisson => "Poisson arrivals".to_owned(),
    });
    if let Some(most) = curve.closed_loop_max {
        wording.push(format!("10 % to 120 % of the closed-loop maximum of {}", per_second(curve, most.value)));
    }
    if let Some(time) = sweep.time_ns {
        wording.push(format!("{} a run", format::time(time as f64)));
    }
    format!("{}\n", style.wrap(&wording.join(" · "), 0))
}

fn number(spread: Option<RunSpread>, set: fn(f64) -> String) -> String {
    spread.map_or(MISSING.to_owned(), |spread| set(spread.value))
}

/// Formats an interval in the unit of its value: `9.8 – 10.4`.
fn interval(curve: &SweepCurve, spread: Option<RunSpread>) -> String {
    match spread {
        Some(RunSpread { lo: Some(lo), hi: Some(hi), .. }) => {
            let (lo, hi) = (per_second(curve, lo), per_second(curve, hi));
            match (lo.split_once(' '), hi.split_once(' ')) {
                (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} – {hi}"),
                _ => format!("{lo} – {hi}"),
            }
        }
        _ => MISSING.to_owned(),
    }
}

/// Returns the runs of a level by verdict: `2 pass, 1 reject`.
pub(crate) fn runs(point: &SweepPoint) -> String {
    let verdicts = [RunVerdict::Pass, RunVerdict::Caution, RunVerdict::Unknown, RunVerdict::Reject];
    let count = |verdict| point.runs.iter().filter(|run| run.verdict == verdict).count();
    let wording: Vec<String> = verdicts
        .into_iter()
        .filter(|verdict| count(*verdict) > 0)
        .map(|verdict| format!("{} {}", count(verdict), verdict.name()))
        .collect();
    if wording.is_empty() { MISSING.to_owned() } else { wording.join(", ") }
}

fn tier(point: &SweepPoint) -> String {
    match (point.tier, point.device_share) {
        (None, _) => MISSING.to_owned(),
        (Some(TierName::Mixed), Some(share)) => format!("mixed, {} memory", format::percent(1.0 - share)),
        (Some(tier), _) => tier.name().to_owned(),
    }
}

fn columns(curve: &SweepCurve) -> Vec<Column> {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&SweepPoint) -> String| Column {
        title: title.to_owned(),
        cells: curve.points.iter().map(cell).collect(),
        align,
        hide_order,
    };
    let key = curve.key;
    let first = |point: &SweepPoint| bare(curve, key, point.level);
    let title = if key == SweepKey::Rate { "asked" } else { key.name() };
    let of = |stat: fn(&LatencySummary) -> Option<RunSpread>| {
        move |point: &SweepPoint| number(stat(shown(point).service), format::time)
    };
    let mut columns = vec![
        column(title, Align::Right, None, &first),
        column("rate", Align::Right, None, &|point| {
            shown(point).rate.map_or(MISSING.to_owned(), |rate| per_second(curve, rate.value))
        }),
        column("95 % CI", Align::Right, Some(4), &|point| interval(curve, shown(point).rate)),
    ];
    if curve.points.iter().any(|point| shown(point).bandwidth.is_some()) {
        columns.push(column("", Align::Right, Some(1), &|point| number(shown(point).bandwidth, format::rate_si)));
    }
    match curve.arrivals {
        Arrivals::Closed => {
            columns.push(column("p50", Align::Right, Some(5), &of(|times| times.p50)));
            columns.push(column("p99", Align::Right, None, &of(|times| times.p99)));
            columns.push(column("p99.9", Align::Right, Some(2), &of(|times| times.p999)));
        }
        // Service time and response time, side by side.
        Arrivals::Poisson => {
            let pair = |stat: fn(&LatencySummary) -> Option<RunSpread>| {
                move |point: &SweepPoint| {
                    let numbers = shown(point);
                    let waited = numbers.response.and_then(stat);
                    format!("{} | {}", number(stat(numbers.service), format::time), number(waited, format::time))
                }
            };
            columns.push(column("p50 service | response", Align::Right, None, &pair(|times| times.p50)));
            columns.push(column("p99 service | response", Align::Right, None, &pair(|times| times.p99)));
            columns.push(column("p99.9 service | response", Align::Right, Some(0), &pair(|times| times.p999)));
        }
    }
    columns.push(column("in flight", Align::Right, Some(3), &|point| {
        shown(point).in_flight.map_or(MISSING.to_owned(), |spread| format!("{:.1}", spread.value))
    }));
    columns.push(column("tier", Align::Left, None, &tier));
    columns.push(column("runs", Align::Left, Some(6), &runs));
    columns
}

fn table(curve: &SweepCurve, style: &Style) -> String {
    let lines = table::set(columns(curve), style.width);
    let mut text = style.ink(Ink::Faint, &lines.head);
    text.push('\n');
    for (point, row) in curve.points.iter().zip(lines.rows) {
        let rejected = point.rate.is_none() && !point.runs.is_empty();
        text.push_str(&if rejected { style.ink(Ink::Bad, &row) } else { row });
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Smallest width of a bar, in columns.
const BAR_MIN: usize = 16;
const BAR_MAX: usize = 40;

/// Parts of a column that block characters can draw.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Draws two bars for each point: the rate from 0, and the p99 on a logarithmic scale. Bars are solid up to the lower
/// end of the interval, darker up to the value, and light up to the upper end.
fn chart(curve: &SweepCurve, style: &Style) -> String {
    if curve.points.iter().filter(|point| point.rate.is_some()).count() < 2 {
        return String::new();
    }
    let waited = |point: &SweepPoint| point.response.as_ref().unwrap_or(&point.service).p99;
    let labels: Vec<String> = curve.points.iter().map(|point| bare(curve, curve.key, point.level)).collect();
    let label = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let bar = ((style.width.saturating_sub(label + 8)) / 2).clamp(BAR_MIN, BAR_MAX);
    // A very wide interval must not flatten all bars, so it is cut off slightly beyond the largest value.
    let top = |spreads: &[RunSpread], beyond: f64| {
        let most = |of: fn(&RunSpread) -> f64| spreads.iter().map(of).fold(0.0, f64::max);
        most(|spread| spread.hi.unwrap_or(spread.value)).min(beyond * most(|spread| spread.value))
    };
    let rates: Vec<RunSpread> = curve.points.iter().filter_map(|point| point.rate).collect();
    let rate_top = top(&rates, 1.25);
    let times: Vec<RunSpread> = curve.points.iter().filter_map(waited).collect();
    let least = |of: fn(&RunSpread) -> f64| times.iter().map(of).fold(f64::INFINITY, f64::min);
    let least = least(|time| time.lo.unwrap_or(time.value)).max(least(|time| time.value) / 2.0);
    let most = top(&times, 2.0);
    // Start half a factor of two below the smallest value, so that it has a visible bar.
    let floor = least / std::f64::consts::SQRT_2;
    let span = (most / floor).ln();
    let linear = |value: f64| value / rate_top;
    let logarithmic = |value: f64| if span > 0.0 { (value / floor).ln() / span } else { 0.0 };
    let kind = if curve.arrivals == Arrivals::Poisson { "p99 response" } else { "p99" };
    let mut heads = [format!("rate, 0 – {}", per_second(curve, rate_top)), String::new()];
    if !times.is_empty() {
        heads[1] = format!("{kind}, {} – {} (log)", format::time(floor), format::time(most));
        let room = style.width.saturating_sub(label + bar + 6);
        if heads[1].chars().count() > room {
            heads[1] = format!("{kind} (log)");
        }
    }
    let head = format!("  {:label$}  {:bar$}  {}", "", heads[0], heads[1]);
    let mut text = format!("{}\n", style.ink(Ink::Faint, head.trim_end()));
    let has_interval = |spread: &RunSpread| spread.lo.is_some() && spread.hi.is_some();
    let has_legend = rates.iter().chain(&times).any(has_interval);
    for (point, name) in curve.points.iter().zip(&labels) {
        let rate = point.rate.map_or(MISSING.to_owned(), |rate| drawn(rate, bar, linear));
        let time = waited(point).map_or(String::new(), |time| drawn(time, bar, logarithmic));
        text.push_str(format!("  {name:>label$}  {rate:bar$}  {time}").trim_end());
        text.push('\n');
    }
    if has_legend {
        let legend = "█ up to the lower end of the 95 % interval, ▒ to the value, ░ to the upper end";
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(legend, 2))));
    }
    text.push('\n');
    text
}

fn drawn(spread: RunSpread, columns: usize, share: impl Fn(f64) -> f64) -> String {
    let eighths = |value: f64| (share(value).clamp(0.0, 1.0) * (columns * 8) as f64).round() as usize;
    let solid = eighths(spread.lo.unwrap_or(spread.value));
    let mut text: String = std::iter::repeat_n('█', solid / 8).collect();
    if solid % 8 > 0 {
        text.push(EIGHTHS[solid % 8]);
    }
    for (shade, end) in [('▒', spread.value), ('░', spread.hi.unwrap_or(spread.value))] {
        let end = eighths(end).div_ceil(8);
        let drawn = text.chars().count();
        text.extend(std::iter::repeat_n(shade, end.saturating_sub(drawn)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::words::saturation_words;
    use super::*;
    use plumb_result::compare::LeftOut;
    use plumb_result::sweep::{Beyond, CurveFindings, Knee, KneeFound, LevelPlace, Rise, Saturation, SweepRun};

    fn spread(value: f64) -> Option<RunSpread> {
        Some(RunSpread { value, lo: Some(value * 0.9), hi: Some(value * 1.1), runs: 3 })
    }

    fn point(level: f64, rate: Option<f64>) -> SweepPoint {
        let verdict = if rate.is_some() { RunVerdict::Pass } else { RunVerdict::Reject };
        let p99 = rate.and_then(|rate| spread(1e9 * level / rate));
        SweepPoint {
            level,
            rate: rate.and_then(spread),
            bandwidth: rate.and_then(|rate| spread(rate * 4096.0)),
            in_flight: spread(level),
            service: LatencySummary { p50: p99, p99, ..LatencySummary::default() },
            response: None,
            tier: rate.map(|_| TierName::Device),
            device_share: None,
            runs: (1..=3).map(|repeat| SweepRun { id: format!("0{repeat}"), repeat, verdict }).collect(),
            checks: Default::default(),
            rejected: None,
        }
    }

    fn sweep(points: Vec<SweepPoint>, found: CurveFindings) -> Sweep {
        let key = SweepKey::Depth;
        Sweep {
            schema: String::new(),
            verdict_note: String::new(),
            path: "/mnt/data".to_owned(),
            workload: "random-read".to_owned(),
            phase: "random-read".to_owned(),
            counted: vec!["read".to_owned()],
            seed: 1,
            repeats: 3,
            partial: false,
            time_ns: Some(1_000_000_000),
            op_bytes: Some(4096),
            cache: Some("direct".to_owned()),
            memory_bytes: 1 << 30,
            curves: vec![SweepCurve {
                key,
                fixed: Default::default(),
                arrivals: Arrivals::Closed,
                closed_loop_max: None,
                points,
                found,
            }],
            runs: Vec::new(),
            tag: None,
            left_out: Vec::new(),
            notes: Vec::new(),
            settle: None,
            under_load: None,
            run_checks: Vec::new(),
        }
    }

    /// Protects: the head states what makes two curves comparable: the size of the ops, and whether the
    /// page cache could serve them.
    #[test]
    fn the_head_states_the_block_size_and_the_cache_mode() {
        let mut sweep = sweep(vec![point(1.0, Some(1000.0))], CurveFindings::default());
        let head = |sweep: &Sweep| {
            let page = page(sweep, &Style::PLAIN).replace('\n', " ");
            page[page.find("read along").unwrap()..].to_owned()
        };
        let wording = head(&sweep);
        assert!(wording.starts_with("read along depth · 4 KiB blocks · direct · closed loop"), "{wording}");
        (sweep.op_bytes, sweep.cache) = (None, Some("buffered, cold".to_owned()));
        let wording = head(&sweep);
        assert!(wording.starts_with("read along depth · buffered, cold · closed loop"), "{wording}");
    }

    #[test]
    fn a_point_without_accepted_runs_is_missing_and_not_zero() {
        let points = vec![point(1.0, Some(1000.0)), point(2.0, None), point(4.0, Some(3000.0))];
        let page = page(&sweep(points, CurveFindings::default()), &Style::PLAIN);
        let row = page.lines().find(|line| line.contains("3 reject")).unwrap();
        assert!(row.contains(MISSING) && !row.contains("0/s") && !row.contains(" 0 "), "{row}");
        assert!(page.contains("1 of 3 points have no accepted run"), "{page}");
    }

    #[test]
    fn nothing_accepted_is_no_curve() {
        let mut sweep = sweep(vec![point(1.0, None), point(2.0, None)], CurveFindings::default());
        sweep.left_out =
            vec![LeftOut { run: "01".into(), side: "depth=1".into(), reason: "A1 from memory.".into() }; 6];
        let page = page(&sweep, &Style::PLAIN);
        assert!(page.contains("no curve: the checks rejected all of its 6 runs"), "{page}");
        assert!(page.contains("6 runs, such as"), "{page}");
        assert!(!page.contains('█'), "{page}");
    }

    #[test]
    fn bars_show_value_and_interval() {
        let bar = drawn(RunSpread { value: 50.0, lo: Some(40.0), hi: Some(60.0), runs: 3 }, 10, |value| value / 100.0);
        assert_eq!(bar, "████▒░");
        let single = drawn(RunSpread { value: 55.0, lo: None, hi: None, runs: 1 }, 10, |value| value / 100.0);
        assert_eq!(single, "█████▌");
    }

    #[test]
    fn findings_are_printed_with_their_limits() {
        let knee = |found, to| Knee {
            level: 8.0,
            from: 8.0,
            to,
            rate: 8000.0,
            latency_ns: 1e6,
            place: LevelPlace::Inside,
            found: Some(found),
        };
        let describe = |knee| {
            let found = CurveFindings { knee: Some(knee), ..CurveFindings::default() };
            let sweep = sweep(vec![point(1.0, Some(1000.0)), point(8.0, Some(8000.0))], found);
            words(&sweep, &sweep.curves[0]).join(" ")
        };
        assert!(
            describe(knee(KneeFound::Located, 8.0))
                .contains("The knee is at depth 8 (8.00 k IOPS at a mean service time of 1.00 ms)")
        );
        assert!(describe(knee(KneeFound::Located, 16.0)).contains("anywhere from 8 to 16"));
        assert!(describe(knee(KneeFound::Unlocated, 16.0)).starts_with("No knee found"));
        assert!(describe(knee(KneeFound::AtOrBelow, 8.0)).contains("at or below depth 8"));
        assert!(describe(knee(KneeFound::NotReached, 8.0)).contains("No knee up to depth 8"));
        let mut threads = sweep(vec![point(1.0, Some(1000.0))], CurveFindings::default());
        threads.curves[0].key = SweepKey::Threads;
        let saturation = |perhaps, place, beyond| {
            let (rate_max, level_max, rise) = (1e4, 16.0, Rise::Proven);
            let saturation =
                Saturation { level: 8.0, perhaps, to: Some(16.0), beyond, rate_max, level_max, place, rise };
            saturation_words(&threads.curves[0], &saturation)
        };
        assert_eq!(
            saturation(4.0, LevelPlace::Inside, None),
            "Saturated from threads 4 on, within 5 % of the largest rate of 10.0 k IOPS; certain from 8 on."
        );
        assert!(
            saturation(8.0, LevelPlace::Last, None).starts_with("Not saturated: the rate still rises at threads 16")
        );
        let lower = |proven| Some(Beyond { level: 32.0, rate: 8e3, proven });
        assert_eq!(
            saturation(8.0, LevelPlace::Inside, lower(true)),
            "The rate is largest at threads 16, 10.0 k IOPS, within 5 % of it from 8 to 16, and falls beyond: 8.00 k IOPS at 32."
        );
        let by_chance = saturation(16.0, LevelPlace::Inside, lower(false));
        assert!(
            by_chance.contains("10.0 k IOPS, and lower beyond, though not more than by chance: 8.00 k"),
            "{by_chance}"
        );
    }

    #[test]
    fn the_page_fits_its_width() {
        let points = (0..9).map(|at| point(2f64.powi(at), Some(1000.0 * f64::from(at + 1)))).collect();
        let sweep = sweep(points, CurveFindings::default());
        for width in [60, 80, 100, 140] {
            let style = Style { width, ..Style::PLAIN };
            for line in page(&sweep, &style).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }
}
