//! Draws PNG files on white. Letters are outlines of the embedded font (DejaVu Sans; `font/LICENCE.txt`), so that a
//! picture is the same everywhere.

use crate::Chart;
use crate::drawing::{Anchor, Drawing, Rect, Shape, Text, Weight};
use crate::skin::{DASHES, Ink};
use std::io::Write;
use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke, StrokeDash, Transform};
use ttf_parser::{Face, OutlineBuilder};

pub(crate) const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Pixels per px of the drawing, which makes it sharp in print and on dense screens.
const PIXELS: f32 = 2.0;

/// Largest number of pixels: 512 MiB at four bytes each.
const PIXELS_MAX: u64 = 1 << 27;
#[derive(Debug)]
pub enum PngError {
    /// The picture would exceed the limit of pixels.
    Size,
    /// The picture could not be encoded.
    Encoding(png::EncodingError),
}

impl std::fmt::Display for PngError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PngError::Size => f.write_str("the chart is too large for a picture"),
            PngError::Encoding(error) => write!(f, "the picture cannot be encoded: {error}"),
        }
    }
}

impl std::error::Error for PngError {}

impl Chart {
    /// Returns a PNG file on white, twice as many pixels wide as [`crate::WIDE`].
    ///
    /// # Errors
    /// Returns an error if the drawing is too large, or cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        let drawing = self.whole();
        let mut picture = Picture::blank(&drawing)?;
        drawing.shapes.iter().for_each(|shape| picture.paint(shape));
        picture.encoded().map_err(PngError::Encoding)
    }
}

/// A picture in px of the drawing; each px has [`PIXELS`] pixels in both directions.
struct Picture {
    pixels: Pixmap,
    font: Option<Face<'static>>,
}

/// Rounds a coordinate to a tenth of a px, as in SVG.
fn px(value: f64) -> f32 {
    ((value * 10.0).round() / 10.0) as f32
}

/// Returns loops or lines through points.
fn through(points: &[(f64, f64)], is_closed: bool) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (index, (x, y)) in points.iter().enumerate() {
        if index == 0 { path.move_to(px(*x), px(*y)) } else { path.line_to(px(*x), px(*y)) }
    }
    if is_closed {
        path.close();
    }
    path
}

fn rectangles(rects: &[Rect]) -> PathBuilder {
    let mut path = PathBuilder::new();
    for &[x, y, width, height] in rects {
        if let Some(rect) = tiny_skia::Rect::from_ltrb(px(x), px(y), px(x + width), px(y + height)) {
            path.push_rect(rect);
        }
    }
    path
}

impl Picture {
    fn blank(drawing: &Drawing) -> Result<Picture, PngError> {
        let pixels = |px: f64| (px * f64::from(PIXELS)).ceil() as u32;
        let (width, height) = (pixels(drawing.width), pixels(drawing.height()));
        let fits = u64::from(width) * u64::from(height) <= PIXELS_MAX;
        let pixels = fits.then(|| Pixmap::new(width, height)).flatten();
        let mut pixels = pixels.ok_or(PngError::Size)?;
        pixels.fill(Color::WHITE);
        Ok(Picture { pixels, font: Face::parse(FONT, 0).ok() })
    }

    fn paint(&mut self, shape: &Shape) {
        match shape {
            // They only matter for pointers.
            Shape::Open(_) | Shape::Close | Shape::Hover(..) => {}
            Shape::Rect(rect, ink) => self.fill(rectangles(&[*rect]).finish(), *ink),
            Shape::Rects(rects, ink) => self.fill(rectangles(rects).finish(), *ink),
            Shape::Line { ends: [x1, y1, x2, y2], ink, thick } => {
                self.stroke(through(&[(*x1, *y1), (*x2, *y2)], false).finish(), *ink, *thick, &[]);
            }
            Shape::Path { points, ink, thick, series } => {
                self.stroke(through(points, false).finish(), *ink, *thick, DASHES[series % DASHES.len()]);
            }
            Shape::Polygon(points, ink) => self.fill(through(points, true).finish(), *ink),
            Shape::Disc { x, y, radius, ink } => {
                self.fill(PathBuilder::from_circle(px(*x), px(*y), px(*radius)), *ink);
            }
            Shape::Text(text) => self.text(text),
        }
    }

    /// Fills a path; an empty path paints nothing.
    fn fill(&mut self, path: Option<Path>, ink: Ink) {
        let Some(path) = path else { return };
        let scale = Transform::from_scale(PIXELS, PIXELS);
        self.pixels.fill_path(&path, &paint(ink), FillRule::Winding, scale, None);
    }

    fn stroke(&mut self, path: Option<Path>, ink: Ink, thick: f64, dashes: &[u8]) {
        let Some(path) = path else { return };
        let dash = StrokeDash::new(dashes.iter().copied().map(f32::from).collect(), 0.0);
        let stroke = Stroke { width: thick as f32, line_join: LineJoin::Round, dash, ..Stroke::default() };
        let scale = Transform::from_scale(PIXELS, PIXELS);
        self.pixels.stroke_path(&path, &paint(ink), &stroke, scale, None);
    }

    /// Draws text; a character that the font lacks becomes a box.
    fn text(&mut self, text: &Text) {
        let Some(face) = &self.font else { return };
        let scale = text.size as f32 / f32::from(face.units_per_em());
        let glyph = |c: char| face.glyph_index(c).unwrap_or_default();
        let advance = |c: char| f32::from(face.glyph_hor_advance(glyph(c)).unwrap_or(0)) * scale;
        let width = f64::from(text.text.chars().map(advance).sum::<f32>());
        let left = match text.anchor {
            Anchor::Start => text.x,
            Anchor::Middle => text.x - width / 2.0,
            Anchor::End => text.x - width,
        };
        let mut outline = Outline { path: PathBuilder::new(), at: [px(left), px(text.y)], scale };
        for c in text.text.chars() {
            let _ = face.outline_glyph(glyph(c), &mut outline);
            outline.at[0] += advance(c);
        }
        let path = outline.path.finish();
        // The embedded font has no bold letters, so draw their outlines as well.
        if text.weight == Weight::Bold {
            self.stroke(path.clone(), text.ink, text.size * 0.04, &[]);
        }
        self.fill(path, text.ink);
    }

    fn encoded(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.pixels.width(), self.pixels.height());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        // Areas of one colour compress best without a filter.
        encoder.set_filter(png::Filter::NoFilter);
        let mut header = encoder.write_header()?;
        let mut rows = header.stream_writer()?;
        let row_bytes = 4 * self.pixels.width() as usize;
        for row in self.pixels.data().chunks_exact(row_bytes) {
            // The ground is opaque, so every pixel is.
            let rgb: Vec<u8> = row.chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect();
            rows.write_all(&rgb)?;
        }
        rows.finish()?;
        drop(header);
        Ok(file)
    }
}

fn paint(ink: Ink) -> Paint<'static> {
    let number = u32::from_str_radix(ink.on_white().trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = number.to_be_bytes();
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, 0xff);
    paint
}

/// Converts letters to loops in px. In a font, y grows upwards.
struct Outline {
    path: PathBuilder,
    at: [f32; 2],
    scale: f32,
}

impl Outline {
    fn x(&self, x: f32) -> f32 {
        self.at[0] + x * self.scale
    }

    fn y(&self, y: f32) -> f32 {
        self.at[1] - y * self.scale
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x(x), self.y(y));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x(x), self.y(y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x(x1), self.y(y1), self.x(x), self.y(y));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x(x1), self.y(y1), self.x(x2), self.y(y2), self.x(x), self.y(y));
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paints shapes on 40 by 20 px. Returns the picture.
    fn painted(shapes: &[Shape]) -> Picture {
        let mut drawing = Drawing::new(40.0);
        drawing.y = 20.0;
        let mut picture = Picture::blank(&drawing).unwrap();
        shapes.iter().for_each(|shape| picture.paint(shape));
        picture
    }

    /// Returns how much is painted, in px² of full ink.
    fn area(picture: &Picture, ink: Ink) -> f32 {
        let of_ink = painted(&[Shape::Rect([0.0, 0.0, 40.0, 20.0], ink)]);
        let (full, ground) = (of_ink.pixels.data()[1], 255);
        let painted: f32 = picture.pixels.data().chunks(4).map(|pixel| f32::from(ground - pixel[1])).sum();
        painted / f32::from(ground - full) / (PIXELS * PIXELS)
    }

    #[test]
    fn shapes_cover_their_area() {
        let ink = Ink::Strong;
        let of = |shape| area(&painted(&[shape]), ink);
        let near = |found: f32, wanted: f32| assert!((found - wanted).abs() < 0.03 * wanted, "{found}, not {wanted}");
        near(of(Shape::Rect([1.3, 2.0, 10.5, 4.0], ink)), 42.0);
        // Two adjacent rectangles leave no seam.
        near(of(Shape::Rects(vec![[1.0, 2.0, 4.3, 4.0], [5.3, 2.0, 4.7, 4.0]], ink)), 36.0);
        near(of(Shape::Line { ends: [1.0, 5.0, 21.0, 5.0], ink, thick: 3.0 }), 60.0);
        near(of(Shape::Disc { x: 10.0, y: 10.0, radius: 5.0, ink }), 25.0 * std::f32::consts::PI);
        near(of(Shape::Polygon(vec![(2.0, 2.0), (12.0, 2.0), (2.0, 12.0)], ink)), 50.0);
        // Dashes of the second series paint 7 of each 10 px.
        let dashed = Shape::Path { points: vec![(1.0, 5.0), (31.0, 5.0)], ink, thick: 2.0, series: 1 };
        near(of(dashed), 42.0);
        assert_eq!(of(Shape::Polygon(Vec::new(), ink)), 0.0);
    }

    #[test]
    fn letters_have_their_holes_and_bold_ones_are_wider() {
        let ink = Ink::Strong;
        let text = |weight| {
            let text = "o".to_owned();
            painted(&[Shape::Text(Text { x: 20.0, y: 16.0, text, size: 20.0, ink, anchor: Anchor::Middle, weight })])
        };
        let plain = text(Weight::Plain);
        let middle = plain.pixels.pixel(40, 21).unwrap();
        assert_eq!((middle.red(), middle.green(), middle.blue()), (255, 255, 255), "the middle of an o is empty");
        assert!(area(&text(Weight::Bold), ink) > 1.1 * area(&plain, ink));
    }

    #[test]
    fn pictures_beyond_the_limit_are_rejected() {
        let mut drawing = Drawing::new(40.0);
        drawing.y = 1e9;
        assert!(matches!(Picture::blank(&drawing), Err(PngError::Size)));
        drawing.y = 0.0;
        assert!(matches!(Picture::blank(&drawing), Err(PngError::Size)));
    }
}
