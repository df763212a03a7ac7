ALTER TABLE `audit_log` ADD `day_changes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
-- INSERT OR REPLACE bypasses the update and delete triggers, and could store a revoked key again without its revocation.
-- since 0.1: a form or a request that is sent again inserts nothing.
CREATE TRIGGER `api_keys_no_replace` BEFORE INSERT ON `api_keys`
WHEN EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `hash` = new.`hash` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `form_token` = new.`form_token` AND `revoked_at` IS NOT NULL)
BEGIN SELECT raise(ABORT, 'api_keys: a key is not replaced'); END;--> statement-breakpoint
-- since 0.1: only an erasure deletes keys.
CREATE TRIGGER `api_keys_no_delete` BEFORE DELETE ON `api_keys`
WHEN NOT EXISTS (SELECT 1 FROM `erasures` WHERE `organization_id` = old.`organization_id` AND `open` = 1)
BEGIN SELECT raise(ABORT, 'api_keys: a key is not deleted'); END;
