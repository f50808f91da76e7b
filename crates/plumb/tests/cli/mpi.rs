//! Several processes started by real launchers: Open MPI's and MPICH's from Debian.

use crate::common::{CommandOutput, Home, assert_no_test_data, needs, wait_until};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A launcher, with the options to start more processes than processors, also as root.
pub(crate) struct Launcher {
    program: &'static str,
    options: &'static [&'static str],
    transport: &'static str,
    library: &'static str,
}

/// Hosts that a launcher reaches through an agent.
pub(crate) struct Reached<'a> {
    pub names: &'a [String],
    pub agent: &'a Path,
    /// This machine's address on their network.
    pub own_address: &'a str,
}

const LAUNCHERS: [Launcher; 2] = [
    Launcher {
        program: "mpirun.openmpi",
        options: &["--allow-run-as-root", "--oversubscribe"],
        transport: "Open MPI ",
        library: "libmpi.so.40",
    },
    Launcher { program: "mpiexec.hydra", options: &[], transport: "MPICH ", library: "libmpich.so.12" },
];

/// Returns the installed launchers.
pub(crate) fn launchers() -> impl Iterator<Item = &'static Launcher> {
    LAUNCHERS.iter().filter(|launcher| needs::tools(&[launcher.program]))
}

impl Launcher {
    /// Builds a command with words before the program, such as those of a shell.
    pub(crate) fn command_after(&self, before: &[&str], home: &Home, ranks: u32, line: &str) -> Command {
        self.command(&[], before, home, ranks, line)
    }

    /// Builds a command with this number of ranks on each host. An agent runs a command line on the host given first;
    /// this machine has an address that the hosts know.
    pub(crate) fn command_on(&self, hosts: &Reached<'_>, each: u32, home: &Home, line: &str) -> Command {
        let named: Vec<String> = hosts.names.iter().map(|name| format!("{name}:{each}")).collect();
        let (named, agent, own) = (named.join(","), hosts.agent.to_str().unwrap(), hosts.own_address);
        let network = format!("{own}/24");
        let open_mpi = [
            "--host",
            &named,
            "--mca",
            "plm_rsh_agent",
            agent,
            "--mca",
            "oob_tcp_if_include",
            &network,
            "--mca",
            "btl_tcp_if_include",
            &network,
        ];
        let mpich = ["-hosts", &named, "-launcher", "ssh", "-launcher-exec", agent, "-localhost", own];
        let options: &[&str] = if self.transport == "MPICH " { &mpich } else { &open_mpi };
        self.command(options, &[], home, hosts.names.len() as u32 * each, line)
    }

    fn command(&self, options: &[&str], before: &[&str], home: &Home, ranks: u32, line: &str) -> Command {
        let plain = home.command(line.split_whitespace());
        let mut command = Command::new(self.program);
        command.args(self.options).args(options).args(["-n", &ranks.to_string()]).args(before);
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(home.work());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn plumb(&self, home: &Home, ranks: u32, line: &str) -> CommandOutput {
        CommandOutput::run(self.command_after(&[], home, ranks, line))
    }
}

const WRITES: &str = "name = \"writes\"\n[target.data.file]\npath = \"data\"\nsize = \"1MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
                      name = \"write\"\n[[phase.workers]]\ntarget = \"data\"\nlimit.ops = 64\nwork.blocks.mix.write = 100\n\
                      work.blocks.block = \"4KiB\"\n[[phase]]\nname = \"read\"\n[[phase.workers]]\ntarget = \"data\"\n\
                      limit.ops = 32\nwork.blocks.block = \"4KiB\"\n";

/// More files than one rank may open.
const MANY: &str = "name = \"many\"\n[target.data.files]\npath = \"data\"\nsize = \"4KiB\"\ncount = 300\n[[phase]]\n\
                    name = \"read\"\n[[phase.workers]]\ntarget = \"data\"\nlimit.ops = 32\nwork.blocks.block = \"4KiB\"\n";

pub(crate) fn phase<'a>(result: &'a Value, name: &str) -> &'a Value {
    result["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == name).unwrap()
}

// Protects: four processes form one run, with one page, one result, the ops of all and their hosts.
#[test]
fn ranks_are_one_run() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("writes.toml", WRITES);
        let result = launcher.plumb(&home, 4, "run writes.toml --json").expect_measured().json();
        let ranks = &result["ranks"];
        assert_eq!((&ranks["count"], ranks["hosts"].as_array().unwrap().len()), (&4.into(), 1), "{ranks}");
        assert!(ranks["transport"].as_str().unwrap().starts_with(launcher.transport), "{ranks}");
        assert_eq!(ranks["hosts"][0]["ranks"], 4);
        for (name, kind, ops) in [("write", "write", 4 * 64), ("read", "read", 4 * 32)] {
            let phase = phase(&result, name);
            assert_eq!(phase["done"][kind]["ops"], ops, "{phase}");
            assert_eq!(phase["ranks"]["ranks"], 4);
            let wall = phase["wall_ns"].as_u64().unwrap();
            // The last rank ends with the phase, except for a flush.
            assert!(phase["ranks"]["slowest"][0]["done_ns"].as_u64().unwrap() <= wall, "{phase}");
        }
        assert_eq!(home.query("SELECT count(*) FROM run"), [[Value::from(1)]]);
        assert_no_test_data(&home.work());

        let page = launcher.plumb(&home, 4, "run writes.toml").expect_measured();
        page.expect_stdout(&["4 ranks on ", "ranks: first done after ", "1 MiB file per rank"]);
        home.plumb("show last").expect(0).expect_stdout(&["4 ranks on "]);
    }
}

// Protects: the ranks' files are separate, and the tool's output covers all ranks: one job, with the bytes of four.
#[test]
fn fio_runs_its_job_on_every_rank() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("job.fio", "[global]\nsize=64k\nbs=4k\n[one]\nrw=write\n");
        let output = launcher.plumb(&home, 4, "as fio --output-format=json job.fio").expect(0);
        let jobs = output.json()["jobs"].as_array().unwrap().clone();
        assert_eq!((jobs.len(), &jobs[0]["write"]["total_ios"]), (1, &Value::from(4 * 16)), "{}", output.out);
        let mut files: Vec<String> = std::fs::read_dir(home.work())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with(".0.0"))
            .collect();
        files.sort();
        assert_eq!(files, ["rank0.one.0.0", "rank1.one.0.0", "rank2.one.0.0", "rank3.one.0.0"]);
    }
}

// Protects: all ranks run the phases of IO500, find counts the files of all of them, and no data is left behind.
#[test]
fn io500_runs_its_phases_on_every_rank() {
    for launcher in launchers() {
        let home = Home::new();
        let config = "[global]\ndatadir = data\nresultdir = results\ntimestamp-datadir = FALSE\ntimestamp-resultdir = FALSE\n\
                      [debug]\nstonewall-time = 4\n[ior-easy]\ntransferSize = 64k\nblockSize = 256k\n[ior-hard]\n\
                      segmentCount = 10\n[mdtest-easy]\nn = 120\n[mdtest-hard]\nn = 120\n";
        let config = format!("{config}[mdworkbench]\nprecreatePerSet = 6\nfilesPerProc = 4\n");
        home.file("c.ini", &config);
        let output = launcher.plumb(&home, 3, "as io500 c.ini --mode=extended").expect(0);
        let phases: Vec<&str> = output.out.lines().filter(|line| line.contains(" : time ")).collect();
        assert_eq!(phases.len(), 19, "{}", output.out);
        for phase in phases {
            assert_eq!(phase.ends_with("[INVALID]"), phase.contains("-write "), "{phase}: {}", output.out);
        }
        let result = std::fs::read_to_string(home.work().join("results/result.txt")).unwrap();
        // 120 empty files and 120 of 3901 bytes per rank, its file of IOR and its 60 of md-workbench, and IOR's for
        // all: every rank takes part in finding them.
        for (line, times) in [
            ("procs           = 3", 1),
            ("total-files     = 904", 1),
            ("total-files     = 360", 2),
            ("nproc           = 3", 3),
            ("found           = 3", 3),
        ] {
            assert_eq!(result.lines().filter(|other| *other == line).count(), times, "{line}: {result}");
        }
        let csv = std::fs::read_to_string(home.work().join("results/find.csv")).unwrap();
        let names = csv.lines().skip(2).map(|line| line.rsplit(", ").next().unwrap().parse::<u64>().unwrap());
        let names: Vec<u64> = names.collect();
        assert!(names.len() == 3 && names.iter().all(|&names| names > 0) && names.iter().sum::<u64>() > 904, "{csv}");
        assert!(!home.work().join("data").exists());
    }
}

// Protects: simulated devices give the same result in every run of ranks, and rates of ranks add up.
#[test]
fn simulated_ranks_are_deterministic() {
    for launcher in launchers().take(1) {
        let home = Home::new();
        let line = "run random-read --at sim:ssd --json --no-store";
        let one = home.plumb(line).expect(0).json();
        let [four, again] = [0, 1].map(|_| launcher.plumb(&home, 4, line).expect(0).json());
        assert_eq!(four["phases"], again["phases"]);
        let ops = |result: &Value| result["phases"][0]["done"]["read"]["ops"].as_u64().unwrap() as f64;
        assert!((ops(&four) / ops(&one) - 4.0).abs() < 0.2, "{} {}", ops(&four), ops(&one));
    }
}

// Protects: an error on one rank ends the run for all, and names rank and host.
#[test]
fn a_rank_that_fails_ends_the_run_and_is_named() {
    for launcher in launchers() {
        let home = Home::new();
        home.file("many.toml", MANY);
        let script = "test \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" = 2 && ulimit -n 100; exec \"$0\" \"$@\"";
        let output =
            CommandOutput::run(launcher.command_after(&["sh", "-c", script], &home, 4, "run many.toml --json"));
        assert_ne!(output.code, 0, "{output:?}");
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        assert!(output.err.contains(&format!("error: rank 2 on {host}: ")), "{}\n{}", output.out, output.err);
        assert_no_test_data(&home.work());
    }
}

// Protects: if a job fails on one rank, only that job fails, as in fio: the others continue, and the file is named.
#[test]
fn a_job_that_fails_on_one_rank_names_its_file() {
    for launcher in launchers() {
        let home = Home::new();
        std::fs::create_dir(home.work().join("rank2.one.0.0")).unwrap();
        home.file("job.fio", "[one]\nrw=write\nsize=64k\n");
        let output = launcher.plumb(&home, 4, "as fio --output-format=json job.fio");
        assert_ne!(output.code, 0, "{output:?}");
        output.expect_stderr(&["rank2.one.0.0"]);
    }
}

/// A workload that writes much longer than a test takes.
const LONG: &str = "name = \"long\"\n[target.data.file]\npath = \"data\"\nsize = \"1MiB\"\nprepare = \"nothing\"\n[[phase]]\n\
                    name = \"write\"\nstop.time = \"10min\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix.write = 100\n\
                    work.blocks.block = \"4KiB\"\n";

/// Returns the PID of a rank below this process, once it runs the program itself.
fn process_of_rank(launcher: u32, rank: u32) -> Option<rustix::process::Pid> {
    let has_rank = |process: u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let is_plumb = std::fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe.ends_with("plumb"));
        let variables = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
        let is_set = |variable: &[u8]| variables.iter().any(|known| known.as_bytes() == variable);
        is_plumb && environment.split(|&byte| byte == 0).any(is_set)
    };
    let mut below = vec![launcher];
    while let Some(process) = below.pop() {
        if has_rank(process) {
            return rustix::process::Pid::from_raw(process as i32);
        }
        let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for task in tasks {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            below.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    None
}

/// Counts the files here and below that match.
fn files_below(directory: &Path, is_so: &dyn Fn(&Path) -> bool) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.map(|path| if path.is_dir() { files_below(&path, is_so) } else { usize::from(is_so(&path)) }).sum()
}

fn is_written(path: &Path) -> bool {
    path.ends_with("data") && path.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// Files that mdtest made.
fn made_files(directory: &Path) -> usize {
    files_below(directory, &|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains("file.mdtest")))
}

// Protects: a signal to one rank ends the run for all, and the others' measurements are kept. A rank that learns of it
// later is not called silent.
#[test]
fn a_signal_to_one_rank_keeps_what_all_measured() {
    for launcher in launchers() {
        for signalled in [0, 2] {
            let home = Home::new();
            home.file("long.toml", LONG);
            let mut command = launcher.command_after(&[], &home, 3, "run long.toml --json");
            let line = format!("{command:?}");
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_until("three ranks write", || {
                files_below(&home.work(), &is_written) == 3 || child.try_wait().unwrap().is_some()
            });
            let process = process_of_rank(child.id(), signalled).expect("the rank runs");
            rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
            let output = CommandOutput::from_output(line, child.wait_with_output().unwrap());
            let result = output.json();
            let phase = phase(&result, "write");
            assert_eq!(phase["ranks"]["ranks"], 3, "{}\n{}", output.out, output.err);
            let ended_by = result["ranks"]["ended_by"].to_string();
            // Rank 0 is the command itself, so a signal interrupts it as without ranks.
            assert!(signalled == 0 || ended_by.contains("rank 2 on "), "{ended_by}");
            assert!(!ended_by.contains("answer"), "{ended_by}");
            assert_no_test_data(&home.work());
        }
    }
}

// Protects: when a rank dies, it is named, and the others' measurements are stored before the launcher kills them.
//
// Only Open MPI leaves time for that; here more than its second, so that a busy machine does not matter. The unit test
// of `study/src/ranks/patience.rs` checks that no rank leaves early, which makes mpirun kill at once.
#[test]
fn a_rank_that_dies_is_named_and_the_rest_is_stored() {
    for launcher in launchers().filter(|launcher| launcher.program == "mpirun.openmpi") {
        for work in ["run long.toml", "as mdtest -F -n 100000000 -W 600 -d out"] {
            let home = Home::new();
            home.file("long.toml", LONG);
            let mut command = launcher.command_after(&[], &home, 3, work);
            command.env("OMPI_MCA_odls_base_sigkill_timeout", "8");
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_until("three ranks work", || {
                let works = files_below(&home.work(), &is_written) == 3 || made_files(&home.work()) > 30;
                works || child.try_wait().unwrap().is_some()
            });
            let process = process_of_rank(child.id(), 2).expect("the rank runs");
            rustix::process::kill_process(process, rustix::process::Signal::KILL).unwrap();
            let output = CommandOutput::from_output(work.to_owned(), child.wait_with_output().unwrap());
            let stored = home.plumb("show last --json");
            let result = stored.json();
            let ended_by = result["ranks"]["ended_by"].to_string();
            assert!(ended_by.contains("rank 2 on ") && ended_by.contains("does not answer"), "{output:?}\n{ended_by}");
            let last = result["phases"].as_array().unwrap().last().unwrap();
            assert_eq!(last["ranks"]["ranks"], 2, "{output:?}\n{last}");
        }
    }
}

// Protects: however a command ends, the other ranks end too, without messages of their own.
#[test]
fn every_end_is_the_end_of_all() {
    for launcher in launchers() {
        let home = Home::new();
        let help = launcher.plumb(&home, 3, "run --help").expect(0);
        assert_eq!(help.out.matches("Usage:").count(), 1, "{}", help.out);
        let wrong = launcher.plumb(&home, 3, "run no-such-workload");
        assert_eq!(wrong.err.matches("there is no file").count(), 1, "{}", wrong.err);
        assert_ne!(wrong.code, 0);
        assert_ne!(launcher.plumb(&home, 3, "run --no-such-option").code, 0);
    }
}

// Protects: a missing MPI is an error with a suggestion, from one rank only; and each process can run alone.
#[test]
fn a_library_that_is_missing_is_an_error_with_a_way_out() {
    let home = Home::new();
    let started = |rank: &str, library: &str| {
        let mut command = home.command(["run", "random-read", "--at", "sim:ssd", "--no-store", "--json"]);
        command.envs([("PMI_RANK", rank), ("PMI_SIZE", "4"), ("PLUMB_MPI", library)]);
        CommandOutput::run(command)
    };
    let first = started("0", "/no/such/libmpi.so").expect(2);
    first.expect_stderr(&["started as one of 4 processes", "/no/such/libmpi.so", "PLUMB_MPI="]);
    assert_eq!(started("1", "/no/such/libmpi.so").expect(2).err, "");
    assert!(started("0", "off").expect(0).json()["ranks"].is_null());

    let mut slurm = home.command(["list"]);
    slurm.envs([("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "4")]);
    CommandOutput::run(slurm).expect(2).expect_stderr(&["srun --mpi=pmix"]);
}

// Protects mdtest over MPI: every process is a task with its own items, and after the stonewall all continue to the
// furthest one.
#[test]
fn mdtests_tasks_are_processes() {
    for launcher in launchers() {
        let home = Home::new();
        let output = launcher.plumb(&home, 3, "as mdtest -n 20 -N 1 -w 8 -e 8 -X -d out").expect_measured();
        output.expect_stdout(&[
            "was launched with 3 total task(s) on 1 node(s)",
            "Nodemap: 111",
            "3 tasks, 60 files/directories",
        ]);
        let result = home.plumb("show last --json").expect(0).json();
        let ops = |name: &str, kind: &str| phase(&result, name)["done"][kind]["ops"].clone();
        assert_eq!((ops("file-create", "create"), ops("directory-create", "mkdir")), (60.into(), 60.into()));
        assert_eq!(result["ranks"]["count"], 3);
        assert!(!home.work().join("out").exists());

        let walled = "-F -n 100000000 -W 1 -x wall -d out";
        launcher
            .plumb(&home, 3, &format!("as mdtest -C {walled}"))
            .expect_measured()
            .expect_stdout(&["Continue stonewall hit min: "]);
        let wall: usize = std::fs::read_to_string(home.work().join("wall")).unwrap().trim().parse().unwrap();
        assert_eq!(made_files(&home.work().join("out")), 3 * wall);
        let later = launcher.plumb(&home, 3, &format!("as mdtest -T -r {walled}")).expect_measured();
        assert!(!later.out.contains("WARNING"), "{}", later.out);
        assert_eq!(made_files(&home.work().join("out")), 0);
    }
}

// Protects md-workbench over MPI: every process is a rank that reads and removes another rank's objects, and after the
// stonewall all continue to the furthest one.
#[test]
fn md_workbenchs_ranks_are_processes() {
    for launcher in launchers() {
        let home = Home::new();
        let line = "as md-workbench -D 2 -P 5 -I 4 -R 2 -X -G 3 -o out";
        let output = launcher.plumb(&home, 3, &format!("{line} --process-reports")).expect_measured();
        let output = output.expect_stdout(&["Nodemap: 111", "MD-Workbench total objects: 78 ", "2: cleanup process"]);
        assert!(!output.out.contains("!!!") && !home.work().join("out").exists(), "{}", output.out);
        let result = home.plumb("show last --json").expect(0).json();
        assert_eq!(phase(&result, "benchmark-1")["done"]["read"]["ops"], 3 * 2 * 4);

        let walled = format!("{line} -w 1 -W -I 100000000 -R 1");
        // With three ranks, a fast one would find that another one has not created its objects yet.
        launcher
            .plumb(&home, 2, &format!("{walled} -1 -2"))
            .expect_measured()
            .expect_stdout(&["stonewall wear out", " stonewall-iter:"]);
        let left = files_below(&home.work().join("out"), &|_| true);
        assert_eq!(left, 2 * 2 * 5);
        let later = launcher.plumb(&home, 2, &format!("{walled} -3")).expect_measured();
        assert!(!later.out.contains("!!!") && !home.work().join("out").exists(), "{}", later.out);
    }
}

// Protects IOR over MPI: every process is a task with its own blocks, which others read and verify. Barriers and the
// stonewall apply to all; with fewer tasks than processes, the others are idle.
#[test]
fn iors_tasks_are_processes() {
    for launcher in launchers() {
        let home = Home::new();
        let verified = "as ior -g -w -r -R -W -Z -X 3 -b 64k -t 16k -s 3 -o shared -k";
        launcher.plumb(&home, 4, verified).expect_measured().expect_stdout(&["tasks : 4", "clients per node : 4"]);
        assert_eq!(std::fs::metadata(home.work().join("shared")).unwrap().len(), 4 * 3 * (64 << 10));
        let result = home.plumb("show last --json").expect(0).json();
        assert_eq!(phase(&result, "write")["done"]["write"]["ops"], 4 * 3 * 4);

        let walled = "as ior -w -D 1 -O stoneWallingWearOut=1 -O stoneWallingStatusFile=wall -F -k -t 4k -b 1g -o own";
        let output = launcher.plumb(&home, 3, &format!("{walled} --interIODelay=100 -N 2")).expect_measured();
        output.expect_stdout(&["stonewalling pairs accessed min: ", "tasks : 2"]);
        let wall: u64 = std::fs::read_to_string(home.work().join("wall")).unwrap().trim().parse().unwrap();
        for file in ["own.00000000", "own.00000001"] {
            assert_eq!(std::fs::metadata(home.work().join(file)).unwrap().len(), wall * 4096, "{file}");
        }
        assert!(!home.work().join("own.00000002").exists());
    }
}

/// Returns the names in a directory, in order.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

// Protects -K over MPI: the rank that removes the file learns of another one's read errors.
#[test]
fn a_file_that_another_task_found_wrong_stays() {
    for launcher in launchers() {
        let home = Home::new();
        let layout = "-G 7 -b 64k -t 64k -o out";
        launcher.plumb(&home, 3, &format!("as ior -w -k {layout}")).expect_measured();
        // Write with Plumb: it does not remove a file that another program changed.
        home.plumb("as dd if=/dev/zero of=out bs=64k seek=1 count=1 conv=notrunc").expect(0);
        let wrong = launcher.plumb(&home, 3, &format!("as ior -r -R -K {layout}"));
        wrong.expect_stdout(&["Incorrect data on read (1 transfers)"]);
        assert!(home.work().join("out").exists());
        launcher.plumb(&home, 3, &format!("as ior -w -r -R -K -E {layout}")).expect_measured();
        assert!(!home.work().join("out").exists(), "nothing was wrong");
    }
}

// Protects IOR's MPI-IO: however MPI moves the data, the file equals that of the other back end, and reads return the
// written data. The library leaves no other file behind, and overwrites none that Plumb did not make.
#[test]
fn mpi_io_puts_data_where_posix_does() {
    for launcher in launchers() {
        let home = Home::new();
        let layout = "-G 7 -k -b 64k -t 16k -s 2";
        launcher.plumb(&home, 3, &format!("as ior -w {layout} -o posix")).expect_measured();
        let posix = std::fs::read(home.work().join("posix")).unwrap();
        for options in
            ["-e", "-c -g -Y", "--mpiio.useFileView --mpiio.preallocate", "-c --mpiio.useFileView", "-c -N 3"]
        {
            let output = launcher
                .plumb(&home, 4, &format!("as ior -a MPIIO -N 3 {options} -w -r -R {layout} -o mpi"))
                .expect_measured();
            let kind = if options.contains("-c") { "collective" } else { "independent" };
            output.expect_stdout(&["api : MPIIO", "tasks : 3", &format!("type : {kind}"), "Max(MiB)"]);
            assert!(std::fs::read(home.work().join("mpi")).unwrap() == posix, "{options}");
        }
        let own = "-F -C -w -r -R -W -e -i 2";
        launcher.plumb(&home, 2, &format!("as ior -a MPIIO {own} -G 7 -b 64k -t 16k -o own")).expect_measured();
        std::fs::write(home.work().join("mine"), "precious").unwrap();
        let refused = launcher.plumb(&home, 2, &format!("as ior -a MPIIO -w {layout} -o mine")).expect(5);
        refused.expect_stderr(&["mine", "PLUMB_ALLOW="]);
        assert_eq!(std::fs::read_to_string(home.work().join("mine")).unwrap(), "precious");
        assert_eq!(names_in(&home.work()), ["mine", "mpi", "posix"]);
    }
}

// Protects the stonewall of collective MPI-IO: all ranks stop at the same record, and read as far as they wrote.
#[test]
fn collective_mpi_io_stops_in_step() {
    for launcher in launchers() {
        for wear_out in ["", " -O stoneWallingWearOut=1"] {
            let home = Home::new();
            let walled = "as ior -a MPIIO -c -w -r -R -D 1 -b 4k -t 4k -s 1000000 --interIODelay=2000 -o walled";
            launcher.plumb(&home, 3, &format!("{walled}{wear_out}")).expect_measured();
            let result = home.plumb("show last --json").expect(0).json();
            let ops = |name: &str, kind: &str| phase(&result, name)["done"][kind]["ops"].as_u64().unwrap();
            let written = ops("write", "write");
            assert!(written > 0 && written.is_multiple_of(3), "{written}");
            assert_eq!(ops("read", "read"), written);
        }
    }
}

// Protects: if MPI calls fail on all ranks, the run ends with the library's message, and no rank waits forever.
#[test]
fn mpi_io_that_fails_ends_the_run() {
    for launcher in launchers() {
        let home = Home::new();
        let missing = launcher.plumb(&home, 3, "as ior -a MPIIO -r -b 64k -t 16k -o missing");
        assert_ne!(missing.code, 0);
        missing.expect_stdout(&["MPI_File_open"]);
    }
}

// Protects: a process that was started alone opens an MPI library for MPI-IO, and suggests a fix if it cannot.
#[test]
fn mpi_io_works_alone_with_a_library() {
    let home = Home::new();
    let ran = |library: &str, line: &str| {
        let mut command = home.command(line.split_whitespace());
        command.env("PLUMB_MPI", library);
        CommandOutput::run(command)
    };
    for launcher in launchers() {
        let output = ran(launcher.library, "as ior -a MPIIO -c -w -r -R -b 64k -t 16k -o file").expect_measured();
        output.expect_stdout(&["apiVersion : (", "clients per node : 1"]);
        let hint = home.file("hints", "IOR_HINT__MPI__cb_buffer_size=65536\n");
        ran(
            launcher.library,
            &format!("as ior -a MPIIO -b 64k -t 16k -o file --mpiio.hintsFileName={}", hint.display()),
        )
        .expect_measured();
    }
    for (library, reported) in [("/no/such/libmpi.so", "PLUMB_MPI="), ("off", "unset PLUMB_MPI")] {
        ran(library, "as ior -a MPIIO -o f")
            .expect(255)
            .expect_stderr(&["ior: -a MPIIO: MPI-IO needs an MPI library", reported]);
    }
    home.file("hints", "IOR_HINT__MPI__cb_nodes\n");
    let wrong = "as ior -a MPIIO -o f --mpiio.hintsFileName=hints";
    ran("off", wrong).expect(255).expect_stderr(&["hints: `IOR_HINT__MPI__cb_nodes` is not a hint"]);
    assert!(!home.work().join("f").exists());
}

// Protects: unsupported combinations of processes are refused with a suggestion, before anything is written.
#[test]
fn what_tasks_in_processes_cannot_do_is_refused() {
    for launcher in launchers().take(1) {
        let home = Home::new();
        for (line, why) in [
            ("as ior --plumb-ranks 2 -o f", "leave it out under mpirun"),
            ("as ior -N 3 -o f", "start more with mpirun -n"),
            ("as ior -D 1 -o f", "stoneWallingWearOut=1"),
            ("as ior -a MPIIO -c -w -O minTimeDuration=1 -o f", "minTimeDuration with -c"),
            ("as mdtest -c -n 3 -d out", "use --plumb-ranks without mpirun"),
            ("as mdtest -l 3 -n 3 -d out", "start more with mpirun -n"),
        ] {
            let output = launcher.plumb(&home, 2, line);
            assert_ne!(output.code, 0, "{line}");
            output.expect_stderr(&[why]);
        }
        assert!(!home.work().join("f").exists() && !home.work().join("out").exists());
    }
}
