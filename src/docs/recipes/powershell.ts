import {
  addressCommands,
  copyAddress,
  EVENT_ID_RULES,
  keepKey,
  PINGED,
  pingCommands,
  success,
  TICKET,
  TIME_KEY,
} from './common.ts';
import type { Recipe, Snippet } from './recipe.ts';

const powershell = (label: string, text: string): Snippet => ({ label, text });

export const powerShell: Recipe = {
  slug: 'powershell',
  tool: 'PowerShell',
  lead: 'From a prompt to the first time entry, without modules. For Windows PowerShell 5.1 and PowerShell 7.',
  needs: [TIME_KEY, TICKET],
  steps: (origin) => [
    {
      ...copyAddress(origin, 'Run this in PowerShell. All commands below use the variable.'),
      code: powershell('Address of this service', addressCommands(origin).powershell),
    },
    {
      title: keepKey.title,
      text: [
        'Run this, then paste the key and press Enter. For a scheduled task, store the key in the credential store of your RMM, not in the script.',
      ],
      code: powershell('Keep the key', "$env:TICKETS_API_KEY = Read-Host 'Key'"),
    },
    {
      title: 'Turn on TLS 1.2',
      text: ['Windows PowerShell 5.1 may use an older version, which the service refuses.'],
      code: powershell('TLS 1.2', '[Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12'),
    },
    {
      title: 'Ping',
      text: ['It checks the key and writes nothing.'],
      code: powershell('Ping', pingCommands.powershell),
      after: [PINGED],
    },
    {
      title: 'Name the event',
      text: [
        'The id of the event becomes the Idempotency-Key, so a retry never writes twice. In a script, take it from what started the script, such as the id of an alert.',
        ...EVENT_ID_RULES,
      ],
      code: powershell('Event', "$eventId = 'evt-powershell-1'"),
    },
    {
      title: 'Log time',
      text: [
        'The body is sent as UTF-8 bytes, because version 5.1 sends a string in another encoding. The loop tries up to 5 times and waits 10 seconds, as long as the longest window of a rate limit.',
      ],
      code: powershell(
        'Log time',
        `$headers = @{
  Authorization     = "Bearer $env:TICKETS_API_KEY"
  'Idempotency-Key' = "triage:$eventId"
}
$json = @{ minutes = 30; description = 'Cleared the print queue'; billable = $true } | ConvertTo-Json
$body = [Text.Encoding]::UTF8.GetBytes($json)

for ($attempt = 1; ; $attempt++) {
  try {
    $response = Invoke-WebRequest -UseBasicParsing -Method Post \`
      -Uri "$env:TICKETS_URL/api/v1/tickets/1001/time-entries" \`
      -Headers $headers -ContentType 'application/json' -Body $body
    break
  } catch {
    $failed = $_.Exception.Response
    $status = if ($failed) { [int]$failed.StatusCode } else { 0 }
    $problem = $_.ErrorDetails.Message
    # Version 5.1 may leave the body of an error unread.
    if (-not $problem -and $failed -is [Net.HttpWebResponse]) {
      $problem = (New-Object IO.StreamReader($failed.GetResponseStream())).ReadToEnd()
    }
    $retry = $status -eq 0 -or ($status -eq 429 -and $problem -notmatch 'daily_limit_reached') -or $status -ge 500
    if (-not $retry -or $attempt -eq 5) { throw "HTTP $status $problem $($_.Exception.Message)" }
    Start-Sleep -Seconds 10
  }
}
$result = $response.Content | ConvertFrom-Json
if ($result.idempotencyMismatch) { throw "Another event used triage:$eventId before. Nothing was written now." }
"$($response.StatusCode) $($result.entry.id)"`,
      ),
    },
    success('The last line is `201` and the id of the entry. `$response.Content` is the whole response:'),
  ],
  failures: [
    ['`400` `invalid_encoding`', 'A string was sent instead of the UTF-8 bytes in `$body`. `ü` in a text shows this.'],
    ['`The underlying connection was closed`', 'TLS 1.2 is off: repeat the step that turns it on.'],
  ],
  retries: 'None built into version 5.1. The loop tries up to 5 times after 429, 5xx and lost connections.',
  checked: [
    'Not run: PowerShell was not available. The commands are written for Windows PowerShell 5.1 and PowerShell 7.',
    'Run: the same requests, with curl.',
  ],
};
