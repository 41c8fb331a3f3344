//! Attacks with many connections that hardly send anything.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::interval;

use crate::{
    attacker::{Attacker, until_closed},
    http1,
};

/// Silent connections that stay open; the oldest is closed for the next.
const SILENT: usize = 3000;
const SILENT_EACH_SECOND: u64 = 2800;
const TICK: Duration = Duration::from_millis(10);

pub(super) fn admin(attacker: &Attacker) {
    attacker.clients(1030, async |attacker: Attacker, number| {
        let mut tcp = attacker.tcp(number, attacker.targets.admin).await?;
        attacker.requested(1);
        http1::exchange(&mut tcp, &http1::get("/livez")).await?;
        attacker.answered(1);
        until_closed(&mut tcp).await;
        Ok(())
    });
}

pub(super) fn idle_and_silent(attacker: &Attacker) {
    attacker.clients(1015, async |attacker: Attacker, number| {
        let mut tls = attacker.http1(number).await?;
        attacker.requested(1);
        http1::exchange(&mut tls, &http1::get("/nothing")).await?;
        attacker.answered(1);
        until_closed(&mut tls).await;
        Ok(())
    });
    let attacker = attacker.clone();
    tokio::spawn(async move {
        let open = Arc::<Mutex<VecDeque<_>>>::default();
        let each_tick = usize::try_from(SILENT_EACH_SECOND * TICK.as_millis() as u64 / 1000).unwrap_or(usize::MAX);
        let mut ticks = interval(TICK);
        for first in (0..).step_by(each_tick) {
            ticks.tick().await;
            for number in first..first + each_tick {
                let (attacker, open) = (attacker.clone(), open.clone());
                tokio::spawn(async move {
                    let Ok(tcp) = attacker.tcp(number, attacker.targets.webhook).await else { return };
                    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                    if open.len() == SILENT {
                        open.pop_front();
                    }
                    open.push_back(tcp);
                });
            }
        }
    });
}
