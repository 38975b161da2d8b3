"""What a class needs: exercise sheets, their grading, predictions and solutions, handouts, slides."""
