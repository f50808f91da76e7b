//! elbencho's options: one table, which the parser, `--help`, the documentation and the tests read.

pub use crate::support::Support;

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

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opt {
    /// Its name, after two dashes.
    pub name: &'static str,
    /// Its letter, after one.
    pub letter: Option<char>,
    /// What it takes.
    pub takes: Takes,
    /// Its default; empty if it has none.
    pub default: &'static str,
    /// What it does.
    pub what: &'static str,
    /// Whether it is supported.
    pub support: Support,
}

const S3: Support = Support::Never("Plumb does not measure object storage");
const GPU: Support = Support::Never("Plumb does not transfer GPU data");
const NET: Support = Support::Never("network benchmarks are out of scope here; use a network tool");

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
    option("allelapsed", None, Nothing, "", "Show the completion time of each thread.", Works),
    option("althttpsvc", None, Nothing, "", "Use another HTTP server for services.", Never("services speak Plumb's own protocol, and no HTTP")),
    option("backward", None, Nothing, "", "Read or write files backward, from end to start.", Works),
    option("base10", None, Nothing, "", "Show throughput in MB/s instead of MiB/s.", Works),
    option("block", Some('b'), Bytes, "1M", "Block size of a read or write.", Works),
    option("blockvaralgo", None, Word, "fast", "Random data generator: fast, balanced or strong. Plumb uses one generator for all three.", Works),
    option("blockvarpct", None, Number, "100", "Percentage of each block, from its start, filled with new random data on each write; the rest repeats one new word. 0 writes the same block every time.", Works),
    option("clients", None, Text, "", "Client hosts in netbench mode.", NET),
    option("clientsfile", None, Text, "", "File with a list of those hosts.", NET),
    option("configfile", Some('c'), Text, "", "File of options, one NAME=VALUE per line. The command line takes precedence.", Works),
    option("cores", None, Text, "", "CPUs to bind threads to, round-robin: a comma-separated list, or all.", Works),
    option("cpu", None, Nothing, "", "Show CPU utilization.", Works),
    option("csvfile", None, Text, "", "Append results to this CSV file.", Works),
    option("cufile", None, Nothing, "", "Transfer GPU data.", GPU),
    option("cufiledriveropen", None, Nothing, "", "Transfer GPU data.", GPU),
    option("cuhostbufreg", None, Nothing, "", "Transfer GPU data.", GPU),
    option("deldirs", Some('D'), Nothing, "", "Remove directories.", Works),
    option("delfiles", Some('F'), Nothing, "", "Remove files.", Works),
    option("direct", None, Nothing, "", "Bypass the page cache (O_DIRECT).", Works),
    option("dirs", Some('n'), Bytes, "1", "Number of directories per thread; 0 puts all files into the benchmark directory.", Works),
    option("dirsharing", None, Nothing, "", "All threads share the directories of the first thread.", Works),
    option("dirstats", None, Nothing, "", "Show directory statistics as well.", Works),
    option("dropcache", None, Nothing, "", "Drop the kernel's caches before and after each phase; needs root.", Works),
    option("dryrun", None, Nothing, "", "Only print what each phase would do.", Works),
    option("fadv", None, Text, "", "posix_fadvise hints for each open file: comma-separated seq, rand, willneed, dontneed, noreuse.", Works),
    option("files", Some('N'), Bytes, "1", "Number of files per thread and directory.", Works),
    option("flock", None, Text, "", "Lock the range or the full file during each op: range or full.", Works),
    option("foreground", None, Nothing, "", "Run the service in the foreground.", Works),
    option("gds", None, Nothing, "", "Transfer GPU data.", GPU),
    option("gdsbufreg", None, Nothing, "", "Transfer GPU data.", GPU),
    option("gpuids", None, Text, "", "Transfer GPU data.", GPU),
    option("gpuperservice", None, Nothing, "", "Transfer GPU data.", GPU),
    option("hdfs", None, Nothing, "", "Use HDFS.", Never("Plumb measures mounted file systems and block devices")),
    option("help", Some('h'), Nothing, "", "Print the most important options.", Works),
    option("help-all", None, Nothing, "", "Print all options.", Works),
    option("help-bdev", None, Nothing, "", "Print the options for block devices and large files.", Works),
    option("help-dist", None, Nothing, "", "Print the options for services.", Works),
    option("help-large", None, Nothing, "", "Same as --help-bdev.", Works),
    option("help-multi", None, Nothing, "", "Print the options for many files.", Works),
    option("help-s3", None, Nothing, "", "Print the options for object storage.", S3),
    option("hosts", None, Text, "", "Services that run the benchmark together, HOST[:PORT]: separated by comma, space or newline; node[1-4] stands for four. Threads, directories and files are those of each.", Works),
    option("hostsfile", None, Text, "", "File with a list of those hosts, one per line; lines with # in front are ignored.", Works),
    option("infloop", None, Nothing, "", "Repeat the phase in each thread until --timelimit or a signal.", Works),
    option("interrupt", None, Nothing, "", "Interrupt the phase that the services of --hosts run.", Works),
    option("iodepth", None, Number, "1", "Queue depth per thread; 2 or more uses libaio.", Works),
    option("iterations", Some('i'), Number, "1", "Number of times to run all phases.", Works),
    option("jsonfile", None, Text, "", "Append results to this JSON file, one object per line.", Works),
    option("label", None, Text, "", "Label to add to results.", Works),
    option("lat", None, Nothing, "", "Show latencies.", Works),
    option("lathisto", None, Nothing, "", "Show histograms of latencies.", Works),
    option("latpercent", None, Nothing, "", "Show percentiles of latencies.", Works),
    option("latpercent9s", None, Number, "0", "Number of nines to show after 99.", Works),
    option("limitread", None, Bytes, "0", "Read limit per thread, bytes per second.", Works),
    option("limitwrite", None, Bytes, "0", "Write limit per thread, bytes per second.", Works),
    option("live1", None, Nothing, "", "Show progress on one line.", Works),
    option("live1n", None, Nothing, "", "Show progress line by line on standard error.", Works),
    option("livecsv", None, Text, "", "Append progress to this CSV file; stdout means standard output.", Works),
    option("livecsvex", None, Nothing, "", "Include each thread in --livecsv.", Works),
    option("liveint", None, Number, "2000", "Milliseconds between progress updates.", Works),
    option("livejson", None, Text, "", "Progress as JSON.", NotYet("elbencho's help lists it, but elbencho does not accept it; use --livecsv")),
    option("livejsonex", None, Nothing, "", "Include each thread in --livejson.", NotYet("elbencho's help lists it, but elbencho does not accept it; use --livecsvex")),
    option("log", None, Number, "0", "Log level: 1 adds numbers of I/Os.", Works),
    option("madv", None, Text, "", "madvise hints for --mmap: comma-separated seq, rand, willneed, dontneed, hugepage, nohugepage.", Works),
    option("mkdirs", Some('d'), Nothing, "", "Create directories.", Works),
    option("mmap", None, Nothing, "", "Read and write through a memory mapping. In directory mode, files to write are extended to full size when opened.", Works),
    option("netbench", None, Nothing, "", "Measure the network.", NET),
    option("netdevs", None, Text, "", "Measure the network.", NET),
    option("no0usecerr", None, Nothing, "", "Do not warn about phases that took no measurable time.", Works),
    option("nocsvlabels", None, Nothing, "", "Omit the header line in CSV files.", Works),
    option("nodelerr", None, Nothing, "", "Ignore missing files and directories when deleting.", Works),
    option("nodetach", None, Nothing, "", "Same as --foreground.", Works),
    option("nodiocheck", None, Nothing, "", "Skip the alignment check for direct I/O. Plumb always checks against what the device needs.", Works),
    option("nofdsharing", None, Nothing, "", "Each thread opens its own file descriptors, as Plumb's threads always do.", Works),
    option("nolive", None, Nothing, "", "Show no progress.", Works),
    option("nopathexp", None, Nothing, "", "Do not expand brackets in paths.", Works),
    option("norandalign", None, Nothing, "", "Do not align random offsets to the block size.", Works),
    option("nosvcshare", None, Nothing, "", "Each service works on the whole data set, instead of its part of one that all share.", Works),
    option("numhosts", None, Number, "", "Use only the first N hosts; 0 runs the benchmark here.", Works),
    option("numservers", None, Number, "", "Number of hosts that are servers.", NET),
    option("opslog", None, Text, "", "Append each op to this JSON file, one object per line.", Works),
    option("opsloglock", None, Nothing, "", "Lock that file. Not needed in Plumb, which writes it after each phase.", Works),
    option("path", None, Text, "", "A benchmark path; same as an argument without an option.", Works),
    option("phasedelay", None, Number, "0", "Seconds between phases.", Works),
    option("port", None, Number, "1611", "Port of the service, and of hosts without one.", Works),
    option("preallocfile", None, Nothing, "", "Preallocate files to write (posix_fallocate).", Works),
    option("quit", None, Nothing, "", "End the services of --hosts.", Works),
    option("rand", None, Nothing, "", "Use random offsets.", Works),
    option("randalgo", None, Word, "", "Random offset generator: fast, balanced_single or strong. With any of them offsets may repeat; without it, writes cover each block once.", Works),
    option("randamount", None, Bytes, "0", "Total bytes to transfer at random offsets, all threads together.", Works),
    option("rankoffset", None, Number, "0", "The rank of the first thread.", Works),
    option("read", Some('r'), Nothing, "", "Read files.", Works),
    option("readinline", None, Nothing, "", "Read back each block right after writing it.", Works),
    option("recvbuf", None, Text, "", "Measure the network.", NET),
    option("resfile", None, Text, "", "Append results to this text file.", Works),
    option("respsize", None, Text, "", "Measure the network.", NET),
    option("rotatehosts", None, Number, "0", "Rotate the hosts by this number between phases, so that they read what others wrote.", Works),
    option("rwmixpct", None, Number, "0", "Percentage of reads in the write phase.", Works),
    option("rwmixthr", None, Number, "0", "Number of threads that read in the write phase.", Works),
    option("rwmixthrpct", None, Number, "0", "Percentage of reads to hold between the readers of --rwmixthr and the writers; whoever is ahead waits.", Works),
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
    option("service", None, Nothing, "", "Run as a service, in the background, for those who name this host in --hosts. PLUMB_AGENT_KEYS names the keys; without, PLUMB_AGENT_ALLOW what may be used.", Works),
    option("sharesize", None, Bytes, "0", "Size from which threads share a file of a tree; 0 means 32 blocks, -1 never.", Works),
    option("size", Some('s'), Bytes, "0", "Size of each file; 0 uses the size of existing files and devices.", Works),
    option("start", None, Number, "0", "Start time, in seconds since the epoch.", Works),
    option("stat", None, Nothing, "", "Stat files.", Works),
    option("statinline", None, Nothing, "", "Stat each file when opening it.", Works),
    option("strided", None, Nothing, "", "Interleave the blocks of files or devices between threads.", Works),
    option("svcelapsed", None, Nothing, "", "Show the completion time of each service, the fastest first.", Works),
    option("svcping", None, Nothing, "", "Show the response time of services.", Support::Ignored("there is no full-screen progress to show it in")),
    option("svcpwfile", None, Text, "", "Password file of the services.", Never("keys take its place: `plumb agent --init DIR` makes them, PLUMB_AGENT_KEYS names those of services, PLUMB_HOSTS_KEYS those of clients")),
    option("svcupint", None, Number, "500", "Milliseconds between status requests to services.", Support::Ignored("services report as each phase ends, and are not asked before")),
    option("svcwait", None, Number, "5", "Seconds to wait for services to become ready.", Works),
    option("sync", None, Nothing, "", "Call sync before and after each phase.", Works),
    option("threads", Some('t'), Number, "1", "Number of threads.", Works),
    option("timelimit", None, Number, "0", "Time limit of a phase, in seconds; no further phase starts after it.", Works),
    option("treefile", None, Text, "", "File with a list of directories, files and sizes, used instead of --dirs and --files.", Works),
    option("treerand", None, Nothing, "", "Process the files of a tree in random order.", Works),
    option("treeroundrob", None, Nothing, "", "Interleave the blocks of a tree's shared files between threads.", Works),
    option("treeroundup", None, Bytes, "0", "Round file sizes of a tree up to a multiple of this; 0 leaves them.", Works),
    option("treescan", None, Text, "", "Scan this directory to get the tree; --treefile names the file for the list.", Works),
    option("trunc", None, Nothing, "", "Truncate files to 0 when opening them for writing.", Works),
    option("trunctosize", None, Nothing, "", "Truncate files to full size when opening them for writing.", Works),
    option("verify", None, Number, "0", "Write 64-bit words of offset plus this number, and verify them on reads.", Works),
    option("verifydirect", None, Nothing, "", "Verify each block right after writing it.", Works),
    option("version", None, Nothing, "", "Print the version.", Works),
    option("write", Some('w'), Nothing, "", "Write files, creating missing ones.", Works),
    option("zones", None, Text, "", "NUMA nodes to bind threads to, round-robin: a comma-separated list, or all.", Works),
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

    // Protects: every refusal has a reason.
    #[test]
    fn every_refusal_has_a_reason() {
        for option in OPTIONS {
            assert!(option.what.ends_with('.'), "{}", option.name);
            match option.support {
                Support::Works => {}
                Support::Ignored(why) | NotYet(why) | Never(why) => assert!(why.len() > 20, "{}", option.name),
            }
        }
    }
}
