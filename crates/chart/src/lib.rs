//! Charts. A [`Chart`] describes its content in numbers and words. It can be drawn as SVG for a page ([`Chart::inline`]),
//! as a separate SVG file ([`Chart::svg`]) and as PNG (`Chart::png`, feature `png`). All three are the same drawing.
//!
//! Rules for every chart: bars show their interval if it is known; colour never carries information alone; a text
//! alternative describes the content ([`Chart::alt`]); and a missing value looks missing.

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

/// Width of a chart for a page, a file or print, px.
pub const WIDE: f64 = 760.0;
/// Width of a chart for a telephone, px.
pub const NARROW: f64 = 340.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Name of its file without an extension, such as `forest` or `latency-read`.
    pub name: String,
    pub title: String,
    /// Explains in a sentence how to read the chart.
    pub caption: String,
    /// Text alternative that describes the content.
    pub alt: String,
    pub body: Body,
}
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Ratios with their intervals, one in each row.
    Forest(Forest),
    /// Values in groups, with intervals and single runs.
    Bars(Bars),
    /// Curves over one axis, in one or several panels above one another.
    Lines(Lines),
    /// A value for each pair of an x and a y.
    Heat(Heat),
    /// Frequency of values over time.
    Density(Density),
}

/// Ratios with their intervals on a logarithmic axis around 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Title that explains the sides left and right of 1.
    pub axis_title: String,
    /// Band of ratios that are equal for practical purposes.
    pub band: Option<(f64, f64)>,
    /// Rows from top to bottom.
    pub rows: Vec<ForestRow>,
}

/// A ratio with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestRow {
    pub label: String,
    /// The ratio; `None` if there is none, with the reason in `words`.
    pub value: Option<f64>,
    /// Interval of the ratio, lower end first.
    pub interval: Option<(f64, f64)>,
    pub mark: Mark,
    /// Ratio and conclusion in words.
    pub words: String,
}

/// A conclusion, with its own shape and colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Better,
    Worse,
    /// Equal within the margin.
    Equal,
    /// No conclusion is possible.
    Open,
    /// No conclusion was requested.
    Unjudged,
}

/// Values by group and series.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    pub axis: Axis,
    /// Names of the series, to which [`Bar::series`] refers.
    pub series: Vec<String>,
    /// Groups from top to bottom.
    pub groups: Vec<BarGroup>,
    /// Whether values are bars from zero or only points.
    pub shape: BarShape,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarShape {
    Bar,
    Point,
}
#[derive(Debug, Clone, PartialEq)]
pub struct BarGroup {
    /// Name that the bars have in common.
    pub label: String,
    /// Bars in the order of the series.
    pub bars: Vec<Bar>,
}

/// A value of one series in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// Index of its series in [`Bars::series`].
    pub series: usize,
    /// The value; `None` if missing, and never 0 instead.
    pub value: Option<f64>,
    /// Interval of the value, lower end first.
    pub interval: Option<(f64, f64)>,
    /// Values of the single runs.
    pub runs: Vec<f64>,
    /// Text to show if the value is missing.
    pub missing: String,
}
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// Axis that all panels share.
    pub x: Axis,
    /// Names of the positions 0, 1, 2 … on x if it is not numeric; empty otherwise.
    pub x_names: Vec<String>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
    /// Named places on x, drawn through all panels.
    pub marks: Vec<Place>,
}

/// Curves over a common y axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub y: Axis,
    /// Height of the panel, px.
    pub height: f64,
    pub series: Vec<Series>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the curve; curves with the same name have the same colour and shape in all panels.
    pub name: String,
    pub shape: SeriesShape,
    /// Points in the order of x.
    pub points: Vec<Point>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesShape {
    /// A line, with signs if there are few points.
    Line,
    /// A step after each point, for an ECDF.
    Steps,
    /// Points without a line.
    Points,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Value of the point; `None` leaves a gap.
    pub y: Option<f64>,
    /// Interval of the value, lower end first.
    pub interval: Option<(f64, f64)>,
}

/// A named place on the x axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Position on the x axis.
    pub at: f64,
    /// A few letters next to its line; may be empty.
    pub sign: String,
    /// Description, printed below the axis.
    pub label: String,
}

/// A table of values by colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    pub x: Vec<String>,
    /// Title of the x axis.
    pub x_title: String,
    /// Names along y, from top to bottom.
    pub y: Vec<String>,
    /// Title of the y axis.
    pub y_title: String,
    /// A row for each y, with a value for each x; `None` is missing.
    pub cells: Vec<Vec<Option<f64>>>,
    pub values: Format,
    /// Title of the colour legend.
    pub values_title: String,
    /// Whether to print the values in cells that have room.
    pub print_values: bool,
    /// Horizontal lines with names, each below this number of rows, such as the end of a cache.
    pub edges: Vec<(usize, String)>,
}

/// Frequency of values in columns along x. Cells are darker for more frequent values, and empty ones are pale.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// Axis along which columns lie.
    pub x: Axis,
    /// Axis along which values lie.
    pub y: Axis,
    pub values: Format,
    /// Title of the colour legend.
    pub values_title: String,
    /// Columns from left to right.
    pub columns: Vec<DensityColumn>,
}

/// A column of a density chart.
#[derive(Debug, Clone, PartialEq)]
pub struct DensityColumn {
    /// Start of the column on x.
    pub from: f64,
    /// End of the column on x.
    pub to: f64,
    /// Text to show while the pointer is on the column.
    pub hover_text: String,
    pub cells: Vec<DensityCell>,
}

/// Frequency of values in a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DensityCell {
    /// Lower end of the range.
    pub from: f64,
    /// Upper end of the range.
    pub to: f64,
    pub value: f64,
}

impl Chart {
    /// Returns SVG for embedding in a page: colours follow the page ([`style_sheet`]), which also prints
    /// the title and the explanation.
    pub fn inline(&self, width: f64) -> String {
        let mut drawing = Drawing::new(width);
        draw::body(&mut drawing, &self.body);
        svg::print(&drawing, Skin::Page, &self.alt)
    }

    /// Returns a separate SVG file.
    pub fn svg(&self) -> String {
        svg::print(&self.whole(), Skin::Paper, &self.alt)
    }

    /// Draws the chart with its title and explanation.
    fn whole(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDE);
        draw::head(&mut drawing, self);
        draw::body(&mut drawing, &self.body);
        drawing
    }
}
