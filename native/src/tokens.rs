//! Byte strings one after the other, numbered in their order, and found by content.
#![forbid(unsafe_code)]

use crate::processor::bring_near;
use crate::seed::Seed;

/// The most bytes and the most tokens: both are counted in 31 bits.
pub const MOST: usize = (1 << 31) - 1;

/// How many tokens are hashed before the first of them is looked for, so that the processor
/// waits for many places of memory at a time.
const AHEAD: usize = 16;

/// Tokens, and a hash table with open addressing over them.
///
/// A slot is the upper half of a hash and, in the lower half, a token's number plus one. So a slot
/// that is 0 is empty, and none that is used is 0.
pub struct Tokens {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    slots: Vec<u64>,
    mask: usize,
    seed: Seed,
}

impl Tokens {
    /// No tokens, with room for some; `count` and `size` (bytes) are guesses.
    pub fn with_room(count: usize, size: usize) -> Self {
        let mut ends = Vec::with_capacity(count + 1);
        ends.push(0);
        Tokens {
            bytes: Vec::with_capacity(size),
            ends,
            slots: vec![],
            mask: 0,
            seed: Seed::of_process(),
        }
    }

    /// How many tokens there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// All contents, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where each token ends, after a 0.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The content of a token.
    #[inline(always)]
    pub fn get(&self, at: usize) -> &[u8] {
        &self.bytes[self.ends[at] as usize..self.ends[at + 1] as usize]
    }

    /// How many bytes a token has.
    #[inline(always)]
    pub fn size(&self, at: usize) -> usize {
        (self.ends[at + 1] - self.ends[at]) as usize
    }

    /// What the next token is written to; `close` then ends the token.
    #[inline(always)]
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Takes back what was written since the last token.
    pub fn reopen(&mut self) {
        self.bytes.truncate(self.ends[self.len()] as usize);
    }

    /// Makes a token of the bytes that were written since the last one. It is found only after
    /// `index`. None: there are more than can be counted.
    #[inline(always)]
    pub fn close(&mut self) -> Option<()> {
        if self.bytes.len() > MOST || self.len() >= MOST {
            return None;
        }
        self.ends.push(self.bytes.len() as u32);
        Some(())
    }

    /// Makes a token of a content.
    pub fn push(&mut self, content: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(content);
        self.close()
    }

    /// Fills the hash table. None: two tokens have one content.
    pub fn index(&mut self) -> Option<()> {
        let count = self.len();
        let size = (count.max(8) * 2).next_power_of_two();
        self.slots = vec![0; size];
        self.mask = size - 1;
        let mut hashes = [0u64; AHEAD];
        let mut first = 0;
        while first < count {
            let last = (first + AHEAD).min(count);
            let mut seen = 0;
            for at in first..last {
                let hash = self.hash(self.get(at));
                hashes[at - first] = hash;
                seen |= self.slots[hash as usize & self.mask];
            }
            // The slots are read here for the time it takes; nothing follows from them.
            std::hint::black_box(seen);
            for at in first..last {
                self.place(at, hashes[at - first])?;
            }
            first = last;
        }
        Some(())
    }

    fn place(&mut self, at: usize, hash: u64) -> Option<()> {
        let mut slot = hash as usize & self.mask;
        while self.slots[slot] != 0 {
            let found = self.slots[slot];
            if found >> 32 == hash >> 32 && self.get(found as u32 as usize - 1) == self.get(at) {
                return None;
            }
            slot = (slot + 1) & self.mask;
        }
        self.slots[slot] = hash >> 32 << 32 | (at as u64 + 1);
        Some(())
    }

    /// The hash that `find_hashed` wants.
    #[inline(always)]
    pub fn hash(&self, content: &[u8]) -> u64 {
        self.seed.bytes(content)
    }

    /// Has the slot brought near where the search for a hash begins.
    #[inline(always)]
    pub fn bring_near(&self, hash: u64) {
        bring_near(&self.slots[hash as usize & self.mask]);
    }

    /// The slot where the search for a hash begins; reading it early saves waiting for it later.
    #[inline(always)]
    pub fn touch(&self, hash: u64) -> u64 {
        self.slots[hash as usize & self.mask]
    }

    /// What the search for a hash reads first, all the way to a token's bytes; for the same reason.
    #[inline(always)]
    pub fn touch_token(&self, hash: u64) -> u64 {
        let found = self.touch(hash);
        let same = found >> 32 == hash >> 32;
        let at = if same { found as u32 as usize } else { 0 };
        let end = self.ends[at.min(self.len())] as usize;
        u64::from(self.bytes.get(end).copied().unwrap_or(0))
    }

    /// The number of a token, after `index`.
    #[inline(always)]
    pub fn find(&self, content: &[u8]) -> Option<u32> {
        self.find_hashed(content, self.hash(content))
    }

    /// The number of a token of which the hash is known.
    #[inline(always)]
    pub fn find_hashed(&self, content: &[u8], hash: u64) -> Option<u32> {
        let mut slot = hash as usize & self.mask;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return None;
            }
            if found >> 32 == hash >> 32 {
                let at = found as u32 - 1;
                if self.get(at as usize) == content {
                    return Some(at);
                }
            }
            slot = (slot + 1) & self.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[&[u8]]) -> Option<Tokens> {
        let mut tokens = Tokens::with_room(0, 0);
        for content in contents {
            tokens.push(content)?;
        }
        tokens.index()?;
        Some(tokens)
    }

    #[test]
    fn what_is_there_is_found_and_nothing_else() {
        let contents: Vec<Vec<u8>> = (0..5000u32)
            .map(|n| n.to_le_bytes()[..3].to_vec())
            .collect();
        let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        let tokens = of(&slices).unwrap();
        for (at, content) in slices.iter().enumerate() {
            assert_eq!(tokens.find(content), Some(at as u32));
            assert_eq!(tokens.find(&content[..2]), None);
        }
    }

    #[test]
    fn equal_contents_are_refused() {
        assert!(of(&[b"a", b"bc", b"a"]).is_none());
        assert!(of(&[b"", b"a", b""]).is_none());
        assert!(of(&[b"", b"a"]).unwrap().find(b"") == Some(0));
    }
}
