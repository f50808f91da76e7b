//! Hosts: this machine, one over ssh, virtual ones. They leave nothing behind, however they end.

#![allow(clippy::disallowed_methods)] // tests write files

#[path = "../common/mod.rs"]
mod common;

mod local;
mod parity;
mod ssh;
mod vm;

use common::wait_until;
use plumb_lab::Surroundings;
use plumb_lab::protocol::{HostWork, RunJob};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by tests that load the machine, so that they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static BUSY: Mutex<()> = Mutex::new(());
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory for all files of a test, and hosts that use only this directory.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        Site { dir: tempfile::Builder::new().prefix("plumb-lab-test-").tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings {
            program: program(),
            state: self.path("state"),
            // Files derived from the same program are shared by all tests.
            cache: PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("lab-cache"),
            far_program: None,
            ssh: vec!["ssh".into()],
            boot_timeout: None,
            verbose: false,
            interrupted: None,
        }
    }

    /// Panics if a process of ours still mentions this directory.
    #[track_caller]
    fn assert_no_process(&self) {
        let place = self.dir.path().to_str().unwrap();
        wait_until("no process is left", || processes(place).is_empty());
    }
}

fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("plumb")
}

/// Returns the processes with this text in their command line, except this one.
fn processes(text: &str) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let speaks = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(text)
    };
    pids.filter(|pid| *pid != std::process::id()).filter(speaks).collect()
}

/// Returns a short random read of a small file.
fn native(seconds: u32) -> HostWork {
    let toml = format!(
        "name = \"small\"\n\n[target.data.file]\npath = \"data\"\nsize = \"4MiB\"\n\n[[phase]]\nname = \"random-read\"\n\
         stop.time = \"{seconds}s\"\n\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.pattern = \"random\"\n\
         work.blocks.block = \"4KiB\"\n"
    );
    HostWork::Native { toml }
}

fn dialect(tool: &str, words: &str, stdin: &str) -> HostWork {
    let args = words.split_whitespace().map(str::to_owned).collect();
    HostWork::Dialect { tool: tool.into(), args, stdin: stdin.into() }
}

fn job(work: HostWork, dir: &Path, timeout_s: u64) -> RunJob {
    RunJob { work, dir: dir.to_str().unwrap().into(), seed: 7, timeout_s, sim: None, led: None, stream: false }
}

/// Returns the steps of a build, as in a study's plan.
fn steps(json: serde_json::Value) -> Vec<plumb_lab::Step> {
    plumb_document::json::from_value(json).unwrap()
}

/// Discards progress messages.
fn silent() -> impl FnMut(&str) {
    |_: &str| ()
}
