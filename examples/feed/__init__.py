"""Posts, followers, likes and home feeds in one table: see README.md."""
