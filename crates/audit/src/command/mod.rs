//! The effect of printed commands, as far as an audit needs it. The dialects define what a tool's options mean. This
//! module handles the shell around the commands, and preparations that no dialect runs.

mod differences;
mod elbencho;
mod fields;
mod fio;
mod shell;
mod tools;
mod work;

pub(crate) use elbencho::ElbenchoCommand;
pub(crate) use fio::FioCommand;
pub(crate) use tools::{BonnieCommand, DdCommand, IozoneCommand, PostmarkCommand};

pub(crate) use differences::differences;
pub(crate) use shell::{parts, without_launcher, words};
pub(crate) use work::FieldDifference;

use crate::form::Durability;
use plumb_result::CellMetric;
use work::WorkFacts;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CommandAction {
    Dd(Box<DdCommand>),
    Bonnie(Box<BonnieCommand>),
    Iozone(Box<IozoneCommand>),
    Fio(Box<FioCommand>),
    Elbencho(Box<ElbenchoCommand>),
    /// PostMark's settings.
    Postmark(Box<PostmarkCommand>),
    /// `mdadm --create`.
    CreateArray {
        /// Device of the new array, such as `/dev/md0`.
        device: String,
        /// RAID level, such as `4` or `raid1`.
        level: Option<String>,
        /// Whether creating the array starts a resync.
        resyncs: bool,
    },
    /// Waits for an array: `mdadm --wait`.
    WaitForArray,
    Format {
        /// Device on which the file system is created.
        device: String,
    },
    Mount {
        device: String,
        /// Mount point of the device.
        at: String,
    },
    Unmount(String),
    /// A command that the audit does not know.
    Other,
}

/// Reads a printed command line, and returns one action per command.
pub(crate) fn read(line: &str) -> Vec<CommandAction> {
    if let Some(postmark) = PostmarkCommand::read(line) {
        return vec![CommandAction::Postmark(Box::new(postmark))];
    }
    parts(line).into_iter().map(one).collect()
}

fn one(part: &str) -> CommandAction {
    let words = without_launcher(part);
    let mut words = words.iter().map(String::as_str);
    let Some(program) = words.next() else { return CommandAction::Other };
    let program = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    let arguments: Vec<String> = words.map(str::to_owned).collect();
    let last = || arguments.last().cloned();
    match program.as_str() {
        "dd" => CommandAction::Dd(Box::new(DdCommand::read(&arguments))),
        // A command that the tool refuses as printed is not what was run, so it is ignored.
        "bonnie++" | "bonnie" => {
            BonnieCommand::read(&arguments).map_or(CommandAction::Other, |read| CommandAction::Bonnie(Box::new(read)))
        }
        "iozone" => {
            IozoneCommand::read(&arguments).map_or(CommandAction::Other, |read| CommandAction::Iozone(Box::new(read)))
        }
        "fio" => FioCommand::read(&arguments).map_or(CommandAction::Other, |read| CommandAction::Fio(Box::new(read))),
        "elbencho" => ElbenchoCommand::read(&arguments)
            .map_or(CommandAction::Other, |read| CommandAction::Elbencho(Box::new(read))),
        "mdadm" => mdadm(&arguments),
        "mount" => mount(&arguments),
        "umount" => last().map_or(CommandAction::Other, CommandAction::Unmount),
        name if name.starts_with("mkfs") || name.starts_with("mke2fs") || name == "newfs" => {
            last().map_or(CommandAction::Other, |device| CommandAction::Format { device })
        }
        _ => CommandAction::Other,
    }
}

fn mdadm(arguments: &[String]) -> CommandAction {
    let has = |names: [&str; 2]| arguments.iter().any(|word| names.contains(&word.as_str()));
    if has(["--wait", "-W"]) {
        return CommandAction::WaitForArray;
    }
    if !has(["--create", "-C"]) {
        return CommandAction::Other;
    }
    let level = arguments.iter().find_map(|word| word.strip_prefix("--level=")).map(str::to_owned);
    let striped_only = matches!(level.as_deref(), Some("0" | "raid0" | "stripe" | "linear"));
    let resyncs = !striped_only && !arguments.iter().any(|word| word == "--assume-clean");
    match arguments.iter().find(|word| word.starts_with("/dev/md")) {
        Some(device) => CommandAction::CreateArray { device: device.clone(), level, resyncs },
        None => CommandAction::Other,
    }
}

fn mount(arguments: &[String]) -> CommandAction {
    let mut places = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-o" | "-t" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => places.push(word),
        }
    }
    match places.as_slice() {
        [device, at] => CommandAction::Mount { device: (*device).to_owned(), at: (*at).to_owned() },
        _ => CommandAction::Other,
    }
}

impl CommandAction {
    /// Returns the program of a benchmark; empty for preparations.
    pub(crate) fn program(&self) -> &'static str {
        match self {
            CommandAction::Dd(_) => "dd",
            CommandAction::Bonnie(_) => "bonnie++",
            CommandAction::Iozone(_) => "iozone",
            CommandAction::Fio(_) => "fio",
            CommandAction::Elbencho(_) => "elbencho",
            CommandAction::Postmark(_) => "postmark",
            _ => "",
        }
    }

    /// Returns `true` for a benchmark that the audit can read.
    pub(crate) fn measures(&self) -> bool {
        !self.program().is_empty()
    }

    /// Returns the command's work, lowered by its dialect; `None` if that is impossible.
    pub(crate) fn work(&self) -> Option<WorkFacts> {
        match self {
            CommandAction::Dd(dd) => dd.work(),
            CommandAction::Bonnie(bonnie) => bonnie.work(),
            CommandAction::Iozone(iozone) => iozone.work(),
            CommandAction::Fio(fio) => fio.work(),
            CommandAction::Elbencho(elbencho) => elbencho.work(),
            _ => None,
        }
    }

    /// Returns the metrics that the command yields, for tools that print several.
    pub(crate) fn yields(&self) -> Vec<CellMetric> {
        match self {
            CommandAction::Bonnie(bonnie) => bonnie.yields(),
            CommandAction::Iozone(iozone) => iozone.yields(),
            CommandAction::Fio(fio) => fio.yields(),
            CommandAction::Elbencho(elbencho) => elbencho.yields(),
            _ => Vec::new(),
        }
    }

    /// Returns the size of the command's file in bytes, or the maximum total size of its files; `None` if the command
    /// states no size.
    pub(crate) fn set_bytes(&self) -> Option<u64> {
        match self {
            CommandAction::Dd(dd) => dd.bytes(),
            CommandAction::Bonnie(bonnie) => bonnie.size_bytes(),
            CommandAction::Iozone(iozone) => iozone.size_bytes(),
            CommandAction::Fio(fio) => fio.size_bytes(),
            CommandAction::Elbencho(elbencho) => elbencho.size_bytes(),
            _ => None,
        }
    }

    /// Returns the bytes that the command transfers, if its options fix them. A run time may end it earlier.
    pub(crate) fn transfer_bytes(&self) -> Option<u64> {
        match self {
            CommandAction::Dd(dd) => dd.bytes(),
            CommandAction::Bonnie(bonnie) => bonnie.size_bytes(),
            CommandAction::Iozone(iozone) => iozone.transfer_bytes(),
            CommandAction::Fio(fio) => fio.transfer_bytes(),
            CommandAction::Elbencho(elbencho) => elbencho.transfer_bytes(),
            _ => None,
        }
    }

    /// Returns `true` if a run time ends the command.
    pub(crate) fn is_timed(&self) -> bool {
        match self {
            CommandAction::Fio(fio) => fio.runtime_seconds().is_some(),
            CommandAction::Elbencho(elbencho) => elbencho.is_timed(),
            _ => false,
        }
    }

    /// Returns the files that the command only reads.
    pub(crate) fn read_only_files(&self) -> Vec<String> {
        match self {
            CommandAction::Dd(dd) => dd.input().filter(|_| dd.is_read()).map(str::to_owned).into_iter().collect(),
            CommandAction::Fio(fio) => fio.files(true),
            CommandAction::Elbencho(elbencho) if !elbencho.writes() => owned(elbencho.paths()),
            _ => Vec::new(),
        }
    }

    /// Returns the files that the command writes to.
    pub(crate) fn files_written(&self) -> Vec<String> {
        match self {
            CommandAction::Dd(dd) if dd.writes_data() => dd.output().map(str::to_owned).into_iter().collect(),
            CommandAction::Fio(fio) => fio.files(false),
            CommandAction::Elbencho(elbencho) if elbencho.writes() => owned(elbencho.paths()),
            _ => Vec::new(),
        }
    }

    /// Returns the file that a dd reads to its end.
    pub(crate) fn fully_read_file(&self) -> Option<&str> {
        match self {
            CommandAction::Dd(dd) if dd.is_read() && dd.copy.count.is_none() => dd.input(),
            _ => None,
        }
    }

    /// Returns the bytes that a dd writes to a file.
    pub(crate) fn bytes_written_to(&self, file: &str) -> Option<u64> {
        match self {
            CommandAction::Dd(dd) if dd.output() == Some(file) => dd.bytes(),
            _ => None,
        }
    }

    /// Returns the bytes of each transfer, if the command states them and all have one size.
    pub(crate) fn block_bytes(&self) -> Option<u64> {
        match self {
            CommandAction::Dd(dd) => dd.block(),
            CommandAction::Fio(fio) => fio.block_bytes(),
            CommandAction::Elbencho(elbencho) => elbencho.block_bytes(),
            _ => None,
        }
    }

    /// Returns how the command's writes become durable within the measured time; `None` if its options do not decide it.
    pub(crate) fn durability(&self) -> Option<Durability> {
        match self {
            CommandAction::Dd(dd) => Some(dd.durability()),
            CommandAction::Bonnie(bonnie) => bonnie.durability(),
            CommandAction::Iozone(iozone) => Some(iozone.durability()),
            CommandAction::Fio(fio) => fio.durability(),
            CommandAction::Elbencho(elbencho) => Some(elbencho.durability()),
            // PostMark closes each file within the measured time, and never flushes.
            CommandAction::Postmark(_) => Some(Durability::Close),
            _ => None,
        }
    }

    /// Returns `true` if the command bypasses the cache or empties it first.
    pub(crate) fn reads_cold(&self) -> bool {
        match self {
            CommandAction::Dd(dd) => dd.copy.input.direct,
            CommandAction::Iozone(iozone) => iozone.reads_cold(),
            CommandAction::Fio(fio) => fio.reads_cold(),
            CommandAction::Elbencho(elbencho) => elbencho.reads_cold(),
            _ => false,
        }
    }

    /// Returns `true` if the command writes only zeros, or almost only zeros.
    pub(crate) fn writes_zeros(&self) -> bool {
        match self {
            CommandAction::Dd(dd) => dd.input() == Some("/dev/zero"),
            // All zeros except one byte per chunk, or one word per page.
            CommandAction::Bonnie(_) | CommandAction::Iozone(_) => true,
            CommandAction::Fio(fio) => fio.writes_zeros(),
            _ => false,
        }
    }

    /// Returns the files and directories that the command names.
    pub(crate) fn paths(&self) -> Vec<&str> {
        match self {
            CommandAction::Dd(dd) => dd.output().into_iter().chain(dd.input()).collect(),
            CommandAction::Bonnie(bonnie) => bonnie.directory().into_iter().collect(),
            CommandAction::Iozone(iozone) => iozone.files(),
            CommandAction::Fio(fio) => fio.paths(),
            CommandAction::Elbencho(elbencho) => elbencho.paths(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` if the command measures a file system, and not a device.
    pub(crate) fn measures_files(&self) -> bool {
        match self {
            CommandAction::Bonnie(_) | CommandAction::Iozone(_) | CommandAction::Postmark(_) => true,
            CommandAction::Dd(dd) => dd.overwrites_device().is_none(),
            CommandAction::Fio(_) | CommandAction::Elbencho(_) => {
                !self.paths().iter().any(|path| path.starts_with("/dev/"))
            }
            _ => false,
        }
    }
}

fn owned(paths: Vec<&str>) -> Vec<String> {
    paths.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dd_of(line: &str) -> DdCommand {
        match read(line).remove(0) {
            CommandAction::Dd(dd) => *dd,
            other => panic!("{other:?}"),
        }
    }

    fn durability(line: &str) -> Option<Durability> {
        read(line).iter().find_map(CommandAction::durability)
    }

    #[test]
    fn dd_is_read_with_its_mistakes() {
        let write = dd_of("dd if=/dev/zero of=/dev/md0 bs=1g count=1 oflag=dsync");
        assert_eq!(
            (write.block(), write.bytes(), write.durability()),
            (Some(1 << 30), Some(1 << 30), Durability::FlushEach)
        );
        assert_eq!(write.overwrites_device(), Some("/dev/md0"));
        assert_eq!(write.only_bsd, ["bs=1g"]);
        let read = dd_of("dd if=/home/namn/test of=/dev/null bs=1m oflag/dsync");
        assert!(read.is_read() && read.overwrites_device().is_none());
        assert_eq!(read.refused, ["oflag/dsync"]);
        assert_eq!(read.flush_flags(), ["oflag=dsync"], "the intended flag");
        assert!(dd_of("dd of=testfile if=/dev/null bs=1024M count=100").is_swapped());
    }

    // Protects: a command's durability matches what its dialect does.
    #[test]
    fn durability_is_what_the_command_does() {
        let dd = |words: &str| durability(&format!("dd if=/dev/zero of=f bs=1M count=9 {words}")).unwrap();
        assert_eq!(dd(""), Durability::None);
        assert_eq!(dd("oflag=direct"), Durability::Direct);
        assert_eq!(dd("iflag=direct"), Durability::None, "iflag applies to the input");
        assert_eq!(dd("oflag=nocache"), Durability::None, "nocache drops pages without waiting for writes");
        assert_eq!(dd("oflag=direct conv=fsync"), Durability::FlushAtEnd);
        assert_eq!(dd("oflag=direct,sync conv=fsync"), Durability::FlushEach);
        assert_eq!(durability("iozone -a -I"), Some(Durability::Direct));
        assert_eq!(durability("iozone -a -c"), Some(Durability::Close));
        assert_eq!(durability("iozone -a -ec"), Some(Durability::FlushAtEnd));
        assert_eq!(durability("iozone -a -+D"), Some(Durability::FlushEach));
        assert_eq!(durability("bonnie++ -b -u root"), Some(Durability::FlushEach));
        assert_eq!(durability("bonnie++ -u root"), None, "the version decides it");
    }

    #[test]
    fn preparations_are_read() {
        assert_eq!(
            read(
                "mdadm --create --verbose --level=4 --metadata=1.2 --chunk=256 --raid-devices=3 /dev/md0 /dev/sdb /dev/sdc"
            ),
            [CommandAction::CreateArray { device: "/dev/md0".into(), level: Some("4".into()), resyncs: true }]
        );
        assert_eq!(read("mdadm --wait /dev/md0"), [CommandAction::WaitForArray]);
        assert!(matches!(
            &read("mdadm --create /dev/md0 --level=1 --assume-clean")[0],
            CommandAction::CreateArray { resyncs: false, .. }
        ));
        assert_eq!(
            read("mkfs.ext4 /dev/md0 && mount -o noatime /dev/md0 /mnt/raid"),
            [
                CommandAction::Format { device: "/dev/md0".into() },
                CommandAction::Mount { device: "/dev/md0".into(), at: "/mnt/raid".into() }
            ]
        );
    }

    #[test]
    fn the_other_tools_are_read() {
        let bonnie = "bonnie++ -d /mnt/raid -r 1024 -n 100:16384:0:20 -s 2048 -u root > out.csv 2>&1";
        let CommandAction::Bonnie(bonnie) = read(bonnie).remove(0) else { panic!() };
        assert_eq!((bonnie.size_bytes(), bonnie.stated_files_1024()), (Some(2 << 30), Some(100)));
        assert_eq!(bonnie.yields().len(), 12);
        let CommandAction::Bonnie(plain) = read("bonnie++ -u root").remove(0) else { panic!() };
        assert_eq!((plain.size_bytes(), plain.stated_files_1024()), (None, None), "the machine decides them");
        let CommandAction::Iozone(iozone) = read("Iozone -Ra -s 512m -S 1024 -i 0 -i 1 -b namn.xls").remove(0) else {
            panic!()
        };
        assert_eq!((iozone.size_bytes(), iozone.durability()), (Some(512 << 20), Durability::None));
        use CellMetric::{Read, Reread, Rewrite, Write};
        assert_eq!(iozone.yields(), [Write, Rewrite, Read, Reread]);
        let CommandAction::Iozone(auto) = read("iozone -Raz -b /home/iam/results_all.xls -f /raid/1 -g 1g").remove(0)
        else {
            panic!()
        };
        assert_eq!((auto.size_bytes(), auto.files(), auto.yields().len()), (Some(1 << 30), vec!["/raid/1"], 13));
        let CommandAction::Iozone(three) = read("iozone -t 3 -s 1g -F a b c -i 0 -+n").remove(0) else { panic!() };
        assert_eq!(
            (three.size_bytes(), three.files(), three.yields()),
            (Some(3 << 30), vec!["a", "b", "c"], vec![Write])
        );
        assert_eq!(read("iozone --no-such-word"), [CommandAction::Other]);
        assert_eq!(read("fio --no-such-word"), [CommandAction::Other]);
        assert_eq!(read("fio published-elsewhere.fio"), [CommandAction::Other]);
        let CommandAction::Postmark(postmark) =
            read("set size 1000 300000; set number 4000; set transactions 50000").remove(0)
        else {
            panic!()
        };
        assert_eq!((postmark.settings.high, postmark.settings.number, postmark.settings.seed), (300_000, 4000, 42));
        assert!(postmark.states("number") && !postmark.states("seed"));
        assert_eq!(read("set -e"), [CommandAction::Other]);
    }

    fn fio_of(line: &str) -> FioCommand {
        match read(line).remove(0) {
            CommandAction::Fio(fio) => *fio,
            other => panic!("{other:?}"),
        }
    }

    // Protects: sizes, depth and flushes of fio's options mean what they mean to fio.
    #[test]
    fn fio_is_read_as_fio_reads_it() {
        let fio = fio_of("sudo fio --name=x --rw=randread --bs=4k --size=1g --runtime=1 --ioengine=psync --iodepth=64");
        assert_eq!((fio.size_bytes(), fio.block_bytes()), (Some(1 << 30), Some(4096)));
        assert_eq!((fio.runtime_seconds(), fio.yields()), (Some(1.0), vec![CellMetric::RandomRead]));
        assert!(fio.ineffective_depth().is_some_and(|(depth, engine, _)| (depth, engine) == (64, "psync")));
        let real = |words: &str| fio_of(&format!("fio --name=x --rw=write --size=1g {words}"));
        assert!(real("--ioengine=libaio --iodepth=32 --direct=1").ineffective_depth().is_none());
        assert!(real("--ioengine=libaio --iodepth=32").ineffective_depth().is_some(), "buffered libaio");
        assert!(real("--ioengine=io_uring --iodepth=32").ineffective_depth().is_none());
        assert_eq!(real("--numjobs=4").size_bytes(), Some(4 << 30));
        assert_eq!(real("--numjobs=4 --filename=/mnt/f").size_bytes(), Some(1 << 30), "the copies share the file");
        let two = fio_of("fio --filename=/mnt/f --size=1g --name=w --rw=write --name=r --stonewall --rw=read");
        assert_eq!((two.size_bytes(), two.yields()), (Some(1 << 30), vec![CellMetric::Write, CellMetric::Read]));
        assert_eq!(real("--size=50%").size_bytes(), None);
        assert_eq!(real("--bsrange=4k-64k").block_bytes(), None);
        let durable = |words: &str| real(words).durability();
        assert_eq!(durable(""), Some(Durability::None));
        assert_eq!(durable("--direct=1"), Some(Durability::Direct));
        assert_eq!(durable("--direct=1 --fsync=1"), Some(Durability::FlushEach));
        assert_eq!(durable("--end_fsync=1"), Some(Durability::FlushAtEnd));
        assert_eq!(durable("--sync=dsync"), Some(Durability::FlushEach));
        assert_eq!(durable("--fsync=32"), None, "the last writes may be in memory");
        let cold = |words: &str| fio_of(&format!("fio --name=x --rw=randread --size=1g {words}")).reads_cold();
        assert!(cold("") && cold("--direct=1 --time_based --runtime=60"));
        assert!(!cold("--invalidate=0") && !cold("--time_based --runtime=60") && !cold("--norandommap"));
    }

    // Protects: sizes, blocks and flushes of elbencho's options mean what they mean to elbencho.
    #[test]
    fn elbencho_is_read_as_elbencho_reads_it() {
        let of = |words: &str| match read(&format!("elbencho {words}")).remove(0) {
            CommandAction::Elbencho(elbencho) => *elbencho,
            other => panic!("{other:?}"),
        };
        let file = of("-w -r -b 4k --rand --direct -t 8 -s 10g /mnt/file");
        assert_eq!((file.size_bytes(), file.block_bytes()), (Some(10 << 30), Some(4096)));
        assert_eq!(file.yields(), [CellMetric::RandomWrite, CellMetric::RandomRead]);
        assert_eq!((file.durability(), file.reads_cold(), file.paths()), (Durability::Direct, true, vec!["/mnt/file"]));
        let tree = of("-d -w -r -F -t 4 -n 2 -N 8 -s 1m --dropcache /mnt/dir");
        assert_eq!((tree.size_bytes(), tree.durability(), tree.reads_cold()), (Some(64 << 20), Durability::None, true));
        assert_eq!(tree.yields(), [CellMetric::Write, CellMetric::Read, CellMetric::Delete]);
        assert_eq!(read("elbencho --no-such-word"), [CommandAction::Other]);
        assert_eq!(read("elbencho --version"), [CommandAction::Other]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}", words in "(dd|fio|elbencho|--(name|rw|bs|size|runtime)=|iozone|bonnie\\+\\+|mdadm|mount|set|-[a-zA-Z+]{1,4}|[a-z]{2,5}[=/][0-9a-zA-Z,/]{0,8}| |;|é|-n|:|>){0,20}") {
            let asked = |actions: Vec<CommandAction>| {
                for action in actions {
                    let _ = (action.yields(), action.set_bytes(), action.block_bytes(), action.durability(), action.paths());
                }
            };
            asked(read(&text));
            asked(read(&words));
        }
    }
}
