//! Agents and unknown clients: other users of the host, services without authentication, and connections that never
//! authenticate.

use crate::agents::{Agent, VERSION, WORKLOAD, fio_server};
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs, wait_until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

// Protects a host from its other users: without keys, an agent listens on a Unix socket, which identifies its peers. Before, it
// listened on a loopback port, and any client that sent its requests and closed was admitted as root.
#[test]
fn without_keys_an_agent_serves_its_own_user() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    for loopback in ["127.0.0.1:0", "[::1]:0", "localhost:0"] {
        let output = home.plumb(&format!("agent --listen {loopback}")).expect(2);
        output.expect_stderr(&["is reached by every user of this host", "--hosts local", "agent --init", "--keys"]);
    }
    let port = free_port();
    let agent = Agent::start(home.command(["agent", "--listen", "--allow", "."]), &home.work().join("agent.log"));
    assert!(agent.read_log().contains("listening on unix:"), "{}", agent.read_log());
    home.plumb("run w.toml --hosts local").expect_measured();
    home.plumb("agent --listen").expect(4).expect_stderr(&["another agent listens there"]);
    home.plumb("agent --init keys").expect(0);
    home.plumb("agent --listen --keys keys/server.keys").expect(2).expect_stderr(&["--keys are for TCP"]);
    // The keys are for other hosts of the same run; the local one ignores them.
    home.plumb("run w.toml --hosts local --hosts-keys keys/client.keys").expect_measured();
    let nobody = format!("run w.toml --hosts 127.0.0.1:{port}");
    home.plumb(&nobody).expect(4).expect_stderr(&["is reached by `--hosts local`"]);
    drop(agent);
    home.plumb("run w.toml --hosts local").expect(4).expect_stderr(&["agent.sock", "plumb agent --listen"]);
    if !needs::is_root() {
        needs::skip("needs root, to be another user");
        return;
    }
    // The directory keeps other users out. Open it, so that SO_PEERCRED has to refuse them.
    let open =
        tempfile::Builder::new().permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755)).tempdir().unwrap();
    let at = open.path().join("sock");
    let mut command = home.command(["agent", "--listen", &format!("unix:{}", at.display())]);
    command.current_dir(home.work());
    let agent = Agent::start(command, &home.work().join("open.log"));
    std::fs::set_permissions(&at, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    if !needs::tools(&["/usr/bin/python3"]) {
        return;
    }
    let script = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{}')\ntry: s.sendall(b'plumb-agent 1 {VERSION} 1 2 10 x\\n')\n\
         except OSError: pass\nprint(s.recv(200).decode())",
        at.display()
    );
    let mut stranger = Command::new("/usr/bin/python3");
    let printed = stranger.args(["-c", &script]).uid(65534).gid(65534).current_dir("/").output().unwrap();
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.contains("serves only the user who started it"), "{printed}");
    wait_until("it reports the client", || agent.read_log().contains("another user of this host"));
    assert!(agent.sessions().is_empty());
}

// Protects scripts and hosts: a service whose protocol has no keys requires allowed directories, prints a warning, and refuses
// connections without a known owner. Before, it opened the whole working directory to every client.
#[test]
fn services_without_authentication_need_allowed_directories() {
    let home = Home::new();
    let port = free_port();
    home.plumb(&format!("as fio --server=,{port}")).expect(2).expect_stderr(&[
        "not authenticated",
        "PLUMB_AGENT_ALLOW=",
        "PLUMB_AGENT_KEYS=",
    ]);
    home.plumb(&format!("as elbencho --service --foreground --port {port}"))
        .expect(2)
        .expect_stderr(&["not authenticated", "PLUMB_AGENT_ALLOW="]);
    let server = fio_server(&home, port, &home.work());
    wait_until("it warns", || server.read_log().contains("no authentication"));
    home.file("a.fio", "[a]\nsize=64k\nrw=write\n");
    home.plumb(&format!("as fio --client=,{port} a.fio")).expect(0).expect_stdout(&["a: (groupid=0"]);
    if !needs::is_root() {
        needs::skip("needs root, to be another user");
        return;
    }
    if !needs::tools(&["/usr/bin/python3"]) {
        return;
    }
    // Sends all requests and closes at once: the kernel's table shows UID 0 for the closing connection.
    let script = format!(
        "import socket\nfor _ in range(30):\n s = socket.create_connection(('127.0.0.1', {port}))\n \
         s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)\n s.sendall(b'plumb-agent 1 {VERSION} 1 2 10 x\\n')\n s.close()"
    );
    let mut stranger = Command::new("/usr/bin/python3");
    assert!(stranger.args(["-c", &script]).uid(65534).gid(65534).current_dir("/").status().unwrap().success());
    wait_until("all are refused", || server.read_log().matches("another user of this host").count() == 30);
    assert!(!server.read_log().contains("the client is gone"), "{}", server.read_log());
    wait_until("no process is left", || server.sessions().is_empty());
}

// Protects valid jobs: an agent started outside its allowed directory serves jobs whose files are all inside it. Before, it refused
// each one with "does not allow `.`".
#[test]
fn an_agent_started_elsewhere_serves_its_directory() {
    let home = Home::new();
    let (port, inside) = (free_port(), home.work().join("inside"));
    std::fs::create_dir(&inside).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = home.command(["as", "fio", &format!("--server=,{port}")]);
    command.current_dir(elsewhere.path()).env("PLUMB_AGENT_ALLOW", &inside);
    let _server = Agent::start(command, &home.work().join("server.log"));
    let job = |more: &str| {
        home.file("j.fio", &format!("[j]\nsize=64k\nrw=write\n{more}\n"));
        home.plumb(&format!("as fio --client=,{port} j.fio"))
    };
    let (directory, file) = (inside.display(), inside.join("named"));
    job(&format!("directory={directory}")).expect(0).expect_stdout(&["j: (groupid=0"]);
    let names = std::fs::read_dir(&inside).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name.ends_with("j.0.0")), "{names:?}");
    job(&format!("filename={}", file.display())).expect(0);
    assert!(file.exists());
    let here = elsewhere.path().canonicalize().unwrap();
    job("").expect(1).expect_stderr(&["does not allow", &here.display().to_string()]);
    job(&format!("filename={}", here.join("f").display())).expect(1).expect_stderr(&["does not allow"]);
    job(&format!("directory={directory}\nfilename=../out")).expect(1).expect_stderr(&["does not allow"]);
    assert_eq!(std::fs::read_dir(&here).unwrap().count(), 0);
}

// Protects clients with keys: unauthenticated connections do not use up their slots, and a refused client gets the reason. Before,
// 24 held connections starved an agent, and its clients reported a TLS mismatch.
#[test]
fn strangers_do_not_starve_those_who_have_keys() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    home.plumb("agent --init keys").expect(0);
    let port = free_port();
    let agent = Agent::with_keys(&home, port, "");
    let run = format!("run w.toml --hosts 127.0.0.1:{port} --hosts-keys keys/client.keys");
    let ends = AtomicBool::new(false);
    let output: Vec<CommandOutput> = std::thread::scope(|scope| {
        for number in 0..24 {
            let ends = &ends;
            // Each thread holds a connection and reconnects when it is closed. Half of them begin a TLS handshake.
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                    let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
                    if number % 2 == 0 {
                        let _ = stream.write_all(&[0x16, 3, 1]);
                    }
                    let is_open = |error: std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
                    while !ends.load(Ordering::Relaxed) && stream.read(&mut [0]).is_err_and(is_open) {}
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let output = (0..6).map(|_| home.plumb(&run)).collect();
        ends.store(true, Ordering::Relaxed);
        output
    });
    for output in output {
        output.expect_measured();
    }
    // More connections than the limit: the agent closes the oldest.
    let held: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect();
    home.plumb(&run).expect_measured();
    drop(held);
    wait_until("it reports it once", || agent.read_log().matches("connections that prove nothing").count() == 1);
    wait_until("no process is left", || agent.sessions().is_empty());
}
