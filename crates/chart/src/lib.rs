//! Charts. A [`Chart`] says what is to be seen, in numbers and words; it is drawn as SVG for a page ([`Chart::inline`]), as a
//! file by itself ([`Chart::svg`]) and as PNG (`Chart::png`, feature `png`). All three are the same drawing.
//!
//! What every chart keeps: no bar without its interval where one is known, nothing that only colour tells, a text that says
//! what is seen ([`Chart::alt`]), and a missing value that looks missing.

mod axis;
mod draw;
mod drawing;
mod font;
#[cfg(feature = "png")]
mod picture;
mod skin;
mod svg;
mod texts;

pub use axis::{Axis, Format, Scale};
#[cfg(feature = "png")]
pub use picture::PngError;
pub use skin::{series_colour, style_sheet};

use drawing::Drawing;
use skin::Skin;

/// Width at which a chart is drawn for a page, a file and print, in px.
pub const WIDE: f64 = 760.0;
/// Width at which it is drawn for a telephone.
pub const NARROW: f64 = 340.0;

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What its file is called, without an ending: `forest`, `latency-read`.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// How to read it, in a sentence.
    pub says: String,
    /// What is seen, for those who cannot see it.
    pub alt: String,
    /// What is drawn.
    pub body: Body,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Ratios with their intervals, one a row.
    Forest(Forest),
    /// Values in groups, with intervals and the single runs.
    Bars(Bars),
    /// Curves over one axis, in one panel or several above one another.
    Lines(Lines),
    /// A value for each pair of an x and a y.
    Heat(Heat),
    /// How often values occurred, by time.
    Density(Density),
}

/// Ratios with their intervals on a logarithmic axis, 1 in the middle of things.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// What is left and right of 1.
    pub axis_title: String,
    /// Ratios within are equal for practical purposes.
    pub band: Option<(f64, f64)>,
    /// From top to bottom.
    pub rows: Vec<ForestRow>,
}

/// A ratio.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestRow {
    /// What it is of.
    pub label: String,
    /// The ratio; `None` where there is none, with the reason in `words`.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// What is concluded.
    pub mark: Mark,
    /// The same in words.
    pub words: String,
}

/// A conclusion: each has a shape and a colour of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// Equal within the margin.
    Equal,
    /// Nothing can be said.
    Open,
    /// Nothing is asked.
    Unjudged,
}

/// Values by group and series.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// The values' axis.
    pub axis: Axis,
    /// Names of the series; a bar names its own by its place here.
    pub series: Vec<String>,
    /// From top to bottom.
    pub groups: Vec<BarGroup>,
    /// Bars from zero, or points only.
    pub shape: BarShape,
}

/// How a value is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarShape {
    /// A bar from zero.
    Bar,
    /// A point.
    Point,
}

/// Bars side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct BarGroup {
    /// What they have in common.
    pub label: String,
    /// In the order of the series.
    pub bars: Vec<Bar>,
}

/// A value of one series in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Place of its series in [`Bars::series`].
    pub series: usize,
    /// `None` is missing, and never 0.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// The single runs.
    pub runs: Vec<f64>,
    /// What is said where the value is missing.
    pub missing: String,
}

/// Curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What all panels share.
    pub x: Axis,
    /// Names of the places 0, 1, 2 … on x, where it is no number; empty otherwise.
    pub x_names: Vec<String>,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Places on x that have a name, through all panels.
    pub marks: Vec<Place>,
}

/// Curves over a common y.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Its axis.
    pub y: Axis,
    /// Its height, px.
    pub height: f64,
    /// Its curves.
    pub series: Vec<Series>,
}

/// A curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name; curves of one name have one colour and shape in all panels.
    pub name: String,
    /// How it is drawn.
    pub shape: SeriesShape,
    /// In the order of x.
    pub points: Vec<Point>,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesShape {
    /// A line; with points, where they are few.
    Line,
    /// As a step behind each point: ECDF.
    Steps,
    /// Points alone.
    Points,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// How much; `None` is a gap.
    pub y: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
}

/// A place with a name.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Where on x.
    pub at: f64,
    /// A few letters beside its line; empty for none.
    pub sign: String,
    /// What is there.
    pub label: String,
}

/// A table of values by colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    /// Names along x.
    pub x: Vec<String>,
    /// What x is.
    pub x_title: String,
    /// Names along y, from top to bottom.
    pub y: Vec<String>,
    /// What y is.
    pub y_title: String,
    /// A row for each y, with a value for each x; `None` is missing.
    pub cells: Vec<Vec<Option<f64>>>,
    /// What the values are.
    pub values: Format,
    /// What they are called.
    pub values_title: String,
    /// Whether to print them in the cells, where there is room.
    pub print_values: bool,
    /// Horizontal lines with a name, each below this number of rows: where a cache ends.
    pub edges: Vec<(usize, String)>,
}

/// How often values occurred, in columns along x: the more, the darker. What is empty is pale.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Along which columns lie.
    pub x: Axis,
    /// Along which values lie.
    pub y: Axis,
    /// What the colours are.
    pub values: Format,
    /// What they are called.
    pub values_title: String,
    /// From left to right.
    pub columns: Vec<DensityColumn>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct DensityColumn {
    /// Where it begins on x.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// What is said where the pointer rests on it.
    pub says: String,
    /// What is in it.
    pub cells: Vec<DensityCell>,
}

/// How often values between two occurred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensityCell {
    /// The least of the values.
    pub from: f64,
    /// The greatest.
    pub to: f64,
    /// How often.
    pub value: f64,
}

impl Chart {
    /// SVG for the middle of a page: colours follow the page ([`style_sheet`]), title and words are the page's own.
    pub fn inline(&self, width: f64) -> String {
        let mut drawing = Drawing::new(width);
        draw::body(&mut drawing, &self.body);
        svg::print(&drawing, Skin::Page, &self.alt)
    }

    /// A whole SVG file.
    pub fn svg(&self) -> String {
        svg::print(&self.whole(), Skin::Paper, &self.alt)
    }

    /// With title and words.
    fn whole(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDE);
        draw::head(&mut drawing, self);
        draw::body(&mut drawing, &self.body);
        drawing
    }
}
