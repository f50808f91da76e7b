//! `--anonymise` of `show`, `export` and `report`.

use crate::common::{CommandOutput, Home};
use serde_json::Value;
use std::process::Command;

const HOST: &str = "db7-acme";
const USER: &str = "alicecooper";
const SERIAL: &str = "S4EVNX0M1234";
const MOUNT: &str = "/srv/acme-data";
const HOME_PATH: &str = "/home/alicecooper/bench/f.0";
const ADDRESS: &str = "10.9.8.7";
const MAC: &str = "52:54:00:aa:bb:cc";
const UUID: &str = "0a1b2c3d-1111-4222-8333-444455556666";
const ORIGINALS: [&str; 8] = [HOST, USER, SERIAL, MOUNT, "alicecooper/bench", ADDRESS, MAC, UUID];

/// Stores two runs with these names in their environment, targets and findings.
fn stored(home: &Home) -> [String; 2] {
    home.plumb("run random-read --at sim:ssd --set time=200ms --set size=64MiB").expect_measured();
    let mut results = home.plumb("export").expect(0).json();
    let mut result = results[0].take();
    result["environment"]["hostname"] = HOST.into();
    result["environment"]["kernel_cmdline"] = serde_json::json!({ "yes": format!("root=UUID={UUID} ip={ADDRESS}") });
    result["environment"]["facts"]["net.mac"] = MAC.into();
    result["imported"] = Value::Null;
    let target = result["target"].as_object_mut().unwrap().values_mut().next().unwrap();
    target["path"] = HOME_PATH.into();
    target["filesystem"] = serde_json::json!({ "yes": {
        "kind": "nfs4", "mount_point": MOUNT, "source": format!("filer.acme.example:{MOUNT}"),
        "options": [format!("addr={ADDRESS}"), "rw"], "uuid": { "yes": UUID }, "features": {},
        "size_bytes": 1u64 << 40, "free_bytes": 1u64 << 39, "in_memory": false, "remote": true,
    }});
    for layer in target["stack"].as_array_mut().unwrap() {
        layer["serial"] = SERIAL.into();
    }
    let message = format!(
        "{USER} on {HOST} wrote {MOUNT}/x.1 and {HOME_PATH}; drive {SERIAL}, {UUID}, server filer.acme.example ({ADDRESS}, {MAC})"
    );
    let finding = serde_json::json!({
        "code": "C1", "level": "warn", "message": message, "evidence": {}, "remedy": format!("stop `cp {HOME_PATH} /x`"),
        "scope": "run",
    });
    let checks = result["checks"].as_array_mut().unwrap();
    let mut first = checks.first().cloned().unwrap_or(finding);
    first["message"] = message.into();
    first["level"] = "warn".into();
    checks.insert(0, first);
    result.as_object_mut().unwrap().remove("imported");
    let ids = ["018f0000-0000-7000-8000-00000000000a", "018f0000-0000-7000-8000-00000000000b"];
    for id in ids {
        result["id"] = id.into();
        home.file("result.json", &result.to_string());
        home.plumb("import result.json").expect(0);
    }
    ids.map(str::to_owned)
}

#[track_caller]
fn assert_anonymous(what: &str, text: &str) {
    for original in ORIGINALS.into_iter().chain(["filer.acme", "acme"]) {
        assert!(!text.contains(original), "{what}: {original} in\n{text}");
    }
}

// Fails if any output format contains a name.
#[test]
fn no_format_has_a_name() {
    let home = Home::new();
    let [one, other] = stored(&home);
    let plain = home.plumb(&format!("show {one} -v")).expect(0);
    assert!(plain.out.contains(HOST) && plain.out.contains(MOUNT), "{}", plain.out);
    for line in [
        format!("show {one}"),
        format!("show {one} -v"),
        format!("show {one} --json"),
        format!("show {one} --plot"),
        format!("show {one} --diff {other}"),
        format!("show last --diff {other} -v"),
        format!("show last --diff {other} --json"),
        format!("export {one} {other}"),
        "export --csv".to_owned(),
        "export --ndjson".to_owned(),
        format!("report {one}"),
        format!("report {one} {other}"),
    ] {
        let output = home.plumb(&format!("{line} --anonymise")).expect(0).expect_stderr(&["anonymised: "]);
        assert_anonymous(&line, &output.out);
        assert_anonymous(&line, &output.err);
    }
    let output = home.plumb(&format!("report {one} --html r.html --md r.md --xlsx r.xlsx --svg charts --anonymise"));
    assert_anonymous("report", &output.expect(0).expect_stderr(&["2 hosts", "path-1", "address-1"]).err);
    let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert_anonymous("html", &read("r.html"));
    assert_anonymous("md", &read("r.md"));
    for chart in std::fs::read_dir(home.work().join("charts")).unwrap() {
        let path = chart.unwrap().path();
        assert_anonymous("svg", &std::fs::read_to_string(&path).unwrap());
    }
    assert_anonymous("xlsx", &workbook(&home, "r.xlsx"));
}

/// Returns all files of an XLSX archive as one text.
fn workbook(home: &Home, name: &str) -> String {
    let script = "import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nfor n in z.namelist(): sys.stdout.write(z.read(n).decode('utf-8', 'replace'))";
    let output = Command::new("python3").args(["-c", script, name]).current_dir(home.work()).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        other => {
            crate::common::needs::not_shown(&format!("the texts of a workbook: {other:?}"));
            String::new()
        }
    }
}

// Protects readers: each name has a single replacement throughout an output, and an export can be imported.
#[test]
fn one_name_is_one_word() {
    let home = Home::new();
    let [one, _] = stored(&home);
    let shown = home.plumb(&format!("show {one} --json --anonymise")).expect(0).json();
    let host = shown["environment"]["hostname"].as_str().unwrap();
    let target = shown["target"].as_object().unwrap().values().next().unwrap();
    let path = target["path"].as_str().unwrap();
    let mount = target["filesystem"]["yes"]["mount_point"].as_str().unwrap();
    let uuid = target["filesystem"]["yes"]["uuid"]["yes"].as_str().unwrap();
    let message = shown["checks"][0]["message"].as_str().unwrap();
    assert!(host.starts_with("host-") && path.starts_with("path-") && uuid.starts_with("uuid-"), "{shown}");
    for word in [host, path, uuid] {
        assert!(message.contains(word), "{word} is missing from {message}");
    }
    assert!(target["filesystem"]["yes"]["source"].as_str().unwrap().ends_with(&format!(":{mount}")), "{target}");
    assert_eq!(shown["environment"]["kernel_cmdline"]["yes"], format!("root=UUID={uuid} ip=address-1"));

    let text = home.plumb(&format!("export {one} --anonymise")).expect(0).out;
    let elsewhere = Home::new();
    elsewhere.file("shared.json", &text);
    elsewhere.plumb("import shared.json").expect(0);
    let output: CommandOutput = elsewhere.plumb("show -v").expect(0).expect_stdout(&[host]);
    assert_anonymous("imported", &output.out);
}
