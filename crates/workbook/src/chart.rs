//! Native charts: what a spreadsheet draws from its cells. Source: ECMA-376, part 1, 21.2 (DrawingML charts).

use crate::part::Part;
use crate::sheet::{Area, Sheet, Value};
use crate::style::NumberFormat;

/// What a chart draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartKind {
    /// Lying bars; the first category is above.
    Bars,
    /// Standing bars.
    Columns,
    /// Lines over categories.
    Lines,
    /// Points over numbers.
    Scatter,
}

/// A chart.
#[derive(Debug)]
pub struct Chart {
    /// What it draws.
    pub kind: ChartKind,
    /// The text above it.
    pub title: String,
    /// The axis of categories; of a scatter chart, that of the numbers that points stand over.
    pub categories: Axis,
    /// The axis of values.
    pub values: Axis,
    /// What is drawn, in the order of the legend.
    pub series: Vec<Series>,
    /// Where the names of the series stand.
    pub legend: Legend,
    /// Pixels at 96 dpi.
    pub width_px: u32,
    /// Pixels at 96 dpi.
    pub height_px: u32,
    /// What the chart shows, for those who do not see it.
    pub alt_text: String,
}

/// Where the names of the series stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Legend {
    /// Nowhere.
    None,
    /// At the right.
    Right,
    /// Below the chart.
    Below,
}

/// An axis.
#[derive(Debug, Default)]
pub struct Axis {
    /// The text at it; may be empty.
    pub title: String,
    /// Where it begins; by default as the spreadsheet likes.
    pub min: Option<f64>,
    /// Where it ends.
    pub max: Option<f64>,
    /// The axis is logarithmic.
    pub log_base: Option<u32>,
    /// How its numbers are written; by default as the cells are.
    pub number: Option<NumberFormat>,
}

/// One set of values.
#[derive(Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// `#RRGGBB`. A line whose colour an earlier one has is dashed.
    pub colour: &'static str,
    /// The cells of its categories, or of what points stand over.
    pub categories: Area,
    /// The cells of its values.
    pub values: Area,
    /// Intervals around the values.
    pub error_bars: Option<ErrorBars>,
    /// What marks a point.
    pub marker: Marker,
    /// Points are joined. Of bars it says nothing.
    pub has_line: bool,
}

/// Intervals from cells: how far each reaches from its point.
#[derive(Debug)]
pub struct ErrorBars {
    /// They lie along the categories of a scatter chart, not along the values.
    pub of_categories: bool,
    /// The cells that say how far each reaches up.
    pub above: Area,
    /// The cells that say how far each reaches down.
    pub below: Area,
}

/// What marks a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// Nothing.
    None,
    /// A small disc.
    Disc,
    /// A large diamond.
    Diamond,
}

const CATEGORY_AXIS: &str = "1";
const VALUE_AXIS: &str = "2";
/// A pixel at 96 dpi in the unit of drawings. Source: part 1, 20.1.10.16.
const EMU_OF_PIXEL: u32 = 9525;
const LINE_EMU: u32 = 2 * EMU_OF_PIXEL;
const THIN_LINE_EMU: u32 = EMU_OF_PIXEL;

impl Chart {
    /// The part with the chart, which copies the cells' values: viewers that do not calculate draw it, too.
    pub(crate) fn part(&self, sheet: &Sheet) -> Part {
        let mut part = Part::new();
        part.add("<c:chartSpace xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\"");
        part.add(" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\">");
        part.add("<c:roundedCorners val=\"0\"/><c:chart>");
        title(&mut part, &self.title, TITLE_SIZE);
        part.add("<c:autoTitleDeleted val=\"0\"/><c:plotArea><c:layout/>");
        let (open, close) = match self.kind {
            ChartKind::Bars => ("<c:barChart><c:barDir val=\"bar\"/><c:grouping val=\"clustered\"/>", "</c:barChart>"),
            ChartKind::Columns => {
                ("<c:barChart><c:barDir val=\"col\"/><c:grouping val=\"clustered\"/>", "</c:barChart>")
            }
            ChartKind::Lines => ("<c:lineChart><c:grouping val=\"standard\"/>", "</c:lineChart>"),
            ChartKind::Scatter => ("<c:scatterChart><c:scatterStyle val=\"lineMarker\"/>", "</c:scatterChart>"),
        };
        part.add(open);
        part.add("<c:varyColors val=\"0\"/>");
        for (index, series) in self.series.iter().enumerate() {
            self.one_series(&mut part, sheet, index, series);
        }
        match self.kind {
            ChartKind::Bars | ChartKind::Columns => part.add("<c:gapWidth val=\"60\"/>"),
            ChartKind::Lines => part.add("<c:marker val=\"1\"/>"),
            ChartKind::Scatter => {}
        }
        for axis in [CATEGORY_AXIS, VALUE_AXIS] {
            value(&mut part, "axId", axis);
        }
        part.add(close);
        self.axes(&mut part);
        part.add("</c:plotArea>");
        if self.legend != Legend::None {
            part.add("<c:legend>");
            value(&mut part, "legendPos", if self.legend == Legend::Right { "r" } else { "b" });
            part.add("<c:overlay val=\"0\"/></c:legend>");
        }
        part.add("<c:plotVisOnly val=\"1\"/><c:dispBlanksAs val=\"gap\"/></c:chart></c:chartSpace>");
        part
    }

    fn one_series(&self, part: &mut Part, sheet: &Sheet, index: usize, series: &Series) {
        let is_scatter = self.kind == ChartKind::Scatter;
        let has_bars = matches!(self.kind, ChartKind::Bars | ChartKind::Columns);
        part.add("<c:ser>");
        value(part, "idx", index);
        value(part, "order", index);
        part.add("<c:tx><c:v>");
        part.text(&series.name);
        part.add("</c:v></c:tx>");
        if has_bars {
            part.add("<c:spPr>");
            fill(part, series.colour);
            part.add("</c:spPr><c:invertIfNegative val=\"0\"/>");
        } else {
            let is_again = self.series.iter().take(index).any(|earlier| earlier.colour == series.colour);
            part.add("<c:spPr>");
            match series.has_line {
                true => line(part, LINE_EMU, series.colour, if is_again { "dash" } else { "solid" }),
                false => part.add("<a:ln><a:noFill/></a:ln>"),
            }
            part.add("</c:spPr>");
            marker(part, series);
        }
        if let Some(bars) = &series.error_bars {
            part.add("<c:errBars>");
            // Bars have one direction.
            if !has_bars {
                value(part, "errDir", if bars.of_categories { "x" } else { "y" });
            }
            part.add("<c:errBarType val=\"both\"/><c:errValType val=\"cust\"/><c:noEndCap val=\"0\"/>");
            numbers(part, sheet, "plus", bars.above);
            numbers(part, sheet, "minus", bars.below);
            part.add("<c:spPr>");
            line(part, THIN_LINE_EMU, "#404040", "solid");
            part.add("</c:spPr></c:errBars>");
        }
        if is_scatter {
            numbers(part, sheet, "xVal", series.categories);
            numbers(part, sheet, "yVal", series.values);
            part.add("<c:smooth val=\"0\"/>");
        } else {
            names(part, sheet, "cat", series.categories);
            numbers(part, sheet, "val", series.values);
            if self.kind == ChartKind::Lines {
                part.add("<c:smooth val=\"0\"/>");
            }
        }
        part.add("</c:ser>");
    }

    fn axes(&self, part: &mut Part) {
        let lies = self.kind == ChartKind::Bars;
        let (along_categories, along_values) = if lies { ("l", "b") } else { ("b", "l") };
        let element = if self.kind == ChartKind::Scatter { "c:valAx>" } else { "c:catAx>" };
        part.add("<");
        part.add(element);
        axis(part, &self.categories, [CATEGORY_AXIS, VALUE_AXIS], along_categories, lies, "low");
        part.add(if self.kind == ChartKind::Scatter {
            "<c:crosses val=\"min\"/><c:crossBetween val=\"midCat\"/></"
        } else {
            "<c:crosses val=\"min\"/><c:auto val=\"1\"/><c:lblAlgn val=\"ctr\"/><c:lblOffset val=\"100\"/></"
        });
        part.add(element);

        part.add("<c:valAx>");
        axis(part, &self.values, [VALUE_AXIS, CATEGORY_AXIS], along_values, false, if lies { "high" } else { "low" });
        // Where the first bar is above, the last one is at the axis.
        value(part, "crosses", if lies { "max" } else { "min" });
        value(part, "crossBetween", if self.kind == ChartKind::Scatter { "midCat" } else { "between" });
        part.add("</c:valAx>");
    }

    /// Its place in the drawing of a sheet: the upper left corner at a cell. `number` counts the charts of the sheet from 1.
    pub(crate) fn anchor(&self, part: &mut Part, row: u32, column: u16, number: usize) {
        part.add("<xdr:oneCellAnchor><xdr:from><xdr:col>");
        part.number(column);
        part.add("</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>");
        part.number(row);
        part.add("</xdr:row><xdr:rowOff>0</xdr:rowOff></xdr:from><xdr:ext");
        part.attribute("cx", self.width_px * EMU_OF_PIXEL);
        part.attribute("cy", self.height_px * EMU_OF_PIXEL);
        part.add("/><xdr:graphicFrame macro=\"\"><xdr:nvGraphicFramePr><xdr:cNvPr");
        // The sheet's drawing itself is 1.
        part.attribute("id", number + 1);
        part.attribute("name", format_args!("Chart {number}"));
        part.add(" descr=\"");
        part.text(&self.alt_text);
        part.add("\"/><xdr:cNvGraphicFramePr/></xdr:nvGraphicFramePr>");
        part.add("<xdr:xfrm><a:off x=\"0\" y=\"0\"/><a:ext cx=\"0\" cy=\"0\"/></xdr:xfrm>");
        part.add("<a:graphic><a:graphicData uri=\"http://schemas.openxmlformats.org/drawingml/2006/chart\">");
        part.add("<c:chart xmlns:c=\"http://schemas.openxmlformats.org/drawingml/2006/chart\"");
        part.attribute("r:id", format_args!("rId{number}"));
        part.add("/></a:graphicData></a:graphic></xdr:graphicFrame><xdr:clientData/></xdr:oneCellAnchor>");
    }
}

/// Hundredths of a point.
const TITLE_SIZE: u32 = 1400;
const AXIS_TITLE_SIZE: u32 = 1000;

/// An element with a value: `<c:NAME val="VALUE"/>`.
fn value(part: &mut Part, name: &str, value: impl std::fmt::Display) {
    part.add("<c:");
    part.add(name);
    part.attribute("val", value);
    part.add("/>");
}

fn fill(part: &mut Part, colour: &str) {
    part.add("<a:solidFill><a:srgbClr");
    part.attribute("val", colour.trim_start_matches('#'));
    part.add("/></a:solidFill>");
}

fn line(part: &mut Part, width_emu: u32, colour: &str, dashes: &str) {
    part.add("<a:ln");
    part.attribute("w", width_emu);
    part.add(">");
    fill(part, colour);
    part.add("<a:prstDash");
    part.attribute("val", dashes);
    part.add("/></a:ln>");
}

fn marker(part: &mut Part, series: &Series) {
    part.add("<c:marker>");
    let (symbol, points) = match series.marker {
        Marker::None => return part.add("<c:symbol val=\"none\"/></c:marker>"),
        Marker::Disc => ("circle", 5),
        Marker::Diamond => ("diamond", 9),
    };
    value(part, "symbol", symbol);
    value(part, "size", points);
    part.add("<c:spPr>");
    fill(part, series.colour);
    line(part, THIN_LINE_EMU, series.colour, "solid");
    part.add("</c:spPr></c:marker>");
}

fn title(part: &mut Part, text: &str, size: u32) {
    if text.is_empty() {
        return;
    }
    part.add("<c:title><c:tx><c:rich><a:bodyPr/><a:p><a:pPr><a:defRPr/></a:pPr><a:r><a:rPr lang=\"en-US\"");
    part.attribute("sz", size);
    part.add(" b=\"1\"/><a:t>");
    part.text(text);
    part.add("</a:t></a:r></a:p></c:rich></c:tx><c:overlay val=\"0\"/></c:title>");
}

/// An axis up to where it crosses the other one.
fn axis(part: &mut Part, axis: &Axis, [id, other]: [&str; 2], position: &str, is_reversed: bool, labels: &str) {
    value(part, "axId", id);
    part.add("<c:scaling>");
    if let Some(base) = axis.log_base {
        value(part, "logBase", base);
    }
    value(part, "orientation", if is_reversed { "maxMin" } else { "minMax" });
    for (name, end) in [("max", axis.max), ("min", axis.min)] {
        if let Some(end) = end {
            value(part, name, end);
        }
    }
    part.add("</c:scaling><c:delete val=\"0\"/>");
    value(part, "axPos", position);
    if id == VALUE_AXIS {
        part.add(
            "<c:majorGridlines><c:spPr><a:ln w=\"6350\"><a:solidFill><a:srgbClr val=\"D9D9D9\"/></a:solidFill></a:ln>",
        );
        part.add("</c:spPr></c:majorGridlines>");
    }
    title(part, &axis.title, AXIS_TITLE_SIZE);
    part.add("<c:numFmt");
    part.attribute("formatCode", axis.number.unwrap_or_default().code());
    part.attribute("sourceLinked", u8::from(axis.number.is_none()));
    part.add("/><c:majorTickMark val=\"out\"/><c:minorTickMark val=\"none\"/>");
    value(part, "tickLblPos", labels);
    part.add("<c:spPr>");
    line(part, THIN_LINE_EMU, "#808080", "solid");
    part.add("</c:spPr>");
    value(part, "crossAx", other);
}

/// Numbers of cells, by their place and as they are.
fn numbers(part: &mut Part, sheet: &Sheet, element: &str, area: Area) {
    cells(part, sheet, element, area, "num");
}

/// Names of cells; where they are numbers, those.
fn names(part: &mut Part, sheet: &Sheet, element: &str, area: Area) {
    let are_numbers = matches!(sheet.value(area.first.0, area.first.1), Some(Value::Number(_)));
    cells(part, sheet, element, area, if are_numbers { "num" } else { "str" });
}

fn cells(part: &mut Part, sheet: &Sheet, element: &str, area: Area, kind: &str) {
    let mut add = |texts: &[&str]| texts.iter().for_each(|text| part.add(text));
    add(&["<c:", element, "><c:", kind, "Ref><c:f>"]);
    // The name in quotes, those in it doubled.
    part.text(&format!("'{}'!{}", sheet.name.replace('\'', "''"), area.fixed_name()));
    let mut add = |texts: &[&str]| texts.iter().for_each(|text| part.add(text));
    add(&["</c:f><c:", kind, "Cache>"]);
    if kind == "num" {
        part.add("<c:formatCode>General</c:formatCode>");
    }
    let columns = area.first.1..=area.last.1;
    let all = (area.first.0..=area.last.0).flat_map(|row| columns.clone().map(move |column| (row, column)));
    value(part, "ptCount", all.clone().count());
    for (index, (row, column)) in all.enumerate() {
        let cell = sheet.value(row, column);
        if !matches!((cell, kind), (Some(Value::Number(_)), _) | (Some(Value::Text(_)), "str")) {
            continue;
        }
        part.add("<c:pt");
        part.attribute("idx", index);
        part.add("><c:v>");
        match cell {
            Some(Value::Number(number)) => part.number(number),
            Some(Value::Text(text)) => part.text(text),
            _ => {}
        }
        part.add("</c:v></c:pt>");
    }
    let mut add = |texts: &[&str]| texts.iter().for_each(|text| part.add(text));
    add(&["</c:", kind, "Cache></c:", kind, "Ref></c:", element, ">"]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;

    fn series(colour: &'static str) -> Series {
        Series {
            name: "a & b".to_owned(),
            colour,
            categories: Area::of_column(0, 0, 2),
            values: Area::of_column(1, 0, 2),
            error_bars: Some(ErrorBars {
                of_categories: false,
                above: Area::of_column(2, 0, 2),
                below: Area::of_column(2, 0, 2),
            }),
            marker: Marker::None,
            has_line: true,
        }
    }

    fn chart(kind: ChartKind, series: Vec<Series>) -> String {
        let mut sheet = Sheet::new("it & its");
        for row in 0..3 {
            sheet.text(row, 0, &format!("row {row}"), Style::PLAIN);
            sheet.number(row, 2, 0.5, Style::PLAIN);
        }
        sheet.number(0, 1, 1.5, Style::PLAIN);
        sheet.number(2, 1, 2.5, Style::PLAIN);
        let values = Axis { title: "MB/s".to_owned(), log_base: Some(10), min: Some(1.0), ..Axis::default() };
        let chart = Chart {
            kind,
            title: "t".to_owned(),
            categories: Axis::default(),
            values,
            series,
            legend: Legend::Below,
            width_px: 9,
            height_px: 9,
            alt_text: String::new(),
        };
        chart.part(&sheet).into_text()
    }

    /// A workbook has no theme: without colours of its own LibreOffice draws nothing.
    #[test]
    fn series_have_colours_and_a_second_one_of_a_colour_is_dashed() {
        let lines = chart(ChartKind::Lines, vec![series("#0072b2"), series("#d55e00"), series("#0072b2")]);
        let dashes = |one: &str| one.contains("<a:prstDash val=\"dash\"/>");
        let all: Vec<&str> = lines.split("<c:ser>").skip(1).collect();
        assert!(all[0].contains("<a:srgbClr val=\"0072b2\"/>") && all[1].contains("<a:srgbClr val=\"d55e00\"/>"));
        assert_eq!(all.iter().map(|one| dashes(one)).collect::<Vec<_>>(), [false, false, true]);
        let bars = chart(ChartKind::Bars, vec![series("#0072b2")]);
        assert!(bars.contains("<c:spPr><a:solidFill><a:srgbClr val=\"0072b2\"/></a:solidFill></c:spPr>"), "{bars}");
    }

    #[test]
    fn the_values_of_cells_are_copied_and_empty_ones_left_out() {
        let lines = chart(ChartKind::Lines, vec![series("#0072b2")]);
        let values = "<c:val><c:numRef><c:f>'it &amp; its'!$B$1:$B$3</c:f><c:numCache><c:formatCode>General</c:formatCode>\
                      <c:ptCount val=\"3\"/><c:pt idx=\"0\"><c:v>1.5</c:v></c:pt><c:pt idx=\"2\"><c:v>2.5</c:v></c:pt>\
                      </c:numCache></c:numRef></c:val>";
        assert!(lines.contains(values), "{lines}");
        assert!(lines.contains("<c:strCache><c:ptCount val=\"3\"/><c:pt idx=\"0\"><c:v>row 0</c:v>"), "{lines}");
        assert!(lines.contains("<c:tx><c:v>a &amp; b</c:v></c:tx>"), "{lines}");
    }

    /// Spreadsheets refuse a part whose elements are not in the order of the schema.
    #[test]
    fn elements_are_in_the_order_of_the_schema() {
        let in_order = |text: &str, elements: &[&str]| {
            let mut rest = text;
            for element in elements {
                let (_, behind) = rest.split_once(element).unwrap_or_else(|| panic!("{element} is not behind: {text}"));
                rest = behind;
            }
        };
        let lines = chart(ChartKind::Lines, vec![series("#0072b2")]);
        in_order(
            &lines,
            &["<c:tx>", "<c:spPr>", "<c:marker>", "<c:errBars>", "<c:errDir", "<c:cat>", "<c:val>", "<c:smooth"],
        );
        in_order(&lines, &["<c:valAx>", "<c:axId", "<c:logBase", "<c:orientation", "<c:min", "<c:delete", "<c:axPos"]);
        in_order(&lines, &["<c:majorGridlines>", "<c:title>", "<c:numFmt", "<c:tickLblPos", "<c:spPr>", "<c:crossAx"]);
        in_order(&lines, &["</c:plotArea>", "<c:legend>", "<c:plotVisOnly", "<c:dispBlanksAs"]);
        let bars = chart(ChartKind::Bars, vec![series("#0072b2")]);
        in_order(&bars, &["<c:barDir", "<c:grouping", "<c:varyColors", "<c:ser>", "<c:gapWidth", "<c:axId"]);
        in_order(&bars, &["<c:spPr>", "<c:invertIfNegative", "<c:errBars>", "<c:errBarType", "<c:cat>", "<c:val>"]);
        assert!(!bars.contains("<c:errDir"), "bars have one direction");
    }
}
