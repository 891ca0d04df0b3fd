//! ASCII by a table that fits into two words for each byte, where one step takes two instructions
//! of the processor and not a look-up: derived from the table of a pattern, for any pattern.
//!
//! A table goes back where a match has to end earlier than at the character that decides it. Here
//! nothing goes back. Where a run of the table may have to, its last end is written as a *mark*,
//! and a further run goes on from there at the same time. When the first run goes back, the mark
//! is a boundary and the second run takes its place; when it finds a later end, the mark is taken
//! back. So a state is a list of states of the table: of the run from the last boundary, and of
//! the run from each mark.
#![forbid(unsafe_code)]

use crate::splitting::{Cursor, ACCEPTS, BACK, BLOCK, CUT, SHIFT};

/// How many states there are beside the one that leaves all to the table: 4 bits say which.
const MOST: usize = 14;
/// How many marks a step takes back at most.
const TAKEN: usize = 3;

/// Which states are the most frequent is counted here. All texts are cut the same, whatever it is.
pub const SAMPLE: &str = "It was the best of times, it was the worst of times. \"Well,\" said he, \
    \"I don't know; we'll see in 1859 - or 60.\"\n\nThe Prince's house (No. 12) wasn't far from \
    here:\nthey have walked there, and they're back.\n\n\
    #include <stdio.h>\n\nstatic int main(int argc, char **argv) {\n    for (int i = 0; i < 10; \
    ++i) {\n        if (argv[i] == NULL || i != x->size) {\n            return -1;\n        }\n    \
    }\n}\n\nclass Table(Base):\n    \"\"\"What is there.\"\"\"\n\n    def rows(self, name: str = \
    'all') -> list[int]:\n        # All of them\n        return [row for row in self._rows if \
    row.is_known()]\n\n\
    The prince rose, and every one of the officers there agreed that her very words were free \
    from all reserve. \"Where is the carriage?\" he asked; they were ready to return, but several \
    were never seen again. All these letters were written in the garden, and it was there that \
    she received them, late in the evening, after everybody had retired to rest.\n";

/// What all states do with one byte: four bits for each.
#[derive(Clone, Copy, Default)]
struct Row {
    /// The next state times four, above two bits; 0: it is left to the table.
    next: u64,
    /// How many marks are taken back, and (4) whether one is put, or a boundary.
    acts: u64,
}

/// The runs of a state, as rows of the table.
pub type Runs = Vec<u32>;

/// What a step does. No runs: no text goes on like this.
pub struct Step {
    pub runs: Runs,
    pub taken: usize,
    pub puts: bool,
}

/// The derived table.
pub struct Strides {
    rows: Box<[Row; 256]>,
    /// By the number of a state: its runs.
    states: Vec<Runs>,
    /// By the number of a row of the table: the state that only has this run, times four.
    alone: Vec<u8>,
    /// By the number of a row: whether a run there never goes back to an end that it had before.
    certain: Vec<bool>,
    shift: u32,
}

/// The table of a pattern: see `splitting.rs`.
pub struct Automaton<'a> {
    pub ascii: &'a [u8; 128],
    pub entries: &'a [u32],
    pub stride: usize,
    pub start: u32,
    pub end: usize,
}

impl Automaton<'_> {
    /// What a run does with a character of a class, and at the end of the text.
    fn entry(&self, run: u32, class: usize) -> u32 {
        self.entries[run as usize + class]
    }

    pub fn class(&self, byte: u8) -> usize {
        usize::from(self.ascii[usize::from(byte & 0x7F)])
    }

    fn number(&self, run: u32) -> usize {
        run as usize / self.stride
    }

    /// The rows that a run comes to from a row.
    pub fn followers(&self, run: u32) -> impl Iterator<Item = u32> + '_ {
        let entries = (0..self.end).map(move |class| self.entry(run, class));
        entries
            .filter(|entry| entry & BACK == 0)
            .map(|entry| entry >> SHIFT)
    }

    /// Whether every text begins with a match.
    pub fn covers(&self) -> bool {
        let certain = self.certain();
        (0..self.end).all(|class| {
            let entry = self.entry(self.start, class);
            entry & (BACK | CUT) == 0 && certain[self.number(entry >> SHIFT)]
        })
    }

    /// For each row, whether a run there has a new end before it goes back to an old one.
    pub fn certain(&self) -> Vec<bool> {
        let mut certain = vec![true; self.entries.len() / self.stride];
        loop {
            let before = certain.clone();
            for (number, row) in self.entries.chunks(self.stride).enumerate() {
                certain[number] = row[..=self.end].iter().all(|&entry| {
                    let next = self.number(entry >> SHIFT);
                    entry & ACCEPTS != 0 || (entry & BACK == 0 && before[next])
                });
            }
            if certain == before {
                return certain;
            }
        }
    }

    /// What a state does with a character. None: it is left to the table.
    pub fn step(&self, certain: &[bool], runs: &[u32], class: usize) -> Option<Step> {
        // The run of a match that begins with this character.
        let begun = self.entry(self.start, class);
        let begun = (begun & (CUT | ACCEPTS | BACK) == 0).then_some(begun >> SHIFT);
        let mut kept: Runs = vec![];
        for (level, &run) in runs.iter().enumerate() {
            let entry = self.entry(run, class);
            // How many marks there are of which this run's next end says that they are none.
            let taken = runs.len() - 1 - level;
            let ends = entry & ACCEPTS != 0;
            let goes_on = entry & (BACK | CUT) == 0;
            if goes_on {
                kept.push(entry >> SHIFT);
            } else if !kept.is_empty() {
                // What this run does next depends on whether a run before it goes back.
                return None;
            } else if !ends {
                // It goes back: its mark is a boundary, and the run from there takes its place.
                continue;
            }
            if ends {
                let puts = !goes_on || !certain[self.number(entry >> SHIFT)];
                if puts {
                    kept.push(begun?);
                }
                return (taken <= TAKEN).then_some(Step {
                    runs: kept,
                    taken,
                    puts,
                });
            }
        }
        Some(Step {
            runs: kept,
            taken: 0,
            puts: false,
        })
    }

    /// The states that are the most frequent in the sample.
    fn chosen(&self, certain: &[bool]) -> Vec<Runs> {
        let mut counted: Vec<(usize, Runs)> = vec![];
        let start = vec![self.start];
        let mut runs = start.clone();
        for byte in SAMPLE.bytes() {
            match counted.iter().position(|(_, known)| *known == runs) {
                Some(at) => counted[at].0 += 1,
                None => counted.push((1, runs.clone())),
            }
            let next = self
                .step(certain, &runs, self.class(byte))
                .map(|step| step.runs)
                .filter(|runs| !runs.is_empty());
            runs = next.unwrap_or_else(|| start.clone());
        }
        counted.sort_by_key(|&(count, _)| std::cmp::Reverse(count));
        counted.truncate(MOST);
        counted.into_iter().map(|(_, runs)| runs).collect()
    }
}

impl Strides {
    /// What is derived from a table.
    pub fn of(table: &Automaton) -> Self {
        let certain = table.certain();
        let mut states = vec![vec![]];
        states.extend(table.chosen(&certain));
        let mut rows = Box::new([Row::default(); 256]);
        let mut alone = vec![0; certain.len()];
        for (number, runs) in states.iter().enumerate().skip(1) {
            if let [only] = runs[..] {
                alone[table.number(only)] = 4 * number as u8;
            }
            for byte in 0..128 {
                let Some(step) = table.step(&certain, runs, table.class(byte)) else {
                    continue;
                };
                if let Some(next) = states.iter().position(|runs| *runs == step.runs) {
                    let acts = step.taken as u64 | u64::from(step.puts) << 2;
                    let row = &mut rows[usize::from(byte)];
                    row.next |= (next as u64) << (4 * number + 2);
                    row.acts |= acts << (4 * number);
                }
            }
        }
        Strides {
            rows,
            states,
            alone,
            certain,
            shift: table.stride.trailing_zeros(),
        }
    }

    /// Whether all boundaries before the place of a cursor are known.
    #[inline(always)]
    pub fn settled(&self, at: &Cursor) -> bool {
        at.last == at.begin || self.certain[at.state as usize >> self.shift]
    }

    /// Goes on up to the byte `most`, or up to one that is left to the table, and writes the ends
    /// of matches into `out`, behind the first `count`. How many there are then.
    #[inline(always)]
    pub fn run(
        &self,
        text: &[u8],
        at: &mut Cursor,
        out: &mut [u32; BLOCK],
        mut count: usize,
        most: usize,
    ) -> usize {
        let row = at.state as usize >> self.shift;
        let mut state = u32::from(self.alone[row]);
        if state == 0 || !self.settled(at) {
            return count;
        }
        let before = count;
        // A step puts one end at most.
        let limit = most.min(text.len()).min(at.place + (BLOCK - 1 - count));
        let mut place = at.place;
        for &byte in text.get(place..limit).unwrap_or(&[]) {
            let row = self.rows[usize::from(byte)];
            let next = row.next.wrapping_shr(state) as u32 & 0x3C;
            if next == 0 {
                break;
            }
            let acts = row.acts.wrapping_shr(state) as usize;
            count = count.wrapping_sub(acts & 3);
            out[count % BLOCK] = place as u32;
            count = count.wrapping_add(acts >> 2 & 1);
            state = next;
            place += 1;
        }
        // Marks are no boundaries: the run goes on in the table, with the first as its last end.
        let runs = &self.states[state as usize / 4];
        count -= runs.len() - 1;
        if count > before {
            at.begin = out[count - 1] as usize;
        }
        if place > at.place {
            at.last = if runs.len() > 1 {
                out[count] as usize
            } else {
                at.begin
            };
        }
        at.place = place;
        at.state = runs[0];
        count
    }
}

#[cfg(test)]
impl Strides {
    /// All is left to the table.
    pub fn none(rows: usize, stride: usize) -> Self {
        Strides {
            rows: Box::new([Row::default(); 256]),
            states: vec![vec![]],
            alone: vec![0; rows],
            certain: vec![true; rows],
            shift: stride.trailing_zeros(),
        }
    }

    /// How many states are not left to the table, and the most marks of one.
    pub fn sizes(&self) -> (usize, usize) {
        let marks = self.states.iter().map(|runs| runs.len().saturating_sub(1));
        (self.states.len() - 1, marks.max().unwrap_or(0))
    }
}
