CREATE TABLE `approval_marks` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "approval_marks_seq" CHECK("seq" > 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
ALTER TABLE `organizations` ADD `approvals` text DEFAULT 'settings' NOT NULL;--> statement-breakpoint
CREATE INDEX `archived_time_entries_waiting` ON `archived_time_entries` (`organization_id`,`archived_seq`) WHERE approval_seq is null;