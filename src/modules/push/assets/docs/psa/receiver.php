<?php
// Receives what the Ticket Write-Back API pushes, and writes notes and time entries into your PSA.
//
// WEBHOOK_SECRET=whsec_… php -S 127.0.0.1:8080 receiver.php                    (receives)
// PSA_URL=https://psa.example/api PSA_TOKEN=… php receiver.php                 (writes into the PSA)
//
// Fit psa, write and report to your PSA. The rest can stay.
set_error_handler(fn ($level, $text) => error_reporting() & $level ? throw new ErrorException($text) : true);
define('QUEUE', getenv('QUEUE') ?: 'queue');
// Seconds, longer than any call to your PSA takes: a call that was cut off may still be running there.
define('PAUSE', (float) (getenv('PAUSE') ?: 30));
// The changes to write. Others are not: a refusal that you report also comes back, with its record.
const WRITTEN = '/\.(created|approved|rejected|redacted)$/';

/** Whether the message was signed with one of our secrets, in the last five minutes. */
function isGenuine(string $body): bool
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $sentAt = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (!ctype_digit($sentAt) || abs(time() - (int) $sentAt) > 300) {
        return false;
    }
    // Two secrets, separated by a space, while one replaces the other.
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

/** Opens a file of the queue's folder and locks it: only one process at a time has the lock. */
function lock(string $name)
{
    @mkdir(QUEUE, 0700, true); // It may exist: the other process makes it too.
    $file = fopen(QUEUE . "/$name", 'c');
    flock($file, LOCK_EX);
    return $file;
}

/** Puts each change to write into the queue with its organization, as a file that names seq and record. */
function store(string $organization, array $changes): void
{
    foreach ($changes as $change) {
        $record = $change['note'] ?? $change['timeEntry'];
        if ($record && preg_match(WRITTEN, $change['action'])) {
            $file = sprintf('%s/%012d-%s-%s', QUEUE, $change['seq'], $change['action'], $record['id']);
            file_put_contents("$file.new", json_encode($change + ['organization' => $organization], JSON_THROW_ON_ERROR));
            rename("$file.new", "$file.json"); // So that a file is always complete.
        }
    }
}

function receive(): void
{
    http_response_code(500); // Until it is stored. After an error the page is sent again.
    $body = file_get_contents('php://input');
    if (!isGenuine($body)) {
        http_response_code(401);
        return;
    }
    $message = json_decode($body, true, 512, JSON_THROW_ON_ERROR);
    // Alerts and other types are confirmed too, and not needed here.
    if ($message['type'] === 'work.changes') {
        $lock = lock('receive.lock');
        store($message['data']['organization'], $message['data']['changes']);
    }
    http_response_code(204);
}

/** The PSA will not take the record, even if it is sent again. */
class Refused extends Exception
{
}

function psa(string $method, string $path, ?array $body = null): array
{
    $http = [
        'method' => $method,
        'header' => ['Authorization: Bearer ' . getenv('PSA_TOKEN'), 'Content-Type: application/json'],
        'content' => $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR),
        'ignore_errors' => true,
        'timeout' => 20,
    ];
    $text = file_get_contents(getenv('PSA_URL') . $path, false, stream_context_create(['http' => $http]));
    $status = (int) explode(' ', $http_response_header[0])[1];
    if ($method !== 'GET' && in_array($status, [400, 404, 422], true)) {
        throw new Refused("HTTP $status");
    }
    return $status < 300 ? json_decode($text, true, 512, JSON_THROW_ON_ERROR) : throw new Exception("HTTP $status");
}

/**
 * Writes the record as it is now. The look-up by its id comes first: it may be in the PSA already.
 * With several tenants, $change['organization'] says into which one.
 */
function write(array $change): void
{
    if ($record = $change['note']) {
        $path = '/notes';
        $fields = ['internal' => true, 'text' => $record['message']['text']];
    } else {
        $path = '/time-entries';
        $record = $change['timeEntry'];
        $fields = ['text' => $record['description']['text'], 'user' => $record['userId']];
        $fields['date'] = substr($record['workDate'], 0, 10);
        $fields += array_intersect_key($record, array_flip(['minutes', 'billable', 'hourlyRate', 'status']));
    }
    $fields += ['externalId' => $record['id'], 'ticket' => $record['ticketId']];
    $found = psa('GET', "$path?externalId={$record['id']}");
    if (!$found) {
        psa('POST', $path, $fields);
    } elseif (!str_ends_with($change['action'], '.created')) { // Approved, rejected or redacted.
        psa('PUT', "$path/{$found[0]['id']}", $fields);
    }
}

/** Reports the refusal. Send this to the service, with the function of /docs/psa that sends a call. */
function report(array $change, string $reason): void
{
    $data = ['organization' => $change['organization'], 'kind' => $change['note'] ? 'note' : 'time_entry'];
    $data += ['id' => $change['targetId'], 'result' => 'refused', 'reason' => $reason];
    error_log(json_encode(['type' => 'work.report', 'data' => $data], JSON_THROW_ON_ERROR));
}

/** Writes a change of the queue into the PSA. What the PSA refuses is kept as a file. */
function take(string $file): void
{
    $change = json_decode(file_get_contents($file), true, 512, JSON_THROW_ON_ERROR);
    try {
        write($change);
        unlink($file);
    } catch (Refused $refused) {
        report($change, $refused->getMessage());
        rename($file, substr($file, 0, -5) . '.refused');
    }
}

/** Takes one change after the other. After any error it waits, and takes the same change again. */
function work(): void
{
    $lock = lock('work.lock');
    for ($pause = glob(QUEUE . '/*.json') ? PAUSE : 0.2; ; ) {
        usleep((int) ($pause * 1e6));
        $pause = 0.2;
        try {
            foreach (glob(QUEUE . '/*.json') as $file) {
                take($file);
            }
        } catch (Throwable $error) { // A mistake in write, such as a TypeError, is not an Exception.
            error_log("The queue is tried again: $error");
            $pause = PAUSE;
        }
    }
}

PHP_SAPI === 'cli' ? work() : receive();
