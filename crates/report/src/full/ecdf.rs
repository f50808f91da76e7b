//! How many runs stay below each value. Two modes, and a tail of slow runs, are seen here, and not in a mean with its interval.

use super::charts::slug;
use plumb_chart::{Axis, Bars, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};

/// Of fewer runs the single dots say more.
pub(super) const RUNS_MIN: usize = 15;

/// Charts of one kind in a report; the sheet of all numbers has the rest.
pub(super) const CHARTS_MAX: usize = 6;

/// Steps of a curve: of more runs, evenly spaced ranks.
const STEPS_MAX: usize = 200;

/// Several samples over one axis; `None` where one of them has too few runs, or there is none.
pub(super) fn ecdf(name: &str, title: &str, axis: &Axis, samples: &[(&str, &[f64])]) -> Option<Chart> {
    if samples.is_empty() || samples.iter().any(|(_, values)| values.len() < RUNS_MIN) {
        return None;
    }
    let said = |(name, values): &(&str, &[f64])| {
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
        says: "How many of the runs stay below each value: steep where runs agree, a second rise where there are two modes.".to_owned(),
        alt: format!("{title}. {}.", samples.iter().map(said).collect::<Vec<_>>().join("; ")),
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

/// One for each group of a chart of bars whose bars all have enough runs.
pub(super) fn of_bars(chart: &Chart, bars: &Bars) -> Vec<Chart> {
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

    // Protects: the curve begins at none and ends at all, whatever is left out between; few runs have no curve.
    #[test]
    fn the_curve_goes_from_none_to_all() {
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
