"""The links of Markdown pages. The sources have relative links, which GitHub follows. DocC follows `doc:` links, so the site is built from a
translated copy. Scripts/translate-links and Scripts/check-names use this module.
"""
import functools
import re
import subprocess
import unicodedata
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
FENCE = r"^ *(?P<fence>```+|~~~+).*?(?:^ *(?P=fence)[`~]* *$|\Z)"
TOKEN = re.compile(
    rf"{FENCE}|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<mark>!?)\[(?P<text>(?:`[^`]*`|\\.|[^\[\]`])*)\]\((?P<target>[^()\s]+)\)|<doc:(?P<page>[^>\s]+)>", re.M | re.S)
IN_COMMENTS = re.compile(r'(?:<|\]\(|")doc:(?P<page>[^<>()"\s]+)')
DIRECTIVE = re.compile(r'@(?:Image|Video|Code)\([^)]*?(?:source|file): "([^"]+)"')


@functools.cache
def files():
    """The files that git has or would add, and their folders. Other files are not on GitHub."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    found = {ROOT / name for name in listed.stdout.decode().split("\0") if name}
    return {path for path in found if path.exists()} | {folder for path in found for folder in path.parents if folder.is_relative_to(ROOT)}


def plain(text):
    """The text that a reader sees."""
    return " ".join(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").split())


@functools.cache
def headings(path):
    text = re.sub(FENCE, "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [heading for _, heading in re.findall(r"^(#{1,6}) +(.*?)(?: +#+)? *$", text, re.M)]


def title(path):
    if path.suffix == ".tutorial":
        return re.search(r'@Intro\(title: "([^"]+)"', path.read_text(encoding="utf-8"))[1]
    return plain(headings(path)[0])


@functools.cache
def anchors(path):
    """The anchors that GitHub makes from the headings, each with its heading. It numbers the repetitions of a heading."""
    found, times = {}, {}
    for heading in headings(path):
        slug = re.sub(r"[^\w\- ]", "", plain(heading).lower()).replace(" ", "-")
        number = times[slug] = times.get(slug, -1) + 1
        found[f"{slug}-{number}" if number else slug] = heading
    return found


def docc_anchor(heading):
    """The anchor that DocC makes from a heading."""
    words = "-".join(part for part in re.split(r"[\s\-–—]+", plain(heading)) if part)
    return "".join(letter for letter in words if letter == "-" or not unicodedata.category(letter).startswith("P"))


def catalog(path):
    """The DocC catalog of a file."""
    return next((folder for folder in path.parents if folder.suffix == ".docc"), None)


def resolved(target, path):
    """The file and the anchor of a link in a page."""
    name, _, anchor = target.partition("#")
    return (path.parent / unquote(name)).resolve() if name else path, unquote(anchor)


def translate(text, path):
    """The text of a page of a catalog with the links of DocC. A link to a file outside of the catalogs becomes the path of the file."""
    topics = re.search(r"^## Topics$.*?(?=^## |\Z)", text, re.M | re.S)

    def translated(match):
        if not match["target"] or ":" in match["target"]:
            return match[0]
        target, anchor = resolved(match["target"], path)
        home = catalog(target)
        if target not in files() or anchor and target.suffix == ".md" and anchor not in anchors(target):
            return match[0]
        if match["mark"]:
            return f"![{match['text']}]({target.stem})" if home == catalog(path) else match[0]
        if not home or target.suffix not in (".md", ".tutorial"):
            name = target.relative_to(ROOT)
            return match["text"] if str(name) in match["text"] else f"{match['text']} (`{name}`)"
        module = home.parent.name
        page = target.stem if home == catalog(path) else f"/{module}" if target.stem == module else f"/{module}/{target.stem}"
        shown = title(target)
        if anchor and anchors(target)[anchor] != headings(target)[0]:  # DocC has no anchor for the title
            page, shown = f"{page}#{docc_anchor(anchors(target)[anchor])}", plain(anchors(target)[anchor])
        line = text[text.rfind("\n", 0, match.start()) + 1:text.find("\n", match.end())]
        # DocC refuses a text in a list of topics.
        is_topic = topics and topics.start() < match.start() < topics.end() and line[:2] in ("- ", "* ") and line[2:].rstrip() == match[0]
        return f"<doc:{page}>" if is_topic or plain(match["text"]) == shown else f"[{match['text']}](doc:{page})"

    return TOKEN.sub(translated, text)


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def doc_page(match):
    """The page of a `doc:` link."""
    target = match.groupdict().get("target") or ""
    return match["page"] or (target[4:] if target.startswith("doc:") else None)


def has_page(page, path):
    """Whether DocC finds a page from a file of a module."""
    name, _, anchor = unquote(page).partition("#")
    parts = path.relative_to(ROOT).parts
    module, name = name[1:].partition("/")[::2] if name.startswith("/") else (parts[1] if parts[0] == "Sources" else "", name)
    home = ROOT / f"Sources/{module}/Documentation.docc"
    name = name or module
    for target in (home / f"{name}.md", home / f"Tutorials/{name}.tutorial"):
        if target in files():
            return not anchor or target.suffix == ".md" and anchor in map(docc_anchor, headings(target)[1:])
    return False


def has_picture(name, path):
    """Whether DocC finds a picture or a file of a tutorial. It does not need the folder and the ending."""
    return any(file.name == name or file.stem == name for file in files() if catalog(path) in file.parents)


def page_problems(text, path):
    """(line, problem) of the links of a Markdown page, as GitHub and as DocC follow them."""
    for match in TOKEN.finditer(text):
        target, page, number = match["target"], doc_page(match), line_of(text, match)
        if page:
            name, _, section = page.partition("#")
            yield number, f"GitHub does not follow doc:{page}: write [title of the page]({name}.md{'#section' if section else ''})"
        elif target and not re.match(r"[a-z]+:", target):
            file, anchor = resolved(target, path)
            if file not in files():
                yield number, f"there is no such {'picture' if match['mark'] else 'file'}: {target}"
            elif anchor and file.suffix == ".md" and anchor not in anchors(file):
                yield number, f"there is no such heading: {target}"
    if catalog(path):
        translated = translate(text, path)
        yield from module_problems(translated, path)
        for match in TOKEN.finditer(translated):
            if match["mark"] and ":" not in match["target"] and not has_picture(match["target"], path):
                yield line_of(translated, match), f"DocC does not find the picture {match['target']}"


def module_problems(text, path):
    """(line, problem) of the `doc:` links and the files of directives in a text that DocC reads: a page, a tutorial or doc comments."""
    for match in (TOKEN if path.suffix == ".md" else IN_COMMENTS).finditer(text):
        page = doc_page(match)
        if page and not has_page(page, path):
            yield line_of(text, match), f"DocC does not find doc:{page}"
    for match in DIRECTIVE.finditer(text) if path.suffix != ".swift" else ():
        if not has_picture(match[1], path):
            yield line_of(text, match), f"DocC does not find the file {match[1]}"


def broken_links():
    """(file, line, problem) of all links in pages, tutorials and doc comments."""
    for path in sorted(files()):
        if path.suffix == ".md":
            problems = page_problems(path.read_text(encoding="utf-8"), path)
        elif path.suffix == ".tutorial":
            problems = module_problems(path.read_text(encoding="utf-8"), path)
        elif path.suffix == ".swift" and path.is_relative_to(ROOT / "Sources") and not catalog(path):
            comments = (line if line.lstrip().startswith("///") else "" for line in path.read_text(encoding="utf-8").splitlines())
            problems = module_problems("\n".join(comments), path)
        else:
            continue
        for number, problem in problems:
            yield path.relative_to(ROOT), number, problem


def copy_translated():
    """Copies the package with the links of DocC to a folder, and returns it. Writes only files that differ, so that the next build is short."""
    folder, kept = ROOT / ".build/check/documentation-source", set()
    for source in sorted(files()):
        target = folder / source.relative_to(ROOT)
        if source.is_dir() and not source.is_symlink():
            continue
        kept.add(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if not target.is_symlink() or target.readlink() != source.readlink():
                target.unlink(missing_ok=True)
                target.symlink_to(source.readlink())
            continue
        content = source.read_bytes()
        if source.suffix == ".md" and catalog(source):
            content = translate(content.decode(), source).encode()
        if not target.is_file() or target.read_bytes() != content:
            target.write_bytes(content)
            target.chmod(source.stat().st_mode)
    # The copy has separate pins of packages, because it has one package more. They begin with those of the package.
    pins = folder / "Package.resolved"
    if (ROOT / pins.name).exists() and not pins.exists():
        pins.write_bytes((ROOT / pins.name).read_bytes())
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_symlink() or path.is_file():
            if path not in kept and path != pins:
                path.unlink()
        elif not any(path.iterdir()):
            path.rmdir()
    return folder
