//! Tests of many access reviews at once.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    body::Body,
    http::{Extensions, HeaderMap, Method, Response, header},
};
use futures::{FutureExt, future::join_all};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{access_reviews::AccessReviews, access_table::AccessQuestion, caller::Caller};
use crate::runtime::net::{Exchange, Health};
use crate::servers::edge::{
    clients::target::{CachedRead, RequestTarget},
    upstream::{api_server::ApiServer, reachability::Reachability},
};

/// What an API server does after a while.
#[derive(Clone, Copy, Debug)]
enum Answers {
    Allowed,
    Denied,
    Nothing,
}

/// Reviews by an API server that takes so long for each. A probe finds it, or not.
fn reviews(takes: Duration, answers: Answers, is_away: bool) -> Arc<AccessReviews> {
    let probed = ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), move |_| {
        let answer = if is_away { Err(anyhow::anyhow!("connection refused")) } else { Ok(Response::default()) };
        std::future::ready(answer).boxed()
    });
    let api = ApiServer::at("https://192.0.2.1:6443".parse().unwrap(), move |_| {
        async move {
            sleep(takes).await;
            let body = match answers {
                Answers::Allowed => r#"{"status":{"allowed":true}}"#,
                Answers::Denied => r#"{"status":{"allowed":false}}"#,
                Answers::Nothing => anyhow::bail!("connection refused"),
            };
            Ok(Response::builder().status(201).body(Body::from(body))?)
        }
        .boxed()
    });
    Arc::new(AccessReviews::new(Arc::new(api), None, Reachability::new(probed), &Health::default()))
}

fn caller(token: &str) -> Caller {
    let mut headers = HeaderMap::new();
    headers.insert(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
    Caller::of(&headers, None).unwrap()
}

/// A get of the Service with this number.
fn get(number: usize) -> CachedRead {
    let path = format!("/api/v1/namespaces/shop/services/web-{number}");
    match RequestTarget::read(&Method::GET, &path.parse().unwrap(), "edge-1") {
        Ok(RequestTarget::Read(read)) => read,
        other => panic!("{other:?}"),
    }
}

fn question(token: &str, number: usize) -> AccessQuestion {
    let read = get(number);
    let caller = caller(token).digest().unwrap();
    AccessQuestion { caller, verb: read.verb(), resource: read.resource, object: read.object() }
}

/// Begins a get. Returns its code, and how long it took.
fn begin(access: &Arc<AccessReviews>, token: &str, number: usize) -> JoinHandle<(u16, Duration)> {
    let (access, caller) = (access.clone(), caller(token));
    tokio::spawn(async move {
        let (begin, exchange) = (Instant::now(), Exchange::of(&Extensions::new()));
        let checked = access.check(&caller, &HeaderMap::new(), &get(number), &exchange).await;
        (checked.map_or_else(|error| error.code.as_u16(), |()| 200), begin.elapsed())
    })
}

#[tokio::test(start_paused = true)]
async fn a_known_caller_does_not_delay_others_however_much_it_asks() {
    let access = reviews(Duration::from_millis(100), Answers::Allowed, false);
    let known = ["greedy", "modest"].map(|token| (question(token, 0), Duration::ZERO));
    access.restore(known.into());
    let greedy: Vec<_> = (1..=900).map(|number| begin(&access, "greedy", number)).collect();
    // Paused time goes on when no task can.
    sleep(Duration::from_millis(1)).await;
    for number in 1..=3 {
        assert_eq!(begin(&access, "modest", number).await.unwrap(), (200, Duration::from_millis(100)), "{number}");
    }
    let served = join_all(greedy).await.into_iter().filter(|ended| ended.as_ref().is_ok_and(|(code, _)| *code == 200));
    assert!(served.count() > 100);
}

#[tokio::test(start_paused = true)]
async fn an_old_permission_counts_while_the_api_server_is_away_and_not_while_others_ask() {
    for (answers, is_away, want) in [
        (Answers::Denied, false, &[403, 429][..]),
        (Answers::Nothing, true, &[200]),
        // Its reviews fail, and the API server is there.
        (Answers::Nothing, false, &[429, 503]),
    ] {
        let access = reviews(Duration::from_secs(2), answers, is_away);
        let known = (0..64).map(|number| (question("a", number), Duration::from_hours(1)));
        access.restore(known.collect());
        let mut codes = BTreeMap::<u16, usize>::new();
        for ended in join_all((0..64).map(|number| begin(&access, "a", number))).await {
            *codes.entry(ended.unwrap().0).or_default() += 1;
        }
        assert_eq!(codes.keys().copied().collect::<Vec<_>>(), want, "{answers:?} {codes:?}");
    }
}
