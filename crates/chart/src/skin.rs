//! Colours by meaning. Series have the colours that Okabe and Ito chose for readers of every colour vision
//! (<https://jfly.uni-koeln.de/color/>); those too light for lines on white are darkened. Each series also has
//! its own shape and dash.

use crate::Mark;

/// The meaning of an element, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Important letters and lines.
    Strong,
    /// Less important letters.
    Faint,
    Grid,
    Ground,
    /// The band of equivalence.
    Band,
    Series(usize),
    Mark(Mark),
    /// A step of the heat scale, 0–1 in [`HEAT_STEPS`] steps.
    Heat(usize),
    /// Letters on a step of the heat scale.
    OnHeat(usize),
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skin {
    /// A page that defines the colours for light and dark mode.
    Page,
    /// A separate file with a white background.
    Paper,
}

/// Colours of series on white and on black.
const SERIES: [(&str, &str); 7] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#f08a3c"),
    ("#00795a", "#2fc79a"),
    ("#a64d82", "#e39bc6"),
    ("#8a6d00", "#e6c229"),
    ("#4d4d4d", "#c8c8c8"),
    ("#3a2f8f", "#a59cf5"),
];

/// Returns the colour of a series on white, `#RRGGBB`. There are seven, which readers of every colour vision can distinguish.
pub fn series_colour(index: usize) -> &'static str {
    SERIES[index % SERIES.len()].0
}

/// Steps of the heat scale.
pub(crate) const HEAT_STEPS: usize = 24;

/// Dashes of lines and the gaps between them, px, in the order of series.
pub(crate) const DASHES: [&[u8]; 7] = [&[], &[7, 3], &[2, 3], &[9, 3, 2, 3], &[5, 2], &[12, 4], &[1, 2]];

impl Ink {
    /// Returns the colour on white, for a separate file.
    pub(crate) fn on_white(self) -> String {
        self.colours().0
    }

    /// Returns the colours on white and on black.
    fn colours(self) -> (String, String) {
        let both = |light: &str, dark: &str| (light.to_owned(), dark.to_owned());
        match self {
            Ink::Strong => both("#1a1a1a", "#ececec"),
            Ink::Faint => both("#595959", "#a8a8a8"),
            Ink::Grid => both("#dddddd", "#3a3a3a"),
            Ink::Ground => both("#ffffff", "#161616"),
            Ink::Band => both("#e8eef3", "#26313a"),
            Ink::Series(index) => {
                let (light, dark) = SERIES[index % SERIES.len()];
                both(light, dark)
            }
            Ink::Mark(Mark::Better) => both(SERIES[0].0, SERIES[0].1),
            Ink::Mark(Mark::Worse) => both(SERIES[1].0, SERIES[1].1),
            Ink::Mark(Mark::Equal) => both(SERIES[2].0, SERIES[2].1),
            Ink::Mark(Mark::Open | Mark::Unjudged) => both("#6b6b6b", "#9b9b9b"),
            Ink::Heat(step) => both(&heat(step), &heat(step)),
            Ink::OnHeat(step) if step * 2 > HEAT_STEPS => both("#ffffff", "#ffffff"),
            Ink::OnHeat(_) => both("#1a1a1a", "#1a1a1a"),
        }
    }

    /// Returns its CSS class in a page.
    pub(crate) fn class(self) -> String {
        match self {
            Ink::Strong => "strong".to_owned(),
            Ink::Faint => "faint".to_owned(),
            Ink::Grid => "grid".to_owned(),
            Ink::Ground => "ground".to_owned(),
            Ink::Band => "band".to_owned(),
            Ink::Series(index) => format!("s{}", index % SERIES.len()),
            Ink::Mark(Mark::Better) => "better".to_owned(),
            Ink::Mark(Mark::Worse) => "worse".to_owned(),
            Ink::Mark(Mark::Equal) => "equal".to_owned(),
            Ink::Mark(Mark::Open | Mark::Unjudged) => "open".to_owned(),
            Ink::Heat(step) => format!("h{step}"),
            Ink::OnHeat(step) => format!("o{step}"),
        }
    }

    fn all() -> Vec<Ink> {
        let mut all = vec![Ink::Strong, Ink::Faint, Ink::Grid, Ink::Ground, Ink::Band];
        all.extend((0..SERIES.len()).map(Ink::Series));
        all.extend([Mark::Better, Mark::Worse, Mark::Equal, Mark::Open].map(Ink::Mark));
        all.extend((0..=HEAT_STEPS).flat_map(|step| [Ink::Heat(step), Ink::OnHeat(step)]));
        all
    }
}

/// Returns a colour from nearly white to dark blue, evenly spaced in lightness.
fn heat(step: usize) -> String {
    const ENDS: [(f64, f64, f64); 4] =
        [(247.0, 244.0, 222.0), (142.0, 200.0, 190.0), (44.0, 127.0, 170.0), (12.0, 44.0, 99.0)];
    let at = step.min(HEAT_STEPS) as f64 / HEAT_STEPS as f64 * (ENDS.len() - 1) as f64;
    let index = (at.floor() as usize).min(ENDS.len() - 2);
    let part = at - index as f64;
    let (a, b) = (ENDS[index], ENDS[index + 1]);
    let mix = |a: f64, b: f64| (a + (b - a) * part).round() as u8;
    format!("#{:02x}{:02x}{:02x}", mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Returns the CSS for a page with charts: classes for colours in light mode, in dark mode and in print.
pub fn style_sheet() -> String {
    let rule = |ink: Ink, colour: &str| {
        let class = ink.class();
        format!(".f-{class}{{fill:{colour}}}.l-{class}{{stroke:{colour}}}")
    };
    let inks = Ink::all();
    let by_day: String = inks.iter().map(|ink| rule(*ink, &ink.colours().0)).collect();
    let differs = inks.iter().filter(|ink| ink.colours().0 != ink.colours().1);
    let by_night: String = differs.map(|ink| rule(*ink, &ink.colours().1)).collect();
    format!("{by_day}\n@media screen and (prefers-color-scheme:dark){{{by_night}}}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rgb = [f64; 3];

    fn linear(colour: &str) -> Rgb {
        let part = |from: usize| f64::from(u8::from_str_radix(&colour[from..from + 2], 16).unwrap()) / 255.0;
        [1, 3, 5].map(part).map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) })
    }

    /// Returns the relative luminance of WCAG 2.
    fn luminance(colour: &str) -> f64 {
        let [r, g, b] = linear(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Colours as seen without one kind of cones, after Machado, Oliveira and Fernandes 2009, severity 1.
    const SEEN: [(&str, [[f64; 3]; 3]); 4] = [
        ("everybody", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        (
            "protanopia",
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        ),
        (
            "deuteranopia",
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        ),
        (
            "tritanopia",
            [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
        ),
    ];

    /// Converts linear RGB under D65 to CIE Lab.
    fn lab(rgb: Rgb) -> Rgb {
        let [r, g, b] = rgb.map(|c| c.clamp(0.0, 1.0));
        let xyz = [
            (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
            0.2126 * r + 0.7152 * g + 0.0722 * b,
            (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
        ];
        let [x, y, z] = xyz.map(|t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(a: &str, b: &str, matrix: &[[f64; 3]; 3]) -> f64 {
        let seen = |colour: &str| {
            let rgb = linear(colour);
            lab(matrix.map(|row| row.iter().zip(rgb).map(|(weight, c)| weight * c).sum()))
        };
        seen(a).iter().zip(seen(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    // Protects: nearly all readers can distinguish the first four series by colour alone; later series
    // also have dashes and shapes.
    #[test]
    fn series_differ_for_every_colour_vision() {
        for (vision, matrix) in &SEEN {
            for (a, b) in (0..4).flat_map(|a| (0..a).map(move |b| (a, b))) {
                for pair in [[SERIES[a].0, SERIES[b].0], [SERIES[a].1, SERIES[b].1]] {
                    let apart = distance(pair[0], pair[1], matrix);
                    assert!(apart > 10.0, "{vision}: {pair:?} are {apart:.0} apart");
                }
            }
        }
    }

    // Protects: WCAG 2.1, 1.4.3 and 1.4.11: letters have a contrast of 4.5, marks of 3.
    #[test]
    fn everything_has_contrast_with_its_background() {
        let grounds = Ink::Ground.colours();
        for ink in Ink::all() {
            let wanted = match ink {
                Ink::Strong | Ink::Faint => 4.5,
                Ink::Series(_) | Ink::Mark(_) => 3.0,
                _ => continue,
            };
            let colours = ink.colours();
            assert!(contrast(&colours.0, &grounds.0) >= wanted, "{ink:?} by day");
            assert!(contrast(&colours.1, &grounds.1) >= wanted, "{ink:?} by night");
        }
        for step in 0..=HEAT_STEPS {
            let apart = contrast(&heat(step), &Ink::OnHeat(step).on_white());
            assert!(apart >= 3.0, "letters on step {step}: {apart:.1}");
        }
    }

    // Protects: more is darker, for every colour vision and in grey print.
    #[test]
    fn the_heat_scale_only_gets_darker() {
        for (vision, matrix) in &SEEN {
            let lightness = |step: usize| {
                let rgb = linear(&heat(step));
                lab(matrix.map(|row| row.iter().zip(rgb).map(|(weight, c)| weight * c).sum()))[0]
            };
            assert!((0..HEAT_STEPS).all(|step| lightness(step + 1) < lightness(step)), "{vision}");
        }
    }
}
