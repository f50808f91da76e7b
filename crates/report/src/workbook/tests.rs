use super::*;
use std::io::Read;

/// Returns a part of a workbook as text.
fn part(file: &[u8], name: &str) -> String {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(file)).unwrap();
    let mut text = String::new();
    archive.by_name(name).unwrap_or_else(|_| panic!("no {name}")).read_to_string(&mut text).unwrap();
    text
}

fn plain() -> Format {
    Format::new()
}

/// Writes a sheet with three rows and a chart of some series over them. Returns the file.
fn charted(kind: ChartType, series: &[Series<'_>], title: &str) -> Vec<u8> {
    let mut book = new_book();
    let mut sheet = Sheet::add(&mut book, "it & its").unwrap();
    for row in 0..3 {
        sheet.text(row, 0, &format!("row {row}"), &plain()).unwrap();
        sheet.number(row, 2, 0.5, &plain()).unwrap();
    }
    sheet.number(0, 1, 1.5, &plain()).unwrap();
    sheet.number(2, 1, 2.5, &plain()).unwrap();
    let mut chart = SheetChart::new(kind, title, title, (90, 90));
    axis_title(chart.values(), "MB/s");
    chart.values().set_log_base(10).set_min(1.0);
    for one in series {
        chart.add(&sheet, one);
    }
    sheet.chart(5, 0, chart).unwrap();
    finish(book).unwrap()
}

fn series(colour: &'static str, mark: Mark) -> Series<'static> {
    let sizes = Area::of_column(2, 0, 2);
    Series {
        name: "a & b",
        colour,
        categories: Area::of_column(0, 0, 2),
        values: Area::of_column(1, 0, 2),
        intervals: Some(Intervals { are_of_categories: false, above: sizes, below: sizes }),
        mark,
    }
}

const CHART: &str = "xl/charts/chart1.xml";

// Protects users: an error names the sheet, the cell, and an alternative.
#[test]
fn errors_name_sheet_and_cell() {
    let of = |row: u32, column: u16, text: &str| {
        let mut book = new_book();
        let mut sheet = Sheet::add(&mut book, "Data").unwrap();
        sheet.text(row, column, text, &plain()).unwrap_err().to_string()
    };
    let columns = of(0, 16_384, "x");
    assert!(columns.contains("cell XFE1 of sheet `Data`") && columns.contains("CSV has no such limits"), "{columns}");
    assert!(of(ROWS_MAX + 5, 0, "x").contains("cell A1048582 of sheet"));
    assert!(of(2, 1, &"x".repeat(32_768)).contains("cell B3 of sheet"));
    assert!(of(0, u16::MAX, "x").contains("of sheet `Data`"));
    for name in ["", "a/b", "'s", &"x".repeat(32)] {
        let mut book = new_book();
        let error = Sheet::add(&mut book, name).err().unwrap().to_string();
        assert!(error.contains(&format!("sheet `{name}`")), "{error}");
    }
    let mut book = new_book();
    for name in ["Data", "data"] {
        Sheet::add(&mut book, name).unwrap();
    }
    assert!(finish(book).unwrap_err().to_string().contains("already been used"));
}

// Protects reproducible reports: the file contains no current time.
#[test]
fn the_same_cells_make_the_same_bytes() {
    let make = || charted(ChartType::Line, &[series("#0072b2", Mark::Line)], "t");
    let first = make();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(first == make());
    assert!(part(&first, "docProps/core.xml").contains("1980-01-01T00:00:00Z"));
}

// Protects readers: names and texts are never interpreted as formulas, cells or markup.
#[test]
fn hostile_texts_stay_texts() {
    for text in
        ["=SUM(A1:A3)", "=(a!A1,b!B2)", "=Table[x]", "Boom!A1", "<a> & \"b\"", "bell\u{7}, escape\u{1b}[2J", "x_x000B_"]
    {
        let mut hostile = series("#0072b2", Mark::Line);
        hostile.name = text;
        let file = charted(ChartType::Line, &[hostile], text);
        let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&file[..])).unwrap();
        for index in 0..archive.len() {
            let mut xml = String::new();
            archive.by_index(index).unwrap().read_to_string(&mut xml).unwrap();
            assert!(!xml.contains(|c: char| c < ' ' && !matches!(c, '\n' | '\r' | '\t')), "{xml}");
            assert!(!xml.contains("<f>") && !xml.contains("<a> "), "{xml}");
        }
        let chart = part(&file, CHART);
        assert!(!chart.contains("<c:tx><c:strRef>"), "{text} is taken for cells: {chart}");
    }
    let mut book = new_book();
    let mut sheet = Sheet::add(&mut book, "s").unwrap();
    sheet.text(0, 0, "=1+1", &plain()).unwrap();
    sheet.number(1, 0, f64::INFINITY, &plain()).unwrap();
    let file = finish(book).unwrap();
    assert!(part(&file, "xl/sharedStrings.xml").contains("<t>=1+1</t>"));
    assert!(part(&file, "xl/sharedStrings.xml").contains("<t>inf</t>"));
}

// Protects charts: without explicit colours LibreOffice draws nothing, and two lines of one colour must differ.
#[test]
fn series_have_colours_and_a_second_one_of_a_colour_is_dashed() {
    let all = ["#0072b2", "#d55e00", "#0072b2"].map(|colour| series(colour, Mark::Line));
    let lines = part(&charted(ChartType::Line, &all, "t"), CHART);
    let drawn: Vec<&str> = lines.split("<c:ser>").skip(1).collect();
    assert!(drawn[0].contains("0072B2") && drawn[1].contains("D55E00"), "{lines}");
    let dashes: Vec<bool> = drawn.iter().map(|one| one.contains("<a:prstDash val=\"dash\"/>")).collect();
    assert_eq!(dashes, [false, false, true]);
    let bars = part(&charted(ChartType::Bar, &[series("#0072b2", Mark::Bar)], "t"), CHART);
    assert!(bars.contains("<a:solidFill><a:srgbClr val=\"0072B2\"/></a:solidFill>"), "{bars}");
    assert!(bars.contains("<c:orientation val=\"maxMin\"/>"), "the first bar is at the top: {bars}");
}

// Protects viewers that do not calculate: the chart contains the values of its cells, and none for an empty cell.
#[test]
fn the_values_of_cells_are_copied_and_empty_ones_left_out() {
    let lines = part(&charted(ChartType::Line, &[series("#0072b2", Mark::LineWithDiscs)], "t"), CHART);
    let values = "<c:f>'it &amp; its'!$B$1:$B$3</c:f><c:numCache><c:formatCode>General</c:formatCode><c:ptCount val=\"3\"/>\
                  <c:pt idx=\"0\"><c:v>1.5</c:v></c:pt><c:pt idx=\"2\"><c:v>2.5</c:v></c:pt></c:numCache>";
    assert!(lines.contains(values), "{lines}");
    assert!(lines.contains("<c:pt idx=\"0\"><c:v>row 0</c:v>") && lines.contains("<c:tx><c:v>a &amp; b</c:v></c:tx>"));
    assert!(lines.contains("<c:logBase val=\"10\"/>"), "{lines}");
}

// Protects intervals: they extend along the values, in charts of every kind.
#[test]
fn intervals_are_error_bars_along_the_values() {
    let of = |kind, mark, are_of_categories| {
        let mut one = series("#0072b2", mark);
        one.intervals = one.intervals.map(|intervals| Intervals { are_of_categories, ..intervals });
        let chart = part(&charted(kind, &[one], "t"), CHART);
        let bars = chart.split("<c:errBars>").nth(1).unwrap_or_else(|| panic!("no error bars: {chart}"));
        let bars = bars.split("</c:errBars>").next().unwrap().to_owned();
        assert!(bars.contains("<c:plus><c:numRef><c:f>'it &amp; its'!$C$1:$C$3</c:f>") && bars.contains("<c:minus>"));
        bars
    };
    // Bars have only one direction.
    assert!(!of(ChartType::Bar, Mark::Bar, false).contains("<c:errDir"));
    assert!(!of(ChartType::Column, Mark::Bar, false).contains("<c:errDir"));
    assert!(of(ChartType::Line, Mark::Line, false).contains("<c:errDir val=\"y\"/>"));
    assert!(of(ChartType::ScatterStraight, Mark::Disc, false).contains("<c:errDir val=\"y\"/>"));
    assert!(of(ChartType::ScatterStraight, Mark::Diamond, true).contains("<c:errDir val=\"x\"/>"));
}

// Protects readers on paper: one landscape page wide, with the head on each page and on the screen.
#[test]
fn sheets_print_and_scroll_as_requested() {
    let mut book = new_book();
    let mut sheet = Sheet::add(&mut book, "s").unwrap();
    sheet.freeze(2, 1).unwrap();
    sheet.print(0, 2).unwrap();
    sheet.merged_text(3, (0, 7), "long", &plain()).unwrap();
    sheet.height(3, 5000.0).unwrap();
    sheet.filter(Area { first: (0, 0), last: (2, 3) }).unwrap();
    let file = finish(book).unwrap();
    let xml = part(&file, "xl/worksheets/sheet1.xml");
    for wanted in [
        "paperSize=\"9\"",
        "orientation=\"landscape\"",
        "fitToPage=\"1\"",
        "fitToHeight=\"0\"",
        "xSplit=\"1\" ySplit=\"2\"",
        "state=\"frozen\"",
        "<mergeCell ref=\"A4:H4\"/>",
        "ht=\"408.75\"",
        "<autoFilter ref=\"A1:D3\"/>",
    ] {
        assert!(xml.contains(wanted), "no {wanted}: {xml}");
    }
    assert!(part(&file, "xl/workbook.xml").contains("s!$1:$2"));
}
