//! Scheduled jobs of the machine. Source: systemctl(1), `list-timers --output=json`: times are µs since 1970, `null`
//! or 0 if there is none.

use crate::error::ProbeError;
use crate::sysroot::Sysroot;
use plumb_result::Seen;
use plumb_result::conditions::TimerDue;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit: systemd answers within milliseconds, or hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns every timer of the machine's systemd. Starts a process: call it once per run, while the clock is stopped.
pub(super) fn read_timers(sys: &Sysroot) -> Seen<Vec<TimerDue>> {
    // The same test as sd_booted(3).
    if !sys.exists("/run/systemd/system") {
        return Seen::No(without_systemd(sys));
    }
    if !sys.is_real() {
        return Seen::no("systemd cannot be queried about another machine");
    }
    list().and_then(|text| parse(&text)).into()
}

/// Describes a machine without systemd. Lists cron's jobs, but does not compute when they are due.
fn without_systemd(sys: &Sysroot) -> String {
    let directories = ["/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly"];
    let mut jobs: Vec<String> =
        directories.iter().flat_map(|directory| sys.names(directory)).filter(|name| !name.starts_with('.')).collect();
    jobs.sort();
    jobs.dedup();
    match jobs.as_slice() {
        [] => "systemd does not run here, and there are no cron jobs".to_owned(),
        jobs => format!("systemd does not run here; when cron runs {} is unknown", jobs.join(", ")),
    }
}

fn list() -> Result<String, ProbeError> {
    let mut child = Command::new("systemctl")
        .args(["list-timers", "--all", "--no-pager", "--output=json"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(ProbeError::unanswered("systemctl cannot be started"))?;
    // Read while waiting: a full pipe would block systemctl, and systemctl would block us.
    let output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.map(|mut pipe| pipe.read_to_string(&mut text)).transpose().map(|_| text)
    });
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                let why = format!("did not answer within {} s", PATIENCE.as_secs());
                return Err(ProbeError::unavailable("systemctl", why));
            }
        }
    };
    let text = reader.join().ok().and_then(Result::ok);
    if !status.success() {
        return Err(ProbeError::Unseeable("systemctl list-timers failed"));
    }
    text.ok_or(ProbeError::Unseeable("the output of systemctl could not be read"))
}

fn parse(text: &str) -> Result<Vec<TimerDue>, ProbeError> {
    let rows: Vec<serde_json::Value> = serde_json::from_str(text)
        .map_err(|_| ProbeError::Unseeable("this systemd does not list its timers as JSON (248 and later do)"))?;
    let time = |row: &serde_json::Value, key: &str| {
        // Some versions write numbers, some write them as text.
        let value = row.get(key)?;
        let micros = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
        (micros > 0 && micros < u64::MAX).then_some(micros / 1_000_000)
    };
    let timer = |row: &serde_json::Value| {
        let name = row.get("unit")?.as_str()?.to_owned();
        Some(TimerDue { name, next_unix_s: time(row, "next"), last_unix_s: time(row, "last") })
    };
    Ok(rows.iter().filter_map(timer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtree::Tree;

    // Protects: the output of systemd 252, with a timer that never ran and one that never will.
    #[test]
    fn timers_as_systemd_lists_them() {
        let text = r#"[{"next":1589485390891904,"left":1589485390891904,"last":1589481783203015,"passed":1589481783203015,
            "unit":"dnf-makecache.timer","activates":"dnf-makecache.service"},
            {"next":1589500000000000,"left":1,"last":0,"passed":0,"unit":"fstrim.timer","activates":"fstrim.service"},
            {"next":null,"left":null,"last":null,"passed":null,"unit":"snap.timer","activates":null}]"#;
        let timer = |name: &str, next_unix_s, last_unix_s| TimerDue { name: name.to_owned(), next_unix_s, last_unix_s };
        assert_eq!(
            parse(text).unwrap(),
            [
                timer("dnf-makecache.timer", Some(1_589_485_390), Some(1_589_481_783)),
                timer("fstrim.timer", Some(1_589_500_000), None),
                timer("snap.timer", None, None),
            ]
        );
        assert!(parse("NEXT LEFT LAST\n").unwrap_err().to_string().contains("JSON"));
    }

    // Protects: without systemd no timers are invented, and the cron jobs are listed.
    #[test]
    fn without_systemd_jobs_are_named() {
        let tree = Tree::new();
        assert!(read_timers(&tree.sys()).as_result().unwrap_err().contains("no cron jobs"));
        tree.file("/etc/cron.daily/plocate", "").file("/etc/cron.d/mdadm", "").file("/etc/cron.d/.placeholder", "");
        assert!(read_timers(&tree.sys()).as_result().unwrap_err().contains("cron runs mdadm, plocate is"));
        tree.directory("/run/systemd/system");
        assert!(read_timers(&tree.sys()).as_result().unwrap_err().contains("another machine"));
    }
}
