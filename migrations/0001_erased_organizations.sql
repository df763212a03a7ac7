ALTER TABLE `erasures` ADD `recreated_at` integer;--> statement-breakpoint
ALTER TABLE `erasures` ADD `recreated_by` text;--> statement-breakpoint
-- since 1.0: nothing changes the directory of an erased organization. A feed that still sends it must not bring the organization back: its erasure first has to record the return.
CREATE TRIGGER `directory_clock_stays_erased` BEFORE INSERT ON `directory_clock`
WHEN (SELECT max(`open`) FROM `erasures` WHERE `organization_id` = new.`organization_id` AND `recreated_at` IS NULL) = 0
BEGIN SELECT raise(ABORT, 'erasures: the organization was erased'); END;--> statement-breakpoint
DROP TRIGGER `erasures_only_close`;--> statement-breakpoint
-- since 1.0: an erasure changes twice: it is closed when its organization is gone, and later records the return of the organization, once.
CREATE TRIGGER `erasures_only_close` BEFORE UPDATE ON `erasures`
WHEN (new.`organization_id`, new.`request_id`, new.`erased_at`, new.`erased_by`, new.`last_seq`, new.`not_exported`)
    IS NOT (old.`organization_id`, old.`request_id`, old.`erased_at`, old.`erased_by`, old.`last_seq`, old.`not_exported`)
  OR new.`open` = 1 OR old.`recreated_at` IS NOT NULL
  OR (old.`open` = 1 AND ((new.`recreated_at`, new.`recreated_by`) IS NOT (NULL, NULL)
    OR EXISTS (SELECT 1 FROM `organizations` WHERE `id` = old.`organization_id`)))
  OR (old.`open` = 0 AND (new.`recreated_by` IS NULL OR new.`recreated_at` IS NULL OR abs(new.`recreated_at` - unixepoch() * 1000) > 60000))
BEGIN SELECT raise(ABORT, 'erasures are kept as they are'); END;
