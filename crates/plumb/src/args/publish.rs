//! Arguments of the commands that sign, check and publish results.

use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct KeyArguments {
    /// Print the public key and its fingerprint instead of making a key.
    #[arg(long)]
    pub show: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The bundle.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Accept only this signer: a public key as `plumb key --show` prints it, or a file with one a line.
    #[arg(long, value_name = "KEY|FILE")]
    pub key: Option<String>,
}
