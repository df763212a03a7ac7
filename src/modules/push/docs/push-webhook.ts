import * as z from 'zod';
import { webhook } from '../../../docs/webhook.ts';
import { change, time } from '../../../domain/psa-shapes.ts';

export const pushedPage = z
  .object({
    type: z.literal('work.changes'),
    timestamp: time(),
    data: z.object({ organization: z.string(), changes: z.array(change), cursor: z.string() }),
  })
  .meta({ id: 'PushedPage' });

export const pushWebhook = webhook(
  {
    operationId: 'receiveChanges',
    tags: ['Push'],
    summary: 'Receive changes',
    description:
      'The service posts the changes of an organization in order, at most 100 changes and 512 KiB at a time, signed in the same way. It continues only after a 2xx. Until then it sends the same page with the same `webhook-id`, or the first half of a page that timed out or got 413: put the id of the note or time entry on what you write, and look for it first.',
  },
  pushedPage,
  {
    stored: 'The changes are stored.',
    gone: 'Stop sending the changes of this organization, until they are resumed.',
  },
);
