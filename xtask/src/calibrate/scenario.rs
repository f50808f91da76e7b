//! The scenarios: what runs, what is counted, and the bar. One table, [`SCENARIOS`].

use plumb_stats::ReplicationUnit;

/// Named work at a size, of one length a phase.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// A named workload.
    pub work: &'static str,
    /// Longest time of a phase, virtual ns.
    pub time_ns: u64,
    /// Bytes of the range.
    pub bytes: u64,
    /// Files of a file set.
    pub files: u64,
}

/// Two devices that are compared, or one with itself.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// The baseline.
    pub a: &'static str,
    /// The candidate.
    pub b: &'static str,
    /// By how much the candidate's ops take longer, as its `slow` says.
    pub gap: f64,
    /// What both are asked to do.
    pub load: Load,
}

/// A run of one device.
#[derive(Debug, Clone, Copy)]
pub struct Single {
    /// The device.
    pub device: &'static str,
    /// What it is asked to do.
    pub load: Load,
}

/// How often a comparison provisions anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plots {
    /// Once a side.
    One,
    /// So often a side.
    Of(u32),
}

/// How the numbers of a drawn study vary from unit to unit, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// Normally.
    Normal,
    /// With heavy tails: Student's t with so many degrees of freedom.
    StudentT(u32),
    /// Each keeps this share of the one before.
    Autocorrelated(f64),
    /// This share of the units lies in bursts that are slower by this share.
    Bursts {
        /// Of the units.
        share: f64,
        /// Longer by.
        slow: f64,
    },
    /// This share of the units is slower by this share.
    SlowMode {
        /// Of the units.
        share: f64,
        /// Longer by.
        slow: f64,
    },
    /// The candidate varies so many times as much.
    Unequal(f64),
    /// Three runs a unit, of which the slow ones are rejected.
    SlowRejected,
}

/// What is true of a drawn study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// Nothing differs.
    Equal,
    /// One number differs by just what the plan promises to find in four of five studies; no other does.
    Promised,
}

/// A study whose numbers are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    /// Verdicts of the family.
    pub contrasts: u32,
    /// Units a side.
    pub units: u32,
    /// What a unit is.
    pub unit: ReplicationUnit,
    /// Of a unit, natural logarithm.
    pub spread: f64,
    /// How they vary.
    pub noise: Noise,
    /// What is true.
    pub truth: Truth,
}

/// One trial: what runs. Trials take the entries of a list in turn.
#[derive(Debug, Clone, Copy)]
pub enum Trial {
    /// `compare`.
    Compare {
        /// In turn.
        pairs: &'static [Pair],
        /// Provisionings.
        plots: Plots,
        /// The factor that is declared to vary.
        varying: Option<&'static str>,
        /// Blocks of every comparison; those of the stop rule when absent.
        blocks: Option<u32>,
    },
    /// `Bench::run`.
    Run {
        /// In turn.
        singles: &'static [Single],
    },
    /// The verdicts of a study, without its runs.
    Draw {
        /// In turn.
        studies: &'static [Drawn],
    },
}

/// What of a trial is counted.
#[derive(Debug, Clone, Copy)]
pub enum Counted {
    /// Any contrast says `faster` or `slower`.
    Claim,
    /// The first headline is called `slower`.
    Slower,
    /// Any contrast says `faster`.
    Faster,
    /// The first headline is called `equivalent`.
    Equivalent,
    /// The 95 % interval of the first headline holds the true ratio, where the candidate is slower by this gap.
    Covers(f64),
    /// One of these checks warns or fails.
    Found(&'static [&'static str]),
    /// The same, for a comparison that ran this many blocks.
    FoundAt {
        /// The checks.
        codes: &'static [&'static str],
        /// Comparisons of fewer blocks do not count.
        blocks: usize,
    },
    /// Any check warns or fails.
    AnythingFound,
}

/// What a rate is held against.
#[derive(Debug, Clone, Copy)]
pub enum Bar {
    /// At most this share.
    AtMost(f64),
    /// At least this share.
    AtLeast(f64),
    /// From the one to the other.
    Between(f64, f64),
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    /// What is counted, in words.
    pub what: &'static str,
    /// What is counted.
    pub counted: Counted,
    /// The bar.
    pub bar: Bar,
}

/// One scenario.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// For `--only`.
    pub name: &'static str,
    /// In words.
    pub about: &'static str,
    /// What runs.
    pub trial: Trial,
    /// Trials at full scale.
    pub trials: u64,
    /// Trials at small scale.
    pub trials_small: u64,
    /// What is counted.
    pub lines: &'static [Line],
}

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

/// 4 KiB random reads at depth 32 for as long as an SSD needs for about 1200: the device is saturated, so that what
/// varies between runs is the run's own speed and hardly anything else, and a p99 has its samples.
const READS: Load = Load { work: "random-read", time_ns: 13_000_000, bytes: 64 * MIB, files: 4 };
/// The same as overwrites.
const WRITES: Load = Load { work: "random-write", ..READS };
/// One stream into the device, flushed.
const STREAM_OUT: Load = Load { work: "stream-write", time_ns: 4 * SECOND_NS, bytes: 256 * MIB, files: 4 };
/// One stream out of it.
const STREAM_IN: Load = Load { work: "stream-read", ..STREAM_OUT };
/// 4 KiB appends, each durable, about 1200 of them.
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

const fn flagged(codes: &'static [&'static str], what: &'static str) -> Line {
    Line { what, counted: Counted::Found(codes), bar: Bar::AtLeast(1.0) }
}

const fn covered(gap: f64, what: &'static str) -> Line {
    Line { what, counted: Counted::Covers(gap), bar: Bar::Between(0.93, 0.97) }
}

const fn drawn(contrasts: u32, units: u32, noise: Noise) -> Drawn {
    Drawn { contrasts, units, unit: ReplicationUnit::Plot, spread: 0.05, noise, truth: Truth::Equal }
}

/// Families of 3 to 66 contrasts over 2 to 5 plots, and over six and twelve blocks.
const fn families(noise: Noise) -> [Drawn; 6] {
    [
        drawn(3, 2, noise),
        drawn(9, 3, noise),
        drawn(66, 3, noise),
        drawn(20, 5, noise),
        Drawn { unit: ReplicationUnit::Block, ..drawn(3, 6, noise) },
        Drawn { unit: ReplicationUnit::Block, ..drawn(9, 12, noise) },
    ]
}

const fn promised(contrasts: u32, units: u32, unit: ReplicationUnit) -> Drawn {
    Drawn { unit, truth: Truth::Promised, ..drawn(contrasts, units, Noise::Normal) }
}

/// The share of studies that find what the plan promised to find in 80 %: within 5 points.
const AS_PROMISED: Line =
    Line { what: "finds it; the plan promised 80 %", counted: Counted::Slower, bar: Bar::Between(0.75, 0.85) };

const fn drawn_null(name: &'static str, about: &'static str, studies: &'static [Drawn]) -> Scenario {
    Scenario {
        name,
        about,
        trial: Trial::Draw { studies },
        trials: 6000,
        trials_small: 1200,
        lines: &[Line { what: "any false claim in the family", counted: Counted::Claim, bar: Bar::AtMost(0.05) }],
    }
}

const fn drawn_promise(name: &'static str, about: &'static str, studies: &'static [Drawn]) -> Scenario {
    Scenario { name, about, trial: Trial::Draw { studies }, trials: 4000, trials_small: 800, lines: &[AS_PROMISED] }
}

/// Every scenario, in the order of the table of docs/calibration.md.
pub static SCENARIOS: &[Scenario] = &[
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
    drawn_null("family-normal", "families of 3–66, 2–5 plots or 6–12 blocks, normal", &families(Noise::Normal)),
    drawn_null("family-t3", "the same, heavy tails (t, 3 degrees of freedom)", &families(Noise::StudentT(3))),
    drawn_null("family-ar", "the same, autocorrelation 0.8", &families(Noise::Autocorrelated(0.8))),
    drawn_null(
        "family-bursts",
        "the same, a fifth in bursts 25 % slower",
        &families(Noise::Bursts { share: 0.2, slow: 0.25 }),
    ),
    drawn_null("family-mode", "the same, a fifth 25 % slower", &families(Noise::SlowMode { share: 0.2, slow: 0.25 })),
    drawn_null("family-unequal", "the same, B five times as noisy", &families(Noise::Unequal(5.0))),
    drawn_null("family-rejected", "the same, three runs a unit, slow ones rejected", &families(Noise::SlowRejected)),
    drawn_promise(
        "power-3-3",
        "family of 3, 3 plots, one number differs as promised",
        &[promised(3, 3, ReplicationUnit::Plot)],
    ),
    drawn_promise("power-9-4", "family of 9, 4 plots, the same", &[promised(9, 4, ReplicationUnit::Plot)]),
    drawn_promise("power-66-3", "family of 66, 3 plots, the same", &[promised(66, 3, ReplicationUnit::Plot)]),
    drawn_promise("power-20-5", "family of 20, 5 plots, the same", &[promised(20, 5, ReplicationUnit::Plot)]),
    drawn_promise("power-3-8", "family of 3, 8 blocks, the same", &[promised(3, 8, ReplicationUnit::Block)]),
];

/// Random reads for 40 s: what a disk with moving parts does in that time is quickly simulated.
const LONG: Load = Load { work: "random-read", time_ns: 40 * SECOND_NS, bytes: 1024 * MIB, files: 4 };
/// A stream that lasts for 40 s even on NVMe.
const LONG_STREAM: Load = Load { work: "stream-read", time_ns: 40 * SECOND_NS, bytes: 200 * 1024 * MIB, files: 4 };
