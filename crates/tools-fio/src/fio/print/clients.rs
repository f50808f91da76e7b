//! Reports of several hosts (`--client`): one for each host, and one for all together.

use super::format::Format;
use super::json::{JsonFormat, disk_of_host, job_of_host, options};
use super::json_text::{JsonObject, JsonValue};
use super::normal::{job_text, normal};
use super::report::{JobReport, Report};
use super::terse::terse;

#[derive(Debug, Clone, PartialEq)]
pub struct HostReport {
    /// The host as typed, without its port.
    pub hostname: String,
    pub port: u16,
    pub name: String,
    pub report: Report,
}

/// Prints the hosts in all these formats, in fio's order. `all` combines the jobs of several hosts.
pub fn clients(hosts: &[HostReport], all: Option<&Report>, formats: &[Format]) -> String {
    let mut text = String::new();
    let version = formats.iter().filter_map(|one| if let Format::Terse(version) = one { Some(*version) } else { None });
    if let Some(version) = version.max() {
        text += &hosts.iter().map(|host| &host.report).chain(all).map(|one| terse(one, version)).collect::<String>();
    }
    let is_json = |format: &Format| matches!(format, Format::Json(_));
    if formats.contains(&Format::Json(JsonFormat::Bins)) {
        text += &json(hosts, all, JsonFormat::Bins);
    } else if formats.iter().any(is_json) {
        text += &json(hosts, all, JsonFormat::Plain);
    }
    if formats.contains(&Format::Normal) {
        for host in hosts {
            text += &format!("<{}> {}", host.name, normal(&host.report));
        }
        let jobs = all.iter().flat_map(|all| all.jobs.iter().map(move |job| (all, job)));
        text += &jobs.map(|(all, job)| job_text(all, job)).collect::<String>();
    }
    text
}

fn json(hosts: &[HostReport], all: Option<&Report>, format: JsonFormat) -> String {
    let mut root = JsonObject::default();
    if let Some(first) = hosts.first() {
        let Report { version, at, .. } = &first.report;
        root.set("fio version", version.as_str()).set("timestamp", at.unix_ms / 1000).set("time", at.text.as_str());
    }
    let place = |object: &mut JsonObject, host: &HostReport| {
        object.set("hostname", host.hostname.as_str()).set("port", u64::from(host.port));
    };
    // One host prints its own disks, several hosts a list of those that have some.
    match hosts {
        [only] => drop(root.set("global options", options(&only.report.global_options))),
        several => {
            let with_some = several.iter().filter(|host| !host.report.global_options.is_empty());
            let lists = with_some.map(|host| {
                let mut object = options(&host.report.global_options);
                place(&mut object, host);
                JsonValue::from(object)
            });
            root.set("global options", lists.collect::<Vec<_>>());
        }
    }
    let job = |report: &Report, job: &JobReport, host: &HostReport| {
        let mut object = job_of_host(report, job, format);
        place(&mut object, host);
        JsonValue::from(object)
    };
    let mut stats = Vec::new();
    for host in hosts {
        stats.extend(host.report.jobs.iter().map(|one| job(&host.report, one, host)));
    }
    if let (Some(all), Some(last)) = (all, hosts.last()) {
        stats.extend(all.jobs.iter().map(|one| job(all, one, last)));
    }
    root.set("client_stats", stats);
    let mut disks = Vec::new();
    for host in hosts {
        for disk in host.report.disks.iter().flatten() {
            let mut object = disk_of_host(disk, host.report.compat);
            place(&mut object, host);
            disks.push(JsonValue::from(object));
        }
    }
    root.set("disk_util", disks);
    root.text()
}
