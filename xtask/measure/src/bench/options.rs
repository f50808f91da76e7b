//! The common options of all benchmarks.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Number of rounds, binary, and selected cases.
#[derive(Debug)]
pub(crate) struct Options {
    pub(super) rounds: Option<usize>,
    /// An existing binary; `None` builds one.
    pub(super) binary: Option<PathBuf>,
    /// Only cases whose names contain this.
    pub(super) only: Option<String>,
    /// Directory of the other tools; `None` for the path.
    pub(super) peers: Option<PathBuf>,
}

/// Seven: the median is an observed value, and two disturbed rounds on either side do not move it far.
pub(super) const ROUNDS: usize = 7;

impl Options {
    pub(super) fn rounds(&self) -> usize {
        self.rounds_or(ROUNDS)
    }

    /// Returns the requested number of rounds, or else this one.
    pub(super) fn rounds_or(&self, rounds: usize) -> usize {
        self.rounds.unwrap_or(rounds)
    }

    /// Whether a case of this name is selected.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }

    /// Returns another tool's program: in the directory of `--peers`, else on the path.
    pub(super) fn peer(&self, tool: &str) -> PathBuf {
        let given = self.peers.as_ref().map(|peers| peers.join(tool)).filter(|program| program.exists());
        given.unwrap_or_else(|| PathBuf::from(tool))
    }

    /// Returns the path of another tool's program, if it is installed.
    pub(super) fn installed(&self, tool: &str) -> Option<PathBuf> {
        program(self.peers.as_deref(), tool)
    }

    /// Returns the path of fio's `t/io_uring`, if it is installed: below fio's source after a build, or by its own
    /// name.
    pub(super) fn ring(&self) -> Option<PathBuf> {
        let built = self.peers.as_ref().map(|peers| peers.join("t/io_uring")).filter(|program| program.is_file());
        built.or_else(|| self.installed("io_uring"))
    }

    /// Parses the words after the name of the benchmark.
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { rounds: None, binary: None, only: None, peers: None };
        let mut words = words.iter();
        while let Some(&option) = words.next() {
            let value = words.next().with_context(|| format!("`{option}` needs a value"))?;
            match option {
                "--rounds" => {
                    let rounds = value.parse().ok().filter(|rounds: &usize| *rounds > 0);
                    let rounds = rounds
                        .with_context(|| format!("`--rounds {value}`: expected a number of rounds, 1 or more"))?;
                    options.rounds = Some(rounds);
                }
                "--binary" => options.binary = Some(PathBuf::from(value)),
                "--peers" => options.peers = Some(std::path::absolute(value)?),
                "--only" => options.only = Some(value.to_string()),
                _ => bail!("`{option}`: expected `--rounds N`, `--binary FILE`, `--peers DIR` or `--only TEXT`"),
            }
        }
        Ok(options)
    }
}

/// Finds a program in a directory, or else on the path.
fn program(peers: Option<&Path>, tool: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = peers.map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    folders.map(|folder| folder.join(tool)).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_peers_comes_before_the_path() {
        let peers = tempfile::tempdir().unwrap();
        let own = peers.path().join("sh");
        std::fs::write(&own, "").unwrap();
        std::fs::create_dir(peers.path().join("t")).unwrap();
        std::fs::write(peers.path().join("t/io_uring"), "").unwrap();
        let options = Options::parse(&["--peers", peers.path().to_str().unwrap()]).unwrap();
        assert_eq!(options.installed("sh"), Some(own));
        assert_eq!(options.ring(), Some(peers.path().join("t/io_uring")));
        assert!(options.installed("cat").is_some_and(|cat| !cat.starts_with(peers.path())));
        assert_eq!(options.installed("plumb-no-such-tool"), None);
    }
}
