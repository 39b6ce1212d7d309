"""What a study leaves behind: the trial record and the results folder that holds it."""
