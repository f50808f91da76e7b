//! Runs Plumb in a set-up, with the scripts around it.

use super::{Level, Sign, Sites, Trap};
use anyhow::{Context, Result};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A longer run is stopped.
const LONGEST: Duration = Duration::from_secs(120);
/// Above this share of CPU time for others, a set-up was disturbed.
const QUIET_SHARE: f64 = 0.02;

/// Runs Plumb in the set-ups of traps.
pub(crate) struct Runner {
    binary: PathBuf,
    sites: Sites,
    tries: u32,
}

/// The outcome of one run of Plumb.
pub(crate) struct Answer {
    result: Option<Value>,
    stderr: String,
    code: Option<i32>,
    others_share: f64,
}

/// A script and its process group.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

impl Runner {
    /// Creates a runner, with a copy of the binary that every user may execute.
    pub(crate) fn new(binary: &Path, sites: Sites, tries: u32) -> Result<Runner> {
        let copy = sites.work().join("plumb");
        std::fs::copy(binary, &copy).with_context(|| format!("copying {}", binary.display()))?;
        script(sites.work(), "chmod 755 . plumb; mkdir -p files; chmod 1777 files", &[])
            .context("preparing the work directory")?;
        Ok(Runner { binary: copy, sites, tries: tries.max(1) })
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// Makes the set-up and runs Plumb in it; returns the reason if that is impossible here.
    pub(crate) fn run(&mut self, trap: &Trap) -> Result<Answer, String> {
        let at = self.sites.get(trap.site)?;
        let files = self.sites.work().join("files");
        let workload = files.join("trap.toml");
        std::fs::write(&workload, trap.load.text()).map_err(|error| error.to_string())?;
        let around = trap.around.unwrap_or("exec \"$@\"");
        let mut command = Command::new("sh");
        command
            .args(["-c", around, "sh"])
            .arg(&self.binary)
            .arg("run")
            .arg(&workload)
            .arg("--at")
            .arg(&at)
            .arg("--json");
        command.env("PLUMB_DB", files.join("results.db")).env("HOME", &files).env("W", &files).env("AT", &at);
        command.current_dir(&files).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = Busy::now();
        let plumb = command.spawn().map_err(|error| error.to_string())?;
        let pid = plumb.id().to_string();
        let environment = [("PLUMB", pid.as_str()), ("AT", &at.to_string_lossy()), ("W", &files.to_string_lossy())];
        let beside = trap.beside.map(|text| background(&files, text, &environment)).transpose();
        let output = wait(plumb);
        drop(beside.map_err(|error| error.to_string())?);
        if let Some(text) = trap.behind {
            script(&files, text, &environment).map_err(|error| error.to_string())?;
        }
        // Root's database must not be used by the next user.
        let _ = std::fs::remove_file(files.join("results.db"));
        Ok(Answer::from_output(output?, before))
    }
}

fn wait(mut child: Child) -> Result<Output, String> {
    let started = Instant::now();
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("no output to read".to_owned());
    };
    // Threads read the output: a full pipe would stop the program.
    let readers = [read(stdout), read(stderr)];
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if started.elapsed() > LONGEST => {
                let _ = child.kill();
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap_or_default());
    Ok(Output { status, stdout, stderr })
}

fn read(mut from: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

fn shell(directory: &Path, text: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]).envs(environment.iter().copied()).current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn background(directory: &Path, text: &str, environment: &[(&str, &str)]) -> Result<Group> {
    Ok(Group(shell(directory, text, environment).process_group(0).spawn()?))
}

fn script(directory: &Path, text: &str, environment: &[(&str, &str)]) -> Result<()> {
    shell(directory, text, environment).status().map(drop).with_context(|| format!("`{text}`"))
}

/// CPU time in user mode in seconds: of the machine, including time stolen by its host, and of this program with its
/// children. This is a witness independent of Plumb. Time of kernel threads, which work for a load, is not included.
#[derive(Clone, Copy)]
struct Busy {
    machine_s: f64,
    children_s: f64,
    at: Instant,
}

impl Busy {
    fn now() -> Busy {
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let numbers: Vec<f64> =
            stat.lines().next().unwrap_or("").split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        // user, nice and steal of proc_stat(5).
        let machine_s = [0, 1, 7].iter().filter_map(|&place| numbers.get(place)).sum::<f64>() / ticks;
        let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let behind = own.rsplit_once(')').map_or("", |(_, rest)| rest);
        // utime and cutime: 14 and 16 of proc_pid_stat(5), counted from the state, which is 3.
        let of_user =
            [11, 13].map(|place| behind.split_whitespace().nth(place).and_then(|word| word.parse::<f64>().ok()));
        let children_s = of_user.into_iter().flatten().sum::<f64>() / ticks;
        Busy { machine_s, children_s, at: Instant::now() }
    }

    /// Returns the share of CPU time that others used since then.
    fn others_share(self) -> f64 {
        let now = Busy::now();
        let processors = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
        let all_s = now.at.duration_since(self.at).as_secs_f64() * processors;
        let others_s = (now.machine_s - self.machine_s) - (now.children_s - self.children_s);
        if all_s > 0.0 { (others_s / all_s).max(0.0) } else { 0.0 }
    }
}

impl Answer {
    fn from_output(output: Output, before: Busy) -> Answer {
        Answer {
            result: serde_json::from_slice(&output.stdout).ok(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
            others_share: before.others_share(),
        }
    }

    fn checks(&self) -> impl Iterator<Item = &Value> {
        self.result.iter().flat_map(|result| result["checks"].as_array().into_iter().flatten())
    }

    /// Returns the highest level of a check.
    pub(crate) fn level_of(&self, code: &str) -> Option<Level> {
        let of_code = self.checks().filter(|finding| finding["code"] == code);
        of_code.filter_map(|finding| Level::from_name(finding["level"].as_str()?)).max()
    }

    pub(crate) fn verdict(&self) -> &str {
        self.result.as_ref().and_then(|result| result["verdict"].as_str()).unwrap_or("none")
    }

    /// Returns the error that ended Plumb. Exit codes of rejected runs and unmet conditions are not errors.
    pub(crate) fn error(&self) -> Option<&str> {
        (self.result.is_none() || !matches!(self.code, Some(0 | 3))).then_some(self.stderr.trim())
    }

    fn tiers(&self) -> impl Iterator<Item = &str> {
        let phases = self.result.iter().flat_map(|result| result["phases"].as_array().into_iter().flatten());
        let metrics = phases.flat_map(|phase| phase["metrics"].as_object().into_iter().flatten());
        metrics.filter_map(|(_, metric)| metric["tier"].as_str())
    }

    pub(crate) fn has(&self, sign: &Sign) -> bool {
        match *sign {
            Sign::Finding { code, level, word } => self.checks().any(|finding| {
                let of_level = finding["level"].as_str().and_then(Level::from_name).is_some_and(|found| found >= level);
                let message = finding["message"].as_str().unwrap_or("");
                finding["code"] == code && of_level && message.contains(word)
            }),
            Sign::Tier(name) => self.tiers().any(|tier| tier == name),
            Sign::Verdict(name) => self.verdict() == name,
            Sign::Error(word) => self.error().is_some_and(|error| error.contains(word)),
        }
    }

    /// Returns the codes of findings that warn or fail.
    pub(crate) fn alarms(&self) -> Vec<String> {
        let loud = self.checks().filter(|finding| matches!(finding["level"].as_str(), Some("warn" | "fail")));
        loud.filter_map(|finding| finding["code"].as_str().map(str::to_owned)).collect()
    }

    /// Whether others used the processors during the run, by this program's own count.
    pub(crate) fn was_disturbed(&self) -> bool {
        self.others_share > QUIET_SHARE
    }

    /// Formats briefly: the findings of these signs, or the most severe ones.
    pub(crate) fn summarise(&self, signs: &[Sign]) -> String {
        let codes: Vec<&str> = signs
            .iter()
            .filter_map(|sign| match sign {
                Sign::Finding { code, .. } => Some(*code),
                _ => None,
            })
            .collect();
        let wanted = |finding: &&Value| match codes.is_empty() {
            true => matches!(finding["level"].as_str(), Some("warn" | "fail")),
            false => codes.contains(&finding["code"].as_str().unwrap_or("")),
        };
        let words = |finding: &Value| {
            let text = |key: &str| finding[key].as_str().unwrap_or("").to_owned();
            let first = text("message").split_inclusive(". ").next().unwrap_or("").trim().to_owned();
            format!("{} {}: {first}", text("code"), text("level"))
        };
        let mut text: Vec<String> = self.checks().filter(wanted).take(3).map(words).collect();
        text.extend(self.error().map(|error| format!("error: {}", error.lines().next().unwrap_or(""))));
        if text.is_empty() {
            let tiers: std::collections::BTreeSet<&str> = self.tiers().collect();
            text.push(format!(
                "verdict {}, tier {}",
                self.verdict(),
                tiers.into_iter().collect::<Vec<_>>().join(" and ")
            ));
        }
        text.join("; ")
    }
}
