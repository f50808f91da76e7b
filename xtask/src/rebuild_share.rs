//! `cargo xtask rebuild-share`: measures how much of the tree cargo recompiles after a change in one crate.

use crate::tools::cargo;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The required part of `cargo metadata --format-version 1`. Source: "cargo metadata" of The Cargo Book.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` or `build`; absent for the others.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

/// Crates of the workspace: lines of source, and dependencies.
struct Tree {
    lines: BTreeMap<String, usize>,
    /// Direct dependants of each crate. Dependencies of tests do not count, because no library waits for tests.
    users: BTreeMap<String, BTreeSet<String>>,
}

impl Tree {
    fn read() -> Result<Tree> {
        let output = cargo().args(["metadata", "--format-version", "1", "--no-deps", "--locked"]).output()?;
        if !output.status.success() {
            bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cannot read cargo's metadata")?;
        let mut tree = Tree { lines: BTreeMap::new(), users: BTreeMap::new() };
        for package in &metadata.packages {
            tree.lines.insert(package.name.clone(), package.source_lines()?);
        }
        for package in metadata.packages {
            let own = package.dependencies.into_iter().filter(|dependency| dependency.kind.as_deref() != Some("dev"));
            for dependency in own.filter(|dependency| tree.lines.contains_key(&dependency.name)) {
                tree.users.entry(dependency.name).or_default().insert(package.name.clone());
            }
        }
        Ok(tree)
    }

    /// Returns the crate, and every crate that is recompiled with it.
    fn rebuilt<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let (mut found, mut left) = (BTreeSet::from([name]), vec![name]);
        while let Some(next) = left.pop() {
            for user in self.users.get(next).into_iter().flatten() {
                if found.insert(user) {
                    left.push(user);
                }
            }
        }
        found
    }

    fn share(&self, name: &str) -> f64 {
        let rebuilt: usize = self.rebuilt(name).iter().map(|name| self.lines[*name]).sum();
        rebuilt as f64 / self.lines.values().sum::<usize>().max(1) as f64
    }
}

/// The files of a source folder that belong to a crate.
#[derive(Clone, Copy)]
enum Files {
    All,
    /// The half of a tool family that runs: `run.rs` and the folders named `run`.
    Running,
    Pure,
}

impl Files {
    fn have(self, inner: &Path) -> bool {
        let is_run = |part: &std::ffi::OsStr| part == "run" || part == "run.rs";
        match self {
            Files::All => true,
            Files::Running => inner.iter().any(is_run),
            Files::Pure => !inner.iter().any(is_run),
        }
    }
}

impl Package {
    /// Returns the lines of the crate's own modules, including their unit tests.
    fn source_lines(&self) -> Result<usize> {
        let is_source = |target: &&Target| target.kind.iter().any(|kind| ["lib", "bin"].contains(&kind.as_str()));
        let root = self.targets.iter().find(is_source).with_context(|| format!("{} has no source", self.name))?;
        let has_halves = self.manifest_path.with_file_name("run").join("Cargo.toml").exists();
        let files = match (root.src_path.ends_with("run.rs"), has_halves) {
            (true, _) => Files::Running,
            (false, true) => Files::Pure,
            (false, false) => Files::All,
        };
        let folder = root.src_path.parent().context("a source without a folder")?;
        lines_below(folder, folder, files)
    }
}

fn lines_below(folder: &Path, root: &Path, files: Files) -> Result<usize> {
    let mut lines = 0;
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            lines += lines_below(&path, root, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && files.have(path.strip_prefix(root).unwrap_or(&path))
        {
            lines += std::fs::read_to_string(&path)?.lines().count();
        }
    }
    Ok(lines)
}

/// Prints each crate with its lines and the share of all lines that a change in it recompiles.
///
/// # Errors
///
/// Cargo or a file cannot be read.
pub fn print() -> Result<()> {
    let tree = Tree::read()?;
    let mut names: Vec<&String> = tree.lines.keys().collect();
    names.sort_by(|one, other| tree.share(other).total_cmp(&tree.share(one)));
    println!("{:24} {:>7} {:>7}", "crate", "lines", "rebuilt");
    for name in names {
        println!("{name:24} {:7} {:6.0} %", tree.lines[name], 100.0 * tree.share(name));
    }
    println!("{} lines in {} crates", tree.lines.values().sum::<usize>(), tree.lines.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(lines: &[(&str, usize)], needs: &[(&str, &str)]) -> Tree {
        let mut tree = Tree {
            lines: lines.iter().map(|(name, lines)| ((*name).to_owned(), *lines)).collect(),
            users: BTreeMap::new(),
        };
        for (user, needed) in needs {
            tree.users.entry((*needed).to_owned()).or_default().insert((*user).to_owned());
        }
        tree
    }

    // Protects: indirect dependants of a changed crate count, each once.
    #[test]
    fn indirect_dependants_count_once() {
        let tree =
            tree(&[("a", 10), ("b", 20), ("c", 30), ("d", 40)], &[("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")]);
        assert!((tree.share("a") - 1.0).abs() < 1e-9);
        assert!((tree.share("b") - 0.6).abs() < 1e-9);
        assert!((tree.share("d") - 0.4).abs() < 1e-9);
    }

    // Protects: the two halves of a tool family share a folder, and no line is in both.
    #[test]
    fn halves_of_a_family_share_no_line() {
        let tree = Tree::read().unwrap();
        let (pure, runs) = (tree.lines["plumb-tools-net"], tree.lines["plumb-tools-net-run"]);
        assert!(pure > 1000 && runs > 1000, "{pure} and {runs} lines");
        assert!(tree.rebuilt("plumb-tools-net").contains("plumb-tools-net-run"));
        assert!(
            !tree.rebuilt("plumb-tools-net").contains("plumb-engine"),
            "the pure half is above the engine's types only"
        );
    }
}
