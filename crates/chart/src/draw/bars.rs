//! Draws values by group: bars or points with intervals, and single runs as small discs.

use super::{SMALL, bottom_axis, legend, names_room, row_name};
use crate::axis::Ruler;
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::Ink;
use crate::{Bar, BarShape, Bars};

const BAR: f64 = 18.0;

pub(super) fn draw(drawing: &mut Drawing, bars: &Bars) {
    let names: Vec<&str> = bars.series.iter().map(String::as_str).collect();
    legend(drawing, &names, |drawing, index, (x, y)| match bars.shape {
        BarShape::Bar => drawing.rect([x + 4.0, y - 5.0, 16.0, 10.0], Ink::Series(index)),
        BarShape::Point => drawing.point((x + 12.0, y), 4.5, Ink::Series(index), index),
    });
    let wide = drawing.width > 500.0;
    let values_room = bars
        .groups
        .iter()
        .flat_map(|group| &group.bars)
        .map(|bar| font::width(&value_text(bars, bar), SMALL))
        .fold(40.0, f64::max)
        .min(drawing.width * 0.3);
    let left = if wide { names_room(drawing, bars.groups.iter().map(|group| group.label.as_str()), 0.3) } else { 6.0 };
    let (left, right) = (left.max(6.0), drawing.width - values_room - 10.0);
    let values = bars.groups.iter().flat_map(|group| &group.bars).flat_map(|bar| {
        let ends = bar.interval.map_or(Vec::new(), |(lo, hi)| vec![lo, hi]);
        bar.value.into_iter().chain(bar.runs.iter().copied()).chain(ends)
    });
    let ruler = Ruler::new(&bars.axis, values, left, right);
    let head = if wide { 0.0 } else { 17.0 };
    let gap = 10.0;
    let height: f64 = bars.groups.iter().map(|group| head + gap + BAR * group.bars.len() as f64).sum();
    let top = drawing.y + 6.0;
    let bottom = top + height.max(BAR);
    bottom_axis(drawing, &ruler, &bars.axis.title, (top, bottom), (left, right));
    let mut y = top;
    for group in &bars.groups {
        y += gap / 2.0;
        if wide {
            let middle = y + BAR * group.bars.len() as f64 / 2.0;
            row_name(drawing, &group.label, (left - 8.0, middle), left - 8.0);
        } else {
            let label = font::fitted(&group.label, SMALL, drawing.width - 12.0);
            drawing.text((6.0, y + 12.0), &label, SMALL, Ink::Strong, Anchor::Start, Weight::Plain);
            y += head;
        }
        for bar in &group.bars {
            let name = bars.series.get(bar.series).map_or("", String::as_str);
            drawing.open(&format!("{} {name}: {}", group.label, hover(bars, bar)).replace(" :", ":"));
            one(drawing, bars, bar, &ruler, y);
            drawing.close();
            let words = font::fitted(&value_text(bars, bar), SMALL, values_room);
            drawing.text((right + 8.0, y + BAR / 2.0 + 4.0), &words, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
            y += BAR;
        }
        y += gap / 2.0;
    }
}

/// Returns the value next to a bar.
fn value_text(bars: &Bars, bar: &Bar) -> String {
    bar.value.map_or(bar.missing.clone(), |value| bars.axis.format.text(value))
}

fn hover(bars: &Bars, bar: &Bar) -> String {
    let format = bars.axis.format;
    let mut text = value_text(bars, bar);
    if let Some((lo, hi)) = bar.interval {
        text.push_str(&format!(", 95 % interval {} – {}", format.text(lo), format.text(hi)));
    }
    if !bar.runs.is_empty() {
        let runs: Vec<String> = bar.runs.iter().take(30).map(|run| format.text(*run)).collect();
        text.push_str(&format!("; runs: {}", runs.join(", ")));
    }
    text
}

fn one(drawing: &mut Drawing, bars: &Bars, bar: &Bar, ruler: &Ruler, y: f64) {
    let middle = y + BAR / 2.0;
    let ink = Ink::Series(bar.series);
    let Some(value) = bar.value else { return };
    let at = ruler.at(value);
    if bars.shape == BarShape::Bar {
        let zero = ruler.at(0.0);
        drawing.rect([zero, y + 2.0, at - zero, BAR - 4.0], ink);
    }
    // Runs below and the interval above, so that neither hides the other.
    for run in &bar.runs {
        let at = (ruler.at(*run), middle + 4.5);
        drawing.point(at, 2.8, Ink::Ground, 0);
        drawing.point(at, 2.0, Ink::Strong, 0);
    }
    let height = if bars.shape == BarShape::Bar { middle - 3.0 } else { middle };
    if let Some((lo, hi)) = bar.interval {
        let (from, to) = (ruler.at(lo), ruler.at(hi));
        // A light edge keeps the interval visible on its bar.
        drawing.line([from, height, to, height], Ink::Ground, 4.0);
        drawing.line([from, height, to, height], Ink::Strong, 1.5);
        for x in [from, to] {
            drawing.line([x, height - 3.5, x, height + 3.5], Ink::Strong, 1.5);
        }
    }
    if bars.shape == BarShape::Point {
        drawing.point((at, middle), 4.5, ink, bar.series);
    }
}
