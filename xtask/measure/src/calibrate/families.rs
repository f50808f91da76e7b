//! Scenarios of studies with drawn numbers.

use super::draw::{Design, Drawn, DrawnCounts, DrawnEffects, Effect, Noise, Truth, Varying};
use super::scenario::{Bar, Counted, Line, Scenario, Trial};

const fn drawn(contrasts: u32, units: u32, noise: Noise) -> Drawn {
    Drawn { contrasts, units, design: Design::Plots, spread: 0.05, noise, truth: Truth::Equal }
}

/// Families of 3 to 66 contrasts over 2 to 5 plots, and over six and twelve blocks.
const fn families(noise: Noise) -> [Drawn; 6] {
    [
        drawn(3, 2, noise),
        drawn(9, 3, noise),
        drawn(66, 3, noise),
        drawn(20, 5, noise),
        Drawn { design: Design::Blocks, ..drawn(3, 6, noise) },
        Drawn { design: Design::Blocks, ..drawn(9, 12, noise) },
    ]
}

const fn promised(contrasts: u32, units: u32, design: Design) -> Drawn {
    Drawn { design, truth: Truth::Promised, ..drawn(contrasts, units, Noise::Normal) }
}

const fn promised_by_pilot(contrasts: u32, units: u32, design: Design, freedom: u32) -> Drawn {
    Drawn { truth: Truth::PromisedByPilot(freedom), ..promised(contrasts, units, design) }
}

/// Returns an easy factor whose effect varies between plots by this multiple of a run's spread, over 2 to 5 plots.
const fn easy(interaction: f64) -> [Drawn; 5] {
    const fn draw_pairs(contrasts: u32, units: u32, pairs: u32, interaction: f64) -> Drawn {
        Drawn { design: Design::PairsOnPlots { pairs, interaction }, ..drawn(contrasts, units, Noise::Normal) }
    }
    [
        draw_pairs(1, 2, 5, interaction),
        draw_pairs(3, 2, 3, interaction),
        draw_pairs(9, 3, 2, interaction),
        draw_pairs(3, 3, 10, interaction),
        draw_pairs(20, 5, 3, interaction),
    ]
}

/// Counts of 8 or 9, and of 200 or 201.
const fn counts(plots: u32, chance: f64, varying: Varying) -> [DrawnCounts; 2] {
    let few = DrawnCounts { plots, runs: 2, count: 8.0, chance, varying };
    [few, DrawnCounts { count: 200.0, ..few }]
}

const fn effects(plots: [u32; 2], rejected: f64) -> DrawnEffects {
    DrawnEffects { plots, rejected, of_plots: 0.06, of_effects: 0.02, of_runs: 0.02 }
}

const fn covered(effect: Effect, what: &'static str) -> Line {
    Line { what, counted: Counted::EffectCovered(effect), bar: Bar::Between(0.93, 0.97) }
}

/// Share of studies that find the difference promised for 80 % of them: within 5 points.
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

/// A line for each kind of effect.
const EFFECTS: [Line; 3] = [
    covered(Effect::Hard, "the interval holds the hard factor's effect"),
    covered(Effect::Easy, "it holds the easy factor's"),
    covered(Effect::Interaction, "it holds their interaction"),
];

/// In the order of the table of docs/calibration.md.
pub(super) static DRAWN: &[Scenario] = &[
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
        &[promised(3, 3, Design::Plots)],
    ),
    drawn_promise("power-9-4", "family of 9, 4 plots, the same", &[promised(9, 4, Design::Plots)]),
    drawn_promise("power-66-3", "family of 66, 3 plots, the same", &[promised(66, 3, Design::Plots)]),
    drawn_promise("power-20-5", "family of 20, 5 plots, the same", &[promised(20, 5, Design::Plots)]),
    drawn_promise("power-3-8", "family of 3, 8 blocks, the same", &[promised(3, 8, Design::Blocks)]),
    drawn_promise(
        "power-easy",
        "family of 3, an easy factor by 3 pairs on each of 4 plots, the same",
        &[promised(3, 4, Design::PairsOnPlots { pairs: 3, interaction: 0.0 })],
    ),
    drawn_promise(
        "power-pilot-2",
        "family of 3, 4 plots, the spread from a pilot with 2 degrees of freedom",
        &[promised_by_pilot(3, 4, Design::Plots, 2)],
    ),
    drawn_promise(
        "power-pilot-4",
        "family of 3, 4 plots, a pilot with 4 degrees of freedom",
        &[promised_by_pilot(3, 4, Design::Plots, 4)],
    ),
    drawn_promise(
        "power-pilot-10",
        "family of 9, 12 blocks, a pilot with 10 degrees of freedom",
        &[promised_by_pilot(9, 12, Design::Blocks, 10)],
    ),
    drawn_null("easy-alike", "families of 1–20, an easy factor on 2–5 plots, the same effect on each", &easy(0.0)),
    drawn_null("easy-differs", "the same, its effect varies from plot to plot as much as runs do", &easy(1.0)),
    drawn_null("easy-differs-3", "the same, three times as much", &easy(3.0)),
    Scenario {
        name: "counts",
        about: "counts of equal sides that a timer decides (8 or 9, 200 or 201), 2–8 plots",
        trial: Trial::Count {
            studies: &[
                counts(2, 0.5, Varying::Runs)[0],
                counts(3, 0.5, Varying::Runs)[1],
                counts(3, 0.5, Varying::Plots)[0],
                counts(4, 0.2, Varying::Runs)[0],
                counts(5, 0.5, Varying::Plots)[1],
                counts(6, 0.1, Varying::Plots)[0],
                counts(6, 0.5, Varying::Runs)[0],
                counts(8, 0.5, Varying::Plots)[0],
                counts(8, 0.02, Varying::Runs)[1],
            ],
        },
        trials: 9000,
        trials_small: 1800,
        lines: &[
            Line { what: "exactly fewer or more", counted: Counted::Exact, bar: Bar::AtMost(0.001) },
            Line { what: "fewer or more, exactly or not", counted: Counted::Claim, bar: Bar::AtMost(0.05) },
        ],
    },
    Scenario {
        name: "effects",
        about: "two factors, 2 × 3 levels, 3 plots each",
        trial: Trial::Effects { designs: &[effects([3, 3], 0.0)] },
        trials: 4000,
        trials_small: 800,
        lines: &EFFECTS,
    },
    Scenario {
        name: "effects-unbalanced",
        about: "the same, 2 and 5 plots, or a tenth of the runs rejected",
        trial: Trial::Effects { designs: &[effects([2, 5], 0.0), effects([4, 4], 0.1)] },
        trials: 4000,
        trials_small: 800,
        lines: &EFFECTS,
    },
];
