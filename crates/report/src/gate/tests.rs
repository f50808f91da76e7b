use super::*;
use crate::Style;
use plumb_result::gate::{
    GATE_SCHEMA, GateAnswer, GateDesign, GateLooks, GateNeed, GateNumber, GateSide, GateSource, GateUnit, LevelChange,
};
use plumb_result::{Gate, Metric};
use plumb_workload::OpKind;

/// A name with text that could come from a command line or another tool's file.
const HOSTILE: &str = "a\"'<b>&]]>|x|*y*_z_`q`[l](javascript:x)::error title=x::%0A\r\n::set-output name=x::y,:\u{1b}[31m\u{0}<!-- @all #1";

fn number(answer: GateAnswer, name: &str) -> GateNumber {
    GateNumber {
        workload: name.to_owned(),
        phase: format!("phase {name}"),
        metric: Metric::rate(OpKind::Read),
        answer,
        suspected: false,
        note: Some(format!("note {name}")),
        capped: None,
        baseline_value: Some(1000.0),
        candidate_value: Some(900.0),
        ratio: Some(0.9),
        lo: Some(0.87),
        hi: Some(0.93),
        confidence: 0.94,
        p_worse: Some(0.001),
        p_worse_adjusted: Some(0.001),
        p_beyond: Some(0.99),
        unit: GateUnit::Block,
        units: 6,
        floor: None,
        changes: vec![LevelChange { at: "2026-11-02T03:04:05Z".to_owned(), before: 800.0, after: 1000.0 }],
    }
}

fn gate(answer: GateAnswer, name: &str) -> Gate {
    let side = |name: &str| GateSide { name: name.to_owned(), source: GateSource::Measured, runs: 6, sessions: None };
    Gate {
        schema: GATE_SCHEMA.to_owned(),
        answer,
        suspected: false,
        note: format!("Note about {name}."),
        promise: "At most 5 %.".to_owned(),
        baseline: side(name),
        candidate: side(&format!("{name} (candidate)")),
        design: GateDesign::Interleaved,
        margin: 0.05,
        error_rate: 0.05,
        numbers: vec![number(answer, name), number(GateAnswer::Pass, "mail")],
        missing: vec![format!("{name} read.lat.p99: too few samples")],
        looks: GateLooks { done: 1, planned: 3, level: 0.01 },
        seconds: 12.5,
        needed: Some(GateNeed { units: 40, seconds: Some(80.0), options: Some("--budget 80s".to_owned()) }),
        rejected: false,
        left_out: Vec::new(),
        run_checks: Vec::new(),
        checks: Vec::new(),
        differences: Vec::new(),
        notes: vec![format!("note {name}")],
        runs: Vec::new(),
        seed: 1,
        settle: None,
        gates: None,
        rejected_numbers: Vec::new(),
    }
}

const ANSWERS: [GateAnswer; 3] = [GateAnswer::Pass, GateAnswer::Regression, GateAnswer::CannotTell];

/// Returns the tags of an XML text and its raw text: enough parsing to see whether names escaped from their place.
fn tags(xml: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        assert!(!text.contains('>'), "{text}");
        let mut quote = None;
        let end = rest[start..].char_indices().find_map(|(at, c)| match (quote, c) {
            (None, '"' | '\'') => {
                quote = Some(c);
                None
            }
            (Some(open), c) if c == open => {
                quote = None;
                None
            }
            (None, '>') => Some(start + at),
            (_, '<') if at > 0 => panic!("`<` inside a tag: {}", &rest[start..start + at]),
            _ => None,
        });
        let end = end.expect("a tag ends");
        tags.push(
            rest[start..=end].split([' ', '>', '/']).next().unwrap().to_owned()
                + &"/".repeat(usize::from(rest[start..].starts_with("</"))),
        );
        rest = &rest[end + 1..];
    }
    tags
}

// Protects: a name from a foreign file closes no attribute, opens no element, and leaves the XML well-formed.
#[test]
fn hostile_names_stay_text_in_xml() {
    for answer in ANSWERS {
        let (xml, plain) = (junit(&gate(answer, HOSTILE)), junit(&gate(answer, "plain")));
        assert_eq!(tags(&xml), tags(&plain), "{xml}");
        let is_allowed =
            |c: char| matches!(c, '\n' | '\t' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(xml.chars().all(is_allowed), "XML 1.0 does not allow control characters");
    }
}

// Protects readers of CI pages: no part of a message is lost, neither its lines nor the text after an escape sequence.
#[test]
fn junit_keeps_every_letter_of_a_message() {
    let missing = "a\tb\nc\r\u{1b}[31md\u{9b}e\u{ffff}f".to_owned();
    let xml = junit(&Gate { missing: vec![missing], ..gate(GateAnswer::Pass, "x") });
    assert!(xml.contains("message=\"a b\nc \u{fffd}[31md\u{fffd}e\u{fffd}f\""), "{xml}");
}

#[test]
fn junit_counts_match_the_cases() {
    let regression = junit(&gate(GateAnswer::Regression, "x"));
    assert!(
        regression.contains("tests=\"3\" skipped=\"0\" errors=\"1\" failures=\"1\" time=\"12.500\""),
        "{regression}"
    );
    assert!(
        regression.contains("<failure message=\"0.90× (0.87 – 0.93, 94 %), 1.00 k IOPS → 900 IOPS, 6 blocks: note x\"")
    );
    let open = junit(&gate(GateAnswer::CannotTell, "x"));
    assert!(open.contains("skipped=\"1\" errors=\"1\" failures=\"0\""), "{open}");
    // Protects: rejected runs never pass silently.
    let rejected = junit(&Gate { rejected: true, missing: Vec::new(), ..gate(GateAnswer::CannotTell, "x") });
    assert!(rejected.contains("tests=\"3\" skipped=\"2\" errors=\"1\" failures=\"0\""), "{rejected}");
}

// Protects: every format tells a pipeline that a second session is needed, without reporting a failure.
#[test]
fn a_suspected_session_is_reported_and_does_not_fail() {
    let number = GateNumber { suspected: true, ..number(GateAnswer::CannotTell, "x") };
    let gate =
        Gate { suspected: true, numbers: vec![number], missing: Vec::new(), ..gate(GateAnswer::CannotTell, "x") };
    let xml = junit(&gate);
    assert!(
        xml.contains("skipped=\"1\" errors=\"0\" failures=\"0\"") && xml.contains("message=\"suspected: "),
        "{xml}"
    );
    assert!(annotations(&gate).starts_with("::warning title=plumb gate%3A suspected::"), "{}", annotations(&gate));
    assert!(markdown(&gate).starts_with("### ⚠️ Plumb gate: suspected\n"), "{}", markdown(&gate));
    assert!(page(&gate, false, &Style::PLAIN).contains("suspected  x/phase x read.iops"));
}

// Protects: a name cannot write a workflow command of its own, or end its line.
#[test]
fn hostile_names_stay_in_their_annotation() {
    for answer in ANSWERS {
        let (lines, plain) = (annotations(&gate(answer, HOSTILE)), annotations(&gate(answer, "plain")));
        assert_eq!(lines.lines().count(), plain.lines().count(), "{lines}");
        for line in lines.lines() {
            let rest = line.strip_prefix("::").expect("each line is a command");
            let (head, _) = rest.split_once("::").expect("a command has a message");
            let (kind, title) = head.split_once(" title=").expect("a title");
            assert!(["error", "warning", "notice"].contains(&kind));
            assert!(!title.contains([',', ':']), "a property ends at a comma or colon: {title}");
            assert!(!line.contains('\r') && !line.contains("%0A::set-output\n"));
        }
    }
    assert!(
        annotations(&gate(GateAnswer::Regression, "x"))
            .starts_with("::error title=plumb gate%3A regression::Note about x.")
    );
    assert!(annotations(&gate(GateAnswer::CannotTell, "100% \n")).contains("100%25 %0A"));
}

// Protects: a name does not create a link, image, heading, table cell or mention in a comment.
#[test]
fn hostile_names_stay_text_in_markdown() {
    let text = markdown(&gate(GateAnswer::Regression, HOSTILE));
    let plain = markdown(&gate(GateAnswer::Regression, "plain"));
    assert_eq!(text.lines().count(), plain.lines().count(), "{text}");
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    for (line, plain) in text.lines().zip(plain.lines()) {
        assert_eq!(cells(line), cells(plain), "{line}");
    }
    let unescaped =
        ["<", "[", "`", "*", "_", "&"].iter().fold(text.clone(), |text, mark| text.replace(&format!("\\{mark}"), ""));
    for mark in ["<b>", "<!-- @", "[l](", "`q`", "*y*", "_z_", "&]", "@all"] {
        assert!(!unescaped.contains(mark), "{mark}: {text}");
    }
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn bencher_has_the_candidates_values_and_bounds() {
    let all = plumb_document::json::to_value(&bencher(&gate(GateAnswer::Regression, "mail"))).unwrap();
    assert_eq!(
        all["mail/phase mail"]["read-iops"],
        serde_json::json!({"value": 900.0, "lower_value": 870.0, "upper_value": 930.0})
    );
    let mut of_time = gate(GateAnswer::Regression, "mail");
    of_time.numbers[0].metric = "read.lat.p99".parse().unwrap();
    let all = plumb_document::json::to_value(&bencher(&of_time)).unwrap();
    let value = &all["mail/phase mail"]["read-lat-p99"];
    assert!(value["lower_value"].as_f64() < value["upper_value"].as_f64(), "{value}");
    let nothing = GateNumber { candidate_value: None, ..number(GateAnswer::CannotTell, "x") };
    assert!(bencher(&Gate { numbers: vec![nothing], ..gate(GateAnswer::CannotTell, "x") }).is_empty());
}

#[test]
fn a_terminal_page_has_answer_numbers_rate_and_changes() {
    let wide = Style { width: 200, ..Style::PLAIN };
    let text = page(&gate(GateAnswer::Regression, "mail"), false, &wide);
    for wording in [
        "Note about mail.",
        "regression  mail/phase mail read.iops",
        "0.87 – 0.93",
        "At most 5 %.",
        "from 800 IOPS to 1.00 k IOPS on 2026-11-02 03:04",
    ] {
        assert!(text.contains(wording), "{wording}: {text}");
    }
}
