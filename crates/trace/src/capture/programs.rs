//! What runs in the kernel at each system call of a recorded process, and at each fork.
//!
//! When a call begins, only the time is kept. When it ends, its number and arguments are still in the registers of the thread (`struct
//! pt_regs`), so that one record has it all; paths are read then, because the call itself has brought them into memory.

use super::asm::{FRAME, Helper, Program, R0, R1, R2, R3, R6, R7, R8, R9};
use super::kernel::{Map, Table};
use super::session::CALLS_MAX;

/// Bytes of a record without paths, and of a path.
pub(super) const RECORD_BYTES: usize = 88;

/// Of the record of a block request, which has two arguments.
pub(super) const BLOCK_RECORD_BYTES: usize = ARGUMENTS_AT as usize + 16;
pub(super) const PATH_BYTES: usize = 256;

/// What a record is: its first word.
pub(super) const FORK: u32 = 1;
pub(super) const CALL: u32 = 2;
pub(super) const QUEUED: u32 = 3;
pub(super) const COMPLETED: u32 = 4;
/// An op was handed to the kernel, which goes on with it by itself, and it ended. The number says by what: io_uring, or libaio.
pub(super) const SUBMITTED: u32 = 5;
pub(super) const ENDED: u32 = 6;
pub(super) const LIBAIO: u32 = 1;
/// Something was registered with a ring of io_uring.
pub(super) const REGISTERED: u32 = 7;
/// A whole request to a device; and where there was no place to keep it, its two ends, with the same number.
pub(super) const BIO: u32 = 8;
pub(super) const BIO_BEGAN: u32 = 9;
pub(super) const BIO_ENDED: u32 = 10;

/// Places in a record: kind, number of the call, begin, duration, thread, result, arguments.
pub(super) const NUMBER_AT: i16 = 4;
pub(super) const BEGIN_AT: i16 = 8;
pub(super) const TOOK_AT: i16 = 16;
pub(super) const THREAD_AT: i16 = 24;
pub(super) const RESULT_AT: i16 = 32;
pub(super) const ARGUMENTS_AT: i16 = 40;

/// Places of the six arguments in `struct pt_regs` of x86-64. Source: asm/ptrace.h.
const ARGUMENTS_IN_REGISTERS: [i16; 6] = [112, 104, 96, 56, 72, 64];
pub(super) const REGISTERS_BYTES: i32 = 128;

/// Places on the stack.
const KEY: i16 = -4;
const PATHS: i16 = -8;
pub(super) const REQUEST: i16 = -16;
pub(super) const BEGIN: i16 = -24;
pub(super) const REGISTERS: i16 = -24 - REGISTERS_BYTES as i16;
const COUNT: i16 = REGISTERS - 8;
pub(super) const POINTER: i16 = COUNT - 8;
/// As large as `struct iocb`.
const BLOCK: i16 = POINTER - BLOCK_BYTES as i16;
const BLOCK_BYTES: i32 = 64;

/// Ops of a call of libaio that are looked at.
const BATCH_MAX: i16 = 64;

/// Threads whose calls can be told apart for sure; a power of two. And what is kept of a call, as a power of two: the thread, the begin, and
/// the call's number with its [`Paths`] above.
const BEGUN_MAX: u32 = 1 << 18;
const BEGUN_BITS: i32 = 5;
pub(super) const BEGUN_BYTES: u32 = BEGUN_MAX << BEGUN_BITS;

/// Numbers of processes are below this. Source: linux/threads.h, PID_MAX_LIMIT.
pub(super) const PROCESSES_MAX: u32 = 1 << 22;

/// Do not wake the reader: it looks every millisecond.
const NO_WAKEUP: i32 = 1;

/// Which arguments are paths, as the map of calls has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Paths {
    None = 1,
    First = 2,
    Second = 3,
    FirstAndSecond = 4,
    SecondAndFourth = 5,
    Third = 6,
    /// None: it submits ops of libaio.
    Submits = 7,
    /// None: it says which of them have ended.
    Reaps = 8,
    /// None: it registers files with io_uring.
    Registers = 9,
}

/// What the programs share.
pub(super) struct Maps {
    pub(super) ring: i32,
    /// By process: 1 for those that are recorded. A table, because a hash takes a tenth of what recording a call costs.
    pub(super) processes: Table,
    /// By call: its [`Paths`], for those that are recorded.
    pub(super) calls: Table,
    /// One counter: records that did not fit into the ring.
    pub(super) drops: Map,
    /// By the lower bits of a thread's number: its call, or a begin of 0. A table, for what a hash takes to keep the time is a third of
    /// what recording costs.
    pub(super) begun: Map,
    /// By request of io_uring: when it was submitted.
    pub(super) requests: Map,
    /// By bio: requests to devices that are not complete.
    pub(super) kept: Map,
}

/// Goes on only for a process that is recorded.
pub(super) fn begin(program: &mut Program, maps: &Maps) {
    program.copy(R6, R1).call(Helper::Thread).copy(R7, R0).copy(R1, R0).shift_right(R1, 32);
    flag_of_process(program, maps);
    program.load_byte(R1, R2, 0).jump_if(R1, 0, "out");
}

/// `R2` is where the flag of the process in `R1` is.
fn flag_of_process(program: &mut Program, maps: &Maps) {
    program.mask(R1, PROCESSES_MAX as i32 - 1).map_value(R2, maps.processes.number()).add_register(R2, R1);
}

/// Takes room in the ring: `R9`.
pub(super) fn reserve(program: &mut Program, maps: &Maps, bytes: usize) {
    program
        .map(R1, maps.ring)
        .set(R2, bytes as i32)
        .set(R3, 0)
        .call(Helper::RingReserve)
        .jump_if(R0, 0, "drop")
        .copy(R9, R0);
}

pub(super) fn submit(program: &mut Program) {
    program.copy(R1, R9).set(R2, NO_WAKEUP).call(Helper::RingSubmit).jump("out");
}

pub(super) fn end(program: &mut Program, maps: &Maps) {
    program.label("drop").map_value(R0, maps.drops.number()).set(R1, 1).count(R0, 0, R1);
    program.label("out").end();
}

/// At `sys_enter`: keeps the time.
pub(super) fn enter(maps: &Maps) -> Vec<u8> {
    let mut program = Program::default();
    begin(&mut program, maps);
    program.load(R8, R6, 8).jump_if_at_most(R8, CALLS_MAX as i32 - 1, "small").jump("out").label("small");
    program.map_value(R1, maps.calls.number()).add_register(R1, R8).load_byte(R9, R1, 0).jump_if(R9, 0, "out");
    program.shift_left(R9, 32).add_register(R9, R8).call(Helper::Time);
    place_of_begun(&mut program, maps);
    program.store(R2, 0, R7).store(R2, 8, R0).store(R2, 16, R9).label("out").end();
    program.bytes()
}

/// `R2` is the place of this thread, or of another with the same lower bits.
fn place_of_begun(program: &mut Program, maps: &Maps) {
    program.copy(R1, R7).mask(R1, BEGUN_MAX as i32 - 1).shift_left(R1, BEGUN_BITS);
    program.map_value(R2, maps.begun.number()).add_register(R2, R1);
}

/// At `sys_exit`: makes a record. Registers are read as they are where the kernel knows their types, and copied otherwise.
pub(super) fn exit(maps: &Maps, registers: Registers) -> Vec<u8> {
    let mut program = Program::default();
    begin(&mut program, maps);
    place_of_begun(&mut program, maps);
    program.load(R8, R2, 8).jump_if(R8, 0, "out");
    // Two threads that share a place and are in a call at once: one of the calls is lost.
    program.load(R1, R2, 0).subtract(R1, R7).jump_if(R1, 0, "own").jump("drop").label("own");
    program.set(R1, 0).store(R2, 8, R1).load(R1, R2, 16).store_word(FRAME, KEY, R1).shift_right(R1, 32);
    program.store_word(FRAME, PATHS, R1);
    program.jump_if(R1, Paths::FirstAndSecond as i32, "two").jump_if(R1, Paths::SecondAndFourth as i32, "two");
    program.jump_if(R1, Paths::Submits as i32, "submit").jump_if(R1, Paths::Reaps as i32, "reap");
    program.jump_if(R1, Paths::Registers as i32, "register");
    program.jump_if(R1, Paths::None as i32, "none");
    // One path.
    reserve(&mut program, maps, RECORD_BYTES + PATH_BYTES);
    body(&mut program, registers);
    argument(&mut program, 0);
    program.load_word(R1, FRAME, PATHS).jump_if(R1, Paths::First as i32, "chosen");
    argument(&mut program, 1);
    program.jump_if(R1, Paths::Second as i32, "chosen");
    argument(&mut program, 2);
    program.label("chosen");
    path(&mut program, 0);
    submit(&mut program);
    program.label("two");
    reserve(&mut program, maps, RECORD_BYTES + 2 * PATH_BYTES);
    body(&mut program, registers);
    argument(&mut program, 0);
    program.load_word(R1, FRAME, PATHS).jump_if(R1, Paths::FirstAndSecond as i32, "from");
    argument(&mut program, 1);
    program.label("from");
    path(&mut program, 0);
    argument(&mut program, 1);
    program.load_word(R1, FRAME, PATHS).jump_if(R1, Paths::FirstAndSecond as i32, "to");
    argument(&mut program, 3);
    program.label("to");
    path(&mut program, 1);
    submit(&mut program);
    program.label("none");
    reserve(&mut program, maps, RECORD_BYTES);
    body(&mut program, registers);
    submit(&mut program);
    program.label("register");
    registered_files(&mut program, maps, registers);
    program.label("submit");
    to_frame(&mut program, registers);
    batch(&mut program, maps, SUBMITTED);
    program.label("reap");
    to_frame(&mut program, registers);
    batch(&mut program, maps, ENDED);
    end(&mut program, maps);
    program.bytes()
}

/// How the arguments of a call are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registers {
    /// Where they are: a typed program.
    Direct,
    /// By a copy of the whole structure.
    Copied,
}

/// Fills a record, but for its paths.
fn body(program: &mut Program, registers: Registers) {
    program.store_number(R9, 0, CALL as i32).load_word(R1, FRAME, KEY).store_word(R9, NUMBER_AT, R1);
    program.call(Helper::Time).store(R9, BEGIN_AT, R8).subtract(R0, R8).store(R9, TOOK_AT, R0).store(R9, THREAD_AT, R7);
    program.load(R1, R6, 8).store(R9, RESULT_AT, R1);
    let from = from_registers(program, registers);
    for (place, register) in ARGUMENTS_IN_REGISTERS.iter().enumerate() {
        program.load(R1, from.0, from.1 + register).store(R9, ARGUMENTS_AT + 8 * place as i16, R1);
    }
}

/// A register and an offset from where the thread's registers are.
fn from_registers(program: &mut Program, registers: Registers) -> (u8, i16) {
    match registers {
        Registers::Direct => {
            program.load(R2, R6, 0);
            (R2, 0)
        }
        Registers::Copied => {
            program.load(R3, R6, 0).copy(R1, FRAME).add(R1, REGISTERS.into()).set(R2, REGISTERS_BYTES);
            program.call(Helper::ReadKernel);
            (FRAME, REGISTERS)
        }
    }
}

/// Puts the arguments on the stack, each in its register's place.
fn to_frame(program: &mut Program, registers: Registers) {
    let from = from_registers(program, registers);
    if registers == Registers::Direct {
        for register in ARGUMENTS_IN_REGISTERS {
            program.load(R1, from.0, register).store(FRAME, REGISTERS + register, R1);
        }
    }
}

/// `R3` is an argument.
fn argument(program: &mut Program, number: i16) {
    program.load(R3, R9, ARGUMENTS_AT + 8 * number);
}

/// Copies the text that `R3` leads to.
fn path(program: &mut Program, number: usize) {
    program.copy(R1, R9).add(R1, (RECORD_BYTES + number * PATH_BYTES) as i32).set(R2, PATH_BYTES as i32);
    program.call(Helper::ReadUserText);
}

/// A record for each op of a list that a call of libaio was given, or filled.
fn batch(program: &mut Program, maps: &Maps, kind: u32) {
    program.load(R1, R6, 8).store(FRAME, COUNT, R1).shift_right(R1, 63).jump_if(R1, 1, "out");
    for number in 0..BATCH_MAX {
        program.load(R1, FRAME, COUNT).jump_if(R1, number.into(), "out");
        if kind == SUBMITTED {
            // A list of pointers to `struct iocb`.
            read_user(program, REGISTERS + ARGUMENTS_IN_REGISTERS[2], i32::from(number) * 8, POINTER, 8);
            read_user(program, POINTER, 0, BLOCK, BLOCK_BYTES);
        } else {
            // A list of `struct io_event`.
            read_user(program, REGISTERS + ARGUMENTS_IN_REGISTERS[3], i32::from(number) * 32, BLOCK, 32);
        }
        reserve(program, maps, RECORD_BYTES);
        program.store_number(R9, 0, kind as i32).store_number(R9, NUMBER_AT, LIBAIO as i32).store(R9, THREAD_AT, R7);
        if kind == SUBMITTED {
            program.store(R9, BEGIN_AT, R8).load_word(R1, FRAME, BLOCK + 16).store(R9, TOOK_AT, R1);
            program.load(R1, FRAME, POINTER).store(R9, RESULT_AT, R1);
            program.load_word(R1, FRAME, BLOCK + 20).store(R9, ARGUMENTS_AT, R1);
            program.load(R1, FRAME, BLOCK + 32).store(R9, ARGUMENTS_AT + 16, R1);
            program.load(R1, FRAME, BLOCK + 40).store(R9, ARGUMENTS_AT + 24, R1);
            program.set(R1, 0).store(R9, ARGUMENTS_AT + 8, R1);
        } else {
            program.call(Helper::Time).store(R9, BEGIN_AT, R0).set(R1, 0).store(R9, TOOK_AT, R1);
            program.load(R1, FRAME, BLOCK + 8).store(R9, RESULT_AT, R1);
            program.load(R1, FRAME, BLOCK + 16).store(R9, ARGUMENTS_AT, R1).set(R1, 0);
            [8, 16, 24].iter().for_each(|place| {
                program.store(R9, ARGUMENTS_AT + place, R1);
            });
        }
        program.set(R1, 0).store(R9, ARGUMENTS_AT + 32, R1).store(R9, ARGUMENTS_AT + 40, R1);
        program.copy(R1, R9).set(R2, NO_WAKEUP).call(Helper::RingSubmit);
    }
    // More of them are not looked at.
    program.load(R1, FRAME, COUNT).jump_if(R1, BATCH_MAX.into(), "out").jump("drop");
}

/// A record of a call of io_uring_register(2): for a list of files, with the first place in the fourth argument, their number in the third
/// and in the place of paths their descriptors.
fn registered_files(program: &mut Program, maps: &Maps, registers: Registers) {
    let [_, code, list, count, ..] = ARGUMENTS_IN_REGISTERS.map(|register| REGISTERS + register);
    to_frame(program, registers);
    reserve(program, maps, RECORD_BYTES + PATH_BYTES);
    body(program, registers);
    program.set(R6, 0).set(R7, 0).set(R8, 0).load(R1, FRAME, code);
    for (number, label) in [(2, "files"), (6, "update"), (13, "files-2"), (14, "update-2")] {
        program.jump_if(R1, number, label);
    }
    program.jump("listed");
    program.label("files").load(R6, FRAME, list).load(R7, FRAME, count).jump("listed");
    // `struct io_uring_files_update`, `io_uring_rsrc_register` and `io_uring_rsrc_update2` of linux/io_uring.h.
    program.label("update");
    read_user(program, list, 0, BLOCK, 32);
    program.load_word(R8, FRAME, BLOCK).load(R6, FRAME, BLOCK + 8).load(R7, FRAME, count).jump("listed");
    program.label("files-2");
    read_user(program, list, 0, BLOCK, 32);
    program.load_word(R7, FRAME, BLOCK).load(R6, FRAME, BLOCK + 16).jump("listed");
    program.label("update-2");
    read_user(program, list, 0, BLOCK, 32);
    program.load_word(R8, FRAME, BLOCK).load(R6, FRAME, BLOCK + 8).load_word(R7, FRAME, BLOCK + 24);
    program.label("listed").jump_if_at_most(R7, PATH_BYTES as i32 / 4, "few").set(R7, PATH_BYTES as i32 / 4);
    program.label("few").store(R9, ARGUMENTS_AT + 24, R7).store(R9, ARGUMENTS_AT + 32, R8);
    program.copy(R2, R7).shift_left(R2, 2).copy(R3, R6).copy(R1, R9).add(R1, RECORD_BYTES as i32);
    program.call(Helper::ReadUser);
    submit(program);
}

/// Copies memory of the process to a place on the stack: from where what lies on the stack leads to, and so much further.
fn read_user(program: &mut Program, pointer: i16, further: i32, to: i16, bytes: i32) {
    program.load(R3, FRAME, pointer).add(R3, further).copy(R1, FRAME).add(R1, to.into()).set(R2, bytes);
    program.call(Helper::ReadUser);
}

/// At `sched_process_fork`, whose event has the child's number at this place: the child is recorded from its first call on.
pub(super) fn fork(maps: &Maps, child_at: i16) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(R6, R1).call(Helper::Thread).copy(R7, R0).copy(R1, R0).shift_right(R1, 32);
    flag_of_process(&mut program, maps);
    // The number may have been that of a process that was recorded and is gone.
    program.load_byte(R9, R2, 0).load_word(R8, R6, child_at).copy(R1, R8);
    flag_of_process(&mut program, maps);
    program.store_byte(R2, 0, R9).jump_if(R9, 0, "out");
    reserve(&mut program, maps, RECORD_BYTES);
    program.store_number(R9, 0, FORK as i32).store_number(R9, NUMBER_AT, 0);
    program.call(Helper::Time).store(R9, BEGIN_AT, R0).store(R9, TOOK_AT, R8).store(R9, THREAD_AT, R7);
    program.set(R1, 0).store(R9, RESULT_AT, R1);
    (0..6).for_each(|place| {
        program.store(R9, ARGUMENTS_AT + 8 * place, R1);
    });
    submit(&mut program);
    end(&mut program, maps);
    program.bytes()
}
