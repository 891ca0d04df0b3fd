//! ASCII in blocks of 64 bytes: whether there is a boundary at a byte, from a few of its
//! neighbours, for all bytes of a block at a time. Derived from the table of a pattern, for any
//! pattern.
//!
//! Wherever a text is cut, the run of the table from the last boundary before a place is in *some*
//! row there, and its match ends at this place or later. All rows that a run can be in are followed
//! over the bytes before a place and behind it, as `strides.rs` follows runs and marks. Where all
//! agree whether there is a boundary, the bytes decide it, whatever is before them. Elsewhere the
//! place is *open*: it is left to the table, which begins at the last boundary. After an apostrophe
//! many letters would be open, because of contractions; so one class of bytes may be chosen that
//! must not be three bytes before.
#![forbid(unsafe_code)]

use std::collections::HashMap;

use crate::processor::{Finder, Wanted};
use crate::splitting::{Cursor, BLOCK, FULL};
use crate::strides::{Automaton, Runs, SAMPLE};

/// What is decided in a block of 64 bytes: before a place three bytes are known, and behind it
/// two with its own.
const BEFORE: usize = 3;
const DECIDED: u64 = (u64::MAX >> 1) & (u64::MAX << BEFORE);

/// How many lists of runs there may be. What needs more is left to the table.
const STATES: usize = 512;

/// How many boundaries of a block are written without asking whether there are so many.
const AT_ONCE: usize = 16;

/// After an open place so many bytes are left to the table; more if it comes again and again.
pub const WAIT: usize = 8;
const LONG_WAIT: usize = 128;

/// The derived tests: where there is a boundary, and which places are open.
pub struct Blocks {
    finder: Finder,
    wanted: Wanted,
}

/// The classes, a bit for each, that a byte and its neighbours have in a test.
type Box4 = [u64; 4];

/// What comes of a character: another list of runs, how many marks are taken back, whether one is
/// put.
#[derive(Clone, Copy)]
enum After {
    Goes(usize, usize, bool),
    /// No text goes on like this.
    Never,
    /// Something that `strides.rs` does not follow.
    Open,
}

/// Whether there is a boundary.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Verdict {
    Cut,
    Whole,
    Open,
}

/// Lists of runs, and what comes after each.
struct States<'a> {
    table: &'a Automaton<'a>,
    certain: Vec<bool>,
    all: Vec<Runs>,
    /// All rows that a run can be in, each alone.
    rows: Vec<usize>,
    /// By state and class.
    known: Vec<Vec<Option<After>>>,
}

impl<'a> States<'a> {
    fn of(table: &'a Automaton<'a>) -> Self {
        let mut rows = vec![table.start];
        let mut done = 0;
        while let Some(&row) = rows.get(done) {
            for next in table.followers(row) {
                if !rows.contains(&next) {
                    rows.push(next);
                }
            }
            done += 1;
        }
        States {
            table,
            certain: table.certain(),
            rows: (0..rows.len()).collect(),
            all: rows.into_iter().map(|row| vec![row]).collect(),
            known: vec![],
        }
    }

    fn after(&mut self, state: usize, class: usize) -> After {
        if state >= self.known.len() {
            self.known.resize(state + 1, vec![None; self.table.end]);
        }
        if let Some(known) = self.known[state][class] {
            return known;
        }
        let after = match self.table.step(&self.certain, &self.all[state], class) {
            None => After::Open,
            Some(step) if step.runs.is_empty() => After::Never,
            Some(step) => {
                let found = self.all.iter().position(|runs| *runs == step.runs);
                let next = found.unwrap_or_else(|| {
                    self.all.push(step.runs);
                    self.all.len() - 1
                });
                After::Goes(next, step.taken, step.puts)
            }
        };
        self.known[state][class] = Some(after);
        after
    }

    /// All states that come after some.
    fn image(&mut self, states: &[usize], classes: &[usize]) -> Vec<usize> {
        let mut found = vec![];
        for &state in states {
            for &class in classes {
                match self.after(state, class) {
                    After::Goes(next, ..) => found.push(next),
                    After::Never => (),
                    // Whatever it is, from here on it is a run in some row.
                    After::Open => found.extend(&self.rows),
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether there is a boundary before a character, in any of some states. A mark that is put
    /// here is one if it is the only thing left of what was before, and none if it is taken back.
    fn verdict(&mut self, states: &[usize], class: usize, behind: usize) -> Verdict {
        let mut verdict = None;
        for &state in states {
            let found = match self.after(state, class) {
                After::Never => continue,
                After::Open => Verdict::Open,
                After::Goes(next, _, puts) => match (self.after(next, behind), puts) {
                    (After::Never, _) => continue,
                    (_, false) => Verdict::Whole,
                    (_, true) if self.all[next].len() == 1 => Verdict::Cut,
                    (After::Goes(_, 1.., _), true) => Verdict::Whole,
                    // All runs before that from this mark have gone back.
                    (After::Goes(last, _, more), true)
                        if self.all[last].len() <= 1 + usize::from(more) =>
                    {
                        Verdict::Cut
                    }
                    _ => Verdict::Open,
                },
            };
            if *verdict.get_or_insert(found) != found {
                return Verdict::Open;
            }
        }
        verdict.unwrap_or(Verdict::Open)
    }

    /// How many places of a sample are open, where states are some three bytes before, and the
    /// class that is set aside is not there.
    fn open(
        &mut self,
        before: &[usize],
        aside: Option<usize>,
        sample: &HashMap<[usize; 5], usize>,
    ) -> usize {
        let mut images = HashMap::new();
        let mut count = 0;
        for (&[far, first, second, class, behind], often) in sample {
            let after_both = images.entry((first, second)).or_insert_with(|| {
                let after_first = self.image(before, &[first]);
                self.image(&after_first, &[second])
            });
            let open = self.verdict(after_both, class, behind) == Verdict::Open;
            count += usize::from(open || Some(far) == aside) * often;
        }
        count
    }
}

/// Few boxes with the same contents: two that differ in one place become one.
fn joined(mut boxes: Vec<Box4>) -> Vec<Box4> {
    let join = |one: &Box4, other: &Box4| {
        let mut places = (0..4).filter(|&place| one[place] != other[place]);
        let place = places.next()?;
        places.next().is_none().then(|| {
            let mut both = *one;
            both[place] |= other[place];
            both
        })
    };
    let mut first = 0;
    while first < boxes.len() {
        let found = (0..boxes.len())
            .filter(|&other| other != first)
            .find_map(|other| Some((other, join(&boxes[first], &boxes[other])?)));
        match found {
            Some((other, both)) => {
                boxes[first] = both;
                boxes.swap_remove(other);
                first = first.min(other).min(boxes.len() - 1);
            }
            None => first += 1,
        }
    }
    boxes
}

impl Blocks {
    /// What is derived from a table. None: a text may begin with nothing that matches, or more of
    /// the sample is open than a share (one in so many), or the processor cannot.
    pub fn of(table: &Automaton, share: usize) -> Option<Self> {
        let finder = Finder::new()?;
        if !table.covers() {
            return None;
        }
        let mut classes: Vec<usize> = (0..128).map(|byte| table.class(byte)).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.last()? >= &64 {
            return None;
        }
        let mut states = States::of(table);
        let mut sample: HashMap<[usize; 5], usize> = HashMap::new();
        for window in SAMPLE.as_bytes().windows(5) {
            let window = std::array::from_fn(|place| table.class(window[place]));
            *sample.entry(window).or_default() += 1;
        }
        let mut best = (usize::MAX, vec![], None);
        for aside in std::iter::once(None).chain(classes.iter().copied().map(Some)) {
            let others = classes.iter().copied().filter(|&each| Some(each) != aside);
            let (others, rows) = (others.collect::<Vec<_>>(), states.rows.clone());
            let before = states.image(&rows, &others);
            let open = states.open(&before, aside, &sample);
            if open < best.0 {
                best = (open, before, aside);
            }
            if states.all.len() > STATES {
                return None;
            }
        }
        let (open, before, aside) = best;
        if open * share > SAMPLE.len() {
            return None;
        }
        // By what is decided, which two classes before a place decide it so.
        let mut verdicts: HashMap<Vec<usize>, Vec<Verdict>> = HashMap::new();
        let mut found: Vec<(Vec<Verdict>, Vec<Box4>)> = vec![];
        for &first in &classes {
            let after_first = states.image(&before, &[first]);
            for &second in &classes {
                let after_both = states.image(&after_first, &[second]);
                let verdicts = verdicts.entry(after_both).or_insert_with_key(|after_both| {
                    let behind = |class| classes.iter().map(move |&behind| (class, behind));
                    let each = classes.iter().flat_map(|&class| behind(class));
                    each.map(|(class, behind)| states.verdict(after_both, class, behind))
                        .collect()
                });
                let before = [1 << first, 1 << second, 0, 0];
                match found.iter_mut().find(|(known, _)| known == verdicts) {
                    Some((_, all)) => all.push(before),
                    None => found.push((verdicts.clone(), vec![before])),
                }
            }
        }
        let boxes = [Verdict::Cut, Verdict::Open].map(|wanted| {
            let mut boxes = vec![];
            for (verdicts, before) in &found {
                let mut after = vec![];
                for (row, class) in verdicts.chunks(classes.len()).zip(&classes) {
                    let behind = row.iter().zip(&classes).filter(|each| *each.0 == wanted);
                    let behind = behind.fold(0, |all, (_, class)| all | 1 << class);
                    if behind != 0 {
                        after.push([0, 0, 1 << class, behind]);
                    }
                }
                let after = joined(after);
                for [one, other, ..] in joined(before.clone()) {
                    boxes.extend(after.iter().map(|each| [one, other, each[2], each[3]]));
                }
            }
            joined(boxes)
        });
        // Classes that no test tells apart are one.
        let mut kinds: Vec<Vec<bool>> = vec![];
        let mut kind_of = [0; 64];
        for &class in &classes {
            let sets = boxes.iter().flatten().flatten();
            let mut kind: Vec<bool> = sets.map(|set| set >> class & 1 == 1).collect();
            kind.push(Some(class) == aside);
            let at = kinds.iter().position(|known| *known == kind);
            kind_of[class] = at.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
        }
        if kinds.len() > 16 {
            return None;
        }
        let tests = boxes.map(|boxes| {
            let eights = boxes.chunks(8).map(|boxes| {
                let mut eight = [[0; 16]; 4];
                for (bit, one) in boxes.iter().enumerate() {
                    for (place, set) in one.iter().enumerate() {
                        for &class in classes.iter().filter(|&class| set >> class & 1 == 1) {
                            eight[place][kind_of[class]] |= 1 << bit;
                        }
                    }
                }
                eight
            });
            eights.collect()
        });
        let upper = |upper: usize| {
            std::array::from_fn(|lower| kind_of[table.class((upper << 4 | lower) as u8)] as u8)
        };
        let wanted = Wanted {
            classes: std::array::from_fn(upper),
            tests,
            aside: aside.map_or(16, |class| kind_of[class] as u8),
        };
        Some(Blocks { finder, wanted })
    }

    /// Which of 64 bytes begin a pretoken, and which are open; those of `DECIDED` count.
    #[inline(always)]
    fn decide(&self, text: &[u8; 64]) -> (u64, u64) {
        let found = self.finder.find(text, &self.wanted);
        let [cut, mut open] = found.tests;
        let others = found.others;
        open |= others >> 1 | others | others << 1 | others << 2;
        open |= (others | found.aside) << BEFORE;
        (cut, open)
    }

    /// Goes on up to an open place, and writes the boundaries before it behind the first `count`;
    /// how many there are then. All boundaries before the place of the cursor are known. From the
    /// last boundary on, the table goes on, at least up to `at.wide`.
    pub fn run(
        &self,
        text: &[u8],
        at: &mut Cursor,
        out: &mut [u32; BLOCK],
        mut count: usize,
    ) -> usize {
        let first = at.place.max(at.begin + 1);
        if first < BEFORE {
            at.wide = BEFORE;
            return count;
        }
        let (mut from, before) = (first, count);
        loop {
            let start = from - BEFORE;
            let Some(block) = text[start..].first_chunk() else {
                at.wide = text.len();
                break;
            };
            let (cut, open) = self.decide(block);
            let stop = (open & DECIDED | !(u64::MAX >> 1)).trailing_zeros();
            let mut bits = cut & DECIDED & ((1 << stop) - 1);
            // Most blocks have fewer than so many boundaries: what is written of others counts for
            // nothing, and no branch depends on how many there are.
            let found = bits.count_ones() as usize;
            let (some, more) = out[count..].split_at_mut(AT_ONCE);
            for place in some {
                *place = (start as u32).wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
            for place in more {
                if bits == 0 {
                    break;
                }
                *place = (start as u32).wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
            count += found;
            from = start + stop as usize;
            if stop < 63 {
                at.wait = match from - first < 32 {
                    true => LONG_WAIT.min(2 * at.wait),
                    false => WAIT,
                };
                at.wide = from + at.wait;
                break;
            }
            if count >= FULL {
                at.wide = 0;
                break;
            }
        }
        if count > before {
            at.begin = out[count - 1] as usize;
            at.place = at.begin;
        }
        count
    }
}

#[cfg(test)]
impl Blocks {
    /// Whether there is a boundary anywhere that is not open.
    pub fn cuts(&self) -> bool {
        !self.wanted.tests[0].is_empty()
    }
}
