//! The printers against what fio itself printed, against any data at all, and against what reads fio's output.

mod building;
mod consumers;
mod golden_json;
mod golden_normal;
mod golden_terse;
mod properties;
mod scene;
