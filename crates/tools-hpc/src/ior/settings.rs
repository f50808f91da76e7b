//! Settings of one test: what was said, with defaults, and the rules of what goes together.

use crate::aiori::{Launched, OptionError, Said, back_end_problem, more_ranks, size, wrong};
use plumb_workload::NullDelays;
use plumb_workload::limits::QUEUE_DEPTH_MAX;
use plumb_workload::program::PacketKind;

/// Fewest requests that may be pending. Source: IOR.
const AIO_PENDING_MIN: u32 = 8;

/// How files are accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// `open`, `read`, `write`.
    Posix,
    /// `open`, and requests to the kernel by `io_submit`.
    Aio(AioOptions),
    /// `mmap`.
    Mmap,
    /// `MPI_File_open`, `MPI_File_read_at`, `MPI_File_write_at`.
    MpiIo(MpiIoOptions),
    /// No calls: nothing is written or read.
    Dummy(NullDelays),
}

/// Limits of the requests that `-a AIO` gives to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AioOptions {
    /// Requests that are prepared or in flight at most.
    pub max_pending: u32,
    /// Requests that are handed over together.
    pub granularity: u32,
}

/// What MPI-IO does besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MpiIoOptions {
    /// The space of a file is reserved as it is opened for writing.
    pub preallocates: bool,
    /// Each rank sees only its own blocks.
    pub view: bool,
    /// One call moves a transfer of every segment; with a view only.
    pub strided: bool,
}

/// Memory that each process uses up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hog {
    /// Bytes of each.
    Process(u64),
    /// A share of a node's memory, of all its processes together.
    ShareOfNode(f64),
}

/// Where transfers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Random {
    /// One behind the other.
    No,
    /// Those of a block in a random order.
    InBlock,
    /// Blocks at random places.
    Anywhere,
}

/// Whose data a rank reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reorder {
    /// Its own.
    No,
    /// That of the rank a constant distance away.
    Constant,
    /// That of a random one, which several may read.
    Random,
    /// That of a random one, each read once.
    Permuted,
}

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A table.
    Table,
    /// JSON.
    Json,
    /// CSV.
    Csv,
}

/// One test.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Its number, from 0.
    pub id: u32,
    /// Printed.
    pub reference: i64,
    /// Back end.
    pub api: Api,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of a transfer.
    pub transfer_bytes: u64,
    /// Segments.
    pub segments: u64,
    /// A file for each rank.
    pub file_per_rank: bool,
    /// Names.
    pub files: Vec<String>,
    /// Another file for each repetition.
    pub multi_file: bool,
    /// Write.
    pub writes: bool,
    /// Verify behind it.
    pub checks_write: bool,
    /// Read.
    pub reads: bool,
    /// Verify what is read.
    pub checks_read: bool,
    /// Keep the files.
    pub keeps: bool,
    /// Keep them where what was read was wrong.
    pub keeps_wrong: bool,
    /// A directory for each rank's file.
    pub unique_dirs: bool,
    /// Memory that is used up meanwhile.
    pub hog: Option<Hog>,
    /// Seconds for which transfers are repeated.
    pub time_min_s: u32,
    /// Bytes of the blocks by which a file is filled before random writes.
    pub prefill_bytes: Option<u64>,
    /// What the names of files of single transfers begin with.
    pub op_csv: Option<String>,
    /// The old file stays.
    pub uses_existing: bool,
    /// `fsync` behind the writes.
    pub flushes: bool,
    /// `fsync` behind each.
    pub flushes_each: bool,
    /// Barriers inside of a phase.
    pub barriers: bool,
    /// All ranks make each transfer together.
    pub collective: bool,
    /// A file of hints to MPI-IO.
    pub hints_file: Option<String>,
    /// Where transfers lie.
    pub random: Random,
    /// Seed of that.
    pub random_seed: Option<i32>,
    /// Whose data is read.
    pub reorder: Reorder,
    /// How far away, in nodes.
    pub node_distance: u32,
    /// Seed of a random reordering; a negative one counts the repetitions.
    pub reorder_seed: i32,
    /// Seed of the data.
    pub data_seed: Option<i32>,
    /// Data packets.
    pub packets: PacketKind,
    /// `O_DIRECT`.
    pub direct: bool,
    /// Advice about mappings: drop what is there.
    pub advises_dont_need: bool,
    /// The same: the pattern.
    pub advises_pattern: bool,
    /// Repetitions.
    pub repetitions: u32,
    /// Delay before phases, seconds.
    pub delay_s: u32,
    /// Delay behind transfers, µs.
    pub transfer_delay_us: u32,
    /// Seconds until the stonewall.
    pub wall_s: u32,
    /// Behind it, all go on to the furthest.
    pub wear_out: bool,
    /// So many transfers of each rank at the most.
    pub transfers_max: u64,
    /// The file that keeps how many there were.
    pub status_file: Option<String>,
    /// Minutes after which no phase starts.
    pub time_max_min: u32,
    /// Ranks that take part.
    pub tasks: u32,
    /// Ranks that there are.
    pub ranks: u32,
    /// Nothing is done but printing: no file is touched.
    pub dry: bool,
    /// Hints to MPI-IO are printed, as they are given and as the library takes them.
    pub shows_hints: bool,
    /// Form of the report.
    pub form: Form,
    /// Where it goes.
    pub summary_file: Option<String>,
    /// Where the times of each rank go.
    pub rank_csv: Option<String>,
    /// Verbosity.
    pub verbosity: u32,
}

pub(super) fn test(said: &Said, id: u32, launched: Option<&Launched>) -> Result<Test, OptionError> {
    let api = match said.text("a").unwrap_or("POSIX") {
        posix if posix.eq_ignore_ascii_case("POSIX") => Api::Posix,
        aio if aio.eq_ignore_ascii_case("AIO") => Api::Aio(aio_options(said)?),
        mmap if mmap.eq_ignore_ascii_case("MMAP") => Api::Mmap,
        dummy if dummy.eq_ignore_ascii_case("DUMMY") => Api::Dummy(said.dummy_delays()?),
        mpi_io if mpi_io.eq_ignore_ascii_case("MPIIO") => Api::MpiIo(MpiIoOptions {
            preallocates: said.is_set("mpiio.preallocate"),
            view: said.is_set("mpiio.useFileView"),
            strided: said.is_set("mpiio.useFileView") && said.is_set("mpiio.useStridedDatatype"),
        }),
        other => return Err(wrong("a", other, &back_end_problem(other, "POSIX, AIO, MMAP, MPIIO or DUMMY"))),
    };
    let ranks = said.ranks(launched)?;
    let tasks = match said.number("N") {
        Some(tasks) if tasks > 0 => u32::try_from(tasks).unwrap_or(u32::MAX),
        _ => ranks,
    };
    if tasks > ranks {
        return Err(wrong(
            "N",
            tasks.to_string(),
            &format!("exceeds the number of ranks, {ranks}; {}", more_ranks(launched)),
        ));
    }
    let mode = ["r", "w", "R", "W"].map(|key| said.is_set(key));
    let [reads, writes, checks_read, checks_write] = mode;
    let none = mode.iter().all(|said| !said);
    let seed = |key: &str, absent: i64| {
        said.number(key).filter(|&seed| seed != absent).and_then(|seed| i32::try_from(seed).ok())
    };
    let files: Vec<String> = said.text("o").unwrap_or("testFile").split('@').map(str::to_owned).collect();
    let test = Test {
        id,
        reference: said.number("A").unwrap_or(0),
        api,
        block_bytes: said.count("b", 1 << 20)?,
        transfer_bytes: said.count("t", 256 << 10)?,
        segments: said.count("s", 1)?,
        file_per_rank: said.is_set("F"),
        files: files.into_iter().filter(|file| !file.is_empty()).collect(),
        multi_file: said.is_set("m"),
        writes: writes || none,
        checks_write,
        reads: reads || checks_read || none,
        checks_read,
        keeps: said.is_set("k"),
        keeps_wrong: said.is_set("K"),
        unique_dirs: said.is_set("u") && said.is_set("F"),
        hog: hog(said, tasks, launched)?,
        time_min_s: said.small_count("minTimeDuration", 0)?,
        prefill_bytes: Some(said.count("randomPrefill", 0)?).filter(|&bytes| bytes > 0),
        op_csv: said.named("savePerOpDataCSV"),
        uses_existing: said.is_set("E"),
        flushes: said.is_set("e"),
        flushes_each: said.is_set("Y"),
        barriers: said.is_set("g"),
        collective: said.is_set("c"),
        hints_file: said.named("mpiio.hintsFileName"),
        random: match said.number("z").unwrap_or(0) {
            0 => Random::No,
            1 => Random::InBlock,
            _ => Random::Anywhere,
        },
        random_seed: seed("random-offset-seed", -1),
        reorder: match (said.is_set("C"), said.number("Z").unwrap_or(0)) {
            (true, 0) => Reorder::Constant,
            (true, _) => return Err(OptionError::Conflict("-C and -Z do not go together: choose one")),
            (false, 0) => Reorder::No,
            (false, 1) => Reorder::Random,
            (false, _) => Reorder::Permuted,
        },
        node_distance: said.small_count("Q", 1)?,
        reorder_seed: said.number("X").and_then(|seed| i32::try_from(seed).ok()).unwrap_or(0),
        data_seed: seed("G", 0),
        packets: said.packets("l")?,
        direct: said.is_set("posix.odirect"),
        advises_dont_need: said.is_set("mmap.madv_dont_need"),
        advises_pattern: said.is_set("mmap.madv_pattern"),
        repetitions: said.small_count("i", 1)?.max(1),
        delay_s: said.small_count("d", 0)?,
        transfer_delay_us: said.small_count("interIODelay", 0)?,
        wall_s: said.small_count("D", 0)?,
        wear_out: said.is_set("stoneWallingWearOut"),
        transfers_max: said.count("stoneWallingWearOutIterations", 0)?,
        status_file: said.named("stoneWallingStatusFile"),
        time_max_min: said.small_count("T", 0)?,
        tasks,
        ranks,
        dry: said.is_set("dryRun"),
        shows_hints: said.is_set("mpiio.showHints"),
        form: match said.text("summaryFormat").unwrap_or("default") {
            table if table.eq_ignore_ascii_case("default") => Form::Table,
            json if json.eq_ignore_ascii_case("JSON") => Form::Json,
            csv if csv.eq_ignore_ascii_case("CSV") => Form::Csv,
            other => return Err(wrong("summaryFormat", other, "is no format; use default, JSON or CSV")),
        },
        summary_file: said.named("summaryFile"),
        rank_csv: said.named("saveRankPerformanceDetailsCSV"),
        verbosity: said.small_count("v", 0)?,
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

/// Reads the limits of requests, with IOR's own bounds. IOR itself fails with a granularity of 0.
fn aio_options(said: &Said) -> Result<AioOptions, OptionError> {
    let (pending, granularity) = ("aio.max-pending", "aio.granularity");
    let options =
        AioOptions { max_pending: said.small_count(pending, 128)?, granularity: said.small_count(granularity, 16)? };
    let AioOptions { max_pending: most, granularity: batch } = options;
    match () {
        () if most < AIO_PENDING_MIN => {
            Err(wrong(pending, most.to_string(), &format!("is too few; use {AIO_PENDING_MIN} or more")))
        }
        () if most > QUEUE_DEPTH_MAX => {
            Err(wrong(pending, most.to_string(), &format!("is too many; use {QUEUE_DEPTH_MAX} or less")))
        }
        () if batch == 0 => Err(wrong(granularity, "0", "would submit nothing; use 1 or more")),
        () if batch > most => {
            let problem = format!("exceeds --{pending}, {most}; use {most} or less, or raise --{pending}");
            Err(wrong(granularity, batch.to_string(), &problem))
        }
        () => Ok(options),
    }
}

/// The memory to use up. IOR takes the number of `-M 64m` for per cent; here a size is a size.
fn hog(said: &Said, tasks: u32, launched: Option<&Launched>) -> Result<Option<Hog>, OptionError> {
    let processes = u64::from(launched.map_or(1, Launched::per_node).max(1));
    let per_task = said.count("memoryPerTask", 0)?;
    if per_task > 0 {
        let tasks = if launched.is_some() { 1 } else { tasks };
        return Ok(Some(Hog::Process(per_task.saturating_mul(tasks.into()))));
    }
    let Some(text) = said.named("M") else { return Ok(None) };
    let invalid = |problem: &str| wrong("M", text.clone(), problem);
    if let Some(percent) = text.trim().strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| invalid("is no share; use one such as 75%"))?;
        return match (0.0..100.0).contains(&percent) {
            true => Ok((percent > 0.0).then_some(Hog::ShareOfNode(percent / 100.0))),
            false => Err(invalid("is no share of the memory; use one below 100%")),
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
    fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let (block, transfer) = (self.block_bytes, self.transfer_bytes);
        match () {
            () if self.files.is_empty() => conflict("-o: no file is named"),
            () if self.segments == 0 => conflict("segment count must be positive value"),
            () if transfer == 0 => conflict("test will not complete with zero transfer size"),
            () if !block.is_multiple_of(8) => conflict("block size must be a multiple of access size"),
            () if !transfer.is_multiple_of(8) => conflict("transfer size must be a multiple of access size"),
            () if !block.is_multiple_of(transfer) => conflict("block size must be a multiple of transfer size"),
            () if block < transfer => conflict("block size must not be smaller than transfer size"),
            () if self.random == Random::InBlock && block <= transfer => {
                conflict("-z shuffles the transfers of a block: choose a block larger than a transfer")
            }
            () if self.random == Random::Anywhere && self.writes => {
                conflict("-z -z works only for reads of an existing file; leave out -w")
            }
            () if self.random != Random::No && self.reorder != Reorder::No && !self.file_per_rank => {
                conflict("-z with -C or -Z needs -F: choose one, or a file per task")
            }
            () if (self.checks_read || self.checks_write) && matches!(self.api, Api::Dummy(_)) => {
                conflict("-R and -W need data, which -a DUMMY does not keep; leave them out")
            }
            () if self.collective && !matches!(self.api, Api::MpiIo(_)) => {
                conflict("-c needs MPI-IO: add -a MPIIO, or leave it out")
            }
            () if self.checks_read && !self.writes && self.data_seed.is_none() => {
                conflict("-R alone needs the seed of the data that was written: give -G")
            }
            () if self.unique_dirs && self.files.len() > 1 => {
                conflict("-u makes directories next to one file; name one with -o, or leave -u out")
            }
            () if self.prefill_bytes.is_some() && self.random == Random::No => {
                conflict("randomPrefill is for random writes: add -z, or leave it out")
            }
            () if self.prefill_bytes.is_some_and(|bytes| !block.is_multiple_of(bytes)) => {
                conflict("randomPrefill must divide the block size")
            }
            () if self.prefill_bytes.is_some() && self.wall_s > 0 => conflict(
                "randomPrefill fills the whole file before the clock starts; leave -D out, or fill it in a run of its own",
            ),
            () if self.time_min_s > 0 && self.wall_s > 0 => {
                conflict("minTimeDuration and -D do not go together: choose one")
            }
            () if self.status_file.is_some() && !self.keeps => {
                conflict("a stoneWallingStatusFile is for tests that are split into several runs: use -k")
            }
            () if self.status_file.is_some() && self.writes && !self.wear_out => {
                conflict("a stoneWallingStatusFile of a write test needs stoneWallingWearOut=1")
            }
            () if self.wear_out && self.wall_s == 0 => conflict("stoneWallingWearOut needs a deadline: give -D"),
            () if self.file_bytes().and_then(|bytes| bytes.checked_mul(self.tasks.into())).is_none() => {
                conflict("-b × -s × tasks exceeds 64 bits; use smaller sizes")
            }
            () => Ok(()),
        }
    }

    /// What goes together under MPI-IO.
    fn rules_of_mpi_io(&self, options: MpiIoOptions, are_processes: bool) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let is_shared = !self.file_per_rank && self.tasks > 1;
        match () {
            () if self.ranks > 1 && !are_processes => {
                conflict("-a MPIIO needs a process for each rank: use mpirun -n N in the place of --plumb-ranks N")
            }
            () if self.direct => conflict(
                "--posix.odirect is of -a POSIX; with -a MPIIO, hints say it: IOR_HINT__MPI__direct_write=true, and direct_read",
            ),
            () if self.random != Random::No && self.collective => conflict("-z and -c do not go together: choose one"),
            () if self.random != Random::No && options.view => {
                conflict("-z and --mpiio.useFileView do not go together: choose one")
            }
            () if i32::try_from(self.transfer_bytes).is_err() => {
                conflict("-t: MPI-IO moves less than 2 GiB in a call; use a smaller transfer size")
            }
            () if is_shared && self.time_min_s > 0 && (self.collective || self.flushes_each) => conflict(
                "minTimeDuration with -c or -Y: MPI-IO moves or flushes a shared file by all tasks together, and each repeats by its \
                 own time; use -F, or leave one of them out",
            ),
            () if options.strided => self.rules_of_strided(is_shared),
            () => Ok(()),
        }
    }

    /// What goes together where one call moves a transfer of every segment. IOR takes the first segment for that of the rank's own
    /// number, whosever data it moves.
    fn rules_of_strided(&self, is_shared: bool) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let reads = self.reads || self.checks_read || self.checks_write;
        let counts = [
            self.wall_s > 0,
            self.flushes_each,
            self.transfer_delay_us > 0,
            self.time_min_s > 0,
            self.transfers_max > 0,
            self.status_file.is_some(),
            self.op_csv.is_some(),
        ];
        match () {
            () if self.file_per_rank => conflict(
                "--mpiio.useStridedDatatype is for a shared file; leave -F out, or use --mpiio.useFileView alone",
            ),
            () if self.reorder != Reorder::No && reads => conflict(
                "--mpiio.useStridedDatatype moves a task's own blocks; leave -C and -Z out, or use --mpiio.useFileView alone",
            ),
            () if self.segments > 1 && counts.contains(&true) => conflict(
                "--mpiio.useStridedDatatype moves -s transfers in a call: leave out what comes between transfers or counts them (-D, -Y, \
                 interIODelay, minTimeDuration, stoneWalling…, savePerOpDataCSV), or use --mpiio.useFileView alone",
            ),
            () if is_shared && self.time_min_s > 0 => conflict(
                "--mpiio.useStridedDatatype: all tasks set a view together before each transfer, and with minTimeDuration each repeats by \
                 its own time; leave one of them out",
            ),
            () => Ok(()),
        }
    }

    /// What ranks in processes of their own cannot do.
    fn rules_of_processes(&self) -> Result<(), OptionError> {
        if self.op_csv.is_some() {
            return Err(OptionError::Conflict(
                "savePerOpDataCSV is for ranks in one process: use --plumb-ranks without mpirun; `plumb show` has the latencies of all",
            ));
        }
        let is_in_step = matches!(self.api, Api::MpiIo(options)
            if !self.file_per_rank && (self.collective || self.flushes_each || options.strided));
        if self.wall_s > 0 && !self.wear_out && !is_in_step && self.writes && (self.reads || self.checks_write) {
            return Err(OptionError::Conflict(
                "-D: processes read as far as all have written only where all wrote equally much; add \
                 -O stoneWallingWearOut=1, or read in a test of its own",
            ));
        }
        Ok(())
    }

    /// What makes the calls: nothing does in a dry run.
    pub fn calls(&self) -> Api {
        match self.api {
            Api::Posix | Api::Aio(_) | Api::Mmap | Api::MpiIo(_) if self.dry => Api::Dummy(NullDelays::default()),
            api => api,
        }
    }

    /// Bytes of one rank in its file.
    pub fn file_bytes(&self) -> Option<u64> {
        self.block_bytes.checked_mul(self.segments).filter(|bytes| i64::try_from(*bytes).is_ok())
    }

    /// Bytes of all ranks.
    pub fn all_bytes(&self) -> u64 {
        self.block_bytes.saturating_mul(self.segments).saturating_mul(self.tasks.into())
    }

    /// Transfers of one rank.
    pub fn transfers(&self) -> u64 {
        (self.block_bytes / self.transfer_bytes).saturating_mul(self.segments)
    }

    /// How many of them one call moves.
    pub fn transfers_a_call(&self) -> u64 {
        if matches!(self.calls(), Api::MpiIo(MpiIoOptions { strided: true, .. })) { self.segments } else { 1 }
    }
}
