//! Files with single latencies (`-Q`) and with histograms (`-+z`).

use crate::iozone::pass::Pass;

/// Header of a file with latencies.
pub const HEAD: &str = "Offset in kBytes   Latency in microseconds  Transfer size in bytes\n";

/// Returns the file name of a pass, if it has one. In throughput tests each child has its own file.
pub fn file(pass: Pass, child: Option<u32>) -> Option<String> {
    let name = match pass {
        Pass::Write => "wol.dat",
        Pass::Rewrite => "rwol.dat",
        Pass::Read => "rol.dat",
        Pass::Reread => "rrol.dat",
        _ => return None,
    };
    Some(match child {
        None => name.to_owned(),
        Some(child) => format!("Child_{child}_{name}"),
    })
}

/// Formats the line of an op.
pub fn line(offset_bytes: u64, latency_ns: u64, length_bytes: u64) -> String {
    format!("{:>10} {:>10.0} {length_bytes:>10}\n", offset_bytes / 1024, latency_ns as f64 / 1000.0)
}

/// Formats the end of a file; times are in seconds.
pub fn tail(system_s: f64, user_s: f64, real_s: f64) -> String {
    format!("\nSystem time {system_s:>10.3} User time {user_s:>10.3} Real {real_s:>10.3}  (seconds)\n")
}

/// Upper bounds of the bands in microseconds, with their labels.
const BANDS: [&[(u64, &str)]; 9] = [
    &[(20, " 20us"), (40, " 40us"), (60, " 60us"), (80, " 80us"), (100, "100us")],
    &[(200, "200us"), (400, "400us"), (600, "600us"), (800, "800us"), (1000, "  1ms")],
    &[(2_000, "  2ms"), (4_000, "  4ms"), (6_000, "  6ms"), (8_000, "  8ms"), (10_000, " 10ms")],
    &[(12_000, " 12ms"), (14_000, " 14ms"), (16_000, " 16ms"), (18_000, " 18ms"), (20_000, " 20ms")],
    &[(40_000, " 40ms"), (60_000, " 60ms"), (80_000, " 80ms"), (100_000, "100ms")],
    &[(200_000, "200ms"), (400_000, "400ms"), (600_000, "600ms"), (800_000, "800ms"), (1_000_000, "   1s")],
    &[(2_000_000, "   2s"), (4_000_000, "   4s"), (6_000_000, "   6s"), (8_000_000, "   8s"), (10_000_000, "  10s")],
    &[
        (20_000_000, "  20s"),
        (40_000_000, "  40s"),
        (60_000_000, "  60s"),
        (80_000_000, "  80s"),
        (120_000_000, " 120s"),
    ],
    &[(u64::MAX, "120+s")],
];

/// Returns the name of a pass in histograms.
fn word(pass: Pass) -> &'static str {
    match pass {
        Pass::Write => "write",
        Pass::Rewrite => "Rewrite",
        Pass::Read => "Read",
        Pass::Reread => "Reread",
        Pass::Backward => "Read Backwards",
        Pass::Stride => "Stride Read",
        Pass::RandomRead => "Random Read",
        Pass::RandomWrite => "Random Write",
        pass => pass.title(),
    }
}

/// Formats the histogram of one child. `below` returns the number of ops that took at most this many microseconds.
pub fn histogram(pass: Pass, child: u32, below: &dyn Fn(u64) -> u64) -> String {
    let mut text = format!("Child: {child} Op: {}\n", word(pass));
    let mut seen = 0;
    for (number, band) in (1..).zip(BANDS) {
        text.push_str(&format!("Band {number}:   "));
        for (end_us, name) in band {
            let all = below(*end_us);
            let here = all.saturating_sub(seen);
            seen = all;
            text.push_str(&format!("{name}:{here:<7} "));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}
