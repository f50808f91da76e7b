//! The Python package of the wheel (`packaging/wheel`), with the program of this build: its classes are those of the
//! schemas, its own tests pass in every Python that is here, and its types are strict.

use crate::common::Home;
use crate::common::needs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions that the wheel's metadata and docs/python.md promise.
const VERSIONS: [&str; 4] = ["3.10", "3.11", "3.12", "3.13"];

fn wheel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/wheel").canonicalize().unwrap()
}

/// Returns the Python of the environment that `cargo xtask test --install` makes; `None` skips the test.
fn environment() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python-tests/bin/python");
    let is_there = Command::new(&python).args(["-c", "import mypy, pandas, polars, nbclient"]).output();
    if is_there.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    needs::skip("needs target/python-tests, which `cargo xtask test --install` makes");
    None
}

/// Returns the interpreters that are here, each with its version: on `PATH`, or installed by pyenv.
fn interpreters() -> Vec<(&'static str, PathBuf)> {
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(std::env::home_dir()?.join(".pyenv")));
    let installed =
        pyenv.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = installed.map(|entry| entry.path().join("bin")).collect();
    let found = |version: &'static str| {
        let name = format!("python{version}");
        let places = folders.iter().map(|folder| folder.join(&name));
        let mut candidates = std::iter::once(PathBuf::from(&name)).chain(places);
        // A shim of pyenv is on PATH for versions that are not in use, and fails.
        candidates.find(|path| Command::new(path).arg("--version").output().is_ok_and(|output| output.status.success()))
    };
    VERSIONS.into_iter().filter_map(|version| Some((version, found(version)?))).collect()
}

/// Runs a command in the wheel's directory, and returns what it printed.
fn succeeds(home: &Home, python: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(python);
    // The program of this build, with a home of its own; Python must not write its caches into the tree.
    let program = home.command([""; 0]);
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
        .env("PLUMB", program.get_program())
        .env("PYTHONPATH", wheel().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.args(arguments).current_dir(wheel()).output().unwrap();
    let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{} {}: {printed}", python.display(), arguments.join(" "));
    printed
}

// Protects: a change of a schema reaches the classes of the package.
#[test]
fn generated_classes_are_those_of_the_schemas() {
    let Some((_, python)) = interpreters().pop() else {
        return needs::skip("needs Python 3.10 or later");
    };
    let home = Home::new();
    succeeds(&home, &python, &["generate.py", "--check"]);
    succeeds(&home, &python, &["-m", "doctest", "generate.py"]);
}

// Protects: the package runs in each version that it promises, with nothing but the standard library.
#[test]
fn the_package_works_in_every_python() {
    let interpreters = interpreters();
    if interpreters.is_empty() {
        return needs::skip("needs Python 3.10 or later");
    }
    for (version, python) in interpreters {
        // `-I` would hide the package; `-S` hides what else is installed.
        let output = succeeds(&Home::new(), &python, &["-S", "-m", "unittest"]);
        println!("Python {version}: {}", output.lines().last().unwrap_or_default());
    }
}

// Protects: tables of pandas and polars have the exported numbers, and the notebook draws the verdicts.
#[test]
fn the_tables_and_the_notebook_work() {
    let Some(python) = environment() else { return };
    let output = succeeds(&Home::new(), &python, &["-m", "unittest", "tests.test_store", "tests.test_notebook"]);
    assert!(!output.contains("skipped"), "{output}");
}

// Protects: users with a strict type checker get types and no errors, in each version.
#[test]
fn the_types_are_strict() {
    let Some(python) = environment() else { return };
    for version in VERSIONS {
        // Kept, so that only the first run reads the types of pandas and polars.
        let cache = concat!(env!("CARGO_TARGET_TMPDIR"), "/mypy");
        let options = ["-m", "mypy", "--strict", "--python-version", version, "--cache-dir", cache];
        succeeds(&Home::new(), &python, &[&options[..], &["python/plumb_storage", "tests", "generate.py"]].concat());
    }
}
