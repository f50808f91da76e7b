//! Parameters of an address: `?host=n1&after=…`.

use crate::fault::Fault;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use plumb_result::RunVerdict;
use plumb_store::{Filter, PageEnd, RunStatus};
use std::str::FromStr;
use strum::VariantArray;

/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 1024;

/// The parameters of an address, as they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses what follows the question mark. Empty values count as missing, because forms send all of their fields.
    pub(crate) fn parse(query: Option<&str>) -> Result<Parameters, Fault> {
        let mut all = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let value = value.trim();
            if value.len() > VALUE_BYTES_MAX {
                return Err(Fault::Request(format!("`{name}` is longer than {VALUE_BYTES_MAX} bytes")));
            }
            if value.contains('\0') {
                return Err(Fault::Request(format!("`{name}` has a NUL character")));
            }
            if !value.is_empty() {
                all.push((name.into_owned(), value.to_owned()));
            }
        }
        Ok(Parameters(all))
    }

    /// Returns the first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns all values of a parameter, in order.
    pub(crate) fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Creates parameters for an address.
    pub(crate) fn new<const N: usize>(all: [(&str, &String); N]) -> Parameters {
        Parameters(all.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect())
    }

    /// Returns the parts of a value that commas separate.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let parts = self.get(name).unwrap_or_default().split(',').map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the address of a page with these parameters.
    pub(crate) fn address(&self, path: &str) -> String {
        self.with(path, "", None)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(str::to_owned)
    }

    /// Returns a number within limits, or `default` without the parameter.
    pub(crate) fn number(&self, name: &str, default: u32, most: u32) -> Result<u32, Fault> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number: Option<u32> = text.parse().ok();
        number
            .filter(|number| (1..=most).contains(number))
            .ok_or_else(|| Fault::Request(format!("`{name}={text}` is not a number from 1 to {most}")))
    }

    /// Returns the conditions on runs.
    pub(crate) fn filter(&self) -> Result<Filter, Fault> {
        let verdict = |text: &str| {
            let known = RunVerdict::VARIANTS.iter().copied().find(|verdict| verdict.name() == text);
            known.ok_or_else(|| unknown("verdict", text, RunVerdict::VARIANTS.iter().map(|verdict| verdict.name())))
        };
        let status = |text: &str| {
            RunStatus::from_str(text)
                .map_err(|_| unknown("status", text, RunStatus::VARIANTS.iter().map(|status| status.name())))
        };
        Ok(Filter {
            host: self.text("host"),
            model: self.text("model"),
            filesystem: self.text("fs"),
            kernel: self.text("kernel"),
            workload: self.text("workload"),
            tool: self.text("tool"),
            tag: self.text("tag"),
            path: self.text("path"),
            status: self.get("status").map(status).transpose()?,
            verdict: self.get("verdict").map(verdict).transpose()?,
            since_ns: self.get("from").map(|text| nanoseconds("from", text, 0)).transpose()?,
            until_ns: self.get("until").map(|text| nanoseconds("until", text, 1)).transpose()?,
            text: self.text("q"),
            ..Filter::default()
        })
    }

    /// Returns the key of the run after which a page begins.
    pub(crate) fn after(&self) -> Result<Option<PageEnd>, Fault> {
        let Some(text) = self.get("after") else { return Ok(None) };
        let key =
            text.split_once('.').and_then(|(at, id)| Some(PageEnd { started_ns: at.parse().ok()?, id: id.to_owned() }));
        key.map(Some).ok_or_else(|| Fault::Request(format!("`after={text}` is not from a list of runs")))
    }

    /// Returns the address of the same list with one parameter changed, or removed if `value` is `None`. A changed condition
    /// starts the list at its first page.
    pub(crate) fn with(&self, path: &str, name: &str, value: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (known, kept) in self.0.iter().filter(|(known, _)| known != name && known != "after") {
            query.append_pair(known, kept);
        }
        if let Some(value) = value {
            query.append_pair(name, value);
        }
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

/// Returns an address with one parameter.
pub(crate) fn address(path: &str, name: &str, value: &str) -> String {
    Parameters::default().with(path, name, Some(value))
}

/// Returns the text of a key, as [`Parameters::after`] reads it.
pub(crate) fn key_text(key: &PageEnd) -> String {
    format!("{}.{}", key.started_ns, key.id)
}

fn unknown(name: &str, text: &str, known: impl Iterator<Item = &'static str>) -> Fault {
    let known: Vec<&str> = known.collect();
    Fault::Request(format!("unknown {name} `{text}`; there is {}", known.join(", ")))
}

/// Parses a date, plus some days, or a time.
fn nanoseconds(name: &str, text: &str, further_days: i64) -> Result<i64, Fault> {
    let of_date = |date: Date| date.checked_add(further_days.days()).ok()?.to_zoned(TimeZone::UTC).ok();
    let at = match text.parse::<Timestamp>() {
        Ok(at) => Some(at),
        Err(_) => text.parse::<Date>().ok().and_then(of_date).map(|zoned| zoned.timestamp()),
    };
    at.and_then(|at| i64::try_from(at.as_nanosecond()).ok()).ok_or_else(|| {
        Fault::Request(format!(
            "`{name}={text}` is neither a date nor a time, such as 2026-11-30 or 2026-11-30T08:00:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Result<Filter, Fault> {
        Parameters::parse(Some(text)).and_then(|all| all.filter())
    }

    #[test]
    fn conditions_are_read_and_empty_fields_are_none() {
        let found = query("q=+random+read+&host=&verdict=pass&fs=ext4&until=1970-01-01").unwrap();
        let expected = Filter {
            text: Some("random read".to_owned()),
            verdict: Some(RunVerdict::Pass),
            filesystem: Some("ext4".to_owned()),
            until_ns: Some(86_400_000_000_000),
            ..Filter::default()
        };
        assert_eq!(found, expected);
    }

    // Protects the database and the log from what strangers type.
    #[test]
    fn hostile_values_are_errors() {
        for text in [
            "verdict=good",
            "status=%00",
            "from=yesterday",
            "until=9999-12-31",
            "from=-9999-01-01",
            &format!("q={}", "x".repeat(2000)),
        ] {
            assert!(matches!(query(text), Err(Fault::Request(_))), "{text}: {:?}", query(text));
        }
        let after = |text: &str| Parameters::parse(Some(text)).unwrap().after();
        assert!(after("after=x.y").is_err());
        assert_eq!(after("after=5.018f").unwrap().unwrap(), PageEnd { started_ns: 5, id: "018f".to_owned() });
    }

    #[test]
    fn addresses_keep_the_other_conditions() {
        let all = Parameters::parse(Some("host=a%26b&after=5.x&q=1")).unwrap();
        assert_eq!(all.with("/runs", "q", None), "/runs?host=a%26b");
        assert_eq!(all.with("/runs", "after", Some("4.y")), "/runs?host=a%26b&q=1&after=4.y");
    }
}
