import * as z from 'zod';
import { inThousands } from '../lib/in-thousands.ts';
import { emailAddress, freeText, MAX_TEXT_LENGTH, ruleError, strictObject, unquoted } from './fields.ts';

/** The minutes of a day: the most that one entry may have. */
export const MAX_MINUTES = 1440;

const minutesRule = `a whole number from 1 to ${MAX_MINUTES}`;
const isMinutes = (value: unknown) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_MINUTES;
const minutesError = { error: ruleError(minutesRule, unquoted(isMinutes)) };

export const timeEntryRequest = strictObject({
  minutes: z
    .int(minutesError)
    .min(1, minutesError)
    .max(MAX_MINUTES, minutesError)
    .meta({ description: `Minutes worked: ${minutesRule}.` }),
  description: freeText().meta({
    description: `The work done: 1 to ${inThousands(MAX_TEXT_LENGTH)} Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused.`,
  }),
  billable: z
    .boolean({
      error: ruleError(
        'true or false',
        unquoted((value) => typeof value === 'boolean'),
      ),
    })
    .meta({ description: 'Whether the time is billable.' }),
  userEmail: emailAddress('the email address of a technician, or leave the field out').optional().meta({
    description: 'Credits this active technician instead of the automation service account. Case is ignored.',
  }),
});

export type TimeEntryRequest = z.output<typeof timeEntryRequest>;

/** The state of an entry in the approval queue. Every entry created here starts as SUBMITTED. */
export const TIME_ENTRY_STATUSES = ['SUBMITTED', 'APPROVED', 'REJECTED'] as const;
export type TimeEntryStatus = (typeof TIME_ENTRY_STATUSES)[number];

/** The decisions of an administrator about an entry. */
export const APPROVAL_DECISIONS = ['APPROVED', 'REJECTED'] as const satisfies readonly TimeEntryStatus[];
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number];

/** Where an organization approves time: in the settings area, which the PSA may precede, or in the PSA only. */
export const APPROVERS = ['settings', 'psa'] as const;
export type Approver = (typeof APPROVERS)[number];

/** Whether the hourly rate is that of the company's active agreement, or the organization's default. */
export const AGREEMENT_SOURCES = ['company_default', 'organization_default'] as const;
