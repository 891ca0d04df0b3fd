//! What threads remember of the texts that they have encoded, kept for the next text.
#![forbid(unsafe_code)]

use std::sync::Mutex;

/// How many threads may leave what they remember behind.
const KEPT: usize = 16;

/// Nobody waits for a place: a fork may leave one locked for ever.
pub struct Memories<T>([Mutex<Option<T>>; KEPT]);

impl<T> Memories<T> {
    /// Nothing yet.
    pub fn new() -> Self {
        Memories([const { Mutex::new(None) }; KEPT])
    }

    /// What another thread has left behind, if there is something.
    pub fn take(&self) -> Option<T> {
        let mut free = self.0.iter().filter_map(|each| each.try_lock().ok());
        free.find_map(|mut each| each.take())
    }

    /// Leaves a memory behind, if there is a place for it.
    pub fn leave(&self, memory: T) {
        let mut free = self.0.iter().filter_map(|each| each.try_lock().ok());
        if let Some(mut place) = free.find(|each| each.is_none()) {
            *place = Some(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_are_places_are_kept() {
        let memories = Memories::new();
        assert!(memories.take().is_none());
        (0..KEPT + 4).for_each(|each| memories.leave(each));
        let kept: Vec<usize> = std::iter::from_fn(|| memories.take()).collect();
        assert_eq!(kept, (0..KEPT).collect::<Vec<_>>());
    }
}
