//! The options of every bench.

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// How often, and with which binary.
#[derive(Debug)]
pub struct Options {
    /// As asked for.
    pub(super) rounds: Option<usize>,
    /// A binary that is already there; built when absent.
    pub(super) binary: Option<PathBuf>,
    /// Only cases with this in their names.
    pub(super) only: Option<String>,
    /// Where the other tools are; on the path when absent.
    pub(super) peers: Option<PathBuf>,
}

/// Seven: the median is an observed value, and two disturbed rounds on either side do not move it far.
pub(super) const ROUNDS: usize = 7;

impl Options {
    pub(super) fn rounds(&self) -> usize {
        self.rounds_or(ROUNDS)
    }

    /// As asked for, else these.
    pub(super) fn rounds_or(&self, rounds: usize) -> usize {
        self.rounds.unwrap_or(rounds)
    }

    /// Whether a case of this name is asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| name.contains(only))
    }

    /// Another tool's program: in the directory of `--peers`, else on the path.
    pub(super) fn peer(&self, tool: &str) -> PathBuf {
        let given = self.peers.as_ref().map(|peers| peers.join(tool)).filter(|program| program.exists());
        given.unwrap_or_else(|| PathBuf::from(tool))
    }

    /// From the words after the name of the benchmark.
    pub fn parse(words: &[&str]) -> Result<Options> {
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
