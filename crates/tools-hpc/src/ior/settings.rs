//! Settings of one test: given options, defaults, and rules.

use crate::aiori::{GivenOptions, Launched, OptionError, back_end_problem, more_ranks, size, value_error};
use plumb_workload::NullDelays;
use plumb_workload::limits::QUEUE_DEPTH_MAX;
use plumb_workload::program::PacketKind;

/// Smallest limit of pending requests. Source: IOR.
const AIO_PENDING_MIN: u32 = 8;

/// Back end for file access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `open`, `read`, `write`.
    Posix,
    /// `open`, and requests to the kernel by `io_submit`.
    Aio(AioOptions),
    Mmap,
    /// `MPI_File_open`, `MPI_File_read_at`, `MPI_File_write_at`.
    MpiIo(MpiIoOptions),
    /// No calls: nothing is written or read.
    Dummy(NullDelays),
}

/// Limits of `-a AIO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AioOptions {
    /// Limit of requests that are prepared or in flight.
    pub max_pending: u32,
    /// Number of requests submitted together.
    pub granularity: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiIoOptions {
    /// `mpiio.preallocate`: whether space is reserved when a file is opened for writing.
    pub preallocates: bool,
    /// `mpiio.useFileView`: whether each rank sees only its own blocks.
    pub view: bool,
    /// `mpiio.useStridedDatatype`: whether one call moves a transfer of every segment. Needs a view.
    pub strided: bool,
}

/// Memory that each process occupies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hog {
    /// Bytes per process.
    Process(u64),
    /// Share of a node's memory, for all its processes together.
    ShareOfNode(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// Sequential.
    No,
    /// Transfers of a block in random order.
    InBlock,
    Anywhere,
}

/// The rank whose data a rank reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reorder {
    No,
    /// The rank a constant distance away.
    Constant,
    /// A random rank, which several ranks may choose.
    Random,
    /// A random rank; each is chosen once.
    Permuted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Table,
    Json,
    Csv,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Index of the test, from 0.
    pub id: u32,
    /// `-A`: reference number, which is only printed.
    pub reference: i64,
    /// `-a`: back end.
    pub api: Api,
    pub size: TransferSizes,
    pub files: TestFiles,
    pub phases: TestPhases,
    pub caching: CacheOptions,
    pub limits: TestLimits,
    pub output: TestOutput,
    pub hints: HintOptions,
    pub order: TransferOrder,
    pub data: DataContent,
    pub repetition: Repetition,
    /// `-N`: ranks that take part.
    pub tasks: u32,
    /// Ranks that exist.
    pub ranks: u32,
}

/// Bytes of one rank: segments of blocks of transfers.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferSizes {
    /// `-b`: bytes per block.
    pub block_bytes: u64,
    /// `-t`: bytes per transfer.
    pub transfer_bytes: u64,
    /// `-s`: number of segments.
    pub segments: u64,
}

impl TransferSizes {
    fn read(given: &GivenOptions) -> Result<TransferSizes, OptionError> {
        Ok(TransferSizes {
            block_bytes: given.count("b", 1 << 20)?,
            transfer_bytes: given.count("t", 256 << 10)?,
            segments: given.count("s", 1)?,
        })
    }
}

/// The files of a test, and which of them remain.
#[derive(Debug, Clone, PartialEq)]
pub struct TestFiles {
    /// `-o`: file names.
    pub names: Vec<String>,
    /// `-F`: whether each rank has its own file.
    pub file_per_rank: bool,
    /// `-m`: whether each repetition has its own file.
    pub multi_file: bool,
    /// `-u`: whether each rank's file has its own directory.
    pub unique_dirs: bool,
    /// `-E`: whether an existing file is not removed before the writes.
    pub uses_existing: bool,
    /// `-k`: whether files remain after the test.
    pub keeps: bool,
    /// `-K`: whether files with wrong data remain.
    pub keeps_wrong: bool,
    /// `randomPrefill`: bytes per block that fill a file before random writes.
    pub prefill_bytes: Option<u64>,
}

impl TestFiles {
    fn read(given: &GivenOptions) -> Result<TestFiles, OptionError> {
        let names = given.text("o").unwrap_or("testFile").split('@').filter(|name| !name.is_empty());
        Ok(TestFiles {
            names: names.map(str::to_owned).collect(),
            file_per_rank: given.is_set("F"),
            multi_file: given.is_set("m"),
            unique_dirs: given.is_set("u") && given.is_set("F"),
            uses_existing: given.is_set("E"),
            keeps: given.is_set("k"),
            keeps_wrong: given.is_set("K"),
            prefill_bytes: Some(given.count("randomPrefill", 0)?).filter(|&bytes| bytes > 0),
        })
    }
}

/// The phases of a test, and the checks in them.
#[derive(Debug, Clone, PartialEq)]
pub struct TestPhases {
    /// `-w`: whether files are written.
    pub writes: bool,
    /// `-W`: whether written data is read back and compared.
    pub checks_write: bool,
    /// `-r`: whether files are read.
    pub reads: bool,
    /// `-R`: whether the data that is read is compared.
    pub checks_read: bool,
    /// `-g`: whether ranks wait for each other between open, transfers and close.
    pub barriers: bool,
    /// `-c`: whether all ranks make each transfer together (collective I/O).
    pub collective: bool,
    /// `dryRun`: whether the test is only printed, and no file is touched.
    pub dry: bool,
}

impl TestPhases {
    fn read(given: &GivenOptions) -> TestPhases {
        let mode = ["r", "w", "R", "W"].map(|key| given.is_set(key));
        let [reads, writes, checks_read, checks_write] = mode;
        let none = mode.iter().all(|given| !given);
        TestPhases {
            writes: writes || none,
            checks_write,
            reads: reads || checks_read || none,
            checks_read,
            barriers: given.is_set("g"),
            collective: given.is_set("c"),
            dry: given.is_set("dryRun"),
        }
    }
}

/// The order of transfers, and the rank whose data a rank reads.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferOrder {
    /// `-z`: the offsets of transfers.
    pub random: Random,
    /// `random-offset-seed`: seed of random offsets.
    pub random_seed: Option<i32>,
    /// `-C`, `-Z`: the rank whose data a rank reads.
    pub reorder: Reorder,
    /// `-Q`: distance in nodes for `-C` and `-Z`.
    pub node_distance: u32,
    /// `-X`: seed of a random reordering; a negative one is increased in each repetition.
    pub reorder_seed: i32,
}

impl TransferOrder {
    fn read(given: &GivenOptions) -> Result<TransferOrder, OptionError> {
        Ok(TransferOrder {
            random: match given.number("z").unwrap_or(0) {
                0 => Random::No,
                1 => Random::InBlock,
                _ => Random::Anywhere,
            },
            random_seed: seed(given, "random-offset-seed", -1),
            reorder: match (given.is_set("C"), given.number("Z").unwrap_or(0)) {
                (true, 0) => Reorder::Constant,
                (true, _) => return Err(OptionError::Conflict("-C and -Z do not go together: choose one")),
                (false, 0) => Reorder::No,
                (false, 1) => Reorder::Random,
                (false, _) => Reorder::Permuted,
            },
            node_distance: given.small_count("Q", 1)?,
            reorder_seed: given.number("X").and_then(|seed| i32::try_from(seed).ok()).unwrap_or(0),
        })
    }
}

/// The contents of the files.
#[derive(Debug, Clone, PartialEq)]
pub struct DataContent {
    /// `-G`: seed of the data.
    pub seed: Option<i32>,
    /// `-l`: kind of data packets.
    pub packets: PacketKind,
}

/// Use of the page cache, and flushing of data.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheOptions {
    /// `posix.odirect`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `-e`: whether `fsync` follows the last write.
    pub flushes: bool,
    /// `-Y`: whether `fsync` follows each write.
    pub flushes_each: bool,
    /// `mmap.madv_dont_need`: whether mapped pages are dropped first.
    pub advises_dont_need: bool,
    /// `mmap.madv_pattern`: whether the kernel gets advice about the pattern of a mapping.
    pub advises_pattern: bool,
    /// `-M`, `memoryPerTask`: memory that is occupied during the test.
    pub hog: Option<Hog>,
}

impl CacheOptions {
    fn read(given: &GivenOptions, hog: Option<Hog>) -> CacheOptions {
        CacheOptions {
            direct: given.is_set("posix.odirect"),
            flushes: given.is_set("e"),
            flushes_each: given.is_set("Y"),
            advises_dont_need: given.is_set("mmap.madv_dont_need"),
            advises_pattern: given.is_set("mmap.madv_pattern"),
            hog,
        }
    }
}

/// Hints to MPI-IO, and whether they are printed.
#[derive(Debug, Clone, PartialEq)]
pub struct HintOptions {
    /// `mpiio.hintsFileName`: a file of hints.
    pub file: Option<String>,
    /// `mpiio.showHints`: whether hints are printed, both as given and as used by the library.
    pub shows: bool,
}

/// The number of repetitions, and the pauses in them.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// `-i`: number of repetitions.
    pub repetitions: u32,
    /// `-d`: delay before each repetition, in seconds.
    pub delay_s: u32,
    /// `interIODelay`: delay after each transfer, in µs.
    pub transfer_delay_us: u32,
}

impl Repetition {
    fn read(given: &GivenOptions) -> Result<Repetition, OptionError> {
        Ok(Repetition {
            repetitions: given.small_count("i", 1)?.max(1),
            delay_s: given.small_count("d", 0)?,
            transfer_delay_us: given.small_count("interIODelay", 0)?,
        })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct TestLimits {
    /// `minTimeDuration`: seconds for which transfers are repeated.
    pub time_min_s: u32,
    /// `-T`: minutes after which no phase starts.
    pub time_max_min: u32,
    /// `-D`: seconds until the stonewall.
    pub wall_s: u32,
    /// `stoneWallingWearOut`: whether all ranks continue to the furthest one after the stonewall.
    pub wear_out: bool,
    /// `stoneWallingWearOutIterations`: limit of transfers per rank.
    pub transfers_max: u64,
    /// `stoneWallingStatusFile`: file that keeps the number of transfers for a later run.
    pub status_file: Option<String>,
}

impl TestLimits {
    fn read(given: &GivenOptions) -> Result<TestLimits, OptionError> {
        Ok(TestLimits {
            time_min_s: given.small_count("minTimeDuration", 0)?,
            wall_s: given.small_count("D", 0)?,
            wear_out: given.is_set("stoneWallingWearOut"),
            transfers_max: given.count("stoneWallingWearOutIterations", 0)?,
            status_file: given.named("stoneWallingStatusFile"),
            time_max_min: given.small_count("T", 0)?,
        })
    }
}

/// The report: format, files and verbosity.
#[derive(Debug, Clone, PartialEq)]
pub struct TestOutput {
    /// `summaryFormat`: format of the report.
    pub form: Form,
    /// `summaryFile`: path of the report.
    pub summary_file: Option<String>,
    /// `saveRankPerformanceDetailsCSV`: path of the file with the times of each rank.
    pub rank_csv: Option<String>,
    /// `savePerOpDataCSV`: prefix of the names of files with single transfers.
    pub op_csv: Option<String>,
    /// `-v`: verbosity.
    pub verbosity: u32,
}

impl TestOutput {
    fn read(given: &GivenOptions) -> Result<TestOutput, OptionError> {
        Ok(TestOutput {
            form: match given.text("summaryFormat").unwrap_or("default") {
                table if table.eq_ignore_ascii_case("default") => Form::Table,
                json if json.eq_ignore_ascii_case("JSON") => Form::Json,
                csv if csv.eq_ignore_ascii_case("CSV") => Form::Csv,
                other => return Err(value_error("summaryFormat", other, "is not a format; use default, JSON or CSV")),
            },
            summary_file: given.named("summaryFile"),
            rank_csv: given.named("saveRankPerformanceDetailsCSV"),
            op_csv: given.named("savePerOpDataCSV"),
            verbosity: given.small_count("v", 0)?,
        })
    }
}

pub(super) fn test(given: &GivenOptions, id: u32, launched: Option<&Launched>) -> Result<Test, OptionError> {
    let api = api(given)?;
    let ranks = given.ranks(launched)?;
    let tasks = tasks(given, ranks, launched)?;
    let test = Test {
        id,
        reference: given.number("A").unwrap_or(0),
        api,
        size: TransferSizes::read(given)?,
        caching: CacheOptions::read(given, hog(given, tasks, launched)?),
        files: TestFiles::read(given)?,
        phases: TestPhases::read(given),
        order: TransferOrder::read(given)?,
        data: DataContent { seed: seed(given, "G", 0), packets: given.packets("l")? },
        hints: HintOptions { file: given.named("mpiio.hintsFileName"), shows: given.is_set("mpiio.showHints") },
        repetition: Repetition::read(given)?,
        limits: TestLimits::read(given)?,
        output: TestOutput::read(given)?,
        tasks,
        ranks,
    };
    test.rules()?;
    if let Api::MpiIo(options) = test.api {
        test.rules_of_mpi_io(options, launched.is_some())?;
    }
    match launched {
        Some(_) => test.rules_of_processes().map(|()| test),
        None => Ok(test),
    }
}

fn api(given: &GivenOptions) -> Result<Api, OptionError> {
    Ok(match given.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => Api::Posix,
        aio if aio.eq_ignore_ascii_case("AIO") => Api::Aio(aio_options(given)?),
        mmap if mmap.eq_ignore_ascii_case("MMAP") => Api::Mmap,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Api::Dummy(given.dummy_delays()?),
        mpi_io if mpi_io.eq_ignore_ascii_case("MPIIO") => Api::MpiIo(MpiIoOptions {
            preallocates: given.is_set("mpiio.preallocate"),
            view: given.is_set("mpiio.useFileView"),
            strided: given.is_set("mpiio.useFileView") && given.is_set("mpiio.useStridedDatatype"),
        }),
        other => return Err(value_error("a", other, &back_end_problem(other, "POSIX, AIO, MMAP, MPIIO or DUMMY"))),
    })
}

fn tasks(given: &GivenOptions, ranks: u32, launched: Option<&Launched>) -> Result<u32, OptionError> {
    let tasks = match given.number("N") {
        Some(tasks) if tasks > 0 => u32::try_from(tasks).unwrap_or(u32::MAX),
        _ => ranks,
    };
    match tasks > ranks {
        true => Err(value_error(
            "N",
            tasks.to_string(),
            &format!("exceeds the number of ranks, {ranks}; {}", more_ranks(launched)),
        )),
        false => Ok(tasks),
    }
}

/// Returns the seed of an option; `None` for the value that stands for no seed.
fn seed(given: &GivenOptions, key: &str, absent: i64) -> Option<i32> {
    given.number(key).filter(|&seed| seed != absent).and_then(|seed| i32::try_from(seed).ok())
}

/// Parses the limits of requests, with IOR's own bounds. IOR itself fails with a granularity of 0.
fn aio_options(given: &GivenOptions) -> Result<AioOptions, OptionError> {
    let (pending, granularity) = ("aio.max-pending", "aio.granularity");
    let options =
        AioOptions { max_pending: given.small_count(pending, 128)?, granularity: given.small_count(granularity, 16)? };
    let AioOptions { max_pending: most, granularity: batch } = options;
    match () {
        () if most < AIO_PENDING_MIN => {
            Err(value_error(pending, most.to_string(), &format!("is too few; use {AIO_PENDING_MIN} or more")))
        }
        () if most > QUEUE_DEPTH_MAX => {
            Err(value_error(pending, most.to_string(), &format!("is too many; use {QUEUE_DEPTH_MAX} or less")))
        }
        () if batch == 0 => Err(value_error(granularity, "0", "would submit nothing; use 1 or more")),
        () if batch > most => {
            let problem = format!("exceeds --{pending}, {most}; use {most} or less, or raise --{pending}");
            Err(value_error(granularity, batch.to_string(), &problem))
        }
        () => Ok(options),
    }
}

/// Parses the memory to occupy. IOR takes the number in `-M 64m` for percent; here a size is a size.
fn hog(given: &GivenOptions, tasks: u32, launched: Option<&Launched>) -> Result<Option<Hog>, OptionError> {
    let processes = u64::from(launched.map_or(1, Launched::per_node).max(1));
    let per_task = given.count("memoryPerTask", 0)?;
    if per_task > 0 {
        let tasks = if launched.is_some() { 1 } else { tasks };
        return Ok(Some(Hog::Process(per_task.saturating_mul(tasks.into()))));
    }
    let Some(text) = given.named("M") else { return Ok(None) };
    let invalid = |problem: &str| value_error("M", text.clone(), problem);
    if let Some(percent) = text.trim().strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| invalid("is not a share; use one such as 75%"))?;
        return match (0.0..100.0).contains(&percent) {
            true => Ok((percent > 0.0).then_some(Hog::ShareOfNode(percent / 100.0))),
            false => Err(invalid("is not a share of the memory; use one below 100%")),
        };
    }
    if text.trim().bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(invalid("has no unit; use a size such as 2g, or a share such as 75%"));
    }
    let bytes = size(&text).map_err(|error| invalid(&error.to_string()))?;
    let bytes = u64::try_from(bytes).map_err(|_| invalid("is negative; use 0 or more"))?;
    Ok((bytes > 0).then_some(Hog::Process(bytes / processes)))
}

impl Test {
    /// Returns the back end that makes the calls. A dry run makes none.
    pub fn calls(&self) -> Api {
        match self.api {
            Api::Posix | Api::Aio(_) | Api::Mmap | Api::MpiIo(_) if self.phases.dry => {
                Api::Dummy(NullDelays::default())
            }
            api => api,
        }
    }

    /// Returns the bytes of one rank in its file; `None` if they exceed 63 bits.
    pub fn file_bytes(&self) -> Option<u64> {
        self.size.block_bytes.checked_mul(self.size.segments).filter(|bytes| i64::try_from(*bytes).is_ok())
    }

    /// Returns the bytes of all ranks.
    pub fn all_bytes(&self) -> u64 {
        self.size.block_bytes.saturating_mul(self.size.segments).saturating_mul(self.tasks.into())
    }

    /// Returns the number of transfers of one rank.
    pub fn transfers(&self) -> u64 {
        (self.size.block_bytes / self.size.transfer_bytes).saturating_mul(self.size.segments)
    }

    /// Returns the number of transfers that one call moves.
    pub(crate) fn transfers_a_call(&self) -> u64 {
        if matches!(self.calls(), Api::MpiIo(MpiIoOptions { strided: true, .. })) { self.size.segments } else { 1 }
    }
}
