-- Written by hand. A revoked key keeps its row and its hash: otherwise the hash, and so the key, could be stored again without the revocation.
-- since 0.1: replaced by the next one, which also refuses a row that takes the successor of a revoked key.
DROP TRIGGER `api_keys_no_replace`;--> statement-breakpoint
-- since 0.1: a form or a request that is sent again inserts nothing.
CREATE TRIGGER `api_keys_no_replace` BEFORE INSERT ON `api_keys`
WHEN EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `hash` = new.`hash` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `form_token` = new.`form_token` AND `revoked_at` IS NOT NULL)
  OR EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `successor_id` = new.`successor_id` AND `revoked_at` IS NOT NULL)
BEGIN SELECT raise(ABORT, 'api_keys: a key is not replaced'); END;--> statement-breakpoint
-- UPDATE OR REPLACE deletes the row that has the new value, without the delete trigger.
-- since 0.1: no statement changes the id, hash or form token of a key, and a successor has one predecessor.
CREATE TRIGGER `api_keys_revoked_stays` BEFORE UPDATE OF `organization_id`, `id`, `hash`, `form_token`, `successor_id` ON `api_keys`
WHEN (old.`revoked_at` IS NOT NULL AND (new.`organization_id`, new.`id`, new.`hash`, new.`form_token`) IS NOT (old.`organization_id`, old.`id`, old.`hash`, old.`form_token`))
  OR ((new.`organization_id`, new.`id`) IS NOT (old.`organization_id`, old.`id`)
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `id` = new.`id` AND `revoked_at` IS NOT NULL))
  OR (new.`hash` <> old.`hash` AND EXISTS (SELECT 1 FROM `api_keys` WHERE `hash` = new.`hash` AND `revoked_at` IS NOT NULL))
  OR (new.`form_token` IS NOT old.`form_token`
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `form_token` = new.`form_token` AND `revoked_at` IS NOT NULL))
  OR (new.`successor_id` IS NOT old.`successor_id`
    AND EXISTS (SELECT 1 FROM `api_keys` WHERE `organization_id` = new.`organization_id` AND `successor_id` = new.`successor_id` AND `revoked_at` IS NOT NULL))
BEGIN SELECT raise(ABORT, 'api_keys: a key is not replaced'); END;
