"""Where coded rows live when they are too many to hold: counts come up from there, cuts go down to it."""

from sfumato.engines.engine import Engine, EngineOfPeople, Finish, Lines, PairCounts, PersonLines, finish_here
from sfumato.engines.parts import BinaryWalk, Parts, binary_nodes
from sfumato.io.spark import spark_session

__all__ = [
    "BinaryWalk",
    "Engine",
    "EngineOfPeople",
    "Finish",
    "Lines",
    "PairCounts",
    "Parts",
    "PersonLines",
    "binary_nodes",
    "finish_here",
    "spark_session",
]
