//! Tests of the quirks of values.

use super::choice::{ErrorNumber, LogName, MemoryKind, SteadyCriterion, SteadyFigure, SteadyLimit, SteadyTest};
use super::direction::{AccessOrder, JobDirection, Ops};
use super::distribution::{FileZone, RandomDistribution};
use super::lists::NumaPolicy;
use super::pattern::Piece;
use super::split::SplitShare;
use super::*;
use crate::fio::options::find;
use plumb_workload::Nanos;
use plumb_workload::blocks::fio::{Curve, FileChoice};

fn with(compat: Compat, kb_base: u64, option: &str, text: &str) -> (Result<OptionValue, ValueError>, usize) {
    let mut doubts = Vec::new();
    let mut reading = ValueReading { compat, kb_base, doubts: &mut doubts };
    let value = read(find(option).unwrap(), Some(text), &mut reading);
    (value, doubts.len())
}

fn meant(option: &str, text: &str) -> OptionValue {
    with(Compat::Meant, 1_024, option, text).0.unwrap_or_else(|error| panic!("{option}={text}: {error}"))
}

fn bytes(compat: Compat, kb_base: u64, text: &str) -> Option<u64> {
    match with(compat, kb_base, "number_ios", text).0 {
        Ok(OptionValue::Wide(value)) => Some(value),
        Ok(other) => panic!("{text}: {other:?}"),
        Err(_) => None,
    }
}

#[test]
fn every_default_of_the_table_can_be_read() {
    for option in crate::fio::options::all() {
        if let Some(text) = option.default.filter(|text| !text.is_empty()) {
            let (value, doubts) = with(Compat::Meant, 1_024, option.name, text);
            assert!(value.is_ok() && doubts == 0, "{}={text}: {value:?}", option.name);
            let strict = with(Compat::Strict, 1_024, option.name, text).0;
            assert_eq!(strict, value, "{}={text}", option.name);
        }
    }
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
        let (read, noticed) = with(Compat::Meant, base, "number_ios", text);
        assert_eq!(read, Ok(OptionValue::Wide(value)), "{text} with a base of {base}");
        assert_eq!(noticed, doubts, "{text} with a base of {base}");
    }
    for text in ["", "k", "fast", "-5", "4z", "50%", "()"] {
        assert_eq!(bytes(Compat::Meant, 1_024, text), None, "{text}");
    }
}

#[test]
fn times_both_ways() {
    // Option, text, microseconds of fio, microseconds meant, doubts.
    for (option, text, fio, here, doubts) in [
        ("runtime", "5", 5_000_000, 5_000_000, 0),
        ("runtime", "5s", 5_000_000, 5_000_000, 0),
        ("runtime", "5sec", 5, 5_000_000, 1),
        ("runtime", "5min", 5, 300_000_000, 1),
        ("runtime", "1m30s", 1, 90_000_000, 1),
        ("runtime", "1.5s", 1_000_000, 1_500_000, 1),
        ("runtime", "2m", 120_000_000, 120_000_000, 0),
        ("runtime", "1h", 3_600_000_000, 3_600_000_000, 0),
        ("runtime", "1d", 86_400_000_000, 86_400_000_000, 0),
        ("runtime", "100ms", 100_000, 100_000, 0),
        ("runtime", "100msec", 100_000, 100_000, 0),
        ("runtime", "(2*30)", 60_000_000, 60_000_000, 0),
        ("runtime", "(1m)", 60_000_000, 60_000_000, 0),
        ("thinktime", "50", 50, 50, 0),
        ("thinktime", "50us", 50, 50, 0),
        ("thinktime", "50usec", 50, 50, 0),
        ("thinktime", "2s", 2_000_000, 2_000_000, 0),
        ("steadystate_duration", "10", 10_000_000, 10_000_000, 0),
    ] {
        let time = |compat| match with(compat, 1_024, option, text) {
            (Ok(OptionValue::Time(Nanos(nanos))), doubts) => (nanos / 1_000, doubts),
            other => panic!("{option}={text}: {other:?}"),
        };
        assert_eq!(time(Compat::Strict), (fio, 0), "{option}={text}");
        assert_eq!(time(Compat::Meant), (here, doubts), "{option}={text}");
    }
}

#[test]
fn triples_leave_and_copy_as_fio_does() {
    let sizes = |read, write, trim| OptionValue::Wides(PerDirection { read, write, trim });
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
        assert_eq!(meant("bs", text), value, "{text}");
    }
    for text in [",", ",,", "0", "1,2,3,4"] {
        assert!(with(Compat::Meant, 1_024, "bs", text).0.is_err(), "{text}");
    }
    assert_eq!(
        meant("percentage_random", "10,20"),
        OptionValue::Wholes(PerDirection { read: Some(10), write: Some(20), trim: Some(20) })
    );
}

#[test]
fn ranges_are_swapped_and_copied() {
    let range = |low, high| Some(Between { low, high });
    assert_eq!(
        meant("bsrange", "4k-1k,8k:16k"),
        OptionValue::Ranges(PerDirection {
            read: range(1_024, 4_096),
            write: range(8_192, 16_384),
            trim: range(8_192, 16_384)
        })
    );
    assert!(with(Compat::Meant, 1_024, "bsrange", "4k").0.is_err());
    assert_eq!(meant("filesize", "1m-4m"), OptionValue::WideBetween(Between { low: 1 << 20, high: 4 << 20 }));
    assert_eq!(
        meant("startdelay", "1-2"),
        OptionValue::TimeBetween(Between { low: Nanos(1_000_000_000), high: Nanos(2_000_000_000) })
    );
}

#[test]
fn regions_are_bytes_percent_or_zones() {
    assert_eq!(meant("size", "50%"), OptionValue::Region(FileRegion::Percent(50)));
    assert_eq!(meant("offset", "4z"), OptionValue::Region(FileRegion::Zones(4)));
    assert_eq!(meant("io_size", "1g"), OptionValue::Region(FileRegion::Bytes(1 << 30)));
    for text in ["101%", "-1", "xz", "-5%"] {
        assert!(with(Compat::Meant, 1_024, "size", text).0.is_err(), "{text}");
    }
}

#[test]
fn bounds_hold() {
    for (option, text) in [
        ("rwmixread", "101"),
        ("nice", "20"),
        ("nice", "-21"),
        ("iodepth", "0"),
        ("replay_align", "3"),
        ("direct", "2"),
        ("latency_percentile", "101"),
        ("log_hist_coarseness", "7"),
        ("iodepth", "5000000000"),
        ("rwmixread", "-1"),
    ] {
        assert!(with(Compat::Meant, 1_024, option, text).0.is_err(), "{option}={text}");
    }
    assert_eq!(meant("nice", "-20"), OptionValue::Whole(-20));
    assert_eq!(meant("iodepth", "1k"), OptionValue::Whole(1_024));
    assert_eq!(meant("rwmixread", "70%"), OptionValue::Whole(70));
}

#[test]
fn flags_and_switches() {
    assert_eq!(meant("thread", ""), OptionValue::Switch(true));
    assert_eq!(meant("thread", "0"), OptionValue::Switch(false));
    assert_eq!(meant("direct", "1"), OptionValue::Switch(true));
    assert!(with(Compat::Meant, 1_024, "direct", "yes").0.is_err());
    assert!(with(Compat::Meant, 1_024, "direct", "").0.is_err());
}

#[test]
fn directions_with_postfix() {
    let direction = |text| match meant("rw", text) {
        OptionValue::Direction(direction) => direction,
        other => panic!("{other:?}"),
    };
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
    let (error, _) = with(Compat::Meant, 1_024, "rw", "randraed");
    assert!(error.unwrap_err().to_string().ends_with("did you mean `randread`?"));
    assert!(with(Compat::Meant, 1_024, "rw", "randread:0").0.is_err());
}

#[test]
fn splits_share_what_is_left() {
    let share = |bytes, percent| SplitShare { bytes, percent };
    let all = |shares: Vec<SplitShare>| OptionValue::Split(PerDirection::all(shares));
    assert_eq!(meant("bssplit", "4k/60:64k/40"), all(vec![share(4_096, 60), share(65_536, 40)]));
    assert_eq!(meant("bssplit", "4k/50:64k/:32k"), all(vec![share(4_096, 50), share(65_536, 25), share(32_768, 25)]));
    assert_eq!(
        meant("bssplit", "4k,8k/90:16k/10"),
        OptionValue::Split(PerDirection {
            read: vec![share(4_096, 100)],
            write: vec![share(8_192, 90), share(16_384, 10)],
            trim: vec![share(8_192, 90), share(16_384, 10)],
        })
    );
    for text in ["4k/60:8k/50", "4k/x", "0/50"] {
        assert!(with(Compat::Meant, 1_024, "bssplit", text).0.is_err(), "{text}");
    }
}

#[test]
fn distributions() {
    let curved = |curve, center| OptionValue::Distribution(RandomDistribution::Curved { curve, center });
    assert_eq!(meant("random_distribution", "zipf:1.2:0.25"), curved(Curve::Zipf { theta: 1.2 }, Some(0.25)));
    assert_eq!(meant("random_distribution", "pareto:0.3"), curved(Curve::Pareto { h: 0.3 }, None));
    assert_eq!(meant("random_distribution", "normal:10"), curved(Curve::Normal { deviation: 10.0 }, None));
    let zone = |access_percent, size| FileZone { access_percent, size };
    assert_eq!(
        meant("random_distribution", "zoned:60/10:30/20:10/"),
        OptionValue::Distribution(RandomDistribution::Zoned(PerDirection::all(vec![
            zone(60, 10),
            zone(30, 20),
            zone(10, 70)
        ])))
    );
    assert_eq!(
        meant("random_distribution", "zoned_abs:95/50g:5/100g"),
        OptionValue::Distribution(RandomDistribution::ZonedBytes(PerDirection::all(vec![
            FileZone { access_percent: 95, size: 50 << 30 },
            FileZone { access_percent: 5, size: 100 << 30 },
        ])))
    );
    assert_eq!(
        meant("random_distribution", "sequence:0,8,16"),
        OptionValue::Distribution(RandomDistribution::Sequence(vec![0, 8, 16]))
    );
    for text in ["zipf:1", "pareto:1", "pareto:0", "zoned:60/10", "zoned", "sequence:", "sequence:-1", "zopf"] {
        assert!(with(Compat::Meant, 1_024, "random_distribution", text).0.is_err(), "{text}");
    }
    assert_eq!(meant("file_service_type", "random:8"), OptionValue::FileService(FileChoice::Random { ops: 8 }));
}

#[test]
fn patterns() {
    let bytes = |bytes: &[u8]| Piece::Bytes(bytes.to_vec());
    assert_eq!(meant("verify_pattern", "\"abcd\""), OptionValue::Pattern(vec![bytes(b"abcd")]));
    assert_eq!(meant("verify_pattern", "0xdeadbeef"), OptionValue::Pattern(vec![bytes(&[0xde, 0xad, 0xbe, 0xef])]));
    assert_eq!(meant("verify_pattern", "\"abcd\"-12"), OptionValue::Pattern(vec![bytes(b"abcd\xf4\xff\xff\xff")]));
    assert_eq!(
        meant("verify_pattern", "0xff%o\"ab\"-1"),
        OptionValue::Pattern(vec![bytes(&[0xff]), Piece::Offset, bytes(b"ab\xff\xff\xff\xff")])
    );
    assert_eq!(
        meant("buffer_pattern", "\"abcd\"-120xdeadface"),
        OptionValue::Pattern(vec![bytes(b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce")])
    );
    assert_eq!(meant("buffer_pattern", "'file'"), OptionValue::Pattern(vec![Piece::File("file".to_owned())]));
    for text in ["\"open", "'open", "0x", "abc", "%p"] {
        assert!(with(Compat::Meant, 1_024, "verify_pattern", text).0.is_err(), "{text}");
    }
}

#[test]
fn lists() {
    assert_eq!(meant("cpus_allowed", "0,5,8-10,9"), OptionValue::Cpus(vec![0, 5, 8, 9, 10]));
    assert!(with(Compat::Meant, 1_024, "cpus_allowed", "3-1").0.is_err());
    assert!(with(Compat::Meant, 1_024, "cpus_allowed", "0-4000000000").0.is_err());
    let names = |names: &[&str]| OptionValue::Names(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(meant("filename", "/a:/b"), names(&["/a", "/b"]));
    assert_eq!(meant("filename", r"/dev/disk/by-path/pci-0\:1"), names(&["/dev/disk/by-path/pci-0:1"]));
    assert_eq!(meant("percentile_list", "50:99:99.9"), OptionValue::Floats(vec![50.0, 99.0, 99.9]));
    assert!(with(Compat::Meant, 1_024, "percentile_list", &"1:".repeat(21)).0.is_err());
    assert_eq!(meant("numa_mem_policy", "bind:0-1"), OptionValue::NumaPolicy(NumaPolicy::Bind(vec![0, 1])));
    assert_eq!(meant("numa_mem_policy", "prefer:1"), OptionValue::NumaPolicy(NumaPolicy::Prefer(1)));
    for text in ["prefer", "bind", "local:0", "prefer:0,1"] {
        assert!(with(Compat::Meant, 1_024, "numa_mem_policy", text).0.is_err(), "{text}");
    }
}

#[test]
fn words_with_something_behind() {
    assert_eq!(meant("mem", "mmap:/f"), OptionValue::Memory(MemoryKind::Mmap(Some("/f".to_owned()))));
    let OptionValue::SyncRange(range) = meant("sync_file_range", "wait_before,write:8") else { panic!() };
    assert!(range.wait_before && range.write && !range.wait_after && range.every == 8);
    let OptionValue::IgnoreError(errors) = meant("ignore_error", "EIO:5,ENOSPC,EILSEQ") else { panic!() };
    assert_eq!(errors.read, [ErrorNumber::Name("EIO".to_owned()), ErrorNumber::Number(5)]);
    assert_eq!(errors.verify, [ErrorNumber::Name("EILSEQ".to_owned())]);
    let steady = |text| meant("steadystate", text);
    let of = |figure, test, limit| OptionValue::Steady(SteadyCriterion { figure, test, limit });
    assert_eq!(steady("iops_slope:0.3%"), of(SteadyFigure::Iops, SteadyTest::Slope, SteadyLimit::Percent(0.3)));
    assert_eq!(
        steady("bw:10m"),
        of(SteadyFigure::Bandwidth, SteadyTest::Deviation, SteadyLimit::BytesPerSecond(10 << 20))
    );
    assert_eq!(steady("lat:50us"), of(SteadyFigure::Latency, SteadyTest::Deviation, SteadyLimit::Time(Nanos(50_000))));
    assert!(with(Compat::Meant, 1_024, "steadystate", "iops").0.is_err());
    assert_eq!(meant("write_bw_log", ""), OptionValue::LogName(LogName::OfJob));
    assert_eq!(meant("write_bw_log", "x"), OptionValue::LogName(LogName::Named("x".to_owned())));
    assert_eq!(meant("replay_skip", "read,trim"), OptionValue::Choices(vec!["read", "trim"]));
}
