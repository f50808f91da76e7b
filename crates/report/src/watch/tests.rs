use super::*;
use crate::style::Colour;
use plumb_result::watch::{CpuUse, OpUse, WATCH_SCHEMA};

fn device(name: &str, write: f64) -> DeviceUse {
    let busy = write > 0.0;
    DeviceUse {
        name: name.to_owned(),
        write: OpUse { bytes_per_s: write, ops_per_s: write / 4096.0, latency_ns: busy.then_some(1.5e6) },
        latency_ns: busy.then_some(1.5e6),
        queue_depth: if busy { 12.345 } else { 0.0 },
        busy: if busy { 0.987 } else { 0.0 },
        ..DeviceUse::default()
    }
}

fn watched(devices: Vec<DeviceUse>, processes: usize, closed: usize) -> Watched {
    let process = |number: usize| ProcessRate {
        pid: 4_190_000 + number as u32,
        command: format!("a rather long command {number}"),
        read_bytes_per_s: 0.0,
        write_bytes_per_s: 1e8 / (number + 1) as f64,
    };
    Watched {
        schema: WATCH_SCHEMA.to_owned(),
        at: "2026-11-21T12:34:56Z".to_owned(),
        interval_ns: 1_000_000_000,
        cpu: CpuUse { user: 0.12, kernel: 0.08, iowait: 0.03, steal: 0.001, idle: 0.769 },
        devices,
        processes: (0..processes).map(process).collect(),
        processes_readable: 100,
        processes_closed: closed,
        is_root: false,
    }
}

fn title() -> Title {
    Title { host: "vm".to_owned(), clock: "12:34:56".to_owned(), interval: "1 s".to_owned(), state: PictureState::Live }
}

fn drawn(now: &Watched, width: usize, rows: usize) -> Vec<String> {
    let mut history = DeviceHistory::default();
    for step in 1..=30 {
        let mut past = now.clone();
        past.devices.iter_mut().for_each(|device| device.write.bytes_per_s *= f64::from(step) / 30.0);
        history.push(&past.devices);
    }
    screen(now, &history, &title(), &Style { width, colour: Colour::Never }, rows)
}

// Protects: a terminal of 80 columns shows all of it, and the picture as a whole.
#[test]
fn eighty_columns() {
    let now = watched(vec![device("nvme0n1", 118_234_567.0), device("sda", 0.0), device("vda", 1.2e9)], 4, 3);
    insta::assert_snapshot!(drawn(&now, 80, 24).join("\n"));
}

// Protects: no line is wider and no picture higher than its window, however small, and whatever there is to show.
#[test]
fn every_window_is_wide_and_high_enough() {
    for width in [40, 80, 100, 140] {
        for rows in [5, 10, 24, 60] {
            for count in [0, 1, 30] {
                let devices = (0..count).map(|n| device(&format!("a-device-of-a-long-name-{n}"), 9.99e11)).collect();
                let lines = drawn(&watched(devices, 25, 999), width, rows);
                assert!(lines.len() <= rows, "{width}×{rows}: {} lines", lines.len());
                for line in lines.iter().filter(|_| width >= 80) {
                    assert!(line.chars().count() <= width, "{width}×{rows}: {line}");
                }
            }
        }
    }
}

// Protects: devices come first where there is little room.
#[test]
fn a_low_window_shows_devices() {
    let now = watched(vec![device("sda", 1e6), device("sdb", 2e6), device("sdc", 3e6)], 9, 3);
    let lines = drawn(&now, 80, 14);
    let shown = lines.iter().filter(|line| line.starts_with("  sd")).count();
    let processes = lines.iter().filter(|line| line.contains("a rather long command")).count();
    assert!(shown >= 1 && processes >= 2 && lines.iter().any(|line| line.contains("also at work: ")), "{lines:#?}");
}

// Protects: lines for programs: a device and a process a line, what is missing is no 0, what is unseen is said.
#[test]
fn plain_lines() {
    let now = watched(vec![device("vda", 118_234_567.0), device("sda", 0.0)], 7, 3);
    let text = plain(&now, "12:34:56", false);
    assert_eq!(
        text.lines().next().unwrap(),
        "12:34:56 vda: read 0 in 0, – each; wrote 118 MB/s in 28.9 k/s, 1.50 ms each; queue 12.35, busy 99 %"
    );
    assert!(
        text.contains("who: a rather long command 0 (4190000) wrote 100 MB/s; ")
            && text.contains("; 2 more (the I/O of 3 of 103 processes is closed to this user; root sees all)")
    );
    assert!(!text.contains("sda"));
    let mut fast = now.clone();
    (fast.devices[0].write.latency_ns, fast.is_root) = (Some(0.0), true);
    let text = plain(&fast, "12:34:56", false);
    assert!(text.contains(", < 1 ms each") && text.contains("closed to this user)"), "{text}");
    assert!(plain(&now, "12:34:56", true).contains("12:34:56 sda: read 0"));
    assert_eq!(
        plain(&watched(Vec::new(), 0, 0), "12:34:56", false),
        "12:34:56 nothing was asked of any device\n12:34:56 who: nobody\n"
    );
}

// Protects: colours say nothing that the text does not, and go away.
#[test]
fn colours_are_extra() {
    let now = watched(vec![device("vda", 1e6)], 1, 1);
    let mut history = DeviceHistory::default();
    history.push(&now.devices);
    let coloured = screen(&now, &history, &title(), &Style { width: 80, colour: Colour::Ansi }, 24).join("\n");
    let coloured = plumb_text::visible(&coloured).into_owned();
    let plain = screen(&now, &history, &title(), &Style { width: 80, colour: Colour::Never }, 24).join("\n");
    let mut bare = coloured.clone();
    for code in ["1", "2", "31", "32", "33", "0"] {
        bare = bare.replace(&format!("\x1b[{code}m"), "");
    }
    assert!(coloured.contains("\x1b[") && bare == plain);
}
