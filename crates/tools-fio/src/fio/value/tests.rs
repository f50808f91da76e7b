//! Tests of the peculiarities of fio's values.

use super::choice::{ErrorNumber, LogName, MemoryKind, SteadyCriterion, SteadyFigure, SteadyLimit, SteadyTest};
use super::direction::{AccessOrder, JobDirection, Ops};
use super::distribution::{FileZone, RandomDistribution};
use super::kind::{ANY, Bare, at_least, at_most, between};
use super::lists::NumaPolicy;
use super::pattern::Piece;
use super::split::SplitShare;
use super::syntax::*;
use super::*;
use plumb_workload::Nanos;
use plumb_workload::blocks::fio::{Curve, FileChoice};

/// Parses a text, and counts the values that fio reads differently.
fn with<S: Setter>(compat: Compat, kb_base: u64, setter: S, text: &str) -> (Result<ValueOf<S>, ValueError>, usize) {
    let mut doubts = Vec::new();
    let mut reading = ValueReading { compat, kb_base, doubts: &mut doubts };
    let value = setter.syntax().read(Some(text), &mut reading);
    (value, doubts.len())
}

fn meant<S: Setter>(setter: S, text: &str) -> ValueOf<S> {
    with(Compat::Meant, 1_024, setter, text).0.unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn is_refused<S: Setter>(setter: S, text: &str) -> bool {
    with(Compat::Meant, 1_024, setter, text).0.is_err()
}

fn bytes(compat: Compat, kb_base: u64, text: &str) -> Option<u64> {
    with(compat, kb_base, Wide(ANY), text).0.ok()
}

#[test]
fn bytes_as_fio_reads_them() {
    for (base, text, value) in [
        (1_024, "4k", 4_096),
        (1_024, "4kb", 4_096),
        (1_024, "4KB", 4_096),
        (1_024, "4kib", 4_000),
        (1_024, "4ki", 4_096),
        (1_000, "4k", 4_000),
        (1_000, "4kib", 4_096),
        (1_000, "4ki", 4_000),
        (1_024, "4kfoo", 4_096),
        (1_024, "4 k", 4),
        (1_024, "1.5k", 1),
        (1_024, "0x10k", 16),
        (1_024, "0x1000", 4_096),
        (1_024, "1g", 1 << 30),
        (1_024, "2t", 2 << 40),
        (1_024, "1p", 1 << 50),
        (1_024, "(8*1024*1024*1024)", 18_446_744_071_562_067_968),
        (1_024, "(2^40)", 18_446_744_071_562_067_968),
        (1_024, "(1.5k)", 1_024),
        (1_024, "(1pib)", 1_000_000_000_000),
    ] {
        assert_eq!(bytes(Compat::Strict, base, text), Some(value), "{text} with a base of {base}");
    }
    assert_eq!(bytes(Compat::Strict, 1_024, "(1tib)"), None);
    assert_eq!(bytes(Compat::Strict, 1_024, "k"), None);
}

#[test]
fn bytes_as_they_were_meant() {
    for (base, text, value, doubts) in [
        (1_024, "4k", 4_096, 0),
        (1_024, "4kib", 4_096, 1),
        (1_024, "4ki", 4_096, 0),
        (1_000, "4k", 4_000, 0),
        (1_000, "4kib", 4_096, 0),
        (1_000, "4ki", 4_096, 1),
        (1_024, "4kfoo", 4_096, 1),
        (1_024, "4 k", 4_096, 1),
        (1_024, "1.5k", 1_536, 1),
        (1_024, "0x10k", 16_384, 1),
        (1_024, "(8*1024*1024*1024)", 8 << 30, 1),
        (1_024, "(2^40)", 1 << 40, 1),
        (1_024, "(1tib)", 1 << 40, 1),
        (1_024, "(4*1k)", 4_096, 0),
    ] {
        let (read, noticed) = with(Compat::Meant, base, Wide(ANY), text);
        assert_eq!(read, Ok(value), "{text} with a base of {base}");
        assert_eq!(noticed, doubts, "{text} with a base of {base}");
    }
    for text in ["", "k", "fast", "-5", "4z", "50%", "()"] {
        assert_eq!(bytes(Compat::Meant, 1_024, text), None, "{text}");
    }
}

#[test]
fn times_both_ways() {
    // Unit of a bare number, text, microseconds as fio reads it, microseconds intended, number of doubts.
    for (bare, text, fio, here, doubts) in [
        (Bare::Seconds, "5", 5_000_000, 5_000_000, 0),
        (Bare::Seconds, "5s", 5_000_000, 5_000_000, 0),
        (Bare::Seconds, "5sec", 5, 5_000_000, 1),
        (Bare::Seconds, "5min", 5, 300_000_000, 1),
        (Bare::Seconds, "1m30s", 1, 90_000_000, 1),
        (Bare::Seconds, "1.5s", 1_000_000, 1_500_000, 1),
        (Bare::Seconds, "2m", 120_000_000, 120_000_000, 0),
        (Bare::Seconds, "1h", 3_600_000_000, 3_600_000_000, 0),
        (Bare::Seconds, "1d", 86_400_000_000, 86_400_000_000, 0),
        (Bare::Seconds, "100ms", 100_000, 100_000, 0),
        (Bare::Seconds, "100msec", 100_000, 100_000, 0),
        (Bare::Seconds, "(2*30)", 60_000_000, 60_000_000, 0),
        (Bare::Seconds, "(1m)", 60_000_000, 60_000_000, 0),
        (Bare::Micros, "50", 50, 50, 0),
        (Bare::Micros, "50us", 50, 50, 0),
        (Bare::Micros, "50usec", 50, 50, 0),
        (Bare::Micros, "2s", 2_000_000, 2_000_000, 0),
        (Bare::Seconds, "10", 10_000_000, 10_000_000, 0),
    ] {
        let time = |compat| {
            let (time, doubts) = with(compat, 1_024, Time(bare), text);
            (time.unwrap_or_else(|error| panic!("{text}: {error}")).0 / 1_000, doubts)
        };
        assert_eq!(time(Compat::Strict), (fio, 0), "{text}");
        assert_eq!(time(Compat::Meant), (here, doubts), "{text}");
    }
}

#[test]
fn triples_leave_and_copy_as_fio_does() {
    let sizes = |read, write, trim| PerDirection { read, write, trim };
    for (text, value) in [
        ("4k", sizes(Some(4_096), Some(4_096), Some(4_096))),
        ("4k,8k", sizes(Some(4_096), Some(8_192), Some(8_192))),
        ("4k,8k,16k", sizes(Some(4_096), Some(8_192), Some(16_384))),
        ("8k,32k,", sizes(Some(8_192), Some(32_768), None)),
        ("8k,", sizes(Some(8_192), None, None)),
        (",8k", sizes(None, Some(8_192), Some(8_192))),
        (",,8k", sizes(None, None, Some(8_192))),
        (",8k,", sizes(None, Some(8_192), None)),
        ("4k:8k", sizes(Some(4_096), Some(8_192), Some(8_192))),
        ("4k-8k", sizes(Some(4_096), Some(8_192), Some(8_192))),
        ("(8k-4k)", sizes(Some(4_096), Some(4_096), Some(4_096))),
    ] {
        assert_eq!(meant(Each(Wide(at_least(1))), text), value, "{text}");
    }
    for text in [",", ",,", "0", "1,2,3,4"] {
        assert!(is_refused(Each(Wide(at_least(1))), text), "{text}");
    }
    assert_eq!(
        meant(Each(Count(at_most(100))), "10,20"),
        PerDirection { read: Some(10), write: Some(20), trim: Some(20) }
    );
}

#[test]
fn ranges_are_swapped_and_copied() {
    let range = |low, high| Some(Between { low, high });
    assert_eq!(
        meant(EachRange, "4k-1k,8k:16k"),
        PerDirection { read: range(1_024, 4_096), write: range(8_192, 16_384), trim: range(8_192, 16_384) }
    );
    assert!(is_refused(EachRange, "4k"));
    assert_eq!(meant(Range(Wide(at_least(1))), "1m-4m"), Between { low: 1 << 20, high: 4 << 20 });
    assert_eq!(
        meant(Range(Time(Bare::Seconds)), "1-2"),
        Between { low: Nanos(1_000_000_000), high: Nanos(2_000_000_000) }
    );
}

#[test]
fn regions_are_bytes_percent_or_zones() {
    assert_eq!(meant(REGION, "50%"), FileRegion::Percent(50));
    assert_eq!(meant(REGION, "4z"), FileRegion::Zones(4));
    assert_eq!(meant(REGION, "1g"), FileRegion::Bytes(1 << 30));
    for text in ["101%", "-1", "xz", "-5%"] {
        assert!(is_refused(REGION, text), "{text}");
    }
}

#[test]
fn bounds_hold() {
    for text in ["101", "-1"] {
        assert!(is_refused(Count(at_most(100)), text), "{text}");
    }
    for text in ["20", "-21"] {
        assert!(is_refused(Whole(between(-20, 19)), text), "{text}");
    }
    for text in ["0", "5000000000"] {
        assert!(is_refused(Count(at_least(1)), text), "{text}");
    }
    assert!(is_refused(UnlessZero(PowerOfTwo), "3"));
    assert!(is_refused(SWITCH, "2"));
    assert!(is_refused(Floats { most: 1, bounds: Some((0.0, 100.0)) }, "101"));
    assert_eq!(meant(Whole(between(-20, 19)), "-20"), -20);
    assert_eq!(meant(Count(at_least(1)), "1k"), 1_024);
    assert_eq!(meant(Count(at_most(100)), "70%"), 70);
    assert_eq!(meant(UnlessZero(PowerOfTwo), "4k"), 4_096);
}

#[test]
fn flags_and_switches() {
    assert!(meant(FLAG, ""));
    assert!(!meant(FLAG, "0"));
    assert!(meant(SWITCH, "1"));
    assert!(is_refused(SWITCH, "yes"));
    assert!(is_refused(SWITCH, ""));
}

#[test]
fn directions_with_postfix() {
    let direction = |text| meant(DIRECTION, text);
    assert_eq!(
        direction("randread:8"),
        JobDirection { ops: Ops::Read, order: AccessOrder::Random { ops_per_draw: 8 } }
    );
    assert_eq!(
        direction("write:4k"),
        JobDirection { ops: Ops::Write, order: AccessOrder::Sequential { skip_bytes: 4_096 } }
    );
    assert_eq!(
        direction("read:-8k"),
        JobDirection { ops: Ops::Read, order: AccessOrder::Sequential { skip_bytes: -8_192 } }
    );
    assert_eq!(direction("readwrite").ops, Ops::ReadWrite);
    let (error, _) = with(Compat::Meant, 1_024, DIRECTION, "randraed");
    assert!(error.unwrap_err().to_string().ends_with("did you mean `randread`?"));
    assert!(is_refused(DIRECTION, "randread:0"));
}

#[test]
fn splits_share_the_remainder() {
    let share = |bytes, percent| SplitShare { bytes, percent };
    let all = |shares: Vec<SplitShare>| PerDirection::all(shares);
    assert_eq!(meant(SPLIT, "4k/60:64k/40"), all(vec![share(4_096, 60), share(65_536, 40)]));
    assert_eq!(meant(SPLIT, "4k/50:64k/:32k"), all(vec![share(4_096, 50), share(65_536, 25), share(32_768, 25)]));
    assert_eq!(
        meant(SPLIT, "4k,8k/90:16k/10"),
        PerDirection {
            read: vec![share(4_096, 100)],
            write: vec![share(8_192, 90), share(16_384, 10)],
            trim: vec![share(8_192, 90), share(16_384, 10)],
        }
    );
    for text in ["4k/60:8k/50", "4k/x", "0/50"] {
        assert!(is_refused(SPLIT, text), "{text}");
    }
}

#[test]
fn distributions() {
    let curved = |curve, center| RandomDistribution::Curved { curve, center };
    assert_eq!(meant(DISTRIBUTION, "zipf:1.2:0.25"), curved(Curve::Zipf { theta: 1.2 }, Some(0.25)));
    assert_eq!(meant(DISTRIBUTION, "pareto:0.3"), curved(Curve::Pareto { h: 0.3 }, None));
    assert_eq!(meant(DISTRIBUTION, "normal:10"), curved(Curve::Normal { deviation: 10.0 }, None));
    let zone = |access_percent, size| FileZone { access_percent, size };
    assert_eq!(
        meant(DISTRIBUTION, "zoned:60/10:30/20:10/"),
        RandomDistribution::Zoned(PerDirection::all(vec![zone(60, 10), zone(30, 20), zone(10, 70)]))
    );
    assert_eq!(
        meant(DISTRIBUTION, "zoned_abs:95/50g:5/100g"),
        RandomDistribution::ZonedBytes(PerDirection::all(vec![
            FileZone { access_percent: 95, size: 50 << 30 },
            FileZone { access_percent: 5, size: 100 << 30 },
        ]))
    );
    assert_eq!(meant(DISTRIBUTION, "sequence:0,8,16"), RandomDistribution::Sequence(vec![0, 8, 16]));
    for text in ["zipf:1", "pareto:1", "pareto:0", "zoned:60/10", "zoned", "sequence:", "sequence:-1", "zopf"] {
        assert!(is_refused(DISTRIBUTION, text), "{text}");
    }
    assert_eq!(meant(FILE_SERVICE, "random:8"), FileChoice::Random { ops: 8 });
}

#[test]
fn patterns() {
    let bytes = |bytes: &[u8]| Piece::Bytes(bytes.to_vec());
    assert_eq!(meant(PATTERN, "\"abcd\""), vec![bytes(b"abcd")]);
    assert_eq!(meant(PATTERN, "0xdeadbeef"), vec![bytes(&[0xde, 0xad, 0xbe, 0xef])]);
    assert_eq!(meant(PATTERN, "\"abcd\"-12"), vec![bytes(b"abcd\xf4\xff\xff\xff")]);
    assert_eq!(meant(PATTERN, "0xff%o\"ab\"-1"), vec![bytes(&[0xff]), Piece::Offset, bytes(b"ab\xff\xff\xff\xff")]);
    assert_eq!(meant(PATTERN, "\"abcd\"-120xdeadface"), vec![bytes(b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce")]);
    assert_eq!(meant(PATTERN, "'file'"), vec![Piece::File("file".to_owned())]);
    for text in ["\"open", "'open", "0x", "abc", "%p"] {
        assert!(is_refused(PATTERN, text), "{text}");
    }
}

const PERCENTILES: Floats = Floats { most: 20, bounds: Some((0.0, 100.0)) };

#[test]
fn lists() {
    assert_eq!(meant(CPUS, "0,5,8-10,9"), vec![0, 5, 8, 9, 10]);
    assert!(is_refused(CPUS, "3-1"));
    assert!(is_refused(CPUS, "0-4000000000"));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    assert_eq!(meant(NAMES, "/a:/b"), names(&["/a", "/b"]));
    assert_eq!(meant(NAMES, r"/dev/disk/by-path/pci-0\:1"), names(&["/dev/disk/by-path/pci-0:1"]));
    assert_eq!(meant(PERCENTILES, "50:99:99.9"), vec![50.0, 99.0, 99.9]);
    assert!(is_refused(PERCENTILES, &"1:".repeat(21)));
    assert_eq!(meant(NUMA_POLICY, "bind:0-1"), NumaPolicy::Bind(vec![0, 1]));
    assert_eq!(meant(NUMA_POLICY, "prefer:1"), NumaPolicy::Prefer(1));
    for text in ["prefer", "bind", "local:0", "prefer:0,1"] {
        assert!(is_refused(NUMA_POLICY, text), "{text}");
    }
}

#[test]
fn words_with_trailing_characters() {
    assert_eq!(meant(MEMORY, "mmap:/f"), MemoryKind::Mmap(Some("/f".to_owned())));
    let range = meant(SYNC_RANGE, "wait_before,write:8");
    assert!(range.wait_before && range.write && !range.wait_after && range.every == 8);
    let errors = meant(IGNORE_ERROR, "EIO:5,ENOSPC,EILSEQ");
    assert_eq!(errors.read, [ErrorNumber::Name("EIO".to_owned()), ErrorNumber::Number(5)]);
    assert_eq!(errors.verify, [ErrorNumber::Name("EILSEQ".to_owned())]);
    let steady = |text| meant(Maybe(STEADY), text);
    let of = |figure, test, limit| SteadyCriterion { figure, test, limit };
    assert_eq!(steady("iops_slope:0.3%"), of(SteadyFigure::Iops, SteadyTest::Slope, SteadyLimit::Percent(0.3)));
    assert_eq!(
        steady("bw:10m"),
        of(SteadyFigure::Bandwidth, SteadyTest::Deviation, SteadyLimit::BytesPerSecond(10 << 20))
    );
    assert_eq!(steady("lat:50us"), of(SteadyFigure::Latency, SteadyTest::Deviation, SteadyLimit::Time(Nanos(50_000))));
    assert!(is_refused(Maybe(STEADY), "iops"));
    assert_eq!(meant(Maybe(LOG_NAME), ""), LogName::OfJob);
    assert_eq!(meant(Maybe(LOG_NAME), "x"), LogName::Named("x".to_owned()));
    assert_eq!(meant(SomeOf(&["read", "write", "trim"]), "read,trim"), vec!["read", "trim"]);
}
