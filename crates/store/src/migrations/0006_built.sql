-- What the last build of a plot ran: JSON with its commands and the versions of its programs; NULL in studies of older versions.

ALTER TABLE study_plot ADD COLUMN built TEXT;
