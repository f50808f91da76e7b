//! Start of the next op of a [`Machine`]: sequential, random, or in zones.

use super::machine::{Drawing, Machine, Start};
use super::script::{Kind, Mix, OffsetOrder, PlannedDistribution, Random, Script};
use plumb_workload::blocks::fio::{FileChoice, Sequencer};

impl Machine {
    pub(super) fn change_zone(&mut self, script: &Script, file: usize, kind: Kind) {
        let Some(zones) = script.zones else { return };
        let part = script.parts.get(file);
        let mut first = self.files.first(script, file);
        if self.counts.zone_bytes >= zones.size.0 {
            self.counts.zone_bytes = 0;
            first = first.saturating_add(zones.range.0).saturating_add(zones.skip.0);
            if first >= part.file_length {
                first = part.start;
            }
            self.files.set_first(file, first);
            self.files.set_end(file, kind, first);
        }
        if self.files.end(file, kind) >= first.saturating_add(zones.range.0) {
            self.files.set_end(file, kind, first);
        }
        if self.counts.zone_bytes.is_multiple_of(zones.range.0.max(1)) {
            self.files.reset(script, file);
        }
    }

    /// Returns the start of the next op of this kind.
    #[inline]
    pub(super) fn start(&mut self, script: &Script, file: usize, kind: Kind) -> Option<Start> {
        let random = match &script.offset_order {
            OffsetOrder::Sequential { skip } => {
                let at = self.next_in_sequence(script, file, kind, *skip)?;
                return Some(Start { at, by: Drawing::Sequential, may_repeat: false });
            }
            OffsetOrder::Random(random) => random,
        };
        let align = script.align[kind as usize];
        self.counts.until_draw -= 1;
        let draws = self.counts.until_draw == 0;
        if draws {
            self.counts.until_draw = random.ops_per_draw;
        }
        if script.mix == Mix::TrimWrite && kind == Kind::Write {
            let at = self.files.start(file, Kind::Trim)?;
            return Some(Start { at, by: Drawing::Random, may_repeat: true });
        }
        if draws {
            let percent = random.percent[kind as usize];
            if percent == 100 || self.draws.order[kind as usize].percent() <= percent {
                let at = self.random_block(script, file, kind, random)?.wrapping_mul(align);
                return Some(Start { at, by: Drawing::Random, may_repeat: false });
            }
        } else if random.sequencer == Sequencer::Identical {
            let first = self.files.first(script, file);
            let at = self.files.start(file, kind).map_or(0, |start| start.wrapping_sub(first));
            return Some(Start { at, by: Drawing::Sequential, may_repeat: true });
        }
        let at = match self.next_in_sequence(script, file, kind, 0) {
            Some(at) => at,
            None => self.random_block(script, file, kind, random)?.wrapping_mul(align),
        };
        Some(Start { at, by: Drawing::Sequential, may_repeat: true })
    }

    /// Returns the end of the last op of this kind, plus a skip.
    #[inline]
    fn next_in_sequence(&mut self, script: &Script, file: usize, kind: Kind, skip: u64) -> Option<u64> {
        let alone = script.parts.count() == 1;
        let part = script.parts.get(file);
        let start = self.files.first(script, file);
        let mut end = self.files.end(file, kind);
        let begins_again = (script.limits.until_time && alone) || script.overwrites();
        if begins_again && end >= part.start.saturating_add(part.length) {
            end = start;
            self.files.set_end(file, kind, end);
            self.evict(script, file);
        }
        if end >= part.file_length {
            return None;
        }
        let backwards = (skip as i64) < 0;
        let last = part.length.min(part.file_length);
        if backwards && end == start && start > 0 {
            end = last;
            self.files.set_end(file, kind, end);
        }
        let mut at = end.wrapping_sub(start);
        if at != 0 && skip != 0 {
            at = at.wrapping_add(skip);
            if at >= part.file_length {
                at = if backwards { last.wrapping_add(skip) } else { start };
            }
        }
        Some(at)
    }

    fn random_block(&mut self, script: &Script, file: usize, kind: Kind, random: &Random) -> Option<u64> {
        if let Some(block) = self.try_random_block(script, file, kind, random) {
            return Some(block);
        }
        if !script.limits.until_time && !matches!(script.files.choice, FileChoice::Curved { .. }) {
            return None;
        }
        self.files.reset(script, file);
        self.evict(script, file);
        self.try_random_block(script, file, kind, random)
    }

    #[inline]
    fn try_random_block(&mut self, script: &Script, file: usize, kind: Kind, random: &Random) -> Option<u64> {
        let blocks = script.parts.get(file).blocks[kind as usize];
        if blocks == 0 {
            return None;
        }
        match &random.distribution {
            PlannedDistribution::Uniform => self.uniform_block(script, file, blocks),
            PlannedDistribution::Curved { .. } => self.files.along_curve(file),
            PlannedDistribution::Zoned(zones) if !zones[kind as usize].is_empty() => {
                let drawn = self.draws.zone.percent();
                let (mut access, mut from) = (0, 0);
                let mut zone = (0, 100);
                for next in &zones[kind as usize] {
                    zone = (from, u64::from(next.size));
                    access += next.access_percent;
                    from += zone.1;
                    if drawn <= access {
                        break;
                    }
                }
                let count = (u128::from(blocks) * u128::from(zone.1) / 100) as u64;
                let first = (u128::from(blocks) * u128::from(zone.0) / 100) as u64;
                Some(self.uniform_block(script, file, count)? + first)
            }
            PlannedDistribution::ZonedBytes(zones) if !zones[kind as usize].is_empty() => {
                let drawn = self.draws.zone.percent();
                let align = script.align[kind as usize];
                let (mut access, mut from) = (0, 0);
                let mut zone = (0, 0);
                for next in &zones[kind as usize] {
                    zone = (from, from + next.size.0);
                    access += next.access_percent;
                    from = zone.1;
                    if drawn <= access {
                        break;
                    }
                }
                let first = zone.0 / align;
                Some(self.uniform_block(script, file, zone.1 / align - first)? + first)
            }
            PlannedDistribution::Zoned(_) | PlannedDistribution::ZonedBytes(_) => {
                self.uniform_block(script, file, blocks)
            }
            PlannedDistribution::SteadyState(_) => {
                let again = &mut self.draws.again;
                self.files.steady_block(file, kind, || again.share())
            }
            PlannedDistribution::Sequence { listed, step } => {
                let (round, place) = {
                    let (count, length) = (self.counts.ops[kind as usize], listed.len() as u64);
                    (count / length, (count % length) as usize)
                };
                Some(listed[place].saturating_add(round.saturating_mul(*step))).filter(|&block| block < blocks)
            }
        }
    }

    #[inline]
    fn uniform_block(&mut self, script: &Script, file: usize, blocks: u64) -> Option<u64> {
        let offset = &mut self.draws.offset;
        self.files.block(script, file, blocks, || offset.share())
    }
}
