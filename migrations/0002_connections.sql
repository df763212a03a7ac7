CREATE TABLE `connections` (
	`organization_id` text PRIMARY KEY NOT NULL,
	`adapter` text NOT NULL,
	`reported_at` integer NOT NULL,
	`failing_since` integer,
	`failure` text,
	`stopped_at` integer,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "connections_failure" CHECK("failing_since" is not null or ("failure" is null and "stopped_at" is null))
) STRICT, WITHOUT ROWID;
