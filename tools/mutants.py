"""The mutants of a C++ source: tokens, enough structure to separate code from what stays as it is, and the changes.

tools/mutate.py runs them. The source is formatted by clang-format, which gives binary operators white space on both
sides and brackets of templates, pointers and signs none: so they are distinguished.
"""

import bisect
import dataclasses
import hashlib
import re

# ---- tokens ----

TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>//(?:\\\n|[^\n])*|/\*.*?\*/)
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark_of_raw>[^()\\\s]{0,16})\(.*?\)(?P=mark_of_raw)")
    |(?P<string>(?:u8|[uUL])?"(?:\\.|[^"\\\n])*")
    |(?P<char>(?:u8|[uUL])?'(?:\\.|[^'\\\n])+')
    |(?P<number>\.?\d(?:[eEpP][+-]|'?\w|\.)*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign><=>|<<=|>>=|->\*|\.\.\.|\#\#|::|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.X | re.S,
)


@dataclasses.dataclass
class Token:
    kind: str  # name, number, string, char or sign
    text: str
    start: int
    end: int
    spaced: bool  # white space on both sides, as clang-format gives binary operators


def tokens_of(source):
    """Without white space, comments and lines of the preprocessor."""
    tokens, at = [], 0
    while at < len(source):
        match = TOKEN.match(source, at)
        kind, end = match.lastgroup, match.end()
        if kind == "mark_of_raw":
            kind = "raw"
        if match.group() == "#" and not source[source.rfind("\n", 0, at) + 1 : at].strip():
            end = re.compile(r"(?:\\\n|[^\n])*").match(source, at).end()
        elif kind not in ("space", "comment"):
            spaced = source[at - 1 : at].isspace() and source[end : end + 1].isspace()
            tokens.append(Token("string" if kind == "raw" else kind, match.group(), at, end, spaced))
        at = end
    return tokens


# ---- structure ----

KEYWORDS = set(
    "alignas alignof asm auto break case catch class const constexpr consteval constinit continue decltype default "
    "delete do else enum explicit extern for friend goto if inline mutable namespace new noexcept operator private "
    "protected public requires return sizeof static static_assert struct switch template thread_local throw try "
    "typedef typename union using virtual volatile while".split()
)
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Code:
    """The tokens of a file: which brackets belong together, what is a body of a function, what is left alone."""

    def __init__(self, source):
        self.tokens = tokens_of(source)
        self.match = self._match()
        self.angles = self._angles()
        self.left_alone = self._left_alone()
        self.in_body, self.statement_level = self._scopes()

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def kind(self, i):
        return self.tokens[i].kind if 0 <= i < len(self.tokens) else ""

    def is_name(self, i):
        return self.kind(i) == "name" and self.text(i) not in KEYWORDS

    def binary(self, i):
        """Operators have white space on both sides; brackets of templates, pointers and signs do not."""
        return self.tokens[i].spaced and self.text(i - 1) not in ("template", "operator")

    def _match(self):
        match, open_ones = {}, []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in CLOSING:
                open_ones.append(i)
            elif token.text in CLOSING.values() and open_ones:
                match[open_ones[-1]] = i
                match[i] = open_ones.pop()
        return match

    def _angles(self):
        """The first and last token of each template argument list."""
        found, open_ones = [], []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text == "<" and (not token.spaced or self.text(i - 1) == "template"):
                open_ones.append(i)
            elif token.text in (";", "{", "}"):
                open_ones.clear()
            elif token.text in (">", ">>") and not token.spaced:
                for _ in token.text:
                    if open_ones:
                        found.append((open_ones.pop(), i))
        return found

    def _until(self, i, ends):
        """The first token from i on with one of these texts, outside of brackets that open after i."""
        while i < len(self.tokens) and self.text(i) not in ends:
            i = self.match.get(i, i) + 1 if self.text(i) in CLOSING else i + 1
        return i

    def _left_alone(self):
        left = set()
        for first, last in self.angles:
            left.update(range(first, last + 1))
        for i, token in enumerate(self.tokens):
            if token.kind == "name" and token.text in ("static_assert", "decltype", "noexcept", "alignas"):
                left.update(range(i, self.match.get(i + 1, i) + 1))
            elif token.kind == "name" and token.text in ("using", "typedef"):
                left.update(range(i, self._until(i, (";",)) + 1))
            elif token.kind == "name" and token.text == "enum":
                body = self._until(i, ("{", ";"))
                left.update(range(i, self.match.get(body, i) + 1))
            elif token.kind == "name" and token.text == "case":
                left.update(range(i, self._until(i, (":", ";")) + 1))
            elif token.text == "[" and self.text(i + 1) == "[":
                left.update(range(i, self.match.get(i, i) + 1))
            elif token.text == "0" and self.text(i - 1) == "=" and self.text(i + 1) == ";":
                if self.text(i - 2) in (")", "const", "override", "noexcept"):  # a pure virtual function
                    left.add(i)
        return left

    def _brace(self, i, inside):
        """What an opening brace begins: body, type (or namespace) or list of values."""
        before = self.text(i - 1)
        if before in ("=", "(", ",", "return", "[") or (before in ("{", "}", ";", ":") and inside in ("(", "[", "list")):
            return "list"
        start = i - 1
        while start >= 0 and self.text(start) not in (";", "{", "}"):
            start = self.match.get(start, start) - 1 if self.text(start) in (")", "]") else start - 1
        head = [self.text(k) for k in range(start + 1, i)]
        if "namespace" in head or before == '"C"':
            return "type"
        if any(word in head for word in ("class", "struct", "union", "enum")) and before != ")":
            return "type"
        ends = (")", "]", ":", "const", "noexcept", "override", "final", "mutable", "else", "do", "try")
        return "body" if before in ends or not head or "->" in head else "list"

    def _scopes(self):
        """For each token whether it is in a body, and whether it is in one outside of further brackets."""
        in_body, level, stack = [], [], []
        self.closes_body = set()
        for i, token in enumerate(self.tokens):
            if token.kind == "sign" and token.text in CLOSING.values() and stack:
                if stack.pop() == "body":
                    self.closes_body.add(i)
            in_body.append("body" in stack)
            level.append(bool(stack) and stack[-1] == "body")
            if token.kind == "sign" and token.text in CLOSING:
                stack.append(self._brace(i, stack[-1] if stack else "") if token.text == "{" else token.text)
        return in_body, level

    def statements(self):
        """The first and last token of each statement that may be an expression, in bodies."""
        for i in range(1, len(self.tokens)):
            if not self.statement_level[i] or i in self.left_alone:
                continue
            before = self.text(i - 1)
            if before == ")":
                control = self.text(self.match.get(i - 1, 0) - 1)
                starts = control in ("if", "for", "while", "constexpr")
            elif before == ":":
                starts = i - 1 in self.left_alone or self.text(i - 2) == "default"
            else:
                starts = before in (";", "{", "else", "do") or i - 1 in self.closes_body
            if starts:
                yield i, self._until(i, (";", "}"))

    def is_expression(self, first, last):
        """Whether tokens first to last, which is a semicolon, are a call or an assignment and no declaration."""
        starts = self.is_name(first) or self.text(first) in ("*", "++", "--", "::")
        if not starts or self.text(last) != ";":
            return False
        i = first
        while i < last and self.text(i) not in ASSIGNMENTS:
            attached = i > first and not self.tokens[i].spaced
            type_end = any(i == end for _, end in self.angles) or (self.text(i) in ("*", "&", "&&") and attached)
            if (self.is_name(i) or type_end) and self.is_name(i + 1):
                return False
            if self.text(i) in KEYWORDS:
                return False
            i = self.match.get(i, i) + 1 if self.text(i) in CLOSING else i + 1
        return i < last or self.text(last - 1) in (")", "++", "--") or self.text(first) in ("++", "--")

    def arguments(self, i):
        """The arguments of a call whose opening bracket is token i, as pairs of first and last token."""
        end, parts, first = self.match.get(i, i), [], i + 1
        k = first
        while k < end:
            k = self._until(k, (",", ")"))
            if any(a < k < b for a, b in self.angles):  # a comma between template arguments
                k += 1
                continue
            parts.append((first, k - 1))
            first = k = k + 1
        return parts


# ---- mutants ----

RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
LOGIC = {"&&": "||", "||": "&&"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # relative to the tree
    kind: str  # relation, arithmetic, constant, condition, statement or arguments
    start: int
    end: int
    text: str  # in place of the characters from start to end
    line: int
    before: str  # the line, and the line as it is changed (further lines follow where it spans several)
    after: str

    @property
    def id(self):
        key = f"{self.file}\0{self.kind}\0{self.start}\0{self.end}\0{self.text}"
        return hashlib.sha256(key.encode()).hexdigest()[:16]


def next_number(text):
    """The literal plus one, or None where it has no plain form."""
    digits = text.replace("'", "")
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)([uUlLzZ]*)", digits)
    if match:
        value, suffix = match.groups()
        if value[:2] in ("0x", "0X"):
            return hex(int(value, 16) + 1) + suffix
        if value[:2] in ("0b", "0B"):
            return bin(int(value, 2) + 1) + suffix
        if len(value) > 1 and value[0] == "0":
            return None if re.search("[89]", value) else "0" + oct(int(value, 8) + 1)[2:] + suffix
        return str(int(value) + 1) + suffix
    match = re.fullmatch(r"(\d*\.?\d*(?:[eE][+-]?\d+)?)([fFlL]?)", digits)
    if not match or not match.group(1):
        return None
    larger = repr(float(match.group(1)) + 1)
    return None if float(larger) == float(match.group(1)) else larger + match.group(2)


def changes_of(source):
    """(kind, first character, end, replacement) of every mutant."""
    code = Code(source)
    tokens = code.tokens

    def text_between(first, last):
        return source[tokens[first].start : tokens[last].end]

    for i, token in enumerate(tokens):
        if i in code.left_alone:
            continue
        if token.kind == "sign" and code.binary(i):
            strings = "string" in (code.kind(i - 1), code.kind(i + 1))
            for kind, table in (("relation", RELATIONS), ("arithmetic", ARITHMETIC), ("condition", LOGIC)):
                if token.text in table and not (token.text == "+" and strings):
                    yield kind, token.start, token.end, table[token.text]
        elif token.kind == "number" and next_number(token.text):
            yield "constant", token.start, token.end, next_number(token.text)
        elif token.text in ("if", "while") and code.text(i + 1) == "(":
            first, last = i + 2, code.match.get(i + 1, i + 2) - 1
            while True:  # behind what is declared before the condition
                semicolon = code._until(first, (";", ")"))
                if semicolon > last:
                    break
                first = semicolon + 1
            if first <= last and code._until(first, ("=", ")")) > last:
                yield "condition", tokens[first].start, tokens[last].end, f"!({text_between(first, last)})"
        elif token.text == "(" and code.in_body[i] and not unordered(code.text(i - 1)):
            called = code.is_name(i - 1) or any(i - 1 == last for _, last in code.angles)
            parts = code.arguments(i) if called else []
            for (a, b), (c, d) in zip(parts, parts[1:]):
                first, second = text_between(a, b), text_between(c, d)
                if first != second and alike(code, (a, b), (c, d)):
                    between = source[tokens[b].end : tokens[c].start]
                    yield "arguments", tokens[a].start, tokens[d].end, second + between + first
    for first, last in code.statements():
        text = text_between(first, last) if last < len(tokens) else ""
        if text.count("\n") < 4 and text and code.is_expression(first, last):
            yield "statement", tokens[first].start, tokens[last].end, "{}"


def unordered(name):
    """No function, or one whose arguments may be swapped: equal means, or the words of an error."""
    return name in KEYWORDS or name in ("min", "max", "swap") or "fail" in name


def alike(code, one, other):
    """Whether two arguments have the same form: names, members and calls of them, or numbers."""

    def form(first, last):
        words = []
        for i in range(first, last + 1):
            kind = code.kind(i)
            words.append(kind if kind in ("name", "number") else code.text(i))
        return words

    first, second = form(*one), form(*other)
    plain = all(word in ("name", "number", ".", "->", "::", "(", ")") for word in first)
    declares = any(a == b == "name" for a, b in zip(first, first[1:]))
    return first == second and plain and not declares and 0 < len(first) <= 7


def mutants_of(source, file):
    """Every mutant of a file, in the order of its text."""
    starts = [0] + [match.end() for match in re.finditer("\n", source)]
    found = []
    for kind, start, end, text in changes_of(source):
        line = bisect.bisect_right(starts, start)
        first = starts[line - 1]
        stop = source.find("\n", end)
        stop = len(source) if stop < 0 else stop
        before, after = source[first:stop], source[first:start] + text + source[end:stop]
        found.append(Mutant(file, kind, start, end, text, line, before, after))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.kind, mutant.text))


def sample(mutants, number, seed):
    """`number` of them (0: all), the same for the same seed. A larger sample holds the smaller ones."""
    order = sorted(mutants, key=lambda one: hashlib.sha256(f"{seed}\0{one.id}".encode()).digest())
    return order[: number or None]
