"""Files and frames in: dialect, decoding of a cell, encoding of columns. A row's code depends on that row alone."""
