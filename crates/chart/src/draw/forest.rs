//! Draws ratios: a sign and an interval in each row, on top of the band of equivalence.

use super::{SMALL, bottom_axis, names_room, row_name};
use crate::axis::{Axis, Format, Ruler, Scale};
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::Ink;
use crate::{Forest, ForestRow, Mark};

const ROW: f64 = 26.0;
/// Intervals are cut at this factor beyond the smallest or largest ratio, because a single wide interval would leave
/// no room for the others.
const BEYOND: f64 = 4.0;

pub(super) fn draw(drawing: &mut Drawing, forest: &Forest) {
    let wide = drawing.width > 500.0;
    let words_room =
        if wide { names_room(drawing, forest.rows.iter().map(|row| row.words.as_str()), 0.34) } else { 4.0 };
    let left = if wide { names_room(drawing, forest.rows.iter().map(|row| row.label.as_str()), 0.32) } else { 8.0 };
    let (left, right) = (left.max(20.0), drawing.width - words_room - 8.0);
    let line_room = drawing.width - 12.0;
    // On a telephone, the words are above the sign, and below the label if one line cannot hold both.
    let is_long = |row: &ForestRow| font::width(&row_text(row), SMALL) > line_room;
    let two_lines = forest.rows.iter().any(is_long);
    let row_height = match (wide, two_lines) {
        (true, _) => ROW,
        (false, false) => ROW + 18.0,
        (false, true) => ROW + 32.0,
    };
    let ratios = forest.rows.iter().filter_map(|row| row.value).filter(|ratio| *ratio > 0.0 && ratio.is_finite());
    let (least, most) = ratios.fold((1.0, 1.0), |(lo, hi): (f64, f64), ratio| (lo.min(ratio), hi.max(ratio)));
    let ends = (least / BEYOND, most * BEYOND);
    let values = forest.rows.iter().flat_map(|row| {
        let (lo, hi) = row.interval.unwrap_or((1.0, 1.0));
        [row.value.unwrap_or(1.0), lo, hi].map(|value| value.clamp(ends.0, ends.1))
    });
    let band = forest.band.map_or([1.0, 1.0], |(lo, hi)| [lo, hi]);
    let axis = Axis { title: String::new(), format: Format::Ratio, scale: Scale::Log };
    let ruler = Ruler::new(&axis, values.chain(band), left, right);
    let top = drawing.y + 6.0;
    let bottom = top + row_height * forest.rows.len().max(1) as f64;
    if let Some((lo, hi)) = forest.band {
        drawing.open("equal for practical purposes");
        drawing.rect([ruler.at(lo), top, ruler.at(hi) - ruler.at(lo), bottom - top], Ink::Band);
        drawing.close();
    }
    bottom_axis(drawing, &ruler, &forest.axis_title, (top, bottom), (left, right));
    drawing.line([ruler.at(1.0), top, ruler.at(1.0), bottom], Ink::Strong, 1.0);
    for (index, row) in forest.rows.iter().enumerate() {
        let line = top + row_height * index as f64;
        let y = line + row_height - ROW / 2.0;
        if wide {
            row_name(drawing, &row.label, (left - 8.0, y), left - 8.0);
            let words = font::fitted(&row.words, SMALL, words_room);
            drawing.text((right + 8.0, y + 4.0), &words, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
        } else {
            let (first, second) = if two_lines { (row.label.clone(), row.words.as_str()) } else { (row_text(row), "") };
            let first = font::fitted(&first, SMALL, line_room);
            drawing.text((6.0, line + 15.0), &first, SMALL, Ink::Strong, Anchor::Start, Weight::Plain);
            let second = font::fitted(second, SMALL, line_room);
            drawing.text((6.0, line + 29.0), &second, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
        }
        drawing.open(&row_text(row));
        sign(drawing, &ruler, row, ends, y);
        drawing.close();
    }
}

fn row_text(row: &ForestRow) -> String {
    format!("{}: {}", row.label, row.words)
}

fn sign(drawing: &mut Drawing, ruler: &Ruler, row: &ForestRow, ends: (f64, f64), y: f64) {
    let ink = Ink::Mark(row.mark);
    if let Some((lo, hi)) = row.interval {
        let (from, to) = (ruler.at(lo.max(ends.0)), ruler.at(hi.min(ends.1)));
        drawing.line([from, y, to, y], ink, 2.0);
        for (x, cut) in [(from, lo < ends.0), (to, hi > ends.1)] {
            let by = if x == from { 5.0 } else { -5.0 };
            match cut {
                true => drawing.polygon(&[(x, y), (x + by, y - 4.0), (x + by, y + 4.0)], ink),
                false => drawing.line([x, y - 4.0, x, y + 4.0], ink, 2.0),
            }
        }
    }
    let Some(value) = row.value else { return };
    let at = (ruler.at(value.clamp(ends.0, ends.1)), y);
    let shape = match row.mark {
        Mark::Better => 0,
        Mark::Worse => 3,
        Mark::Equal => 1,
        Mark::Open => 2,
        Mark::Unjudged => 4,
    };
    drawing.point(at, 4.5, ink, shape);
}
