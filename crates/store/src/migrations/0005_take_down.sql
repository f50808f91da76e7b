-- How long a plot of a study took to be taken down, with which the time that is left is reckoned.

ALTER TABLE study_plot ADD COLUMN take_down_s REAL;  -- seconds from the last run to the end of the plot
