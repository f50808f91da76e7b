//! `plumb net`.

use super::ReportFile;
use clap::Args;
use plumb_workload::net::Passing;

#[derive(Debug, Args)]
pub(crate) struct NetArguments {
    /// The other end, where `plumb net --serve` runs: HOST or HOST:PORT, `unix:PATH` or `vsock:CID:PORT`.
    #[arg(required_unless_present_any = ["serve", "init"])]
    pub host: Option<String>,
    /// Be the other end. Stock iperf3 clients are served, too.
    #[arg(long, conflicts_with = "host")]
    pub serve: bool,
    /// Encrypt, and let both ends prove themselves: FILE is one of the two that --init makes.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<std::path::PathBuf>,
    /// Make new keys in DIR: server.keys for --serve, and client.keys for the hosts that may measure.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["serve", "host", "keys", "stored", "every"])]
    pub init: Option<std::path::PathBuf>,
    /// Port of the other end, or with --serve of this one [default: 5201].
    #[arg(long)]
    pub port: Option<u16>,
    /// Address of this end [default with --serve: loopback only]; with --serve also `unix:PATH` or `vsock::PORT`.
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<String>,
    /// Seconds of each of the eight parts. A percentile needs ten slower round trips: p99 about 5 s, p99.9 about 50 s.
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub time: u32,
    /// Streams of each direction.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: u32,
    /// Bits per second of datagrams, each way.
    #[arg(long, value_name = "R", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub datagram_rate: u64,
    /// Round trips: both ends ask for data without sleeping for at most TIME before they wait for it, such as 50us [default: 0].
    #[arg(long, value_name = "TIME", conflicts_with = "serve")]
    pub busy_poll: Option<plumb_workload::Nanos>,
    /// Method by which a sender passes bytes to the kernel: copy, splice, sendfile, zerocopy, io-uring.
    #[arg(long, value_name = "METHOD", default_value = "copy", value_parser = tx, conflicts_with = "serve")]
    pub tx: Passing,
    /// Method by which a receiver takes them: copy, truncate, io-uring.
    #[arg(long, value_name = "METHOD", default_value = "copy", value_parser = rx, conflicts_with = "serve")]
    pub rx: Passing,
    /// TCP over several paths, where both ends can.
    #[arg(long, conflicts_with = "serve")]
    pub mptcp: bool,
    /// Repeat the measurement at this interval, from start to start.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["serve", "stored"])]
    pub every: Option<plumb_workload::Nanos>,
    /// End the repetitions after this time [default: at Ctrl-C].
    #[arg(long = "for", value_name = "TIME", requires = "every")]
    pub span: Option<plumb_workload::Nanos>,
    /// Measure nothing: show what is stored of this host.
    #[arg(long, conflicts_with = "serve")]
    pub stored: bool,
    #[command(flatten)]
    pub report: ReportFile,
}

fn passing(name: &str, can: fn(Passing) -> bool, others: &str) -> Result<Passing, String> {
    Passing::from_name(name).filter(|passing| can(*passing)).ok_or_else(|| format!("use {others}"))
}

fn tx(name: &str) -> Result<Passing, String> {
    passing(name, Passing::sends, "copy, splice, sendfile, zerocopy or io-uring")
}

fn rx(name: &str) -> Result<Passing, String> {
    passing(name, Passing::receives, "copy, truncate or io-uring")
}
