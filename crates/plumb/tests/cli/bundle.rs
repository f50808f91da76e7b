//! `plumb key`, `plumb export --bundle` and `plumb verify`: signed results that can be checked offline.

use crate::common::needs;
use crate::common::{CommandOutput, Home};
use plumb_bundle::{Contents, Origin, PartKind, Program, SigningKey};
use plumb_store::{BlobKind, StoredBlob, StoredRun};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

const WORK: &str = "run mail --at sim:ssd --set time=4s";

/// Returns a home with a key, a run and its bundle.
fn bundled() -> (Home, Vec<u8>) {
    let home = Home::new();
    home.plumb("key").expect(0);
    home.plumb(WORK).expect(0);
    home.plumb("export last --bundle run.plumb").expect(0);
    let bytes = std::fs::read(home.work().join("run.plumb")).unwrap();
    (home, bytes)
}

fn verified(home: &Home, bytes: &[u8]) -> CommandOutput {
    std::fs::write(home.work().join("other.plumb"), bytes).unwrap();
    home.plumb("verify other.plumb")
}

fn public_key(home: &Home) -> String {
    home.plumb("key --show --json").expect(0).json()["public_key"].as_str().unwrap().to_owned()
}

/// Returns the stored run of a bundle.
fn run_of(bytes: &[u8]) -> StoredRun {
    let contents = Contents::read(bytes).unwrap();
    let mut run = StoredRun { id: String::new(), result: String::new(), blobs: Vec::new() };
    for (part, bytes) in contents.parts() {
        let kind = match part.kind {
            PartKind::Result => {
                run.id.clone_from(&part.run);
                run.result = String::from_utf8(bytes.to_vec()).unwrap();
                continue;
            }
            PartKind::Intervals => BlobKind::Intervals,
            PartKind::Histogram => BlobKind::Histogram,
            PartKind::Series => BlobKind::Series,
            PartKind::Lane => BlobKind::Lane,
            PartKind::LatencyMap => BlobKind::LatencyMap,
        };
        let [of, what] = [&part.of, &part.what].map(String::clone);
        run.blobs.push(StoredBlob { kind, phase: part.phase.unwrap(), of, what, data: bytes.to_vec() });
    }
    run
}

/// Signs a changed run with another key, as a liar could.
fn forged(bytes: &[u8], change: impl FnOnce(&mut StoredRun)) -> Vec<u8> {
    let mut run = run_of(bytes);
    change(&mut run);
    let origin = Origin { program: Program { version: "0.1.0".to_owned(), sha256: None }, anonymised: false };
    plumb_bundle::make(&[run], &origin, &SigningKey::generate().unwrap()).unwrap()
}

fn with_result(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    forged(bytes, |run| {
        let mut result = plumb_document::json::from_str(&run.result).unwrap();
        change(&mut result);
        run.result = result.to_string();
    })
}

// Protects the private key: only its owner can read it, and no later call destroys what signed earlier bundles.
#[test]
fn a_key_is_private_and_never_overwritten() {
    let home = Home::new();
    home.plumb("key --show").expect(2).expect_stderr(&["`plumb key` makes one"]);
    home.plumb("key").expect(0).expect_stdout(&["public key RW", "fingerprint sha256:", "Keep a copy"]);
    let path: PathBuf = home.work().join("../config/plumb/signing.key");
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    let text = std::fs::read_to_string(&path).unwrap();
    home.plumb("key").expect(5).expect_stderr(&["never overwrites a key", "plumb key --show"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let shown = home.plumb("key --show").expect(0).out;
    assert!(!shown.contains(text.lines().nth(1).unwrap()), "the private key is never printed");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    home.plumb("key --show").expect(2).expect_stderr(&["chmod 600"]);
}

#[test]
fn a_bundle_is_made_and_checked() {
    let (home, bytes) = bundled();
    let said = home.plumb("verify run.plumb").expect(0);
    said.expect_stdout(&[
        "have the size and SHA-256",
        "signature is valid",
        "the verdict `pass` follows from its",
        "agree with",
        "comparisons of rates",
        "series can be read",
        "your own key",
        "executable sha256:",
        "does not show that the numbers were measured honestly",
    ]);
    home.plumb("export last --bundle again.plumb").expect(0);
    assert_eq!(std::fs::read(home.work().join("again.plumb")).unwrap(), bytes, "the same run gives the same bytes");
    let json = home.plumb("verify run.plumb --json").expect(0).json();
    assert_eq!(json["schema"], "plumb.verify/1");
    assert!(json["checks"].as_array().unwrap().iter().all(|check| check["outcome"] == "holds"), "{json:#}");
    home.plumb("export --bundle all.plumb").expect(2).expect_stderr(&["export last --bundle"]);
    let other = Home::new();
    other.plumb(WORK).expect(0);
    other.plumb("export last --bundle f").expect(2).expect_stderr(&["`plumb key` makes one"]);
}

#[test]
fn signers_are_known_by_their_key() {
    let (home, bytes) = bundled();
    let key = public_key(&home);
    let reader = Home::new();
    verified(&reader, &bytes).expect(0).expect_stdout(&["unknown", "trusted-keys"]);
    reader.plumb(&format!("verify other.plumb --key {key}")).expect(0).expect_stdout(&["the key is the one of --key"]);
    let another = SigningKey::generate().unwrap().public();
    reader
        .plumb(&format!("verify other.plumb --key {another}"))
        .expect(1)
        .expect_stdout(&["WRONG another key than that of --key"]);
    reader.file("alice.pub", &format!("untrusted comment: Alice\n{key}\n"));
    reader.plumb("verify other.plumb --key alice.pub").expect(0).expect_stdout(&["one of your trusted keys"]);
    reader.plumb("verify other.plumb --key nobody.pub").expect(2).expect_stderr(&["neither a public key nor a file"]);
    let config = reader.work().join("../config/plumb");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("trusted-keys"), format!("# lab\n{key} Alice of the lab\n")).unwrap();
    reader.plumb("verify other.plumb").expect(0).expect_stdout(&["(Alice of the lab)"]);
    std::fs::set_permissions(config.join("trusted-keys"), std::fs::Permissions::from_mode(0o666)).unwrap();
    reader.plumb("verify other.plumb").expect(4).expect_stderr(&["is not used", "chmod go-w"]);
}

// Protects readers from a bundle that was changed on its way.
#[test]
fn changed_bytes_are_found() {
    let (home, bytes) = bundled();
    let at = |text: &str| bytes.windows(text.len()).position(|part| part == text.as_bytes()).unwrap();
    let flipped = |at: usize| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        changed
    };
    let result = at("plumb.result/1");
    verified(&home, &flipped(result))
        .expect(1)
        .expect_stdout(&["WRONG not the bytes that were signed: runs/1/result.json"]);
    let claim = at("\"anonymised\": false") + "\"anonymised\": ".len();
    let mut changed = bytes.clone();
    changed[claim..claim + 5].copy_from_slice(b"true ");
    verified(&home, &changed).expect(1).expect_stdout(&["WRONG the manifest's signature is wrong"]);
    verified(&home, &flipped(at("\ntrusted comment: ") + 20)).expect(1).expect_stdout(&["signature is wrong"]);
    verified(&home, &bytes[..bytes.len() / 2]).expect(2).expect_stderr(&["other.plumb"]);
    verified(&home, &bytes[..bytes.len() - 512]).expect(2).expect_stderr(&["damaged at its end"]);
    verified(&home, b"").expect(2).expect_stderr(&["damaged at its end"]);
    verified(&home, b"PK\x03\x04").expect(2).expect_stderr(&["other.plumb"]);
    home.plumb("verify absent.plumb").expect(2).expect_stderr(&["absent.plumb"]);
}

// Protects readers from a signer who changed numbers without their evidence.
#[test]
fn signed_contradictions_are_found() {
    let (home, bytes) = bundled();
    let phase = |result: &mut Value| result["phases"][0].take();
    verified(&home, &forged(&bytes, |_| {})).expect(0).expect_stdout(&["unknown"]);
    let rejected = with_result(&bytes, |result| result["verdict"] = "reject".into());
    verified(&home, &rejected).expect(1).expect_stdout(&["WRONG the verdict is `reject`", "follows `pass`"]);
    let hidden = with_result(&bytes, |result| result["checks"][0]["level"] = "fail".into());
    verified(&home, &hidden).expect(1).expect_stdout(&["WRONG the verdict is `pass`", "follows `reject`"]);
    let number = |metric: &str, factor: f64| {
        let metric = metric.to_owned();
        with_result(&bytes, move |result| {
            let mut of = phase(result);
            let value = &mut of["metrics"][&metric]["value"];
            *value = (value.as_f64().unwrap_or_else(|| panic!("{metric}")) * factor).into();
            result["phases"][0] = of;
        })
    };
    for (metric, factor) in [("read.lat.p50", 0.9), ("read.lat.max", 0.9), ("read.lat.mean", 1e6)] {
        verified(&home, &number(metric, factor))
            .expect(1)
            .expect_stdout(&[&format!("WRONG {metric} of phase"), "its histogram gives"]);
    }
    verified(&home, &number("read.iops", 0.9)).expect(1).expect_stdout(&["WRONG read.iops of phase", "gives at least"]);
    verified(&home, &number("read.bw", 2.0)).expect(1).expect_stdout(&["another proportion"]);
    let without_digits = with_result(&bytes, |result| result["phases"][0]["done"]["read"]["ops"] = 1.into());
    verified(&home, &without_digits).expect(1).expect_stdout(&["WRONG phase"]);
    let series = forged(&bytes, |run| {
        let blob = run.blobs.iter_mut().find(|blob| blob.kind == BlobKind::Series).unwrap();
        blob.data = vec![1, 0xff, 0xff, 0xff, 0xff, 0x0f];
    });
    verified(&home, &series).expect(1).expect_stdout(&["WRONG a series of phase"]);
    let histogram = forged(&bytes, |run| {
        let blob = run.blobs.iter_mut().find(|blob| blob.kind == BlobKind::Histogram).unwrap();
        blob.data[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    });
    verified(&home, &histogram).expect(1).expect_stdout(&["not an uncompressed HdrHistogram"]);
    let not_a_number = forged(&bytes, |run| run.result = run.result.replacen("\"value\":", "\"value\":NaN,\"x\":", 1));
    verified(&home, &not_a_number).expect(1).expect_stdout(&["WRONG the result cannot be read"]);
    let another = forged(&bytes, |run| run.id = "018f0000-0000-7000-8000-00000000000a".to_owned());
    verified(&home, &another).expect(1).expect_stdout(&["another id"]);
}

#[test]
fn an_anonymised_bundle_says_so_and_has_no_names() {
    let home = Home::new();
    home.plumb("key").expect(0);
    home.plumb(WORK).expect(0);
    let host = home.plumb("export last").expect(0).json()[0]["environment"]["hostname"].as_str().unwrap().to_owned();
    home.plumb("export last --anonymise --bundle run.plumb").expect(0).expect_stderr(&["anonymised: "]);
    let bytes = std::fs::read(home.work().join("run.plumb")).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("\"anonymised\": true"));
    // Shorter names may be words of the format.
    assert!(host.len() < 4 || !holds(&host), "{host}");
    home.plumb("verify run.plumb").expect(0).expect_stdout(&["names were replaced before it was signed"]);
}

// Protects the promise that a bundle can be checked without Plumb.
#[test]
fn tar_minisign_and_sha256sum_check_a_bundle() {
    if !needs::tools(&["minisign", "tar", "sha256sum", "jq"]) {
        return;
    }
    let (home, _) = bundled();
    let script = "tar xf run.plumb && minisign -Vm manifest.json -P \"$0\" && \
                  jq -r '.parts[] | \"\\(.sha256)  \\(.file)\"' manifest.json | sha256sum --check --strict --quiet";
    let output = Command::new("sh").args(["-c", script, &public_key(&home)]).current_dir(home.work()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // minisign signs with Plumb's key, and so reads it.
    let sign = "minisign -Sm manifest.json -x own.minisig -s ../config/plumb/signing.key && \
                minisign -Vm manifest.json -x own.minisig -P \"$0\"";
    let output = Command::new("sh").args(["-c", sign, &public_key(&home)]).current_dir(home.work()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
