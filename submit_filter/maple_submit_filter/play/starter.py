"""What a launcher needs of whoever plays the script: it hands back the program that it starts, or the agent it is."""

from __future__ import annotations

from typing import Callable, List, Optional, Protocol, Sequence

from ..types.text import Text
from .interpreter import Interpreter
from .scene import Agent, Scene, Trail
from .shell_state import Shell


class Starter(Protocol):
    """Starts command lines in a scene. For the eyes of a type checker: the submit path does not import it."""

    scene: Scene
    interpreter: Interpreter

    def execute(self, argv: List[Text], shell: Shell, trail: Trail, given: Optional[Text] = None) -> None:
        """Start *argv* in the environment of *shell* (already what a child sees)."""

    def leaf(self, argv: Sequence[Text], shell: Shell, trail: Trail, python: bool = False) -> None:
        """Record a program that starts no ranks itself."""

    def agent(self, agent: Agent, program: Sequence[Text], shell: Shell, trail: Trail) -> None:
        """Record an agent that starts ranks."""


Launch = Callable[[Starter, List[Text], Shell, Trail, Optional[Text]], None]
