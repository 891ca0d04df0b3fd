//! Text to ids by a model of characters, as SentencePiece has them (twin: `encode/pretoken.py`).
//!
//! A pretoken, which may be a whole text, is cut where no merge crosses (Lemma 1 of
//! `docs/theory.md`), mostly before words; so words that are met again are remembered.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;

use crate::canonical::SYMBOL;
use crate::encoding::{Encodes, LONGEST};
use crate::known::Known;
use crate::memories::Memories;
use crate::objects::Object;
use crate::offsets::{Sizes, Spans};
use crate::pairs::NONE;
use crate::piece_merging::{Letter, PieceMerging, Work};
use crate::splitting::Splitter;
use crate::table::Table;
use crate::tokens::Tokens;

/// How U+2581 is spelled, which stands for a space.
const SPACE: &[u8] = "\u{2581}".as_bytes();

/// Words of more bytes are cut wherever no merge crosses.
const LONG: usize = 48;

/// What becomes of a character that is no token.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Error,
    Dropped,
    Unknown,
}

/// What a model says beside its tokens and merges.
pub struct Settings {
    lookup_first: bool,
    missing: Missing,
    unknown: u32,
    /// Unknown tokens that stand side by side become one.
    fuse: bool,
    /// A missing character may merge, and only what is no token in the end falls back.
    after_merging: bool,
    /// Whether there may be an unknown token: not where all bytes have tokens.
    gives_unknown: bool,
    /// The ids of the tokens that stand for bytes, `NONE` where there is none.
    bytes: [u32; 256],
}

impl Settings {
    /// Five numbers: whether whole pretokens are looked up first; what becomes of a missing
    /// character (0: there is no encoding, 1: it is dropped, 2: the unknown token); that token's
    /// id; `fuse`; `after_merging`. Then the ids of bytes. None: they are not such.
    pub fn of(numbers: &[u32]) -> Option<Self> {
        let (&[lookup_first, missing, unknown, fuse, after_merging], bytes) =
            numbers.split_first_chunk()?;
        let missing = match missing {
            0 => Missing::Error,
            1 => Missing::Dropped,
            2 if unknown != NONE => Missing::Unknown,
            _ => return None,
        };
        Some(Settings {
            lookup_first: lookup_first != 0,
            missing,
            unknown,
            fuse: fuse != 0,
            after_merging: after_merging != 0,
            gives_unknown: missing == Missing::Unknown && bytes.contains(&NONE),
            bytes: bytes.try_into().ok()?,
        })
    }

    /// Appends what becomes of a missing character; `NONE` stands for the unknown token. None:
    /// there is no encoding.
    fn fall_back(&self, character: char, ids: &mut Vec<u32>) -> Option<()> {
        let mut room = [0; 4];
        let bytes = character.encode_utf8(&mut room).as_bytes();
        let each = bytes.iter().map(|&byte| self.bytes[usize::from(byte)]);
        if each.clone().all(|id| id != NONE) {
            ids.extend(each);
            return Some(());
        }
        match self.missing {
            Missing::Error => return None,
            Missing::Dropped => {}
            Missing::Unknown => ids.push(NONE),
        }
        Some(())
    }

    /// Whether a character that is no token vanishes before merging.
    fn vanishes(&self, character: char) -> bool {
        let mut room = [0; 4];
        let bytes = character.encode_utf8(&mut room).as_bytes();
        bytes
            .iter()
            .any(|&byte| self.bytes[usize::from(byte)] == NONE)
    }
}

/// User-defined tokens: at each character the longest is found, from left to right.
struct Defined {
    tokens: Tokens,
    ids: Vec<u32>,
    /// By first byte: the sizes of the tokens that begin so, the largest first.
    sizes: Vec<Vec<u32>>,
}

impl Defined {
    fn new(table: &Table, places: &[u32]) -> Option<Self> {
        let mut defined = Defined {
            tokens: Tokens::with_room(places.len(), 16 * places.len()),
            ids: vec![],
            sizes: vec![vec![]; 256],
        };
        for &place in places {
            let content = table.tokens.get(place as usize);
            std::str::from_utf8(content).ok()?;
            defined.tokens.push(content)?;
            defined.ids.push(table.numbers[place as usize]);
            let sizes = &mut defined.sizes[usize::from(*content.first()?)];
            sizes.push(content.len() as u32);
        }
        for sizes in &mut defined.sizes {
            sizes.sort_unstable_by(|one, other| other.cmp(one));
            sizes.dedup();
        }
        defined.tokens.index()?;
        Some(defined)
    }

    /// The first one from a place on: where it starts and ends, and its id.
    fn find(&self, text: &[u8], from: usize) -> Option<(usize, usize, u32)> {
        for start in from..text.len() {
            for &size in &self.sizes[usize::from(text[start])] {
                let end = start + size as usize;
                let at = text.get(start..end).and_then(|each| self.tokens.find(each));
                if let Some(at) = at {
                    return Some((start, end, self.ids[at as usize]));
                }
            }
        }
        None
    }
}

/// What one thread remembers, and its room for work.
struct Memory {
    known: Known,
    work: Work,
    /// The ids of a word, `NONE` for the unknown token.
    made: Vec<u32>,
    /// Where the ids of the text stand, if somebody asks.
    spans: Option<Spans>,
    /// A text with its spaces written, and one without the characters that vanish.
    spaced: String,
    kept: String,
}

impl Memory {
    fn new() -> Self {
        Memory {
            known: Known::new(),
            work: Work::default(),
            made: vec![],
            spans: None,
            spaced: String::new(),
            kept: String::new(),
        }
    }

    /// Gives back what a very long text took.
    fn shrink(&mut self) {
        self.work.shrink();
        for text in [&mut self.spaced, &mut self.kept] {
            if text.capacity() > 1 << 20 {
                *text = String::new();
            }
        }
    }
}

/// A model that merges characters, ready to encode.
struct Model {
    /// Holds the table.
    held: Arc<Object>,
    splitter: Option<Splitter>,
    merging: PieceMerging,
    settings: Settings,
    /// By place in the table: the id; `NONE` for a token that is split again.
    ids: Vec<u32>,
    /// By place: what a token is split into; None where that has no encoding.
    unused: HashMap<u32, Option<Vec<u32>>>,
    defined: Option<Defined>,
    /// The most bytes of a token.
    longest: usize,
    sizes: Option<Sizes>,
    memories: Memories<Memory>,
}

/// What is done with a text before it is encoded.
#[derive(Clone, Default)]
pub struct Spacing {
    /// Put before every text that is not empty.
    pub prefix: String,
    /// Spaces are written as U+2581.
    pub escape: bool,
    /// The prefix is not put before a text that then begins with U+2581.
    pub once: bool,
}

/// A model of characters, for texts as they are or as its normalizer makes them. Threads may
/// share it.
#[derive(Clone)]
pub struct PieceEncoder {
    model: Arc<Model>,
    spacing: Option<Spacing>,
}

/// The numbers of kinds of tokens, as the caller gives them.
const UNUSED: u32 = 1;
const DEFINED: u32 = 2;

impl PieceEncoder {
    /// `held` has the table, whose numbers are ids. `kinds`: an id and its kind, one after the
    /// other. No splitter: a text is one pretoken. None: a merge names the unknown token or that
    /// of a byte, or something is irregular.
    pub fn new(
        held: Arc<Object>,
        splitter: Option<Splitter>,
        merging: PieceMerging,
        kinds: &[u32],
        settings: Settings,
    ) -> Option<Self> {
        let table = held.table()?;
        if table.numbers.contains(&NONE) {
            return None;
        }
        let numbers = table.numbers.iter().zip(0..);
        let places: HashMap<u32, u32> = numbers.map(|(&id, at)| (id, at)).collect();
        let (mut unused, mut defined) = (vec![], vec![]);
        for pair in kinds.chunks(2) {
            let &[id, kind] = pair else {
                return None;
            };
            let place = *places.get(&id)?;
            match kind {
                UNUSED => unused.push(place),
                DEFINED => defined.push(place),
                _ => return None,
            }
        }
        let mut ids = table.numbers.clone();
        unused.iter().for_each(|&place| ids[place as usize] = NONE);
        let defined = match defined[..] {
            [] => None,
            _ => Some(Defined::new(table, &defined)?),
        };
        let sizes = (0..table.tokens.len()).map(|at| table.tokens.size(at));
        let longest = sizes.max().unwrap_or(0);
        let numbers = table.numbers.iter().zip(0..);
        let mut sizes = Sizes::of(numbers.map(|(&id, at)| (id, table.tokens.size(at))));
        if let Some(sizes) = &mut sizes {
            // A merge that makes such a token has more bytes, so its text is left to Python.
            let of_bytes = settings.bytes.iter().filter(|&&id| id != NONE);
            of_bytes.for_each(|&id| sizes.set_byte(id));
        }
        let mut model = Model {
            held: held.clone(),
            splitter,
            merging,
            settings,
            ids,
            unused: HashMap::new(),
            defined,
            longest,
            sizes,
            memories: Memories::new(),
        };
        model.split_unused(table, unused)?;
        Some(PieceEncoder {
            model: Arc::new(model),
            spacing: None,
        })
    }

    /// The same for texts before the normalizer.
    pub fn spaced(&self, spacing: Spacing) -> Self {
        PieceEncoder {
            model: self.model.clone(),
            spacing: Some(spacing),
        }
    }
}

impl Encodes for PieceEncoder {
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()> {
        let mut memory = self.model.memories.take().unwrap_or_else(Memory::new);
        let done = self.spaced_and_encoded(&mut memory, text, out);
        memory.shrink();
        self.model.memories.leave(memory);
        done.map(|_| ())
    }

    fn encode_placed(&self, text: &str, _most: usize) -> Option<(Vec<u32>, Spans)> {
        let mut memory = self.model.memories.take().unwrap_or_else(Memory::new);
        memory.spans = Some(Spans::default());
        let mut ids = vec![];
        let done = self.spaced_and_encoded(&mut memory, text, &mut ids);
        let spans = memory
            .spans
            .take()
            .zip(done)
            .map(|(mut spans, put_before)| {
                match self.spacing {
                    None => spans.in_characters(text.as_bytes(), put_before),
                    Some(_) => spans.in_characters(memory.spaced.as_bytes(), put_before),
                }
                spans
            });
        memory.shrink();
        self.model.memories.leave(memory);
        Some((ids, spans?))
    }
}

impl PieceEncoder {
    /// Appends the ids of a text; how many characters were put before it.
    fn spaced_and_encoded(
        &self,
        memory: &mut Memory,
        text: &str,
        out: &mut Vec<u32>,
    ) -> Option<usize> {
        let Some(spacing) = &self.spacing else {
            self.model.whole(memory, text, out)?;
            return Some(0);
        };
        let mut spaced = std::mem::take(&mut memory.spaced);
        let put_before = write_spaced(spacing, text, &mut spaced);
        let done = put_before.and_then(|_| self.model.whole(memory, &spaced, out));
        memory.spaced = spaced;
        done.and(put_before)
    }
}

/// Where the next space is, or what stands for one.
#[inline(always)]
fn next_space(bytes: &[u8], mut from: usize) -> Option<usize> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // The highest bit of each byte that is 0, and perhaps of some above the first of these.
    let zeros = |word: u64| word.wrapping_sub(EACH) & !word & (EACH << 7);
    loop {
        while let Some(eight) = bytes.get(from..).and_then(|rest| rest.first_chunk()) {
            let word = u64::from_le_bytes(*eight);
            let near = zeros(word ^ (EACH * 0x20)) | zeros(word ^ (EACH * 0xE2));
            from += near.trailing_zeros() as usize / 8;
            if near != 0 {
                break;
            }
        }
        match *bytes.get(from)? {
            b' ' => return Some(from),
            0xE2 if bytes[from..].starts_with(SPACE) => return Some(from),
            _ => from += 1,
        }
    }
}

/// Writes a text with its prefix and its spaces; an empty one stays empty. How many characters
/// the prefix has, if it was put there.
pub fn write_spaced(spacing: &Spacing, text: &str, out: &mut String) -> Option<usize> {
    out.clear();
    if text.is_empty() {
        return Some(0);
    }
    let spaces = match spacing.escape {
        true => text.bytes().filter(|&byte| byte == b' ').count(),
        false => 0,
    };
    out.try_reserve(text.len() + spacing.prefix.len() + 2 * spaces + 2)
        .ok()?;
    let space = if spacing.escape { "\u{2581}" } else { " " };
    let begun = text.starts_with('\u{2581}') || (spacing.escape && text.starts_with(' '));
    let put_before = match spacing.once && begun {
        true => "",
        false => &spacing.prefix,
    };
    if !put_before.is_empty() {
        for (at, part) in put_before.split(' ').enumerate() {
            out.push_str(if at > 0 { space } else { "" });
            out.push_str(part);
        }
    }
    for (at, part) in text.split(' ').enumerate() {
        out.push_str(if at > 0 { space } else { "" });
        out.push_str(part);
    }
    Some(put_before.chars().count())
}

impl Model {
    /// Finds what each token that is not used is split into: the two that its own run ends with,
    /// and these again where they are not used.
    fn split_unused(&mut self, table: &Table, mut unused: Vec<u32>) -> Option<()> {
        unused.sort_by_key(|&place| table.tokens.size(place as usize));
        let mut work = Work::default();
        for place in unused {
            let text = std::str::from_utf8(table.tokens.get(place as usize)).ok()?;
            work.symbols.clear();
            work.symbols
                .extend(text.chars().map(|each| self.merging.symbol(each)));
            self.merging.run(&mut work, 2)?;
            let mut ids = vec![];
            let done = match work.symbols[..] {
                [_] => self.settings.fall_back(text.chars().next()?, &mut ids),
                [left, right] => self
                    .put(left, &mut ids)
                    .and_then(|()| self.put(right, &mut ids)),
                // Nothing merges into it, so it is never met.
                _ => None,
            };
            self.unused.insert(place, done.map(|()| ids));
        }
        Some(())
    }

    /// Appends the ids of a symbol; `NONE` stands for the unknown token. None: it has none.
    #[inline(always)]
    fn put(&self, symbol: u32, ids: &mut Vec<u32>) -> Option<()> {
        if symbol & SYMBOL != 0 {
            let character = char::from_u32(symbol & !SYMBOL)?;
            return self.settings.fall_back(character, ids);
        }
        match self.ids[symbol as usize] {
            NONE => ids.extend_from_slice(self.unused.get(&symbol)?.as_deref()?),
            id => ids.push(id),
        }
        Some(())
    }

    /// Appends the ids of a text. None: it is left to Python.
    fn whole(&self, memory: &mut Memory, text: &str, out: &mut Vec<u32>) -> Option<()> {
        if text.len() > LONGEST {
            return None;
        }
        let Some(splitter) = &self.splitter else {
            return self.pretoken(memory, text, out);
        };
        for (start, end) in splitter.pieces(text.as_bytes())? {
            let (start, end) = (start as usize, end as usize);
            if let Some(spans) = &mut memory.spans {
                spans.go_to(start);
            }
            self.pretoken(memory, text.get(start..end)?, out)?;
        }
        Some(())
    }

    fn pretoken(&self, memory: &mut Memory, text: &str, out: &mut Vec<u32>) -> Option<()> {
        let table = self.held.table()?;
        if self.settings.lookup_first && text.len() <= self.longest {
            if let Some(at) = table.tokens.find(text.as_bytes()) {
                let id = table.numbers[at as usize];
                return self.put_token(&mut memory.spans, id, text.len(), out);
            }
        }
        // Where the last unknown token of this pretoken ends in `out`.
        let mut fused = usize::MAX;
        let mut start = 0;
        if let Some(defined) = &self.defined {
            while let Some((from, end, id)) = defined.find(text.as_bytes(), start) {
                self.segment(memory, text.get(start..from)?, &mut fused, out)?;
                self.put_token(&mut memory.spans, id, end - from, out)?;
                start = end;
            }
        }
        self.segment(memory, text.get(start..)?, &mut fused, out)
    }

    /// A token of so many bytes that is not merged.
    fn put_token(
        &self,
        spans: &mut Option<Spans>,
        id: u32,
        size: usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        out.try_reserve(1).ok()?;
        out.push(id);
        if let Some(spans) = spans {
            spans.reserve(1)?;
            spans.put(size as u32);
        }
        Some(())
    }

    /// What lies between user-defined tokens.
    fn segment(
        &self,
        memory: &mut Memory,
        text: &str,
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        if self.settings.missing != Missing::Dropped || self.settings.after_merging {
            return self.words(memory, text, fused, out);
        }
        let mut kept = std::mem::take(&mut memory.kept);
        kept.clear();
        kept.try_reserve(text.len()).ok()?;
        kept.extend(text.chars().filter(|&each| {
            self.merging.symbol(each) & SYMBOL == 0 || !self.settings.vanishes(each)
        }));
        // Where characters have vanished, Python tells where the others stand.
        let same = memory.spans.is_none() || kept.len() == text.len();
        let done = same
            .then(|| self.words(memory, &kept, fused, out))
            .flatten();
        memory.kept = kept;
        done
    }

    /// Cuts before each space that no merge crosses to.
    fn words(
        &self,
        memory: &mut Memory,
        text: &str,
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let bytes = text.as_bytes();
        let (mut start, mut at) = (0, 1);
        while let Some(place) = next_space(bytes, at) {
            at = place;
            let space = match bytes[at] {
                b' ' => ' ',
                _ => '\u{2581}',
            };
            let before = text.get(start..at)?.chars().next_back()?;
            if !self.merging.may_cross(before, space) {
                self.word(memory, text, (start, at), fused, out)?;
                start = at;
            }
            at += 1;
        }
        match start < bytes.len() {
            true => self.word(memory, text, (start, bytes.len()), fused, out),
            false => Some(()),
        }
    }

    /// A word; a long one is cut wherever no merge crosses.
    fn word(
        &self,
        memory: &mut Memory,
        text: &str,
        (start, end): (usize, usize),
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        // There are at most as many ids as bytes.
        out.try_reserve(end - start).ok()?;
        if end - start <= LONG {
            return self.part(memory, text, (start, end), fused, out);
        }
        let mut first = start;
        let mut characters = text.get(start..end)?.char_indices();
        let (_, character) = characters.next()?;
        let mut before = (character, self.merging.letter(character));
        // Whether `before` stands alone so far, as most do in texts without spaces.
        let mut alone = true;
        for (place, character) in characters {
            let next = (character, self.merging.letter(character));
            let crossed = self.merging.may_cross_letters(before, next);
            if !crossed {
                match alone {
                    true => self.single(memory, before, fused, out)?,
                    false => self.part(memory, text, (first, start + place), fused, out)?,
                }
                first = start + place;
            }
            (before, alone) = (next, !crossed);
        }
        match alone {
            true => self.single(memory, before, fused, out),
            false => self.part(memory, text, (first, end), fused, out),
        }
    }

    /// A character that nothing merges with.
    #[inline(always)]
    fn single(
        &self,
        memory: &mut Memory,
        (character, letter): (char, Letter),
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let Memory { made, spans, .. } = memory;
        if spans.is_none() && !self.settings.gives_unknown {
            return self.put(letter.symbol, out);
        }
        made.clear();
        self.put(letter.symbol, made)?;
        let mut room = [0; 4];
        let content = character.encode_utf8(&mut room);
        self.give(content, made, spans, fused, out)
    }

    /// What is merged by itself, and may have been met before.
    #[inline(always)]
    fn part(
        &self,
        memory: &mut Memory,
        text: &str,
        (start, end): (usize, usize),
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        let Memory {
            known,
            work,
            made,
            spans,
            ..
        } = memory;
        let content = text.get(start..end)?;
        let key = known.key(text.as_bytes(), start, end)?;
        if let Some(ids) = known.find(&key, content.as_bytes()) {
            return self.give(content, ids, spans, fused, out);
        }
        made.clear();
        self.merged(content, work, made)?;
        known.remember(&key, content.as_bytes(), made);
        self.give(content, made, spans, fused, out)
    }

    /// Appends the ids of a content, and the unknown token in the place of `NONE`.
    #[inline(always)]
    fn give(
        &self,
        content: &str,
        ids: &[u32],
        spans: &mut Option<Spans>,
        fused: &mut usize,
        out: &mut Vec<u32>,
    ) -> Option<()> {
        if let Some(spans) = spans {
            let fuse = self.settings.fuse;
            let goes_on = fuse && *fused == out.len();
            let sizes = self.sizes.as_ref()?;
            spans.fill_characters(content.as_bytes(), ids, sizes, fuse, goes_on)?;
        }
        if !self.settings.gives_unknown {
            out.extend_from_slice(ids);
            return Some(());
        }
        for &id in ids {
            if id != NONE {
                out.push(id);
            } else if !self.settings.fuse || *fused != out.len() {
                out.push(self.settings.unknown);
                *fused = out.len();
            }
        }
        Some(())
    }

    /// The ids of a part. Missing characters fall back before merging, or after it.
    fn merged(&self, text: &str, work: &mut Work, ids: &mut Vec<u32>) -> Option<()> {
        ids.try_reserve(text.len()).ok()?;
        work.symbols.clear();
        work.symbols.try_reserve(text.len()).ok()?;
        for character in text.chars() {
            let symbol = self.merging.symbol(character);
            if symbol & SYMBOL != 0 && !self.settings.after_merging {
                self.run(work, ids)?;
                work.symbols.clear();
                self.settings.fall_back(character, ids)?;
            } else {
                work.symbols.push(symbol);
            }
        }
        self.run(work, ids)
    }

    fn run(&self, work: &mut Work, ids: &mut Vec<u32>) -> Option<()> {
        self.merging.run(work, 1)?;
        work.symbols
            .iter()
            .try_for_each(|&symbol| self.put(symbol, ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(missing: u32, fuse: u32) -> Settings {
        let mut numbers = vec![0, missing, 9, fuse, 0];
        numbers.extend([NONE; 256]);
        Settings::of(&numbers).unwrap()
    }

    fn encoder(missing: u32, fuse: u32) -> PieceEncoder {
        let mut tokens = Tokens::with_room(0, 0);
        for content in ["a", "b", "ab", "\u{2581}", "\u{2581}a", "aa"] {
            tokens.push(content.as_bytes()).unwrap();
        }
        let table = Table::new(tokens, (0..6).collect()).unwrap();
        let mut ranked = Tokens::with_room(0, 0);
        for content in ["ab", "\u{2581}a", "aa"] {
            ranked.push(content.as_bytes()).unwrap();
        }
        let ranked = Table::ranked(ranked, vec![0, 1, 0]).unwrap();
        let merging = PieceMerging::of_ranks(&table, &ranked).unwrap();
        let held = Arc::new(Object::Table(table));
        let kinds = [5, UNUSED, 1, DEFINED];
        PieceEncoder::new(held, None, merging, &kinds, settings(missing, fuse)).unwrap()
    }

    fn ids(encoder: &PieceEncoder, text: &str) -> Option<Vec<u32>> {
        let mut ids = vec![];
        encoder.encode(text, &mut ids).map(|()| ids)
    }

    #[test]
    fn unused_and_user_defined_tokens_and_what_is_missing() {
        let fused = encoder(2, 1);
        for _ in 0..2 {
            assert_eq!(ids(&fused, "aab"), Some(vec![0, 0, 1]));
            assert_eq!(ids(&fused, "xxa"), Some(vec![9, 0]));
        }
        assert_eq!(ids(&encoder(2, 0), "xxa"), Some(vec![9, 9, 0]));
        assert_eq!(ids(&encoder(1, 0), "axa"), Some(vec![0, 0]));
        assert_eq!(ids(&encoder(0, 0), "axa"), None);
        assert_eq!(ids(&fused, "x".repeat(90).as_str()), Some(vec![9]));
    }

    #[test]
    fn a_normalizer_is_done_on_the_way() {
        let prefix = " ".to_string();
        let (escape, once) = (true, false);
        let spaced = encoder(2, 1).spaced(Spacing {
            prefix,
            escape,
            once,
        });
        assert_eq!(ids(&spaced, "a a"), Some(vec![4, 4]));
        assert_eq!(ids(&spaced, ""), Some(vec![]));
        let prefix = String::new();
        let escape = false;
        let spaced = spaced.spaced(Spacing {
            prefix,
            escape,
            once,
        });
        assert_eq!(ids(&spaced, "a a"), Some(vec![0, 9, 0]));
        let once = spaced.spaced(Spacing {
            prefix: "\u{2581}".to_string(),
            escape: true,
            once: true,
        });
        assert_eq!(ids(&once, "a"), Some(vec![4]));
        assert_eq!(ids(&once, " a"), Some(vec![4]));
        assert_eq!(ids(&once, "\u{2581}a"), Some(vec![4]));
        assert_eq!(ids(&once, " "), Some(vec![3]));
    }

    #[test]
    fn settings_that_are_not_such_are_refused() {
        assert!(Settings::of(&[]).is_none());
        assert!(Settings::of(&[0; 260]).is_none());
        let mut numbers = [0; 261];
        assert!(Settings::of(&numbers).is_some());
        numbers[1] = 3;
        assert!(Settings::of(&numbers).is_none());
        (numbers[1], numbers[2]) = (2, NONE);
        assert!(Settings::of(&numbers).is_none());
    }
}
