//! Options of `plumb serve`, which the program `plumb-serve` carries out. Both parse them, so that help and errors are the same.

use clap::{Args, Subcommand};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Arguments of `plumb serve`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArguments {
    #[command(subcommand)]
    pub command: Option<ServeCommand>,
    /// Address and port to listen on; port 0 takes a free one. Beyond this machine it needs --certificate or --behind-proxy, and
    /// visitors need a token.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_ADDRESS)]
    pub listen: SocketAddr,
    /// A name under which visitors reach the server, with the port if they type one; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub host: Vec<String>,
    /// Serve HTTPS with this certificate chain, PEM.
    #[arg(long, value_name = "FILE", requires = "key")]
    pub certificate: Option<PathBuf>,
    /// Private key of the certificate, PEM.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub key: Option<PathBuf>,
    /// Serve plain HTTP to a proxy in front of the server, which speaks HTTPS and limits the rate of requests.
    #[arg(long, conflicts_with = "certificate")]
    pub behind_proxy: bool,
    /// Demand a token of visitors on this machine, too.
    #[arg(long)]
    pub require_token: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ServeCommand {
    /// Make, list and revoke tokens: the passwords of visitors and uploads.
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
}

#[derive(Debug, Clone, Subcommand)]
pub enum TokenCommand {
    /// Make a token, and print it once. The database has only its hash.
    Add {
        /// Purpose, such as ci.
        name: String,
        /// Let it add results, too.
        #[arg(long)]
        write: bool,
    },
    /// List tokens: id, scope, name, and when each was made and revoked.
    List,
    /// Revoke a token, at once.
    Revoke {
        /// Its id or its name.
        token: String,
    },
}

/// Address without `--listen`: only this machine reaches it.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8780";

/// Name of the program.
pub const PROGRAM: &str = "plumb-serve";
