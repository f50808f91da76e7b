//! Tests of the printers against fio's own output, random data, and programs that read fio's output.

mod building;
mod consumers;
mod golden_json;
mod golden_normal;
mod golden_terse;
mod properties;
mod scene;
