"""What looks like a credential: keys by their names, values by their form. It stands nowhere, whatever was opted in to.

Concealing too much costs a word in a trace; concealing too little costs a key. So doubtful cases are concealed. Every
pattern takes time linear in the text, since the text may be anybody's.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator

REDACTED = "[REDACTED]"
"""What stands in the place of everything that is not shown."""

_PARTS_OF_NAMES = re.compile(
    r"api_?key|(access|account|client|encryption|host|license|master|private|secret|service|shared|signing|ssh|"
    r"storage|subscription)_?key|auth_?key|passw|passphrase|passcode|secret|credential|authoriz|authentic|bearer|"
    r"cookie|csrf|xsrf|connection_?string|session_?(id|key)|signature|token(?!i[sz])|mnemonic|seed_?phrase|"
    r"(db|user)_?pass(?![a-z])"
)
_WORDS_OF_NAMES = re.compile(
    r"(?<![a-z])(auth|dsn|jwt|oauth|otp|pass|passwd|pat|pin|psk|pwd|sas|sid|sig|totp)(?![a-z])"
)
_COUNTS = re.compile(r"tokens$|token_?(budget|count|index|limit|total|usage)s?$")

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GAP = re.compile(r"[^a-z0-9]+")


def words_of(name: str) -> str:
    """A name in lower case, its words parted by underscores: `X-Api-Key` and `xApiKey` are `x_api_key`."""
    plain = unicodedata.normalize("NFKC", name)  # full-width and other fancy letters
    return _GAP.sub("_", _HUMP.sub("_", plain).casefold())


@functools.lru_cache(maxsize=4096)
def is_credential_name(name: str) -> bool:
    """Whether what stands under that name is a credential, unless `is_count_name` and it is a number."""
    words = words_of(name)
    return bool(_PARTS_OF_NAMES.search(words) or _WORDS_OF_NAMES.search(words))


def is_count_name(name: str) -> bool:
    """Whether a number of that name counts tokens, as `prompt_tokens` does."""
    return bool(_COUNTS.search(words_of(name)))


_FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        # Keys that say by a prefix whose they are; where the prefix is a word as well, a digit has to follow.
        r"(?<![A-Za-z0-9])(?:sk|csk|gsk|pcsk|tvly|pplx|nvapi|glpat|glptt|pypi|whsec|lin_api|dop_v1)[-_][\w-]{8,}",
        r"(?<![A-Za-z0-9])(?:GOCSPX|github_pat|gh[oprsu]|lsv2|shp(?:at|ca|pa|ss)|xapp|xox[a-z])[-_][\w-]{8,}",
        r"(?<![A-Za-z0-9])(?:ak|fw|hf|key|npm|ntn|pa|pk|r8|rk|secret|xai)[-_](?=[A-Za-z_-]{0,100}+[0-9])[\w-]{8,}",
        r"(?<![A-Za-z0-9])(?:ABIA|ACCA|AIDA|AKIA|AROA|ASIA)[A-Z0-9]{12,}",
        r"(?<![A-Za-z0-9])AIza[\w-]{20,}",
        r"(?<![A-Za-z0-9])ya29\.[\w-]+",
        r"(?<![A-Za-z0-9])SG\.[\w-]{8,}\.[\w-]{8,}",
        r"(?<![A-Za-z0-9])[0-9]{6,20}:AA[\w-]{20,}",
        r"(?<![A-Za-z0-9])eyJ[\w-]{8,}(?:\.[\w-]*+){0,4}",  # a JSON web token, or a part of one
        r"(?s)-----BEGIN [A-Z0-9 ]*+-----.*?(?:-----END [A-Z0-9 ]*+-----|\Z)",
    )
)

# Credentials that are announced by the scheme of authentication, a header's name, or their place in a URL.
_BEARER = re.compile(r"(?i)(?<![a-z0-9])(bearer)(\s+|%20|\+)[^\s\"'<>,;\\]{4,}")
_SCHEME = re.compile(
    r"(?i)(?<![a-z0-9])(basic|bot|digest|negotiate|token)(\s+)(?=[a-z+/_.-]*+[0-9=])[^\s\"'<>,;\\]{8,}"
)
_BASE64 = re.compile(r"(?<![A-Za-z0-9])([Bb]asic)(\s+)(?=[A-Za-z]*?[a-z][A-Z])[A-Za-z0-9+/=_-]{8,}")
_HEADER = re.compile(
    r"(?im)(?<![a-z0-9])((?:proxy-)?authorization|(?:set-)?cookie)([\"'\\]*+\s*+[:=]\s*+)(?!b?\\*[\"'\[{(])\S[^\r\n]*"
)
_USER_INFO = re.compile(
    r"(?<=://)(?:[^\s/?#@\"'<>]{0,1000}+@|[^\s/?#@:\"'<>]{0,1000}+:[^\s@\"'<>]{0,1000}+@)(?:[^\s/?#@\"'<>]{0,1000}+@)*+"
)
_QUERY = re.compile(r"(?i)(?<=[?&])((?:code|key|sig)=)[^\s&#\"'<>]+")

# A name and what is set for it, as it stands in JSON, `repr`, headers, queries, environments; and in XML.
_ASSIGNMENT = re.compile(
    r"""(?:(?<![\w.-])|(?<=%[0-9A-Fa-f]{2}))(?P<name>[\w.-]++(?:[ ]\w++){0,2})"""
    r"""(?P<sign>\\*+["']?\s*+(?:=>|:=|:|=)\s*+|\\*+["']\s*+,\s*+(?=\\*+["'])|(?:%2[27])?%3[ADad](?:%20|\+|%2[27])*+)"""
    r"""(?P<value>b?(?P<quote>\\*+["'])|[\[{(]|(?:[^\s&]|&(?![\w.%-]{1,100}=))++)"""
)
_ELEMENT = re.compile(r"<(?P<name>[\w.:-]++)(?P<sign>[^<>]{0,300}+>)(?P<value>[^<]++)")
_LINE_BEGINS = re.compile(r"(?:\A|[\r\n])[\s>#-]*+(?:export\s+|set\s+)?\Z")


def conceal_credentials(text: str) -> str:
    """The text without what looks like a credential.

    Those are keys of known forms, and whatever is set under the name of a credential: in URLs, headers, environments,
    and in JSON, Python or XML that is part of the text.
    """
    if "://" in text:
        text = _QUERY.sub(rf"\1{REDACTED}", _USER_INFO.sub(f"{REDACTED}@", text))
    for form in _FORMS:
        text = form.sub(REDACTED, text)
    for announced in (_BEARER, _SCHEME, _BASE64, _HEADER):
        text = announced.sub(rf"\1\2{REDACTED}", text)
    if "<" in text:
        text = _ELEMENT.sub(_conceal_element, text)
    return "".join(_without_assigned(text))


def _conceal_element(match: re.Match[str]) -> str:
    return f"<{match['name']}{match['sign']}{REDACTED}" if is_credential_name(match["name"]) else match[0]


def _without_assigned(text: str) -> Iterator[str]:
    """The text piece by piece, without the values that are set under the names of credentials."""
    done = 0
    while match := _ASSIGNMENT.search(text, done):
        name, value, (start, end) = match["name"], match["value"], match.span("value")
        if not is_credential_name(name) or (is_count_name(name) and value.rstrip(",;.)]}").isdigit()):
            # What is set may itself begin with a name.
            yield text[done:start]
            done = start
            continue
        if match["quote"]:
            end = _end_of_quoted(text, end, match["quote"])
        elif value in ("[", "{", "("):
            end = _end_of_bracket(text, end)
        elif _LINE_BEGINS.search(text, max(0, match.start() - 20), match.start()):
            end = _end_of_line(text, end)
        yield text[done:start] + REDACTED
        done = end
    yield text[done:]


def _end_of_line(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _end_of_quoted(text: str, position: int, quote: str) -> int:
    """Where a quoted value ends: at the same quote, escaped as it is and no more; else at the end of the text."""
    closing = re.compile(r"(?<!\\)" + re.escape(quote))
    match = closing.search(text, position)
    return match.end() if match else len(text)


_BRACKET = re.compile(r"[\[{(\]})]")


def _end_of_bracket(text: str, position: int) -> int:
    """Where a value in brackets ends, or else the text."""
    depth = 1
    for match in _BRACKET.finditer(text, position):
        depth += 1 if match[0] in "[{(" else -1
        if depth == 0:
            return match.end()
    return len(text)
