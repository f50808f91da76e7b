//! Prints results as its table and CSV line.

use super::{GetcPutcSettings, GetcPutcTest, VERSION};
use plumb_result::PhaseMeasurement;
use std::collections::BTreeMap;

/// Minimum time in seconds for a rate.
const SHORTEST_S: f64 = 0.5;

/// Time of each test in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GetcPutcResults(BTreeMap<GetcPutcTest, f64>);

impl GetcPutcResults {
    pub fn add(&mut self, test: GetcPutcTest, measured: &PhaseMeasurement) {
        let wall_ns = measured.workers.first().map_or(measured.wall_ns, |worker| worker.wall_ns);
        self.set(test, wall_ns as f64 / 1e9);
    }

    /// Records the time of a test in seconds.
    pub fn set(&mut self, test: GetcPutcTest, elapsed_s: f64) {
        self.0.insert(test, elapsed_s);
    }

    fn rates(&self, settings: &GetcPutcSettings) -> Vec<String> {
        let rate = |test: GetcPutcTest| match self.0.get(&test) {
            Some(&elapsed_s) if elapsed_s >= SHORTEST_S => {
                ((settings.moved_kib(test) as f64 / elapsed_s) as i64).to_string()
            }
            Some(_) => "++++++".to_owned(),
            None => String::new(),
        };
        GetcPutcTest::ALL.iter().copied().map(rate).collect()
    }
}

/// Formats the table in KiB/s.
pub fn table(settings: &GetcPutcSettings, results: &GetcPutcResults) -> String {
    let rates: String = results.rates(settings).iter().map(|rate| format!(" {rate:>6}")).collect();
    format!(
        "Version {VERSION}          write   read putcNT getcNT   putc   getc  putcU  getcU\n{:<21}{rates}\n",
        settings.name
    )
}

/// Formats the line of values in KiB/s.
pub fn values(settings: &GetcPutcSettings, results: &GetcPutcResults) -> String {
    format!("{},{}\n", settings.name, results.rates(settings).join(","))
}
