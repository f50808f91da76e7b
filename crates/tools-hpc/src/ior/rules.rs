//! Options of a test that exclude each other.

use super::settings::{Api, MpiIoOptions, Random, Reorder, Test};
use crate::aiori::OptionError;

impl Test {
    pub(super) fn rules(&self) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let (block, transfer) = (self.size.block_bytes, self.size.transfer_bytes);
        match () {
            () if self.files.names.is_empty() => conflict("-o: no file is named"),
            () if self.size.segments == 0 => conflict("segment count must be positive value"),
            () if transfer == 0 => conflict("test will not complete with zero transfer size"),
            () if !block.is_multiple_of(8) => conflict("block size must be a multiple of access size"),
            () if !transfer.is_multiple_of(8) => conflict("transfer size must be a multiple of access size"),
            () if !block.is_multiple_of(transfer) => conflict("block size must be a multiple of transfer size"),
            () if block < transfer => conflict("block size must not be smaller than transfer size"),
            () if self.order.random == Random::InBlock && block <= transfer => {
                conflict("-z shuffles the transfers of a block: choose a block larger than a transfer")
            }
            () if self.order.random == Random::Anywhere && self.phases.writes => {
                conflict("-z -z works only for reads of an existing file; leave out -w")
            }
            () if self.order.random != Random::No && self.order.reorder != Reorder::No && !self.files.file_per_rank => {
                conflict("-z with -C or -Z needs -F: choose one, or a file per task")
            }
            () if (self.phases.checks_read || self.phases.checks_write) && matches!(self.api, Api::Dummy(_)) => {
                conflict("-R and -W need data, which -a DUMMY does not keep; leave them out")
            }
            () if self.phases.collective && !matches!(self.api, Api::MpiIo(_)) => {
                conflict("-c needs MPI-IO: add -a MPIIO, or leave it out")
            }
            () if self.phases.checks_read && !self.phases.writes && self.data.seed.is_none() => {
                conflict("-R alone needs the seed of the data that was written: give -G")
            }
            () if self.files.unique_dirs && self.files.names.len() > 1 => {
                conflict("-u makes directories next to one file; name one with -o, or leave -u out")
            }
            () if self.files.prefill_bytes.is_some() && self.order.random == Random::No => {
                conflict("randomPrefill is for random writes: add -z, or leave it out")
            }
            () if self.files.prefill_bytes.is_some_and(|bytes| !block.is_multiple_of(bytes)) => {
                conflict("randomPrefill must divide the block size")
            }
            () if self.files.prefill_bytes.is_some() && self.limits.wall_s > 0 => conflict(
                "randomPrefill fills the whole file before the clock starts; leave -D out, or fill it in a run of its own",
            ),
            () if self.limits.time_min_s > 0 && self.limits.wall_s > 0 => {
                conflict("minTimeDuration and -D do not go together: choose one")
            }
            () if self.limits.status_file.is_some() && !self.files.keeps => {
                conflict("a stoneWallingStatusFile is for tests that are split into several runs: use -k")
            }
            () if self.limits.status_file.is_some() && self.phases.writes && !self.limits.wear_out => {
                conflict("a stoneWallingStatusFile of a write test needs stoneWallingWearOut=1")
            }
            () if self.limits.wear_out && self.limits.wall_s == 0 => {
                conflict("stoneWallingWearOut needs a deadline: give -D")
            }
            () if self.file_bytes().and_then(|bytes| bytes.checked_mul(self.tasks.into())).is_none() => {
                conflict("-b × -s × tasks exceeds 64 bits; use smaller sizes")
            }
            () => Ok(()),
        }
    }

    /// Checks combinations of options with MPI-IO.
    pub(super) fn rules_of_mpi_io(&self, options: MpiIoOptions, are_processes: bool) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let is_shared = !self.files.file_per_rank && self.tasks > 1;
        match () {
            () if self.ranks > 1 && !are_processes => {
                conflict("-a MPIIO needs a process for each rank: use mpirun -n N instead of --plumb-ranks N")
            }
            () if self.caching.direct => conflict(
                "--posix.odirect belongs to -a POSIX; with -a MPIIO, use the hints IOR_HINT__MPI__direct_write=true and direct_read",
            ),
            () if self.order.random != Random::No && self.phases.collective => {
                conflict("-z and -c do not go together: choose one")
            }
            () if self.order.random != Random::No && options.view => {
                conflict("-z and --mpiio.useFileView do not go together: choose one")
            }
            () if i32::try_from(self.size.transfer_bytes).is_err() => {
                conflict("-t: MPI-IO moves less than 2 GiB in a call; use a smaller transfer size")
            }
            () if is_shared && self.limits.time_min_s > 0 && (self.phases.collective || self.caching.flushes_each) => {
                conflict(
                    "minTimeDuration with -c or -Y: MPI-IO moves or flushes a shared file by all tasks together, and each repeats by its \
                 own time; use -F, or leave one of them out",
                )
            }
            () if options.strided => self.rules_of_strided(is_shared),
            () => Ok(()),
        }
    }

    /// Checks the options that allow one call for a transfer of every segment. IOR uses the first segment of the
    /// rank's own number, even if the rank moves another rank's data.
    fn rules_of_strided(&self, is_shared: bool) -> Result<(), OptionError> {
        let conflict = |text| Err(OptionError::Conflict(text));
        let reads = self.phases.reads || self.phases.checks_read || self.phases.checks_write;
        let counts = [
            self.limits.wall_s > 0,
            self.caching.flushes_each,
            self.repetition.transfer_delay_us > 0,
            self.limits.time_min_s > 0,
            self.limits.transfers_max > 0,
            self.limits.status_file.is_some(),
            self.output.op_csv.is_some(),
        ];
        match () {
            () if self.files.file_per_rank => conflict(
                "--mpiio.useStridedDatatype is for a shared file; leave -F out, or use --mpiio.useFileView alone",
            ),
            () if self.order.reorder != Reorder::No && reads => conflict(
                "--mpiio.useStridedDatatype moves a task's own blocks; leave -C and -Z out, or use --mpiio.useFileView alone",
            ),
            () if self.size.segments > 1 && counts.contains(&true) => conflict(
                "--mpiio.useStridedDatatype moves -s transfers in a call: leave out what comes between transfers or counts them (-D, -Y, \
                 interIODelay, minTimeDuration, stoneWalling…, savePerOpDataCSV), or use --mpiio.useFileView alone",
            ),
            () if is_shared && self.limits.time_min_s > 0 => conflict(
                "--mpiio.useStridedDatatype: all tasks set a view together before each transfer, and with minTimeDuration each repeats by \
                 its own time; leave one of them out",
            ),
            () => Ok(()),
        }
    }

    /// Checks for options that need all ranks in one process.
    pub(super) fn rules_of_processes(&self) -> Result<(), OptionError> {
        if self.output.op_csv.is_some() {
            return Err(OptionError::Conflict(
                "savePerOpDataCSV is for ranks in one process: use --plumb-ranks without mpirun; `plumb show` has the latencies of all",
            ));
        }
        let is_in_step = matches!(self.api, Api::MpiIo(options)
            if !self.files.file_per_rank && (self.phases.collective || self.caching.flushes_each || options.strided));
        if self.limits.wall_s > 0
            && !self.limits.wear_out
            && !is_in_step
            && self.phases.writes
            && (self.phases.reads || self.phases.checks_write)
        {
            return Err(OptionError::Conflict(
                "-D: processes know the end of the written data only if all wrote the same amount; add \
                 -O stoneWallingWearOut=1, or read in a test of its own",
            ));
        }
        Ok(())
    }
}
