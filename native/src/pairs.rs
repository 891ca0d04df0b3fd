//! Two numbers to a rank, with a bitmap before the table that knows most of what is not there.
#![forbid(unsafe_code)]

use crate::seed::Seed;

/// No rank, and no number.
pub const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Slot {
    key: u64,
    rank: u32, // NONE where the slot is empty: no pair has this rank
}

/// A map from pairs of numbers to ranks below `NONE`.
pub struct Pairs {
    slots: Vec<Slot>,
    mask: usize,
    bits: Vec<u64>,
    shift: u32,
    free: usize,
    seed: Seed,
}

impl Pairs {
    /// An empty map with room for `count` pairs.
    pub fn with_room(count: usize) -> Self {
        let size = (count.max(8) * 2).next_power_of_two();
        let bits = size * 8;
        Pairs {
            slots: vec![Slot { key: 0, rank: NONE }; size],
            mask: size - 1,
            bits: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
            free: size / 2 + 1,
            seed: Seed::of_process(),
        }
    }

    /// The rank of a pair, or `NONE`.
    #[inline(always)]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        let key = u64::from(left) << 32 | u64::from(right);
        let hash = self.seed.pair(key);
        let bit = (hash >> self.shift) as usize;
        if self.bits[bit >> 6] >> (bit & 63) & 1 == 0 {
            return NONE;
        }
        let mut at = hash as usize & self.mask;
        loop {
            let slot = self.slots[at];
            if slot.rank == NONE || slot.key == key {
                return slot.rank;
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Gives a pair a rank; the last one counts. The room that was asked for must be enough.
    #[inline(always)]
    pub fn set(&mut self, left: u32, right: u32, rank: u32) {
        assert!(rank != NONE);
        let key = u64::from(left) << 32 | u64::from(right);
        let hash = self.seed.pair(key);
        let bit = (hash >> self.shift) as usize;
        self.bits[bit >> 6] |= 1 << (bit & 63);
        let mut at = hash as usize & self.mask;
        while self.slots[at].rank != NONE && self.slots[at].key != key {
            at = (at + 1) & self.mask;
        }
        if self.slots[at].rank == NONE {
            self.free -= 1;
        }
        self.slots[at] = Slot { key, rank };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rank_of_a_pair_counts() {
        let mut pairs = Pairs::with_room(70_000);
        for left in 0..256 {
            for right in 0..256 {
                pairs.set(left, right, 7);
                pairs.set(left, right, left << 8 | right);
            }
        }
        pairs.set(NONE, NONE, 5);
        assert_eq!(pairs.rank(NONE, NONE), 5);
        assert_eq!(pairs.rank(3, 4), 0x304);
        assert_eq!(pairs.rank(3, 256), NONE);
        assert_eq!(pairs.rank(NONE, 0), NONE);
    }

    #[test]
    #[should_panic]
    fn more_than_there_is_room_for_is_refused() {
        let mut pairs = Pairs::with_room(8);
        (0..100).for_each(|left| pairs.set(left, 0, 1));
    }
}
