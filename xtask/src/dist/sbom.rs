//! Lists the linked components as a CycloneDX document: crates with licence and checksum, and SQLite, which one of them
//! bundles.
//!
//! Source: CycloneDX 1.5, JSON. cargo itself lists the linked crates, so that no other tool can disagree with it.

use super::machine::Machine;
use super::programs::{PROGRAMS, package_options};
use super::{PACKAGE, version};
use crate::tools::{cargo, workspace};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub(super) fn name() -> String {
    format!("plumb-{}.cdx.json", version())
}

/// A crate that is linked in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Linked {
    name: String,
    version: String,
    licence: String,
}

pub(super) fn write(out: &Path) -> Result<()> {
    let checksums = checksums(&std::fs::read_to_string(workspace().join("Cargo.lock"))?);
    let linked = linked()?;
    let mut components: Vec<Value> = linked.iter().map(|one| component(one, &checksums)).collect();
    let sqlite = linked.iter().find(|one| one.name == "libsqlite3-sys").context("SQLite is not linked in")?;
    components.push(json!({
        "type": "library",
        "bom-ref": "sqlite",
        "name": "sqlite",
        "version": sqlite_version(&sqlite.version)?,
        "licenses": [{ "license": { "id": "blessing" } }],
        "description": "Bundled by libsqlite3-sys.",
    }));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": "plumb",
            "name": "plumb",
            "version": version(),
            "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        } },
        "components": components,
    });
    std::fs::write(out.join(name()), serde_json::to_string_pretty(&document)? + "\n")?;
    Ok(())
}

/// Checks that the list in a directory has components of each program.
pub(super) fn check(dir: &Path) -> Result<()> {
    let path = dir.join(name());
    let document: Value = serde_json::from_slice(&std::fs::read(&path).with_context(|| path.display().to_string())?)?;
    let components = document["components"].as_array().context("no components")?;
    // Only plumb has the engine, and only plumb-serve a web server.
    for name in ["plumb-engine", "plumb-serve", "axum", "sqlite"] {
        ensure!(components.iter().any(|one| one["name"] == name), "{} lacks {name}", path.display());
    }
    println!("components: {} in {}", components.len(), name());
    Ok(())
}

fn component(one: &Linked, checksums: &BTreeMap<(String, String), String>) -> Value {
    let reference = format!("pkg:cargo/{}@{}", one.name, one.version);
    let mut component = json!({
        "type": if PROGRAMS.iter().any(|program| program.package == one.name) { "application" } else { "library" },
        "bom-ref": reference,
        "name": one.name,
        "version": one.version,
        // An older form of OR, which SPDX does not support.
        "licenses": [{ "expression": one.licence.replace('/', " OR ") }],
    });
    // Crates without a checksum are Plumb's own.
    if let Some(checksum) = checksums.get(&(one.name.clone(), one.version.clone())) {
        component["purl"] = reference.into();
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// Returns crates whose code is in a program of any machine, without those that only run during builds.
fn linked() -> Result<BTreeSet<Linked>> {
    let mut tree = cargo();
    tree.args(["tree", "--locked", "--offline", "--edges", "normal,no-proc-macro"]).args(package_options());
    for machine in Machine::ALL {
        tree.args(["--target", &machine.shared_target(), "--target", &machine.fixed_target()]);
    }
    let output = tree.args(["--prefix", "none", "--format", "{p}|{l}"]).output()?;
    ensure!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().filter_map(crate_of).filter(|one| one.name != PACKAGE).collect())
}

/// Parses `name v1.2.3 (path)|licence (*)`.
fn crate_of(line: &str) -> Option<Linked> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some(Linked { name, version, licence: licence.trim_end_matches(" (*)").to_owned() })
}

/// Returns the checksums in `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value_of = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let of = |package: &str| {
        Some(((value_of(package, "name")?, value_of(package, "version")?), value_of(package, "checksum")?))
    };
    lock.split("[[package]]").filter_map(of).collect()
}

/// Returns the version in the header of the bundled SQLite.
fn sqlite_version(of_crate: &str) -> Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let sources = home.context("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    for registry in std::fs::read_dir(&sources).with_context(|| sources.display().to_string())? {
        let header = registry?.path().join(format!("libsqlite3-sys-{of_crate}/sqlite3/sqlite3.h"));
        let Ok(text) = std::fs::read_to_string(header) else { continue };
        let line = text.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
        return Ok(line.context("no SQLITE_VERSION")?.trim().trim_matches('"').to_owned());
    }
    anyhow::bail!("no source of libsqlite3-sys {of_crate} below {}", sources.display())
}

#[cfg(test)]
mod tests {
    use super::{checksums, crate_of};

    #[test]
    fn lines_of_cargo_tree() {
        let one = crate_of("clap v4.6.7|MIT OR Apache-2.0 (*)").unwrap();
        assert_eq!(
            (one.name.as_str(), one.version.as_str(), one.licence.as_str()),
            ("clap", "4.6.7", "MIT OR Apache-2.0")
        );
        assert_eq!(crate_of("plumb-lab v0.1.0 (/a/crates/lab)|MIT").unwrap().version, "0.1.0");
        assert!(crate_of("").is_none());
    }

    #[test]
    fn sums_of_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum = \"12ab\"\n\n\
                    [[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("a".to_owned(), "1.0.0".to_owned())], "12ab");
    }
}
