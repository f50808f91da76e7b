//! New files and directories have the modes of the original tools, so that other users have the same access.

use crate::common::{Home, needs};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns the files that a command leaves in its working directory, with their modes under an empty umask.
fn left(home: &Home, command: &Command) -> BTreeMap<String, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 0; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.current_dir(home.work()).stdin(Stdio::null()).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shell:?}: {}\n{printed}", output.status);
    let mut found = BTreeMap::new();
    gather(&home.work(), &home.work(), &mut found);
    found
}

fn gather(directory: &Path, base: &Path, found: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stat = std::fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(base).unwrap().to_str().unwrap().to_owned();
        found.insert(name, format!("{:o}", stat.permissions().mode() & 0o7777));
        if stat.is_dir() {
            gather(&path, base, found);
        }
    }
}

fn plumbs(line: &str) -> BTreeMap<String, String> {
    let home = Home::new();
    let command = home.command(format!("as {line}").split_whitespace());
    left(&home, &command)
}

fn table(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
    rows.iter().map(|(name, mode)| ((*name).to_owned(), (*mode).to_owned())).collect()
}

#[test]
fn what_is_made_has_the_modes_of_the_real_tools() {
    for (tool, options) in [
        ("dd", "if=/dev/zero of=f bs=4k count=2"),
        ("fio", "--name=j --rw=write --size=64k"),
        ("fio", "--name=j --rw=read --size=64k --filename=f"),
        ("fio", "--name=j --rw=write --size=64k --filename=f --create_on_open=1"),
        ("fio", "--name=j --rw=write --size=64k --create_on_open=1 --nrfiles=2"),
        ("fio", "--name=j --rw=write --size=64k --unlink_each_loop=1 --loops=2"),
        ("fio", "--name=j --rw=write --size=64k --filesize=4k --nrfiles=2 --ioengine=filecreate"),
        ("fio", "--name=j --rw=write --size=64k --verify=crc32c --verify_state_save=1"),
        ("fio", "--name=j --rw=write --size=64k --write_iolog=i --write_bw_log=b --output=o"),
        ("iozone", "-s 64k -r 4k -i 0 -f f -w -b o.xls -Q"),
        ("iozone", "-t 2 -s 64k -r 4k -i 0 -i 9 -F a b -w"),
    ] {
        if !needs::tools(&[tool]) {
            continue;
        }
        let home = Home::new();
        let mut real = Command::new(tool);
        real.args(options.split_whitespace());
        let real = left(&home, &real);
        assert!(!real.is_empty(), "{tool} {options} leaves nothing");
        assert_eq!(plumbs(&format!("{tool} {options}")), real, "{tool} {options}");
    }
}

/// As strace shows for elbencho 3.1-10, which no distribution packages.
#[test]
fn what_elbencho_makes_its_group_may_write() {
    assert_eq!(plumbs("elbencho --nolive -w -s 64k -b 4k f"), table(&[("f", "664")]));
    assert_eq!(plumbs("elbencho --nolive -w -s 64k -b 4k --rand --trunctosize f"), table(&[("f", "664")]));
    let home = Home::new();
    home.file("tree", "d a\nd a/b\nf 4096 a/b/x\nf 4096 y\n");
    std::fs::create_dir(home.work().join("d")).unwrap();
    let left = |line: &str| {
        let all = left(&home, &home.command(format!("as elbencho --nolive {line}").split_whitespace()));
        all.into_iter().filter(|(name, _)| name.starts_with("d/")).collect::<BTreeMap<_, _>>()
    };
    let tree = table(&[("d/a", "777"), ("d/a/b", "777"), ("d/a/b/x", "664"), ("d/y", "664")]);
    assert_eq!(left("-d -w -t 1 -b 4k --treefile tree d"), tree);
    std::fs::remove_dir_all(home.work().join("d")).unwrap();
    std::fs::create_dir(home.work().join("d")).unwrap();
    let own = table(&[("d/r0", "777"), ("d/r0/d0", "777"), ("d/r0/d0/r0-f0", "664")]);
    assert_eq!(left("-d -w -t 1 -n 1 -N 1 -s 4k -b 4k d"), own);
}
