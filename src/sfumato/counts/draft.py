def draft(*a, **k): raise NotImplementedError
