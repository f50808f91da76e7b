//! Storage that lies, in memory.

use crate::{BLOCK_BYTES, Medium, Verdict, check, probe};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};
use std::io;

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    None,
    /// Addresses wrap around behind the real end.
    Wraps,
    /// What is written behind it is lost.
    Drops,
    /// So is it, but the last blocks written are answered from a cache.
    Caches {
        blocks: usize,
    },
    /// One block fails.
    Fails {
        at: u64,
    },
    /// A byte of one block changes.
    Damages {
        at: u64,
    },
    /// One block is written to another place, once.
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

fn whole(claims: u64, real: u64, lie: Lie) -> Verdict {
    check(&mut Liar::new(claims, real, lie), 7, &mut |_| true).unwrap().tally.verdict()
}

fn asked(claims: u64, real: u64, lie: Lie) -> Verdict {
    probe(&mut Liar::new(claims, real, lie), 7, &mut || true).unwrap().verdict
}

// Protects: whoever tells the truth is believed, whatever the size.
#[test]
fn honest_storage_holds_what_it_claims() {
    for claims in [BLOCK_BYTES, MIB - BLOCK_BYTES, MIB, 3 * MIB + 4096, 40 * MIB + 511] {
        assert_eq!(whole(claims, claims, Lie::None), Verdict::Holds, "{claims}");
        assert_eq!(asked(claims, claims, Lie::None), Verdict::Holds, "{claims}");
    }
    assert_eq!(asked(4 << 40, 4 << 40, Lie::None), Verdict::Holds);
}

// Protects: the probe finds sticks that claim 64 GB to 2 TB with the chips that such sticks have, and their real size.
#[test]
fn the_probe_finds_likely_sizes() {
    for (claims, real) in
        [(64_000_000_000, 8 << 30), (2_000_000_000_000, 32 << 30), (128 << 30, 7 << 30), (64 << 30, 16_000_000_000)]
    {
        let (claims, real) = (claims / BLOCK_BYTES * BLOCK_BYTES, real / BLOCK_BYTES * BLOCK_BYTES);
        assert_eq!(asked(claims, real, Lie::Drops), Verdict::Ends { holds_bytes: real }, "{claims} {real} drops");
        let cached = Lie::Caches { blocks: 4096 };
        assert!(
            matches!(asked(claims, real, cached), Verdict::Ends { .. }),
            "{claims} {real} behind a cache of 16 MiB"
        );
    }
    for (claims, real) in [(64_000_000_000, 8 << 30), (2_000_000_000_000, 32 << 30), (128 << 30, 7 << 30)] {
        assert_eq!(asked(claims, real, Lie::Wraps), Verdict::Wraps { holds_bytes: real }, "{claims} {real} wraps");
    }
}

// Protects: one bad block in good storage is damage, and not the end of it.
#[test]
fn a_bad_block_is_damage() {
    for lie in [Lie::Fails { at: 5 * MIB }, Lie::Damages { at: 5 * MIB }] {
        assert_eq!(whole(16 * MIB, 16 * MIB, lie), Verdict::Damaged { wrong_bytes: BLOCK_BYTES }, "{lie:?}");
    }
}

// Protects good storage: a write that went astray once is damage, and not a wrap-around, in both looks.
#[test]
fn a_misdirected_write_is_damage() {
    let (claims, last) = (64 << 30, (64 << 30) - BLOCK_BYTES);
    let probed = asked(claims, claims, Lie::Misdirects { from: last, to: MIB });
    assert!(matches!(probed, Verdict::Damaged { .. }), "{probed:?}");
    for (from, to) in [(5 * MIB, 2 * MIB), (2 * MIB, 5 * MIB)] {
        let found = whole(16 * MIB, 16 * MIB, Lie::Misdirects { from, to });
        assert!(matches!(found, Verdict::Damaged { .. }), "{found:?}");
    }
}

// Protects: blocks that earlier checks of another layout left at other places are no wrap-around.
#[test]
fn an_earlier_runs_blocks_elsewhere_are_old() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    check(&mut liar, 1, &mut |_| true).unwrap();
    let moved = liar.blocks.drain().map(|(at, block)| ((at + MIB) % (8 * MIB), block)).collect();
    (liar.blocks, liar.real) = (moved, 0);
    let tally = check(&mut liar, 2, &mut |_| true).unwrap().tally;
    assert_eq!((tally.old_bytes, tally.distance), (8 * MIB, None));
}

// Protects: blocks of an earlier run are not taken for this run's where nothing was written.
#[test]
fn an_earlier_runs_blocks_are_old() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    check(&mut liar, 1, &mut |_| true).unwrap();
    // From now on nothing is taken.
    liar.real = 0;
    let tally = check(&mut liar, 2, &mut |_| true).unwrap().tally;
    assert_eq!((tally.old_bytes, tally.right_bytes), (8 * MIB, 0));
}

// Protects: an interruption ends it at once.
#[test]
fn it_ends_when_told() {
    let mut liar = Liar::new(8 * MIB, 8 * MIB, Lie::None);
    assert!(matches!(check(&mut liar, 1, &mut |_| false), Err(crate::CapacityError::Interrupted)));
    assert!(matches!(probe(&mut liar, 1, &mut || false), Err(crate::CapacityError::Interrupted)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // Protects: the whole pass finds any lie, whatever the real size is, and says what it really holds.
    #[test]
    fn the_whole_pass_finds_any_size(real in 1u64..4096, more in 1u64..4096) {
        let (claims, real) = ((real + more) * BLOCK_BYTES, real * BLOCK_BYTES);
        prop_assert_eq!(whole(claims, real, Lie::Drops), Verdict::Ends { holds_bytes: real });
        let found = whole(claims, real, Lie::Wraps);
        prop_assert!(matches!(found, Verdict::Wraps { holds_bytes } if holds_bytes == real), "{:?}", found);
    }
}
