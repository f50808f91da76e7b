//! Command lines from published comparisons, typed into a shell in which the tools are Plumb, at reduced size, on an
//! ext4. Each does what it says, or gives the reason, and its verdict is right.

use crate::alone;
use crate::common::disks::Mounted;
use crate::common::{CommandOutput, Home, needs};
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// The names under which Plumb is called.
const TOOLS: [&str; 5] = ["dd", "iozone", "bonnie++", "bon_csv2html", "postmark"];

/// A command line and its expected outcome.
struct Published {
    line: &'static str,
    code: i32,
    /// Texts on standard error.
    complains: &'static [&'static str],
    /// Phase, metric and the right tier: data read right after it was written comes from the cache.
    tiers: &'static [(&'static str, &'static str, &'static str)],
}

const LINES: &[Published] = &[
    Published {
        line: "iozone -Ra -s 1m -S 1024 -i 0 -i 1 -b namn.xls",
        code: 0,
        complains: &[],
        tiers: &[("read-1024k-4k", "read.bw", "cache"), ("reread-1024k-1024k", "read.bw", "cache")],
    },
    Published {
        line: "iozone -Raz -b results_all.xls -f 1 -g 64k",
        code: 0,
        complains: &[],
        tiers: &[("read-64k-4k", "read.bw", "cache"), ("stride-read-64k-4k", "read.bw", "cache")],
    },
    Published {
        line: "bonnie++ -s 64 -r 32 -n 1 -u root",
        code: 0,
        complains: &["Using uid:0, gid:0."],
        tiers: &[("get-block", "read.bw", "cache")],
    },
    // Half of this machine's memory: Bonnie++ refuses it, and so does Plumb.
    Published {
        line: "bonnie++ -s 64 -u root",
        code: 1,
        complains: &["File size should be double RAM for good results"],
        tiers: &[],
    },
    Published {
        line: "bonnie++ -d . -r 32 -s 64 -m 'FREEBSD_gmirror' -n 1:16384:0:20 -u root > out.csv && \
               cat out.csv | bon_csv2html > gmirror.html && grep -q FREEBSD_gmirror gmirror.html",
        code: 0,
        complains: &[],
        tiers: &[("get-block", "read.bw", "cache")],
    },
    Published {
        line: "dd if=/dev/zero of=test bs=1m count=20 oflag=dsync",
        code: 1,
        complains: &["dd: invalid number: ‘1m’", "plumb: `bs=1m` is a size for FreeBSD's dd", "use `bs=1M`"],
        tiers: &[],
    },
    Published {
        line: "dd if=/dev/zero of=test bs=1M count=20 oflag=dsync",
        code: 0,
        complains: &["20+0 records out"],
        tiers: &[("copy", "write.bw", "device")],
    },
    Published {
        line: "dd if=test of=/dev/null bs=1M oflag/dsync",
        code: 1,
        complains: &["dd: unrecognized operand ‘oflag/dsync’", "did you mean `oflag=dsync`?"],
        tiers: &[],
    },
    Published {
        line: "dd if=test of=/dev/null bs=1M",
        code: 0,
        complains: &["20+0 records in"],
        tiers: &[("copy", "read.bw", "cache")],
    },
    Published {
        line: "dd if=/dev/zero of=testfile bs=4k count=1000",
        code: 0,
        complains: &["1000+0 records out"],
        tiers: &[("copy", "write.bw", "cache")],
    },
    // As published, on the device under the file system in use.
    Published {
        line: "dd if=/dev/zero of=$DEVICE bs=1M count=1 oflag=dsync",
        code: 1,
        complains: &["mounted"],
        tiers: &[],
    },
    Published {
        line: "printf 'set size 1000 100000\\nset number 200\\nset transactions 500\\nrun\\nquit\\n' | postmark",
        code: 0,
        complains: &[],
        tiers: &[("create", "write.bw", "cache"), ("transactions", "read.bw", "cache")],
    },
];

/// Runs a shell in the file system's directory, in which the tools are Plumb.
fn shell(home: &Home, tools: &Path, mounted: &Mounted, line: &str) -> CommandOutput {
    let plumb = home.command([""]);
    let mut command = Command::new("bash");
    for (name, value) in plumb.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let device = mounted.disk.as_ref().unwrap().device();
    command.args(["-c", &format!("set -o pipefail; {line}")]).current_dir(mounted.path()).stdin(Stdio::null());
    command.env("PATH", path).env("DEVICE", device).env("LC_ALL", "C.UTF-8");
    CommandOutput::run(command)
}

#[test]
fn published_command_lines_run_as_typed() {
    let _alone = alone();
    if !needs::root_and(&["losetup", "mkfs.ext4", "bash"]) {
        return;
    }
    let home = Home::new();
    let tools = home.work().join("tools");
    std::fs::create_dir(&tools).unwrap();
    for tool in TOOLS {
        std::os::unix::fs::symlink(home.command([""]).get_program(), tools.join(tool)).unwrap();
    }
    let mounted = Mounted::on_loop("ext4", 512 * MIB, "");
    for published in LINES {
        let line = published.line;
        let output = shell(&home, &tools, &mounted, line);
        assert_eq!(output.code, published.code, "{line}\n{}\n{}", output.out, output.err);
        let output = output.expect_stderr(published.complains);
        if published.tiers.is_empty() {
            continue;
        }
        let result = home.plumb("show last --json").json();
        for (phase, metric, tier) in published.tiers {
            let phases = result["phases"].as_array().unwrap();
            let of_phase = phases.iter().find(|one| one["name"] == *phase);
            let found = of_phase.map(|one| &one["metrics"][metric]["tier"]);
            assert_eq!(found.and_then(|tier| tier.as_str()), Some(*tier), "{line}: {phase} {metric}\n{}", output.err);
        }
    }
}
