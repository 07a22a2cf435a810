#!/usr/bin/env python3
"""`make man`: manual pages from the help of the executables.

Reads each executable's --experimental-dump-help and writes one page for it and one for each of its
commands, as man(7) source. Usage: man.py DIRECTORY EXECUTABLE…
"""

import json
import pathlib
import subprocess
import sys

PROGRAMS = {"cospool", "cospoold", "cospool-server"}

EXIT_CODES = [
    ("0", "Done."),
    ("1", "Refused: the message says why."),
    ("2", "Wrong usage."),
    ("3", "Authentication: wrong code, wrong or revoked token."),
    ("4", "The daemon or the server cannot be reached."),
    ("5", "Conflict: for example, the id is taken by another message."),
    ("6", "Corrupt data: the file was set aside."),
    ("7", "Disk full or failing: nothing was changed."),
    ("75", "Try again later."),
]


def escaped(text):
    """Escapes text so that roff prints it unchanged, even if a line begins with a control character."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    lines = text.split("\n")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in lines)


def names(argument):
    dashes = {"long": "--", "short": "-", "longWithSingleDash": "-"}
    return [dashes[name["kind"]] + name["name"] for name in argument.get("names") or []]


def value(argument):
    return f"\\fI{escaped(argument['valueName'])}\\fR"


def shown(arguments):
    return [argument for argument in arguments or [] if argument.get("shouldDisplay", True)]


def synopsis(command, path):
    words = [f"\\fB{escaped(' '.join(path))}\\fR"]
    for argument in shown(command.get("arguments")):
        if argument["kind"] == "positional":
            word = value(argument) + (" ..." if argument["isRepeating"] else "")
        else:
            word = f"\\fB{escaped(names(argument)[-1])}\\fR"
            if argument["kind"] == "option":
                word += " " + value(argument)
        words.append(f"[{word}]" if argument["isOptional"] else word)
    if subcommands(command):
        words.append("\\fIcommand\\fR")
    return " ".join(words)


def subcommands(command):
    return [
        sub
        for sub in command.get("subcommands") or []
        if sub["commandName"] != "help" and sub.get("shouldDisplay", True)
    ]


def description(command):
    """The discussion: blocks of examples stay unchanged, paragraphs are filled."""
    out = [".SH DESCRIPTION", escaped(command.get("abstract", ""))]
    for block in (command.get("discussion") or "").split("\n\n"):
        lines = [line for line in block.split("\n") if line.strip()]
        if lines and lines[0] == lines[0].upper() and lines[0].strip().isalpha():
            out += [f".SH {escaped(lines.pop(0))}"]
        elif lines:
            out += [".PP"]
        if lines and all(line.startswith("  ") for line in lines):
            out += [".nf", ".RS 2"] + [escaped(line[2:]) for line in lines] + [".RE", ".fi"]
        else:
            out += [escaped(line) for line in lines]
    return out


def options(command):
    out = []
    for argument in shown(command.get("arguments")):
        out.append(".TP")
        if argument["kind"] == "positional":
            out.append(value(argument))
        else:
            word = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names(argument))
            out.append(word + (" " + value(argument) if argument["kind"] == "option" else ""))
        text = argument.get("abstract") or ""
        default = argument.get("defaultValue")
        if default:
            text += f" Default: {default}."
        out.append(escaped(text) or "\\&")
    return [".SH OPTIONS"] + out if out else []


def page(command, path, version):
    title = "-".join(path)
    lines = [
        f'.TH "{escaped(title.upper())}" 1 "" "{escaped(version)}" "Cospool"',
        ".SH NAME",
        f"{escaped(title)} \\- {escaped(command.get('abstract', '').rstrip('.'))}",
        ".SH SYNOPSIS",
        synopsis(command, path),
    ]
    lines += description(command) + options(command)
    if subcommands(command):
        lines.append(".SH COMMANDS")
        for sub in subcommands(command):
            lines += [".TP", f"\\fB{escaped(' '.join(path + [sub['commandName']]))}\\fR"]
            lines.append(escaped(sub.get("abstract", "")))
    if len(path) == 1:
        lines.append(".SH EXIT STATUS")
        for code, meaning in EXIT_CODES:
            lines += [".TP", f"\\fB{code}\\fR", meaning]
    related = [path[:-1]] if len(path) > 1 else []
    related += [path + [sub["commandName"]] for sub in subcommands(command)]
    if related:
        lines.append(".SH SEE ALSO")
        pages = [f"\\fB{escaped('-'.join(other))}\\fR(1)" for other in related]
        lines.append(", ".join(pages))
    return "\n".join(lines) + "\n"


def write(directory, command, path, version):
    name = "-".join(path)
    count = 0
    # The page of `cospool server` would have the name of that of the program cospool-server, which is installed, too.
    if len(path) == 1 or name not in PROGRAMS:
        (directory / f"{name}.1").write_text(page(command, path, version))
        count = 1
    for sub in subcommands(command):
        count += write(directory, sub, path + [sub["commandName"]], version)
    return count


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: man.py DIRECTORY EXECUTABLE...")
    directory = pathlib.Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for executable in sys.argv[2:]:
        def run(argument):
            return subprocess.run([executable, argument], capture_output=True, text=True, check=True)

        tree = json.loads(run("--experimental-dump-help").stdout)["command"]
        version = run("--version").stdout.strip()
        count += write(directory, tree, [tree["commandName"]], version)
    print(f"{count} pages in {directory}; read one with: man {directory}/cospool.1")


main()
