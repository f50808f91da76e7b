//! Invalid files: cut short, of another tool, or absurd. None may panic, and none may pass as measured.

use super::*;
use crate::{FILE_BYTES_MAX, VALUES_MAX};

// Protects: no prefix of a file makes its reader panic or gives a non-finite number.
#[test]
fn files_that_are_cut_short() {
    for (tool, name, bytes) in goldens::ALL {
        // Every byte of small files, and a few hundred positions in the others.
        let step = (bytes.len() / 200).max(1);
        for end in (0..bytes.len()).step_by(step) {
            check(name, &bytes[..end], Some(tool));
            check(name, &bytes[..end], None);
        }
    }
}

/// Reads a file of any content, and checks its numbers.
fn check(name: &str, bytes: &[u8], tool: Option<&str>) {
    let Ok(runs) = read(&file(name, bytes), tool) else { return };
    for run in &runs {
        for value in run.phases.iter().flat_map(|phase| phase.metrics.values()) {
            assert!(value.value.is_none_or(|value| value.is_finite() && value >= 0.0), "{name}: {value:?}");
        }
        let imported = run.imported.as_ref().unwrap();
        assert!(imported.numbers.iter().all(|number| number.value.is_none_or(f64::is_finite)), "{name}");
    }
}

// Protects: every reader says what is missing, and what it can read.
#[test]
fn files_of_another_kind() {
    for tool in TOOLS {
        for bytes in [b"".as_slice(), b"hello\n", b"{}", b"[]", b"\0\xff\xfe", b"{\"jobs\": 3}", b"<a>"] {
            let error = read(&file("x", bytes), Some(tool.name)).unwrap_err();
            let ImportError::Unread { source, .. } = &error else { panic!("{error}") };
            assert!(!source.message.is_empty() && !source.help.is_empty(), "{}: {error}", tool.name);
        }
    }
    let error = read(&file("x", b"hello"), None).unwrap_err().to_string();
    assert!(error.contains("--from TOOL") && error.contains("bonnie++") && error.contains("vdbench"), "{error}");
    let error = read(&file("x", b"hello"), Some("fi\x1bo")).unwrap_err().to_string();
    assert!(error.contains("--from fi\\u{1b}o") && error.contains("kubestr"), "{error}");
}

// Protects: deep, long or numerous input exhausts neither stack nor memory.
#[test]
fn limits_hold() {
    let deep = format!("{{\"fio version\": {}", "[".repeat(100_000));
    assert!(read(&file("x", deep.as_bytes()), None).is_err());
    let many = format!("{{\"fio version\": [{}]}}", "1,".repeat(VALUES_MAX + 1));
    assert!(read(&file("x", many.as_bytes()), None).unwrap_err().to_string().contains("the limit is"));
    let xml = format!("<PhoronixTestSuite>{}", "<a>".repeat(100_000));
    assert!(read(&file("x", xml.as_bytes()), None).is_err());
    let lines = "1 bytes (1 B) copied, 1 s, 1 B/s\n".repeat(crate::RUNS_MAX + 1);
    assert_eq!(read(&file("x", lines.as_bytes()), None), Err(ImportError::TooMany));
    // Untouched zero pages: only the length matters.
    let long = vec![0; FILE_BYTES_MAX + 1];
    assert!(matches!(read(&file("x", &long), None), Err(ImportError::TooLong { .. })));
}

// Protects: UTF-16, which PowerShell writes for redirected output, is readable, and a long binary file
// takes no multiple of its length.
#[test]
fn other_encodings() {
    let line = "1000 bytes (1.0 kB) copied, 2 s, 500 B/s\r\n";
    let wide: Vec<u8> = [0xfeff].into_iter().chain(line.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(number(&one("dd", "dd.txt", &wide), "copy", "copied").0, Some(500.0));
    let mut long = line.as_bytes().to_vec();
    long.resize(17 << 20, 0xff);
    assert_eq!(number(&one("dd", "dd.txt", &long), "copy", "copied").0, Some(500.0));
}

// Protects: invalid numbers count as not measured, and names cannot send control sequences to a terminal.
#[test]
fn absurd_values_and_names() {
    let text = r#"{"fio version":"fio-3\u001b[2J","jobs":[{"jobname":"\u001b]0;x\u0007\u202e\n=cmd","error":0,"read":{"total_ios":5,
        "bw_bytes":1e999999,"iops":-3,"runtime":1e30,"lat_ns":{"min":NaN,"max":-Infinity,"mean":1}}}]}"#;
    // 1e999999 is not a valid number.
    assert!(read(&file("x", text.as_bytes()), None).is_err());
    let run = one("fio", "a\x1bb.json", text.replace("1e999999", "1e300").as_bytes());
    let phase = &run.phases[0];
    assert_eq!(phase.name, "\\u{1b}]0;x\\u{7}\\u{202e}\\u{a}=cmd");
    assert_eq!(metric(&run, &phase.name.clone(), "read.iops"), None, "a negative rate counts as not measured");
    assert_eq!(
        (run.tool.version.as_str(), run.imported.as_ref().unwrap().file.as_str()),
        ("3\\u{1b}[2J", "a\\u{1b}b.json")
    );
    let text = plumb_document::json::to_vec(&run).unwrap();
    assert_eq!(plumb_result::reader::read(&text).unwrap()[0], run);
}

// Protects: a short file is kept whole, a long one up to the limit; binary and control characters are kept in base64.
#[test]
fn raw_is_kept() {
    let line = "1000 bytes (1.0 kB) copied, 2 s, 500 B/s\n";
    let raw = |text: &[u8]| one("dd", "dd.txt", text).imported.unwrap().raw;
    let text = raw(line.as_bytes());
    assert_eq!((text.encoding, text.text.as_str(), text.kept_bytes), (RawEncoding::Text, line, None));
    assert_eq!(raw(line.replace('\n', "\r\n").as_bytes()).encoding, RawEncoding::Base64);
    let long = format!("{line}{}", "é".repeat(crate::RAW_BYTES_MAX));
    let kept = raw(long.as_bytes());
    assert_eq!(kept.bytes, long.len() as u64);
    assert_eq!(kept.kept_bytes, Some(kept.text.len() as u64));
    assert!(kept.text.len() > crate::RAW_BYTES_MAX - 3 && kept.text.len() <= crate::RAW_BYTES_MAX);
}

// Protects: the same bytes are the same run under any file name; at another time they are another run.
#[test]
fn a_file_is_one_run() {
    let line = b"1000 bytes (1.0 kB) copied, 2 s, 500 B/s\n";
    let [one, other] = ["a.txt", "b/c.txt"].map(|name| read(&file(name, line), None).unwrap().remove(0));
    assert_eq!((&one.id, one.imported.unwrap().time), (&other.id, TimeSource::File));
    let later = ForeignFile { changed_at: "2026-11-21T12:00:00Z".parse().unwrap(), ..file("a.txt", line) };
    assert_ne!(read(&later, None).unwrap()[0].id, one.id);
    assert_eq!(one.started_at, "2026-11-20T12:00:00Z");
    assert_eq!(&one.id[14..15], "7");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Protects: no bytes make any tool's reader panic.
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[ \\-+.,:;=/()\\[\\]{}\"<>0-9a-zA-Z\\n\\t%é]{0,300}") {
        for tool in TOOLS {
            check("x_bw.1.log", &bytes, Some(tool.name));
            check("x", text.as_bytes(), Some(tool.name));
        }
    }

    // Protects: no changed bytes in a tool's own file make its reader panic.
    #[test]
    fn no_changed_golden_panics(which in 0..goldens::ALL.len(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let (tool, name, bytes) = goldens::ALL[which];
        let mut bytes = bytes.to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(name, &bytes, Some(tool));
        check(name, &bytes, None);
    }
}
