//! `plumb serve` for a test, on a port of loopback that it chooses, and requests to it.

use super::Home;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A running server. Ends with the value, also after a panic.
pub struct Served {
    server: Child,
    /// Address and port, as `127.0.0.1:40123`.
    address: String,
}

impl Served {
    /// Starts a server over a home's own database, or over the one that `db` names.
    #[track_caller]
    pub fn start(home: &Home, db: Option<&str>) -> Served {
        let mut command = home.command(["serve", "--listen", "127.0.0.1:0"]);
        if let Some(db) = db {
            command.args(["--db", db]);
        }
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/'));
        let address =
            address.unwrap_or_else(|| panic!("the server said {line:?}; cargo build -p plumb-serve")).to_owned();
        Served { server, address }
    }

    /// Returns the body of a page, which must exist.
    #[track_caller]
    pub fn get(&self, path: &str) -> String {
        let (status, body) = self.request(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n", self.address), b"");
        assert!(status.contains(" 200 "), "{path}: {status}\n{body}");
        body
    }

    /// Uploads a file with a token. Returns the first line of the answer, and its body.
    pub fn upload(&self, token: &str, file: &[u8]) -> (String, String) {
        let head = format!(
            "POST /api/v1/results HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n",
            self.address,
            file.len()
        );
        self.request(&head, file)
    }

    fn request(&self, head: &str, body: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
