//! Parses the rates that the classic tools print.

use super::classics::{Rates, ToolOutput};
use super::rounds::Unit;
use anyhow::{Context, Result, bail};

/// Parses dd's last line: `B bytes (…) copied, S s, …`.
pub(super) fn dd(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stderr);
    let line = text.lines().find(|line| line.contains(" copied, ")).context("no line of what was copied")?;
    let bytes: f64 = number(line.split(' ').next().unwrap_or(""))?;
    let behind = line.split(" copied, ").nth(1).unwrap_or("");
    let seconds = number(behind.split(' ').next().unwrap_or(""))?;
    Ok(Rates::from([("copied".to_owned(), bytes / seconds)]))
}

/// Parses the report of `-R`, or the blocks of a throughput test, in kB/s.
pub(super) fn iozone(printed: &ToolOutput) -> Result<Rates> {
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

/// Columns of Bonnie++'s values (format 1.98) that are rates. A test of less than half a second has no number.
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

/// Parses Bonnie++'s line of values.
pub(super) fn bonnie(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let line = text.lines().find(|line| line.starts_with("1.98,")).context("no line of values")?;
    let columns: Vec<&str> = line.split(',').collect();
    let rate = |column: usize| columns.get(column).and_then(|text| text.parse::<f64>().ok());
    Ok(BONNIE.iter().filter_map(|(column, name)| Some(((*name).to_owned(), rate(*column)?))).collect())
}

/// Returns the rates of PostMark's parts: from its own report if that is exact, else from the times of its output.
pub(super) fn postmark(printed: &ToolOutput) -> Result<Rates> {
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
        // Transactions that do nothing are missing in the report, and appear as whole seconds.
        let asked = printed.input.lines().find_map(|line| line.strip_prefix("set transactions "));
        let transactions = number(asked.context("`set transactions` says how many there are")?)?;
        [created / (first - begun), transactions / (second - first), deleted / (third - second)]
    };
    Ok(names.map(str::to_owned).into_iter().zip(rates).collect())
}

/// Returns the numbers of files that PostMark created, read, appended to and
/// deleted. Equal random numbers give equal counts.
pub(super) fn postmark_work(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let count = |what: &str| {
        let line = text.lines().map(str::trim_start).find(|line| line.contains(&format!(" {what} (")));
        let line = line.with_context(|| format!("no line of files {what}"))?;
        Ok((format!("files {what}"), number(line.split(' ').next().unwrap_or(""))?))
    };
    ["created", "read", "appended", "deleted"].into_iter().map(count).collect()
}

/// Returns the bytes of the files that sysbench's `prepare` created.
pub(super) fn sysbench_prepared(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let line = text.lines().find_map(|line| line.split_once(" bytes written in ")).context("no files were prepared")?;
    Ok(Rates::from([("bytes".to_owned(), number(line.0)?)]))
}

/// Returns requests per second of sysbench's file test, without flushes.
pub(super) fn sysbench(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let mut rates = Rates::new();
    for (label, name) in [("reads/s:", "reads"), ("writes/s:", "writes")] {
        let rate = text.lines().find_map(|line| line.trim_start().strip_prefix(label));
        let rate = number(rate.with_context(|| format!("no line `{label}`"))?)?;
        if rate > 0.0 {
            rates.insert(name.to_owned(), rate);
        }
    }
    Ok(rates)
}

/// Returns the column Files/sec of fs_mark's table.
pub(super) fn fs_mark(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let mut lines = text.lines().skip_while(|line| !line.contains("Files/sec"));
    let heads = lines.next().context("no table")?;
    let column = heads.split_whitespace().position(|head| head == "Files/sec").context("no column Files/sec")?;
    let rows: Vec<&str> = lines.filter(|line| !line.trim().is_empty()).collect();
    let [row] = rows.as_slice() else { bail!("{} rows, expected one iteration", rows.len()) };
    let rate = row.split_whitespace().nth(column).context("a short row")?;
    Ok(Rates::from([("files".to_owned(), number(rate)?)]))
}

/// Parses dbench's last line, such as `Throughput 172.461 MB/sec  1 clients  1 procs  max_latency=28.126 ms`.
pub(super) fn dbench(printed: &ToolOutput) -> Result<Rates> {
    let text = String::from_utf8_lossy(&printed.output.stdout);
    let rate = text.lines().find_map(|line| line.strip_prefix("Throughput ")?.split(' ').next());
    Ok(Rates::from([("throughput".to_owned(), number(rate.context("no throughput")?)?)]))
}

/// Returns the unit of a rate, and the factor for the printed number.
pub(super) type UnitOf = fn(&str) -> (Unit, f64);

pub(super) fn bytes(_: &str) -> (Unit, f64) {
    (Unit::Bytes, 1.0)
}

pub(super) fn kib(_: &str) -> (Unit, f64) {
    (Unit::Bytes, 1024.0)
}

pub(super) fn mb(_: &str) -> (Unit, f64) {
    (Unit::Bytes, 1e6)
}

pub(super) fn ops(_: &str) -> (Unit, f64) {
    (Unit::Ops, 1.0)
}

/// Returns KiB for some of Bonnie++'s columns and ops for the others.
pub(super) fn bonnie_unit(name: &str) -> (Unit, f64) {
    let is_bytes = ["out", "in", "rewrite"].iter().any(|end| name.ends_with(end));
    if is_bytes { kib(name) } else { ops(name) }
}

fn number(text: &str) -> Result<f64> {
    text.trim().parse().with_context(|| format!("`{text}` is not a number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Output;

    fn printed(stdout: &str, stderr: &str) -> ToolOutput {
        let status = std::process::ExitStatus::from_raw(0);
        let output = Output { status, stdout: stdout.into(), stderr: stderr.into() };
        ToolOutput { output, input: "set transactions 100\nrun\n", arrivals: Vec::new() }
    }

    #[test]
    fn a_copys_rate_comes_from_bytes_and_seconds() {
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
    fn untimed_bonnie_columns_have_no_rate() {
        let text = "1.98,2.00a,golden,1,42,64M,,2000,3,331,9,+++++,+++,1200,8,,,+++++,+++,,,,,,,,,,,,,,,,,,,\n";
        let rates = bonnie(&printed(text, "")).unwrap();
        assert_eq!(rates.len(), 2);
        assert_eq!(rates["per char, out"], 331.0);
        assert_eq!(rates["rewrite"], 1200.0);
    }

    #[test]
    fn the_work_of_postmark_is_four_numbers_of_files() {
        let text = "Files:\n\t27115 created (5423 per second)\n\t\tCreation alone: 2000 files (2000 per second)\n\
                    \t24787 read (4957 per second)\n\t24841 appended (4968 per second)\n\t27115 deleted (5423 per second)\n";
        let work = postmark_work(&printed(text, "")).unwrap();
        let expected = [("appended", 24_841.0), ("created", 27_115.0), ("deleted", 27_115.0), ("read", 24_787.0)];
        assert!(work.iter().map(|(name, count)| (&name["files ".len()..], *count)).eq(expected), "{work:?}");
        assert!(postmark_work(&printed("Error: no room\n", "")).is_err());
    }

    #[test]
    fn sysbenchs_rates_are_those_of_the_directions_that_it_used() {
        let text = "File operations:\n    reads/s:                      124125.17\n    writes/s:                     0.00\n\
                    \x20   fsyncs/s:                     15868.95\n";
        assert_eq!(sysbench(&printed(text, "")).unwrap(), Rates::from([("reads".to_owned(), 124_125.17)]));
        assert!(sysbench(&printed("FATAL: no files\n", "")).is_err());
        let text = "Creating file test_file.0\n268435456 bytes written in 0.21 seconds (1219.58 MiB/sec).\n";
        assert_eq!(sysbench_prepared(&printed(text, "")).unwrap()["bytes"], 268_435_456.0);
        assert!(sysbench_prepared(&printed("FATAL: error 28\n", "")).is_err());
    }

    #[test]
    fn fs_marks_rate_is_found_by_the_head_of_its_column() {
        let table = "#\tVersion 3.3, 1 thread(s)\n\nFSUse%        Count         Size    Files/sec     App Overhead\n\
                     \x20    1        20000         4096      15298.3           233262\n";
        assert_eq!(fs_mark(&printed(table, "")).unwrap()["files"], 15_298.3);
        let more = format!("{table}     1        40000         4096      15000.0           233262\n");
        assert!(fs_mark(&printed(&more, "")).unwrap_err().to_string().contains("2 rows"));
        assert!(fs_mark(&printed("fs_mark: no such directory\n", "")).is_err());
    }

    #[test]
    fn dbenchs_throughput_is_that_of_its_last_line() {
        let text = "   1    100   150.00 MB/sec  execute   1 sec  latency 5.000 ms\n\n\
                    Throughput 172.461 MB/sec  1 clients  1 procs  max_latency=28.126 ms\n";
        assert_eq!(dbench(&printed(text, "")).unwrap()["throughput"], 172.461);
        assert!(dbench(&printed("could not open client.txt\n", "")).is_err());
    }

    #[test]
    fn what_bonnie_counts_has_the_unit_of_its_column() {
        let units = BONNIE.iter().map(|(_, name)| bonnie_unit(name).0);
        let bytes = units.take_while(|unit| *unit == Unit::Bytes).count();
        assert_eq!(bytes, 5, "{:?}", BONNIE[bytes]);
        assert!(BONNIE[bytes..].iter().all(|(_, name)| bonnie_unit(name) == (Unit::Ops, 1.0)));
    }

    #[test]
    fn whole_seconds_are_replaced_by_the_times_of_the_output() {
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
