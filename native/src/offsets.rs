//! Where ids stand in a text: first in bytes, at last in characters (twin: `encode/offsets.py`).
#![forbid(unsafe_code)]

use crate::pairs::NONE;

/// How many bytes the token of each id has.
pub struct Sizes {
    /// By id; 0 where there is none.
    sizes: Vec<u32>,
}

impl Sizes {
    /// None: an id has two sizes, or ids are so far apart that a list of them has no use.
    pub fn of(tokens: impl Iterator<Item = (u32, usize)> + Clone) -> Option<Self> {
        let (mut count, mut last) = (0, 0);
        for (id, _) in tokens.clone() {
            count += 1;
            last = last.max(id as usize);
        }
        if last > 8 * count + (1 << 16) {
            return None;
        }
        let mut sizes = vec![0; last + 1];
        for (id, size) in tokens {
            let known = std::mem::replace(&mut sizes[id as usize], size as u32);
            if known != 0 && known as usize != size {
                return None;
            }
        }
        Some(Sizes { sizes })
    }

    /// An id stands for a single byte, whatever its token is.
    pub fn set_byte(&mut self, id: u32) {
        if let Some(size) = self.sizes.get_mut(id as usize) {
            *size = 1;
        }
    }

    /// How many bytes some tokens have together; None: an id has no size, or they are too many.
    pub fn of_all(&self, ids: &[u32]) -> Option<u32> {
        ids.iter()
            .try_fold(0u32, |all, &id| all.checked_add(self.get(id)?))
    }

    #[inline(always)]
    fn get(&self, id: u32) -> Option<u32> {
        self.sizes
            .get(id as usize)
            .copied()
            .filter(|&size| size > 0)
    }
}

/// Where each id of a text starts and ends.
#[derive(Default)]
pub struct Spans {
    pub starts: Vec<u32>,
    pub ends: Vec<u32>,
    /// The place up to which there are ids.
    at: u32,
}

impl Spans {
    /// The next ids stand from here on.
    pub fn go_to(&mut self, place: usize) {
        self.at = place as u32;
    }

    /// An id stands there.
    pub fn place(&mut self, start: u32, end: u32) -> Option<()> {
        self.reserve(1)?;
        self.starts.push(start);
        self.ends.push(end);
        Some(())
    }

    /// Room for so many more ids. None: there is too little memory.
    pub fn reserve(&mut self, count: usize) -> Option<()> {
        self.starts.try_reserve(count).ok()?;
        self.ends.try_reserve(count).ok()
    }

    /// An id of so many bytes comes next.
    #[inline(always)]
    pub fn put(&mut self, size: u32) {
        self.starts.push(self.at);
        self.at += size;
        self.ends.push(self.at);
    }

    /// The last id has so many bytes more.
    fn grow(&mut self, size: u32) -> Option<()> {
        self.at += size;
        *self.ends.last_mut()? = self.at;
        Some(())
    }

    /// Ids that stand side by side, as many of `ids` as a pretoken (start, end) has. None: they
    /// do not end where it ends, or there is too little memory.
    pub fn fill(
        &mut self,
        (start, end): (u32, u32),
        ids: &mut impl Iterator<Item = u32>,
        sizes: &Sizes,
    ) -> Option<()> {
        self.at = start;
        while self.at < end {
            let size = sizes.get(ids.next()?)?;
            self.reserve(1)?;
            self.put(size);
        }
        (self.at == end).then_some(())
    }

    /// The ids of some characters, which stand side by side; `NONE` is one that has no token. With
    /// `fused`, the first such belongs to the id before it. Those beside each other are one if
    /// `fuse`. None: the ids are not those of the characters.
    pub fn fill_characters(
        &mut self,
        content: &[u8],
        ids: &[u32],
        sizes: &Sizes,
        fuse: bool,
        mut fused: bool,
    ) -> Option<()> {
        self.reserve(ids.len())?;
        let mut place = 0;
        for &id in ids {
            let size = match id {
                NONE => character_size(*content.get(place)?),
                _ => sizes.get(id)?,
            };
            match id == NONE && fused {
                true => self.grow(size)?,
                false => self.put(size),
            }
            fused = fuse && id == NONE;
            place += size as usize;
        }
        (place == content.len()).then_some(())
    }

    /// Makes places in bytes those in characters of a text, before which `put_before` characters were
    /// put, that belong to its first. What starts or ends inside a character covers it. Those that
    /// come later start later.
    pub fn in_characters(&mut self, text: &[u8], put_before: usize) {
        let put_before = put_before as u32;
        // How many characters begin before a place.
        let (mut place, mut count) = (0, 0);
        for (start, end) in self.starts.iter_mut().zip(&mut self.ends) {
            let first = *start as usize + 1;
            count += begun(text, place, first);
            *start = (count - 1).saturating_sub(put_before);
            let last = *end as usize;
            count += begun(text, first, last);
            *end = count.saturating_sub(put_before).max(1);
            place = last;
        }
    }
}

/// How many characters begin from one place to another.
#[inline(always)]
pub fn begun(text: &[u8], from: usize, to: usize) -> u32 {
    let between = text.get(from..to).unwrap_or(&[]);
    between.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

/// How many bytes a character has that begins so.
fn character_size(first: u8) -> u32 {
    match first {
        0..=0x7F => 1,
        0x80..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(spans: &Spans) -> Vec<(u32, u32)> {
        let starts = spans.starts.iter().copied();
        starts.zip(spans.ends.iter().copied()).collect()
    }

    #[test]
    fn what_ends_inside_a_character_covers_it() {
        let text = "a\u{e9}\u{65e5}b".as_bytes();
        let sizes = Sizes::of([(0, 1), (1, 2), (2, 3)].into_iter()).unwrap();
        let mut spans = Spans::default();
        let mut ids = [1, 1, 0, 0, 0].into_iter();
        assert!(spans.fill((0, 7), &mut ids, &sizes).is_some());
        assert_eq!(both(&spans), [(0, 2), (2, 4), (4, 5), (5, 6), (6, 7)]);
        spans.in_characters(text, 0);
        assert_eq!(both(&spans), [(0, 2), (1, 3), (2, 3), (2, 3), (3, 4)]);
        let mut ids = [2, 2].into_iter();
        assert!(spans.fill((0, 4), &mut ids, &sizes).is_none());
    }

    #[test]
    fn what_was_put_before_belongs_to_the_first() {
        let mut spans = Spans::default();
        let sizes = Sizes::of([(0, 3), (1, 1), (2, 4)].into_iter()).unwrap();
        let text = "\u{2581}ab".as_bytes();
        spans.fill((0, 5), &mut [0, 1, 1].into_iter(), &sizes);
        spans.in_characters(text, 1);
        assert_eq!(both(&spans), [(0, 1), (0, 1), (1, 2)]);
        let mut spans = Spans::default();
        spans.fill((0, 5), &mut [2, 1].into_iter(), &sizes);
        spans.in_characters(text, 1);
        assert_eq!(both(&spans), [(0, 1), (1, 2)]);
    }

    #[test]
    fn unknown_characters_are_one_or_many() {
        let text = "a\u{65e5}\u{e9}b".as_bytes();
        let sizes = Sizes::of([(0, 1)].into_iter()).unwrap();
        for (fuse, fused, expected) in [
            (false, false, vec![(0, 1), (1, 4), (4, 6), (6, 7)]),
            (true, false, vec![(0, 1), (1, 6), (6, 7)]),
        ] {
            let mut spans = Spans::default();
            let ids = [0, NONE, NONE, 0];
            let done = spans.fill_characters(text, &ids, &sizes, fuse, fused);
            assert!(done.is_some());
            assert_eq!(both(&spans), expected);
        }
        let mut spans = Spans::default();
        assert!(spans
            .fill_characters(text, &[0, NONE], &sizes, true, false)
            .is_none());
        let mut spans = Spans::default();
        assert!(spans
            .fill_characters(&text[1..4], &[NONE], &sizes, true, true)
            .is_none());
    }

    #[test]
    fn ids_far_apart_and_of_two_sizes_are_left_out() {
        assert!(Sizes::of([(0, 1), (1 << 30, 1)].into_iter()).is_none());
        assert!(Sizes::of([(3, 1), (3, 2)].into_iter()).is_none());
        assert!(Sizes::of([(3, 1), (3, 1)].into_iter()).is_some());
    }
}
