//! Lowers file sets to targets.

use super::Lowering;
use super::attributes::ScopedAttributes;
use super::names::free;
use crate::filebench::FilebenchUsageError;
use crate::filebench::session::{Defined, SetDefinition};
use crate::filebench::variables::{Locals, Resolved};
use plumb_workload::Target;
use plumb_workload::program::{Amount, Draw, ExistingTree, SharedTree, TreeAccess, Variable};

/// Number of threads that lay out a set in parallel.
const LAYOUT_THREADS: u32 = 32;

impl Lowering<'_> {
    pub(super) fn set(&mut self, defined: &Defined<SetDefinition>) -> Result<(), FilebenchUsageError> {
        let SetDefinition { attributes, single } = &defined.it;
        let locals = Locals::new();
        let seen = self.seen(attributes, &locals);
        let name = seen.name()?;
        let place = attributes.place;
        if self.plan.sets.values().any(|other| *other == name) {
            return Err(FilebenchUsageError::at(place, format!("the file set `{name}` is defined twice")));
        }
        let path = seen
            .text("path")?
            .ok_or_else(|| FilebenchUsageError::at(place, "it has no path").help("add `path=/tmp`"))?;
        let preallocated_percent = preallocated_percent(&seen)?;
        let files = if *single { 1 } else { seen.integer("entries", 0)? };
        let leaves = seen.integer("leafdirs", 0)?;
        let width = if *single { Amount::Fixed(10) } else { seen.amount("dirwidth")?.unwrap_or(Amount::Fixed(0)) };
        let gamma = if *single { 0 } else { seen.integer("dirgamma", 1500)? };
        let existing = match (seen.boolean("trusttree")?, seen.boolean("reuse")?) {
            (true, _) => ExistingTree::Trust,
            (false, true) => ExistingTree::Reuse,
            (false, false) => ExistingTree::Remove,
        };
        let access = match (seen.boolean("readonly")?, seen.boolean("writeonly")?) {
            (true, _) => TreeAccess::Read,
            (false, true) => TreeAccess::Write,
            (false, false) => TreeAccess::ReadWrite,
        };
        let depth = depth(&seen, &width, files.saturating_add(leaves))?;
        let size = size(&seen)?;
        let uncached = seen.value("cached").is_some() && !seen.boolean("cached")?;
        let tree = SharedTree {
            path: format!("{path}/{name}").into(),
            files,
            leaf_directories: leaves,
            size,
            width,
            depth,
            spread: gamma as f64 / 1000.0,
            preallocated_percent,
            layout_threads: if seen.boolean("paralloc")? { LAYOUT_THREADS } else { 1 },
            existing,
            uncached,
            access,
            content: Default::default(),
        };
        let target = free(&name, |name| self.plan.workload.target.contains_key(name));
        if *single {
            self.plan.single.push(target.clone());
        }
        self.plan.workload.target.insert(target.clone(), Target::SharedTree(tree));
        self.plan.sets.insert(target, name);
        self.remark_idle(attributes, &defined.file);
        Ok(())
    }
}

/// Returns the percentage of files that exist from the start: `prealloc`, a flag or a percentage.
fn preallocated_percent(seen: &ScopedAttributes<'_>) -> Result<u32, FilebenchUsageError> {
    match seen.value("prealloc").map(|value| seen.variables.resolved(value, seen.locals)) {
        None => Ok(0),
        Some(Ok(Resolved::Boolean(yes))) => Ok(u32::from(yes) * 100),
        Some(Ok(Resolved::Integer(percent @ 0..=100))) => Ok(percent as u32),
        Some(Ok(_)) => {
            Err(FilebenchUsageError::at(seen.place("prealloc"), "`prealloc` needs a percentage from 0 to 100"))
        }
        Some(Err(error)) => Err(error),
    }
}

/// Returns the depth of a tree with this many entries. The mean of a random depth follows from
/// their number and the width.
fn depth(seen: &ScopedAttributes<'_>, width: &Amount, entries: u64) -> Result<Option<Amount>, FilebenchUsageError> {
    Ok(match seen.amount("dirdepthrv")? {
        // Scale the distribution to the mean that follows from entries and width.
        Some(Amount::Drawn(mut depth)) => {
            let wide = width.mean().unwrap_or(1.0).max(1.0 + 1e-9);
            let mean = (entries.max(1) as f64).ln() / wide.ln();
            let own = Amount::Drawn(depth.clone()).mean().filter(|own| *own > 0.0).unwrap_or(mean);
            depth.times *= mean / own;
            depth.plus *= mean / own;
            Some(Amount::Drawn(depth))
        }
        fixed => fixed,
    })
}

/// Returns the size of files.
fn size(seen: &ScopedAttributes<'_>) -> Result<Amount, FilebenchUsageError> {
    // In version 1.4, sizes follow a gamma distribution, and files are dropped from the page cache after they are
    // created.
    let size = seen.amount("size")?.unwrap_or(Amount::Fixed(1024));
    Ok(match (size, seen.integer("filesizegamma", 0)? as f64 / 1000.0) {
        (Amount::Fixed(mean), shape) if shape > 0.0 => Amount::Drawn(Box::new(Variable {
            times: mean as f64 / shape,
            ..Variable::from_draw(Draw::Gamma { shape })
        })),
        (size, _) => size,
    })
}
