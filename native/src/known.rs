//! Pretokens that were met, and their ids.
#![forbid(unsafe_code)]

use crate::processor::bring_near;
use crate::seed::Seed;

/// Up to so many bytes, a pretoken is remembered.
pub const REMEMBERED: usize = 128;
/// Up to so many bytes a pretoken is short, and up to so many ids are few.
const SHORT: usize = 15;
pub const FEW: usize = 3;

/// How many places there are at first, and at most; powers of two. Half of them are used at most.
const FIRST: usize = 1 << 16;
const MOST: usize = 1 << 19;
/// How many bytes and ids lie beside the places at most, together.
const MOST_BESIDE: usize = 1 << 23;

/// Marks the key of a pretoken that is not short: its lower half is a hash.
const LONG: u128 = 0xFF << 120;

/// What a pretoken is found by.
#[derive(Clone, Copy, Default)]
pub struct Key {
    /// Of a short pretoken its bytes, and its size above them, so equal keys are equal pretokens;
    /// of a longer one `LONG` and a hash. 0: it is not remembered.
    pub key: u128,
    pub hash: u64,
}

/// The bits of so many bytes: a look-up is quicker than to shift 128 bits.
const WITHIN: [u128; SHORT + 1] = {
    let mut masks = [0; SHORT + 1];
    let mut size = 1;
    while size <= SHORT {
        masks[size] = masks[size - 1] << 8 | 0xFF;
        size += 1;
    }
    masks
};

impl Key {
    /// The key of a pretoken (start, end); that of none where it is longer than `most`. None: it is
    /// not in the text.
    #[inline(always)]
    pub fn of(seed: &Seed, text: &[u8], start: usize, end: usize, most: usize) -> Option<Self> {
        let size = end.wrapping_sub(start);
        if size > SHORT {
            return Some(Key::long(seed, text.get(start..end)?, most));
        }
        let mut key = [0; 16];
        match text.get(start..start + 16) {
            Some(around) => key.copy_from_slice(around),
            None => key[..size].copy_from_slice(text.get(start..end)?),
        }
        let key = u128::from_le_bytes(key) & WITHIN[size] | (size as u128) << 120;
        Some(Key::with_hash(seed, key))
    }

    #[cold]
    fn long(seed: &Seed, word: &[u8], most: usize) -> Self {
        match word.len() <= most {
            true => Key::with_hash(seed, LONG | u128::from(seed.bytes(word))),
            false => Key::default(),
        }
    }

    /// Whether equal keys are equal pretokens.
    pub fn is_whole(&self) -> bool {
        self.key < LONG
    }

    /// That of a word of which the key's own part is known.
    #[inline(always)]
    pub fn with_hash(seed: &Seed, key: u128) -> Self {
        let hash = seed.two(key as u64, (key >> 64) as u64);
        Key { key, hash }
    }
}

/// A pretoken with its ids, in half of what the processor fetches at a time.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Entry {
    key: u128,
    /// The ids if they are few, and behind the room for these how many there are. Where that is 0,
    /// the first is the number of a word beside.
    made: [u32; FEW + 1],
}

/// What one thread remembers.
pub struct Known {
    /// With open addressing; where a key is 0, a place is free.
    entries: Vec<Entry>,
    used: usize,
    /// Of the words that are long, or have many ids or none: the bytes of the long ones, the ids,
    /// and where those of each end.
    bytes: Vec<u8>,
    ids: Vec<u32>,
    words: Vec<(u32, u32)>,
    seed: Seed,
}

impl Known {
    /// Nothing yet.
    pub fn new() -> Self {
        Known {
            entries: vec![Entry::default(); FIRST],
            used: 0,
            bytes: vec![],
            ids: vec![],
            words: vec![(0, 0)],
            seed: Seed::of_process(),
        }
    }

    /// The key of a pretoken (start, end). None: it is not in the text.
    #[inline(always)]
    pub fn key(&self, text: &[u8], start: usize, end: usize) -> Option<Key> {
        Key::of(&self.seed, text, start, end, REMEMBERED)
    }

    #[inline(always)]
    fn place(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    /// Has the place brought near where a key most often is.
    #[inline(always)]
    pub fn bring_near(&self, key: &Key) {
        bring_near(&self.entries[self.place(key.hash)]);
    }

    /// Copies ids from the place where a key most often is; how many, and 0 where there are not
    /// few, or the key may be elsewhere. All of their room is copied, so that no branch depends on
    /// how many there are.
    #[inline(always)]
    pub fn copy_few(&self, key: &Key, out: &mut [u32]) -> usize {
        let entry = &self.entries[self.place(key.hash)];
        out.copy_from_slice(&entry.made);
        usize::from(entry.key == key.key) * entry.made[FEW] as usize
    }

    /// The place of a key, or the free one where it would be.
    #[inline(always)]
    fn probe(&self, key: &Key) -> usize {
        let mut at = self.place(key.hash);
        while self.entries[at].key != key.key && self.entries[at].key != 0 {
            at = (at + 1) & (self.entries.len() - 1);
        }
        at
    }

    /// Whether the key of a word is remembered.
    pub fn has(&self, key: &Key) -> bool {
        self.entries[self.probe(key)].key != 0
    }

    /// The ids of a word, if it is remembered. It is then where its key is looked for first, and
    /// what was there is where it was: so frequent words are found at once. Both are still found,
    /// because no place between is free.
    #[inline(always)]
    pub fn find(&mut self, key: &Key, word: &[u8]) -> Option<&[u32]> {
        let (mut at, first) = (self.probe(key), self.place(key.hash));
        if at != first && self.entries[at].key != 0 {
            self.entries.swap(at, first);
            at = first;
        }
        let entry = &self.entries[at];
        match entry.made[FEW] as usize {
            0 if entry.key != 0 => self.beside(entry, word),
            0 => None,
            few => Some(&entry.made[..few]),
        }
    }

    /// Two long words may have one hash.
    fn beside(&self, entry: &Entry, word: &[u8]) -> Option<&[u32]> {
        let at = entry.made[0] as usize;
        let ((start, first), (end, last)) = (self.words[at - 1], self.words[at]);
        let same = entry.key < LONG || self.bytes[start as usize..end as usize] == *word;
        same.then(|| &self.ids[first as usize..last as usize])
    }

    /// Remembers a word that `find` did not find; of two long words with one hash, the first.
    /// Where there is no room, it forgets all others; where there is no memory, it does nothing.
    pub fn remember(&mut self, key: &Key, word: &[u8], ids: &[u32]) {
        if key.key == 0 {
            return;
        }
        let beside = self.bytes.len() + 4 * self.ids.len();
        let full = self.used >= self.entries.len() / 2 && !self.grow();
        if full || beside > MOST_BESIDE || self.words.len() > MOST {
            self.forget();
        }
        let mut made = [0; FEW + 1];
        let is_long = !key.is_whole();
        if !is_long && (1..=FEW).contains(&ids.len()) {
            made[..ids.len()].copy_from_slice(ids);
            made[FEW] = ids.len() as u32;
        } else {
            let bytes = if is_long { word } else { &[] };
            let room = self.bytes.try_reserve(bytes.len()).is_ok()
                && self.ids.try_reserve(ids.len()).is_ok()
                && self.words.try_reserve(1).is_ok();
            if !room {
                return;
            }
            made[0] = self.words.len() as u32;
            self.bytes.extend_from_slice(bytes);
            self.ids.extend_from_slice(ids);
            let ends = (self.bytes.len() as u32, self.ids.len() as u32);
            self.words.push(ends);
        }
        let at = self.probe(key);
        if self.entries[at].key == 0 {
            self.entries[at] = Entry { key: key.key, made };
            self.used += 1;
        }
    }

    /// False: there are as many places as there may be, or there is no memory for more.
    fn grow(&mut self) -> bool {
        let size = MOST.min(4 * self.entries.len());
        let mut entries = vec![];
        if size == self.entries.len() || entries.try_reserve_exact(size).is_err() {
            return false;
        }
        entries.resize(size, Entry::default());
        let before = std::mem::replace(&mut self.entries, entries);
        for entry in before.into_iter().filter(|entry| entry.key != 0) {
            let at = self.probe(&Key::with_hash(&self.seed, entry.key));
            self.entries[at] = entry;
        }
        true
    }

    fn forget(&mut self) {
        self.entries.fill(Entry::default());
        self.used = 0;
        self.bytes.clear();
        self.ids.clear();
        self.words.truncate(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(known: &Known, word: &[u8]) -> Key {
        known.key(word, 0, word.len()).unwrap()
    }

    fn remember(known: &mut Known, word: &[u8], ids: &[u32]) {
        let key = key(known, word);
        if known.find(&key, word).is_none() {
            known.remember(&key, word, ids);
        }
    }

    #[test]
    fn words_of_every_size_are_found_and_no_others() {
        let mut known = Known::new();
        let words: Vec<Vec<u8>> = (1..=REMEMBERED + 2).map(|size| vec![b'a'; size]).collect();
        for (size, word) in words.iter().enumerate() {
            let ids: Vec<u32> = (0..size as u32 % 6).collect();
            remember(&mut known, word, &ids);
            let found = known.find(&key(&known, word), word);
            let remembered = word.len() <= REMEMBERED;
            assert_eq!(found, remembered.then_some(&ids[..]));
            let mut other = word.clone();
            other[size] = b'b';
            assert_eq!(known.find(&key(&known, &other), &other), None);
            assert_eq!(known.find(&key(&known, b"\0"), b"\0"), None);
        }
        for (size, word) in words.iter().enumerate().take(REMEMBERED) {
            let found = known.find(&key(&known, word), word).unwrap();
            assert_eq!(found.len(), size % 6);
        }
    }

    #[test]
    fn a_pretoken_is_the_same_wherever_it_stands() {
        let known = Known::new();
        let text = b"a word, and a word";
        let (one, other) = (known.key(text, 2, 6), known.key(text, 14, 18));
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(one.key == other.key && one.hash == other.hash);
        assert!(known.key(text, 14, 19).is_none());
        assert!(known.key(text, 2, 40).is_none());
    }

    #[test]
    fn long_words_of_one_hash_are_told_apart() {
        let mut known = Known::new();
        let (one, other) = ([b'a'; 20], [b'b'; 20]);
        let same = key(&known, &one);
        known.remember(&same, &one, &[1]);
        assert_eq!(known.find(&same, &other), None);
        known.remember(&same, &other, &[2]);
        assert_eq!(known.find(&same, &one), Some(&[1][..]));
        assert_eq!(known.find(&same, &other), None);
    }

    #[test]
    fn it_grows_and_then_forgets() {
        let mut known = Known::new();
        for number in 0..MOST as u32 {
            let word = number.to_le_bytes();
            remember(&mut known, &word, &vec![number; 1 + number as usize % 5]);
            let found = known.find(&key(&known, &word), &word).unwrap();
            assert!(found.len() == 1 + number as usize % 5 && found[0] == number);
            if number as usize == MOST / 2 - 1 {
                let first = 0u32.to_le_bytes();
                assert_eq!(known.find(&key(&known, &first), &first), Some(&[0][..]));
            }
        }
        assert!(known.entries.len() == MOST && known.used <= MOST / 2);
    }
}
