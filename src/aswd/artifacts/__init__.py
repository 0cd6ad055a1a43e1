"""Figures and tables of papers: what is run, how it is drawn, which claims are judged."""
