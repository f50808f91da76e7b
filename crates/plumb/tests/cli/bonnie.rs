//! `plumb as bonnie++` end to end, compared with the real one.

use crate::common::traced::{same, traced, whole_calls};
use crate::common::{CommandOutput, Home, metric, needs};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

/// A run of every test on small files.
const SMALL: &str = "-q -u root -r 0 -s 2:8k:50:2 -f1 -n 1:3000:0:2 -m golden -z 1";

/// Replaces measured numbers by a letter for each kind of field.
fn masked(line: &str) -> String {
    let field = |field: &str| match field {
        "+++++" | "+++" => "rate".to_owned(),
        _ if field
            .strip_suffix("us")
            .or(field.strip_suffix("ms"))
            .is_some_and(|number| number.parse::<u64>().is_ok()) =>
        {
            "latency".to_owned()
        }
        other => other.to_owned(),
    };
    line.trim_end().split(',').map(field).collect::<Vec<_>>().join(",")
}

#[test]
fn invalid_arguments_are_reported_like_the_original() {
    let home = Home::new();
    home.plumb("as bonnie++ -d . -u root -r 0 -s 64 -n 0 -f 2")
        .expect(1)
        .expect_stderr(&["usage:\nbonnie++ [-d", "Version: 2.00a"]);
    home.plumb("as bonnie++ -d nowhere -u root")
        .expect(1)
        .expect_stderr(&["Can't change to directory \"nowhere\".\nusage:"]);
    home.plumb("as bonnie++ -u nobody-of-this-name").expect(1).expect_stderr(&["Can't find user nobody-of-this-name"]);
    home.plumb("as bonnie++ --as-version=1.03 -h")
        .expect(1)
        .expect_stderr(&["invalid option -- 'h'\nusage: bonnie++ [-d", "1.03e"]);
    if needs::is_root() {
        home.plumb("as bonnie++ -d .")
            .expect(1)
            .expect_stderr(&["You must use the \"-u\" switch when running as root.\nusage:"]);
        home.plumb("as bonnie++ -r 4096 -u root -s 256 -n 0")
            .expect(1)
            .expect_stderr(&["Using uid:0, gid:0.\nFile size should be"]);
    } else {
        needs::skip("the rule about root needs root");
    }
}

/// The line of values of every version. Nothing is left on the disk, and the result is stored.
#[test]
fn a_run_prints_its_lines() {
    if !needs::is_root() {
        return needs::skip("`-u root` needs root");
    }
    let home = Home::new();
    let output = home.plumb(&format!("as bonnie++ {SMALL}")).expect(0);
    let line = masked(&output.out);
    assert!(line.starts_with("1.98,2.00a,golden,1,1,2M,,50,2,"), "{line}");
    assert!(line.contains(",1,3000,,2,,"), "{line}");
    assert_eq!(line.split(',').count(), 50, "{line}");
    assert_eq!(line.split(',').filter(|field| *field == "latency").count(), 12, "{line}");
    output
        .expect_stderr(&[
            "Version 2.00a       ------Sequential Output------",
            "golden    2M:::50:2 ",
            "        1:3000:0/2 ",
        ])
        .expect_stderr(&["plumb: file rates in the table are rates", "--compat=strict"]);
    let old = home.plumb("as bonnie++ --as-version=1.03 -u root -r 0 -s 1 -n 1 -m golden").expect(0);
    let line = old.out.lines().last().unwrap_or_default();
    assert_eq!(line.split(',').count(), 27, "{line}");
    old.expect_stderr(&[
        "Using uid:0, gid:0.\nWriting with putc()...done\nWriting intelligently...done\nRewriting...done\n",
    ])
    .expect_stderr(&["Reading with getc()...done\nReading intelligently...done\nstart 'em...done...done...done...\n"])
    .expect_stderr(&["Create files in sequential order...done.\nStat files in sequential order...done.\n"]);
    let links =
        home.plumb("as bonnie++ --compat=strict -q -b -u root -r 0 -s 0 -n 1:-1 -x 2 -m golden -z 42").expect(0);
    let lines: Vec<String> = links.out.lines().map(masked).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].starts_with("format_version,bonnie_version,name") && lines[1].contains(",1,link,,,,"),
        "{lines:?}"
    );
    assert_eq!(std::fs::read_dir(home.work()).unwrap().count(), 0, "nothing stays");
    let rows = home.query("SELECT count(*) FROM run WHERE dialect = 'bonnie++'");
    assert_eq!(rows[0][0], 4, "each run of -x is one");
}

/// The real readers accept these lines, and the page is byte-exact.
#[test]
fn the_tools_own_readers_read_it() {
    if !needs::root_and(&["bon_csv2html", "bon_csv2txt"]) {
        return;
    }
    let home = Home::new();
    let made = home.plumb(&format!("as bonnie++ {SMALL}")).expect(0).out;
    let rates = "1.98,2.00a,a,1,42,256M,4k,8192,5,291,8,189069,7,223353,7,437,8,439362,7,13966,25,8,4096,,8,,7391,6,+++++,\
                 +++,7504,7,6742,6,+++++,+++,6150,8,141ms,91929us,97899us,93502us,88236us,156ms,94183us,78209us,96806us,\
                 94413us,90936us,92668us\n";
    let lines = format!("{rates}{made}{}", rates.replace(",291,", ",300,").replace(",141ms,", ",2s,"));
    let converted = |mut command: Command| {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), lines.as_bytes()).unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    assert_eq!(converted(home.command(["as", "bon_csv2html"])), converted(Command::new("bon_csv2html")));
    let theirs = converted(Command::new("bon_csv2txt"));
    // The Perl reader turns a test that was too short into 0.
    assert_eq!(
        converted(home.command(["as", "bon_csv2txt"])).replace("+++++ +++", "   0k +++"),
        theirs.replace("+++++ +++", "   0k +++")
    );
    assert!(theirs.contains("golden"), "{theirs}");
}

/// The strace output of one run: each call on a file of Bonnie's, with its thread, in order.
struct Calls {
    events: Vec<(String, String)>,
    /// Whether they come from the real tool.
    real: bool,
}

/// Returns the calls of a run of this program.
fn calls(home: &Home, command: &Command) -> Calls {
    let calls = "open,openat,openat2,creat,close,read,write,lseek,fsync,sync,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,\
                 symlinkat,newfstatat,stat,chdir";
    let text = traced(home, command, &["-e", &format!("trace={calls}")]);
    Calls::read(&text, command.get_program() == "bonnie++")
}

impl Calls {
    fn read(text: &str, shares: bool) -> Calls {
        let mut all = Vec::new();
        // Open files by descriptor: threads of the real tool share them, and each of our workers has its own.
        let mut open: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for (thread, call) in whole_calls(text) {
            if let Some(event) = event(&call, open.entry(if shares { "" } else { thread }).or_default()) {
                all.push((thread.to_owned(), event));
            }
        }
        Calls { events: all, real: shares }
    }

    /// Returns the seekers: threads that seek far, or that only open the large file because no seek was left.
    fn seekers(&self) -> BTreeSet<&str> {
        let far = |event: &str| {
            event.starts_with("seek B ") && event.ends_with("SEEK_SET") && !event.starts_with("seek B 0 ")
        };
        // With `-b`, such a thread of the real tool flushes too. Here, a thread that only flushes is not a seeker.
        let only_looks = |event: &str| {
            event.starts_with("open B ")
                || ["close B", "unlink B"].contains(&event)
                || (self.real && event == "fsync B")
        };
        let mut own: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (thread, event) in &self.events {
            own.entry(thread).or_default().push(event);
        }
        own.retain(|_, events| events.iter().any(|event| far(event)) || events.iter().all(|event| only_looks(event)));
        own.into_keys().collect()
    }

    /// Returns the calls of the seekers, or of all other threads, in order.
    fn select(&self, seekers: bool) -> Vec<&str> {
        let who = self.seekers();
        let wanted = |thread: &str| who.contains(thread) == seekers;
        self.events.iter().filter(|(thread, _)| wanted(thread)).map(|(_, event)| event.as_str()).collect()
    }
}

/// Returns one of Bonnie's file names without its directory and PID; `None` for other files.
fn own_name(path: &str) -> Option<String> {
    let path = path.strip_prefix("./").unwrap_or(path);
    if let Some((_, behind)) = path.split_once("Bonnie.") {
        let behind = behind.trim_start_matches(|digit: char| digit.is_ascii_digit());
        return Some(behind.strip_prefix('/').unwrap_or("B").to_owned());
    }
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_alphanumeric());
    let counted = path.chars().any(|digit| digit.is_ascii_digit()) && path.split('/').all(is_plain);
    (counted && path.len() >= 5).then(|| path.to_owned())
}

/// Marks an open directory in the map of descriptors.
const OPEN_DIRECTORY: &str = "directory ";

/// Converts a call to a form common to both tools. Directory opens and changes, and flags that do not affect the load,
/// are omitted.
fn event(call: &str, open: &mut BTreeMap<String, String>) -> Option<String> {
    let (name, rest) = call.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(" = ")?;
    let result = result.split_whitespace().next()?;
    let arguments = arguments.trim_end().trim_end_matches(')');
    let parts: Vec<&str> = arguments.split(", ").collect();
    // Ours opens a numbered directory once and uses *at calls: the descriptor precedes the name.
    let place = |at: usize| at.checked_sub(1).and_then(|before| open.get(parts[before])?.strip_prefix(OPEN_DIRECTORY));
    let quoted: Vec<String> = (0..parts.len())
        .filter_map(|at| {
            let name = own_name(parts[at].strip_prefix('"')?.strip_suffix('"')?)?;
            Some(place(at).unwrap_or_default().to_owned() + &name)
        })
        .collect();
    let of_handle = |open: &BTreeMap<String, String>| open.get(*parts.first()?).cloned();
    let failed = result.starts_with('-');
    match name {
        "openat2" => {
            let directory = quoted.first().filter(|path| !failed && is_number_of_directory(path))?;
            open.insert(result.to_owned(), format!("{OPEN_DIRECTORY}{directory}/"));
            None
        }
        "open" | "openat" | "creat" => {
            let path = quoted.first().cloned();
            let is_directory = arguments.contains("O_DIRECTORY") || arguments.contains("O_PATH");
            open.remove(result);
            let path = path.filter(|path| !is_directory && !failed && !is_number_of_directory(path))?;
            // Plumb inspects the file outside the load.
            let writes = arguments.contains("O_RDWR") || arguments.contains("O_WRONLY");
            if path == "B" && !writes {
                return None;
            }
            let flags = ["O_RDWR", "O_WRONLY", "O_CREAT", "O_EXCL", "O_DIRECT"];
            let flags: Vec<&str> = flags.into_iter().filter(|flag| arguments.contains(flag)).collect();
            open.insert(result.to_owned(), path.clone());
            Some(format!("open {path} {}", flags.join("|")))
        }
        "close" => {
            let path = open.remove(*parts.first()?).filter(|path| !path.starts_with(OPEN_DIRECTORY))?;
            Some(format!("close {path}"))
        }
        "read" | "write" => Some(format!("{name} {} {result}", of_handle(open)?)),
        // Back by a chunk, or to the same offset.
        "lseek" => Some(format!("seek {} {} {}", of_handle(open)?, parts.get(1)?, parts.get(2)?)),
        "fsync" => Some(format!("fsync {}", of_handle(open)?)),
        "sync" => Some("sync".to_owned()),
        "newfstatat" | "stat" => {
            quoted.first().filter(|path| *path != "B" && !failed).map(|path| format!("stat {path}"))
        }
        "unlinkat" if arguments.contains("AT_REMOVEDIR") => quoted.first().map(|path| format!("rmdir {path}")),
        "unlink" | "unlinkat" => quoted.first().map(|path| format!("unlink {path}")),
        "mkdir" | "mkdirat" => quoted.first().map(|path| format!("mkdir {path} {}", parts.last().unwrap_or(&""))),
        "rmdir" => quoted.first().map(|path| format!("rmdir {path}")),
        "link" | "linkat" | "symlink" | "symlinkat" => {
            Some(format!("{} {}", name.trim_end_matches("at"), quoted.join(" "))).filter(|_| !quoted.is_empty())
        }
        _ => None,
    }
}

fn is_number_of_directory(path: &str) -> bool {
    path.len() == 5 && path.chars().all(|digit| digit.is_ascii_digit())
}

/// Runs both tools and returns the differences of their calls. The real one must make at least `least` calls.
pub(crate) fn compared(words: &str, calls_min: usize) -> Result<(), String> {
    let home = Home::new();
    let words: Vec<&str> = words.split_whitespace().collect();
    if words.contains(&"-Z") {
        home.file(NUMBERS, &numbers());
    }
    let mut real = Command::new("bonnie++");
    real.args(&words);
    let theirs = calls(&home, &real);
    let own = ["as", "bonnie++", "--compat=strict"];
    let ours = calls(&home, &home.command(own.iter().chain(&words)));
    let (their_calls, our_calls) = (theirs.select(false), ours.select(false));
    let (their_calls, our_calls) = (without_last_removal(their_calls), without_last_removal(our_calls));
    if their_calls.len() < calls_min {
        return Err(format!("bonnie++ {}: strace saw only {} calls", words.join(" "), their_calls.len()));
    }
    same(&their_calls, &our_calls).map_err(|why| format!("bonnie++ {}: {why}", words.join(" ")))?;
    // The distribution of seeks over several seekers is random.
    let sorted = |calls: &Calls| {
        let mut all: Vec<String> =
            calls.select(true).into_iter().filter(|event| *event != "unlink B").map(str::to_owned).collect();
        all.sort_unstable();
        all
    };
    same(&sorted(&theirs), &sorted(&ours)).map_err(|why| format!("bonnie++ {}: seeks: {why}", words.join(" ")))
}

/// The file of `-Z`.
pub(crate) const NUMBERS: &str = "numbers";

/// Writes random numbers for `-Z`. The tool accepts bytes of any value; text is enough to distinguish two orders.
fn numbers() -> String {
    let mut state = 1_u32;
    let mut letter = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(33 + (state >> 24) as u8 % 94)
    };
    (0..4 * 5000).map(|_| letter()).collect()
}

/// Both tools make the same calls on the same files with the same sizes, in the same order.
#[test]
fn its_calls_are_the_tools_calls() {
    if !needs::root_and(&["strace", "bonnie++"]) {
        return;
    }
    for words in [
        "-q -f -u root -r 0 -s 2:8k:60:2 -n 1:9000:0:2 -m golden -z 1",
        "-q -f -b -D -u root -r 0 -s 1:16k:40:3 -n 0 -m golden -z 7",
        "-q -b -u root -r 0 -s 0 -n 1:-2 -m golden -z 3",
        "-q -u root -r 0 -s 0 -n 1:-1 -m golden -z 3",
    ] {
        if let Err(why) = compared(words, 250) {
            panic!("{why}");
        }
    }
}

/// Removes the deletion of the large file after its last use: in the real tool, every seeker and their parent remove
/// it; here, only the seekers do.
fn without_last_removal(calls: Vec<&str>) -> Vec<&str> {
    let is_last = |place: usize| {
        calls[place] == "unlink B" && !calls.get(place + 1).is_some_and(|next| next.starts_with("open B"))
    };
    (0..calls.len()).filter(|&place| !is_last(place)).map(|place| calls[place]).collect()
}

/// Protects runs as another user whose results go to root's database: it is opened before the user changes.
#[test]
fn another_user_measures_and_roots_database_has_the_result() {
    use std::os::unix::fs::PermissionsExt;
    if !needs::root_and(&[]) {
        return;
    }
    let home = Home::new();
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let db = home.work().join("roots.db");
    let place = place.path().to_str().unwrap();
    for (line, phase) in [
        (format!("as bonnie++ -d {place} -u nobody -r 0 -s 4 -n 0 -f"), "put-block"),
        (format!("as getc_putc -d {place} -s 1m -u nobody"), "write-byte"),
    ] {
        let mut command = home.command(line.split_whitespace());
        command.env("PLUMB_DB", &db);
        CommandOutput::run(command).expect(0).expect_stderr(&["Using uid:65534"]);
        let mut command = home.command(["show", "last", "--json"]);
        command.env("PLUMB_DB", &db);
        let result = CommandOutput::run(command).expect(0).json();
        assert!(metric(&result, phase, "write.bw")["value"].as_f64().unwrap() > 0.0, "{line}");
        // A process can read its own I/O counters even after it has changed its user.
        let seen = &result["checks"].as_array().unwrap().iter().find(|finding| finding["code"] == "A1");
        if let Some(finding) = seen {
            assert_ne!(finding["level"], "skipped", "{line}: {finding}");
        }
    }
}
