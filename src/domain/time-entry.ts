import * as z from 'zod';
import { emailAddress, freeText, record, says, unquoted } from './fields.ts';

/** A day has 1440 minutes; one entry never holds more. */
export const MAX_MINUTES = 1440;

const minutesRule = `a whole number from 1 to ${MAX_MINUTES}`;
const isMinutes = (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_MINUTES;
const minutesError = { error: says(minutesRule, unquoted(isMinutes)) };

/** Body of POST /tickets/{ticketId}/time-entries. */
export const timeEntryRequest = record({
  minutes: z.int(minutesError).min(1, minutesError).max(MAX_MINUTES, minutesError),
  description: freeText(),
  billable: z.boolean({
    error: says(
      'true or false',
      unquoted((value) => typeof value === 'boolean'),
    ),
  }),
  userEmail: emailAddress('the e-mail address of a technician, or leave the field out').optional(),
});

export type TimeEntryRequest = z.output<typeof timeEntryRequest>;

/** Where an entry stands in the approval queue; everything made here starts as SUBMITTED. */
export const TIME_ENTRY_STATUSES = ['SUBMITTED', 'APPROVED', 'REJECTED'] as const;
export type TimeEntryStatus = (typeof TIME_ENTRY_STATUSES)[number];

/** Where the hourly rate came from: the active agreement of the ticket's company, or the organization's default rate. */
export const AGREEMENT_SOURCES = ['company_default', 'organization_default'] as const;
export type AgreementSource = (typeof AGREEMENT_SOURCES)[number];
