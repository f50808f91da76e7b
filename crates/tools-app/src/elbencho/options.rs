//! elbencho's options in one table, which the parser, `--help`, the documentation and the tests use.

use plumb_tools::Support::{self, Ignored, Never, NotYet};
use plumb_tools::options::Takes::{Flag, Number, Size, Text};
use plumb_tools::options::{Grammar, Opt, Table, both, long};

const S3: Support = Never("Plumb does not measure object storage");
const GPU: Support = Never("Plumb does not transfer GPU data");
const NET: Support = Never("network benchmarks are out of scope here; use a network tool");

/// All options, sorted by name. Source: elbencho 3.1-10, `docs/usage/help-all.md`.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    long("allelapsed", Flag, "Show the completion time of each thread."),
    long("althttpsvc", Flag, "Use another HTTP server for services.").but(Never("services speak Plumb's own protocol, not HTTP")),
    long("backward", Flag, "Read or write files backward, from end to start."),
    long("base10", Flag, "Show throughput in MB/s instead of MiB/s."),
    both('b', "block", Size, "Block size of a read or write.").or("1M"),
    long("blockvaralgo", Text, "Random data generator: fast, balanced or strong. Plumb uses one generator for all three.").or("fast"),
    long("blockvarpct", Number, "Percentage of each block, from its start, filled with new random data on each write; the rest repeats one new word. 0 writes the same block every time.").or("100"),
    long("clients", Text, "Client hosts in netbench mode.").but(NET),
    long("clientsfile", Text, "File with a list of those hosts.").but(NET),
    both('c', "configfile", Text, "File of options, one NAME=VALUE per line. The command line takes precedence."),
    long("cores", Text, "CPUs to bind threads to, round-robin: a comma-separated list, or all."),
    long("cpu", Flag, "Show CPU utilization."),
    long("csvfile", Text, "Append results to this CSV file."),
    long("cufile", Flag, "Transfer GPU data.").but(GPU),
    long("cufiledriveropen", Flag, "Transfer GPU data.").but(GPU),
    long("cuhostbufreg", Flag, "Transfer GPU data.").but(GPU),
    both('D', "deldirs", Flag, "Remove directories."),
    both('F', "delfiles", Flag, "Remove files."),
    long("direct", Flag, "Bypass the page cache (O_DIRECT)."),
    both('n', "dirs", Size, "Number of directories per thread; 0 puts all files into the benchmark directory.").or("1"),
    long("dirsharing", Flag, "All threads share the directories of the first thread."),
    long("dirstats", Flag, "Show directory statistics as well."),
    long("dropcache", Flag, "Drop the kernel's caches before and after each phase; needs root."),
    long("dryrun", Flag, "Only print what each phase would do."),
    long("fadv", Text, "posix_fadvise hints for each open file: comma-separated seq, rand, willneed, dontneed, noreuse."),
    both('N', "files", Size, "Number of files per thread and directory.").or("1"),
    long("flock", Text, "Lock the range or the full file during each op: range or full."),
    long("foreground", Flag, "Run the service in the foreground."),
    long("gds", Flag, "Transfer GPU data.").but(GPU),
    long("gdsbufreg", Flag, "Transfer GPU data.").but(GPU),
    long("gpuids", Text, "Transfer GPU data.").but(GPU),
    long("gpuperservice", Flag, "Transfer GPU data.").but(GPU),
    long("hdfs", Flag, "Use HDFS.").but(Never("Plumb measures mounted file systems and block devices")),
    both('h', "help", Flag, "Print the most important options."),
    long("help-all", Flag, "Print all options."),
    long("help-bdev", Flag, "Print the options for block devices and large files."),
    long("help-dist", Flag, "Print the options for services."),
    long("help-large", Flag, "Same as --help-bdev."),
    long("help-multi", Flag, "Print the options for many files."),
    long("help-s3", Flag, "Print the options for object storage.").but(S3),
    long("hosts", Text, "Services that run the benchmark together, HOST[:PORT]: separated by comma, space or newline; node[1-4] stands for four. Threads, directories and files are those of each."),
    long("hostsfile", Text, "File with a list of those hosts, one per line; lines with # in front are ignored."),
    long("infloop", Flag, "Repeat the phase in each thread until --timelimit or a signal."),
    long("interrupt", Flag, "Interrupt the phase that the services of --hosts run."),
    long("iodepth", Number, "Queue depth per thread; 2 or more uses libaio.").or("1"),
    both('i', "iterations", Number, "Number of times to run all phases.").or("1"),
    long("jsonfile", Text, "Append results to this JSON file, one object per line."),
    long("label", Text, "Label to add to results."),
    long("lat", Flag, "Show latencies."),
    long("lathisto", Flag, "Show histograms of latencies."),
    long("latpercent", Flag, "Show percentiles of latencies."),
    long("latpercent9s", Number, "Number of nines to show after 99.").or("0"),
    long("limitread", Size, "Read limit per thread, bytes per second.").or("0"),
    long("limitwrite", Size, "Write limit per thread, bytes per second.").or("0"),
    long("live1", Flag, "Show progress on one line."),
    long("live1n", Flag, "Show progress line by line on standard error."),
    long("livecsv", Text, "Append progress to this CSV file; stdout means standard output."),
    long("livecsvex", Flag, "Include each thread in --livecsv."),
    long("liveint", Number, "Milliseconds between progress updates.").or("2000"),
    long("livejson", Text, "Progress as JSON.").but(NotYet("elbencho's help lists it, but elbencho does not accept it; use --livecsv")),
    long("livejsonex", Flag, "Include each thread in --livejson.").but(NotYet("elbencho's help lists it, but elbencho does not accept it; use --livecsvex")),
    long("log", Number, "Log level: 1 adds numbers of I/Os.").or("0"),
    long("madv", Text, "madvise hints for --mmap: comma-separated seq, rand, willneed, dontneed, hugepage, nohugepage."),
    both('d', "mkdirs", Flag, "Create directories."),
    long("mmap", Flag, "Read and write through a memory mapping. In directory mode, files to write are extended to full size when opened."),
    long("netbench", Flag, "Measure the network.").but(NET),
    long("netdevs", Text, "Measure the network.").but(NET),
    long("no0usecerr", Flag, "Do not warn about phases that took no measurable time."),
    long("nocsvlabels", Flag, "Omit the header line in CSV files."),
    long("nodelerr", Flag, "Ignore missing files and directories when deleting."),
    long("nodetach", Flag, "Same as --foreground."),
    long("nodiocheck", Flag, "Skip the alignment check for direct I/O. Plumb always checks against what the device needs."),
    long("nofdsharing", Flag, "Each thread opens its own file descriptors, as Plumb's threads always do."),
    long("nolive", Flag, "Show no progress."),
    long("nopathexp", Flag, "Do not expand brackets in paths."),
    long("norandalign", Flag, "Do not align random offsets to the block size."),
    long("nosvcshare", Flag, "Each service works on the whole data set, instead of its part of one that all share."),
    long("numhosts", Number, "Use only the first N hosts; 0 runs the benchmark here."),
    long("numservers", Number, "Number of hosts that are servers.").but(NET),
    long("opslog", Text, "Append each op to this JSON file, one object per line."),
    long("opsloglock", Flag, "Lock that file. Not needed in Plumb, which writes it after each phase."),
    long("path", Text, "A benchmark path; same as an argument without an option."),
    long("phasedelay", Number, "Seconds between phases.").or("0"),
    long("port", Number, "Port of the service, and of hosts without one.").or("1611"),
    long("preallocfile", Flag, "Preallocate files to write (posix_fallocate)."),
    long("quit", Flag, "End the services of --hosts."),
    long("rand", Flag, "Use random offsets."),
    long("randalgo", Text, "Random offset generator: fast, balanced_single or strong. With any of them offsets may repeat; without it, writes cover each block once."),
    long("randamount", Size, "Total bytes to transfer at random offsets, all threads together.").or("0"),
    long("rankoffset", Number, "The rank of the first thread.").or("0"),
    both('r', "read", Flag, "Read files."),
    long("readinline", Flag, "Read back each block right after writing it."),
    long("recvbuf", Text, "Measure the network.").but(NET),
    long("resfile", Text, "Append results to this text file."),
    long("respsize", Text, "Measure the network.").but(NET),
    long("rotatehosts", Number, "Rotate the hosts by this number between phases, so that they read what others wrote.").or("0"),
    long("rwmixpct", Number, "Percentage of reads in the write phase.").or("0"),
    long("rwmixthr", Number, "Number of threads that read in the write phase.").or("0"),
    long("rwmixthrpct", Number, "Percentage of reads to hold between the readers of --rwmixthr and the writers; the side that is ahead waits.").or("0"),
    long("s3aclget", Flag, "Use object storage.").but(S3),
    long("s3aclgrantee", Text, "Use object storage.").but(S3),
    long("s3aclgrants", Text, "Use object storage.").but(S3),
    long("s3aclgtype", Text, "Use object storage.").but(S3),
    long("s3aclput", Flag, "Use object storage.").but(S3),
    long("s3aclputinl", Flag, "Use object storage.").but(S3),
    long("s3aclverify", Flag, "Use object storage.").but(S3),
    long("s3baclget", Flag, "Use object storage.").but(S3),
    long("s3baclput", Flag, "Use object storage.").but(S3),
    long("s3btag", Flag, "Use object storage.").but(S3),
    long("s3btagverify", Flag, "Use object storage.").but(S3),
    long("s3bversion", Flag, "Use object storage.").but(S3),
    long("s3bversionverify", Flag, "Use object storage.").but(S3),
    long("s3chksumalgo", Text, "Use object storage.").but(S3),
    long("s3credfile", Text, "Use object storage.").but(S3),
    long("s3credlist", Text, "Use object storage.").but(S3),
    long("s3endpoints", Text, "Use object storage.").but(S3),
    long("s3fastget", Flag, "Use object storage.").but(S3),
    long("s3fastput", Flag, "Use object storage.").but(S3),
    long("s3ignoreerrors", Flag, "Use object storage.").but(S3),
    long("s3key", Text, "Use object storage.").but(S3),
    long("s3listobj", Text, "Use object storage.").but(S3),
    long("s3listobjpar", Flag, "Use object storage.").but(S3),
    long("s3listverify", Flag, "Use object storage.").but(S3),
    long("s3log", Text, "Use object storage.").but(S3),
    long("s3logprefix", Text, "Use object storage.").but(S3),
    long("s3maxconns", Text, "Use object storage.").but(S3),
    long("s3mpusharing", Flag, "Use object storage.").but(S3),
    long("s3mpusizevar", Text, "Use object storage.").but(S3),
    long("s3mpusplit", Text, "Use object storage.").but(S3),
    long("s3multidel", Text, "Use object storage.").but(S3),
    long("s3multiignore404", Flag, "Use object storage.").but(S3),
    long("s3nocompress", Flag, "Use object storage.").but(S3),
    long("s3nompcheck", Flag, "Use object storage.").but(S3),
    long("s3nompucompl", Flag, "Use object storage.").but(S3),
    long("s3objprefix", Text, "Use object storage.").but(S3),
    long("s3olockcfg", Flag, "Use object storage.").but(S3),
    long("s3olockcfgverify", Flag, "Use object storage.").but(S3),
    long("s3otag", Flag, "Use object storage.").but(S3),
    long("s3otagverify", Flag, "Use object storage.").but(S3),
    long("s3randobj", Flag, "Use object storage.").but(S3),
    long("s3region", Text, "Use object storage.").but(S3),
    long("s3secret", Text, "Use object storage.").but(S3),
    long("s3sessiontoken", Text, "Use object storage.").but(S3),
    long("s3sign", Text, "Use object storage.").but(S3),
    long("s3single", Flag, "Use object storage.").but(S3),
    long("s3sse", Flag, "Use object storage.").but(S3),
    long("s3sseckey", Text, "Use object storage.").but(S3),
    long("s3ssekmskey", Text, "Use object storage.").but(S3),
    long("s3statdirs", Flag, "Use object storage.").but(S3),
    long("s3targetgbps", Text, "Use object storage.").but(S3),
    long("s3virtaddr", Flag, "Use object storage.").but(S3),
    long("sendbuf", Text, "Measure the network.").but(NET),
    long("servers", Text, "Measure the network.").but(NET),
    long("serversfile", Text, "Measure the network.").but(NET),
    long("service", Flag, "Run as a service, in the background, for coordinators that name this host in --hosts. PLUMB_AGENT_KEYS names its keys, PLUMB_AGENT_ALLOW the paths that it may use."),
    long("sharesize", Size, "Size from which threads share a file of a tree; 0 means 32 blocks, -1 never.").or("0"),
    both('s', "size", Size, "Size of each file; 0 uses the size of existing files and devices.").or("0"),
    long("start", Number, "Start time, in seconds since the epoch.").or("0"),
    long("stat", Flag, "Stat files."),
    long("statinline", Flag, "Stat each file when opening it."),
    long("strided", Flag, "Interleave the blocks of files or devices between threads."),
    long("svcelapsed", Flag, "Show the completion time of each service, the fastest first."),
    long("svcping", Flag, "Show the response time of services.").but(Ignored("there is no full-screen progress to show it in")),
    long("svcpwfile", Text, "File whose first line is the secret of real elbencho services. Plumb's own services have keys: `plumb agent --init DIR` makes them, PLUMB_AGENT_KEYS names those of services, PLUMB_HOSTS_KEYS those of clients."),
    long("svcupint", Number, "Most milliseconds between status requests to real elbencho services; Plumb's own report when a phase ends.").or("500"),
    long("svcwait", Number, "Seconds to wait for services to become ready.").or("5"),
    long("sync", Flag, "Call sync before and after each phase."),
    both('t', "threads", Number, "Number of threads.").or("1"),
    long("timelimit", Number, "Time limit of a phase, in seconds; no further phase starts after it.").or("0"),
    long("treefile", Text, "File with a list of directories, files and sizes, used instead of --dirs and --files."),
    long("treerand", Flag, "Process the files of a tree in random order."),
    long("treeroundrob", Flag, "Interleave the blocks of a tree's shared files between threads."),
    long("treeroundup", Size, "Round file sizes of a tree up to a multiple of this; 0 leaves them.").or("0"),
    long("treescan", Text, "Scan this directory to get the tree; --treefile names the file for the list."),
    long("trunc", Flag, "Truncate files to 0 when opening them for writing."),
    long("trunctosize", Flag, "Truncate files to full size when opening them for writing."),
    long("verify", Number, "Write 64-bit words of offset plus this number, and verify them on reads.").or("0"),
    long("verifydirect", Flag, "Verify each block right after writing it."),
    long("version", Flag, "Print the version."),
    both('w', "write", Flag, "Write files, creating missing ones."),
    long("zones", Text, "NUMA nodes to bind threads to, round-robin: a comma-separated list, or all."),
];

/// The rules of boost's `program_options`: names can be abbreviated, and values attached with or without `=`.
pub(super) const WORDS: Grammar =
    Grammar { abbreviates: true, short_equals: true, ..Grammar::getopt(Table(&[OPTIONS])) };

/// Returns the option of this name.
pub(super) fn named(name: &str) -> Option<&'static Opt> {
    WORDS.table.named(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the order of the help, and that every letter has one meaning.
    #[test]
    fn names_are_sorted_and_letters_differ() {
        assert!(OPTIONS.windows(2).all(|pair| pair[0].name < pair[1].name));
        let mut letters: Vec<char> = OPTIONS.iter().filter_map(|option| option.letter).collect();
        let count = letters.len();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), count);
    }

    #[test]
    fn every_refusal_has_a_reason() {
        for option in OPTIONS {
            assert!(option.what.ends_with('.'), "{}", option.name);
            match option.support {
                Support::Works => {}
                Ignored(why) | NotYet(why) | Never(why) => assert!(why.len() > 20, "{}", option.name),
            }
        }
    }
}
