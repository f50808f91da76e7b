//! Objections of a careful reader to a study.

use super::error::StudyError;
use super::factors::WORKING_SET;
use super::form::OrderForm;
use super::levels::{conditions_in, names_in};
use super::study::{PLOTS, PLOTS_MIN, Study, repeats};
use crate::plan::{ComparePlan, Plan, Plot, is_meant, order};
use plumb_document::Value;
use plumb_lab::Step;
use plumb_result::Metric;
use plumb_workload::suggest::nearest;

impl Study<'_> {
    /// Adds the objections of a careful reader to the warnings.
    pub(super) fn warn(&mut self, plan: &Plan, exploratory: bool) {
        let (compare, estimate) = (&plan.compare, &plan.estimate);
        let mut warnings = lazy_file_systems(&plan.plots);
        let plots = plan.plots.iter().map(|plot| plot.block + 1).max().unwrap_or(0);
        let varies_hard = self.factors.all.iter().any(|factor| factor.hard);
        if varies_hard && plots < PLOTS_MIN {
            warnings.push("one plot per level is a single sample: every verdict will be `cannot-tell`".to_owned());
        } else if varies_hard && plots < PLOTS {
            warnings.push(format!("{plots} plots per level show only large differences; use at least {PLOTS}"));
        } else if plan.provisions_anew() && plots == PLOTS_MIN && !compare.by.is_empty() {
            warnings.push(format!(
                "what `{by}` does may differ between plots, and {plots} of them show only large effects; use at least {PLOTS}, \
                 or one, to learn of that one alone",
                by = compare.by
            ));
        }
        if exploratory && plots >= PLOTS_MIN {
            warnings.push(format!("`--exploratory` is not needed with {plots} plots per level"));
        }
        if self.form.design.order == OrderForm::Listed {
            warnings.push("the order is fixed: drift would look like an effect".to_owned());
        }
        for factor in &self.factors.all {
            if !self.is_used(factor.name.as_str()) && factor.binds.is_none() {
                let name = &factor.name;
                let hands = if factor.hard { "unless you change it by hand, " } else { "" };
                warnings.push(format!(
                    "nothing uses `{name}`: {hands}all its levels are the same; put `${{{name}}}` where it belongs"
                ));
            }
        }
        for metric in &compare.metrics {
            if !is_metric(metric) {
                let names: Vec<String> = Metric::all().iter().map(ToString::to_string).collect();
                let hint = nearest(metric, names.iter().map(String::as_str))
                    .map(|name| format!("; did you mean `{name}`?"))
                    .unwrap_or_default();
                warnings.push(format!("no run produces the metric `{metric}`: it will be missing{hint}"));
            }
        }
        for workload in &self.workloads {
            let table = workload.table.get_ref().as_table();
            let says = |key: &str| table.is_some_and(|table| table.contains_key(key));
            if says("dialect") && says("cache") {
                warnings.push(format!(
                    "`{}`: between its own passes a tool drops nothing from the cache; what its reads measured is what their \
                     tier says",
                    workload.name
                ));
            }
        }
        let (least, most) = repeats(&self.form);
        warnings.extend(self.unbalanced(plan, plots));
        match (&self.form.stop, least < most) {
            (Some(_), false) => warnings.push("`[stop]` has no effect: the number of repetitions is fixed".to_owned()),
            (None, true) => warnings.push(format!("no `[stop]`: all {most} repetitions will run")),
            _ => {}
        }
        if let (Some(budget), Some(seconds)) = (self.form.experiment.budget, estimate.seconds)
            && seconds * 1e9 > budget.0 as f64
        {
            warnings.push(format!("the whole study may take longer than the budget of {budget}"));
        }
        warnings.append(&mut self.warnings);
        self.warnings = warnings;
    }

    /// Warns if repetitions of an easy factor end within a block of orders: then some of its levels run
    /// after some others more often.
    fn unbalanced(&self, plan: &Plan, plots: u32) -> Option<String> {
        let (least, _) = repeats(&self.form);
        let levels = plan.factors.iter().find(|factor| factor.name == plan.compare.by && !factor.hard)?.levels.len();
        let in_plot = plan.runs.iter().filter(|run| run.plot == 0 && run.repeat == 0).count();
        let complete = order::complete(self.run_order(), in_plot);
        let is_small = in_plot == levels && complete <= 4;
        let orders = plots * least;
        (is_small && !orders.is_multiple_of(complete)).then(|| {
            format!(
                "{orders} orders of {levels} levels are not a complete block: some levels run after others more often; use a \
                 `repeat` by which `plots` makes a multiple of {complete}"
            )
        })
    }

    /// Rejects a study with only unknown metrics, which would run to its end and answer nothing.
    pub(super) fn check_metrics(&self, compare: &ComparePlan) -> Result<(), StudyError> {
        for (key, wished) in [("metrics", &compare.metrics), ("primary", &compare.primary)] {
            let Some(first) = wished.first().filter(|_| !wished.iter().any(|name| is_metric(name))) else { continue };
            // Device counts have their own names, which are checked one by one.
            if first.starts_with("device.") {
                continue;
            }
            let names: Vec<String> = Metric::all().iter().map(ToString::to_string).collect();
            let hint = match nearest(first, names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`? "),
                None => String::new(),
            };
            return Err(self.failed(
                self.place(&["compare", key]),
                format!("no run produces any of the {key} `{}`: the study would answer nothing", wished.join("`, `")),
                format!("{hint}known are {}", families().join(", ")),
            ));
        }
        Ok(())
    }

    /// Rejects unknown device counts, which are a closed list. Other unknown metrics may still come from a tool.
    pub(super) fn check_device_metrics(&self, compare: &ComparePlan) -> Result<(), StudyError> {
        let of_devices = || Metric::all().into_iter().filter(|metric| metric.device_count().is_some());
        let names: Vec<String> = of_devices().map(|metric| metric.to_string()).collect();
        if let Some(metric) = compare.metrics.iter().find(|name| self.has_agents() && name.starts_with("device.")) {
            return Err(self.failed(
                self.place(&["compare", "metrics"]),
                format!("agents do not count `{metric}`"),
                "use a number that each run reports, or a host with `ssh` or `vm`",
            ));
        }
        for metric in compare.metrics.iter().filter(|name| name.starts_with("device.")) {
            if !names.contains(metric) {
                let help = match nearest(metric, names.iter().map(String::as_str)) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => format!("they are {}", names.join(", ")),
                };
                let message = format!("no device counter is called `{metric}`");
                return Err(self.failed(self.place(&["compare", "metrics"]), message, help));
            }
        }
        let stop = self.form.stop.as_ref().map(|stop| stop.metric.as_str());
        if let Some(metric) = stop.and_then(|stop| of_devices().find(|metric| is_meant(stop, *metric))) {
            return Err(self.failed(
                self.place(&["stop", "metric"]),
                format!("`{metric}` cannot be used to stop"),
                "use a number that each run reports, such as `write.bw`".to_owned(),
            ));
        }
        Ok(())
    }

    fn is_used(&self, name: &str) -> bool {
        let mut names = Vec::new();
        for key in ["provision", "target", "workload"] {
            if let Some(value) = self.table.get(key) {
                names_in(value.get_ref(), &mut names);
                conditions_in(value.get_ref(), &mut names);
            }
        }
        for factor in &self.factors.all {
            names.extend(factor.when.keys().cloned());
            for text in factor.on_enter.iter().chain(&factor.on_leave) {
                names_in(&Value::Text(text.clone()), &mut names);
            }
        }
        names.iter().any(|used| used == name) || name == WORKING_SET
    }
}

/// Returns new ext4 file systems whose inode tables the kernel zeroes during measurements, because the step asks for
/// it; by default the lab initializes them completely. Each is named once. Source: mke2fs(8), `-E`.
fn lazy_file_systems(plots: &[Plot]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let steps = plots.iter().flat_map(|plot| plot.steps.iter().enumerate());
    for (number, options) in steps.filter_map(|(number, step)| match step {
        Step::Mkfs(step) if step.fs == "ext4" => Some((number, &step.options)),
        _ => None,
    }) {
        if !options.iter().any(|option| option.contains("lazy_itable_init") && !option.contains("lazy_itable_init=0")) {
            continue;
        }
        let warning = format!(
            "step {} (mkfs): the kernel goes on initialising this ext4 while runs are measured, and check C3 rejects those; \
             leave out lazy_itable_init, or set it to 0",
            number + 1
        );
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// Lists all metrics briefly: `read.{bw,iops,lat.p50,…}`.
fn families() -> Vec<String> {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    for metric in Metric::all() {
        let name = metric.to_string();
        let Some((subject, quantity)) = name.split_once('.') else { continue };
        match families.iter_mut().find(|(known, _)| known == subject) {
            Some((_, quantities)) => quantities.push(quantity.to_owned()),
            None => families.push((subject.to_owned(), vec![quantity.to_owned()])),
        }
    }
    // Group subjects with the same quantities.
    let mut alike: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for (subject, quantities) in families {
        match alike.iter_mut().find(|(_, known)| *known == quantities) {
            Some((subjects, _)) => subjects.push(subject),
            None => alike.push((vec![subject], quantities)),
        }
    }
    alike
        .into_iter()
        .map(|(subjects, quantities)| format!("({}).({})", subjects.join("|"), quantities.join("|")))
        .collect()
}

/// Returns `true` if a run may have it: a metric, or the last parts of one.
fn is_metric(name: &str) -> bool {
    Metric::all().into_iter().any(|metric| is_meant(name, metric))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{SMALL, planned, refused};

    // Protects: a study that would run to its end and answer nothing is refused before it runs,
    // with the names that exist.
    #[test]
    fn a_study_of_unknown_metrics_alone_is_refused() {
        let with = |metrics: &str| format!("{SMALL}metrics = [{metrics}]\n");
        let error = refused(&with("\"read.iosp\""));
        assert!(error.contains("would answer nothing") && error.contains("did you mean `read.iops`?"), "{error}");
        let error = refused(&with("\"delay\", \"throughput\""));
        assert!(error.contains("`delay`, `throughput`") && error.contains("lat.p99"), "{error}");
        let plan = planned(&with("\"read.iops\", \"throughput\""));
        assert!(plan.warnings.iter().any(|text| text.contains("`throughput`")), "{:?}", plan.warnings);
        let error = refused(&format!("{}primary = [\"speed\"]\n", with("\"read.iops\"")));
        assert!(error.contains("any of the primary `speed`"), "{error}");
    }
}
