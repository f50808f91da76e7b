//! The write guard on devices, through `plumb run`: exit code 5, and the exact setting that would allow the write.

use crate::alone;
use crate::common::disks::{Loop, Mounted, system};
use crate::common::{CommandOutput, Home, needs};
use std::path::Path;

const MIB: u64 = 1 << 20;

fn over(path: &Path, more: &str) -> String {
    format!(
        "name = \"over\"\n[target.disk.device]\npath = {:?}\nsize = \"4MiB\"\n{more}\n[[phase]]\nname = \"write\"\n\
         [[phase.workers]]\ntarget = \"disk\"\nwork.blocks.block = \"64KiB\"\nwork.blocks.mix.write = 100\n",
        path.to_str().unwrap()
    )
}

/// Returns the first bytes of a device.
fn beginning(path: &Path) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = vec![0; 64 << 10];
    std::fs::File::open(path).unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

/// Returns the shell words that a refusal prints after `before`, up to a blank or bracket outside quotes.
#[track_caller]
pub(crate) fn printed(command_output: &CommandOutput, before: &str) -> String {
    let after =
        command_output.err.split(before).nth(1).unwrap_or_else(|| panic!("no {before} in: {}", command_output.err));
    let mut quoted = false;
    let end = after.char_indices().find(|(_, c)| {
        quoted ^= *c == '\'';
        !quoted && matches!(c, ' ' | ')' | ';' | '\n')
    });
    let word = &after[..end.map_or(after.len(), |(at, _)| at)];
    let output = std::process::Command::new("sh").args(["-c", &format!("printf %s {word}")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_device_is_refused_until_its_serial_is_typed() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::new(64 * MIB), Home::new());
    std::fs::write(&disk.device, "precious").unwrap();
    home.file("over.toml", &over(&disk.device, ""));
    let refused = home.plumb("run over.toml").expect(5).expect_stderr(&["was not given", "--destroy", "PLUMB_ALLOW="]);
    assert!(beginning(&disk.device).starts_with(b"precious"));
    // Both settings that it prints.
    let serial = printed(&refused, "--destroy ");
    home.plumb_args(["run", "over.toml", "--destroy", &serial]).expect_measured();
    assert!(!beginning(&disk.device).starts_with(b"precious"));
    let mut allowed = home.command(["run", "over.toml"]);
    allowed.env("PLUMB_ALLOW", printed(&refused, "PLUMB_ALLOW="));
    CommandOutput::run(allowed).expect_measured();
    // The workload's own permission suffices for a device without a signature; another serial number does not.
    home.file("over.toml", &over(&disk.device, &format!("destroy-serial = {serial:?}")));
    home.plumb("run over.toml").expect_measured();
    home.file("over.toml", &over(&disk.device, "destroy-serial = \"another\""));
    home.plumb("run over.toml").expect(5).expect_stderr(&["but `destroy-serial` names another", &serial]);
    home.file("over.toml", &over(&disk.device, ""));
    home.plumb_args(["run", "over.toml", "--destroy", "another"]).expect(5);
    // Reading destroys nothing and needs no permission.
    home.file("read.toml", &over(&disk.device, "").replace("work.blocks.mix.write = 100", ""));
    home.plumb("run read.toml").expect_measured();
}

/// Protects scripts that create a loop device for a benchmark, and later users of it.
#[test]
fn a_blank_loop_device_is_written_to_until_somebody_else_writes_to_it() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    for native in [true, false] {
        let (disk, home) = (Loop::new(64 * MIB), Home::new());
        home.file("over.toml", &over(&disk.device, ""));
        let line = match native {
            true => "run over.toml".to_owned(),
            false => format!("as fio --output=out --name=m --filename={} --rw=write --size=4m", disk.device()),
        };
        for _ in 0..2 {
            home.plumb(&line).expect_measured();
            assert!(beginning(&disk.device).iter().any(|byte| *byte != 0));
        }
        // Data written through its image, its device, and a file system on it.
        use std::os::unix::fs::FileExt;
        let image = std::fs::File::options().write(true).open(disk.image()).unwrap();
        image.write_all_at(b"precious", 32 * MIB).unwrap();
        drop(image);
        let refused = if native { 5 } else { 1 };
        home.plumb(&line).expect(refused).expect_stderr(&["was not given"]);
        system("mkfs.ext4", &["-q", "-F", disk.device()]);
        home.plumb(&line).expect(refused).expect_stderr(&["has the signature of an ext4 file system"]);
    }
}

#[test]
fn a_device_with_a_signature_is_refused_until_its_serial_is_typed() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (disk, home) = (Loop::new(64 * MIB), Home::new());
    system("mkfs.ext4", &["-q", disk.device()]);
    let before = beginning(&disk.device);
    home.file("over.toml", &over(&disk.device, ""));
    let refused = home.plumb("run over.toml").expect(5).expect_stderr(&["has the signature of an ext4 file system"]);
    let serial = printed(&refused, "--destroy ");
    // The file may be old while the data on the device is new.
    home.file("over.toml", &over(&disk.device, &format!("destroy-serial = {serial:?}")));
    home.plumb("run over.toml").expect(5).expect_stderr(&["has the signature of"]);
    assert_eq!(beginning(&disk.device), before);
    home.plumb_args(["run", "over.toml", "--destroy", &serial]).expect_measured();
    assert_ne!(beginning(&disk.device), before);
}

#[test]
fn a_mounted_device_is_refused_whatever_is_named() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 64 * MIB, ""), Home::new());
    let disk = mounted.disk.as_ref().unwrap();
    home.file("over.toml", &over(&disk.device, ""));
    let way_out = format!("umount {}", mounted.as_str());
    home.plumb("run over.toml").expect(5).expect_stderr(&["is mounted", &way_out]);
    let serial = format!("loop:{}", disk.image().display());
    for arguments in [["--destroy", &serial], ["--plumb-allow", disk.device()]] {
        home.plumb_args(["run", "over.toml"].into_iter().chain(arguments))
            .expect(5)
            .expect_stderr(&["is mounted", "never allowed"]);
    }
    // Its image contains the same bytes under another name.
    home.file("image.toml", &format!("name = \"image\"\n[target.data.file]\npath = {:?}\nsize = \"1MiB\"\n[[phase]]\nname = \"w\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"64KiB\"\nwork.blocks.mix.write = 100\n", disk.image().to_str().unwrap()));
    let image = disk.image().to_str().unwrap();
    home.plumb_args(["run", "image.toml"]).expect(5);
    home.plumb_args(["run", "image.toml", "--plumb-allow", image])
        .expect(5)
        .expect_stderr(&["is in use", "losetup -d"]);
    std::fs::write(mounted.path().join("alive"), "x").unwrap();
}

#[test]
fn a_held_device_is_refused_whatever_is_named() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    // A loop device on top of a loop device keeps the lower one busy.
    let (lower, home) = (Loop::new(64 * MIB), Home::new());
    let upper = system("losetup", &["--find", "--show", lower.device()]);
    home.file("over.toml", &over(&lower.device, ""));
    let output = home.plumb_args(["run", "over.toml", "--plumb-allow", &format!("loop:{}", lower.image().display())]);
    system("losetup", &["--detach", &upper]);
    output.expect(5).expect_stderr(&["is held", "never allowed"]);
}

#[test]
fn a_read_only_device_is_refused() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::read_only(64 * MIB), Home::new());
    home.file("over.toml", &over(&disk.device, ""));
    home.plumb("run over.toml").expect(5).expect_stderr(&["cannot be written", "blockdev --setrw"]);
}

#[test]
fn a_read_only_file_system_is_refused() {
    let _alone = alone();
    if !needs::root_and(&["mount"]) {
        return;
    }
    let (memory, home) = (Mounted::in_memory(64 * MIB), Home::new());
    system("mount", &["-o", "remount,ro", memory.as_str()]);
    let line = format!("run random-read --at {} --set size=1MiB", memory.as_str());
    home.plumb(&line).expect(5).expect_stderr(&["mounted read-only", "mount -o remount,rw"]);
}

/// While the run holds a device, Linux does not trim blocks whose pages are dirty through any other handle.
#[test]
fn a_job_trims_what_it_has_just_written_through_the_page_cache() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::new(16 * MIB), Home::new());
    let job = "--name=a --size=1m --bs=64k --rw=write --trim_percentage=50 --trim_backlog=2 --verify=crc32c";
    let line = format!("as fio --output-format=json --filename={} {job}", disk.device());
    let mut command = home.command(line.split(' '));
    command.env("PLUMB_ALLOW", disk.device());
    let output = CommandOutput::run(command).expect(0);
    let root: serde_json::Value = plumb_document::json::from_str(&output.out).unwrap();
    let ops = |direction: &str| root["jobs"][0][direction]["total_ios"].as_u64().unwrap();
    assert_eq!(ops("write"), 16);
    assert!(ops("trim") > 0, "{}", output.out);
}

/// `plumb try` on a device or a file only reads.
#[test]
fn a_survey_of_a_device_only_reads() {
    let _alone = alone();
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let (disk, home) = (Loop::new(64 * MIB), Home::new());
    let before = system("cksum", &[disk.device.to_str().unwrap()]);
    let output =
        home.plumb_args(["try", disk.device.to_str().unwrap(), "--quick", "--time", "200ms"]).expect_measured();
    assert!(!output.out.contains("write"), "{}", output.out);
    output.expect_stdout(&["64 MiB", "Sequential 1 MiB", "Random 4 KiB QD32"]);
    assert_eq!(system("cksum", &[disk.device.to_str().unwrap()]), before, "the device has changed");
    home.file("data", &"x".repeat(8 << 20));
    home.plumb("try data --quick --time 200ms").expect_measured().expect_stdout(&["8 MiB", "Sequential 1 MiB"]);
}

/// Protects: the engine e4defrag exchanges blocks, so the file keeps its bytes. Its donor is written to, and is refused
/// like any file with user data, regardless of the job's own file names.
#[test]
fn a_donor_gives_its_blocks_and_not_somebodys_data() {
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let (mounted, home) = (Mounted::on_loop("ext4", 64 * MIB, ""), Home::new());
    let below = |name: &str| mounted.path().join(name);
    let job = |rest: &str| {
        let words =
            format!("as fio --ioengine=e4defrag --directory={} --size=1m --rw=write {rest}", mounted.path().display());
        home.plumb(&words)
    };
    let data: Vec<u8> = (0..1_u32 << 20).map(|byte| (byte % 251) as u8).collect();
    for name in ["own", "mine"] {
        std::fs::write(below(name), &data).unwrap();
    }
    let allowed = format!("--plumb-allow={}", below("own").display());
    let first_block = |name: &str| {
        let reported =
            std::process::Command::new("filefrag").arg("-sv").arg(below(name)).output().expect("filefrag runs");
        let reported = String::from_utf8_lossy(&reported.stdout).into_owned();
        let line = reported.lines().find(|line| line.trim_start().starts_with("0:")).expect("an extent").to_owned();
        line.split(':').nth(2).and_then(|place| place.split('.').next()).expect("a block").trim().to_owned()
    };
    let before = first_block("own");
    job(&format!("--name=j --filename=own --bs=64k --donorname=give {allowed}")).expect(0);
    assert_eq!(std::fs::read(below("own")).unwrap(), data, "the bytes stay");
    assert_ne!(first_block("own"), before, "and their blocks are others");
    assert_eq!(first_block("give"), before, "which the donor has now");
    job(&format!("--name=j --filename=own --bs=4k --donorname=give --inplace=1 {allowed}")).expect(0);
    assert_eq!(std::fs::metadata(below("give")).unwrap().len(), 0, "it gave back what it had");
    assert_eq!(std::fs::read(below("own")).unwrap(), data);
    for rest in ["--name=j --filename=new --donorname=mine", "--name=generated --donorname=mine --inplace=1"] {
        let output = job(rest).expect(1);
        assert!(output.err.contains("mine exists, and Plumb did not make it"), "{rest}: {}", output.err);
        assert_eq!(std::fs::read(below("mine")).unwrap(), data, "{rest}");
    }
}

/// Protects: `plumb as fio` reports the disk that the job ran on, as in fio: a loop device is a disk of its own, also
/// under a mounted file system. Its scheduler is the job's during the run, and is restored afterwards.
#[test]
fn fio_reports_the_disk_of_a_job() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let home = Home::new();
    let disks = |words: &str| -> Vec<String> {
        let mut command = home.command(format!("as fio --output-format=json --name=x --size=1m {words}").split(' '));
        command.env("PLUMB_ALLOW", home.work());
        let output = CommandOutput::run(command).expect(0);
        let document = output.json();
        let disks = document["disk_util"].as_array().unwrap();
        disks.iter().map(|disk| disk["name"].as_str().unwrap().to_owned()).collect()
    };
    let kernel_name = |device: &Path| device.file_name().unwrap().to_str().unwrap().to_owned();
    let disk = Loop::new(64 * MIB);
    let name = kernel_name(&disk.device);
    let scheduler = format!("/sys/block/{name}/queue/scheduler");
    let before = std::fs::read_to_string(&scheduler).unwrap();
    let words = format!("--filename={} --rw=read --direct=1 --ioscheduler=mq-deadline", disk.device.display());
    assert_eq!(disks(&words), [name]);
    assert_eq!(std::fs::read_to_string(&scheduler).unwrap(), before, "put back");
    let mounted = Mounted::on(Loop::new(64 * MIB), "ext4", "");
    let name = kernel_name(&mounted.disk.as_ref().unwrap().device);
    assert_eq!(disks(&format!("--directory={} --rw=write --end_fsync=1", mounted.path().display())), [name]);
}

/// Protects comparisons with fio on a loop device: the page says that Plumb dropped the image from memory.
#[test]
fn a_dropped_image_is_reported() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let home = Home::new();
    let mounted = Mounted::on(Loop::new(128 * MIB), "ext4", "");
    let device = mounted.disk.as_ref().unwrap().device.file_name().unwrap().to_str().unwrap().to_owned();
    let run = |policy: &str| {
        let line = format!(
            "run random-read --at {} --set size=16MiB --set time=300ms --set cache={policy}",
            mounted.path().display()
        );
        (home.plumb(&line).out.split_whitespace().collect::<Vec<_>>().join(" "), home.plumb("show last --json").json())
    };
    let output = format!("Plumb dropped the image below {device} from memory first; fio and dd do not");
    let (page, result) = run("direct");
    assert!(page.contains(&output), "{page}");
    assert_eq!(result["phases"][0]["caches"]["dropped_images"][0], device.as_str());
    let (page, result) = run("as-is");
    assert!(!page.contains("dropped the image") && result["phases"][0]["caches"].is_null(), "{page}");
}
