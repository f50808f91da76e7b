//! The write guard through `plumb run`: exit code 5, and the exact setting that would allow it. Devices, which need
//! root, are in the tests of storage.

use crate::common::{Home, Said, assert_no_test_data};
use std::path::Path;

/// Writes 1 MiB over a file.
pub fn workload(path: &Path) -> String {
    format!(
        "name = \"over\"\n[target.data.file]\npath = {:?}\nsize = \"1MiB\"\n[[phase]]\nname = \"write\"\n[[phase.workers]]\n\
         target = \"data\"\nwork.blocks.block = \"64KiB\"\nwork.blocks.mix.write = 100\n",
        path.to_str().unwrap()
    )
}

/// The setting that a refusal prints, `PLUMB_ALLOW=…`, taken apart as a shell would.
#[track_caller]
pub fn printed_setting(said: &Said) -> String {
    let after = said.err.split("PLUMB_ALLOW=").nth(1).unwrap_or_else(|| panic!("no setting in: {}", said.err));
    let script = format!("PLUMB_ALLOW={} ; printf %s \"$PLUMB_ALLOW\"", after.split([' ', ')', '\n']).next().unwrap());
    let output = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_existing_file_is_refused_until_it_is_named() {
    let home = Home::new();
    let precious = home.file("precious", "x");
    home.file("over.toml", &workload(&precious));
    let refused = home.plumb("run over.toml").expect(5).complains(&["precious exists, and Plumb did not make it"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
    assert_no_test_data(&home.work());
    // Naming something else does not help.
    home.plumb("run over.toml --plumb-allow elsewhere").expect(5);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");

    let setting = printed_setting(&refused);
    assert_eq!(Path::new(&setting), precious);
    let mut allowed = home.command(["run", "over.toml"]);
    allowed.env("PLUMB_ALLOW", &setting);
    Said::of(allowed).ran();
    assert_eq!(std::fs::metadata(&precious).unwrap().len(), 1 << 20);
    home.with(["run", "over.toml", "--plumb-allow", &setting]).ran();
}

/// A file that Plumb made is test data, and its to overwrite; a copy of it is not.
#[test]
fn a_file_that_plumb_made_may_be_written_again() {
    let home = Home::new();
    let path = home.work().join("made");
    home.file("over.toml", &workload(&path));
    home.plumb("run over.toml").ran();
    let has_marks =
        std::process::Command::new("cp").arg("--preserve=all").args([&path, &home.work().join("copy")]).status();
    let again = home.plumb("run over.toml");
    if again.code == 5 {
        return eprintln!("SKIPPED: this file system has no extended attributes of users");
    }
    again.ran();
    if has_marks.is_ok_and(|status| status.success()) {
        home.file("over.toml", &workload(&home.work().join("copy")));
        home.plumb("run over.toml").expect(5);
    }
}

#[test]
fn links_and_directories_are_refused() {
    let home = Home::new();
    let precious = home.file("precious", "x");
    let link = home.work().join("link");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    home.file("over.toml", &workload(&link));
    home.plumb("run over.toml").expect(5).complains(&["is a symbolic link"]);
    home.file("over.toml", &workload(&home.work()));
    home.plumb("run over.toml").expect(5).complains(&["a directory"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "x");
}

/// What a workload calls relative stays inside the test directory.
#[test]
fn a_relative_path_does_not_leave_the_test_directory() {
    let home = Home::new();
    home.file("precious", "x");
    home.file("over.toml", &workload(Path::new("../precious")));
    let said = home.plumb("run over.toml");
    assert!([2, 5].contains(&said.code), "{said:?}");
    assert_eq!(std::fs::read_to_string(home.work().join("precious")).unwrap(), "x");
    assert_no_test_data(&home.work());
}

/// An existing file that is only read needs no word from anybody, and is not changed.
#[test]
fn reading_an_existing_file_is_allowed() {
    let home = Home::new();
    let path = home.file("mine", &"x".repeat(1 << 20));
    home.file("read.toml", &workload(&path).replace("work.blocks.mix.write = 100", "").replace("size = \"1MiB\"", ""));
    home.plumb("run read.toml").ran();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x".repeat(1 << 20));
}
