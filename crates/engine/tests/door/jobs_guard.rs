//! The files and devices that jobs may write to.

use super::common::*;
use super::jobs::{JobText, assert_no_faults, jobs};
use plumb_engine::Nobody;
use plumb_engine::guard::Permissions;
use plumb_workload::OpKind;
use std::path::Path;
use std::process::Command;

fn refused(place: &Place, text: &str) -> String {
    let error = place.try_run(text, &mut Nobody).expect_err(text);
    let refusal = error.refusal().unwrap_or_else(|| panic!("{error} is not a refusal"));
    assert_eq!(refusal.exit_code(), 5, "{error}");
    error.to_string()
}

#[test]
fn a_users_file_is_refused_with_the_option_that_allows_it() {
    let mut place = Place::new();
    let path = place.base().join("precious");
    std::fs::write(&path, "do not lose").unwrap();
    let text = jobs("said = [\"precious\"]", &[JobText::writes("job")]);
    let message = refused(&place, &text);
    let setting = format!("PLUMB_ALLOW={}", path.display());
    assert!(message.contains(&setting), "{message}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "do not lose");
    place.permissions = Permissions::parse(path.to_str().unwrap());
    assert_no_faults(&place.phase(&text));
    assert_eq!(path.metadata().unwrap().len(), 1 << 20);
}

#[test]
fn reading_a_users_file_needs_permission_only_to_extend_or_remove_it() {
    let place = Place::new();
    let path = place.base().join("precious");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    assert_no_faults(&place.phase(&jobs("said = [\"precious\"]", &[JobText::reads("job")])));
    refused(&place, &jobs("said = [\"precious\"]", &[JobText::reads("job").job("files.unlink = true")]));
    std::fs::write(&path, "short").unwrap();
    refused(&place, &jobs("said = [\"precious\"]", &[JobText::reads("job")]));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "short");
}

/// Protects files that scripts create with mktemp, fallocate and truncate: they can be written and extended for
/// reading, by threads and processes, repeatedly, until their owner writes to them.
#[test]
fn an_empty_file_is_used_until_its_owner_writes_to_it() {
    let place = Place::new();
    let path = place.base().join("mine");
    let writers = || vec![JobText::writes("job")];
    let process = |name| JobText::writes(name).group("run-as = \"process\"");
    for length in [0, 1 << 20, 1 << 30] {
        for members in [writers(), vec![process("one"), process("other")], vec![JobText::reads("job")]] {
            let _ = std::fs::remove_file(&path);
            std::fs::File::create(&path).unwrap().set_len(length).unwrap();
            let text = jobs("said = [\"mine\"]", &members);
            assert_no_faults(&place.phase(&text));
            assert_no_faults(&place.phase(&text));
            assert_no_faults(&place.phase(&jobs("said = [\"mine\"]", &writers())));
        }
    }
    use std::os::unix::fs::FileExt;
    std::fs::File::options().write(true).open(&path).unwrap().write_all_at(b"precious", 4096).unwrap();
    refused(&place, &jobs("said = [\"mine\"]", &[JobText::writes("job")]));
    assert!(std::fs::read(&path).unwrap()[4096..].starts_with(b"precious"));
}

#[test]
fn verified_files_are_never_written_even_if_too_short() {
    let place = Place::new();
    let path = place.base().join("precious");
    for content in [vec![1; 1 << 20], vec![0; 5000], Vec::new()] {
        std::fs::write(&path, &content).unwrap();
        for job in [
            JobText::writes("job").job("verify = { method = \"crc32c\", only = true }"),
            JobText::reads("job").job("verify = { method = \"crc32c\" }"),
        ] {
            let phase = place.phase(&jobs("said = [\"precious\"]", &[job]));
            assert!(phase.fault_count > 0, "{} unstamped bytes passed verification", content.len());
            assert!(std::fs::read(&path).unwrap() == content, "the file was changed");
        }
    }
}

#[test]
fn a_second_run_of_the_same_job_works_and_another_file_of_that_name_is_refused() {
    let mut places = vec![Place::new()];
    // Before Linux 6.6, tmpfs supports no marks.
    let memory = Mounted::tmpfs(64 << 20);
    places.extend(memory.as_ref().map(|memory| Place::on(memory.path())));
    for place in places {
        let text = jobs("said = [\"mine\"]", &[JobText::writes("job")]);
        assert_no_faults(&place.phase(&text));
        assert_no_faults(&place.phase(&text));
        let path = place.base().join("mine");
        std::fs::copy(&path, place.base().join("copy")).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(place.base().join("copy"), &path).unwrap();
        refused(&place, &text);
    }
}

/// F9: fails if a generated name alone makes a file count as test data.
#[test]
fn generated_names_are_judged_like_typed_names() {
    let place = Place::new();
    let path = place.base().join("job.0.0");
    let members = [JobText::writes("job"), JobText::writes("process").group("run-as = \"process\"")];
    for member in members {
        let text = jobs("numbered = { path = \"job.0.{}\", count = 1 }", &[member]);
        std::fs::write(&path, "left by another tool").unwrap();
        refused(&place, &text);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "left by another tool");
        std::fs::remove_file(&path).unwrap();
        for _ in 0..3 {
            let phase = place.phase(&text);
            assert_no_faults(&phase);
            assert_eq!(count(&phase, OpKind::Write), 256);
        }
        std::fs::write(&path, "precious").unwrap();
        refused(&place, &text);
    }
}

/// Checks that a register in the run's state directory is ignored if others can write to it.
#[test]
fn a_register_writable_by_others_makes_no_file_expendable() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let text = jobs("said = [\"mine\"]", &[JobText::writes("job")]);
    assert_no_faults(&place.phase(&text));
    assert_no_faults(&place.phase(&text));
    let register = place.state().join("made/register");
    std::fs::set_permissions(&register, std::fs::Permissions::from_mode(0o666)).unwrap();
    refused(&place, &text);
    std::fs::set_permissions(&register, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert_no_faults(&place.phase(&text));
}

#[test]
fn a_link_is_not_written_through() {
    let place = Place::new();
    let elsewhere = place.base().join("elsewhere");
    std::fs::write(&elsewhere, "safe").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.base().join("job.0")).unwrap();
    refused(&place, &jobs("numbered = { path = \"job.{}\", count = 1 }", &[JobText::writes("job")]));
    refused(&place, &jobs("said = [\"job.0\"]", &[JobText::writes("job")]));
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "safe");
}

#[test]
fn sinks_are_written_without_permission() {
    let place = Place::new();
    let phase = place.phase(&jobs("said = [\"/dev/null\"]", &[JobText::writes("job")]));
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::Write), 256);
}

/// A loop device that is removed together with its image.
struct Loop {
    device: String,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Option<Loop> {
        let image = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        image.as_file().set_len(4 << 20).unwrap();
        let output = Command::new("losetup").args(["-f", "--show"]).arg(image.path()).output().ok();
        match output.filter(|output| output.status.success()) {
            Some(output) => {
                Some(Loop { device: String::from_utf8(output.stdout).unwrap().trim().to_owned(), _image: image })
            }
            None => {
                skipped("a loop device needs root");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).output();
    }
}

#[test]
fn a_device_is_read_freely_but_written_only_if_named() {
    let Some(device) = Loop::new() else { return };
    let mut place = Place::new();
    let names = format!("said = [\"{}\"]", device.device);
    let phase = place.phase(&jobs(&names, &[JobText::reads("job").job("files.direct = true")]));
    assert_no_faults(&phase);
    assert_eq!(count(&phase, OpKind::Read), 256);
    let text = jobs(&names, &[JobText::writes("first"), JobText::writes("second").group("run-as = \"process\"")]);
    std::fs::write(&device.device, "precious").unwrap();
    let message = refused(&place, &text);
    assert!(message.contains("PLUMB_ALLOW=loop:"), "{message}");
    for permission in
        [device.device.clone(), message.split("PLUMB_ALLOW=").nth(1).unwrap().trim_end_matches(')').to_owned()]
    {
        place.permissions = Permissions::parse(&permission);
        let phase = place.phase(&text);
        assert_no_faults(&phase);
        assert_eq!(count(&phase, OpKind::Write), 512, "{permission}");
    }
}

#[test]
fn a_mounted_device_also_needs_a_permission_of_the_job() {
    let Some(mounted) = Mounted::on_loop("ext4", 16 << 20) else { return };
    let mut place = Place::new();
    place.permissions = Permissions::parse(mounted.device());
    let names = format!("said = [\"{}\"]", mounted.device());
    // Beyond the blocks that the file system has written so far, to leave it intact.
    let job =
        |more: &str| JobText::writes("job").stream("ranges = [{ start = \"15MiB\", length = \"4KiB\" }]").job(more);
    let message = refused(&place, &jobs(&names, &[job("")]));
    assert!(message.contains("mounted"), "{message}");
    if Path::new("/sys/fs/ext4").exists() {
        // A kernel may refuse all writes to mounted devices (CONFIG_BLK_DEV_WRITE_MOUNTED).
        match place.try_run(&jobs(&names, &[job("files.allow-mounted = true")]), &mut Nobody) {
            Ok(measurement) => assert_no_faults(&measurement.phases[0]),
            Err(error) => assert!(error.to_string().contains("open it for writing"), "{error}"),
        }
    }
}
