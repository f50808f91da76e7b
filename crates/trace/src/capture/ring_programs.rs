//! What runs in the kernel at each op of io_uring: `struct io_kiocb` begins with what the op is about, and what that is differs by op.

use super::asm::{FRAME, Helper, Program, R0, R1, R2, R3, R4, R6, R7, R8, R9};
use super::btf::Types;
use super::programs::{
    ARGUMENTS_AT, BEGIN, BEGIN_AT, ENDED, Maps, NUMBER_AT, PATH_BYTES, POINTER, RECORD_BYTES, REGISTERED, REGISTERS,
    REGISTERS_BYTES, REQUEST, RESULT_AT, SUBMITTED, THREAD_AT, TOOK_AT, begin, end, reserve, submit,
};
use super::rings::RING_OPS;
use std::io;

/// How much of a request is looked at.
const REQUEST_BYTES: i32 = REGISTERS_BYTES;

/// Where the events have their fields, and the kernel's structures.
pub(super) struct RingFields {
    pub(super) request: i16,
    pub(super) ring: i16,
    pub(super) opcode: i16,
    pub(super) flags: i16,
    /// The text in `struct filename`.
    name: i16,
    /// Most ops: their arguments of 32 bits and of 64 bits, in a request.
    most: OpFields,
    others: Vec<(&'static RingOp, OpFields)>,
}

/// The arguments of an op: their numbers in the call that does the same, and their places in a request.
#[derive(Default)]
struct OpFields {
    words: Vec<(i16, i16)>,
    longs: Vec<(i16, i16)>,
    paths: Vec<i16>,
}

/// A field of 32 or 64 bits, or a name, in a structure of the kernel.
type Field = (i16, &'static str, &'static [&'static str]);

/// An op whose request is unlike that of reads and writes.
struct RingOp {
    code: i32,
    label: &'static str,
    words: &'static [Field],
    longs: &'static [Field],
    paths: &'static [(&'static str, &'static str)],
}

/// Reads, writes and flushes: length, offset, and whether a flush is one of data alone.
const MOST: ([Field; 3], [Field; 1]) = (
    [(0, "io_kiocb", &["cqe", "fd"]), (2, "io_rw", &["len"]), (4, "io_sync", &["flags"])],
    [(3, "io_rw", &["kiocb", "ki_pos"])],
);

/// The others. Source: io_uring/{openclose,fs,statx,sync,truncate}.c of Linux.
const OTHERS: [RingOp; 11] = {
    const OPEN: ([Field; 2], [Field; 2], [(&str, &str); 1]) = (
        [(0, "io_open", &["dfd"]), (4, "io_open", &["file_slot"])],
        [(2, "io_open", &["how", "flags"]), (3, "io_open", &["how", "mode"])],
        [("io_open", "filename")],
    );
    const FILE: Field = (0, "io_kiocb", &["cqe", "fd"]);
    [
        RingOp { code: 18, label: "openat", words: &OPEN.0, longs: &OPEN.1, paths: &OPEN.2 },
        RingOp { code: 28, label: "openat2", words: &OPEN.0, longs: &OPEN.1, paths: &OPEN.2 },
        RingOp {
            code: 19,
            label: "close",
            words: &[(0, "io_close", &["fd"]), (4, "io_close", &["file_slot"])],
            longs: &[],
            paths: &[],
        },
        RingOp {
            code: 21,
            label: "statx",
            words: &[(0, "io_statx", &["dfd"])],
            longs: &[],
            paths: &[("io_statx", "filename")],
        },
        RingOp {
            code: 35,
            label: "renameat",
            words: &[(0, "io_rename", &["old_dfd"]), (2, "io_rename", &["new_dfd"])],
            longs: &[],
            paths: &[("io_rename", "oldpath"), ("io_rename", "newpath")],
        },
        RingOp {
            code: 36,
            label: "unlinkat",
            words: &[(0, "io_unlink", &["dfd"]), (2, "io_unlink", &["flags"])],
            longs: &[],
            paths: &[("io_unlink", "filename")],
        },
        RingOp {
            code: 37,
            label: "mkdirat",
            words: &[(0, "io_mkdir", &["dfd"]), (2, "io_mkdir", &["mode"])],
            longs: &[],
            paths: &[("io_mkdir", "filename")],
        },
        RingOp {
            code: 39,
            label: "linkat",
            words: &[(0, "io_link", &["old_dfd"]), (2, "io_link", &["new_dfd"])],
            longs: &[],
            paths: &[("io_link", "oldpath"), ("io_link", "newpath")],
        },
        RingOp {
            code: 8,
            label: "sync_file_range",
            words: &[FILE],
            longs: &[(1, "io_sync", &["off"]), (2, "io_sync", &["len"])],
            paths: &[],
        },
        RingOp {
            code: 17,
            label: "fallocate",
            words: &[FILE, (1, "io_sync", &["mode"])],
            longs: &[(2, "io_sync", &["off"]), (3, "io_sync", &["len"])],
            paths: &[],
        },
        RingOp { code: 55, label: "ftruncate", words: &[FILE], longs: &[(1, "io_ftrunc", &["len"])], paths: &[] },
    ]
};

impl RingFields {
    /// On this machine. Ops that this kernel does not know, or has in other structures, are left out.
    pub(super) fn new(types: &Types, event: &super::Event) -> io::Result<RingFields> {
        let within = |structure: &str, path: &[&str], bytes: i16| {
            let place = types.place(structure, path)?;
            // What is looked at of a request.
            let fits = (0..=REQUEST_BYTES as i16 - bytes).contains(&place);
            if fits { Ok(place) } else { Err(io::Error::from(io::ErrorKind::InvalidData)) }
        };
        let fields = |words: &[Field], longs: &[Field], paths: &[(&str, &str)]| -> io::Result<OpFields> {
            let all = |fields: &[Field], bytes| {
                let place = |(argument, structure, path): &Field| Ok((*argument, within(structure, path, bytes)?));
                fields.iter().map(place).collect::<io::Result<Vec<_>>>()
            };
            let paths = paths.iter().map(|(structure, field)| within(structure, &[field], 8));
            Ok(OpFields { words: all(words, 4)?, longs: all(longs, 8)?, paths: paths.collect::<io::Result<_>>()? })
        };
        let known = |op: &'static RingOp| Some((op, fields(op.words, op.longs, op.paths).ok()?));
        Ok(RingFields {
            request: event.place("req")?,
            ring: event.place("ctx")?,
            opcode: event.place("opcode")?,
            flags: event.place("flags")?,
            name: types.place("filename", &["name"])?,
            most: fields(&MOST.0, &MOST.1, &[])?,
            others: OTHERS.iter().filter_map(known).collect(),
        })
    }
}

/// At `io_uring_submit_req`: makes a record, and keeps the time by the request.
pub(super) fn ring_begins(maps: &Maps, fields: &RingFields) -> Vec<u8> {
    let mut program = Program::default();
    begin(&mut program, maps);
    program.load_word(R1, R6, fields.opcode).mask(R1, 0xff).store(FRAME, POINTER, R1);
    // All others have no end that would be waited for.
    for (code, _) in RING_OPS {
        program.jump_if(R1, code.into(), "known");
    }
    program.jump("out").label("known");
    program.load(R8, R6, fields.request).store(FRAME, REQUEST, R8).call(Helper::Time).store(FRAME, BEGIN, R0);
    program.map(R1, maps.requests.number()).copy(R2, FRAME).add(R2, REQUEST.into());
    program.copy(R3, FRAME).add(R3, BEGIN.into()).set(R4, 0).call(Helper::MapUpdate);
    program.copy(R1, FRAME).add(R1, REGISTERS.into()).set(R2, REQUEST_BYTES).copy(R3, R8).call(Helper::ReadKernel);
    program.load(R1, FRAME, POINTER);
    for (op, _) in &fields.others {
        program.jump_if(R1, op.code, op.label);
    }
    submitted(&mut program, maps, fields, &fields.most);
    for (op, of_op) in &fields.others {
        program.label(op.label);
        submitted(&mut program, maps, fields, of_op);
    }
    end(&mut program, maps);
    program.bytes()
}

/// The record of an op: its code in the place of the duration, with the request's flags above; the ring behind the arguments.
fn submitted(program: &mut Program, maps: &Maps, fields: &RingFields, op: &OpFields) {
    reserve(program, maps, RECORD_BYTES + op.paths.len() * PATH_BYTES);
    program.store_number(R9, 0, SUBMITTED as i32).store_number(R9, NUMBER_AT, 0).store(R9, THREAD_AT, R7);
    program.load(R1, FRAME, BEGIN).store(R9, BEGIN_AT, R1).store(R9, RESULT_AT, R8);
    program.load(R1, FRAME, POINTER).store_word(R9, TOOK_AT, R1);
    program.load(R1, R6, fields.flags).store_word(R9, TOOK_AT + 4, R1);
    program.set(R1, 0);
    (0..5).for_each(|argument| {
        program.store(R9, ARGUMENTS_AT + 8 * argument, R1);
    });
    program.load(R1, R6, fields.ring).store(R9, ARGUMENTS_AT + 40, R1);
    for (argument, place) in &op.words {
        program.load_word(R1, FRAME, REGISTERS + place).store_word(R9, ARGUMENTS_AT + 8 * argument, R1);
    }
    for (argument, place) in &op.longs {
        program.load(R1, FRAME, REGISTERS + place).store(R9, ARGUMENTS_AT + 8 * argument, R1);
    }
    for (number, place) in op.paths.iter().enumerate() {
        // The kernel has copied the path, and keeps where it lies.
        program.load(R3, FRAME, REGISTERS + place).add(R3, fields.name.into());
        program.copy(R1, FRAME).add(R1, BEGIN.into()).set(R2, 8).call(Helper::ReadKernel);
        program.load(R3, FRAME, BEGIN).copy(R1, R9).add(R1, (RECORD_BYTES + number * PATH_BYTES) as i32);
        program.set(R2, PATH_BYTES as i32).call(Helper::ReadKernelText);
    }
    submit(program);
}

/// At `io_uring_complete`, whose event has the request and the result at these places: makes a record, if the request has one.
pub(super) fn ring_ends(maps: &Maps, request: i16, result: i16) -> Vec<u8> {
    let mut program = Program::default();
    program.copy(R6, R1).load(R8, R6, request).store(FRAME, REQUEST, R8);
    program.look_up(maps.requests.number(), REQUEST.into()).jump_if(R0, 0, "out");
    program.load(R1, R0, 0).jump_if(R1, 0, "out").set(R1, 0).store(R0, 0, R1);
    reserve(&mut program, maps, RECORD_BYTES);
    program.store_number(R9, 0, ENDED as i32).store_number(R9, NUMBER_AT, 0).call(Helper::Time).store(R9, BEGIN_AT, R0);
    program.store(R9, RESULT_AT, R8).load_word(R1, R6, result).store(R9, ARGUMENTS_AT, R1).set(R1, 0);
    program.store(R9, TOOK_AT, R1).store(R9, THREAD_AT, R1);
    (1..6).for_each(|place| {
        program.store(R9, ARGUMENTS_AT + 8 * place, R1);
    });
    submit(&mut program);
    end(&mut program, maps);
    program.bytes()
}

/// At `io_uring_register`, whose event has the ring at this place: which ring the thread's next call of io_uring_register(2) is about.
pub(super) fn ring_registers(maps: &Maps, ring: i16) -> Vec<u8> {
    let mut program = Program::default();
    begin(&mut program, maps);
    reserve(&mut program, maps, RECORD_BYTES);
    program.store_number(R9, 0, REGISTERED as i32).store_number(R9, NUMBER_AT, 0).store(R9, THREAD_AT, R7);
    program.load(R1, R6, ring).store(R9, RESULT_AT, R1).set(R1, 0).store(R9, BEGIN_AT, R1).store(R9, TOOK_AT, R1);
    (0..6).for_each(|place| {
        program.store(R9, ARGUMENTS_AT + 8 * place, R1);
    });
    submit(&mut program);
    end(&mut program, maps);
    program.bytes()
}
