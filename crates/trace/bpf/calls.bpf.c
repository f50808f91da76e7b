/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Records the system calls of processes, at each call, fork and op of io_uring.
 *
 * When a call begins, only the time is kept. When it ends, its number and arguments are still in the registers of the
 * thread, so that one record has it all. Paths are read then, because the call itself has brought them into memory.
 */
#include "record.h"

/* Threads whose calls can be told apart for sure. */
#define BEGUN_MAX (1 << 18)

/* Ops of a call of libaio that are read. */
#define BATCH_MAX 64

/* Bytes of a request of io_uring that are read: all ops describe themselves within them. */
#define REQUEST_BYTES 128

/* Set before the programs are loaded: by call, which of the above. */
const volatile u8 calls[CALLS_MAX];

/* The call that a thread is in, or a begin of 0. */
struct begun {
    u64 thread, begin_ns;
    u32 number, paths;
    u64 unused;
};

/* Tables instead of hashes: a hash for each of the two would take 40 % of what recording a call costs. */
struct tables {
    /* By the lower bits of a thread's number. */
    struct begun begun[BEGUN_MAX];
    /* By process: 1 for those that are recorded. */
    u8 processes[PROCESSES_MAX];
    u64 lost;
};
_Static_assert(__builtin_offsetof(struct tables, processes) == PROCESSES_AT, "");
_Static_assert(__builtin_offsetof(struct tables, lost) == CALLS_LOST_AT, "");
_Static_assert(sizeof(struct tables) == CALL_TABLES_BYTES, "");

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(max_entries, 1);
    NUMBER(map_flags, MAPPABLE);
    TYPE(key, u32);
    TYPE(value, struct tables);
} tables SECTION(".maps");

/* By request of io_uring: when it was submitted. */
struct {
    NUMBER(type, MAP_LRU_HASH);
    NUMBER(max_entries, 1 << 16);
    TYPE(key, u64);
    TYPE(value, u64);
} requests SECTION(".maps");

INLINE struct tables *the_tables(void)
{
    u32 first = 0;
    return map_lookup(&tables, &first);
}

INLINE u8 *flag_of(struct tables *shared, u32 process)
{
    return &shared->processes[process & (PROCESSES_MAX - 1)];
}

INLINE int lost(struct tables *shared)
{
    __sync_fetch_and_add(&shared->lost, 1);
    return 0;
}

INLINE int done(void *record)
{
    ring_submit(record, NO_WAKEUP);
    return 0;
}

/* Fills in all but begin, duration and result. */
INLINE void fill(struct record *record, u32 kind, u32 number, u64 thread, u64 argument)
{
    record->kind = kind;
    record->number = number;
    record->thread = thread;
    record->arguments[0] = argument;
#pragma unroll
    for (int place = 1; place < ARGUMENTS; place++)
        record->arguments[place] = 0;
}

SECTION("tp_btf/sys_enter")
int call_begins(u64 *context)
{
    u64 thread = current_thread();
    struct tables *shared = the_tables();
    if (!shared || !*flag_of(shared, thread >> 32))
        return 0;
    u64 number = context[1];
    if (number >= CALLS_MAX)
        return 0;
    u32 paths = calls[number];
    if (!paths)
        return 0;
    struct begun *begun = &shared->begun[thread & (BEGUN_MAX - 1)];
    ONCE(begun);
    begun->thread = thread;
    begun->number = number;
    begun->paths = paths;
    begun->begin_ns = clock_ns();
    return 0;
}

/* A call that ends. */
struct ending {
    u64 thread, begin_ns;
    s64 result;
    u32 number;
    struct pt_regs *registers;
};

INLINE void fill_call(struct record *record, const struct ending *call)
{
    record->kind = CALL;
    record->number = call->number;
    record->begin_ns = call->begin_ns;
    record->took_ns = clock_ns() - call->begin_ns;
    record->thread = call->thread;
    record->result = call->result;
    record->arguments[0] = call->registers->di;
    record->arguments[1] = call->registers->si;
    record->arguments[2] = call->registers->dx;
    record->arguments[3] = call->registers->r10;
    record->arguments[4] = call->registers->r8;
    record->arguments[5] = call->registers->r9;
}

INLINE int without_path(struct tables *shared, const struct ending *call)
{
    struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
    if (!record)
        return lost(shared);
    fill_call(record, call);
    return done(record);
}

INLINE int with_path(struct tables *shared, const struct ending *call, u32 paths)
{
    struct record_with_paths *record = ring_reserve(&ring, BYTES_WITH(1), 0);
    if (!record)
        return lost(shared);
    fill_call(&record->record, call);
    u64 path = record->record.arguments[0];
    if (paths == SECOND)
        path = record->record.arguments[1];
    if (paths == THIRD)
        path = record->record.arguments[2];
    read_user_text(record->paths[0], PATH_BYTES, (void *)path);
    return done(record);
}

INLINE int with_two_paths(struct tables *shared, const struct ending *call, u32 paths)
{
    struct record_with_paths *record = ring_reserve(&ring, BYTES_WITH(2), 0);
    if (!record)
        return lost(shared);
    fill_call(&record->record, call);
    u64 from = record->record.arguments[0], to = record->record.arguments[1];
    if (paths == SECOND_AND_FOURTH) {
        from = record->record.arguments[1];
        to = record->record.arguments[3];
    }
    read_user_text(record->paths[0], PATH_BYTES, (void *)from);
    read_user_text(record->paths[1], PATH_BYTES, (void *)to);
    return done(record);
}

/* Another program begins: its name is in the place of a path. */
INLINE int with_command(struct tables *shared, const struct ending *call)
{
    struct record_with_paths *record = ring_reserve(&ring, BYTES_WITH(1), 0);
    if (!record)
        return lost(shared);
    fill_call(&record->record, call);
    current_command(record->paths[0], COMMAND_BYTES);
    return done(record);
}

/*
 * A call of io_uring_register(2). For a list of files, the first place is in the fourth argument, their number in the
 * third, and their descriptors are in the place of paths.
 */
INLINE int with_registered_files(struct tables *shared, const struct ending *call)
{
    struct record_with_paths *record = ring_reserve(&ring, BYTES_WITH(1), 0);
    if (!record)
        return lost(shared);
    fill_call(&record->record, call);
    u64 list = record->record.arguments[2], count = 0, first = 0, descriptors = 0;
    struct files_register registered;
    struct files_update update;
    /* Source: linux/io_uring.h, `enum io_uring_register_op`. */
    switch (record->record.arguments[1]) {
    case 2: /* IORING_REGISTER_FILES */
        descriptors = list;
        count = record->record.arguments[3];
        break;
    case 6: /* IORING_REGISTER_FILES_UPDATE */
        read_user(&update, sizeof(update), (void *)list);
        first = update.first;
        descriptors = update.descriptors;
        count = record->record.arguments[3];
        break;
    case 13: /* IORING_REGISTER_FILES2 */
        read_user(&registered, sizeof(registered), (void *)list);
        descriptors = registered.descriptors;
        count = registered.count;
        break;
    case 14: /* IORING_REGISTER_FILES_UPDATE2 */
        read_user(&update, sizeof(update), (void *)list);
        first = update.first;
        descriptors = update.descriptors;
        count = update.count;
        break;
    }
    if (count > PATH_BYTES / 4)
        count = PATH_BYTES / 4;
    record->record.arguments[3] = count;
    record->record.arguments[4] = first;
    read_user(record->paths[0], count * 4, (void *)descriptors);
    return done(record);
}

/* A record for each op that a call of libaio was given. */
INLINE int submitted_by_libaio(struct tables *shared, const struct ending *call)
{
    u64 list = call->registers->dx;
#pragma clang loop unroll(disable)
    for (u32 number = 0; number < BATCH_MAX; number++) {
        if (number >= call->result)
            return 0;
        u64 place = 0;
        struct iocb block;
        read_user(&place, sizeof(place), (void *)(list + 8 * number));
        read_user(&block, sizeof(block), (void *)place);
        struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
        if (!record)
            return lost(shared);
        fill(record, SUBMITTED, LIBAIO, call->thread, block.descriptor);
        record->begin_ns = call->begin_ns;
        record->took_ns = block.opcode_and_priority;
        record->result = place;
        record->arguments[2] = block.length;
        record->arguments[3] = block.offset;
        ring_submit(record, NO_WAKEUP);
    }
    return call->result > BATCH_MAX ? lost(shared) : 0;
}

/* A record for each op of libaio that a call says has ended. */
INLINE int ended_by_libaio(struct tables *shared, const struct ending *call)
{
    u64 list = call->registers->r10;
#pragma clang loop unroll(disable)
    for (u32 number = 0; number < BATCH_MAX; number++) {
        if (number >= call->result)
            return 0;
        struct io_event event;
        read_user(&event, sizeof(event), (void *)(list + sizeof(event) * number));
        struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
        if (!record)
            return lost(shared);
        fill(record, ENDED, LIBAIO, call->thread, event.result);
        record->begin_ns = clock_ns();
        record->took_ns = 0;
        record->result = event.object;
        ring_submit(record, NO_WAKEUP);
    }
    return call->result > BATCH_MAX ? lost(shared) : 0;
}

/* Calls of which more is read than their arguments: a function of its own, so that the others are short. */
static __attribute__((noinline)) int more_than_arguments(struct tables *shared, const struct ending *call, u32 paths)
{
    if (!shared || !call)
        return 0;
    switch (paths) {
    case FIRST_AND_SECOND:
    case SECOND_AND_FOURTH:
        return with_two_paths(shared, call, paths);
    case SUBMITS:
        return submitted_by_libaio(shared, call);
    case REAPS:
        return ended_by_libaio(shared, call);
    case REGISTERS:
        return with_registered_files(shared, call);
    case COMMAND:
        return with_command(shared, call);
    default:
        return with_path(shared, call, paths);
    }
}

SECTION("tp_btf/sys_exit")
int call_ends(u64 *context)
{
    u64 thread = current_thread();
    struct tables *shared = the_tables();
    if (!shared || !*flag_of(shared, thread >> 32))
        return 0;
    struct begun *begun = &shared->begun[thread & (BEGUN_MAX - 1)];
    u64 begin_ns = begun->begin_ns;
    if (!begin_ns)
        return 0;
    /* Two threads that share a place and are in a call at once: one of the calls is lost. */
    if (begun->thread != thread)
        return lost(shared);
    begun->begin_ns = 0;
    u32 paths = begun->paths;
    struct ending call = {
        .thread = thread,
        .begin_ns = begin_ns,
        .result = context[1],
        .number = begun->number,
        .registers = (void *)context[0],
    };
    if (__builtin_expect(paths == NO_PATH, 1))
        return without_path(shared, &call);
    struct ending copy = call;
    return more_than_arguments(shared, &copy, paths);
}

/* A child is recorded from its first call on. */
SECTION("tp_btf/sched_process_fork")
int forks(u64 *context)
{
    u64 thread = current_thread();
    struct tables *shared = the_tables();
    if (!shared)
        return 0;
    u8 flag = *flag_of(shared, thread >> 32);
    u32 child = ((struct task_struct *)context[1])->pid;
    /* The number may have been that of a process that was recorded and is gone. */
    *flag_of(shared, child) = flag;
    if (!flag)
        return 0;
    struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
    if (!record)
        return lost(shared);
    fill(record, FORK, 0, thread, 0);
    record->begin_ns = clock_ns();
    record->took_ns = child;
    record->result = 0;
    return done(record);
}

/* A request of io_uring that is submitted, with a copy of what it begins with. */
struct request_copy {
    u8 bytes[REQUEST_BYTES] __attribute__((aligned(8)));
};

/* A field of the copy. */
#define COPIED(type, copy, structure, field) (*(type *)((copy)->bytes + OFFSET(structure, field)))

/* The record of an op: its code in the place of the duration, with the request's flags above; the ring behind the arguments. */
INLINE void fill_request(struct record *record, struct io_kiocb *request, u64 thread, u64 begin_ns, u32 argument)
{
    fill(record, SUBMITTED, 0, thread, argument);
    record->begin_ns = begin_ns;
    record->took_ns = request->opcode | request->flags << 32;
    record->result = (u64)request;
    record->arguments[5] = (u64)request->ctx;
}

/* The kernel has copied the path, and keeps where it is. */
INLINE void copy_name(char *to, struct filename *name)
{
    const char *text = 0;
    read_kernel(&text, sizeof(text), &name->name);
    read_kernel_text(to, PATH_BYTES, text);
}

/* Reserves a record with so many paths for an op, whose first argument is this, and returns from the program if there is no room. */
#define RECORD_OF_OP(paths, argument)                                                   \
    struct record_with_paths *with_paths = ring_reserve(&ring, BYTES_WITH(paths), 0);    \
    if (!with_paths)                                                                     \
        return lost(shared);                                                             \
    struct record *record = &with_paths->record;                                         \
    fill_request(record, request, thread, begin_ns, argument)

/* Codes of ops. Source: linux/io_uring.h, `enum io_uring_op`. */
enum {
    READV = 1,
    WRITEV = 2,
    FSYNC = 3,
    READ_FIXED = 4,
    WRITE_FIXED = 5,
    SYNC_FILE_RANGE = 8,
    FALLOCATE = 17,
    OPENAT = 18,
    CLOSE = 19,
    STATX = 21,
    READ = 22,
    WRITE = 23,
    OPENAT2 = 28,
    RENAMEAT = 35,
    UNLINKAT = 36,
    MKDIRAT = 37,
    LINKAT = 39,
    FTRUNCATE = 55,
};

/*
 * Makes a record of a request of io_uring. Arguments have the places that they have in the call that does the same. What
 * this kernel does not have, or has in another structure, is left out.
 */
INLINE int record_request(struct tables *shared, struct io_kiocb *request, u64 thread, u64 begin_ns)
{
    struct request_copy copy;
    read_kernel(&copy, sizeof(copy), request);
    switch (request->opcode) {
    case OPENAT:
    case OPENAT2: {
        if (!EXISTS(io_open, filename))
            return 0;
        RECORD_OF_OP(1, COPIED(u32, &copy, io_open, dfd));
        record->arguments[2] = COPIED(u64, &copy, io_open, how.flags);
        record->arguments[3] = COPIED(u64, &copy, io_open, how.mode);
        record->arguments[4] = COPIED(u32, &copy, io_open, file_slot);
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_open, filename));
        return done(record);
    }
    case CLOSE: {
        RECORD_OF_OP(0, COPIED(u32, &copy, io_close, fd));
        record->arguments[4] = COPIED(u32, &copy, io_close, file_slot);
        return done(record);
    }
    case STATX: {
        if (!EXISTS(io_statx, filename))
            return 0;
        RECORD_OF_OP(1, COPIED(u32, &copy, io_statx, dfd));
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_statx, filename));
        return done(record);
    }
    case RENAMEAT: {
        if (!EXISTS(io_rename, oldpath))
            return 0;
        RECORD_OF_OP(2, COPIED(u32, &copy, io_rename, old_dfd));
        record->arguments[2] = COPIED(u32, &copy, io_rename, new_dfd);
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_rename, oldpath));
        copy_name(with_paths->paths[1], COPIED(struct filename *, &copy, io_rename, newpath));
        return done(record);
    }
    case UNLINKAT: {
        if (!EXISTS(io_unlink, filename))
            return 0;
        RECORD_OF_OP(1, COPIED(u32, &copy, io_unlink, dfd));
        record->arguments[2] = COPIED(u32, &copy, io_unlink, flags);
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_unlink, filename));
        return done(record);
    }
    case MKDIRAT: {
        if (!EXISTS(io_mkdir, filename))
            return 0;
        RECORD_OF_OP(1, COPIED(u32, &copy, io_mkdir, dfd));
        record->arguments[2] = COPIED(u16, &copy, io_mkdir, mode);
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_mkdir, filename));
        return done(record);
    }
    case LINKAT: {
        if (!EXISTS(io_link, oldpath))
            return 0;
        RECORD_OF_OP(2, COPIED(u32, &copy, io_link, old_dfd));
        record->arguments[2] = COPIED(u32, &copy, io_link, new_dfd);
        copy_name(with_paths->paths[0], COPIED(struct filename *, &copy, io_link, oldpath));
        copy_name(with_paths->paths[1], COPIED(struct filename *, &copy, io_link, newpath));
        return done(record);
    }
    case SYNC_FILE_RANGE: {
        RECORD_OF_OP(0, request->cqe.fd);
        record->arguments[1] = COPIED(u64, &copy, io_sync, off);
        record->arguments[2] = COPIED(u64, &copy, io_sync, len);
        return done(record);
    }
    case FALLOCATE: {
        RECORD_OF_OP(0, request->cqe.fd);
        record->arguments[1] = COPIED(u32, &copy, io_sync, mode);
        record->arguments[2] = COPIED(u64, &copy, io_sync, off);
        record->arguments[3] = COPIED(u64, &copy, io_sync, len);
        return done(record);
    }
    case FTRUNCATE: {
        if (!EXISTS(io_ftrunc, len))
            return 0;
        RECORD_OF_OP(0, request->cqe.fd);
        record->arguments[1] = COPIED(u64, &copy, io_ftrunc, len);
        return done(record);
    }
    default: {
        RECORD_OF_OP(0, request->cqe.fd);
        record->arguments[2] = COPIED(u32, &copy, io_rw, len);
        record->arguments[3] = COPIED(u64, &copy, io_rw, kiocb.ki_pos);
        record->arguments[4] = COPIED(u32, &copy, io_sync, flags);
        return done(record);
    }
    }
}

/* A bit for each op whose end is waited for. */
#define BIT(code) (1ull << (code))
#define KNOWN_OPS                                                                                                        \
    (BIT(READV) | BIT(WRITEV) | BIT(FSYNC) | BIT(READ_FIXED) | BIT(WRITE_FIXED) | BIT(READ) | BIT(WRITE) |               \
     BIT(SYNC_FILE_RANGE) | BIT(FALLOCATE) | BIT(OPENAT) | BIT(OPENAT2) | BIT(CLOSE) | BIT(STATX) | BIT(RENAMEAT) |       \
     BIT(UNLINKAT) | BIT(MKDIRAT) | BIT(LINKAT) | BIT(FTRUNCATE))

SECTION("tp_btf/io_uring_submit_req")
int ring_begins(u64 *context)
{
    u64 thread = current_thread();
    struct tables *shared = the_tables();
    if (!shared || !*flag_of(shared, thread >> 32))
        return 0;
    struct io_kiocb *request = (void *)context[0];
    u8 opcode = request->opcode;
    if (opcode > 63 || !(KNOWN_OPS >> opcode & 1))
        return 0;
    u64 key = (u64)request, begin_ns = clock_ns();
    map_update(&requests, &key, &begin_ns, 0);
    return record_request(shared, request, thread, begin_ns);
}

/* Makes a record of the end of a request, if its beginning has one. */
INLINE int ring_ended(u64 key, s32 result)
{
    u64 *begin_ns = map_lookup(&requests, &key);
    if (!begin_ns || !*begin_ns)
        return 0;
    *begin_ns = 0;
    struct tables *shared = the_tables();
    struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
    if (!record)
        return shared ? lost(shared) : 0;
    fill(record, ENDED, 0, 0, (u32)result);
    record->begin_ns = clock_ns();
    record->took_ns = 0;
    record->result = key;
    return done(record);
}

/* The kernel hands over the result within the completion: since Linux 6.17 or so. */
SECTION("tp_btf/io_uring_complete")
int ring_ends(u64 *context)
{
    return ring_ended(context[1], ((struct io_uring_cqe *)context[2])->res);
}

/* Before, it handed over the result as the fourth argument. */
SECTION("tp_btf/io_uring_complete")
int ring_ends_formerly(u64 *context)
{
    return ring_ended(context[1], context[3]);
}

/* Which ring the thread's next call of io_uring_register(2) is about. */
SECTION("tp_btf/io_uring_register")
int ring_registers(u64 *context)
{
    u64 thread = current_thread();
    struct tables *shared = the_tables();
    if (!shared || !*flag_of(shared, thread >> 32))
        return 0;
    struct record *record = ring_reserve(&ring, BYTES_WITH(0), 0);
    if (!record)
        return lost(shared);
    fill(record, REGISTERED, 0, thread, 0);
    record->begin_ns = 0;
    record->took_ns = 0;
    record->result = context[0];
    return done(record);
}
