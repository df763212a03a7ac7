import * as z from 'zod';
import { webhook } from '../../../docs/webhook.ts';
import { nullable, plainText, time } from '../../../domain/psa-shapes.ts';
import { type AlertData, messageType } from '../alert.ts';

const alertData: z.ZodObject & z.ZodType<AlertData> = z.object({
  organization: nullable(z.string()).meta({ description: 'Null for an alert about the whole deployment.' }),
  key: nullable(
    z.object({ id: z.string(), name: plainText, hint: z.string(), expiresAt: nullable(time()) }).meta({
      id: 'AlertKey',
      description: 'The key as it was when the alert was made.',
    }),
  ),
  since: time().meta({ description: 'Since when it needs attention, as far as that is known.' }),
  level: z.int().meta({ description: 'From 1 on: the more urgent, the higher.' }),
  text: z.string().meta({ description: 'The alert in English, without markup and without names.' }),
  advice: z.string().meta({ description: 'What to do about it.' }),
  settingsUrl: nullable(z.url()).meta({
    description:
      'A page of the settings area to begin with; null if the operator has not set the address of the service.',
  }),
});

/** The alert of a fact of this type. `description` says when there is one. */
export const alertWebhook = (type: string, description: string) =>
  webhook(
    {
      operationId: `receive_${type}`,
      tags: ['Alerts'],
      summary: `Receive ${messageType(type)}`,
      description,
    },
    z
      .object({
        type: z.literal(messageType(type)),
        timestamp: time().meta({ description: 'When it was found.' }),
        data: alertData,
      })
      .meta({ id: `Alert_${type}`, description }),
    {
      stored: 'The alert is stored, or of no interest.',
      gone: 'Do not send this alert again. The changes are not affected.',
    },
  );
