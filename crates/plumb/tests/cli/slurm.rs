//! A real Slurm: tasks of `srun` with MPI and without, agents on the nodes of a job, signals, and studies that go on.

use crate::common::served::Served;
use crate::common::slurm::{NODES, Slurm};
use crate::common::{CommandOutput, Home, assert_no_test_data, metric, test_directories, wait_until};
use serde_json::Value;
use std::path::PathBuf;

/// Reads of a small file from memory, on each node.
const RUN: &str = "run random-read --at . --set size=1MiB --set cache=warm --set time=200ms";

fn hosts_of(result: &Value) -> Vec<String> {
    let hosts = result["ranks"]["hosts"].as_array().unwrap();
    let mut names: Vec<String> = hosts.iter().map(|host| host["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

fn plumb(slurm: &Slurm, home: &Home, launcher: &str, line: &str) -> CommandOutput {
    slurm.run(home, &format!("{launcher} plumb {line}"))
}

/// Waits until ranks measure: each has made its test directory.
fn wait_for_load(home: &Home, ranks: usize) {
    wait_until("all ranks have test data", || test_directories(&home.work()).len() == ranks);
    // Layout of a file of this size takes less.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
}

fn script(home: &Home, name: &str, lines: &str) -> PathBuf {
    home.file(name, &format!("#!/bin/sh\n{lines}\n"))
}

// Protects: four tasks are four ranks of one run, never four runs that measure the same storage unawares: by each
// interface for MPI, and over the network where there is none.
#[test]
fn tasks_of_a_step_are_ranks_of_one_run() {
    let Some(slurm) = Slurm::start() else { return };
    let home = Home::new();
    for (mpi, transport) in [("pmi2", "MPICH"), ("pmix", "Open MPI"), ("none", "srun without MPI")] {
        let output = plumb(&slurm, &home, &format!("srun -N4 -n8 --mpi={mpi}"), &format!("{RUN} --json"));
        let result = output.expect_measured().json();
        assert_eq!(result["ranks"]["count"], 8, "{mpi}");
        assert_eq!(hosts_of(&result), NODES, "{mpi}");
        assert!(result["ranks"]["transport"].as_str().unwrap().starts_with(transport), "{mpi}: {}", result["ranks"]);
    }
    assert_eq!(home.query("SELECT count(*) FROM run")[0][0], 3);
    // Another tool's program: its tasks are the ranks, and files and clients are those of IOR.
    let ior = "as ior -F -C -b 1m -t 64k -o f";
    let output = plumb(&slurm, &home, "srun -N4 -n4 --mpi=none", ior).expect(0);
    output.expect_stdout(&["nodes : 4", "tasks : 4"]);
    // More tasks than one level of the tree of ranks, on few processors.
    let many = "as ior -F -C -b 64k -t 64k -o f";
    let output = plumb(&slurm, &home, "srun -N4 -n64 --mpi=none", many).expect(0);
    output.expect_stdout(&["nodes : 4", "tasks : 64"]);
    let output = plumb(&slurm, &home, "srun -N2 -n2 --mpi=none", "as ior -a MPIIO -b 1m -t 64k -o f");
    assert!(output.code != 0 && output.err.contains("needs MPI between them"), "{output:?}");
    assert_no_test_data(&home.work());
    assert!(std::fs::read_dir(home.work().join("../state/plumb")).unwrap().flatten().all(|file| file.path().is_dir()));
}

// Protects the whole way of `--hosts slurm:`: a job's nodes are found, agents start there by one step, all of them
// measure, and the step ends with the command.
#[test]
fn a_run_is_made_by_the_nodes_of_a_job() {
    let Some(slurm) = Slurm::start() else { return };
    let home = Home::new();
    let hosts = |choice: &str| format!("{RUN} --json --hosts slurm:{choice}");
    let result = plumb(&slurm, &home, "salloc -Q -N4", &hosts("")).expect_measured().json();
    assert_eq!((hosts_of(&result), &result["ranks"]["count"]), (NODES.map(str::to_owned).to_vec(), &4.into()));
    assert!(metric(&result, "random-read", "read.iops")["value"].as_f64().unwrap() > 0.0);
    assert_eq!(result["phases"][0]["ranks"]["read_files_of"], "another host");
    for (choice, expected) in [("2", ["n1", "n2"]), ("n[2,4]", ["n2", "n4"])] {
        assert_eq!(hosts_of(&plumb(&slurm, &home, "salloc -Q -N4", &hosts(choice)).expect_measured().json()), expected);
    }
    let job = script(
        &home,
        "job.sh",
        "scontrol show hostnames\nplumb run random-read --at . --set size=1MiB --set cache=warm --set time=200ms --hosts slurm:\n\
         steps() { squeue -h -s -j $SLURM_JOB_ID -o %i | grep -vc batch; }\n\
         for i in 1 2 3 4 5 6 7 8 9 10; do [ $(steps) = 0 ] || sleep 1; done\necho steps: $(steps)",
    );
    let number = slurm.submit(&home, "-N4", &job);
    let output = slurm.wait(&home, &number);
    for part in ["n1\nn2\nn3\nn4\n", "4 ranks on 4 hosts (n1: 1, n2: 1, n3: 1, n4: 1)", "steps: 0"] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let manual = home.file("measure.sbatch", &of_manual("measure").replace("time=30s", "time=1s"));
    let number = slurm.submit(&home, "", &manual);
    let output = slurm.wait(&home, &number);
    assert!(output.contains("4 ranks on 4 hosts"), "{output}");
    assert_no_test_data(&home.work());
    // Ways out for those who are not in a job, or want more than it has.
    home.plumb(&hosts("")).expect(2).expect_stderr(&["means the nodes of a Slurm job", "salloc -N 4"]);
    plumb(&slurm, &home, "salloc -Q -N2", &hosts("3")).expect(2).expect_stderr(&["the job has 2"]);
    plumb(&slurm, &home, "salloc -Q -N1", &hosts("n[1-2],n9")).expect(2).expect_stderr(&["is not in the job"]);
}

// Protects measurements at a time limit, at preemption and at `scancel`: Slurm sends SIGTERM and, after KillWait, SIGKILL.
// By then the partial result is stored, and nothing is left.
#[test]
fn a_cancelled_job_stores_what_it_measured() {
    let Some(slurm) = Slurm::start() else { return };
    let long = "plumb run random-read --at . --set size=1MiB --set cache=warm --set time=120s";
    for (line, signal, ranks, status, printed) in [
        // To the whole job, as at a time limit; to its steps; to the script.
        (format!("srun --mpi=none {long}"), "", 4, "aborted", ""),
        (format!("srun --mpi=pmi2 {long}; echo code $?"), "--signal=TERM", 4, "aborted", "code 130"),
        (format!("{long} --hosts slurm:; echo code $?"), "", 4, "aborted", "code 130"),
        // The agents end by a signal of theirs, and the command gets none.
        (format!("{long} --hosts slurm:; echo code $?"), "--signal=TERM", 4, "failed", "code 4"),
        (format!("exec {long}"), "--batch --signal=TERM", 1, "aborted", ""),
    ] {
        let home = Home::new();
        let job = script(&home, "job.sh", &format!("trap : TERM\n{line}"));
        let number = slurm.submit(&home, "-N4 -n4", &job);
        wait_for_load(&home, ranks);
        slurm.run(&home, &format!("scancel {signal} {number}")).expect(0);
        let output = slurm.wait(&home, &number);
        let context = || format!("{line} ({signal}): {output}\n{:?}", home.plumb("list"));
        let runs = home.query("SELECT status, id FROM run");
        assert!(runs.len() == 1 && output.contains(printed), "{}", context());
        assert_eq!(runs[0][0], status, "{}", context());
        let result = home.plumb(&format!("show {} --json", runs[0][1].as_str().unwrap())).json();
        assert!(metric(&result, "random-read", "read.iops")["value"].as_f64().unwrap() > 0.0, "{}", context());
        assert_no_test_data(&home.work());
        slurm.wait_until_idle();
    }
}

/// Four runs on four nodes, in two directories. No metric is compared.
fn study(home: &Home, time: &str) -> String {
    let dirs = ["one", "two"].map(|name| {
        let dir = home.work().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        dir.display().to_string()
    });
    format!(
        "[experiment]\nname = \"dirs\"\nquestion = \"Which?\"\n[[factor]]\nname = \"dir\"\nlevels = {dirs:?}\n\
         [target]\npath = \"${{dir}}\"\n[workload]\nrandom-read = {{ size = \"1MiB\", cache = \"warm\", time = \"{time}\" }}\n\
         [design]\nplots = 1\nrepeat = 2\nunder-load = true\n[compare]\nby = \"dir\"\nmetrics = [\"read.iops\"]\n"
    )
}

/// Returns status, number of attempts and reason of each run of the study.
fn study_runs(home: &Home) -> Vec<(String, u64, String)> {
    let rows = home.query("SELECT status, attempts, coalesce(reason, '') FROM study_run ORDER BY study_id, seq");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(&row[0]), row[1].as_u64().unwrap(), text(&row[2]))).collect()
}

fn has_value((status, ..): &(String, u64, String)) -> bool {
    status == "done" || status == "rejected"
}

/// Waits until a run of a study has ended and another one measures on all nodes.
fn wait_for_second_run(home: &Home) {
    let has_run = |studies: Value| studies[0]["ended"].as_u64().is_some_and(|ended| ended > 0);
    wait_until("a run has ended", || has_run(home.plumb("study list --json").expect(0).json()));
    let dirs = || ["one", "two"].map(|dir| test_directories(&home.work().join(dir)).len());
    wait_until("a run measures", || dirs().contains(&NODES.len()));
}

// Protects a study on the nodes of a job when one of them is lost in the middle: that run fails and names the node, the
// others are made, and `resume --failed` repeats it in another job.
#[test]
fn a_study_loses_a_node_and_is_resumed() {
    let Some(slurm) = Slurm::start() else { return };
    let home = Home::new();
    home.file("s.toml", &study(&home, "2s"));
    let job = script(&home, "job.sh", "plumb study run s.toml --hosts slurm:");
    let number = slurm.submit(&home, "-N4", &job);
    wait_for_second_run(&home);
    slurm.kill_task(&number, "n3");
    let output = slurm.wait(&home, &number);
    let runs = study_runs(&home);
    let failed: Vec<_> = runs.iter().filter(|run| !has_value(run)).collect();
    assert_eq!((runs.len(), failed.len()), (4, 1), "{runs:?}\n{output}");
    assert!(failed[0].0 == "failed" && failed[0].2.contains("host n3 is lost"), "{failed:?}\n{output}");
    let shown = Served::start(&home, None).get("/api/v1/studies");
    assert!(shown.contains("\"ended\":4,\"failed\":1"), "{shown}");
    let resumed = plumb(&slurm, &home, "salloc -Q -N4", "study resume --failed");
    assert!([0, 3].contains(&resumed.code), "{resumed:?}");
    assert!(study_runs(&home).iter().all(has_value), "{:?}", study_runs(&home));
    let one = home.query("SELECT run_id FROM study_run WHERE run_id IS NOT NULL")[0][0].as_str().unwrap().to_owned();
    assert_eq!(hosts_of(&home.plumb(&format!("show {one} --json")).json()), NODES);
    // The agent that was killed leaves its data to `plumb clean` on its node.
    for dir in ["one", "two"] {
        slurm.run(&home, &format!("srun -N1 -w n3 plumb clean {dir}")).expect(0);
        assert_no_test_data(&home.work().join(dir));
    }
}

// Protects the manual's script: Slurm takes the nodes away for an urgent job and starts the script again, and the study
// goes on where it was, without a run lost or made twice.
#[test]
fn a_preempted_study_goes_on_when_its_job_is_requeued() {
    let Some(slurm) = Slurm::start() else { return };
    let home = Home::new();
    home.file("dirs.toml", &study(&home, "2s"));
    let job = home.file("study.sbatch", &of_manual("study"));
    let number = slurm.submit(&home, "", &job);
    wait_for_second_run(&home);
    slurm.run(&home, "srun -p urgent -N4 --exclusive true").expect(0);
    // Slurm lets a requeued job wait for two minutes, for a node's clean-up.
    wait_until("the job waits again", || slurm.state(&home, &number) == "PENDING");
    let before = study_runs(&home).iter().filter(|run| has_value(run)).count();
    assert!((1..4).contains(&before), "{:?}\n{}", study_runs(&home), slurm.output(&home, &number));
    slurm.run(&home, &format!("scontrol update JobId={number} StartTime=now")).expect(0);
    let output = slurm.wait(&home, &number);
    let runs = study_runs(&home);
    assert!(runs.len() == 4 && runs.iter().all(has_value), "{runs:?}\n{output}");
    assert_eq!(home.plumb("study list --json").json().as_array().unwrap().len(), 1, "{output}");
}

/// Returns a script of the manual's page, by the name of its job.
fn of_manual(name: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/slurm.md");
    let page = std::fs::read_to_string(page).unwrap();
    let job = format!("--job-name={name} ");
    let mut blocks = page.split("```sh\n").filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(&job)).unwrap_or_else(|| panic!("no {name} in the manual")).to_owned()
}

// Protects the manual's script for an array of jobs: each task measures a plot on whichever node is free, and the gathered
// study is complete.
#[test]
fn an_array_measures_a_study_plot_by_plot() {
    let Some(slurm) = Slurm::start() else { return };
    let home = Home::new();
    home.file("disks.toml", crate::study_conduct::STUDY);
    let job = home.file("array.sbatch", &of_manual("plots"));
    let plots = crate::study_gather::count_plots(&home, "disks.toml");
    let number = slurm.submit(&home, &format!("--array=1-{plots}"), &job);
    slurm.wait(&home, &number);
    let output = slurm.output(&home, &number);
    let parts: Vec<String> = (1..=plots).map(|plot| format!("parts/{plot}.db")).collect();
    let gathered = home.plumb(&format!("study gather {} --json", parts.join(" "))).expect(0).json();
    let runs = study_runs(&home);
    assert!(!runs.is_empty() && runs.iter().all(has_value), "{gathered}\n{output}");
    let hosts = home.query("SELECT count(DISTINCT hostname) FROM machine");
    assert!(hosts[0][0].as_u64().unwrap() >= 1, "{hosts:?}");
}
