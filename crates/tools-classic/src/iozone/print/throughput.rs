//! The output blocks of throughput tests.

use super::{Child, MeasuredPass, mean};
use crate::iozone::pass::Pass;
use crate::iozone::settings::{IozoneSettings, Rate, TestMode};
use crate::iozone::sweep::SizePoint;

/// Returns the line before the blocks with this number of processes.
pub fn head(settings: &IozoneSettings, point: SizePoint) -> String {
    let port = port(settings);
    match settings.telemetry.writes.is_some() {
        true => format!("\tEach {port} writes a {} kByte file in telemetry controlled records\n", point.file_kb),
        false => format!(
            "\tEach {port} writes a {} kByte file in {} kByte records\n",
            point.file_kb,
            point.record_bytes / 1024
        ),
    }
}

fn port(settings: &IozoneSettings) -> &'static str {
    match settings.mode {
        TestMode::Throughput { threads: true, .. } => "thread",
        _ => "process",
    }
}

/// Returns the names of the workers, with IOzone's trailing blanks, for the children's line and the parent's.
pub(in crate::iozone) fn worker_names(pass: Pass, count: u32) -> [String; 2] {
    let both = |text: String| [text.clone(), text];
    match pass {
        Pass::Write => both(format!("{count:>2} initial writers \t")),
        Pass::Rewrite => both(format!("{count:>2} rewriters \t")),
        Pass::Read => both(format!("{count:>2} readers \t\t")),
        Pass::Reread => both(format!("{count} re-readers \t")),
        Pass::Backward => both(format!("{count} reverse readers \t")),
        Pass::Stride => both(format!("{count} stride readers \t")),
        Pass::RandomRead => both(format!("{count} random readers \t")),
        Pass::Mix => both(format!("{count} mixed workload \t")),
        Pass::RandomWrite => both(format!("{count} random writers \t")),
        Pass::Pwrite => both(format!("{count} pwrite writers \t")),
        Pass::Pread => both(format!("{count} pread readers \t")),
        Pass::Fwrite => [format!("{count:>2} fwriters \t"), format!("{count:>2} fwriters \t\t")],
        Pass::Fread => [format!("{count:>2} freaders \t"), format!("{count:>2} freaders \t\t")],
        // Never used in throughput tests.
        _ => both(format!("{count} {} \t", pass.slug())),
    }
}

/// Returns the minimum. IOzone's own computation ignores a first child with 0.
fn least(values: &[f64], strict: bool) -> f64 {
    if !strict {
        return values.iter().copied().fold(f64::INFINITY, f64::min).min(f64::MAX);
    }
    let mut least = 0.0;
    for value in values {
        if least == 0.0 || *value < least {
            least = *value;
        }
    }
    least
}

pub fn block(settings: &IozoneSettings, measured: &MeasuredPass) -> String {
    let unit = settings.reports.rate;
    let word = if unit == Rate::Ops { "ops" } else { "kB" };
    let count = measured.children;
    let port = port(settings);
    let children = children(measured);
    let rates: Vec<f64> = children.iter().map(|child| child.rate(unit)).collect();
    let amounts: Vec<f64> = children.iter().map(|child| child.amount(unit)).collect();
    let sum: f64 = rates.iter().sum();
    let parent: Vec<f64> =
        measured.rounds.iter().map(|round| Child { elapsed_ns: round.parent_ns, ..round.whole() }.rate(unit)).collect();
    let [who_children, who_parent] = worker_names(measured.pass, count);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let mut text = format!(
        "\n\tChildren see throughput for {who_children}= {sum:>10.2} {word}/sec\n\
         \tParent sees throughput for {who_parent}= {:>10.2} {word}/sec\n\
         \tMin throughput per {port} \t\t\t= {:>10.2} {word}/sec \n\
         \tMax throughput per {port} \t\t\t= {most:>10.2} {word}/sec\n\
         \tAvg throughput per {port} \t\t\t= {:>10.2} {word}/sec\n\
         \tMin xfer \t\t\t\t\t= {:>10.2} {word}\n",
        mean(&parent),
        least(&rates, settings.strict),
        sum / f64::from(count.max(1)),
        least(&amounts, settings.strict),
    );
    if settings.reports.cpu {
        let (wall_s, cpu_s) = cpu(&children);
        let word = if measured.pass == Pass::Write { "Utilization" } else { "utilization" };
        text.push_str(&format!(
            "\tCPU {word}: Wall time {wall_s:>8.3}    CPU time {cpu_s:>8.3}    CPU utilization {:>6.2} %\n\n",
            percent(cpu_s, wall_s)
        ));
    }
    if settings.children.each_child {
        for (number, child) in children.iter().enumerate() {
            let (rate, amount) = (child.rate(unit), child.amount(unit));
            text.push_str(&format!(
                "\tChild[{number}] xfer count = {amount:>10.2} {word}, Throughput = {rate:>10.2} {word}/sec"
            ));
            if settings.reports.cpu {
                let (wall_s, cpu_s) = (child.elapsed_ns as f64 / 1e9, child.cpu_ns as f64 / 1e9);
                text.push_str(&format!(", wall={wall_s:>6.3}, cpu={cpu_s:>6.3}, %={:>6.2}", percent(cpu_s, wall_s)));
            }
            text.push('\n');
        }
    }
    text
}

/// Returns each process, over all rounds.
fn children(measured: &MeasuredPass) -> Vec<Child> {
    let mut sums = vec![Child::default(); measured.children as usize];
    for round in &measured.rounds {
        for (sum, child) in sums.iter_mut().zip(&round.children) {
            sum.bytes += child.bytes;
            sum.ops += child.ops;
            sum.elapsed_ns += child.elapsed_ns;
            sum.cpu_ns += child.cpu_ns;
        }
    }
    let rounds = measured.rounds.len().max(1) as u64;
    for sum in &mut sums {
        sum.bytes /= rounds;
        sum.ops /= rounds;
        sum.elapsed_ns /= rounds;
        sum.cpu_ns /= rounds;
    }
    sums
}

/// Returns the longest time of a process and the CPU time of all, in seconds.
fn cpu(children: &[Child]) -> (f64, f64) {
    let wall_ns = children.iter().map(|child| child.elapsed_ns).max().unwrap_or(0);
    let cpu_ns: u64 = children.iter().map(|child| child.cpu_ns).sum();
    (wall_ns as f64 / 1e9, cpu_ns as f64 / 1e9)
}

fn percent(cpu_s: f64, wall_s: f64) -> f64 {
    if wall_s == 0.0 { 0.0 } else { 100.0 * cpu_s / wall_s }
}

/// Returns the label of a pass in the report.
pub(in crate::iozone) fn label(pass: Pass) -> &'static str {
    match pass {
        Pass::Write => "Initial write",
        Pass::Rewrite => "Rewrite",
        Pass::Read => "Read",
        Pass::Reread => "Re-read",
        Pass::Backward => "Reverse Read",
        Pass::Stride => "Stride read",
        Pass::RandomRead => "Random read",
        Pass::Mix => "Mixed workload",
        Pass::RandomWrite => "Random write",
        Pass::Fwrite => "Fwrite",
        Pass::Fread => "Fread",
        pass => pass.title(),
    }
}

/// The report: a line per test, a column per number of processes.
#[derive(Debug, Clone, PartialEq)]
pub struct ThroughputReport {
    /// Lines above the numbers.
    pub heads: Vec<String>,
    pub rates: Vec<(String, Vec<f64>)>,
    /// CPU usage in percent in the same layout, if requested.
    pub cpu: Option<Vec<(String, Vec<f64>)>>,
}

impl ThroughputReport {
    /// Builds the report from all measurements.
    pub fn new(settings: &IozoneSettings, measured: &[MeasuredPass]) -> ThroughputReport {
        let TestMode::Throughput { point, threads, .. } = &settings.mode else {
            return ThroughputReport { heads: Vec::new(), rates: Vec::new(), cpu: None };
        };
        let ports = if *threads { "threads" } else { "processes" };
        let unit = if settings.reports.rate == Rate::Ops { "ops/sec" } else { "kBytes/sec" };
        let mut passes: Vec<Pass> = Vec::new();
        for one in measured {
            if !passes.contains(&one.pass) {
                passes.push(one.pass);
            }
        }
        let rows = |value: &dyn Fn(&MeasuredPass) -> f64| -> Vec<(String, Vec<f64>)> {
            let of = |pass: &Pass| {
                let values = measured.iter().filter(|one| one.pass == *pass).map(value).collect();
                (format!("{:>15} ", label(*pass)), values)
            };
            passes.iter().map(of).collect()
        };
        ThroughputReport {
            heads: vec![
                format!("Throughput report Y-axis is type of test X-axis is number of {ports}"),
                format!("Record size = {} kBytes", point.record_bytes / 1024),
                format!("Output is in {unit}"),
            ],
            rates: rows(&|one| one.rate(settings.reports.rate)),
            cpu: settings.reports.cpu.then(|| {
                rows(&|one| {
                    let (wall_s, cpu_s) = cpu(&children(one));
                    percent(cpu_s, wall_s)
                })
            }),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        if let [what, record, unit] = self.heads.as_slice() {
            text.push_str(&format!("\n\"{what}\"\n\"{record} \"\n\"{unit}\"\n\n"));
            push_rows(&mut text, &self.rates);
            if let Some(cpu) = &self.cpu {
                let what = what.replacen("Throughput", "CPU utilization", 1);
                text.push_str(&format!("\n\"{what}\"\n\"{record} \"\n\"Output is in CPU%\"\n\n"));
                push_rows(&mut text, cpu);
            }
        }
        text
    }
}

fn push_rows(text: &mut String, rows: &[(String, Vec<f64>)]) {
    for (label, values) in rows {
        text.push_str(&format!("\"{label}\""));
        for value in values {
            text.push_str(&format!(" {value:>10.2} "));
        }
        text.push_str("\n\n");
    }
}
