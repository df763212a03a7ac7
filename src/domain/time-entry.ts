import * as z from 'zod';
import { emailAddress, freeText, MAX_TEXT_LENGTH, ruleError, strictObject, unquoted } from './fields.ts';
import { replayFields } from './replay.ts';

/** A day has 1440 minutes; one entry never holds more. */
export const MAX_MINUTES = 1440;

const minutesRule = `a whole number from 1 to ${MAX_MINUTES}`;
const isMinutes = (value: unknown) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_MINUTES;
const minutesError = { error: ruleError(minutesRule, unquoted(isMinutes)) };

/** Body of POST /tickets/{ticketId}/time-entries. */
export const timeEntryRequest = strictObject({
  minutes: z
    .int(minutesError)
    .min(1, minutesError)
    .max(MAX_MINUTES, minutesError)
    .meta({ description: `Minutes worked: ${minutesRule}.` }),
  description: freeText().meta({
    description: `The work done, 1 to ${MAX_TEXT_LENGTH} characters: counted in Unicode code points without outer white space, stored exactly as sent. No NUL, no lone surrogates.`,
  }),
  billable: z
    .boolean({
      error: ruleError(
        'true or false',
        unquoted((value) => typeof value === 'boolean'),
      ),
    })
    .meta({ description: 'Whether the time is billable.' }),
  userEmail: emailAddress('the e-mail address of a technician, or leave the field out').optional().meta({
    description:
      'Credits this active technician instead of the automation service account. Upper and lower case are the same.',
  }),
});

export type TimeEntryRequest = z.output<typeof timeEntryRequest>;

/** Where an entry stands in the approval queue; everything made here starts as SUBMITTED. */
export const TIME_ENTRY_STATUSES = ['SUBMITTED', 'APPROVED', 'REJECTED'] as const;
export type TimeEntryStatus = (typeof TIME_ENTRY_STATUSES)[number];

/** Where the hourly rate came from: the active agreement of the ticket's company, or the organization's default rate. */
export const AGREEMENT_SOURCES = ['company_default', 'organization_default'] as const;
export type AgreementSource = (typeof AGREEMENT_SOURCES)[number];

/** Answer to a time entry, logged now or before; the status of an earlier one may have moved on since. */
export const timeEntryResult = z.object({
  entry: z.object({
    id: z.uuid().meta({ description: 'Identifier of the entry.' }),
    minutes: z.int().min(1).max(MAX_MINUTES).meta({ description: 'As sent.' }),
    workDate: z.iso
      .datetime()
      .meta({ description: "The day the entry was logged, in the organization's time zone, written as midnight UTC." }),
    status: z
      .enum(TIME_ENTRY_STATUSES)
      .meta({ description: 'A new entry is SUBMITTED: an administrator reviews it before it becomes billable.' }),
    billable: z.boolean().meta({ description: 'As sent.' }),
    hourlyRate: z.number().min(0).meta({
      description:
        "From the company's agreement or the organization's default; it cannot be sent. At most two decimals.",
    }),
    userId: z.string().meta({ description: 'The technician credited, or the automation service account.' }),
  }),
  agreementSource: z.enum(AGREEMENT_SOURCES).meta({
    description:
      "Where the rate came from: the active agreement of the ticket's company, or the organization's default rate.",
  }),
  ...replayFields,
});

export type TimeEntryResult = z.output<typeof timeEntryResult>;
