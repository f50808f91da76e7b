use super::*;
use crate::*;

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

fn error_of(text: &str) -> NativeError {
    parse("w.toml", text).expect_err("an error")
}

fn set(changes: &[&str]) -> Result<Workload, NativeError> {
    let overrides: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
    parse_with("sample.toml", SAMPLE, &overrides)
}

#[test]
fn reads_the_sample() {
    let workload = sample();
    assert_eq!(workload.phase[0].workers[0].backend, Backend::IO_URING);
    let Work::Flow(flow) = &workload.phase[1].workers[0].work else { panic!("a flow") };
    assert_eq!(flow.steps[4], Step::Close { handle: 0 });
}
#[test]
fn play() {
    for (a, b) in [
        ("depth = 32", "dpeth = 32"),
        ("depth = 32", "depth = \"many\""),
        ("depth = 32", "depth = 0"),
        ("depth = 32", "depth = -1"),
        ("depth = 32", "depth = 32\ndepth = 3"),
        ("depth = 32", "depth = "),
        ("\"io-uring\"", "\"io_uring\""),
        ("\"io-uring\"", "{ io-uring = { poll = true } }"),
        ("\"io-uring\"", "\"psync\""),
        ("\"io-uring\"", "3"),
        ("block = \"4KiB\"", "block = \"4 parsecs\""),
        ("block = \"4KiB\"", "block = 1000"),
        ("theta = 1.1", "theta = 0"),
        ("theta = 1.1", "thtea = 0.1"),
        ("theta = 1.1", "theta = \"x\""),
        ("theta = 1.1", ""),
        ("{ zipf = { theta = 1.1 } }", "\"zipf\""),
        ("target = \"mail\"\n", ""),
        ("target = \"mail\"\n", "target = \"mial\"\n"),
        ("\"unlink\",", ""),
        ("\"fsync\",", "\"fsnyc\","),
        ("\"create\",", ""),
        ("[target.data.file]", "[target.data.flie]"),
        ("[target.data.file]", "[target.data]"),
        ("path = \"data\"", "path = \"../data\""),
        ("name = \"mail\"", "name = \"mixed\""),
        ("stop.time = \"10s\"\n\n[[phase.workers]]\ntarget = \"mail\"", "[[phase.workers]]\ntarget = \"mail\""),
        ("files = 1000", "files = 2"),
        ("[[phase.workers]]", "[phase.workers]"),
    ] {
        match parse("sample.toml", &SAMPLE.replace(a, b)) {
            Ok(_) => eprintln!("==== {b}: fine"),
            Err(e) => eprintln!("==== {b}\n{e}"),
        }
    }
    for change in [
        "depth=64",
        "depth=0",
        "depht=1",
        "phase.0.workers.0.dpeth=1",
        "phase.7.name=x",
        "phase.mail.stop.time=1x",
        "block=1000",
        "rate=5/s",
        "think=1ms",
        "verify=crc",
        "prepare=sprase",
        "phase.0.workers.0={target=1}",
        "content=zero",
    ] {
        match set(&[change]) {
            Ok(w) => eprintln!(
                "==== {change}: fine {:?}",
                to_toml(&w).unwrap().lines().filter(|l| !SAMPLE.contains(l)).collect::<Vec<_>>()
            ),
            Err(e) => eprintln!("==== {change}\n{e}"),
        }
    }
    eprintln!("{}", to_toml(&sample()).unwrap());
    eprintln!("{}", schema());
}
