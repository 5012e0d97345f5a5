"""A pytest kit that checks any model transport against the treelang contract over real sockets."""
