//! Amounts in GNU dd's format: `2.0 MB`, `268 MB`, `9.8 KiB`. Source: observed in coreutils 9.1. One decimal below 10,
//! or below 100 if the amount is not a whole number of the next smaller unit.

const LETTERS: [&str; 9] = ["", "K", "M", "G", "T", "P", "E", "Z", "Y"];

/// The base of an amount's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Powers of 1000: kB, MB.
    Si,
    /// Powers of 1024: KiB, MiB.
    Iec,
}

impl Base {
    fn factor(self) -> u64 {
        match self {
            Base::Si => 1000,
            Base::Iec => 1024,
        }
    }

    fn unit(self, power: usize) -> String {
        match (self, power) {
            (_, 0) => "B".to_owned(),
            (Base::Si, 1) => "kB".to_owned(),
            (Base::Si, _) => format!("{}B", LETTERS[power]),
            (Base::Iec, _) => format!("{}iB", LETTERS[power]),
        }
    }
}

/// Formats a whole number of bytes.
pub fn bytes(amount: u64, base: Base) -> String {
    whole(amount, 0, 0, base)
}

/// Formats the error that there is no memory for a block; `end` is `input` or `output`.
pub fn no_memory(end: &str, bytes: u64) -> String {
    format!("memory exhausted by {end} buffer of size {bytes} bytes ({})", self::bytes(bytes, Base::Iec))
}

/// Formats bytes per second; the time is in nanoseconds and not 0.
pub fn rate(amount: u64, elapsed_ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    if SECOND.is_multiple_of(elapsed_ns)
        && let Some(amount) = amount.checked_mul(SECOND / elapsed_ns)
    {
        return format!("{}/s", whole(amount, 0, 0, Base::Si));
    }
    if elapsed_ns.is_multiple_of(SECOND) {
        let seconds = elapsed_ns / SECOND;
        let tenths = (amount % seconds) * 10;
        let rest = (tenths % seconds) * 2;
        let rounding = if rest < seconds { u64::from(rest > 0) } else { 2 + u64::from(seconds < rest) };
        return format!("{}/s", whole(amount / seconds, tenths / seconds, rounding, Base::Si));
    }
    let mut value = amount as f64 * (SECOND as f64 / elapsed_ns as f64);
    let mut power = 1;
    value /= 1000.0;
    while value >= 1000.0 && power < LETTERS.len() - 1 {
        value /= 1000.0;
        power += 1;
    }
    let short = format!("{value:.1}");
    let text = if short.len() > "99.9".len() { format!("{value:.0}") } else { short };
    format!("{text} {}/s", Base::Si.unit(power))
}

/// Formats an amount with its tenths. `rounding` is the remainder: 0 for none, 1 for less than half a
/// tenth, 2 for half, 3 for more.
fn whole(amount: u64, tenths: u64, rounding: u64, base: Base) -> String {
    let factor = base.factor();
    let (mut amount, mut tenths, mut rounding, mut power) = (amount, tenths, rounding, 0);
    let mut decimal = None;
    if amount >= factor {
        while amount >= factor && power < LETTERS.len() - 1 {
            let in_tenths = (amount % factor) * 10 + tenths;
            let rest = (in_tenths % factor) * 2 + (rounding >> 1);
            amount /= factor;
            tenths = in_tenths / factor;
            rounding =
                if rest < factor { u64::from(rest + rounding != 0) } else { 2 + u64::from(factor < rest + rounding) };
            power += 1;
        }
        if amount < 10 {
            if 2 < rounding + (tenths & 1) {
                tenths += 1;
                rounding = 0;
                if tenths == 10 {
                    amount += 1;
                    tenths = 0;
                }
            }
            if amount < 10 {
                decimal = Some(tenths);
                (tenths, rounding) = (0, 0);
            }
        }
    }
    if 5 < tenths + u64::from(0 < rounding + (amount & 1)) {
        amount += 1;
        if amount == factor && power < LETTERS.len() - 1 {
            power += 1;
            amount = 1;
            decimal = Some(0);
        }
    }
    let decimal = decimal.map(|tenths| format!(".{tenths}")).unwrap_or_default();
    format!("{amount}{decimal} {}", base.unit(power))
}
