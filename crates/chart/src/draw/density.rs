//! Draws the frequency of values in columns: each cell by colour on a logarithmic scale, darker for more frequent values.

use super::heat::{scale, step};
use super::{SMALL, bottom_axis};
use crate::Density;
use crate::axis::Ruler;
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::{HEAT_STEPS, Ink};

const HEIGHT: f64 = 220.0;

/// Colour step of the least value, which distinguishes it from an empty place.
const FIRST_STEP: usize = 4;

pub(super) fn draw(drawing: &mut Drawing, density: &Density) {
    let cells = || density.columns.iter().flat_map(|column| &column.cells);
    let counts = cells().map(|cell| cell.value).filter(|value| *value > 0.0 && value.is_finite());
    let ends = counts.fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
    scale(drawing, &density.values_title, density.values, ends, FIRST_STEP);
    let title = font::fitted(&density.y.title, SMALL, drawing.width - 12.0);
    drawing.text((4.0, drawing.y + 13.0), &title, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
    let (top, right) = (drawing.y + 22.0, drawing.width - 14.0);
    let bottom = top + HEIGHT;
    let y = Ruler::new(&density.y, cells().flat_map(|cell| [cell.from, cell.to]), bottom, top);
    let labels = y.ticks(6);
    let left = labels.iter().map(|(_, text)| font::width(text, SMALL)).fold(0.0, f64::max) + 12.0;
    let x = Ruler::new(&density.x, density.columns.iter().flat_map(|column| [column.from, column.to]), left, right);
    drawing.rect([left, top, right - left, HEIGHT], Ink::Heat(0));
    for (at, label) in labels {
        drawing.line([left, at, right, at], Ink::Grid, 1.0);
        drawing.text((left - 6.0, at + 4.0), &label, SMALL, Ink::Faint, Anchor::End, Weight::Plain);
    }
    // A page has thousands of cells. All cells of a colour are one shape, on whole pixels to avoid seams between
    // neighbours, and adjacent cells in a column are joined.
    let mut by_step: Vec<Vec<[f64; 4]>> = vec![Vec::new(); HEAT_STEPS + 1];
    for column in &density.columns {
        let (from, to) = (x.at(column.from).round(), x.at(column.to).round().max(x.at(column.from).round() + 1.0));
        let mut below: Option<usize> = None;
        for cell in column.cells.iter().filter(|cell| cell.value > 0.0) {
            let (low, high) = (y.at(cell.from).round(), y.at(cell.to).round());
            let step = step(cell.value, ends, FIRST_STEP);
            let Some(shapes) = by_step.get_mut(step) else { continue };
            match shapes.last_mut().filter(|shape| below == Some(step) && shape[1] == low) {
                Some(shape) => (shape[1], shape[3]) = (high, shape[3] + low - high),
                None => shapes.push([from, high.min(low - 1.0), to - from, (low - high).max(1.0)]),
            }
            below = Some(step);
        }
    }
    for (step, shapes) in by_step.into_iter().enumerate() {
        drawing.rects(shapes, Ink::Heat(step));
    }
    bottom_axis(drawing, &x, &density.x.title, (bottom, bottom), (left, right));
    for column in &density.columns {
        let (from, to) = (x.at(column.from), x.at(column.to));
        drawing.hover([from, top, to - from, HEIGHT], &column.hover_text);
    }
}
