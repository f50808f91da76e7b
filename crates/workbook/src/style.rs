//! How cells look.

use crate::part::Part;

/// How a cell looks. What is not said is as a new workbook has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Bold.
    pub is_bold: bool,
    /// Points; 0 is the usual 11.
    pub font_points: u8,
    /// Long texts are broken, and begin at the top of the cell.
    pub is_wrapped: bool,
    /// At the right of the cell.
    pub is_right: bool,
    /// A line at the cell.
    pub border: Border,
    /// How a number is written.
    pub number: NumberFormat,
}

/// A line at a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Border {
    #[default]
    /// No line.
    None,
    /// A thin one below.
    ThinBelow,
    /// A thick one above.
    ThickAbove,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NumberFormat {
    /// As the spreadsheet likes.
    #[default]
    General,
    /// `12,345`.
    Whole,
    /// `12,345.6`.
    Tenths,
    /// `12,345.678`, with one digit behind the point where more are zeros.
    Thousandths,
}

impl NumberFormat {
    /// The format in the words of spreadsheets.
    pub const fn code(self) -> &'static str {
        match self {
            NumberFormat::General => "General",
            NumberFormat::Whole => "#,##0",
            NumberFormat::Tenths => "#,##0.0",
            NumberFormat::Thousandths => "#,##0.0##",
        }
    }
}

impl Style {
    /// Bold, and otherwise as usual.
    pub const BOLD: Style = Style { is_bold: true, ..Style::PLAIN };
    /// As usual.
    pub const PLAIN: Style = Style {
        is_bold: false,
        font_points: 0,
        is_wrapped: false,
        is_right: false,
        border: Border::None,
        number: NumberFormat::General,
    };

    /// Of numbers.
    pub const fn number(number: NumberFormat) -> Style {
        Style { number, ..Style::PLAIN }
    }
}

/// The styles of a workbook; cells name them by their index.
#[derive(Debug)]
pub struct Styles(Vec<Style>);

impl Styles {
    pub fn new() -> Styles {
        // The first is that of cells without one.
        Styles(vec![Style::PLAIN])
    }

    pub fn index_of(&mut self, style: Style) -> usize {
        match self.0.iter().position(|known| *known == style) {
            Some(index) => index,
            None => {
                self.0.push(style);
                self.0.len() - 1
            }
        }
    }

    /// The part with the styles: each has a font, a border and a number format of its own.
    pub fn part(&self) -> Part {
        let mut part = Part::new();
        part.add("<styleSheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">");
        self.list(&mut part, "numFmts", |part, index, style| {
            part.add("<numFmt");
            part.attribute("numFmtId", FIRST_OWN_FORMAT + index);
            part.attribute("formatCode", style.number.code());
            part.add("/>");
        });
        self.list(&mut part, "fonts", |part, _, style| {
            part.add(if style.is_bold { "<font><b/><sz" } else { "<font><sz" });
            part.attribute("val", if style.font_points == 0 { 11 } else { style.font_points });
            part.add("/><name val=\"Calibri\"/><family val=\"2\"/></font>");
        });
        // Both must be there.
        part.add("<fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill>");
        part.add("<fill><patternFill patternType=\"gray125\"/></fill></fills>");
        self.list(&mut part, "borders", |part, _, style| {
            part.add("<border><left/><right/>");
            part.add(match style.border {
                Border::None => "<top/><bottom/>",
                Border::ThinBelow => "<top/><bottom style=\"thin\"><color auto=\"1\"/></bottom>",
                Border::ThickAbove => "<top style=\"thick\"><color auto=\"1\"/></top><bottom/>",
            });
            part.add("<diagonal/></border>");
        });
        part.add(
            "<cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>",
        );
        self.list(&mut part, "cellXfs", |part, index, style| {
            part.add("<xf");
            let general = style.number == NumberFormat::General;
            part.attribute("numFmtId", if general { 0 } else { FIRST_OWN_FORMAT + index });
            part.attribute("fontId", index);
            part.attribute("fillId", 0);
            part.attribute("borderId", index);
            part.add(" xfId=\"0\" applyNumberFormat=\"1\" applyFont=\"1\" applyBorder=\"1\" applyAlignment=\"1\">");
            part.add(match (style.is_right, style.is_wrapped) {
                (false, false) => "<alignment/>",
                (true, false) => "<alignment horizontal=\"right\"/>",
                (false, true) => "<alignment vertical=\"top\" wrapText=\"1\"/>",
                (true, true) => "<alignment horizontal=\"right\" vertical=\"top\" wrapText=\"1\"/>",
            });
            part.add("</xf>");
        });
        part.add("<cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles>");
        part.add("</styleSheet>");
        part
    }

    fn list(&self, part: &mut Part, element: &str, one: fn(&mut Part, usize, &Style)) {
        part.add("<");
        part.add(element);
        part.attribute("count", self.0.len());
        part.add(">");
        for (index, style) in self.0.iter().enumerate() {
            one(part, index, style);
        }
        part.add("</");
        part.add(element);
        part.add(">");
    }
}

/// The first number of a format that is not the application's own.
const FIRST_OWN_FORMAT: usize = 164;
