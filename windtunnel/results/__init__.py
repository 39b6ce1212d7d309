"""The results of a study: the trial record and the results folder."""
