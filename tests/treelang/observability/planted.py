"""Secrets, the many ways in which they get into what a program handles, and the search for them in what comes out."""

from __future__ import annotations

import base64
import contextlib
import json
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

LETTERS_AND_DIGITS = string.ascii_letters + string.digits

CREDENTIAL_NAMES = [
    "password", "passwd", "PASSPHRASE", "db_password", "pwd", "api_key",
    "apiKey", "apikey", "X-Api-Key", "x-goog-api-key", "OPENAI_API_KEY", "openaiApiKey",
    "access_token", "refreshToken", "id-token", "token", "auth_token", "Authorization",
    "Proxy-Authorization", "client_secret", "AWS_SECRET_ACCESS_KEY",
    "aws.secret.access.key", "private_key", "Set-Cookie",
    "cookie", "sessionid", "csrf_token", "X-Amz-Signature", "credentials", "dsn",
    "jwt",
    "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",  # password, in full-width letters
]  # fmt: skip

PLAIN_NAMES = ["city", "author", "prompt_tokens", "tokenizer", "monkey", "compass", "location", "design"]

secrets = st.text(LETTERS_AND_DIGITS, min_size=16, max_size=24)

unmistakable_secrets = st.text("GHIJKLMNOPQRSTUVWXYZ", min_size=16, max_size=24)
"""Secrets that are part of no word, number or identifier which may come out beside them."""


def wild(plain: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Secrets that have characters of all kinds between two plain ones."""
    return st.builds("{}{}{}".format, plain, st.text("\"'\\<>&=:;,{}[]()%@#?/ é\n\t", max_size=6), plain)


names = st.sampled_from(CREDENTIAL_NAMES)


def _jwt(secret: str) -> str:
    head, body = (
        base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
        for part in ('{"alg":"HS256"}', f'{{"sub":"{secret}"}}')
    )
    return f"{head}.{body}.{secret}"


FORMS: dict[str, Callable[[str], str]] = {
    "sk": "sk-{}".format,
    "sk-proj": "sk-proj-{}".format,
    "sk-ant": "sk-ant-api03-{}-AA".format,
    "github": "ghp_{}".format,
    "github fine": "github_pat_{}".format,
    "gitlab": "glpat-{}".format,
    "slack": "xoxb-1234-{}".format,
    "google": lambda secret: f"AIza{secret}1234",
    "aws": lambda secret: f"AKIA{secret.upper()}",
    "groq": "gsk_{}".format,
    "stripe": "sk_live_{}".format,
    "hugging face": lambda secret: f"hf_{secret}7",
    "jwt": _jwt,
    "bearer": "Bearer {}".format,
    "bearer in small letters": "bearer {}".format,
    "basic": lambda secret: f"Basic {base64.b64encode(f'user:{secret}'.encode()).decode()}",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----".format,
    "url": "https://user:{}@db.example:5432/trees?x=1".format,
    "url without a user": "redis://:{}@cache.example/0".format,
    "query": "https://maps.example/v1?key={}&q=1".format,
}
"""Texts that are credentials by their form, with the secret in them."""

SETTINGS: dict[str, Callable[[str, str], str]] = {
    "assignment": lambda name, secret: f"{name}={secret}",
    "spaced": lambda name, secret: f"{name} = {secret}",
    "header": lambda name, secret: f"{name}: {secret}",
    "query": lambda name, secret: f"https://trees.example/oak?page=2&{name}={secret}&size=3",
    "environment": lambda name, secret: f"PATH=/bin\nexport {name}={secret}\nHOME=/",
    "lines": lambda name, secret: f"- city: Paris\n- {name}: {secret} and {secret}\n- size: 3",
    "xml": lambda name, secret: f"<{name}>{secret}</{name}>",
}
"""Texts that set a secret under a name, unquoted."""

QUOTED_SETTINGS: dict[str, Callable[[str, str], str]] = {
    "json": lambda name, secret: json.dumps({"city": "Paris", name: secret, "size": 3}),
    "json cut off": lambda name, secret: json.dumps({"city": "Paris", name: secret})[:-1],
    "json in prose": lambda name, secret: f"the tool got {json.dumps({name: secret})} and failed",
    "nested json": lambda name, secret: json.dumps({name: {"a": [{"b": secret}, 1], "c": secret}}),
    "json in json": lambda name, secret: json.dumps({"arguments": json.dumps({name: secret, "size": 3})}),
    "json in json in prose": lambda name, secret: f"got {json.dumps(json.dumps({name: secret, 'size': 3}))}: refused",
    "repr": lambda name, secret: f"refused { ({'city': 1, name: secret, 'size': 3})!r}",
    "repr of bytes": lambda name, secret: f"refused { ({name: secret.encode()})!r}",
    "pairs": lambda name, secret: f"headers={[('accept', '*/*'), (name, secret)]!r}",
    "call": lambda name, secret: f"connect(host='db', {name}={secret!r})",
    "form": lambda name, secret: f"page=2&{quote(name)}={quote(secret, safe='')}&size=3",
    "encoded json": lambda name, secret: "https://trees.example/?filter=" + quote(json.dumps({name: secret})),
}
"""Texts that set a secret under a name, quoted or encoded, so that it may hold any character."""

words = st.sampled_from(["", "failed: ", "The tool said ", "(", "url ", "caused by\n"])


@st.composite
def credential_texts(draw: st.DrawFn, secrets: st.SearchStrategy[str] = secrets) -> tuple[str, str]:
    """A secret, and a text that tells it as a credential."""
    kind = draw(st.sampled_from(["form", "setting", "quoted"]))
    before = draw(words)
    if kind == "form":
        secret = draw(secrets)
        text = FORMS[draw(st.sampled_from(sorted(FORMS)))](secret)
    elif kind == "setting":
        secret = draw(secrets)
        text = SETTINGS[draw(st.sampled_from(sorted(SETTINGS)))](draw(names), secret)
    else:
        secret = draw(wild(secrets))
        text = QUOTED_SETTINGS[draw(st.sampled_from(sorted(QUOTED_SETTINGS)))](draw(names), secret)
    after = draw(st.sampled_from(["", " and more", "\n"]))
    return secret, f"{before}{text}{after}"


def texts_in(value: Any) -> Iterator[str]:
    """All texts in a value, those of JSON in texts too."""
    match value:
        case str():
            yield value
            if value[:1] in ("{", "[", '"'):
                with contextlib.suppress(ValueError):
                    yield from texts_in(json.loads(value))
        case Mapping():
            for name, item in value.items():
                yield from texts_in(name)
                yield from texts_in(item)
        case list() | tuple():
            for item in value:
                yield from texts_in(item)
        case int() | float():
            yield str(value)
        case None:
            pass
        case _:
            yield repr(value)


WINDOW = 8
"""So much of a secret together is a leak already."""


def leaked(secret: str, shown: Any) -> list[str]:
    """The texts that tell the secret or a good part of it, in the clear or in an encoding."""
    parts = {secret[start : start + WINDOW] for start in range(max(1, len(secret) - WINDOW + 1))}
    return [text for text in texts_in(shown) if any(part in text for part in parts)]
