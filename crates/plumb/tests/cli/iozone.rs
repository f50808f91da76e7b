//! `plumb as iozone` end to end, compared with the real one if it is installed.

use crate::common::traced::{same, traced, whole_calls};
use crate::common::{Home, needs};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;

const TRACED: &str = "openat,open,creat,read,write,lseek,fsync,fdatasync,close,unlink,unlinkat,ftruncate,pread64,\
                      pwrite64,mmap,msync,fcntl";

/// Returns the calls on each of these files, in order, with the relevant arguments.
fn calls(text: &str, line: &Line) -> BTreeMap<String, Vec<String>> {
    let files = &line.files;
    let mut open: HashMap<(String, String), String> = HashMap::new();
    let mut mapped: HashMap<(String, String), String> = HashMap::new();
    let mut calls: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (thread, call) in whole_calls(text) {
        // Only async I/O has helper threads, which use descriptors that another thread has opened.
        let whose = if line.has_helpers() { "" } else { thread };
        let Some((name, rest)) = call.split_once('(') else { continue };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { continue };
        let arguments = arguments.trim_end().trim_end_matches(')');
        let result = result.split_whitespace().next().unwrap_or_default();
        let output: Vec<&str> = arguments.split(", ").collect();
        let named = files.iter().find(|file| {
            output.iter().any(|word| {
                let path = word.trim_matches('"');
                word.starts_with('"') && Path::new(path).file_name().is_some_and(|last| last == file.as_str())
            })
        });
        let key = |number: usize| (whose.to_owned(), output.get(number).copied().unwrap_or_default().to_owned());
        let (file, reported) = match (name, named) {
            ("openat" | "open" | "creat", Some(file)) => {
                let flags = match name {
                    "creat" => "O_WRONLY|O_CREAT|O_TRUNC",
                    _ => output.iter().find(|word| word.starts_with("O_")).copied().unwrap_or_default(),
                };
                // These flags do not change the I/O on the file.
                let flags: Vec<&str> = flags
                    .split('|')
                    .filter(|flag| !matches!(*flag, "O_CLOEXEC" | "O_NOFOLLOW" | "O_LARGEFILE"))
                    .collect();
                open.insert((whose.to_owned(), result.to_owned()), file.clone());
                (file.clone(), format!("open {}", flags.join("|")))
            }
            ("openat" | "open" | "creat", None) => {
                open.remove(&(whose.to_owned(), result.to_owned()));
                continue;
            }
            ("unlink" | "unlinkat", Some(file)) => (file.clone(), "unlink".to_owned()),
            ("mmap", _) => match open.get(&key(4)) {
                Some(file) => {
                    mapped.insert((whose.to_owned(), result.to_owned()), file.clone());
                    (file.clone(), format!("mmap {} {}", output[1], output[2]))
                }
                None => continue,
            },
            // For a record anywhere in the mapping.
            ("msync", _) => match mapped.values().collect::<std::collections::BTreeSet<_>>().first() {
                Some(first) => {
                    let file = mapped.get(&key(0)).unwrap_or(first);
                    ((*file).clone(), format!("msync {}", output[1..].join(" ")))
                }
                None => continue,
            },
            ("fcntl", _) if !arguments.contains("F_SETLK") => continue,
            (_, _) => {
                let Some(file) = open.get(&key(0)).cloned() else { continue };
                let reported = match name {
                    "close" => {
                        open.remove(&key(0));
                        name.to_owned()
                    }
                    "read" | "write" => format!("{name} = {result}"),
                    "pread64" | "pwrite64" => format!("{name} @{} = {result}", output.last().unwrap()),
                    "lseek" | "ftruncate" => format!("{name} {} = {result}", output[1..].join(" ")),
                    "fcntl" => format!("lock {}", arguments.split_once('{').map_or("", |(_, lock)| lock)),
                    _ => name.to_owned(),
                };
                (file, reported)
            }
        };
        calls.entry(file).or_default().push(reported);
    }
    if ["-Q", "-+l", "-+L"].iter().any(|option| line.has_option(option)) {
        // IOzone queries its position for the file of offsets and for locks; here it
        // follows from the order of the records.
        calls.values_mut().for_each(|calls| calls.retain(|call| !call.starts_with("lseek 0 SEEK_CUR")));
    }
    if line.is_shared() {
        // The order of several threads is random.
        calls.values_mut().for_each(|calls| calls.sort_unstable());
    }
    calls
}

/// A command line of IOzone, and its files.
pub(crate) struct Line {
    pub words: String,
    pub files: Vec<String>,
}

impl Line {
    pub(crate) fn new(words: &str, files: &[&str]) -> Line {
        Line { words: words.to_owned(), files: files.iter().map(|file| (*file).to_owned()).collect() }
    }

    fn has_option(&self, option: &str) -> bool {
        self.words.split_whitespace().any(|word| word == option)
    }

    fn has_helpers(&self) -> bool {
        self.has_option("-H") || self.has_option("-k")
    }

    fn is_shared(&self) -> bool {
        self.has_option("-+L") || self.has_option("-+V")
    }

    /// Traces the tool's calls on each file.
    fn traced(&self, home: &Home, command: &Command, first_looks_on: bool) -> BTreeMap<String, Vec<String>> {
        let text = traced(home, command, &["-e", &format!("trace={TRACED}")]);
        for file in &self.files {
            // A file that `-w` keeps must not exist for the other tool.
            let _ = std::fs::remove_file(home.work().join(file));
        }
        let first = text.split_whitespace().next().unwrap_or_default();
        let lines = text.lines().filter(|line| !first_looks_on || line.split_whitespace().next() != Some(first));
        calls(&lines.collect::<Vec<_>>().join("\n"), self)
    }
}

/// Runs both tools, and returns the differences of their calls.
///
/// Threads of the real one share a random generator, and sometimes their draws interleave: with threads, one
/// of a few runs must be equal.
pub(crate) fn compared(line: &Line) -> Result<(), String> {
    let attempts = if line.words.split_whitespace().any(|word| word == "-T") { 3 } else { 1 };
    let mut outcome = Ok(());
    for _ in 0..attempts {
        outcome = compared_once(line);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn compared_once(line: &Line) -> Result<(), String> {
    let home = Home::new();
    let mut real = Command::new("iozone");
    real.args(line.words.split_whitespace());
    let real = line.traced(&home, &real, false);
    let ours = line.traced(&home, &home.command(format!("as iozone {}", line.words).split_whitespace()), true);
    for file in &line.files {
        let none = Vec::new();
        let (real, ours) = (real.get(file).unwrap_or(&none), ours.get(file).unwrap_or(&none));
        if real.len() < 6 {
            return Err(format!("iozone {}: {file}: only {real:?} was seen", line.words));
        }
        same(real, ours).map_err(|why| format!("iozone {}: {file}: {why}", line.words))?;
    }
    Ok(())
}

/// Both make the same opens, seeks, reads, writes and flushes on the same files, in the same order.
#[test]
fn the_calls_are_those_of_the_real_one() {
    if !needs::tools(&["iozone", "strace"]) {
        return;
    }
    let lines = [
        ("-s 256k -r 64k -f f", vec!["f"]),
        ("-E -s 128k -r 64k -i 0 -i 9 -i 10 -f f", vec!["f"]),
        ("-e -c -s 128k -r 64k -f f", vec!["f"]),
        ("-s 3m -r 64k -j 17 -i 0 -i 2 -i 5 -f f", vec!["f"]),
        ("-I -o -s 128k -r 64k -i 0 -i 1 -i 2 -f f", vec!["f"]),
        ("-B -s 128k -r 64k -f f", vec!["f"]),
        ("-B -G -s 64k -r 4k -i 0 -i 1 -f f", vec!["f"]),
        ("-+D -s 128k -r 64k -i 0 -i 1 -f f", vec!["f"]),
        ("-Q -s 128k -r 64k -i 0 -i 1 -f f", vec!["f"]),
        ("-x -t 1 -W -e -s 128k -r 64k -i 0 -i 1 -F a", vec!["a"]),
        ("-x -t 1 -B -s 128k -r 64k -i 0 -i 2 -F a", vec!["a"]),
        ("-D -e -W -s 128k -r 64k -i 0 -i 1 -f f", vec!["f"]),
        ("-w -+n -s 64k -r 4k -i 0 -i 1 -f f", vec!["f"]),
        ("-K -s 1m -r 4k -i 0 -i 1 -i 3 -f f", vec!["f"]),
        ("-Z -s 128k -r 64k -i 0 -i 1 -i 2 -f f", vec!["f"]),
        ("-Z -B -s 128k -r 64k -i 0 -i 1 -i 4 -f f", vec!["f"]),
        ("-+F -+B -+p 1 -x -t 2 -s 128k -r 64k -i 0 -i 8 -F a b", vec!["a", "b"]),
        // Without the stonewall, which randomly cuts off the last ops.
        ("-x -t 2 -s 128k -r 64k -F a b", vec!["a", "b"]),
    ];
    for (words, files) in &lines {
        if let Err(why) = compared(&Line::new(words, files)) {
            panic!("{why}");
        }
    }
}

/// Returns each test's rate from the spreadsheet reports, because columns of the table
/// touch each other on a fast machine.
fn rates(out: &str) -> Vec<u64> {
    let value = |report: &str| {
        let line = report.lines().nth(2).unwrap_or_else(|| panic!("{report}"));
        line.split_whitespace().nth(1).and_then(|rate| rate.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    out.split("\n\n\"").skip(1).filter(|report| report.contains("report\"\n")).map(value).collect()
}

#[test]
fn all_tests_have_a_rate_and_the_result_is_stored() {
    let home = Home::new();
    let out = home.plumb("as iozone -E -R -s 256k -r 16k -f f").expect(0).out;
    let row = out.lines().skip_while(|line| !line.contains("reclen")).nth(1).unwrap_or_else(|| panic!("{out}"));
    assert!(row.starts_with("             256      16"), "{out}");
    let rates = rates(&out);
    assert_eq!(rates.len(), 17, "{out}");
    assert!(rates.iter().all(|rate| *rate > 0), "{out}");
    assert!(out.contains("\niozone test complete.\n"), "{out}");
    assert!(!home.work().join("f").exists(), "the file is removed");
    let stored = home.query("SELECT dialect FROM run");
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0][0], "iozone");
}

#[test]
fn throughput_tests_print_a_block_each() {
    let home = Home::new();
    for threads in ["", "-T "] {
        let out =
            home.plumb(&format!("as iozone {threads}-R -C -t 1 -t 2 -s 256k -r 64k -i 0 -i 2 -i 8")).expect(0).out;
        for who in ["2 initial writers", "2 rewriters", "2 random readers", "2 mixed workload", "2 random writers"] {
            assert!(out.contains(&format!("{who} \t")), "{who}: {out}");
        }
        assert_eq!(out.matches("Child[1] xfer count").count(), 5, "{out}");
        assert!(out.contains("\" Mixed workload \""), "{out}");
    }
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0, "all files are removed");
}

/// Writes a spreadsheet, latency files and histograms on request.
#[test]
fn files_of_results_are_written() {
    let home = Home::new();
    home.plumb("as iozone -a -g 256k -i 0 -i 1 -f f -b r.xls --xlsx r.xlsx --repeat 2").expect(0);
    let read = |name: &str| std::fs::read(home.work().join(name)).unwrap();
    assert_eq!(read("r.xls")[..8], [9, 0, 4, 0, 2, 0, 0x10, 0]);
    assert_eq!(read("r.xlsx")[..2], *b"PK");
    home.plumb("as iozone -Q -s 64k -r 16k -i 0 -i 1 -f f").expect(0);
    for name in ["wol.dat", "rwol.dat", "rol.dat", "rrol.dat"] {
        let text = String::from_utf8(read(name)).unwrap();
        assert_eq!(text.lines().filter(|line| line.ends_with("16384")).count(), 4, "{name}: {text}");
    }
    // Without the stonewall: a child that starts late still does its work.
    home.plumb("as iozone -+z -x -t 2 -s 64k -r 4k -i 0").expect(0);
    let text = String::from_utf8(read("Iozone_histogram_child_1.txt")).unwrap();
    assert!(text.contains("Child: 1 Op: Rewrite\nBand 1:    20us:"), "{text}");
}

#[test]
fn what_goes_wrong_ends_as_iozone_ends() {
    let home = Home::new();
    home.plumb("as iozone").expect(255).expect_stdout(&["Usage: For usage information type iozone -h"]);
    home.plumb("as iozone -i 1 -s 64k -f f")
        .expect(58)
        .expect_stdout(&["Can not open temporary file f for read"])
        .expect_stderr(&["open: No such file or directory"]);
    home.plumb("as iozone -N -t 2").expect(17).expect_stdout(&["Microsecond mode not supported in throughput mode."]);
    home.plumb("as iozone -+m list").expect(2).expect_stderr(&["cluster mode (-+m) is not supported yet"]);
    home.plumb("as iozone -s 64k -i 0 -i 11 -f f").expect(0).expect_stderr(&["not run: -i 11"]);
}

/// A user's file is not test data, even if IOzone would overwrite it.
#[test]
fn a_file_of_the_users_is_kept() {
    let home = Home::new();
    let path = home.file("precious", "do not lose");
    let line = format!("as iozone -s 64k -i 0 -f {}", path.display());
    home.plumb(&line).expect(44).expect_stderr(&["PLUMB_ALLOW"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "do not lose");
}

/// Every byte is checked on request, and an existing file is only read.
#[test]
fn diagnostics_find_nothing_in_order_and_existing_files_are_only_read() {
    let home = Home::new();
    home.plumb("as iozone -+d -s 256k -r 4k -i 0 -i 1 -i 2 -f f").expect(0);
    let path = home.file("theirs", &"x".repeat(64 << 10));
    let line = format!("as iozone -+E -s 64k -r 4k -i 1 -i 3 -f {}", path.display());
    home.plumb(&line).expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap().len(), 64 << 10);
}

#[test]
fn a_link_named_iozone_is_iozone() {
    let home = Home::new();
    let link = home.work().join("iozone");
    std::os::unix::fs::symlink(home.command([""]).get_program(), &link).unwrap();
    let output = Command::new(&link).arg("-v").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("3.489"));
}

/// A file name that denotes a simulated device is not created, and the rates are the same each time.
#[test]
fn records_move_on_simulated_devices() {
    let home = Home::new();
    let rates = || {
        let output = home.plumb("as iozone -f sim:ssd -s 4m -r 64k -i 0 -i 1").expect(0);
        let row = output.out.lines().find(|line| line.trim_start().starts_with("4096")).map(str::to_owned);
        row.unwrap_or_else(|| panic!("{}", output.out))
    };
    let row = rates();
    assert_eq!((row.split_whitespace().count(), &row), (6, &rates()), "four rates behind the file and its records");
    assert!(!home.work().join("sim:ssd").exists());
}

// Protects printing of the workbook: each sheet is one page wide with its header repeated, and numbers are readable.
#[test]
fn a_workbook_prints_well() {
    if !needs::tools(&["python3"]) {
        return;
    }
    let home = Home::new();
    home.plumb("as iozone -a -g 1m -n 64k -i 0 -f f --xlsx r.xlsx").expect(0);
    home.plumb("as iozone -t 1 -t 2 -s 64k -i 0 --xlsx t.xlsx").expect(0);
    let part = |book: &str, part: &str| {
        let script = format!("import zipfile; print(zipfile.ZipFile('{book}').read('{part}').decode())");
        let output = Command::new("python3").args(["-c", &script]).current_dir(home.work()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let book = part("r.xlsx", "xl/workbook.xml");
    let names: Vec<&str> = book.split("sheet name=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names, ["Writer", "Re-writer", "Rounds"], "what is long is last");
    for (book, sheets) in [("r.xlsx", 3), ("t.xlsx", 2)] {
        for number in 1..=sheets {
            let sheet = part(book, &format!("xl/worksheets/sheet{number}.xml"));
            for wanted in ["orientation=\"landscape\"", "fitToPage=\"1\"", "state=\"frozen\""] {
                assert!(sheet.contains(wanted), "{book}, sheet {number}: no {wanted}");
            }
        }
        assert!(part(book, "xl/styles.xml").contains("formatCode=\"#,##0\""), "{book}: thousands are apart");
        let chart = part(book, "xl/charts/chart1.xml");
        assert!(chart.contains("<a:t>MB/s</a:t>"), "{book}: the axis has its unit: {chart}");
        let legend = if book == "r.xlsx" { ["64 KiB file", "1 MiB file"] } else { ["1 process", "2 processes"] };
        for name in legend {
            assert!(chart.contains(&format!("<c:v>{name}</c:v>")), "{book}: {name} is in the legend: {chart}");
        }
    }
    // The chart's numbers are those of the table, in its unit.
    let values = |cell: &str| -> f64 {
        let sheet = part("r.xlsx", "xl/worksheets/sheet1.xml");
        let found = sheet.split(&format!("r=\"{cell}\"")).nth(1).unwrap().split("<v>").nth(1).unwrap();
        found.split('<').next().unwrap().parse().unwrap()
    };
    let (kb, mb) = (values("B5"), values("B12"));
    assert!((mb - kb * 1024.0 / 1e6).abs() < 0.001 * mb, "{kb} kB/s is not {mb} MB/s");
}
