//! Checks that installed programs serve what they measured: `plumb` stores a run, and `plumb serve`, which finds the other
//! program, returns it over HTTP.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A measurement of a simulated device, which takes a moment.
pub(super) const SIMULATED: &[&str] = &["run", "random-read", "--at", "sim:ssd", "--set", "time=100ms"];

/// Measures with these words, stores the result, and compares it with the one that the server returns. `plumb` makes commands
/// of the installed program, and `database` is a new file where it runs. Returns the result.
///
/// # Errors
///
/// Nothing was measured, the server does not start, or it returns another result.
pub(super) fn check(plumb: &dyn Fn() -> Command, measure: &[&str], database: &str) -> Result<Value> {
    let ran = plumb().args(["--db", database, "--json"]).args(measure).output().context("plumb")?;
    let code = ran.status.code();
    let complaint = String::from_utf8_lossy(&ran.stderr);
    ensure!(matches!(code, Some(0 | 3)), "plumb {}: {}\n{complaint}", measure.join(" "), ran.status);
    let measured: Value = serde_json::from_slice(&ran.stdout).context("plumb --json")?;
    let id = measured["id"].as_str().context("the result has no id")?;
    let server = Server::start(plumb(), database)?;
    let served: Value = serde_json::from_str(&server.get(&format!("api/v1/runs/{id}"))?).context("plumb serve")?;
    for key in ["id", "phases"] {
        ensure!(
            served[key] == measured[key],
            "plumb serve: {key} is {}, and {} was measured",
            served[key],
            measured[key]
        );
    }
    let page = server.get(&format!("runs/{id}"))?;
    ensure!(page.contains("<html") && page.contains(id), "plumb serve has no page of run {id}:\n{page}");
    server.stop()?;
    Ok(measured)
}

/// A running `plumb serve`.
struct Server {
    child: Child,
    /// Its address, with a slash at the end.
    address: String,
}

impl Server {
    fn start(mut plumb: Command, database: &str) -> Result<Server> {
        plumb.args(["--db", database, "serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut server = Server { child: plumb.spawn().context("plumb serve")?, address: String::new() };
        let output = server.child.stdout.take().context("plumb serve has no output")?;
        BufReader::new(output).read_line(&mut server.address)?;
        server.address.truncate(server.address.trim_end().len());
        ensure!(server.address.starts_with("http://127.0.0.1:"), "plumb serve did not start: {}", server.address);
        Ok(server)
    }

    fn get(&self, path: &str) -> Result<String> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--fail-with-body", "--noproxy", "*", "--max-time", "30"]);
        let output = curl.arg(format!("{}{path}", self.address)).output().context("curl")?;
        let (body, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{}{path}: {complaint}{body}", self.address);
        Ok(body.into_owned())
    }

    /// Ends the server as a service manager does.
    fn stop(mut self) -> Result<()> {
        let ended = Command::new("kill").arg(self.child.id().to_string()).status().context("kill")?;
        ensure!(ended.success(), "plumb serve has ended before it was stopped");
        let status = self.child.wait()?;
        ensure!(status.success(), "plumb serve, stopped by SIGTERM: {status}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
