"""Energy, price, and the Pareto front of both with time."""
