//! Who shares a request, and what becomes of it when callers leave.

use tokio::sync::oneshot;

use super::*;

type Test = SharedRequests<u8, u32>;

/// A request that ends when the sender does.
async fn request(end: oneshot::Receiver<u32>) -> u32 {
    end.await.expect("the test ends it")
}

async fn answered(share: &mut Share<u32>) -> u32 {
    loop {
        if let Some(answer) = share.answered().await {
            return answer;
        }
    }
}

#[tokio::test]
async fn the_leaders_leaving_hurts_nobody_and_the_attempts_are_counted_once() {
    let requests = Test::default();
    let (end, ended) = oneshot::channel();
    let leader = requests.join(&1, |_| request(ended));
    let mut shares: Vec<Share<u32>> = (0..3)
        .map(|_| requests.join(&1, |_| async { unreachable!("one is under way already") }))
        .collect();
    drop(leader);
    end.send(7).expect("the request goes on");
    let mut payers = 0;
    for share in &mut shares {
        assert_eq!((answered(share).await, share.leads()), (7, false));
        payers += u32::from(share.pays());
    }
    assert_eq!((payers, requests.under_way()), (1, 0));
}

#[tokio::test]
async fn when_all_have_left_the_request_is_stopped_and_the_next_one_begins_anew() {
    let requests = Test::default();
    let (mut end, ended) = oneshot::channel();
    let shares = [
        requests.join(&1, |_| request(ended)),
        requests.join(&1, |_| async { unreachable!("one is under way already") }),
    ];
    drop(shares);
    end.closed().await;
    let (end, ended) = oneshot::channel();
    let mut next = requests.join(&1, |_| request(ended));
    end.send(7).expect("it is under way");
    assert!(next.leads());
    assert_eq!(answered(&mut next).await, 7);
}

#[tokio::test]
async fn who_has_no_companions_is_given_the_answer_and_no_copy() {
    let requests = SharedRequests::<u8, Arc<str>>::default();
    let mut share = requests.join(&1, |_| async { Arc::from("answer") });
    let answer = share.answered().await.expect("it stays off the wire");
    assert_eq!(Arc::strong_count(&answer), 1);
}
