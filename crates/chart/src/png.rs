//! PNG: the same drawing with letters as outlines of the one font that is embedded (DejaVu Sans; `font/LICENCE.txt`).

use crate::skin::Skin;
use crate::{Chart, WIDE};
use resvg::{tiny_skia, usvg};
use std::fmt::Write as _;
use ttf_parser::{Face, OutlineBuilder};

/// The font.
pub(crate) const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Pixels for each px of the drawing: sharp in print and on dense screens.
const PIXELS: f32 = 2.0;

/// Why there is no picture.
#[derive(Debug)]
pub enum PngError {
    /// The drawing is no SVG: a fault of this crate.
    Drawing(usvg::Error),
    /// The picture has no size, or one that memory does not hold.
    Size,
    /// It could not be encoded.
    Encoding(String),
}

impl std::fmt::Display for PngError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PngError::Drawing(error) => write!(f, "the chart cannot be drawn: {error}"),
            PngError::Size => f.write_str("the chart is too large for a picture"),
            PngError::Encoding(error) => write!(f, "the picture cannot be encoded: {error}"),
        }
    }
}

impl std::error::Error for PngError {}

impl Chart {
    /// A whole PNG file, on white, twice as many pixels as [`WIDE`].
    ///
    /// # Errors
    /// If the drawing has no size that memory holds.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        let svg = self.whole(Skin::Picture);
        let tree = usvg::Tree::from_str(&svg, &usvg::Options::default()).map_err(PngError::Drawing)?;
        let height = (tree.size().height() * PIXELS).ceil() as u32;
        let mut pixels = tiny_skia::Pixmap::new(WIDE as u32 * PIXELS as u32, height).ok_or(PngError::Size)?;
        resvg::render(&tree, tiny_skia::Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }
}

/// Path data being written, y downwards, in px.
struct Data {
    text: String,
    x: f32,
    scale: f32,
}

impl Data {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Data {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        let _ = write!(self.text, "M{x:.2} {y:.2}");
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        let _ = write!(self.text, "L{x:.2} {y:.2}");
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        let _ = write!(self.text, "Q{x1:.2} {y1:.2} {x:.2} {y:.2}");
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        let _ = write!(self.text, "C{x1:.2} {y1:.2} {x2:.2} {y2:.2} {x:.2} {y:.2}");
    }

    fn close(&mut self) {
        self.text.push('Z');
    }
}

/// The outlines of a line of text from (0, 0) on, and its width. A character that the font lacks is a box.
pub(crate) fn outlines(text: &str, size: f64) -> (String, f64) {
    let Ok(face) = Face::parse(FONT, 0) else { return (String::new(), 0.0) };
    let mut data = Data { text: String::new(), x: 0.0, scale: size as f32 / f32::from(face.units_per_em()) };
    for c in text.chars() {
        let glyph = face.glyph_index(c).unwrap_or_default();
        let _ = face.outline_glyph(glyph, &mut data);
        data.x += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * data.scale;
    }
    let width = f64::from(data.x);
    (data.text, width)
}
