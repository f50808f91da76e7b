//! `plumb as dbench` from outside.

use crate::common::traced::{same, traced, whole_calls};
use crate::common::{Home, needs};
use regex::Regex;
use serde_json::json;
use std::process::Command;

/// All operations except `Sleep`, each with its first-time conditions.
const LOAD: &str = r#"# A client.
Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 16385 NT_STATUS_OK
Close 16385 NT_STATUS_OK
NTCreateX "\clients\client1\mixfile" 0x40 0x1 9935 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "\clients\client1\~dmtmp" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
FIND_FIRST "\clients\client1\FILLER.*" 260 1366 0 NT_STATUS_NO_SUCH_FILE
NTCreateX "\clients\client1\filler.000" 0x40 0x2 9938 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
WriteX 9938 65534 1 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
WriteX 9938 0 65536 65536 NT_STATUS_OK
ReadX 9938 0 65536 65536 NT_STATUS_OK
LockX 9938 0 10 NT_STATUS_OK
UnlockX 9938 0 10 NT_STATUS_OK
SET_FILE_INFORMATION 9938 1004 NT_STATUS_OK
Flush 9938 NT_STATUS_OK
Close 9938 NT_STATUS_OK
Rename "\clients\client1\filler.000" "\clients\client1\b" NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 2 0 NT_STATUS_OK
NTCreateX "\clients\client1\b" 0x40 0x5 7 NT_STATUS_OK
Close 7 NT_STATUS_OK
Unlink "\clients\client1\b" NT_STATUS_OK
Unlink "\clients\client1\b" NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\d" 0x1 0x2 5 NT_STATUS_OK
Close 5 NT_STATUS_OK
Rmdir "\clients\client1\d" NT_STATUS_OK
"#;

/// Protects the whole path: clients work for the requested time, the report contains their operations, nothing is left
/// behind, and the result is stored. Other files are not removed.
#[test]
fn clients_follow_a_load_file() {
    let home = Home::new();
    home.file("load.txt", LOAD);
    let run = home.plumb("as dbench -c load.txt -t 2 3").expect(0);
    assert!(run.out.contains("releasing clients\n   3  "), "{}", run.out);
    let throughput = Regex::new(r"\nThroughput [\d.]+ MB/sec  3 clients  3 procs  max_latency=[\d.]+ ms\n$").unwrap();
    assert!(throughput.is_match(&run.out), "{}", run.out);
    for name in ["NTCreateX", "Deltree", "Qfsinfo", "UnlockX", "Find"] {
        assert!(run.out.contains(&format!("\n {name} ")), "{name}: {}", run.out);
    }
    assert!(!home.work().join("clients").exists());
    assert_eq!(home.query("select dialect, count(*) from run group by dialect"), [[json!("dbench"), json!(1)]]);
    std::fs::create_dir_all(home.work().join("clients/client0")).unwrap();
    home.file("clients/client0/mine", "x");
    home.plumb("as dbench -c load.txt -t 1 1").expect(5).expect_stderr(&["clients/client0/mine' exists"]);
    assert!(home.work().join("clients/client0/mine").exists());
    std::fs::remove_dir_all(home.work().join("clients")).unwrap();
    home.file("bad.txt", "Close 1 NT_STATUS_OK\n");
    home.plumb("as dbench -c bad.txt -t 1 1").expect(1).expect_stderr(&["line 1: handle 1 is not open here"]);
}

/// Returns the first calls of a client on its files.
fn calls(home: &Home, command: &Command) -> Vec<String> {
    let text = traced(
        home,
        command,
        &[
            "-e",
            "trace=mkdir,mkdirat,openat,openat2,newfstatat,stat,fstat,getdents64,statfs,pwrite64,pread64,fcntl,utimensat,fsync,rename,renameat,unlink,unlinkat,rmdir,close",
        ],
    );
    let mut whole = whole_calls(&text);
    // Debug builds check with F_GETFD that a descriptor is open before they close it.
    whole.retain(|(_, call)| !call.contains("F_GETFD"));
    // Ours opens the parent directory first. If that fails, it counts as the failed call itself.
    whole.retain(|(_, call)| !call.starts_with("openat2") || call.contains(" = -1 "));
    for (_, call) in &mut whole {
        if call.starts_with("openat2") {
            *call = call.replacen("openat2", "openat", 1).replace("\"clients\"", "\"clients/client0\"");
        }
    }
    // The client is the thread that makes its own directory, from its first operation on.
    // Ours makes it relative to the parent directory.
    let is_own = |call: &str| call.contains("clients/client0\"") || call.contains(", \"client0\"");
    let is_first = |call: &str| is_own(call) && call.starts_with("openat");
    let first = whole.iter().position(|(_, call)| is_first(call)).expect("a client begins");
    let client = whole[first].0;
    let of_client = whole[first..].iter().filter(|(thread, _)| *thread == client).map(|(_, call)| call.clone());
    let plain = |call: String| {
        let (what, result) = call.rsplit_once(" = ").unwrap_or((&call, ""));
        let (name, arguments) = what.split_once('(').unwrap_or((what, ""));
        let removes = name == "rmdir" || arguments.contains("AT_REMOVEDIR");
        let name = match name {
            "newfstatat" | "stat" | "fstat" => "stat",
            "unlink" | "unlinkat" | "rmdir" if removes => "rmdir",
            "unlink" | "unlinkat" => "unlink",
            name => name.trim_end_matches("at"),
        };
        let file = arguments.split('"').nth(1).map_or("", |path| path.rsplit('/').next().unwrap_or(path));
        // Descriptor numbers differ; results and lengths are the same.
        let result = if result.starts_with("-1") {
            result.split(' ').nth(1).unwrap_or("")
        } else if matches!(name, "pread64" | "pwrite64") {
            result
        } else {
            "ok"
        };
        format!("{name} {file} {result}").trim_end().to_owned()
    };
    of_client.map(plain).collect()
}

/// The real tool and ours make the same calls in the same order.
#[test]
fn the_same_calls_are_made_as_by_dbench() {
    if !needs::tools(&["dbench", "strace"]) {
        return;
    }
    let home = Home::new();
    home.file("load.txt", LOAD);
    let mut command = Command::new("dbench");
    command.args("-c load.txt -t 1 -D . 1".split(' ')).current_dir(home.work());
    let mut real = calls(&home, &command);
    std::fs::remove_dir_all(home.work().join("clients")).unwrap();
    let mut ours = calls(&home, &home.command("as dbench -c load.txt -t 1 -D . 1".split(' ')));
    // Compare one pass of the load file in each, up to the second `Deltree`.
    for calls in [&mut real, &mut ours] {
        let again = calls[1..].iter().position(|call| call == "open client0 ok" && calls.len() > 60);
        calls.truncate(again.map_or(60, |at| at + 1).max(60));
    }
    same(&real, &ours).unwrap();
}
