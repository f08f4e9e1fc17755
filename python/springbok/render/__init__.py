"""Reports as text, made from `springbok.model` alone."""
