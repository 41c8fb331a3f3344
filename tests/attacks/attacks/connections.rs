//! Attacks with many connections that hardly send anything.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{io::AsyncWriteExt, time::interval};

use crate::{
    attacker::{Attacker, until_closed},
    http1,
    request::Request,
};

/// Silent connections that stay open; the oldest is closed for the next.
const SILENT: usize = 3000;
/// New ones: 2800 in a second.
const EACH_TICK: usize = 28;
const TICK: Duration = Duration::from_millis(10);

pub(super) fn admin(attacker: &Attacker) {
    attacker.clients(1030, async |attacker: Attacker, number| {
        let mut tcp = attacker.tcp(number, attacker.targets.admin).await?;
        attacker.requested(1);
        http1::exchange(&mut tcp, &Request::get("/livez").http1()).await?;
        attacker.answered(1);
        until_closed(&mut tcp).await;
        Ok(())
    });
}

pub(super) fn idle_and_silent(attacker: &Attacker) {
    attacker.clients(1015, async |attacker: Attacker, number| {
        let mut tls = attacker.http1(number).await?;
        attacker.requested(1);
        http1::exchange(&mut tls, &Request::get("/nothing").http1()).await?;
        attacker.answered(1);
        until_closed(&mut tls).await;
        Ok(())
    });
    let attacker = attacker.clone();
    tokio::spawn(async move {
        let open = Arc::<Mutex<VecDeque<_>>>::default();
        let mut ticks = interval(TICK);
        for first in (0..).step_by(EACH_TICK) {
            ticks.tick().await;
            for number in first..first + EACH_TICK {
                let (attacker, open) = (attacker.clone(), open.clone());
                tokio::spawn(async move {
                    let Ok(tcp) = attacker.tcp(number, attacker.targets.served).await else { return };
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

pub(super) fn unfinished_handshakes(attacker: &Attacker) {
    // The head of a TLS record that announces a ClientHello of 512 bytes, and the first of them.
    const HALF: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    attacker.clients(2000, async |attacker: Attacker, number| {
        let mut tcp = attacker.tcp(number, attacker.targets.served).await?;
        tcp.write_all(HALF).await?;
        until_closed(&mut tcp).await;
        Ok(())
    });
}
