ALTER TABLE `api_keys` ADD `companies` text DEFAULT '' NOT NULL;
