//! Other machines: an sshd that the test starts, on this machine or in a network namespace.

use super::{Site, alone, dialect, job, native, processes, silent, steps};
use crate::common::disks::system;
use crate::common::ports::free_port;
use crate::common::{needs, test_directories, wait_until};
use plumb_lab::ssh::SshSpec;
use plumb_lab::step::Safety;
use plumb_lab::{Host, HostError, Ssh, Surroundings};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server, stopped when the test ends.
struct Server {
    child: Child,
    port: u16,
    address: String,
    site: Site,
    namespace: Option<Namespace>,
}

/// A network namespace, connected to this one by a virtual cable.
struct Namespace {
    name: String,
    cable: String,
}

impl Namespace {
    /// Creates the namespace, or returns the reason why it cannot.
    fn new() -> Result<Namespace, String> {
        let number = std::process::id() % 100_000;
        let space = Namespace { name: format!("plumb{number}"), cable: format!("plumb{number}") };
        let ip = |line: &str| {
            let output =
                Command::new("ip").args(line.split_whitespace()).output().map_err(|error| error.to_string())?;
            let printed = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() { Ok(()) } else { Err(format!("ip {line}: {printed}")) }
        };
        let Namespace { name, cable } = &space;
        ip(&format!("netns add {name}"))?;
        ip(&format!("link add {cable} type veth peer name far netns {name}"))?;
        ip(&format!("address add {NEAR}/30 dev {cable}"))?;
        ip(&format!("link set {cable} up"))?;
        ip(&format!("-n {name} address add {FAR}/30 dev far"))?;
        ip(&format!("-n {name} link set far up"))?;
        Ok(space)
    }
}

/// From the documentation range (RFC 5737), so that no real network is cut off.
const NEAR: &str = "203.0.113.1";
const FAR: &str = "203.0.113.2";

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", &self.cable]).stderr(Stdio::null()).status();
        let _ = Command::new("ip").args(["netns", "delete", &self.name]).stderr(Stdio::null()).status();
    }
}

impl Server {
    fn start(namespace: Option<Namespace>) -> Server {
        let site = Site::new();
        let path = |name: &str| site.path(name).to_str().unwrap().to_owned();
        for key in ["host", "user"] {
            system("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]);
        }
        std::fs::create_dir(site.path("far")).unwrap();
        // Directory of sshd's privilege separation; its package creates it at boot.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let address = if namespace.is_some() { FAR } else { "127.0.0.1" };
        let port = if namespace.is_some() { 2222 } else { free_port() };
        let config = format!(
            "ListenAddress {address}\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nPasswordAuthentication no\nSetEnv TMPDIR={} XDG_STATE_HOME={}\n",
            path("host"),
            path("user.pub"),
            path("far"),
            path("far-state"),
        );
        std::fs::write(site.path("config"), config).unwrap();
        let sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", &path("config")].map(str::to_owned);
        let inside = namespace.iter().flat_map(|space| ["ip", "netns", "exec", space.name.as_str()].map(str::to_owned));
        let words: Vec<String> = inside.chain(sshd).collect();
        let log = std::fs::File::create(site.path("log")).unwrap();
        let child = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::null()).stderr(log).spawn().unwrap();
        let log = site.path("log");
        wait_until("sshd listens", || std::fs::read_to_string(&log).unwrap().contains("Server listening"));
        Server { child, port, address: address.into(), site, namespace }
    }

    fn surroundings(&self) -> Surroundings {
        let known = self.site.path("known_hosts");
        let words = format!(
            "ssh -F /dev/null -p {} -i {} -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile={}",
            self.port,
            self.site.path("user").display(),
            known.display()
        );
        Surroundings { ssh: words.split(' ').map(str::to_owned).collect(), ..self.site.surroundings() }
    }

    fn spec(&self) -> SshSpec {
        SshSpec { to: format!("root@{}", self.address), boot: None, kernel: None, agent: None }
    }

    /// Panics if Plumb left anything on the other side.
    #[track_caller]
    fn assert_clean(&self) {
        let far = self.site.path("far");
        wait_until("what was copied is gone", || std::fs::read_dir(&far).unwrap().count() == 0);
        wait_until("no agent is left", || processes(far.to_str().unwrap()).is_empty());
        let state = std::fs::read_dir(self.site.path("far-state/plumb")).into_iter().flatten().flatten();
        let left: Vec<PathBuf> = state.map(|entry| entry.path()).filter(|path| !path.ends_with("journals")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn here() -> bool {
    needs::root_and(&["ssh", "ssh-keygen"]) && needs::tools(&["/usr/sbin/sshd"])
}

/// Plumb is copied, builds and runs there, and leaves nothing behind.
#[test]
fn over_ssh() {
    if !here() {
        return;
    }
    let _alone = alone();
    let server = Server::start(None);
    let dir = server.site.path("work");
    let mark = server.site.path("mark");
    let mut host = Ssh::connect(&server.spec(), &server.surroundings()).unwrap();
    let mark_it = json!([{ "kind": "cmd", "run": format!("touch {}", mark.display()), "undo": format!("rm {}", mark.display()) }]);
    host.build("over-ssh", &steps(mark_it), &Safety::default(), &mut silent()).unwrap();
    let mut heard = Vec::new();
    let copy = dialect("dd", "if=/dev/zero of=out bs=4096 count=256 conv=fsync", "");
    let answer = host.run(&job(copy, &dir, 60), &mut |text| heard.push(text.to_owned())).unwrap();
    assert_eq!(answer.exit_code, 0, "{answer:?}");
    assert!(answer.result.is_some() && heard.contains(&"256+0 records out".to_owned()), "{heard:?}");
    assert!(mark.exists());
    Box::new(host).close().unwrap();
    assert!(!mark.exists());
    server.assert_clean();
}

/// `--hosts ssh:…`: Plumb is copied, measures there, and leaves nothing behind.
#[test]
fn a_run_over_ssh() {
    if !here() {
        return;
    }
    let _alone = alone();
    let server = Server::start(None);
    let dir = server.site.path("measured");
    std::fs::create_dir(&dir).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plumb"))
        .args(["run", "random-read", "--set", "size=8MiB", "--set", "time=1s", "--no-store", "--json", "--at"])
        .args([dir.to_str().unwrap(), "--hosts", &format!("ssh:root@{}", server.address)])
        .env("PLUMB_SSH", server.surroundings().ssh.join(" "))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{printed}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["ranks"]["hosts"][0]["name"], format!("ssh:root@{}", server.address));
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
    server.assert_clean();
}

/// A host that is dropped without notice is still cleaned up.
#[test]
fn dropped_in_the_middle() {
    if !here() {
        return;
    }
    let _alone = alone();
    let server = Server::start(None);
    let mark = server.site.path("mark");
    let mut host = Ssh::connect(&server.spec(), &server.surroundings()).unwrap();
    let mark_it = json!([{ "kind": "cmd", "run": format!("touch {}", mark.display()), "undo": format!("rm {}", mark.display()) }]);
    host.build("dropped", &steps(mark_it), &Safety::default(), &mut silent()).unwrap();
    assert!(mark.exists());
    drop(host);
    wait_until("what was built is taken down", || !mark.exists());
    server.assert_clean();
}

/// An unsupported host is reported with a suggestion, and so is an unreachable one.
#[test]
fn what_does_not_work() {
    if !here() {
        return;
    }
    let server = Server::start(None);
    let wrong = server.site.path("wrong");
    std::fs::write(&wrong, "#!/no/such/interpreter\n").unwrap();
    let surroundings = Surroundings { far_program: Some(wrong), ..server.surroundings() };
    let error = Ssh::connect(&server.spec(), &surroundings).err().unwrap();
    assert!(matches!(error, HostError::Lost(_)), "{error}");
    for part in ["does not run there", "PLUMB_AGENT", "ssh said", "not found"] {
        assert!(error.to_string().contains(part), "`{part}` is missing from {error}");
    }
    server.assert_clean();
    // A host that runs a different kernel than requested is refused.
    let other = SshSpec { kernel: Some("0.99".to_owned()), ..server.spec() };
    let error = Ssh::connect(&other, &server.surroundings()).err().unwrap().to_string();
    assert!(error.contains("kernel = \"0.99\", but it runs "), "{error}");
    server.assert_clean();
}

/// The error of a real ssh is a single sentence, beginning with the cause. Lasting causes are failures, temporary ones
/// are losses.
#[test]
fn an_unreachable_host_is_explained_in_one_sentence() {
    if !here() {
        return;
    }
    let server = Server::start(None);
    let changed = |word: &str, value: &str| {
        let mut surroundings = server.surroundings();
        let at = surroundings.ssh.iter().position(|known| known.starts_with(word)).unwrap();
        if word.starts_with('-') {
            surroundings.ssh[at + 1] = value.to_owned();
        } else {
            surroundings.ssh[at] = value.to_owned();
        }
        surroundings
    };
    let connect_error = |spec: &SshSpec, surroundings: &Surroundings| {
        let error = Ssh::connect(spec, surroundings).err().unwrap();
        let lasts = matches!(error, HostError::Failed { .. });
        (error.to_string().trim_start_matches("lost: ").to_owned(), lasts)
    };
    let to = server.spec().to;
    // Another host's key is registered under its name.
    let known = server.site.path("other_hosts");
    let key = std::fs::read_to_string(server.site.path("user.pub")).unwrap();
    std::fs::write(&known, format!("[{}]:{} {key}", server.address, server.port)).unwrap();
    let mut of_another = changed("UserKnownHostsFile=", &format!("UserKnownHostsFile={}", known.display()));
    let strict = of_another.ssh.iter().position(|word| word == "StrictHostKeyChecking=no").unwrap();
    of_another.ssh[strict] = "StrictHostKeyChecking=yes".to_owned();
    let mut unknown = changed("UserKnownHostsFile=", "UserKnownHostsFile=/dev/null");
    unknown.ssh[strict] = "StrictHostKeyChecking=yes".to_owned();
    let no_host = SshSpec { to: "root@no-such-host.invalid".to_owned(), ..server.spec() };
    let port = free_port().to_string();
    let cases = [
        (connect_error(&server.spec(), &of_another), "its host key has changed", true),
        (connect_error(&server.spec(), &unknown), "its host key is unknown", true),
        (
            connect_error(&server.spec(), &changed("-i", "/dev/null")),
            "the login is refused (it accepts publickey",
            true,
        ),
        (connect_error(&no_host, &server.surroundings()), "no such host name", true),
        (connect_error(&server.spec(), &changed("-p", &port)), "connection refused", false),
    ];
    for ((text, lasts), cause, expected) in cases {
        let to = if cause.starts_with("no such") { &no_host.to } else { &to };
        assert!(text.starts_with(&format!("{to}: {cause}")) && text.lines().count() == 1, "{text}");
        assert!(text.chars().count() < 300 && !text.contains("Broken pipe"), "{text}");
        assert_eq!(lasts, expected, "{text}");
    }
    // With `verbose`, all output of ssh.
    let verbose = Surroundings { verbose: true, ..of_another };
    let (text, _) = connect_error(&server.spec(), &verbose);
    assert!(text.contains("\n  ssh: ") && text.contains("Host key verification failed"), "{text}");
}

/// The connection is cut in the middle of a run: the run is lost here, and the other side cleans up.
#[test]
fn a_cut_link() {
    if !here() || !needs::tools(&["ip"]) {
        return;
    }
    let _alone = alone();
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(reason) => return needs::skip(&format!("needs network namespaces: {reason}")),
    };
    let server = Server::start(Some(namespace));
    let cable = server.namespace.as_ref().unwrap().cable.clone();
    let (dir, mark) = (server.site.path("work"), server.site.path("mark"));
    let mut host = Ssh::connect(&server.spec(), &server.surroundings()).unwrap();
    let mark_it = json!([{ "kind": "cmd", "run": format!("touch {}", mark.display()), "undo": format!("rm {}", mark.display()) }]);
    host.build("cut", &steps(mark_it), &Safety::default(), &mut silent()).unwrap();
    let work = job(native(300), &dir, 600);
    let run = std::thread::spawn(move || host.run(&work, &mut silent()));
    wait_until("the run has begun", || dir.exists() && !test_directories(&dir).is_empty());
    system("ip", &["link", "set", &cable, "down"]);
    let error = run.join().unwrap().unwrap_err();
    assert!(matches!(error, HostError::Lost(_)), "{error}");
    wait_until("what was built is taken down", || !mark.exists());
    assert!(test_directories(&dir).is_empty());
    server.assert_clean();
}
