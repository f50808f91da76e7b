//! Text for people: terminal pages of results and comparisons, and full reports with charts. This crate converts
//! results to text and does not touch the system.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod assertion;
pub mod audit;
pub mod compare;
pub mod diff;
mod document;
pub mod fit_for;
pub mod format;
pub mod full;
pub mod gate;
pub mod list;
pub mod live;
pub mod loads;
mod measure;
pub mod net;
pub mod noise;
pub mod plot;
pub mod posix;
pub mod repeat;
pub mod run;
mod screen;
pub mod site;
pub mod stream;
pub mod study;
pub mod study_plan;
pub mod style;
pub mod sweep;
mod table;
pub mod trace;
pub mod watch;
pub mod workbook;

pub use measure::cut;
pub use plumb_result::facts;
pub use style::Style;
