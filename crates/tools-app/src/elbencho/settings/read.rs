//! Interprets the options, as far as the command line alone suffices.

use super::{
    Action, ContentOptions, DataSet, ElbenchoSettings, FileCalls, Live, LiveCsv, OpOptions, OpOrder, OutputSettings,
    Phases, ReadWriteMix, Rwmix, ScheduleOptions, ThreadPlacement, TreeSettings,
};
use crate::elbencho::ElbenchoUsageError;
use crate::elbencho::given::GivenOptions;
use crate::elbencho::hosts::{DataSetPart, HostsSettings, RealServiceOptions};
use crate::elbencho::options::named;
use crate::elbencho::paths::expand;
use plumb_tools::options::Takes;
use plumb_workload::files::{FileAdvice, MappingAdvice, RecordLock};

/// Converts options to settings, and collects the errors.
pub(in crate::elbencho) fn settings(options: &GivenOptions) -> (ElbenchoSettings, Vec<ElbenchoUsageError>) {
    let mut errors: Vec<ElbenchoUsageError> = options.refusals().collect();
    let mut numbers = NumberReader { options, errors: &mut errors };
    let settings = ElbenchoSettings {
        phases: phases(options),
        paths: numbers.paths(),
        threads: numbers.small("threads", 1),
        dataset: numbers.dataset(),
        ops: numbers.ops(),
        tree: numbers.tree(),
        order: numbers.order(),
        mix: numbers.mix(),
        content: numbers.content(),
        calls: numbers.calls(),
        schedule: numbers.schedule(),
        placement: numbers.placement(),
        hosts: numbers.hosts(),
        part: DataSetPart::WHOLE,
        output: numbers.output(),
        action: action(options),
    };
    numbers.word("blockvaralgo", &["fast", "balanced", "strong"]);
    (settings, errors)
}

fn action(options: &GivenOptions) -> Action {
    if options.is_on("version") {
        Action::Version
    } else if options.is_on("help")
        || options.is_on("help-multi")
        || options.is_on("help-large")
        || options.is_on("help-bdev")
    {
        Action::Help
    } else if options.is_on("help-all") {
        Action::HelpAll
    } else if options.is_on("help-dist") {
        Action::HelpDist
    } else if options.is_on("service") {
        match options.is_on("foreground") || options.is_on("nodetach") {
            true => Action::ServiceInForeground,
            false => Action::Service,
        }
    } else if options.is_on("interrupt") {
        // If both are given, elbencho ends services.
        if options.is_on("quit") { Action::Quit } else { Action::Interrupt }
    } else if options.is_on("quit") {
        Action::Quit
    } else if options.is_on("dryrun") {
        Action::DryRun
    } else {
        Action::Run
    }
}

fn phases(options: &GivenOptions) -> Phases {
    Phases {
        mkdirs: options.is_on("mkdirs"),
        write: options.is_on("write"),
        stat: options.is_on("stat"),
        read: options.is_on("read"),
        delfiles: options.is_on("delfiles"),
        deldirs: options.is_on("deldirs"),
        sync: options.is_on("sync"),
        dropcache: options.is_on("dropcache"),
    }
}

/// Values of `--fadv` in the order of the calls: pages are dropped before others are read ahead.
const FILE_ADVICE: [(&str, FileAdvice); 5] = [
    ("dontneed", FileAdvice::DontNeed),
    ("noreuse", FileAdvice::NoReuse),
    ("seq", FileAdvice::Sequential),
    ("rand", FileAdvice::Random),
    ("willneed", FileAdvice::WillNeed),
];

/// Values of `--madv`, in the order of the calls.
const MAPPING_ADVICE: [(&str, MappingAdvice); 6] = [
    ("dontneed", MappingAdvice::DontNeed),
    ("seq", MappingAdvice::Sequential),
    ("rand", MappingAdvice::Random),
    ("willneed", MappingAdvice::WillNeed),
    ("hugepage", MappingAdvice::HugePage),
    ("nohugepage", MappingAdvice::NoHugePage),
];

/// Parses values and collects errors.
struct NumberReader<'a> {
    options: &'a GivenOptions,
    errors: &'a mut Vec<ElbenchoUsageError>,
}

impl NumberReader<'_> {
    fn complain(&mut self, name: &'static str, found: &'static str, way_out: &'static str) {
        let value = self.options.value(name).to_owned();
        self.errors.push(ElbenchoUsageError::Value { name, value, found, way_out });
    }

    /// Parses a number. Options in bytes accept a suffix of powers of 1024.
    fn number(&mut self, name: &'static str) -> u64 {
        let text = self.options.value(name).trim();
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

    /// Parses a number that fits 32 bits and is at least `least`.
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
        let word = self.options.text(name)?;
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

    /// Parses a list of words from a table. Returns them in the table's order.
    fn words<T: Copy>(&mut self, name: &'static str, table: &[(&str, T)]) -> Vec<T> {
        let options = self.options;
        let named: Vec<&str> =
            options.value(name).split([',', ' ', '\n', '\r']).filter(|word| !word.is_empty()).collect();
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
        for word in &self.options.paths {
            if self.options.is_on("nopathexp") {
                paths.push(word.clone());
                continue;
            }
            match expand(word) {
                Ok(expanded) => paths.extend(expanded),
                Err(error) => self.errors.push(ElbenchoUsageError::Together(error.to_string())),
            }
        }
        // elbencho accepts `file://` before paths of file systems.
        paths.into_iter().map(|path| path.strip_prefix("file://").map_or(path.clone(), str::to_owned)).collect()
    }

    fn dataset(&mut self) -> DataSet {
        let options = self.options;
        DataSet {
            dirs: self.small("dirs", 0),
            files: self.small("files", 0),
            size: self.number("size"),
            size_given: options.text("size").is_some(),
            dirsharing: options.is_on("dirsharing"),
        }
    }

    fn ops(&mut self) -> OpOptions {
        let options = self.options;
        OpOptions {
            block: self.number("block"),
            iodepth: self.small("iodepth", 1),
            direct: options.is_on("direct"),
            mmap: options.is_on("mmap"),
        }
    }

    fn order(&mut self) -> OpOrder {
        let options = self.options;
        OpOrder {
            rand: options.is_on("rand"),
            rand_algo_given: self.word("randalgo", &["fast", "balanced", "balanced_single", "strong"]).is_some(),
            rand_amount: self.number("randamount"),
            rand_unaligned: options.is_on("norandalign"),
            strided: options.is_on("strided"),
            backward: options.is_on("backward"),
        }
    }

    fn mix(&mut self) -> ReadWriteMix {
        ReadWriteMix {
            rwmix: self.rwmix(),
            balance: self.rwmix_balance(),
            limit_read: self.number("limitread"),
            limit_write: self.number("limitwrite"),
        }
    }

    fn content(&mut self) -> ContentOptions {
        let options = self.options;
        ContentOptions {
            new_percent: self.new_percent(),
            verify: self.number("verify"),
            verify_direct: options.is_on("verifydirect"),
            read_inline: options.is_on("readinline"),
        }
    }

    fn calls(&mut self) -> FileCalls {
        let options = self.options;
        FileCalls {
            stat_inline: options.is_on("statinline"),
            trunc: options.is_on("trunc"),
            trunc_to_size: options.is_on("trunctosize"),
            preallocate: options.is_on("preallocfile"),
            file_advice: self.words("fadv", &FILE_ADVICE),
            mapping_advice: self.words("madv", &MAPPING_ADVICE),
            lock: match self.word("flock", &["", "range", "full"]).as_deref() {
                Some("range") => Some(RecordLock::OpRange),
                Some("full") => Some(RecordLock::WholeFile),
                _ => None,
            },
            no_delete_errors: options.is_on("nodelerr"),
        }
    }

    fn schedule(&mut self) -> ScheduleOptions {
        let options = self.options;
        ScheduleOptions {
            time_limit_s: self.number("timelimit"),
            infinite: options.is_on("infloop"),
            iterations: self.small("iterations", 1),
            phase_delay_s: self.number("phasedelay"),
            start_s: self.number("start"),
        }
    }

    fn placement(&mut self) -> ThreadPlacement {
        let options = self.options;
        ThreadPlacement {
            rank_offset: self.small("rankoffset", 0),
            zones: options.text("zones").map(str::to_owned),
            cores: options.text("cores").map(str::to_owned),
        }
    }

    fn tree(&mut self) -> Option<TreeSettings> {
        let options = self.options;
        let path = |name: &'static str| options.text(name).filter(|path| !path.is_empty());
        let share_from = match options.value("sharesize").trim() {
            "-1" => Some(u64::MAX),
            _ => Some(self.number("sharesize")).filter(|bytes| *bytes > 0),
        };
        let tree = TreeSettings {
            file: path("treefile").map(str::to_owned),
            scan: path("treescan").map(|path| path.strip_prefix("file://").unwrap_or(path).to_owned()),
            share_from,
            random: options.is_on("treerand"),
            round_robin: options.is_on("treeroundrob"),
            round_up: self.number("treeroundup"),
        };
        (tree.file.is_some() || tree.scan.is_some()).then_some(tree)
    }

    fn rwmix(&mut self) -> Rwmix {
        let percent = self.number("rwmixpct");
        let threads = self.small("rwmixthr", 0);
        if self.options.text("rwmixpct").is_some() && self.options.text("rwmixthr").is_some() {
            let text = "--rwmixpct and --rwmixthr cannot be combined; use one of them".to_owned();
            self.errors.push(ElbenchoUsageError::Together(text));
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
        let options = self.options;
        let text = |name: &'static str| options.text(name).filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let port = u16::try_from(self.number("port")).ok().filter(|port| *port > 0).unwrap_or_else(|| {
            self.complain("port", "not a port", "use 1 to 65535");
            0
        });
        HostsSettings {
            list: text("hosts").unwrap_or_default(),
            file: text("hostsfile"),
            // -1 means all hosts.
            count: options.text("numhosts").filter(|count| *count != "-1").map(|_| self.small("numhosts", 0)),
            rotate: self.small("rotatehosts", 0),
            share_paths: !options.is_on("nosvcshare"),
            port,
            wait_s: self.number("svcwait"),
            real: RealServiceOptions {
                secret_file: text("svcpwfile"),
                poll_ms: self.number("svcupint"),
                block_algo: options.value("blockvaralgo").to_owned(),
                rand_algo: options.value("randalgo").to_owned(),
                no_fd_sharing: options.is_on("nofdsharing"),
                no_direct_check: options.is_on("nodiocheck"),
            },
        }
    }

    fn output(&mut self) -> OutputSettings {
        let options = self.options;
        let path = |name: &'static str| options.text(name).filter(|path| !path.is_empty()).map(str::to_owned);
        let nines = self.small("latpercent9s", 0);
        if nines > 9 {
            self.complain("latpercent9s", "too large", "write 0 to 9");
        }
        OutputSettings {
            all_elapsed: options.is_on("allelapsed"),
            services_elapsed: options.is_on("svcelapsed"),
            cpu: options.is_on("cpu"),
            latency: options.is_on("lat"),
            histogram: options.is_on("lathisto"),
            percentiles: options.is_on("latpercent").then(|| u8::try_from(nines.min(9)).unwrap_or(9)),
            dir_stats: options.is_on("dirstats"),
            base10: options.is_on("base10"),
            verbose: self.number("log") > 0,
            no_zero_warning: options.is_on("no0usecerr"),
            label: path("label"),
            csv: path("csvfile"),
            no_csv_labels: options.is_on("nocsvlabels"),
            json: path("jsonfile"),
            text: path("resfile"),
            ops_log: path("opslog"),
            live_csv: path("livecsv").map(|path| LiveCsv {
                path: (path != "stdout").then_some(path),
                each_thread: options.is_on("livecsvex"),
            }),
            live: match () {
                () if options.is_on("nolive") => Live::Off,
                () if options.is_on("live1n") => Live::Lines,
                () if options.is_on("live1") => Live::OneLine,
                () => Live::Auto,
            },
            live_interval_ms: self.number("liveint").max(1),
        }
    }
}
