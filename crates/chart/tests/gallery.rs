//! One chart of each kind with difficult content: long names, missing values, wide intervals.
//!
//! `PLUMB_GALLERY=DIRECTORY cargo test -p plumb-chart --features png` writes them there for inspection.

#![allow(clippy::disallowed_methods)] // tests write files

use plumb_chart::{
    Axis, Bar, BarGroup, BarShape, Bars, Body, Chart, Density, DensityCell, DensityColumn, Forest, ForestRow, Format,
    Heat, Lines, Mark, NARROW, Panel, Place, Point, Scale, Series, SeriesShape, WIDE,
};

fn axis(title: &str, format: Format, scale: Scale) -> Axis {
    Axis { title: title.to_owned(), format, scale }
}

fn chart(name: &str, title: &str, body: Body) -> Chart {
    let caption =
        "How to read it stands here, in a sentence that is long enough to be broken where the picture is narrow."
            .to_owned();
    Chart { name: name.to_owned(), title: title.to_owned(), caption, alt: format!("{title}, in words."), body }
}

fn forest() -> Chart {
    let row = |label: &str, value, interval, mark, words: &str| ForestRow {
        label: label.to_owned(),
        value,
        interval,
        mark,
        words: words.to_owned(),
    };
    let rows = vec![
        row("16 writers write.bw", Some(1.31), Some((1.24, 1.39)), Mark::Better, "1.31× (1.24 – 1.39) faster"),
        row("one stream write.bw", Some(0.99), Some((0.97, 1.02)), Mark::Equal, "0.99× (0.97 – 1.02) equivalent"),
        row("random-read with a very long name read.lat.p99", Some(0.7), Some((0.6, 0.8)), Mark::Worse, "0.70× slower"),
        row("mail txn.ops", Some(2.0), Some((0.001, 900.0)), Mark::Open, "cannot tell"),
        row("log & <fsync>", None, None, Mark::Open, "no run was accepted"),
        row("secondary", Some(1.1), Some((1.0, 1.2)), Mark::Unjudged, "1.10× (1.00 – 1.20)"),
    ];
    let axis_title = "raid5 against raid4: right of 1 it is better".to_owned();
    chart("forest", "RAID 5 against RAID 4", Body::Forest(Forest { axis_title, band: Some((1.0 / 1.05, 1.05)), rows }))
}

fn bars(shape: BarShape) -> Chart {
    let bar = |series, value: Option<f64>, spread: f64| Bar {
        series,
        value,
        interval: value.map(|value| (value * (1.0 - spread), value * (1.0 + spread))),
        runs: value.map_or(Vec::new(), |value| {
            (0..6).map(|run| value * (1.0 + spread * (f64::from(run) - 2.5) / 2.5)).collect()
        }),
        missing: "rejected".to_owned(),
    };
    let group = |label: &str, a, b| BarGroup { label: label.to_owned(), bars: vec![bar(0, a, 0.04), bar(1, b, 0.12)] };
    let groups = vec![
        group("stream-write", Some(412e6), Some(315e6)),
        group("random-read", Some(12e6), None),
        group("a workload with a name that is too long for its place", Some(88e6), Some(120e6)),
    ];
    let (axis, series) = (axis("Rate", Format::Rate, Scale::FromZero), vec!["raid4".to_owned(), "raid5".to_owned()]);
    let name = if shape == BarShape::Bar { "bars" } else { "dots" };
    chart(name, "Rates by level", Body::Bars(Bars { axis, series, groups, shape }))
}

fn series(name: &str, shape: SeriesShape, points: impl Iterator<Item = (f64, Option<f64>)>) -> Series {
    let points = points.map(|(x, y)| Point { x, y, interval: y.map(|y| (y * 0.9, y * 1.1)) }).collect();
    Series { name: name.to_owned(), shape, points }
}

fn time_series() -> Chart {
    let rate = (0..120).map(|s| (f64::from(s) * 1e9, (s != 40).then_some(3e8 + f64::from((s * 37) % 50) * 1e6)));
    let busy = (0..120).map(|s| (f64::from(s) * 1e9, Some(0.8 + f64::from(s % 10) / 60.0)));
    let panel = |title: &str, format, height, series| Panel { y: axis(title, format, Scale::FromZero), height, series };
    let panels = vec![
        panel("Rate", Format::Rate, 150.0, vec![series("write", SeriesShape::Line, rate)]),
        panel("sda busy", Format::Share, 50.0, vec![series("sda", SeriesShape::Line, busy)]),
    ];
    let marks = vec![Place { at: 70e9, sign: "E3".to_owned(), label: "E3: the rate falls from here on".to_owned() }];
    chart(
        "time",
        "Rate over time",
        Body::Lines(Lines { x: axis("Time", Format::Time, Scale::FromZero), x_names: vec![], panels, marks }),
    )
}

fn sweep() -> Chart {
    let curve =
        |by: f64| (0..9).map(move |i| (f64::from(1 << i), Some(by * 1e4 * (1.0 - (-f64::from(1 << i) / 8.0).exp()))));
    let all = ["4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"];
    let series =
        all.iter().enumerate().map(|(i, name)| series(name, SeriesShape::Line, curve(1.0 + i as f64 / 3.0))).collect();
    let panels = vec![Panel { y: axis("IOPS", Format::Iops, Scale::FromZero), height: 220.0, series }];
    chart(
        "sweep",
        "Rate by depth",
        Body::Lines(Lines { x: axis("Depth", Format::Count, Scale::Log), x_names: vec![], panels, marks: vec![] }),
    )
}

fn percentiles() -> Chart {
    let at = [0.5, 0.9, 0.99, 0.999, 0.9999];
    let curve = |by: f64| at.into_iter().zip([1e5, 2e5, 9e5, 4e6, 2e7]).map(move |(x, y)| (x, Some(y * by)));
    let all = vec![series("service", SeriesShape::Line, curve(1.0)), series("response", SeriesShape::Line, curve(3.0))];
    let panels = vec![Panel { y: axis("Latency", Format::Time, Scale::Log), height: 200.0, series: all }];
    chart(
        "latency",
        "Latency",
        Body::Lines(Lines {
            x: axis("Share of ops", Format::Share, Scale::Nines),
            x_names: vec![],
            panels,
            marks: vec![],
        }),
    )
}

fn heat(x: usize, y: usize) -> Chart {
    let cell =
        |row: usize, column: usize| (row >= column / 2).then_some(1e8 * (1.0 + column as f64) / (1.0 + row as f64));
    let cells = (0..y).map(|row| (0..x).map(|column| cell(row, column)).collect()).collect();
    let heat = Heat {
        x: (0..x).map(|i| format!("{} KiB", 4 << i.min(30))).collect(),
        x_title: "Record".to_owned(),
        y: (0..y).map(|i| format!("{} MiB", 1 << i.min(20))).collect(),
        y_title: "File".to_owned(),
        cells,
        values: Format::Rate,
        values_title: "Write rate".to_owned(),
        print_values: true,
        edges: vec![(y / 2, "memory ends".to_owned())],
    };
    chart(if x > 20 { "heat-dense" } else { "heat" }, "Write by file and record", Body::Heat(heat))
}

/// Two modes, and a stall in which no op completed.
fn density() -> Chart {
    let cell = |from: f64, value| DensityCell { from, to: from * 1.25, value };
    let column = |second: u32| {
        let mode = if second == 30 { vec![] } else { vec![cell(8e4, 9e3), cell(1e5, 4e4), cell(1.25e5, 2e4)] };
        let slow = (second > 45).then(|| cell(5e6, 30.0));
        DensityColumn {
            from: f64::from(second) * 1e9,
            to: f64::from(second + 1) * 1e9,
            hover_text: format!("second {second}"),
            cells: mode.into_iter().chain(slow).collect(),
        }
    };
    let density = Density {
        x: axis("Time", Format::Time, Scale::FromZero),
        y: axis("Time of an op", Format::Time, Scale::Log),
        values: Format::Ops,
        values_title: "Ops of that latency".to_owned(),
        columns: (0..60).map(column).collect(),
    };
    chart("density", "Latency over time", Body::Density(density))
}

fn interactions() -> Chart {
    let level = |name, values: [f64; 3]| {
        series(name, SeriesShape::Line, values.into_iter().enumerate().map(|(x, y)| (x as f64, Some(y))))
    };
    let panels = vec![Panel {
        y: axis("Rate", Format::Rate, Scale::FromZero),
        height: 170.0,
        series: vec![level("raid4", [3e8, 2e8, 1e8]), level("raid5", [1e8, 2e8, 3e8])],
    }];
    let x_names = ["ext4", "xfs", "a file system with a long name"].map(str::to_owned).to_vec();
    chart(
        "interactions",
        "Level by file system",
        Body::Lines(Lines { x: axis("fs", Format::Count, Scale::Linear), x_names, panels, marks: vec![] }),
    )
}

fn ecdf() -> Chart {
    let steps = (0..=30).map(|rank| (1e8 + f64::from(rank * rank) * 1e5, Some(f64::from(rank) / 30.0)));
    let points = steps.map(|(x, y)| Point { x, y, interval: None }).collect();
    let panels = vec![Panel {
        y: axis("Share of runs", Format::Share, Scale::FromZero),
        height: 150.0,
        series: vec![Series { name: "runs".to_owned(), shape: SeriesShape::Steps, points }],
    }];
    let x = axis("Rate", Format::Rate, Scale::Linear);
    chart("ecdf", "All runs", Body::Lines(Lines { x, x_names: vec![], panels, marks: vec![] }))
}

fn gallery() -> Vec<Chart> {
    vec![
        density(),
        interactions(),
        ecdf(),
        forest(),
        bars(BarShape::Bar),
        bars(BarShape::Point),
        time_series(),
        sweep(),
        percentiles(),
        heat(9, 8),
        heat(60, 40),
    ]
}

/// Returns every text of a drawing with its leftmost and rightmost possible position.
fn texts(svg: &str) -> Vec<(f64, f64, String)> {
    let attribute = |tag: &str, name: &str| {
        let from = tag.find(&format!(" {name}=\"")).map(|at| at + name.len() + 3)?;
        tag[from..].split('"').next().map(str::to_owned)
    };
    let mut found = Vec::new();
    for part in svg.split("<text").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        let text = rest.split("</text>").next().unwrap().to_owned();
        let number = |name: &str| attribute(tag, name).unwrap().parse::<f64>().unwrap();
        // Assume narrow letters, so that text beyond this width is certainly outside of the drawing.
        let width = text.chars().count() as f64 * number("font-size") * 0.45;
        let x = number("x");
        let from = match attribute(tag, "text-anchor").as_deref() {
            Some("middle") => x - width / 2.0,
            Some("end") => x - width,
            _ => x,
        };
        found.push((from, from + width, text));
    }
    found
}

// Protects: no text leaves the drawing, on a desk or on a telephone; letters are large enough to read; user-defined
// names are not interpreted as markup.
#[test]
fn texts_stay_within_the_drawing_and_are_readable() {
    for chart in gallery() {
        for width in [WIDE, NARROW] {
            let svg = chart.inline(width);
            assert!(svg.contains(&format!("aria-label=\"{}", chart.alt)), "{}", chart.name);
            assert!(!svg.contains("<fsync>") && !svg.contains("NaN") && !svg.contains("inf"), "{}", chart.name);
            for (from, to, text) in texts(&svg) {
                assert!(from > -2.0 && to < width + 2.0, "{} at {width}: {from:.0}–{to:.0} {text}", chart.name);
            }
            assert!(!svg.contains("font-size=\"9"), "{}", chart.name);
        }
    }
}

// Protects: the end of a long name, which distinguishes a read from a write, has a separate line.
#[test]
fn long_names_are_complete() {
    let ends = [
        (forest(), WIDE, "read.lat.p99"),
        (forest(), NARROW, "read.lat.p99"),
        (bars(BarShape::Bar), WIDE, "for its place"),
    ];
    for (chart, width, end) in ends {
        let texts = texts(&chart.inline(width));
        assert!(texts.iter().any(|(.., text)| text.ends_with(end)), "{} at {width}: {texts:?}", chart.name);
    }
}

// Protects: an inline drawing has no colours of its own, and a file has all of them.
#[test]
fn inline_drawings_use_page_colours() {
    let css = plumb_chart::style_sheet();
    for chart in gallery() {
        let inline = chart.inline(WIDE);
        assert!(!inline.contains("fill=\"#") && !inline.contains("stroke=\"#"), "{}", chart.name);
        for class in inline.split("class=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(css.contains(&format!(".{class}{{")), "{class} of {}", chart.name);
        }
        assert!(!chart.svg().contains("class="), "{}", chart.name);
    }
}

// Protects: the picture has the size of the drawing, and all letters even if the machine has no fonts.
#[cfg(feature = "png")]
#[test]
fn pictures_are_drawn_without_fonts() {
    for chart in gallery() {
        let png = chart.png().unwrap();
        assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
        let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
        assert_eq!(width, 2 * WIDE as u32, "{}", chart.name);
        if let Some(directory) = std::env::var_os("PLUMB_GALLERY") {
            let directory = std::path::Path::new(&directory);
            std::fs::create_dir_all(directory).unwrap();
            std::fs::write(directory.join(format!("{}.png", chart.name)), &png).unwrap();
            std::fs::write(directory.join(format!("{}.svg", chart.name)), chart.svg()).unwrap();
            std::fs::write(directory.join(format!("{}-narrow.svg", chart.name)), chart.inline(NARROW)).unwrap();
        }
    }
}

#[test]
fn a_chart_of_each_kind_is_drawn_as_before() {
    insta::assert_snapshot!(forest().svg());
    insta::assert_snapshot!(sweep().inline(NARROW));
}
