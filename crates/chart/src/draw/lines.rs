//! Draws curves: panels above one another over one x axis, with named places through all of them.

use super::{SMALL, bottom_axis, legend};
use crate::axis::Ruler;
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::Ink;
use crate::{Lines, Panel, Point, Series, SeriesShape};

/// A curve with more points than this has no signs on them.
const SIGNED_POINTS: usize = 40;

pub(super) fn draw(drawing: &mut Drawing, lines: &Lines) {
    let mut names: Vec<&str> = Vec::new();
    for series in lines.panels.iter().flat_map(|panel| &panel.series) {
        if !names.contains(&series.name.as_str()) {
            names.push(&series.name);
        }
    }
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0);
    let is_line = |name: &str| {
        let mut all = lines.panels.iter().flat_map(|panel| &panel.series);
        all.any(|series| series.name == name && series.shape != SeriesShape::Points)
    };
    legend(drawing, &names, |drawing, index, (x, y)| {
        if is_line(names[index]) {
            drawing.path(&[(x, y), (x + 22.0, y)], Ink::Series(index), 2.0, index);
        }
        drawing.point((x + 11.0, y), 3.5, Ink::Series(index), index);
    });
    let places = named_places(drawing, lines);
    let right = drawing.width - 14.0;
    let labels = lines.panels.iter().flat_map(|panel| y_ruler(panel, 0.0, panel.height).ticks(ticks_max(panel)));
    let widest = labels.map(|(_, text)| font::width(&text, SMALL)).fold(0.0, f64::max);
    let left = widest + 12.0;
    let xs = lines.panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points).map(|point| point.x);
    let x = match lines.x_names.as_slice() {
        [] => Ruler::new(&lines.x, xs.chain(lines.marks.iter().map(|mark| mark.at)), left, right),
        names => Ruler::of_names(names, left, right),
    };
    let first_top = drawing.y;
    for (number, panel) in lines.panels.iter().enumerate() {
        let title = font::fitted(&panel.y.title, SMALL, drawing.width - 12.0);
        drawing.text((4.0, drawing.y + 13.0), &title, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
        let top = drawing.y + 22.0;
        let bottom = top + panel.height;
        let y = y_ruler(panel, bottom, top);
        for (at, label) in y.ticks(ticks_max(panel)) {
            drawing.line([left, at, right, at], Ink::Grid, 1.0);
            drawing.text((left - 6.0, at + 4.0), &label, SMALL, Ink::Faint, Anchor::End, Weight::Plain);
        }
        let is_last = number + 1 == lines.panels.len();
        if is_last {
            bottom_axis(drawing, &x, &lines.x.title, (top, bottom), (left, right));
        } else {
            drawing.y = bottom + 6.0;
        }
        for series in &panel.series {
            curve(drawing, lines, panel, series, place(&series.name), (&x, &y));
        }
        for at in &places {
            let at = x.at(*at);
            drawing.line(
                [at, if number == 0 { first_top } else { top }, at, bottom],
                Ink::Mark(crate::Mark::Worse),
                1.0,
            );
        }
        if number == 0 {
            signs(drawing, lines, &x, (top, right));
        }
    }
    notes(drawing, lines);
}

/// Returns the largest number of labels that fit above one another.
fn ticks_max(panel: &Panel) -> usize {
    ((panel.height / 16.0) as usize).clamp(2, 6)
}

fn y_ruler(panel: &Panel, bottom: f64, top: f64) -> Ruler {
    let values = panel.series.iter().flat_map(|series| &series.points).flat_map(|point| {
        let (lo, hi) = point.interval.unzip();
        [point.y, lo, hi].into_iter().flatten()
    });
    Ruler::new(&panel.y, values, bottom, top)
}

/// Draws named places, one line for each position.
fn named_places(drawing: &mut Drawing, lines: &Lines) -> Vec<f64> {
    let mut places: Vec<f64> = lines.marks.iter().map(|mark| mark.at).collect();
    places.dedup();
    if !places.is_empty() {
        drawing.y += 4.0;
    }
    places
}

/// Draws the letters of named places next to their lines, each moved down if it would cover another.
fn signs(drawing: &mut Drawing, lines: &Lines, x: &Ruler, (top, right): (f64, f64)) {
    let mut ends: Vec<f64> = Vec::new();
    for mark in lines.marks.iter().filter(|mark| !mark.sign.is_empty()) {
        let wide = font::width(&mark.sign, SMALL) + 6.0;
        let from = (x.at(mark.at) + 2.0).min(right - wide);
        let row = ends.iter().position(|end| *end <= from).unwrap_or(ends.len());
        match ends.get_mut(row) {
            Some(end) => *end = from + wide,
            None => ends.push(from + wide),
        }
        let y = top + 12.0 + 14.0 * row as f64;
        drawing.rect([from, y - 11.0, wide, 14.0], Ink::Ground);
        drawing.text((from + 3.0, y), &mark.sign, SMALL, Ink::Mark(crate::Mark::Worse), Anchor::Start, Weight::Bold);
    }
}

/// Formats a position on x.
fn x_text(lines: &Lines, x: f64) -> String {
    lines.x_names.get(x.round().max(0.0) as usize).cloned().unwrap_or_else(|| lines.x.format.text(x))
}

/// Explains the named places below the axis, where there is room.
fn notes(drawing: &mut Drawing, lines: &Lines) {
    for mark in &lines.marks {
        let text = format!("At {}: {}", x_text(lines, mark.at), mark.label);
        drawing.paragraph(&text, SMALL, Ink::Faint, Weight::Plain);
    }
    if !lines.marks.is_empty() {
        drawing.y += 8.0;
    }
}

fn curve(drawing: &mut Drawing, lines: &Lines, panel: &Panel, series: &Series, place: usize, (x, y): (&Ruler, &Ruler)) {
    let ink = Ink::Series(place);
    // Draw each stretch without a gap as a separate line.
    let mut stretches: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for point in &series.points {
        match (point.y, stretches.last_mut()) {
            (Some(value), Some(stretch)) => {
                let at = (x.at(point.x), y.at(value));
                if series.shape == SeriesShape::Steps
                    && let Some((_, before)) = stretch.last().copied()
                {
                    stretch.push((at.0, before));
                }
                stretch.push(at);
            }
            (None, Some(stretch)) if !stretch.is_empty() => stretches.push(Vec::new()),
            _ => {}
        }
    }
    if series.shape != SeriesShape::Points {
        stretches.iter().filter(|stretch| stretch.len() > 1).for_each(|stretch| drawing.path(stretch, ink, 2.0, place));
    }
    let has_signs = series.points.len() <= SIGNED_POINTS || series.shape == SeriesShape::Points;
    for (index, point) in series.points.iter().enumerate() {
        let Some(value) = point.y else { continue };
        let at = (x.at(point.x), y.at(value));
        let is_alone = |other: Option<&Point>| other.is_none_or(|other| other.y.is_none());
        let alone = is_alone(index.checked_sub(1).and_then(|index| series.points.get(index)))
            && is_alone(series.points.get(index + 1));
        if !has_signs && !alone {
            continue;
        }
        let mut text = format!("{} {}: {}", series.name, x_text(lines, point.x), panel.y.format.text(value));
        if let Some((lo, hi)) = point.interval {
            text.push_str(&format!(", 95 % interval {} – {}", panel.y.format.text(lo), panel.y.format.text(hi)));
        }
        drawing.open(text.trim_start());
        if let Some((lo, hi)) = point.interval {
            drawing.line([at.0, y.at(lo), at.0, y.at(hi)], ink, 1.0);
            for end in [lo, hi] {
                drawing.line([at.0 - 3.0, y.at(end), at.0 + 3.0, y.at(end)], ink, 1.0);
            }
        }
        drawing.point(at, if series.points.len() > 200 { 1.6 } else { 3.2 }, ink, place);
        drawing.close();
    }
}
