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
