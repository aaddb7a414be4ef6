//! Files of media as the texts that APIs take: an image as a `data:` URI, sound and film in base64.
//!
//! As in promptfoo, what an image is says its beginning, and where that is not known its name.
//! Text of PDF files is not extracted here: what reads them is large and reads strangers' files.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::read::files::has_extension;

/// The largest file: its base64 must fit into what a template may make (16 MiB).
pub(super) const MAX_MEDIA: u64 = 11 << 20;

/// Extensions of images, each with its type.
const IMAGES: [(&str, &str); 13] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("gif", "image/gif"),
    ("heic", "image/heic"),
    ("heif", "image/heic"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("webp", "image/webp"),
];

/// How images begin, whatever they are called.
const BEGINNINGS: [(&[u8], &str); 9] = [
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/x-icon"),
];

/// Extensions of sound and film.
const STREAMS: [&str; 23] = [
    "3gp", "3gpp", "aac", "aif", "aifc", "aiff", "avi", "flac", "flv", "m4a", "m4v", "mkv", "mov",
    "mp3", "mp4", "mpeg", "mpg", "ogg", "opus", "wav", "webm", "wma", "wmv",
];

/// Whether a file is one of media, by its name.
pub(super) fn is_media(path: &Path) -> bool {
    has_extension(path, &STREAMS) || by_name(path).is_some()
}

/// The text that stands for a file of media.
pub(super) fn text(path: &Path, bytes: &[u8]) -> String {
    let Some(named) = by_name(path) else {
        return STANDARD.encode(bytes);
    };
    let mut beginnings = BEGINNINGS.iter();
    let known = beginnings.find(|(beginning, _)| bytes.starts_with(beginning));
    let kind = known.map_or(named, |(_, kind)| kind);
    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
}

fn by_name(path: &Path) -> Option<&'static str> {
    let mut images = IMAGES.iter();
    let (_, kind) = images.find(|(extension, _)| has_extension(path, &[extension]))?;
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_what_it_begins_like_and_else_what_it_is_called() {
        let png = b"\x89PNG\r\n\x1a\n...";
        let cases: [(&str, &[u8], &str); 5] = [
            ("a.png", png, "data:image/png;base64,iVBORw0KGgouLi4="),
            ("a.JPG", png, "data:image/png;base64,iVBORw0KGgouLi4="),
            ("a.svg", b"<svg/>", "data:image/svg+xml;base64,PHN2Zy8+"),
            ("a.heic", b"", "data:image/heic;base64,"),
            ("a.mp3", b"ID3", "SUQz"),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(text(name.as_ref(), bytes), expected, "{name}");
        }
    }

    #[test]
    fn texts_and_documents_are_no_media() {
        for (name, expected) in [
            ("a.txt", false),
            ("a.pdf", false),
            ("a.Mov", true),
            ("png", false),
        ] {
            assert_eq!(is_media(name.as_ref()), expected, "{name}");
        }
    }
}
