"""Random JSON schemas, each followed by an answer of a model of random weights: every answer parses and validates.

WOOTZ_SCHEMAS is a folder of schemas beside them: files with one each, or with lists of cases as in the JSON Schema Test Suite.
"""

import json
import os
import pathlib
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import jsonschema_rs
import pytest

URL = os.environ["WOOTZ_URL"]
COUNT = 10_000 if os.environ.get("WOOTZ_FULL") == "1" else 48
http = httpx.Client(base_url=URL, timeout=600)


def schema(dice, depth):
    """A schema whose values are bounded, so that every answer ends."""
    kinds = ["string", "integer", "boolean", "enum", "const", "number"]
    kind = dice.choice(kinds + ["object", "array", "anyOf"] * 2 if depth else kinds)
    if kind == "string":
        return dice.choice([{"type": "string", "maxLength": dice.randint(0, 8)}, {"type": "string", "pattern": "^[a-c]{1,4}$"}])
    if kind == "boolean":
        return {"type": "boolean"}
    if kind == "integer":
        low = dice.randint(-50, 50)
        return {"type": "integer", "minimum": low, "maximum": low + dice.randint(0, 200)}
    if kind == "number":
        return {"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25}
    if kind == "enum":
        return {"enum": dice.sample([1, "a", None, True, "ü", "\"", -3], dice.randint(1, 4))}
    if kind == "const":
        return {"const": dice.choice(["x", 7, False, None])}
    if kind == "array":
        least = dice.randint(0, 2)
        return {"type": "array", "items": schema(dice, depth - 1), "minItems": least, "maxItems": least + dice.randint(0, 2)}
    if kind == "anyOf":
        return {"anyOf": [schema(dice, depth - 1) for _ in range(2)]}
    names = dice.sample(["a", "b", "c d", "é", "n\"q"], dice.randint(1, 4))
    required = [name for name in names if dice.random() < 0.7]
    properties = {name: schema(dice, depth - 1) for name in names}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def one(seed):
    dice = random.Random(seed)
    wanted = schema(dice, 3)
    body = {
        "messages": [{"role": "user", "content": "JSON"}],
        "temperature": dice.choice([0, 1, 2]),
        "seed": seed,
        "max_tokens": 1500,
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": wanted}},
    }
    answer = http.post("/v1/chat/completions", content=json.dumps(body))
    assert answer.status_code == 200, (wanted, answer.text)
    choice = answer.json()["choices"][0]
    assert choice["finish_reason"] == "stop", (wanted, choice)
    jsonschema_rs.validate(wanted, json.loads(choice["message"]["content"]))


def test_every_answer_validates():
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(COUNT)))


def collection(folder):
    for file in sorted(pathlib.Path(folder).rglob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        cases = content if isinstance(content, list) else [{"schema": content}]
        for case in cases:
            if isinstance(case, dict) and isinstance(case.get("schema"), dict):
                yield f"{file.name}: {case.get('description', '')}", case["schema"]


def follow(named):
    """Whether the answer is refused, cut off, or valid; what else it can be is wrong."""
    name, wanted = named
    try:
        validator = jsonschema_rs.validator_for(wanted)
    except ValueError:
        return "no schema"
    body = {
        "messages": [{"role": "user", "content": "JSON"}],
        "seed": 1,
        "max_tokens": 200,
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": wanted}},
    }
    answer = http.post("/v1/chat/completions", content=json.dumps(body))
    if answer.status_code == 400:
        return f"refused: {answer.json()['error']['message']}"
    assert answer.status_code == 200, (name, answer.text)
    choice = answer.json()["choices"][0]
    if choice["finish_reason"] == "length":
        return "cut off"
    text, exact = choice["message"]["content"], []
    value = json.loads(text, parse_float=lambda digits: exact.append(len(digits) < 16) or float(digits))
    if validator.is_valid(value):
        return "valid"
    # The validator computes with the nearest float.
    return f"INVALID {name}: {text[:80]} for {json.dumps(wanted)[:200]}" if all(exact) else "not exact"


@pytest.mark.skipif("WOOTZ_SCHEMAS" not in os.environ, reason="no folder of schemas")
def test_answers_to_a_collection_validate():
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(follow, collection(os.environ["WOOTZ_SCHEMAS"])))
    counts = Counter(result.split(":")[0] for result in results)
    wrong = [result for result in results if result.startswith("INVALID")]
    reasons = Counter(result[9:] for result in results if result.startswith("refused"))
    print(dict(counts), *wrong[:40], *(f"{count} refused: {why}" for why, count in reasons.most_common(12)), sep="\n")
    assert counts["valid"] > 0 and not wrong
