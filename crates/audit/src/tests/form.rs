//! The file format: errors with their place, the schema, hostile files, the documentation.

use super::*;
use proptest::prelude::*;

/// Protects: an error names the place, the problem and the remedy.
#[test]
fn errors_name_line_key_value_and_way_out() {
    for (from, to, message, help) in [
        (
            "side = \"a\", metric = \"write\"",
            "side = \"aa\", metric = \"write\"",
            "unknown side `aa`",
            "did you mean `a`?",
        ),
        (
            "metric = \"write\", value = \"143\"",
            "metric = \"wrote\", value = \"143\"",
            "`wrote`",
            "did you mean `write`?",
        ),
        ("unit = \"MB/s\", bytes", "unit = \"MB\", bytes", "unknown unit `MB`", "`MB/s`"),
        ("unit = \"MB/s\", bytes", "bytes", "the number has no unit", "add `unit`"),
        ("value = \"143\"", "value = \"fast\"", "`fast` is not a number as printed", ""),
        ("repetitions = 8", "repetition = 8", "unknown key `repetition`", "did you mean `repetitions`?"),
        ("on = [\"write\"]", "on = [\"wrte\"]", "unknown test or test.metric `wrte`", "did you mean `write`?"),
        ("id = \"b\"", "id = \"a\"", "`a` is used twice", "its own `id`"),
        ("value = \"143\"", "missing = \"lost\", value = \"143\"", "cannot be missing", "`drawn`"),
        ("spread = 0.012", "spread = 12", "not a spread", "0.03 is 3 %"),
        ("spread = 0.012", "spread = \"3 ms\"", "a spread in another kind of unit", "a share of it"),
        ("spread = 0.012", "spread = \"-3%\"", "`-3%` is not a spread", "4.1 MB/s"),
        ("seconds = \"150.2\"", "seconds = \"0\"", "no test takes 0 s", "leave it out"),
        ("[[claim]]", "[[claim", "this is not TOML", ""),
    ] {
        let error = read("study.toml", &CLEAN.replacen(from, to, 1)).expect_err(to).to_string();
        let named = error.contains("study.toml:") && error.contains(message) && error.contains(help);
        assert!(named, "{to}:\n{error}");
    }
}

/// Protects: the schema has the keys that the documentation describes.
#[cfg(feature = "schema")]
#[test]
fn the_schema_has_the_documented_keys() {
    let schema = schema().to_string();
    for key in ["host-ram", "mean-over", "quoted", "asserts", "beyond-memory", "partition-start"] {
        assert!(schema.contains(&format!("\"{key}\"")), "{key}");
    }
}

fn any_file() -> impl Strategy<Value = String> {
    let base = prop::sample::select(vec![
        CLEAN.to_owned(),
        file("three-systems"),
        file("raid4-vs-raid5"),
        file("ext3-kernels"),
    ]);
    // Removes a piece anywhere, and inserts another.
    (
        base,
        0.0_f64..1.0,
        0_usize..40,
        prop::sample::select(vec![
            "",
            "0",
            "-1",
            "1e300",
            "\"",
            "[",
            "]",
            "{",
            "}",
            "=",
            "\n",
            "[[test]]\n",
            "nan",
            "true",
            "é",
            "\u{0}",
            "99999999999999999999",
            "value = 0",
            "seconds = 0",
            "bs=0",
            "count=0",
            "bs=99999999g",
            "set size 0 0",
            "set number 999999999999",
        ]),
    )
        .prop_map(|(text, at, take, put)| {
            let mut start = (text.len() as f64 * at) as usize;
            while !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = (start + take).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            format!("{}{put}{}", &text[..start], &text[end.max(start)..])
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Protects: any file is either audited or refused with a message, and no result is NaN.
    #[test]
    fn no_file_panics(text in any_file()) {
        match read("any.toml", &text) {
            Ok(study) => {
                let audit = audit(&study);
                prop_assert!(audit.findings.iter().all(|finding| !finding.message.contains("NaN")), "{:?}", audit.findings);
            }
            Err(error) => prop_assert!(!error.diagnostics.is_empty()),
        }
    }
}

/// Protects: the documentation lists the rules as they are in the code.
#[test]
fn the_document_lists_the_rules() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, _) = text.split_once("regenerates it. -->\n\n").unwrap();
    let wanted = format!("{before}regenerates it. -->\n\n{}", rules_table());
    if std::env::var_os("PLUMB_BLESS").is_some() {
        std::fs::write(&page, &wanted).unwrap();
    }
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written == wanted, "docs/audit.md is out of date; run `PLUMB_BLESS=1 cargo test -p plumb-audit`");
}

/// Protects: codes without a check are explained here.
#[test]
fn codes_of_published_numbers_are_explained() {
    for rule in RULES {
        let text = explanation(&rule.code.to_lowercase(), 80).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(rule.name) && words.contains(rule.fix), "{text}");
    }
    assert!(explanation("P99", 80).is_none());
}
