//! Compares the system calls of backends with those of real fio, call by call, under strace.

use super::*;
use std::process::Command;

/// Set in the traced process: the number of the comparison, and the path of the file.
const BACKEND: &str = "PLUMB_TEST_TRACED_BACKEND";
const PATH: &str = "PLUMB_TEST_TRACED_PATH";

/// One engine of fio and the matching backend.
struct Comparison {
    engine: &'static str,
    fio: &'static [&'static str],
    backend: Backend,
    depth: u32,
    ops: Vec<BlockOp>,
}

fn walk(kind: OpKind, step: u64) -> Vec<BlockOp> {
    (0..8).map(|number| op(kind, number * step, 4096)).collect()
}

fn comparisons() -> Vec<Comparison> {
    let batches: &[&str] = &["--rw=read", "--iodepth=4", "--iodepth_batch=4", "--iodepth_batch_complete=4"];
    let libaio = |vectored| Backend::Libaio { userspace_reap: false, vectored, nowait: false };
    let of = |engine, fio, backend, depth, ops| Comparison { engine, fio, backend, depth, ops };
    vec![
        of("psync", &["--rw=read"], Backend::Psync, 1, walk(OpKind::Read, 4096)),
        of("sync", &["--rw=read"], Backend::Seek, 1, walk(OpKind::Read, 4096)),
        of("sync", &["--rw=read:4k", "--io_size=32k"], Backend::Seek, 1, walk(OpKind::Read, 8192)),
        of("pvsync", &["--rw=write"], Backend::Preadv, 1, walk(OpKind::Write, 4096)),
        of("vsync", batches, Backend::SeekVectored, 4, walk(OpKind::Read, 4096)),
        of("libaio", batches, libaio(false), 4, walk(OpKind::Read, 4096)),
        of("splice", &["--rw=write"], Backend::Splice, 1, walk(OpKind::Write, 4096)),
        of("falloc", &["--rw=write"], Backend::Fallocate, 1, walk(OpKind::Write, 4096)),
        of("ftruncate", &["--rw=write"], Backend::Truncate, 1, walk(OpKind::Write, 4096)),
    ]
}

const TRACED: &str = "trace=lseek,read,write,readv,writev,pread64,pwrite64,preadv,pwritev,splice,vmsplice,fallocate,\
                      ftruncate,openat,close,io_submit,io_getevents";

/// Returns the calls of the thread that opens the file, between its last `openat` and its `close`:
/// names with the relevant arguments.
fn calls(traces: &Path, file: &Path) -> Vec<String> {
    let opening = format!("\"{}\", O_", file.display());
    let opens = |line: &str| line.starts_with("openat") && line.contains(&opening);
    let threads: Vec<String> = std::fs::read_dir(traces)
        .unwrap()
        .map(|thread| std::fs::read_to_string(thread.unwrap().path()).unwrap())
        .filter(|calls| calls.lines().any(opens))
        .collect();
    let [thread] = &threads[..] else { panic!("{} threads open the file in {}", threads.len(), traces.display()) };
    let lines: Vec<&str> = thread.lines().collect();
    let opened = lines.iter().rposition(|line| opens(line)).unwrap();
    let fd = lines[opened].rsplit_once("= ").unwrap().1.to_owned();
    let argument = |line: &str, number: usize| {
        let inner = line.split_once('(').unwrap().1;
        inner.split([',', ')']).nth(number).unwrap_or("").trim().to_owned()
    };
    lines[opened + 1..]
        .iter()
        .take_while(|line| !line.starts_with(&format!("close({fd})")))
        .filter_map(|line| {
            let (name, _) = line.split_once('(')?;
            let first = argument(line, 0);
            match name {
                "lseek" | "fallocate" | "ftruncate" | "read" | "write" | "pread64" | "pwrite64" if first != fd => None,
                // Querying the position moves nothing.
                "lseek" if line.contains("SEEK_CUR") => None,
                "lseek" | "ftruncate" => Some(format!("{name} {}", argument(line, 1))),
                "fallocate" => {
                    Some(format!("{name} {} {} {}", argument(line, 1), argument(line, 2), argument(line, 3)))
                }
                "readv" | "writev" | "preadv" | "pwritev" => {
                    Some(format!("{name} {}", line.matches("iov_len").count()))
                }
                "io_submit" | "io_getevents" => Some(format!("{name} {}", argument(line, 1))),
                "read" | "write" | "pread64" | "pwrite64" | "splice" | "vmsplice" => Some(name.to_owned()),
                _ => None,
            }
        })
        .collect()
}

/// Writes each thread's calls to its own file. In a common file, concurrent calls would be split.
fn traced(traces: &Path, command: &str, arguments: &[String], environment: &[(&str, &str)]) {
    let _ = std::fs::remove_dir_all(traces);
    std::fs::create_dir(traces).unwrap();
    let status = Command::new("timeout")
        .args(["60", "strace", "-ff", "-s", "0", "-e", TRACED, "-o"])
        .arg(traces.join("thread"))
        .arg(command)
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(status.status.success(), "{command}: {}", String::from_utf8_lossy(&status.stderr));
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The traced process is this test itself: with the variables set, it only executes the ops.
#[test]
fn calls_are_those_of_fio() {
    if let (Ok(number), Ok(path)) = (std::env::var(BACKEND), std::env::var(PATH)) {
        let Comparison { backend, depth, ops, .. } = comparisons().swap_remove(number.parse().unwrap());
        let file = open(Path::new(&path));
        run(request(backend, depth, block_files(&file, Path::new(&path))), &ops).unwrap();
        return;
    }
    if !has("strace") || !has("fio") {
        return skip("strace or fio is missing");
    }
    let directory = tempfile::tempdir().unwrap();
    for (number, comparison) in comparisons().into_iter().enumerate() {
        let path = directory.path().join("file");
        std::fs::write(&path, vec![3; 64 << 10]).unwrap();
        let name = path.to_str().unwrap();
        let (theirs, ours) = (directory.path().join("fio.strace"), directory.path().join("plumb.strace"));
        let mut words: Vec<String> =
            ["--name=a", "--thread", "--bs=4k", "--fallocate=none", "--invalidate=0", "--output=/dev/null"]
                .map(str::to_owned)
                .to_vec();
        words.push(format!("--ioengine={}", comparison.engine));
        words.push(format!("--filename={name}"));
        words.push(format!("--size={}k", if comparison.fio[0].contains(':') { 64 } else { 32 }));
        words.extend(comparison.fio.iter().map(|&word| word.to_owned()));
        traced(&theirs, "fio", &words, &[]);
        let this = std::env::current_exe().unwrap();
        let test = "backend::tests::traced::calls_are_those_of_fio";
        let arguments = ["--exact", test, "--test-threads=1"].map(str::to_owned);
        traced(&ours, this.to_str().unwrap(), &arguments, &[(BACKEND, &number.to_string()), (PATH, name)]);
        assert_eq!(calls(&ours, &path), calls(&theirs, &path), "{} {:?}", comparison.engine, comparison.fio);
    }
}
