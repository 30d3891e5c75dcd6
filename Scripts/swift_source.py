"""Reads Swift source as text. Finds the names that a file declares and uses, outside of comments and string literals."""
import re

TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}
MODIFIERS = set("""public package internal private fileprivate open final static class indirect nonisolated mutating nonmutating
    override required convenience lazy weak unowned async prefix postfix infix isolated distributed borrowing consuming dynamic""".split())
HIDDEN, EXPORTED = {"private", "fileprivate"}, {"public", "package", "open"}
TOKEN = re.compile(r"""(?P<space>\s+)|(?P<comment>//[^\n]*|/\*)|(?P<string>\#*"{3}|\#*")|(?P<name>`[^`\n]+`|[@\#]?[^\W\d]\w*)
    |(?P<number>\$\d+|\d\w*(?:\.\d\w*)?)|(?P<other>->|.)""", re.X | re.S)


def tokens(text, at=0, nested=False):
    """Returns the tokens from a position: (text, offset, whether a space precedes it). With `nested`, stops at the parenthesis that ends an
    interpolation, and returns the position after it, too."""
    result, depth, spaced = [], 0, True
    while at < len(text):
        match = TOKEN.match(text, at)
        at, kind, word = match.end(), match.lastgroup, match.group()
        if kind == "comment" and word == "/*":
            level = 1
            while level and at < len(text):
                level += {"/*": 1, "*/": -1}.get(text[at : at + 2], 0)
                at += 2 if text[at : at + 2] in ("/*", "*/") else 1
        elif kind == "string":
            fence, quote = word.count("#"), word.lstrip("#")
            result.append(('""', at, spaced))
            escape, end = "\\" + "#" * fence, quote + "#" * fence
            while at < len(text) and not text.startswith(end, at):
                if text.startswith(escape + "(", at):
                    inner, at = tokens(text, at + len(escape) + 1, nested=True)
                    result += [("(", at, False)] + inner + [(")", at, False)]
                elif text.startswith(escape, at):
                    at += len(escape) + 1
                elif text[at] == "\n" and quote == '"':
                    break
                else:
                    at += 1
            at += len(end)
        elif kind in ("name", "number", "other"):
            depth += {"(": 1, ")": -1}.get(word, 0)
            if nested and depth < 0:
                return result, at
            result.append((word.strip("`"), match.start(), spaced))
        spaced = kind in ("space", "comment")
    return (result, at) if nested else result


class Scope:
    """A type, an extension or code between braces. `bound` has the names of its values and generic parameters."""

    def __init__(self, kind, path=None, modifiers=frozenset()):
        self.kind, self.path, self.modifiers, self.bound = kind, path, modifiers, set()


class File:
    """The declarations of one file and the names that it uses, each with its scopes."""

    def __init__(self, path, folder):
        self.path, self.folder, self.declared, self.used, self.generic_types, self.stored = path, folder, [], [], [], []
        self.keyword = {}
        self.text = path.read_text()
        self.words = tokens(self.text)
        self.read()

    def word(self, index):
        return self.words[index][0] if 0 <= index < len(self.words) else ""

    def modifiers(self, index):
        """Returns the modifiers before the keyword at an index; `private(set)` is not one."""
        found, index = set(), index - 1
        while index >= 0:
            word = self.word(index)
            if word == ")":
                while index >= 0 and self.word(index) != "(":
                    index -= 1
            elif word not in MODIFIERS and not word.startswith("@"):
                break
            elif self.word(index + 1) != "(":
                found.add(word)
            index -= 1
        return found

    def labels(self, index, declared=False):
        """Returns the labels in the parentheses that open at an index, of a call or a declaration, and the index of their end."""
        found, depth = [], 0
        while index < len(self.words):
            word = self.word(index)
            depth += (word in "([{") - (word in ")]}") if len(word) == 1 else 0
            if depth == 0:
                break
            if depth == 1 and word in "(," and re.match(r"[^\W\d]", self.word(index + 1)):
                if self.word(index + 2) == ":" or (declared and re.match(r"\w", self.word(index + 2))):
                    found.append(self.word(index + 1))
            index += 1
        return [label for label in found if label != "_"], index

    def generics(self, index):
        """Returns the generic parameters in the angle brackets at an index, and the index after them."""
        found, depth = set(), 0
        while index < len(self.words) and (self.word(index) == "<" or depth):
            if depth == 1 and self.word(index) not in (",", ">") and self.word(index - 1) in ("<", ",", "each", "let"):
                found.add(self.word(index))
            depth += {"<": 1, ">": -1}.get(self.word(index), 0)
            index += 1
        return found, index

    def before_generics(self, index):
        """Returns the index of the name before the generic arguments that end at an index; the index itself if none end there."""
        depth = 0
        while index >= 0 and (self.word(index) == ">" or depth):
            depth += {">": 1, "<": -1}.get(self.word(index), 0)
            index -= 1
        return index

    def declare(self, kind, name, index, stack, labels=()):
        scope, modifiers = stack[-1], self.modifiers(index)
        private = bool(modifiers & HIDDEN) or any(each.modifiers & HIDDEN for each in stack)
        exported = bool((modifiers | scope.modifiers) & EXPORTED) or scope.kind in ("protocol", "enum")
        if scope.kind == "code":
            scope.bound.add(name)
        else:
            path = [each.path for each in stack if each.path]
            self.declared.append((kind, name, path, scope.kind, private, exported, labels))
            if kind == "value" and scope.kind in ("struct", "class", "actor") and "static" not in modifiers:
                self.store(".".join(path), name, index)

    def store(self, owner, name, index):
        """Notes a stored property and the names in its type or first value. Without a type, a property in braces is computed."""
        end, depth, types = index + 2, 0, []
        line = self.text.count("\n", 0, self.words[index][1])
        while end < len(self.words):
            word, offset, _ = self.words[end]
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word, 0)
            if depth < 0 or (depth == 0 and self.text.count("\n", 0, offset) > line):
                break
            if word == "{" and depth == 1:
                return
            if re.match(r"[A-Z]", word):
                # The name of a nested type follows that of its outer type.
                if types and self.word(end - 1) == "." and self.word(end - 2) == types[-1].split(".")[-1]:
                    types[-1] += f".{word}"
                else:
                    types.append(word)
            end += 1
        self.stored.append((owner, name, types))

    def read(self):
        stack, pending, depth = [Scope("file")], None, 0
        for index, (word, _, spaced) in enumerate(self.words):
            following, before = self.word(index + 1), self.word(index - 1)
            depth += {"(": 1, ")": -1, "[": 1, "]": -1}.get(word, 0)
            is_name = re.match(r"[^\W\d]", following) is not None
            if word == "{":
                opened = pending[0] if pending and pending[1] == depth else Scope("code")
                pending = None if pending and pending[1] == depth else pending
                line = [each for each, _, _ in self.words[index + 1 : index + 24]]
                if "in" in line and "{" not in line[: line.index("in")]:
                    opened.bound |= {each for each in line[: line.index("in")] if each[0].islower()}
                stack.append(opened)
            elif word == "}":
                pending = None
                if len(stack) > 1:
                    stack.pop()
            elif before == "." or not re.match(r"\w", word):
                pass
            elif word in TYPES and is_name and following not in MODIFIERS | {"func", "var", "let"} and (spaced or word != "class"):
                end = index + 1
                while self.word(end + 1) == "." and word == "extension":
                    end += 2
                path = "".join(each for each, _, _ in self.words[index + 1 : end + 1])
                scope = Scope("extension" if word == "extension" else word, path, self.modifiers(index) if word == "extension" else set())
                scope.bound |= self.generics(end + 1)[0]
                if word != "extension":
                    self.declare("type", path, index, stack)
                    self.keyword[".".join([each.path for each in stack if each.path] + [path])] = word
                    self.generic_types.append((path, scope.bound))
                pending = (scope, depth)
            elif word in ("typealias", "associatedtype") and is_name:
                self.declare("type", following, index, stack)
            elif word in ("func", "init", "subscript") and (word != "func" or is_name) and (word == "func" or before not in ("super", "self")):
                generics, opening = self.generics(index + (2 if word == "func" else 1 + (following in "?!")))
                labels, end = self.labels(opening, declared=True) if self.word(opening) == "(" else ([], opening)
                scope = Scope("code")
                scope.bound |= generics | {self.word(each - 1) for each in range(opening, end) if self.word(each) == ":"}
                self.declare("function", following if word == "func" else word, index, stack, tuple(labels))
                pending = (scope, depth)
            elif word in ("var", "let") and is_name:
                self.declare("value", following, index, stack)
                pending = None
            elif word == "for" and is_name:
                stack[-1].bound.add(following)
            elif word == "case" and stack[-1].kind == "enum" and is_name:
                self.declare("value", following, index, stack)
            if re.match(r"[^\W\d]", word) and before not in TYPES | {"func", "var", "let", "case", "typealias", "associatedtype", "import"}:
                label = following == ":" and not self.words[index + 1][2]
                self.used.append((index, word, stack[:] + ([pending[0]] if pending else []), label))
            elif before == "extension":
                self.used.append((index, word, stack[:], False))
