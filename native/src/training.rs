//! Pretokens counted (twin: `train/pretokens.py`), and merges learned from them (twin:
//! `train/learner.py`, which says why the merges are those of a recount before each).
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::seed::Seed;
use crate::splitting::Splitter;

/// No number.
const NONE: u32 = u32::MAX;
/// What lies between two pretokens, and in a slot that no token begins or ends in.
const BORDER: u32 = u32::MAX;
const BYTES: usize = 256;
/// Slots are counted in 32 bits, with room left for `BORDER` and for ids.
const MOST: usize = 1 << 31;

/// Distinct pretokens in the order they first came, and how often each came.
pub struct Counter {
    splitter: Splitter,
    contents: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
    /// Places in `ends`, by the hash of the content.
    slots: Vec<u32>,
    seed: Seed,
}

impl Counter {
    /// Nothing counted yet.
    pub fn new(splitter: Splitter) -> Self {
        Counter {
            splitter,
            contents: vec![],
            ends: vec![],
            counts: vec![],
            slots: vec![NONE; 1 << 12],
            seed: Seed::of_process(),
        }
    }

    /// The contents one after the other, where each ends, and how often each came.
    pub fn counted(&self) -> (&[u8], &[u64], &[u64]) {
        (&self.contents, &self.ends, &self.counts)
    }

    /// Counts the pretokens of a text; how many of its bytes are in none. None: Python does it, and
    /// nothing of the text was counted.
    pub fn add(&mut self, text: &[u8]) -> Option<u64> {
        let pieces = self.splitter.pieces(text)?;
        // A pretoken that is new is in the text, so this is enough for all of them.
        let left = (NONE as usize).checked_sub(self.ends.len())?;
        if pieces.len() >= left {
            return None;
        }
        let mut matched = 0;
        let mut taken = vec![];
        taken.try_reserve_exact(pieces.len()).ok()?;
        for &(start, end) in &pieces {
            let content = &text[start as usize..end as usize];
            matched += content.len() as u64;
            taken.push(content);
        }
        self.contents.try_reserve(text.len()).ok()?;
        self.ends.try_reserve(pieces.len()).ok()?;
        self.counts.try_reserve(pieces.len()).ok()?;
        let known = self.ends.len();
        for (done, content) in taken.iter().enumerate() {
            if self.count(content).is_none() {
                self.forget(&taken[..done], known);
                return None;
            }
        }
        Some((text.len() as u64).saturating_sub(matched))
    }

    fn content(&self, at: u32) -> &[u8] {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.contents[start as usize..self.ends[at] as usize]
    }

    /// None: there is no memory for more slots.
    fn count(&mut self, content: &[u8]) -> Option<()> {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow()?;
        }
        let slot = self.slot(content);
        match self.slots[slot] {
            NONE => {
                self.slots[slot] = self.ends.len() as u32;
                self.contents.extend_from_slice(content);
                self.ends.push(self.contents.len() as u64);
                self.counts.push(1);
            }
            at => self.counts[at as usize] += 1,
        }
        Some(())
    }

    /// Takes back what was counted since there were `known` distinct pretokens.
    fn forget(&mut self, counted: &[&[u8]], known: usize) {
        for content in counted {
            let at = self.slots[self.slot(content)];
            self.counts[at as usize] -= 1;
        }
        self.ends.truncate(known);
        self.counts.truncate(known);
        let size = self.ends.last().map_or(0, |&end| end as usize);
        self.contents.truncate(size);
        self.slots.fill(NONE);
        self.place_all();
    }

    /// Where a content is, or would be.
    fn slot(&self, content: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.seed.bytes(content) as usize & mask;
        while self.slots[slot] != NONE && self.content(self.slots[slot]) != content {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) -> Option<()> {
        let size = self.slots.len().checked_mul(4)?;
        let mut larger = vec![];
        larger.try_reserve_exact(size).ok()?;
        larger.resize(size, NONE);
        self.slots = larger;
        self.place_all();
        Some(())
    }

    /// Puts all contents into slots, of which none is used.
    fn place_all(&mut self) {
        for at in 0..self.ends.len() as u32 {
            let slot = self.slot(self.content(at));
            self.slots[slot] = at;
        }
    }
}

/// Pairs to places in a list.
struct Index {
    slots: Vec<(u64, u32)>,
    used: usize,
    seed: Seed,
}

impl Index {
    fn new() -> Self {
        Index {
            slots: vec![(0, NONE); 1 << 12],
            used: 0,
            seed: Seed::of_process(),
        }
    }

    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.seed.pair(key) as usize & mask;
        while self.slots[slot].1 != NONE && self.slots[slot].0 != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn get(&self, key: u64) -> Option<usize> {
        let (_, at) = self.slots[self.slot(key)];
        (at != NONE).then_some(at as usize)
    }

    fn set(&mut self, key: u64, at: u32) -> Option<()> {
        if self.used * 2 >= self.slots.len() {
            let mut larger = vec![];
            larger.try_reserve_exact(self.slots.len() * 2).ok()?;
            larger.resize(self.slots.len() * 2, (0, NONE));
            let before = std::mem::replace(&mut self.slots, larger);
            for entry in before.into_iter().filter(|entry| entry.1 != NONE) {
                let slot = self.slot(entry.0);
                self.slots[slot] = entry;
            }
        }
        let slot = self.slot(key);
        self.used += usize::from(self.slots[slot].1 == NONE);
        self.slots[slot] = (key, at);
        Some(())
    }
}

/// A pair, how often it stands where it once began, and the first of these places that may hold.
struct Followed {
    key: u64,
    count: u64,
    at: usize,
    places: Vec<u32>,
}

/// At a place, a new pair stands instead of an old one.
struct Change {
    old: u64,
    new: u64,
    place: u32,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

/// A pair that was merged, and how often it was counted.
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub frequency: u64,
}

/// Learns merges. A token of several slots has its id in its first and its last one.
pub struct Learner {
    slots: Vec<u32>,
    /// Which pretoken a slot is of.
    words: Vec<u32>,
    counts: Vec<u64>,
    sizes: Vec<u32>,
    index: Index,
    pairs: Vec<Followed>,
    /// The most frequent first, of several the one whose first place is first; as it was once.
    heap: BinaryHeap<(u64, Reverse<u32>, u32)>,
    changes: Vec<Change>,
    before: Vec<Change>,
}

impl Learner {
    /// Pretokens that end at `ends` in `contents`, each as often as `counts` says. None: Python
    /// does it: there are too many, or too little memory.
    pub fn new(contents: &[u8], ends: &[u64], counts: &[u64]) -> Option<Self> {
        let total = contents.len().checked_add(ends.len())?.checked_add(1)?;
        let fits = total < MOST
            && counts.len() == ends.len()
            && ends.windows(2).all(|two| two[0] <= two[1])
            && ends.last().map_or(0, |&end| end) == contents.len() as u64;
        if !fits {
            return None;
        }
        let most = counts
            .iter()
            .try_fold(0u64, |sum, &count| sum.checked_add(count))?;
        // How many tokens there are is told in 63 bits, and known to be before any merge is told.
        i64::try_from(most.checked_mul(contents.len() as u64 + 1)?).ok()?;
        let (mut slots, mut words, mut often) = (vec![], vec![], vec![]);
        often.try_reserve_exact(counts.len()).ok()?;
        often.extend_from_slice(counts);
        slots.try_reserve_exact(total).ok()?;
        words.try_reserve_exact(total).ok()?;
        slots.push(BORDER);
        words.push(NONE);
        let mut start = 0;
        for (word, &end) in ends.iter().enumerate() {
            for &byte in &contents[start..end as usize] {
                slots.push(u32::from(byte));
                words.push(word as u32);
            }
            slots.push(BORDER);
            words.push(NONE);
            start = end as usize;
        }
        let mut learner = Learner {
            slots,
            words,
            counts: often,
            sizes: vec![1; BYTES],
            index: Index::new(),
            pairs: vec![],
            heap: BinaryHeap::new(),
            changes: vec![],
            before: vec![],
        };
        learner.count_bytes()?;
        Some(learner)
    }

    fn count_bytes(&mut self) -> Option<()> {
        for place in 1..self.slots.len() - 1 {
            let (left, right) = (self.slots[place], self.slots[place + 1]);
            if left != BORDER && right != BORDER {
                self.follow(key(left, right), place as u32)?;
            }
        }
        self.enter(0)
    }

    /// How often what stands at a place came.
    fn weight(&self, place: u32) -> u64 {
        self.counts[self.words[place as usize] as usize]
    }

    /// A pair stands at a place, too.
    fn follow(&mut self, pair: u64, place: u32) -> Option<()> {
        let at = match self.index.get(pair) {
            Some(at) => at,
            None => {
                self.index
                    .set(pair, u32::try_from(self.pairs.len()).ok()?)?;
                self.pairs.try_reserve(1).ok()?;
                self.pairs.push(Followed {
                    key: pair,
                    count: 0,
                    at: 0,
                    places: vec![],
                });
                self.pairs.len() - 1
            }
        };
        let weight = self.weight(place);
        let followed = &mut self.pairs[at];
        followed.count += weight;
        followed.places.try_reserve(1).ok()?;
        followed.places.push(place);
        Some(())
    }

    /// Puts the pairs from a number on into the heap. Of some, the merge that made them has taken
    /// places already.
    fn enter(&mut self, from: usize) -> Option<()> {
        self.heap.try_reserve(self.pairs.len() - from).ok()?;
        for at in from..self.pairs.len() {
            if self.pairs[at].count > 0 {
                let first = self.first(at)?;
                let entry = (self.pairs[at].count, Reverse(first), at as u32);
                self.heap.push(entry);
            }
        }
        Some(())
    }

    /// The first place where a pair stands, of which none is passed over again.
    fn first(&mut self, at: usize) -> Option<u32> {
        let followed = &mut self.pairs[at];
        let (left, right) = ((followed.key >> 32) as u32, followed.key as u32);
        let step = *self.sizes.get(left as usize)?;
        let stands = |&place: &u32| {
            self.slots[place as usize] == left && self.slots[(place + step) as usize] == right
        };
        followed.at += followed.places[followed.at..].iter().position(stands)?;
        Some(followed.places[followed.at])
    }

    /// Merges the most frequent pair that occurs `least` times, if there is one. None: Python does
    /// it, from the start.
    pub fn step(&mut self, least: u64) -> Option<Option<Merge>> {
        let Some((at, frequency)) = self.best(least.max(1))? else {
            return Some(None);
        };
        let pair = self.pairs[at].key;
        let (left, right) = ((pair >> 32) as u32, pair as u32);
        let places = std::mem::take(&mut self.pairs[at].places);
        self.pairs[at].count = 0;
        self.merge(left, right, &places)?;
        Some(Some(Merge {
            left,
            right,
            frequency,
        }))
    }

    fn best(&mut self, least: u64) -> Option<Option<(usize, u64)>> {
        while let Some((count, _, number)) = self.heap.pop() {
            let at = number as usize;
            let followed = &mut self.pairs[at];
            if followed.count < least {
                followed.count = 0;
                followed.places = vec![];
                continue;
            }
            if followed.count == count {
                return Some(Some((at, count)));
            }
            // Some were taken since: what is true now is put back.
            let count = followed.count;
            let first = self.first(at)?;
            self.heap.push((count, Reverse(first), number));
        }
        Some(None)
    }

    /// Writes the product wherever the pair stands, and follows the pairs that this makes.
    fn merge(&mut self, left: u32, right: u32, places: &[u32]) -> Option<()> {
        let new = u32::try_from(self.sizes.len()).ok()?;
        let step = self.sizes[left as usize] as usize;
        let size = step + self.sizes[right as usize] as usize;
        self.sizes.try_reserve(1).ok()?;
        self.sizes.push(size as u32);
        self.changes.clear();
        self.before.clear();
        self.changes.try_reserve(places.len() * 2).ok()?;
        self.before.try_reserve(places.len()).ok()?;
        for &place in places {
            let at = place as usize;
            if self.slots[at] != left || self.slots[at + step] != right {
                continue; // gone since, or its left part went to the one before it ("aaa")
            }
            let other = self.slots[at - 1];
            if other != BORDER {
                self.before.push(Change {
                    old: key(other, left),
                    new: key(other, new),
                    place: place - self.sizes[other as usize],
                });
            }
            let other = self.slots[at + size];
            if other != BORDER {
                self.changes.push(Change {
                    old: key(right, other),
                    new: key(new, other),
                    place,
                });
            }
            // No place may find the right part again; its slot can also be the last one.
            self.slots[at + step] = BORDER;
            self.slots[at] = new;
            self.slots[at + size - 1] = new;
        }
        // What stands after first: where the product stands beside itself, its first one was
        // counted with the left part that the second one has taken since.
        let mut changes = std::mem::take(&mut self.changes);
        changes.append(&mut self.before);
        let from = self.pairs.len();
        for change in &changes {
            let weight = self.weight(change.place);
            if let Some(at) = self.index.get(change.old) {
                let followed = &mut self.pairs[at];
                followed.count = followed.count.saturating_sub(weight);
            }
            self.follow(change.new, change.place)?;
        }
        self.changes = changes;
        self.enter(from)
    }

    /// How many tokens all pretokens are now, each counted as often as it came.
    pub fn tokens(&self) -> u64 {
        let (mut tokens, mut place) = (0, 0);
        while place < self.slots.len() {
            match self.slots[place] {
                BORDER => place += 1,
                token => {
                    tokens += self.weight(place as u32);
                    place += self.sizes[token as usize] as usize;
                }
            }
        }
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitting::tests::table;

    fn learned(words: &[(&str, u64)], limit: usize, least: u64) -> (Vec<(u32, u32, u64)>, u64) {
        let contents: String = words.iter().map(|word| word.0).collect();
        let (mut ends, mut end) = (vec![], 0);
        for (word, _) in words {
            end += word.len() as u64;
            ends.push(end);
        }
        let counts: Vec<u64> = words.iter().map(|word| word.1).collect();
        let mut learner = Learner::new(contents.as_bytes(), &ends, &counts).unwrap();
        let mut merges = vec![];
        while merges.len() < limit {
            match learner.step(least).unwrap() {
                Some(merge) => merges.push((merge.left, merge.right, merge.frequency)),
                None => break,
            }
        }
        (merges, learner.tokens())
    }

    #[test]
    fn what_is_taken_back_was_never_counted() {
        let mut counter = Counter::new(Splitter::after(None, table(0, false)));
        assert_eq!(counter.add(b"aabaxaab"), Some(0));
        let (contents, ends, counts) = counter.counted();
        let before = (contents.to_vec(), ends.to_vec(), counts.to_vec());
        let (new, old): (Vec<u8>, &[u8]) = (vec![b'y'; 900], b"aab");
        let known = before.1.len();
        for content in [old, &new, &new, b"", old] {
            counter.count(content).unwrap();
        }
        counter.forget(&[old, &new, &new, b"", old], known);
        let (contents, ends, counts) = counter.counted();
        assert_eq!(
            (contents, ends, counts),
            (&before.0[..], &before.1[..], &before.2[..])
        );
        assert_eq!(counter.add(b"xaab"), Some(0));
        assert_eq!(counter.counted().1, before.1);
    }

    #[test]
    fn the_most_frequent_pair_is_merged_of_several_the_first() {
        let (merges, tokens) = learned(&[("abab", 1), ("bc", 3), ("cd", 3)], 2, 1);
        assert_eq!(merges, [(98, 99, 3), (99, 100, 3)]);
        assert_eq!(tokens, 4 + 3 + 3);
    }

    #[test]
    fn letters_that_repeat_are_merged_from_the_left() {
        let (merges, tokens) = learned(&[("aaaaa", 2)], 9, 1);
        assert_eq!(merges, [(97, 97, 8), (256, 256, 2), (257, 97, 2)]);
        assert_eq!(tokens, 2);
    }

    #[test]
    fn a_pair_whose_first_place_its_own_merge_takes_stands_elsewhere() {
        // The first (a, b) of "abab" stands before "a" until its second one is merged.
        let (merges, _) = learned(&[("abab", 1), ("xy", 1), ("aba", 1)], 4, 1);
        let pairs: Vec<(u32, u32)> = merges.iter().map(|merge| (merge.0, merge.1)).collect();
        assert_eq!(pairs, [(97, 98), (256, 256), (120, 121), (256, 97)]);
    }

    #[test]
    fn what_is_too_rare_is_left() {
        let (merges, _) = learned(&[("ab", 2), ("cd", 1)], 9, 2);
        assert_eq!(merges, [(97, 98, 2)]);
        assert_eq!(learned(&[], 9, 1), (vec![], 0));
    }

    #[test]
    fn ends_and_counts_that_do_not_fit_are_refused() {
        assert!(Learner::new(b"ab", &[1], &[1]).is_none());
        assert!(Learner::new(b"ab", &[2, 1], &[1, 1]).is_none());
        assert!(Learner::new(b"ab", &[2], &[]).is_none());
        assert!(Learner::new(b"ab", &[2], &[u64::MAX]).is_none());
    }
}
