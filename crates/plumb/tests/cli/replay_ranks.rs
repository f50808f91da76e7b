//! `plumb trace replay` by several ranks, on one host and on two.

use crate::common::{CommandOutput, Home, assert_no_test_data, needs};
use crate::mpi::{Launcher, Reached, launchers};
use crate::mpi_hosts::{Hosts, NETWORK};
use serde_json::Value;

/// Threads that create, write, read, flush, close and remove files in their own directories, and stat one shared file.
fn apart(threads: u32) -> String {
    let mut text = String::new();
    for call in 0..threads * 30 {
        let (thread, number) = (11 + call % threads, call / threads);
        let directory = format!("/data/d{thread}");
        let file = format!("{directory}/f{}", number / 10);
        let what = match number % 10 {
            0 if number == 0 => format!("mkdir(\"{directory}\", 0755) = 0 <0.00002>"),
            0 => format!("unlink(\"{directory}/f{}\") = 0 <0.00002>", number / 10 - 1),
            1 => format!("openat(AT_FDCWD</data>, \"{file}\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3<{file}> <0.00002>"),
            7 => format!("pread64(3<{file}>, \"\"..., 4096, 8192) = 4096 <0.00001>"),
            8 => format!("close(3<{file}>) = 0 <0.000002>"),
            9 => "stat(\"/data/all\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.000003>".to_owned(),
            piece => format!("pwrite64(3<{file}>, \"\"..., 4096, {}) = 4096 <0.00001>", (piece - 2) * 4096),
        };
        text.push_str(&format!("{thread} 1000.{:06} {what}\n", call * 200));
    }
    text
}

fn lines<'a>(result: &'a Value, name: &str, host: Option<&str>) -> &'a Value {
    let lines = result["phases"][0]["fidelity"].as_array().unwrap();
    let found = lines.iter().find(|line| line["name"] == name && line["host"].as_str() == host);
    found.unwrap_or_else(|| panic!("no line {name} of {host:?}: {lines:?}"))
}

fn replayed(launcher: &Launcher, home: &Home, ranks: u32, options: &str) -> CommandOutput {
    CommandOutput::run(launcher.command_after(&[], home, ranks, &format!("trace replay app.strace --at . {options}")))
}

fn parse_result(output: CommandOutput) -> Value {
    // A replay may be rejected because other programs use the disk.
    assert!([0, 3].contains(&output.code), "{}: {}", output.code, output.err);
    output.json()
}

// Protects: ranks share the threads of a recording, each call is made once, and one sheet covers all of them.
#[test]
fn ranks_share_the_threads_of_a_recording() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("app.strace", &apart(4));
        for (ranks, order) in [(2, "resource"), (4, "resource"), (4, "thread"), (2, "none")] {
            let result = parse_result(replayed(launcher, &home, ranks, &format!("--order {order} --json")));
            let ops = lines(&result, "ops", None);
            assert_eq!((&ops["replayed"], &ops["verdict"]), (&120.0.into(), &"pass".into()), "{ranks} {order}");
            let outcomes = lines(&result, "outcomes that differ", None);
            // Without ordering, a file is written before it is created.
            assert!(order == "none" || outcomes["replayed"] == 0.0, "{ranks} {order}: {outcomes}");
            assert_eq!(result["phases"][0]["replay"]["counts"], Value::Null, "it is in no result");
            assert_eq!(result["phases"][0]["ranks"]["ranks"], ranks);
            assert_eq!(result["phases"][0]["replay"]["threads"], 4, "{ranks} {order}");
        }
        let page = replayed(launcher, &home, 2, "").out;
        assert!(page.contains("Fidelity of replay: ") && page.contains("2 ranks on "), "{page}");
        assert_no_test_data(&home.work());
    }
}

// Protects: copies are distributed as well, and each is complete.
#[test]
fn ranks_replay_copies() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("app.strace", &apart(2));
        let result = parse_result(replayed(launcher, &home, 2, "--clones 4 --json"));
        assert_eq!(lines(&result, "ops", None)["replayed"], 240.0);
        assert_eq!(lines(&result, "outcomes that differ", None)["replayed"], 0.0);
        assert_no_test_data(&home.work());
    }
}

// Protects: a replay that would need messages while a clock runs is refused before anything is created, with a
// suggestion.
#[test]
fn what_ranks_cannot_keep_is_refused() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("app.strace", &apart(2));
        for (ranks, options, words) in [
            (2, "--order total", ["ranks send nothing while they run", "--order resource or thread"]),
            (2, "--order inferred", ["ranks send nothing while they run", "--clones 2"]),
            (4, "", ["can be shared by 2 ranks at most, not 4", "use 2 ranks"]),
            (2, "--clones 3", ["3 copies of the recording cannot be shared by 2 ranks", "use a multiple of 2"]),
        ] {
            let output = replayed(launcher, &home, ranks, options);
            assert_ne!(output.code, 0, "{options}");
            assert!(words.iter().all(|words| output.err.contains(words)), "{options}: {}", output.err);
        }
        assert_no_test_data(&home.work());
    }
}

// Protects: ranks of two hosts replay one recording, and the sheet has lines for each host.
#[test]
fn two_hosts_replay_one_recording() {
    if !needs::root_and(&["ip", "unshare"]) {
        return;
    }
    for launcher in launchers() {
        let hosts = Hosts::new(2);
        let home = Home::new();
        home.file("app.strace", &apart(4));
        let (agent, own_address) = (hosts.agent(&home), format!("{NETWORK}.1"));
        let reached = Reached { names: &hosts.names, agent: &agent, own_address: &own_address };
        let command = launcher.command_on(&reached, 2, &home, "trace replay app.strace --at . --json");
        let result = parse_result(CommandOutput::run(command));
        assert_eq!(lines(&result, "ops", None)["replayed"], 120.0);
        for name in &hosts.names {
            let ops = lines(&result, "ops", Some(name));
            assert_eq!((&ops["recorded"], &ops["replayed"]), (&60.0.into(), &60.0.into()), "{name}: {ops}");
            assert_eq!(lines(&result, "outcomes that differ", Some(name))["replayed"], 0.0);
            lines(&result, "own lag p99", Some(name));
        }
        home.plumb("show last").expect(0).expect_stdout(&["4 ranks on 2 hosts", &format!("ops on {}", hosts.names[0])]);
        assert_no_test_data(&home.work());
    }
}
