-- since 1.0: no job reads the objects in turn.
DROP INDEX `archives_checked`;--> statement-breakpoint
-- since 1.0: only that job read it.
ALTER TABLE `archives` DROP COLUMN `checked_at`;