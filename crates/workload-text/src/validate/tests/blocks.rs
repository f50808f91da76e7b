//! Tests of the rules for block I/O.

use super::*;

#[test]
fn block_sizes_ranges_and_mixes() {
    each_fires(&[
        (
            |w| blocks(w).block = BlockSize::Fixed(Bytes(0)),
            "phase[0].workers[0].work.blocks.block.fixed",
            "0 bytes",
            "4KiB",
        ),
        (
            |w| blocks(w).block = BlockSize::Fixed(Bytes(1 << 31)),
            "phase[0].workers[0].work.blocks.block.fixed",
            "more than one request",
            "smaller",
        ),
        (
            |w| blocks(w).write_block = Some(BlockSize::Range { min: Bytes(8), max: Bytes(4), step: None }),
            "phase[0].workers[0].work.blocks.write-block.range.min",
            "above `max`",
            "swap",
        ),
        (
            |w| blocks(w).trim_block = Some(BlockSize::Range { min: Bytes(1), max: Bytes(4), step: Some(Bytes(0)) }),
            "phase[0].workers[0].work.blocks.trim-block.range.step",
            "is 0",
            "leave it out",
        ),
        (
            |w| blocks(w).block = BlockSize::Range { min: Bytes(5), max: Bytes(7), step: Some(Bytes(4)) },
            "phase[0].workers[0].work.blocks.block.range.step",
            "multiple of",
            "divides",
        ),
        (
            |w| blocks(w).block = BlockSize::Weighted(vec![]),
            "phase[0].workers[0].work.blocks.block.weighted",
            "is empty",
            "at least one",
        ),
        (
            |w| blocks(w).block = BlockSize::Weighted(vec![WeightedSize { size: Bytes(0), weight: f64::NAN }]),
            "phase[0].workers[0].work.blocks.block.weighted[0].weight",
            "NaN",
            "leave out",
        ),
        (
            |w| blocks(w).block = BlockSize::Weighted(vec![WeightedSize { size: Bytes(0), weight: 1.0 }]),
            "phase[0].workers[0].work.blocks.block.weighted[0].size",
            "0 bytes",
            "4KiB",
        ),
        (
            |w| blocks(w).mix = Mix { read: 0, write: 0, trim: 0 },
            "phase[0].workers[0].work.blocks.mix",
            "neither",
            "mix.read",
        ),
        (
            |w| {
                blocks(w).mix.trim = 1;
                group(w).backend = Backend::Mmap;
            },
            "phase[0].workers[0].work.blocks.mix.trim",
            "`mmap` cannot trim",
            "psync",
        ),
        (|w| blocks(w).align = Some(Bytes(0)), "phase[0].workers[0].work.blocks.align", "is 0", "leave it out"),
        (
            |w| {
                blocks(w).span = Some(Bytes(8192));
                blocks(w).align = Some(Bytes(16384));
            },
            "phase[0].workers[0].work.blocks.align",
            "larger than the span",
            "smaller",
        ),
        (|w| blocks(w).span = Some(Bytes(512)), "phase[0].workers[0].work.blocks.span", "one block of 4KiB", "larger"),
        (
            |w| blocks(w).span = Some(Bytes(2 << 30)),
            "phase[0].workers[0].work.blocks.span",
            "ends at 2GiB, beyond the target's end at 1GiB",
            "larger",
        ),
        (
            |w| blocks(w).offset = Bytes(1 << 30),
            "phase[0].workers[0].work.blocks.offset",
            "no room for one block",
            "larger",
        ),
        (
            |w| blocks(w).offset = Bytes(u64::MAX),
            "phase[0].workers[0].work.blocks.offset",
            "beyond the maximum",
            "largest offset",
        ),
        (
            |w| blocks(w).span = Some(Bytes(u64::MAX)),
            "phase[0].workers[0].work.blocks.span",
            "beyond the maximum",
            "largest offset",
        ),
        (
            |w| {
                group(w).count = 5;
                blocks(w).offset_increment = Bytes(1 << 28);
            },
            "phase[0].workers[0].work.blocks.offset-increment",
            "last worker's range",
            "larger",
        ),
        (
            |w| {
                group(w).count = 5;
                blocks(w).offset_increment = Bytes(u64::MAX);
            },
            "phase[0].workers[0].work.blocks.offset-increment",
            "beyond the maximum",
            "largest offset",
        ),
        (
            |w| file(w).size = Some(Size::Bytes(Bytes(100))),
            "phase[0].workers[0].work.blocks.block",
            "does not fit",
            "larger",
        ),
        (
            |w| {
                file(w).path = "/srv/big".into();
                file(w).size = None;
                blocks(w).mix = Mix::WRITE;
            },
            "phase[0].workers[0].work.blocks",
            "need a limit",
            "`span`",
        ),
    ]);
    none_fires(&[
        |w| blocks(w).block = BlockSize::Range { min: Bytes(512), max: Bytes(8192), step: Some(Bytes(512)) },
        |w| {
            group(w).count = 4;
            blocks(w).offset_increment = Bytes(1 << 28);
            blocks(w).span = Some(Bytes(1 << 28));
        },
    ]);
}

#[test]
fn patterns() {
    each_fires(&[
        (
            |w| blocks(w).pattern = Pattern::Stride { stride: Bytes(0) },
            "phase[0].workers[0].work.blocks.pattern.stride.stride",
            "is 0",
            "sequential",
        ),
        (
            |w| blocks(w).pattern = Pattern::Zipf { theta: 0.0 },
            "phase[0].workers[0].work.blocks.pattern.zipf.theta",
            "above 0",
            "1.1",
        ),
        (
            |w| blocks(w).pattern = Pattern::Pareto { h: 0.5 },
            "phase[0].workers[0].work.blocks.pattern.pareto.h",
            "between 0.5 and 1",
            "0.8",
        ),
        (
            |w| blocks(w).pattern = Pattern::Pareto { h: f64::NAN },
            "phase[0].workers[0].work.blocks.pattern.pareto.h",
            "NaN",
            "0.8",
        ),
        (
            |w| blocks(w).pattern = Pattern::Normal { center: 1.5, deviation: 0.1 },
            "phase[0].workers[0].work.blocks.pattern.normal.center",
            "outside",
            "0 to 1",
        ),
        (
            |w| blocks(w).pattern = Pattern::Normal { center: 0.5, deviation: 0.0 },
            "phase[0].workers[0].work.blocks.pattern.normal.deviation",
            "above 0",
            "0.1",
        ),
        (
            |w| blocks(w).pattern = Pattern::Zoned(vec![]),
            "phase[0].workers[0].work.blocks.pattern.zoned",
            "zones is empty",
            "access-percent",
        ),
        (
            |w| blocks(w).pattern = zones(&[(50.0, 10.0), (40.0, 90.0)]),
            "phase[0].workers[0].work.blocks.pattern.zoned",
            "`access-percent` of all zones adds up to 90 %",
            "100 %",
        ),
        (
            |w| blocks(w).pattern = zones(&[(50.0, 10.0), (50.0, 80.0)]),
            "phase[0].workers[0].work.blocks.pattern.zoned",
            "`span-percent` of all zones adds up to 90 %",
            "100 %",
        ),
        (
            |w| blocks(w).pattern = zones(&[(100.0, 0.0), (0.0, 100.0)]),
            "phase[0].workers[0].work.blocks.pattern.zoned[0].span-percent",
            "not a valid share",
            "more than 0",
        ),
        (
            |w| blocks(w).pattern = zones(&[(f64::NAN, 100.0)]),
            "phase[0].workers[0].work.blocks.pattern.zoned[0].access-percent",
            "NaN",
            "0 to 100",
        ),
        (
            |w| blocks(w).pattern = Pattern::List(vec![]),
            "phase[0].workers[0].work.blocks.pattern.list",
            "no offset",
            "at least one",
        ),
        (
            |w| blocks(w).pattern = Pattern::List(vec![Bytes(0), Bytes(1 << 30)]),
            "phase[0].workers[0].work.blocks.pattern.list[1]",
            "ends beyond the target",
            "1GiB",
        ),
    ]);
    none_fires(&[
        |w| blocks(w).pattern = Pattern::Zipf { theta: 1.0 },
        |w| blocks(w).pattern = Pattern::Pareto { h: 0.8 },
        |w| blocks(w).pattern = zones(&[(33.3, 33.3), (33.3, 33.3), (33.3, 33.3)]),
        |w| blocks(w).pattern = Pattern::List(vec![Bytes(8192), Bytes(0)]),
    ]);
}

fn zones(shares: &[(f64, f64)]) -> Pattern {
    let zone = |(access_percent, span_percent): &(f64, f64)| Zone {
        access_percent: *access_percent,
        span_percent: *span_percent,
    };
    Pattern::Zoned(shares.iter().map(zone).collect())
}

#[test]
fn direct_needs_whole_sectors() {
    each_fires(&[
        (
            |w| {
                direct(w);
                blocks(w).block = BlockSize::Fixed(Bytes(1000));
            },
            "phase[0].workers[0].work.blocks.block.fixed",
            "does not support 1000",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).block = BlockSize::Range { min: Bytes(512), max: Bytes(1024), step: Some(Bytes(100)) };
            },
            "phase[0].workers[0].work.blocks.block.range.step",
            "does not support 100",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).write_block = Some(BlockSize::Weighted(vec![WeightedSize { size: Bytes(7), weight: 1.0 }]));
            },
            "phase[0].workers[0].work.blocks.write-block.weighted[0].size",
            "does not support 7",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).offset = Bytes(1);
            },
            "phase[0].workers[0].work.blocks.offset",
            "does not support 1",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).offset_increment = Bytes(1);
            },
            "phase[0].workers[0].work.blocks.offset-increment",
            "does not support 1",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).align = Some(Bytes(100));
            },
            "phase[0].workers[0].work.blocks.align",
            "does not support 100",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).pattern = Pattern::Stride { stride: Bytes(100) };
            },
            "phase[0].workers[0].work.blocks.pattern.stride.stride",
            "does not support 100",
            "512",
        ),
        (
            |w| {
                direct(w);
                blocks(w).pattern = Pattern::List(vec![Bytes(0), Bytes(1)]);
            },
            "phase[0].workers[0].work.blocks.pattern.list[1]",
            "does not support 1",
            "512",
        ),
        (
            |w| {
                w.phase[1].cache = CachePolicy::Direct;
                steps(w, with_handle(Step::Append { handle: 0, size: Distribution::Fixed(Bytes(100)) }));
            },
            "phase[1].workers[0].work.program.steps[1].append.size",
            "needs whole blocks",
            "512",
        ),
        (
            |w| {
                w.phase[1].cache = CachePolicy::Direct;
                tree(w).size = Distribution::Gamma { mean: Bytes(16384), shape: 1.5 };
                steps(w, with_handle(Step::ReadWhole { handle: 0, request: Bytes(4096) }));
            },
            "phase[1].workers[0].work.program.steps[1].read-whole.request",
            "needs whole blocks",
            "512",
        ),
    ]);
    none_fires(&[direct, |w| {
        w.phase[1].cache = CachePolicy::Direct;
        steps(w, with_handle(Step::ReadWhole { handle: 0, request: Bytes(4096) }));
    }]);
}
