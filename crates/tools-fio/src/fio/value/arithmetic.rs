//! Arithmetic expressions in parentheses: `(8*1024*1024)`, `(2^10)`, `(1m+30s)`.
//!
//! From lowest to highest precedence: `+` and `-`, a unit after its term, `*` and `/`, `^`, `%`, and a leading minus. A
//! unit applies to the whole product before it. `k` is 1024 whatever `kb_base` says, and `m` is a minute in an option
//! that takes a time. fio computes with literals of 32 bits, drops the fraction of a number that has a unit, and
//! truncates a result without a unit to 32 bits; see [`Flavour`].

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// fio's own arithmetic, with its overflows.
    Fio,
    Meant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// `m` is 1024 * 1024.
    Mebi,
    /// `m` is a minute, in microseconds; other time units are accepted as well.
    Minute,
}

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SumValue {
    pub whole: i128,
    pub real: f64,
    /// Whether the expression contains a fraction.
    pub is_real: bool,
}

/// Maximum nesting depth.
const DEEPEST: usize = 64;

/// Evaluates an expression, in microseconds if it is a time. `implied` is the unit of an expression without units.
/// Returns `None` if it cannot be parsed or computed. Source of the grammar: fio's `exp/expression-parser`, restated.
pub(crate) fn evaluate(text: &str, letter: Letter, flavour: Flavour, implied: i64) -> Option<SumValue> {
    let mut parser = Parser { rest: text, letter, flavour, units: false, depth: 0 };
    let mut sum = parser.expression(0)?;
    if !parser.at_end() {
        return None;
    }
    if !parser.units {
        match flavour {
            Flavour::Fio => {
                // fio casts a double to int. A value that does not fit becomes the smallest int on x86-64.
                let product = sum.whole as f64 * implied as f64;
                let fits = product > i32::MIN as f64 - 1.0 && product < i32::MAX as f64 + 1.0;
                sum.whole = if fits { product as i32 as i128 } else { i32::MIN as i128 };
            }
            Flavour::Meant => sum.whole = sum.whole.checked_mul(i128::from(implied))?,
        }
        sum.real *= implied as f64;
    }
    Some(sum)
}

struct Parser<'a> {
    rest: &'a str,
    letter: Letter,
    flavour: Flavour,
    units: bool,
    depth: usize,
}

const TERM: u8 = 1;
const UNIT: u8 = 2;
const PRODUCT: u8 = 3;
const POWER: u8 = 4;
const REMAINDER: u8 = 5;

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        // fio's parser ignores everything after these characters.
        self.rest.is_empty() || self.rest.starts_with(['#', ':', ','])
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expression(&mut self, loosest: u8) -> Option<SumValue> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut left = if self.take('-') {
            let sum = self.expression(REMAINDER + 1)?;
            SumValue { whole: sum.whole.checked_neg()?, real: -sum.real, is_real: sum.is_real }
        } else if self.take('(') {
            let sum = self.expression(0)?;
            if !self.take(')') {
                return None;
            }
            sum
        } else {
            self.number()?
        };
        loop {
            self.skip_blanks();
            let Some(sign) = self.rest.chars().next() else { break };
            let (strength, right_strength) = match sign {
                '+' | '-' => (TERM, TERM + 1),
                '*' | '/' => (PRODUCT, PRODUCT + 1),
                '^' => (POWER, POWER),
                '%' => (REMAINDER, REMAINDER + 1),
                letter if letter.is_ascii_alphabetic() => (UNIT, 0),
                _ => break,
            };
            if strength < loosest {
                break;
            }
            if strength == UNIT {
                let unit = self.unit()?;
                left = self.with_unit(left, unit)?;
                continue;
            }
            self.rest = &self.rest[1..];
            let right = self.expression(right_strength)?;
            left = self.combine(sign, left, right)?;
        }
        self.depth -= 1;
        Some(left)
    }

    fn number(&mut self) -> Option<SumValue> {
        self.skip_blanks();
        if let Some(hex) = self.rest.strip_prefix("0x").or_else(|| self.rest.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let whole = u64::from_str_radix(&hex[..end], 16).ok()?;
            self.rest = &hex[end..];
            return Some(self.literal(i128::from(whole)));
        }
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        let mut is_real = false;
        if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1);
            is_real = true;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(signed).is_some_and(u8::is_ascii_digit) {
                end = digits(signed);
                is_real = true;
            }
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        if is_real {
            let real: f64 = text.parse().ok()?;
            Some(SumValue { whole: real as i64 as i128, real, is_real: true })
        } else {
            let whole = text.parse::<u128>().ok()?.min(i64::MAX as u128) as i128;
            Some(self.literal(whole))
        }
    }

    fn literal(&self, whole: i128) -> SumValue {
        let whole = match self.flavour {
            Flavour::Fio => whole as i64 as i32 as i128,
            Flavour::Meant => whole,
        };
        SumValue { whole, real: whole as f64, is_real: false }
    }

    fn unit(&mut self) -> Option<i64> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let lower = word.to_ascii_lowercase();
        let meant = self.flavour == Flavour::Meant;
        const SECOND: i64 = 1_000_000;
        let unit = match lower.as_str() {
            "k" | "kb" => 1 << 10,
            "mb" => 1 << 20,
            "m" if self.letter == Letter::Mebi => 1 << 20,
            "m" => 60 * SECOND,
            "g" | "gb" => 1 << 30,
            "t" | "tb" => 1 << 40,
            "p" | "pb" => 1 << 50,
            "kib" | "ki" if meant => 1 << 10,
            "mib" | "mi" if meant => 1 << 20,
            "gib" | "gi" if meant => 1 << 30,
            "tib" | "ti" if meant => 1 << 40,
            "pib" | "pi" if meant => 1 << 50,
            "kib" => 1_000,
            "mib" => 1_000_000,
            "gib" => 1_000_000_000,
            "pib" => 1_000_000_000_000,
            "us" => 1,
            "ms" => 1_000,
            "s" => SECOND,
            "usec" if meant => 1,
            "msec" if meant => 1_000,
            "sec" if meant => SECOND,
            "min" if meant => 60 * SECOND,
            "h" => 3_600 * SECOND,
            "d" => 86_400 * SECOND,
            _ => return None,
        };
        self.rest = rest;
        self.units = true;
        Some(unit)
    }

    fn with_unit(&self, left: SumValue, unit: i64) -> Option<SumValue> {
        Some(match self.flavour {
            Flavour::Meant => SumValue {
                whole: left.whole.checked_mul(i128::from(unit))?,
                real: left.real * unit as f64,
                is_real: left.is_real,
            },
            // The fraction is dropped before the unit is applied.
            Flavour::Fio => {
                let whole = i128::from((left.whole as i64).wrapping_mul(unit));
                let real = if left.is_real { left.real * unit as f64 } else { whole as f64 };
                SumValue { whole, real, is_real: left.is_real }
            }
        })
    }

    fn combine(&self, sign: char, left: SumValue, right: SumValue) -> Option<SumValue> {
        let is_real = left.is_real || right.is_real;
        let (whole, real) = match sign {
            '+' => (left.whole.checked_add(right.whole)?, left.real + right.real),
            '-' => (left.whole.checked_sub(right.whole)?, left.real - right.real),
            '*' => (left.whole.checked_mul(right.whole)?, left.real * right.real),
            '/' if right.real.abs() < 1e-20 => return None,
            '/' if is_real => (0, left.real / right.real),
            '/' => (left.whole.checked_div(right.whole)?, left.real / right.real),
            '%' if is_real => return None,
            '%' => {
                let whole = left.whole.checked_rem(right.whole)?;
                (whole, whole as f64)
            }
            '^' if is_real || right.whole < 0 => (0, left.real.powf(right.real)),
            '^' => {
                let power = u32::try_from(right.whole).ok()?;
                let whole = match self.flavour {
                    Flavour::Meant => left.whole.checked_pow(power)?,
                    Flavour::Fio => i128::from((left.whole as i64).wrapping_pow(power)),
                };
                (whole, left.real.powf(right.real))
            }
            _ => return None,
        };
        let whole = if is_real || (sign == '^' && right.whole < 0) { real as i64 as i128 } else { whole };
        let whole = if self.flavour == Flavour::Fio { i128::from(whole as i64) } else { whole };
        Some(SumValue { whole, real, is_real })
    }
}

impl SumValue {
    pub(crate) fn rounded(&self) -> i128 {
        if self.is_real { self.real.round() as i128 } else { self.whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(text: &str, flavour: Flavour) -> Option<i128> {
        evaluate(text, Letter::Mebi, flavour, 1).map(|sum| match flavour {
            Flavour::Fio => sum.whole,
            Flavour::Meant => sum.rounded(),
        })
    }

    #[test]
    fn sums_are_evaluated_exactly() {
        for (text, value) in [
            ("(1+2*3)", 7),
            ("((1+2)*3)", 9),
            ("(8*1024*1024*1024)", 8 << 30),
            ("(2^40)", 1 << 40),
            ("(1.5k)", 1536),
            ("(1tib)", 1 << 40),
            ("(1pib)", 1 << 50),
            ("(2*3k)", 6144),
            ("(1+2k)", 2049),
            ("(-3+5)", 2),
            ("(17%5)", 2),
            ("(2^3^2)", 512),
            ("(7/2)", 3),
            ("(0x10)", 16),
            ("( 4 * 2 )k", 8192),
        ] {
            assert_eq!(sum(text, Flavour::Meant), Some(value), "{text}");
        }
    }

    #[test]
    fn fio_overflows_as_measured() {
        for (text, value) in [
            ("(8*1024*1024*1024)", Some(i128::from(i32::MIN))),
            ("(2^40)", Some(i128::from(i32::MIN))),
            ("(1.5k)", Some(1024)),
            ("(1tib)", None),
            ("(1pib)", Some(1_000_000_000_000)),
            ("(4k*2)", Some(8192)),
        ] {
            assert_eq!(sum(text, Flavour::Fio), value, "{text}");
        }
    }

    #[test]
    fn times_count_in_microseconds() {
        let time = |text, implied| evaluate(text, Letter::Minute, Flavour::Meant, implied).map(|sum| sum.rounded());
        assert_eq!(time("(1m+30s)", 1), Some(90_000_000));
        assert_eq!(time("(2*30)", 1_000_000), Some(60_000_000));
        assert_eq!(time("(500ms)", 1_000_000), Some(500_000));
    }

    #[test]
    fn invalid_expressions_are_rejected() {
        for text in ["(", "()", "(1", "(1+)", "(1/0)", "(4%0)", "(1 2)", "(1q)", "(9^99999)", &"(".repeat(10_000)] {
            assert_eq!(sum(text, Flavour::Meant), None, "{text:.20}");
        }
    }
}
