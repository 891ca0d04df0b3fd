//! Text to ids: pretokens, those that are met again, whole ones, merging (twin: `encode/`).
#![forbid(unsafe_code)]

use std::panic::resume_unwind;
use std::sync::Arc;

use crate::memories::Memories;
use crate::merging::{Merging, Work};
use crate::near::bring_near;
use crate::objects::Object;
use crate::offsets::{Sizes, Spans};
use crate::pairs::NONE;
use crate::seed::Seed;
use crate::splitting::{Splitter, BLOCK};
use crate::tokens::Tokens;

/// Up to so many bytes, a pretoken is remembered.
pub const REMEMBERED: usize = 128;
/// How many are remembered, and how many bytes and ids they have together.
const MOST_WORDS: usize = 1 << 18;
const SLOTS: usize = MOST_WORDS * 2;
const MOST_BYTES: usize = 1 << 24;
/// Places for short pretokens that were met lately; a power of two.
const LATELY: usize = 1 << 16;
/// How many pretokens are looked up side by side, so that the processor waits for many places of
/// memory at a time.
const GROUP: usize = 64;
/// Up to so many bytes a pretoken is short, and so many ids it then has.
const SHORT: usize = 15;
const FEW: usize = 3;
/// The most bytes of a text: places are counted in 31 bits, and one of these marks a gap.
pub const LONGEST: usize = (1 << 31) - 1;

/// The mark of a text of a batch that is left to Python.
pub const FAILED: u64 = 1 << 63;

/// Ids of some texts, and where those of each end.
type Part = (Vec<u32>, Vec<u64>);

/// A short pretoken with its size, its ids, and behind the room for these how many there are.
/// Where the key is 0 there is none.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Recent {
    key: u128,
    made: [u32; FEW + 1],
}

impl Recent {
    #[inline(always)]
    fn ids(&self) -> &[u32] {
        &self.made[..self.made[FEW] as usize]
    }
}

/// What one thread remembers, and its room for work.
struct Memory {
    known: Known,
    block: Box<[u32; BLOCK]>,
}

/// Pretokens and their ids.
pub struct Known {
    lately: Box<[Recent; LATELY]>,
    slots: Vec<u64>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
    /// Where the bytes and the ids of each word end.
    words: Vec<(u32, u32)>,
    work: Work,
}

impl Known {
    pub fn new() -> Self {
        let nothing = Recent {
            key: 0,
            made: [0; FEW + 1],
        };
        let Ok(lately) = vec![nothing; LATELY].into_boxed_slice().try_into() else {
            unreachable!("a box of so many has so many");
        };
        Known {
            lately,
            slots: vec![0; SLOTS],
            bytes: vec![],
            ids: vec![],
            words: vec![(0, 0)],
            work: Work::default(),
        }
    }

    /// The ids of a short word that was met lately, by what `key_of` gives.
    #[inline(always)]
    pub fn lately(&self, key: u128, at: usize) -> Option<&[u32]> {
        let recent = &self.lately[at];
        (key != 0 && recent.key == key).then(|| recent.ids())
    }

    /// Keeps the ids of a short word, if they are few.
    #[inline(always)]
    pub fn keep_lately(&mut self, key: u128, at: usize, made: &[u32]) {
        if key != 0 && (1..=FEW).contains(&made.len()) {
            let mut ids = [0; FEW + 1];
            ids[..made.len()].copy_from_slice(made);
            ids[FEW] = made.len() as u32;
            self.lately[at] = Recent { key, made: ids };
        }
    }

    /// The ids of a word, if it is remembered.
    #[inline(always)]
    pub fn find(&self, word: &[u8], hash: u64) -> Option<&[u32]> {
        let mut slot = hash as usize % SLOTS;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                return None;
            }
            if found >> 32 == hash >> 32 {
                let at = found as u32 as usize;
                let ((start, first), (end, last)) = (self.words[at - 1], self.words[at]);
                if self.bytes[start as usize..end as usize] == *word {
                    return Some(&self.ids[first as usize..last as usize]);
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// What `find` reads first; read early, it is near later.
    #[inline(always)]
    fn touch(&self, hash: u64) -> u64 {
        let found = self.slots[hash as usize % SLOTS];
        let same = found >> 32 == hash >> 32;
        let at = if same { found as u32 as usize } else { 0 };
        u64::from(self.words[at.saturating_sub(1)].0)
    }

    /// Remembers a word that is not remembered; forgets all others where there is no room. Where
    /// there is no memory, it does nothing.
    pub fn remember(&mut self, word: &[u8], hash: u64, ids: &[u32]) {
        if self.words.len() > MOST_WORDS || self.bytes.len() + 4 * self.ids.len() > MOST_BYTES {
            self.slots.fill(0);
            self.bytes.clear();
            self.ids.clear();
            self.words.truncate(1);
        }
        let room = self.bytes.try_reserve(word.len()).is_ok()
            && self.ids.try_reserve(ids.len()).is_ok()
            && self.words.try_reserve(1).is_ok();
        if !room {
            return;
        }
        let mut slot = hash as usize % SLOTS;
        while self.slots[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        self.slots[slot] = hash >> 32 << 32 | self.words.len() as u64;
        self.bytes.extend_from_slice(word);
        self.ids.extend_from_slice(ids);
        let ends = (self.bytes.len() as u32, self.ids.len() as u32);
        self.words.push(ends);
    }
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

/// What a short pretoken (start, end) is remembered by, and where; for others 0. None: it is
/// not in the text.
#[inline(always)]
pub fn key_of(seed: &Seed, text: &[u8], start: usize, end: usize) -> Option<(u128, usize)> {
    let size = end - start;
    if size > SHORT {
        return (end <= text.len()).then_some((0, 0));
    }
    let mut key = [0; 16];
    match text.get(start..start + 16) {
        Some(around) => key.copy_from_slice(around),
        None => key[..size].copy_from_slice(text.get(start..end)?),
    }
    let key = u128::from_le_bytes(key) & WITHIN[size] | (size as u128) << 120;
    let at = seed.two(key as u64, (key >> 64) as u64) as usize % LATELY;
    Some((key, at))
}

/// Texts to ids. Threads may share it.
pub trait Encodes: Sync {
    /// Appends the ids of a text. None: it is left to Python, or there is too little memory; what
    /// was appended by then counts for nothing.
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()>;

    /// The same of one text, and the characters that each id stands for.
    fn encode_placed(&self, text: &str) -> Option<(Vec<u32>, Spans)>;

    /// The ids of texts that end at `ends` in `all`, one after the other, and where those of each
    /// text end, with `FAILED` for a text that is left to Python; by so many threads.
    fn encode_each(&self, all: &str, ends: &[u64], threads: usize) -> Option<Part> {
        if ends.windows(2).any(|two| two[0] > two[1])
            || ends.last().is_some_and(|&end| end as usize > all.len())
        {
            return None;
        }
        let share = all.len() / threads.max(1) + 1;
        let mut jobs = vec![];
        let mut first = 0;
        while first < ends.len() {
            let start = if first == 0 {
                0
            } else {
                ends[first - 1] as usize
            };
            let limit = (start + share) as u64;
            let count = ends[first..].partition_point(|&end| end <= limit).max(1);
            jobs.push((start, &ends[first..first + count]));
            first += count;
        }
        let encode = |&(start, ends): &(usize, &[u64])| {
            let (mut ids, mut counts, mut start) = (vec![], vec![], start);
            counts.try_reserve_exact(ends.len()).ok()?;
            for &end in ends {
                let before = ids.len();
                let text = all.get(start..end as usize);
                let done = text.and_then(|text| self.encode(text, &mut ids));
                if done.is_none() {
                    ids.truncate(before);
                }
                let mark = if done.is_none() { FAILED } else { 0 };
                counts.push(ids.len() as u64 | mark);
                start = end as usize;
            }
            Some((ids, counts))
        };
        if jobs.len() < 2 {
            return jobs.first().map_or(Some((vec![], vec![])), encode);
        }
        let parts: Option<Vec<Part>> = std::thread::scope(|scope| {
            let start = |job| std::thread::Builder::new().spawn_scoped(scope, move || encode(job));
            let running: Vec<_> = jobs.iter().map(|job| (job, start(job))).collect();
            let ended = running.into_iter().map(|(job, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // There is no further thread to be had, so this one does it.
                Err(_) => encode(job),
            });
            ended.collect()
        });
        let (mut ids, mut counts): (Vec<u32>, Vec<u64>) = (vec![], vec![]);
        let parts = parts?;
        let sizes = parts.iter().map(|(part, _)| part.len());
        ids.try_reserve_exact(sizes.sum()).ok()?;
        counts.try_reserve_exact(ends.len()).ok()?;
        for (part, ends) in parts {
            let before = ids.len() as u64;
            counts.extend(ends.iter().map(|end| before + end));
            ids.extend_from_slice(&part);
        }
        Some((ids, counts))
    }
}

/// A model that merges bytes, ready to encode. Threads may share it.
pub struct Encoder {
    /// Holds the table.
    held: Arc<Object>,
    splitter: Option<Splitter>,
    merging: Merging,
    /// By place in the table: the id of each token.
    ids: Vec<u32>,
    /// The same where a whole pretoken becomes the token; else `NONE`.
    whole: Vec<u32>,
    sizes: Option<Sizes>,
    memories: Memories<Memory>,
    seed: Seed,
}

impl Encodes for Encoder {
    /// A byte without a token is left to Python.
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()> {
        let mut memory = self.memories.take().unwrap_or_else(|| {
            let (known, block) = (Known::new(), Box::new([0; BLOCK]));
            Memory { known, block }
        });
        let done = self.encode_with(&mut memory, text.as_bytes(), out);
        memory.known.work.shrink();
        self.memories.leave(memory);
        done
    }

    /// Tokens have all bytes of a pretoken, one after the other.
    fn encode_placed(&self, text: &str) -> Option<(Vec<u32>, Spans)> {
        let sizes = self.sizes.as_ref()?;
        let (mut ids, mut spans) = (vec![], Spans::default());
        self.encode(text, &mut ids)?;
        spans.reserve(ids.len())?;
        let mut rest = ids.iter().copied();
        match &self.splitter {
            Some(steps) if steps.plain().is_none() => {
                for piece in steps.pieces(text.as_bytes())? {
                    spans.fill(piece, &mut rest, sizes)?;
                }
            }
            _ => spans.fill((0, text.len() as u32), &mut rest, sizes)?,
        }
        spans.in_characters(text.as_bytes(), 0);
        Some((ids, spans))
    }
}

impl Encoder {
    /// `held` has the table, of which `ids` are the ids; none of these is `NONE`. `lookup_first`:
    /// a whole pretoken that is a token becomes it, whatever merging gives. No splitter: a text is
    /// one pretoken.
    pub fn new(
        held: Arc<Object>,
        splitter: Option<Splitter>,
        merging: Merging,
        ids: Vec<u32>,
        lookup_first: bool,
    ) -> Option<Self> {
        let tokens = &held.table()?.tokens;
        if ids.len() != tokens.len() || ids.contains(&NONE) {
            return None;
        }
        let mut whole = ids.clone();
        if !lookup_first {
            let mut work = Work::default();
            for (at, whole) in whole.iter_mut().enumerate() {
                let token = tokens.get(at);
                let merged = token.len() <= REMEMBERED && merging.run(token, &mut work).is_some();
                if !(merged && work.symbols == [at as u32]) {
                    *whole = NONE;
                }
            }
        }
        let sizes = Sizes::of((0..ids.len()).map(|at| (ids[at], tokens.size(at))));
        Some(Encoder {
            held,
            splitter,
            merging,
            ids,
            whole,
            sizes,
            memories: Memories::new(),
            seed: Seed::of_process(),
        })
    }

    fn tokens(&self) -> Option<&Tokens> {
        Some(&self.held.table()?.tokens)
    }

    fn encode_with(&self, memory: &mut Memory, text: &[u8], out: &mut Vec<u32>) -> Option<()> {
        let tokens = self.tokens()?;
        let Memory { known, block } = memory;
        if text.len() > LONGEST {
            return None;
        }
        let Some(splitter) = &self.splitter else {
            return match text {
                [] => Some(()),
                _ => out
                    .try_reserve(text.len())
                    .ok()
                    .and_then(|()| self.piece(tokens, known, text, 0, out)),
            };
        };
        let Some(table) = splitter.plain() else {
            for (start, end) in splitter.pieces(text)? {
                let (start, end) = (start as usize, end as usize);
                out.try_reserve(end - start).ok()?;
                let (key, at) = key_of(&self.seed, text, start, end)?;
                match known.lately(key, at) {
                    Some(ids) => out.extend_from_slice(ids),
                    None => self.short(tokens, known, &text[start..end], (key, at), 0, out)?,
                }
            }
            return Some(());
        };
        let mut cursor = table.cursor();
        let mut start = 0;
        while !cursor.finished {
            let count = table.scan(text, &mut cursor, block)?;
            for ends in block[..count].chunks(GROUP) {
                self.group(tokens, known, text, start, ends, out)?;
                start = ends[ends.len() - 1] as usize;
            }
        }
        Some(())
    }

    /// Pretokens that end at `ends`. A table that covers leaves no gaps; the mark of one would be
    /// an end out of the text.
    fn group(
        &self,
        tokens: &Tokens,
        known: &mut Known,
        text: &[u8],
        mut start: usize,
        ends: &[u32],
        out: &mut Vec<u32>,
    ) -> Option<()> {
        // A pretoken has at most as many ids as bytes.
        let last = ends.last().map_or(start, |&end| end as usize);
        out.try_reserve(last.checked_sub(start)?).ok()?;
        let mut keys = [(0u128, 0usize); GROUP];
        let mut from = start;
        for (key, &end) in keys.iter_mut().zip(ends) {
            *key = key_of(&self.seed, text, from, end as usize)?;
            bring_near(&known.lately[key.1]);
            from = end as usize;
        }
        let mut hashes = [0; GROUP];
        let mut far = [0u8; GROUP];
        let mut count = 0;
        from = start;
        for (place, &end) in ends.iter().enumerate() {
            let (key, at) = keys[place];
            if known.lately[at].key != key {
                let hash = tokens.hash(&text[from..end as usize]);
                tokens.bring_near(hash);
                bring_near(&known.slots[hash as usize % SLOTS]);
                hashes[place] = hash;
                far[count] = place as u8;
                count += 1;
            }
            from = end as usize;
        }
        let mut seen = 0;
        for &place in &far[..count] {
            let hash = hashes[usize::from(place)];
            seen ^= tokens.touch_token(hash) ^ known.touch(hash);
        }
        std::hint::black_box(seen);
        // All of the ids' room is copied, so that nothing depends on how many there are.
        let mut made = [0; (FEW + 1) * GROUP];
        let mut size = 0;
        for (place, &end) in ends.iter().enumerate() {
            let (key, at) = keys[place];
            let recent = &known.lately[at];
            if recent.key == key && key != 0 {
                made[size..size + FEW + 1].copy_from_slice(&recent.made);
                size += recent.made[FEW] as usize;
            } else {
                out.extend_from_slice(&made[..size]);
                size = 0;
                let piece = &text[start..end as usize];
                self.short(tokens, known, piece, keys[place], hashes[place], out)?;
            }
            start = end as usize;
        }
        out.extend_from_slice(&made[..size]);
        Some(())
    }

    /// A pretoken that was not met lately, or is not short.
    fn short(
        &self,
        tokens: &Tokens,
        known: &mut Known,
        piece: &[u8],
        (key, at): (u128, usize),
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let before = out.len();
        self.piece(tokens, known, piece, hash, out)?;
        known.keep_lately(key, at, &out[before..]);
        Some(())
    }

    fn piece(
        &self,
        tokens: &Tokens,
        known: &mut Known,
        piece: &[u8],
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        // Who has touched nothing has hashed nothing.
        let hash = if hash == 0 { tokens.hash(piece) } else { hash };
        if let Some(at) = tokens.find_hashed(piece, hash) {
            let id = self.whole[at as usize];
            if id != NONE {
                out.push(id);
                return Some(());
            }
        }
        if piece.len() <= REMEMBERED {
            if let Some(ids) = known.find(piece, hash) {
                out.extend_from_slice(ids);
                return Some(());
            }
        }
        let before = out.len();
        self.merging.run(piece, &mut known.work)?;
        out.extend(
            known
                .work
                .symbols
                .iter()
                .map(|&symbol| self.ids[symbol as usize]),
        );
        if piece.len() <= REMEMBERED {
            known.remember(piece, hash, &out[before..]);
        }
        Some(())
    }
}
