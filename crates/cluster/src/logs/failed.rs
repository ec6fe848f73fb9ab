//! Requests that failed, whichever failure is whose (pure).
//!
//! Failures do not name their requests: each may be of some that came before it. A request failed for
//! certain where no way to give each failure a request of its own leaves it out.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Steps of a search; what takes more is not decided.
const MAX_STEPS: usize = 20_000_000;

/// The requests that a failure may be of, by their places in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: usize,
    /// The place behind the last.
    pub(super) to: usize,
}

impl Span {
    pub(super) fn has(&self, place: usize) -> bool {
        (self.from..self.to).contains(&place)
    }

    pub(super) fn is_of_one(&self) -> bool {
        self.from + 1 == self.to
    }
}

/// Which of `count` requests failed in every way to give failures their requests.
///
/// One such way is found first. Each other one moves failures along a chain that ends at a request
/// without a failure: a request that no chain reaches failed.
pub(super) fn surely_failed(count: usize, failures: &[Span]) -> Vec<bool> {
    let owners = give(count, failures);
    let mut is_failed: Vec<bool> = owners.iter().map(Option::is_some).collect();
    let places = is_failed.iter().enumerate();
    let free = places.filter(|(_, is_failed)| !**is_failed);
    let mut free: Vec<usize> = free.map(|(place, _)| place).collect();
    // The failures that no chain has reached, each with its request.
    let given = owners.iter().enumerate();
    let given = given.filter_map(|(place, owner)| Some((failures.get((*owner)?)?, place)));
    let mut left: Vec<(&Span, usize)> = given.collect();
    let mut steps = 0;
    while let Some(end) = free.pop() {
        steps += left.len();
        if steps > MAX_STEPS {
            return vec![false; count];
        }
        let (moved, rest) = left
            .into_iter()
            .partition::<Vec<_>, _>(|(span, _)| span.has(end));
        left = rest;
        for (_, place) in moved {
            if let Some(is_failed) = is_failed.get_mut(place) {
                *is_failed = false;
            }
            free.push(place);
        }
    }
    is_failed
}

/// The failure of each request, so that as many failures as can have a request: it takes, of those that
/// may be its own, the one whose last request comes first.
fn give(count: usize, failures: &[Span]) -> Vec<Option<usize>> {
    let mut order: Vec<(usize, &Span)> = failures.iter().enumerate().collect();
    order.sort_by_key(|(_, span)| span.from);
    let mut order = order.into_iter().peekable();
    let mut waiting = BinaryHeap::new();
    let take = |place: usize| {
        while let Some((of, span)) = order.next_if(|(_, span)| span.from <= place) {
            waiting.push(Reverse((span.to, of)));
        }
        while let Some(Reverse((to, of))) = waiting.pop() {
            if to > place {
                return Some(of);
            }
        }
        None
    };
    (0..count).map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: usize, to: usize) -> Span {
        Span { from, to }
    }

    /// Tries every way, of which those count that have a request for most failures.
    fn by_trying(count: usize, failures: &[Span]) -> Vec<bool> {
        let mut ways: Vec<Vec<Option<usize>>> = vec![Vec::new()];
        for span in failures {
            let mut next = Vec::new();
            for way in &ways {
                for place in span.from..span.to {
                    if !way.contains(&Some(place)) {
                        next.push([way.clone(), vec![Some(place)]].concat());
                    }
                }
                next.push([way.clone(), vec![None]].concat());
            }
            ways = next;
        }
        let worth = |way: &Vec<Option<usize>>| way.iter().flatten().count();
        let best = ways.iter().map(worth).max().unwrap();
        ways.retain(|way| worth(way) == best);
        let is_failed = |place| ways.iter().all(|way| way.contains(&Some(place)));
        (0..count).map(is_failed).collect()
    }

    #[test]
    fn a_request_failed_if_no_way_leaves_it_out() {
        // As many failures as requests, and one less; a chain of three for four requests.
        let all = [span(0, 2), span(0, 2)];
        assert_eq!(surely_failed(2, &all), [true, true]);
        assert_eq!(surely_failed(2, &all[..1]), [false, false]);
        let chain = [span(0, 3), span(1, 2), span(0, 4)];
        assert_eq!(surely_failed(4, &chain), [false, true, false, false]);
    }

    #[test]
    fn what_is_sure_is_what_trying_every_way_says() {
        let mut state: u64 = 7;
        let mut dice = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(state >> 33).unwrap() % below
        };
        let mut sure = 0;
        for _ in 0..3_000 {
            let count = dice(6);
            let mut any = |_| {
                let from = dice(count + 1);
                span(from, from + dice(count + 1 - from))
            };
            let number = (count * 2 / 3).min(5);
            let failures: Vec<Span> = (0..number).map(&mut any).collect();
            let wanted = by_trying(count, &failures);
            sure += wanted.iter().filter(|is_failed| **is_failed).count();
            let found = surely_failed(count, &failures);
            assert_eq!(found, wanted, "{count} {failures:?}");
        }
        assert!(sure > 300, "{sure}");
    }

    #[test]
    fn a_flood_is_bounded() {
        let many = vec![span(0, 20_000); 20_000];
        assert!(surely_failed(20_000, &many).into_iter().all(|is| is));
        let more = vec![span(0, 20_001); 20_000];
        assert!(!surely_failed(20_001, &more).into_iter().any(|is| is));
    }
}
