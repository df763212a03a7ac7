-- Written by hand. An erasure removes rows in many transactions. From its first to its last, nothing is added to the audit log of its organization: every change in it was read before, and its numbers cannot begin again.
-- since 0.1.0: no earlier release leaves an erasure open, so this refuses none of its writes.
CREATE TRIGGER `audit_log_closed_by_erasure` BEFORE INSERT ON `audit_log`
WHEN EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = new.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'erasures: the organization is being erased'); END;--> statement-breakpoint
-- Every change of a directory begins with its clock. The last transaction of an erasure sets the clock, after it has removed the organization.
-- since 0.1.0: as above.
CREATE TRIGGER `directory_clock_stopped_by_erasure` BEFORE INSERT ON `directory_clock`
WHEN EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = new.`organization_id` AND `open` = 1)
  AND EXISTS (SELECT 1 FROM `organizations` WHERE `id` = new.`organization_id`)
BEGIN SELECT raise(ABORT, 'erasures: the organization is being erased'); END;
