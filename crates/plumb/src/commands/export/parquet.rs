//! `plumb export --parquet`: one file, or a directory that grows.

use super::Source;
use plumb_cli::exit::Stopped;
use plumb_cli::output;
use plumb_engine::guard::OutputFile;
use plumb_export::parquet::{NumbersWriter, Partition, file_name, runs_in};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows after which a directory's next file begins. Its metadata lists its runs, and every query reads the metadata.
const FILE_ROWS: usize = 1_000_000;

pub(super) fn write(source: &mut Source<'_>, path: &Path, site: Option<&str>) -> Result<(), Stopped> {
    let is_named_as_file = path.extension().is_some_and(|extension| extension == "parquet");
    let is_file = match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => false,
        Ok(found) if found.is_file() && !is_named_as_file => {
            return Err(Stopped::usage(format!(
                "--parquet: {} is a file; name a directory, or a file whose name ends in .parquet",
                path.display()
            )));
        }
        // A pipe or a terminal; a device is refused when it is opened.
        Ok(_) => true,
        Err(_) => is_named_as_file,
    };
    match (is_file, site) {
        (true, Some(_)) => {
            Err(Stopped::usage("--site names a part of a directory, and --parquet names a file; name a directory"))
        }
        (true, None) => write_file(source, path),
        (false, site) => write_directory(source, path, site),
    }
}

fn write_file(source: &mut Source<'_>, path: &Path) -> Result<(), Stopped> {
    let mut writer = NumbersWriter::new(Vec::new()).map_err(Stopped::io)?;
    source.each_flat(&mut |result| writer.add(result).map_err(Stopped::io))?;
    let content = writer.finish().map_err(Stopped::io)?;
    OutputFile::named("--parquet", path).replace(&content)?;
    super::print_path(path);
    Ok(())
}

/// A partition of the directory, and the file that is being made for it.
struct Part {
    directory: PathBuf,
    /// Runs that are in its files already.
    present: BTreeSet<String>,
    writer: Option<NumbersWriter<Vec<u8>>>,
    rows: usize,
}

fn write_directory(source: &mut Source<'_>, root: &Path, site: Option<&str>) -> Result<(), Stopped> {
    let mut parts: BTreeMap<Partition, Part> = BTreeMap::new();
    let (mut runs, mut skipped) = (0u64, 0u64);
    source.each_flat(&mut |result| {
        let partition = Partition::for_run(&result.run, site);
        let part = match parts.entry(partition) {
            std::collections::btree_map::Entry::Occupied(part) => part.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                let directory = root.join(place.key().directory());
                let present = runs_below(&directory)?;
                place.insert(Part { directory, present, writer: None, rows: 0 })
            }
        };
        if part.present.contains(&result.run.id) {
            skipped += 1;
            return Ok(());
        }
        runs += 1;
        part.add(result)
    })?;
    parts.values_mut().try_for_each(Part::finish)?;
    if runs == 0 {
        output::print(&match skipped {
            0 => "nothing to export\n".to_owned(),
            1 => format!("nothing new: the run is in {} already\n", root.display()),
            runs => format!("nothing new: the {runs} runs are in {} already\n", root.display()),
        });
    }
    Ok(())
}

impl Part {
    fn add(&mut self, result: plumb_export::FlatResult) -> Result<(), Stopped> {
        self.rows += result.numbers.len();
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(NumbersWriter::new(Vec::new()).map_err(Stopped::io)?),
        };
        writer.add(result).map_err(Stopped::io)?;
        if self.rows >= FILE_ROWS { self.finish() } else { Ok(()) }
    }

    /// Writes the file, if there is one, under the name of its content.
    fn finish(&mut self) -> Result<(), Stopped> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        self.rows = 0;
        let content = writer.finish().map_err(Stopped::io)?;
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Stopped::io(format!("--parquet: cannot create {}: {error}", self.directory.display())))?;
        let path = self.directory.join(file_name(&content));
        OutputFile::made_up("--parquet", &path).replace(&content)?;
        output::print(&format!("{}\n", path.display()));
        Ok(())
    }
}

/// Returns the runs in the Parquet files of a directory. Files of other programs are left alone.
fn runs_below(directory: &Path) -> Result<BTreeSet<String>, Stopped> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| {
        Stopped::io(format!(
            "--parquet: cannot read {}: {error}\nRemove it or name another directory, because its runs might be written twice",
            path.display()
        ))
    };
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed(directory, &error)),
    };
    let mut runs = BTreeSet::new();
    for entry in entries {
        let path = entry.map_err(|error| failed(directory, &error))?.path();
        // A pipe of this name would be waited for.
        if path.extension().is_some_and(|extension| extension == "parquet") && path.is_file() {
            let file = File::open(&path).map_err(|error| failed(&path, &error))?;
            runs.extend(runs_in(&file).map_err(|error| failed(&path, &error))?.unwrap_or_default());
        }
    }
    Ok(runs)
}
