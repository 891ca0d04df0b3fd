//! Merging the characters of a text: the least rank first, the leftmost of equals (twin:
//! `merging/merger.py`). Two pairs may have one rank, as SentencePiece's scores may be equal.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::canonical::SYMBOL;
use crate::merges::Merges;
use crate::pairs::{Pairs, NONE};
use crate::table::Table;

/// Up to so many symbols, looking through all of them at each step is the fastest.
const SHORT: usize = 64;

/// The longest token that may be merged into: pairs are made of each of its cuts.
const LONGEST: usize = 4096;

/// The most bytes of each part of the room that are kept for the next text.
const KEPT: usize = 1 << 20;

/// No pair may merge here.
const NEVER: u64 = u64::MAX;

/// A page has the code points that differ in their last eight bits.
const PAGE: usize = 256;

/// Whether something may be merged with a character: with what follows it, with what is before.
const WITH_NEXT: u32 = 1;
const WITH_PREVIOUS: u32 = 2;

/// What is known of a character.
#[derive(Clone, Copy)]
pub struct Letter {
    /// The place of its token, or `SYMBOL` and the character.
    pub symbol: u32,
    merges: u32,
}

/// Where the token of each single character stands in a table, and whether it may merge.
struct Characters {
    pages: Vec<u16>,
    places: Vec<u32>,
    merges: Vec<u8>,
}

impl Characters {
    fn of(table: &Table) -> Self {
        let mut made = Characters {
            pages: vec![0; char::MAX as usize / PAGE + 1],
            places: vec![NONE; PAGE],
            merges: vec![0; PAGE],
        };
        for at in 0..table.tokens.len() {
            let text = std::str::from_utf8(table.tokens.get(at)).unwrap_or("");
            let mut characters = text.chars();
            if let (Some(character), None) = (characters.next(), characters.next()) {
                let entry = made.entry(character as usize);
                made.places[entry] = at as u32;
            }
        }
        made
    }

    /// Where a character's own entry is, made if there is none.
    fn entry(&mut self, code: usize) -> usize {
        let page = &mut self.pages[code / PAGE];
        if *page == 0 {
            *page = (self.places.len() / PAGE) as u16; // there are fewer pages than 2**16
            self.places.resize(self.places.len() + PAGE, NONE);
            self.merges.resize(self.places.len(), 0);
        }
        usize::from(*page) * PAGE + code % PAGE
    }

    /// Two characters may be merged, or what is made of them.
    fn set_beside(&mut self, left: u32, right: u32) {
        for (code, flag) in [(left, WITH_NEXT), (right, WITH_PREVIOUS)] {
            let entry = self.entry(code as usize);
            self.merges[entry] |= flag as u8;
        }
    }

    #[inline(always)]
    fn letter(&self, character: char) -> Letter {
        let code = character as usize;
        let entry = usize::from(self.pages[code / PAGE]) * PAGE + code % PAGE;
        let place = self.places[entry];
        let symbol = if place == NONE {
            SYMBOL | code as u32
        } else {
            place
        };
        let merges = u32::from(self.merges[entry]);
        Letter { symbol, merges }
    }
}

/// A merge rule over the tokens of a table. Symbols are places in it, or `SYMBOL` and a character
/// that is no token.
pub struct PieceMerging {
    characters: Characters,
    /// The number of each pair that may merge.
    pairs: Pairs,
    /// By number: the rank, and below it the number itself.
    keys: Vec<u64>,
    /// By number: what the pair becomes.
    products: Vec<u32>,
    /// Characters that stand side by side in what a pair becomes.
    beside: Pairs,
}

/// A symbol in a long text, with the key of the pair that it begins.
#[derive(Clone, Copy)]
struct Node {
    key: u64,
    symbol: u32,
    next: u32,
    before: u32,
}

/// Room for merging, used again and again.
#[derive(Default)]
pub struct Work {
    /// What is merged, and what comes of it.
    pub symbols: Vec<u32>,
    keys: Vec<u64>,
    nodes: Vec<Node>,
}

impl Work {
    /// Gives back what a very long text took.
    pub fn shrink(&mut self) {
        if self.symbols.capacity() * size_of::<u32>() > KEPT {
            self.symbols = vec![];
        }
        if self.nodes.capacity() * size_of::<Node>() > KEPT {
            self.nodes = vec![];
        }
    }
}

/// What may merge, before it is put together.
#[derive(Default)]
struct Listed {
    pairs: Vec<(u32, u32, u32)>,
    keys: Vec<u64>,
    products: Vec<u32>,
    /// Neighbouring characters of products, the left one in the upper half.
    beside: Vec<u64>,
}

impl Listed {
    /// A product and its rank; pairs that make it have the number that is returned.
    fn product(&mut self, table: &Table, at: u32, rank: u32) -> Option<u32> {
        let number = self.products.len() as u32;
        if rank == NONE || table.tokens.size(at as usize) > LONGEST {
            return None;
        }
        let text = std::str::from_utf8(table.tokens.get(at as usize)).ok()?;
        let codes = text.chars().map(u64::from);
        let two = codes.clone().zip(codes.skip(1));
        self.beside
            .extend(two.map(|(left, right)| left << 32 | right));
        self.keys.push(u64::from(rank) << 32 | u64::from(number));
        self.products.push(at);
        Some(number)
    }

    fn merging(mut self, mut characters: Characters) -> Option<PieceMerging> {
        if self.products.len() >= SYMBOL as usize {
            return None;
        }
        let mut pairs = Pairs::with_room(self.pairs.len());
        for (left, right, number) in self.pairs {
            pairs.set(left, right, number);
        }
        self.beside.sort_unstable();
        self.beside.dedup();
        let mut beside = Pairs::with_room(self.beside.len());
        for two in self.beside {
            let (left, right) = ((two >> 32) as u32, two as u32);
            beside.set(left, right, 0);
            characters.set_beside(left, right);
        }
        Some(PieceMerging {
            characters,
            pairs,
            keys: self.keys,
            products: self.products,
            beside,
        })
    }
}

impl PieceMerging {
    /// Any two symbols merge whose product is a ranked token; `NONE` is no rank. None: a ranked
    /// token is not in the table, is no text, or is very long.
    pub fn of_ranks(table: &Table, ranked: &Table) -> Option<Self> {
        let characters = Characters::of(table);
        let mut ranks = vec![NONE; table.tokens.len()];
        for (at, &rank) in ranked.numbers.iter().enumerate() {
            let content = ranked.tokens.get(at);
            // Mostly both list the same tokens in the same order.
            let same = at < ranks.len() && table.tokens.get(at) == content;
            let place = if same {
                at
            } else {
                table.tokens.find(content)? as usize
            };
            ranks[place] = rank;
        }
        let mut listed = Listed::default();
        for at in (0..ranks.len()).filter(|&at| ranks[at] != NONE) {
            let text = std::str::from_utf8(table.tokens.get(at)).ok()?;
            let mut cuts = text.char_indices().skip(1).peekable();
            if cuts.peek().is_none() {
                continue;
            }
            let number = listed.product(table, at as u32, ranks[at])?;
            let part = |content: &str| {
                let mut inner = content.chars();
                match (inner.next(), inner.next()) {
                    (Some(character), None) => Some(characters.letter(character).symbol),
                    _ => {
                        let place = table.tokens.find(content.as_bytes())?;
                        (ranks[place as usize] != NONE).then_some(place)
                    }
                }
            };
            for (cut, _) in cuts {
                let (left, right) = text.split_at(cut);
                if let (Some(left), Some(right)) = (part(left), part(right)) {
                    listed.pairs.push((left, right, number));
                }
            }
        }
        listed.merging(characters)
    }

    /// The listed pairs merge; one that comes twice counts at its last place.
    pub fn of_list(table: &Table, merges: &Merges) -> Option<Self> {
        let mut listed = Listed::default();
        for (place, &product) in merges.product.iter().enumerate() {
            let number = listed.product(table, product, place as u32)?;
            listed
                .pairs
                .push((merges.left[place], merges.right[place], number));
        }
        listed.merging(Characters::of(table))
    }

    /// What a character is before merging.
    #[inline(always)]
    pub fn letter(&self, character: char) -> Letter {
        self.characters.letter(character)
    }

    /// What a character is before merging, without the rest.
    #[inline(always)]
    pub fn symbol(&self, character: char) -> u32 {
        self.letter(character).symbol
    }

    /// Whether a merge may cross the place between two characters.
    #[inline(always)]
    pub fn may_cross(&self, left: char, right: char) -> bool {
        self.beside.rank(u32::from(left), u32::from(right)) != NONE
    }

    /// The same of two characters that were looked up.
    #[inline(always)]
    pub fn may_cross_letters(&self, left: (char, Letter), right: (char, Letter)) -> bool {
        left.1.merges & WITH_NEXT != 0
            && right.1.merges & WITH_PREVIOUS != 0
            && self.may_cross(left.0, right.0)
    }

    #[inline(always)]
    fn key(&self, left: u32, right: u32) -> u64 {
        match self.pairs.rank(left, right) {
            NONE => NEVER,
            number => self.keys[number as usize],
        }
    }

    fn product(&self, key: u64) -> u32 {
        self.products[key as u32 as usize]
    }

    /// Merges `work.symbols` until nothing merges, or `keep` are left. None: there is too little
    /// memory.
    pub fn run(&self, work: &mut Work, keep: usize) -> Option<()> {
        if work.symbols.len() > SHORT {
            return self.link(work, keep);
        }
        self.scan(work, keep);
        Some(())
    }

    fn scan(&self, work: &mut Work, keep: usize) {
        let keys = &mut work.keys;
        keys.clear();
        keys.extend(work.symbols.windows(2).map(|two| self.key(two[0], two[1])));
        let (symbols, keys) = (&mut work.symbols[..], &mut keys[..]);
        let mut left = keys.len();
        while left >= keep {
            let (mut least, mut at) = (NEVER >> 32, 0);
            for (place, &key) in keys[..left].iter().enumerate() {
                if key >> 32 < least {
                    (least, at) = (key >> 32, place);
                }
            }
            if least == NEVER >> 32 {
                break;
            }
            let made = self.product(keys[at]);
            symbols[at] = made;
            symbols.copy_within(at + 2..left + 1, at + 1);
            keys.copy_within(at + 1..left, at);
            left -= 1;
            if at < left {
                keys[at] = self.key(made, symbols[at + 1]);
            }
            if at > 0 {
                keys[at - 1] = self.key(symbols[at - 1], made);
            }
        }
        let count = if work.symbols.is_empty() { 0 } else { left + 1 };
        work.symbols.truncate(count);
    }

    /// The same with a linked list, and a heap of ranks and places.
    fn link(&self, work: &mut Work, keep: usize) -> Option<()> {
        let Work { symbols, nodes, .. } = work;
        let count = symbols.len();
        nodes.clear();
        nodes.try_reserve(count).ok()?;
        let mut heap = BinaryHeap::new();
        heap.try_reserve(count).ok()?;
        let entry = |key: u64, place: usize| Reverse(key >> 32 << 32 | place as u64);
        for (place, &symbol) in symbols.iter().enumerate() {
            let right = symbols.get(place + 1);
            let key = right.map_or(NEVER, |&right| self.key(symbol, right));
            nodes.push(Node {
                key,
                symbol,
                next: place as u32 + 1,
                before: (place as u32).wrapping_sub(1),
            });
            if key != NEVER {
                heap.push(entry(key, place));
            }
        }
        let mut spare = count.saturating_sub(keep);
        while spare > 0 {
            let Some(Reverse(first)) = heap.pop() else {
                break;
            };
            let place = first as u32 as usize;
            // A place whose pair is another by now waits with its new rank, too.
            if nodes[place].key >> 32 != first >> 32 {
                continue;
            }
            spare -= 1;
            // A merge takes one and puts at most two.
            heap.try_reserve(2).ok()?;
            let made = self.product(nodes[place].key);
            let second = nodes[place].next as usize;
            let after = nodes[second].next;
            nodes[second].key = NEVER;
            let mut key = NEVER;
            if let Some(right) = nodes.get_mut(after as usize) {
                right.before = place as u32;
                key = self.key(made, right.symbol);
            }
            if key != NEVER {
                heap.push(entry(key, place));
            }
            let node = &mut nodes[place];
            (node.symbol, node.next, node.key) = (made, after, key);
            let before = node.before as usize;
            if let Some(left) = nodes.get_mut(before) {
                left.key = self.key(left.symbol, made);
                if left.key != NEVER {
                    heap.push(entry(left.key, before));
                }
            }
        }
        symbols.clear();
        let mut place = 0;
        while let Some(node) = nodes.get(place) {
            symbols.push(node.symbol);
            place = node.next as usize;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Tokens;

    fn table(contents: &[&str], numbers: &[u32]) -> Table {
        let mut tokens = Tokens::with_room(0, 0);
        for content in contents {
            tokens.push(content.as_bytes()).unwrap();
        }
        Table::ranked(tokens, numbers.to_vec()).unwrap()
    }

    /// What the definition says of ranks, step by step.
    fn by_hand(ranked: &[(&str, u32)], text: &str, keep: usize) -> Vec<String> {
        let mut parts: Vec<String> = text.chars().map(String::from).collect();
        while parts.len() > keep {
            let rank = |two: &[String]| {
                let product = two.concat();
                let known = ranked.iter().find(|(content, _)| *content == product);
                known.map_or(NONE, |&(_, rank)| rank)
            };
            let ranks = parts.windows(2).map(rank).enumerate();
            match ranks.min_by_key(|&(place, rank)| (rank, place)) {
                Some((place, rank)) if rank != NONE => {
                    let right = parts.remove(place + 1);
                    parts[place].push_str(&right);
                }
                _ => break,
            }
        }
        parts
    }

    #[test]
    fn short_and_long_texts_merge_as_defined() {
        let mut state = 7u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as u32 % below
        };
        for _ in 0..150 {
            let mut contents: Vec<String> = ["a", "b", "\u{e9}"].map(String::from).to_vec();
            for _ in 0..draw(10) {
                let count = contents.len() as u32;
                let left = contents[draw(count) as usize].clone();
                let made = left + &contents[draw(count) as usize];
                if made.len() < 12 && !contents.contains(&made) {
                    contents.push(made);
                }
            }
            let all: Vec<&str> = contents.iter().map(String::as_str).collect();
            let ranked: Vec<(&str, u32)> = all[3..].iter().map(|&each| (each, draw(5))).collect();
            let Some(rule) = (!ranked.is_empty()).then(|| {
                let (names, ranks): (Vec<&str>, Vec<u32>) = ranked.iter().copied().unzip();
                let tokens = table(&all, &vec![0; all.len()]);
                PieceMerging::of_ranks(&tokens, &table(&names, &ranks)).unwrap()
            }) else {
                continue;
            };
            for (size, keep) in [
                (0, 1),
                (1, 1),
                (5, 2),
                (20, 1),
                (SHORT, 1),
                (SHORT + 1, 2),
                (200, 1),
            ] {
                let symbols = ['a', 'b', '\u{e9}', 'x'];
                let text: String = (0..size).map(|_| symbols[draw(13) as usize % 4]).collect();
                let mut work = Work::default();
                work.symbols
                    .extend(text.chars().map(|each| rule.symbol(each)));
                rule.run(&mut work, keep).unwrap();
                let expected: Vec<u32> = by_hand(&ranked, &text, keep)
                    .iter()
                    .map(|part| match all.iter().position(|each| each == part) {
                        Some(place) => place as u32,
                        None => SYMBOL | u32::from('x'),
                    })
                    .collect();
                assert_eq!(work.symbols, expected, "{ranked:?} {text}");
            }
        }
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let tokens = table(&["a", "b"], &[0, 1]);
        assert!(PieceMerging::of_ranks(&tokens, &table(&["ab"], &[0])).is_none());
        let long = "a".repeat(LONGEST + 1);
        let tokens = table(&["a", &long], &[0, 1]);
        assert!(PieceMerging::of_ranks(&tokens, &table(&[&long], &[0])).is_none());
    }

    #[test]
    fn merges_cross_only_where_tokens_hold_both_characters() {
        let tokens = table(&["a", "b", "ab"], &[0, 1, 2]);
        let rule = PieceMerging::of_ranks(&tokens, &table(&["ab"], &[0])).unwrap();
        assert!(rule.may_cross('a', 'b'));
        assert!(!rule.may_cross('b', 'a'));
        assert_eq!(rule.symbol('c'), SYMBOL | u32::from('c'));
        assert_eq!(rule.symbol('\u{10ffff}'), SYMBOL | 0x10FFFF);
    }
}
