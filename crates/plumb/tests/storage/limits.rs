//! Limits of a load other than its storage: control groups, and too little memory.

use crate::alone;
use crate::common::disks::{Loop, Mounted, Swap};
use crate::common::groups::{Controller, Group, Version};
use crate::common::{CommandOutput, Home, alarms, assert_found, assert_quiet, findings, metric, needs};
use plumb_result::number::{self, Digits};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// Returns random 4 KiB reads for a while.
fn reading(size_mib: u64, cache: &str, seconds: u32) -> String {
    format!(
        "name = \"limits\"\n[target.data.file]\npath = \"data\"\nsize = \"{size_mib}MiB\"\n[[phase]]\nname = \"read\"\n\
         cache = \"{cache}\"\nstop.time = \"{seconds}s\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.pattern = \"random\"\n"
    )
}

fn limiter(result: &Value) -> &str {
    let limiter = &result["phases"][0]["limiter"];
    eprintln!("limiter: {} ({})", limiter["what"], limiter["text"]);
    limiter["what"].as_str().unwrap()
}

/// Prints the finding to the test's log.
fn show(result: &Value, code: &str) {
    let checks = result["checks"].as_array().unwrap();
    for finding in checks.iter().filter(|finding| finding["code"] == code) {
        eprintln!("{code} {}: {}", finding["level"], finding["message"]);
    }
}

/// The files of the other version of control groups are covered by recorded trees.
fn say_version(group: &Group, file_of_two: &str) {
    if group.version == Version::One {
        needs::not_shown(&format!(
            "version 1 of control groups has this controller here; `{file_of_two}` of version 2 is covered by the recorded \
             trees of plumb-probe and the scenes of plumb-trust"
        ));
    }
}

/// Protects: the rate of a limit is never taken for the device's.
#[test]
fn a_limit_of_io_is_named_where_it_binds() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on(Loop::in_memory(256 * MIB), "ext4", ""), Home::new());
    home.file("limits.toml", &reading(64, "direct", 2));
    let held_to = |ops_per_second: u64| -> Result<Value, String> {
        let group = Group::new(Controller::Io)?.limit_reads(mounted.disk.as_ref().unwrap(), ops_per_second)?;
        say_version(&group, "io.max");
        Ok(group.plumb(&home, &format!("run limits.toml --at {} --json", mounted.as_str())).expect_measured().json())
    };
    let bound = match held_to(500) {
        Ok(bound) => bound,
        Err(why) => return needs::skip(&why),
    };
    show(&bound, "C12");
    assert_found(&bound, "C12", "warn", "A control group limits reads on loop");
    assert_found(&bound, "C12", "warn", "to 500 ops/s");
    assert_eq!(limiter(&bound), "io-limit");
    // A limit that is far away is listed without being blamed.
    let free = held_to(1_000_000_000).unwrap();
    show(&free, "C12");
    assert_quiet(&free, "C12");
    assert_found(&free, "C12", "note", "A control group limits reads on loop");
    assert_ne!(limiter(&free), "io-limit");
}

/// Protects: if a control group throttles one side of a comparison, the page names that first, and not the read-ahead.
#[test]
fn a_comparison_names_the_limit_of_one_side_first() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let [free, held] = [(), ()].map(|()| Mounted::on(Loop::in_memory(512 * MIB), "ext4", ""));
    let home = Home::new();
    let group = match Group::new(Controller::Io).and_then(|group| group.limit_reads(held.disk.as_ref().unwrap(), 300)) {
        Ok(group) => group,
        Err(why) => return needs::skip(&why),
    };
    say_version(&group, "io.max");
    let line = format!("compare {} {} --size 16MiB --time 1s --budget 20s", free.as_str(), held.as_str());
    let output = group.plumb(&home, &line).expect_measured();
    let flat = crate::common::flat(&output.out);
    let (limit, only) = ("A control group limits reads on loop", format!("warn C12 {} (", held.as_str()));
    assert!(flat.contains(&only), "{}", output.out);
    assert_eq!(flat.matches(limit).count(), 1, "{}", output.out);
    assert!(flat.find("differ in").is_none_or(|differ_at| flat.find(limit).unwrap() < differ_at), "{}", output.out);
    if !flat.contains(" slower ") {
        return needs::not_shown("others at work left too few runs for a verdict, and so for its cause");
    }
    let cause = format!("Likely cause, on {} only: {limit}", held.as_str());
    let cause_at = flat.find(&cause).unwrap_or_else(|| panic!("{}", output.out));
    assert!(cause_at < flat.find("95 % CI").unwrap(), "before the table: {}", output.out);
}

/// Protects: the rate under a CPU quota is never taken for the storage's.
#[test]
fn a_quota_of_processor_time_is_named_where_it_binds() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on(Loop::in_memory(256 * MIB), "ext4", ""), Home::new());
    // From memory, so that only the processor matters.
    home.file("limits.toml", &reading(64, "warm", 2));
    let held_to = |percent: u32| -> Result<Value, String> {
        let group = Group::new(Controller::Cpu)?.limit_cpu_percent(percent)?;
        say_version(&group, "cpu.max");
        Ok(group.plumb(&home, &format!("run limits.toml --at {} --json", mounted.as_str())).expect_measured().json())
    };
    let bound = match held_to(20) {
        Ok(bound) => bound,
        Err(why) => return needs::skip(&why),
    };
    show(&bound, "C12");
    assert_found(&bound, "C12", "warn", "A control group limits the processors to 0.2 of");
    assert_eq!(limiter(&bound), "cpu-limit");
    // More than any test machine has.
    let free = held_to(1_000_000).unwrap();
    show(&free, "C12");
    assert_eq!(findings(&free, "C12", "pass").len(), 1, "{:#}", free["checks"]);
    assert_ne!(limiter(&free), "cpu-limit");
}

/// Returns a group with this memory limit, or skips the test.
fn with_memory(bytes: u64) -> Option<Group> {
    match Group::new(Controller::Memory).and_then(|group| group.limit_memory(bytes)) {
        Ok(group) => {
            say_version(&group, "memory.max");
            Some(group)
        }
        Err(why) => {
            needs::skip(&why);
            None
        }
    }
}

/// Protects: a working set near the size of memory, where a few MiB change everything, is reported; and the limit of a
/// control group counts, not the machine's memory.
#[test]
fn a_working_set_around_the_memory_of_a_control_group_is_on_the_cliff() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let Some(group) = with_memory(128 * MIB) else { return };
    let (mounted, home) = (Mounted::on_loop("ext4", 512 * MIB, ""), Home::new());
    let run = |size_mib: u64| {
        home.file("limits.toml", &reading(size_mib, "as-is", 1));
        let result =
            group.plumb(&home, &format!("run limits.toml --at {} --json", mounted.as_str())).expect_measured().json();
        show(&result, "B6");
        result
    };
    assert_found(&run(102), "B6", "warn", "0.8 times the memory of 128 MiB");
    let far_below = run(12);
    assert_quiet(&far_below, "B6");
    assert_found(&far_below, "B6", "note", "this measures the cache");
    let far_above = run(320);
    assert_eq!(findings(&far_above, "B6", "pass").len(), 1, "{:#}", far_above["checks"]);
}

/// Protects: over a cached loop device, A1, A7 and the tier name the same shares.
#[test]
fn a_read_through_two_caches_is_reported_alike_everywhere() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let Some(group) = with_memory(40 * MIB) else { return };
    let (mounted, home) = (Mounted::on(Loop::new(256 * MIB), "ext4", ""), Home::new());
    // More than the group may cache, and all of it in the cache of the image.
    home.file("limits.toml", &reading(90, "as-is", 1));
    let result =
        group.plumb(&home, &format!("run limits.toml --at {} --json", mounted.as_str())).expect_measured().json();
    show(&result, "A1");
    show(&result, "A7");
    // The shares of the caches depend on other readers of this disk; that all parts agree does not.
    let notes = findings(&result, "A1", "note");
    let message = notes[0]["message"].as_str().unwrap();
    let rate = metric(&result, "read", "read.bw");
    let share = rate["device_share"].as_f64().unwrap();
    let output = number::percent(share, Digits::Spoken);
    assert!(
        message.contains("from the page cache") && message.contains(&format!(", {output} from ")),
        "{rate}: {message}"
    );
    // A7 reports from 10 % on.
    let below = findings(&result, "A7", "note");
    for finding in below {
        let below = finding["message"].as_str().unwrap();
        let (first, _) = below.split_once(" of the bytes read").unwrap();
        assert!(
            message.contains(&format!("{first} from the cache of the loop device's backing file")),
            "{below}: {message}"
        );
    }
}

/// Protects: buffers that do not fit into memory are swapped, and the run then measures the swap.
#[test]
fn buffers_that_are_swapped_out_reject_the_run() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mkswap", "swapon", "swapoff"]) {
        return;
    }
    let home = Home::new();
    let mounted = Mounted::on_loop("ext4", 512 * MIB, "");
    // 4 buffers of 32 MiB.
    home.file(
        "swap.toml",
        "name = \"swap\"\n[target.data.file]\npath = \"data\"\nsize = \"128MiB\"\n[[phase]]\nname = \"read\"\ncache = \"as-is\"\n\
         stop.time = \"2s\"\n[[phase.workers]]\ntarget = \"data\"\ncount = 4\nwork.blocks.block = \"32MiB\"\n",
    );
    let line = format!("run swap.toml --at {} --json", mounted.as_str());
    {
        let Some(group) = with_memory(112 * MIB) else { return };
        let _swap = match Swap::on(Loop::new(512 * MIB)) {
            Ok(swap) => swap,
            Err(why) => return needs::skip(&why),
        };
        let swapped = group.plumb(&home, &line).expect(3).json();
        show(&swapped, "C9");
        assert_found(&swapped, "C9", "fail", "of Plumb's own memory was");
    }
    // Without swap, and with enough memory.
    let Some(group) = with_memory(512 * MIB) else { return };
    let held = group.plumb(&home, &line).expect_measured().json();
    show(&held, "C9");
    assert_eq!(findings(&held, "C9", "fail"), Vec::<&Value>::new());
}

/// Protects: a warm file set is warm, even if the cache was full of frequently read data before.
#[test]
fn a_set_is_warm_though_the_cache_was_full_of_another() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let Some(group) = with_memory(128 * MIB) else { return };
    let (mounted, home) = (Mounted::on_loop("ext4", 512 * MIB, ""), Home::new());
    let target =
        |name: &str, size_mib: u64| format!("[target.{name}.file]\npath = \"{name}\"\nsize = \"{size_mib}MiB\"\n");
    let phase = |target: &str| {
        format!(
            "[[phase]]\nname = \"{target}\"\ncache = \"warm\"\nstop.time = \"2s\"\n[[phase.workers]]\ntarget = \"{target}\"\n\
             depth = 32\nwork.blocks.pattern = \"random\"\n"
        )
    };
    let all = [target("large", 256), target("small", 40), phase("large"), phase("small")].concat();
    home.file("warm.toml", &format!("name = \"warm\"\n{all}"));
    let result =
        group.plumb(&home, &format!("run warm.toml --at {} --json", mounted.as_str())).expect_measured().json();
    show(&result, "A2");
    let short: Vec<&Value> = findings(&result, "A2", "note");
    assert!(short.iter().any(|finding| finding["phase"] == "large"), "256 MiB do not fit: {short:#?}");
    // A few pages may have been evicted again: nearly all of it must be there.
    let resident = |finding: &Value| finding["observed"].as_str().unwrap().split(' ').next().unwrap().parse::<f64>();
    for finding in short.iter().filter(|finding| finding["phase"] == "small") {
        assert!(resident(finding).is_ok_and(|percent| percent > 95.0), "{finding:#}");
    }
}

/// Protects: the end of the cache on the curve is at the control group's limit.
#[test]
fn a_sweep_of_the_size_finds_the_end_of_the_cache() {
    const LIMIT: u64 = 160 * MIB;
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let Some(group) = with_memory(LIMIT) else { return };
    // The image is sparse; a sweep takes at most a tenth of the free space.
    let (mounted, home) = (Mounted::on_loop("ext4", 8192 * MIB, ""), Home::new());
    let line = format!("sweep size=20M,40M,80M,160M,320M {} --time 500ms --json", mounted.as_str());
    let output: CommandOutput = group.plumb(&home, &line).expect_measured();
    let sweep = output.json();
    eprintln!("{}", sweep["verdict_note"]);
    assert_eq!(sweep["memory_bytes"], LIMIT);
    let curve = &sweep["curves"][0];
    let runs = curve["points"].as_array().unwrap().iter().map(|point| point["rate"]["runs"].as_u64().unwrap_or(0));
    let left_out = sweep["left_out"].as_array().unwrap();
    if runs.clone().any(|runs| runs == 0) {
        let why = left_out.iter().map(|one| one["reason"].as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n");
        return needs::not_shown(&format!("others on this disk had whole points of the curve rejected:\n{why}"));
    }
    let edge = &curve["found"]["edge"];
    let (below, above) = (edge["below_bytes"].as_f64(), edge["above_bytes"].as_f64());
    let (Some(below), Some(above)) = (below, above) else {
        let points = curve["points"].as_array().unwrap();
        let disturbed = points.iter().any(|point| {
            ["C1", "C5"].iter().any(|code| ["warn", "fail"].iter().any(|level| point["checks"][code] == *level))
        });
        assert!(disturbed, "no edge, and nobody else at work: {curve:#}");
        return needs::not_shown("others at work made the rates vary so much that no edge could be proven");
    };
    assert!(below >= LIMIT as f64 / 2.0 && above <= LIMIT as f64 * 2.0, "{edge:#}");
    let last = home.plumb("show last --json").expect(0).json();
    assert!(alarms(&last, "C12").is_empty(), "a limit of memory is none of I/O");
}
