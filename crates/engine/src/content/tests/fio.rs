//! fio verifies blocks written by Plumb, and Plumb verifies blocks written by fio.

use super::*;

/// Runs fio. Returns its exit code, which is the number of failed jobs, and its output.
fn fio(dir: &std::path::Path, words: &[String]) -> (i32, String) {
    let output = std::process::Command::new("fio").current_dir(dir).args(words).output().unwrap();
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

/// Returns the methods that the installed fio has; `None`, with a message, if fio is not installed.
fn methods_of_fio() -> Option<Vec<(VerifyMethod, &'static str)>> {
    match std::process::Command::new("fio").arg("--cmdhelp=verify").output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let has = |name: &str| text.split_whitespace().any(|word| word == name);
            METHODS
                .iter()
                .filter(|(_, name)| !has(name))
                .for_each(|(_, name)| eprintln!("SKIPPED: this fio has no verify={name}"));
            Some(METHODS.into_iter().filter(|(_, name)| has(name)).collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "fio is not installed");
            eprintln!("SKIPPED: fio is not installed");
            None
        }
        Err(error) => panic!("fio: {error}"),
    }
}

/// Returns the arguments of a fio job for each bench, with the rules and file of the bench.
fn fio_jobs(benches: &[(Bench, &str)], words: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = ["--size=256k", "--bs=4k", "--randseed=137", "--thread"].map(str::to_owned).to_vec();
    all.extend(words.iter().map(|word| (*word).to_owned()));
    for (bench, name) in benches {
        let Some(rules) = &bench.verify else { continue };
        all.push(format!("--name={name}"));
        all.push(format!("--filename={}", bench.path().display()));
        all.push(format!("--verify={name}"));
        if matches!(rules.method, VerifyMethod::Pattern | VerifyMethod::PatternHeader) {
            all.push("--verify_pattern=0xdeadbeef42".to_owned());
        }
        all.extend(rules.interval.map(|interval| format!("--verify_interval={}", interval.0)));
        if rules.stamp_at.0 > 0 {
            all.push(format!("--verify_offset={}", rules.stamp_at.0));
        }
    }
    all
}

/// Checks that Plumb verifies fio's blocks and fio verifies Plumb's blocks, and that both find damage.
fn both_ways(change: impl Fn(&mut Verify)) {
    let Some(methods) = methods_of_fio() else { return };
    assert!(methods.len() >= 15, "{methods:?}");
    let mut benches: Vec<(Bench, &str)> = (1..)
        .zip(methods)
        .map(|(worker, (method, name))| {
            let mut bench = Bench::with_method(method);
            change(bench.rules());
            bench.worker = worker;
            (bench, name)
        })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let run = |benches: &[(Bench, &str)], words: &[&str]| fio(dir.path(), &fio_jobs(benches, words));
    // Old versions of fio check almost nothing of a block with `sha512`, and every version so with `meta`.
    let weak = |name: &str| matches!(name, "sha512" | "meta");

    let (failed, text) = run(&benches, &["--rw=write", "--do_verify=0"]);
    assert_eq!(failed, 0, "{text}");
    let ops: Vec<BlockOp> = (0..64u32)
        .map(|number| BlockOp { number, ..BlockOp::load(OpKind::Read, 0, u64::from(number) * 4096, 4096) })
        .collect();
    for (bench, name) in &mut benches {
        // Only verify: fio's writes are older than this worker.
        bench.rules().only = true;
        assert_eq!(bench.start().read_all(&ops), [""; 0], "{name}, written by fio");
        bench.change(|bytes| bytes[5 * BLOCK + 3000] ^= 4);
        assert!(weak(name) || bench.start().read_all(&ops).len() == 1, "{name}, damaged");
        bench.rules().only = false;
        let mut run = bench.start();
        let ops = run.fill(4096);
        assert_eq!(run.read_all(&ops), [""; 0], "{name}, written and read here");
    }
    for words in [&["--rw=read"][..], &["--rw=randread"], &["--rw=write", "--verify_only"]] {
        let (failed, text) = run(&benches, words);
        assert_eq!(failed, 0, "written here, {words:?}: {text}");
    }
    benches.iter().for_each(|(bench, _)| bench.change(|bytes| bytes[7 * BLOCK + 3500] ^= 4));
    benches.retain(|(_, name)| !weak(name));
    let (failed, text) = run(&benches, &["--rw=read"]);
    assert_eq!(failed, benches.len() as i32, "damage that fio does not see: {text}");
}

#[test]
fn fio_and_plumb_verify_each_others_blocks() {
    both_ways(|_| {});
}

#[test]
fn fio_agrees_about_intervals() {
    both_ways(|rules| rules.interval = Some(Bytes(1024)));
}

#[test]
fn fio_agrees_about_stamp_positions() {
    both_ways(|rules| rules.stamp_at = Bytes(512));
}

#[test]
fn seeds_match_fio() {
    if methods_of_fio().is_none() {
        return;
    }
    let benches = [(Bench::with_method(VerifyMethod::Crc32c), "crc32c")];
    let bench = &benches[0].0;
    let (failed, text) = fio(bench.dir.path(), &fio_jobs(&benches, &["--rw=write", "--do_verify=0"]));
    assert_eq!(failed, 0, "{text}");
    let theirs = std::fs::read(bench.path()).unwrap();
    bench.start().fill(4096);
    let ours = std::fs::read(bench.path()).unwrap();
    for (number, (ours, theirs)) in ours.chunks(4096).zip(theirs.chunks(4096)).enumerate() {
        assert_eq!(ours[..24], theirs[..24], "block {number}: method, length, seed, offset");
        assert_eq!(ours[32..36], theirs[32..36], "block {number}: worker and number");
        assert_eq!(ours[40..], theirs[40..], "block {number}: checksum and content");
    }
}

#[test]
fn both_layouts_are_read() {
    for (method, name) in METHODS {
        for layout in [StampLayout::Versioned, StampLayout::Unversioned] {
            let mut bench = Bench::with_method(method);
            bench.rules().layout = layout;
            let mut run = bench.start();
            let ops = run.fill(4096);
            assert_eq!(run.read_all(&ops), [""; 0], "{name}, {layout:?}");
            // The reader need not know the layout.
            bench.rules().layout = StampLayout::Versioned;
            bench.rules().only = true;
            assert_eq!(bench.start().read_all(&ops), [""; 0], "{name}, {layout:?}");
        }
    }
}
