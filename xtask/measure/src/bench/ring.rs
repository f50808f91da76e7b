//! fio's `t/io_uring`, a test program that reads through io_uring and does little else.

use super::child;
use super::rounds::Speed;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs it with these options on `file` for this many seconds. It reports all but the last one.
///
/// # Errors
///
/// It cannot be started, fails, or prints no rate.
pub(super) fn run(program: &Path, options: &[&str], file: &Path, seconds: u32) -> Result<Speed> {
    let mut command = Command::new(program);
    command.args(options).args(["-r", &(seconds + 1).to_string()]).arg(file);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.with_context(|| format!("cannot start {command:?}"))?;
    let stdout = child.stdout.take().context("no standard output")?;
    let stderr = child.stderr.take().context("no standard error")?;
    // It prints a few lines, which fit into both pipes.
    let (stdout, stderr) = (std::io::read_to_string(stdout)?, std::io::read_to_string(stderr)?);
    let (status, cpu_seconds) = child::wait(child)?;
    if !status.success() {
        bail!("{command:?}: {status}\n{stderr}");
    }
    let ops_per_second =
        mean_iops(&stdout).with_context(|| format!("{command:?} printed no rate:\n{stdout}{stderr}"))?;
    let cpu_ns = cpu_seconds * 1e9 / (ops_per_second * f64::from(seconds + 1));
    Ok(Speed { ops_per_second, cpu_ns })
}

/// Returns the mean of the lines that it prints each second, such as `IOPS=1.23M, BW=4.80GiB/s, IOS/call=16/16`.
fn mean_iops(stdout: &str) -> Option<f64> {
    let iops = |line: &str| {
        let number = line.strip_prefix("IOPS=")?.split(',').next()?;
        let (digits, unit) = match number.strip_suffix('M') {
            Some(digits) => (digits, 1e6),
            None => number.strip_suffix('K').map_or((number, 1.0), |digits| (digits, 1e3)),
        };
        Some(digits.parse::<f64>().ok()? * unit)
    };
    let seconds: Vec<f64> = stdout.lines().filter_map(iops).collect();
    (!seconds.is_empty()).then(|| seconds.iter().sum::<f64>() / seconds.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_mean_of_all_seconds_and_not_their_maximum() {
        let printed = "submitter=0, tid=1, file=data, nfiles=1, node=-1\nIOPS=80384, BW=314MiB/s, IOS/call=16/15\n\
                    IOPS=112.13K, BW=438MiB/s, IOS/call=16/16\nIOPS=1.20M, BW=4687MiB/s, IOS/call=16/16\n\
                    Exiting on timeout\nMaximum IOPS=1.20M\n";
        assert_eq!(mean_iops(printed), Some((80_384.0 + 112_130.0 + 1_200_000.0) / 3.0));
        assert_eq!(mean_iops("Exiting on timeout\nMaximum IOPS=0\n"), None);
    }
}
