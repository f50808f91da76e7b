//! Numbers in columns, with their colours and units.

use super::colour::Palette;

/// The unit of a number in human-readable output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// A plain number, never with a unit.
    Plain,
    /// Sectors, printed in kB or larger units.
    Sectors,
    Kilobytes,
}

/// Writes numbers, each after a space.
pub(super) struct Pen<'a> {
    pub(super) palette: &'a Palette,
    pub(super) decimals: Option<usize>,
    pub(super) human: bool,
    pub(super) text: String,
}

impl Pen<'_> {
    /// Writes a number with two decimals, or with the requested number of decimals.
    pub(super) fn float(&mut self, scale: Scale, width: usize, value: f64) {
        let decimals = self.decimals.unwrap_or(2);
        let is_zero = value.abs() < smallest_shown(decimals) || (decimals == 0 && value.abs() == 0.5);
        self.colour(is_zero);
        if self.human && scale != Scale::Plain {
            self.with_unit(scale, width, value);
        } else {
            self.text.push_str(&format!(" {value:width$.decimals$}{}", self.palette.normal));
        }
    }

    pub(super) fn whole(&mut self, scale: Scale, width: usize, value: u64) {
        self.colour(value == 0);
        if self.human && scale != Scale::Plain {
            self.with_unit(scale, width, value as f64);
        } else {
            self.text.push_str(&format!(" {value:width$}{}", self.palette.normal));
        }
    }

    /// Writes a percentage. Human-readable output has one decimal less, to make room for the sign.
    pub(super) fn percent(&mut self, width: usize, value: f64) {
        let mut decimals = self.decimals.unwrap_or(2);
        let (mut width, mut sign) = (width, "");
        if self.human {
            (width, sign) = (width - 1, "%");
            decimals = decimals.min(1);
        }
        let palette = self.palette;
        self.text.push_str(match value {
            _ if value >= 75.0 => &palette.percent_high,
            _ if value >= 50.0 => &palette.percent_low,
            _ if value < smallest_shown(decimals) || (decimals == 0 && value == 0.5) => &palette.zero,
            _ => &palette.number,
        });
        self.text.push_str(&format!(" {value:width$.decimals$}{}{sign}", palette.normal));
    }

    pub(super) fn name(&mut self, name: &str) {
        self.text.push_str(&format!("{}{name}{}", self.palette.name, self.palette.normal));
    }

    fn colour(&mut self, is_zero: bool) {
        self.text.push_str(if is_zero { &self.palette.zero } else { &self.palette.number });
    }

    fn with_unit(&mut self, scale: Scale, width: usize, value: f64) {
        const UNITS: [char; 6] = ['k', 'M', 'G', 'T', 'P', '?'];
        let mut value = if scale == Scale::Sectors { value / 2.0 } else { value };
        let mut unit = 0;
        while value >= 1024.0 {
            value /= 1024.0;
            unit += 1;
        }
        let decimals = usize::from(self.decimals != Some(0));
        let width = width - 1;
        let unit = UNITS[unit.min(UNITS.len() - 1)];
        self.text.push_str(&format!(" {value:width$.decimals$}{}{unit}", self.palette.normal));
    }
}

/// Smaller values are printed as zero.
fn smallest_shown(decimals: usize) -> f64 {
    match decimals {
        0 => 0.5,
        1 => 0.05,
        _ => 0.005,
    }
}
