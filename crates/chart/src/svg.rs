//! SVG: shapes in, text out. A drawing grows downwards; its height is known at the end.

use crate::font;
use crate::skin::{DASHES, Ink, Skin};
use std::fmt::Write as _;

/// Which side of a text lies at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Plain,
    Bold,
}

/// A drawing under way.
pub(crate) struct Svg {
    text: String,
    skin: Skin,
    width: f64,
    /// What is drawn next begins here, px from above.
    pub(crate) y: f64,
}

/// What XML would take for its own, and what it cannot hold.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A coordinate in as few digits as it needs.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

impl Svg {
    pub(crate) fn new(width: f64, skin: Skin) -> Svg {
        Svg { text: String::new(), skin, width, y: 0.0 }
    }

    pub(crate) fn width(&self) -> f64 {
        self.width
    }

    fn fill(&self, ink: Ink) -> String {
        match self.skin {
            Skin::Page => format!("class=\"f-{}\"", ink.class()),
            Skin::Paper | Skin::Picture => format!("fill=\"{}\"", ink.on_white()),
        }
    }

    fn stroke(&self, ink: Ink) -> String {
        match self.skin {
            Skin::Page => format!("class=\"l-{}\"", ink.class()),
            Skin::Paper | Skin::Picture => format!("stroke=\"{}\"", ink.on_white()),
        }
    }

    /// Everything drawn until the matching [`Svg::close`] says this when pointed at.
    pub(crate) fn open(&mut self, says: &str) {
        let _ = write!(self.text, "<g><title>{}</title>", escaped(says));
    }

    pub(crate) fn close(&mut self) {
        self.text.push_str("</g>");
    }

    pub(crate) fn rect(&mut self, [x, y, width, height]: [f64; 4], ink: Ink) {
        let fill = self.fill(ink);
        let (width, height) = (width.max(0.0), height.max(0.0));
        let _ = write!(
            self.text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {fill}/>",
            px(x),
            px(y),
            px(width),
            px(height)
        );
    }

    /// Many rectangles of one colour.
    pub(crate) fn rects(&mut self, rects: &[[f64; 4]], ink: Ink) {
        if rects.is_empty() {
            return;
        }
        let shape = |[x, y, width, height]: &[f64; 4]| {
            format!("M{} {}h{}v{}h{}z", px(*x), px(*y), px(*width), px(*height), px(-*width))
        };
        let data: String = rects.iter().map(shape).collect();
        let fill = self.fill(ink);
        let _ = write!(self.text, "<path d=\"{data}\" {fill}/>");
    }

    /// A place that cannot be seen and says something when pointed at.
    pub(crate) fn hover(&mut self, [x, y, width, height]: [f64; 4], says: &str) {
        let _ = write!(
            self.text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"0\"><title>{}</title></rect>",
            px(x),
            px(y),
            px(width.max(0.0)),
            px(height.max(0.0)),
            escaped(says)
        );
    }

    pub(crate) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], ink: Ink, thick: f64) {
        let stroke = self.stroke(ink);
        let _ = write!(
            self.text,
            "<path d=\"M{} {}L{} {}\" {stroke} stroke-width=\"{}\"/>",
            px(x1),
            px(y1),
            px(x2),
            px(y2),
            px(thick)
        );
    }

    /// A line through all points, dashed in the manner of its series.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], ink: Ink, thick: f64, series: usize) {
        let mut data = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(data, "{}{} {}", if index == 0 { 'M' } else { 'L' }, px(*x), px(*y));
        }
        let dash = match DASHES[series % DASHES.len()] {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        let stroke = self.stroke(ink);
        let _ = write!(
            self.text,
            "<path d=\"{data}\" fill=\"none\" {stroke} stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            px(thick)
        );
    }

    /// A filled shape.
    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], ink: Ink) {
        let corners: Vec<String> = points.iter().map(|(x, y)| format!("{} {}", px(*x), px(*y))).collect();
        let fill = self.fill(ink);
        let _ = write!(self.text, "<path d=\"M{}Z\" {fill}/>", corners.join("L"));
    }

    /// A point, in the shape of its series: a disc, a square, a triangle, a diamond, a cross.
    pub(crate) fn point(&mut self, (x, y): (f64, f64), size: f64, ink: Ink, series: usize) {
        match series % 5 {
            0 => {
                let fill = self.fill(ink);
                let _ = write!(self.text, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {fill}/>", px(x), px(y), px(size));
            }
            1 => self.rect([x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8], ink),
            2 => self.polygon(
                &[(x, y - size * 1.2), (x + size * 1.1, y + size * 0.8), (x - size * 1.1, y + size * 0.8)],
                ink,
            ),
            3 => {
                self.polygon(&[(x, y - size * 1.3), (x + size * 1.3, y), (x, y + size * 1.3), (x - size * 1.3, y)], ink)
            }
            _ => {
                self.line([x - size, y - size, x + size, y + size], ink, 2.0);
                self.line([x - size, y + size, x + size, y - size], ink, 2.0);
            }
        }
    }

    /// A line of text, its base line at `y`.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), text: &str, size: f64, ink: Ink, anchor: Anchor, weight: Weight) {
        if text.is_empty() {
            return;
        }
        #[cfg(feature = "png")]
        if self.skin == Skin::Picture {
            self.outlines((x, y), text, size, ink, anchor, weight);
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if weight == Weight::Bold { " font-weight=\"600\"" } else { "" };
        let fill = self.fill(ink);
        let _ = write!(
            self.text,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{weight} {fill}>{}</text>",
            px(x),
            px(y),
            px(size),
            escaped(text)
        );
    }

    #[cfg(feature = "png")]
    fn outlines(&mut self, (x, y): (f64, f64), text: &str, size: f64, ink: Ink, anchor: Anchor, weight: Weight) {
        let (data, width) = crate::png::outlines(text, size);
        let x = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - width / 2.0,
            Anchor::End => x - width,
        };
        let colour = ink.on_white();
        // The one font has no bold letters; a line around them makes them so.
        let bold = match weight {
            Weight::Bold => format!(" stroke=\"{colour}\" stroke-width=\"{:.2}\"", size * 0.04),
            Weight::Plain => String::new(),
        };
        let _ = write!(
            self.text,
            "<path transform=\"translate({} {})\" d=\"{data}\" fill=\"{colour}\"{bold}/>",
            px(x),
            px(y)
        );
    }

    /// A text in lines; the first base line at the drawing's y, which moves behind the last.
    pub(crate) fn paragraph(&mut self, text: &str, size: f64, ink: Ink, weight: Weight) {
        for line in font::wrapped(text, size, self.width - 8.0) {
            self.y += size * 1.3;
            self.text((4.0, self.y), &line, size, ink, Anchor::Start, weight);
        }
    }

    /// The whole drawing.
    pub(crate) fn finish(self, alt: &str) -> String {
        let (width, height) = (px(self.width), px(self.y.ceil()));
        let ground = match self.skin {
            Skin::Page => String::new(),
            Skin::Paper | Skin::Picture => format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"),
        };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\" aria-label=\"{}\" font-family=\"system-ui,'Segoe UI','DejaVu Sans',sans-serif\">{ground}{}</svg>\n",
            escaped(alt),
            self.text
        )
    }
}
