//! MT19937 with the seeding of 1999.
//!
//! Source: Matsumoto and Nishimura, "Mersenne Twister: A 623-dimensionally equidistributed uniform pseudorandom
//! number generator", ACM TOMACS 8(1), 1998. The authors seeded by multiples of 69069 until 2002.

const STATE: usize = 624;
const MIDDLE: usize = 397;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twister {
    state: Box<[u32; STATE]>,
    next: usize,
}

impl Twister {
    /// Returns a generator for this seed.
    pub fn new(seed: u32) -> Twister {
        let mut seed = seed;
        let mut step = || {
            let high = seed & 0xffff_0000;
            seed = seed.wrapping_mul(69069).wrapping_add(1);
            high
        };
        let state = Box::new(std::array::from_fn(|_| step() | step() >> 16));
        Twister { state, next: STATE }
    }

    #[inline]
    fn refill(&mut self) {
        let state = &mut *self.state;
        let twisted = |this: u32, next: u32, far: u32| {
            let joined = (this & 0x8000_0000) | (next & 0x7fff_ffff);
            far ^ (joined >> 1) ^ (joined & 1).wrapping_mul(0x9908_b0df)
        };
        // Indices wrap around. Loops over ranges without a remainder take a quarter of the time.
        for k in 0..STATE - MIDDLE {
            state[k] = twisted(state[k], state[k + 1], state[k + MIDDLE]);
        }
        for k in STATE - MIDDLE..STATE - 1 {
            state[k] = twisted(state[k], state[k + 1], state[k + MIDDLE - STATE]);
        }
        state[STATE - 1] = twisted(state[STATE - 1], state[0], state[MIDDLE - 1]);
        self.next = 0;
    }

    /// Draws this many numbers and discards them.
    pub fn skip(&mut self, mut count: u64) {
        while count > 0 {
            if self.next == STATE {
                self.refill();
            }
            let now = count.min((STATE - self.next) as u64);
            self.next += now as usize;
            count -= now;
        }
    }

    #[inline]
    pub fn draw(&mut self) -> u32 {
        if self.next == STATE {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ y >> 18
    }

    /// Draws a number below `bound`, by remainder. Draws nothing and returns 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        if bound == 0 { 0 } else { self.draw() % bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the ring-buffer implementation: this test computes the numbers word by word, as in the paper.
    #[test]
    fn numbers_match_the_paper() {
        let mut words: Vec<u32> = Vec::new();
        let mut seed = 4357u32;
        for _ in 0..STATE {
            let high = seed & 0xffff_0000;
            seed = seed.wrapping_mul(69069).wrapping_add(1);
            words.push(high | (seed & 0xffff_0000) >> 16);
            seed = seed.wrapping_mul(69069).wrapping_add(1);
        }
        let mut twister = Twister::new(4357);
        for n in 0..3 * STATE {
            let joined = (words[n] & 0x8000_0000) | (words[n + 1] & 0x7fff_ffff);
            let word = words[n + MIDDLE] ^ (joined >> 1) ^ ((joined & 1) * 0x9908_b0df);
            words.push(word);
            let mut y = word ^ word >> 11;
            y ^= (y << 7) & 0x9d2c_5680;
            y ^= (y << 15) & 0xefc6_0000;
            assert_eq!(twister.draw(), y ^ y >> 18, "number {n}");
        }
    }

    #[test]
    fn skipped_numbers_are_drawn_numbers() {
        for count in [0, 1, 623, 624, 625, 5000] {
            let (mut drawn, mut skipped) = (Twister::new(42), Twister::new(42));
            (0..count).for_each(|_| _ = drawn.draw());
            skipped.skip(count);
            assert_eq!(drawn.draw(), skipped.draw(), "{count}");
        }
    }
}
