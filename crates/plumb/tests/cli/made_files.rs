//! Files that Plumb made, and files under names that tools make up, on the command line: what the user puts into them is the
//! user's, and series of commands that write the same files again work as typed.

use crate::common::{Home, Said, needs};
use crate::refused::printed_setting;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Bytes that nothing recognises.
fn random(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[track_caller]
fn run(home: &Home, program: &str, words: &[&str]) {
    let status = Command::new(program).args(words).current_dir(home.work()).status().unwrap();
    assert!(status.success(), "{program} {words:?}");
}

/// That a command is refused, names the file and the way out, changes nothing, and works once it is allowed.
#[track_caller]
fn is_refused(home: &Home, line: &str, name: &str) -> Said {
    let path = home.work().join(name);
    let before = fs::read(&path).unwrap();
    let said = home.plumb(line);
    assert!(![0, 3].contains(&said.code) && said.err.contains("PLUMB_ALLOW="), "{line}: {said:?}");
    assert!(said.err.contains(name), "{said:?}");
    assert!(fs::read(&path).unwrap() == before, "{line}: {name} was changed");
    assert_eq!(Path::new(&printed_setting(&said)), path);
    said
}

#[track_caller]
fn works(home: &Home, line: &str) {
    let said = home.plumb(line);
    assert!([0, 3].contains(&said.code), "{line}: {said:?}");
}

const FIO: &str = "as fio --output=out --name=a --rw=write --size=64k --filename=disk.img";

/// F4. Fails where what Plumb made is test data for ever.
#[test]
fn a_backup_that_dd_made_is_not_overwritten() {
    let home = Home::new();
    fs::write(home.work().join("src"), random(1, 100_000)).unwrap();
    works(&home, "as dd if=src of=disk.img");
    let said = is_refused(&home, FIO, "disk.img");
    let mut allowed = home.command(FIO.split(' '));
    allowed.env("PLUMB_ALLOW", printed_setting(&said));
    let again = home.work().join("again");
    fs::copy(home.work().join("disk.img"), &again).unwrap();
    Said::of(allowed).expect(0);
    // Another source, and none.
    works(&home, "as dd if=src of=backup.img bs=4k");
    fs::write(home.work().join("other"), random(2, 100_000)).unwrap();
    is_refused(&home, "as dd if=other of=backup.img bs=4k", "backup.img");
    fs::remove_file(home.work().join("src")).unwrap();
    is_refused(&home, "as iozone -s 64k -i 0 -w -f backup.img", "backup.img");
}

/// F4, F12: each way in which a user fills a file that a benchmark made. Fails where mark, length or modification time decide.
#[test]
fn data_in_a_file_that_a_benchmark_made_is_not_overwritten() {
    let home = Home::new();
    let disk = home.work().join("disk.img");
    for made in [FIO, "as dd if=/dev/zero of=disk.img bs=64k count=1", "as iozone -s 64k -r 4k -i 0 -w -f disk.img"] {
        let ways: [(&str, &dyn Fn()); 4] = [
            ("cp", &|| run(&home, "cp", &["data", "disk.img"])),
            ("cp -p", &|| run(&home, "cp", &["-p", "data", "disk.img"])),
            ("touch -r", &|| {
                run(&home, "touch", &["-r", "disk.img", "like"]);
                fs::write(&disk, random(4, disk.metadata().unwrap().len() as usize)).unwrap();
                run(&home, "touch", &["-r", "like", "disk.img"]);
            }),
            ("cp -p over it", &|| {
                run(&home, "cp", &["-p", "disk.img", "copy"]);
                fs::write(home.work().join("copy"), random(5, disk.metadata().unwrap().len() as usize)).unwrap();
                run(&home, "touch", &["-r", "disk.img", "copy"]);
                run(&home, "mv", &["copy", "disk.img"]);
            }),
        ];
        for (way, fill) in ways {
            let _ = fs::remove_file(&disk);
            fs::write(home.work().join("data"), random(3, 50_000)).unwrap();
            works(&home, made);
            works(&home, made);
            fill();
            eprintln!("{made}, then {way}");
            is_refused(&home, made, "disk.img");
            is_refused(&home, FIO, "disk.img");
        }
    }
    let _ = fs::remove_file(&disk);
    works(&home, "as fio --output=out --name=a --rw=write --size=4m --filename=disk.img");
    if needs::tools(&["mkfs.ext4"]) {
        run(&home, "mkfs.ext4", &["-q", "-F", "disk.img"]);
        is_refused(&home, FIO, "disk.img");
    }
}

/// F6: fails where `filename_format` makes a name that fio made up.
#[test]
fn a_format_that_names_a_users_file_does_not_overwrite_it() {
    let home = Home::new();
    fs::create_dir(home.work().join("d")).unwrap();
    for (name, words) in [
        ("precious.db", "--name=x --directory=d --filename_format=precious.db"),
        ("p2.db", "--name=p2.db --directory=d --filename_format=$jobname"),
        ("p3.0.0", "--name=p3 --directory=d"),
    ] {
        let name = format!("d/{name}");
        fs::write(home.work().join(&name), "precious").unwrap();
        let line = format!("as fio --output=out {words} --rw=write --size=4k");
        is_refused(&home, &line, &name);
        is_refused(&home, &format!("{line} --unlink=1"), &name);
        // What is not there is made, and written again.
        fs::remove_file(home.work().join(&name)).unwrap();
        works(&home, &line);
        works(&home, &line);
    }
}

/// F9: fails where names that a tool makes up are test data.
#[test]
fn a_users_file_under_a_generated_name_is_not_overwritten() {
    let home = Home::new();
    for (name, line) in [
        ("job.0.0", "as fio --output=out --name=job --rw=write --size=4k"),
        ("job.0.0", "as fio --output=out --name=job --rw=randread --size=64k"),
        ("test_file.0", "as sysbench fileio --file-num=1 --file-total-size=64K prepare"),
        ("test_file.0", "as sysbench fileio --file-num=1 --file-total-size=64K cleanup"),
        ("iozone.tmp", "as iozone -s 64k -r 4k -i 0"),
        ("iozone.DUMMY.0", "as iozone -s 64k -r 4k -i 0 -t 1"),
    ] {
        fs::write(home.work().join(name), "precious").unwrap();
        is_refused(&home, line, name);
        // A second name of somebody's file.
        fs::rename(home.work().join(name), home.work().join("real")).unwrap();
        fs::hard_link(home.work().join("real"), home.work().join(name)).unwrap();
        is_refused(&home, line, name);
        fs::remove_file(home.work().join("real")).unwrap();
        fs::remove_file(home.work().join(name)).unwrap();
    }
    // What is empty holds nothing, whoever made it.
    fs::write(home.work().join("job.0.0"), "").unwrap();
    works(&home, "as fio --output=out --name=job --rw=write --size=4k");
}

/// A file that the real fio laid out is somebody's: it may be read, and written to when it is named.
#[test]
fn a_layout_of_the_real_fio_is_read_and_not_overwritten() {
    if !needs::tools(&["fio"]) {
        return;
    }
    let home = Home::new();
    run(&home, "fio", &["--output=theirs", "--name=job", "--rw=write", "--size=256k"]);
    let path = home.work().join("job.0.0");
    let before = fs::read(&path).unwrap();
    works(&home, "as fio --output=out --name=job --rw=randread --size=256k");
    assert!(fs::read(&path).unwrap() == before);
    let said = is_refused(&home, "as fio --output=out --name=job --rw=randwrite --size=256k", "job.0.0");
    let mut allowed = home.command("as fio --output=out --name=job --rw=randwrite --size=256k".split(' '));
    allowed.env("PLUMB_ALLOW", printed_setting(&said));
    Said::of(allowed).expect(0);
    // What fio stamped is test data.
    fs::remove_file(&path).unwrap();
    let stamped = ["--output=theirs", "--name=job", "--rw=write", "--size=256k", "--verify=crc32c", "--do_verify=0"];
    run(&home, "fio", &stamped);
    works(&home, "as fio --output=out --name=job --rw=randwrite --size=256k");
}

/// Series of commands that use files again, each twice, as typed. Fails where a run does not know what the one before left.
#[test]
fn series_of_commands_know_their_files() {
    let series: &[&[&str]] = &[
        &[
            "as fio --output=out --name=job --rw=write --size=256k",
            "as fio --output=out --name=job --rw=randread --size=256k",
            "as fio --output=out --name=job --rw=randrw --size=256k --numjobs=2",
            "as fio --output=out --name=job --rw=randwrite --size=256k --nrfiles=4 --thread",
            "as fio --output=out --name=job --rw=write --size=512k --unlink=1",
        ],
        &[
            "as fio --output=out --name=v --rw=write --size=256k --verify=crc32c --do_verify=0",
            "as fio --output=out --name=v --rw=write --size=256k --verify=crc32c --verify_only",
            "as fio --output=out --name=v --rw=read --size=256k --verify=crc32c",
            "as fio --output=out --name=v --rw=randwrite --size=256k --verify=crc32c --verify_state_save=1",
        ],
        &[
            "as fio --output=out --name=a --filename=shared --rw=write --size=256k --refill_buffers --numjobs=2",
            "as fio --output=out --name=b --filename=shared --rw=write --size=256k --buffer_pattern=0xdeadbeef",
            "as fio --output=out --name=c --filename=shared --rw=randwrite --size=256k --buffer_compress_percentage=50",
            "as fio --output=out --name=d --filename=shared --rw=write --size=256k --ioengine=mmap",
        ],
        &[
            "as sysbench fileio --file-num=2 --file-total-size=1M prepare",
            "as sysbench fileio --file-num=2 --file-total-size=1M --file-test-mode=rndrw --events=50 run",
            "as sysbench fileio --file-num=2 --file-total-size=1M --file-test-mode=seqwr --events=50 run",
            "as sysbench fileio --file-num=2 --file-total-size=1M cleanup",
        ],
        &[
            "as iozone -s 64k -r 4k -i 0 -w -f f",
            "as iozone -s 64k -r 4k -i 1 -w -f f",
            "as iozone -s 64k -r 4k -i 2 -w -f f",
            "as iozone -s 64k -r 4k -i 0 -w",
            "as iozone -s 64k -r 4k -i 1 -w",
            "as iozone -s 64k -r 4k -i 0 -w -t 2",
            "as iozone -s 64k -r 4k -i 1 -w -t 2",
        ],
        &[
            "as elbencho -w -s 256k -b 64k --nolive e",
            "as elbencho -r -s 256k -b 64k --nolive e",
            "as elbencho -w -s 256k -b 64k -t 2 --rand --nolive e",
            "as elbencho -F --nolive e",
        ],
        &[
            "as elbencho -d -w -t 2 -n 2 -N 3 -s 8k -b 4k --nolive .",
            "as elbencho -w -t 2 -n 2 -N 3 -s 8k -b 4k --nolive .",
            "as elbencho -r -t 2 -n 2 -N 3 -s 8k -b 4k --nolive .",
            "as elbencho -F -D -t 2 -n 2 -N 3 --nolive .",
        ],
        &["as ior -b 64k -t 64k -w -k -o i", "as ior -b 64k -t 64k -r -k -o i", "as ior -b 64k -t 64k -w -r -o i"],
        &["as fs_mark -d fs -n 10 -s 4096 -k -L 2"],
        &["as mdtest -n 5 -d md -C", "as mdtest -n 5 -d md -T", "as mdtest -n 5 -d md -r"],
        &["as bonnie++ -d . -u root -r 0 -s 1 -n 1"],
    ];
    let home = Home::new();
    for name in ["fs", "md"] {
        fs::create_dir(home.work().join(name)).unwrap();
    }
    for series in series {
        for _ in 0..2 {
            series.iter().for_each(|line| works(&home, line));
        }
    }
}

/// The commands of the published studies (studies/), smaller. Each is typed twice, as whoever repeats them does.
#[test]
fn published_series_run_as_typed() {
    let home = Home::new();
    fs::create_dir(home.work().join("raid")).unwrap();
    let postmark = "set size 1000 10000\nset number 20\nset transactions 50\nrun\nquit\n";
    fs::write(home.work().join("postmark.cfg"), postmark).unwrap();
    for _ in 0..2 {
        for line in [
            "as iozone -Ra -s 64 -S 1024 -i 0 -i 1 -b namn.xls",
            "as bonnie++ -u root -r 0 -s 2 -n 1",
            "as dd if=/dev/zero of=test bs=64k count=20 oflag=dsync",
            "as dd if=test of=/dev/null bs=64k",
            "as dd if=test of=copy bs=64k",
            "as dd if=/dev/urandom of=test2 bs=64k count=20 conv=fsync",
            "as dd if=test2 of=copy bs=64k",
            "as bonnie++ -d raid -r 0 -n 1 -s 2 -u root",
            "as bonnie++ -d raid -m FREEBSD_gmirror -u root -r 0 -s 2 -n 0",
            "as iozone -Raz -n 64 -g 128 -b results_all.xls -f raid/1",
            "as dd if=/dev/zero of=testfile bs=4k count=64",
            "as dd if=testfile of=/dev/null bs=4k count=64",
            "as dd if=/dev/zero of=testfile bs=1M count=2",
            "as postmark postmark.cfg",
            "as fio --output=out --name=seq --rw=write --bs=64k --size=1m",
            "as fio --output=out --name=seq --rw=read --bs=64k --size=1m",
            "as fio --output=out --name=seq --rw=randwrite --bs=4k --size=1m",
        ] {
            works(&home, line);
        }
    }
}

/// A run that is killed registers nothing. Its stamps are recognised; its random bytes are refused, with the way out.
#[test]
fn after_a_kill_stamped_files_pass_and_others_are_refused() {
    let home = Home::new();
    for (name, words, passes) in [("s.0.0", "--name=s --verify=crc32c", true), ("r.0.0", "--name=r", false)] {
        let line = format!("as fio --output=out {words} --rw=write --size=512k --time_based --runtime=60");
        let mut child = home.start(&line);
        let path = home.work().join(name);
        crate::common::wait_until("it writes", || path.metadata().is_ok_and(|meta| meta.len() == 512 << 10));
        std::thread::sleep(std::time::Duration::from_millis(300));
        child.kill().unwrap();
        child.wait().unwrap();
        let line = format!("as fio --output=out {words} --rw=write --size=512k");
        // Workers of a killed run end when they notice it.
        let mut said = home.plumb(&line);
        for _ in 0..50 {
            if said.code == 0 || !said.err.contains("has it open") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
            said = home.plumb(&line);
        }
        match passes {
            true => assert_eq!(said.code, 0, "{said:?}"),
            false => {
                is_refused(&home, &line, name).complains(&["was killed"]);
            }
        }
    }
}

/// Marks of versions that kept no register.
#[test]
fn files_of_earlier_versions_are_taken_over() {
    let home = Home::new();
    let line = "as fio --output=out --name=job --rw=write --size=64k --verify=crc32c --do_verify=0";
    works(&home, line);
    let path = home.work().join("job.0.0");
    let old = |name: &str| {
        let inode = std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        let value = format!("test data, format 1, inode {inode}");
        run(&home, "setfattr", &["-n", "user.plumb", "-v", &value, name]);
    };
    if !needs::tools(&["setfattr"]) {
        return;
    }
    old("job.0.0");
    works(&home, "as fio --output=out --name=job --rw=write --size=64k");
    // Registered by now: bytes that nothing recognises are no obstacle.
    works(&home, line);
    works(&home, "as fio --output=out --name=job --rw=write --size=64k");
    old("job.0.0");
    is_refused(&home, line, "job.0.0");
}
