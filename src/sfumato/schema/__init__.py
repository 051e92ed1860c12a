"""What may be said of a table: roles, domains, hierarchies, builders, files. Holds no data."""

from sfumato.schema.attribute import KNOWN, MISSING, Attribute, DomainSource, Kind, Missing, Role
from sfumato.schema.domain import Days, Domain, Edges, Grid, Values
from sfumato.schema.labels import Labels, label_name, parse_label
from sfumato.schema.population import JointCells, Population
from sfumato.schema.table_schema import Schema
from sfumato.schema.tree import ROOT, Tree

__all__ = [
    "KNOWN",
    "MISSING",
    "ROOT",
    "Attribute",
    "Days",
    "Domain",
    "DomainSource",
    "Edges",
    "Grid",
    "JointCells",
    "Kind",
    "Labels",
    "Missing",
    "Population",
    "Role",
    "Schema",
    "Tree",
    "Values",
    "label_name",
    "parse_label",
]
