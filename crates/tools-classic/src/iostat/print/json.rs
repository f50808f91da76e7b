//! JSON in iostat's layout.

use super::{FrameEnvironment, IostatSettings, Rates, Report};
use crate::iostat::{Columns, DataUnit, DeviceRow};

/// Formats the text before the first report.
pub(super) fn opening(environment: &FrameEnvironment) -> String {
    let FrameEnvironment { system, release, host, machine, processors, date, .. } = environment;
    let word = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\t\t\t\"nodename\": {},\n\t\t\t\"sysname\": {},\n\t\t\t\"release\": {},\n\
         \t\t\t\"machine\": {},\n\t\t\t\"number-of-cpus\": {processors},\n\t\t\t\"date\": {},\n\t\t\t\"statistics\": [\n",
        word(host),
        word(system),
        word(release),
        word(machine),
        word(date)
    )
}

/// Formats one report, without the end of its last line.
pub(super) fn report(report: &Report, settings: &IostatSettings) -> String {
    let mut text = "\t\t\t\t{\n".to_owned();
    if settings.timestamp {
        text.push_str(&format!("\t\t\t\t\t\"timestamp\": \"{}\",\n", report.time));
    }
    if settings.cpu {
        let cpu = &report.cpu;
        text.push_str(&format!(
            "\t\t\t\t\t\"avg-cpu\":  {{\"user\": {:.2}, \"nice\": {:.2}, \"system\": {:.2}, \"iowait\": {:.2}, \
             \"steal\": {:.2}, \"idle\": {:.2}}}",
            cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle
        ));
        text.push_str(if settings.disk { ",\n" } else { "\n" });
    }
    if settings.disk {
        text.push_str("\t\t\t\t\t\"disk\": [\n");
        let is_extended = matches!(settings.columns, Columns::Extended | Columns::ExtendedShort);
        let rows = report.parts.iter().flatten().filter(|row| !is_extended || row.devices > 0);
        let lines: Vec<String> = rows.map(|row| line(row, report.interval_cs, settings)).collect();
        text.push_str(&lines.join(",\n"));
        text.push_str("\n\t\t\t\t\t]\n");
    }
    text.push_str("\t\t\t\t}");
    text
}

fn line(row: &DeviceRow, interval_cs: u64, settings: &IostatSettings) -> String {
    let rates = Rates::new(row, interval_cs);
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut put = |name: &str, value: f64| pairs.push((name.to_owned(), format!("{value:.2}")));
    let work = &row.work;
    let factor = settings.unit.sectors();
    let amount = |sectors: u64| rates.per_second(sectors) / factor as f64;
    let each = [("r", work.reads), ("w", work.writes), ("d", work.discards)];
    let is_extended = matches!(settings.columns, Columns::Extended | Columns::ExtendedShort);
    let unit = match settings.unit {
        DataUnit::Kilobytes => "kB",
        DataUnit::Megabytes => "MB",
        DataUnit::Sectors if is_extended => "sec",
        DataUnit::Sectors => "Blk",
    };
    let moved = work.moved();
    match settings.columns {
        Columns::ExtendedShort => {
            put("tps", rates.per_second(moved.ops));
            let [reads, writes, discards] = each.map(|(_, ops)| rates.per_second(ops.sectors));
            put(&format!("{unit}/s"), (reads + writes + discards) / factor as f64);
            put("rqm/s", rates.per_second(moved.merges));
            put("await", moved.mean_ms());
            put("areq-sz", moved.mean_sectors() / 2.0);
            put("aqu-sz", rates.queue());
            put("util", rates.busy_percent());
        }
        Columns::Extended => {
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}/s"), rates.per_second(ops.ops)));
            put("f/s", rates.per_second(work.flushes.ops));
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}{unit}/s"), amount(ops.sectors)));
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}rqm/s"), rates.per_second(ops.merges)));
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}rqm"), ops.merged_percent()));
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}_await"), ops.mean_ms()));
            put("f_await", work.flushes.mean_ms());
            each.iter().for_each(|(letter, ops)| put(&format!("{letter}areq-sz"), ops.mean_sectors() / 2.0));
            put("aqu-sz", rates.queue());
            put("util", rates.busy_percent());
        }
        // JSON has all columns, even with `-s`.
        Columns::Basic | Columns::BasicShort => {
            put("tps", rates.per_second(moved.ops));
            let names = ["read", "wrtn", "dscd"];
            for (name, (_, ops)) in names.iter().zip(each) {
                put(&format!("{unit}_{name}/s"), amount(ops.sectors));
            }
            for (name, sectors) in names.iter().zip(row.sectors) {
                pairs.push((format!("{unit}_{name}"), (sectors / factor).to_string()));
            }
        }
    }
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    let name = serde_json::Value::from(row.name.as_str());
    format!("\t\t\t\t\t\t{{\"disk_device\": {name}, {}}}", pairs.join(", "))
}
