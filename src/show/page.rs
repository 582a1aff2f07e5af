//! A page of SVG, readable on a light and on a dark screen: its title, its style, and room for charts.

/// How wide it is.
pub(crate) const WIDTH: f64 = 960.0;
/// Where its content begins and ends.
pub(crate) const LEFT_EDGE: f64 = 28.0;
pub(crate) const RIGHT_EDGE: f64 = WIDTH - 28.0;
/// Where what stands below the title may begin.
const BELOW_TITLE: f64 = 62.0;

/// Plain rules, and others on dark pages: not all viewers know variables.
const STYLE: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif;font-size:12px;fill:#1c2330}\
.title{font-size:19px;font-weight:650}.name{font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\
.page{fill:#ffffff}.soft{fill:#667085}.grid{stroke:#e4e7ec;stroke-width:1}\
.tail{stroke-width:1.5;opacity:.5}.body{stroke-width:7;stroke-linecap:round;opacity:.35}.tick{stroke-width:2.5}.ring{stroke-width:1.5}\
.path{fill:none;stroke-width:2;opacity:.6}\
.off .dot,.off text{fill:#c2570c}.off line,.off .ring,.off .path{stroke:#c2570c}\
.on .dot,.on text{fill:#0b7a56}.on line,.on .ring,.on .path{stroke:#0b7a56}\
.other .dot,.other text{fill:#2b5fb8}.other line,.other .ring,.other .path{stroke:#2b5fb8}\
.bad .dot,.bad text{fill:#b42347}.bad line,.bad .ring,.bad .path{stroke:#b42347}\
.mark .dot{fill:#667085}.mark line,.mark .ring,.mark .path{stroke:#667085}\
.ring{fill:#ffffff}\
@media(prefers-color-scheme:dark){\
text{fill:#e6e9ef}.page{fill:#12161d}.soft{fill:#98a2b3}.grid{stroke:#2a313c}\
.off .dot,.off text{fill:#f79a4b}.off line,.off .ring,.off .path{stroke:#f79a4b}\
.on .dot,.on text{fill:#3ecf9a}.on line,.on .ring,.on .path{stroke:#3ecf9a}\
.other .dot,.other text{fill:#7fa8f0}.other line,.other .ring,.other .path{stroke:#7fa8f0}\
.bad .dot,.bad text{fill:#f4708c}.bad line,.bad .ring,.bad .path{stroke:#f4708c}\
.mark .dot{fill:#98a2b3}.mark line,.mark .ring,.mark .path{stroke:#98a2b3}\
.ring{fill:#12161d}}";

/// A whole page: a title, a line on how it was measured, and what `draw` adds below; it is told where that may begin, and says
/// where it ends.
pub(crate) fn page(title: &str, about: &str, draw: impl FnOnce(&mut String, f64) -> f64) -> String {
    let mut body = String::new();
    let height = draw(&mut body, BELOW_TITLE) + 26.0;
    let (title, about) = (escape(title), escape(about));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" viewBox=\"0 0 {WIDTH} {height:.0}\" \
         role=\"img\" aria-labelledby=\"title about\">\n<title id=\"title\">{title}</title>\n\
         <desc id=\"about\">{about}</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{LEFT_EDGE}\" y=\"40\">{title}</text>\n\
         <text class=\"soft\" x=\"{LEFT_EDGE}\" y=\"{BELOW_TITLE}\">{about}</text>\n{body}</svg>\n"
    )
}

/// Text that means nothing to a parser of SVG.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Fails if an element is opened and not closed, or closed and not opened.
#[cfg(test)]
pub(super) fn assert_closed(svg: &str) {
    for name in ["svg", "g", "text", "title", "desc", "style"] {
        let (opened, closed) = (format!("<{name}"), format!("</{name}>"));
        let opened =
            svg.match_indices(&opened).filter(|(at, _)| svg[at + opened.len()..].starts_with([' ', '>']));
        assert_eq!(opened.count(), svg.matches(&closed).count(), "{name}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_whole_with_any_text_and_without_charts() {
        let svg = page("a < b", "nodes < 10 & > 8", |_, top| top);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("nodes &lt; 10 &amp; &gt; 8") && svg.contains("a &lt; b"));
        assert_closed(&svg);
    }
}
