//! A study of a factor whose levels change nothing.

use super::Site;
use super::answer::{Ending, read_study};
use super::places::{STORAGES, Storage, TRIAL};
use anyhow::Result;
use std::path::Path;

/// No plot begins after this, so that a study takes at most a minute.
const BUDGET: &str = "40s";

/// Storage of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Files(Storage),
    /// A loop device without a file system.
    Device,
}

/// Workloads in the syntax of a study's file, and the compared numbers.
struct Work {
    name: &'static str,
    text: &'static str,
    metrics: &'static [&'static str],
    /// Whether it reads cold data, which a tmpfs does not have.
    reads_cold: bool,
}

const ON_FILES: &[Work] = &[
    Work {
        name: "random",
        text: "[workload.reads]\nrandom-read = { size = \"16MiB\", block = \"4k\", depth = 8, direct = true, time = \"400ms\" }\n\
               [workload.writes]\nrandom-write = { size = \"16MiB\", block = \"4k\", depth = 8, direct = true, time = \"400ms\" }\n",
        metrics: &["read.iops", "write.iops", "lat.p99"],
        reads_cold: false,
    },
    Work {
        name: "stream",
        text: "[workload.out]\nwrite = { size = \"24MiB\", block = \"64k\", end = \"fsync\" }\n\
               [workload.in]\nread = { size = \"24MiB\", block = \"64k\", cache = \"cold\" }\n",
        metrics: &["write.bw", "read.bw"],
        reads_cold: true,
    },
    Work {
        name: "log",
        text: "[workload.log]\nwrite = { size = \"4MiB\", block = \"16k\", fsync-every = 1 }\n",
        metrics: &["write.bw", "fsync.lat.p99"],
        reads_cold: false,
    },
    Work {
        name: "bonnie++",
        text: "[workload.files]\ndialect = \"bonnie++\"\nargs = \"-s 0 -n 1:4096:0:4 -u root\"\n",
        metrics: &["create.ops", "stat.ops", "unlink.ops"],
        reads_cold: false,
    },
    Work {
        name: "postmark",
        text: "[workload.spool]\ndialect = \"postmark\"\nset = { size = \"1000 20000\", number = 100, transactions = 500 }\n",
        metrics: &["create.ops", "write.bw", "read.bw"],
        reads_cold: false,
    },
    Work {
        name: "iozone",
        text: "[workload.table]\ndialect = \"iozone\"\nargs = \"-i 0 -i 1 -s 8m -r 64k -e\"\n",
        metrics: &["write.bw", "read.bw"],
        reads_cold: false,
    },
];

const ON_DEVICES: &[Work] = &[
    Work {
        name: "overwrite",
        text: "[workload.overwrite]\nrewrite = { size = \"16MiB\", block = \"64k\", direct = true }\n",
        metrics: &["write.bw", "write.lat.p99"],
        reads_cold: false,
    },
    Work {
        name: "pages",
        text: "[workload.pages]\nrandom-write = { size = \"16MiB\", block = \"4k\", direct = true, bytes = \"4MiB\" }\n\
               [workload.reads]\nrandom-read = { size = \"16MiB\", block = \"4k\", direct = true, bytes = \"4MiB\" }\n",
        metrics: &["write.iops", "read.iops"],
        reads_cold: false,
    },
];

/// Counts of devices; a tmpfs has none.
const COUNTS: &[&str] = &["device.reads", "device.writes", "device.written-bytes", "device.flushes"];

/// Levels of the label, and whether a level needs its own provisioning.
struct Labels {
    levels: &'static str,
    change: &'static str,
}

const LABELS: &[Labels] = &[
    Labels { levels: "[\"a\", \"b\"]", change: "hard" },
    Labels { levels: "[\"a\", \"b\"]", change: "easy" },
    Labels { levels: "[\"a\", \"b\", \"c\"]", change: "hard" },
];

/// A combination of the tables below.
struct Design {
    ground: Ground,
    work: &'static Work,
    labels: &'static Labels,
    plots: u32,
    repeat: u32,
}

impl Design {
    fn from_index(index: u32) -> Design {
        let index = index as usize;
        let ground =
            STORAGES.get(index % (STORAGES.len() + 1)).map_or(Ground::Device, |storage| Ground::Files(*storage));
        let round = index / (STORAGES.len() + 1);
        let works: Vec<&'static Work> = match ground {
            Ground::Device => ON_DEVICES.iter().collect(),
            Ground::Files(Storage::Memory) => ON_FILES.iter().filter(|work| !work.reads_cold).collect(),
            Ground::Files(Storage::Disk(_)) => ON_FILES.iter().collect(),
        };
        let work = works[round % works.len()];
        let plots = if (index / 7).is_multiple_of(2) { 3 } else { 2 };
        Design {
            ground,
            work,
            labels: &LABELS[(round + round / ON_FILES.len()) % LABELS.len()],
            plots,
            repeat: 4 - plots,
        }
    }

    fn about(&self) -> String {
        let ground = match self.ground {
            Ground::Files(storage) => storage.name(),
            Ground::Device => "device",
        };
        let Labels { levels, change } = self.labels;
        format!("{ground}, {}, {change} {levels}, {} plots of {}", self.work.name, self.plots, self.repeat)
    }

    fn text(&self, index: u32, seed: u64, folder: &Path) -> String {
        let folder = folder.display();
        let Labels { levels, change } = self.labels;
        let disk = format!(
            "[[provision]]\nkind = \"loop\"\nname = \"disk\"\ndirectory = \"{folder}\"\nsize = \"330MiB\"\nfill = \"filled\"\n\
             direct-io = true\n"
        );
        let (steps, target) = match self.ground {
            Ground::Device => (disk, "[target]\npath = \"@disk\"\n"),
            Ground::Files(Storage::Memory) => {
                (format!("[[provision]]\nkind = \"tmpfs\"\nsize = \"400MiB\"\nmount = \"{folder}/mounted\"\n"), "")
            }
            Ground::Files(Storage::Disk(kind)) => {
                let made = format!(
                    "[[provision]]\nkind = \"mkfs\"\nfs = \"{}\"\ndevice = \"@disk\"\nmount = \"{folder}/mounted\"\n",
                    kind.name()
                );
                // Nothing is initialised lazily.
                let options = if kind.name() == "ext4" {
                    "options = [\"-E\", \"lazy_itable_init=0,lazy_journal_init=0\"]\n"
                } else {
                    ""
                };
                (disk + &made + options, "")
            }
        };
        let counts = if self.ground == Ground::Files(Storage::Memory) { &[] } else { COUNTS };
        let metrics: Vec<&str> = self.work.metrics.iter().chain(counts).copied().collect();
        format!(
            "[experiment]\nname = \"aa-{index}\"\nquestion = \"Do labels differ that change nothing?\"\nbudget = \"{BUDGET}\"\n\
             seed = {seed}\n\n[[factor]]\nname = \"label\"\nlevels = {levels}\nchange = \"{change}\"\n\n{steps}\n{target}\n\
             {}\n[design]\nplots = {}\nrepeat = {}\n\n[compare]\nby = \"label\"\nmetrics = {metrics:?}\n",
            self.work.text, self.plots, self.repeat
        )
    }
}

pub(super) fn run(site: &Site<'_>, index: u32, seed: u64) -> Result<(String, Ending)> {
    let design = Design::from_index(index);
    let folder = tempfile::Builder::new().prefix(TRIAL).tempdir_in(site.work)?;
    let file = folder.path().join("study.toml");
    std::fs::write(&file, design.text(index, seed, folder.path()))?;
    let output = site.plumb(folder.path(), &["study", "run", &file.to_string_lossy(), "--json"])?;
    // The next study cleans up after an interrupted one; only then is its directory free.
    let ending = read_study(&output);
    if !matches!(ending, Ending::Judged(_)) {
        site.plumb(folder.path(), &["clean"])?;
    }
    Ok((design.about(), ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_study::file::{FilesInDirectory, PlanOptions, plan};
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    // Protects: sixty studies cover every storage, work, label and number of plots, and each is a valid study file.
    #[test]
    fn studies_are_of_every_kind() {
        let (mut pairs, mut labels, mut plots) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for index in 0..60 {
            let design = Design::from_index(index);
            pairs.insert((format!("{:?}", design.ground), design.work.name));
            labels.insert((format!("{:?}", design.ground), design.labels.levels, design.labels.change));
            plots.insert((design.labels.levels, design.labels.change, design.plots));
            let text = design.text(index, 7, Path::new("/tmp/x"));
            let planned =
                plan("study.toml", &text, &PlanOptions::default(), &mut FilesInDirectory(PathBuf::from("/tmp")));
            planned.unwrap_or_else(|error| panic!("{text}\n{error}"));
        }
        let grounds = STORAGES.len() + 1;
        let in_memory = ON_FILES.iter().filter(|work| !work.reads_cold).count();
        assert_eq!(pairs.len(), (STORAGES.len() - 1) * ON_FILES.len() + in_memory + ON_DEVICES.len());
        assert_eq!((labels.len(), plots.len()), (grounds * LABELS.len(), 2 * LABELS.len()));
    }
}
