ALTER TABLE `refused_uses` ADD `lost_writes` text;
