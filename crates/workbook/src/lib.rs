//! Workbooks (`.xlsx`) with cells, colour scales and native charts: what Plumb's reports need of the format, and no more.
//!
//! Source: ECMA-376 (Office Open XML), part 1, and the limits that Excel's manual states. Why it is no library:
//! `docs/architecture.md`.

mod book;
mod chart;
mod part;
mod sheet;
mod style;
mod zip;

pub use book::{Book, WorkbookError};
pub use chart::{Axis, Chart, ChartKind, ErrorBars, Legend, Marker, Series};
pub use sheet::{Area, COLUMNS_MAX, ROWS_MAX, Sheet, TEXT_MAX};
pub use style::{Border, NumberFormat, Style};
