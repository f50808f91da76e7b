//! Charts of a run for terminals, in block characters: rates over time, and latency by percentile.

use crate::format;
use crate::measure;
use crate::style::{Ink, Style};
use plumb_result::measurement::Interval;
use plumb_result::metric::Stat;
use plumb_result::{Metric, RunResult};
use plumb_workload::OpKind;

/// Rows of a chart over time.
const HEIGHT: usize = 6;
/// Largest width of a chart; longer series are averaged.
const COLUMNS_MAX: usize = 72;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the rates of every phase second by second, if they are stored, and its latency.
pub fn page(result: &RunResult, series: &[(&str, &[Interval])], style: &Style) -> String {
    let mut page = String::new();
    for phase in &result.phases {
        let intervals = series.iter().find(|(name, _)| *name == phase.name).map_or(&[] as &[Interval], |(_, all)| *all);
        let charts = over_time(&phase.name, intervals, style);
        let latency = latency(result, &phase.name, style);
        page.push_str(&charts);
        page.push_str(&latency);
    }
    if page.is_empty() {
        page.push_str("Nothing to draw: no seconds and no latencies are stored.\n");
    }
    page
}

/// Draws the work of each kind of op in each second.
fn over_time(phase: &str, intervals: &[Interval], style: &Style) -> String {
    let mut kinds: Vec<OpKind> = Vec::new();
    for kind in intervals.iter().flat_map(|interval| interval.ops.keys()) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    if intervals.len() < 2 {
        return String::new();
    }
    let seconds = |interval: &Interval| interval.length_ns.max(1) as f64 / 1e9;
    let mut page = String::new();
    for kind in kinds {
        let moves_bytes = intervals.iter().filter_map(|interval| interval.ops.get(&kind)).any(|ops| ops.bytes > 0);
        let rate = |interval: &Interval| {
            let ops = interval.ops.get(&kind).copied().unwrap_or_default();
            (if moves_bytes { ops.bytes } else { ops.count }) as f64 / seconds(interval)
        };
        let shown: fn(f64) -> String = if moves_bytes { format::rate_si } else { format::per_second };
        let values: Vec<f64> = intervals.iter().map(rate).collect();
        let length_ns = intervals.last().map_or(0, |last| last.start_ns + last.length_ns);
        page.push_str(&chart(
            &format!("{phase} {}, over {}", kind.name(), format::time_brief(length_ns as f64)),
            &values,
            shown,
            style,
        ));
    }
    page
}

/// Draws a chart of values, starting at zero.
fn chart(title: &str, values: &[f64], shown: fn(f64) -> String, style: &Style) -> String {
    let top = values.iter().copied().fold(0.0, f64::max);
    let labels = [shown(top), shown(0.0)];
    let label_width = labels.iter().map(|label| measure::width(label)).max().unwrap_or(0);
    let room = style.width.saturating_sub(label_width + 4).clamp(8, COLUMNS_MAX);
    let columns = averaged(values, room);
    let mut page = format!("{}\n", style.ink(Ink::Strong, &style.wrap(title, 0)));
    for row in (0..HEIGHT).rev() {
        let label = match row {
            _ if row + 1 == HEIGHT => labels[0].as_str(),
            0 => labels[1].as_str(),
            _ => "",
        };
        let bars: String = columns
            .iter()
            .map(|value| {
                let eighths = if top > 0.0 { (value / top * (HEIGHT * 8) as f64).round() } else { 0.0 };
                EIGHTHS[(eighths - (row * 8) as f64).clamp(0.0, 8.0) as usize]
            })
            .collect();
        let side = if label.is_empty() { '│' } else { '┤' };
        page.push_str(&format!("  {} {side}{}\n", measure::right(label, label_width), bars.trim_end()));
    }
    page.push('\n');
    page
}

/// Reduces values to at most `most`, each the mean of its share.
fn averaged(values: &[f64], most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values.to_vec();
    }
    (0..most)
        .map(|column| {
            let from = column * values.len() / most;
            let to = ((column + 1) * values.len() / most).max(from + 1);
            values[from..to].iter().sum::<f64>() / (to - from) as f64
        })
        .collect()
}

/// Draws percentiles as bars on a logarithmic scale, so that the median is visible next to a tail of
/// a thousand times its length.
fn latency(result: &RunResult, phase: &str, style: &Style) -> String {
    let Some(of_phase) = result.phases.iter().find(|one| one.name == phase) else { return String::new() };
    let mut page = String::new();
    for kind in OpKind::ALL.iter().copied() {
        let values: Vec<(Stat, f64)> = [Stat::P50, Stat::P90, Stat::P99, Stat::P999, Stat::P9999, Stat::Max]
            .into_iter()
            .filter_map(|stat| Some((stat, of_phase.metrics.get(&Metric::latency(kind, stat))?.value?)))
            .filter(|(_, ns)| *ns > 0.0)
            .collect();
        let (Some((_, least)), Some((_, most))) = (values.first(), values.last()) else { continue };
        if values.len() < 2 {
            continue;
        }
        page.push_str(&format!(
            "{}\n",
            style.ink(Ink::Strong, &format!("{phase} {}, time of an op (each bar a logarithm)", kind.name()))
        ));
        // Keep the shortest bar visible.
        let (from, to) = ((least / 2.0).ln(), most.ln());
        let room = style.width.saturating_sub(24).clamp(8, COLUMNS_MAX - 20);
        for (stat, ns) in &values {
            let share = if to > from { (ns.ln() - from) / (to - from) } else { 1.0 };
            let eighths = (share * (room * 8) as f64).round() as usize;
            let bar: String = std::iter::repeat_n('█', eighths / 8).chain(rest_of_bar(eighths % 8)).collect();
            page.push_str(&format!("  {} {bar} {}\n", measure::right(stat.name(), 6), format::time(*ns)));
        }
        page.push('\n');
    }
    page
}

/// Returns the last character of a horizontal bar.
fn rest_of_bar(eighths: usize) -> Option<char> {
    const HORIZONTAL: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    eighths.checked_sub(1).and_then(|index| HORIZONTAL.get(index).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_is_as_high_as_its_highest_value() {
        let page = chart("t", &[0.0, 50e6, 100e6], format::rate_si, &Style { width: 40, ..Style::PLAIN });
        let lines: Vec<&str> = page.lines().collect();
        assert_eq!(lines.len(), 1 + HEIGHT + 1);
        assert_eq!(lines[1], "  100 MB/s ┤  █");
        assert_eq!(lines[HEIGHT], "  0.00 B/s ┤ ██");
    }

    // Protects: an hour of seconds fits without losing a value, and zeros do not panic.
    #[test]
    fn many_values_are_averaged() {
        let values: Vec<f64> = (0..3600).map(f64::from).collect();
        let columns = averaged(&values, 72);
        assert_eq!(columns.len(), 72);
        assert!((columns.iter().sum::<f64>() / 72.0 - 1799.5).abs() < 1e-6);
        assert_eq!(averaged(&[1.0, 2.0], 72), [1.0, 2.0]);
        assert!(chart("t", &[0.0, 0.0], format::per_second, &Style::PLAIN).contains('┤'));
        assert_eq!((rest_of_bar(0), rest_of_bar(4)), (None, Some('▌')));
    }
}
