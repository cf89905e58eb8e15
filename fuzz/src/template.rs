//! Fuzzes chat templates: whatever they say, they end within their limits.

use wootz_fuzz::Target;
use wootz_llm::chat::{ChatTemplate, Message, TemplateLimits};

fn main() {
    let accepts = |bytes: &[u8]| {
        let source = String::from_utf8_lossy(bytes);
        let limits = TemplateLimits { steps: 20_000, bytes: 1 << 16, ..TemplateLimits::default() };
        let messages = [Message::new("system", "Be brief."), Message::new("user", " Hi <b>\n")];
        ChatTemplate::within(limits, &source, "<s>", "</s>").is_ok_and(|template| {
            let _ = template.render(&messages, true);
            true
        })
    };
    let words = &[
        "{{", "}}", "{%", "%}", "{#", "#}", "-", "not ", "(", ")", "[", "]", "{", "}", "~", "+", "*", "|", ".", "'", "\"",
        "if ", "else ", "elif ", "endif", "for i in range(99)", "endfor", "set x = ", "endset", "macro m(a)", "endmacro",
        "namespace()", "ns.x", "loop.index", "|join(x)", "|tojson", "|replace('a', x)", ".split('a')", "raw", "endraw",
        "messages", "[::-1]", "is defined", "9999999999",
    ];
    Target { name: "template", words, accepts }.run();
}
