use super::*;
use crate::named;
use plumb_workload::verify::{StampLayout, VerifyMethod};
use plumb_workload::*;
use proptest::prelude::*;
#[cfg(feature = "schema")]
use serde_json::Value;

const SAMPLE: &str = r#"name = "sample"
seed = 7

[target.data.file]
path = "data"
size = "1GiB"

[target.mail.tree]
path = "mail"
files = 1000
size = { gamma = { mean = "16KiB", shape = 1.5 } }
preallocated-percent = 80

[[phase]]
name = "mixed"
cache = "direct"
ramp = "1s"
stop.time = "10s"

[[phase.workers]]
target = "data"
depth = 32
backend = "io-uring"
work.blocks.block = "4KiB"
work.blocks.pattern = { zipf = { theta = 1.1 } }
work.blocks.mix = { read = 70, write = 30 }

[[phase]]
name = "mail"
stop.time = "10s"

[[phase.workers]]
target = "mail"
count = 4
work.flow.count-transactions = true
work.flow.steps = [
    "unlink",
    "create",
    { append = { size = "16KiB" } },
    "fsync",
    "close",
]
"#;

fn sample() -> Workload {
    parse("sample.toml", SAMPLE).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the errors of the sample with one replacement.
fn errors_with(from: &str, to: &str) -> NativeError {
    assert!(SAMPLE.contains(from), "{from}");
    let text = SAMPLE.replacen(from, to, 1);
    parse("sample.toml", &text).expect_err(to)
}

fn overrides(changes: &[&str]) -> Vec<Override> {
    changes.iter().map(|change| change.parse().unwrap()).collect()
}

fn set(changes: &[&str]) -> Result<Workload, NativeError> {
    parse_with("sample.toml", SAMPLE, &overrides(changes))
}

fn set_well(changes: &[&str]) -> Workload {
    set(changes).unwrap_or_else(|error| panic!("{error}"))
}

fn blocks(workload: &Workload) -> &Blocks {
    workload.phase[0].workers[0].work.blocks().expect("block I/O")
}

#[test]
fn reads_the_sample() {
    let workload = sample();
    assert_eq!(workload.phase[0].workers[0].backend, Backend::IO_URING);
    assert_eq!(blocks(&workload).pattern, Pattern::Zipf { theta: 1.1 });
    let Work::Program(program) = &workload.phase[1].workers[0].work else { panic!("a program") };
    assert_eq!(program.steps[4], Step::Close { handle: 0 });
}

/// Each row: the text to replace, the replacement, the underlined text, and parts of the message and the help.
#[test]
fn every_error_underlines_what_it_is_about() {
    for (from, to, underlined, message, help) in [
        ("depth = 32", "dpeth = 32", "dpeth", "unknown key `dpeth`", "did you mean `depth`?"),
        ("depth = 32", "depth = \"many\"", "\"many\"", "expected a whole number", ""),
        ("depth = 32", "depth = -1", "-1", "found the number -1", ""),
        ("depth = 32", "depth = 0", "0", "the queue depth is 0", "use at least 1"),
        ("depth = 32", "depth = 32\ndepth = 3", "depth", "duplicate key", ""),
        ("\"io-uring\"", "\"io_uring\"", "\"io_uring\"", "not one of the choices", "did you mean `io-uring`?"),
        ("\"io-uring\"", "{ io-uring = { poll = true } }", "poll", "unknown key `poll`", "`poll-cpu`"),
        ("\"io-uring\"", "\"psync\"", "32", "`psync` is synchronous and cannot keep 32 requests in flight", "io-uring"),
        ("\"io-uring\"", "3", "3", "expected one of `auto`", ""),
        ("\"4KiB\"", "\"4 parsecs\"", "\"4 parsecs\"", "`4 parsecs` is not a size", ""),
        ("\"4KiB\"", "1000", "1000", "direct I/O does not support 1000", "512"),
        ("theta = 1.1", "theta = 0", "0", "theta is 0", "1.1"),
        ("work.blocks.pattern", "work.blocks.patern", "patern", "unknown key `patern`", "did you mean `pattern`?"),
        ("theta = 1.1", "thtea = 1.1", "thtea", "unknown key", "`theta`"),
        ("{ zipf = { theta = 1.1 } }", "\"zipf\"", "\"zipf\"", "`theta` is missing", "add `theta"),
        ("target = \"mail\"\n", "", "[[phase.workers]]", "`target` is missing", "add `target"),
        ("target = \"mail\"\n", "target = \"mial\"\n", "\"mial\"", "no target named `mial`", "did you mean `mail`?"),
        ("\"fsync\"", "\"fsnyc\"", "\"fsnyc\"", "not one of the choices", "did you mean `fsync`?"),
        ("    \"create\",\n", "", "append", "used before it is open", "`create`"),
        ("[target.data.file]", "[target.data.flie]", "flie", "not one of the choices", "did you mean `file`?"),
        ("path = \"data\"", "path = \"../data\"", "\"../data\"", "is outside the test directory", "`..`"),
        ("name = \"mail\"", "name = \"mixed\"", "\"mixed\"", "two phases named `mixed`", "its own name"),
        ("name = \"mail\"\nstop.time = \"10s\"", "name = \"mail\"", "[[phase.workers]]", "never ends", "stop.time"),
        ("[[phase.workers]]", "[phase.workers]", "[phase.workers]", "expected a list", "two brackets"),
    ] {
        let error = errors_with(from, to);
        let diagnostic = &error.diagnostics[0];
        assert_eq!(&error.text[diagnostic.span.clone()], underlined, "{error}");
        assert!(diagnostic.message.contains(message), "{error}");
        assert!(diagnostic.help.as_deref().unwrap_or("").contains(help), "{error}");
        let line = error.text[..diagnostic.span.start].matches('\n').count() + 1;
        assert_eq!(diagnostic.line, line, "{error}");
        assert_eq!(diagnostic.origin, TextOrigin::Text);
    }
}

#[test]
fn an_error_prints_like_a_compilers() {
    assert_eq!(
        errors_with("depth = 32", "dpeth = 32").to_string(),
        "\
error: unknown key `dpeth`
  --> sample.toml:22:1
   |
22 | dpeth = 32
   | ^^^^^
   = help: did you mean `depth`?"
    );
}

#[test]
fn all_problems_of_meaning_come_at_once_and_in_order() {
    let text = SAMPLE.replace("depth = 32", "depth = 0").replace("count = 4", "count = 0");
    let text = text.replace("path = \"data\"", "path = \"\"");
    let error = parse("w.toml", &text).unwrap_err();
    let lines: Vec<usize> = error.diagnostics.iter().map(|diagnostic| diagnostic.line).collect();
    assert_eq!(lines, [5, 22, 34]);
    assert_eq!(error.to_string().matches("error: ").count(), 3);
}

#[test]
fn carets_are_aligned_after_tabs_and_wide_letters() {
    let error = parse("w.toml", "name = \"größe\"\nfoo\t= 1").unwrap_err().to_string();
    assert!(error.contains("2 | foo = 1\n  | ^^^"), "{error}");
    let error = parse("w.toml", "name = \"größe\" x").unwrap_err();
    assert_eq!((error.diagnostics[0].line, error.diagnostics[0].column), (1, 16), "{error}");
}

#[test]
fn only_a_part_of_a_long_line_is_shown() {
    let text = format!("name = \"x\"\nphase = [{}, bad]", "1, ".repeat(10_000));
    let error = parse("w.toml", &text).unwrap_err().to_string();
    assert!(error.lines().all(|line| line.chars().count() < 200), "{error}");
    let lines: Vec<&str> = error.lines().collect();
    let caret = lines[4].find('^').unwrap();
    assert_eq!(lines[3].chars().nth(caret), error_char(&text), "{error}");
}

/// Returns the character that the first diagnostic points at.
fn error_char(text: &str) -> Option<char> {
    let error = parse("w.toml", text).unwrap_err();
    text[error.diagnostics[0].span.start..].chars().next()
}

#[test]
fn invalid_texts_return_errors_without_panics() {
    for text in
        ["", "name", "name = 1", "\u{feff}", "[[phase]]", "[target]\n[phase]", "name = \"x\"\n[[phase]]\n[target]"]
    {
        let error = parse("w.toml", text).expect_err(text);
        assert!(error.to_string().contains("w.toml"), "{error}");
    }
}

#[test]
fn printed_text_parses_back_and_omits_defaults() {
    let text = to_toml(&sample()).unwrap();
    assert_eq!(parse("printed", &text).unwrap(), sample());
    for omitted in ["run-as", "on-error", "offset", "memory-pressure", "prepare", "batch", "handle"] {
        assert!(!text.contains(omitted), "{omitted} in\n{text}");
    }
    for expected in ["block = \"4KiB\"", "backend = \"io-uring\"", "[target.data.file]", "\"fsync\", \"close\"]"] {
        assert!(text.contains(expected), "{expected} not in\n{text}");
    }
}

/// Protects everything with a text form, with values that differ from the defaults.
#[test]
fn unusual_workloads_print_and_read_back() {
    let mut workload = sample();
    workload.description = "quotes \" and\nlines".to_owned();
    workload.seed = i64::MAX as u64;
    let sim = "sim:ssd?slow=5%&lying-flush".parse().unwrap();
    let sim = SimTarget { device: sim, size: Bytes(1 << 30), files: Some(64), preallocated_percent: 50, shares: None };
    workload.target.insert("sim".to_owned(), Target::Sim(sim));
    workload.target.insert("Größe.1".to_owned(), Target::Null(NullTarget::with_size(Bytes(4097))));
    let nested = vec![Step::Loop { times: 2, steps: vec![Step::Stat { file: Pick::Zipf { theta: 0.9 } }] }];
    let program = Program::new(vec![
        Step::Mix { choices: vec![program::Choice { weight: 0.25, steps: nested }] },
        Step::Open(program::OpenStep {
            file: Pick::RoundRobin,
            handle: 2,
            write: true,
            ..program::OpenStep::default()
        }),
        Step::WriteAt { handle: 2, offset: Bytes(3), size: Distribution::Uniform { min: Bytes(1), max: Bytes(9) } },
        Step::Close { handle: 2 },
        Step::Mkdir { file: Pick::Usual, mode: None, may_exist: false },
    ]);
    let mut group = WorkerGroup::new("sim", Work::Program(Box::new(program)));
    group.pace = Pace::open(PerSecond(0.5), Arrival::Poisson, true);
    workload.phase[1].workers.push(group);
    let mut group = WorkerGroup::new("data", Blocks::default());
    group.backend = Backend::Preadv2 { flags: vec![backend::RwFlag::Dsync], hipri_percent: 100 };
    group.cpus = vec![0, 3];
    group.verify = Some(Verify { layout: StampLayout::Plumb, ..Verify::new(VerifyMethod::XxHash) });
    workload.phase[0].workers.push(group);
    workload.phase[0].stop.steady = Some(Steady { range: 0.3, ..Steady::default() });
    workload.phase[0].end = End { flush: Flush::None, clock: ClockScope::Outside };
    let text = to_toml(&workload).unwrap();
    assert_eq!(
        plumb_document::toml::from_str::<Workload>(&text).unwrap_or_else(|error| panic!("{error}\n{text}")),
        workload,
        "{text}"
    );
}

/// Protects the shortcut in printing that reuses the form of the previous worker, which must not change the output.
#[test]
fn a_workers_text_does_not_depend_on_the_previous_worker() {
    let sample = sample();
    let [mixed, mail] = [&sample.phase[0].workers[0], &sample.phase[1].workers[0]];
    let named = |group: &WorkerGroup, name: &str| WorkerGroup { name: Some(name.to_owned()), ..group.clone() };
    let shallow = WorkerGroup { depth: 1, backend: Backend::default(), ..named(mixed, "c") };
    let uniform = WorkerGroup { work: Blocks::default().into(), ..named(mixed, "d") };
    let groups = [
        named(mixed, "a"),
        named(mixed, "b"),
        shallow,
        mixed.clone(),
        uniform,
        mail.clone(),
        named(mail, "e"),
        named(mixed, "f"),
    ];
    let printed = |workers: &[WorkerGroup]| -> Vec<String> {
        let phase = Phase { workers: workers.to_vec(), ..sample.phase[0].clone() };
        let text = to_toml(&Workload { phase: vec![phase], ..sample.clone() }).unwrap();
        text.split("[[phase.workers]]").skip(1).map(|text| text.trim().to_owned()).collect()
    };
    let alone: Vec<String> = groups.iter().flat_map(|group| printed(std::slice::from_ref(group))).collect();
    assert_eq!(printed(&groups), alone);
}

#[test]
fn an_empty_workload_prints() {
    let empty = Workload {
        name: String::new(),
        description: String::new(),
        seed: 42,
        target: Default::default(),
        phase: vec![],
        repeat: None,
    };
    let text = to_toml(&empty).unwrap();
    assert_eq!(plumb_document::toml::from_str::<Workload>(&text).unwrap(), empty, "{text}");
    let mut bare = sample();
    bare.phase[0].workers.clear();
    assert_eq!(plumb_document::toml::from_str::<Workload>(&to_toml(&bare).unwrap()).unwrap(), bare);
}

#[test]
fn values_that_toml_cannot_hold_are_refused_by_name() {
    let mut workload = sample();
    workload.seed = u64::MAX;
    let error = to_toml(&workload).unwrap_err().to_string();
    assert!(error.contains("`sample`") && error.contains("2^63"), "{error}");
    assert!(with_overrides(&workload, &[]).is_err());
}

#[test]
fn shorthands_reach_every_place() {
    let workload = set_well(&["depth=8", "count=2", "time=3s", "size=2GiB", "files=64", "seed=9", "ramp=0s"]);
    assert_eq!(workload.phase[0].workers[0].depth, 8);
    assert_eq!(workload.phase[1].workers[0].depth, 1, "a program has no queue");
    assert!(workload.phase.iter().all(|phase| phase.workers[0].count == 2));
    assert!(workload.phase.iter().all(|phase| phase.stop.time == Some(Nanos(3_000_000_000))));
    assert!(matches!(&workload.target["data"], Target::File(file) if file.size == Some(Bytes(2 << 30).into())));
    assert!(matches!(&workload.target["mail"], Target::Tree(tree) if tree.files == 64));
    assert_eq!(workload.seed, 9);
}

/// Protects the documentation in the table: each example must change something.
#[test]
fn every_shorthand_works_with_its_example() {
    // The sample, with different values wherever an example would set the same one.
    let mut text = SAMPLE.to_owned();
    for (from, to) in [
        ("seed = 7", "seed = 5"),
        ("depth = 32", "depth = 2"),
        ("\"io-uring\"", "\"auto\""),
        ("\"direct\"", "\"as-is\""),
        ("\"4KiB\"", "\"8KiB\""),
        ("read = 70, write = 30", "read = 60, write = 40"),
        ("count = 4", "count = 3"),
    ] {
        text = text.replace(from, to);
    }
    let before = parse("sample.toml", &text).unwrap();
    for short in SHORTHANDS {
        let change = format!("{}={}", short.name, short.example);
        let after = parse_with("sample.toml", &text, &overrides(&[&change])).unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(after, before, "{change} changes nothing");
        assert!(!short.doc.is_empty());
        assert_eq!(
            SHORTHANDS.iter().filter(|other| other.name == short.name).count(),
            1,
            "{} is in the table twice",
            short.name
        );
    }
}

/// Protects errors with two causes: `backend=psync` is valid, but conflicts with the depth in the text.
#[test]
fn an_override_that_breaks_the_text_is_named() {
    let error = set(&["backend=psync"]).unwrap_err();
    assert_eq!(error.diagnostics[0].origin, TextOrigin::Text);
    assert!(error.to_string().ends_with("note: this is with --set backend=psync"), "{error}");
}

#[test]
fn choices_replace_one_another() {
    let twice = set_well(&["think=1ms", "rate=50/s"]);
    assert_eq!(twice.phase[0].workers[0].pace.open.unwrap().rate, PerSecond(50.0));
    let pattern = set_well(&["pattern=random"]);
    assert_eq!(blocks(&pattern).pattern, Pattern::Random);
    let inner = set_well(&["phase.0.workers.0.work.blocks.pattern.pareto.h=0.8"]);
    assert_eq!(blocks(&inner).pattern, Pattern::Pareto { h: 0.8 });
    let backend = set_well(&["phase.mixed.workers[0].backend.io-uring.fixed-files=false"]);
    assert!(matches!(backend.phase[0].workers[0].backend, Backend::IoUring { fixed_files: false, .. }));
}

#[test]
fn paths_reach_one_place_by_number_or_name() {
    for path in ["phase.1.workers.0.count", "phase[1].workers[0].count", "phase.mail.workers.0.count"] {
        let workload = set_well(&[&format!("{path}=3")]);
        assert_eq!((workload.phase[0].workers[0].count, workload.phase[1].workers[0].count), (1, 3), "{path}");
    }
    let made = set_well(&["target.extra={null={size=4096}}", "phase.0.stop.steady.window=3"]);
    assert_eq!(made.target["extra"], Target::Null(NullTarget::with_size(Bytes(4096))));
    assert_eq!(made.phase[0].stop.steady.unwrap().window, 3);
}

#[test]
fn errors_of_overrides_show_the_override() {
    for (change, underlined, message, help) in [
        ("depht=1", "depht=", "unknown setting `depht`", "did you mean `depth`?"),
        ("depth=0", "0", "the queue depth is 0", "at least 1"),
        ("depth=many", "many", "expected a whole number", ""),
        ("block=1000", "1000", "direct I/O does not support 1000", "512"),
        ("phase.0.workers.0.dpeth=1", "phase.0.workers.0.dpeth=", "unknown key `dpeth`", "did you mean `depth`?"),
        ("phase.7.name=x", "phase.7.name=", "`phase` has 2 entries, and none is `7`", "0 to 1"),
        ("phase.mial.name=x", "phase.mial.name=", "`phase` has 2 entries, and none is `mial`", "name"),
        ("phase.1.workers.0.work.flow.steps.0.x=1", "phase.1.workers.0.work.flow.steps.0.x=", "plain values", "whole"),
        ("phase.mail.stop.time=1x", "1x", "`1x` is not a time", ""),
        ("prepare=sprase", "sprase", "not one of the choices", "did you mean `sparse`?"),
        ("phase.0.workers.0={target=1}", "1", "expected text in quotes", ""),
        ("a..b=1", "a..b=", "not a path into a workload", "shorthands"),
        ("phase.1.workers.0.work.flow.steps=[\"fsync\"]", "\"fsync\"", "used before it is open", "`create`"),
    ] {
        let error = set(&[change]).expect_err(change);
        let diagnostic = &error.diagnostics[0];
        assert_eq!(diagnostic.origin, TextOrigin::Override(change.to_owned()), "{error}");
        assert_eq!(&change[diagnostic.span.clone()], underlined, "{error}");
        assert!(diagnostic.message.contains(message), "{error}");
        assert!(diagnostic.help.as_deref().unwrap_or("").contains(help), "{error}");
        assert!(error.to_string().contains("--set"), "{error}");
    }
}

#[test]
fn a_shorthand_that_reaches_nothing_is_an_error() {
    let workload = named::select("mail").unwrap()[0].workload(&named::Scale::moderate(named::RunPlace::Directory));
    let error = with_overrides(&workload, &overrides(&["depth=4"])).unwrap_err().to_string();
    assert!(error.contains("`depth` applies to nothing") && error.contains("block I/O"), "{error}");
    assert_eq!(with_overrides(&workload, &overrides(&["count=4"])).unwrap().phase[0].workers[0].count, 4);
    assert_eq!(with_overrides(&workload, &[]).unwrap(), workload);
}

#[test]
fn texts_that_set_nothing_are_refused() {
    for text in ["", "depth", "=3", " = 3"] {
        assert!(text.parse::<Override>().unwrap_err().to_string().contains("KEY=VALUE"), "{text}");
    }
    assert_eq!("a=b=c".parse::<Override>().unwrap().value, "b=c");
}

proptest! {
    /// Protects against panics: text that is cut short or changed, and any override, return an error.
    #[test]
    fn broken_texts_never_panic(cut in 0..SAMPLE.len(), letter in any::<char>(), key in "[a-z0-9.\\[\\]\"]{0,24}", value in "\\PC{0,12}") {
        let mut text = SAMPLE.to_owned();
        text.insert(cut, letter);
        if let Err(error) = parse("w.toml", &text) {
            let _ = error.to_string();
        }
        if let Err(error) = parse("w.toml", &SAMPLE[..cut]) {
            let _ = error.to_string();
        }
        if let Ok(change) = format!("{key}={value}").parse::<Override>()
            && let Err(error) = parse_with("w.toml", SAMPLE, &[change])
        {
            let _ = error.to_string();
        }
    }
}

/// Returns the TOML blocks of the page about the native form: whole workloads, and lines of workers.
fn documented() -> Vec<String> {
    const PAGE: &str = include_str!("../../../../docs/workload.md");
    const AROUND: &str = "name = \"x\"\n[target.data.file]\npath = \"data\"\nsize = \"1GiB\"\n[[phase]]\nname = \"x\"\n[[phase.workers]]\n";
    let mut fences = PAGE.split("```").skip(1).step_by(2);
    let mut found = Vec::new();
    for fence in fences.by_ref() {
        let (info, text) = fence.split_once('\n').unwrap();
        found.push(match info {
            "toml" => text.to_owned(),
            "toml workers" => format!("{AROUND}target = \"data\"\n{text}"),
            other => panic!("a block of `{other}` is not tested"),
        });
    }
    found
}

#[test]
fn examples_in_the_documentation_are_valid() {
    let texts = documented();
    assert!(texts.len() >= 6);
    for text in texts {
        let workload = parse("docs/workload.md", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(parse("printed", &to_toml(&workload).unwrap()).unwrap(), workload);
    }
}

/// Implements the parts of JSON Schema that the schema uses, to test that it accepts what the parser accepts.
#[cfg(feature = "schema")]
fn accepts(schema: &Value, root: &Value, value: &Value) -> bool {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let definition = root.pointer(reference.trim_start_matches('#')).expect("a definition");
        return accepts(definition, root, value);
    }
    let type_fits = |name: &str| match name {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        other => panic!("type `{other}`"),
    };
    let fits = match schema.get("type") {
        Some(Value::String(name)) => type_fits(name),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(type_fits),
        _ => true,
    };
    let any = |key: &str| match schema.get(key) {
        Some(Value::Array(choices)) => choices.iter().any(|choice| accepts(choice, root, value)),
        _ => true,
    };
    let constant = schema.get("const").is_none_or(|wanted| wanted == value);
    let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value));
    let items = match (schema.get("items"), value) {
        (Some(items), Value::Array(values)) => values.iter().all(|value| accepts(items, root, value)),
        _ => true,
    };
    let keys = match value {
        Value::Object(object) => {
            let required = schema.get("required").and_then(Value::as_array);
            required.into_iter().flatten().all(|key| object.contains_key(key.as_str().unwrap()))
                && object.iter().all(|(key, value)| match schema.get("properties").and_then(|p| p.get(key)) {
                    Some(property) => accepts(property, root, value),
                    None => match schema.get("additionalProperties") {
                        Some(Value::Bool(allowed)) => *allowed,
                        Some(additional) => accepts(additional, root, value),
                        None => true,
                    },
                })
        }
        _ => true,
    };
    fits && any("oneOf") && any("anyOf") && constant && listed && items && keys
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_accepts_what_the_parser_accepts() {
    let schema = schema();
    let scale = named::Scale::moderate(named::RunPlace::Directory);
    let printed = named::NAMED.iter().map(|named| to_toml(&named.workload(&scale)).unwrap());
    for text in documented().into_iter().chain([SAMPLE.to_owned()]).chain(printed) {
        let value: Value = plumb_document::toml::from_str(&text).unwrap();
        assert!(accepts(&schema, &schema, &value), "{text}");
        // The long form, which results use.
        let long = plumb_document::json::to_value(&parse("w", &text).unwrap()).unwrap();
        assert!(accepts(&schema, &schema, &long), "{long}");
    }
}

#[cfg(feature = "schema")]
#[test]
fn the_schema_refuses_what_the_parser_refuses() {
    let schema = schema();
    for (from, to) in [
        ("depth = 32", "dpeth = 32"),
        ("\"io-uring\"", "\"io_uring\""),
        ("\"fsync\"", "\"append\""),
        ("{ zipf = { theta = 1.1 } }", "\"zipf\""),
        ("target = \"mail\"\n", ""),
    ] {
        let value: Value = plumb_document::toml::from_str(&SAMPLE.replacen(from, to, 1)).unwrap();
        assert!(!accepts(&schema, &schema, &value), "{to}");
    }
}

/// Protects the stack against unlimited nesting.
#[test]
fn unlimited_nesting_returns_an_error() {
    let deep = 100_000;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("a = {}", "{ a = ".repeat(deep)),
        format!("a{} = 1", ".a".repeat(deep)),
        format!("[a{}]", ".a".repeat(deep)),
    ] {
        assert!(parse("w.toml", &text).is_err());
        let kept = set_well(&[&format!("description={text}")]).description;
        assert!(kept == text.trim(), "text that is not TOML stays a string");
    }
    for path in ["a.".repeat(deep), "[0]".repeat(deep)] {
        assert!(set(&[&format!("{path}a=1")]).is_err());
    }
}

/// Protects files of earlier versions, which had two names for programs and other names for a few keys.
#[test]
fn former_names_of_programs_are_read_and_located() {
    let text = |work: &str, steps: &str| {
        format!(
            "name = \"former\"\n[target.data.scratch]\nnames.said = [\"f\"]\n[[phase]]\nname = \"one\"\n\
             [[phase.workers]]\ntarget = \"data\"\nwork.{work}.steps = [{steps}]\n"
        )
    };
    let open = "{ open = { write = true } }, ";
    let former =
        text("script", &format!("{open}{{ truncate = {{ length = \"1KiB\" }} }}, {{ pause = {{ time = \"1ms\" }} }}"));
    let own =
        text("program", &format!("{open}{{ truncate = {{ size = \"1KiB\" }} }}, {{ delay = {{ time = \"1ms\" }} }}"));
    assert_eq!(parse("f.toml", &former).unwrap(), parse("f.toml", &own).unwrap());
    let set: Override = "phase.0.workers.0.work.script.log-ops=true".parse().unwrap();
    let logged = parse_with("f.toml", &own, &[set]).unwrap();
    let Work::Program(program) = &logged.phase[0].workers[0].work else { panic!("a program") };
    assert!(program.log_ops && program.steps.len() == 3, "an override extends the existing program");
    let error = parse("f.toml", &text("script", "{ truncate = { length = \"1KiB\" } }")).unwrap_err().to_string();
    assert!(error.contains("used before it is open") && error.contains("f.toml:8:"), "{error}");
}
