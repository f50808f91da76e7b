//! Reads back the output of Plumb's own printers.

use super::*;
use plumb_tools_app::elbencho;
use plumb_tools_classic::postmark;

// Protects: printer and reader of elbencho's format agree on columns and keys.
#[test]
fn elbencho() {
    use elbencho::lower::{Geometry, PathType, PhaseKind};
    use elbencho::print::{Both, PhaseContext, PhaseReport, WorkDone, csv, json};
    let words: Vec<String> = "-w -t 2 -n 2 -N 50 -s 1m -b 64k --label night d".split(' ').map(str::to_owned).collect();
    let settings =
        elbencho::read(&words, &mut |_| Err(plumb_tools::FileError::NotPublished { path: String::new() })).unwrap();
    let geometry = Geometry {
        path_type: PathType::Directory,
        file_bytes: 1 << 20,
        block_bytes: 65536,
        random_bytes: 0,
        unaligned: false,
        tree: None,
    };
    let seen = PhaseContext {
        date: "2026-11-20T18:59:43.022+0100".to_owned(),
        id: "a".to_owned(),
        cpu: Both { first: 0, last: 5 },
    };
    let done = WorkDone { entries: 200, ios: 3200, bytes: 200 << 20 };
    let report =
        PhaseReport { done: Both { first: done, last: done }, ..PhaseReport::timed(PhaseKind::Write, seen, 2_000_000) };
    let command = ["elbencho".to_owned(), "-w".to_owned(), "a,b".to_owned()];
    let csv = csv::labels(&settings, &geometry) + &csv::line(&report, &settings, &geometry, &command);
    let json = json::line(&report, &settings, &geometry, &command);
    for (name, text) in [("e.csv", csv), ("e.json", json)] {
        let run = one("elbencho", name, text.as_bytes());
        let phase = run.phases[0].name.clone();
        assert_eq!(metric(&run, &phase, "write.bw"), Some(100.0 * MIB), "{text}");
        assert_eq!(metric(&run, &phase, "write.iops"), Some(1600.0));
        assert_eq!(run.phases[0].wall_ns, 2_000_000_000);
        assert_eq!(run.started_at, "2026-11-20T17:59:43.022Z");
        assert_eq!(run.imported.unwrap().settings["label"], "night");
    }
}

// Protects: both reports of PostMark give the same numbers for the same run.
#[test]
fn postmark() {
    use postmark::{Compat, Counts, ReportForm, Spent, report};
    let counts = Counts {
        transactions: 1000,
        created_alone: 500,
        created_mixed: 250,
        read: 400,
        appended: 600,
        deleted_mixed: 240,
        deleted_alone: 510,
        bytes_read: 8.0 * MIB,
        bytes_written: 16.0 * MIB,
    };
    let spent = Spent { total_s: 4.0, create_s: 1.0, transactions_s: 2.0, delete_s: 1.0 };
    let head = "PostMark v1.51 : 8/14/01\nCreating files...Done\n";
    for form in [ReportForm::Verbose, ReportForm::Terse] {
        let text = format!("{head}{}", report(form, &counts, &spent, Compat::Strict));
        let run = one("postmark", "p.txt", text.as_bytes());
        assert_eq!(metric(&run, "transactions", "txn.ops"), Some(500.0), "{text}");
        assert_eq!(metric(&run, "whole", "write.bw"), Some(4.0 * MIB));
        assert_eq!(metric(&run, "creation alone", "create.ops"), Some(500.0));
        assert_eq!(metric(&run, "deletion alone", "unlink.ops"), Some(510.0));
    }
}
