//! The outcome of a benchmark with many cases. A failed case must not hide the others.

use super::rounds::{Row, table};
use anyhow::{Result, bail};

/// Rows of finished cases, and the cases without rows.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Report {
    /// Adds the rows of a case. If it fails, keeps its error for the end.
    pub(super) fn case(&mut self, name: &str, outcome: Result<Vec<Row>>) {
        match outcome {
            Ok(rows) => self.rows.extend(rows),
            Err(error) => {
                println!("  FAILED; the error is at the end");
                self.failures.push(format!("{name}: {error:#}"));
            }
        }
    }

    /// Prints that a case was skipped, and the reason.
    pub(super) fn skip(&mut self, name: &str, lacks: &str) {
        let line = format!("{name}: SKIPPED: {lacks}");
        println!("\n{line}");
        self.skipped.push(line);
    }

    /// Prints the table, the missed bars, and the cases without rows.
    ///
    /// # Errors
    ///
    /// A case failed, or there was none.
    pub(super) fn finish(self) -> Result<()> {
        if !self.rows.is_empty() {
            table(&self.rows);
            println!();
        }
        let bars: Vec<bool> = self.rows.iter().filter_map(Row::is_met).collect();
        let met = bars.iter().filter(|met| **met).count();
        if !bars.is_empty() {
            println!("{met} of {} bars are met.", bars.len());
        }
        let missed = self.rows.iter().filter(|row| row.is_met() == Some(false));
        missed.filter_map(Row::sentence).for_each(|sentence| println!("{sentence}"));
        self.skipped.iter().for_each(|line| println!("{line}"));
        if !self.failures.is_empty() {
            bail!("{} failed:\n{}", count(self.failures.len()), self.failures.join("\n"));
        }
        if self.rows.is_empty() && self.skipped.is_empty() {
            bail!("`--only`: no case has this in its name");
        }
        Ok(())
    }
}

fn count(cases: usize) -> String {
    if cases == 1 { "1 case".to_owned() } else { format!("{cases} cases") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rounds::{Bar, Unit};

    #[test]
    fn a_failure_is_an_error_with_its_text_and_leaves_other_rows() {
        let mut report = Report::default();
        report.case("first", Err(anyhow::anyhow!("`tool -x`: exit status: 1\nno such option")));
        report.case("second", Ok(vec![Row::compare(("second", "tool"), Unit::Ops, &[2.0], &[1.0], Bar::AtLeast(3.0))]));
        assert_eq!(report.rows.len(), 1);
        let error = report.finish().unwrap_err().to_string();
        assert_eq!(error, "1 case failed:\nfirst: `tool -x`: exit status: 1\nno such option");
    }

    #[test]
    fn a_missed_bar_and_a_skipped_case_are_no_errors_but_no_case_is() {
        let mut report = Report::default();
        report.case("slow", Ok(vec![Row::compare(("slow", "tool"), Unit::Ops, &[1.0], &[2.0], Bar::AtLeast(1.0))]));
        assert!(report.finish().is_ok());
        let mut report = Report::default();
        report.skip("absent", "apt-get install tool");
        assert!(report.finish().is_ok());
        assert!(Report::default().finish().is_err());
    }
}
