"""The configuration file: a TOML table per command, whose keys are the names of its options and arguments."""

from pathlib import Path
from typing import Any

from kernelease.errors import ParameterError, nearest
from kernelease.strangers import parse_toml, read_text
from kernelease.table.toml import locate

_NOT_FOR_FILES = ("help", "config", "version", "install_completion", "show_completion")


def read_config(path: Path, group: Any) -> dict[str, Any]:
    """Defaults for the commands of a group, by parameter name. An unknown key is an error that suggests a known one."""
    try:
        text = read_text(path)
        data = parse_toml(text)
    except OSError as error:
        raise ParameterError(
            f"The configuration file {path} can't be read: {error.strerror}. Check its name."
        ) from error
    except ValueError as error:  # not TOML, not text, or more than is read
        raise ParameterError(
            f"The configuration file {path} is not valid TOML: {error}. Write name = value, one in a line."
        ) from error
    return _File(path.name, text).defaults(data, group, ())


class _File:
    """A file, for messages that name the line."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text

    def defaults(self, table: dict[str, Any], command: Any, where: tuple[str, ...]) -> dict[str, Any]:
        commands = getattr(command, "commands", None)
        if commands is None:
            return self._options(table, command, where)
        result = {}
        for key, value in table.items():
            path = (*where, key)
            if key not in commands:
                hint = nearest(key, tuple(commands))
                raise self._error(path, f"there is no command {' '.join(path)!r}.{hint}")
            if not isinstance(value, dict):
                raise self._error(path, f"must be a table of options: [{'.'.join(path)}].")
            result[key] = self.defaults(value, commands[key], path)
        return result

    def _options(self, table: dict[str, Any], command: Any, where: tuple[str, ...]) -> dict[str, Any]:
        known = option_names(command)
        result = {}
        for key, value in table.items():
            name = key.replace("-", "_")
            if name not in known:
                hint = nearest(name, tuple(known)).replace("_", "-")
                raise self._error((*where, key), f"{' '.join(where)!r} has no option {key!r}.{hint}")
            if isinstance(value, dict):
                raise self._error((*where, key), f"{key} must be a value, not a table.")
            result[known[name]] = value
        return result

    def _error(self, path: tuple[str, ...], message: str) -> ParameterError:
        found = locate(self._text, path)
        return ParameterError(f"{self._name}{'' if found is None else f', line {found}'}: {message}")


def option_names(command: Any) -> dict[str, str]:
    """What a configuration file may set of a command: its name in the file, and the parameter that it fills.

    An option goes by its long name, an argument by its own, both with - or _ between words.
    """
    names = {}
    for parameter in command.params:
        long = [option for option in parameter.opts if option.startswith("--")]
        name = long[0].removeprefix("--") if long else str(parameter.name)
        if name.replace("-", "_") not in _NOT_FOR_FILES:
            names[name.replace("-", "_")] = str(parameter.name)
    return names
