//! The spreadsheet of `-b`: a raw BIFF 2 stream, as written by IOzone's own library.
//!
//! Source: OpenOffice's documentation of the Microsoft Excel file format, BIFF2; the layout comes from IOzone's files.

use super::report::Surface;
use super::throughput::ThroughputReport;

/// Size of a label's text in bytes, padded.
const LABEL_BYTES: usize = 256;

/// A sheet under construction.
struct Sheet {
    bytes: Vec<u8>,
    row: u16,
}

impl Sheet {
    fn new() -> Sheet {
        Sheet { bytes: vec![9, 0, 4, 0, 2, 0, 0x10, 0], row: 0 }
    }

    fn cell(&mut self, kind: u16, length: u16, column: u16) {
        for word in [kind, length, self.row, column] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        self.bytes.extend_from_slice(&[0; 3]);
    }

    fn number(&mut self, column: u16, value: f64) {
        self.cell(3, 15, column);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds a label in a separate row.
    fn line(&mut self, text: &str) {
        self.label(0, text);
        self.row += 1;
    }

    fn label(&mut self, column: u16, text: &str) {
        // The length is a single byte.
        let text: Vec<u8> = text.bytes().take(LABEL_BYTES - 1).collect();
        self.cell(4, 264, column);
        // The record is 264 bytes long: cell, attributes, length, and padded text.
        self.bytes.push(text.len() as u8);
        let end = self.bytes.len() + LABEL_BYTES;
        self.bytes.extend_from_slice(&text);
        self.bytes.resize(end, 0);
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.extend_from_slice(&[0x0a, 0, 0, 0]);
        self.bytes
    }
}

/// Returns the sheet of single-process tests.
pub fn surfaces(command: &str, surfaces: &[Surface]) -> Vec<u8> {
    let mut sheet = Sheet::new();
    sheet.line(command);
    sheet.line(" ");
    sheet.line("The top row is records sizes, the left column is file sizes");
    for surface in surfaces {
        let label = match surface.is_cpu {
            false => surface.pass.label().to_owned(),
            true => surface.title(),
        };
        sheet.line(&label);
        for (column, record_kb) in (1..).zip(&surface.records_kb) {
            sheet.number(column, *record_kb as f64);
        }
        sheet.row += 1;
        for (file_kb, values) in &surface.rows {
            sheet.number(0, *file_kb as f64);
            for (column, value) in (1..).zip(values) {
                sheet.number(column, *value);
            }
            sheet.row += 1;
        }
    }
    sheet.end()
}

/// Returns the sheet of throughput tests.
pub fn throughput(command: &str, report: &ThroughputReport) -> Vec<u8> {
    let mut sheet = Sheet::new();
    sheet.line(command);
    report.heads.iter().for_each(|head| sheet.line(head));
    let rows = |sheet: &mut Sheet, rows: &[(String, Vec<f64>)]| {
        for (label, values) in rows {
            sheet.label(0, label);
            for (column, value) in (2..).zip(values) {
                sheet.number(column, *value);
            }
            sheet.row += 1;
        }
    };
    rows(&mut sheet, &report.rates);
    if let (Some(cpu), Some(what), Some(record)) = (&report.cpu, report.heads.first(), report.heads.get(1)) {
        sheet.line(&what.replacen("Throughput", "CPU utilization", 1));
        sheet.line(record);
        sheet.line("Output is in CPU%");
        rows(&mut sheet, cpu);
    }
    sheet.end()
}
