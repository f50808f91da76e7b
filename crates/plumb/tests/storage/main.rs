//! End-to-end tests on real storage: loop devices with each file system, memory, and the build's directory.
//!
//! Loop devices and mounts need root; without it, these tests are skipped with a message. They measure, so one runs at
//! a time.

#![allow(clippy::disallowed_methods)] // tests write files

#[path = "../common/mod.rs"]
mod common;

mod capacity;
mod devices;
mod filesystems;
mod first_try;
mod fit_for;
mod full;
mod liar;
mod limits;
mod load;
mod places;
mod preflight;
mod published;
mod repeat;
mod slower;
mod traps;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Held by each test: two that measure at the same time would disturb each other.
fn alone() -> MutexGuard<'static, ()> {
    static MEASURING: Mutex<()> = Mutex::new(());
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that report other programs' activity, which a shared machine cannot exclude.
const OTHERS: &[&str] = &["C1", "C5"];

/// Panics unless the result is trusted, or rejected only because of other programs.
#[track_caller]
fn trusted_but_for_others(output: &common::CommandOutput) -> serde_json::Value {
    let result = output.json();
    let failed: Vec<&serde_json::Value> =
        result["checks"].as_array().unwrap().iter().filter(|finding| finding["level"] == "fail").collect();
    let disturbed = failed.iter().all(|finding| OTHERS.contains(&finding["code"].as_str().unwrap()));
    assert!(
        output.code == 0 || (output.code == 3 && disturbed),
        "{}: {}\n{failed:#?}\n{}",
        output.command,
        output.code,
        output.err
    );
    result
}
