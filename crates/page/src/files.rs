//! The static files of the page.

use roster_engine::picture;

/// A static file of the page.
#[derive(Clone, Copy, Debug)]
pub struct PageFile {
    /// Its name, relative to the page.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files of the page: the page itself first. A host may name another engine in the attribute `data-engine` of the page.
pub const FILES: [PageFile; 4] = [
    PageFile { name: "index.html", media_type: "text/html; charset=utf-8", text: include_str!("../static/index.html") },
    PageFile { name: "page.css", media_type: "text/css; charset=utf-8", text: include_str!("../static/page.css") },
    PageFile { name: "picture.css", media_type: "text/css; charset=utf-8", text: picture::SHEET },
    PageFile { name: "page.js", media_type: "text/javascript; charset=utf-8", text: include_str!("../static/page.js") },
];
