//! Benchmarks of Plumb itself: against fio, against bare system calls, and against its own memory use at small sizes.
//! docs/benchmarks.md says what each compares and how fair it is.

mod bare;
mod callgrind;
mod dialect;
mod engine;
mod fio;
mod flows;
mod memory;
mod plumb;
mod rounds;

pub use dialect::dialect;
pub use engine::engine;
pub use flows::flows;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// How often, and with which binary.
#[derive(Debug)]
pub struct Options {
    rounds: usize,
    /// A binary that is already there; built when absent.
    binary: Option<PathBuf>,
}

/// Seven: the median is an observed value, and two disturbed rounds on either side do not move it far.
const ROUNDS: usize = 7;

impl Options {
    fn rounds(&self) -> usize {
        self.rounds
    }

    /// From the words after the name of the benchmark.
    pub fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { rounds: ROUNDS, binary: None };
        let mut words = words.iter();
        while let Some(&option) = words.next() {
            let value = words.next().with_context(|| format!("`{option}` needs a value"))?;
            match option {
                "--rounds" => {
                    options.rounds = value
                        .parse()
                        .ok()
                        .filter(|rounds| *rounds > 0)
                        .with_context(|| format!("`--rounds {value}`: expected a number of rounds, 1 or more"))?;
                }
                "--binary" => options.binary = Some(PathBuf::from(value)),
                _ => bail!("`{option}`: expected `--rounds N` or `--binary FILE`"),
            }
        }
        Ok(options)
    }
}
