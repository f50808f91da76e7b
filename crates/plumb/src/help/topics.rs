//! Examples and exit codes, one row per command. Help, manual and tests read them from here.

/// Part of a command's help below its options.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Command without the program's name, such as `study run`; empty for the program itself.
    pub command: &'static str,
    pub examples: &'static [Example],
    pub exits: &'static [Exit],
}

#[derive(Debug)]
pub(crate) struct Example {
    pub purpose: &'static str,
    pub line: &'static str,
}

#[derive(Debug)]
pub(crate) struct Exit {
    pub code: &'static str,
    /// When a command ends with this code.
    pub meaning: &'static str,
}

const fn example(purpose: &'static str, line: &'static str) -> Example {
    Example { purpose, line }
}

const fn exit(code: &'static str, meaning: &'static str) -> Exit {
    Exit { code, meaning }
}

const DONE: Exit = exit("0", "done");
const TRUSTED: Exit = exit("0", "done, and the checks did not reject the result");
const ASSERTED: Exit = exit(
    "1",
    "done, but a condition is false: --assert, a limit of fit-for, a regression of gate, a broken rule of posix, a bundle that fails \
     verify",
);
const RUN_ASSERTED: Exit = exit(
    "1",
    "done, but a condition given with --assert is false, no rounds were steady, or a load is beyond its limit",
);
const USAGE: Exit = exit("2", "the command line or a file it names is wrong; nothing was measured");
const CHECKED: Exit = exit("2", "the command line or the study is wrong, or a check before the first run failed");
const WRONG_WORDS: Exit = exit("2", "the command line, or a file, run or database that it names, is wrong");
const REJECTED: Exit = exit("3", "done, but a check rejected a result: do not use its numbers");
const IO: Exit = exit("4", "an I/O error, or the result could not be stored");
const READ_IO: Exit = exit("4", "an I/O error");
const REFUSED: Exit = exit("5", "the write guard refused to overwrite something");
const INTERRUPTED: Exit = exit("130", "interrupted; what was measured so far is stored");

const INTERRUPTED_RECORDING: Exit = exit("130", "interrupted; what was recorded so far is in the file");

const MEASURES: &[Exit] = &[TRUSTED, USAGE, REJECTED, IO, REFUSED, INTERRUPTED];
const READS: &[Exit] = &[DONE, WRONG_WORDS, READ_IO];
const SHARES: &[Exit] =
    &[DONE, WRONG_WORDS, exit("4", "the team's database cannot be used, or a run was refused: the message says which")];
const PRINTS: &[Exit] = &[DONE, WRONG_WORDS];

pub(crate) fn find_topic(command: &str) -> Option<&'static Topic> {
    TOPICS.iter().find(|topic| topic.command == command)
}

/// Every command that users type.
pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        command: "",
        examples: &[
            example("Measure the storage under a directory", "plumb try /mnt/data"),
            example("Compare two file systems", "plumb compare /mnt/ext4 /mnt/xfs"),
            example("Run one workload", "plumb run random-read --at /mnt/data"),
            example("Run an fio command line", "plumb as fio --name=a --rw=randread --size=1g"),
            example("Explain a check", "plumb explain A3"),
        ],
        exits: &[
            TRUSTED,
            ASSERTED,
            USAGE,
            REJECTED,
            IO,
            REFUSED,
            exit("6", "gate and fit-for: cannot tell, or borderline"),
            exit("7", "gate: suspected; a second session decides"),
            INTERRUPTED,
        ],
    },
    Topic {
        command: "try",
        examples: &[
            example("Measure the storage under a directory", "plumb try /mnt/data"),
            example("Measure in 10 seconds", "plumb try /mnt/data --quick"),
            example("Report the medians of 5 runs, also into a file", "plumb try /mnt/data --runs 5 --output try.txt"),
            example("Use a larger file and longer phases", "plumb try /mnt/data --size 64GiB --time 30s"),
            example("Measure two file systems, one after the other", "plumb try /mnt/a /mnt/b"),
            example("Read a device, and write nothing", "plumb try /dev/nvme0n1"),
            example("Watch it on a full screen", "plumb try /mnt/data --live"),
            example("Let Prometheus watch it", "plumb try /mnt/data --stream openmetrics:9750"),
            example("See what the page looks like, on a simulated device", "plumb try sim:ssd --no-store"),
        ],
        exits: MEASURES,
    },
    Topic {
        command: "fit-for",
        examples: &[
            example("Answer whether a disk is fast enough for etcd", "plumb fit-for etcd /var/lib"),
            example("List the uses and their limits", "plumb fit-for --list"),
            example(
                "Give a limit of your own: four streams of 100 MB/s",
                "plumb fit-for video /mnt/data --limit 'play/read.bw >= 400MB/s'",
            ),
            example("See what the page looks like, on a simulated device", "plumb fit-for etcd sim:ssd --no-store"),
        ],
        exits: &[
            exit("0", "yes; or numbers only, where there is no limit"),
            exit("1", "no"),
            USAGE,
            exit("3", "refused: a number with a limit is not the device's, or checks rejected too many runs"),
            IO,
            REFUSED,
            exit("6", "borderline, or cannot tell"),
            INTERRUPTED,
        ],
    },
    Topic {
        command: "compare",
        examples: &[
            example("Compare two directories by random reads", "plumb compare /mnt/a /mnt/b"),
            example(
                "Compare the file systems themselves: three mkfs per side",
                "plumb compare /mnt/e1,/mnt/e2,/mnt/e3 /mnt/x1,/mnt/x2,/mnt/x3 --varying fs",
            ),
            example("Compare writes and fsync", "plumb compare /mnt/a /mnt/b --for random-write,fsync-log"),
            example("Try it on simulated devices", "plumb compare sim:hdd sim:hdd?slow=5% --no-store"),
            example("Compare stored runs by their tags", "plumb compare --from-store before-upgrade after-upgrade"),
            example(
                "Compare two levels of a stored study",
                "plumb compare --from-store 'study:raid level=4' 'study:raid level=5' --metrics write.bw",
            ),
        ],
        exits: MEASURES,
    },
    Topic {
        command: "gate",
        examples: &[
            example("Judge one directory by another", "plumb gate --baseline /mnt/a --candidate /mnt/b"),
            example(
                "Judge writes, and go on until the answer is clear",
                "plumb gate --baseline /mnt/a --candidate /mnt/b --for random-write --until-decided",
            ),
            example(
                "Keep a baseline in a file, and judge each later session by it",
                "plumb gate --candidate /mnt/a --keep baseline.json",
            ),
            example("Judge the newest run by those with a tag", "plumb gate --baseline tag:main --candidate last"),
            example(
                "Write what a pipeline reads",
                "plumb gate --baseline /mnt/a --candidate /mnt/b --github --junit gate.xml --md gate.md",
            ),
            example("Try it on simulated devices", "plumb gate --baseline sim:ssd --candidate 'sim:ssd?slow=10%'"),
        ],
        exits: &[
            exit("0", "pass; with --allow-cannot-tell also `cannot tell` and `suspected`"),
            exit("1", "regression"),
            USAGE,
            exit("3", "cannot tell, because checks rejected too many runs, or those of one side"),
            IO,
            REFUSED,
            exit("6", "cannot tell"),
            exit("7", "suspected: one session looks worse; measure a second one, which decides"),
            INTERRUPTED,
        ],
    },
    Topic {
        command: "noise",
        examples: &[
            example("Measure the noise floor of a directory", "plumb noise /mnt/data"),
            example("The same for writes, in ten minutes", "plumb noise /mnt/data --for random-write --budget 10m"),
        ],
        exits: MEASURES,
    },
    Topic {
        command: "run",
        examples: &[
            example("Run a named workload", "plumb run random-read --at /mnt/data"),
            example("Change its settings", "plumb run random-read --at /mnt/data --set depth=32 --set size=8GiB"),
            example("Run a workload file", "plumb run my.toml --at /mnt/data"),
            example(
                "Fail a script when p99 is too high",
                "plumb run random-read --at /mnt/data --assert 'read.lat.p99 < 5ms'",
            ),
            example(
                "Test in rounds until writes are steady",
                "plumb run pts-iops-like --at /mnt/data --report iops.html",
            ),
            example("Print each second as JSON while it runs", "plumb run random-read --at sim:ssd --stream ndjson:-"),
            example("Print a named workload as a file, to edit it", "plumb run mail --translate"),
            example(
                "Run it with 64 processes of an MPI job",
                "mpirun -n 64 plumb run random-write --at /mnt/lustre/me",
            ),
            example(
                "Measure on two hosts at once",
                "plumb run random-read --at /mnt/data --hosts node1,node2 --hosts-keys keys/client.keys",
            ),
        ],
        exits: &[TRUSTED, RUN_ASSERTED, USAGE, REJECTED, IO, REFUSED, INTERRUPTED],
    },
    Topic {
        command: "workloads",
        examples: &[
            example("List the named workloads", "plumb workloads"),
            example("The same for a program", "plumb workloads --json"),
        ],
        exits: PRINTS,
    },
    Topic {
        command: "sweep",
        examples: &[
            example("Find the queue depth that saturates a disk", "plumb sweep depth=1..256 /mnt/data"),
            example("Sweep the block size", "plumb sweep block=4k,64k,1M /mnt/data"),
            example("Plot latency against load", "plumb sweep rate=auto /mnt/data"),
            example("Read a device without writing to it", "plumb sweep depth=1..64 /dev/nvme0n1 --read-only"),
            example("Find the highest rate with p99 below 2 ms", "plumb sweep rate=auto /mnt/data --p99 2ms"),
        ],
        exits: MEASURES,
    },
    Topic {
        command: "study",
        examples: &[
            example("See what a study would do", "plumb study plan study.toml"),
            example("Run it", "plumb study run study.toml"),
            example("Continue after an interruption", "plumb study resume"),
        ],
        exits: &[DONE, USAGE, REJECTED, IO, REFUSED, INTERRUPTED],
    },
    Topic {
        command: "study plan",
        examples: &[
            example("See what a study would do", "plumb study plan study.toml"),
            example("List every run in its order", "plumb study plan study.toml --runs"),
            example("Plan a smaller version of it", "plumb study plan study.toml --scale small"),
            example("Check hosts, programs, devices and space", "plumb study plan study.toml --check"),
        ],
        exits: &[DONE, CHECKED, REFUSED, INTERRUPTED],
    },
    Topic {
        command: "study run",
        examples: &[
            example("Run a study", "plumb study run study.toml"),
            example("Run a smaller version of it", "plumb study run study.toml --scale small"),
            example("Watch it on a full screen", "plumb study run study.toml --live"),
            example("Make each run on two hosts at once", "plumb study run study.toml --hosts node1,node2"),
        ],
        exits: &[DONE, CHECKED, REJECTED, IO, REFUSED, INTERRUPTED],
    },
    Topic {
        command: "study resume",
        examples: &[
            example("Continue the latest study", "plumb study resume"),
            example("Continue the study of a file", "plumb study resume study.toml"),
            example("Repeat runs that failed or were rejected", "plumb study resume --failed --rejected"),
        ],
        exits: &[DONE, CHECKED, REJECTED, IO, REFUSED, INTERRUPTED],
    },
    Topic {
        command: "study gather",
        examples: &[example("Put together what an array of jobs measured", "plumb study gather parts/*.db")],
        exits: &[DONE, WRONG_WORDS, REJECTED, exit("4", "a cell has no value because its runs failed")],
    },
    Topic {
        command: "study report",
        examples: &[
            example("Report on the latest study", "plumb study report"),
            example("Print Markdown", "plumb study report study.toml --md"),
            example("Compare another factor in the same data", "plumb study report last --by depth --within device"),
            example("Compare two of several levels", "plumb study report last --by system=mint,fedora"),
            example(
                "Report other metrics, at one level only",
                "plumb study report last --within depth=16 --metrics lat.p99",
            ),
        ],
        exits: &[DONE, WRONG_WORDS, REJECTED, exit("4", "a cell has no value because its runs failed")],
    },
    Topic { command: "study list", examples: &[example("List stored studies", "plumb study list")], exits: READS },
    Topic {
        command: "posix",
        examples: &[
            example("Test the file system of a directory", "plumb posix /mnt/data"),
            example("Test locks and permissions only", "plumb posix /mnt/data --only 'locks,*.permission*'"),
            example(
                "Fail a pipeline on what POSIX itself demands only",
                "plumb posix /mnt/data --level shall --junit posix.xml",
            ),
            example(
                "Write what fails now, to be expected from now on",
                "plumb posix /mnt/data --write-expected expected.toml",
            ),
            example("Report new failures only", "plumb posix /mnt/data --baseline posix.json"),
            example("Test as a plain user what needs other users", "plumb posix /home/me --userns"),
        ],
        exits: &[
            exit("0", "every case that was tested holds, or fails as expected"),
            exit("1", "a rule of the level that was asked for is broken, or a case hangs or is flaky"),
            exit("2", "the command line or a file that it names is wrong; nothing was tested"),
            READ_IO,
            REFUSED,
            exit("130", "interrupted"),
        ],
    },
    Topic {
        command: "posix explain",
        examples: &[
            example("List all cases", "plumb posix explain"),
            example("Explain one, with a program in C that repeats its calls", "plumb posix explain unlink.open-links"),
            example("The same on another file system", "plumb posix explain unlink.open-links --at /mnt/data"),
        ],
        exits: READS,
    },
    Topic {
        command: "posix diff",
        examples: &[example("Compare two reports", "plumb posix diff before.json after.json")],
        exits: &[exit("0", "no new failures"), exit("1", "new failures"), WRONG_WORDS],
    },
    Topic {
        command: "posix matrix",
        examples: &[example(
            "Compare three file systems",
            "plumb posix matrix ext4.json xfs.json nfs.json --html matrix.html",
        )],
        exits: READS,
    },
    Topic {
        command: "trace",
        examples: &[
            example("Record what a program does to files", "plumb trace record -- tar xf linux.tar"),
            example("Show what a recording is like", "plumb trace show tar.trace"),
            example("Make a recording that fio can replay", "plumb trace convert app.strace app.iolog"),
        ],
        exits: READS,
    },
    Topic {
        command: "trace record",
        examples: &[
            example("Record a program and all that it starts", "plumb trace record -- git checkout main"),
            example("Record a server for a while", "plumb trace record --pid 4711 --output db.trace"),
            example("Record what a device is asked for", "plumb trace record --dev /dev/nvme0n1"),
            example("Record a program of one's own, without any rights", "plumb trace record --by ptrace -- make"),
        ],
        exits: &[
            DONE,
            WRONG_WORDS,
            exit("4", "the kernel refuses, or the recording cannot be written"),
            INTERRUPTED_RECORDING,
        ],
    },
    Topic {
        command: "trace show",
        examples: &[
            example("Show what a program does, as strace sees it", "plumb trace show app.strace"),
            example("Show a block trace, as JSON", "plumb trace show sda.blktrace.0 --json"),
            example("Show a table of one's own", "plumb trace show own.csv --from ', time:us,op,offset:512,length'"),
        ],
        exits: READS,
    },
    Topic {
        command: "trace compare",
        examples: &[example("Compare two recordings", "plumb trace compare before.trace after.trace")],
        exits: READS,
    },
    Topic {
        command: "trace replay",
        examples: &[
            example(
                "Replay what a program did, in a new directory below",
                "plumb trace replay tar.trace --at /mnt/new",
            ),
            example(
                "As fast as the recorded order allows",
                "plumb trace replay tar.trace --at /mnt/new --timing as-fast-as-possible --order total",
            ),
            example("Replay a block trace on a simulated device", "plumb trace replay sda.blktrace.0 --at sim:nvme"),
            example("See the workload that replays it", "plumb trace replay tar.trace --at . --translate"),
        ],
        exits: MEASURES,
    },
    Topic {
        command: "trace fit",
        examples: &[
            example("Make a workload that is like a recording", "plumb trace fit db.trace -o db.toml"),
            example(
                "The same as one stream, and as a job of fio",
                "plumb trace fit db.trace --level 0 -o db0.toml --fio db.fio",
            ),
        ],
        exits: READS,
    },
    Topic {
        command: "trace convert",
        examples: &[
            example("Make a recording small", "plumb trace convert app.strace app.trace"),
            example("Make one that fio can replay", "plumb trace convert app.strace app.iolog"),
            example("Make one that blkparse can read", "plumb trace convert hm_0.csv hm_0.blktrace"),
            example("Make one without names", "plumb trace convert app.trace public.trace --anonymise"),
        ],
        exits: READS,
    },
    Topic {
        command: "audit",
        examples: &[
            example("Audit a published comparison", "plumb audit audits/raid4-vs-raid5.toml"),
            example("Show notes, and the numbers of each finding", "plumb audit study.toml --notes"),
        ],
        exits: &[
            exit("0", "every claim stands, and no check fails"),
            USAGE,
            exit("3", "a claim is unsupported or contradicted, or a check fails"),
        ],
    },
    Topic {
        command: "as",
        examples: &[
            example("Run an fio job file", "plumb as fio job.fio"),
            example("Run an fio command line", "plumb as fio --name=a --rw=randread --size=1g --output-format=json"),
            example(
                "Send each second of it to a file",
                "plumb as fio --name=a --rw=randread --size=1g --plumb-stream=ndjson:seconds",
            ),
            example(
                "Exit with 3 if the checks reject the run",
                "plumb as fio --name=a --rw=randread --size=1g --direct=1 --plumb-strict",
            ),
            example("Run it on each of 4 ranks at once", "mpirun -n 4 plumb as fio job.fio"),
            example(
                "Run a Filebench script with other variables",
                "plumb as filebench -f varmail.f --set nfiles=50000",
            ),
            example("Run a parameter file of vdbench, 10 seconds a run", "plumb as vdbench -f parmfile -e 10"),
            example("Run a configuration file of IOMeter", "plumb as iometer /c file.icf /r results.csv"),
            example("Do what 16 clients of a file server did, for a minute", "plumb as dbench -t 60 -D out 16"),
            example("Make and flush small files, as fs_mark does", "plumb as fs_mark -d out -n 1000 -t 4 -S 1"),
            example("Run sysbench's file test", "plumb as sysbench fileio --file-test-mode=rndrw --threads=4 run"),
            example("Run dd", "plumb as dd if=/dev/zero of=file bs=1M count=1024 conv=fsync"),
            example(
                "Create, stat, read and remove files, 4 ranks",
                "plumb as mdtest -n 1000 -F -d out --plumb-ranks 4",
            ),
            example(
                "Renew the objects of 4 ranks, with latencies of each operation",
                "plumb as md-workbench -D 2 -P 1000 -I 500 -o out --plumb-ranks 4",
            ),
            example("Write and read a shared file, 4 ranks", "plumb as ior -b 16m -t 1m -o file --plumb-ranks 4"),
            example("The same by collective MPI-IO", "mpirun -n 4 plumb as ior -a MPIIO -c -b 16m -t 1m -o file"),
            example(
                "Run the phases of IO500 on 64 ranks; its result is \"io500-style\"",
                "mpirun -n 64 plumb as io500 config.ini",
            ),
            example("Print extended device statistics", "plumb as iostat -x 1 5"),
            example("Serve iperf3 clients, many at once", "plumb as iperf3 -s -B 0.0.0.0"),
            example("Send datagrams to an iperf2 server", "plumb as iperf -c 192.0.2.1 -u -e -i 1"),
            example(
                "Time round trips to a netserver",
                "plumb as netperf -H 192.0.2.1 -t TCP_RR -- -k P50_LATENCY,P99_LATENCY",
            ),
        ],
        exits: &[
            exit("any", "that of the tool itself; Plumb's checks change it only under --plumb-strict"),
            exit("3", "under --plumb-strict: the checks reject a run, and the tool itself would end with 0"),
        ],
    },
    Topic {
        command: "check",
        examples: &[example("Look for problems before measuring", "plumb check /mnt/data")],
        exits: &[
            exit("0", "no check would reject a run here"),
            WRONG_WORDS,
            exit("3", "a check would reject a run here"),
            READ_IO,
        ],
    },
    Topic {
        command: "net",
        examples: &[
            example("Serve as the other end, on one address", "plumb net --serve --bind 192.0.2.1"),
            example("Measure the network to it", "plumb net 192.0.2.1"),
            example("Load it with eight streams, and longer", "plumb net 192.0.2.1 --parallel 8 --time 10"),
            example("What sleeping costs a round trip", "plumb net 192.0.2.1 --busy-poll 50us"),
            example("Every hour of a day, with charts", "plumb net 192.0.2.1 --every 1h --for 24h --report net.html"),
            example("Chart all that is stored of it", "plumb net 192.0.2.1 --stored --report net.html"),
        ],
        exits: &[DONE, USAGE, exit("4", "no connection, or one that failed"), exit("130", "interrupted")],
    },
    Topic {
        command: "agent",
        examples: &[
            example("Serve your own clients on this host (`--hosts local`)", "plumb agent --listen --allow /mnt/data"),
            example("Make keys for other hosts", "plumb agent --init keys"),
            example("Serve them", "plumb agent --listen 0.0.0.0 --keys keys/server.keys --allow /mnt/data"),
        ],
        exits: &[exit("0", "ended by a signal, or keys are made"), USAGE, exit("4", "the address cannot be had")],
    },
    Topic {
        command: "k8s",
        examples: &[example(
            "Measure the default storage class",
            "plumb k8s render --image registry.example.org/plumb:0.1.0",
        )],
        exits: &[DONE, WRONG_WORDS],
    },
    Topic {
        command: "k8s render",
        examples: &[
            example(
                "Measure a storage class",
                "plumb k8s render --image IMAGE --storage-class fast --size 50Gi --set size=40GiB",
            ),
            example("Compare two", "plumb k8s render --image IMAGE --storage-class fast,slow --set size=10GiB"),
            example("Measure by four pods at once", "plumb k8s render --image IMAGE --hosts 4"),
            example("Write a Helm chart", "plumb k8s render --image IMAGE --hosts 4 --chart plumb-chart"),
        ],
        exits: &[DONE, WRONG_WORDS, READ_IO],
    },
    Topic {
        command: "verify-capacity",
        examples: &[
            example("Look for a counterfeit in seconds", "plumb verify-capacity --quick --destroy SERIAL /dev/sdb"),
            example("Prove that all of a device is there", "plumb verify-capacity --destroy SERIAL /dev/sdb"),
            example("Check the free space of a file system", "plumb verify-capacity /media/stick"),
        ],
        exits: &[
            exit("0", "all that was asked came back as written"),
            exit("1", "it holds less than it claims, or is damaged"),
            USAGE,
            READ_IO,
            REFUSED,
            exit("130", "interrupted"),
        ],
    },
    Topic {
        command: "watch",
        examples: &[
            example("Watch all devices", "plumb watch"),
            example("Watch the devices under a path", "plumb watch /mnt/data"),
            example("Print ten lines of JSON, one a second", "plumb watch nvme0n1 -n 10 --json"),
        ],
        exits: READS,
    },
    Topic {
        command: "explain",
        examples: &[example("List the checks", "plumb explain"), example("Explain one", "plumb explain A3")],
        exits: PRINTS,
    },
    Topic {
        command: "list",
        examples: &[
            example("List the latest runs", "plumb list"),
            example("List 100 runs with a tag", "plumb list -n 100 --tag before-upgrade"),
        ],
        exits: READS,
    },
    Topic {
        command: "show",
        examples: &[
            example("Show the latest run again", "plumb show"),
            example("Show what changed between two runs", "plumb show last --diff 3f2a"),
            example("Print its result as JSON", "plumb show last --json"),
            example("Draw its rates over time and its latency", "plumb show last --plot"),
            example("Show rounds of `plumb run pts-iops-like` again", "plumb show rounds-01a21ea58d82"),
        ],
        exits: READS,
    },
    Topic {
        command: "query",
        examples: &[
            example("List the tables", "plumb query"),
            example("Count runs by verdict", "plumb query 'SELECT verdict, count(*) FROM run GROUP BY verdict'"),
        ],
        exits: READS,
    },
    Topic {
        command: "tag",
        examples: &[
            example("Tag the latest run", "plumb tag last before-upgrade"),
            example("Remove the tag", "plumb tag last before-upgrade --delete"),
        ],
        exits: READS,
    },
    Topic {
        command: "retract",
        examples: &[
            example("Leave the latest run out of comparisons", "plumb retract last --reason 'a backup ran next to it'"),
            example("Take that back", "plumb retract last --undo --reason 'it was another host'"),
        ],
        exits: READS,
    },
    Topic {
        command: "annotate",
        examples: &[example("Say what a run was for", "plumb annotate last --note 'before the firmware update'")],
        exits: READS,
    },
    Topic {
        command: "report",
        examples: &[
            example("Write what was measured last as one HTML file", "plumb report last --html report.html"),
            example(
                "Write a study's workbook and its charts",
                "plumb report raid4-vs-raid5 --xlsx study.xlsx --png charts",
            ),
            example("Draw every nightly run over time", "plumb report tag:nightly --html nightly.html"),
        ],
        exits: READS,
    },
    Topic {
        command: "export",
        examples: &[
            example("Print all runs as JSON", "plumb export"),
            example("Print the latest run as CSV", "plumb export last --csv"),
            example("Print it without names of hosts, users and paths", "plumb export last --anonymise"),
            example("Print a study as CSV, with a column for each factor", "plumb export --study raid4-vs-raid5 --csv"),
            example("Add the new runs to a directory of Parquet files", "plumb export --parquet numbers"),
            example("Write the documents of OpenSearch's bulk API", "plumb export --opensearch numbers.ndjson"),
            example("Print tagged runs for `bencher run --adapter json`", "plumb export --tag pr-123 --bmf"),
            example("Print the latest run for Horreum", "plumb export last --horreum"),
            example("Write it to one signed file, which others can check", "plumb export last --bundle run.plumb"),
        ],
        exits: READS,
    },
    Topic {
        command: "import",
        examples: &[
            example("Add a result that was saved while the database was locked", "plumb import plumb-result-*.json"),
            example("Add runs that `plumb export` wrote on another machine", "plumb import runs.json"),
        ],
        exits: READS,
    },
    Topic {
        command: "push",
        examples: &[
            example(
                "Copy new results to the team's database",
                "plumb push --to postgres://bench@db.example.org/results",
            ),
            example(
                "The same on this machine, by its socket",
                "plumb push --to 'postgres://bench@/results?host=/run/postgresql'",
            ),
        ],
        exits: SHARES,
    },
    Topic {
        command: "pull",
        examples: &[
            example(
                "Add the team's results to the local store",
                "plumb pull --from postgres://ann@db.example.org/results",
            ),
            example(
                "Add those of one host since a day",
                "plumb pull --from postgres://ann@db.example.org/results --host box7 --since 2026-11-01",
            ),
        ],
        exits: SHARES,
    },
    Topic {
        command: "expire",
        examples: &[
            example(
                "Count the runs that are older than a date",
                "plumb expire --from postgres://plumb_owner@db.example.org/results --before 2024-01-01",
            ),
            example(
                "Delete them, except releases",
                "plumb expire --from postgres://plumb_owner@db.example.org/results --before 2024-01-01 --keep release --yes",
            ),
        ],
        exits: SHARES,
    },
    Topic {
        command: "site",
        examples: &[
            example("Publish the latest run", "plumb site public last"),
            example("Publish runs with a tag, without names", "plumb site public tag:nightly --anonymise"),
            example("Publish all runs under a title", "plumb site public --all --title 'Disks of the lab'"),
        ],
        exits: &[DONE, WRONG_WORDS, READ_IO, exit("5", "the directory has files that `plumb site` did not make")],
    },
    Topic {
        command: "key",
        examples: &[
            example("Make a key that signs your bundles", "plumb key"),
            example("Print its public key for those who check them", "plumb key --show"),
        ],
        exits: &[DONE, WRONG_WORDS, READ_IO, exit("5", "a key exists and is not overwritten")],
    },
    Topic {
        command: "verify",
        examples: &[
            example("Check a bundle that somebody sent you", "plumb verify run.plumb"),
            example("Accept only one signer", "plumb verify run.plumb --key alice.pub"),
        ],
        exits: &[
            exit("0", "done, and no check failed; the signer may be unknown"),
            exit("1", "done, but the bundle was changed, contradicts itself, or has another signer than --key"),
            exit("2", "the command line is wrong, or the file is not a whole bundle"),
            READ_IO,
        ],
    },
    Topic {
        command: "serve",
        examples: &[
            example("Show the results of this machine in its browser", "plumb serve"),
            example("Show another database, on another port", "plumb serve --db team.db --listen 127.0.0.1:9000"),
            example(
                "Serve a team",
                "plumb serve --listen 0.0.0.0:8780 --host bench.example.org --certificate chain.pem --key key.pem",
            ),
        ],
        exits: &[DONE, exit("2", "the command line is wrong, or plumb-serve is not installed"), READ_IO],
    },
    Topic {
        command: "serve token",
        examples: &[
            example("Make a token for a colleague's browser", "plumb serve token add alice"),
            example("List the tokens", "plumb serve token list"),
        ],
        exits: READS,
    },
    Topic {
        command: "serve token add",
        examples: &[
            example("Make a token for a colleague's browser", "plumb serve token add alice"),
            example("Make a token by which CI uploads results", "plumb serve token add ci --write"),
        ],
        exits: READS,
    },
    Topic {
        command: "serve token list",
        examples: &[example("List the tokens", "plumb serve token list")],
        exits: READS,
    },
    Topic {
        command: "serve token revoke",
        examples: &[example("Revoke CI's token", "plumb serve token revoke ci")],
        exits: READS,
    },
    Topic {
        command: "schema",
        examples: &[
            example("Print the schema of a run's result", "plumb schema result"),
            example("Print the schema of workload files", "plumb schema workload"),
        ],
        exits: PRINTS,
    },
    Topic {
        command: "config",
        examples: &[
            example("Show the settings and where each came from", "plumb config"),
            example("Print them as JSON", "plumb config --json"),
        ],
        exits: &[DONE, WRONG_WORDS, exit("4", "the file cannot be read")],
    },
    Topic {
        command: "clean",
        examples: &[
            example("Remove the leftovers of killed runs", "plumb clean"),
            example("Also search below a mount point", "plumb clean /mnt/data"),
        ],
        exits: &[DONE, WRONG_WORDS, exit("4", "something could not be removed")],
    },
    Topic {
        command: "completions",
        examples: &[
            example("Print completions for bash", "plumb completions bash"),
            example("Print completions for zsh", "plumb completions zsh"),
        ],
        exits: PRINTS,
    },
    Topic {
        command: "man",
        examples: &[
            example("Print the manual page of Plumb", "plumb man"),
            example("Print that of one command", "plumb man study run"),
            example("Write all pages, to be installed", "plumb man --all man1"),
        ],
        exits: READS,
    },
];
