"""What looks like a credential, wherever in a text it stands: keys by their form, values by the names they have.

Concealing too much costs a word of a trace, concealing too little costs a key: doubtful cases are concealed. And as
texts may be anybody's, all of it takes time linear in the text.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

REDACTED = "[REDACTED]"
"""What stands in the place of everything that is not shown."""

_PARTS_OF_NAMES = re.compile(
    r"api_?key|(access|account|auth|client|encryption|host|license|master|private|secret|service|session|shared|signing|"
    r"ssh|storage|subscription)_?key|passw|passphrase|passcode|secret|credential|authoriz|authentic|bearer|cookie|csrf|"
    r"xsrf|connection_?string|session_?id|signature|token(?!i[sz])|mnemonic|seed_?phrase|(db|user)_?pass(?![a-z])"
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


_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt]))"
"""Where a word begins, also one behind a line break that is escaped."""

_LONG_WORD = re.compile(r"(\\[bfnrt]|\\u[0-9A-Fa-f]{4})?([\w.:-]{10,})")
_FORMS = re.compile(
    r"""(?x)(?<![A-Za-z0-9])(?:
        # Keys that say by a prefix whose they are; where the prefix is a word as well, a digit has to follow.
        (?:sk|csk|gsk|pcsk|tvly|pplx|nvapi|glpat|glptt|pypi|whsec|lin_api|dop_v1)[-_][\w-]{8,}
        | (?:GOCSPX|github_pat|gh[oprsu]|lsv2|shp(?:at|ca|pa|ss)|xapp|xox[a-z])[-_][\w-]{8,}
        | (?:ak|fw|hf|key|npm|ntn|pa|pk|r8|rk|secret|xai)[-_](?=[A-Za-z_-]{0,100}+[0-9])[\w-]{8,}
        | (?:ABIA|ACCA|AIDA|AKIA|AROA|ASIA)[A-Z0-9]{12,}
        | AIza[\w-]{20,}
        | ya29\.[\w-]+
        | SG\.[\w-]{8,}\.[\w-]{8,}
        | [0-9]{6,20}:AA[\w-]{20,}
        | eyJ[\w-]{8,}(?:\.[\w-]*+){0,4}  # a JSON web token, or a part of one
    )"""
)
_PEM = re.compile(r"(?s)-----BEGIN [A-Z0-9 ]*+-----.*?(?:-----END [A-Z0-9 ]*+-----|\Z)")

# Credentials that are announced by a scheme of authentication, a header's name, or their place in a URL.
_BEARER = re.compile(rf"(?i){_BEGINS}(bearer)(\s++|%20|\+)[^\s\"'<>,;\\]{{4,}}")
_SCHEME = re.compile(
    rf"(?i){_BEGINS}(basic|bot|digest|negotiate|token)(\s++)(?=[a-z+/_.-]*+[0-9=])[^\s\"'<>,;\\]{{8,}}"
)
_BASE64 = re.compile(rf"{_BEGINS}([Bb]asic)(\s++)(?=[A-Za-z]*?[a-z][A-Z])[A-Za-z0-9+/=_-]{{8,}}")
_HEADER = re.compile(rf"(?im){_BEGINS}(authorization|cookie)([\"'\\]*+\s*+[:=]\s*+)(?!b?\\*[\"'\[{{(])\S[^\r\n]*")
_ANNOUNCED = (
    (_BEARER, ("bearer",)),
    (_SCHEME, ("basic", "bot", "digest", "negotiate", "token")),
    (_BASE64, ("basic",)),
    (_HEADER, ("authorization", "cookie")),
)
_QUERY = re.compile(r"(?i)(?<=[?&])((?:code|key|sig)=)[^\s&#\"'<>]+")
_WITHOUT_SPACE = re.compile(r"[^\s\"'<>]{0,1000}")

# A name and what is set for it, as it stands in JSON, `repr`, headers, queries, environments; and in XML.
_SIGN = re.compile(r"=>|:=|[:=]|%3[ADad]|(?<=[\"']),(?=\s*+\\*+[\"'])")
_VALUE = re.compile(
    r"(?:\s|%2[027]|\+)*+(?:b?(?P<quote>\\*+[\"'])|(?P<bracket>[\[{(])|(?:[^\s&]|&(?![\w.%-]{1,100}=))++)?+"
)
_NAME_BACKWARDS = re.compile(r"[\w.-]++(?: [\w.-]++){0,2}")
_ESCAPE = re.compile(r"\\+(?:u([0-9A-Fa-f]{4})|[bfnrt])")
_LONGEST_NAME = 100
_ELEMENT = re.compile(r"<([\w.:-]++)([^<>]{0,300}+>)([^<]++)")
_LINE_BEGINS = re.compile(r"(?:\A|[\r\n])[\s>#-]*+(?:export\s+|set\s+)?[\w.-]*+\s*\Z")
_QUOTE = re.compile(r"\\*+[\"']")
_QUOTE_OR_BRACKET = re.compile(r"(?P<quote>\\*+[\"'])|[\[{(\]})]")


def conceal_credentials(text: str) -> str:
    """The text without what looks like a credential.

    Those are keys of known forms, and whatever is set under the name of a credential: in URLs, headers, environments,
    and in JSON, Python or XML that is part of the text.
    """
    lower = text.lower()
    if "://" in text:
        text = _QUERY.sub(rf"\1{REDACTED}", "://".join(_without_user_info(text)))
    if "-----BEGIN" in text:
        text = _PEM.sub(REDACTED, text)
    text = _LONG_WORD.sub(lambda word: (word[1] or "") + _FORMS.sub(REDACTED, word[2]), text)
    for announced, words in _ANNOUNCED:
        if any(word in lower for word in words):
            text = announced.sub(rf"\1\2{REDACTED}", text)
    if "<" in text:
        text = _ELEMENT.sub(_conceal_element, text)
    return "".join(_without_assigned(text))


def _without_user_info(text: str) -> Iterator[str]:
    """The pieces between `://`, without the user and the password that a URL has there."""
    first, *others = text.split("://")
    yield first
    for piece in others:
        user_info, at, _ = _WITHOUT_SPACE.match(piece)[0].rpartition("@")  # type: ignore[index]  # it always matches
        # A password may hold an unescaped slash; an `@` in a path follows no user.
        if at and (":" in user_info.partition("/")[0] or not re.search("[/?#]", user_info)):
            piece = REDACTED + piece[len(user_info) :]
        yield piece


def _conceal_element(match: re.Match[str]) -> str:
    return f"<{match[1]}{match[2]}{REDACTED}" if is_credential_name(match[1]) else match[0]


def _without_assigned(text: str) -> Iterator[str]:
    """The text piece by piece, without the values that are set under the names of credentials."""
    done = position = 0
    while sign := _SIGN.search(text, position):
        position = sign.end()
        name = _name_before(text, sign.start())
        if not is_credential_name(name):
            continue
        value = _VALUE.match(text, position)
        if value is None or value.end() == position or _is_count(name, value[0]):
            continue
        yield text[done:position] + REDACTED
        done = position = _end_of_value(text, sign, value)
    yield text[done:]


def _name_before(text: str, position: int) -> str:
    """The last words before a sign; a name may consist of several, as in `API key: ...`."""
    before = text[max(0, position - _LONGEST_NAME) : position]
    if "%" in before:
        before = unquote(before)
    if "\\" in before:
        before = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)) if escape[1] else " ", before)
    words = _NAME_BACKWARDS.match(before.rstrip("\"' \t\\")[::-1])
    return words[0][::-1] if words else ""


def _is_count(name: str, value: str) -> bool:
    return is_count_name(name) and value.strip(" ,;.)]}").isdigit()


def _end_of_value(text: str, sign: re.Match[str], value: re.Match[str]) -> int:
    if value["quote"]:
        return _end_of_quoted(text, value.end(), value["quote"])
    if value["bracket"]:
        return _end_of_brackets(text, value.end())
    if _LINE_BEGINS.search(text, max(0, sign.start() - _LONGEST_NAME), sign.start()):
        # A setting on a line of its own may consist of several words.
        end = text.find("\n", value.end())
        return len(text) if end < 0 else end
    return value.end()


def _end_of_quoted(text: str, position: int, opening: str) -> int:
    """Where a text in quotes ends: at the same quote, escaped as often as the opening one."""
    level = len(opening) - 1
    for quote in _QUOTE.finditer(text, position):
        # With each level of escaping, a backslash of the text itself has become twice as many.
        if quote[0][-1] == opening[-1] and (len(quote[0]) - 1) % (2 * level + 2) == level:
            return quote.end()
    return len(text)


def _end_of_brackets(text: str, position: int) -> int:
    depth = 1
    while depth and (token := _QUOTE_OR_BRACKET.search(text, position)):
        position = token.end()
        if token["quote"]:
            position = _end_of_quoted(text, position, token["quote"])
        else:
            depth += 1 if token[0] in "[{(" else -1
    return position if depth == 0 else len(text)
