"""Pages of the people whom the bot remembers: signing in with Discord, what is stored of them, and sources that they may read."""
