ALTER TABLE `api_keys` ADD `description` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `api_keys` ADD `owner` text DEFAULT '' NOT NULL;