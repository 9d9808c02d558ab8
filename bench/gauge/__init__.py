"""How the bench measures. The programs that it starts lie beside `run.py`."""
