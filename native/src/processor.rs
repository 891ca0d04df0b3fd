//! What the processor is asked for directly: hints about memory, and wide instructions.

/// Has the processor bring a place near. Unlike a read, nothing waits for it: the processor goes
/// on with what comes next, so a hundred words can be on their way at a time.
#[inline(always)]
pub fn bring_near<T>(place: &T) {
    // SAFETY: a prefetch changes nothing that a program can see, and faults nowhere; the place is
    // one that may be read. Elsewhere than on x86-64 the standard library has no such call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// A byte for each of 16 numbers.
pub type Sixteen = [u8; 16];

/// Tests of a byte and its neighbours, eight of them: by the classes of the bytes two before, one
/// before, at the place, and one behind, a bit for each test. A test holds where its bit is set
/// four times.
pub type Tests = [Sixteen; 4];

/// What is looked for in 64 bytes.
pub struct Wanted {
    /// By the upper half of an ASCII byte, and by the lower: its class, below 16.
    pub classes: [Sixteen; 8],
    /// Two kinds of tests.
    pub tests: [Vec<Tests>; 2],
    /// A class that is told apart, or 16.
    pub aside: u8,
}

/// What is found, a bit for each byte, the first the lowest.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Found {
    /// For each kind, where a test of it holds; of the third byte and the following, up to the
    /// last but one.
    pub tests: [u64; 2],
    /// Which bytes are not ASCII, and which are of the class that is told apart.
    pub others: u64,
    pub aside: u64,
}

/// Looks for it. A value exists only where the processor can.
#[derive(Clone, Copy)]
pub struct Finder(());

impl Finder {
    /// None: the processor has no instructions for it.
    pub fn new() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            return Some(Finder(()));
        }
        None
    }

    /// What is found in 64 bytes.
    #[inline(always)]
    pub fn find(self, text: &[u8; 64], wanted: &Wanted) -> Found {
        // SAFETY: there is a `Finder` only where there is AVX2.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            find(text, wanted)
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (text, wanted);
            Found::default()
        }
    }
}

/// # Safety
/// The processor has AVX2. Memory is read and written only in the arrays: 16 bytes of each table,
/// and 32 of 64 at a time, from byte 32 at most.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn find(text: &[u8; 64], wanted: &Wanted) -> Found {
    use std::arch::x86_64::*;
    let read = |bytes: &[u8; 64], at: usize| {
        debug_assert!(at <= 32);
        _mm256_loadu_si256(bytes.as_ptr().add(at).cast())
    };
    let table =
        |bytes: &Sixteen| _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast()));
    let both = |halves: [__m256i; 2]| {
        let [low, high] = halves.map(|half| _mm256_movemask_epi8(half) as u32);
        u64::from(high) << 32 | u64::from(low)
    };
    let halves = [read(text, 0), read(text, 32)];
    let mut classes = [_mm256_setzero_si256(); 2];
    for (upper, of_upper) in wanted.classes.iter().enumerate() {
        let of_upper = table(of_upper);
        for (half, classes) in halves.iter().zip(&mut classes) {
            // Below 16 only where this is the upper half; else the highest bit is set, and what is
            // looked up by such a byte is 0.
            let lower = _mm256_xor_si256(*half, _mm256_set1_epi8((upper << 4) as i8));
            let lower = _mm256_adds_epu8(lower, _mm256_set1_epi8(0x70));
            *classes = _mm256_or_si256(*classes, _mm256_shuffle_epi8(of_upper, lower));
        }
    }
    let mut written = [0u8; 64];
    for (half, classes) in classes.iter().enumerate() {
        _mm256_storeu_si256(written.as_mut_ptr().add(32 * half).cast(), *classes);
    }
    let aside = _mm256_set1_epi8(wanted.aside as i8);
    let mut found = Found {
        tests: [0; 2],
        others: both(halves),
        aside: both(classes.map(|classes| _mm256_cmpeq_epi8(classes, aside))),
    };
    // Bytes 2 to 33, and 31 to 62.
    for first in [2, 31] {
        let near = [first - 2, first - 1, first, first + 1].map(|at| read(&written, at));
        for (tests, found) in wanted.tests.iter().zip(&mut found.tests) {
            let mut holds = _mm256_setzero_si256();
            for eight in tests {
                let [far, before, here, behind] = [0, 1, 2, 3]
                    .map(|place| _mm256_shuffle_epi8(table(&eight[place]), near[place]));
                let all = _mm256_and_si256(
                    _mm256_and_si256(far, before),
                    _mm256_and_si256(here, behind),
                );
                holds = _mm256_or_si256(holds, all);
            }
            let fails = _mm256_cmpeq_epi8(holds, _mm256_setzero_si256());
            *found |= u64::from(!_mm256_movemask_epi8(fails) as u32) << first;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_is_found() {
        let Some(finder) = Finder::new() else {
            return;
        };
        let mut state = 5u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((u64::from(state) * u64::from(below)) >> 32) as u8
        };
        for round in 0..2000 {
            let mut tests = |count: usize| -> Vec<Tests> {
                let mut byte = || draw(256) | draw(256);
                (0..count)
                    .map(|_| [(); 4].map(|()| std::array::from_fn(|_| byte())))
                    .collect()
            };
            let tests = [tests(round % 3), tests(1)];
            let wanted = Wanted {
                classes: [(); 8].map(|()| std::array::from_fn(|_| draw(16))),
                tests,
                aside: draw(17),
            };
            let most = [128, 130, 256][round % 3];
            let text: [u8; 64] = std::array::from_fn(|_| draw(most));
            let class = |at: usize| match text[at] {
                byte @ 0..128 => wanted.classes[usize::from(byte >> 4)][usize::from(byte & 15)],
                _ => 0,
            };
            let mut expected = Found::default();
            for at in 0..64 {
                expected.others |= u64::from(text[at] >= 128) << at;
                expected.aside |= u64::from(class(at) == wanted.aside) << at;
                for (kind, tests) in wanted
                    .tests
                    .iter()
                    .enumerate()
                    .filter(|_| at > 1 && at < 63)
                {
                    let holds = |eight: &Tests| {
                        (0..4).fold(0xFF, |bits, place| {
                            bits & eight[place][usize::from(class(at + place - 2))]
                        }) != 0
                    };
                    expected.tests[kind] |= u64::from(tests.iter().any(holds)) << at;
                }
            }
            assert_eq!(finder.find(&text, &wanted), expected);
        }
    }
}
