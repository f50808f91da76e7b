/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * What the programs need of the kernel: helper functions, map attributes, and those fields of its structures that are read.
 *
 * Fields of the kernel's own structures are found by name when a program is loaded (CO-RE): their order and the fields
 * between them do not matter here.
 */
#ifndef PLUMB_KERNEL_H
#define PLUMB_KERNEL_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define INLINE static inline __attribute__((always_inline))
#define SECTION(name) __attribute__((section(name), used))

/*
 * Has the compiler compute a pointer once. It would add a far field's distance for each field that is used, because
 * instructions have 16 bits for it.
 */
#define ONCE(pointer) __asm__ volatile("" : "+r"(pointer))

/* Attributes of a map, which loaders read from the types of its members. */
#define NUMBER(name, value) int(*name)[value]
#define TYPE(name, value) typeof(value) *name

/* Source: linux/bpf.h, `enum bpf_map_type`, BPF_F_MMAPABLE and BPF_RB_NO_WAKEUP. */
#define MAP_ARRAY 2
#define MAP_LRU_HASH 9
#define MAP_RING 27
#define MAPPABLE (1 << 10)
#define NO_WAKEUP 1

/* Source: linux/bpf.h, `enum bpf_func_id`. */
static void *(*const map_lookup)(void *map, const void *key) = (void *)1;
static long (*const map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const clock_ns)(void) = (void *)5;
static u64 (*const current_thread)(void) = (void *)14;
static long (*const current_command)(void *to, u32 bytes) = (void *)16;
static long (*const read_user)(void *to, u32 bytes, const void *from) = (void *)112;
static long (*const read_kernel)(void *to, u32 bytes, const void *from) = (void *)113;
static long (*const read_user_text)(void *to, u32 bytes, const void *from) = (void *)114;
static long (*const read_kernel_text)(void *to, u32 bytes, const void *from) = (void *)115;
static void *(*const ring_reserve)(void *ring, u64 bytes, u64 flags) = (void *)131;
static void (*const ring_submit)(void *record, u64 flags) = (void *)132;

/* Whether the running kernel has a field, and how many bytes from the start of its structure. Both are constants to its verifier. */
#define EXISTS(structure, field) __builtin_preserve_field_info(((struct structure *)0)->field, 2)
#define OFFSET(structure, field) __builtin_preserve_field_info(((struct structure *)0)->field, 0)

/* The value that the running kernel gives a name of an enumeration. */
#define VALUE(enumeration, name) __builtin_preserve_enum_value(*(typeof(enum enumeration) *)name, 1)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Registers of a thread on x86-64 that hold the arguments of a call. */
struct pt_regs {
    unsigned long r10, r9, r8, dx, si, di;
};

struct task_struct {
    s32 pid;
};

/* The block layer. */
struct gendisk {
    s32 major, first_minor;
};

struct block_device {
    struct gendisk *bd_disk;
};

struct bvec_iter {
    u64 bi_sector;
    u32 bi_size;
};

struct bio {
    struct block_device *bi_bdev;
    u32 bi_opf;
    u8 bi_status;
    struct bvec_iter bi_iter;
};

struct request_queue {
    struct gendisk *disk;
};

struct request {
    struct request_queue *q;
    u64 __sector;
};

enum req_flag_bits { __REQ_META, __REQ_FUA, __REQ_PREFLUSH, __REQ_RAHEAD };

/* io_uring: a request begins with what its op is about, in a structure of that op. Source: io_uring/ of Linux. */
struct io_ring_ctx;

struct io_cqe {
    s32 fd;
};

struct io_kiocb {
    u8 opcode;
    u64 flags;
    struct io_cqe cqe;
    struct io_ring_ctx *ctx;
};

struct io_uring_cqe {
    s32 res;
};

struct filename {
    const char *name;
};

struct kiocb {
    s64 ki_pos;
};

struct io_rw {
    struct kiocb kiocb;
    u32 len;
};

struct io_sync {
    s64 len, off;
    s32 flags, mode;
};

struct open_how {
    u64 flags, mode;
};

struct io_open {
    s32 dfd;
    u32 file_slot;
    struct filename *filename;
    struct open_how how;
};

struct io_close {
    s32 fd;
    u32 file_slot;
};

struct io_statx {
    s32 dfd;
    struct filename *filename;
};

struct io_rename {
    s32 old_dfd, new_dfd;
    struct filename *oldpath, *newpath;
};

struct io_unlink {
    s32 dfd, flags;
    struct filename *filename;
};

struct io_mkdir {
    s32 dfd;
    u16 mode;
    struct filename *filename;
};

struct io_link {
    s32 old_dfd, new_dfd;
    struct filename *oldpath, *newpath;
};

struct io_ftrunc {
    s64 len;
};

#pragma clang attribute pop

/* Structures that programs and the kernel hand each other, which do not change. Source: linux/aio_abi.h, linux/io_uring.h. */
struct iocb {
    u64 data;
    u32 key, rw_flags;
    u32 opcode_and_priority;
    u32 descriptor;
    u64 buffer, length;
    s64 offset;
    u64 unused;
    u32 flags, eventfd;
};

struct io_event {
    u64 data, object;
    s64 result, result2;
};

/* Of io_uring_register(2): `io_uring_files_update` and `io_uring_rsrc_update2`. */
struct files_update {
    u32 first, unused;
    u64 descriptors, tags;
    u32 count, unused2;
};

/* `io_uring_rsrc_register`. */
struct files_register {
    u32 count, flags;
    u64 unused, descriptors, tags;
};

#endif
