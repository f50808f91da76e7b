/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What the programs and Plumb hand each other. `src/capture/records.rs` has the same numbers: a test compares them.
 */
#ifndef PLUMB_RECORD_H
#define PLUMB_RECORD_H

#include "kernel.h"

/* Kinds of records. */
#define FORK 1
#define CALL 2
#define QUEUED 3
#define COMPLETED 4
/* An op was handed to the kernel, which goes on with it by itself, and it ended. The number says by what: io_uring is 0. */
#define SUBMITTED 5
#define ENDED 6
#define LIBAIO 1
/* Something was registered with a ring of io_uring. */
#define REGISTERED 7
/* A whole request to a device; and where there was no place to keep it, its two ends, with the same number. */
#define BIO 8
#define BIO_BEGAN 9
#define BIO_ENDED 10
/* What a thread runs. */
#define NAMED 11
/* The bits of this kernel's operations. The reader makes this record from the tables. */
#define BITS 12

/* Bytes of a path, and of a program's name (linux/sched.h, TASK_COMM_LEN), both with their 0. */
#define PATH_BYTES 256
#define COMMAND_BYTES 16

/* The record of a request is from the kernel's structures, with its own operation and status, and not from an event. */
#define FROM_STRUCTURES 0x80000000

/* Which arguments of a call are paths, or what else is read for it. 0: the call is not recorded. */
#define NO_PATH 1
#define FIRST 2
#define SECOND 3
#define FIRST_AND_SECOND 4
#define SECOND_AND_FOURTH 5
#define THIRD 6
#define SUBMITS 7
#define REAPS 8
#define REGISTERS 9
#define COMMAND 10

/* Numbers of calls are below this. */
#define CALLS_MAX 512

/* Numbers of processes are below this. Source: linux/threads.h, PID_MAX_LIMIT. */
#define PROCESSES_MAX 4194304

/* The tables of calls: their bytes, and where they have the flags of processes and the number of lost records. */
#define PROCESSES_AT 8388608
#define CALLS_LOST_AT 12582912
#define CALL_TABLES_BYTES 12582920

/* Devices that can be recorded at once. */
#define DEVICES_MAX 1024

/* The tables of requests: their bytes, and where they have what. */
#define TO_READ_AT 64
#define REQUESTS_LOST_AT 128
#define BITS_AT 136
#define KEPT_AT 32960
#define SLOTS_AT 4227264
#define REQUEST_TABLES_BYTES 21004480

/* Bios that are kept until they are complete, and bytes of each. */
#define KEPT_MAX 65536
#define KEPT_BYTES 64

/*
 * Slots for records of whole requests, bytes of each, the last eight of which are one more than the record's number, and
 * slots that are kept free, because several processors may look for one at once.
 */
#define SLOTS_MAX 262144
#define SLOT_BYTES 64
#define SLOT_NUMBER_AT 56
#define SLOTS_SPARE 4096

#define ARGUMENTS 6

struct record {
    u32 kind, number;
    u64 begin_ns, took_ns, thread, result;
    u64 arguments[ARGUMENTS];
};

struct record_with_paths {
    struct record record;
    char paths[2][PATH_BYTES];
};

/* Bytes of a record, and with so many paths. */
#define RECORD_BYTES 88
#define BYTES_WITH(paths) (RECORD_BYTES + (paths) * PATH_BYTES)
_Static_assert(sizeof(struct record) == RECORD_BYTES, "");

/* The record of a request to a device. */
#define BLOCK_RECORD_BYTES 56
struct block_record {
    u32 kind, device;
    u64 begin_ns, took_ns, thread, result;
    union {
        struct {
            u64 sectors;
            u32 operation, flags;
        };
        struct {
            u64 sector;
            u32 length, operation_of_bio;
        };
        char command[COMMAND_BYTES];
    };
};
_Static_assert(sizeof(struct block_record) == BLOCK_RECORD_BYTES, "");

/* Records that have not been read: a quarter of a million. Those for which there is no room are counted. */
struct {
    NUMBER(type, MAP_RING);
    NUMBER(max_entries, 32 << 20);
} ring SECTION(".maps");

const char license_of_programs[] SECTION("license") = "Dual MIT/GPL";

#endif
