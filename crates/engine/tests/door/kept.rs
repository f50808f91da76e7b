//! Files shared by several runs are laid out once, but only if that changes nothing for the later runs.

use super::common::*;
use plumb_engine::KeptFiles;
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::SimRun;
use plumb_engine::testdir::TestDirs;
use plumb_engine::{DropCaches, Part, Setting};

const READ: &str = r#"
    name = "kept"
    [target.data.file]
    path = "data"
    size = "2MiB"
    [[phase]]
    name = "read"
    [[phase.workers]]
    target = "data"
    limit.passes = 1
    work.blocks.block = "64KiB"
"#;

/// Runs the texts one after another with kept files. Returns for each whether files were laid out, and the bytes moved.
fn run(texts: &[&str]) -> Vec<(bool, u64)> {
    let base = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let state = tempfile::tempdir().unwrap();
    let test_dirs = TestDirs::new(state.path());
    let kept = KeptFiles::create(&test_dirs, base.path(), "test").unwrap();
    let mut seen = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let permissions = Permissions::none();
        let setting = Setting {
            base: base.path(),
            permissions: &permissions,
            stop: StopFlag::detached(),
            test_dirs: &test_dirs,
            kept: Some(&kept),
            drop_caches: DropCaches::Never,
            sim_run: SimRun { seed: 1, run_index: 0, plot_index: 0 },
            sim_debt: Default::default(),
            content_seed: number as u64,
            recordings: None,
            net: None,
            unopened: Default::default(),
            say: |_| {},
            copy_listener: None,
            part: Part::All,
            others: None,
            mpi_io: None,
        };
        let mut spy = Spy::default();
        let measured = plumb_engine::run(&workload(text), &setting, &mut spy).unwrap();
        let laid_out = spy.preparing.iter().any(|what| what.starts_with("writing data"));
        seen.push((laid_out, measured.phases[0].bytes()));
    }
    kept.remove().unwrap();
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0, "everything is removed at the end");
    seen
}

#[test]
fn the_same_file_is_laid_out_once() {
    const ALL: u64 = 2 << 20;
    let overwrite = READ.replace("limit.passes = 1", "limit.passes = 1\nwork.blocks.mix = { read = 0, write = 1 }");
    assert_eq!(run(&[READ, READ, &overwrite, READ]), [(true, ALL), (false, ALL), (false, ALL), (false, ALL)]);
}

/// Another size or content under the same name is other data; both runs get their own.
#[test]
fn different_files_are_laid_out_for_the_run() {
    let longer = READ.replace("2MiB", "3MiB");
    let zero = READ.replace("size =", "content = \"zero\"\nsize =");
    let seen = run(&[READ, &longer, &zero, READ]);
    assert_eq!(seen, [(true, 2 << 20), (true, 3 << 20), (true, 2 << 20), (false, 2 << 20)]);
}

/// Stamps contain the run's own seed, and a trimmed file has holes afterwards.
#[test]
fn verified_and_trimmed_files_are_not_shared() {
    let verified = READ.replace("limit.passes = 1", "limit.passes = 1\nverify.checksum = \"crc32c\"");
    assert_eq!(run(&[&verified, &verified]), [(true, 2 << 20), (true, 2 << 20)]);
    let trimmed = READ.replace("limit.passes = 1", "limit.passes = 1\nwork.blocks.mix = { read = 1, trim = 1 }");
    assert!(run(&[&trimmed, &trimmed]).iter().all(|(laid_out, _)| *laid_out));
}
