//! Kernel settings and their old values, and limits of the measured processes.

use crate::bench::Bench;
use crate::needs;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn root_settings_get_their_old_values_back() {
    if !needs::root_and(&["losetup"]) {
        return;
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let dirty = || {
        ["dirty_ratio", "dirty_bytes", "dirty_expire_centisecs"]
            .map(|name| fs::read_to_string(format!("/proc/sys/vm/{name}")).unwrap().trim().to_owned())
    };
    let old = dirty();
    let expire: u64 = old[2].parse().unwrap();
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "8MiB"},
                   {"kind": "queue", "device": "@d", "set": {"scheduler": "none", "nr_requests": 64, "rotational": 1}},
                   {"kind": "readahead", "device": "@d", "size": "1MiB"},
                   {"kind": "sysctl", "set": {"vm.dirty_bytes": "64000000", "vm.dirty_expire_centisecs": EXPIRE}}]"#;
    let text = text.replace("EXPIRE", &(expire + 1).to_string());
    let made = bench.build(&text).unwrap();
    let name = made["d"][0].trim_start_matches("/dev/");
    let queue = |file: &str| fs::read_to_string(format!("/sys/block/{name}/queue/{file}")).unwrap().trim().to_owned();
    assert_eq!((queue("rotational").as_str(), queue("nr_requests").as_str()), ("1", "64"));
    assert_eq!(queue("read_ahead_kb"), "1024");
    assert!(queue("scheduler").contains("[none]") || queue("scheduler") == "none");
    assert_eq!(dirty()[1..], ["64000000".to_owned(), (expire + 1).to_string()]);
    bench.undo();
    assert_eq!(dirty(), old);
    assert_eq!(bench.standing(), before);
}

#[test]
fn root_settings_that_the_kernel_rejects_are_reported() {
    if !needs::root_and(&["losetup"]) {
        return;
    }
    for (step, expected) in [
        (r#"{"kind": "queue", "device": "@d", "set": {"scheduler": "elevator"}}"#, "the kernel rejects it"),
        (r#"{"kind": "queue", "device": "@d", "set": {"schedule": "none"}}"#, "the queue has no `schedule`, but"),
        (r#"{"kind": "sysctl", "set": {"vm.no_such_thing": 1}}"#, "/proc/sys/vm/no_such_thing"),
        (r#"{"kind": "sysctl", "set": {"vm.dirty_ratio": "much"}}"#, "the kernel rejects it"),
    ] {
        let mut bench = Bench::new();
        let before = bench.standing();
        let text = format!(r#"[{{"kind": "loop", "name": "d", "directory": "DIR", "size": "8MiB"}}, {step}]"#);
        let error = bench.build(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(bench.standing(), before);
    }
}

// Protects: a limit on the device applies only to confined processes.
#[test]
fn root_confined_processes_are_limited_and_others_are_not() {
    if !needs::root_and(&["losetup", "dd"]) {
        return;
    }
    let one = Path::new("/sys/fs/cgroup/blkio");
    let is_one = one.join("blkio.throttle.read_bps_device").exists();
    let root = if is_one { one } else { Path::new("/sys/fs/cgroup") };
    if !is_one && !fs::read_to_string(root.join("cgroup.controllers")).is_ok_and(|text| text.contains("io")) {
        return needs::not_shown("no control group controls I/O here");
    }
    let mut bench = Bench::new();
    let before = bench.standing();
    let text = r#"[{"kind": "loop", "name": "d", "directory": "DIR", "size": "16MiB", "fill": "filled", "direct-io": true,
                    "limits": {"read-bps": "64MiB"}}]"#;
    let made = bench.build(text).unwrap();
    let number = fs::read_to_string(format!("/sys/block/{}/dev", made["d"][0].trim_start_matches("/dev/"))).unwrap();
    let number = number.trim();
    let mine = format!("plumb-lab-{}-", std::process::id());
    let groups = fs::read_dir(root).unwrap().flatten().map(|entry| entry.path());
    // Other tests of this process may have groups, too.
    let group = groups
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&mine))
        .find(|path| {
            let file = if is_one { "blkio.throttle.read_bps_device" } else { "io.max" };
            fs::read_to_string(path.join(file)).is_ok_and(|text| text.contains(number) && text.contains("67108864"))
        })
        .expect("a group with the limit");
    let counted = || -> u64 {
        let file = if is_one { "blkio.throttle.io_service_bytes" } else { "io.stat" };
        let text = fs::read_to_string(group.join(file)).unwrap();
        let line =
            text.lines().find(|line| line.starts_with(&format!("{number} ")) && (!is_one || line.contains("Read")));
        let last =
            |line: &str| line.split_whitespace().find_map(|word| word.trim_start_matches("rbytes=").parse().ok());
        line.and_then(last).unwrap_or(0)
    };
    let read = |is_confined: bool| {
        let script = "read go; exec dd if=\"$0\" of=/dev/null bs=1M count=8 iflag=direct status=none";
        let mut child = Command::new("sh").args(["-c", script, &made["d"][0]]).stdin(Stdio::piped()).spawn().unwrap();
        if is_confined {
            bench.builder.confine(child.id()).unwrap();
        }
        child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
        assert!(child.wait().unwrap().success());
    };
    read(false);
    assert_eq!(counted(), 0);
    read(true);
    assert_eq!(counted(), 8 << 20);
    bench.undo();
    assert_eq!(bench.standing(), before);
}

// Protects a machine's network: an interface gets its old MTU back, and an impossible one is refused.
#[test]
fn root_the_mtu_of_an_interface_comes_back() {
    if !needs::root_and(&["ip"]) {
        return;
    }
    let ip = |line: &str| Command::new("ip").args(line.split_whitespace()).status().unwrap().success();
    let name = format!("pl{}", std::process::id() % 1_000_000);
    let [one, other, namespace] = ["a", "b", "n"].map(|end| format!("{name}{end}"));
    assert!(ip(&format!("netns add {namespace}")));
    assert!(ip(&format!("link add {one} type veth peer name {other} netns {namespace}")));
    let mtu = || fs::read_to_string(format!("/sys/class/net/{one}/mtu")).unwrap().trim().to_owned();
    let far = || {
        let shown = Command::new("ip").args(["-n", &namespace, "link", "show", "dev", &other]).output().unwrap();
        String::from_utf8(shown.stdout).unwrap()
    };
    let mut bench = Bench::new();
    let step = format!(r#"{{"kind": "link", "device": "{one}", "mtu": 9000}}"#);
    let at_other = format!(r#"{{"kind": "link", "device": "{other}", "namespace": "{namespace}", "mtu": 9000}}"#);
    bench.build(&format!("[{step}, {at_other}]")).unwrap();
    assert_eq!(mtu(), "9000");
    assert!(far().contains("mtu 9000"), "{}", far());
    bench.undo();
    assert_eq!(mtu(), "1500");
    assert!(far().contains("mtu 1500"), "{}", far());
    // One bench at a time.
    drop(bench);
    for (step, expected) in [
        (r#"{"kind": "link", "device": "no-such0", "mtu": 9000}"#.to_owned(), "no-such0"),
        (format!(r#"{{"kind": "link", "device": "{one}", "mtu": 65536}}"#), "mtu"),
        (format!(r#"{{"kind": "link", "device": "{one}", "mtu": 67}}"#), "68 to 65536"),
    ] {
        let error = Bench::new().build(&format!("[{step}]")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(mtu(), "1500");
    }
    assert!(ip(&format!("link del {one}")) && ip(&format!("netns del {namespace}")));
}
