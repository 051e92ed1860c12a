"""TargetRows: rows to learn one target from, under differential privacy."""

from sfumato.mechanisms.target_rows.target_rows import TargetRows

__all__ = ["TargetRows"]
