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

#[derive(Debug, Args)]
pub(crate) struct SiteArguments {
    /// Directory of the site: new, empty, or one that `plumb site` made.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Runs: ids, unique prefixes of ids, `last`, `last~1`, or `tag:NAME`.
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Publish all finished runs.
    #[arg(long, conflicts_with = "runs")]
    pub all: bool,
    /// Title of the index.
    #[arg(long, value_name = "TITLE", default_value = "Storage measurements")]
    pub title: String,
    /// Replace the names of hosts, users, paths, serials, addresses and UUIDs on all pages and in all downloads; standard error
    /// lists them.
    #[arg(long)]
    pub anonymise: bool,
}
