ALTER TABLE `key_review_decisions` ADD `key_settings` text;
