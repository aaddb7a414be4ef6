//! What a reader gets of a response, however it comes.

use super::*;

fn lines(text: &str) -> Piece {
    Piece::Lines(text.as_bytes().to_vec())
}

/// The response is there, and its pieces had come so.
fn complete(pieces: &Pieces, status: u16, body: &str, ends: &[(u32, u32)]) {
    let ends = ends.iter().map(|&(bytes, ms)| PieceEnd { bytes, ms });
    pieces.complete(status, body.as_bytes(), &ends.collect::<Vec<_>>());
}

#[test]
fn what_was_read_is_void_when_another_attempt_is_begun() {
    let pieces = Pieces::default();
    pieces.begin();
    assert_eq!(pieces.take(), None, "nothing was read, so nothing is void");
    pieces.push(b"a\n".to_vec());
    assert_eq!(pieces.take(), Some(lines("a\n")));
    pieces.push(b"never read\n".to_vec());
    pieces.begin();
    pieces.push(b"c\n".to_vec());
    assert_eq!(pieces.take(), Some(Piece::Again));
    assert_eq!(pieces.take(), Some(lines("c\n")));
    assert_eq!(pieces.take(), None);
}

#[test]
fn the_first_token_is_that_of_the_attempt_that_counts() {
    let pieces = Pieces::default();
    pieces.begin();
    pieces.note_first_token();
    assert_eq!(pieces.first_token(), None, "nothing was read");
    let came = pieces.push(b"a\n".to_vec());
    pieces.push(b"b\n".to_vec());
    pieces.take();
    pieces.note_first_token();
    pieces.take();
    pieces.note_first_token();
    assert_eq!(pieces.first_token(), Some(came));
    pieces.begin();
    assert_eq!(pieces.first_token(), None);
}

#[test]
fn pieces_that_nobody_reads_are_joined() {
    let pieces = Pieces::default();
    pieces.begin();
    for _ in 0..=MOST_UNREAD {
        pieces.push(b"\n".to_vec());
    }
    let mut read = Vec::new();
    while let Some(Piece::Lines(piece)) = pieces.take() {
        read.push(piece.len());
    }
    assert_eq!(read.len(), MOST_UNREAD);
    assert_eq!(read.last(), Some(&2));
}

#[test]
fn a_response_that_came_before_comes_as_it_did() {
    let pieces = Pieces::default();
    // Ends beyond the body, or before each other, are a stranger's recording.
    complete(&pieces, 200, "a\nb\nc", &[(2, 5), (1, 6), (99, 7)]);
    assert_eq!(pieces.take(), Some(lines("a\n")));
    pieces.note_first_token();
    assert_eq!(pieces.take(), Some(lines("b\nc")));
    assert_eq!(pieces.take(), None);
    assert_eq!(pieces.first_token(), Some(Duration::from_millis(5)));

    let whole = Pieces::default();
    complete(&whole, 200, "abc", &[]);
    assert_eq!(whole.take(), Some(lines("abc")));
    whole.note_first_token();
    assert_eq!(whole.first_token(), None, "nobody knows when it came");
}

#[test]
fn what_was_told_is_not_told_again_and_a_failure_never() {
    let told = Pieces::default();
    told.begin();
    told.push(b"a\n".to_vec());
    told.take();
    complete(&told, 200, "a\n", &[]);
    assert_eq!(told.take(), None);
    let failure = Pieces::default();
    complete(&failure, 429, "slow down", &[]);
    assert_eq!(failure.take(), None);
}

#[test]
fn lines_are_told_when_they_are_whole() {
    let pieces = Pieces::default();
    let writer = PieceWriter {
        pieces: &pieces,
        mask: &|lines| lines.to_ascii_uppercase(),
    };
    let mut told = Told::default();
    writer.tell(b"no end", &mut told, false);
    assert_eq!(pieces.take(), None);
    writer.tell(b"no end\nof it", &mut told, false);
    assert_eq!(pieces.take(), Some(lines("NO END\n")));
    let mut told = Told::default();
    writer.tell(b"a\nb\nc", &mut told, false);
    assert_eq!(pieces.take(), Some(lines("A\nB\n")));
    writer.tell(b"a\nb\ncd", &mut told, true);
    assert_eq!(pieces.take(), Some(lines("CD")));
    writer.tell(b"a\nb\ncd", &mut told, true);
    assert_eq!(pieces.take(), None);
    let ends: Vec<u32> = told.ends.iter().map(|end| end.bytes).collect();
    assert_eq!(ends, [4, 6]);
}

#[test]
fn objects_stand_on_lines_of_their_own() {
    let found = |body: &'static str| objects(body.as_bytes()).count();
    let events = "event: x\ndata: {\"a\":1}\n\ndata:{}\r\n\ndata: [DONE]\n";
    assert_eq!(found(events), 2);
    assert_eq!(found("{\"a\":1}\n{\"b\":2}\n"), 2);
    assert_eq!(found("text\n"), 0);
}

#[tokio::test]
async fn a_reader_waits_for_the_next_piece() {
    let pieces = Pieces::default();
    pieces.begin();
    let (piece, _) = tokio::join!(pieces.next(), async { pieces.push(b"a\n".to_vec()) });
    assert_eq!(piece, lines("a\n"));
}
