import {
  DATABASE_USAGE,
  operatorCommand,
  operatorContext,
  persistToOption,
  remoteOption,
  withDatabase,
} from '../../ops/command.ts';
import { count, print } from '../../ops/output.ts';
import { printable } from '../../ops/printable.ts';
import { listWaitingNotices, MAX_LISTED_NOTICES, type WaitingNotice } from './list-notices.ts';
import { messageType } from './notice.ts';

export const noticesStatus = operatorCommand({
  name: 'notices:status',
  summary: 'show the notices that wait to be sent, and what failed',
  purpose: `Lists the notices that wait for WEBHOOK_URL or NOTICE_URL, oldest first, at most ${MAX_LISTED_NOTICES}: how often each was tried, and why the last attempt failed. A notice that was sent is not listed. Nothing is written.`,
  usage: `[--organization ORGANIZATION] [--json] ${DATABASE_USAGE}`,
  example: 'notices:status --remote',
  failure: 'failure: there is no such organization, or the database failed',
})
  .option('--organization <ORGANIZATION>', 'Only the notices of the organization with this id.')
  .option('--json', 'Print one line of JSON for each notice.')
  .addOption(remoteOption)
  .addOption(persistToOption)
  .action(run);

interface Options {
  organization?: string | undefined;
  json?: true | undefined;
  remote?: true | undefined;
  persistTo?: string | undefined;
}

async function run(options: Options): Promise<void> {
  const notices = await withDatabase(options, (db) => listWaitingNotices(operatorContext(db), options.organization));
  if (options.json) return print(notices.map((notice) => `${JSON.stringify(toJson(notice))}\n`).join(''));
  if (notices.length === 0) return print('No notice waits to be sent.\n');
  const rest = notices.length === MAX_LISTED_NOTICES ? 'There may be more.\n' : '';
  await print(`${notices.map(describe).join('')}${rest}`);
}

/** The variable with the address. */
const ADDRESSES = { push: 'WEBHOOK_URL', chat: 'NOTICE_URL' } as const satisfies Record<
  WaitingNotice['channel'],
  string
>;

const time = (at: number) => new Date(at).toISOString();

function toJson({ organizationId, id, channel, type, at, madeAt, attempts, nextAttemptAt, failure }: WaitingNotice) {
  return {
    organization: organizationId === '' ? null : organizationId,
    id,
    type: messageType(type),
    address: ADDRESSES[channel],
    at: time(at),
    madeAt: time(madeAt),
    attempts,
    nextAttemptAt: time(nextAttemptAt),
    failure,
  };
}

/** The notice in one line, and another one if an attempt has begun. */
function describe(notice: WaitingNotice): string {
  const { organizationId, type, madeAt, channel, attempts, nextAttemptAt, failure } = notice;
  const whose = organizationId === '' ? 'the deployment' : printable(organizationId);
  const line = `${whose}: ${messageType(type)} of ${time(madeAt)} waits for ${ADDRESSES[channel]}\n`;
  if (attempts === 0) return line;
  const last = failure === null ? '' : `; the last failure: ${printable(failure)}`;
  return `${line}  ${count(attempts, 'attempt')}${last}; next attempt at ${time(nextAttemptAt)}\n`;
}
