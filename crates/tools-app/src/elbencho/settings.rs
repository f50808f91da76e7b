//! The meaning of the options, as far as it depends only on the command line.

use super::ElbenchoUsageError;
use super::hosts::{DataSetPart, HostsSettings};
use super::options::named;
use super::said::Said;
use plumb_tools::options::Takes;
use plumb_workload::files::{FileAdvice, MappingAdvice, RecordLock};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The benchmark.
    Run,
    /// Only print how much it would do.
    DryRun,
    /// Print the most important options.
    Help,
    /// Print all options.
    HelpAll,
    /// Print the options for services.
    HelpDist,
    /// Print the version.
    Version,
    /// Serve masters, in the background.
    Service,
    /// Serve masters.
    ServiceInForeground,
    /// Interrupt what services run.
    Interrupt,
    /// End services.
    Quit,
}

/// Which phases are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// Directories are created.
    pub mkdirs: bool,
    /// Files are written.
    pub write: bool,
    /// Files are statted.
    pub stat: bool,
    /// Files are read.
    pub read: bool,
    /// Files are removed.
    pub delfiles: bool,
    /// Directories are removed.
    pub deldirs: bool,
    /// `sync` before and after each phase.
    pub sync: bool,
    /// Caches are dropped before and after each phase.
    pub dropcache: bool,
}

impl Phases {
    /// Whether any of them reads or writes.
    pub fn moves_data(self) -> bool {
        self.write || self.read
    }
}

/// A tree of files from a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeSettings {
    /// Where the list is, or is to be.
    pub file: Option<String>,
    /// A directory to make the list of.
    pub scan: Option<String>,
    /// Files from this size on are shared by threads, bytes; `None` for elbencho's default number of blocks.
    pub share_from: Option<u64>,
    /// In random order.
    pub random: bool,
    /// Threads take the blocks of shared files in turn.
    pub round_robin: bool,
    /// Sizes become multiples of this, bytes; 0 leaves them.
    pub round_up: u64,
}

/// Reads in the write phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rwmix {
    /// None.
    #[default]
    None,
    /// Percentage of the ops of every thread.
    Percent(u8),
    /// The first N threads.
    Threads(u32),
}

/// What is shown while a phase runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Live {
    /// One line, rewritten, on a terminal.
    #[default]
    Auto,
    /// One line, rewritten.
    OneLine,
    /// A line each time.
    Lines,
    /// Nothing.
    Off,
}

/// Progress as CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCsv {
    /// Its file; `None` for standard output.
    pub path: Option<String>,
    /// Each thread as well.
    pub each_thread: bool,
}

/// What is reported, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputSettings {
    /// When each thread was done.
    pub all_elapsed: bool,
    /// When each service was done.
    pub services_elapsed: bool,
    /// CPU utilization.
    pub cpu: bool,
    /// Smallest, mean and largest latency.
    pub latency: bool,
    /// Histograms of latency.
    pub histogram: bool,
    /// Percentiles of latency, with N nines after 99.
    pub percentiles: Option<u8>,
    /// Directories as well as files.
    pub dir_stats: bool,
    /// MB rather than MiB.
    pub base10: bool,
    /// Numbers of I/Os.
    pub verbose: bool,
    /// No warning of phases that took no time.
    pub no_zero_warning: bool,
    /// A label for the results.
    pub label: Option<String>,
    /// Results as CSV.
    pub csv: Option<String>,
    /// Without a line of labels.
    pub no_csv_labels: bool,
    /// Results as JSON.
    pub json: Option<String>,
    /// Results as text.
    pub text: Option<String>,
    /// Each op as JSON.
    pub ops_log: Option<String>,
    /// Progress as CSV.
    pub live_csv: Option<LiveCsv>,
    /// What is shown.
    pub live: Live,
    /// How often, milliseconds.
    pub live_interval_ms: u64,
}

/// The settings of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElbenchoSettings {
    /// What is to be done.
    pub action: Action,
    /// Which phases.
    pub phases: Phases,
    /// On what.
    pub paths: Vec<String>,
    /// Threads.
    pub threads: u32,
    /// Directories of each; 0 for none.
    pub dirs: u32,
    /// Files of each directory and thread.
    pub files: u32,
    /// Bytes of a file; 0 for those that it has.
    pub size: u64,
    /// Whether a size was given, which may be 0.
    pub size_said: bool,
    /// Bytes of an op.
    pub block: u64,
    /// Ops in flight.
    pub iodepth: u32,
    /// A tree of files instead.
    pub tree: Option<TreeSettings>,
    /// All threads use the directories of the first one.
    pub dirsharing: bool,
    /// With direct I/O.
    pub direct: bool,
    /// Through a mapping.
    pub mmap: bool,
    /// At random offsets.
    pub rand: bool,
    /// With an explicit generator, so that writes too are independent draws.
    pub rand_algo_said: bool,
    /// Bytes at random offsets; 0 for those that files have.
    pub rand_amount: u64,
    /// Random offsets are not multiples of the block size.
    pub rand_unaligned: bool,
    /// Threads take blocks in turn.
    pub strided: bool,
    /// From the end to the beginning.
    pub backward: bool,
    /// Reads in the write phase.
    pub rwmix: Rwmix,
    /// Percentage of all reads and writes that the threads that read are to do; `None` if each goes its own pace.
    pub rwmix_balance: Option<u8>,
    /// Bytes a second; 0 for all there are.
    pub limit_read: u64,
    /// The same of writes.
    pub limit_write: u64,
    /// Percentage of each block that is new in every write; 0 for the same block again and again.
    pub new_percent: u8,
    /// Offset plus this number; 0 for none.
    pub verify: u64,
    /// Each block is verified as soon as it is written.
    pub verify_direct: bool,
    /// Each block is read as soon as it is written.
    pub read_inline: bool,
    /// Each file is statted when opened.
    pub stat_inline: bool,
    /// Files are emptied as they are opened.
    pub trunc: bool,
    /// Files get their size as they are opened.
    pub trunc_to_size: bool,
    /// Blocks are reserved.
    pub preallocate: bool,
    /// The hints that the kernel gets about each open file, in the order of the calls.
    pub file_advice: Vec<FileAdvice>,
    /// The same about mappings.
    pub mapping_advice: Vec<MappingAdvice>,
    /// What is locked around each op.
    pub lock: Option<RecordLock>,
    /// What is missing when it is to be removed is not an error.
    pub no_delete_errors: bool,
    /// Seconds of a phase; 0 for no limit.
    pub time_limit_s: u64,
    /// Threads start over at their end.
    pub infinite: bool,
    /// How often all phases are done.
    pub iterations: u32,
    /// Seconds between phases.
    pub phase_delay_s: u64,
    /// When to begin, seconds since 1970; 0 for now.
    pub start_s: u64,
    /// The rank of the first thread.
    pub rank_offset: u32,
    /// Who runs it.
    pub hosts: HostsSettings,
    /// What this host does of it.
    pub part: DataSetPart,
    /// Memory nodes, in turn; `all` for each.
    pub zones: Option<String>,
    /// CPUs, in turn; `all` for each.
    pub cores: Option<String>,
    /// What is reported.
    pub output: OutputSettings,
}

/// What the options mean.
pub(super) fn settings(said: &Said) -> (ElbenchoSettings, Vec<ElbenchoUsageError>) {
    let mut wrong: Vec<ElbenchoUsageError> = said.refusals().collect();
    let action = if said.is_on("version") {
        Action::Version
    } else if said.is_on("help") || said.is_on("help-multi") || said.is_on("help-large") || said.is_on("help-bdev") {
        Action::Help
    } else if said.is_on("help-all") {
        Action::HelpAll
    } else if said.is_on("help-dist") {
        Action::HelpDist
    } else if said.is_on("service") {
        match said.is_on("foreground") || said.is_on("nodetach") {
            true => Action::ServiceInForeground,
            false => Action::Service,
        }
    } else if said.is_on("interrupt") {
        // With both, elbencho ends services.
        if said.is_on("quit") { Action::Quit } else { Action::Interrupt }
    } else if said.is_on("quit") {
        Action::Quit
    } else if said.is_on("dryrun") {
        Action::DryRun
    } else {
        Action::Run
    };
    let mut numbers = NumberReader { said, wrong: &mut wrong };
    let settings = ElbenchoSettings {
        phases: Phases {
            mkdirs: said.is_on("mkdirs"),
            write: said.is_on("write"),
            stat: said.is_on("stat"),
            read: said.is_on("read"),
            delfiles: said.is_on("delfiles"),
            deldirs: said.is_on("deldirs"),
            sync: said.is_on("sync"),
            dropcache: said.is_on("dropcache"),
        },
        paths: numbers.paths(),
        threads: numbers.small("threads", 1),
        dirs: numbers.small("dirs", 0),
        files: numbers.small("files", 0),
        size: numbers.number("size"),
        size_said: said.text("size").is_some(),
        block: numbers.number("block"),
        iodepth: numbers.small("iodepth", 1),
        tree: numbers.tree(),
        dirsharing: said.is_on("dirsharing"),
        direct: said.is_on("direct"),
        mmap: said.is_on("mmap"),
        rand: said.is_on("rand"),
        rand_algo_said: numbers.word("randalgo", &["fast", "balanced", "balanced_single", "strong"]).is_some(),
        rand_amount: numbers.number("randamount"),
        rand_unaligned: said.is_on("norandalign"),
        strided: said.is_on("strided"),
        backward: said.is_on("backward"),
        rwmix: numbers.rwmix(),
        rwmix_balance: numbers.rwmix_balance(),
        limit_read: numbers.number("limitread"),
        limit_write: numbers.number("limitwrite"),
        new_percent: numbers.new_percent(),
        verify: numbers.number("verify"),
        verify_direct: said.is_on("verifydirect"),
        read_inline: said.is_on("readinline"),
        stat_inline: said.is_on("statinline"),
        trunc: said.is_on("trunc"),
        trunc_to_size: said.is_on("trunctosize"),
        preallocate: said.is_on("preallocfile"),
        file_advice: numbers.words("fadv", &FILE_ADVICE),
        mapping_advice: numbers.words("madv", &MAPPING_ADVICE),
        lock: match numbers.word("flock", &["", "range", "full"]).as_deref() {
            Some("range") => Some(RecordLock::OpRange),
            Some("full") => Some(RecordLock::WholeFile),
            _ => None,
        },
        no_delete_errors: said.is_on("nodelerr"),
        time_limit_s: numbers.number("timelimit"),
        infinite: said.is_on("infloop"),
        iterations: numbers.small("iterations", 1),
        phase_delay_s: numbers.number("phasedelay"),
        start_s: numbers.number("start"),
        rank_offset: numbers.small("rankoffset", 0),
        hosts: numbers.hosts(),
        part: DataSetPart::WHOLE,
        zones: said.text("zones").map(str::to_owned),
        cores: said.text("cores").map(str::to_owned),
        output: numbers.output(),
        action,
    };
    numbers.word("blockvaralgo", &["fast", "balanced", "strong"]);
    (settings, wrong)
}

/// What `--fadv` takes, in the order of the calls: pages are dropped before others are read ahead.
const FILE_ADVICE: [(&str, FileAdvice); 5] = [
    ("dontneed", FileAdvice::DontNeed),
    ("noreuse", FileAdvice::NoReuse),
    ("seq", FileAdvice::Sequential),
    ("rand", FileAdvice::Random),
    ("willneed", FileAdvice::WillNeed),
];

/// The same of `--madv`.
const MAPPING_ADVICE: [(&str, MappingAdvice); 6] = [
    ("dontneed", MappingAdvice::DontNeed),
    ("seq", MappingAdvice::Sequential),
    ("rand", MappingAdvice::Random),
    ("willneed", MappingAdvice::WillNeed),
    ("hugepage", MappingAdvice::HugePage),
    ("nohugepage", MappingAdvice::NoHugePage),
];

/// Reads values, and keeps their errors.
struct NumberReader<'a> {
    said: &'a Said,
    wrong: &'a mut Vec<ElbenchoUsageError>,
}

impl NumberReader<'_> {
    fn complain(&mut self, name: &'static str, found: &'static str, way_out: &'static str) {
        let value = self.said.value(name).to_owned();
        self.wrong.push(ElbenchoUsageError::Value { name, value, found, way_out });
    }

    /// A number, with a suffix of powers of 1024 where the option takes bytes.
    fn number(&mut self, name: &'static str) -> u64 {
        let text = self.said.value(name).trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let suffix = &text[digits.len()..];
        let bytes = named(name).is_some_and(|option| option.takes == Takes::Size);
        let shift = match suffix.to_ascii_lowercase().as_str() {
            "" => Some(0),
            _ if !bytes => None,
            "k" => Some(10),
            "m" => Some(20),
            "g" => Some(30),
            "t" => Some(40),
            "p" => Some(50),
            "e" => Some(60),
            _ => None,
        };
        let value = digits.parse::<u64>().ok().zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
        value.unwrap_or_else(|| {
            let way_out = if bytes {
                "use a whole number, optionally with k, m, g, t, p or e (powers of 1024), such as 128k"
            } else {
                "use a whole number"
            };
            self.complain(name, "not a valid number", way_out);
            0
        })
    }

    /// A number that fits 32 bits and is not below `least`.
    fn small(&mut self, name: &'static str, least: u32) -> u32 {
        match u32::try_from(self.number(name)) {
            Ok(number) if number >= least => number,
            Ok(_) => {
                self.complain(name, "too small", "use 1 or more");
                least
            }
            Err(_) => {
                self.complain(name, "too large", "use less than 4 g");
                least
            }
        }
    }

    fn word(&mut self, name: &'static str, words: &[&str]) -> Option<String> {
        let word = self.said.text(name)?;
        if words.contains(&word) {
            return Some(word.to_owned());
        }
        let way_out = match name {
            "blockvaralgo" => "use fast, balanced or strong",
            "flock" => "use range or full",
            _ => "use fast, balanced_single or strong",
        };
        self.complain(name, "unknown value", way_out);
        None
    }

    /// Those of a table that a list names, in the table's order.
    fn words<T: Copy>(&mut self, name: &'static str, table: &[(&str, T)]) -> Vec<T> {
        let said = self.said;
        let named: Vec<&str> = said.value(name).split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty()).collect();
        if named.iter().any(|word| table.iter().all(|(known, _)| known != word)) {
            let way_out = match name {
                "fadv" => "use a comma-separated list of seq, rand, willneed, dontneed and noreuse",
                _ => "use a comma-separated list of seq, rand, willneed, dontneed, hugepage and nohugepage",
            };
            self.complain(name, "unknown value", way_out);
        }
        table.iter().filter(|(known, _)| named.contains(known)).map(|(_, meant)| *meant).collect()
    }

    fn paths(&mut self) -> Vec<String> {
        let mut paths = Vec::new();
        for word in &self.said.paths {
            if self.said.is_on("nopathexp") {
                paths.push(word.clone());
                continue;
            }
            match super::paths::expand(word) {
                Ok(expanded) => paths.extend(expanded),
                Err(error) => self.wrong.push(ElbenchoUsageError::Together(error.to_string())),
            }
        }
        // `file://` is how elbencho marks paths of file systems.
        paths.into_iter().map(|path| path.strip_prefix("file://").map_or(path.clone(), str::to_owned)).collect()
    }

    fn tree(&mut self) -> Option<TreeSettings> {
        let said = self.said;
        let path = |name: &'static str| said.text(name).filter(|path| !path.is_empty());
        let share_from = match said.value("sharesize").trim() {
            "-1" => Some(u64::MAX),
            _ => Some(self.number("sharesize")).filter(|bytes| *bytes > 0),
        };
        let tree = TreeSettings {
            file: path("treefile").map(str::to_owned),
            scan: path("treescan").map(|path| path.strip_prefix("file://").unwrap_or(path).to_owned()),
            share_from,
            random: said.is_on("treerand"),
            round_robin: said.is_on("treeroundrob"),
            round_up: self.number("treeroundup"),
        };
        (tree.file.is_some() || tree.scan.is_some()).then_some(tree)
    }

    fn rwmix(&mut self) -> Rwmix {
        let percent = self.number("rwmixpct");
        let threads = self.small("rwmixthr", 0);
        if self.said.text("rwmixpct").is_some() && self.said.text("rwmixthr").is_some() {
            let text = "--rwmixpct and --rwmixthr cannot be combined; use one of them".to_owned();
            self.wrong.push(ElbenchoUsageError::Together(text));
        }
        match (u8::try_from(percent).ok().filter(|percent| *percent <= 100), threads) {
            (None, _) => {
                self.complain("rwmixpct", "not a percentage", "use 0 to 100");
                Rwmix::None
            }
            (Some(0), 0) => Rwmix::None,
            (Some(0), threads) => Rwmix::Threads(threads),
            (Some(percent), _) => Rwmix::Percent(percent),
        }
    }

    fn rwmix_balance(&mut self) -> Option<u8> {
        match u8::try_from(self.number("rwmixthrpct")) {
            Ok(0) => None,
            Ok(percent) if percent < 100 => Some(percent),
            _ => {
                self.complain("rwmixthrpct", "it must leave a share for both", "use 1 to 99, or 0 for no balancing");
                None
            }
        }
    }

    fn new_percent(&mut self) -> u8 {
        match u8::try_from(self.number("blockvarpct")) {
            Ok(percent) if percent <= 100 => percent,
            _ => {
                self.complain("blockvarpct", "not a percentage", "use 0 to 100");
                0
            }
        }
    }

    fn hosts(&mut self) -> HostsSettings {
        let said = self.said;
        let text = |name: &'static str| said.text(name).filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let port = u16::try_from(self.number("port")).ok().filter(|port| *port > 0).unwrap_or_else(|| {
            self.complain("port", "not a port", "use 1 to 65535");
            0
        });
        HostsSettings {
            list: text("hosts").unwrap_or_default(),
            file: text("hostsfile"),
            // -1 stands for all.
            count: said.text("numhosts").filter(|count| *count != "-1").map(|_| self.small("numhosts", 0)),
            rotate: self.small("rotatehosts", 0),
            share_paths: !said.is_on("nosvcshare"),
            port,
            wait_s: self.number("svcwait"),
        }
    }

    fn output(&mut self) -> OutputSettings {
        let said = self.said;
        let path = |name: &'static str| said.text(name).filter(|path| !path.is_empty()).map(str::to_owned);
        let nines = self.small("latpercent9s", 0);
        if nines > 9 {
            self.complain("latpercent9s", "too large", "write 0 to 9");
        }
        OutputSettings {
            all_elapsed: said.is_on("allelapsed"),
            services_elapsed: said.is_on("svcelapsed"),
            cpu: said.is_on("cpu"),
            latency: said.is_on("lat"),
            histogram: said.is_on("lathisto"),
            percentiles: said.is_on("latpercent").then(|| u8::try_from(nines.min(9)).unwrap_or(9)),
            dir_stats: said.is_on("dirstats"),
            base10: said.is_on("base10"),
            verbose: self.number("log") > 0,
            no_zero_warning: said.is_on("no0usecerr"),
            label: path("label"),
            csv: path("csvfile"),
            no_csv_labels: said.is_on("nocsvlabels"),
            json: path("jsonfile"),
            text: path("resfile"),
            ops_log: path("opslog"),
            live_csv: path("livecsv")
                .map(|path| LiveCsv { path: (path != "stdout").then_some(path), each_thread: said.is_on("livecsvex") }),
            live: match () {
                () if said.is_on("nolive") => Live::Off,
                () if said.is_on("live1n") => Live::Lines,
                () if said.is_on("live1") => Live::OneLine,
                () => Live::Auto,
            },
            live_interval_ms: self.number("liveint").max(1),
        }
    }
}
