//! A Slurm of its own for a test: munged, a controller and four nodes on this machine, with files and ports of their own.
//! Each node has a host name of its own (a UTS namespace).

use super::ports::free_port;
use super::{CommandOutput, Home, needs, wait_until};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the nodes, which are also their host names.
pub const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

/// Time until all nodes must be idle.
const START_MAX: Duration = Duration::from_secs(60);

/// Variable by which a node's own processes are known.
const NODE: &str = "NODE_OF_TEST";

/// A running Slurm, and everything that it started. Ends with the value, also after a panic.
pub struct Slurm {
    dir: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// Starts the daemons. `None`, with a message, where Slurm is not installed.
    #[track_caller]
    pub fn start() -> Option<Slurm> {
        if !needs::root_and(&["slurmctld", "slurmd", "srun", "munged", "unshare"]) {
            return None;
        }
        let mut slurm = Slurm { dir: tempfile::tempdir().unwrap(), daemons: Vec::new() };
        let of_nodes = NODES.iter().flat_map(|node| [format!("spool/{node}"), format!("tmp/{node}")]);
        for name in of_nodes.chain(["state", "munge"].map(str::to_owned)) {
            std::fs::create_dir_all(slurm.path(&name)).unwrap();
        }
        std::fs::write(slurm.path("slurm.conf"), configuration(slurm.dir.path())).unwrap();
        slurm.start_munge();
        slurm.daemon("ctl", &["slurmctld", "-D", "-c"]);
        NODES.iter().for_each(|node| slurm.start_node(node));
        let begun = Instant::now();
        while slurm.idle_nodes() < NODES.len() {
            assert!(begun.elapsed() < START_MAX, "{}", slurm.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start_munge(&mut self) {
        let key: Vec<u8> = (0..128).map(|byte: u8| byte ^ (std::process::id() as u8)).collect();
        std::fs::write(self.path("munge/key"), key).unwrap();
        let mut command = Command::new("munged");
        // --force: the directories above are not root's alone, as those of temporary files.
        command.args(["--foreground", "--force"]);
        for (option, name) in
            [("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed")]
        {
            command.arg(format!("--{option}={}", self.path("munge").join(name).display()));
        }
        // munged wants a key that others cannot read.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(self.path("munge/key"), mode).unwrap();
        let log = std::fs::File::create(self.path("munged.out")).unwrap();
        self.daemons.push(with_test(command).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        let socket = self.path("munge/socket");
        wait_until("munged listens", || socket.exists());
    }

    /// Starts a daemon under a host name.
    fn daemon(&mut self, host: &str, words: &[&str]) {
        let mut command = Command::new("unshare");
        command.args(["--uts", "sh", "-c", "hostname \"$0\" && exec \"$@\"", host]).args(words);
        let log = std::fs::File::options().create(true).append(true).open(self.path(&format!("{host}.log"))).unwrap();
        let mut command = with_test(command);
        command.env("SLURM_CONF", self.path("slurm.conf")).env(NODE, host);
        self.daemons.push(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    /// Starts the daemon of a node, also again.
    pub fn start_node(&mut self, node: &str) {
        self.daemon(node, &["slurmd", "-D", "-N", node]);
    }

    /// Kills a node: its daemon, the steps, and everything that they run.
    pub fn kill_node(&self, node: &str) {
        let own = [format!("{NODE}={node}"), format!("SLURMD_NODENAME={node}")];
        self.kill(|variables| own.iter().any(|variable| variables.contains(&variable.as_str())));
    }

    /// Kills what the last step of a job runs on a node; the node stays.
    pub fn kill_task(&self, job: &str, node: &str) {
        let own =
            [format!("SLURMD_NODENAME={node}"), format!("SLURM_JOB_ID={job}"), "SLURM_STEP_NUM_NODES=4".to_owned()];
        self.kill(|variables| own.iter().all(|variable| variables.contains(&variable.as_str())));
    }

    /// Kills the processes of this Slurm whose environment matches.
    fn kill(&self, is_meant: impl Fn(&[&str]) -> bool) {
        let conf = format!("SLURM_CONF={}", self.path("slurm.conf").display());
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            let variables: Vec<&str> = environment.split('\0').collect();
            if pid != std::process::id().cast_signed() && variables.contains(&conf.as_str()) && is_meant(&variables) {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }

    fn idle_nodes(&self) -> usize {
        let mut command = Command::new("sinfo");
        let output =
            command.args(["-h", "-N", "-p", "all", "-o", "%T"]).env("SLURM_CONF", self.path("slurm.conf")).output();
        String::from_utf8_lossy(&output.unwrap().stdout).lines().filter(|line| *line == "idle").count()
    }

    /// Waits until all nodes are free of jobs.
    pub fn wait_until_idle(&self) {
        wait_until("all nodes are idle", || self.idle_nodes() == NODES.len());
    }

    /// Builds a command of Slurm's, in a home of Plumb.
    pub fn command(&self, home: &Home, words: &[&str]) -> Command {
        let plain = home.command::<&str>([]);
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(home.work()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SLURM")) {
            command.env_remove(name);
        }
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        // `plumb` in scripts is the program under test.
        let programs = Path::new(plain.get_program()).parent().unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        command.env("SLURM_CONF", self.path("slurm.conf")).env("PATH", path);
        command
    }

    /// Runs a command line of Slurm's to its end. Words are split at blanks.
    pub fn run(&self, home: &Home, line: &str) -> CommandOutput {
        CommandOutput::run(self.command(home, &line.split_whitespace().collect::<Vec<_>>()))
    }

    /// Submits a batch script, and returns the number of its job. Its output is in `NUMBER.out`.
    #[track_caller]
    pub fn submit(&self, home: &Home, options: &str, script: &Path) -> String {
        let options: Vec<&str> = options.split_whitespace().collect();
        let words = [&["sbatch", "--parsable", "--open-mode=append", "--output=%A.out"], options.as_slice()].concat();
        let output = CommandOutput::run({
            let mut command = self.command(home, &words);
            command.arg(script);
            command
        });
        output.expect(0).out.trim().to_owned()
    }

    /// Returns the state of a job, such as `RUNNING`; empty once Slurm has forgotten it.
    pub fn state(&self, home: &Home, job: &str) -> String {
        let output = self.run(home, &format!("squeue -h -t all -j {job} -o %T"));
        output.out.lines().next().unwrap_or_default().to_owned()
    }

    /// Waits until a job has ended, and returns its output.
    #[track_caller]
    pub fn wait(&self, home: &Home, job: &str) -> String {
        let has_ended = || ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"].contains(&self.state(home, job).as_str());
        wait_until("the job has ended", has_ended);
        self.output(home, job)
    }

    /// Returns the output of a job so far.
    pub fn output(&self, home: &Home, job: &str) -> String {
        std::fs::read_to_string(home.work().join(format!("{job}.out"))).unwrap_or_default()
    }

    /// Returns the daemons' logs, for failures.
    pub fn log(&self) -> String {
        let files = std::fs::read_dir(self.dir.path()).unwrap().flatten().map(|file| file.path());
        let logs =
            files.filter(|path| path.extension().is_some_and(|extension| extension == "log" || extension == "out"));
        logs.fold(String::new(), |mut all, path| {
            let _ = write!(all, "{}: {}", path.display(), std::fs::read_to_string(&path).unwrap_or_default());
            all
        })
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Steps survive their daemons, which are not their parents.
        self.kill(|_| true);
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Wraps a command so that the kernel kills it with the test, however that ends.
fn with_test(plain: Command) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plumb"));
    command.args(["agent", "--with-parent", &std::process::id().to_string(), "--"]);
    command.arg(plain.get_program()).args(plain.get_args());
    command
}

/// Returns the configuration: no cgroups, no accounting, and nothing outside of the directory.
fn configuration(dir: &Path) -> String {
    let dir = dir.display();
    let mut text = format!(
        "ClusterName=plumb\nSlurmctldHost=ctl(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=socket={dir}/munge/socket\nStateSaveLocation={dir}/state\n\
         SlurmdSpoolDir={dir}/spool/%n\nTmpFS={dir}/tmp/%n\nSlurmctldPidFile={dir}/ctl.pid\nSlurmdPidFile={dir}/%n.pid\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         MpiDefault=none\nReturnToService=2\nKillWait=10\nSlurmdTimeout=300\nSchedulerParameters=sched_interval=1,bf_interval=1\n\
         PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\nSlurmdParameters=config_overrides\n",
        free_port()
    );
    for node in NODES {
        let _ = writeln!(
            text,
            "NodeName={node} NodeHostname={node} NodeAddr=127.0.0.1 Port={} CPUs=16 RealMemory=1000",
            free_port()
        );
    }
    text.push_str("PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1\n");
    text.push_str("PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=10\n");
    text
}
