use super::*;

fn render(source: &str, messages: &[Message]) -> String {
    ChatTemplate::new(source, "<s>", "</s>").unwrap().render(messages, true).unwrap()
}

#[test]
fn chatml_with_a_default_system_message() {
    // The shape of SmolLM2's template.
    let source = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}\
        {{ '<|im_start|>system\\nBe good.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + \
        message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}\
        {{ '<|im_start|>assistant\\n' }}{% endif %}";
    let got = render(source, &[Message::new("user", "Hi <b>")]);
    assert_eq!(
        got,
        "<|im_start|>system\nBe good.<|im_end|>\n<|im_start|>user\nHi <b><|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn llama_style_with_namespace_trim_and_bos() {
    let source = "{% set ns = namespace(n=0) %}{{ bos_token }}{% for m in messages %}{% set ns.n = ns.n + 1 %}\
        [{{ ns.n }} {{ m['role'] }}] {{ m['content'] | trim }}{% endfor %}{{ eos_token }}";
    let got = render(source, &[Message::new("user", "  a "), Message::new("assistant", "b")]);
    assert_eq!(got, "<s>[1 user] a[2 assistant] b</s>");
}

#[test]
fn python_methods_work() {
    let message = [Message::new("user", "  Think</think> answer ")];
    let cases = [
        ("{{ messages[0].content.split('</think>')[-1].strip() }}", "answer"),
        ("{{ messages[0].content.strip().startswith('Th') }}", "True"),
        ("{{ messages[0].get('name', 'nobody') }}", "nobody"),
        ("{% for k, v in messages[0].items() %}{{ k }};{% endfor %}", "role;content;"),
        ("{{ 'a-b-c'.rsplit('-', 1) | join('+') }}", "a-b+c"),
        ("{{ 'x'.join(['1', '2']) }}", "1x2"),
        ("{{ 'hello world'.title() }} {{ 'HELLO'.capitalize() }}", "Hello World Hello"),
        ("{{ messages[0] is mapping }} {{ messages[0].tools is defined }}", "True False"),
        ("{{ {'a': [1, 2], 'b': 'é'} | tojson }}", "{\"a\": [1, 2], \"b\": \"é\"}"),
        ("{{ {'a': 1} | tojson(indent=2) }}", "{\n  \"a\": 1\n}"),
        ("{% for i in range(9) %}{% if i > 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "012"),
    ];
    for (source, expected) in cases {
        assert_eq!(render(source, &message), expected, "{source}");
    }
}

#[test]
fn a_template_can_refuse_and_says_why() {
    let source =
        "{% if messages[0].role == 'system' %}{{ raise_exception('no system role here') }}{% endif %}ok";
    assert_eq!(render(source, &[Message::new("user", "")]), "ok");
    let template = ChatTemplate::new(source, "", "").unwrap();
    let error = template.render(&[Message::new("system", "")], false).unwrap_err().to_string();
    assert!(error.contains("no system role here"), "{error}");
    let error = ChatTemplate::new("{% for %}", "", "").unwrap_err().to_string();
    assert!(error.contains("chat template") && error.contains('1'), "{error}");
    let error = ChatTemplate::new("{{ 'a'.nonsense() }}", "", "").unwrap().render(&[], false).unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
}

#[test]
fn dates() {
    assert_eq!(strftime("%d %b %Y", 1_721_952_000), "26 Jul 2024");
    assert_eq!(strftime("%A %B %e %H:%M:%S %y%%", 951_782_399), "Monday February 28 23:59:59 00%");
    assert_eq!(strftime("%Y-%m-%d", 951_782_400), "2000-02-29");
    assert_eq!(strftime("%Y-%m-%d %a %q", -86_400), "1969-12-31 Wed %q");
    assert!(render("{{ strftime_now('%Y') }}", &[]).parse::<i32>().unwrap() >= 2024);
}

#[test]
fn stored_templates_of_the_usual_shapes_compile() {
    for source in [CHATML, GEMMA] {
        let messages = [Message::new("user", "a"), Message::new("assistant", "b"), Message::new("user", "c")];
        let got = render(source, &messages);
        assert!(got.ends_with("assistant\n") || got.ends_with("model\n"), "{got}");
    }
}

/// What a template ends with, in a time that a test can wait for.
fn refused(source: &str) -> String {
    let message = [Message::new("user", "hi")];
    match ChatTemplate::new(source, "", "").and_then(|t| t.render(&message, true)) {
        Ok(text) => panic!("{} bytes came of {}", text.len(), &source[..source.len().min(80)]),
        Err(error) => error.to_string(),
    }
}

#[test]
fn whatever_a_template_says_it_ends() {
    let deep =
        |open: &str, n: usize, close: &str| format!("{{{{ {}1{} }}}}", open.repeat(n), close.repeat(n));
    let loops = |n: usize, inner: &str| {
        let open: String = (0..n).map(|i| format!("{{% for i{i} in range(9000) %}}")).collect();
        format!("{open}{inner}{}", "{% endfor %}".repeat(n))
    };
    let cases = [
        (deep("not ", 50_000, ""), "limit `tag`"),
        (deep("not ", 900, ""), "limit `nesting`"),
        (deep("(", 450, ")"), "limit `nesting`"),
        (deep("[", 450, "]"), "limit `nesting`"),
        (deep("- ", 900, ""), "limit `nesting`"),
        (format!("{{{{ {} }}}}", "1 if 1 else ".repeat(240)), "limit `nesting`"),
        (format!("{{{{ 1{} }}}}", "+1".repeat(5000)), "limit `tag`"),
        (format!("{{{{ 'a'{} }}}}", "|trim".repeat(5000)), "limit `tag`"),
        ("{% if 1 %}".repeat(5000), "limit `nesting`"),
        (format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(5000)), "limit `nesting`"),
        ("x".repeat(1 << 20), "limit `source`"),
        (loops(3, ""), "limit `steps`"),
        (loops(2, "twenty bytes of text"), "limit `"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".into(), "recursion"),
    ];
    for (source, expected) in cases {
        let error = refused(&source);
        assert!(error.contains(expected), "{:?}: {error}", &source[..source.len().min(60)]);
    }
}

#[test]
fn values_that_double_stop_growing() {
    let doubled = |step: &str| {
        format!(
            "{{% set ns = namespace(s='0123456789') %}}{{% for i in range(60) %}}{{% set ns.s = {step} %}}{{% endfor %}}\
             {{{{ ns.s | length }}}}"
        )
    };
    let plain: String = "{% set s = 'ab' %}".to_owned() + &"{% set s = s ~ s %}".repeat(60);
    let macros = "{% macro m(s) %}{{ m(s ~ s) }}{% endmacro %}{{ m('ab') }}".to_owned();
    let blocks = "{% set s = 'ab' %}".to_owned() + &"{% set s %}{{ s }}{{ s }}{% endset %}".repeat(60);
    let cases = [
        doubled("ns.s ~ ns.s"),
        doubled("ns.s + ns.s"),
        doubled("ns.s.replace('0', ns.s)"),
        doubled("ns.s | replace('0', ns.s)"),
        doubled("[ns.s, ns.s] | join(ns.s)"),
        doubled("ns.s.join([ns.s, ns.s])"),
        doubled("ns.s * 10"),
        doubled("(ns.s | tojson) ~ '\"'"),
        format!("{{{{ '\"'{} }}}}", "|tojson".repeat(200)),
        format!("{{{{ [messages]{} }}}}", "|tojson(indent=4)".repeat(90)),
        // Each value fits, and there are many: minutes of copying.
        "{% set s = 'x' * 2000000 %}{% for i in range(9000) %}{% set t = s ~ s %}{% endfor %}".into(),
        plain,
        macros,
        blocks,
    ];
    for source in cases {
        let error = refused(&source);
        assert!(error.contains("limit `bytes`") || error.contains("recursion"), "{source}: {error}");
    }
}

#[test]
fn nothing_contains_itself_and_deep_values_are_harmless() {
    for source in [
        "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
        "{% set ns = namespace() %}{% set l = [ns] %}{% set ns.me = l %}{{ ns ~ '' }}",
        "{% set f = namespace %}{% set a = f() %}{% set a.b = a %}{{ a }}",
        "{% set a = namespace(x=namespace()) %}{{ a.x }}",
    ] {
        assert!(refused(source).contains("namespace"), "{source}");
    }
    let nested = |end: &str| {
        format!(
            "{{% set ns = namespace(x=[]) %}}{{% for i in range(9000) %}}{{% for j in range(4) %}}\
             {{% set ns.x = [ns.x] %}}{{% endfor %}}{{% endfor %}}{end}"
        )
    };
    for end in ["", "{{ ns.x ~ '' }}", "{{ ns.x | tojson }}", "{{ ns.x == [ns.x] }}", "{{ ns.x }}"] {
        // Right or refused, but over.
        let _ = ChatTemplate::new(&nested(end), "", "").and_then(|t| t.render(&[], true));
    }
}

#[test]
fn limits_are_options_and_long_conversations_fit() {
    let limits = TemplateLimits { steps: 50, ..TemplateLimits::default() };
    let template = ChatTemplate::within(limits, CHATML, "", "").unwrap();
    assert!(template.render(&[Message::new("user", "a")], true).is_ok());
    let many: Vec<Message> = (0..4000).map(|i| Message::new("user", "word ".repeat(i % 50))).collect();
    assert!(template.render(&many, true).unwrap_err().to_string().contains("limit `steps`"));
    let template = ChatTemplate::new(CHATML, "", "").unwrap();
    assert!(template.render(&many, true).unwrap().len() > 400_000);
    let long = [Message::new("user", "x".repeat(20 << 20))];
    assert!(template.render(&long, true).unwrap().len() > 20 << 20);
}
