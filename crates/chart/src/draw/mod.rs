//! Draws each kind of chart from its description into a [`Drawing`], downwards from its y.

mod bars;
mod density;
mod forest;
mod heat;
mod lines;

use crate::axis::Ruler;
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::Ink;
use crate::{Body, Chart};

/// Font size of normal text, px.
pub(crate) const LETTERS: f64 = 12.0;
/// Font size of less important text, px.
pub(crate) const SMALL: f64 = 11.0;

/// Draws the title and the explanation of a chart that is a separate file.
pub(crate) fn head(drawing: &mut Drawing, chart: &Chart) {
    drawing.y += 4.0;
    drawing.paragraph(&chart.title, 16.0, Ink::Strong, Weight::Bold);
    drawing.y += 2.0;
    drawing.paragraph(&chart.caption, SMALL, Ink::Faint, Weight::Plain);
    drawing.y += 8.0;
}

pub(crate) fn body(drawing: &mut Drawing, body: &Body) {
    match body {
        Body::Forest(forest) => forest::draw(drawing, forest),
        Body::Bars(bars) => bars::draw(drawing, bars),
        Body::Lines(lines) => lines::draw(drawing, lines),
        Body::Heat(heat) => heat::draw(drawing, heat),
        Body::Density(density) => density::draw(drawing, density),
    }
}

/// Returns the room for names at the left: as much as they need, up to a share of the width.
fn names_room<'a>(drawing: &Drawing, names: impl Iterator<Item = &'a str>, share: f64) -> f64 {
    let needed = names.map(|name| font::width(name, LETTERS)).fold(0.0, f64::max) + 10.0;
    needed.min(drawing.width * share)
}

/// Draws the name of a row, which ends at `right`, in two smaller lines if one has no room for it.
fn row_name(drawing: &mut Drawing, name: &str, (right, middle): (f64, f64), room: f64) {
    let mut line = |text: &str, y: f64, size: f64| {
        let text = font::fitted(text, size, room);
        drawing.text((right, y), &text, size, Ink::Strong, Anchor::End, Weight::Plain);
    };
    if font::width(name, LETTERS) <= room {
        return line(name, middle + 4.0, LETTERS);
    }
    let lines = font::wrapped(name, SMALL, room);
    match lines.split_first() {
        Some((first, rest)) if !rest.is_empty() => {
            line(first, middle - 2.5, SMALL);
            line(&rest.join(" "), middle + 9.5, SMALL);
        }
        _ => line(name, middle + 4.0, SMALL),
    }
}

/// Draws the names of series with their signs, in as many lines as needed.
fn legend(drawing: &mut Drawing, names: &[&str], mut sign: impl FnMut(&mut Drawing, usize, (f64, f64))) {
    if names.len() < 2 {
        return;
    }
    const SIGN: f64 = 26.0;
    let mut x = 4.0;
    drawing.y += 16.0;
    for (index, name) in names.iter().enumerate() {
        let name = font::fitted(name, SMALL, drawing.width - SIGN - 12.0);
        let wide = SIGN + font::width(&name, SMALL) + 16.0;
        if x + wide > drawing.width && x > 4.0 {
            x = 4.0;
            drawing.y += 16.0;
        }
        let y = drawing.y;
        sign(drawing, index, (x, y - 4.0));
        drawing.text((x + SIGN, y), &name, SMALL, Ink::Strong, Anchor::Start, Weight::Plain);
        x += wide;
    }
    drawing.y += 8.0;
}

/// Draws grid lines from `top` to `bottom` with as many labels below as fit, and the title of the axis. Moves
/// the drawing's y below them.
fn bottom_axis(
    drawing: &mut Drawing,
    ruler: &Ruler,
    title: &str,
    (top, bottom): (f64, f64),
    (left, right): (f64, f64),
) {
    let widest = |ticks: &[(f64, String)]| ticks.iter().map(|(_, text)| font::width(text, SMALL)).fold(1.0, f64::max);
    let mut most = 12;
    let mut ticks = ruler.ticks(most);
    while most > 2 && ticks.len() as f64 * (widest(&ticks) + 10.0) > right - left {
        most -= 1;
        ticks = ruler.ticks(most);
    }
    let mut free_from = f64::MIN;
    for (x, label) in &ticks {
        drawing.line([*x, top, *x, bottom], Ink::Grid, 1.0);
        let half = font::width(label, SMALL) / 2.0;
        // Keep the outermost labels within the drawing.
        let at = x.clamp(half, (drawing.width - half).max(half));
        if at - half > free_from {
            drawing.text((at, bottom + 15.0), label, SMALL, Ink::Faint, Anchor::Middle, Weight::Plain);
            free_from = at + half + 4.0;
        }
    }
    drawing.y = bottom + 19.0;
    if !title.is_empty() {
        for line in font::wrapped(title, SMALL, right - left) {
            drawing.y += SMALL * 1.25;
            let y = drawing.y;
            drawing.text(((left + right) / 2.0, y), &line, SMALL, Ink::Faint, Anchor::Middle, Weight::Plain);
        }
    }
    drawing.y += 8.0;
}
