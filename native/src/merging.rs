//! Merging the symbols of one pretoken: the least rank first, the leftmost of equals (twin:
//! `merging/merger.py`). No two pairs have one rank here.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pairs::{Pairs, NONE};

/// Up to so many symbols, looking through all of them at each step is the fastest.
const SHORT: usize = 64;

/// How many look-ups in queues may be in vain for each symbol before a heap takes over.
const IN_VAIN: usize = 8;

/// What may merge: pairs of symbols, the rank of each, and by rank what it makes.
pub struct Merging {
    pairs: Pairs,
    products: Vec<u32>,
    /// The symbol of each byte, `NONE` where it has none.
    bytes: [u32; 256],
    /// The same of a pretoken's last byte, if a suffix is glued to it.
    lasts: Option<Box<[u32; 256]>>,
    /// The rank of each pair of bytes of which none has the suffix.
    first: Vec<u32>,
}

/// A symbol in a long pretoken, with the pair that it begins.
#[derive(Clone, Copy)]
struct Node {
    symbol: u32,
    rank: u32,
    next: u32,
    before: u32,
}

/// For each rank the places that wait for it; a place whose rank is another by now counts for
/// nothing.
#[derive(Default)]
struct Queues {
    first: Vec<u32>,
    /// A bit for each rank: whether its queue is not empty.
    waiting: Vec<u64>,
    stretches: Vec<Stretch>,
    free: u32,
    /// There was no memory for a stretch: what is in the queues counts for nothing.
    short: bool,
}

/// Some places of a queue, side by side in memory, and where those before them are.
#[derive(Clone, Copy)]
struct Stretch {
    places: [u32; TOGETHER],
    count: u32,
    next: u32,
}

/// So many, because a stretch then is half of what the processor fetches at a time.
const TOGETHER: usize = 6;

/// How many nodes are read before the first of them is merged, so that the processor waits for
/// many places of memory at a time.
const AHEAD: usize = 16;

/// The most bytes of each part of the room that are kept for the next pretoken.
const KEPT: usize = 1 << 20;

/// Room for merging, used again and again.
#[derive(Default)]
pub struct Work {
    /// What is merged, and what comes of it.
    pub symbols: Vec<u32>,
    ranks: Vec<u32>,
    nodes: Vec<Node>,
    queues: Queues,
    places: Vec<u32>,
}

impl Work {
    /// Gives back what a very long pretoken took.
    pub fn shrink(&mut self) {
        give_back(&mut self.symbols);
        give_back(&mut self.nodes);
        give_back(&mut self.places);
        give_back(&mut self.queues.stretches);
    }
}

fn give_back<T>(room: &mut Vec<T>) {
    if room.capacity() * size_of::<T>() > KEPT {
        *room = vec![];
    }
}

/// Adds a value, if there is memory for it.
#[inline(always)]
fn add<T>(room: &mut Vec<T>, value: T) -> bool {
    if room.len() == room.capacity() && room.try_reserve(1).is_err() {
        return false;
    }
    room.push(value);
    true
}

impl Merging {
    /// The pairs in the order of their ranks; of one that comes twice, the last counts. None: the
    /// three are not of one size, or there are too many.
    pub fn new(left: &[u32], right: &[u32], products: &[u32], bytes: [u32; 256]) -> Option<Self> {
        let count = products.len();
        if left.len() != count || right.len() != count || count >= NONE as usize {
            return None;
        }
        let mut pairs = Pairs::with_room(count);
        for (rank, (&left, &right)) in left.iter().zip(right).enumerate() {
            pairs.set(left, right, rank as u32);
        }
        let mut first = Vec::with_capacity(1 << 16);
        for &left in &bytes {
            for &right in &bytes {
                let known = left != NONE && right != NONE;
                first.push(if known { pairs.rank(left, right) } else { NONE });
            }
        }
        Some(Merging {
            pairs,
            products: products.to_vec(),
            bytes,
            lasts: None,
            first,
        })
    }

    /// The same where a suffix is glued to a pretoken's last byte, with the symbol of each byte
    /// that has it.
    pub fn with_suffix(self, lasts: [u32; 256]) -> Self {
        Merging {
            lasts: Some(Box::new(lasts)),
            ..self
        }
    }

    /// Whether a suffix is glued to a pretoken's last byte.
    pub fn has_suffix(&self) -> bool {
        self.lasts.is_some()
    }

    /// The symbol of a place of a pretoken, and the rank of the pair that it begins.
    #[inline(always)]
    fn symbol(&self, text: &[u8], place: usize) -> (u32, u32) {
        let byte = text[place];
        let own = self.bytes[usize::from(byte)];
        let last = |lasts: &[u32; 256], byte: u8| lasts[usize::from(byte)];
        match (text.get(place + 1), &self.lasts) {
            (None, None) => (own, NONE),
            (None, Some(lasts)) => (last(lasts, byte), NONE),
            (Some(&right), Some(lasts)) if place + 2 == text.len() => {
                let right = last(lasts, right);
                let known = own != NONE && right != NONE;
                (
                    own,
                    if known {
                        self.pairs.rank(own, right)
                    } else {
                        NONE
                    },
                )
            }
            (Some(&right), _) => (own, self.first[pair(byte, right)]),
        }
    }

    /// Merges the bytes of a pretoken; what comes of it is in `work.symbols`. None: a byte has no
    /// symbol, or there is too little memory.
    pub fn run(&self, text: &[u8], work: &mut Work) -> Option<()> {
        work.symbols.clear();
        if text.len() > SHORT {
            return self.link(text, work);
        }
        work.ranks.clear();
        for place in 0..text.len() {
            let (symbol, rank) = self.symbol(text, place);
            if symbol == NONE {
                return None;
            }
            work.symbols.push(symbol);
            work.ranks.push(rank);
        }
        work.ranks.pop(); // the last symbol begins no pair
        self.scan(work);
        Some(())
    }

    fn scan(&self, work: &mut Work) {
        let (symbols, ranks) = (&mut work.symbols[..], &mut work.ranks[..]);
        let mut left = ranks.len();
        while left > 0 {
            let (mut least, mut at) = (NONE, 0);
            for (place, &rank) in ranks[..left].iter().enumerate() {
                if rank < least {
                    (least, at) = (rank, place);
                }
            }
            if least == NONE {
                break;
            }
            let made = self.products[least as usize];
            symbols[at] = made;
            symbols.copy_within(at + 2..left + 1, at + 1);
            ranks.copy_within(at + 1..left, at);
            left -= 1;
            if at < left {
                ranks[at] = self.pairs.rank(made, symbols[at + 1]);
            }
            if at > 0 {
                ranks[at - 1] = self.pairs.rank(symbols[at - 1], made);
            }
        }
        work.symbols.truncate(left + 1);
    }

    /// The same with a linked list, and a queue of places for each rank.
    fn link(&self, text: &[u8], work: &mut Work) -> Option<()> {
        let Work {
            symbols,
            nodes,
            queues,
            places,
            ..
        } = work;
        nodes.clear();
        nodes.try_reserve(text.len()).ok()?;
        queues.make_room(self.products.len());
        for place in 0..text.len() {
            let (symbol, rank) = self.symbol(text, place);
            if symbol == NONE {
                queues.clear();
                return None;
            }
            queues.put(rank, place);
            nodes.push(Node {
                symbol,
                rank,
                next: place as u32 + 1,
                before: (place as u32).wrapping_sub(1),
            });
        }
        if !self.by_queues(nodes, queues, places) {
            if queues.short {
                queues.clear();
                return None;
            }
            self.by_heap(nodes)?;
        }
        symbols.try_reserve(nodes.len()).ok()?;
        let mut place = 0;
        while let Some(node) = nodes.get(place) {
            symbols.push(node.symbol);
            place = node.next as usize;
        }
        Some(())
    }

    /// Takes the queues in the order of ranks, and each from left to right. False: too much was
    /// in vain, because new pairs go before old ones, and what is merged by then is right; or the
    /// queues are short of memory.
    fn by_queues(&self, nodes: &mut [Node], queues: &mut Queues, places: &mut Vec<u32>) -> bool {
        let mut in_vain = IN_VAIN * nodes.len();
        let mut least = 0;
        while let Some(rank) = queues.take(least, places) {
            least = rank;
            for (done, &place) in places.iter().enumerate() {
                if done % AHEAD == 0 {
                    touch(nodes, &places[done..]);
                }
                if nodes[place as usize].rank != rank {
                    continue;
                }
                let sooner =
                    self.merge(nodes, place as usize, |rank, place| queues.put(rank, place));
                if sooner > rank {
                    continue;
                }
                // The rest of this queue waits until the new pair, which goes before, is merged.
                let rest = &places[done + 1..];
                rest.iter()
                    .for_each(|&place| queues.put(rank, place as usize));
                least = sooner;
                if rest.len() > in_vain {
                    queues.clear();
                    return false;
                }
                in_vain -= rest.len();
                break;
            }
        }
        !queues.short
    }

    /// Merges the pair that a node begins; gives the least of the ranks of the new pairs, each of
    /// which is given to `put`.
    #[inline(always)]
    fn merge(&self, nodes: &mut [Node], place: usize, mut put: impl FnMut(u32, usize)) -> u32 {
        let second = nodes[place].next as usize;
        let after = nodes[second].next;
        let made = self.products[nodes[place].rank as usize];
        nodes[second].rank = NONE;
        let mut rank = NONE;
        if let Some(right) = nodes.get_mut(after as usize) {
            right.before = place as u32;
            rank = self.pairs.rank(made, right.symbol);
        }
        let node = &mut nodes[place];
        (node.symbol, node.next, node.rank) = (made, after, rank);
        let before = node.before as usize;
        put(rank, place);
        let Some(left) = nodes.get_mut(before) else {
            return rank;
        };
        left.rank = self.pairs.rank(left.symbol, made);
        put(left.rank, before);
        rank.min(left.rank)
    }

    /// Merges what is left to merge, whatever the order of ranks. None: there is too little
    /// memory.
    fn by_heap(&self, nodes: &mut [Node]) -> Option<()> {
        let key = |rank: u32, place: usize| Reverse(u64::from(rank) << 32 | place as u64);
        let known = nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.rank != NONE);
        let mut heap = BinaryHeap::new();
        heap.try_reserve(nodes.len()).ok()?;
        heap.extend(known.map(|(place, node)| key(node.rank, place)));
        while let Some(Reverse(first)) = heap.pop() {
            // A merge takes one and puts at most two.
            heap.try_reserve(2).ok()?;
            let place = first as u32 as usize;
            if u64::from(nodes[place].rank) != first >> 32 {
                continue;
            }
            self.merge(nodes, place, |rank, place| {
                if rank != NONE {
                    heap.push(key(rank, place));
                }
            });
        }
        Some(())
    }
}

/// Reads the nodes that come next, and what lies behind them; they are near when they are merged.
fn touch(nodes: &[Node], places: &[u32]) {
    let mut seen = 0;
    for &place in places.iter().take(AHEAD) {
        let behind = nodes.get(place as usize + 4);
        seen ^= nodes[place as usize].rank ^ behind.map_or(0, |node| node.rank);
    }
    std::hint::black_box(seen);
}

/// Where the rank of two bytes is.
#[inline(always)]
fn pair(left: u8, right: u8) -> usize {
    usize::from(left) << 8 | usize::from(right)
}

impl Queues {
    fn make_room(&mut self, ranks: usize) {
        self.first.resize(ranks, NONE);
        self.waiting.resize(ranks / 64 + 1, 0);
        self.stretches.clear();
        self.free = NONE;
        self.short = false;
    }

    /// Puts a place into the queue of a rank; `NONE` has none.
    #[inline(always)]
    fn put(&mut self, rank: u32, place: usize) {
        if rank == NONE {
            return;
        }
        let first = &mut self.first[rank as usize];
        if let Some(stretch) = self.stretches.get_mut(*first as usize) {
            if let Some(room) = stretch.places.get_mut(stretch.count as usize) {
                *room = place as u32;
                stretch.count += 1;
                return;
            }
        }
        let stretch = Stretch {
            places: [place as u32; TOGETHER],
            count: 1,
            next: *first,
        };
        if self.free == NONE {
            let at = self.stretches.len() as u32;
            if !add(&mut self.stretches, stretch) {
                self.short = true;
                return;
            }
            *first = at;
        } else {
            *first = self.free;
            let free = &mut self.stretches[self.free as usize];
            self.free = free.next;
            *free = stretch;
        }
        self.waiting[rank as usize / 64] |= 1 << (rank % 64);
    }

    /// Empties the first queue from a rank on into `places`, in their order; gives its rank. None:
    /// there is no more, or they are short of memory.
    fn take(&mut self, least: u32, places: &mut Vec<u32>) -> Option<u32> {
        let from = least as usize / 64;
        let word = from + self.waiting[from..].iter().position(|&bits| bits != 0)?;
        let bit = self.waiting[word].trailing_zeros();
        self.waiting[word] &= !(1 << bit);
        let rank = word as u32 * 64 + bit;
        let mut at = std::mem::replace(&mut self.first[rank as usize], NONE);
        places.clear();
        while at != NONE {
            let stretch = &mut self.stretches[at as usize];
            let next = std::mem::replace(&mut stretch.next, self.free);
            // The last first, as stretches are: so all are in order, from right to left.
            for &place in stretch.places[..stretch.count as usize].iter().rev() {
                self.short |= !add(places, place);
            }
            self.free = at;
            at = next;
        }
        places.sort_unstable();
        (!self.short).then_some(rank)
    }

    fn clear(&mut self) {
        self.first.fill(NONE);
        self.waiting.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symbols are bytes, and numbers above them; the pairs in the order of their ranks.
    fn merging(pairs: &[(u32, u32, u32)]) -> Merging {
        let bytes = std::array::from_fn(|byte| byte as u32);
        let column = |of: fn(&(u32, u32, u32)) -> u32| pairs.iter().map(of).collect::<Vec<u32>>();
        let (left, right) = (column(|pair| pair.0), column(|pair| pair.1));
        Merging::new(&left, &right, &column(|pair| pair.2), bytes).unwrap()
    }

    /// What the definition says, step by step.
    fn by_hand(pairs: &[(u32, u32, u32)], text: &[u8]) -> Vec<u32> {
        let mut symbols: Vec<u32> = text.iter().map(|&byte| u32::from(byte)).collect();
        loop {
            let rank = |two: &[u32]| pairs.iter().rposition(|pair| [pair.0, pair.1] == *two);
            let ranks = symbols
                .windows(2)
                .map(|two| rank(two).unwrap_or(usize::MAX));
            match ranks.enumerate().min_by_key(|&(place, rank)| (rank, place)) {
                Some((place, rank)) if rank != usize::MAX => {
                    symbols[place] = pairs[rank].2;
                    symbols.remove(place + 1);
                }
                _ => return symbols,
            }
        }
    }

    /// Small numbers that look random.
    fn numbers(mut state: u64) -> impl FnMut(u32) -> u32 {
        move |below| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            ((state >> 33) % u64::from(below)) as u32
        }
    }

    #[test]
    fn short_and_long_pretokens_merge_as_defined() {
        let mut draw = numbers(14);
        for _ in 0..400 {
            let count = draw(12);
            let mut pairs: Vec<(u32, u32, u32)> = vec![];
            for made in 256..256 + count {
                let mut part = || {
                    if draw(3) > 0 {
                        draw(3)
                    } else {
                        256 + draw(made - 255)
                    }
                };
                let (left, right) = (part(), part());
                pairs.push((left.min(made - 1), right.min(made - 1), made));
            }
            // Out of order: a pair may come before those that make its parts.
            let swaps = draw(4);
            for _ in 0..swaps.min(count) {
                let (one, other) = (draw(count) as usize, draw(count) as usize);
                pairs.swap(one, other);
            }
            let rule = merging(&pairs);
            let mut work = Work::default();
            for size in [0, 1, 2, 5, SHORT, SHORT + 1, 3 * SHORT] {
                let text: Vec<u8> = (0..size).map(|_| draw(3) as u8).collect();
                rule.run(&text, &mut work).unwrap();
                assert_eq!(work.symbols, by_hand(&pairs, &text));
                let queues = &work.queues;
                assert!(queues.waiting.iter().all(|&bits| bits == 0));
                assert!(queues.first.iter().all(|&first| first == NONE));
            }
        }
    }

    #[test]
    fn a_heap_takes_over_where_queues_are_in_vain() {
        // Each merge of the last pair brings about one that goes before.
        let (a, b, c) = (97, 98, 99);
        let pairs = [(300, c, 301), (301, 301, 302), (a, b, 300)];
        let rule = merging(&pairs);
        let text = b"abc".repeat(2000);
        let mut work = Work::default();
        rule.run(&text, &mut work).unwrap();
        assert_eq!(work.symbols, vec![302; 1000]);
    }

    #[test]
    fn a_byte_without_a_symbol_is_left_to_python() {
        let bytes = std::array::from_fn(|byte| if byte == 7 { NONE } else { byte as u32 });
        let rule = Merging::new(&[], &[], &[], bytes).unwrap();
        let mut work = Work::default();
        assert!(rule.run(b"a\x07", &mut work).is_none());
        assert!(rule
            .run(&[b"a".repeat(SHORT), vec![7]].concat(), &mut work)
            .is_none());
        assert!(rule.run(b"a", &mut work).is_some());
    }
}
