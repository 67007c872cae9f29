"""The REST API v9/v10. Routes register themselves with `request.route`; `pipeline` serves them."""
