//! PNG: a drawing in pixels on white, with letters as outlines of the one font that is embedded (DejaVu Sans;
//! `font/LICENCE.txt`), so that a picture is the same everywhere.

use crate::Chart;
use crate::cover::{At, Cover, Points, disc};
use crate::drawing::{Anchor, Drawing, Rect, Shape, Text, Weight};
use crate::skin::{DASHES, Ink};
use ttf_parser::{Face, OutlineBuilder};

/// The font.
pub(crate) const FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Pixels for each px of the drawing: sharp in print and on dense screens.
const PIXELS: f32 = 2.0;

/// Most pixels of a picture: three bytes each, 400 MB together.
const PIXELS_MAX: usize = 1 << 27;

/// Red, green, blue.
const CHANNELS: usize = 3;

/// Why there is no picture.
#[derive(Debug)]
pub enum PngError {
    /// It would be larger than this crate draws.
    Size,
    /// It could not be encoded.
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
    /// A whole PNG file, on white, twice as many pixels wide as [`crate::WIDE`].
    ///
    /// # Errors
    /// If the drawing is larger than memory should hold, or cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        let drawing = self.whole();
        let mut picture = Picture::blank(&drawing)?;
        drawing.shapes.iter().for_each(|shape| picture.paint(shape));
        picture.encoded().map_err(PngError::Encoding)
    }
}

/// Pixels, row by row.
struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    font: Option<Face<'static>>,
}

/// The colour as red, green and blue.
fn rgb(ink: Ink) -> [u8; CHANNELS] {
    let number = u32::from_str_radix(ink.on_white().trim_start_matches('#'), 16).unwrap_or_default();
    let [_, red, green, blue] = number.to_be_bytes();
    [red, green, blue]
}

/// A place in pixels. Places are rounded to a tenth of a px, as in SVG.
fn at(x: f64, y: f64) -> At {
    [x, y].map(|px| ((px * 10.0).round() / 10.0) as f32 * PIXELS)
}

fn through(points: &[(f64, f64)]) -> Points {
    points.iter().map(|(x, y)| at(*x, *y)).collect()
}

fn corners(&[x, y, width, height]: &Rect) -> Points {
    let (left, top, right, bottom) = (x, y, x + width, y + height);
    vec![at(left, top), at(right, top), at(right, bottom), at(left, bottom)]
}

impl Picture {
    fn blank(drawing: &Drawing) -> Result<Picture, PngError> {
        let pixels = |px: f64| (px * f64::from(PIXELS)).ceil() as usize;
        let (width, height) = (pixels(drawing.width), pixels(drawing.height()));
        let all = width.checked_mul(height).filter(|all| (1..=PIXELS_MAX).contains(all)).ok_or(PngError::Size)?;
        Ok(Picture { width, height, pixels: vec![0xff; all * CHANNELS], font: Face::parse(FONT, 0).ok() })
    }

    fn paint(&mut self, shape: &Shape) {
        match shape {
            // They are for pointers.
            Shape::Open(_) | Shape::Close | Shape::Hover(..) => {}
            Shape::Rect(rect, ink) => self.fill(&[corners(rect)], *ink),
            Shape::Rects(rects, ink) => self.fill(&rects.iter().map(corners).collect::<Vec<_>>(), *ink),
            Shape::Line { ends: [x1, y1, x2, y2], ink, thick } => {
                self.stroke(&[through(&[(*x1, *y1), (*x2, *y2)])], *ink, *thick, &[]);
            }
            Shape::Path { points, ink, thick, series } => {
                self.stroke(&[through(points)], *ink, *thick, DASHES[series % DASHES.len()]);
            }
            Shape::Polygon(points, ink) => self.fill(&[through(points)], *ink),
            Shape::Disc { x, y, radius, ink } => self.fill(&[disc(at(*x, *y), at(*radius, 0.0)[0])], *ink),
            Shape::Text(text) => self.text(text),
        }
    }

    fn fill(&mut self, loops: &[Points], ink: Ink) {
        self.blend(&Cover::of_loops(loops), rgb(ink));
    }

    fn stroke(&mut self, lines: &[Points], ink: Ink, thick: f64, dashes: &[u8]) {
        let dashes: Vec<f32> = dashes.iter().map(|long| f32::from(*long) * PIXELS).collect();
        self.blend(&Cover::of_stroke(lines, thick as f32 * PIXELS, &dashes), rgb(ink));
    }

    /// Lays a colour over what is there, as far as the shape covers each pixel.
    fn blend(&mut self, cover: &Cover, colour: [u8; CHANNELS]) {
        for (row, parts) in cover.parts.chunks_exact(cover.width.max(1)).enumerate() {
            let Some(y) = usize::try_from(cover.top + row as i32).ok().filter(|y| *y < self.height) else { continue };
            for (column, part) in parts.iter().enumerate().filter(|(_, part)| **part > 0.0) {
                let x = usize::try_from(cover.left + column as i32).ok().filter(|x| *x < self.width);
                let Some(from) = x.map(|x| (y * self.width + x) * CHANNELS) else { continue };
                for (pixel, ink) in self.pixels[from..from + CHANNELS].iter_mut().zip(colour) {
                    *pixel = (f32::from(ink) * part + f32::from(*pixel) * (1.0 - part)).round() as u8;
                }
            }
        }
    }

    /// A character that the font lacks is a box.
    fn text(&mut self, text: &Text) {
        let Some(face) = &self.font else { return };
        let scale = text.size as f32 / f32::from(face.units_per_em());
        let advances =
            |c: char| f32::from(face.glyph_hor_advance(face.glyph_index(c).unwrap_or_default()).unwrap_or(0));
        let width = f64::from(text.text.chars().map(advances).sum::<f32>() * scale);
        let left = match text.anchor {
            Anchor::Start => text.x,
            Anchor::Middle => text.x - width / 2.0,
            Anchor::End => text.x - width,
        };
        let mut outline = Outline { loops: Vec::new(), at: at(left, text.y), scale: scale * PIXELS };
        for c in text.text.chars() {
            let _ = face.outline_glyph(face.glyph_index(c).unwrap_or_default(), &mut outline);
            outline.at[0] += advances(c) * outline.scale;
        }
        self.fill(&outline.loops, text.ink);
        // The one font has no bold letters; a line around them makes them so.
        if text.weight == Weight::Bold {
            self.stroke(&outline.loops, text.ink, text.size * 0.04, &[]);
        }
    }

    fn encoded(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        // Areas of one colour shrink best as they are.
        encoder.set_filter(png::Filter::NoFilter);
        encoder.write_header()?.write_image_data(&self.pixels)?;
        Ok(file)
    }
}

/// Letters being written as loops, in pixels. In a font, y grows upwards.
struct Outline {
    loops: Vec<Points>,
    at: At,
    scale: f32,
}

/// Straight lines in place of a curve of a letter.
const STEPS: u8 = 8;

impl Outline {
    fn point(&self, x: f32, y: f32) -> At {
        [self.at[0] + x * self.scale, self.at[1] - y * self.scale]
    }

    fn add(&mut self, point: At) {
        if let Some(points) = self.loops.last_mut() {
            points.push(point);
        }
    }

    /// A Bézier curve from the last point, by de Casteljau's algorithm.
    fn curve(&mut self, controls: &[At]) {
        let Some(from) = self.loops.last().and_then(|points| points.last().copied()) else { return };
        let all: Points = std::iter::once(from).chain(controls.iter().copied()).collect();
        for step in 1..=STEPS {
            let part = f32::from(step) / f32::from(STEPS);
            let mut points = all.clone();
            while points.len() > 1 {
                points = points
                    .windows(2)
                    .map(|two| [0, 1].map(|axis| two[0][axis] + (two[1][axis] - two[0][axis]) * part))
                    .collect();
            }
            self.add(points[0]);
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.loops.push(vec![self.point(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add(self.point(x, y));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.curve(&[self.point(x1, y1), self.point(x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.curve(&[self.point(x1, y1), self.point(x2, y2), self.point(x, y)]);
    }

    /// For a stroke; to what is filled, it adds nothing.
    fn close(&mut self) {
        if let Some(first) = self.loops.last().and_then(|points| points.first().copied()) {
            self.add(first);
        }
    }
}
