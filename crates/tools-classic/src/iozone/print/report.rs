//! The report of `-R`: for each test, a table of file sizes by record sizes.

use super::MeasuredPass;
use crate::iozone::pass::Pass;
use crate::iozone::settings::{IozoneSettings, TestMode};
use crate::iozone::sweep::{ReportEntry, SizePoint, SizeSweep};

#[derive(Debug, Clone, PartialEq)]
pub struct Surface {
    pub pass: Pass,
    /// Record sizes of the columns in kB.
    pub records_kb: Vec<u64>,
    /// File sizes in kB, with a value for each tested record size.
    pub rows: Vec<(u64, Vec<f64>)>,
    /// Whether the values are CPU usage in percent.
    pub is_cpu: bool,
}

/// Returns the sweep of settings; a single point is a sweep too.
pub fn sweep(settings: &IozoneSettings) -> SizeSweep {
    match &settings.mode {
        TestMode::Auto(sweep) => sweep.clone(),
        TestMode::Single(point) | TestMode::Throughput { point, .. } => {
            SizeSweep { entries: vec![ReportEntry { point: *point, is_run: true }], records: vec![point.record_bytes] }
        }
    }
}

fn surface(settings: &IozoneSettings, pass: Pass, value: &dyn Fn(&ReportEntry) -> f64, is_cpu: bool) -> Surface {
    let sweep = sweep(settings);
    let mut rows: Vec<(u64, Vec<f64>)> = Vec::new();
    for entry in &sweep.entries {
        let value = if entry.is_run { value(entry) } else { 0.0 };
        match rows.last_mut() {
            Some((file_kb, values)) if *file_kb == entry.point.file_kb => values.push(value),
            _ => rows.push((entry.point.file_kb, vec![value])),
        }
    }
    let records_kb = sweep.records.iter().map(|record| record / 1024).collect();
    Surface { pass, records_kb, rows, is_cpu }
}

/// Returns all tables, those of CPU usage last. Sizes without measurements have no row.
pub fn surfaces(settings: &IozoneSettings, measured: &[MeasuredPass]) -> Vec<Surface> {
    let mut surfaces = surfaces_of_all_sizes(settings, measured);
    surfaces.iter_mut().for_each(|surface| surface.rows.retain(|(file_kb, _)| is_measured(measured, *file_kb)));
    surfaces
}

fn is_measured(measured: &[MeasuredPass], file_kb: u64) -> bool {
    measured.iter().any(|one| one.point.file_kb == file_kb)
}

fn surfaces_of_all_sizes(settings: &IozoneSettings, measured: &[MeasuredPass]) -> Vec<Surface> {
    let tests = settings.reported().iter().filter(|test| settings.includes(**test));
    let passes: Vec<Pass> = tests.flat_map(|test| test.passes()).copied().collect();
    let find = |pass: Pass, entry: &ReportEntry| {
        measured.iter().find(|one| one.pass == pass && one.point == entry.point && one.children == 0)
    };
    let rates = passes.iter().map(|pass| {
        let value =
            |entry: &ReportEntry| find(*pass, entry).map_or(0.0, |one| one.whole_rate(settings.reports.rate) as f64);
        surface(settings, *pass, &value, false)
    });
    let cpu = passes.iter().filter(|_| settings.reports.cpu).map(|pass| {
        let value = |entry: &ReportEntry| find(*pass, entry).map_or(0.0, MeasuredPass::cpu_percent);
        surface(settings, *pass, &value, true)
    });
    rates.chain(cpu).collect()
}

/// Returns all tables of a sweep that ended early: sizes up to the current one, with 0 for missing values.
pub fn surfaces_until(settings: &IozoneSettings, measured: &[MeasuredPass], point: Option<SizePoint>) -> Vec<Surface> {
    let mut begun = sweep(settings).entries;
    let begun_count = begun.iter().position(|entry| Some(entry.point) == point).map_or(0, |at| at + 1);
    begun.truncate(begun_count);
    let at_hand_kb = point.map(|point| point.file_kb);
    let mut surfaces = surfaces_of_all_sizes(settings, measured);
    for surface in &mut surfaces {
        surface.rows.retain(|(file_kb, _)| is_measured(measured, *file_kb) || at_hand_kb == Some(*file_kb));
        for (file_kb, values) in &mut surface.rows {
            values.truncate(begun.iter().filter(|entry| entry.point.file_kb == *file_kb).count());
        }
        surface.rows.retain(|(_, values)| !values.is_empty());
    }
    surfaces
}

impl Surface {
    /// Returns the line above it on standard output.
    pub fn title(&self) -> String {
        match self.is_cpu {
            false => format!("{} report", self.pass.title()),
            true => format!("{} CPU utilization report (Zero values should be ignored)", self.pass.title()),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("\n\"{}\"\n      ", self.title());
        for record_kb in &self.records_kb {
            text.push_str(&format!("  \"{record_kb}\""));
        }
        text.push('\n');
        for (file_kb, values) in &self.rows {
            text.push_str(&format!("\"{file_kb}\"  "));
            for value in values {
                match self.is_cpu {
                    true => text.push_str(&format!(" {value:>6.2}")),
                    false => text.push_str(&format!(" {value:.0} ")),
                }
            }
            text.push('\n');
        }
        text
    }
}

pub fn text(surfaces: &[Surface]) -> String {
    let mut text = "Excel output is below:\n".to_owned();
    text.extend(surfaces.iter().map(Surface::text));
    text
}
