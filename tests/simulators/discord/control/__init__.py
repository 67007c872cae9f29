"""The control API under /sim. Routes register themselves with `base.ctl`; `handler` serves them."""
