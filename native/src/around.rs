//! What stands around an encoder: added tokens, a normalizer, a template (twin: `encode/`).
#![forbid(unsafe_code)]

use std::sync::Arc;

use crate::added::Segment;
use crate::encoding::{Encodes, LONGEST};
use crate::objects::Object;
use crate::offsets::{begun, Spans};
use crate::piece_encoding::{write_spaced, Spacing};

/// What is done with a stretch of text between added tokens that are not normalized. Objects are
/// normal forms and maps of characters, one after the other, and phases.
#[derive(Default)]
pub struct Before {
    pub changes: Vec<Arc<Object>>,
    pub spacing: Option<Spacing>,
    /// The tokens that are looked for in the text as it is, and in what is normalized.
    pub raw: Option<Arc<Object>>,
    pub normalized: Option<Arc<Object>>,
}

/// An encoder of texts, with what stands around that of pretokens. Threads may share it.
pub struct Around {
    before: Before,
    /// The encoders of a stretch of text that begins the text, and of the others.
    first: Arc<Object>,
    later: Arc<Object>,
    /// The ids before those of a text, and after them.
    template: (Vec<u32>, Vec<u32>),
}

/// A part of a normalized stretch of text.
struct Part<'a> {
    /// Where the stretch is in the text (start, end).
    outer: (usize, usize),
    /// The stretch as it is normalized, and how many characters were put before it.
    stretch: &'a str,
    put_before: usize,
    /// Where the part is in it.
    inner: Segment,
}

impl Around {
    /// None: an object is not what it is given as.
    pub fn new(
        before: Before,
        first: Arc<Object>,
        later: Arc<Object>,
        template: (Vec<u32>, Vec<u32>),
    ) -> Option<Self> {
        let phases = [&before.raw, &before.normalized];
        let fine = phases
            .into_iter()
            .flatten()
            .all(|each| each.phase().is_some())
            && before
                .changes
                .iter()
                .all(|each| each.normal_form().is_some() || each.character_map().is_some())
            && [&first, &later].iter().all(|each| each.encoder().is_some());
        fine.then_some(Around {
            before,
            first,
            later,
            template,
        })
    }

    /// Gives the parts of a text in order. None: a part of it is left to Python, with `placed` also
    /// one that is changed, because what of it stands where is told there.
    fn parts(
        &self,
        text: &str,
        placed: bool,
        mut give: impl FnMut(&Part) -> Option<()>,
    ) -> Option<()> {
        let (mut written, mut other) = (String::new(), String::new());
        let mut spaced = String::new();
        find(&self.before.raw, text, |outer| {
            let (start, end, id) = outer;
            let mut stretch = text.get(start..end)?;
            let mut part = Part {
                outer: (start, end),
                stretch,
                put_before: 0,
                inner: (0, stretch.len(), id),
            };
            if id.is_some() {
                return give(&part);
            }
            let mut is_written = false;
            for each in &self.before.changes {
                let now = if is_written { &written } else { stretch };
                if change(each, now, &mut other)? && other != now {
                    if placed {
                        return None;
                    }
                    std::mem::swap(&mut written, &mut other);
                    is_written = true;
                }
            }
            if is_written {
                stretch = &written;
            }
            if let Some(spacing) = &self.before.spacing {
                part.put_before = write_spaced(spacing, stretch, &mut spaced)?;
                stretch = &spaced;
            }
            part.stretch = stretch;
            find(&self.before.normalized, stretch, |inner| {
                part.inner = inner;
                give(&part)
            })
        })
    }

    /// The encoder of a part, and its text.
    fn encoder<'a>(&self, part: &Part<'a>) -> Option<(&dyn Encodes, &'a str)> {
        let (start, end, _) = part.inner;
        let encoder = match part.outer.0 == 0 && start == 0 {
            true => &self.first,
            false => &self.later,
        };
        Some((encoder.encoder()?, part.stretch.get(start..end)?))
    }
}

/// Whether a text may be changed by one of `Before::changes`; then it is written. None: Python does
/// it.
fn change(by: &Object, text: &str, out: &mut String) -> Option<bool> {
    match (by.normal_form(), by.character_map()) {
        (Some(form), _) if form.keeps(text) => Some(false),
        (Some(form), _) => form.write(text, out).map(|_| true),
        (None, map) => map?.write(text, out).map(|_| true),
    }
}

/// What a phase finds in a text; without one, all of it is ordinary.
fn find(
    phase: &Option<Arc<Object>>,
    text: &str,
    mut give: impl FnMut(Segment) -> Option<()>,
) -> Option<()> {
    match phase {
        Some(object) => object.phase()?.find(text, give),
        None if text.is_empty() => Some(()),
        None => give((0, text.len(), None)),
    }
}

impl Encodes for Around {
    fn encode(&self, text: &str, out: &mut Vec<u32>) -> Option<()> {
        if text.len() > LONGEST {
            return None;
        }
        let (before, after) = &self.template;
        out.try_reserve(before.len()).ok()?;
        out.extend_from_slice(before);
        self.parts(text, false, |part| match part.inner.2 {
            Some(id) => {
                out.try_reserve(1).ok()?;
                out.push(id);
                Some(())
            }
            None => {
                let (encoder, text) = self.encoder(part)?;
                encoder.encode(text, out)
            }
        })?;
        out.try_reserve(after.len()).ok()?;
        out.extend_from_slice(after);
        Some(())
    }

    /// What the template places stands nowhere, and is left out.
    fn encode_placed(&self, text: &str, _most: usize) -> Option<(Vec<u32>, Spans)> {
        let (mut ids, mut spans) = (vec![], Spans::default());
        let mut outer = Characters::default();
        let (mut of, mut inner) = ((0, 0), Characters::default());
        self.parts(text, true, |part| {
            if of != part.outer {
                (of, inner) = (part.outer, Characters::default());
            }
            let base = outer.before(text, part.outer.0);
            let (start, end, id) = part.inner;
            let within = inner.before(part.stretch, start);
            // What was put before a stretch belongs to its first character.
            let put_before = part.put_before as u32;
            let mut place = |start: u32, end: u32| {
                let start = (within + start).saturating_sub(put_before);
                let end = (within + end).saturating_sub(put_before).max(1);
                spans.place(base + start, base + end)
            };
            let Some(id) = id else {
                let (encoder, text) = self.encoder(part)?;
                let (own, placed) = encoder.encode_placed(text, usize::MAX)?;
                ids.try_reserve(own.len()).ok()?;
                ids.extend_from_slice(&own);
                let mut each = placed.starts.iter().zip(&placed.ends);
                return each.try_for_each(|(&start, &end)| place(start, end));
            };
            ids.try_reserve(1).ok()?;
            ids.push(id);
            place(0, inner.before(part.stretch, end) - within)
        })?;
        Some((ids, spans))
    }
}

/// Counts the characters of a text up to places that mostly grow.
#[derive(Default)]
struct Characters {
    place: usize,
    count: u32,
}

impl Characters {
    /// How many begin before a place.
    fn before(&mut self, text: &str, place: usize) -> u32 {
        match place >= self.place {
            true => self.count += begun(text.as_bytes(), self.place, place),
            false => self.count -= begun(text.as_bytes(), place, self.place),
        }
        self.place = place;
        self.count
    }
}
