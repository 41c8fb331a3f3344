//! Whether the API server can be reached, and with it, when the pods of the own node count.

use std::{sync::Arc, time::Duration};

use axum::{body::Body, http::Request};
use tokio::time::{Instant, sleep};

use super::{
    api_server::{ApiServer, ApiServerError},
    edge_cache::EdgeCache,
    overlay::OverlayPhase,
};

/// How often the API server is asked.
const PROBE: Duration = Duration::from_millis(500);
/// Longest time until its answer.
const ANSWER: Duration = Duration::from_secs(1);
/// Time-outs in a row after which it counts as away. A connection that is refused is one at once.
const TIMEOUTS: u32 = 2;
/// Longest time, since it is back, during which the pods of the own node count where the API server disagrees. A watch
/// waits for half a minute until it connects again, and the kubelet and the controllers take some seconds more.
const CATCH_UP: Duration = Duration::from_mins(1);

/// What is known of the API server by the last probes.
#[derive(Debug, Default)]
struct Reachability {
    phase: OverlayPhase,
    timeouts: u32,
    back_since: Option<Instant>,
}

/// What came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeResult {
    /// Whatever it was, there was an answer.
    Answered,
    Refused,
    TimedOut,
}

impl Reachability {
    /// Takes a probe, and says when the pods of the own node count from now on.
    fn observe(&mut self, result: ProbeResult, now: Instant) -> OverlayPhase {
        self.timeouts = if result == ProbeResult::TimedOut { self.timeouts + 1 } else { 0 };
        let is_away = result == ProbeResult::Refused || self.timeouts >= TIMEOUTS;
        self.phase = match (self.phase, result) {
            _ if is_away => OverlayPhase::On,
            (OverlayPhase::On, ProbeResult::Answered) => {
                self.back_since = Some(now);
                OverlayPhase::CatchingUp
            }
            (OverlayPhase::CatchingUp, _) if self.back_since.is_none_or(|since| now - since >= CATCH_UP) => {
                OverlayPhase::Off
            }
            (phase, _) => phase,
        };
        self.phase
    }
}

/// Probes the API server forever, and tells the cache when the pods of the own node count.
pub(super) async fn follow(api: Arc<ApiServer>, cache: Arc<EdgeCache>) {
    let mut reachability = Reachability::default();
    loop {
        let before = reachability.phase;
        let phase = reachability.observe(probe(&api).await, Instant::now());
        if phase != before {
            match phase {
                OverlayPhase::On => {
                    tracing::warn!("the API server is away: pods of this node are served as they are now");
                }
                OverlayPhase::CatchingUp => tracing::info!("the API server is back"),
                OverlayPhase::Off => tracing::info!("the state of the API server counts alone again"),
            }
            cache.set_overlay(phase);
        }
        sleep(PROBE).await;
    }
}

async fn probe(api: &ApiServer) -> ProbeResult {
    let request = Request::get("/livez").body(Body::empty()).unwrap_or_default();
    match api.send_within(request, ANSWER).await {
        // Without credentials it may well be refused, and that is an answer, too.
        Ok(_) => ProbeResult::Answered,
        Err(ApiServerError::Timeout(_)) => ProbeResult::TimedOut,
        Err(ApiServerError::Away(_) | ApiServerError::Path) => ProbeResult::Refused,
    }
}

#[cfg(test)]
mod tests {
    use OverlayPhase::{CatchingUp, Off, On};
    use ProbeResult::{Answered, Refused, TimedOut};

    use super::*;

    #[test]
    fn the_phase_follows_the_probes() {
        let begin = Instant::now();
        let mut reachability = Reachability::default();
        for (seconds, result, want) in [
            (0, Answered, Off),
            (1, TimedOut, Off),
            (2, Answered, Off),
            (3, TimedOut, Off),
            (4, TimedOut, On),
            (5, TimedOut, On),
            (6, Answered, CatchingUp),
            (65, Answered, CatchingUp),
            (66, Answered, Off),
            (67, Refused, On),
            (68, Answered, CatchingUp),
            (69, TimedOut, CatchingUp),
            (70, Refused, On),
            (71, Answered, CatchingUp),
            (130, Answered, CatchingUp),
            (131, Answered, Off),
        ] {
            let phase = reachability.observe(result, begin + Duration::from_secs(seconds));
            assert_eq!(phase, want, "at {seconds} s: {result:?}");
        }
    }
}
