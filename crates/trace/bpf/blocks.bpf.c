/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * Records requests to block devices, from the kernel's own structures: to make the event of a tracepoint, which others
 * read, takes longer than all that a program does with it.
 */
#include "record.h"

/* Threads whose names are known to be known. */
#define NAMED_MAX (1 << 12)

/* Set before the programs are loaded: numbers of devices, major << 20 | minor. */
const volatile u32 devices[DEVICES_MAX];
const volatile u32 devices_count;

/* A bio that is not complete. */
struct kept {
    u64 number, begin_ns, thread, sector;
    u32 length, operation, device, unused;
    u64 unused2[2];
};

/* A record of a whole request, and one more than its number. */
struct slot {
    struct block_record record;
    u64 number;
};

struct tables {
    /* The next slot that will be written and, in a cache line of its own, the next that will be read. */
    u64 to_write, unused[7], to_read, unused2[7];
    /* Lost records, and the bits of this kernel's operations, which are set before the first record is made. */
    u64 lost, bits[2], unused3[5];
    /* By the lower bits of a thread's number: the thread. */
    u64 named[NAMED_MAX];
    /* By the number of a bio. */
    struct kept kept[KEPT_MAX];
    /* A ring without a lock: to take a slot is one instruction. */
    struct slot slots[SLOTS_MAX];
};
_Static_assert(__builtin_offsetof(struct tables, to_read) == TO_READ_AT, "");
_Static_assert(__builtin_offsetof(struct tables, lost) == REQUESTS_LOST_AT, "");
_Static_assert(__builtin_offsetof(struct tables, bits) == BITS_AT, "");
_Static_assert(__builtin_offsetof(struct tables, kept) == KEPT_AT && sizeof(struct kept) == KEPT_BYTES, "");
_Static_assert(__builtin_offsetof(struct tables, slots) == SLOTS_AT && sizeof(struct slot) == SLOT_BYTES, "");
_Static_assert(__builtin_offsetof(struct slot, number) == SLOT_NUMBER_AT, "");
_Static_assert(sizeof(struct tables) == REQUEST_TABLES_BYTES, "");

struct {
    NUMBER(type, MAP_ARRAY);
    NUMBER(max_entries, 1);
    NUMBER(map_flags, MAPPABLE);
    TYPE(key, u32);
    TYPE(value, struct tables);
} tables SECTION(".maps");

INLINE struct tables *the_tables(void)
{
    u32 first = 0;
    return map_lookup(&tables, &first);
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

INLINE u32 number_of(struct gendisk *disk)
{
    return disk->major << 20 | disk->first_minor;
}

/* They are compared one by one: they are few, and to look one up in a map takes longer. */
INLINE int is_recorded(u32 device)
{
    if (device == devices[0])
        return 1;
#pragma clang loop unroll(disable)
    for (u32 place = 1; place < DEVICES_MAX; place++) {
        if (place >= devices_count)
            return 0;
        if (device == devices[place])
            return 1;
    }
    return 0;
}

INLINE struct block_record *reserve(u32 kind, u32 device)
{
    struct block_record *record = ring_reserve(&ring, sizeof(*record), 0);
    if (record) {
        record->kind = kind;
        record->device = device;
        record->begin_ns = clock_ns();
        record->thread = current_thread();
    }
    return record;
}

/* Names what a thread runs, unless that was done: whoever reads about it later may find it gone. */
INLINE void name(struct tables *shared, u64 thread)
{
    u64 *named = &shared->named[thread & (NAMED_MAX - 1)];
    if (*named == thread)
        return;
    *named = thread;
    shared->bits[1] = 1ull << VALUE(req_flag_bits, __REQ_RAHEAD) | 1ull << (32 + VALUE(req_flag_bits, __REQ_META));
    /* The reader looks at the first of them. Processors of this kind store in order. */
    __asm__ volatile("" ::: "memory");
    shared->bits[0] = 1ull << VALUE(req_flag_bits, __REQ_PREFLUSH) | 1ull << (32 + VALUE(req_flag_bits, __REQ_FUA));
    struct block_record *record = ring_reserve(&ring, sizeof(*record), 0);
    if (!record)
        return;
    record->kind = NAMED;
    record->device = 0;
    record->begin_ns = 0;
    record->took_ns = 0;
    record->thread = thread;
    record->result = 0;
    current_command(record->command, COMMAND_BYTES);
    ring_submit(record, NO_WAKEUP);
}

SECTION("tp_btf/block_bio_queue")
int bio_queued(u64 *context)
{
    struct bio *bio = (void *)context[0];
    u32 device = number_of(bio->bi_bdev->bd_disk);
    if (!is_recorded(device))
        return 0;
    struct tables *shared = the_tables();
    if (!shared)
        return 0;
    name(shared, current_thread());
    struct block_record *record = reserve(QUEUED, device);
    if (!record)
        return lost(shared);
    record->took_ns = bio->bi_iter.bi_sector;
    record->sectors = bio->bi_iter.bi_size >> 9;
    record->result = 0;
    record->operation = bio->bi_opf;
    record->flags = FROM_STRUCTURES;
    return done(record);
}

INLINE int completed(u32 device, u64 sector, u32 bytes, u8 status)
{
    struct block_record *record = reserve(COMPLETED, device);
    if (!record) {
        struct tables *shared = the_tables();
        return shared ? lost(shared) : 0;
    }
    record->took_ns = sector;
    record->sectors = bytes >> 9;
    record->result = status;
    record->operation = 0;
    record->flags = FROM_STRUCTURES;
    return done(record);
}

SECTION("tp_btf/block_rq_complete")
int request_completed(u64 *context)
{
    struct request *request = (void *)context[0];
    u32 device = number_of(request->q->disk);
    return is_recorded(device) ? completed(device, request->__sector, context[2], context[1]) : 0;
}

/* Bios of devices with request queues have no length any more when they are complete. */
SECTION("tp_btf/block_bio_complete")
int bio_completed(u64 *context)
{
    struct bio *bio = (void *)context[1];
    u32 device = number_of(bio->bi_bdev->bd_disk);
    return is_recorded(device) ? completed(device, bio->bi_iter.bi_sector, bio->bi_iter.bi_size, bio->bi_status) : 0;
}

/*
 * Of devices without request queues, a bio is all that there is of a request, from its begin to its end: it is complete
 * when all that it was split into is.
 *
 * A bio is known by how far it is from the tables, which stay where they are: programs may subtract the kernel's pointers,
 * and not shift them.
 */
INLINE u64 number_of_bio(struct tables *shared, struct bio *bio)
{
    return (u64)bio - (u64)shared;
}

INLINE struct kept *place_of(struct tables *shared, u64 number)
{
    return &shared->kept[number >> 6 & (KEPT_MAX - 1)];
}

/* Keeps what the request is. Where the place is taken, a record says so instead. */
SECTION("tp_btf/block_bio_queue")
int bio_begins(u64 *context)
{
    struct bio *bio = (void *)context[0];
    u32 device = number_of(bio->bi_bdev->bd_disk);
    if (!is_recorded(device))
        return 0;
    struct tables *shared = the_tables();
    if (!shared)
        return 0;
    u64 thread = current_thread();
    name(shared, thread);
    u64 number = number_of_bio(shared, bio);
    struct kept *kept = place_of(shared, number);
    ONCE(kept);
    if (kept->number == 0 || kept->number == number) {
        kept->number = number;
        kept->begin_ns = clock_ns();
        kept->thread = thread;
        kept->sector = bio->bi_iter.bi_sector;
        kept->length = bio->bi_iter.bi_size;
        kept->operation = bio->bi_opf;
        kept->device = device;
        return 0;
    }
    struct block_record *record = reserve(BIO_BEGAN, device);
    if (!record)
        return lost(shared);
    record->took_ns = 0;
    record->result = number;
    record->sector = bio->bi_iter.bi_sector;
    record->length = bio->bi_iter.bi_size;
    record->operation_of_bio = bio->bi_opf;
    return done(record);
}

INLINE int ended_apart(struct tables *shared, struct bio *bio, u64 number)
{
    u32 device = number_of(bio->bi_bdev->bd_disk);
    if (!is_recorded(device))
        return 0;
    struct block_record *record = reserve(BIO_ENDED, device);
    if (!record)
        return lost(shared);
    record->took_ns = bio->bi_status;
    record->result = number;
    record->sector = 0;
    record->length = 0;
    record->operation_of_bio = 0;
    return done(record);
}

/* Makes a record of the whole request. */
SECTION("tp_btf/block_bio_complete")
int bio_ends(u64 *context)
{
    struct bio *bio = (void *)context[1];
    struct tables *shared = the_tables();
    if (!shared)
        return 0;
    u64 number = number_of_bio(shared, bio);
    struct kept *kept = place_of(shared, number);
    ONCE(kept);
    if (kept->number != number)
        return ended_apart(shared, bio, number);
    u8 status = bio->bi_status;
    kept->number = 0;
    u64 now_ns = clock_ns();
    if (shared->to_write - shared->to_read > SLOTS_MAX - SLOTS_SPARE)
        return lost(shared);
    u64 taken = __sync_fetch_and_add(&shared->to_write, 1);
    struct slot *slot = &shared->slots[taken & (SLOTS_MAX - 1)];
    ONCE(slot);
    slot->record.kind = BIO;
    slot->record.device = kept->device;
    slot->record.begin_ns = kept->begin_ns;
    slot->record.took_ns = now_ns - kept->begin_ns;
    slot->record.thread = kept->thread;
    slot->record.result = status;
    slot->record.sector = kept->sector;
    slot->record.length = kept->length;
    slot->record.operation_of_bio = kept->operation;
    /* Processors of this kind store in order, so that whoever sees the number sees the record. */
    __asm__ volatile("" ::: "memory");
    slot->number = taken + 1;
    return 0;
}
