//! File systems that are too small for other tools' command lines: rows that fit are run, others are skipped with a
//! message, and the disk is filled only on request.

use crate::alone;
use crate::common::disks::{Loop, Mounted};
use crate::common::{CommandOutput, Home, needs};
use std::path::Path;

const MIB: u64 = 1 << 20;

/// Creates a small file system without a journal, so that its free space is known.
fn small() -> Option<(Mounted, Home)> {
    needs::root_and(&["losetup", "mkfs.ext4"])
        .then(|| (Mounted::on(Loop::in_memory(96 * MIB), "ext4", ""), Home::new()))
}

/// Returns a command in the small file system's directory.
fn run_in(home: &Home, mounted: &Mounted, line: &str, fill: Option<&Path>) -> CommandOutput {
    let mut command = home.command(line.split_whitespace());
    command.current_dir(mounted.path());
    if let Some(fill) = fill {
        command.env("PLUMB_FILL", fill);
    }
    CommandOutput::run(command)
}

fn files(mounted: &Mounted) -> Vec<String> {
    let names = std::fs::read_dir(mounted.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name != "lost+found").collect()
}

#[test]
fn a_sweep_runs_the_sizes_that_fit_and_names_the_others() {
    let _alone = alone();
    let Some((mounted, home)) = small() else { return };
    let line = "as iozone -a -n 16m -g 256m -y 1m -q 1m -i 0 -R -f f";
    let output = run_in(&home, &mounted, line, None).expect(0);
    let hint = format!("PLUMB_FILL={} writes on until it is full", mounted.as_str());
    let output =
        output.expect_stderr(&["iozone: 131072 kB left out: ", "iozone: 262144 kB left out: ", "less than 5 %", &hint]);
    for size in ["16384", "32768", "65536"] {
        assert!(
            output.out.contains(&format!("{size}    1024 ")) && output.out.contains(&format!("\"{size}\"")),
            "{}",
            output.out
        );
    }
    assert!(!output.out.contains("131072"), "no row, and no row of zeros: {}", output.out);
    assert!(files(&mounted).is_empty());

    let output = run_in(&home, &mounted, "as iozone -s 512m -r 1m -i 0 -f f", None).expect(74);
    output
        .expect_stderr(&["524288 kB left out", "No space left on device"])
        .expect_stdout(&["Error writing block 0, f"]);
    let output = run_in(&home, &mounted, "as iozone -t 1 -t 8 -s 24m -r 1m -i 0", None).expect(0);
    output
        .expect_stderr(&["24576 kB by 8 children left out"])
        .expect_stdout(&["Children see throughput for 1 initial writers"]);

    // Like IOzone, if permitted by the setting.
    let output = run_in(&home, &mounted, "as iozone -s 512m -r 1m -i 0 -f f", Some(mounted.path())).expect(74);
    output.expect_stderr(&["No space left on device"]).expect_stdout(&["Error writing block"]);
    // But never on the file system of the system or the results.
    let line = "as iozone -s 900000g -r 1m -i 0 -f f";
    let mut command = home.command(line.split(' '));
    command.env("PLUMB_FILL", home.work());
    let output = CommandOutput::run(command).expect(74);
    if !output.err.contains("is never filled") {
        needs::not_shown(
            "the working directory lies on another file system than the results; the guard's own tests mount one",
        );
    }
    // The database that the next command creates needs space.
    let _ = std::fs::remove_file(mounted.path().join("f"));
    let mut command = home.command(line.replace(" f", &format!(" {}/f", mounted.as_str())).split(' '));
    command.env("PLUMB_FILL", mounted.path()).env("PLUMB_DB", mounted.path().join("results/plumb.db"));
    CommandOutput::run(command).expect(74).expect_stderr(&["holds /, /var or Plumb's results, and is never filled"]);
}

#[test]
fn jobs_that_fit_run_and_the_others_fail_by_themselves() {
    let _alone = alone();
    let Some((mounted, home)) = small() else { return };
    let job = |name: &str, size: &str| format!("--name={name} --size={size} --rw=write --bs=1m ");
    let line = format!("as fio --output=out {}{}{}", job("small", "8m"), job("large", "1g"), job("other", "8m"));
    let output = run_in(&home, &mounted, &line, None).expect(1);
    output.expect_stderr(&["large.0.0 would leave less than 5 %", "PLUMB_FILL="]);
    let mut left = files(&mounted);
    left.sort();
    assert_eq!(left, ["other.0.0", "out", "small.0.0"]);
    for name in ["small.0.0", "other.0.0"] {
        assert_eq!(std::fs::metadata(mounted.path().join(name)).unwrap().len(), 8 * MIB);
        std::fs::remove_file(mounted.path().join(name)).unwrap();
    }
    // The tool's own option for it.
    let line = format!("as fio --output=out {}--fill_device=1", job("fills", "1g"));
    run_in(&home, &mounted, &line, None).expect(0);
    let filling = mounted.path().join("fills.0.0");
    assert!(filling.metadata().unwrap().len() > 64 * MIB);
    std::fs::remove_file(filling).expect("the database that the next command creates needs space");
    let mut command = home.command(line.split_whitespace());
    command.env("PLUMB_DB", mounted.path().join("plumb.db")).current_dir(mounted.path());
    CommandOutput::run(command).expect(1).expect_stderr(&["is never filled"]);
}

#[test]
fn small_files_are_measured_where_there_is_no_room_for_the_large_one() {
    let _alone = alone();
    let Some((mounted, home)) = small() else { return };
    let output = run_in(&home, &mounted, "as bonnie++ -d . -u root -r 0 -s 1g -n 1 -q", None).expect(0);
    output.expect_stderr(&["the tests of the large file are left out", "less than 5 %", "Sequential Create"]);
    let output = run_in(&home, &mounted, "as bonnie++ -d . -u root -r 0 -s 1g -n 0 -q", None).expect(1);
    output.expect_stderr(&["less than 5 %"]);
    home.file("commands", "set size 1000000 2000000\nset number 500\nset transactions 10\nrun\nset size 10 20\nset number 10\nrun\nquit\n");
    let line = format!("as postmark {}", home.work().join("commands").display());
    let output = run_in(&home, &mounted, &line, None).expect_stderr(&["less than 5 %"]);
    assert!(output.out.contains("transactions"), "the second run is made: {}", output.out);
    assert!(files(&mounted).is_empty());
}

/// The files of a script grow while it runs. Even within one op, the reserve stays free, except for the little that is
/// written between two checks; and nothing is left in the user's directory.
#[test]
fn a_script_whose_files_grow_ends_before_the_disk_is_full() {
    let _alone = alone();
    let Some((mounted, home)) = small() else { return };
    let free_percent = || {
        let space = rustix::fs::statvfs(mounted.path()).unwrap();
        space.f_bavail * 100 / space.f_blocks
    };
    for (flowop, threads) in [
        ("flowop writewholefile name=grow,filesetname=set,fd=1,iosize=1m,workingset=1g", 1),
        ("flowop appendfile name=grow,filesetname=set,fd=1,iosize=256k", 4),
    ] {
        let script = home.file(
            "grow.f",
            &format!(
                "define fileset name=set,path=.,size=4k,entries=4,prealloc\n\
                 define process name=p {{ thread name=t,instances={threads} {{\n{flowop}\n}} }}\nrun 60\n"
            ),
        );
        let line = format!("as filebench -f {}", script.display());
        run_in(&home, &mounted, &line, None).expect(1).expect_stderr(&[
            "set/00000001",
            "No space left on device",
            "PLUMB_FILL=",
        ]);
        assert!((4..=5).contains(&free_percent()), "{flowop}: {} % are free", free_percent());
        run_in(&home, &mounted, &line, Some(mounted.path())).expect(1).expect_stderr(&["No space left on device"]);
        assert_eq!(free_percent(), 0, "{flowop}");
    }
}

/// Plumb's own commands leave 5 % free, regardless of the setting for other tools.
#[test]
fn native_runs_never_fill() {
    let _alone = alone();
    let Some((mounted, home)) = small() else { return };
    home.file(
        "over.toml",
        &format!(
            "name = \"over\"\n[target.data.file]\npath = {:?}\nsize = \"1GiB\"\n[[phase]]\nname = \"write\"\n\
             [[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix.write = 100\n",
            mounted.path().join("f")
        ),
    );
    let mut command = home.command(["run", "over.toml"]);
    command.env("PLUMB_FILL", mounted.path());
    let output = CommandOutput::run(command).expect(5);
    assert!(output.err.contains("less than 5 %") && !output.err.contains("PLUMB_FILL"), "{}", output.err);
}
