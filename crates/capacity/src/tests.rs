//! Simulated storage that lies about its size, in memory.

use crate::{BLOCK_BYTES, Medium, Verdict, check, probe};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::io;

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    None,
    /// Addresses wrap around after the real end.
    Wraps,
    /// Data written past the real end is lost.
    Drops,
    /// Data written past the real end is lost, but a cache serves the last blocks written.
    Caches {
        blocks: usize,
    },
    /// Accesses to one block fail.
    Fails {
        at: u64,
    },
    /// One byte of one block changes.
    Damages {
        at: u64,
    },
    /// One write lands at another offset, once.
    Misdirects {
        from: u64,
        to: u64,
    },
}

struct Liar {
    claims: u64,
    real: u64,
    lie: Lie,
    blocks: HashMap<u64, Vec<u8>>,
    cached: VecDeque<(u64, Vec<u8>)>,
}

impl Liar {
    fn new(claims: u64, real: u64, lie: Lie) -> Liar {
        Liar { claims, real, lie, blocks: HashMap::new(), cached: VecDeque::new() }
    }
}

fn blocks_of(offset: u64, length: usize) -> impl Iterator<Item = u64> {
    (offset..offset + length as u64).step_by(BLOCK_BYTES as usize)
}

impl Medium for Liar {
    fn bytes(&self) -> u64 {
        self.claims
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        for (at, block) in blocks_of(offset, data.len()).zip(data.chunks(BLOCK_BYTES as usize)) {
            assert!(at + BLOCK_BYTES <= self.claims, "a write at {at} of {}", self.claims);
            let at = if self.lie == Lie::Wraps { at % self.real } else { at };
            let mut block = block.to_vec();
            match self.lie {
                Lie::Fails { at: bad } if at == bad => return Err(io::ErrorKind::Other.into()),
                Lie::Damages { at: bad } if at == bad => block[100] ^= 1,
                Lie::Misdirects { from, to } if at == from => {
                    self.lie = Lie::None;
                    self.blocks.insert(to, block);
                    continue;
                }
                Lie::Caches { blocks } => {
                    self.cached.push_back((at, block.clone()));
                    if self.cached.len() > blocks {
                        self.cached.pop_front();
                    }
                }
                _ => {}
            }
            if at < self.real {
                self.blocks.insert(at, block);
            }
        }
        Ok(())
    }

    fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        for (at, block) in blocks_of(offset, data.len()).zip(data.chunks_mut(BLOCK_BYTES as usize)) {
            let at = if self.lie == Lie::Wraps { at % self.real } else { at };
            if (self.lie == Lie::Fails { at }) {
                return Err(io::ErrorKind::Other.into());
            }
            let cached = self.cached.iter().rev().find(|(place, _)| *place == at).map(|(_, block)| block);
            match cached.or(self.blocks.get(&at)) {
                Some(found) => block.copy_from_slice(found),
                None => block.fill(0),
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn check_verdict(claims: u64, real: u64, lie: Lie) -> Verdict {
    check(&mut Liar::new(claims, real, lie), 7, &mut |_| true).unwrap().tally.verdict()
}

fn probe_verdict(claims: u64, real: u64, lie: Lie) -> Verdict {
    probe(&mut Liar::new(claims, real, lie), 7, &mut || true).unwrap().verdict
}

// Protects: honest storage passes at any size.
#[test]
fn honest_storage_holds_what_it_claims() {
    for claims in [BLOCK_BYTES, MIB - BLOCK_BYTES, MIB, 3 * MIB + 4096, 40 * MIB + 511] {
        assert_eq!(check_verdict(claims, claims, Lie::None), Verdict::Holds, "{claims}");
        assert_eq!(probe_verdict(claims, claims, Lie::None), Verdict::Holds, "{claims}");
    }
    assert_eq!(probe_verdict(4 << 40, 4 << 40, Lie::None), Verdict::Holds);
}

// Protects: the probe detects sticks that claim 64 GB to 2 TB, with the chips that such sticks have, and finds their
// real size.
#[test]
fn the_probe_finds_likely_sizes() {
    for (claims, real) in
        [(64_000_000_000, 8 << 30), (2_000_000_000_000, 32 << 30), (128 << 30, 7 << 30), (64 << 30, 16_000_000_000)]
    {
        let (claims, real) = (claims / BLOCK_BYTES * BLOCK_BYTES, real / BLOCK_BYTES * BLOCK_BYTES);
        assert_eq!(
            probe_verdict(claims, real, Lie::Drops),
            Verdict::Ends { holds_bytes: real },
            "{claims} {real} drops"
        );
        let cached = Lie::Caches { blocks: 4096 };
        assert!(
            matches!(probe_verdict(claims, real, cached), Verdict::Ends { .. }),
            "{claims} {real} with a cache of 16 MiB"
        );
    }
    for (claims, real) in [(64_000_000_000, 8 << 30), (2_000_000_000_000, 32 << 30), (128 << 30, 7 << 30)] {
        assert_eq!(
            probe_verdict(claims, real, Lie::Wraps),
            Verdict::Wraps { holds_bytes: real },
            "{claims} {real} wraps"
        );
    }
}

// Protects: one bad block in good storage is reported as damage, not as the end of the storage.
#[test]
fn a_bad_block_is_damage() {
    for lie in [Lie::Fails { at: 5 * MIB }, Lie::Damages { at: 5 * MIB }] {
        assert_eq!(check_verdict(16 * MIB, 16 * MIB, lie), Verdict::Damaged { wrong_bytes: BLOCK_BYTES }, "{lie:?}");
    }
}

// Protects good storage: the probe and the full check report one misdirected write as damage, not as wrap-around.
#[test]
fn a_misdirected_write_is_damage() {
    let (claims, last) = (64 << 30, (64 << 30) - BLOCK_BYTES);
    let probed = probe_verdict(claims, claims, Lie::Misdirects { from: last, to: MIB });
    assert!(matches!(probed, Verdict::Damaged { .. }), "{probed:?}");
    for (from, to) in [(5 * MIB, 2 * MIB), (2 * MIB, 5 * MIB)] {
        let found = check_verdict(16 * MIB, 16 * MIB, Lie::Misdirects { from, to });
        assert!(matches!(found, Verdict::Damaged { .. }), "{found:?}");
    }
}

// Protects: misplaced blocks that an earlier check with another layout left are not taken for wrap-around.
#[test]
fn an_earlier_runs_blocks_elsewhere_are_old() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    check(&mut liar, 1, &mut |_| true).unwrap();
    let moved = liar.blocks.drain().map(|(at, block)| ((at + MIB) % (8 * MIB), block)).collect();
    (liar.blocks, liar.real) = (moved, 0);
    let tally = check(&mut liar, 2, &mut |_| true).unwrap().tally;
    assert_eq!((tally.old_bytes, tally.distance), (8 * MIB, None));
}

// Protects: where nothing was written, blocks of an earlier run do not pass for this run's.
#[test]
fn an_earlier_runs_blocks_are_old() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    check(&mut liar, 1, &mut |_| true).unwrap();
    // From now on all writes are lost.
    liar.real = 0;
    let tally = check(&mut liar, 2, &mut |_| true).unwrap().tally;
    assert_eq!((tally.old_bytes, tally.right_bytes), (8 * MIB, 0));
}

// Protects: an interruption ends the check at once.
#[test]
fn an_interruption_ends_the_check_at_once() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    assert!(matches!(check(&mut liar, 1, &mut |_| false), Err(crate::CapacityError::Interrupted)));
    assert!(matches!(probe(&mut liar, 1, &mut || false), Err(crate::CapacityError::Interrupted)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Protects: the full check detects any lie at any real size, and reports that size.
    #[test]
    fn the_whole_pass_finds_any_size(real in 1u64..4096, more in 1u64..4096) {
        let (claims, real) = ((real + more) * BLOCK_BYTES, real * BLOCK_BYTES);
        prop_assert_eq!(check_verdict(claims, real, Lie::Drops), Verdict::Ends { holds_bytes: real });
        let found = check_verdict(claims, real, Lie::Wraps);
        prop_assert!(matches!(found, Verdict::Wraps { holds_bytes } if holds_bytes == real), "{:?}", found);
    }
}
