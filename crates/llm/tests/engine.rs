//! The engine: many jobs at once say what each says alone, and everything that was taken is given back.

#[allow(dead_code, reason = "shared with tests that use more of it")]
mod tiny;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tiny::{VOCAB, model};
use wootz::Device;
use wootz_blocks::BlockFormat;
use wootz_llm::engine::{Adjust, Done, Engine, EngineOptions, Event, Job, Listener, PromptCache, Refused};
use wootz_llm::sampling::Sampling;
use wootz_llm::{Finish, Model, ModelOptions, Session, SessionOptions};

const FAMILIES: [&str; 5] = ["llama", "qwen2", "qwen3", "gemma3", "rwkv7"];

fn load(arch: &str, format: BlockFormat, device: &Device) -> Arc<Model> {
    Arc::new(Model::from_gguf(model(arch, format, |_| true), device, ModelOptions::default()).unwrap())
}

struct Ear {
    events: mpsc::Sender<Event>,
    listening: Arc<AtomicBool>,
}

impl Listener for Ear {
    fn hear(&mut self, event: Event) {
        let _ = self.events.send(event);
    }
    fn is_listening(&self) -> bool {
        self.listening.load(SeqCst)
    }
}

struct Answer {
    events: mpsc::Receiver<Event>,
    listening: Arc<AtomicBool>,
}

impl Answer {
    fn wait(&self) -> Result<(Vec<u32>, Done), String> {
        let mut tokens = Vec::new();
        loop {
            match self.events.recv_timeout(Duration::from_secs(600)).expect("every job ends") {
                Event::Token(chosen) => tokens.extend(chosen.token),
                Event::Done(done) => return Ok((tokens, done)),
                Event::Failed(why) => return Err(why.to_string()),
            }
        }
    }

    fn cancel(&self) {
        self.listening.store(false, SeqCst);
    }
}

fn submit(engine: &Engine, job: Job) -> Result<Answer, Refused> {
    let (sender, events) = mpsc::channel();
    let listening = Arc::new(AtomicBool::new(true));
    engine.submit(job, Box::new(Ear { events: sender, listening: listening.clone() }))?;
    Ok(Answer { events, listening })
}

fn prompt(seed: usize, count: usize) -> Vec<u32> {
    (0..count).map(|i| (i * i * 7 + i * 13 + seed * 31 + 3) as u32 % VOCAB as u32).collect()
}

/// Sixteen prompts: some begin alike, for less than a chunk, for a chunk and a bit, for two; one is the beginning of another.
fn mixed() -> Vec<(Vec<u32>, usize)> {
    let lengths = [3, 40, 150, 290, 5, 131, 128, 64, 1, 260, 33, 200, 17, 129, 9, 256];
    let jobs = lengths.iter().enumerate().map(|(i, &own)| {
        let shared = [0, 70, 150, 256][i % 4];
        let mut tokens = prompt(0, shared);
        tokens.extend(prompt(i + 1, own));
        (tokens, 4 + (i * 5) % 23)
    });
    let mut jobs: Vec<_> = jobs.collect();
    jobs[12].0 = jobs[11].0[..180].to_vec();
    jobs
}

fn alone(engine: &Engine, jobs: &[(Vec<u32>, usize)]) -> Vec<Vec<u32>> {
    let one = |(prompt, limit): &(Vec<u32>, usize)| {
        engine.forget();
        submit(engine, Job::new(prompt.clone(), *limit)).unwrap().wait().unwrap().0
    };
    jobs.iter().map(one).collect()
}

fn together(engine: &Engine, jobs: &[(Vec<u32>, usize)]) -> Vec<(Vec<u32>, Done)> {
    let answers: Vec<_> = jobs
        .iter()
        .map(|(prompt, limit)| submit(engine, Job::new(prompt.clone(), *limit)).unwrap())
        .collect();
    answers.iter().map(|answer| answer.wait().unwrap()).collect()
}

fn compare(arch: &str, format: BlockFormat, device: &Device, jobs: &[(Vec<u32>, usize)]) {
    let model = load(arch, format, device);
    let engine = Engine::start(&model, EngineOptions::default()).unwrap();
    let expected = alone(&engine, jobs);
    engine.forget();
    for round in 0..2 {
        let answers = together(&engine, jobs);
        for (i, ((tokens, done), expected)) in answers.iter().zip(&expected).enumerate() {
            assert_eq!(tokens, expected, "{arch} in {format} on {device}, job {i}, round {round}");
            assert_eq!(done.tokens, expected.len());
        }
        let cached: usize = answers.iter().map(|(_, done)| done.cached_tokens).sum();
        assert!(cached > 0, "{arch} on {device}: prompts that begin alike share nothing");
    }
    assert!(expected.iter().any(|tokens| tokens.windows(2).any(|w| w[0] != w[1])), "the answers say nothing");
}

#[test]
fn drafts_change_no_token() {
    for arch in ["llama", "gemma3", "rwkv7"] {
        let model = load(arch, BlockFormat::Q8_0, &Device::cpu());
        let plain = Engine::start(&model, EngineOptions::default()).unwrap();
        let mut jobs = mixed();
        // Prompts that repeat themselves, some of which the model goes on with.
        for (i, job) in jobs.iter_mut().enumerate() {
            job.0 = prompt(i, 7).repeat(6);
            job.1 = 70 + i;
        }
        let expected = alone(&plain, &jobs);
        let engine =
            Engine::start(&model, EngineOptions { lookup: true, ..EngineOptions::default() }).unwrap();
        assert_eq!(alone(&engine, &jobs), expected, "{arch}");
        let stats = engine.stats();
        assert!(
            stats.accepted_tokens > 0 && stats.accepted_tokens < stats.drafted_tokens,
            "{arch}: {stats:?}"
        );
        let generated: usize = expected.iter().map(Vec::len).sum();
        assert_eq!(stats.generated_tokens, generated as u64);
        assert!(stats.decode_steps < generated as u64 - jobs.len() as u64, "{arch}: {stats:?}");
        // Beside others there are no drafts; the states that drafts have left are as good as any.
        let answers = together(&engine, &jobs);
        assert!(answers.iter().map(|answer| &answer.0).eq(&expected), "{arch}");
        // Only what is greedy is drafted.
        let drafted = engine.stats().drafted_tokens;
        let sampling = Sampling { temperature: 1.0, ..Sampling::default() };
        let sampled = Job { sampling, ..Job::new(jobs[0].0.clone(), 40) };
        submit(&engine, sampled).unwrap().wait().unwrap();
        assert_eq!(engine.stats().drafted_tokens, drafted);
    }
}

#[test]
fn sixteen_say_what_each_says_alone_on_the_cpu() {
    let cases = [
        ("llama", BlockFormat::Q8_0),
        ("qwen2", BlockFormat::Q4_0),
        ("qwen3", BlockFormat::F16),
        ("gemma3", BlockFormat::Q4_1),
        ("rwkv7", BlockFormat::Q8_0),
    ];
    for (arch, format) in cases {
        compare(arch, format, &Device::cpu(), &mixed());
    }
}

#[test]
fn sixteen_say_what_each_says_alone_on_metal() {
    // What SoftMetal runs instruction by instruction takes a while: fewer layers of work, the same sixteen.
    let jobs: Vec<_> = mixed().into_iter().map(|(p, n)| (p, 2 + n % 5)).collect();
    compare("llama", BlockFormat::Q8_0, &Device::from_name("metal").unwrap(), &jobs);
}

#[test]
fn sixteen_say_what_each_says_alone_on_webgpu() {
    let device = match Device::from_name("webgpu") {
        Ok(device) => device,
        Err(error) => return wootz_testkit::skipped(&error.to_string()),
    };
    let jobs: Vec<_> = mixed().into_iter().map(|(p, n)| (p, 2 + n % 5)).collect();
    compare("llama", BlockFormat::Q8_0, &device, &jobs);
}

/// Logits after the last token, with the prompt read in these pieces.
fn logits(model: &Arc<Model>, pieces: &[&[u32]]) -> Vec<u32> {
    let options = SessionOptions { batch_invariant: true, ..SessionOptions::default() };
    let mut session = Session::new(model, options).unwrap();
    let mut last = Vec::new();
    pieces.iter().for_each(|piece| last = session.advance(piece).unwrap());
    last.iter().map(|l| l.to_bits()).collect()
}

#[test]
fn logits_have_the_same_bits_however_a_prompt_is_read() {
    for arch in FAMILIES {
        let formats = match arch {
            "llama" => &[BlockFormat::F32, BlockFormat::Q8_0, BlockFormat::Q4_0][..],
            _ => &[BlockFormat::Q4_1],
        };
        for &format in formats {
            let model = load(arch, format, &Device::cpu());
            // Beyond the first capacity of a cache, and beyond what windows keep.
            let tokens = prompt(5, 290);
            let expected = logits(&model, &[&tokens]);
            let one_by_one: Vec<&[u32]> = tokens.chunks(1).collect();
            assert_eq!(logits(&model, &one_by_one), expected, "{arch} in {format}, one by one");
            let (a, b) = tokens.split_at(131);
            let (b, c) = b.split_at(2);
            assert_eq!(logits(&model, &[a, b, c]), expected, "{arch} in {format}, in three pieces");
        }
    }
}

#[test]
fn the_second_turn_reads_only_what_is_new() {
    for arch in ["llama", "gemma3", "rwkv7"] {
        let model = load(arch, BlockFormat::Q8_0, &Device::cpu());
        let engine = Engine::start(&model, EngineOptions::default()).unwrap();
        let mut conversation = prompt(1, 300);
        let (first, done) = submit(&engine, Job::new(conversation.clone(), 20)).unwrap().wait().unwrap();
        assert_eq!(done.cached_tokens, 0);
        conversation.extend(&first);
        conversation.extend(prompt(2, 15));
        let before = engine.stats().read_tokens;
        let (second, done) = submit(&engine, Job::new(conversation.clone(), 10)).unwrap().wait().unwrap();
        // The last token of an answer is never fed.
        assert_eq!(done.cached_tokens, 319, "{arch}");
        assert_eq!(engine.stats().read_tokens - before, 16, "{arch}");
        assert_eq!(alone(&engine, &[(conversation, 10)]), [second], "{arch}");
    }
}

#[test]
fn a_shared_beginning_is_read_once_whatever_state_it_has() {
    // What windows still hold is taken back; a recurrent state is found after four chunks by the second prompt, which
    // shows where they part.
    for (arch, expected) in [("gemma3", [0, 700, 700, 700]), ("rwkv7", [0, 512, 640, 640])] {
        let model = load(arch, BlockFormat::Q8_0, &Device::cpu());
        let engine = Engine::start(&model, EngineOptions::default()).unwrap();
        let jobs: Vec<_> = (1..5).map(|i| ([prompt(0, 700), prompt(i, 300)].concat(), 4)).collect();
        let answers: Vec<_> =
            jobs.iter().map(|job| together(&engine, std::slice::from_ref(job)).remove(0)).collect();
        let cached: Vec<usize> = answers.iter().map(|(_, done)| done.cached_tokens).collect();
        let tokens: Vec<_> = answers.into_iter().map(|answer| answer.0).collect();
        assert_eq!(alone(&engine, &jobs), tokens, "{arch}");
        assert_eq!(cached, expected, "{arch}");
    }
}

#[test]
fn little_memory_delays_and_changes_nothing() {
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let jobs = mixed();
    let engine = Engine::start(&model, EngineOptions::default()).unwrap();
    let expected = alone(&engine, &jobs);
    drop(engine);
    let options = SessionOptions::default();
    // Room for the largest prompt while it grows, and a little more.
    let budget = Session::bytes_for(&model, options, 1024) + Session::bytes_for(&model, options, 512);
    let engine = Engine::start(&model, EngineOptions { budget, ..EngineOptions::default() }).unwrap();
    let answers: Vec<_> =
        jobs.iter().map(|(p, n)| submit(&engine, Job::new(p.clone(), *n)).unwrap()).collect();
    let mut most = 0;
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(&answer.wait().unwrap().0, expected);
        let stats = engine.stats();
        most = most.max(stats.active_bytes + stats.kept_bytes);
    }
    assert!(most <= budget, "{most} bytes of {budget}");
    assert!(engine.stats().preemptions > 0, "the budget was no limit: {:?}", engine.stats());
}

#[test]
fn a_thousand_arrivals_and_cancellations_leak_nothing() {
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let options = EngineOptions { slots: 8, queue: 2000, budget: 3 << 20, ..EngineOptions::default() };
    let engine = Engine::start(&model, options.clone()).unwrap();
    let kinds: Vec<(Vec<u32>, usize)> =
        mixed().into_iter().map(|(p, n)| (p[..p.len().min(90)].to_vec(), n)).collect();
    let expected = alone(&engine, &kinds);
    let mut random = 12345u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) % below
    };
    let mut running: Vec<(usize, bool, Answer)> = Vec::new();
    for _ in 0..1000 {
        let kind = next(16) as usize;
        let job = Job { client: next(5), ..Job::new(kinds[kind].0.clone(), kinds[kind].1) };
        running.push((kind, false, submit(&engine, job).unwrap()));
        if next(3) == 0 {
            let at = next(running.len() as u64) as usize;
            running[at].1 = true;
            running[at].2.cancel();
        }
        if next(10) == 0 {
            std::thread::sleep(Duration::from_millis(next(20)));
        }
    }
    let mut cancelled = 0;
    for (kind, was_cancelled, answer) in running {
        let (tokens, done) = answer.wait().unwrap();
        if done.finish == Finish::Cancelled {
            assert!(was_cancelled);
            cancelled += 1;
            assert!(expected[kind].starts_with(&tokens), "kind {kind}");
        } else {
            assert_eq!(tokens, expected[kind], "kind {kind}");
        }
    }
    assert!(cancelled > 20, "only {cancelled} were cancelled in time");
    engine.forget();
    let deadline = std::time::Instant::now() + Duration::from_secs(600);
    loop {
        let stats = engine.stats();
        assert_eq!(stats.failed, 0);
        if stats.running == 0 && stats.waiting == 0 && stats.active_bytes + stats.kept_bytes == 0 {
            break;
        }
        assert!(std::time::Instant::now() < deadline, "something is left: {stats:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn whoever_has_heard_the_end_can_submit_again() {
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let engine =
        Engine::start(&model, EngineOptions { slots: 1, queue: 0, ..EngineOptions::default() }).unwrap();
    for _ in 0..300 {
        submit(&engine, Job::new(vec![1], 1)).expect("the only client is never refused").wait().unwrap();
    }
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let options = EngineOptions { slots: 1, queue: 1, ..EngineOptions::default() };
    let engine = Engine::start(&model, options.clone()).unwrap();
    let refused = |job: Job| submit(&engine, job).err();
    assert!(matches!(refused(Job::new(vec![], 1)), Some(Refused::Invalid(_))));
    assert!(matches!(refused(Job::new(vec![VOCAB as u32], 1)), Some(Refused::Invalid(_))));
    assert_eq!(refused(Job::new(vec![1; 1024], 1)), Some(Refused::TooLong { prompt: 1024, context: 1024 }));
    let hot = Sampling { temperature: f32::NAN, ..Sampling::default() };
    assert!(matches!(refused(Job { sampling: hot, ..Job::new(vec![1], 1) }), Some(Refused::Invalid(_))));
    let busy: Vec<_> = (0..2)
        .map(|_| submit(&engine, Job { ignore_end: true, ..Job::new(vec![1], 300) }).unwrap())
        .collect();
    assert!(matches!(refused(Job::new(vec![1], 1)), Some(Refused::QueueFull { .. })));
    engine.drain();
    assert_eq!(refused(Job::new(vec![1], 1)), Some(Refused::Closing));
    busy.iter().for_each(|answer| assert_eq!(answer.wait().unwrap().1.tokens, 300));
    let tiny = EngineOptions { budget: 1000, ..options };
    assert!(Engine::start(&model, tiny).is_err_and(|e| e.to_string().contains("the budget is 1000")));
}

#[test]
fn penalties_and_biases_change_the_choice() {
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let engine = Engine::start(&model, EngineOptions::default()).unwrap();
    let run = |adjust: Adjust| {
        submit(&engine, Job { adjust, ignore_end: true, ..Job::new(prompt(3, 8), 12) })
            .unwrap()
            .wait()
            .unwrap()
            .0
    };
    let plain = run(Adjust::default());
    let never = Adjust { logit_bias: vec![(plain[0], -1000.0)], ..Adjust::default() };
    assert!(!run(never).contains(&plain[0]));
    let always = Adjust { logit_bias: vec![(7, 1000.0)], ..Adjust::default() };
    assert_eq!(run(always), [7; 12]);
    let mut once = run(Adjust { presence_penalty: 1000.0, ..Adjust::default() });
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), 12, "nothing comes twice");
}

#[test]
fn logprobs_are_those_of_the_model() {
    let model = load("llama", BlockFormat::F32, &Device::cpu());
    let engine = Engine::start(&model, EngineOptions::default()).unwrap();
    let job = Job { logprobs: Some(5), ..Job::new(prompt(3, 8), 1) };
    let answer = submit(&engine, job).unwrap();
    let Event::Token(chosen) = answer.events.recv().unwrap() else { panic!("a token comes first") };
    let mut session = Session::new(&model, SessionOptions::default()).unwrap();
    let logits = session.advance(&prompt(3, 8)).unwrap();
    let sum: f64 = logits.iter().map(|l| f64::from(*l).exp()).sum();
    assert_eq!(chosen.top.len(), 5);
    assert_eq!(chosen.top[0].0, chosen.token.unwrap());
    for (token, logprob) in &chosen.top {
        let expected = f64::from(logits[*token as usize]) - sum.ln();
        assert!((f64::from(*logprob) - expected).abs() < 1e-4, "{token}: {logprob} and {expected}");
    }
    assert_eq!(chosen.logprob, Some(chosen.top[0].1));
}

/// What an engine over a prompt cache answers, and how many tokens of the prompt it had.
fn with_files(model: &Arc<Model>, folder: &std::path::Path, prompt: &[u32]) -> (Vec<u32>, usize) {
    let cache = PromptCache { folder: folder.to_owned(), bytes: 1 << 30 };
    let engine =
        Engine::start(model, EngineOptions { prompt_cache: Some(cache), ..EngineOptions::default() })
            .unwrap();
    let (answer, done) = submit(&engine, Job::new(prompt.to_vec(), 12)).unwrap().wait().unwrap();
    engine.drain();
    while !engine.is_finished() {
        std::thread::sleep(Duration::from_millis(2));
    }
    (answer, done.cached_tokens)
}

fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    folders.flat_map(|f| std::fs::read_dir(f).unwrap().map(|entry| entry.unwrap().path())).collect()
}

#[test]
fn prompts_are_found_after_a_restart() {
    for arch in ["llama", "gemma3", "rwkv7"] {
        let folder = tempfile::tempdir().unwrap();
        let model = load(arch, BlockFormat::Q8_0, &Device::cpu());
        let prompt = prompt(1, 300);
        let (first, cached) = with_files(&model, folder.path(), &prompt);
        assert_eq!(cached, 0, "{arch}");
        assert!(!files(folder.path()).is_empty(), "{arch}");
        // The answer's tokens make it a longer prompt, whose beginning is the whole file.
        let mut longer = prompt.clone();
        longer.extend(&first);
        longer.push(7);
        let (second, cached) = with_files(&model, folder.path(), &longer);
        assert!(cached >= 256, "{arch}: {cached}");
        let nowhere = tempfile::tempdir().unwrap();
        assert_eq!(with_files(&model, nowhere.path(), &longer), (second, 0), "{arch}");
    }
}

#[test]
fn prompts_are_saved_when_an_engine_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let cache = PromptCache { folder: folder.path().to_owned(), bytes: 1 << 30 };
    let options = EngineOptions { prompt_cache: Some(cache), ..EngineOptions::default() };
    let prompt = prompt(1, 300);
    let first = {
        let engine = Engine::start(&model, options).unwrap();
        let running = submit(&engine, Job { ignore_end: true, ..Job::new(prompt.clone(), 100_000) }).unwrap();
        let first = submit(&engine, Job::new(prompt.clone(), 12)).unwrap().wait().unwrap().0;
        drop(engine);
        assert!(running.wait().is_err(), "an engine that is dropped aborts what runs");
        first
    };
    let (second, cached) = with_files(&model, folder.path(), &prompt);
    assert_eq!(second, first);
    assert!(cached > 200, "{cached}");
}

/// An adapter of one matrix.
fn adapter(factor: f32) -> wootz_llm::Adapter {
    let mut writer = wootz_gguf::Writer::new();
    writer.set("general.architecture", "llama");
    writer.set("general.type", "adapter");
    writer.set("adapter.type", "lora");
    let rows = (tiny::HEADS * tiny::HEAD_LEN) as u64;
    writer.tensor("blk.0.attn_q.weight.lora_a", &[tiny::WIDTH as u64, 2], BlockFormat::F32);
    writer.tensor("blk.0.attn_q.weight.lora_b", &[2, rows], BlockFormat::F32);
    let mut bytes = Vec::new();
    let values = |t: &wootz_gguf::TensorSpec| {
        let value = |i: u64| factor * ((i * 37 % 101) as f32 / 101.0 - 0.5);
        Ok((0..t.dims.iter().product::<u64>()).flat_map(|i| value(i).to_le_bytes()).collect())
    };
    writer.write(&mut bytes, values).unwrap();
    let gguf = wootz_gguf::Gguf::from_bytes(bytes).unwrap();
    wootz_llm::Adapter::new(gguf, "adapter".into(), 1.0).unwrap()
}

/// The same weights with another value of a key.
fn with_value(key: &str, value: f32) -> wootz_gguf::Gguf {
    let plain = model("llama", BlockFormat::Q8_0, |_| true);
    let mut writer = plain.metadata().iter().fold(wootz_gguf::Writer::new(), |mut writer, (key, value)| {
        writer.set(key, wootz_gguf::MetaValue::from(value));
        writer
    });
    writer.set(key, wootz_gguf::MetaValue::F32(value));
    for tensor in plain.tensors() {
        writer.tensor(&tensor.name, &tensor.dims, tensor.format().unwrap());
    }
    let mut bytes = Vec::new();
    writer.write(&mut bytes, |spec| Ok(plain.data(plain.tensor(&spec.name)?).to_vec())).unwrap();
    wootz_gguf::Gguf::from_bytes(bytes).unwrap()
}

#[test]
fn states_of_adapters_and_other_metadata_are_kept_apart() {
    let plain = || model("llama", BlockFormat::Q8_0, |_| true);
    let open = |gguf, adapters| {
        let source = wootz_llm::ModelSource { gguf, adapters };
        let options = ModelOptions::default();
        Arc::new(
            Model::place(source, &Device::cpu(), options, SessionOptions::default(), &mut |_| {}).unwrap(),
        )
    };
    let (folder, prompt) = (tempfile::tempdir().unwrap(), prompt(1, 300));
    let models = [
        open(plain(), vec![]),
        open(plain(), vec![adapter(1.0)]),
        open(plain(), vec![adapter(2.0)]),
        open(with_value("llama.rope.freq_base", 5000.0), vec![]),
    ];
    for (i, model) in models.iter().enumerate() {
        let nowhere = tempfile::tempdir().unwrap();
        let (expected, _) = with_files(model, nowhere.path(), &prompt);
        assert_eq!(
            with_files(model, folder.path(), &prompt),
            (expected.clone(), 0),
            "model {i} took another's state"
        );
        let (again, cached) = with_files(model, folder.path(), &prompt);
        assert!(again == expected && cached > 200, "model {i} does not find its own");
    }
}

#[test]
fn damaged_and_foreign_files_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let model = load("llama", BlockFormat::Q8_0, &Device::cpu());
    let prompt = prompt(1, 300);
    let (expected, _) = with_files(&model, folder.path(), &prompt);
    let file = files(folder.path()).pop().unwrap();
    let whole = std::fs::read(&file).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    let cut = whole[..whole.len() / 2].to_vec();
    let mut foreign = whole.clone();
    // The first letter of the model's fingerprint.
    let at = foreign.windows(9).position(|w| w == b"{\"model\":").unwrap() + 10;
    foreign[at] = if foreign[at] == b'a' { b'b' } else { b'a' };
    // A head whose sizes add up to more than there can be.
    let length = u64::from_le_bytes(whole[8..16].try_into().unwrap()) as usize;
    let mut head: serde_json::Value = serde_json::from_slice(&whole[16..16 + length]).unwrap();
    head["pieces"][0] = u64::MAX.into();
    let head = serde_json::to_vec(&head).unwrap();
    let mut huge = [&whole[..8], &(head.len() as u64).to_le_bytes(), &head].concat();
    huge.extend_from_slice(&whole[16 + length..]);
    let mut damaged = vec![
        ("changed".to_string(), changed),
        ("cut".into(), cut),
        ("foreign".into(), foreign),
        ("huge".into(), huge),
        ("garbage".into(), vec![7; 99]),
    ];
    for at in (0..16 + length).step_by(length / 24) {
        let mut garbled = whole.clone();
        garbled[at] ^= 0x15;
        damaged.push((format!("byte {at}"), garbled));
    }
    for (what, bytes) in damaged {
        files(folder.path()).iter().for_each(|file| std::fs::remove_file(file).unwrap());
        std::fs::write(&file, bytes).unwrap();
        assert_eq!(with_files(&model, folder.path(), &prompt), (expected.clone(), 0), "{what}");
    }
    // What replaced the last of them is whole again.
    assert!(with_files(&model, folder.path(), &prompt).1 > 200);
}
