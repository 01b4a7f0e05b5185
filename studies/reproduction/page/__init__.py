"""The page docs/reproduction.md: tables, figures and text, written from kept results."""
