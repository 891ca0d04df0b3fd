//! Hashing of byte strings and of pairs, with keys that no file can know beforehand.
#![forbid(unsafe_code)]

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

/// Two random keys, the same for the whole life of a process.
#[derive(Clone, Copy)]
pub struct Seed {
    first: u64,
    second: u64,
}

static OF_PROCESS: OnceLock<Seed> = OnceLock::new();

impl Seed {
    /// The keys of this process.
    pub fn of_process() -> Seed {
        *OF_PROCESS.get_or_init(|| Seed {
            first: random(),
            second: random() | 1,
        })
    }

    /// The hash of a byte string.
    #[inline(always)]
    pub fn bytes(&self, text: &[u8]) -> u64 {
        let size = text.len();
        let start = self.first ^ (size as u64).wrapping_mul(self.second);
        if size > 16 {
            return self.long(text, start);
        }
        let (head, tail) = if size >= 8 {
            (eight(text, 0), eight(text, size - 8))
        } else if size >= 4 {
            (four(text, 0), four(text, size - 4))
        } else if size > 0 {
            let middle = u64::from(text[size / 2]) << 8;
            (
                u64::from(text[0]) | middle | u64::from(text[size - 1]) << 16,
                0,
            )
        } else {
            (0, 0)
        };
        fold(head ^ start, tail ^ self.second)
    }

    /// The hash of two numbers in one.
    #[inline(always)]
    pub fn pair(&self, key: u64) -> u64 {
        fold(key ^ self.first, self.second)
    }

    /// The hash of two words.
    #[inline(always)]
    pub fn two(&self, one: u64, other: u64) -> u64 {
        fold(one ^ self.first, other ^ self.second)
    }

    fn long(&self, text: &[u8], start: u64) -> u64 {
        let size = text.len();
        let (mut hash, mut at) = (start, 0);
        while at + 16 < size {
            hash = fold(eight(text, at) ^ hash, eight(text, at + 8) ^ self.second);
            at += 16;
        }
        fold(
            eight(text, size - 16) ^ hash,
            eight(text, size - 8) ^ self.second,
        )
    }
}

/// The standard library seeds its maps from the system; what it hashes nothing to is random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[inline(always)]
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ ((product >> 64) as u64)
}

#[inline(always)]
fn eight(text: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&text[at..at + 8]);
    u64::from_le_bytes(word)
}

#[inline(always)]
fn four(text: &[u8], at: usize) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&text[at..at + 4]);
    u64::from(u32::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_text_counts() {
        let seed = Seed::of_process();
        for size in 1..80 {
            let text: Vec<u8> = (0..size).collect();
            for at in 0..text.len() {
                // Three bytes of a very short text are read, which are all that it has.
                let mut other = text.clone();
                other[at] ^= 0x40;
                assert_ne!(seed.bytes(&text), seed.bytes(&other), "byte {at} of {size}");
            }
            assert_ne!(seed.bytes(&text), seed.bytes(&text[..text.len() - 1]));
        }
    }
}
