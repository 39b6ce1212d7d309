"""Predicted against measured times: points of results folders, and the accuracy of the model."""
