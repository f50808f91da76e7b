//! fio's own example jobs, if `FIO_SOURCE` names the directory with its source.

use crate::fio::lower::{
    Entropy, Found, Lowered, Places, RecordedFile, RecordedFiles, RecordedName, RecordingRequest, lower,
};
use crate::fio::{self, Files, Machine, MissingFile};
use plumb_workload_text::native;
use plumb_workload_text::validate::validate;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The table of their status.
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fio-examples.md");

/// Heading of the part with the results of running them.
const RAN: &str = "\n## What ran\n";

struct Folder(PathBuf);

impl Files for Folder {
    fn read(&mut self, path: &str) -> Result<String, MissingFile> {
        let bytes = std::fs::read(self.0.join(path)).map_err(|error| MissingFile { reason: error.to_string() })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A machine that has every device, and every file with an absolute path.
struct Everything;

impl Places for Everything {
    fn find(&mut self, path: &str) -> Found {
        match path {
            _ if path.starts_with("/dev/") => Found::Block { bytes: 1 << 43 },
            _ if path.starts_with('/') => Found::Regular { bytes: 1 << 30 },
            _ => Found::Absent,
        }
    }

    fn free_bytes(&mut self, _path: &str) -> Option<u64> {
        Some(1 << 40)
    }

    fn files_below(&mut self, directory: &str) -> Vec<String> {
        vec![format!("{directory}/a"), format!("{directory}/b")]
    }

    fn recording(&mut self, _asked: &RecordingRequest) -> Result<RecordedFiles, plumb_tools::FileError> {
        let name = RecordedName::Path("recorded".to_owned());
        let file = RecordedFile { name, end_bytes: 1 << 20, reads: 1, writes: 1, trims: 0 };
        Ok(RecordedFiles { files: vec![file], largest_bytes: 65_536, waits: 0 })
    }

    fn device_node(&mut self, major: u32, minor: u32) -> Option<String> {
        Some(format!("/dev/block/{major}:{minor}"))
    }

    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>> {
        Some(vec![2 * node, 2 * node + 1])
    }
}

/// Environment variables that some of them use.
fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("FIO_RW", "randread"),
        ("FIO_IODEPTH", "4"),
        ("FIO_BS", "4k"),
        ("FIO_DIR", "data"),
        ("GPU_DEV_IDS", "0"),
        ("SIZE", "1g"),
    ];
    variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn translated(folder: &Path, name: &str) -> Result<Lowered, String> {
    let machine = Machine { environment: environment(), ..Machine::default() };
    let read = fio::read(&[name.to_owned()], &machine, &mut Folder(folder.to_owned()));
    let read = read.map_err(|errors| errors.0.first().map(ToString::to_string).unwrap_or_default())?;
    let lowered = lower(&read, &mut Everything, Entropy(1), validate);
    lowered.map_err(|errors| errors.0.first().map(ToString::to_string).unwrap_or_default())
}

fn jobs_of(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".fio")).collect();
    names.sort();
    names
}

#[test]
fn the_examples_of_fio_are_translated() {
    let Ok(source) = std::env::var("FIO_SOURCE") else {
        eprintln!("SKIPPED: set FIO_SOURCE to a directory with fio's source");
        return;
    };
    let mut table = String::from(
        "# fio's example jobs\n\nStatus of the example jobs that come with fio 3.42. *Runs*: unchanged. *Translated*: `--translate` \
         and `--plan` show what it would do, but running it is refused for the reason given. A test of the crate \
         `tools-fio` writes this table if `FIO_SOURCE` names a directory with fio's source.\n",
    );
    let mut counts = Vec::new();
    for (title, folder) in [("examples", "examples"), ("t/jobs", "t/jobs")] {
        let folder = Path::new(&source).join(folder);
        let _ = write!(table, "\n## {title}\n\n| job | fate | why |\n|---|---|---|\n");
        let mut good = 0;
        for name in jobs_of(&folder) {
            let (fate, why) = match translated(&folder, &name) {
                Ok(lowered) => {
                    good += 1;
                    let toml = native::to_toml(&lowered.workload).unwrap_or_else(|error| panic!("{name}: {error}"));
                    let back = native::parse(&name, &toml).unwrap_or_else(|error| panic!("{name}: {error}\n{toml}"));
                    assert_eq!(back, lowered.workload, "{name}");
                    assert!(!super::super::plan(&lowered.plan).is_empty(), "{name}");
                    match lowered.unrunnable.first() {
                        None => ("runs", String::new()),
                        Some(one) => ("translated", format!("{}: {}", one.what, one.why)),
                    }
                }
                Err(why) => {
                    let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why).replace('|', "/");
                    ("refused", why)
                }
            };
            let _ = writeln!(table, "| {name} | {fate} | {why} |");
        }
        counts.push((title, good));
    }
    // The part with results of running them is measured by hand and must be kept.
    let committed = std::fs::read_to_string(TABLE).unwrap_or_default();
    if let Some((_, ran)) = committed.split_once(RAN) {
        table.push_str(RAN);
        table.push_str(ran);
    }
    if std::env::var_os("FIO_EXAMPLES_WRITE").is_some() {
        std::fs::write(TABLE, &table).unwrap_or_else(|error| panic!("{TABLE}: {error}"));
    }
    assert!(counts[0].1 >= 95 && counts[1].1 >= 43, "{counts:?} are translated");
    assert_eq!(
        std::fs::read_to_string(TABLE).unwrap_or_default(),
        table,
        "set FIO_EXAMPLES_WRITE=1 to update the table"
    );
}
