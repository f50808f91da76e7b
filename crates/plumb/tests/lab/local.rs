//! This machine as a host.

use super::{Site, alone, dialect, job, native, silent, steps};
use crate::common::{test_directories, wait_until};
use plumb_lab::protocol::{HostRequest, VERSION};
use plumb_lab::step::Safety;
use plumb_lab::{Host, HostError, Local};
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// A run gives the same as by hand: the result, the exit code, the messages, and the devices' counts.
#[test]
fn runs_as_by_hand() {
    let _alone = alone();
    let site = Site::new();
    let dir = site.path("work");
    let mut host = Local::new(&site.surroundings()).unwrap();
    assert!(host.facts().ram_bytes > 0 && host.facts().cpus > 0);
    let answer = host.run(&job(native(1), &dir, 60), &mut silent()).unwrap();
    assert!([0, 3].contains(&answer.exit_code), "{answer:?}");
    let result = answer.result.unwrap();
    assert_eq!((result.workload.name.as_str(), result.workload.seed), ("small", 7));

    let mut heard = Vec::new();
    let copy = dialect("dd", "if=/dev/zero of=out bs=4096 count=${ram*0.00000001} conv=fsync", "");
    let blocks = (host.facts().ram_bytes as f64 * 0.00000001) as u64;
    let answer = host.run(&job(copy, &dir, 60), &mut |text| heard.push(text.to_owned())).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    assert_eq!(std::fs::metadata(dir.join("out")).unwrap().len(), blocks * 4096);
    assert!(heard.contains(&format!("{blocks}+0 records in")), "{heard:?}");
    assert!(answer.stderr.contains("records out") && answer.result.is_some());

    let session = "set number 20\nset transactions 40\nrun\nquit\n";
    let answer = host.run(&job(dialect("postmark", "", session), &dir, 60), &mut silent()).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    assert_eq!(answer.result.unwrap().workload.name, "postmark");

    let answer = host.run(&job(dialect("fio", "--bogus", ""), &dir, 60), &mut silent()).unwrap();
    assert_eq!((answer.exit_code, answer.result), (1, None));
    assert!(answer.stderr.contains("bogus"), "{}", answer.stderr);

    let error = host.run(&job(dialect("dd", "count=${ram*x}", ""), &dir, 60), &mut silent()).unwrap_err();
    assert!(error.to_string().contains("${ram*x}"), "{error}");
    Box::new(host).close().unwrap();
    assert_eq!(
        std::fs::read_dir(site.path("state"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.file_name() != "journals")
            .count(),
        0
    );
}

/// A run that takes too long is ended, and leaves neither data nor processes.
#[test]
fn too_long_is_too_long() {
    let site = Site::new();
    let dir = site.path("work");
    let mut host = Local::new(&site.surroundings()).unwrap();
    let error = host.run(&job(native(300), &dir, 2), &mut silent()).unwrap_err();
    assert!(error.to_string().contains("not finished within 2 s"), "{error}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    site.assert_no_process();
}

/// Dropping a host undoes what it built.
#[test]
fn dropped_is_undone() {
    let site = Site::new();
    let mark = site.path("mark");
    let mark_it = json!([{ "kind": "cmd", "run": format!("touch {}", mark.display()), "undo": format!("rm {}", mark.display()) }]);
    let mut host = Local::new(&site.surroundings()).unwrap();
    host.build("drop", &steps(mark_it), &Safety::default(), &mut silent()).unwrap();
    assert!(mark.exists());
    drop(host);
    assert!(!mark.exists());
}

/// `kill -9` of the agent ends its run, and the next agent undoes what it built.
#[test]
fn a_killed_agent() {
    let site = Site::new();
    let (dir, mark) = (site.path("work"), site.path("mark"));
    let agent = || {
        let mut command = Command::new(super::program());
        command.args(["agent", "--state"]).arg(site.path("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut first = agent();
    let build = HostRequest::Build {
        tag: "killed".into(),
        steps: steps(
            json!([{ "kind": "cmd", "run": format!("touch {}", mark.display()), "undo": format!("rm {}", mark.display()) }]),
        ),
        safety: Safety::default(),
    };
    for request in [build, HostRequest::Run(job(native(300), &dir, 600))] {
        writeln!(first.stdin.as_mut().unwrap(), "{}", plumb_document::json::to_string(&request).unwrap()).unwrap();
    }
    wait_until("the run has begun", || dir.exists() && !test_directories(&dir).is_empty());
    assert!(mark.exists());
    first.kill().unwrap();
    first.wait().unwrap();
    wait_until("the run's data are gone", || test_directories(&dir).is_empty());
    site.assert_no_process();
    // The end of its input ends it.
    let mut second = agent();
    drop(second.stdin.take());
    assert!(second.wait().unwrap().success());
    assert!(!mark.exists());
}

/// An agent answers an invalid message, and continues.
#[test]
fn nonsense_is_answered() {
    let site = Site::new();
    let mut agent = Command::new(super::program())
        .args(["agent", "--state"])
        .arg(site.path("state"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let asked = format!(
        "\nnonsense\n{{\"ask\":\"hello\",\"version\":99}}\n{{\"ask\":\"hello\",\"version\":{VERSION}}}\n{{\"ask\":\"bye\"}}\n"
    );
    agent.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = agent.wait_with_output().unwrap();
    let replies: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| plumb_document::json::from_str(line).unwrap())
        .collect();
    assert!(replies[0]["reason"].as_str().unwrap().contains("not a request"), "{replies:?}");
    assert!(replies[1]["reason"].as_str().unwrap().contains(&format!("version {VERSION}")), "{replies:?}");
    assert_eq!(replies[2]["reply"], "hello");
    assert_eq!(replies.len(), 3);
}

/// Error messages come from the host itself.
#[test]
fn a_failing_step_is_reported() {
    let site = Site::new();
    let mut host = Local::new(&site.surroundings()).unwrap();
    let fails = steps(json!([{ "kind": "cmd", "run": "echo no such luck >&2; false" }]));
    let error = host.build("fails", &fails, &Safety::default(), &mut silent()).unwrap_err();
    assert!(
        matches!(&error, HostError::Failed { reason, refused: false } if reason.contains("no such luck")),
        "{error}"
    );
}
