//! Compares whole sessions with PostMark 1.53's output, byte for byte: counts and totals depend only
//! on the settings, and times are given.

use super::*;

/// A session of PostMark's whose runs take these seconds: in total, in creation, in transactions and in deletion.
struct Session {
    language: Language,
    seconds: [f64; 4],
    out: String,
    complaints: String,
}

impl Session {
    fn play(lines: &str, seconds: [f64; 4]) -> Session {
        let mut session = Session {
            language: Language::default(),
            seconds,
            out: format!("{BANNER}{PROMPT}"),
            complaints: String::new(),
        };
        for line in lines.lines() {
            let orders = session.language.obey_typed(line);
            if orders.contains(&Answer::Quit) {
                return session;
            }
            orders.into_iter().for_each(|order| session.obey(order));
            session.out += PROMPT;
        }
        session
    }

    fn obey(&mut self, order: Answer) {
        match order {
            Answer::Print(text) => self.out += &text,
            Answer::Complain(text) => self.complaints += &format!("Error: {text}\n"),
            Answer::Run(_) => self.run(),
            Answer::Show(_) => self.out += &self.language.settings.show("/dev/shm/r_pm"),
            Answer::Load(path) => {
                self.complaints += &format!("Error: cannot read configuration file '{path}'\n");
            }
            Answer::Shell(_) | Answer::Quit => {}
        }
    }

    fn run(&mut self) {
        let plan = lower(&self.language.settings, Compat::Strict).unwrap();
        for phase in &plan.workload.phase {
            let kind = PhaseKind::from_name(&phase.name).unwrap();
            self.out += kind.announced();
            if kind == PhaseKind::Transactions {
                let dots = dots(plan.transactions(), plan.run.transactions.into());
                self.out += &".".repeat(dots as usize);
                if plan.runs_out_of_files() {
                    self.out += OUT_OF_FILES;
                    continue;
                }
            }
            self.out += "Done\n";
        }
        if !plan.runs_out_of_files() {
            let [total_s, create_s, transactions_s, delete_s] = self.seconds;
            let spent = Spent { total_s, create_s, transactions_s, delete_s };
            self.out += &report(self.language.settings.report, &Counts::requested(&plan), &spent, Compat::Strict);
        }
    }
}

const ONE: [f64; 4] = [1.0; 4];

#[test]
fn the_default_run() {
    let expected = "\
PostMark v1.51 : 8/14/01
pm>Creating files...Done
Performing transactions..........Done
Deleting files...Done
Time:
\t1 seconds total
\t1 seconds of transactions (500 per second)

Files:
\t764 created (764 per second)
\t\tCreation alone: 500 files (500 per second)
\t\tMixed with transactions: 264 files (264 per second)
\t243 read (243 per second)
\t257 appended (257 per second)
\t764 deleted (764 per second)
\t\tDeletion alone: 528 files (528 per second)
\t\tMixed with transactions: 236 files (236 per second)

Data:
\t1.36 megabytes read (1.36 megabytes per second)
\t4.45 megabytes written (4.45 megabytes per second)
pm>";
    assert_eq!(Session::play("run\nquit\n", ONE).out, expected);
    let terse = "\
PostMark v1.51 : 8/14/01
pm>pm>Creating files...Done
Performing transactions..........Done
Deleting files...Done
1 1 500.00 764.00 500.00 264.00 243.00 257.00 764.00 528.00 236.00 1430770.00 4662068.00
pm>";
    assert_eq!(Session::play("set report terse\nrun\nquit\n", ONE).out, terse);
}

/// Rates use PostMark's divisors.
#[test]
fn a_published_run_of_two_seconds() {
    let lines = "set size 1000 100000\nset number 2000\nset transactions 50000\nrun\nquit\n";
    let out = Session::play(lines, [2.0, 1.0, 2.0, 1.0]).out;
    let expected = "\
Time:
\t2 seconds total
\t2 seconds of transactions (25000 per second)

Files:
\t27272 created (13636 per second)
\t\tCreation alone: 2000 files (2000 per second)
\t\tMixed with transactions: 25272 files (12636 per second)
\t24986 read (12493 per second)
\t24955 appended (12477 per second)
\t27272 deleted (13636 per second)
\t\tDeletion alone: 2544 files (2544 per second)
\t\tMixed with transactions: 24728 files (12364 per second)

Data:
\t1579.51 megabytes read (789.76 megabytes per second)
\t1717.98 megabytes written (858.99 megabytes per second)
pm>";
    assert!(out.ends_with(expected), "{out}");
}

#[test]
fn locations_and_subdirectories() {
    let lines = "set location +A 3\nset location +B 1\nset location A 2\nset location +B\nset subdirectories 10\n\
                 set number 1000\nset transactions 1000\nshow\nrun\nset location -B\nshow\nquit\n";
    let expected = "\
PostMark v1.51 : 8/14/01
pm>pm>pm>pm>pm>pm>pm>pm>Current configuration is:
The base number of files is 1000
Transactions: 1000
Files range between 500 bytes and 9.77 kilobytes in size
Working directories: 
\tA (weight=2)
\tB (weight=1)
10 subdirectories will be used
Block sizes are: read=512 bytes, write=512 bytes
Biases are: read/append=5, create/delete=5
Using Unix buffered file I/O
Random number generator seed is 42
Report format is verbose.
pm>Creating subdirectories...Done
Creating files...Done
Performing transactions..........Done
Deleting files...Done
Deleting subdirectories...Done
Time:
\t1 seconds total
\t1 seconds of transactions (1000 per second)

Files:
\t1516 created (1516 per second)
\t\tCreation alone: 1000 files (1000 per second)
\t\tMixed with transactions: 516 files (516 per second)
\t475 read (475 per second)
\t525 appended (525 per second)
\t1516 deleted (1516 per second)
\t\tDeletion alone: 1032 files (1032 per second)
\t\tMixed with transactions: 484 files (484 per second)

Data:
\t2.67 megabytes read (2.67 megabytes per second)
\t8.63 megabytes written (8.63 megabytes per second)
pm>pm>Current configuration is:
The base number of files is 1000
Transactions: 1000
Files range between 500 bytes and 9.77 kilobytes in size
Working directory: 
\tA (weight=2)
10 subdirectories will be used
Block sizes are: read=512 bytes, write=512 bytes
Biases are: read/append=5, create/delete=5
Using Unix buffered file I/O
Random number generator seed is 42
Report format is verbose.
pm>";
    assert_eq!(Session::play(lines, ONE).out, expected);
}

#[test]
fn errors_have_the_tools_words() {
    let lines = "set size\nset size 0\nset number -4\nset bias read 11\nset bias create x\nset buffering maybe\n\
                 set report x\nset location\nload nofile\nfoo\nset foo\n?\nexit\n";
    let session = Session::play(lines, ONE);
    let complaints = "\
Error: no file size low or high bounds specified
Error: no file size low or high bounds specified
Error: invalid number of files
Error: no bias specified (0-10 for greater chance,-1 to disable)
Error: no buffering mode (true/false) specified
Error: either 'verbose' or 'terse' required
Error: no directory name specified
Error: cannot read configuration file 'nofile'
";
    assert_eq!(session.complaints, complaints);
    let out = "\
PostMark v1.51 : 8/14/01
pm>pm>pm>pm>pm>pm>pm>pm>pm>pm>Eh?
pm>Eh?
pm>set size - Sets low and high bounds of files
set number - Sets number of simultaneous files
set seed - Sets seed for random number generator
set transactions - Sets number of transactions
set location - Sets location of working files
set subdirectories - Sets number of subdirectories
set read - Sets read block size
set write - Sets write block size
set buffering - Sets usage of buffered I/O
set bias read - Sets the chance of choosing read over append
set bias create - Sets the chance of choosing create over delete
set report - Choose verbose or terse report format
run - Runs one iteration of benchmark
load - Read configuration file
show - Displays current configuration
help - Prints out available commands
quit - Exit program
pm>";
    assert_eq!(session.out, out);
}

#[test]
fn a_run_without_files_has_no_report() {
    let lines = "set number 5\nset bias create 0\nset transactions 100\nrun\nquit\n";
    let expected = "\
PostMark v1.51 : 8/14/01
pm>pm>pm>pm>Creating files...Done
Performing transactions.out of files!
For this workload, either increase the number of files or
decrease the number of transactions.
Deleting files...Done
pm>";
    assert_eq!(Session::play(lines, ONE).out, expected);
}

#[test]
fn unbuffered_runs_with_one_kind_of_transaction() {
    let lines = "set size 500 2000\nset transactions 1000\nset buffering false\nset read 4096\nset write 4096\nset seed 7\n\
                 set bias read 8\nset bias create -1\nshow\nrun\nquit\n";
    let out = Session::play(lines, ONE).out;
    for expected in [
        "Files range between 500 bytes and 1.95 kilobytes in size\nWorking directory: /dev/shm/r_pm\n\
         Block sizes are: read=4.00 kilobytes, write=4.00 kilobytes\nBiases are: read/append=8, create/delete=-1\n\
         Not using Unix buffered file I/O\nRandom number generator seed is 7\n",
        "\t794 read (794 per second)\n\t206 appended (206 per second)\n\t500 deleted (500 per second)\n",
        "\t1.02 megabytes read (1.02 megabytes per second)\n\t679.55 kilobytes written (679.55 kilobytes per second)\n",
    ] {
        assert!(out.contains(expected), "{expected}\n---\n{out}");
    }
}

/// The line that the Phoronix Test Suite parses (pts/postmark).
#[test]
fn the_rate_of_transactions_stands_where_the_phoronix_test_suite_reads_it() {
    let line = regex::Regex::new(r"(?m)^\t([\d.]+) seconds of transactions \((\d+) per second\)$").unwrap();
    let spent = Spent { total_s: 0.5, create_s: 0.2, transactions_s: 0.104, delete_s: 0.1 };
    let plan = lower(&PostmarkSettings::default(), Compat::Meant).unwrap();
    for (compat, seconds) in [(Compat::Meant, "0.104"), (Compat::Strict, "0.104")] {
        let text = report(ReportForm::Verbose, &Counts::requested(&plan), &spent, compat);
        let found = line.captures(&text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!([&found[1], &found[2]], [seconds, "4807"]);
        // It compares words: the number follows `transactions`.
        let words: Vec<&str> = found[0].split_whitespace().collect();
        assert_eq!(words[4].trim_start_matches('('), "4807");
    }
}

#[test]
fn each_tenth_prints_a_dot() {
    for (done, transactions, expected) in
        [(500, 500, 10), (5, 100, 1), (1005, 1005, 11), (5, 5, 5), (0, 500, 0), (1, 500, 1), (51, 500, 2)]
    {
        assert_eq!(dots(done, transactions), expected, "{done} of {transactions}");
    }
}

#[test]
fn impossible_runs_are_refused_with_a_remedy() {
    let settings = PostmarkSettings { threads: 5000, ..PostmarkSettings::default() };
    assert_eq!(lower(&settings, Compat::Meant).unwrap_err().to_string(), "5000 threads are too many: use 1 to 1024");
}

#[test]
fn lowered_runs_are_valid_workloads() {
    for settings in [
        PostmarkSettings::default(),
        PostmarkSettings { subdirectories: 3, threads: 2, buffered: false, ..PostmarkSettings::default() },
        PostmarkSettings { transactions: 5, bias_read: -1, ..PostmarkSettings::default() },
    ] {
        let plan = lower(&settings, Compat::Meant).unwrap();
        assert_eq!(plumb_workload_text::validate::validate(&plan.workload), [], "{settings:?}");
    }
}
