use super::*;
use crate::screen::drawn;
use plumb_result::watch::{CpuUse, DeviceUse, OpUse, WATCH_SCHEMA};
use ratatui::backend::TestBackend;

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

fn history(now: &Watched) -> DeviceHistory {
    let mut history = DeviceHistory::default();
    for step in 1..=30 {
        let mut past = now.clone();
        past.devices.iter_mut().for_each(|device| device.write.bytes_per_s *= f64::from(step) / 30.0);
        history.push(&past.devices);
    }
    history
}

fn window(now: &Watched, colour: Colour, width: u16, rows: u16) -> TestBackend {
    let screen = WatchScreen { now: Some(now), history: &history(now), title: &title(), colour };
    drawn::window(&screen, width, rows)
}

fn drawn(now: &Watched, width: u16, rows: u16) -> String {
    let screen = WatchScreen { now: Some(now), history: &history(now), title: &title(), colour: Colour::Never };
    drawn::text(&screen, width, rows)
}

// Protects: everything fits in 80 columns, a large window shows more columns, and a small one keeps the devices.
#[test]
fn three_windows() {
    let now = watched(vec![device("nvme0n1", 118_234_567.0), device("sda", 0.0), device("vda", 1.2e9)], 4, 3);
    insta::assert_snapshot!("watch_80x24", window(&now, Colour::Never, 80, 24));
    insta::assert_snapshot!("watch_120x40", window(&now, Colour::Never, 120, 40));
    insta::assert_snapshot!("watch_40x12", window(&now, Colour::Never, 40, 12));
}

// Protects: the first line is shown before the first numbers.
#[test]
fn before_the_first_interval() {
    let screen = WatchScreen { now: None, history: &DeviceHistory::default(), title: &title(), colour: Colour::Never };
    let text = drawn::text(&screen, 80, 24);
    assert!(text.contains("plumb watch · vm") && text.ends_with("q quits\nthe first numbers come in 1 s"), "{text}");
}

// Protects: a paused screen is marked as such, even in a narrow window.
#[test]
fn a_paused_screen_is_marked() {
    let paused = Title { state: PictureState::Paused, ..title() };
    let screen = WatchScreen { now: None, history: &DeviceHistory::default(), title: &paused, colour: Colour::Never };
    for width in [60, 80, 200] {
        assert!(drawn::text(&screen, width, 3).contains("paused  p resumes"), "{width}");
    }
}

// Protects: windows and machines of any size can be drawn.
#[test]
fn every_window_can_be_drawn_in() {
    for width in [1, 2, 9, 40, 80, 100, 140, 300] {
        for rows in [1, 2, 3, 5, 10, 24, 60] {
            for count in [0, 1, 30] {
                let devices = (0..count).map(|n| device(&format!("a-device-of-a-long-name-{n}"), 9.99e11)).collect();
                drawn(&watched(devices, 25, 999), width, rows);
            }
        }
    }
}

// Protects a terminal from process names, which programs choose themselves.
#[test]
fn hidden_characters_are_escaped() {
    let mut now = watched(vec![device("vda\u{1b}[2J", 1e6)], 1, 0);
    now.processes[0].command = "\u{1b}]0;x\u{7}\u{202e}".to_owned();
    let text = drawn(&now, 80, 24);
    assert!(text.contains("1b") && text.contains("202e"), "{text}");
    assert!(!text.contains(|letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}')), "{text}");
}

// Protects: devices come first if there is little room.
#[test]
fn a_low_window_shows_devices() {
    let now = watched(vec![device("sda", 1e6), device("sdb", 2e6), device("sdc", 3e6)], 9, 3);
    let text = drawn(&now, 80, 14);
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.iter().filter(|line| line.starts_with("  sd")).count();
    let processes = lines.iter().filter(|line| line.contains("a rather long command")).count();
    assert!(shown >= 1 && processes >= 2 && lines.iter().any(|line| line.contains("also at work: ")), "{lines:#?}");
}

// Protects: lines for programs: one for each device and one for processes; missing values are not 0,
// and unreadable processes are counted.
#[test]
fn plain_lines() {
    let now = watched(vec![device("vda", 118_234_567.0), device("sda", 0.0)], 7, 3);
    let text = plain(&now, "12:34:56", false);
    assert_eq!(
        text.lines().next().unwrap(),
        "12:34:56 vda: read 0 in 0, – each; wrote 118 MB/s in 28.9 k/s, 1.50 ms each; queue 12.35, busy 99 %"
    );
    assert!(
        text.contains("processes: a rather long command 0 (4190000) wrote 100 MB/s; ")
            && text
                .contains("; 2 more (the I/O of 3 of 103 processes is not readable by this user; root can read all)")
    );
    assert!(!text.contains("sda"));
    let mut fast = now.clone();
    (fast.devices[0].write.latency_ns, fast.is_root) = (Some(0.0), true);
    let text = plain(&fast, "12:34:56", false);
    assert!(text.contains(", < 1 ms each") && text.contains("not readable by this user)"), "{text}");
    assert!(plain(&now, "12:34:56", true).contains("12:34:56 sda: read 0"));
    assert_eq!(
        plain(&watched(Vec::new(), 0, 0), "12:34:56", false),
        "12:34:56 no device was used\n12:34:56 processes: no I/O\n"
    );
}

// Protects: colours carry no information that the text lacks, and can be turned off.
#[test]
fn colours_are_extra() {
    let now = watched(vec![device("vda", 1e6), device("sda", 0.0)], 1, 1);
    let coloured = window(&now, Colour::Ansi, 80, 24);
    drawn::assert_same_text(&coloured, &window(&now, Colour::Never, 80, 24));
    let ink = |x: u16, y: u16| (coloured.buffer()[(x, y)].fg, coloured.buffer()[(x, y)].modifier);
    let of = |ink: Ink| (Colour::Ansi.cell(ink).fg.unwrap_or_default(), Colour::Ansi.cell(ink).add_modifier);
    assert_eq!((ink(0, 0), ink(79, 0)), (of(Ink::Strong), of(Ink::Faint)));
    // The head, the label of a bar, and the bars themselves.
    assert_eq!((ink(2, 3), ink(4, 5)), (of(Ink::Strong), of(Ink::Faint)));
    assert_eq!((ink(25, 5), ink(50, 5), ink(77, 5)), (of(Ink::Good), of(Ink::Caution), of(Ink::Bad)));
}
