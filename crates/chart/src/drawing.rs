//! Drawings as data: shapes in order, in px. A drawing grows downwards, and its height is known at the end.
//! [`crate::svg`] prints it, `crate::picture` paints it.

use crate::font;
use crate::skin::Ink;

/// Side of a text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Plain,
    Bold,
}

/// A line of text, its base line at `y`.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) text: String,
    pub(crate) size: f64,
    pub(crate) ink: Ink,
    pub(crate) anchor: Anchor,
    pub(crate) weight: Weight,
}

/// A rectangle: x, y, width, height.
pub(crate) type Rect = [f64; 4];

/// One mark on the ground.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Shapes until the matching [`Shape::Close`] show this text under the pointer.
    Open(String),
    Close,
    Rect(Rect, Ink),
    /// Many rectangles of one colour.
    Rects(Vec<Rect>, Ink),
    /// An invisible area that shows a text under the pointer.
    Hover(Rect, String),
    /// A line from one point to another.
    Line {
        ends: Rect,
        ink: Ink,
        thick: f64,
    },
    /// A line through all points, with the dashes of its series.
    Path {
        points: Vec<(f64, f64)>,
        ink: Ink,
        thick: f64,
        series: usize,
    },
    Polygon(Vec<(f64, f64)>, Ink),
    Disc {
        x: f64,
        y: f64,
        radius: f64,
        ink: Ink,
    },
    Text(Text),
}
pub(crate) struct Drawing {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) width: f64,
    /// Vertical position of the next element, px from the top.
    pub(crate) y: f64,
}

impl Drawing {
    pub(crate) fn new(width: f64) -> Drawing {
        Drawing { shapes: Vec::new(), width, y: 0.0 }
    }

    /// Returns the height in whole px.
    pub(crate) fn height(&self) -> f64 {
        self.y.ceil()
    }

    /// Shows `text` under the pointer for all shapes until the matching [`Drawing::close`].
    pub(crate) fn open(&mut self, text: &str) {
        self.shapes.push(Shape::Open(text.to_owned()));
    }

    pub(crate) fn close(&mut self) {
        self.shapes.push(Shape::Close);
    }

    pub(crate) fn rect(&mut self, [x, y, width, height]: Rect, ink: Ink) {
        self.shapes.push(Shape::Rect([x, y, width.max(0.0), height.max(0.0)], ink));
    }

    /// Adds many rectangles of one colour.
    pub(crate) fn rects(&mut self, rects: Vec<Rect>, ink: Ink) {
        if !rects.is_empty() {
            self.shapes.push(Shape::Rects(rects, ink));
        }
    }

    /// Adds an invisible area that shows a text under the pointer.
    pub(crate) fn hover(&mut self, [x, y, width, height]: Rect, text: &str) {
        self.shapes.push(Shape::Hover([x, y, width.max(0.0), height.max(0.0)], text.to_owned()));
    }

    /// Adds a line from the first two coordinates to the others.
    pub(crate) fn line(&mut self, ends: Rect, ink: Ink, thick: f64) {
        self.shapes.push(Shape::Line { ends, ink, thick });
    }

    /// Adds a line through all points, with the dashes of its series.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], ink: Ink, thick: f64, series: usize) {
        self.shapes.push(Shape::Path { points: points.to_vec(), ink, thick, series });
    }

    /// Adds a filled shape.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], ink: Ink) {
        self.shapes.push(Shape::Polygon(points.to_vec(), ink));
    }

    /// Adds a point in the shape of its series: a disc, a square, a triangle, a diamond, a cross.
    pub(crate) fn point(&mut self, (x, y): (f64, f64), size: f64, ink: Ink, series: usize) {
        match series % 5 {
            0 => self.shapes.push(Shape::Disc { x, y, radius: size, ink }),
            1 => self.rect([x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8], ink),
            2 => {
                let (below, aside) = (y + size * 0.8, size * 1.1);
                self.shapes
                    .push(Shape::Polygon(vec![(x, y - size * 1.2), (x + aside, below), (x - aside, below)], ink));
            }
            3 => {
                let out = size * 1.3;
                self.polygon(&[(x, y - out), (x + out, y), (x, y + out), (x - out, y)], ink);
            }
            _ => {
                self.line([x - size, y - size, x + size, y + size], ink, 2.0);
                self.line([x - size, y + size, x + size, y - size], ink, 2.0);
            }
        }
    }

    /// Adds a line of text, its base line at `y`.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, size: f64, ink: Ink, anchor: Anchor, weight: Weight) {
        if !text.is_empty() {
            self.shapes.push(Shape::Text(Text { x, y, text: text.to_owned(), size, ink, anchor, weight }));
        }
    }

    /// Adds a text in lines. The first base line is at the drawing's y, which moves below the last.
    pub(crate) fn paragraph(&mut self, text: &str, size: f64, ink: Ink, weight: Weight) {
        for line in font::wrapped(text, size, self.width - 8.0) {
            self.y += size * 1.3;
            self.text((4.0, self.y), &line, size, ink, Anchor::Start, weight);
        }
    }
}
