CREATE TABLE `access_review_decisions` (
	`organization_id` text NOT NULL,
	`review_id` text NOT NULL,
	`key_id` text NOT NULL,
	`decision` text NOT NULL,
	`reason` text NOT NULL,
	`decided_at` integer NOT NULL,
	`decided_by` text NOT NULL,
	`key_name` text NOT NULL,
	`last_write_at` integer,
	`key_settings` text NOT NULL,
	PRIMARY KEY(`organization_id`, `review_id`, `key_id`),
	FOREIGN KEY (`organization_id`,`review_id`) REFERENCES `access_reviews`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`key_id`) REFERENCES `api_keys`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`decided_by`) REFERENCES `users`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "access_review_decisions_decision" CHECK("decision" = 'keep' or "decision" = 'revoke'),
	CONSTRAINT "access_review_decisions_reason" CHECK(length(trim("reason")) between 1 and 200)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `access_reviews` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`started_at` integer NOT NULL,
	`started_by` text NOT NULL,
	`key_ids` text NOT NULL,
	`finished_at` integer,
	`finished_by` text,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`started_by`) REFERENCES `users`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`finished_by`) REFERENCES `users`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "access_reviews_keys" CHECK(json_type("key_ids") = 'array'),
	CONSTRAINT "access_reviews_finished" CHECK(("finished_at" is null) = ("finished_by" is null))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `access_reviews_one_open` ON `access_reviews` (`organization_id`) WHERE finished_at is null;--> statement-breakpoint
CREATE TABLE `agreements` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`company_id` text NOT NULL,
	`hourly_rate_minor` integer NOT NULL,
	`active` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`,`company_id`) REFERENCES `companies`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "agreements_id" CHECK(length("id") between 1 and 64 and "id" not glob '*[^A-Za-z0-9._~-]*' and "id" not in ('.', '..')),
	CONSTRAINT "agreements_flags" CHECK("active" in (0, 1)),
	CONSTRAINT "agreements_rate" CHECK("hourly_rate_minor" between 0 and 10000000)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `agreements_one_active` ON `agreements` (`organization_id`,`company_id`) WHERE active = 1;--> statement-breakpoint
CREATE TABLE `alerts` (
	`organization_id` text NOT NULL,
	`type` text NOT NULL,
	`subject` text NOT NULL,
	`channel` text NOT NULL,
	`level` integer NOT NULL,
	`id` text NOT NULL,
	`found_at` integer NOT NULL,
	`data` text NOT NULL,
	`attempts` integer NOT NULL,
	`next_attempt_at` integer NOT NULL,
	`failure` text,
	`sent_at` integer,
	PRIMARY KEY(`organization_id`, `type`, `subject`, `channel`),
	CONSTRAINT "alerts_type" CHECK(length("type") > 0 and "type" not glob '*[^a-z0-9:_ -]*' and "type" = trim("type") and instr("type", '  ') = 0),
	CONSTRAINT "alerts_channel" CHECK(length("channel") > 0 and "channel" not glob '*[^a-z0-9:_ -]*' and "channel" = trim("channel") and instr("channel", '  ') = 0),
	CONSTRAINT "alerts_data" CHECK(json_type("data") = 'object')
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `alerts_type` ON `alerts` (`type`);--> statement-breakpoint
CREATE INDEX `alerts_waiting` ON `alerts` (`channel`,`next_attempt_at`) WHERE sent_at is null;--> statement-breakpoint
CREATE TABLE `api_keys` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`chain_id` text NOT NULL,
	`name` text NOT NULL,
	`hash` text NOT NULL,
	`hint` text NOT NULL,
	`scopes` text NOT NULL,
	`day_limit_records` integer,
	`day_limit_minutes` integer,
	`allowed_networks` text DEFAULT '' NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`owner` text DEFAULT '' NOT NULL,
	`revision` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`created_by` text NOT NULL,
	`expires_at` integer,
	`revoked_at` integer,
	`revoked_by` text,
	`successor_id` text,
	`form_token` text,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`created_by`) REFERENCES `users`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "api_keys_name" CHECK(length(trim("name")) between 1 and 100),
	CONSTRAINT "api_keys_hash" CHECK(length("hash") = 64 and "hash" not glob '*[^0-9a-f]*'),
	CONSTRAINT "api_keys_scopes" CHECK(length("scopes") > 0 and "scopes" not glob '*[^a-z0-9:_ -]*' and "scopes" = trim("scopes") and instr("scopes", '  ') = 0),
	CONSTRAINT "api_keys_day_limits" CHECK("day_limit_records" > 0 and "day_limit_minutes" > 0),
	CONSTRAINT "api_keys_revoked" CHECK(("revoked_at" is null) = ("revoked_by" is null))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_hash` ON `api_keys` (`hash`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_name_in_use` ON `api_keys` (`organization_id`,`name`) WHERE revoked_at is null and successor_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_successor` ON `api_keys` (`organization_id`,`successor_id`) WHERE successor_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_form_token` ON `api_keys` (`organization_id`,`form_token`) WHERE form_token is not null;--> statement-breakpoint
CREATE INDEX `api_keys_unrevoked` ON `api_keys` (`organization_id`,`expires_at`) WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX `api_keys_hint` ON `api_keys` (`organization_id`,`hint`);--> statement-breakpoint
CREATE TABLE `archived_notes` (
	`organization_id` text NOT NULL,
	`id` blob NOT NULL,
	`ticket_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`chain_id` blob NOT NULL,
	`request_digest` blob,
	`archived_seq` integer NOT NULL,
	`redacted` integer DEFAULT false NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	CONSTRAINT "archived_notes_ids" CHECK(length("id") = 16 and length("chain_id") = 16),
	CONSTRAINT "archived_notes_digest" CHECK("request_digest" is null or length("request_digest") = 16)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `archived_time_entries` (
	`organization_id` text NOT NULL,
	`id` blob NOT NULL,
	`ticket_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`chain_id` blob NOT NULL,
	`request_digest` blob,
	`archived_seq` integer NOT NULL,
	`redacted` integer DEFAULT false NOT NULL,
	`user_id` text NOT NULL,
	`minutes` integer NOT NULL,
	`billable` integer NOT NULL,
	`work_day` integer NOT NULL,
	`hourly_rate_minor` integer NOT NULL,
	`by_agreement` integer NOT NULL,
	`approved` integer NOT NULL,
	`approval_seq` integer,
	PRIMARY KEY(`organization_id`, `id`),
	CONSTRAINT "archived_time_entries_ids" CHECK(length("id") = 16 and length("chain_id") = 16),
	CONSTRAINT "archived_time_entries_digest" CHECK("request_digest" is null or length("request_digest") = 16),
	CONSTRAINT "archived_time_entries_flags" CHECK("billable" in (0, 1) and "by_agreement" in (0, 1) and "approved" in (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `archives` (
	`organization_id` text NOT NULL,
	`to_seq` integer NOT NULL,
	`from_seq` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`last_request_id` text NOT NULL,
	`object` text NOT NULL,
	`digest` text NOT NULL,
	`bytes` integer NOT NULL,
	`revision` integer DEFAULT 0 NOT NULL,
	`checked_at` integer DEFAULT 0 NOT NULL,
	`damaged_at` integer,
	PRIMARY KEY(`organization_id`, `to_seq`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "archives_range" CHECK("from_seq" between 1 and "to_seq"),
	CONSTRAINT "archives_digest" CHECK(length("digest") = 64 and "digest" not glob '*[^0-9a-f]*')
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `archives_checked` ON `archives` (`checked_at`);--> statement-breakpoint
CREATE INDEX `archives_damaged` ON `archives` (`organization_id`,`to_seq`) WHERE damaged_at is not null;--> statement-breakpoint
CREATE TABLE `audit_log` (
	`organization_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`actor_name` text NOT NULL,
	`action` text NOT NULL,
	`target_id` text NOT NULL,
	`ticket_id` text,
	`request_id` text NOT NULL,
	`idempotency_key` text,
	`source_address` text,
	`user_agent` text,
	`detail` text,
	`day` text DEFAULT '' NOT NULL,
	`day_records` integer DEFAULT 0 NOT NULL,
	`day_bytes` integer DEFAULT 0 NOT NULL,
	`day_changes` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`organization_id`, `seq`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "audit_log_actor_type" CHECK("actor_type" = 'api_key' or "actor_type" = 'user' or "actor_type" = 'system'),
	CONSTRAINT "audit_log_action" CHECK("action" glob '[a-z]*.[a-z]*')
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `audit_log_actor` ON `audit_log` (`organization_id`,`actor_id`,`seq`) WHERE actor_type <> 'api_key';--> statement-breakpoint
CREATE INDEX `audit_log_user_target` ON `audit_log` (`organization_id`,`target_id`,`seq`) WHERE actor_type <> 'api_key';--> statement-breakpoint
CREATE TABLE `companies` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`active` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "companies_id" CHECK(length("id") between 1 and 64 and "id" not glob '*[^A-Za-z0-9._~-]*' and "id" not in ('.', '..')),
	CONSTRAINT "companies_flags" CHECK("active" in (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `database_epoch` (
	`id` integer PRIMARY KEY NOT NULL,
	`epoch` text NOT NULL,
	CONSTRAINT "database_epoch_single" CHECK("id" = 1)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `directory_clock` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`messages` text NOT NULL,
	CONSTRAINT "directory_clock_messages" CHECK(json_array_length("messages") > 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `erasures` (
	`organization_id` text NOT NULL,
	`request_id` text NOT NULL,
	`erased_at` integer NOT NULL,
	`erased_by` text NOT NULL,
	`last_seq` integer NOT NULL,
	`open` integer NOT NULL,
	`not_exported` text DEFAULT '[]' NOT NULL,
	PRIMARY KEY(`organization_id`, `request_id`),
	CONSTRAINT "erasures_flags" CHECK("open" in (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `key_days` (
	`organization_id` text NOT NULL,
	`chain_id` text NOT NULL,
	`day` text NOT NULL,
	`key_id` text NOT NULL,
	`notes` integer NOT NULL,
	`time_entries` integer NOT NULL,
	`minutes` integer NOT NULL,
	`bytes` integer NOT NULL,
	`first_seq` integer NOT NULL,
	`last_seq` integer NOT NULL,
	`last_at` integer NOT NULL,
	`last_address` text,
	PRIMARY KEY(`organization_id`, `chain_id`, `day`, `key_id`),
	FOREIGN KEY (`organization_id`,`key_id`) REFERENCES `api_keys`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "key_days_day" CHECK("day" is date("day")),
	CONSTRAINT "key_days_counts" CHECK("notes" >= 0 and "time_entries" >= 0 and "notes" + "time_entries" > 0 and "minutes" >= 0 and "bytes" > 0),
	CONSTRAINT "key_days_seqs" CHECK("first_seq" between 1 and "last_seq")
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `key_rules` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`max_lifetime_days` integer,
	`expiry_required` integer NOT NULL,
	`access_review_months` integer,
	`access_reviews_since` integer,
	`revision` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "key_rules_flags" CHECK("expiry_required" in (0, 1)),
	CONSTRAINT "key_rules_lifetime" CHECK("max_lifetime_days" is null or ("max_lifetime_days" > 0 and "expiry_required" = 1)),
	CONSTRAINT "key_rules_access_reviews" CHECK(("access_review_months" is null) = ("access_reviews_since" is null) and ("access_review_months" is null or "access_review_months" > 0))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `notes` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`ticket_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`request_digest` text NOT NULL,
	`audit_seq` integer NOT NULL,
	`message` text NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`,`ticket_id`) REFERENCES `tickets`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`key_id`) REFERENCES `api_keys`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "notes_message" CHECK(length(trim("message", char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000)
) STRICT;
--> statement-breakpoint
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`has_psa` integer NOT NULL,
	`time_zone` text NOT NULL,
	`default_hourly_rate_minor` integer NOT NULL,
	`active` integer NOT NULL,
	CONSTRAINT "organizations_id" CHECK(length("id") between 1 and 64 and "id" not glob '*[^A-Za-z0-9._~-]*' and "id" not in ('.', '..')),
	CONSTRAINT "organizations_flags" CHECK("has_psa" in (0, 1) and "active" in (0, 1)),
	CONSTRAINT "organizations_rate" CHECK("default_hourly_rate_minor" between 0 and 10000000)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `psa_refusals` (
	`organization_id` text NOT NULL,
	`record_id` text NOT NULL,
	`kind` text NOT NULL,
	`reason` text NOT NULL,
	`refused_at` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `record_id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "psa_refusals_kind" CHECK(length("kind") > 0 and "kind" not glob '*[^a-z0-9:_ -]*' and "kind" = trim("kind") and instr("kind", '  ') = 0),
	CONSTRAINT "psa_refusals_reason" CHECK(length(trim("reason", char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `pushes` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`confirmed_seq` integer NOT NULL,
	`confirmed_at` integer,
	`failing_since` integer,
	`attempts` integer NOT NULL,
	`failure` text,
	`next_attempt_at` integer,
	`stopped_at` integer,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "pushes_counts" CHECK("confirmed_seq" >= 0 and "attempts" >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `pushes_in_trouble` ON `pushes` (`organization_id`) WHERE failing_since is not null or stopped_at is not null;--> statement-breakpoint
CREATE TABLE `refused_uses` (
	`organization_id` text NOT NULL,
	`key_id` text NOT NULL,
	`reason` text NOT NULL,
	`count` integer NOT NULL,
	`first_at` integer NOT NULL,
	`last_at` integer NOT NULL,
	`source_address` text,
	`lost_writes` text,
	PRIMARY KEY(`organization_id`, `key_id`, `reason`),
	FOREIGN KEY (`organization_id`,`key_id`) REFERENCES `api_keys`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "refused_uses_reason" CHECK(length("reason") > 0 and "reason" not glob '*[^a-z0-9:_ -]*' and "reason" = trim("reason") and instr("reason", '  ') = 0),
	CONSTRAINT "refused_uses_count" CHECK("count" > 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `refused_uses_latest` ON `refused_uses` (`organization_id`,`last_at`);--> statement-breakpoint
CREATE INDEX `refused_uses_with_address` ON `refused_uses` (`last_at`) WHERE source_address is not null;--> statement-breakpoint
CREATE TABLE `releases` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`seq` integer NOT NULL,
	`released_at` integer NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "releases_seq" CHECK("seq" > 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `tickets` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`company_id` text NOT NULL,
	`active` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`,`company_id`) REFERENCES `companies`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "tickets_id" CHECK(length("id") between 1 and 64 and "id" not glob '*[^A-Za-z0-9._~-]*' and "id" not in ('.', '..')),
	CONSTRAINT "tickets_flags" CHECK("active" in (0, 1))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `time_entries` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`ticket_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`key_id` text NOT NULL,
	`request_id` text NOT NULL,
	`request_digest` text NOT NULL,
	`audit_seq` integer NOT NULL,
	`user_id` text NOT NULL,
	`minutes` integer NOT NULL,
	`description` text NOT NULL,
	`billable` integer NOT NULL,
	`work_date` text NOT NULL,
	`hourly_rate_minor` integer NOT NULL,
	`agreement_source` text NOT NULL,
	`status` text NOT NULL,
	`approval_seq` integer,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`,`ticket_id`) REFERENCES `tickets`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`user_id`) REFERENCES `users`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`,`key_id`) REFERENCES `api_keys`(`organization_id`,`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "time_entries_minutes" CHECK("minutes" between 1 and 1440),
	CONSTRAINT "time_entries_description" CHECK(length(trim("description", char(9,10,11,12,13,32,160,5760,8192,8193,8194,8195,8196,8197,8198,8199,8200,8201,8202,8232,8233,8239,8287,12288,65279))) between 1 and 32000),
	CONSTRAINT "time_entries_flags" CHECK("billable" in (0, 1)),
	CONSTRAINT "time_entries_work_date" CHECK("work_date" is date("work_date")),
	CONSTRAINT "time_entries_rate" CHECK("hourly_rate_minor" between 0 and 10000000),
	CONSTRAINT "time_entries_source" CHECK("agreement_source" = 'company_default' or "agreement_source" = 'organization_default'),
	CONSTRAINT "time_entries_status" CHECK("status" = 'SUBMITTED' or "status" = 'APPROVED' or "status" = 'REJECTED')
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `users` (
	`organization_id` text NOT NULL,
	`id` text NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`is_admin` integer NOT NULL,
	`is_technician` integer NOT NULL,
	`is_service` integer NOT NULL,
	`active` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `id`),
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "users_id" CHECK(length("id") between 1 and 64 and "id" not glob '*[^A-Za-z0-9._~-]*' and "id" not in ('.', '..')),
	CONSTRAINT "users_flags" CHECK("is_admin" in (0, 1) and "is_technician" in (0, 1) and "is_service" in (0, 1) and "active" in (0, 1)),
	CONSTRAINT "users_email_lower_case" CHECK("email" = lower("email") and "email" like '%_@_%'),
	CONSTRAINT "users_service_account" CHECK("is_service" = 0 or ("active" = 1 and "is_admin" = 0 and "is_technician" = 0))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email` ON `users` (`organization_id`,`email`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_one_service_account` ON `users` (`organization_id`) WHERE is_service = 1;--> statement-breakpoint
CREATE INDEX `users_administrators` ON `users` (`email`,`organization_id`) WHERE is_admin = 1;--> statement-breakpoint
INSERT INTO `database_epoch` (`id`, `epoch`) VALUES (1, lower(hex(randomblob(8))));--> statement-breakpoint
-- The audit log is append-only and has no gaps. The insert trigger also stops INSERT OR REPLACE, which bypasses delete triggers.
CREATE TRIGGER `audit_log_in_sequence` BEFORE INSERT ON `audit_log`
WHEN new.`seq` <> (SELECT coalesce(max(`seq`), 0) + 1 FROM `audit_log` WHERE `organization_id` = new.`organization_id`)
BEGIN SELECT raise(ABORT, 'audit_log: seq must be the next of its organization'); END;--> statement-breakpoint
CREATE TRIGGER `audit_log_no_update` BEFORE UPDATE ON `audit_log`
BEGIN SELECT raise(ABORT, 'audit_log is append-only'); END;--> statement-breakpoint
-- An erasure removes rows in many transactions. From its first to its last, nothing is added to the audit log of its organization: every change in it was read before, and its numbers cannot begin again.
CREATE TRIGGER `audit_log_closed_by_erasure` BEFORE INSERT ON `audit_log`
WHEN EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = new.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'erasures: the organization is being erased'); END;--> statement-breakpoint
-- Audit rows are deleted in two cases: if they are in an archive, and by the transaction that erases their whole organization, after everything that they are about.
CREATE TRIGGER `audit_log_no_delete` BEFORE DELETE ON `audit_log`
WHEN NOT EXISTS (SELECT 1 FROM `archives` WHERE `organization_id` = old.`organization_id` AND `to_seq` >= old.`seq`)
  AND (NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
    OR EXISTS (SELECT 1 FROM `users` WHERE `organization_id` = old.`organization_id`)
    OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = old.`organization_id`)
    OR EXISTS (SELECT 1 FROM `tickets` WHERE `organization_id` = old.`organization_id`))
BEGIN SELECT raise(ABORT, 'audit_log is append-only'); END;--> statement-breakpoint
CREATE TRIGGER `api_keys_revocation_is_final` BEFORE UPDATE ON `api_keys`
WHEN old.`revoked_at` IS NOT NULL AND new.`revoked_at` IS NOT old.`revoked_at`
BEGIN SELECT raise(ABORT, 'api_keys: a revocation cannot be undone'); END;--> statement-breakpoint
CREATE TRIGGER `api_keys_succession_is_final` BEFORE UPDATE ON `api_keys`
WHEN old.`successor_id` IS NOT NULL AND new.`successor_id` IS NOT old.`successor_id`
BEGIN SELECT raise(ABORT, 'api_keys: a key has one successor'); END;--> statement-breakpoint
CREATE TRIGGER `api_keys_chain_is_final` BEFORE UPDATE OF `chain_id` ON `api_keys`
WHEN new.`chain_id` <> old.`chain_id`
BEGIN SELECT raise(ABORT, 'api_keys: a key stays in its chain'); END;--> statement-breakpoint
-- Only an erasure deletes keys.
CREATE TRIGGER `api_keys_no_delete` BEFORE DELETE ON `api_keys`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'api_keys: a key is not deleted'); END;--> statement-breakpoint
-- INSERT OR REPLACE bypasses the update and delete triggers, and could store a revoked key again without its revocation.
CREATE TRIGGER `api_keys_no_replace` BEFORE INSERT ON `api_keys`
WHEN EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `hash` = new.`hash` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `form_token` = new.`form_token` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `successor_id` = new.`successor_id` AND `revoked_at` IS NOT NULL)
BEGIN SELECT raise(ABORT, 'api_keys: a key is not replaced'); END;--> statement-breakpoint
-- A revoked key keeps its row and its hash: otherwise the hash, and so the key, could be stored again without the revocation. UPDATE OR REPLACE deletes the row that has the new value, without the delete trigger.
CREATE TRIGGER `api_keys_revoked_stays` BEFORE UPDATE OF `organization_id`, `id`, `hash`, `form_token`, `successor_id` ON `api_keys`
WHEN (old.`revoked_at` IS NOT NULL AND (new.`organization_id`, new.`id`, new.`hash`, new.`form_token`) IS NOT (old.`organization_id`, old.`id`, old.`hash`, old.`form_token`))
  OR ((new.`organization_id`, new.`id`) IS NOT (old.`organization_id`, old.`id`)
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id` AND `revoked_at` IS NOT NULL))
  OR (new.`hash` <> old.`hash` AND EXISTS (SELECT 1 FROM `api_keys` WHERE `hash` = new.`hash` AND `revoked_at` IS NOT NULL))
  OR (new.`form_token` IS NOT old.`form_token`
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `form_token` = new.`form_token` AND `revoked_at` IS NOT NULL))
  OR (new.`successor_id` IS NOT old.`successor_id`
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `successor_id` = new.`successor_id` AND `revoked_at` IS NOT NULL))
BEGIN SELECT raise(ABORT, 'api_keys: a key is not replaced'); END;--> statement-breakpoint
-- An Idempotency-Key stays in use after its record was archived: the insert then does nothing, as it does for a record that exists.
CREATE TRIGGER `notes_not_archived` BEFORE INSERT ON `notes`
WHEN EXISTS (SELECT 1 FROM `archived_notes` WHERE `organization_id` = new.`organization_id` AND `id` = unhex(replace(new.`id`, '-', '')))
BEGIN SELECT raise(IGNORE); END;--> statement-breakpoint
CREATE TRIGGER `time_entries_approval_is_final` BEFORE UPDATE ON `time_entries`
WHEN old.`status` <> 'SUBMITTED' AND new.`status` <> old.`status`
BEGIN SELECT raise(ABORT, 'time_entries: an approval or rejection cannot be undone'); END;--> statement-breakpoint
-- The same as for notes.
CREATE TRIGGER `time_entries_not_archived` BEFORE INSERT ON `time_entries`
WHEN EXISTS (SELECT 1 FROM `archived_time_entries` WHERE `organization_id` = new.`organization_id` AND `id` = unhex(replace(new.`id`, '-', '')))
BEGIN SELECT raise(IGNORE); END;--> statement-breakpoint
-- An access review is evidence: only finishing changes it, once, and its decisions do not change after that. An erasure of the organization deletes both. The insert triggers also stop INSERT OR REPLACE, which bypasses the others.
CREATE TRIGGER `access_reviews_only_finish` BEFORE UPDATE ON `access_reviews`
WHEN old.`finished_at` IS NOT NULL
  OR (new.`organization_id`, new.`id`, new.`started_at`, new.`started_by`, new.`key_ids`)
    IS NOT (old.`organization_id`, old.`id`, old.`started_at`, old.`started_by`, old.`key_ids`)
BEGIN SELECT raise(ABORT, 'access_reviews are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `access_reviews_no_replace` BEFORE INSERT ON `access_reviews`
WHEN EXISTS (SELECT 1 FROM `access_reviews` WHERE `organization_id` = new.`organization_id` AND (`id` = new.`id` OR `finished_at` IS NULL))
BEGIN SELECT raise(ABORT, 'access_reviews are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `access_reviews_no_delete` BEFORE DELETE ON `access_reviews`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'access_reviews are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `access_review_decisions_while_open` BEFORE INSERT ON `access_review_decisions`
WHEN EXISTS (SELECT 1 FROM `access_reviews` WHERE `organization_id` = new.`organization_id` AND `id` = new.`review_id` AND `finished_at` IS NOT NULL)
BEGIN SELECT raise(ABORT, 'access_review_decisions: the review is finished'); END;--> statement-breakpoint
CREATE TRIGGER `access_review_decisions_final` BEFORE UPDATE ON `access_review_decisions`
WHEN EXISTS (SELECT 1 FROM `access_reviews` WHERE `organization_id` = old.`organization_id` AND `id` = old.`review_id` AND `finished_at` IS NOT NULL)
  OR (new.`organization_id`, new.`review_id`, new.`key_id`) IS NOT (old.`organization_id`, old.`review_id`, old.`key_id`)
BEGIN SELECT raise(ABORT, 'access_review_decisions: the review is finished'); END;--> statement-breakpoint
CREATE TRIGGER `access_review_decisions_no_delete` BEFORE DELETE ON `access_review_decisions`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'access_review_decisions are kept'); END;--> statement-breakpoint
-- A message from before the latest one is refused, and so is one of the same time after which another was applied. A change without a message has an empty id and is never refused.
CREATE TRIGGER `directory_clock_forward` BEFORE UPDATE ON `directory_clock`
WHEN new.`at` < old.`at`
  OR (new.`at` = old.`at` AND new.`messages` <> old.`messages` AND new.`messages` ->> '$[#-1]' <> ''
    AND EXISTS (SELECT 1 FROM json_each(old.`messages`) WHERE value = new.`messages` ->> '$[#-1]'))
BEGIN SELECT raise(ABORT, 'directory_clock: an older message'); END;--> statement-breakpoint
-- Every change of a directory begins with its clock. The last transaction of an erasure sets the clock, after it has removed the organization.
CREATE TRIGGER `directory_clock_stopped_by_erasure` BEFORE INSERT ON `directory_clock`
WHEN EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = new.`organization_id` AND `open` = 1)
  AND EXISTS (SELECT 1 FROM `organizations` WHERE `id` = new.`organization_id`)
BEGIN SELECT raise(ABORT, 'erasures: the organization is being erased'); END;--> statement-breakpoint
-- An erasure is recorded while its organization still exists, with the true end of its audit log, and only once.
CREATE TRIGGER `erasures_open_first` BEFORE INSERT ON `erasures`
WHEN new.`open` = 0
  OR NOT EXISTS (SELECT 1 FROM `organizations` WHERE `id` = new.`organization_id`)
  OR new.`last_seq` <> (SELECT coalesce(max(`seq`), 0) FROM `audit_log` WHERE `organization_id` = new.`organization_id`)
  OR EXISTS (SELECT 1 FROM `erasures` WHERE (`organization_id`, `request_id`) = (new.`organization_id`, new.`request_id`))
BEGIN SELECT raise(ABORT, 'erasures are kept as they are'); END;--> statement-breakpoint
-- Closing is the only change to an erasure, and its organization must be gone by then.
CREATE TRIGGER `erasures_only_close` BEFORE UPDATE ON `erasures`
WHEN old.`open` = 0 OR new.`open` = 1
  OR (new.`organization_id`, new.`request_id`, new.`erased_at`, new.`erased_by`, new.`last_seq`)
    IS NOT (old.`organization_id`, old.`request_id`, old.`erased_at`, old.`erased_by`, old.`last_seq`)
  OR EXISTS (SELECT 1 FROM `organizations` WHERE `id` = old.`organization_id`)
BEGIN SELECT raise(ABORT, 'erasures are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `erasures_no_delete` BEFORE DELETE ON `erasures`
BEGIN SELECT raise(ABORT, 'erasures are kept as they are'); END;--> statement-breakpoint
-- A release only advances, and not beyond the audit log. The insert trigger also runs for an upsert.
CREATE TRIGGER `releases_forward` BEFORE INSERT ON `releases`
WHEN new.`seq` < coalesce((SELECT `seq` FROM `releases` WHERE `organization_id` = new.`organization_id`), 0)
  OR new.`seq` > coalesce((SELECT max(`seq`) FROM `audit_log` WHERE `organization_id` = new.`organization_id`), 0)
BEGIN SELECT raise(ABORT, 'releases: only forward, and not beyond the audit log'); END;--> statement-breakpoint
CREATE TRIGGER `releases_update_forward` BEFORE UPDATE ON `releases`
WHEN new.`organization_id` <> old.`organization_id` OR new.`seq` < old.`seq`
  OR new.`seq` > coalesce((SELECT max(`seq`) FROM `audit_log` WHERE `organization_id` = new.`organization_id`), 0)
BEGIN SELECT raise(ABORT, 'releases: only forward, and not beyond the audit log'); END;--> statement-breakpoint
CREATE TRIGGER `releases_no_delete` BEFORE DELETE ON `releases`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'releases are kept'); END;--> statement-breakpoint
-- An archive continues the one before it, has only changes that the PSA has released, and never the newest audit row, from which the next one takes its number and the totals of the day.
CREATE TRIGGER `archives_in_sequence` BEFORE INSERT ON `archives`
WHEN new.`from_seq` <> coalesce((SELECT max(`to_seq`) FROM `archives` WHERE `organization_id` = new.`organization_id`), 0) + 1
  OR new.`to_seq` > coalesce((SELECT `seq` FROM `releases` WHERE `organization_id` = new.`organization_id`), 0)
  OR new.`to_seq` >= coalesce((SELECT max(`seq`) FROM `audit_log` WHERE `organization_id` = new.`organization_id`), 0)
  OR new.`last_request_id` IS NOT (SELECT `request_id` FROM `audit_log` WHERE `organization_id` = new.`organization_id` AND `seq` = new.`to_seq`)
BEGIN SELECT raise(ABORT, 'archives: only released rows, in sequence, without the newest'); END;--> statement-breakpoint
CREATE TRIGGER `archives_no_delete` BEFORE DELETE ON `archives`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'archives are kept as they are'); END;--> statement-breakpoint
-- Another object takes the place of one under a new revision. Nothing else about an archive changes, except what is known of its object.
CREATE TRIGGER `archives_only_replace` BEFORE UPDATE ON `archives`
WHEN (new.`organization_id`, new.`to_seq`, new.`from_seq`, new.`first_at`, new.`last_at`, new.`last_request_id`)
  IS NOT (old.`organization_id`, old.`to_seq`, old.`from_seq`, old.`first_at`, old.`last_at`, old.`last_request_id`)
  OR new.`revision` < old.`revision`
  OR (new.`revision` = old.`revision` AND (new.`object`, new.`digest`, new.`bytes`) IS NOT (old.`object`, old.`digest`, old.`bytes`))
BEGIN SELECT raise(ABORT, 'archives are kept as they are'); END;--> statement-breakpoint
-- The stub of an archived record stays as it is, except that a redaction removes the digest of its request.
CREATE TRIGGER `archived_notes_in_archive` BEFORE INSERT ON `archived_notes`
WHEN new.`archived_seq` > coalesce((SELECT max(`to_seq`) FROM `archives` WHERE `organization_id` = new.`organization_id`), 0)
  OR EXISTS (SELECT 1 FROM `archived_notes` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id`)
BEGIN SELECT raise(ABORT, 'archived_notes: only what is in an archive, once'); END;--> statement-breakpoint
CREATE TRIGGER `archived_notes_no_delete` BEFORE DELETE ON `archived_notes`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'archived_notes are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `archived_notes_only_redact` BEFORE UPDATE ON `archived_notes`
WHEN new.`redacted` <> 1 OR new.`request_digest` IS NOT NULL
  OR (new.`organization_id`, new.`id`, new.`ticket_id`, new.`created_at`, new.`chain_id`, new.`archived_seq`)
  IS NOT (old.`organization_id`, old.`id`, old.`ticket_id`, old.`created_at`, old.`chain_id`, old.`archived_seq`)
BEGIN SELECT raise(ABORT, 'archived_notes are kept as they are'); END;--> statement-breakpoint
CREATE TRIGGER `archived_time_entries_in_archive` BEFORE INSERT ON `archived_time_entries`
WHEN new.`archived_seq` > coalesce((SELECT max(`to_seq`) FROM `archives` WHERE `organization_id` = new.`organization_id`), 0)
  OR EXISTS (SELECT 1 FROM `archived_time_entries` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id`)
BEGIN SELECT raise(ABORT, 'archived_time_entries: only what is in an archive, once'); END;--> statement-breakpoint
CREATE TRIGGER `archived_time_entries_no_delete` BEFORE DELETE ON `archived_time_entries`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'archived_time_entries are kept as they are'); END;--> statement-breakpoint
-- The same as for notes. The stub of an entry also receives its approval or rejection, once.
CREATE TRIGGER `archived_time_entries_only_change` BEFORE UPDATE ON `archived_time_entries`
WHEN (new.`organization_id`, new.`id`, new.`ticket_id`, new.`created_at`, new.`chain_id`, new.`archived_seq`, new.`user_id`, new.`minutes`, new.`billable`, new.`work_day`, new.`hourly_rate_minor`, new.`by_agreement`)
  IS NOT (old.`organization_id`, old.`id`, old.`ticket_id`, old.`created_at`, old.`chain_id`, old.`archived_seq`, old.`user_id`, old.`minutes`, old.`billable`, old.`work_day`, old.`hourly_rate_minor`, old.`by_agreement`)
  OR ((new.`redacted`, new.`request_digest`) IS NOT (old.`redacted`, old.`request_digest`) AND (new.`redacted`, new.`request_digest`) IS NOT (1, NULL))
  OR ((new.`approved`, new.`approval_seq`) IS NOT (old.`approved`, old.`approval_seq`)
    AND (old.`approval_seq` IS NOT NULL OR new.`approval_seq` IS NULL OR new.`approved` NOT IN (0, 1)))
BEGIN SELECT raise(ABORT, 'archived_time_entries are kept as they are'); END;
