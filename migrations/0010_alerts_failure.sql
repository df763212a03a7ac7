-- since 1.0: the log has the failure, and nothing reads it here.
ALTER TABLE `alerts` DROP COLUMN `failure`;