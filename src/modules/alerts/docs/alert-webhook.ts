import * as z from 'zod';
import { webhook } from '../../../docs/webhook.ts';
import { nullable, time } from '../../../domain/psa-shapes.ts';
import type { AlertMessage } from '../outlets.ts';

const description = 'Something needs attention, or has become more urgent.';

const alert: z.ZodType<AlertMessage> = z
  .object({
    type: z.literal('alert'),
    timestamp: time().meta({ description: 'When it was found.' }),
    data: z.object({
      organization: nullable(z.string()).meta({ description: 'Null for an alert about the whole deployment.' }),
      text: z.string().meta({
        description:
          'A line in English, without markup and without names. It ends with a page of the settings area, if the operator has set the address of the service.',
      }),
    }),
  })
  .meta({ id: 'Alert', description });

export const alertWebhook = webhook(
  { operationId: 'receive_alert', tags: ['Alerts'], summary: 'Receive an alert', description },
  alert,
  {
    stored: 'The alert is stored, or of no interest.',
    gone: 'Do not send this alert again. The changes are not affected.',
  },
);
