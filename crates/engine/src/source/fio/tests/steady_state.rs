//! Tests of the way to an SSD's steady state.

use super::*;
use plumb_workload::OpKind;
use plumb_workload::blocks::fio::SteadyState;

fn steady(over_provisioning: f64, regions: u32, cache: u64, bytes: u64) -> Stream {
    let steady = SteadyState { over_provisioning, regions, cache: Bytes(cache) };
    Stream {
        distribution: OffsetDistribution::SteadyState(steady),
        coverage: Coverage::Again,
        seeding: Seeding::All,
        ranges: vec![FileRange { start: Bytes(0), length: Bytes(bytes) }],
        io_bytes: Some(Bytes(steady.physical_bytes(bytes, 4 * KIB))),
        ..stream(Does::Write, random())
    }
}

/// Returns the number of ops, and an FNV-1a sum over kinds and offsets.
fn fingerprint(stream: Stream, bytes: u64, handing: Handing) -> (usize, u64) {
    let ops = ops(&plan(&job(stream), &[bytes], handing).expect("a plan"), usize::MAX);
    let sum = ops.iter().fold(0xcbf2_9ce4_8422_2325_u64, |sum, op| {
        let kind = if op.kind == OpKind::Read { b'r' } else { b'w' };
        std::iter::once(kind)
            .chain(op.offset.to_le_bytes())
            .fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    });
    (ops.len(), sum)
}

// Protects: blocks and their rewrites match the log of fio 3.42 (`--write_iolog`), in its order. The expected values
// are fixed, because the installed fio may be older and lack sprandom.
#[test]
fn the_way_to_the_steady_state_matches_fio() {
    let tried = [
        (steady(0.25, 10, 0, MIB), MIB, Handing::Inline, (318, 0x6913_b820_ba0c_bfe0)),
        (steady(0.25, 10, 64 * KIB, MIB), MIB, Handing::Queued, (318, 0xb647_e6c9_93f1_8952)),
        (steady(0.15, 7, 0, 8 * MIB), 8 * MIB, Handing::Inline, (2355, 0x5ed0_23f6_c4f2_b656)),
        (steady(0.01, 20, 0, 8 * MIB), 8 * MIB, Handing::Queued, (2062, 0x1d05_5621_4f1c_952d)),
        (steady(0.99, 20, 16 * KIB, 8 * MIB), 8 * MIB, Handing::Inline, (4075, 0xafbc_e300_7d98_ace6)),
        (steady(0.15, 300, 0, 8 * MIB), 8 * MIB, Handing::Queued, (2107, 0xe4bb_d83c_af3f_f004)),
    ];
    for (stream, bytes, handing, expected) in tried {
        let distribution = stream.distribution.clone();
        assert_eq!(fingerprint(stream, bytes, handing), expected, "{distribution:?} over {bytes} bytes");
    }
}

// Protects: each block is written, and about as many are rewritten as the SSD over-provisions.
// The first regions rewrite the most.
#[test]
fn all_blocks_are_written_and_the_over_provisioned_share_again() {
    let bytes = 64 * MIB;
    let ops = ops(&plan(&job(steady(0.25, 10, 0, bytes)), &[bytes], Handing::Inline).expect("a plan"), usize::MAX);
    let blocks = (bytes / (4 * KIB)) as usize;
    let mut writes = vec![0_u32; blocks];
    ops.iter().for_each(|op| writes[(op.offset / (4 * KIB)) as usize] += 1);
    let written = writes.iter().filter(|&&count| count > 0).count();
    assert!(written * 1000 > blocks * 995, "{written} of {blocks}");
    let hidden = ops.len() - written;
    assert!((blocks * 24 / 100..=blocks * 26 / 100).contains(&hidden), "{hidden} again, of {blocks}");
    let last_of = |region: usize| {
        let region = &ops[region * ops.len() / 10..(region + 1) * ops.len() / 10];
        region.iter().filter(|op| writes[(op.offset / (4 * KIB)) as usize] > 1).count()
    };
    assert!(last_of(0) > 2 * last_of(8).max(1), "{} and {}", last_of(0), last_of(8));
}

// Protects: impossible settings are refused with a way out, before anything starts.
#[test]
fn a_steady_state_that_cannot_be_reached_is_refused() {
    let refused = |stream: Stream, files: &[u64]| match plan(&job(stream), files, Handing::Inline) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("expected an error, but got a plan"),
    };
    for (stream, expected) in [
        (steady(0.0, 10, 0, MIB), "the over-provisioning 0 is not between 0 and 1"),
        (steady(1.5, 10, 0, MIB), "the over-provisioning 1.5 is not between 0 and 1"),
        (steady(0.1, 0, 0, MIB), "0 regions are not possible; use 1 to"),
        (steady(0.1, 100, 64 * KIB, MIB), "use at most 17 regions"),
    ] {
        let message = refused(stream, &[MIB]);
        assert!(message.contains(expected), "{message}");
    }
    let two = Stream { ranges: steady(0.1, 10, 0, MIB).ranges, ..steady(0.1, 10, 0, MIB) };
    assert!(refused(two, &[MIB, MIB]).contains("use one file or device"));
}
