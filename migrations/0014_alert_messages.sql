-- An alert is stored as the message that its channel gets.
UPDATE `alerts` SET `data` = CASE `channel`
	WHEN 'push' THEN json_object(
		'type', 'alert.' || `type`,
		'timestamp', strftime('%Y-%m-%dT%H:%M:%fZ', `found_at` / 1000.0, 'unixepoch'),
		'data', json_set(`data`, '$.settingsUrl', NULL))
	WHEN 'chat' THEN json_object('text', iif(`organization_id` = '', '', `organization_id` || ': ') || (`data` ->> 'text'))
	ELSE json_object('text', (`data` ->> 'text') || ' ' || (`data` ->> 'advice'))
END
WHERE `data` ->> 'advice' IS NOT NULL;
