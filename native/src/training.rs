//! Pretokens counted (twin: `train/pretokens.py`), and merges learned from them (twin:
//! `train/learner.py`, which says why the merges are those of a recount before each).
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::known::Key;
use crate::processor::bring_near;
use crate::seed::Seed;
use crate::splitting::{Piece, Room, Splitter};

/// No number.
const NONE: u32 = u32::MAX;
/// What lies between two pretokens, and in a slot that no token begins or ends in.
const BORDER: u32 = u32::MAX;
const BYTES: usize = 256;
/// Slots are counted in 32 bits, with room left for `BORDER` and for ids.
const MOST: usize = 1 << 31;

/// How many pretokens are looked up side by side.
const GROUP: usize = 64;

/// A distinct pretoken: its key, and which one it is.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Distinct {
    key: u128,
    at: u32,
}

const FREE: Distinct = Distinct { key: 0, at: NONE };

/// Distinct pretokens in the order they first came, and how often each came.
pub struct Counter {
    contents: Vec<u8>,
    ends: Vec<u64>,
    counts: Vec<u64>,
    /// With open addressing; three quarters of them are used at most.
    slots: Vec<Distinct>,
    seed: Seed,
}

impl Counter {
    /// The pretokens of texts that end at `ends` in `all`. None: Python counts them.
    pub fn of(splitter: &Splitter, all: &str, ends: &[u64]) -> Option<Self> {
        let mut counter = Counter {
            contents: vec![],
            ends: vec![],
            counts: vec![],
            slots: vec![FREE; 1 << 12],
            seed: Seed::of_process(),
        };
        let (mut start, mut room) = (0, Room::new());
        for &end in ends {
            let text = all.get(start..end as usize)?.as_bytes();
            splitter.each(text, &mut room, |pieces| {
                for group in pieces.chunks(GROUP) {
                    counter.make_room(group.len(), 0)?;
                    counter.count(text, group, |_| 1)?;
                }
                Some(())
            })?;
            start = end as usize;
        }
        Some(counter)
    }

    /// Counts what another one has counted, behind what is counted here. None: there is too little
    /// memory, and nothing of it was counted.
    pub fn absorb(&mut self, other: &Counter) -> Option<()> {
        u32::try_from(other.contents.len()).ok()?;
        self.make_room(other.ends.len(), other.contents.len())?;
        let mut start = 0;
        let mut pieces = [(0, 0); GROUP];
        for (ends, often) in other.ends.chunks(GROUP).zip(other.counts.chunks(GROUP)) {
            for (piece, &end) in pieces.iter_mut().zip(ends) {
                *piece = (std::mem::replace(&mut start, end as u32), end as u32);
            }
            self.count(&other.contents, &pieces[..ends.len()], |at| often[at])?;
        }
        Some(())
    }

    /// The contents one after the other, where each ends, and how often each came.
    pub fn counted(&self) -> (&[u8], &[u64], &[u64]) {
        (&self.contents, &self.ends, &self.counts)
    }

    /// Makes room for so many further distinct pretokens of so many bytes. None: there is none.
    fn make_room(&mut self, count: usize, size: usize) -> Option<()> {
        let most = self.ends.len().checked_add(count)?;
        if most >= NONE as usize {
            return None;
        }
        self.contents.try_reserve(size).ok()?;
        self.ends.try_reserve(count).ok()?;
        self.counts.try_reserve(count).ok()?;
        let mut slots = self.slots.len();
        while most > slots / 4 * 3 {
            slots = slots.checked_mul(2)?;
        }
        if slots > self.slots.len() {
            let mut larger = vec![];
            larger.try_reserve_exact(slots).ok()?;
            larger.resize(slots, FREE);
            let before = std::mem::replace(&mut self.slots, larger);
            let mask = slots - 1;
            for one in before.into_iter().filter(|one| one.at != NONE) {
                let mut slot = Key::with_hash(&self.seed, one.key).hash as usize & mask;
                while self.slots[slot].at != NONE {
                    slot = (slot + 1) & mask;
                }
                self.slots[slot] = one;
            }
        }
        Some(())
    }

    /// Counts a group of pretokens of a text, each as often as is said by its place in the group,
    /// where there is room for as many new ones. None: there is none for their bytes.
    fn count(&mut self, text: &[u8], group: &[Piece], often: impl Fn(usize) -> u64) -> Option<()> {
        let mut keys = [Key::default(); GROUP];
        for (key, &(start, end)) in keys.iter_mut().zip(group) {
            *key = Key::of(&self.seed, text, start as usize, end as usize, usize::MAX)?;
            bring_near(&self.slots[key.hash as usize & (self.slots.len() - 1)]);
        }
        for (at, (key, &(start, end))) in keys.iter().zip(group).enumerate() {
            let content = &text[start as usize..end as usize];
            let slot = self.slot(key, content);
            match self.slots[slot].at {
                NONE => {
                    self.contents.try_reserve(content.len()).ok()?;
                    self.contents.extend_from_slice(content);
                    self.slots[slot] = Distinct {
                        key: key.key,
                        at: self.ends.len() as u32,
                    };
                    self.ends.push(self.contents.len() as u64);
                    self.counts.push(often(at));
                }
                known => self.counts[known as usize] += often(at),
            }
        }
        Some(())
    }

    /// Where a content is, or would be.
    #[inline(always)]
    fn slot(&self, key: &Key, content: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key.hash as usize & mask;
        loop {
            let one = &self.slots[slot];
            let same = one.key == key.key && (key.is_whole() || self.content(one.at) == content);
            if one.at == NONE || same {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    fn content(&self, at: u32) -> &[u8] {
        let at = at as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.contents[start as usize..self.ends[at] as usize]
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

    fn counted(texts: &[&str]) -> Counter {
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        });
        let splitter = Splitter::after(None, table(0, false));
        Counter::of(&splitter, &texts.concat(), &ends.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_parts_have_counted_is_what_one_has() {
        // Pretokens of every size to 200, a part of them new in each text.
        let texts: Vec<String> = (0..40)
            .map(|text| {
                let sizes = (0..60).map(|each| (text * 7 + each * 11) % 200 + each / 40);
                sizes.map(|size| "a".repeat(size) + "b").collect()
            })
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let whole = counted(&texts);
        assert!(whole.counted().1.len() > 150);
        for size in [1, 7, 39] {
            let mut parts = texts.chunks(size).map(counted);
            let mut first = parts.next().unwrap();
            parts.for_each(|part| first.absorb(&part).unwrap());
            assert_eq!(first.counted(), whole.counted());
        }
    }

    #[test]
    fn many_pretokens_are_found_again() {
        let text: String = (0..20_000).map(|each| format!("{each:x>20}aab")).collect();
        let counter = counted(&[&text, &text]);
        let (contents, ends, counts) = counter.counted();
        assert_eq!((ends.len(), counts[1]), (20_001, 40_000));
        assert!(counts
            .iter()
            .enumerate()
            .all(|(at, &each)| at == 1 || each == 2));
        assert_eq!(contents.len(), 20_000 * 20 + 3);
    }

    #[test]
    fn long_pretokens_of_one_hash_are_told_apart() {
        let text = "aaaaaaaaaaaaaaaaaaaab";
        let counter = counted(&[text]);
        let key = Key::of(&counter.seed, text.as_bytes(), 0, text.len(), usize::MAX).unwrap();
        assert_eq!(counter.slots[counter.slot(&key, text.as_bytes())].at, 0);
        assert_eq!(counter.slots[counter.slot(&key, b"other")].at, NONE);
    }

    #[test]
    fn a_text_that_ends_inside_a_character_is_refused() {
        let splitter = Splitter::after(None, table(0, false));
        for ends in [&[1, 2][..], &[2, 1], &[3]] {
            assert!(Counter::of(&splitter, "\u{e9}", ends).is_none());
        }
        assert!(Counter::of(&splitter, "\u{e9}", &[2, 2]).is_some());
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
