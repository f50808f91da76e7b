//! Cumulative distributions over runs. They show two modes and a tail of slow runs, which a mean with its interval hides.

use super::charts::slug;
use plumb_chart::{Axis, Bars, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};

/// Smallest number of runs for a curve; the dots of fewer runs are more informative.
pub(super) const RUNS_MIN: usize = 15;

/// Largest number of such charts in a report; the sheet of all numbers has the rest.
pub(super) const CHARTS_MAX: usize = 6;

/// Largest number of steps in a curve; for more runs, evenly spaced ranks are drawn.
const STEPS_MAX: usize = 200;

/// Draws several samples over one axis; `None` if there is none, or one of them has too few runs.
pub(super) fn ecdf(name: &str, title: &str, axis: &Axis, samples: &[(&str, &[f64])]) -> Option<Chart> {
    if samples.is_empty() || samples.iter().any(|(_, values)| values.len() < RUNS_MIN) {
        return None;
    }
    let describe = |(name, values): &(&str, &[f64])| {
        let sorted = sorted(values);
        let at = |share: f64| axis.format.text(sorted[((sorted.len() - 1) as f64 * share).round() as usize]);
        format!(
            "{name}: {} runs, a tenth below {}, half below {}, nine tenths below {}",
            sorted.len(),
            at(0.1),
            at(0.5),
            at(0.9)
        )
    };
    let series = |(name, values): &(&str, &[f64])| Series {
        name: (*name).to_owned(),
        shape: SeriesShape::Steps,
        points: steps(&sorted(values)),
    };
    Some(Chart {
        name: format!("runs-{}", slug(name)),
        title: title.to_owned(),
        caption: "Share of runs below each value: steep where runs agree, with a second rise if there are two modes."
            .to_owned(),
        alt: format!("{title}. {}.", samples.iter().map(describe).collect::<Vec<_>>().join("; ")),
        body: Body::Lines(Lines {
            x: Axis { scale: Scale::Linear, ..axis.clone() },
            x_names: Vec::new(),
            panels: vec![Panel {
                y: Axis { title: "Share of runs".to_owned(), format: Format::Share, scale: Scale::FromZero },
                height: 150.0,
                series: samples.iter().map(series).collect(),
            }],
            marks: Vec::new(),
        }),
    })
}

/// Draws one chart for each group of a bar chart in which all bars have enough runs.
pub(super) fn draw_bars(chart: &Chart, bars: &Bars) -> Vec<Chart> {
    let of_group = |group: &plumb_chart::BarGroup| {
        let with_runs = group.bars.iter().filter(|bar| !bar.runs.is_empty());
        let samples: Vec<(&str, &[f64])> = with_runs
            .map(|bar| (bars.series.get(bar.series).map_or("", String::as_str), bar.runs.as_slice()))
            .collect();
        let title =
            if bars.groups.len() == 1 { chart.title.clone() } else { format!("{} {}", group.label, chart.title) };
        ecdf(&title, &format!("{title}: all runs"), &bars.axis, &samples)
    };
    bars.groups.iter().filter_map(of_group).take(CHARTS_MAX).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

fn steps(sorted: &[f64]) -> Vec<Point> {
    let count = sorted.len();
    let shown = count.min(STEPS_MAX);
    let step = |place: usize| {
        let rank = place * (count - 1) / (shown - 1).max(1);
        Point { x: sorted[rank], y: Some((rank + 1) as f64 / count as f64), interval: None }
    };
    let first = sorted.first().map(|least| Point { x: *least, y: Some(0.0), interval: None });
    first.into_iter().chain((0..shown).map(step)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis() -> Axis {
        Axis { title: "t".to_owned(), format: Format::Count, scale: Scale::FromZero }
    }

    // Protects: the curve goes from 0 to 1 even if steps are left out, and a few runs have no curve.
    #[test]
    fn the_curve_goes_from_0_to_1() {
        let many: Vec<f64> = (0..10_000).rev().map(f64::from).collect();
        let points = steps(&sorted(&many));
        assert_eq!(points.len(), STEPS_MAX + 1);
        assert_eq!((points[0].x, points[0].y), (0.0, Some(0.0)));
        assert_eq!(points.last().map(|last| (last.x, last.y)), Some((9_999.0, Some(1.0))));
        assert!(points.windows(2).all(|pair| pair[0].x <= pair[1].x && pair[0].y < pair[1].y));
        assert!(ecdf("n", "t", &axis(), &[("a", &many[..15]), ("b", &many[..14])]).is_none());
        let chart = ecdf("n", "t", &axis(), &[("a", &many[..15])]).unwrap();
        assert!(chart.alt.contains("a: 15 runs") && chart.alt.contains("half below 9.99 k"), "{}", chart.alt);
    }
}
