//! Number formats.

/// Options that affect how numbers are printed.
#[derive(Debug, Clone, PartialEq)]
pub struct Display {
    /// `significant_figures`, 1–10.
    pub significant_figures: u8,
    pub kb_base: KbBase,
    pub unit_base: UnitBase,
    /// `percentile_list`, in percent, at most 20.
    pub percentiles: Vec<f64>,
    /// Decimals of the percentiles in `normal`: 2, or as many as the longest entry of a given `percentile_list` has.
    pub percentile_precision: u8,
    pub percentiles_of: PercentilesOf,
}

impl Default for Display {
    fn default() -> Display {
        let percentiles =
            [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];
        Display {
            significant_figures: 4,
            kb_base: KbBase::Binary,
            unit_base: UnitBase::Bytes,
            percentiles: percentiles.to_vec(),
            percentile_precision: 2,
            percentiles_of: PercentilesOf { slat: false, clat: true, lat: false },
        }
    }
}

/// `slat_percentiles`, `clat_percentiles`, `lat_percentiles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PercentilesOf {
    pub slat: bool,
    pub clat: bool,
    pub lat: bool,
}

/// Value of `k` in rates and sizes; the other one is printed in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KbBase {
    /// 1024: KiB comes first.
    #[default]
    Binary,
    /// 1000: kB comes first.
    Decimal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnitBase {
    #[default]
    Bytes,
    Bits,
}
