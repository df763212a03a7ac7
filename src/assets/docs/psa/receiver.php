<?php
// Receives the changes that the Ticket Write-Back API pushes, and stores each in a file.
//
// WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:8080 receiver.php

/** Whether the message was signed with one of our secrets, in the last five minutes. */
function isGenuine(string $body): bool
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $sentAt = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($sentAt) || abs(time() - (int) $sentAt) > 300) {
        return false;
    }
    // Two, separated by a space, while one replaces the other.
    foreach (explode(' ', getenv('WEBHOOK_SECRET')) as $secret) {
        $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
        $ours = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sentAt.$body", $key, true));
        foreach (explode(' ', $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '') as $given) {
            if (hash_equals($ours, $given)) {
                return true;
            }
        }
    }
    return false;
}

/** Stores the changes by organization and seq: the same page may come again. */
function store(array $page): void
{
    $directory = (getenv('STORE') ?: 'changes') . '/' . $page['organization'];
    is_dir($directory) || mkdir($directory, 0700, true);
    foreach ($page['changes'] as $change) {
        file_put_contents("$directory/{$change['seq']}.new", json_encode($change, JSON_THROW_ON_ERROR));
        rename("$directory/{$change['seq']}.new", "$directory/{$change['seq']}.json");
    }
}

// Until it is stored. After an error the page comes again.
http_response_code(500);
set_error_handler(fn ($level, $text) => throw new ErrorException($text));
$body = file_get_contents('php://input');
if (!isGenuine($body)) {
    http_response_code(401);
    exit;
}
$message = json_decode($body, true, 512, JSON_THROW_ON_ERROR);
// Alerts and other types are confirmed too, and not needed here.
if ($message['type'] === 'work.changes') {
    store($message['data']);
}
http_response_code(204);
