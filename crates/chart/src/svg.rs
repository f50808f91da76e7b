//! Prints a drawing as SVG text.

use crate::drawing::{Anchor, Drawing, Rect, Shape, Text, Weight};
use crate::skin::{DASHES, Ink, Skin};
use plumb_text::markup::escaped;

/// Formats a coordinate with as few digits as it needs.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Prints the whole drawing, with `alt` as its text alternative.
pub(crate) fn print(drawing: &Drawing, skin: Skin, alt: &str) -> String {
    let (width, height) = (px(drawing.width), px(drawing.height()));
    let mut svg = Svg { text: String::new(), skin };
    drawing.shapes.iter().for_each(|shape| svg.shape(shape));
    let ground = match skin {
        Skin::Page => String::new(),
        Skin::Paper => format!("<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"{}\" font-family=\"system-ui,'Segoe UI','DejaVu Sans',sans-serif\">{ground}{}</svg>\n",
        escaped(alt),
        svg.text
    )
}
struct Svg {
    text: String,
    skin: Skin,
}

impl Svg {
    fn fill(&self, ink: Ink) -> String {
        match self.skin {
            Skin::Page => format!("class=\"f-{}\"", ink.class()),
            Skin::Paper => format!("fill=\"{}\"", ink.on_white()),
        }
    }

    fn stroke(&self, ink: Ink) -> String {
        match self.skin {
            Skin::Page => format!("class=\"l-{}\"", ink.class()),
            Skin::Paper => format!("stroke=\"{}\"", ink.on_white()),
        }
    }

    fn shape(&mut self, shape: &Shape) {
        let element = match shape {
            Shape::Open(text) => format!("<g><title>{}</title>", escaped(text)),
            Shape::Close => "</g>".to_owned(),
            Shape::Rect(rect, ink) => format!("<rect {} {}/>", place(rect), self.fill(*ink)),
            Shape::Rects(rects, ink) => {
                let corner = |[x, y, width, height]: &Rect| {
                    format!("M{} {}h{}v{}h{}z", px(*x), px(*y), px(*width), px(*height), px(-*width))
                };
                format!("<path d=\"{}\" {}/>", rects.iter().map(corner).collect::<String>(), self.fill(*ink))
            }
            Shape::Hover(rect, text) => {
                format!("<rect {} fill-opacity=\"0\"><title>{}</title></rect>", place(rect), escaped(text))
            }
            Shape::Line { ends: [x1, y1, x2, y2], ink, thick } => format!(
                "<path d=\"M{} {}L{} {}\" {} stroke-width=\"{}\"/>",
                px(*x1),
                px(*y1),
                px(*x2),
                px(*y2),
                self.stroke(*ink),
                px(*thick)
            ),
            Shape::Path { points, ink, thick, series } => {
                let dash: Vec<String> = DASHES[series % DASHES.len()].iter().map(|long| px(f64::from(*long))).collect();
                let dash = match dash.as_slice() {
                    [] => String::new(),
                    dash => format!(" stroke-dasharray=\"{}\"", dash.join(" ")),
                };
                format!(
                    "<path d=\"M{}\" fill=\"none\" {} stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
                    through(points),
                    self.stroke(*ink),
                    px(*thick)
                )
            }
            Shape::Polygon(points, ink) => format!("<path d=\"M{}Z\" {}/>", through(points), self.fill(*ink)),
            Shape::Disc { x, y, radius, ink } => {
                format!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>", px(*x), px(*y), px(*radius), self.fill(*ink))
            }
            Shape::Text(text) => self.line_of_text(text),
        };
        self.text.push_str(&element);
    }

    fn line_of_text(&self, text: &Text) -> String {
        let anchor = match text.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if text.weight == Weight::Bold { " font-weight=\"600\"" } else { "" };
        format!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{weight} {}>{}</text>",
            px(text.x),
            px(text.y),
            px(text.size),
            self.fill(text.ink),
            escaped(&text.text)
        )
    }
}

/// Returns the position and size of a rectangle as attributes.
fn place([x, y, width, height]: &Rect) -> String {
    format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", px(*x), px(*y), px(*width), px(*height))
}

/// Returns points, with lines between them, as path data.
fn through(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{} {}", px(*x), px(*y))).collect::<Vec<_>>().join("L")
}
