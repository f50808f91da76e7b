use super::screen::steadiness;
use super::*;
use crate::screen::drawn;
use crate::stream::fixture::{finding, second};
use crate::style::{Colour, Ink};
use plumb_result::stream::StreamEvent;

fn picture(seconds: u64) -> LivePicture {
    let mut picture = LivePicture::default();
    picture.run_begins("try", "/mnt/a-directory-with-a-rather-long-name/and-another-one/below-it");
    picture.phase_place = "phase 2 of 11".to_owned();
    picture.phase_begins("random-read");
    picture.time_ns = Some(4_000_000_000);
    picture.left_ns = Some(36_000_000_000);
    (0..seconds).for_each(|number| picture.second(second("random-read", 1000 + number, 5000).measured.unwrap()));
    picture
}

fn drawn(picture: &LivePicture, width: u16, rows: u16) -> String {
    drawn::text(&RunScreen { picture, colour: Colour::Never }, width, rows)
}

fn with_findings(mut picture: LivePicture, findings: usize) -> LivePicture {
    for code in 0..findings {
        let message = "A sentence that is long enough to need more than one line of a window that is not very wide.";
        let mut found = finding(StreamEvent::Finding, "random-read", message).finding.unwrap();
        found.code = format!("Z{code}");
        picture.found(&found);
    }
    picture
}

fn done(picture: &mut LivePicture, phase: &str) {
    picture.phase_done(phase, &second(phase, 1000, 5000).measured.unwrap());
}

// Protects: the screen of a run in a window of usual size, in a large one, and in one that is too small for most of it.
#[test]
fn a_run_in_three_windows() {
    let mut picture = LivePicture::default();
    picture.run_begins("try", "/mnt/a-directory-with-a-rather-long-name/and-another-one/below-it");
    done(&mut picture, "seq-read");
    done(&mut picture, "seq-write");
    let begun = self::picture(9);
    (picture.phase_place, picture.phase) = (begun.phase_place, begun.phase);
    (picture.time_ns, picture.left_ns) = (begun.time_ns, begun.left_ns);
    (picture.second, picture.history, picture.devices) = (begun.second, begun.history, begun.devices);
    let picture = with_findings(picture, 5);
    let screen = RunScreen { picture: &picture, colour: Colour::Never };
    insta::assert_snapshot!("run_80x24", drawn::window(&screen, 80, 24));
    insta::assert_snapshot!("run_120x40", drawn::window(&screen, 120, 40));
    insta::assert_snapshot!("run_40x12", drawn::window(&screen, 40, 12));
}

// Protects: the screen of a study between two runs with a failure, in the same windows.
#[test]
fn a_study_in_three_windows() {
    let study = StudyProgress {
        name: "two-disks".to_owned(),
        ended: 5,
        runs: 16,
        rejected: 1,
        failed: 1,
        left: "about 2 min left".to_owned(),
        trouble: "warning: run 6 of 16 failed, with a reason that is far too long for its line of a window".to_owned(),
    };
    let mut picture = LivePicture { study: Some(study), ..LivePicture::default() };
    picture.run_begins("random-read", "sim:ssd");
    picture.part = "plot 2 of 4, run 6 of 16".to_owned();
    picture.phase_begins("random-read");
    done(&mut picture, "random-read");
    picture.study_stage("plot 3 of 4", "", "building");
    let screen = RunScreen { picture: &picture, colour: Colour::Never };
    insta::assert_snapshot!("study_80x24", drawn::window(&screen, 80, 24));
    insta::assert_snapshot!("study_120x40", drawn::window(&screen, 120, 40));
    insta::assert_snapshot!("study_40x12", drawn::window(&screen, 40, 12));
}

// Protects: windows of any size can be drawn, even with many findings.
#[test]
fn every_window_can_be_drawn_in() {
    let picture = with_findings(picture(200), 40);
    for width in [1, 2, 9, 25, 40, 60, 80, 140, 300] {
        for rows in [1, 2, 5, 10, 24, 60] {
            drawn(&picture, width, rows);
        }
    }
}

// Protects: each part has its ink, and colours can be turned off.
#[test]
fn colours_are_extra() {
    let picture = with_findings(picture(3), 1);
    let coloured = drawn::window(&RunScreen { picture: &picture, colour: Colour::Ansi }, 80, 24);
    let plain = drawn::window(&RunScreen { picture: &picture, colour: Colour::Never }, 80, 24);
    drawn::assert_same_text(&coloured, &plain);
    let (buffer, colour) = (coloured.buffer(), Colour::Ansi);
    let ink = |x: u16, y: u16| (buffer[(x, y)].fg, buffer[(x, y)].modifier);
    let of = |ink: Ink| (colour.cell(ink).fg.unwrap_or_default(), colour.cell(ink).add_modifier);
    assert_eq!(ink(0, 0), of(Ink::Strong));
    assert_eq!(ink(79, 0), of(Ink::Faint));
    // The bars of the rate and of the latency.
    assert_eq!((ink(6, 6), ink(6, 7)), (of(Ink::Good), of(Ink::Bad)));
    let row = (0..24).find(|row| buffer[(0, *row)].symbol() == "w").unwrap();
    assert_eq!(ink(0, row), of(Ink::Caution));
}

// Protects a terminal from the text of a run on another host.
#[test]
fn hidden_characters_are_escaped() {
    let mut picture = picture(1);
    picture.study_stage("plot \u{1b}[31m1", "\u{202e}w", "building\u{7}");
    let mut found = finding(StreamEvent::Finding, "random-read", "A \u{9b}31m sentence.").finding.unwrap();
    found.code = "A\u{1b}".to_owned();
    picture.found(&found);
    let text = drawn(&picture, 80, 24);
    for hidden in ["1b", "202e", "07", "9b"] {
        assert!(text.matches(hidden).count() >= 1, "{hidden}: {text}");
    }
    assert!(!text.contains(|letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}')), "{text}");
}

// Protects: the screen has all parts: workload, progress, rates, latency, devices, findings, steadiness.
#[test]
fn it_has_its_parts() {
    let mut picture = picture(6);
    let text = drawn(&picture, 80, 24);
    for part in
        ["plumb · try", "phase 2 of 11 · random-read", "1.0 s of 4.0 s", "about 36 s left", "p99.9", "5.00 µs", "vda"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("in flight 1.5 of 2 · 75 % served by memory · steady: range 0.4"), "{text}");
    assert!(text.contains("no findings so far"), "{text}");
    let found = finding(StreamEvent::Finding, "random-read", "The page cache served the reads.").finding.unwrap();
    picture.found(&found);
    assert!(drawn(&picture, 80, 24).contains("The page cache served the reads."));
    picture.withdrawn(&found);
    assert!(drawn(&picture, 80, 24).contains("no findings so far"));
}

// Protects: no numbers are shown before the first second, and a second without completed ops is reported.
#[test]
fn no_numbers_are_invented() {
    assert!(drawn(&picture(0), 80, 24).contains("waiting for the first second"));
    let mut stalled = picture(1);
    let mut measured = second("random-read", 1, 1).measured.unwrap();
    measured.ops.clear();
    stalled.second(measured);
    let text = drawn(&stalled, 80, 24);
    assert!(text.contains("nothing completed in the last second"), "{text}");
    assert!(!text.contains("steady"), "five seconds are needed: {text}");
}

// Protects: the rule by which a rate is steady.
#[test]
fn steady_by_the_last_five_seconds() {
    assert_eq!(steadiness(&[100.0; 4]), None);
    assert_eq!(steadiness(&[1.0, 100.0, 101.0, 100.0, 99.0, 100.0]).unwrap(), "steady: range 2.0 % in 5 s");
    assert!(steadiness(&[100.0, 150.0, 100.0, 50.0, 100.0]).unwrap().starts_with("not steady: range 100 %"));
    assert_eq!(steadiness(&[0.0; 5]), None);
}

// Protects: in any window, a study shows its progress, its latest failure, and the completed phases of earlier runs.
#[test]
fn a_study_has_its_line() {
    let mut picture = LivePicture { study: Some(StudyProgress::default()), ..LivePicture::default() };
    let study = picture.study.as_mut().unwrap();
    study.name = "two-disks".to_owned();
    (study.ended, study.runs, study.rejected, study.left) = (5, 16, 1, "about 2 min left".to_owned());
    picture.study_stage("plot 2 of 4", "", "building");
    let text = drawn(&picture, 80, 24);
    assert!(text.contains("plumb · two-disks  ") && text.contains("not measuring now"), "{text}");
    assert!(text.contains("5 of 16 runs · 1 rejected · about 2 min left"), "{text}");
    picture.run_begins("random-read", "sim:ssd");
    picture.phase_begins("random-read");
    picture.second(second("random-read", 1000, 5000).measured.unwrap());
    assert!(drawn(&picture, 80, 24).contains("plot 2 of 4 · random-read"));
    picture.phase_done("random-read", &second("random-read", 1000, 5000).measured.unwrap());
    picture.study.as_mut().unwrap().trouble =
        "warning: run 6 of 16 failed, with a reason that is far too long for its line of this window".to_owned();
    picture.run_begins("random-read", "sim:ssd");
    for width in [40, 80] {
        let text = drawn(&picture, width, 24);
        assert!(text.contains("run 6 random-read") && text.contains("warning: run 6 of 16"), "{text}");
    }
}

// Protects: a completed phase stays on the screen with its numbers.
#[test]
fn phases_that_are_over_stay() {
    let mut picture = picture(2);
    let mut service = plumb_result::Histogram::new();
    service.record_n(2000, 10);
    let read = plumb_result::OpMeasurement { count: 10, bytes: 40960, service, ..Default::default() };
    picture.phase_ended(&PhaseMeasurement {
        name: "seq-read".to_owned(),
        wall_ns: 1_000_000_000,
        ops: [(OpKind::Read, read)].into(),
        ..PhaseMeasurement::default()
    });
    let text = drawn(&picture, 80, 24);
    assert!(text.contains("done") && text.contains("seq-read") && text.contains("41.0 kB/s"), "{text}");
}
