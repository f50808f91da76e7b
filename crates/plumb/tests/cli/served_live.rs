//! A study that runs, followed in a browser over HTTPS.

use crate::common::{Home, needs};
use crate::study_conduct::STUDY;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

// Protects those who watch a study: its progress moves without a new load, the answer appears at the end, the content policy lets
// the script in, and without a token nothing is read.
#[test]
fn a_study_is_followed_in_a_browser() {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python-tests/bin/python");
    if !needs::program(python.to_str().unwrap(), &["-c", "import playwright"])
        || !needs::tools(&["chromium", "openssl"])
    {
        return;
    }
    let home = Home::new();
    home.file("long.toml", &STUDY.replace("repeat = 2", "repeat = 12"));
    let certificate = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    let mut openssl = Command::new("openssl");
    openssl.args(certificate).args(["-keyout", "key.pem", "-out", "chain.pem"]).current_dir(home.work());
    assert!(openssl.output().unwrap().status.success());
    let token = home.plumb("serve token add ann").expect(0).out;
    let serve = "serve --listen 127.0.0.1:0 --require-token --certificate chain.pem --key key.pem";
    let mut server = home.command(serve.split(' ')).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let mut study = home.start("study run long.toml");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/served_live.py");
    let seen = Command::new(&python).arg(script).args([address.trim().trim_end_matches('/'), token.trim()]).output();
    for child in [&mut study, &mut server] {
        let _ = child.kill();
        child.wait().unwrap();
    }
    let seen = seen.unwrap();
    let text = [seen.stdout, seen.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(seen.status.success(), "{address}: {text}");
}
