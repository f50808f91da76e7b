//! elbencho's options: one table, which the parser, `--help`, the documentation and the tests read.

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing, or `=true` and `=false`.
    Nothing,
    /// A count of bytes or of things, with a suffix of powers of 1024.
    Bytes,
    /// A number without a suffix.
    Number,
    /// One of a few words.
    Word,
    /// Any text.
    Text,
}

/// Whether an option can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It does what it says.
    Works,
    /// It is refused for now; why, and what to do instead.
    NotYet(&'static str),
    /// It is refused for good; why.
    Never(&'static str),
}

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// Its name, behind two dashes.
    pub name: &'static str,
    /// Its letter, behind one.
    pub letter: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// What holds where it is not given; empty where nothing does.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it can be used.
    pub support: Support,
}

const S3: Support = Support::Never("object storage is not what Plumb measures");
const GPU: Support = Support::Never("Plumb moves no data of GPUs");
const NET: Support = Support::Never("networks are measured by Plumb's own dialects of network tools");
const SVC: Support = Support::Never("MPI replaces services: start one process a host");

const fn option(
    name: &'static str,
    letter: Option<char>,
    takes: Takes,
    default: &'static str,
    what: &'static str,
    support: Support,
) -> Opt {
    Opt { name, letter, takes, default, what, support }
}

use Support::{Never, NotYet, Works};
use Takes::{Bytes, Nothing, Number, Text, Word};

/// All of them, by name. Source: elbencho 3.1-10, `docs/usage/help-all.md`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    option("allelapsed", None, Nothing, "", "Show when each thread was done.", Works),
    option("althttpsvc", None, Nothing, "", "Use another HTTP server for services.", SVC),
    option("backward", None, Nothing, "", "Go through files from the end to the beginning.", Works),
    option("base10", None, Nothing, "", "Show throughput in MB/s instead of MiB/s.", Works),
    option("block", Some('b'), Bytes, "1M", "Bytes of one read or write.", Works),
    option("blockvaralgo", None, Word, "fast", "How random data is made: fast, balanced or strong. Plumb makes it in one way, which is fast and strong enough.", Works),
    option("blockvarpct", None, Number, "100", "Per cent of each block, from its beginning, that is new random data in each write; the rest is one new word, repeated. 0 writes the same block again and again.", Works),
    option("clients", None, Text, "", "Hosts that send in netbench mode.", NET),
    option("clientsfile", None, Text, "", "A file of such hosts.", NET),
    option("configfile", Some('c'), Text, "", "A file of options, one NAME=VALUE a line. The command line has the last word.", Works),
    option("cores", None, Text, "", "CPUs to bind threads to in turn: numbers with commas, or all.", Works),
    option("cpu", None, Nothing, "", "Show how busy the processors were.", Works),
    option("csvfile", None, Text, "", "A file to which results are added as CSV.", Works),
    option("cufile", None, Nothing, "", "Move data of GPUs.", GPU),
    option("cufiledriveropen", None, Nothing, "", "Move data of GPUs.", GPU),
    option("cuhostbufreg", None, Nothing, "", "Move data of GPUs.", GPU),
    option("deldirs", Some('D'), Nothing, "", "Remove directories.", Works),
    option("delfiles", Some('F'), Nothing, "", "Remove files.", Works),
    option("direct", None, Nothing, "", "Go around the page cache (O_DIRECT).", Works),
    option("dirs", Some('n'), Bytes, "1", "Directories of each thread; 0 puts all files into the given directory.", Works),
    option("dirsharing", None, Nothing, "", "All threads use the directories of the first one.", Works),
    option("dirstats", None, Nothing, "", "Show directories as well as files.", Works),
    option("dropcache", None, Nothing, "", "Drop the caches of the kernel before and after each phase; needs root.", Works),
    option("dryrun", None, Nothing, "", "Only tell how much each phase would do.", Works),
    option("fadv", None, Text, "", "What the kernel is told about each open file: any of seq, rand, willneed, dontneed and noreuse, with commas.", Works),
    option("files", Some('N'), Bytes, "1", "Files of each thread in each directory.", Works),
    option("flock", None, Text, "", "Lock files around each op, against other processes: range or full.", Works),
    option("foreground", None, Nothing, "", "A service stays in the foreground.", SVC),
    option("gds", None, Nothing, "", "Move data of GPUs.", GPU),
    option("gdsbufreg", None, Nothing, "", "Move data of GPUs.", GPU),
    option("gpuids", None, Text, "", "Move data of GPUs.", GPU),
    option("gpuperservice", None, Nothing, "", "Move data of GPUs.", GPU),
    option("hdfs", None, Nothing, "", "Use HDFS.", Never("Plumb measures what can be mounted")),
    option("help", Some('h'), Nothing, "", "Tell the most important options.", Works),
    option("help-all", None, Nothing, "", "Tell all options.", Works),
    option("help-bdev", None, Nothing, "", "Tell the options for block devices and large files.", Works),
    option("help-dist", None, Nothing, "", "Tell the options of services.", SVC),
    option("help-large", None, Nothing, "", "The same.", Works),
    option("help-multi", None, Nothing, "", "Tell the options for many files.", Works),
    option("help-s3", None, Nothing, "", "Tell the options of object storage.", S3),
    option("hosts", None, Text, "", "Hosts of services.", SVC),
    option("hostsfile", None, Text, "", "A file of such hosts.", SVC),
    option("infloop", None, Nothing, "", "Each thread begins again at its end, until --timelimit or a signal ends it.", Works),
    option("interrupt", None, Nothing, "", "Interrupt services.", SVC),
    option("iodepth", None, Number, "1", "Ops in flight of each thread; from 2 on by libaio.", Works),
    option("iterations", Some('i'), Number, "1", "Do all phases so many times.", Works),
    option("jsonfile", None, Text, "", "A file to which results are added as JSON, an object a line.", Works),
    option("label", None, Text, "", "A word that results carry.", Works),
    option("lat", None, Nothing, "", "Show latencies.", Works),
    option("lathisto", None, Nothing, "", "Show histograms of latencies.", Works),
    option("latpercent", None, Nothing, "", "Show percentiles of latencies.", Works),
    option("latpercent9s", None, Number, "0", "So many nines behind 99 among them.", Works),
    option("limitread", None, Bytes, "0", "Bytes a second that each thread reads at most.", Works),
    option("limitwrite", None, Bytes, "0", "Bytes a second that each thread writes at most.", Works),
    option("live1", None, Nothing, "", "Show progress in one line.", Works),
    option("live1n", None, Nothing, "", "Show progress in lines on standard error.", Works),
    option("livecsv", None, Text, "", "A file to which progress is added as CSV; stdout is the standard output.", Works),
    option("livecsvex", None, Nothing, "", "Each thread as well.", Works),
    option("liveint", None, Number, "2000", "Milliseconds between two looks.", Works),
    option("livejson", None, Text, "", "Progress as JSON.", NotYet("elbencho's help tells of it, and elbencho does not know it; use --livecsv")),
    option("livejsonex", None, Nothing, "", "Each thread as well.", NotYet("elbencho's help tells of it, and elbencho does not know it; use --livecsvex")),
    option("log", None, Number, "0", "How much is told: 1 adds numbers of I/Os.", Works),
    option("madv", None, Text, "", "What the kernel is told about mappings of --mmap: any of seq, rand, willneed, dontneed, hugepage and nohugepage, with commas.", Works),
    option("mkdirs", Some('d'), Nothing, "", "Make directories.", Works),
    option("mmap", None, Nothing, "", "Read and write through a mapping. In directories, files that are written get their size as they are opened.", Works),
    option("netbench", None, Nothing, "", "Measure the network.", NET),
    option("netdevs", None, Text, "", "Measure the network.", NET),
    option("no0usecerr", None, Nothing, "", "Do not warn of phases that took no time.", Works),
    option("nocsvlabels", None, Nothing, "", "No line of labels in CSV.", Works),
    option("nodelerr", None, Nothing, "", "What is missing when it is to be removed is no error.", Works),
    option("nodetach", None, Nothing, "", "As --foreground.", SVC),
    option("nodiocheck", None, Nothing, "", "Do not check the alignment of direct I/O beforehand. Plumb goes by what the device needs, and always does.", Works),
    option("nofdsharing", None, Nothing, "", "Each thread opens files for itself, which Plumb's always do.", Works),
    option("nolive", None, Nothing, "", "Show no progress.", Works),
    option("nopathexp", None, Nothing, "", "Take brackets in paths as they are.", Works),
    option("norandalign", None, Nothing, "", "Random offsets are no multiples of the block.", Works),
    option("nosvcshare", None, Nothing, "", "Services share no paths.", SVC),
    option("numhosts", None, Number, "", "How many of the hosts.", SVC),
    option("numservers", None, Number, "", "How many of the hosts serve.", NET),
    option("opslog", None, Text, "", "A file to which each op is added as JSON, an object a line.", Works),
    option("opsloglock", None, Nothing, "", "Lock that file. Plumb writes it after each phase, alone.", Works),
    option("path", None, Text, "", "A benchmark path, as without an option.", Works),
    option("phasedelay", None, Number, "0", "Seconds between phases.", Works),
    option("port", None, Number, "", "The port of services.", SVC),
    option("preallocfile", None, Nothing, "", "Reserve the blocks of files that are written (posix_fallocate).", Works),
    option("quit", None, Nothing, "", "End services.", SVC),
    option("rand", None, Nothing, "", "At random offsets.", Works),
    option("randalgo", None, Word, "", "How offsets are drawn: fast, balanced_single or strong. All stand for independent draws; without it, writes reach each block once.", Works),
    option("randamount", None, Bytes, "0", "Bytes to move at random offsets of files or devices, all threads together.", Works),
    option("rankoffset", None, Number, "0", "The rank of the first thread.", Works),
    option("read", Some('r'), Nothing, "", "Read files.", Works),
    option("readinline", None, Nothing, "", "Read each block back as soon as it is written.", Works),
    option("recvbuf", None, Text, "", "Measure the network.", NET),
    option("resfile", None, Text, "", "A file to which results are added as text.", Works),
    option("respsize", None, Text, "", "Measure the network.", NET),
    option("rotatehosts", None, Number, "", "Rotate hosts between phases.", SVC),
    option("rwmixpct", None, Number, "0", "Per cent of the ops of the write phase that read.", Works),
    option("rwmixthr", None, Number, "0", "So many threads read in the write phase.", Works),
    option("rwmixthrpct", None, Number, "0", "Per cent of all reads and writes that the threads of --rwmixthr are to do: who is ahead waits.", Works),
    option("s3aclget", None, Nothing, "", "Use object storage.", S3),
    option("s3aclgrantee", None, Text, "", "Use object storage.", S3),
    option("s3aclgrants", None, Text, "", "Use object storage.", S3),
    option("s3aclgtype", None, Text, "", "Use object storage.", S3),
    option("s3aclput", None, Nothing, "", "Use object storage.", S3),
    option("s3aclputinl", None, Nothing, "", "Use object storage.", S3),
    option("s3aclverify", None, Nothing, "", "Use object storage.", S3),
    option("s3baclget", None, Nothing, "", "Use object storage.", S3),
    option("s3baclput", None, Nothing, "", "Use object storage.", S3),
    option("s3btag", None, Nothing, "", "Use object storage.", S3),
    option("s3btagverify", None, Nothing, "", "Use object storage.", S3),
    option("s3bversion", None, Nothing, "", "Use object storage.", S3),
    option("s3bversionverify", None, Nothing, "", "Use object storage.", S3),
    option("s3chksumalgo", None, Text, "", "Use object storage.", S3),
    option("s3credfile", None, Text, "", "Use object storage.", S3),
    option("s3credlist", None, Text, "", "Use object storage.", S3),
    option("s3endpoints", None, Text, "", "Use object storage.", S3),
    option("s3fastget", None, Nothing, "", "Use object storage.", S3),
    option("s3fastput", None, Nothing, "", "Use object storage.", S3),
    option("s3ignoreerrors", None, Nothing, "", "Use object storage.", S3),
    option("s3key", None, Text, "", "Use object storage.", S3),
    option("s3listobj", None, Text, "", "Use object storage.", S3),
    option("s3listobjpar", None, Nothing, "", "Use object storage.", S3),
    option("s3listverify", None, Nothing, "", "Use object storage.", S3),
    option("s3log", None, Text, "", "Use object storage.", S3),
    option("s3logprefix", None, Text, "", "Use object storage.", S3),
    option("s3maxconns", None, Text, "", "Use object storage.", S3),
    option("s3mpusharing", None, Nothing, "", "Use object storage.", S3),
    option("s3mpusizevar", None, Text, "", "Use object storage.", S3),
    option("s3mpusplit", None, Text, "", "Use object storage.", S3),
    option("s3multidel", None, Text, "", "Use object storage.", S3),
    option("s3multiignore404", None, Nothing, "", "Use object storage.", S3),
    option("s3nocompress", None, Nothing, "", "Use object storage.", S3),
    option("s3nompcheck", None, Nothing, "", "Use object storage.", S3),
    option("s3nompucompl", None, Nothing, "", "Use object storage.", S3),
    option("s3objprefix", None, Text, "", "Use object storage.", S3),
    option("s3olockcfg", None, Nothing, "", "Use object storage.", S3),
    option("s3olockcfgverify", None, Nothing, "", "Use object storage.", S3),
    option("s3otag", None, Nothing, "", "Use object storage.", S3),
    option("s3otagverify", None, Nothing, "", "Use object storage.", S3),
    option("s3randobj", None, Nothing, "", "Use object storage.", S3),
    option("s3region", None, Text, "", "Use object storage.", S3),
    option("s3secret", None, Text, "", "Use object storage.", S3),
    option("s3sessiontoken", None, Text, "", "Use object storage.", S3),
    option("s3sign", None, Text, "", "Use object storage.", S3),
    option("s3single", None, Nothing, "", "Use object storage.", S3),
    option("s3sse", None, Nothing, "", "Use object storage.", S3),
    option("s3sseckey", None, Text, "", "Use object storage.", S3),
    option("s3ssekmskey", None, Text, "", "Use object storage.", S3),
    option("s3statdirs", None, Nothing, "", "Use object storage.", S3),
    option("s3targetgbps", None, Text, "", "Use object storage.", S3),
    option("s3virtaddr", None, Nothing, "", "Use object storage.", S3),
    option("sendbuf", None, Text, "", "Measure the network.", NET),
    option("servers", None, Text, "", "Measure the network.", NET),
    option("serversfile", None, Text, "", "Measure the network.", NET),
    option("service", None, Nothing, "", "Be a service.", SVC),
    option("sharesize", None, Bytes, "0", "Files of a tree from this size on are shared by threads; 32 blocks where 0, and none where -1.", Works),
    option("size", Some('s'), Bytes, "0", "Bytes of each file; of those and of devices that are there already where 0.", Works),
    option("start", None, Number, "0", "When to start, in seconds since 1970.", Works),
    option("stat", None, Nothing, "", "Ask about files.", Works),
    option("statinline", None, Nothing, "", "Ask about each file as it is opened.", Works),
    option("strided", None, Nothing, "", "Threads take the blocks of files or devices in turn.", Works),
    option("svcelapsed", None, Nothing, "", "When each service was done.", SVC),
    option("svcping", None, Nothing, "", "How fast services answer.", SVC),
    option("svcpwfile", None, Text, "", "The secret of services.", SVC),
    option("svcupint", None, Number, "", "How often services are asked.", SVC),
    option("svcwait", None, Number, "", "How long to wait for services.", SVC),
    option("sync", None, Nothing, "", "Write the page cache out before and after each phase.", Works),
    option("threads", Some('t'), Number, "1", "How many threads.", Works),
    option("timelimit", None, Number, "0", "Seconds after which a phase ends, and no further one begins.", Works),
    option("treefile", None, Text, "", "A list of directories and files with their sizes, to be used instead of --dirs and --files.", Works),
    option("treerand", None, Nothing, "", "Files of a tree in random order.", Works),
    option("treeroundrob", None, Nothing, "", "Threads take the blocks of shared files of a tree in turn.", Works),
    option("treeroundup", None, Bytes, "0", "Sizes of a tree's files become multiples of this; 0 leaves them.", Works),
    option("treescan", None, Text, "", "A directory whose directories and files are the tree; --treefile then says where the list is kept.", Works),
    option("trunc", None, Nothing, "", "Empty files that are written as they are opened.", Works),
    option("trunctosize", None, Nothing, "", "Give files that are written their size as they are opened.", Works),
    option("verify", None, Number, "0", "Write 64-bit words of offset plus this number, and expect them in reads.", Works),
    option("verifydirect", None, Nothing, "", "Verify each block as soon as it is written.", Works),
    option("version", None, Nothing, "", "Tell the version.", Works),
    option("write", Some('w'), Nothing, "", "Write files; make those that are missing.", Works),
    option("zones", None, Text, "", "Memory nodes to bind threads to in turn: numbers with commas, or all.", Works),
];

/// The option of this name.
pub fn named(name: &str) -> Option<&'static Opt> {
    OPTIONS.binary_search_by(|option| option.name.cmp(name)).ok().map(|at| &OPTIONS[at])
}

/// The option of this letter.
pub fn lettered(letter: char) -> Option<&'static Opt> {
    OPTIONS.iter().find(|option| option.letter == Some(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the search by halves, and that no letter means two things.
    #[test]
    fn names_are_sorted_and_letters_differ() {
        assert!(OPTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
        let mut letters: Vec<char> = OPTIONS.iter().filter_map(|option| option.letter).collect();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count);
    }

    // Protects people from refusals without a reason.
    #[test]
    fn who_is_refused_is_told_why() {
        for option in OPTIONS {
            assert!(option.what.ends_with('.'), "{}", option.name);
            match option.support {
                Support::Works => {}
                NotYet(why) | Never(why) => assert!(why.len() > 20, "{}", option.name),
            }
        }
    }
}
