//! A PostgreSQL server of its own for a test, on a socket in a temporary directory.

use super::needs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time until the server must answer.
const START_MAX: Duration = Duration::from_secs(60);

/// A running server with an empty database `results`, owned by `owner`. Ends with the value, also after a panic.
pub struct Postgres {
    server: Child,
    programs: PathBuf,
    dir: tempfile::TempDir,
    /// Port, which also names the socket.
    port: String,
}

impl Postgres {
    /// Starts a server; `None`, with a message, where PostgreSQL is not installed.
    #[track_caller]
    pub fn start() -> Option<Postgres> {
        Postgres::start_with(|_| Vec::new())
    }

    /// Starts a server that also listens at this port of loopback, with a certificate for `localhost`. `None`, with a
    /// message, where PostgreSQL or openssl is not installed.
    #[track_caller]
    pub fn start_with_tls(port: u16) -> Option<Postgres> {
        if !needs::tools(&["openssl"]) {
            return None;
        }
        Postgres::start_with(|dir| {
            certify(dir);
            let (certificate, key) = (dir.join("server.pem"), dir.join("server.key"));
            vec![
                "listen_addresses=127.0.0.1".to_owned(),
                format!("port={port}"),
                "ssl=on".to_owned(),
                format!("ssl_cert_file={}", certificate.display()),
                format!("ssl_key_file={}", key.display()),
            ]
        })
    }

    /// Starts a server in a network namespace, at an address there. `None`, with a message, where PostgreSQL is not installed.
    #[track_caller]
    pub fn start_on(namespace: &str, address: &str) -> Option<Postgres> {
        let settings = |_: &Path| vec![format!("listen_addresses={address}")];
        Postgres::start_in(Some(namespace), settings)
    }

    /// Returns the path of the authority that signed the server's certificate.
    pub fn authority(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    #[track_caller]
    fn start_with(settings: impl FnOnce(&Path) -> Vec<String>) -> Option<Postgres> {
        Postgres::start_in(None, settings)
    }

    #[track_caller]
    fn start_in(namespace: Option<&str>, settings: impl FnOnce(&Path) -> Vec<String>) -> Option<Postgres> {
        let Some(programs) = programs() else {
            needs::skip("needs PostgreSQL (Debian's package postgresql)");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let user = unprivileged();
        let settings = settings(dir.path());
        if let Some((user, group)) = user {
            chown(dir.path(), Some(user), Some(group)).unwrap();
            let key = dir.path().join("server.key");
            if key.exists() {
                chown(key, Some(user), Some(group)).unwrap();
            }
        }
        let own = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.current_dir(dir.path()).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
            if let Some((user, group)) = user {
                command.uid(user).gid(group);
            }
            command
        };
        let data = dir.path().join("data");
        let mut initdb = own("initdb");
        initdb.args(["--no-sync", "--auth=trust", "--username=admin", "--encoding=UTF8", "--pgdata"]).arg(&data);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        // No port of the network: the socket's name alone has the number.
        let mut server = match namespace {
            Some(namespace) => {
                std::fs::write(data.join("pg_hba.conf"), "local all all trust\nhost all all samenet trust\n").unwrap();
                in_namespace(namespace, &own("postgres"), user)
            }
            None => own("postgres"),
        };
        server.arg("-D").arg(&data).arg("-k").arg(dir.path());
        server.args(["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=16MB"]);
        for setting in &settings {
            server.args(["-c", setting]);
        }
        server.stderr(std::fs::File::create(dir.path().join("log")).unwrap());
        let server = server.spawn().unwrap();
        let port = settings.iter().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432").to_owned();
        let postgres = Postgres { server, programs, dir, port };
        let begun = Instant::now();
        while !postgres.psql("admin", "postgres", "SELECT 1").status.success() {
            assert!(begun.elapsed() < START_MAX, "{}", postgres.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        for sql in ["CREATE ROLE owner LOGIN CREATEROLE", "CREATE DATABASE results OWNER owner"] {
            assert!(postgres.psql("admin", "postgres", sql).status.success(), "{}", postgres.log());
        }
        Some(postgres)
    }

    /// Returns the address of the database for a user.
    pub fn url(&self, user: &str) -> String {
        format!("postgres://{user}@/results?host={}&port={}", self.dir.path().display(), self.port)
    }

    /// Returns `true` if the server takes connections.
    pub fn answers(&self) -> bool {
        self.psql("admin", "results", "SELECT 1").status.success()
    }

    /// Returns the address of another database of the server, for the administrator.
    pub fn url_of(&self, database: &str) -> String {
        self.url("admin").replace("/results?", &format!("/{database}?"))
    }

    /// Returns the environment in which PostgreSQL's programs reach the server as the administrator.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        let path = format!("{}:{}", self.programs.display(), std::env::var("PATH").unwrap_or_default());
        let host = self.dir.path().display().to_string();
        [("PGHOST", host), ("PGPORT", self.port.clone()), ("PGUSER", "admin".to_owned()), ("PATH", path)]
    }

    /// Returns the output of a statement in the database `results`.
    #[track_caller]
    pub fn sql(&self, user: &str, sql: &str) -> String {
        let output = self.psql(user, "results", sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Returns the error message of a statement that must fail.
    #[track_caller]
    pub fn refuses(&self, user: &str, sql: &str) -> String {
        let output = self.psql(user, "results", sql);
        assert!(!output.status.success(), "{sql} must fail");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn psql(&self, user: &str, database: &str, sql: &str) -> std::process::Output {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database, "-c", sql]);
        command.arg("-h").arg(self.dir.path()).args(["-p", &self.port]);
        command.env_remove("PGPASSWORD").stdin(Stdio::null()).output().unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGQUIT ends the server and its children at once; nothing of it is needed again.
        let pid = rustix::process::Pid::from_child(&self.server);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::QUIT);
        let _ = self.server.wait();
    }
}

/// Returns a command in a network namespace, which only root can enter, as an unprivileged user.
fn in_namespace(namespace: &str, plain: &Command, user: Option<(u32, u32)>) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{namespace}"));
    if let Some((user, group)) = user {
        command.args([format!("--setuid={user}"), format!("--setgid={group}")]);
    }
    command.arg(plain.get_program()).env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null());
    command.current_dir(plain.get_current_dir().unwrap());
    command
}

/// Makes an authority, and with it a certificate for `localhost`.
fn certify(dir: &Path) {
    const SCRIPT: &str = "
        openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout ca.key -out ca.pem -subj /CN=authority
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
        printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > extensions
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem
        chmod 600 server.key";
    let made = Command::new("sh").args(["-ec", SCRIPT]).current_dir(dir).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Returns the directory of the newest server's programs.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| Some(version.ok()?.path()))
        .filter(|path| path.join("bin/initdb").exists())
        .filter_map(|path| Some((path.file_name()?.to_str()?.parse().ok()?, path.join("bin"))))
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}

/// Returns an unprivileged user and group for root: the server refuses to run as root.
fn unprivileged() -> Option<(u32, u32)> {
    const UNPRIVILEGED: (u32, u32) = (65534, 65534);
    needs::is_root().then_some(UNPRIVILEGED)
}

/// Returns the path of the store of a home.
pub fn store_of(home: &super::Home) -> PathBuf {
    let data: &Path = &home.registry();
    data.parent().unwrap().join("plumb.db")
}
