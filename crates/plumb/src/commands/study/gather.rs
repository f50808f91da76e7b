//! `plumb study gather`: one study from the databases of processes that measured one plot each.

use super::report::{end, found};
use clap::Args;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::error_line;
use plumb_cli::session;
use plumb_store::{Store, StoredStudy};
use plumb_study::conduct::{FrozenStudy, StudyOrigin};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct GatherArguments {
    /// Databases that `plumb study run FILE --plot N --db DATABASE` filled. The newest study of each counts.
    #[arg(value_name = "DATABASE", required = true)]
    pub parts: Vec<PathBuf>,
}

/// A database and its newest study.
struct Part {
    path: PathBuf,
    store: Store,
    study: StoredStudy,
}

impl Part {
    fn open(path: &Path) -> Result<Part, Stopped> {
        if !path.is_file() {
            return Err(Stopped::usage(format!("{} is not a file", path.display())));
        }
        let store = Store::open_to_read(path)?;
        let newest = store.studies()?.into_iter().next();
        let newest = newest.ok_or_else(|| Stopped::usage(format!("{} holds no study", path.display())))?;
        if newest.running {
            return Err(Stopped::usage(format!(
                "{}: its study is being measured; gather it afterwards",
                path.display()
            )));
        }
        let study = store.study(&newest.id)?;
        Ok(Part { path: path.to_owned(), store, study })
    }
}

/// Takes all finished plots into one study of the local store, and reports it.
pub(super) fn run(arguments: &GatherArguments, common: &Common) -> Result<End, Stopped> {
    let parts = arguments.parts.iter().map(|path| Part::open(path)).collect::<Result<Vec<Part>, Stopped>>()?;
    let Some(first) = parts.first() else { return Err(Stopped::usage("no database is named")) };
    let hash = &first.study.row.plan_hash;
    if let Some(other) = parts.iter().find(|part| part.study.row.plan_hash != *hash) {
        return Err(Stopped::usage(format!(
            "{} and {} hold studies of different plans: measure all plots of one file, with the same options",
            first.path.display(),
            other.path.display()
        )));
    }
    let mut store = session::store(common)?;
    let id = match store.studies()?.into_iter().find(|study| study.plan_hash == *hash) {
        Some(known) => known.id,
        None => begin(&mut store, first)?,
    };
    store.claim_study(&id)?;
    let taken = take(&mut store, &id, &parts);
    store.release_study(&id)?;
    let taken = taken?;
    let report = found(&store, &id, common)?;
    let open = store.study_runs(&id)?.iter().filter(|run| !run.status.has_ended()).count();
    let plots = plumb_trust::text::count(u64::from(taken), "plot");
    match open {
        0 => error_line!("gathered {plots} into study {id}"),
        open => error_line!(
            "gathered {plots} into study {id}; {} missing: gather the others, or measure here what is left with `plumb study resume {id}`",
            plumb_trust::text::count(open as u64, "run")
        ),
    }
    Ok(end(&report))
}

fn begin(store: &mut Store, part: &Part) -> Result<String, Stopped> {
    let StoredStudy { row, text, options, .. } = &part.study;
    let plan = FrozenStudy::open(&part.store, &row.id)?.plan;
    let origin = StudyOrigin { file: &row.file, text, options };
    Ok(FrozenStudy::begin(store, plan, &origin)?.id)
}

fn take(store: &mut Store, id: &str, parts: &[Part]) -> Result<u32, Stopped> {
    let mut taken = 0;
    for part in parts {
        let gathered = store.take_study_plots(id, &part.store, &part.study.row.id)?;
        taken += gathered.taken;
        if gathered.unfinished > 0 {
            let left_out = plumb_trust::text::count(u64::from(gathered.unfinished), "unfinished plot");
            error_line!("note: {}: {left_out} left out; `plumb study resume --plot` completes it", part.path.display());
        }
    }
    Ok(taken)
}
