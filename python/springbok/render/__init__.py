"""Reports and comparisons as text and HTML, made from `springbok.model` alone."""
