//! Prints results like Bonnie++: a table and a CSV line.

use super::lower::{SEEKER, own_kinds};
use super::{BonnieSettings, Links, Test, Version};
use plumb_result::PhaseMeasurement;
use std::collections::BTreeMap;

/// A shorter test is printed as `+++++`, in seconds.
const SHORTEST_S: f64 = 0.5;

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Took {
    /// Wall time in seconds.
    pub elapsed_s: f64,
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// Maximum latency in seconds.
    pub latency_s: f64,
}

/// Results of a run's tests, without skipped ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Results(BTreeMap<Test, Took>);

impl Results {
    /// Adds the result of a measured test.
    pub fn add(&mut self, test: Test, settings: &BonnieSettings, measured: &PhaseMeasurement) {
        let longest = own_kinds(test).iter().filter_map(|kind| measured.ops.get(kind)?.service.max()).max();
        let of_records = measured.workers.iter().filter_map(|worker| worker.longest_record_ns).max();
        let cpu_ns = measured.cpu_user_ns + measured.cpu_system_ns;
        // Each seeker thread is charged with the CPU time of the whole process.
        let charged = if settings.is_exact && test == Test::Seeks && settings.version != Version::V103 {
            settings.large.seekers as f64
        } else {
            1.0
        };
        self.set(
            test,
            Took {
                elapsed_s: elapsed_ns(test, measured) as f64 / 1e9,
                cpu_s: cpu_ns as f64 / 1e9 * charged,
                latency_s: longest.max(of_records).unwrap_or(0) as f64 / 1e9,
            },
        );
    }

    /// Records the result of a test.
    pub fn set(&mut self, test: Test, took: Took) {
        self.0.insert(test, took);
    }

    fn get(&self, test: Test) -> Took {
        self.0.get(&test).copied().unwrap_or_default()
    }
}

/// Returns the time from the first worker's start to the last one's end; for seeks, only of the seekers.
fn elapsed_ns(test: Test, measured: &PhaseMeasurement) -> u64 {
    let seekers = measured.workers.iter().filter(|worker| test == Test::Seeks && worker.name.starts_with(SEEKER));
    let spans: Vec<(u64, u64)> =
        seekers.map(|worker| (worker.started_ns, worker.started_ns + worker.wall_ns)).collect();
    match (spans.iter().map(|span| span.0).min(), spans.iter().map(|span| span.1).max()) {
        (Some(start), Some(end)) => end - start,
        _ => measured.wall_ns,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Values,
}

/// Returns the column names of a CSV line.
pub fn header(settings: &BonnieSettings) -> String {
    const TESTS: &str = "putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,get_block,get_block_cpu,\
                         seeks,seeks_cpu";
    const FILES: &str = "seq_create,seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,ran_create_cpu,\
                         ran_stat,ran_stat_cpu,ran_del,ran_del_cpu";
    const LATENCIES: &str = "putc_latency,put_block_latency,rewrite_latency,getc_latency,get_block_latency,\
                             seeks_latency,seq_create_latency,seq_stat_latency,seq_del_latency,ran_create_latency,\
                             ran_stat_latency,ran_del_latency";
    if settings.version == Version::V103 {
        return format!("name,file_size,{TESTS},num_files,{FILES}\n");
    }
    let seeks = if settings.version == Version::V200 && !settings.is_exact { "seeks,seek_proc_count," } else { "" };
    format!(
        "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,{seeks}{TESTS},num_files,max_size,\
         min_size,num_dirs,file_chunk_size,{FILES},{LATENCIES}\n"
    )
}

pub fn table(settings: &BonnieSettings, results: &Results) -> String {
    let mut text = String::new();
    if settings.large.size_mib > 0 {
        text.push_str(&large_head(settings));
        text.push_str(&named_size(settings));
        rates(settings, results, &Test::ALL[..6], Form::Table, &mut text);
        latencies(settings, results, &Test::ALL[..6], &mut text);
        text.push('\n');
    }
    if settings.small.files_ki > 0 {
        text.push_str(&small_head(settings));
        text.push_str(&format!("{:>19}", files_text(settings)));
        rates(settings, results, &Test::ALL[6..], Form::Table, &mut text);
        latencies(settings, results, &Test::ALL[6..], &mut text);
        text.push('\n');
    } else if settings.version != Version::V103 {
        text.push('\n');
    }
    text
}

fn large_head(settings: &BonnieSettings) -> String {
    let version = settings.version.name();
    let tests = "-Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--\n";
    let groups = "------Sequential Output------ --Sequential Input- --Random-\n";
    let plain = "K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP\n";
    let units = " /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n";
    let has_chunk = settings.large.chunk_bytes != 8192;
    let machine = if has_chunk { "Machine   Size:chnk " } else { "Machine        Size " };
    let (second, third) = match settings.version {
        Version::V103 => (" ".repeat(20), format!("{machine}{plain}")),
        Version::V197 => (format!("Concurrency {:3}     ", concurrency(settings)), format!("{machine}{plain}")),
        Version::V200 => (" ".repeat(20), format!("Name:Size etc       {units}")),
    };
    format!("Version {version:>5}       {groups}{second}{tests}{third}")
}

fn small_head(settings: &BonnieSettings) -> String {
    let version = settings.version.name();
    let goes_on = settings.version == Version::V103 && settings.large.size_mib > 0;
    let first = if goes_on { " ".repeat(20) } else { format!("Version {version:>5}       ") };
    let second = if goes_on { " ".repeat(20) } else { format!("{:<19.19} ", settings.machine.name) };
    let third = match (settings.small.min_bytes, settings.small.max_bytes) {
        (0, 0) => "              files ",
        (0, _) => "files:max           ",
        _ => "files:max:min       ",
    };
    format!(
        "{first}------Sequential Create------ --------Random Create--------\n\
         {second}-Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--\n\
         {third} /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP\n"
    )
}

/// Formats a size with the largest unit that divides it; a blank is not a unit.
fn size(mut size: i64, units: &str) -> String {
    let mut units = units.chars();
    let mut unit = units.next().unwrap_or(' ');
    for larger in units {
        if size == 0 || size % 1024 != 0 {
            break;
        }
        size /= 1024;
        unit = larger;
    }
    format!("{size}{unit}").trim_end().to_owned()
}

fn concurrency(settings: &BonnieSettings) -> i64 {
    if settings.is_exact { settings.concurrency } else { 1 }
}

/// Formats the machine's name followed by the size, in 19 columns.
fn named_size(settings: &BonnieSettings) -> String {
    let chunk = |units| {
        if settings.large.chunk_bytes == 8192 { String::new() } else { size(settings.large.chunk_bytes, units) }
    };
    let sizes = match settings.version {
        Version::V200 => {
            let unless = |value: i64, usual: i64| if value == usual { String::new() } else { value.to_string() };
            // The tool truncates the number of seekers.
            let seekers = if settings.is_exact { String::new() } else { unless(settings.large.seekers, 5) };
            let parts = [
                size(settings.large.size_mib, "MG"),
                chunk(" km"),
                unless(concurrency(settings), 1),
                unless(settings.large.seeks, 8192),
                seekers,
            ];
            parts.join(":").trim_end_matches(':').to_owned()
        }
        _ => old_size(settings),
    };
    let room = 19usize.saturating_sub(sizes.chars().count() + 1);
    if sizes.chars().count() > 18 {
        return sizes;
    }
    let name: String = settings.machine.name.chars().chain(std::iter::repeat(' ')).take(room).collect();
    format!("{name} {sizes}")
}

fn old_size(settings: &BonnieSettings) -> String {
    let whole = match settings.large.size_mib % 1024 {
        0 => format!("{}G", settings.large.size_mib / 1024),
        _ => format!("{}M", settings.large.size_mib),
    };
    match settings.large.chunk_bytes {
        8192 => whole,
        bytes if bytes >= 1024 => format!("{whole}:{}k", bytes / 1024),
        bytes => format!("{whole}:{bytes}"),
    }
}

/// Formats the small files in one field.
fn files_text(settings: &BonnieSettings) -> String {
    let sizes = match settings.links() {
        Some(Links::Hard) => ":link".to_owned(),
        Some(Links::Symbolic) => ":symlink".to_owned(),
        None if settings.small.max_bytes > 0 => format!(":{}:{}", settings.small.max_bytes, settings.small.min_bytes),
        None => String::new(),
    };
    let directories =
        if settings.small.directories > 1 { format!("/{}", settings.small.directories) } else { String::new() };
    format!("{}{sizes}{directories}", settings.small.files_ki)
}

pub fn values(settings: &BonnieSettings, results: &Results) -> String {
    let mut text = match settings.version {
        Version::V103 => settings.machine.name.clone(),
        version => format!(
            "{},{},{},{},{}",
            version.format(),
            version.name(),
            settings.machine.name,
            concurrency(settings),
            settings.seed.text()
        ),
    };
    let old = settings.version == Version::V103;
    if settings.large.size_mib > 0 {
        match settings.version {
            Version::V103 => text.push_str(&format!(",{}", old_size(settings))),
            version => {
                // 2.00a leaves the column empty for every size; the table shows it next to the name.
                let is_empty = settings.large.chunk_bytes == 8192 || version == Version::V200;
                let chunk = if is_empty { String::new() } else { size(settings.large.chunk_bytes, " km") };
                text.push_str(&format!(",{},{chunk}", size(settings.large.size_mib, "MG")));
                if version == Version::V200 {
                    text.push_str(&format!(",{},{}", settings.large.seeks, settings.large.seekers));
                }
            }
        }
        rates(settings, results, &Test::ALL[..6], Form::Values, &mut text);
    } else {
        let columns = match settings.version {
            Version::V103 => 13,
            Version::V197 => 14,
            Version::V200 => 16,
        };
        text.push_str(&",".repeat(columns));
    }
    if settings.small.files_ki > 0 {
        text.push(',');
        if old {
            text.push_str(&files_text(settings));
        } else {
            text.push_str(&files_values(settings));
        }
        rates(settings, results, &Test::ALL[6..], Form::Values, &mut text);
    } else {
        text.push_str(&",".repeat(if old { 13 } else { 17 }));
    }
    if !old {
        for &test in Test::ALL {
            text.push(',');
            text.push_str(&latency(results.get(test)));
        }
    }
    text.push('\n');
    text
}

/// Formats the small files in five columns.
fn files_values(settings: &BonnieSettings) -> String {
    let (most, least) = match settings.links() {
        Some(Links::Hard) => ("link".to_owned(), 0),
        Some(Links::Symbolic) => ("symlink".to_owned(), 0),
        None if settings.small.max_bytes > 0 => (settings.small.max_bytes.to_string(), settings.small.min_bytes),
        None => (String::new(), 0),
    };
    let least = if least == 0 { String::new() } else { least.to_string() };
    let directories =
        if settings.small.directories > 1 { settings.small.directories.to_string() } else { String::new() };
    let chunk = match settings.small.chunk_bytes {
        8192 => String::new(),
        bytes => size(bytes, " km"),
    };
    // The tool writes the number of directories over the chunk's size, and leaves its own column empty.
    let (directories, chunk) = if settings.is_exact { (String::new(), directories) } else { (directories, chunk) };
    format!("{},{most},{least},{directories},{chunk}", settings.small.files_ki)
}

fn rates(settings: &BonnieSettings, results: &Results, tests: &[Test], form: Form, text: &mut String) {
    for &test in tests {
        let took = results.get(test);
        let (rate, cpu) = if took.elapsed_s == 0.0 {
            (String::new(), String::new())
        } else if took.elapsed_s < SHORTEST_S {
            ("+++++".to_owned(), "+++".to_owned())
        } else {
            (rate(settings, test, took, form), ((took.cpu_s / took.elapsed_s * 100.0) as i64).to_string())
        };
        text.push_str(&match form {
            Form::Values => format!(",{rate},{cpu}"),
            Form::Table => format!(" {rate:>5} {cpu:>3}"),
        });
    }
}

fn rate(settings: &BonnieSettings, test: Test, took: Took, form: Form) -> String {
    let per_second = |count: f64| count / took.elapsed_s;
    if test == Test::Seeks {
        let rate = per_second(settings.large.seeks as f64);
        let whole = rate >= 1000.0 && (form == Form::Table || settings.version == Version::V200);
        return if whole { format!("{rate:.0}") } else { format!("{rate:.1}") };
    }
    if test > Test::Seeks {
        let files = f64::from(settings.files());
        // The tool passes a double to an integer conversion, which prints the last integer argument instead.
        let shown = if settings.is_exact && settings.version == Version::V200 && form == Form::Table {
            files
        } else {
            per_second(files)
        };
        return (shown as i64).to_string();
    }
    let mib = if matches!(test, Test::BytesOut | Test::BytesIn) {
        settings.large.per_char_mib
    } else {
        settings.large.size_mib
    };
    let kib = per_second(mib as f64 * 1024.0);
    if form == Form::Values || settings.version != Version::V200 {
        return (kib as i64).to_string();
    }
    speed(kib)
}

/// Formats KiB/s with a unit that fits into five columns.
pub(super) fn speed(kib: f64) -> String {
    let mib = kib / 1024.0;
    if kib < 10_000.0 {
        format!("{:4}k", kib as i64)
    } else if mib < 100.0 {
        format!("{mib:4.1}m")
    } else if mib < 1000.0 {
        format!("{:4}m", (mib + 0.5) as i64)
    } else {
        format!("{:4.1}g", mib / 1024.0)
    }
}

fn latencies(settings: &BonnieSettings, results: &Results, tests: &[Test], text: &mut String) {
    if settings.version == Version::V103 {
        return;
    }
    text.push_str("\nLatency          ");
    for &test in tests {
        text.push_str(&format!(" {:>9}", latency(results.get(test))));
    }
}

fn latency(took: Took) -> String {
    let seconds = took.latency_s;
    if seconds == 0.0 {
        String::new()
    } else if seconds > 99.999_999 {
        format!("{}s", seconds as i64)
    } else if seconds > 0.099_999 {
        format!("{}ms", (seconds * 1e3) as i64)
    } else {
        format!("{}us", (seconds * 1e6) as i64)
    }
}
