//! Keyed permutations in constant memory: every index once, in an order that looks random.
//!
//! A Feistel network over the cells of a table of about √n × √n (Black and Rogaway, "Ciphers with arbitrary finite
//! domains", 2002, there the generalised Feistel cipher). Each round adds a keyed hash of the column to the row, or of
//! the row to the column, modulo their numbers. Such a round can be inverted whatever the hash is. The table has at
//! most √n cells too many. An index that maps to one of these is permuted once more (cycle walking), so only one step
//! in √n is repeated. There is no division, table or bit map.
//!
//! With four rounds, a chi-square test detects differences between indices one or two rows apart, whatever the hash.
//! With five, as here, it detects none in a million indices.

use crate::rng::Rng;

/// A keyed bijection of `0..count` onto itself.
#[derive(Debug, Clone)]
pub struct Permutation {
    rows: u64,
    columns: u64,
    count: u64,
    keys: [u64; 5],
}

/// An index as a cell of the table.
#[derive(Debug, Clone, Copy)]
struct Cell {
    row: u64,
    column: u64,
}

/// Hashes `value` into `0..bound`. The product is odd and random enough in its high bits. Squaring it makes it
/// non-linear: otherwise the whole network would be one linear step, and a stride would be visible.
#[inline(always)]
fn hash(value: u64, key: u64, bound: u64) -> u64 {
    let spread = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(key);
    ((u128::from(spread.wrapping_mul(spread)) * u128::from(bound)) >> 64) as u64
}

/// Adds modulo `modulus`, which is below 2^62; both summands must be below it.
#[inline(always)]
fn add(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a + b;
    // Branch on the sign, a flag that the subtraction already sets.
    let less = sum.wrapping_sub(modulus) as i64;
    if less < 0 { sum } else { less as u64 }
}

impl Permutation {
    /// Draws one of the permutations of `0..count`, which is at least 1 and at most 2^63.
    pub fn new(count: u64, rng: &mut Rng) -> Permutation {
        debug_assert!((1..=1 << 63).contains(&count));
        let root = count.isqrt();
        let rows = if root * root < count { root + 1 } else { root }.max(1);
        let columns = count.div_ceil(rows).max(1);
        let mut permutation = Permutation { rows, columns, count, keys: [0; 5] };
        permutation.rekey(rng);
        permutation
    }

    /// Switches to another permutation of the same indices.
    pub(crate) fn rekey(&mut self, rng: &mut Rng) {
        self.keys = std::array::from_fn(|_| rng.next_u64());
    }

    #[inline(always)]
    fn step(&self, cell: Cell) -> Cell {
        let Cell { mut row, mut column } = cell;
        row = add(row, hash(column, self.keys[0], self.rows), self.rows);
        column = add(column, hash(row, self.keys[1], self.columns), self.columns);
        row = add(row, hash(column, self.keys[2], self.rows), self.rows);
        column = add(column, hash(row, self.keys[3], self.columns), self.columns);
        row = add(row, hash(column, self.keys[4], self.rows), self.rows);
        Cell { row, column }
    }

    #[inline(always)]
    fn permute(&self, cell: Cell) -> u64 {
        let cell = self.step(cell);
        let index = cell.row * self.columns + cell.column;
        // Not a loop: the compiler would hold all keys in registers for a repetition that hardly ever happens.
        if index < self.count { index } else { self.walk(cell) }
    }

    /// Continues from a surplus cell.
    #[cold]
    #[inline(never)]
    fn walk(&self, mut cell: Cell) -> u64 {
        loop {
            cell = self.step(cell);
            let index = cell.row * self.columns + cell.column;
            if index < self.count {
                return index;
            }
        }
    }

    /// Returns the image of `index`, which must be below the count.
    #[inline]
    pub fn map_index(&self, index: u64) -> u64 {
        self.permute(Cell { row: index / self.columns, column: index % self.columns })
    }
}

/// Yields every index of `0..count` once, then every index once more in another order, and so on.
#[derive(Debug, Clone)]
pub(crate) struct Shuffle {
    permutation: Permutation,
    rng: Rng,
    cell: Cell,
    left_in_pass: u64,
}

impl Shuffle {
    /// Returns the next index of this pass; `None` at its end, until [`start_pass`](Shuffle::start_pass) is called.
    #[inline(always)]
    pub(crate) fn next_in_pass(&mut self) -> Option<u64> {
        self.left_in_pass = self.left_in_pass.checked_sub(1)?;
        let cell = self.cell;
        self.cell.column += 1;
        if self.cell.column == self.permutation.columns {
            self.cell = Cell { row: cell.row + 1, column: 0 };
        }
        Some(self.permutation.permute(cell))
    }

    /// Creates a shuffle of `0..count`, which is at least 1 and at most 2^63.
    pub(crate) fn new(count: u64, mut rng: Rng) -> Shuffle {
        let permutation = Permutation::new(count, &mut rng);
        Shuffle { permutation, rng, cell: Cell { row: 0, column: 0 }, left_in_pass: count }
    }

    /// Returns the next index, and starts new passes as needed.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> u64 {
        loop {
            match self.next_in_pass() {
                Some(index) => return index,
                None => self.start_pass(),
            }
        }
    }

    /// Starts a pass with a new order.
    #[cold]
    pub(crate) fn start_pass(&mut self) {
        self.permutation.rekey(&mut self.rng);
        self.cell = Cell { row: 0, column: 0 };
        self.left_in_pass = self.permutation.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    impl Permutation {
        /// Inverts [`Permutation::map_index`] by running the rounds backwards.
        fn inverse(&self, index: u64) -> u64 {
            let (rows, columns) = (self.rows, self.columns);
            let sub = |a: u64, b: u64, modulus: u64| if a >= b { a - b } else { a + modulus - b };
            let mut cell = Cell { row: index / columns, column: index % columns };
            loop {
                let Cell { mut row, mut column } = cell;
                row = sub(row, hash(column, self.keys[4], rows), rows);
                column = sub(column, hash(row, self.keys[3], columns), columns);
                row = sub(row, hash(column, self.keys[2], rows), rows);
                column = sub(column, hash(row, self.keys[1], columns), columns);
                row = sub(row, hash(column, self.keys[0], rows), rows);
                cell = Cell { row, column };
                if row * columns + column < self.count {
                    return row * columns + column;
                }
            }
        }
    }

    #[test]
    fn every_small_size_is_covered_exactly_once_a_pass() {
        for count in (1..=300).chain([1000, 4095, 4096, 4097, 65_537]) {
            let mut shuffle = Shuffle::new(count, Rng::new(count));
            for _ in 0..3 {
                let mut seen = vec![false; count as usize];
                for _ in 0..count {
                    let index = shuffle.next() as usize;
                    assert!(!std::mem::replace(&mut seen[index], true), "{index} twice in a pass of {count}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_size_is_a_bijection(count in 1u64..=1 << 63, index in any::<u64>(), seed in any::<u64>()) {
            let permutation = Permutation::new(count, &mut Rng::new(seed));
            let index = index % count;
            let image = permutation.map_index(index);
            prop_assert!(image < count);
            prop_assert_eq!(permutation.inverse(image), index);
        }

        #[test]
        fn the_shuffle_is_the_permutation_in_order(count in 1u64..1 << 40, seed in any::<u64>()) {
            let permutation = Permutation::new(count, &mut Rng::new(seed));
            let mut shuffle = Shuffle::new(count, Rng::new(seed));
            for index in 0..count.min(2000) {
                prop_assert_eq!(shuffle.next(), permutation.map_index(index));
            }
        }
    }

    #[test]
    fn sixty_four_tebibytes_in_4_kib_blocks_do_not_repeat() {
        let count = 1u64 << 34;
        let mut shuffle = Shuffle::new(count, Rng::new(9));
        let mut seen: Vec<u64> = (0..1_000_000).map(|_| shuffle.next()).collect();
        seen.sort_unstable();
        assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(std::mem::size_of::<Shuffle>() <= 128, "memory does not depend on the size");
    }

    /// Returns the chi-square of counts against equal expectation, as a normal deviate (Wilson and Hilferty).
    fn normal_deviate(counts: &[u64]) -> f64 {
        let total: u64 = counts.iter().sum();
        let expected = total as f64 / counts.len() as f64;
        let chi: f64 = counts.iter().map(|&c| (c as f64 - expected).powi(2) / expected).sum();
        let freedom = counts.len() as f64 - 1.0;
        ((chi / freedom).cbrt() - (1.0 - 2.0 / (9.0 * freedom))) / (2.0 / (9.0 * freedom)).sqrt()
    }

    #[test]
    fn no_stride_is_visible() {
        for (count, seed) in [(1u64 << 20, 1), (1_000_003, 2), (1 << 34, 3), ((1 << 34) + 12_345, 4), (1 << 48, 5)] {
            let mut shuffle = Shuffle::new(count, Rng::new(seed));
            let draws: Vec<u64> = (0..100_000).map(|_| shuffle.next()).collect();
            let bucket =
                |value: u64, buckets: u64| (u128::from(value) * u128::from(buckets) / u128::from(count)) as usize;
            // In the first two tables a row has 2^10 cells, and fewer rounds would fail.
            for lag in [1, 2, 3, 64, 1000, 1001, 1024, 2048] {
                let mut differences = vec![0u64; 256];
                let mut pairs = vec![0u64; 32 * 32];
                let mut second = vec![0u64; 256];
                for window in draws.windows(2 * lag + 1) {
                    let step = |from: u64, to: u64| if to >= from { to - from } else { to + count - from };
                    let (one, two) = (step(window[0], window[lag]), step(window[lag], window[2 * lag]));
                    differences[bucket(one, 256)] += 1;
                    second[bucket(step(one, two), 256)] += 1;
                    pairs[bucket(window[0], 32) * 32 + bucket(window[lag], 32)] += 1;
                }
                for counts in [&differences, &pairs, &second] {
                    let deviate = normal_deviate(counts);
                    assert!(deviate.abs() < 5.0, "count {count}, lag {lag}: {deviate}");
                }
            }
            let mut low = vec![0u64; 64];
            draws.iter().for_each(|value| low[(value % 64) as usize] += 1);
            assert!(normal_deviate(&low).abs() < 5.0, "count {count}, low bits: {}", normal_deviate(&low));
        }
    }

    #[test]
    fn each_pass_has_its_own_order() {
        let mut shuffle = Shuffle::new(1000, Rng::new(3));
        let first: Vec<u64> = (0..1000).map(|_| shuffle.next()).collect();
        let second: Vec<u64> = (0..1000).map(|_| shuffle.next()).collect();
        let same = first.iter().zip(&second).filter(|(a, b)| a == b).count();
        assert!(same < 10, "{same} of 1000 indices in the same place");
    }
}
