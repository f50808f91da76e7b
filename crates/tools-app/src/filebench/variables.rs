//! Variables: their values, and the values of attributes where they are used.

use super::lex::{DOLLAR, Place};
use super::script::*;
use super::usage_error::FilebenchUsageError;
use plumb_workload::program::{Amount, Draw, TableRow, Variable};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Held {
    Integer(u64),
    Boolean(bool),
    Text(String),
    Random(Attributes, Vec<Row>),
    Custom(Attributes),
}

/// Limit of the depth to which parameters of random variables may be variables themselves.
const DEPTH_MAX: usize = 16;

#[derive(Debug, Clone, Default)]
pub(super) struct Variables {
    held: BTreeMap<String, Held>,
    /// Variables set on the command line, which override the script.
    fixed: BTreeMap<String, Held>,
}

/// Local variables of composite flowops. Inner ones have replaced outer ones.
pub(super) type Locals = BTreeMap<String, Value>;

/// A resolved value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Resolved {
    Integer(u64),
    Boolean(bool),
    Text(String),
    Drawn(Box<Variable>),
}

impl Variables {
    /// Sets a variable permanently.
    pub(super) fn fix(&mut self, name: &str, value: Held) {
        self.fixed.insert(name.to_owned(), value);
    }

    /// Returns the permanently set names. Names that the script never sets or uses are probably misspelt.
    pub(super) fn fixed_names(&self) -> impl Iterator<Item = &str> {
        self.fixed.keys().map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, to: Held) {
        self.held.insert(name.to_owned(), to);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Held> {
        self.fixed.get(name).or_else(|| self.held.get(name))
    }

    /// Sets a part of a random variable, in the 1.4 style.
    pub(super) fn set_part(&mut self, name: &str, part: &str, value: Value) -> Result<(), FilebenchUsageError> {
        let place = value.place;
        let entry = self
            .held
            .entry(name.to_owned())
            .or_insert_with(|| Held::Random(Attributes { place, all: Vec::new() }, Vec::new()));
        let Held::Random(attributes, _) = entry else {
            return Err(FilebenchUsageError::at(
                place,
                format!("`${name}` is not a random variable and has no `{part}`"),
            ));
        };
        let Some(known) = super::table::attribute(super::table::Of::Random, part) else {
            return Err(FilebenchUsageError::at(place, format!("random variables have no `{part}`"))
                .help("use type, seed, gamma, mean, min, round or randsrc"));
        };
        attributes.all.push(Attribute { place, name: known.to_owned(), value });
        Ok(())
    }

    /// Evaluates an expression.
    pub(super) fn evaluated(&self, to: Expression) -> Result<Held, FilebenchUsageError> {
        match to {
            Expression::Random(attributes, rows) => Ok(Held::Random(attributes, rows)),
            Expression::Custom(attributes) => Ok(Held::Custom(attributes)),
            Expression::Value(value) => match value.kind {
                ValueKind::Integer(number) => Ok(Held::Integer(number)),
                ValueKind::Boolean(yes) => Ok(Held::Boolean(yes)),
                ValueKind::Text(text) => Ok(Held::Text(text)),
                ValueKind::Variable(name) => self.get(&name).cloned().ok_or_else(|| self.unset(value.place, &name)),
            },
            Expression::Calculation(first, mark, second) => {
                let place = second.place;
                let (a, b) = (self.integer(&first, &Locals::new())?, self.integer(&second, &Locals::new())?);
                let result = match mark {
                    '+' => a.checked_add(b),
                    '-' => a.checked_sub(b),
                    '*' => a.checked_mul(b),
                    _ => a.checked_div(b),
                };
                result.map(Held::Integer).ok_or_else(|| {
                    FilebenchUsageError::at(place, format!("{a} {mark} {b} is not a number from 0 to 2^64 - 1"))
                })
            }
        }
    }

    fn unset(&self, place: Place, name: &str) -> FilebenchUsageError {
        let names: Vec<String> = self.held.keys().chain(self.fixed.keys()).map(|name| format!("${name}")).collect();
        FilebenchUsageError::at(place, format!("the variable `${name}` is not set")).nearest(
            &format!("${name}"),
            names.iter().map(String::as_str),
            &format!("add `set ${name}=…` above, or `--set {name}=…`"),
        )
    }

    /// Resolves a value.
    pub(super) fn resolved(&self, value: &Value, locals: &Locals) -> Result<Resolved, FilebenchUsageError> {
        self.resolved_at(value, locals, 0)
    }

    fn resolved_at(&self, value: &Value, locals: &Locals, depth: usize) -> Result<Resolved, FilebenchUsageError> {
        if depth > DEPTH_MAX {
            return Err(FilebenchUsageError::at(value.place, "variables depend on each other in a circle"));
        }
        let name = match &value.kind {
            ValueKind::Integer(number) => return Ok(Resolved::Integer(*number)),
            ValueKind::Boolean(yes) => return Ok(Resolved::Boolean(*yes)),
            ValueKind::Text(text) => return Ok(Resolved::Text(text.clone())),
            ValueKind::Variable(name) => name,
        };
        if let Some(local) = locals.get(name) {
            return self.resolved_at(local, &Locals::new(), depth + 1);
        }
        match self.get(name).ok_or_else(|| self.unset(value.place, name))? {
            Held::Integer(number) => Ok(Resolved::Integer(*number)),
            Held::Boolean(yes) => Ok(Resolved::Boolean(*yes)),
            Held::Text(text) => Ok(Resolved::Text(text.clone())),
            Held::Random(attributes, rows) => Ok(Resolved::Drawn(Box::new(self.random(attributes, rows, depth)?))),
            Held::Custom(attributes) => Ok(Resolved::Drawn(Box::new(self.custom(attributes, depth)?))),
        }
    }

    /// Returns a number, which may be random.
    pub(super) fn amount(&self, value: &Value, locals: &Locals) -> Result<Amount, FilebenchUsageError> {
        match self.resolved(value, locals)? {
            Resolved::Integer(number) => Ok(Amount::Fixed(number)),
            Resolved::Boolean(yes) => Ok(Amount::Fixed(yes.into())),
            Resolved::Drawn(variable) => Ok(Amount::Drawn(variable)),
            Resolved::Text(text) => {
                Err(FilebenchUsageError::at(value.place, format!("expected a number, found \"{text}\"")))
            }
        }
    }

    /// Returns a fixed number. For a random variable, this is its mean.
    pub(super) fn integer(&self, value: &Value, locals: &Locals) -> Result<u64, FilebenchUsageError> {
        let amount = self.amount(value, locals)?;
        amount
            .fixed()
            .or_else(|| amount.mean().map(|mean| mean as u64))
            .ok_or_else(|| FilebenchUsageError::at(value.place, "this needs a fixed number").help("use a number"))
    }

    pub(super) fn boolean(&self, value: &Value, locals: &Locals) -> Result<bool, FilebenchUsageError> {
        match self.resolved(value, locals)? {
            Resolved::Boolean(yes) => Ok(yes),
            Resolved::Integer(number) => Ok(number != 0),
            _ => Err(FilebenchUsageError::at(value.place, "expected `true` or `false`")),
        }
    }

    pub(super) fn text(&self, value: &Value, locals: &Locals) -> Result<String, FilebenchUsageError> {
        match self.resolved(value, locals)? {
            Resolved::Text(text) => Ok(text),
            Resolved::Integer(number) => Ok(number.to_string()),
            Resolved::Boolean(yes) => Ok(yes.to_string()),
            Resolved::Drawn(_) => Err(FilebenchUsageError::at(value.place, "expected a name, found a random variable")),
        }
    }

    /// Returns the number of an attribute, or `None`.
    fn number_of(&self, attributes: &Attributes, name: &str, depth: usize) -> Result<Option<f64>, FilebenchUsageError> {
        let Some(attribute) = attributes.get(name) else { return Ok(None) };
        match self.resolved_at(&attribute.value, &Locals::new(), depth + 1)? {
            Resolved::Integer(number) => Ok(Some(number as f64)),
            Resolved::Text(text) if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(text.parse().ok()),
            _ => Err(FilebenchUsageError::at(attribute.place, format!("`{name}` needs a number"))),
        }
    }

    /// Builds a random variable: uniform from `min` to `2 mean - min`; gamma above `min` with this
    /// mean; or by a table.
    fn random(&self, attributes: &Attributes, rows: &[Row], depth: usize) -> Result<Variable, FilebenchUsageError> {
        let number = |name| self.number_of(attributes, name, depth);
        let min = number("min")?.unwrap_or(0.0);
        let mean = number("mean")?;
        let shape = number("gamma")?.unwrap_or(1500.0) / 1000.0;
        let round = number("round")?.filter(|round| *round >= 1.0).map(|round| round as u64);
        let kind = attributes.get("type");
        let word = kind.map(|kind| self.resolved_at(&kind.value, &Locals::new(), depth + 1)).transpose()?;
        let plain = |draw, times, plus| Variable { times, plus, round, ..Variable::from_draw(draw) };
        if !rows.is_empty() {
            return self.table(rows, min, mean, depth).map(|variable| Variable { round, ..variable });
        }
        match word {
            Some(Resolved::Text(word)) if word == "uniform" => {
                Ok(plain(Draw::Uniform, 2.0 * (mean.unwrap_or(min) - min), min))
            }
            None => self.gamma(attributes, shape, mean.unwrap_or(shape) - min, min).map(|v| Variable { round, ..v }),
            Some(Resolved::Text(word)) if word == "gamma" => {
                self.gamma(attributes, shape, mean.unwrap_or(shape) - min, min).map(|v| Variable { round, ..v })
            }
            Some(Resolved::Text(word)) if word == "tabular" => {
                Err(FilebenchUsageError::at(attributes.place, "a tabular variable needs a `randtable`")
                    .help("add `randtable={{100, 1k, 4k}}`"))
            }
            _ => Err(FilebenchUsageError::at(
                kind.map_or(attributes.place, |kind| kind.value.place),
                "unknown type of distribution",
            )
            .help("use uniform, gamma or tabular")),
        }
    }

    fn gamma(
        &self,
        attributes: &Attributes,
        shape: f64,
        above: f64,
        min: f64,
    ) -> Result<Variable, FilebenchUsageError> {
        if shape <= 0.0 {
            return Err(
                FilebenchUsageError::at(attributes.place, "`gamma` must be above 0").help("1500 is a shape of 1.5")
            );
        }
        Ok(Variable { times: above / shape, plus: min, ..Variable::from_draw(Draw::Gamma { shape }) })
    }

    fn table(&self, rows: &[Row], min: f64, mean: Option<f64>, depth: usize) -> Result<Variable, FilebenchUsageError> {
        let cell = |value: &Value| match self.resolved_at(value, &Locals::new(), depth + 1)? {
            Resolved::Integer(number) => Ok(number as f64),
            _ => Err(FilebenchUsageError::at(value.place, "a table needs numbers")),
        };
        let mut table = Vec::with_capacity(rows.len());
        for row in rows {
            let [weight, low, high] = &row.cells;
            let row = TableRow { weight: cell(weight)?, low: cell(low)?, high: cell(high)? };
            if row.low > row.high {
                return Err(FilebenchUsageError::at(low.place, "the smallest value is above the largest"));
            }
            table.push(row);
        }
        let total: f64 = table.iter().map(|row| row.weight).sum();
        if total != 100.0 {
            let place = rows.first().map_or(Place::default(), |row| row.place);
            return Err(FilebenchUsageError::at(place, format!("the shares of the table add up to {total} %"))
                .help("they must add up to 100 %"));
        }
        let smallest = table.iter().map(|row| row.low).fold(f64::INFINITY, f64::min);
        let own_mean = table.iter().map(|row| row.weight * f64::midpoint(row.low, row.high)).sum::<f64>() / total;
        // Scale the table so that its smallest value and its mean become the requested ones.
        let stretch = match own_mean - smallest {
            0.0 => 0.0,
            width => (mean.filter(|mean| *mean > 0.0).unwrap_or(own_mean) - min) / width,
        };
        Ok(Variable { times: stretch, plus: min - stretch * smallest, ..Variable::from_draw(Draw::Table(table)) })
    }

    /// Builds a custom variable: a distribution with its own parameters, and limits.
    fn custom(&self, attributes: &Attributes, depth: usize) -> Result<Variable, FilebenchUsageError> {
        let text = |name: &str| -> Result<Option<String>, FilebenchUsageError> {
            let Some(attribute) = attributes.get(name) else { return Ok(None) };
            match self.resolved_at(&attribute.value, &Locals::new(), depth + 1)? {
                Resolved::Text(text) => Ok(Some(text)),
                _ => Err(FilebenchUsageError::at(attribute.place, format!("`{name}` needs a text"))),
            }
        };
        let place = attributes.place;
        let kind = text("type")?.ok_or_else(|| FilebenchUsageError::at(place, "a custom variable needs a `type`"))?;
        let Some(custom) = CUSTOM.iter().find(|custom| custom.name == kind) else {
            let error = FilebenchUsageError::at(place, format!("unknown custom variable `{kind}`"));
            let names = CUSTOM.iter().map(|custom| custom.name);
            return Err(error.nearest(&kind, names, "`filebench -c` lists them"));
        };
        let mut numbers = custom.parameters.map(|(_, usual)| usual);
        for pair in text("parameters")?.unwrap_or_default().split(';').filter(|pair| !pair.trim().is_empty()) {
            let known = pair.split_once(':').and_then(|(name, number)| {
                let at = custom.parameters.iter().position(|(known, _)| *known == name.trim())?;
                Some((at, number.trim().parse::<f64>().ok().filter(|number| number.is_finite())?))
            });
            let Some((at, number)) = known else {
                let names: Vec<&str> =
                    custom.parameters.iter().map(|(name, _)| *name).filter(|name| !name.is_empty()).collect();
                return Err(FilebenchUsageError::at(place, format!("`{pair}` is not a parameter of {kind}"))
                    .help(format!("parameters are {}, each with `:` and a number", names.join(", "))));
            };
            numbers[at] = number;
        }
        let variable = (custom.of)(numbers).ok_or_else(|| {
            FilebenchUsageError::at(place, format!("invalid parameters of {kind}"))
                .help("shapes, rates and deviations are above 0, and a mode lies between the limits")
        })?;
        let number = |name| self.number_of(attributes, name, depth);
        let round = number("round")?.filter(|round| *round >= 1.0).map(|round| round as u64);
        Ok(Variable { round, min: number("min")?.unwrap_or(0.0), max: number("max")?, ..variable })
    }

    /// Replaces the variables in a text. Unset ones stay as they are.
    pub(super) fn written(&self, texts: &[Text]) -> String {
        let mut all = String::new();
        for text in texts {
            match text {
                Text::Value(value) => {
                    if let ValueKind::Variable(name) = &value.kind {
                        self.write(name, &mut all);
                    }
                }
                Text::Quoted(text) => {
                    for piece in pieces(text) {
                        match piece {
                            Piece::Plain(text) => all.push_str(text),
                            Piece::Variable(name) => self.write(name, &mut all),
                        }
                    }
                }
            }
        }
        all.replace(DOLLAR, "$")
    }

    fn write(&self, name: &str, to: &mut String) {
        match self.get(name) {
            Some(Held::Integer(number)) => to.push_str(&number.to_string()),
            Some(Held::Boolean(yes)) => to.push_str(&yes.to_string()),
            Some(Held::Text(text)) => to.push_str(text),
            Some(Held::Random(attributes, rows)) => {
                let kind = attributes.get("type").map(|kind| &kind.value.kind);
                to.push_str(match (rows.is_empty(), kind) {
                    (false, _) => "tabular random var",
                    (true, Some(ValueKind::Text(kind))) if kind == "uniform" => "uniform random var",
                    (true, _) => "gamma random var",
                });
            }
            Some(Held::Custom(_)) => to.push_str("custom variable"),
            None => {
                to.push('$');
                to.push_str(name);
            }
        }
    }
}

/// A part of a quoted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    Plain(&'a str),
    /// A variable, by its name.
    Variable(&'a str),
}

/// Splits a quoted text into its parts. Variables are written as `$name` or `${name}`.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut all, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find('$') {
        let (plain, after) = (&rest[..at], &rest[at + 1..]);
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, after) = braced.unwrap_or_else(|| after.split_at(after.find(|c| !inside(c)).unwrap_or(after.len())));
        if name.is_empty() {
            // A dollar that starts no variable.
            all.push(Piece::Plain(&rest[..=at]));
            rest = &rest[at + 1..];
        } else {
            all.extend([Piece::Plain(plain), Piece::Variable(name)]);
            rest = after;
        }
    }
    all.push(Piece::Plain(rest));
    all
}

/// A custom variable that Filebench provides.
pub(super) struct Custom {
    pub(super) name: &'static str,
    /// Names and defaults of the parameters. Unused ones have an empty name.
    pub(super) parameters: [(&'static str, f64); 3],
    of: fn([f64; 3]) -> Option<Variable>,
}

const NONE: (&str, f64) = ("", 0.0);

fn scale_draw(draw: Draw, times: f64, plus: f64) -> Option<Variable> {
    Some(Variable { times, plus, ..Variable::from_draw(draw) })
}

fn above_0(number: f64) -> Option<f64> {
    (number > 0.0).then_some(number)
}

pub(super) const CUSTOM: [Custom; 8] = [
    Custom {
        name: "cvar-erlang",
        parameters: [("shape", 1.0), ("rate", 1.0), NONE],
        of: |[shape, rate, _]| scale_draw(Draw::Gamma { shape: above_0(shape)? }, 1.0 / above_0(rate)?, 0.0),
    },
    Custom {
        name: "cvar-exponential",
        parameters: [("mean", 1.0), NONE, NONE],
        of: |[mean, ..]| scale_draw(Draw::Gamma { shape: 1.0 }, mean, 0.0),
    },
    Custom {
        name: "cvar-gamma",
        parameters: [("mean", 4096.0), ("gamma", 1.5), NONE],
        of: |[mean, shape, _]| scale_draw(Draw::Gamma { shape: above_0(shape)? }, mean / shape, 0.0),
    },
    Custom {
        name: "cvar-lognormal",
        parameters: [("shape", 1.0), ("scale", 1.0), NONE],
        of: |[shape, scale, _]| scale_draw(Draw::LogNormal { mean: scale, deviation: shape }, 1.0, 0.0),
    },
    Custom {
        name: "cvar-normal",
        parameters: [("mean", 0.0), ("sigma", 1.0), NONE],
        of: |[mean, sigma, _]| scale_draw(Draw::Normal, sigma, mean),
    },
    Custom {
        name: "cvar-triangular",
        parameters: [("lower", 0.0), ("upper", 1.0), ("mode", 0.5)],
        of: |[lower, upper, mode]| {
            let width = above_0(upper - lower)?;
            let mode = (mode - lower) / width;
            if (0.0..=1.0).contains(&mode) { scale_draw(Draw::Triangular { mode }, width, lower) } else { None }
        },
    },
    Custom {
        name: "cvar-uniform",
        parameters: [("lower", 0.0), ("upper", 1.0), NONE],
        of: |[lower, upper, _]| scale_draw(Draw::Uniform, upper - lower, lower),
    },
    Custom {
        name: "cvar-weibull",
        parameters: [("shape", 1.0), ("scale", 1.0), NONE],
        of: |[shape, scale, _]| scale_draw(Draw::Weibull { shape: above_0(shape)? }, scale, 0.0),
    },
];
