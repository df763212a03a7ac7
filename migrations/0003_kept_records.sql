-- since 1.0: an erasure has the time of the database, so that it cannot be dated back. A new one has no return.
CREATE TRIGGER `erasures_begin_now` BEFORE INSERT ON `erasures`
WHEN abs(new.`erased_at` - unixepoch() * 1000) > 60000 OR (new.`recreated_at`, new.`recreated_by`) IS NOT (NULL, NULL)
BEGIN SELECT raise(ABORT, 'erasures are kept as they are'); END;--> statement-breakpoint
DROP TRIGGER `notes_not_archived`;--> statement-breakpoint
-- since 1.0: a record that exists, archived or not, is not inserted again: the insert does nothing. This also stops INSERT OR REPLACE, which bypasses the triggers below; with a rowid, which is -1 here if there is none, it would replace any note.
CREATE TRIGGER `notes_once` BEFORE INSERT ON `notes`
WHEN new.rowid > 0
  OR EXISTS (SELECT 1 FROM `notes` WHERE (`organization_id`, `id`) = (new.`organization_id`, new.`id`))
  OR EXISTS (SELECT 1 FROM `archived_notes` WHERE `organization_id` = new.`organization_id` AND `id` = unhex(replace(new.`id`, '-', '')))
BEGIN SELECT raise(IGNORE); END;--> statement-breakpoint
-- since 1.0: only a redaction changes a note.
CREATE TRIGGER `notes_only_redact` BEFORE UPDATE ON `notes`
WHEN (new.`message`, new.`request_digest`) IS NOT ('[redacted]', '')
  OR (new.rowid, new.`organization_id`, new.`id`, new.`ticket_id`, new.`created_at`, new.`key_id`, new.`request_id`, new.`audit_seq`)
  IS NOT (old.rowid, old.`organization_id`, old.`id`, old.`ticket_id`, old.`created_at`, old.`key_id`, old.`request_id`, old.`audit_seq`)
BEGIN SELECT raise(ABORT, 'notes are kept as they are'); END;--> statement-breakpoint
-- since 1.0: a note leaves only into the archive, or with its organization.
CREATE TRIGGER `notes_no_delete` BEFORE DELETE ON `notes`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
  AND NOT EXISTS (SELECT 1 FROM `archived_notes` WHERE `organization_id` = old.`organization_id` AND `id` = unhex(replace(old.`id`, '-', '')))
BEGIN SELECT raise(ABORT, 'notes are kept as they are'); END;--> statement-breakpoint
DROP TRIGGER `time_entries_not_archived`;--> statement-breakpoint
-- since 1.0: the same as for notes.
CREATE TRIGGER `time_entries_once` BEFORE INSERT ON `time_entries`
WHEN EXISTS (SELECT 1 FROM `time_entries` WHERE (`organization_id`, `id`) = (new.`organization_id`, new.`id`))
  OR EXISTS (SELECT 1 FROM `archived_time_entries` WHERE `organization_id` = new.`organization_id` AND `id` = unhex(replace(new.`id`, '-', '')))
BEGIN SELECT raise(IGNORE); END;--> statement-breakpoint
DROP TRIGGER `time_entries_approval_is_final`;--> statement-breakpoint
-- since 1.0: only a redaction changes a time entry, or its approval or rejection, once.
CREATE TRIGGER `time_entries_only_change` BEFORE UPDATE ON `time_entries`
WHEN (new.`organization_id`, new.`id`, new.`ticket_id`, new.`created_at`, new.`key_id`, new.`request_id`, new.`audit_seq`, new.`user_id`, new.`minutes`, new.`billable`, new.`work_date`, new.`hourly_rate_minor`, new.`agreement_source`)
  IS NOT (old.`organization_id`, old.`id`, old.`ticket_id`, old.`created_at`, old.`key_id`, old.`request_id`, old.`audit_seq`, old.`user_id`, old.`minutes`, old.`billable`, old.`work_date`, old.`hourly_rate_minor`, old.`agreement_source`)
  OR ((new.`description`, new.`request_digest`) IS NOT (old.`description`, old.`request_digest`) AND (new.`description`, new.`request_digest`) IS NOT ('[redacted]', ''))
  OR ((new.`status`, new.`approval_seq`) IS NOT (old.`status`, old.`approval_seq`)
    AND (old.`status` <> 'SUBMITTED' OR new.`status` = 'SUBMITTED' OR new.`approval_seq` IS NULL))
BEGIN SELECT raise(ABORT, 'time_entries are kept as they are'); END;--> statement-breakpoint
-- since 1.0: the same as for notes.
CREATE TRIGGER `time_entries_no_delete` BEFORE DELETE ON `time_entries`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
  AND NOT EXISTS (SELECT 1 FROM `archived_time_entries` WHERE `organization_id` = old.`organization_id` AND `id` = unhex(replace(old.`id`, '-', '')))
BEGIN SELECT raise(ABORT, 'time_entries are kept as they are'); END;
