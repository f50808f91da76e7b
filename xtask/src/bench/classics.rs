//! Running other tools, or Plumb in their place, and reading their rates.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// A rate by the name that the tool gives it.
pub type Rates = BTreeMap<String, f64>;

/// A command line of a classic tool.
pub struct Line {
    pub tool: &'static str,
    pub words: &'static [&'static str],
    /// What it reads from standard input.
    pub input: &'static str,
    /// What its run yields.
    pub reads: fn(&ToolOutput) -> Result<Rates>,
    /// Whether a file of zeros, [`INPUT`], must be there too.
    pub needs_file: bool,
}

/// What a run said, and when.
pub struct ToolOutput {
    pub output: Output,
    input: &'static str,
    /// Seconds from the start until this much of standard output was there.
    arrivals: Vec<(usize, f64)>,
}

/// The file that [`Line::needs_file`] asks for.
pub const INPUT: &str = "plumb-bench-input";
/// What is written where the tool has no name of its own.
pub const OUTPUT: &str = "plumb-bench-output";
/// What one run of a tool leaves for others to read: Plumb may, though it did not make it.
pub const SHARED: &str = "plumb-bench-shared";
/// Length of the input.
const INPUT_BYTES: usize = 256 << 20;

impl ToolOutput {
    /// Seconds from the start until this was on standard output, which must not be buffered.
    fn said_at(&self, what: &str) -> Option<f64> {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let end = text.find(what)? + what.len();
        self.arrivals.iter().find(|(length, _)| *length >= end).map(|(_, seconds)| *seconds)
    }
}

impl Line {
    /// Runs it once in `place`: `command` is the tool, or Plumb in its place, without the words. What Plumb keeps of it goes
    /// to `store`, which is no load of the tool's.
    ///
    /// # Errors
    /// It cannot be started, fails, or says nothing of what is looked for.
    pub fn run(&self, mut command: Command, place: &Path, store: &Path) -> Result<Rates> {
        if self.needs_file {
            lay_out(&place.join(INPUT))?;
        }
        // Neither begins with what the other has left.
        let _ = std::fs::remove_file(place.join(OUTPUT));
        if self.tool == "fio" {
            command.args(["--name=f", "--output-format=json"]);
        }
        command.args(self.words).current_dir(place);
        command.env("XDG_DATA_HOME", store).env("PLUMB_ALLOW", place.join(SHARED));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(self.input.as_bytes())?;
        }
        let mut stderr = child.stderr.take().context("no standard error")?;
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            stderr.read_to_end(&mut text).map(|_| text)
        });
        let mut stdout = child.stdout.take().context("no standard output")?;
        let (mut said, mut arrivals, mut piece) = (Vec::new(), Vec::new(), [0; 4096]);
        loop {
            match stdout.read(&mut piece)? {
                0 => break,
                length => {
                    said.extend_from_slice(&piece[..length]);
                    arrivals.push((said.len(), start.elapsed().as_secs_f64()));
                }
            }
        }
        let status = child.wait()?;
        let stderr = errors.join().ok().context("standard error was not read")??;
        let printed = ToolOutput { output: Output { status, stdout: said, stderr }, input: self.input, arrivals };
        if !printed.output.status.success() {
            bail!("{command:?}: {}\n{}", printed.output.status, String::from_utf8_lossy(&printed.output.stderr));
        }
        let rates = (self.reads)(&printed).with_context(|| format!("the output of {command:?}"))?;
        if rates.is_empty() {
            bail!("{command:?} printed no rate");
        }
        Ok(rates)
    }

    /// The tool itself.
    pub fn tool(&self) -> Command {
        match self.tool {
            // Its own seconds are whole ones: what it says is timed from outside, as it says it.
            "postmark" => {
                let mut command = Command::new("stdbuf");
                command.args(["--output=0", "postmark"]);
                command
            }
            tool => Command::new(tool),
        }
    }
}

/// A file that is there and written out.
fn lay_out(path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|metadata| metadata.len() == INPUT_BYTES as u64) {
        return Ok(());
    }
    let mut file = std::fs::File::create(path)?;
    file.write_all(&vec![0x5a; INPUT_BYTES])?;
    file.sync_all().with_context(|| format!("flushing {}", path.display()))
}

/// dd's last line: `B bytes (…) copied, S s, …`.
pub fn dd(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stderr);
    let line = text.lines().find(|line| line.contains(" copied, ")).context("no line of what was copied")?;
    let bytes: f64 = number(line.split(' ').next().unwrap_or(""))?;
    let behind = line.split(" copied, ").nth(1).unwrap_or("");
    let seconds = number(behind.split(' ').next().unwrap_or(""))?;
    Ok(Rates::from([("copied".to_owned(), bytes / seconds)]))
}

/// The report of `-R`, or the blocks of a throughput test, in kB/s.
pub fn iozone(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let mut rates = Rates::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix('"').and_then(|line| line.strip_suffix(" report\"")) {
            let row = lines.nth(1).context("a report without a row")?;
            rates.insert(title.to_owned(), number(row.split_whitespace().last().unwrap_or(""))?);
        }
        if let Some((what, rate)) =
            line.trim().strip_prefix("Children see throughput for ").and_then(|line| line.split_once('='))
        {
            rates.insert(what.trim().to_owned(), number(rate.trim().trim_end_matches(" kB/sec"))?);
        }
    }
    Ok(rates)
}

/// Columns of Bonnie++'s values (format 1.98) that are rates. What took less than half a second has no number.
const BONNIE: &[(usize, &str)] = &[
    (9, "per char, out"),
    (11, "block, out"),
    (13, "rewrite"),
    (15, "per char, in"),
    (17, "block, in"),
    (19, "seeks"),
    (26, "create, sequential"),
    (28, "stat, sequential"),
    (30, "delete, sequential"),
    (32, "create, random"),
    (34, "stat, random"),
    (36, "delete, random"),
];

/// Bonnie++'s line of values.
pub fn bonnie(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let line = text.lines().find(|line| line.starts_with("1.98,")).context("no line of values")?;
    let columns: Vec<&str> = line.split(',').collect();
    let rate = |column: usize| columns.get(column).and_then(|text| text.parse::<f64>().ok());
    Ok(BONNIE.iter().filter_map(|(column, name)| Some(((*name).to_owned(), rate(*column)?))).collect())
}

/// PostMark's parts: by its own report where that is exact, else by when it said what.
pub fn postmark(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let counted = |label: &str| {
        let line = text.lines().find(|line| line.trim_start().starts_with(label)).context("a line is missing")?;
        number(line.split(':').nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or(""))
    };
    let line = text.lines().find(|line| line.contains(" seconds of transactions (")).context("no transactions")?;
    let (created, deleted) = (counted("Creation alone:")?, counted("Deletion alone:")?);
    let told_rate = |line: &str| {
        let rate = line.split('(').nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("");
        number(rate)
    };
    let names = ["create", "transactions", "delete"];
    let rates = if line.trim_start().split(' ').next().is_some_and(|seconds| seconds.contains('.')) {
        let of = |label: &str| {
            let line = text.lines().find(|line| line.trim_start().starts_with(label)).unwrap_or("");
            told_rate(line)
        };
        [of("Creation alone:")?, told_rate(line)?, of("Deletion alone:")?]
    } else {
        let at = |what: &str| printed.said_at(what).with_context(|| format!("`{what}` is missing in the output"));
        let (begun, first) = (at("Creating files...")?, at("Creating files...Done")?);
        let (second, third) = (at("Deleting files...")?, at("Deleting files...Done")?);
        // Transactions that do nothing are in no line of the report, and are recognised by whole seconds.
        let asked = printed.input.lines().find_map(|line| line.strip_prefix("set transactions "));
        let transactions = number(asked.context("`set transactions` says how many there are")?)?;
        [created / (first - begun), transactions / (second - first), deleted / (third - second)]
    };
    Ok(names.map(str::to_owned).into_iter().zip(rates).collect())
}

fn number(text: &str) -> Result<f64> {
    text.trim().parse().with_context(|| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn printed(stdout: &str, stderr: &str) -> ToolOutput {
        let status = std::process::ExitStatus::from_raw(0);
        let output = Output { status, stdout: stdout.into(), stderr: stderr.into() };
        ToolOutput { output, input: "set transactions 100\nrun\n", arrivals: Vec::new() }
    }

    #[test]
    fn a_copy_is_told_by_its_bytes_and_seconds_not_by_the_rounded_rate() {
        let text = "2+0 records in\n2+0 records out\n1000 bytes (1.0 kB, 1000 B) copied, 0.5 s, 2.0 kB/s\n";
        assert_eq!(dd(&printed("", text)).unwrap()["copied"], 2000.0);
        assert!(dd(&printed("", "dd: failed\n")).is_err());
    }

    #[test]
    fn reports_of_one_stream_and_of_several_are_read_by_their_titles() {
        let text = "Excel output is below:\n\n\"Writer report\"\n        \"64\"\n\"1024\"   5042191 \n\n";
        assert_eq!(iozone(&printed(text, "")).unwrap()["Writer"], 5_042_191.0);
        let text = "\tChildren see throughput for  2 initial writers \t= 8584065.50 kB/sec\n";
        assert_eq!(iozone(&printed(text, "")).unwrap()["2 initial writers"], 8_584_065.5);
    }

    #[test]
    fn what_bonnie_could_not_time_is_no_rate() {
        let text = "1.98,2.00a,golden,1,42,64M,,2000,3,331,9,+++++,+++,1200,8,,,+++++,+++,,,,,,,,,,,,,,,,,,,\n";
        let rates = bonnie(&printed(text, "")).unwrap();
        assert_eq!(rates.len(), 2);
        assert_eq!(rates["per char, out"], 331.0);
        assert_eq!(rates["rewrite"], 1200.0);
    }

    #[test]
    fn whole_seconds_are_replaced_by_when_things_were_said() {
        let report = |seconds: &str| {
            format!(
                "pm>Creating files...Done\nPerforming transactions..........Done\nDeleting files...Done\nTime:\n\t1 seconds total\n\t{seconds} seconds of transactions (100 per second)\n\tCreation alone: 50 files (50 per second)\n\tDeletion alone: 60 files (60 per second)\n"
            )
        };
        assert_eq!(postmark(&printed(&report("0.500"), "")).unwrap()["transactions"], 100.0);
        let text = report("1");
        let end = |what: &str| text.find(what).unwrap() + what.len();
        let mut whole = printed(&text, "");
        whole.arrivals = vec![
            (end("Creating files..."), 0.5),
            (end("Creating files...Done"), 1.0),
            (end("Deleting files..."), 3.0),
            (end("Deleting files...Done"), 5.0),
        ];
        let rates = postmark(&whole).unwrap();
        assert_eq!((rates["create"], rates["transactions"], rates["delete"]), (100.0, 50.0, 30.0));
    }
}
