//! Bonnie++'s command line.

use super::keywords::{Options, fields, leading, number, sized};
use super::refusal::Refusal;
use super::{Test, Version};

/// Facts about the machine that settings depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// Memory in MiB.
    pub ram_mib: i64,
    pub node: String,
    /// Process ID; files are named after it.
    pub pid: u32,
    /// Seconds since 1970.
    pub time_s: u64,
}

/// The source of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seed {
    /// Seed of the C library's `rand`.
    Number(u32),
    File(String),
}

impl Seed {
    pub fn text(&self) -> String {
        match self {
            Seed::Number(number) => number.to_string(),
            Seed::File(path) => path.clone(),
        }
    }
}

/// Synchronization between several Bonnie++ processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Meeting {
    #[default]
    None,
    /// Create the semaphores for this many processes, and exit.
    Make(i32),
    /// Remove the semaphores, and exit.
    Remove,
    /// Wait for the others before each test.
    Wait,
    /// Wait for a line on standard input before each test.
    Prompt,
}

/// The kind of links, if files are links to the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// `link`.
    Hard,
    /// `symlink`.
    Symbolic,
}

/// Options of a Bonnie++ command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BonnieSettings {
    pub version: Version,
    /// Print the same as that version, even if wrong (`--compat=strict`).
    pub is_exact: bool,
    /// `-d`: directory of the files.
    pub directory: Option<String>,
    /// `-c`: number of copies.
    pub concurrency: i64,
    pub large: LargeFile,
    pub small: SmallFiles,
    /// `-b`: whether each write is flushed.
    pub flushes: bool,
    /// `-D`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    pub machine: MachineOptions,
    /// `-x`: number of runs.
    pub runs: Option<i64>,
    pub run_as: RunAs,
    /// `-q`: whether messages are left out.
    pub quiet: bool,
    /// `-p`, `-y`: synchronization with other processes.
    pub meeting: Meeting,
    makes_and_waits: bool,
    letters: Vec<char>,
    /// `-z`, `-Z`: source of random numbers.
    pub seed: Seed,
}

/// The tests of one large file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargeFile {
    /// `-s`: size of the file in MiB; 0 skips these tests.
    pub size_mib: i64,
    pub chunk_bytes: i64,
    pub seeks: i64,
    pub seekers: i64,
    /// `-f`: MiB for the tests of single bytes; 0 skips them.
    pub per_char_mib: i64,
}

/// The tests of many small files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFiles {
    /// `-n`: number of files, in units of 1024; 0 skips these tests.
    pub files_ki: i64,
    /// Size of the largest file in bytes; a negative number asks for [`links`](BonnieSettings::links).
    pub max_bytes: i64,
    /// Size of the smallest file in bytes.
    pub min_bytes: i64,
    pub directories: i64,
    pub chunk_bytes: i64,
}

/// The name and the memory of the machine, unless options replace them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineOptions {
    /// `-m`: name of the machine.
    pub name: String,
    /// `-r`: memory in MiB.
    pub ram_mib: i64,
}

/// The user and group to run as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAs {
    /// `-u`: user to run as.
    pub user: Option<String>,
    /// `-g`, or after the colon of `-u`: group to run as.
    pub group: Option<String>,
}

const UNIT_BYTES: i64 = 1 << 20;

/// Bytes of memory that Bonnie++ assumes per file name, including pointers.
const NAME_BYTES_200: i64 = 37;
const NAME_BYTES_103: i64 = 30;

impl BonnieSettings {
    /// Parses a command line without the program name, which is `called`.
    ///
    /// # Errors
    ///
    /// Messages about arguments that are invalid.
    pub fn read(called: &str, words: &[String], machine: &Machine) -> Result<BonnieSettings, Refusal> {
        let own = own_words(words)?;
        let mut settings = BonnieSettings::new(own.version, own.is_exact, machine);
        let letters = match own.version {
            Version::V103 => "bd:fg:m:n:p:qr:s:u:x:yD",
            _ => "bc:d:f::g:l:m:n:p:qr:s:u:x:y:z:Z:D",
        };
        let mut options = Options::new(called, letters, &own.rest);
        while let Some(next) = options.next() {
            let (letter, value) = next.map_err(|error| settings.usage(&error.to_string()))?;
            settings.letters.push(letter);
            settings.take(letter, value.as_deref())?;
        }
        if !options.operands().is_empty() || !(1..=200).contains(&settings.concurrency) {
            return Err(settings.usage(""));
        }
        settings.fill_in();
        Ok(settings)
    }

    fn new(version: Version, is_exact: bool, machine: &Machine) -> BonnieSettings {
        BonnieSettings {
            version,
            is_exact,
            directory: None,
            concurrency: 1,
            large: LargeFile {
                size_mib: 300,
                chunk_bytes: 8192,
                seeks: 8192,
                seekers: if version == Version::V103 { 3 } else { 5 },
                per_char_mib: if version == Version::V103 { i64::MAX } else { 3 },
            },
            small: SmallFiles { files_ki: 16, max_bytes: 0, min_bytes: 0, directories: 1, chunk_bytes: 8192 },
            flushes: false,
            direct: false,
            machine: MachineOptions { name: machine.node.clone(), ram_mib: machine.ram_mib },
            runs: None,
            run_as: RunAs { user: None, group: None },
            quiet: false,
            meeting: Meeting::None,
            makes_and_waits: false,
            letters: Vec::new(),
            seed: Seed::Number(machine.pid ^ machine.time_s as u32),
        }
    }

    fn take(&mut self, letter: char, value: Option<&str>) -> Result<(), Refusal> {
        let text = value.unwrap_or_default();
        match letter {
            'b' => self.flushes = true,
            'c' => self.concurrency = number(text),
            'd' => self.directory = Some(text.to_owned()),
            'f' => self.large.per_char_mib = value.map_or(0, number),
            'g' if self.run_as.group.is_some() => return Err(self.usage("")),
            'g' => self.run_as.group = Some(text.to_owned()),
            'm' => text.clone_into(&mut self.machine.name),
            'n' => self.take_files(text),
            'p' => {
                self.makes_and_waits |= matches!(self.meeting, Meeting::Wait | Meeting::Prompt);
                self.meeting = match number(text) {
                    0 => self.meeting,
                    -1 => Meeting::Remove,
                    count => Meeting::Make(count.clamp(i32::MIN.into(), i32::MAX.into()) as i32),
                };
            }
            'q' => self.quiet = true,
            'r' => self.machine.ram_mib = number(text),
            's' => self.take_size(text),
            'u' => {
                let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
                if self.run_as.user.is_some() || (group.is_some() && self.run_as.group.is_some()) {
                    return Err(self.usage(""));
                }
                self.run_as.user = Some(user.to_owned());
                self.run_as.group = group.map(str::to_owned).or(self.run_as.group.take());
            }
            'x' => self.runs = Some(number(text)),
            'y' => {
                self.makes_and_waits |= matches!(self.meeting, Meeting::Make(_) | Meeting::Remove);
                if !self.makes_and_waits {
                    self.meeting = match text.chars().next() {
                        Some('p' | 'P') => Meeting::Prompt,
                        Some('s' | 'S') => Meeting::Wait,
                        _ if self.version == Version::V103 => Meeting::Wait,
                        _ => Meeting::None,
                    };
                }
            }
            'z' => {
                if let Some(seed) = leading(text) {
                    self.seed = Seed::Number(seed as u32);
                }
            }
            'Z' => self.seed = Seed::File(text.to_owned()),
            'D' => self.direct = true,
            _ => {}
        }
        Ok(())
    }

    fn take_size(&mut self, text: &str) {
        let old = self.version == Version::V103;
        let parts = fields(text, if old { 2 } else { 4 });
        let mut parts = parts.into_iter();
        self.large.size_mib = parts.next().map_or(0, |size| sized(size, if old { "g" } else { "gt" }));
        if let Some(chunk) = parts.next() {
            self.large.chunk_bytes = sized(chunk, "k");
        }
        if let Some(seeks) = parts.next() {
            self.large.seeks = sized(seeks, "k");
        }
        if let Some(seekers) = parts.next() {
            self.large.seekers = number(seekers);
        }
    }

    fn take_files(&mut self, text: &str) {
        let old = self.version == Version::V103;
        let units = if old { "" } else { "kmg" };
        let mut parts = fields(text, if old { 4 } else { 5 }).into_iter();
        self.small.files_ki = parts.next().map_or(0, |count| sized(count, if old { "" } else { "m" }));
        if let Some(most) = parts.next() {
            self.small.max_bytes = sized(most, units);
        }
        if let Some(least) = parts.next() {
            self.small.min_bytes = sized(least, units);
        }
        if let Some(directories) = parts.next() {
            self.small.directories = sized(directories, if old { "" } else { "k" });
        }
        if let Some(chunk) = parts.next() {
            self.small.chunk_bytes = sized(chunk, units);
        }
    }

    fn fill_in(&mut self) {
        if self.machine.ram_mib != 0 && !self.has('s') {
            self.large.size_mib = self.large.size_mib.max(self.machine.ram_mib.saturating_mul(2));
            if self.large.size_mib % 1024 > 512 {
                self.large.size_mib += 1024 - self.large.size_mib % 1024;
            }
        }
        self.large.per_char_mib = self.large.per_char_mib.min(self.large.size_mib).max(0);
        if self.version == Version::V103 {
            self.small.chunk_bytes = self.large.chunk_bytes;
        }
    }

    /// Checks `-p` and `-y`.
    ///
    /// # Errors
    /// Both were given.
    pub fn check_meeting(&self) -> Result<(), Refusal> {
        if self.makes_and_waits { Err(self.usage("")) } else { Ok(()) }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Bonnie++'s message, printed after switching to the requested user.
    pub fn check(&self) -> Result<(), Refusal> {
        let chunk_is_wrong = |bytes: i64| !(256..=UNIT_BYTES).contains(&bytes) || !(bytes as u64).is_power_of_two();
        let sizes_are_wrong = self.links().is_none()
            && (self.small.max_bytes < self.small.min_bytes || self.small.max_bytes < 0 || self.small.min_bytes < 0);
        let nothing_to_do = self.large.size_mib == 0 && self.small.files_ki == 0;
        self.check_meeting()?;
        if self.large.size_mib < 0
            || self.small.files_ki < 0
            || nothing_to_do
            || chunk_is_wrong(self.large.chunk_bytes)
            || chunk_is_wrong(self.small.chunk_bytes)
            || sizes_are_wrong
        {
            return Err(self.usage(""));
        }
        let concurrency = if self.version == Version::V103 || !self.is_exact { 1 } else { self.concurrency };
        if self.large.size_mib != 0
            && self.machine.ram_mib != 0
            && self.large.size_mib.saturating_mul(concurrency) < self.machine.ram_mib.saturating_mul(2)
        {
            let text = format!("File size should be double RAM for good results, RAM is {}M.\n", self.machine.ram_mib);
            return Err(if self.version == Version::V103 { Refusal(text) } else { self.usage(&text) });
        }
        if self.large.size_mib > 0 && !(1..=1000).contains(&self.large.seekers) {
            return Err(Refusal(format!("-s: invalid number of seekers {}; use 1 to 1000\n", self.large.seekers)));
        }
        if self.large.size_mib > 0 && !(0..=1 << 24).contains(&self.large.seeks) {
            return Err(Refusal(format!("-s: invalid number of seeks {}; use at most 16777216\n", self.large.seeks)));
        }
        if self.small.files_ki > 0 && self.small.directories >= 100_000 {
            return Err(Refusal("Can't have more than 99,999 directories.\n".to_owned()));
        }
        if self.small.files_ki > 0 && self.small.directories < 1 {
            return Err(Refusal(format!(
                "-n: invalid number of directories {}; use 1 or more\n",
                self.small.directories
            )));
        }
        let name_bytes = if self.version == Version::V103 { NAME_BYTES_103 } else { NAME_BYTES_200 };
        let names = self.small.files_ki.saturating_mul(name_bytes);
        if self.machine.ram_mib != 0 && names.saturating_mul(2) > self.machine.ram_mib.saturating_mul(1024) {
            return Err(Refusal(format!(
                "When testing {}K of files in {} MiB of RAM the system is likely to\nstart paging Bonnie++ data and the \
                 test will give suspect\nresults, use less files or install more RAM for this test.\n",
                self.small.files_ki, self.machine.ram_mib
            )));
        }
        if names > 1 << 20 {
            return Err(Refusal(format!("Not enough ram to test with {}K files.\n", self.small.files_ki)));
        }
        Ok(())
    }

    /// Whether an option was given.
    pub fn has(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }

    /// Returns the tests that run, in order.
    pub fn tests(&self) -> Vec<Test> {
        let is_made = |test: &Test| match test {
            Test::BytesOut | Test::BytesIn => self.large.size_mib > 0 && self.large.per_char_mib > 0,
            test if *test <= Test::Seeks => self.large.size_mib > 0,
            _ => self.small.files_ki > 0,
        };
        Test::ALL.iter().copied().filter(is_made).collect()
    }

    /// Returns the kind of link, if files are links to the first one.
    pub fn links(&self) -> Option<Links> {
        match self.small.max_bytes {
            -1 => Some(Links::Hard),
            -2 => Some(Links::Symbolic),
            _ => None,
        }
    }

    /// Returns the number of files in each of the two series.
    pub fn files(&self) -> u32 {
        (self.small.files_ki.clamp(0, 1 << 20) * 1024) as u32
    }

    /// Returns the values that this version prints wrongly for these settings, one sentence each.
    pub fn corrections(&self) -> Vec<&'static str> {
        if self.is_exact || self.version == Version::V103 {
            return Vec::new();
        }
        let table = self.version == Version::V200 && self.small.files_ki > 0 && self.runs.is_none();
        let all = [
            (table, "file rates in the table are rates; 2.00a prints the number of files"),
            (
                self.version == Version::V200 && self.runs.is_some_and(|runs| runs > 1),
                "the header names every column; 2.00a omits two",
            ),
            (self.concurrency != 1, "-c has no effect and is shown as 1"),
            (
                self.small.chunk_bytes != 8192 || self.small.directories > 1,
                "the chunk size of small files and the number of directories are in their own columns",
            ),
            (self.direct, "-D uses direct I/O in all tests except the single-byte ones"),
        ];
        all.into_iter().filter(|(applies, _)| *applies).map(|(_, sentence)| sentence).collect()
    }

    /// Returns the usage, after the error.
    pub fn usage(&self, error: &str) -> Refusal {
        Refusal(format!("{error}{}\nVersion: {}\n", usage_of(self.version), self.version.name()))
    }
}

fn usage_of(version: Version) -> &'static str {
    match version {
        Version::V103 => {
            "usage: bonnie++ [-d scratch-dir] [-s size(MiB)[:chunk-size(b)]]
                [-n number-to-stat[:max-size[:min-size][:num-directories]]]
                [-m machine-name]
                [-r ram-size-in-MiB]
                [-x number-of-tests] [-u uid-to-use:gid-to-use] [-g gid-to-use]
                [-q] [-f] [-b] [-D] [-p processes | -y]
"
        }
        _ => {
            "usage:
bonnie++ [-d scratch-dir] [-c concurrency] [-s size(MiB)[:chunk-size(b)]]
      [-n number-to-stat[:max-size[:min-size][:num-directories[:chunk-size]]]]
      [-m machine-name] [-r ram-size-in-MiB]
      [-x number-of-tests] [-u uid-to-use:gid-to-use] [-g gid-to-use]
      [-q] [-f] [-b] [-p processes | -y] [-z seed | -Z random-file]
      [-D]
"
        }
    }
}

/// Plumb's own options, and all other arguments.
struct OwnWords {
    version: Version,
    is_exact: bool,
    rest: Vec<String>,
}

fn own_words(words: &[String]) -> Result<OwnWords, Refusal> {
    let mut own = OwnWords { version: Version::default(), is_exact: false, rest: Vec::new() };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, attached) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if name != "--as-version" && name != "--compat" {
            own.rest.push(word.clone());
            continue;
        }
        let value = attached.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
        match (name, value) {
            ("--compat", "strict") => own.is_exact = true,
            ("--compat", "true") => own.is_exact = false,
            ("--compat", _) => {
                return Err(Refusal(format!("--compat: unknown value `{value}`; use `strict` or `true`\n")));
            }
            _ => {
                own.version = Version::parse(value).ok_or_else(|| {
                    Refusal(format!("--as-version: unsupported version `{value}`; use 2.00, 1.97 or 1.03\n"))
                })?;
            }
        }
    }
    Ok(own)
}
