//! How much of each pixel a shape covers: loops of straight lines, filled or as strokes along them.

use ab_glyph_rasterizer::{Rasterizer, point};

/// A place in pixels.
pub(crate) type At = [f32; 2];

/// Lines from place to place.
pub(crate) type Points = Vec<At>;

/// Part of each pixel in a rectangle that a shape covers, row by row.
pub(crate) struct Cover {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) width: usize,
    pub(crate) parts: Vec<f32>,
}

impl Cover {
    /// Nothing, where these places and what is near them lie.
    fn around<'a>(places: impl Iterator<Item = &'a At>, near: f32) -> Cover {
        let mut bounds = [f32::MAX, f32::MAX, f32::MIN, f32::MIN];
        for [x, y] in places {
            bounds = [bounds[0].min(*x), bounds[1].min(*y), bounds[2].max(*x), bounds[3].max(*y)];
        }
        let [left, top] = [bounds[0], bounds[1]].map(|low| (low - near).floor() as i32);
        let [right, bottom] = [bounds[2], bounds[3]].map(|high| (high + near).ceil() as i32);
        let width = right.saturating_sub(left).max(0) as usize;
        let height = bottom.saturating_sub(top).max(0) as usize;
        Cover { left, top, width, parts: vec![0.0; width * height] }
    }

    /// What these loops enclose together. One inside another that goes round the other way is a hole.
    pub(crate) fn of_loops(loops: &[Points]) -> Cover {
        let mut cover = Cover::around(loops.iter().flatten(), 0.0);
        cover.add(loops);
        cover
    }

    /// A line of this thickness through the points, with round corners and flat ends. Dashes are lengths of lines and gaps in
    /// turn; none: it is whole.
    pub(crate) fn of_stroke(lines: &[Points], thick: f32, dashes: &[f32]) -> Cover {
        let near = thick / 2.0;
        let mut cover = Cover::around(lines.iter().flatten(), near);
        for line in lines {
            for piece in dashed(line, dashes) {
                piece.windows(2).for_each(|ends| cover.add(&[along(ends[0], ends[1], near)]));
                for corner in piece.iter().skip(1).take(piece.len().saturating_sub(2)) {
                    cover.add(&[disc(*corner, near)]);
                }
            }
        }
        cover
    }

    /// Where pieces overlap, the one that covers more counts.
    fn add(&mut self, loops: &[Points]) {
        let piece = Cover::around(loops.iter().flatten(), 0.0);
        if piece.parts.is_empty() || self.width == 0 {
            return;
        }
        let mut raster = Rasterizer::new(piece.width, piece.parts.len() / piece.width);
        let inside = |[x, y]: At| point(x - piece.left as f32, y - piece.top as f32);
        for places in loops {
            for (from, to) in places.iter().zip(places.iter().cycle().skip(1)) {
                raster.draw_line(inside(*from), inside(*to));
            }
        }
        let first = (piece.top - self.top) as usize * self.width + (piece.left - self.left) as usize;
        raster.for_each_pixel(|number, part| {
            let at = first + number / piece.width * self.width + number % piece.width;
            if let Some(known) = self.parts.get_mut(at) {
                *known = known.max(part.min(1.0));
            }
        });
    }
}

/// A circle, as a loop.
pub(crate) fn disc([x, y]: At, radius: f32) -> Points {
    let corners = (radius * 8.0).clamp(12.0, 64.0) as usize;
    let angle = |corner: usize| corner as f32 / corners as f32 * std::f32::consts::TAU;
    (0..corners).map(|corner| [x + radius * angle(corner).cos(), y + radius * angle(corner).sin()]).collect()
}

/// The rectangle along a line.
fn along([x1, y1]: At, [x2, y2]: At, near: f32) -> Points {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let length = dx.hypot(dy);
    if length == 0.0 {
        return Points::new();
    }
    let (nx, ny) = (dy / length * near, -dx / length * near);
    vec![[x1 + nx, y1 + ny], [x2 + nx, y2 + ny], [x2 - nx, y2 - ny], [x1 - nx, y1 - ny]]
}

/// The pieces of a line that its dashes leave.
fn dashed(line: &[At], dashes: &[f32]) -> Vec<Points> {
    let total: f32 = dashes.iter().sum();
    if !total.is_finite() || total <= 0.0 || dashes.iter().any(|long| *long <= 0.0) {
        return vec![line.to_vec()];
    }
    let mut pieces = Vec::new();
    let mut lengths = dashes.iter().copied().cycle().enumerate();
    let (mut number, mut left) = lengths.next().unwrap_or_default();
    let mut piece: Points = line.first().copied().into_iter().collect();
    for ends in line.windows(2) {
        let ([x1, y1], [x2, y2]) = (ends[0], ends[1]);
        let length = (x2 - x1).hypot(y2 - y1);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let part = done / length;
            let at = [x1 + (x2 - x1) * part, y1 + (y2 - y1) * part];
            if number % 2 == 0 {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece = vec![at];
            }
            (number, left) = lengths.next().unwrap_or_default();
        }
        left -= length - done;
        if number % 2 == 0 {
            piece.push([x2, y2]);
        }
    }
    if number % 2 == 0 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(cover: &Cover) -> f32 {
        cover.parts.iter().sum()
    }

    /// A square with a square hole, whichever way they go round together.
    #[test]
    fn a_loop_the_other_way_round_is_a_hole() {
        let square = |low: f32, high: f32| vec![[low, low], [high, low], [high, high], [low, high]];
        let mut hole = square(2.25, 7.75);
        hole.reverse();
        assert_eq!(area(&Cover::of_loops(&[square(0.5, 9.5)])), 81.0);
        assert_eq!(area(&Cover::of_loops(&[square(0.5, 9.5), hole])), 81.0 - 5.5 * 5.5);
    }

    #[test]
    fn a_stroke_is_as_thick_as_asked() {
        assert_eq!(area(&Cover::of_stroke(&[vec![[1.0, 5.0], [21.0, 5.0]]], 3.0, &[])), 60.0);
        // Round corners add the quarter of a disc that neither line covers.
        let corner = Cover::of_stroke(&[vec![[2.0, 2.0], [12.0, 2.0], [12.0, 12.0]]], 4.0, &[]);
        assert!((area(&corner) - (80.0 - 4.0 + std::f32::consts::PI)).abs() < 0.5, "{}", area(&corner));
    }

    /// Three of seven and a half: a line, a gap and so on, around a corner as well.
    #[test]
    fn dashes_go_on_around_corners() {
        let pieces = dashed(&[[0.0, 0.0], [5.0, 0.0], [5.0, 5.0]], &[3.0, 1.0]);
        assert_eq!(
            pieces,
            [vec![[0.0, 0.0], [3.0, 0.0]], vec![[4.0, 0.0], [5.0, 0.0], [5.0, 2.0]], vec![[5.0, 3.0], [5.0, 5.0]]]
        );
        assert_eq!(dashed(&[[0.0, 0.0], [5.0, 0.0]], &[]), [vec![[0.0, 0.0], [5.0, 0.0]]]);
    }
}
