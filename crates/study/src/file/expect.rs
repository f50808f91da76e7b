//! `[[expect]]`: theoretical counts of devices, checked against those of every run.

use super::error::StudyError;
use super::factors::Combined;
use super::form::ExpectForm;
use super::levels;
use super::study::Study;
use crate::plan::ExpectedCount;
use plumb_result::Metric;
use plumb_workload::suggest::nearest;
use std::collections::BTreeMap;

impl Study<'_> {
    /// Returns the counts that the study expects.
    ///
    /// # Errors
    /// A metric is not a device count, bounds exclude nothing or everything, or a factor is unknown.
    pub(super) fn expectations(&mut self, combined: &[Combined]) -> Result<Vec<ExpectedCount>, StudyError> {
        let mut found = Vec::new();
        for (number, form) in self.form.expect.iter().enumerate() {
            let count = self.expectation(form)?;
            // Another scale may lack the level, which is not an error.
            if !combined.iter().any(|cell| count.stands_for(&cell.levels)) {
                let (place, metric) = (number + 1, &form.metric);
                self.warnings.push(format!("no cell has the levels of expect {place} (`{metric}`): it is not checked"));
                continue;
            }
            found.push(count);
        }
        Ok(found)
    }

    fn expectation(&self, form: &ExpectForm) -> Result<ExpectedCount, StudyError> {
        let place = self.place(&["expect"]);
        let counts: Vec<String> =
            Metric::all().iter().filter(|metric| metric.device_count().is_some()).map(ToString::to_string).collect();
        if !counts.contains(&form.metric) {
            let help = match nearest(&form.metric, counts.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("they are {}", counts.join(", ")),
            };
            return Err(self.failed(place, format!("no device counter is called `{}`", form.metric), help));
        }
        let unknown = |name: &&String| !self.factors.all.iter().any(|factor| factor.name == **name);
        if let Some(name) = form.when.keys().find(unknown) {
            let names = self.factors.all.iter().map(|factor| factor.name.as_str());
            return Err(self.document.failures(vec![levels::unknown("factor", name, names, &place)]).into());
        }
        let (least, most) = match (form.value, form.at_least, form.at_most) {
            (Some(value), None, None) => {
                let share = form.within.map_or(0.0, |share| share.0);
                (value * (1.0 - share), Some(value * (1.0 + share)))
            }
            (None, least, most) if form.within.is_none() && (least, most) != (None, None) => {
                (least.unwrap_or(0.0), most)
            }
            _ => {
                return Err(self.failed(
                    place,
                    format!("it is not clear what `{}` should be", form.metric),
                    "give `value`, with `within = \"2%\"` where it is not exact; or `at-least`, `at-most` or both",
                ));
            }
        };
        if !(least.is_finite() && least >= 0.0 && most.is_none_or(|most| most.is_finite() && most >= least)) {
            return Err(self.failed(
                place,
                format!("no count is between {least} and {}", most.map_or("?".to_owned(), |most| most.to_string())),
                "counts are 0 or more, and `at-least` is not above `at-most`",
            ));
        }
        let levels = form.when.iter().map(|(factor, levels)| {
            (factor.clone(), levels.as_slice().iter().map(ToString::to_string).collect::<Vec<String>>())
        });
        Ok(ExpectedCount {
            metric: form.metric.clone(),
            least,
            most,
            levels: BTreeMap::from_iter(levels),
            because: form.because.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SMALL, planned, refused};

    fn with(expect: &str) -> String {
        format!("{SMALL}\n{expect}\n")
    }

    // Protects: expected counts are part of the plan, and a mistake is found before the first run.
    #[test]
    fn expectations_are_read_and_refused() {
        let plan = planned(&with(
            "[[expect]]\nmetric = \"device.written-per-byte\"\nvalue = 1.5\nwithin = \"2%\"\nwhen = { depth = [1, 16] }\n\
             because = \"parity\"\n\n[[expect]]\nmetric = \"device.read-bytes\"\nvalue = 0",
        ));
        let [parity, reads] = plan.expect.as_slice() else { panic!("{:?}", plan.expect) };
        assert!((parity.least - 1.47).abs() < 1e-9 && (parity.most.unwrap() - 1.53).abs() < 1e-9, "{parity:?}");
        assert_eq!((parity.because.as_str(), parity.levels["depth"].len()), ("parity", 2));
        assert_eq!((reads.least, reads.most), (0.0, Some(0.0)));
        assert!(planned(SMALL).expect.is_empty());
        for (text, message) in [
            ("metric = \"device.writen-per-byte\"\nvalue = 1", "did you mean `device.written-per-byte`?"),
            ("metric = \"write.bw\"\nvalue = 1", "no device counter is called `write.bw`"),
            ("metric = \"device.writes\"", "it is not clear what `device.writes` should be"),
            ("metric = \"device.writes\"\nvalue = 1\nat-most = 2", "it is not clear"),
            ("metric = \"device.writes\"\nat-most = 2\nat-least = 3", "no count is between 3 and 2"),
            ("metric = \"device.writes\"\nvalue = -1", "no count is between"),
            ("metric = \"device.writes\"\nvalue = nan", "no count is between"),
            ("metric = \"device.writes\"\nvalue = 1\nwhen = { dept = 1 }", "unknown factor `dept`"),
        ] {
            let error = refused(&with(&format!("[[expect]]\n{text}")));
            assert!(error.contains(message), "{text}: {error}");
        }
        let plan = planned(&with("[[expect]]\nmetric = \"device.writes\"\nvalue = 1\nwhen = { depth = 7 }"));
        assert!(plan.expect.is_empty() && plan.warnings.iter().any(|text| text.contains("it is not checked")));
    }
}
