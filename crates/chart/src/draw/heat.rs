//! Draws a value for each pair by colour on a logarithmic scale; darker is more.

use super::{LETTERS, SMALL, names_room};
use crate::drawing::{Anchor, Drawing, Weight};
use crate::font;
use crate::skin::{HEAT_STEPS, Ink};
use crate::{Format, Heat};

pub(super) fn draw(drawing: &mut Drawing, heat: &Heat) {
    let values = heat.cells.iter().flatten().flatten().copied().filter(|value| *value > 0.0 && value.is_finite());
    let (lo, hi) = values.fold((f64::MAX, f64::MIN), |(lo, hi), x| (lo.min(x), hi.max(x)));
    let step = |value: f64| step(value, (lo, hi), 0);
    scale(drawing, &heat.values_title, heat.values, (lo, hi), 0);
    let left = names_room(drawing, heat.y.iter().map(String::as_str), 0.3).max(24.0);
    let right = drawing.width - 6.0;
    let (columns, rows) = (heat.x.len().max(1), heat.y.len().max(1));
    let wide = (right - left) / columns as f64;
    let high = if rows > 30 { (300.0 / rows as f64).max(3.0) } else { 20.0 };
    let title = font::fitted(&heat.y_title, SMALL, drawing.width - 10.0);
    drawing.text((4.0, drawing.y + 12.0), &title, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
    let top = drawing.y + 18.0;
    for (row, cells) in heat.cells.iter().enumerate() {
        let y = top + high * row as f64;
        for (column, value) in cells.iter().enumerate() {
            let Some(value) = value else { continue };
            let x = left + wide * column as f64;
            let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_default();
            let text = heat.values.text(*value);
            drawing.open(&format!(
                "{} {}, {} {}: {text}",
                heat.x_title,
                name(&heat.x, column),
                heat.y_title,
                name(&heat.y, row)
            ));
            let ink = Ink::Heat(step(*value));
            // Slightly larger than its cell, to avoid seams between neighbours.
            drawing.rect([x, y, wide + 0.3, high + 0.3], ink);
            if heat.print_values && high >= 16.0 && font::width(&text, 10.0) < wide - 3.0 {
                let at = (x + wide / 2.0, y + high / 2.0 + 3.5);
                drawing.text(at, &text, 10.0, Ink::OnHeat(step(*value)), Anchor::Middle, Weight::Plain);
            }
            drawing.close();
        }
    }
    let every = (14.0 / high).ceil().max(1.0) as usize;
    for (row, name) in heat.y.iter().enumerate().step_by(every) {
        let y = top + high * (row as f64 + 0.5) + 4.0;
        let name = font::fitted(name, SMALL, left - 8.0);
        drawing.text((left - 6.0, y), &name, SMALL, Ink::Strong, Anchor::End, Weight::Plain);
    }
    let bottom = top + high * rows as f64;
    for (behind, name) in &heat.edges {
        let y = top + high * *behind as f64;
        drawing.line([left, y, right, y], Ink::Mark(crate::Mark::Worse), 2.0);
        let wide = font::width(name, SMALL) + 8.0;
        drawing.rect([right - wide - 2.0, y - 16.0, wide, 15.0], Ink::Ground);
        drawing.text((right - 6.0, y - 4.0), name, SMALL, Ink::Mark(crate::Mark::Worse), Anchor::End, Weight::Bold);
    }
    let widest = heat.x.iter().map(|name| font::width(name, SMALL)).fold(1.0, f64::max) + 8.0;
    let every = (widest / wide).ceil().max(1.0) as usize;
    for (column, name) in heat.x.iter().enumerate().step_by(every) {
        let half = font::width(name, SMALL) / 2.0;
        let x = (left + wide * (column as f64 + 0.5)).clamp(half, drawing.width - half);
        drawing.text((x, bottom + 15.0), name, SMALL, Ink::Strong, Anchor::Middle, Weight::Plain);
    }
    drawing.text(
        ((left + right) / 2.0, bottom + 32.0),
        &heat.x_title,
        SMALL,
        Ink::Faint,
        Anchor::Middle,
        Weight::Plain,
    );
    drawing.y = bottom + 42.0;
}

/// Returns the colour step of a value; the least value has the step `first`.
pub(super) fn step(value: f64, (lo, hi): (f64, f64), first: usize) -> usize {
    let steps = (HEAT_STEPS - first) as f64;
    match hi > lo {
        _ if value <= 0.0 => first,
        true => first + ((value / lo).ln() / (hi / lo).ln() * steps).round().clamp(0.0, steps) as usize,
        false => HEAT_STEPS / 2,
    }
}

/// Draws the legend of the colours, from the step of the least value.
pub(super) fn scale(drawing: &mut Drawing, title: &str, format: Format, (lo, hi): (f64, f64), first: usize) {
    drawing.y += 18.0;
    let y = drawing.y;
    let title = font::fitted(title, SMALL, drawing.width * 0.45);
    drawing.text((4.0, y), &title, SMALL, Ink::Faint, Anchor::Start, Weight::Plain);
    if lo > hi {
        drawing.y += 6.0;
        return;
    }
    let mut x = font::width(&title, SMALL) + 14.0;
    let low = format.text(lo);
    drawing.text((x, y), &low, SMALL, Ink::Strong, Anchor::Start, Weight::Plain);
    x += font::width(&low, SMALL) + 6.0;
    let room = (drawing.width * 0.2).min(140.0);
    for (place, step) in (first..=HEAT_STEPS).enumerate() {
        let wide = room / (HEAT_STEPS + 1 - first) as f64;
        drawing.rect([x + wide * place as f64, y - LETTERS + 2.0, wide + 0.3, LETTERS], Ink::Heat(step));
    }
    drawing.text((x + room + 6.0, y), &format.text(hi), SMALL, Ink::Strong, Anchor::Start, Weight::Plain);
    drawing.y += 8.0;
}
