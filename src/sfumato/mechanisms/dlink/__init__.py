"""dLink: unite the classes of a partition until another release very likely shares d sensitive values with each."""

from sfumato.mechanisms.dlink.dlink import DLink, hierarchical_distance, joint_presence, presence, record_probability

__all__ = ["DLink", "hierarchical_distance", "joint_presence", "presence", "record_probability"]
