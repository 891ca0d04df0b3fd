//! Text to ids: pretokens, those that are met again, whole ones, merging (twin: `encode/`).
#![forbid(unsafe_code)]

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;

use crate::known::{Key, Known, FEW, REMEMBERED};
use crate::memories::Memories;
use crate::merging::{Merging, Work};
use crate::objects::Object;
use crate::offsets::{Sizes, Spans};
use crate::pairs::NONE;
use crate::splitting::{Room, Splitter, BLOCK};
use crate::tokens::Tokens;

/// How many pretokens are looked up side by side, so that the processor waits for many places of
/// memory at a time.
const GROUP: usize = 64;
/// The most bytes of a pretoken with its suffix that is looked for as a token.
const GLUED: usize = 64;
/// No less than the ids of a group that are few; a power of two.
const MADE: usize = (FEW + 1) * GROUP;
/// The most bytes of a text: places are counted in 31 bits, and one of these marks a gap.
pub const LONGEST: usize = (1 << 31) - 1;

/// The mark of a text of a batch that is left to Python.
pub const FAILED: u64 = 1 << 63;

/// Ids of some texts, and where those of each end.
type Part = (Vec<u32>, Vec<u64>);

/// What one thread remembers, and its room for work.
struct Memory {
    words: Words,
    block: Box<[u32; BLOCK]>,
    group: Box<Group>,
}

/// Pretokens that were met, and room for merging others.
struct Words {
    known: Known,
    work: Work,
    room: Room,
}

/// Room for looking up pretokens side by side.
struct Group {
    keys: [Key; GROUP],
    /// The ids of those that were found at once, one after the other, and how many there are.
    made: [u32; MADE + FEW + 1],
    size: usize,
    /// The others: their place in the group, and how many of these ids are before theirs.
    left: [(u32, u32); GROUP],
    count: usize,
    /// By place: the hash that tokens are found by, or 0.
    hashes: [u64; GROUP],
}

/// Texts to ids. Threads may share it.
pub trait Encodes: Sync {
    /// Appends the ids of a text. None: it is left to Python, or there is too little memory; what
    /// was appended by then counts for nothing.
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()>;

    /// The same of one text, and the characters that each id stands for. If there are more than
    /// `most` ids, those at the end may be left out, of which so many are there.
    fn encode_placed(&self, text: &str, most: usize) -> Option<(Vec<u32>, Spans)>;

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

/// Which token a whole pretoken becomes.
pub enum Whole<'a> {
    /// The one with its bytes, whatever merging gives.
    Any,
    /// The one with its bytes and this suffix, if merging gives it.
    Merged(&'a [u8]),
}

/// What is done with each pretoken that was not met before.
#[derive(Default)]
pub struct Inner {
    /// The characters (first, last) that are left out at its beginning, in order (Theorem 35).
    pub gaps: Vec<(u32, u32)>,
    /// What cuts it once more, and what then cuts its bytes, which are spelled by letters.
    pub again: Option<Splitter>,
    pub letters: Option<Splitter>,
}

/// A model that merges bytes, ready to encode. Threads may share it.
pub struct Encoder {
    /// Holds the table.
    held: Arc<Object>,
    splitter: Option<Splitter>,
    inner: Option<Inner>,
    merging: Merging,
    /// By place in the table: the id of each token.
    ids: Vec<u32>,
    /// The same where a whole pretoken becomes the token, which ends in the suffix; else `NONE`.
    whole: Vec<u32>,
    suffix: Box<[u8]>,
    sizes: Option<Sizes>,
    memories: Memories<Memory>,
}

impl Encodes for Encoder {
    /// A byte without a token is left to Python.
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()> {
        self.encode_up_to(text, usize::MAX, out)
    }

    /// Tokens have all bytes of a pretoken, one after the other.
    fn encode_placed(&self, text: &str, most: usize) -> Option<(Vec<u32>, Spans)> {
        let sizes = self.sizes.as_ref()?;
        let (mut ids, mut spans) = (vec![], Spans::default());
        self.encode_up_to(text, most, &mut ids)?;
        spans.reserve(ids.len())?;
        let mut rest = ids.iter().copied();
        let mut room = Room::new();
        let pieces = match &self.splitter {
            // A table that covers leaves no gaps, so it matters only to what cuts once more.
            Some(steps) if steps.plain().is_none() || self.inner.is_some() => {
                steps.pieces(text.as_bytes())?
            }
            _ if ids.len() > most => vec![(0, sizes.of_all(&ids)?)],
            _ => vec![(0, text.len() as u32)],
        };
        for (start, end) in pieces {
            if ids.len() > most && spans.starts.len() == ids.len() {
                break;
            }
            let piece = &text.as_bytes()[start as usize..end as usize];
            match &self.inner {
                None => spans.fill((start, end), &mut rest, sizes)?,
                Some(inner) => {
                    let word = self.word(piece);
                    let start = end - word.len() as u32;
                    for (first, last) in inner.cut(word, &mut room)? {
                        spans.fill((start + first, start + last), &mut rest, sizes)?;
                    }
                }
            }
        }
        spans.in_characters(text.as_bytes(), 0);
        Some((ids, spans))
    }
}

impl Encoder {
    /// `held` has the table, of which `ids` are the ids; none of these is `NONE`. No splitter: a
    /// text is one pretoken.
    pub fn new(
        held: Arc<Object>,
        (splitter, inner): (Option<Splitter>, Inner),
        merging: Merging,
        ids: Vec<u32>,
        becomes: Whole,
    ) -> Option<Self> {
        let tokens = &held.table()?.tokens;
        if ids.len() != tokens.len() || ids.contains(&NONE) {
            return None;
        }
        let mut whole = ids.clone();
        let mut suffix: &[u8] = &[];
        if let Whole::Merged(glued) = becomes {
            suffix = glued;
            let mut work = Work::default();
            for (at, whole) in whole.iter_mut().enumerate() {
                let word = tokens.get(at).strip_suffix(suffix).unwrap_or_default();
                let fits = (1..=REMEMBERED).contains(&word.len());
                let merged = fits && merging.run(word, &mut work).is_some();
                if !(merged && work.symbols == [at as u32]) {
                    *whole = NONE;
                }
            }
        }
        // A token's suffix stands for no byte of a text; which tokens end in it, Python tells.
        let sizes = match merging.has_suffix() {
            true => None,
            false => Sizes::of((0..ids.len()).map(|at| (ids[at], tokens.size(at)))),
        };
        let cuts = !inner.gaps.is_empty() || inner.again.is_some() || inner.letters.is_some();
        Some(Encoder {
            held,
            splitter,
            inner: cuts.then_some(inner),
            merging,
            ids,
            whole,
            suffix: suffix.into(),
            sizes,
            memories: Memories::new(),
        })
    }

    fn tokens(&self) -> Option<&Tokens> {
        Some(&self.held.table()?.tokens)
    }

    /// Appends the ids of a text, or those of a beginning that ends with a pretoken, if these are
    /// more than `most`.
    fn encode_up_to(&self, text: &str, most: usize, out: &mut Vec<u32>) -> Option<()> {
        let mut memory = self.memories.take().unwrap_or_else(|| {
            let group = Box::new(Group {
                keys: [Key::default(); GROUP],
                made: [0; MADE + FEW + 1],
                size: 0,
                left: [(0, 0); GROUP],
                count: 0,
                hashes: [0; GROUP],
            });
            let words = Words {
                known: Known::new(),
                work: Work::default(),
                room: Room::new(),
            };
            Memory {
                words,
                block: Box::new([0; BLOCK]),
                group,
            }
        });
        let limit = out.len().saturating_add(most);
        let done = self.encode_with(&mut memory, text.as_bytes(), limit, out);
        memory.words.work.shrink();
        self.memories.leave(memory);
        done
    }

    fn encode_with(
        &self,
        memory: &mut Memory,
        text: &[u8],
        limit: usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        if text.len() > LONGEST {
            return None;
        }
        let one = |memory: &mut Memory, start: usize, end: usize, out: &mut Vec<u32>| {
            let key = memory.words.known.key(text, start, end)?;
            out.try_reserve(end - start).ok()?;
            self.piece(&mut memory.words, &text[start..end], &key, 0, out)
        };
        let Some(splitter) = &self.splitter else {
            return match text {
                [] => Some(()),
                _ => one(memory, 0, text.len(), out),
            };
        };
        let Some(table) = splitter.plain() else {
            let pieces = splitter.pieces(text)?;
            let mut end = 0;
            let gaps = pieces.iter().any(|&(start, after)| {
                let before = std::mem::replace(&mut end, after);
                start != before
            });
            let mut start = 0;
            for some in pieces.chunks(GROUP) {
                if gaps {
                    for &(start, end) in some {
                        one(memory, start as usize, end as usize, out)?;
                    }
                } else {
                    for (place, &(_, end)) in memory.block.iter_mut().zip(some) {
                        *place = end;
                    }
                    start = self.group(memory, text, start, 0..some.len(), out)?;
                }
                if out.len() > limit {
                    break;
                }
            }
            return Some(());
        };
        let mut cursor = table.cursor();
        let mut start = 0;
        while !cursor.finished {
            let count = table.scan(text, &mut cursor, &mut memory.block)?;
            let mut first = 0;
            while first < count {
                let last = count.min(first + GROUP);
                start = self.group(memory, text, start, first..last, out)?;
                first = last;
                if out.len() > limit {
                    return Some(());
                }
            }
        }
        Some(())
    }

    /// Pretokens from `start` on of which the ends are in a part of the block; where the last one
    /// ends. A table that covers leaves no gaps; the mark of one would be an end out of the text.
    #[inline(always)]
    fn group(
        &self,
        memory: &mut Memory,
        text: &[u8],
        start: usize,
        range: Range<usize>,
        out: &mut Vec<u32>,
    ) -> Option<usize> {
        let Memory {
            words,
            block,
            group,
        } = memory;
        let ends = &block[range.clone()];
        let mut from = start;
        for (key, &end) in group.keys.iter_mut().zip(ends) {
            let end = end as usize;
            *key = words.known.key(text, from, end)?;
            words.known.bring_near(key);
            from = end;
        }
        // A pretoken has at most as many ids as bytes.
        out.try_reserve(from.checked_sub(start)?).ok()?;
        let (mut size, mut left) = (0usize, 0usize);
        for (place, key) in group.keys.iter().enumerate().take(ends.len()) {
            // The remainders are the numbers themselves: they spare the checks of both.
            let room = size % MADE;
            let few = words
                .known
                .copy_few(key, &mut group.made[room..room + FEW + 1]);
            group.left[left % GROUP] = (place as u32, size as u32);
            left = left.wrapping_add(usize::from(few == 0));
            size = size.wrapping_add(few);
        }
        if left == 0 {
            out.extend_from_slice(&group.made[..size]);
        } else {
            (group.size, group.count) = (size, left);
            self.left(memory, text, start, range, out)?;
        }
        Some(from)
    }

    /// The ids of a group of which some pretokens were not found at once.
    fn left(
        &self,
        memory: &mut Memory,
        text: &[u8],
        start: usize,
        range: Range<usize>,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let tokens = self.tokens()?;
        let Memory {
            words,
            block,
            group,
        } = memory;
        let ends = &block[range];
        let piece = |place: usize| {
            let from = if place == 0 {
                start
            } else {
                ends[place - 1] as usize
            };
            &text[from..ends[place] as usize]
        };
        let left = &group.left[..group.count];
        for place in left.iter().map(|&(place, _)| place as usize) {
            group.hashes[place] = 0;
            if !words.known.has(&group.keys[place]) {
                let mut room = [0; GLUED];
                let hash = tokens.hash(self.glued(self.word(piece(place)), &mut room));
                tokens.bring_near(hash);
                group.hashes[place] = hash;
            }
        }
        let mut seen = 0;
        for &(place, _) in left {
            let hash = group.hashes[place as usize];
            if hash != 0 {
                seen ^= tokens.touch_token(hash);
            }
        }
        std::hint::black_box(seen);
        let mut done = 0;
        for &(place, before) in left {
            let (place, before) = (place as usize, before as usize);
            out.extend_from_slice(&group.made[done..before]);
            done = before;
            let (key, hash) = (&group.keys[place], group.hashes[place]);
            self.piece(words, piece(place), key, hash, out)?;
        }
        out.extend_from_slice(&group.made[done..group.size]);
        Some(())
    }

    /// Appends the ids of a pretoken. `hash` is that of tokens, or 0; `out` has room.
    fn piece(
        &self,
        words: &mut Words,
        piece: &[u8],
        key: &Key,
        hash: u64,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let Words { known, work, room } = words;
        if let Some(ids) = known.find(key, piece) {
            out.extend_from_slice(ids);
            return Some(());
        }
        let before = out.len();
        let word = self.word(piece);
        match &self.inner {
            None => self.part(word, hash, work, out)?,
            Some(inner) => {
                for (start, end) in inner.cut(word, room)? {
                    let part = &word[start as usize..end as usize];
                    let hash = if part.len() == word.len() { hash } else { 0 };
                    self.part(part, hash, work, out)?;
                }
            }
        }
        known.remember(key, piece, &out[before..]);
        Some(())
    }

    /// What is left of a pretoken.
    #[inline(always)]
    fn word<'a>(&self, piece: &'a [u8]) -> &'a [u8] {
        let gap = self.inner.as_ref().map_or(0, |inner| inner.gap(piece));
        &piece[gap..]
    }

    /// The token that a part becomes whole, if it is one; nothing where there is no room.
    #[inline(always)]
    fn glued<'a>(&self, part: &'a [u8], room: &'a mut [u8; GLUED]) -> &'a [u8] {
        let size = part.len() + self.suffix.len();
        match room.get_mut(..size) {
            _ if self.suffix.is_empty() => part,
            None => &[],
            Some(room) => {
                let (own, suffix) = room.split_at_mut(part.len());
                own.copy_from_slice(part);
                suffix.copy_from_slice(&self.suffix);
                room
            }
        }
    }

    /// The same of what is cut no more, whether it was met or not.
    #[inline(always)]
    fn part(&self, part: &[u8], hash: u64, work: &mut Work, out: &mut Vec<u32>) -> Option<()> {
        let (tokens, mut room) = (self.tokens()?, [0; GLUED]);
        let whole = self.glued(part, &mut room);
        let hash = if hash == 0 { tokens.hash(whole) } else { hash };
        match tokens
            .find_hashed(whole, hash)
            .map(|at| self.whole[at as usize])
        {
            Some(id) if id != NONE => out.push(id),
            _ => {
                self.merging.run(part, work)?;
                out.extend(work.symbols.iter().map(|&symbol| self.ids[symbol as usize]));
            }
        }
        Some(())
    }
}

impl Inner {
    /// The parts (start, end) of what is left of a pretoken.
    fn cut(&self, word: &[u8], room: &mut Room) -> Option<Vec<(u32, u32)>> {
        let pieces = match &self.again {
            Some(again) => again.pieces_in(word, room)?,
            None if word.is_empty() => vec![],
            None => vec![(0, word.len() as u32)],
        };
        let Some(letters) = &self.letters else {
            return Some(pieces);
        };
        let mut parts = vec![];
        for (start, end) in pieces {
            let own = cut_by_letters(letters, &word[start as usize..end as usize], room)?;
            parts.extend(own.map(|each| (start + each.0, start + each.1)));
        }
        Some(parts)
    }

    /// How many bytes are left out at the beginning.
    fn gap(&self, piece: &[u8]) -> usize {
        if self.gaps.is_empty() {
            return 0;
        }
        // What a table cuts a text into is text.
        let text = std::str::from_utf8(piece).unwrap_or_default();
        let left_out = |character: char| {
            let code = u32::from(character);
            let at = self.gaps.partition_point(|range| range.1 < code);
            self.gaps.get(at).is_some_and(|range| range.0 <= code)
        };
        text.len() - text.trim_start_matches(left_out).len()
    }
}

/// Where a pretoken is cut by what sees a letter for each of its bytes (twin: `ByteChars` in
/// `text/split.py`).
fn cut_by_letters(
    inner: &Splitter,
    piece: &[u8],
    room: &mut Room,
) -> Option<impl Iterator<Item = (u32, u32)>> {
    let mut letters = String::new();
    letters.try_reserve(2 * piece.len()).ok()?; // none has more than two bytes
    letters.extend(piece.iter().map(|&byte| letter(byte)));
    let (mut at, mut bytes) = (0, 0);
    let pieces = inner.pieces_in(letters.as_bytes(), room)?;
    let mut bytes_before = move |place: u32| {
        let between = &letters.as_bytes()[at..place as usize];
        bytes += between.iter().filter(|&byte| byte & 0xC0 != 0x80).count() as u32;
        at = place as usize;
        bytes
    };
    let pieces = pieces.into_iter();
    Some(pieces.map(move |(start, end)| (bytes_before(start), bytes_before(end))))
}

/// The letter of a byte in GPT-2's alphabet (twin: `text/bytechars.py`): itself where it can be
/// printed, else one from U+0100 on.
fn letter(byte: u8) -> char {
    let code = u32::from(byte);
    let moved = match code {
        0..=0x20 => 0x100 + code,
        0x7F..=0xA0 => 0x121 + (code - 0x7F),
        0xAD => 0x143,
        _ => code,
    };
    char::from_u32(moved).unwrap_or(char::REPLACEMENT_CHARACTER)
}
