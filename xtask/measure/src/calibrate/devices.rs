//! Scenarios of the whole pipeline, on simulated devices.

use super::scenario::{Bar, Counted, Line, Load, Pair, Plots, Scenario, Single, Trial};

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// 4 KiB random reads at depth 32, as long as an SSD needs for about 1200. The device is saturated, so that runs differ
/// almost only by their own speed, and a p99 has enough samples.
const READS: Load = Load { work: "random-read", time_ns: 13_000_000, bytes: 64 * MIB, files: 4 };
const WRITES: Load = Load { work: "random-write", ..READS };
/// One sequential write stream, flushed.
const STREAM_OUT: Load = Load { work: "stream-write", time_ns: 4 * SECOND_NS, bytes: 256 * MIB, files: 4 };
/// One sequential read stream.
const STREAM_IN: Load = Load { work: "stream-read", ..STREAM_OUT };
/// About 1200 durable appends of 4 KiB.
const LOG: Load = Load { work: "fsync-log", time_ns: SECOND_NS, bytes: 5 * MIB, files: 4 };
/// Files of a directory tree.
const FILES: Load = Load { work: "small-files", time_ns: SECOND_NS, bytes: MIB, files: 400 };

const fn pair(a: &'static str, b: &'static str, gap: f64, load: Load) -> Pair {
    Pair { a, b, gap, load }
}

const fn itself(device: &'static str, load: Load) -> Pair {
    Pair { a: device, b: device, gap: 0.0, load }
}

const fn compared(pairs: &'static [Pair]) -> Trial {
    Trial::Compare { pairs, plots: Plots::One, varying: None, blocks: None }
}

const NO_CLAIM: Line = Line { what: "faster or slower", counted: Counted::Claim, bar: Bar::AtMost(0.05) };

/// Claims about the mean of all runs, including unseen ones. Other claims say which slow mode would undo them.
const NO_CLAIM_OF_ALL_RUNS: Line = Line {
    what: "… without a word of the mode that would undo it",
    counted: Counted::ClaimOfAllRuns,
    bar: Bar::AtMost(0.05),
};

/// Equal means, but typical runs of the candidate are faster.
const WRONG_OF_TYPICAL_RUNS: Line =
    Line { what: "slower: wrong of typical runs, too", counted: Counted::Slower, bar: Bar::AtMost(0.05) };

const fn flagged(codes: &'static [&'static str], what: &'static str) -> Line {
    Line { what, counted: Counted::Found(codes), bar: Bar::AtLeast(1.0) }
}

/// The debt left by B is found.
const CARRIED_OVER: Line = Line { what: "E15 says so", counted: Counted::Found(&["E15"]), bar: Bar::AtLeast(0.75) };

const fn covered(gap: f64, what: &'static str) -> Line {
    Line { what, counted: Counted::Covers(gap), bar: Bar::Between(0.93, 0.97) }
}

/// In the order of the table of docs/calibration.md.
pub(super) static DEVICES: &[Scenario] = &[
    Scenario {
        name: "aa-clean",
        about: "A/A, clean, CV 1–10 %",
        trial: compared(&[
            itself("sim:ssd?cv=1%", READS),
            itself("sim:nvme?cv=2%", WRITES),
            itself("sim:hdd?cv=3%", STREAM_OUT),
            itself("sim:ssd?cv=4%", LOG),
            itself("sim:ssd?cv=5%", READS),
            itself("sim:hdd?cv=6%", STREAM_IN),
            itself("sim:ssd?cv=8%", FILES),
            itself("sim:ssd?cv=10%", READS),
        ]),
        trials: 2000,
        trials_small: 160,
        lines: &[NO_CLAIM],
    },
    Scenario {
        name: "aa-drift",
        about: "A/A, each run 0.5 % slower than the one before",
        trial: compared(&[
            itself("sim:ssd?cv=1%&drift=0.5%", READS),
            itself("sim:ssd?cv=2%&drift=0.5%", READS),
            itself("sim:ssd?cv=5%&drift=0.5%", READS),
        ]),
        trials: 1500,
        trials_small: 120,
        lines: &[NO_CLAIM],
    },
    Scenario {
        name: "aa-bimodal",
        about: "A/A, 20 % of the runs in a mode 25 % slower",
        trial: compared(&[itself("sim:ssd?cv=1%&bimodal=20%", READS), itself("sim:ssd?cv=2%&bimodal=20%", READS)]),
        trials: 1000,
        trials_small: 80,
        lines: &[
            Line { bar: Bar::AtMost(0.06), ..NO_CLAIM },
            Line {
                what: "E4 says so, at 12 blocks or more",
                counted: Counted::FoundAt { codes: &["E4"], blocks: 12 },
                bar: Bar::AtLeast(0.80),
            },
        ],
    },
    Scenario {
        name: "carry-10",
        about: "equal: B's runs leave a debt of 10 %, halved by each run, CV 1–3 %",
        trial: compared(&[
            pair("sim:ssd?cv=1%", "sim:ssd?cv=1%&carry=10%", 0.0, READS),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=10%", 0.0, READS),
            pair("sim:nvme?cv=2%", "sim:nvme?cv=2%&carry=10%", 0.0, WRITES),
            pair("sim:ssd?cv=3%", "sim:ssd?cv=3%&carry=10%", 0.0, READS),
        ]),
        trials: 1000,
        trials_small: 80,
        lines: &[NO_CLAIM, Line { bar: Bar::AtLeast(0.95), ..CARRIED_OVER }],
    },
    Scenario {
        name: "carry-5",
        about: "equal: B's runs leave a debt of 5 %, halved by each run, CV 2 %",
        trial: compared(&[
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=5%", 0.0, READS),
            pair("sim:nvme?cv=2%", "sim:nvme?cv=2%&carry=5%", 0.0, WRITES),
        ]),
        trials: 1000,
        trials_small: 80,
        lines: &[NO_CLAIM, CARRIED_OVER],
    },
    Scenario {
        name: "carry-5-12-blocks",
        about: "the same, 12 blocks",
        trial: Trial::Compare {
            pairs: &[
                pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=5%", 0.0, READS),
                pair("sim:nvme?cv=2%", "sim:nvme?cv=2%&carry=5%", 0.0, WRITES),
            ],
            plots: Plots::One,
            varying: None,
            blocks: Some(12),
        },
        trials: 1000,
        trials_small: 80,
        lines: &[NO_CLAIM, Line { bar: Bar::AtLeast(0.85), ..CARRIED_OVER }],
    },
    Scenario {
        name: "carry-3",
        about: "equal: B's runs leave a debt of 2 or 3 %, halved by each run, CV 2 %",
        trial: compared(&[
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=3%", 0.0, READS),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&carry=2%", 0.0, READS),
        ]),
        trials: 1000,
        trials_small: 80,
        lines: &[NO_CLAIM],
    },
    Scenario {
        name: "carry-none",
        about: "nothing is left behind: equal, or B 5 % slower, CV 2 %",
        trial: compared(&[
            itself("sim:ssd?cv=2%", READS),
            itself("sim:nvme?cv=2%", WRITES),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&slow=5%", 0.05, READS),
            itself("sim:ssd?cv=2%&drift=0.5%", READS),
        ]),
        trials: 2000,
        trials_small: 160,
        lines: &[Line { what: "E15 says so", counted: Counted::Found(&["E15"]), bar: Bar::AtMost(0.02) }],
    },
    Scenario {
        name: "mode-one-side",
        about: "equal means: B has 10 % of its runs 40 % slower, CV 1–3 %",
        trial: compared(&[
            pair("sim:ssd?cv=1%&slow=5.24%", "sim:ssd?cv=1%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
            pair("sim:ssd?cv=2%&slow=5.24%", "sim:ssd?cv=2%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
            pair("sim:ssd?cv=3%&slow=5.24%", "sim:ssd?cv=3%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
        ]),
        trials: 1500,
        trials_small: 60,
        // 0.9⁸: the stop rule ends with at least eight blocks.
        lines: &[
            Line { what: "faster or slower: no more than miss the mode", bar: Bar::AtMost(0.43), ..NO_CLAIM },
            NO_CLAIM_OF_ALL_RUNS,
            WRONG_OF_TYPICAL_RUNS,
        ],
    },
    Scenario {
        name: "mode-one-side-30",
        about: "the same or 20 % at −25 %, 30 blocks (`--blocks 30`)",
        trial: Trial::Compare {
            pairs: &[
                pair("sim:ssd?cv=1%&slow=5.24%", "sim:ssd?cv=1%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
                pair("sim:ssd?cv=3%&slow=5.24%", "sim:ssd?cv=3%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
                pair("sim:ssd?cv=2%&slow=4.57%", "sim:ssd?cv=2%&bimodal=20%&bimodal-slow=25%", 0.0, READS),
            ],
            plots: Plots::One,
            varying: None,
            blocks: Some(30),
        },
        trials: 1500,
        trials_small: 45,
        // 0.9³⁰, and the 5 % of any comparison.
        lines: &[
            Line { what: "faster or slower: no more than miss the mode, and 5 %", bar: Bar::AtMost(0.092), ..NO_CLAIM },
            NO_CLAIM_OF_ALL_RUNS,
        ],
    },
    Scenario {
        name: "stalls-one-side",
        about: "equal means: B has 3 % of its runs at a tenth of the speed, CV 1–3 %",
        trial: compared(&[
            pair("sim:ssd?cv=1%&slow=7.15%", "sim:ssd?cv=1%&bimodal=3%&bimodal-slow=900%", 0.0, READS),
            pair("sim:ssd?cv=2%&slow=7.15%", "sim:ssd?cv=2%&bimodal=3%&bimodal-slow=900%", 0.0, READS),
            pair("sim:ssd?cv=3%&slow=7.15%", "sim:ssd?cv=3%&bimodal=3%&bimodal-slow=900%", 0.0, READS),
        ]),
        trials: 1500,
        trials_small: 60,
        // 0.97⁸.
        lines: &[
            Line { what: "faster or slower: no more than miss the mode", bar: Bar::AtMost(0.784), ..NO_CLAIM },
            NO_CLAIM_OF_ALL_RUNS,
            WRONG_OF_TYPICAL_RUNS,
        ],
    },
    Scenario {
        name: "mode-typical",
        about: "equal but for a slow mode of B: 10 % at −40 %, or 3 % at −90 %",
        trial: compared(&[
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&bimodal=10%&bimodal-slow=66.7%", 0.0, READS),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&bimodal=3%&bimodal-slow=900%", 0.0, READS),
        ]),
        trials: 1000,
        trials_small: 40,
        lines: &[Line {
            what: "faster: wrong of the mean and of typical runs",
            counted: Counted::Faster,
            bar: Bar::AtMost(0.05),
        }],
    },
    Scenario {
        name: "aa-plots",
        about: "A/A, provisionings differ by 6 %, replicated",
        trial: Trial::Compare {
            pairs: &[itself("sim:ssd?cv=2%&plot=6%", READS)],
            plots: Plots::Of(4),
            varying: None,
            blocks: None,
        },
        trials: 1000,
        trials_small: 80,
        lines: &[Line { bar: Bar::AtMost(0.06), ..NO_CLAIM }],
    },
    Scenario {
        name: "aa-one-plot",
        about: "A/A, provisionings differ by 6 %, one each, declared",
        trial: Trial::Compare {
            pairs: &[itself("sim:ssd?cv=2%&plot=6%", READS)],
            plots: Plots::One,
            varying: Some("sim"),
            blocks: None,
        },
        trials: 1000,
        trials_small: 80,
        lines: &[Line { bar: Bar::AtMost(0.0), ..NO_CLAIM }],
    },
    Scenario {
        name: "gap-5",
        about: "B 5 % slower, CV 3 %",
        trial: compared(&[pair("sim:ssd?cv=3%", "sim:ssd?cv=3%&slow=5%", 0.05, READS)]),
        trials: 2000,
        trials_small: 80,
        lines: &[
            Line { what: "slower", counted: Counted::Slower, bar: Bar::AtLeast(0.90) },
            Line { what: "faster: the wrong winner", counted: Counted::Faster, bar: Bar::AtMost(0.001) },
        ],
    },
    Scenario {
        name: "gap-10",
        about: "B 10 % slower, CV 5 %",
        trial: compared(&[pair("sim:ssd?cv=5%", "sim:ssd?cv=5%&slow=10%", 0.10, READS)]),
        trials: 1000,
        trials_small: 80,
        lines: &[Line { what: "slower", counted: Counted::Slower, bar: Bar::AtLeast(0.95) }],
    },
    Scenario {
        name: "equal",
        about: "equal, CV 2 %",
        trial: compared(&[itself("sim:ssd?cv=2%", READS), itself("sim:ssd?cv=2%", STREAM_OUT)]),
        trials: 1000,
        trials_small: 80,
        lines: &[Line { what: "equivalent", counted: Counted::Equivalent, bar: Bar::AtLeast(0.90) }],
    },
    Scenario {
        name: "coverage",
        about: "B 0, 5 or 15 % slower, CV 2–7 %, stopped by precision",
        trial: compared(&[
            itself("sim:ssd?cv=2%", READS),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&slow=5%", 0.05, READS),
            pair("sim:ssd?cv=2%", "sim:ssd?cv=2%&slow=15%", 0.15, READS),
            itself("sim:ssd?cv=3%", READS),
            pair("sim:ssd?cv=3%", "sim:ssd?cv=3%&slow=5%", 0.05, READS),
            pair("sim:ssd?cv=3%", "sim:ssd?cv=3%&slow=15%", 0.15, READS),
            itself("sim:ssd?cv=5%", READS),
            pair("sim:ssd?cv=5%", "sim:ssd?cv=5%&slow=5%", 0.05, READS),
            pair("sim:ssd?cv=5%", "sim:ssd?cv=5%&slow=15%", 0.15, READS),
            itself("sim:ssd?cv=7%", READS),
            pair("sim:ssd?cv=7%", "sim:ssd?cv=7%&slow=5%", 0.05, READS),
            pair("sim:ssd?cv=7%", "sim:ssd?cv=7%&slow=15%", 0.15, READS),
        ]),
        trials: 9000,
        trials_small: 240,
        lines: &[
            covered(0.0, "the interval holds 1"),
            covered(0.05, "it holds 1/1.05"),
            covered(0.15, "it holds 1/1.15"),
        ],
    },
    Scenario {
        name: "trap-cached",
        about: "reads that memory answers",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?cached=20%", load: STREAM_IN },
                Single { device: "sim:hdd?cached=60%", load: STREAM_IN },
                Single { device: "sim:nvme?cached=100%", load: STREAM_IN },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["A1"], "A1 says so")],
    },
    Scenario {
        name: "trap-holes",
        about: "reads of what was never written",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?holes=10%", load: READS },
                Single { device: "sim:ssd?holes=50%", load: STREAM_IN },
                Single { device: "sim:hdd?holes=100%", load: STREAM_IN },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["A4"], "A4 says so")],
    },
    Scenario {
        name: "trap-unflushed",
        about: "writes that no flush reaches",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?write-cache=1GiB&lying-flush", load: STREAM_OUT },
                Single { device: "sim:hdd?write-cache=1GiB&lying-flush", load: STREAM_OUT },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["A3"], "A3 says so")],
    },
    Scenario {
        name: "trap-lying-flush",
        about: "flushes that do not reach the medium",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?lying-flush", load: LOG },
                Single { device: "sim:hdd?lying-flush", load: STREAM_OUT },
                Single { device: "sim:nvme?lying-flush", load: LOG },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["A5"], "A5 says so")],
    },
    Scenario {
        name: "trap-neighbour",
        about: "somebody else uses the device",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?background=5%", load: STREAM_IN },
                Single { device: "sim:hdd?background=20%", load: STREAM_OUT },
                Single { device: "sim:nvme?background=10%", load: STREAM_OUT },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["C1"], "C1 says so")],
    },
    Scenario {
        name: "trap-resync",
        about: "the array beneath is rebuilt meanwhile",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:hdd?resync=30%", load: STREAM_IN },
                Single { device: "sim:ssd?resync=10%", load: STREAM_OUT },
                Single { device: "sim:hdd?resync=30%", load: LOG },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["C2"], "C2 says so")],
    },
    Scenario {
        name: "trap-throttling",
        about: "the device becomes slower part-way",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:hdd?throttle=12s&throttle-slow=50%", load: LONG },
                Single { device: "sim:hdd?throttle=20s&throttle-slow=30%", load: LONG },
                Single { device: "sim:ssd?throttle=10s&throttle-rate=20MiB", load: LONG_STREAM },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["E3", "C13"], "E3 or C13 says so")],
    },
    Scenario {
        name: "trap-depth",
        about: "depth 32 asked, one op in flight",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?serial", load: READS },
                Single { device: "sim:nvme?serial", load: WRITES },
                Single { device: "sim:hdd?serial", load: LONG },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["B1"], "B1 says so")],
    },
    Scenario {
        name: "trap-empty",
        about: "reads return 0 bytes",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:ssd?empty", load: STREAM_IN },
                Single { device: "sim:hdd?empty", load: STREAM_IN },
            ],
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["A8"], "A8 says so")],
    },
    Scenario {
        name: "trap-undeclared",
        about: "the devices differ, and the host was declared to",
        trial: Trial::Compare {
            pairs: &[pair("sim:ssd", "sim:ssd?slow=10%", 0.10, READS), pair("sim:hdd", "sim:ssd", 0.0, STREAM_IN)],
            plots: Plots::One,
            varying: Some("host"),
            blocks: Some(6),
        },
        trials: 300,
        trials_small: 30,
        lines: &[flagged(&["D5"], "D5 says so")],
    },
    Scenario {
        name: "clean",
        about: "clean runs, every kind of work",
        trial: Trial::Run {
            singles: &[
                Single { device: "sim:hdd", load: LONG },
                Single { device: "sim:hdd", load: Load { work: "random-write", ..LONG } },
                Single { device: "sim:hdd", load: LONG_STREAM },
                Single { device: "sim:ssd", load: LONG_STREAM },
                Single { device: "sim:hdd", load: Load { work: "stream-write", ..LONG_STREAM } },
                Single { device: "sim:ssd", load: Load { work: "stream-write", ..LONG_STREAM } },
                Single { device: "sim:nvme", load: Load { work: "stream-write", ..LONG_STREAM } },
                Single { device: "sim:hdd", load: Load { work: "fsync-log", ..LONG } },
                Single { device: "sim:hdd", load: Load { work: "mail", files: 4000, ..LONG } },
                Single { device: "sim:hdd", load: Load { work: "database", ..LONG } },
            ],
        },
        trials: 1000,
        trials_small: 60,
        lines: &[Line { what: "any finding above note", counted: Counted::AnythingFound, bar: Bar::AtMost(0.01) }],
    },
];

/// Random reads for 40 s: a disk with moving parts does few, so that is simulated quickly.
const LONG: Load = Load { work: "random-read", time_ns: 40 * SECOND_NS, bytes: 1024 * MIB, files: 4 };
/// A stream that lasts for 40 s even on NVMe.
const LONG_STREAM: Load = Load { work: "stream-read", time_ns: 40 * SECOND_NS, bytes: 200 * 1024 * MIB, files: 4 };
