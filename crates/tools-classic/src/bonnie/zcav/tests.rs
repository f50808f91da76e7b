//! Tests against output of the real tool.

use super::print::{ZcavTimes, device};
use super::*;

fn settings(words: &str) -> Result<ZcavSettings, Refusal> {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    ZcavSettings::read("zcav", &words)
}

/// Arguments that the real tool accepts, and those that it answers with its usage.
#[test]
fn words_are_read_as_the_tool_reads_them() {
    for words in ["", "-b 0 a", "-b 2:4 a", "-c 0 a", "-s 1 a", "-s 30 a", "-b 8:1 -r 0:64 a", "-x a"] {
        let Refusal(text) = settings(words).unwrap_err();
        assert!(text.contains("Usage: zcav [-b block-size[:chunk-size]]"), "{words}: {text}");
    }
    let parsed = settings("-b 64:2 -l one a -r 8:99 -f b -l two c -w -c 3 -u root:sys").unwrap();
    let devices: Vec<(&str, Option<&str>)> =
        parsed.devices.iter().map(|device| (device.path.as_str(), device.log.as_deref())).collect();
    assert_eq!(devices, [("a", Some("one")), ("b", None), ("c", Some("two"))]);
    assert_eq!((parsed.block_mib, parsed.chunk_mib, parsed.start_mib, parsed.end_mib), (64, 2, 8, Some(99)));
    assert!(parsed.writes && parsed.loops == 3 && parsed.group.as_deref() == Some("sys"));
}

/// Blocks of a file of 21 MiB, as the real tool reads them.
#[test]
fn a_course_has_the_tools_blocks() {
    let plan = |words: &str| {
        let plan = ZcavBlocks::new(&settings(words).unwrap(), 21 * MIB);
        (plan.blocks.iter().map(|offset| offset / MIB).collect::<Vec<_>>(), plan.tail)
    };
    assert_eq!(plan("-b 4 a"), (vec![0, 4, 8, 12, 16], Some((20 * MIB, MIB))));
    assert_eq!(plan("-b 4 -s 2 a"), (vec![0, 8, 16], None));
    assert_eq!(plan("-b 4 -r 8:16 a"), (vec![8, 12], None));
    assert_eq!(plan("-b 4 -r 4:16 -s 2 a"), (vec![8], None));
    assert_eq!(plan("-b 64 a"), (vec![], Some((0, 21 * MIB))));
}

/// Times of a slowed run in the real tool's format: of one loop, and as the middle of several.
#[test]
fn times_become_the_tools_lines() {
    let output = |words: &str, ops_ms: &[u64]| {
        let settings = settings(words).unwrap();
        let plan = ZcavBlocks::new(&settings, 21 * MIB);
        let (mut times, mut at, mut ends) = (ZcavTimes::default(), 0, 0);
        for took_ms in ops_ms {
            let end = at + took_ms * 1_000_000;
            ends += i64::from(times.add(&settings, &plan, MIB, at, end));
            at = end;
        }
        assert_eq!(ends, settings.loops, "{words}");
        device(&settings, &plan, times.loops())
    };
    assert_eq!(
        output("-b 2 -r 6 a", &[805, 805, 100, 100, 802, 802]),
        "#block offset (GiB), MiB/s, time\n0.00 1.24 1.610\n#0.00 ++++ 0.200\n0.00 1.25 1.604\n\
         # Read 6 megs in 3 seconds, 1 megabytes per second.\n"
    );
    // The middle of 1, 2 and 9 s. The rest after the last whole block has no line.
    assert_eq!(
        output("-b 1 -r 1 -c 3 a", &[1000, 9000, 2000]),
        "# Read 1 megs in 1 seconds, 1 megabytes per second.\n# Read 1 megs in 9 seconds, 0 megabytes per second.\n\
         # Read 1 megs in 2 seconds, 0 megabytes per second.\n#loops: 3\n#block offset (GiB), MiB/s, time\n\
         0.00 0.50 2.000\n"
    );
    let tail = output("-b 20 a", &[100; 21]);
    assert!(tail.contains("# Read 20 megs in 2 seconds, 9 megabytes"), "{tail}");
    // The tool's count at the start of the range, and the correct one.
    assert!(output("-b 1 -r 1:2 a", &[1000]).contains("# Read 1 megs"));
    assert!(output("--compat=strict -b 1 -r 1:2 a", &[1000]).contains("# Read 2 megs"));
}
