//! Pre-tokenizers as tables (twins: `theory/split_tables.py`, which makes them; `text/split.py`).
//!
//! One look-up for each character. An entry is the row of the next state, above three flags.
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::blocks::{Blocks, WAIT};
use crate::strides::{Automaton, Strides};

/// The match ends before this character, and a new one begins with it.
pub const CUT: u32 = 1;
/// A match ends before this character, if no longer one follows.
pub const ACCEPTS: u32 = 2;
/// No match goes on here: what counts is the last that ended.
pub const BACK: u32 = 4;
pub const SHIFT: u32 = 3;

/// The most entries of a table; so an index with as many bits needs no check.
const ENTRIES: usize = 1 << 13;
const PAGES: usize = 0x110000 / 256;

/// How many stretches are found at a time.
pub const BLOCK: usize = 1024;
/// Where so many are found, there may be no room for those of a further 64 bytes.
pub const FULL: usize = BLOCK - 64;

/// Blocks are worth it if of so many places one is open at most.
const OPEN: usize = 16;

/// Marks the end of a stretch that nothing matches.
pub const GAP: u32 = 1 << 31;

/// How often each character may be read again, on the average, before Python does the work.
const AGAIN: u64 = 64;

/// What is done with matches and with what lies between them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    Isolated,
    Removed,
    WithPrevious,
    WithNext,
    Contiguous,
}

impl Behavior {
    /// By its number in `bpe_interop/kernel/splitter.py`.
    pub fn numbered(number: u32) -> Option<Self> {
        Some(match number {
            0 => Behavior::Isolated,
            1 => Behavior::Removed,
            2 => Behavior::WithPrevious,
            3 => Behavior::WithNext,
            4 => Behavior::Contiguous,
            _ => return None,
        })
    }
}

/// Where a pretoken starts and ends.
pub type Piece = (u32, u32);

/// One step of a pre-tokenizer.
pub struct Table {
    ascii: [u8; 128],
    /// By byte: whether a match may begin with it, as with all that are not ASCII.
    begins: [bool; 256],
    pages: Box<[u8; 0x2000]>,
    classes: Box<[u8; 0x10000]>,
    entries: Box<[u32; ENTRIES]>,
    start: u32,
    end: u32,
    strides: Strides,
    blocks: Option<Blocks>,
    behavior: Behavior,
    invert: bool,
    covers: bool,
}

/// Where a table is in a text.
#[derive(Clone, Copy)]
pub struct Cursor {
    /// What is read next, and the row of the state.
    pub place: usize,
    pub state: u32,
    /// Where the match began, and where it could end last; if nowhere yet, where it began.
    pub begin: usize,
    pub last: usize,
    /// Where blocks are tried next, and how long they wait after an open place.
    pub wide: usize,
    pub wait: usize,
    again: u64,
    /// Whether the end of the text was reached.
    pub finished: bool,
}

/// What the numbers of a table are given as.
pub struct Given<'a> {
    pub pages: &'a [u16],
    pub classes: &'a [u8],
    pub entries: &'a [u32],
    pub stride: u32,
    pub start: u32,
    pub end: u32,
    pub behavior: u32,
    pub invert: bool,
    pub covers: bool,
}

fn boxed<T: Copy, const N: usize>(
    filler: T,
    given: impl Iterator<Item = T>,
) -> Option<Box<[T; N]>> {
    let mut all = vec![filler; N];
    for (place, value) in given.enumerate() {
        *all.get_mut(place)? = value;
    }
    all.into_boxed_slice().try_into().ok()
}

impl Table {
    /// None: it is larger than there is room for, or names what it does not have.
    pub fn new(given: &Given) -> Option<Self> {
        let pages = given.classes.len() / 256;
        let stride = given.stride as usize;
        let count = given.entries.len();
        let is_row = |row: u32| (row as usize) % stride == 0 && (row as usize) < count;
        let fine = given.pages.len() == PAGES
            && given.classes.len() % 256 == 0
            && given.pages.iter().all(|&page| (page as usize) < pages)
            && given
                .classes
                .iter()
                .all(|&class| u32::from(class) < given.end)
            && given.end < given.stride
            && stride.is_power_of_two()
            && count % stride == 0
            && is_row(given.start)
            && given.entries.iter().all(|&entry| is_row(entry >> SHIFT));
        if !fine {
            return None;
        }
        let mut ascii = [0; 128];
        let first = given.pages[0] as usize * 256;
        ascii.copy_from_slice(&given.classes[first..first + 128]);
        let numbers: Option<Vec<u8>> = given
            .pages
            .iter()
            .map(|&page| page.try_into().ok())
            .collect();
        let table = Automaton {
            ascii: &ascii,
            entries: given.entries,
            stride,
            start: given.start,
            end: given.end as usize,
        };
        let (strides, blocks) = (Strides::of(&table), Blocks::of(&table, OPEN));
        let begins = std::array::from_fn(|byte| match ascii.get(byte) {
            Some(&class) => given.entries[given.start as usize + usize::from(class)] & BACK == 0,
            None => true,
        });
        Some(Table {
            ascii,
            begins,
            pages: boxed(0, numbers?.into_iter())?,
            classes: boxed(0, given.classes.iter().copied())?,
            entries: boxed(BACK, given.entries.iter().copied())?,
            start: given.start,
            end: given.end,
            strides,
            blocks,
            behavior: Behavior::numbered(given.behavior)?,
            invert: given.invert,
            covers: given.covers,
        })
    }

    /// Whether the matches are the pretokens and leave nothing between them.
    fn is_plain(&self) -> bool {
        let kept = match self.behavior {
            Behavior::Isolated => true,
            Behavior::Removed => self.invert,
            _ => false,
        };
        self.covers && kept
    }

    /// At the start of a text.
    pub fn cursor(&self) -> Cursor {
        Cursor {
            place: 0,
            state: self.start,
            begin: 0,
            last: 0,
            wide: 0,
            wait: WAIT,
            again: 0,
            finished: false,
        }
    }

    /// The class of the character at a place, and its bytes. What is no UTF-8 has some class.
    #[inline(always)]
    fn letter(&self, text: &[u8], place: usize) -> (usize, usize) {
        let first = text[place];
        if first < 0x80 {
            return (usize::from(self.ascii[usize::from(first & 0x7F)]), 1);
        }
        let next = |after: usize| match text.get(place + after) {
            Some(&byte) => u32::from(byte & 0x3F),
            None => 0,
        };
        let first = u32::from(first);
        let (code, size) = if first < 0xE0 {
            ((first & 0x1F) << 6 | next(1), 2)
        } else if first < 0xF0 {
            ((first & 0x0F) << 12 | next(1) << 6 | next(2), 3)
        } else {
            let upper = (first & 0x07) << 18 | next(1) << 12;
            (upper | next(2) << 6 | next(3), 4)
        };
        let page = usize::from(self.pages[(code >> 8) as usize & 0x1FFF]);
        (
            usize::from(self.classes[page << 8 | (code & 0xFF) as usize]),
            size,
        )
    }

    /// Goes on in ASCII by what is derived from the table, as `Strides::run` does.
    #[inline(always)]
    fn ascii(
        &self,
        text: &[u8],
        at: &mut Cursor,
        out: &mut [u32; BLOCK],
        mut count: usize,
    ) -> usize {
        let Some(blocks) = &self.blocks else {
            return self.strides.run(text, at, out, count, text.len());
        };
        loop {
            if at.place >= at.wide {
                if self.strides.settled(at) {
                    let before = count;
                    count = blocks.run(text, at, out, count);
                    if count > before {
                        (at.last, at.state) = (at.begin, self.start);
                    }
                    if count >= FULL {
                        return count;
                    }
                } else {
                    at.wide = at.place + WAIT;
                }
            }
            count = self.strides.run(text, at, out, count, at.wide);
            if at.place < at.wide || at.place == text.len() || count >= FULL {
                return count;
            }
        }
    }

    /// How many bytes come first with which no match begins.
    fn never_begins(&self, text: &[u8]) -> usize {
        let begins = |&byte: &u8| self.begins[usize::from(byte)];
        text.iter().position(begins).unwrap_or(text.len())
    }

    /// Writes the ends of the next matches, and of parts of what lies between them, those with
    /// `GAP`; how many. None: characters are read again and again, so Python does it.
    pub fn scan(&self, text: &[u8], cursor: &mut Cursor, out: &mut [u32; BLOCK]) -> Option<usize> {
        let mut at = *cursor;
        let mut count = 0;
        while count < FULL {
            let mut back = false;
            while at.place < text.len() && count < FULL {
                if text[at.place] < 0x80 {
                    count = self.ascii(text, &mut at, out, count);
                    if at.place == text.len() || count >= FULL {
                        break;
                    }
                }
                let (class, size) = self.letter(text, at.place);
                let entry = self.entries[(at.state as usize + class) & (ENTRIES - 1)];
                if entry & ACCEPTS != 0 {
                    at.last = at.place;
                }
                if entry & BACK != 0 {
                    back = true;
                    break;
                }
                out[count] = at.place as u32;
                count += (entry & CUT) as usize;
                at.begin = if entry & CUT != 0 { at.place } else { at.begin };
                at.state = entry >> SHIFT;
                at.place += size;
            }
            if !back {
                if at.place < text.len() {
                    break;
                }
                if at.begin == text.len() {
                    at.finished = true;
                    break;
                }
                let end = (at.state + self.end) as usize;
                if self.entries[end & (ENTRIES - 1)] & ACCEPTS != 0 {
                    at.last = at.place;
                }
            }
            if at.last > at.begin {
                at.begin = at.last;
                out[count] = at.last as u32;
            } else {
                at.begin += self.letter(text, at.begin).1;
                at.begin = at.begin.min(text.len());
                at.begin += self.never_begins(&text[at.begin..]);
                out[count] = at.begin as u32 | GAP;
                at.last = at.begin;
            }
            count += 1;
            at.again += at.place.saturating_sub(at.begin) as u64;
            if at.again > AGAIN * text.len() as u64 + (1 << 16) {
                return None;
            }
            at.place = at.begin;
            at.state = self.start;
        }
        *cursor = at;
        Some(count)
    }

    /// Hands over the matches (start, end) of a text, where they are the pretokens (`is_plain`).
    fn each_match(
        &self,
        text: &[u8],
        room: &mut Room,
        mut take: impl FnMut(&[Piece]) -> Option<()>,
    ) -> Option<()> {
        let Room { block, pieces, .. } = room;
        let mut cursor = self.cursor();
        let mut start = 0;
        while !cursor.finished {
            let count = self.scan(text, &mut cursor, block)?;
            for (piece, &end) in pieces.iter_mut().zip(&block[..count]) {
                *piece = (std::mem::replace(&mut start, end & !GAP), end & !GAP);
            }
            take(&pieces[..count])?;
        }
        Some(())
    }

    /// Appends the pretokens (start, end) that this step cuts a text into, which is at `base`.
    fn cut(&self, text: &[u8], base: u32, room: &mut Room, out: &mut Vec<Piece>) -> Option<()> {
        let Room { found, block, .. } = room;
        found.clear();
        // Most steps have nothing to say of most pretokens of the steps before.
        if !text.is_empty() && self.never_begins(text) == text.len() {
            found.push((text.len() as u32, self.invert));
        }
        let mut cursor = self.cursor();
        cursor.finished = !found.is_empty();
        let mut in_gap = false;
        while !cursor.finished {
            let count = self.scan(text, &mut cursor, block)?;
            found.try_reserve(count).ok()?;
            for &entry in &block[..count] {
                let (end, is_gap) = (entry & !GAP, entry & GAP != 0);
                match found.last_mut() {
                    Some(before) if is_gap && in_gap => before.0 = end,
                    _ => found.push((end, is_gap == self.invert)),
                }
                in_gap = is_gap;
            }
        }
        out.try_reserve(found.len()).ok()?;
        behave(self.behavior, found, base, out);
        Some(())
    }
}

/// Stretches of a text, flagged or not, as pretokens.
fn behave(behavior: Behavior, found: &[(u32, bool)], base: u32, out: &mut Vec<Piece>) {
    let mut start = 0;
    let first = out.len();
    let mut before = false;
    for (place, &(end, flagged)) in found.iter().enumerate() {
        let joins = match behavior {
            Behavior::Isolated => false,
            Behavior::Removed => {
                if !flagged {
                    out.push((base + start, base + end));
                }
                start = end;
                continue;
            }
            Behavior::WithPrevious => flagged && !before,
            Behavior::WithNext => place > 0 && joins_next(found, place - 1),
            Behavior::Contiguous => flagged == before,
        };
        match out[first..].last_mut() {
            Some(piece) if joins => piece.1 = base + end,
            _ => out.push((base + start, base + end)),
        }
        before = flagged;
        start = end;
    }
}

/// Whether a stretch goes with the next one: it is flagged, and the next is not.
fn joins_next(found: &[(u32, bool)], place: usize) -> bool {
    found[place].1 && !found[place + 1].1
}

/// Room for what steps find.
pub struct Room {
    found: Vec<(u32, bool)>,
    block: Box<[u32; BLOCK]>,
    pieces: Box<[Piece; BLOCK]>,
}

impl Room {
    pub fn new() -> Self {
        Room {
            found: vec![],
            block: Box::new([0; BLOCK]),
            pieces: Box::new([(0, 0); BLOCK]),
        }
    }
}

/// Steps of which each cuts every pretoken of the one before. None of them: nothing is cut.
#[derive(Clone)]
pub struct Splitter {
    tables: Vec<Arc<Table>>,
}

impl Splitter {
    /// The steps of another one, and then this.
    pub fn after(before: Option<&Splitter>, table: Table) -> Self {
        let mut tables = before.map_or_else(Vec::new, |before| before.tables.clone());
        tables.push(Arc::new(table));
        Splitter { tables }
    }

    /// The only step, where its matches are the pretokens.
    pub fn plain(&self) -> Option<&Table> {
        match &self.tables[..] {
            [only] if only.is_plain() => Some(only),
            _ => None,
        }
    }

    /// Hands over the pretokens of a text in their order, some at a time. None: `take` says so, or
    /// Python does it, also where there is too little memory.
    pub fn each(
        &self,
        text: &[u8],
        room: &mut Room,
        mut take: impl FnMut(&[Piece]) -> Option<()>,
    ) -> Option<()> {
        match self.plain() {
            Some(only) => only.each_match(text, room, take),
            None => take(&self.cut(text, room)?),
        }
    }

    /// The pretokens of a text. None: as above.
    pub fn pieces(&self, text: &[u8]) -> Option<Vec<Piece>> {
        self.pieces_in(text, &mut Room::new())
    }

    /// The same in a room that was made before, which matters for short texts.
    pub fn pieces_in(&self, text: &[u8], room: &mut Room) -> Option<Vec<Piece>> {
        if self.plain().is_none() {
            return self.cut(text, room);
        }
        let mut pieces = vec![];
        pieces.try_reserve(text.len() / 4 + 1).ok()?;
        self.each(text, room, |found| {
            pieces.try_reserve(found.len()).ok()?;
            pieces.extend_from_slice(found);
            Some(())
        })?;
        Some(pieces)
    }

    /// The same, step by step.
    fn cut(&self, text: &[u8], room: &mut Room) -> Option<Vec<Piece>> {
        let mut pieces = vec![];
        if !text.is_empty() {
            pieces.push((0, text.len() as u32));
        }
        for table in &self.tables {
            let mut cut = vec![];
            cut.try_reserve(pieces.len() * 2).ok()?;
            for (start, end) in pieces {
                let piece = &text[start as usize..end as usize];
                table.cut(piece, start, room, &mut cut)?;
            }
            pieces = cut;
        }
        Some(pieces)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::processor::Finder;

    /// Runs of `a`, `b` after them if there is one; nothing else is matched.
    pub fn table(behavior: u32, invert: bool) -> Table {
        let mut classes = vec![2u8; 256];
        classes[usize::from(b'a')] = 0;
        classes[usize::from(b'b')] = 1;
        let (row, goes) = (4, |state: u32, flags: u32| (state * 4) << SHIFT | flags);
        let entries = [
            [goes(1, 0), BACK, BACK, BACK],
            [goes(1, ACCEPTS), goes(2, ACCEPTS), BACK | ACCEPTS, ACCEPTS],
            [
                goes(1, ACCEPTS | CUT),
                BACK | ACCEPTS,
                BACK | ACCEPTS,
                ACCEPTS,
            ],
        ];
        Table::new(&Given {
            pages: &[0; PAGES],
            classes: &classes,
            entries: &entries.concat(),
            stride: row,
            start: 0,
            end: 3,
            behavior,
            invert,
            covers: false,
        })
        .unwrap()
    }

    fn pieces(behavior: u32, invert: bool, text: &str) -> Vec<String> {
        let splitter = Splitter::after(None, table(behavior, invert));
        let found = splitter.pieces(text.as_bytes()).unwrap();
        let part = |&(start, end): &(u32, u32)| text[start as usize..end as usize].to_string();
        found.iter().map(part).collect()
    }

    #[test]
    fn each_behavior_does_its_own() {
        let text = "\u{e9}xaaba\u{e9}ab";
        assert_eq!(
            pieces(0, false, text),
            ["\u{e9}x", "aab", "a", "\u{e9}", "ab"]
        );
        assert_eq!(pieces(1, false, text), ["\u{e9}x", "\u{e9}"]);
        assert_eq!(pieces(1, true, text), ["aab", "a", "ab"]);
        assert_eq!(pieces(2, false, text), ["\u{e9}xaab", "a", "\u{e9}ab"]);
        assert_eq!(pieces(3, false, text), ["\u{e9}x", "aab", "a\u{e9}", "ab"]);
        assert_eq!(pieces(4, false, text), ["\u{e9}x", "aaba", "\u{e9}", "ab"]);
    }

    #[test]
    fn a_text_is_cut_the_same_over_many_blocks() {
        let text = "aab".repeat(3000) + &"x".repeat(3000) + "ab";
        let found = pieces(0, false, &text);
        assert_eq!(found.len(), 3002);
        assert_eq!(found.concat(), text);
        assert_eq!(found[3000].len(), 3000);
    }

    #[test]
    fn what_is_no_text_is_cut_somehow() {
        let splitter = Splitter::after(None, table(0, false));
        for text in [&b"\xff"[..], b"a\xf4", b"\xf7\xbf\xbf\xbf", b"\xe2\x82"] {
            let found = splitter.pieces(text).unwrap();
            assert_eq!(found.last().map(|piece| piece.1 as usize), Some(text.len()));
        }
    }

    #[test]
    fn tables_that_name_what_is_not_there_are_refused() {
        let given = |entries: &[u32], pages: &[u16], end| {
            let classes = [0u8; 256];
            let given = Given {
                pages,
                classes: &classes,
                entries,
                stride: 2,
                start: 0,
                end,
                behavior: 0,
                invert: false,
                covers: false,
            };
            Table::new(&given).is_some()
        };
        assert!(given(&[BACK, BACK], &[0; PAGES], 1));
        assert!(!given(&[BACK], &[0; PAGES], 1));
        assert!(!given(&[2 << SHIFT, BACK], &[0; PAGES], 1));
        assert!(!given(&[1 << SHIFT, BACK], &[0; PAGES], 1));
        assert!(!given(&[BACK, BACK], &[1; PAGES], 1));
        assert!(!given(&[BACK, BACK], &[0; PAGES - 1], 1));
        assert!(!given(&[BACK, BACK], &[0; PAGES], 0));
        assert!(!given(&[BACK, BACK], &[0; PAGES], 2));
    }

    /// A table of some states and classes, with whatever flags a pattern may have; `covers`: often
    /// one of which every text begins with a match.
    fn any_table(random: &mut impl FnMut(u32) -> u32, covers: bool) -> Table {
        let (states, classes) = (1 + random(6), 4);
        let mut entries = vec![];
        for state in 0..states {
            for class in 0..classes {
                let after = (random(states) * 8) << SHIFT;
                let begun: u32 = entries.get(class as usize).copied().unwrap_or(BACK);
                entries.push(match random(8) {
                    0..=3 if state > 0 => after | (random(2) * ACCEPTS),
                    0..=5 if state == 0 => after,
                    4 | 5 if begun & BACK == 0 => begun | CUT | ACCEPTS,
                    6 if state > 0 => BACK | ACCEPTS,
                    _ if state == 0 && covers => after,
                    _ if covers => BACK | (random(8).min(1) * ACCEPTS),
                    _ => BACK,
                });
            }
            let most = if covers { 8 } else { 2 };
            entries.push(if state > 0 {
                random(most).min(1) * ACCEPTS
            } else {
                BACK
            });
            entries.extend([BACK; 3]);
        }
        let byte_classes: Vec<u8> = (0..=255).map(|byte: u8| byte % 4).collect();
        Table::new(&Given {
            pages: &[0; PAGES],
            classes: &byte_classes,
            entries: &entries,
            stride: 8,
            start: 0,
            end: classes,
            behavior: 0,
            invert: false,
            covers: true,
        })
        .unwrap()
    }

    fn matches(table: &Table, text: &[u8], room: &mut Room) -> Option<Vec<Piece>> {
        let mut all = vec![];
        table.each_match(text, room, |found| {
            all.extend_from_slice(found);
            Some(())
        })?;
        Some(all)
    }

    #[test]
    fn strides_cut_as_the_table_does() {
        let mut state = 7u64;
        let mut random = move |below: u32| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        };
        let (mut most, mut marks, mut blocks) = (0, 0, 0);
        let mut room = Room::new();
        for round in 0..4000 {
            let mut quick = any_table(&mut random, round % 2 == 0);
            let mut plain = any_table(&mut random, false);
            plain.entries = quick.entries.clone();
            plain.begins = quick.begins;
            plain.strides = Strides::none(1024, 8);
            plain.blocks = None;
            // However many places are open.
            quick.blocks = Blocks::of(
                &Automaton {
                    ascii: &quick.ascii,
                    entries: &quick.entries[..],
                    stride: 8,
                    start: quick.start,
                    end: quick.end as usize,
                },
                0,
            );
            blocks += usize::from(quick.blocks.as_ref().is_some_and(Blocks::cuts));
            let (states, of_one) = quick.strides.sizes();
            (most, marks) = (most.max(states), marks.max(of_one));
            for _ in 0..30 {
                let size = random(60);
                let text: String = (0..size)
                    .map(|_| ['a', 'b', 'c', 'd', '\u{e9}'][random(5).min(random(5)) as usize])
                    .collect();
                let text = text.as_bytes();
                assert_eq!(
                    matches(&quick, text, &mut room),
                    matches(&plain, text, &mut room)
                );
            }
            // Many blocks of ends, and marks where a block is full.
            for rare in [0, 5, 50] {
                let text: String = (0..3000)
                    .map(|_| match random(rare + 1) {
                        0 if rare > 0 => ['c', 'd', '\u{e9}', '\u{4e00}'][random(4) as usize],
                        _ => ['a', 'b', 'c', 'd'][random(if rare > 0 { 2 } else { 4 }) as usize],
                    })
                    .collect();
                let text = text.as_bytes();
                assert_eq!(
                    matches(&quick, text, &mut room),
                    matches(&plain, text, &mut room)
                );
            }
        }
        assert!(most == 14 && marks > 2);
        assert!(blocks > 100 || Finder::new().is_none(), "{blocks}");
    }
}
