//! Runs IOR's own test scripts with Plumb in its place, and random command lines of IOR and mdtest with both.

mod mixes;

use anyhow::{Context, Result, bail};
use mixes::IorMix;
use plumb_workload::library_random::LibraryRandom;
use std::ffi::OsString;
use std::fmt;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::tools::{Profile, plumb, run};

#[derive(Debug)]
pub(crate) struct Options {
    /// Source directory of a built IOR: `src/ior`, `src/mdtest` and `testing/` are used.
    source: PathBuf,
    /// An existing `plumb`; `None` builds one.
    binary: Option<PathBuf>,
    /// Number of random command lines of IOR, and of mdtest.
    mixes: u32,
    seed: u32,
    launcher: Launcher,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launcher {
    OpenMpi,
    Mpich,
}

impl Launcher {
    /// Returns its command; the next word is the number of ranks, which may exceed the processors.
    fn words(self) -> &'static [&'static str] {
        match self {
            Launcher::OpenMpi => &["mpiexec.openmpi", "--oversubscribe", "-np"],
            Launcher::Mpich => &["mpiexec.mpich", "-np"],
        }
    }
}

impl Options {
    /// Parses the words after `ior`.
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        let Some((source, mut rest)) = words.split_first().filter(|(first, _)| !first.starts_with('-')) else {
            bail!("name the directory of a fetched and built IOR: `cargo xtask ior DIR`");
        };
        let source = PathBuf::from(source);
        let mut options = Options { source, binary: None, mixes: 40, seed: 1, launcher: Launcher::OpenMpi };
        while let [option, value, behind @ ..] = rest {
            let number = || value.parse().with_context(|| format!("`{option} {value}`: expected a whole number"));
            match *option {
                "--binary" => options.binary = Some(std::path::absolute(value)?),
                "--mixes" => options.mixes = number()?,
                "--seed" => options.seed = number()?,
                "--mpi" => {
                    options.launcher = match *value {
                        "openmpi" => Launcher::OpenMpi,
                        "mpich" => Launcher::Mpich,
                        _ => bail!("`--mpi {value}`: expected `openmpi` or `mpich`"),
                    };
                }
                _ => bail!("`{option}`: expected `--binary FILE`, `--mixes N`, `--seed N` or `--mpi openmpi|mpich`"),
            }
            rest = behind;
        }
        match rest {
            [] => Ok(options),
            [option, ..] => bail!("`{option}` needs a value"),
        }
    }
}

/// Programs of IOR that its scripts run.
const PROGRAMS: [&str; 3] = ["ior", "mdtest", "md-workbench"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Iors,
    Plumbs,
}

/// A script's verdict on one of its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// The exit code is right, but mdtest's trace differs from the other's.
    OtherTrace,
    Failed,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Count {
    all: usize,
    passed: usize,
    other_traces: usize,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.passed, self.all)?;
        match self.other_traces {
            0 => Ok(()),
            other => write!(f, ", {other} with another trace"),
        }
    }
}

/// Parses a line of a script's output into the program's index and the outcome.
fn outcome(line: &str) -> Option<(usize, Outcome)> {
    let outcome = match line {
        line if line.starts_with("OK ") => Outcome::Passed,
        line if line.starts_with("Pattern differs!") => Outcome::OtherTrace,
        line if line.starts_with("ERR") => Outcome::Failed,
        _ => return None,
    };
    let program = PROGRAMS.iter().position(|program| line.contains(&format!("/{program} ")))?;
    Some((program, outcome))
}

fn count(output: &str) -> [Count; 3] {
    let mut counts: [Count; 3] = Default::default();
    for (program, outcome) in output.lines().filter_map(outcome) {
        let count = &mut counts[program];
        count.all += 1;
        count.passed += usize::from(outcome == Outcome::Passed);
        count.other_traces += usize::from(outcome == Outcome::OtherTrace);
    }
    counts
}

/// Files of a comparison, removed at the end.
struct Site {
    place: tempfile::TempDir,
    source: PathBuf,
    launcher: Launcher,
}

impl Site {
    fn new(options: &Options) -> Result<Site> {
        let source = std::path::absolute(&options.source)?;
        for part in ["src/ior", "src/mdtest", "testing/basic-tests.sh"] {
            if !source.join(part).exists() {
                bail!(
                    "{} is not there: fetch IOR, then `./bootstrap && ./configure && make`",
                    source.join(part).display()
                );
            }
        }
        let binary = plumb(options.binary.as_deref(), Profile::Release)?;
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let place = tempfile::Builder::new().prefix("plumb-ior-").tempdir_in(base)?;
        let site = Site { place, source, launcher: options.launcher };
        std::fs::create_dir(site.path("bin"))?;
        for program in PROGRAMS {
            symlink(&binary, site.path("bin").join(program))?;
        }
        std::fs::create_dir(site.path("iors"))?;
        for program in ["ior", "md-workbench"] {
            symlink(site.source.join("src").join(program), site.path("iors").join(program))?;
        }
        // Other ranks' messages appear in the middle of rank 0's lines.
        let mdtest = site.source.join("src/mdtest");
        let alone = format!(
            "#!/bin/sh\n[ \"${{OMPI_COMM_WORLD_RANK:-${{PMI_RANK:-0}}}}\" = 0 ] || exec >/dev/null 2>&1\nexec '{}' \"$@\"\n",
            mdtest.display()
        );
        let wrapper = site.path("iors/mdtest");
        std::fs::write(&wrapper, alone)?;
        std::fs::set_permissions(&wrapper, Permissions::from_mode(0o755))?;
        run(Command::new("cp").arg("-r").arg(site.source.join("testing")).arg(site.path("testing")))?;
        // The published script has an `exit` after its second test.
        let basic = site.path("testing/basic-tests.sh");
        let script = std::fs::read_to_string(&basic)?;
        let whole: String =
            script.lines().filter(|line| line.trim() != "exit 1").map(|line| format!("{line}\n")).collect();
        std::fs::write(&basic, whole)?;
        Ok(site)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn programs(&self, whose: Whose) -> PathBuf {
        match whose {
            Whose::Iors => self.path("iors"),
            Whose::Plumbs => self.path("bin"),
        }
    }

    /// Builds a command with the environment for launchers and Plumb.
    fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(self.place.path()).env("PLUMB_DB", self.path("results.db"));
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    /// Runs one of the scripts. Later runs are compared with mdtest's traces of the first one.
    fn script(&self, name: &str, whose: Whose) -> Result<[Count; 3]> {
        let data = self.path("data");
        let _ = std::fs::remove_dir_all(&data);
        std::fs::create_dir(&data)?;
        let output = self
            .command("bash")
            .arg(self.path("testing").join(name))
            .env("IOR_BIN_DIR", self.programs(whose))
            .env("IOR_MPIRUN", self.launcher.words().join(" "))
            .env("IOR_TMP", &data)
            .env("IOR_OUT", self.path(&format!("out-{name}-{whose:?}")))
            .env("MDTEST_TEST_PATTERNS", self.path(&format!("patterns-{name}")))
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        if whose == Whose::Plumbs {
            let is_failed = |line: &&str| outcome(line).is_some_and(|(_, outcome)| outcome != Outcome::Passed);
            text.lines().filter(is_failed).for_each(|line| println!("  {line}"));
        }
        Ok(count(&text))
    }

    /// Returns the lines of a trace, without the numbers of mdtest's source lines.
    fn trace(&self, mix: &Mix, whose: Whose) -> Result<Traced> {
        let mdtest = self.programs(whose).join("mdtest");
        let ranks = mix.ranks.to_string();
        // Only in a single process does rank 0 create the files of all ranks.
        let in_one = whose == Whose::Plumbs && mix.words.iter().any(|word| word == "-c");
        let mut command = match in_one {
            true => self.command(mdtest),
            false => {
                let [launcher, options @ ..] = self.launcher.words() else { bail!("there is no launcher") };
                let mut command = self.command(launcher);
                command.args(options).arg(&ranks).arg(mdtest);
                command
            }
        };
        if in_one {
            command.args(["--plumb-ranks", &ranks]);
        }
        let data = self.path("traced");
        let _ = std::fs::remove_dir_all(&data);
        let output = command.args(&mix.words).arg("-V=4").arg("-d").arg(&data).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().filter(|line| line.starts_with("V-3")).map(without_number).collect();
        Ok(Traced { lines, success: output.status.success() })
    }
}

/// Paths that a run of mdtest printed.
struct Traced {
    lines: Vec<String>,
    success: bool,
}

fn without_number(line: &str) -> String {
    match line.split_once("Line ") {
        Some((before, behind)) => {
            format!("{before}{}", behind.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line.to_owned(),
    }
}

/// A random command line of mdtest.
struct Mix {
    ranks: u32,
    words: Vec<String>,
}

impl Mix {
    /// Draws a command line that mdtest supports: with `-c` it does not find trees of `-u`, with `-N` none below their
    /// tops, and `-R` draws from the items of all directories of `-n` and `-I` for each of them.
    fn draw(numbers: &mut LibraryRandom) -> Mix {
        let mut below = |bound: u32| numbers.draw() % bound;
        let ranks = 1 + below(3);
        let mut words = Vec::new();
        let mut say = |word: String| words.push(word);
        let (unique, branch, mut depth) = (below(3) == 0, 1 + below(3), below(3));
        let stride = below(3);
        let (items, per_directory) = match below(3) {
            0 => (below(20), 0),
            1 => (0, 1 + below(4)),
            _ if unique => (7, 0),
            _ => (6, 3),
        };
        if (unique && stride > 0) || (items > 0 && per_directory > 0) {
            depth = 0;
        }
        for (option, value) in
            [("-n", items), ("-I", per_directory), ("-z", depth), ("-N", stride), ("-i", 1 + below(2))]
        {
            if value > 0 {
                say(format!("{option}={value}"));
            }
        }
        say(format!("-b={branch}"));
        if unique {
            say("-u".to_owned());
        }
        let shared = !unique && below(5) == 0;
        if shared {
            say("-S".to_owned());
        } else if !unique && below(5) == 0 {
            say("-c".to_owned());
        }
        match below(4) {
            0 => say("-D".to_owned()),
            1 => say("-F".to_owned()),
            _ => {}
        }
        match below(4) {
            0 => say("-w=16".to_owned()),
            1 => say("-k".to_owned()),
            2 => ["-w=32", "-e=16"].map(str::to_owned).into_iter().for_each(&mut say),
            _ => {}
        }
        if below(4) == 0 && (items == 0 || per_directory == 0) {
            say(format!("--random-seed={}", 1 + below(1000)));
            say("-R".to_owned());
        }
        if below(4) == 0 {
            say("-L".to_owned());
        }
        if below(2) == 0 {
            say("-C".to_owned());
            for phase in ["-T", "-E", "-r", "-U"] {
                if below(2) == 0 {
                    say(phase.to_owned());
                }
            }
        }
        Mix { ranks, words }
    }
}

/// Runs the scripts and the random command lines, and fails if Plumb does.
pub(crate) fn compare(options: &Options) -> Result<()> {
    let site = Site::new(options)?;
    let mut failed = false;
    for script in ["basic-tests.sh", "complex-tests.sh"] {
        let theirs = site.script(script, Whose::Iors)?;
        let ours = site.script(script, Whose::Plumbs)?;
        for ((program, theirs), ours) in PROGRAMS.iter().zip(theirs).zip(ours).filter(|((_, theirs), _)| theirs.all > 0)
        {
            println!("{script}: {program}: IOR's passes {theirs}; Plumb {ours}");
            failed |= ours.passed != ours.all || ours.all != theirs.all;
        }
    }
    failed |= !compare_ior(&site, options)?;
    failed |= !compare_mdtest(&site, options)?;
    if failed { bail!("Plumb does not do what IOR does") } else { Ok(()) }
}

/// Returns `true` if each drawn command line of IOR does the same in both.
fn compare_ior(site: &Site, options: &Options) -> Result<bool> {
    let mut numbers = LibraryRandom::seeded(options.seed);
    let mut equal = 0;
    for _ in 0..options.mixes {
        let mix = IorMix::draw(&mut numbers);
        let theirs = mixes::run(site, &mix, Whose::Iors)?;
        let ours = mixes::run(site, &mix, Whose::Plumbs)?;
        match theirs.difference(&ours) {
            None => equal += 1,
            Some((theirs, ours)) => println!("ior {}\n  IOR:   {theirs}\n  Plumb: {ours}", mix.words.join(" ")),
        }
    }
    println!("ior: {equal} of {} random mixes have the same exit code, calls and form of the report", options.mixes);
    Ok(equal == options.mixes)
}

/// Returns `true` if each drawn command line of mdtest has the same trace in both.
fn compare_mdtest(site: &Site, options: &Options) -> Result<bool> {
    let mut numbers = LibraryRandom::seeded(options.seed);
    let (mut equal, mut refused) = (0, 0);
    for _ in 0..options.mixes {
        let mix = Mix::draw(&mut numbers);
        let theirs = site.trace(&mix, Whose::Iors)?;
        if !theirs.success {
            refused += 1;
            continue;
        }
        let ours = site.trace(&mix, Whose::Plumbs)?;
        if ours.success && ours.lines == theirs.lines {
            equal += 1;
            continue;
        }
        println!("mpiexec -np {} mdtest {} -V=4: the traces differ", mix.ranks, mix.words.join(" "));
        let longest = theirs.lines.len().max(ours.lines.len());
        let differs = |place: &usize| theirs.lines.get(*place) != ours.lines.get(*place);
        if let Some(place) = (0..longest).find(differs) {
            println!("  mdtest: {:?}\n  Plumb:  {:?}", theirs.lines.get(place), ours.lines.get(place));
        }
    }
    println!(
        "mdtest -V=4: {equal} of {} random mixes have equal traces, {refused} were refused by mdtest",
        options.mixes
    );
    Ok(equal + refused == options.mixes)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects the table: every line of a test counts once, for its own program, and a different trace does not pass.
    #[test]
    fn lines_of_the_scripts_are_counted() {
        let output = "OK  0 mpiexec -np 2 /x/ior -a POSIX \nERR 1 mpiexec -np 2 /x/ior -r \n\
                      Pattern differs! check: diff -u a b OK  mpiexec -np 1 /x/mdtest -n 1 \nOK  mpiexec -np 1 /x/mdtest -C \n\
                      JSON OK\nERR mpiexec -np 3 /x/md-workbench -1 \nPASSED\n";
        let counts = count(output).map(|count| (count.all, count.passed, count.other_traces));
        assert_eq!(counts, [(2, 1, 0), (2, 1, 1), (1, 0, 0)]);
    }

    // Protects the comparison of traces: the numbers of mdtest's source lines do not matter.
    #[test]
    fn traces_have_no_line_numbers() {
        let line = "V-3: Rank   0 Line  1013 stat path is 'Line 7'";
        assert_eq!(without_number(line), "V-3: Rank   0  stat path is 'Line 7'");
        assert_eq!(without_number("no number"), "no number");
    }
}
