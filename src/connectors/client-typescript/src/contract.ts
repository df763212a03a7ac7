// Generated from the OpenAPI document by npm run connectors.
export interface components {
    schemas: {
        NoteRequest: {
            /** @description The text of the note: 1 to 32,000 Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused. */
            message: string;
        };
        TimeEntryRequest: {
            /** @description Minutes worked: a whole number from 1 to 1440. */
            minutes: number;
            /** @description The work done: 1 to 32,000 Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused. */
            description: string;
            /** @description Whether the time is billable. */
            billable: boolean;
            /**
             * Format: email
             * @description Credits this active technician instead of the automation service account. Case is ignored, and null is as if the field were left out.
             */
            userEmail?: string;
        };
        Ping: {
            /** @constant */
            ok: true;
            /** @description The organization that the key belongs to. */
            organizationId: string;
            /** @description The key's name in the settings. */
            keyName: string;
            /** @description What the key may write. */
            scopes: ("tickets:note:write" | "tickets:time:write")[];
        };
        NoteResult: {
            note: {
                /**
                 * Format: uuid
                 * @description Identifier of the note.
                 */
                id: string;
                /**
                 * Format: date-time
                 * @description When the note was created, in UTC.
                 */
                createdAt: string;
            };
            /**
             * @description Present in a 200: the record already existed; this request wrote nothing.
             * @constant
             */
            idempotentReplay?: true;
            /**
             * @description Present if this request differs from the one that created the record, unless that was redacted: the Idempotency-Key was already used for a different request.
             * @constant
             */
            idempotencyMismatch?: true;
            /** @description Present with a mismatch: the ticket of the existing record. */
            ticketId?: string;
        };
        DryRunResult: {
            /**
             * @description Nothing was written.
             * @constant
             */
            dryRun: true;
            /** @description As sent. */
            ticketId: string;
            /**
             * Format: date-time
             * @description For time: the day that the entry would get now.
             */
            workDate?: string;
            /**
             * @description Present if the Idempotency-Key is in use: the request would write nothing.
             * @constant
             */
            idempotentReplay?: true;
        };
        TimeEntryResult: {
            entry: {
                /**
                 * Format: uuid
                 * @description Identifier of the entry.
                 */
                id: string;
                /** @description Minutes worked. */
                minutes: number;
                /**
                 * Format: date-time
                 * @description The day the entry was logged, in the organization's time zone, written as midnight UTC.
                 */
                workDate: string;
                /**
                 * @description A new entry is SUBMITTED. An administrator approves or rejects it.
                 * @enum {string}
                 */
                status: "SUBMITTED" | "APPROVED" | "REJECTED";
                /** @description Whether the time is billable. */
                billable: boolean;
                /** @description From the company's agreement or the organization's default; the caller cannot set it. At most two decimals. */
                hourlyRate: number;
                /** @description The technician credited, or the automation service account. */
                userId: string;
            };
            /**
             * @description Where the rate came from: the active agreement of the ticket's company, or the organization's default rate.
             * @enum {string}
             */
            agreementSource: "company_default" | "organization_default";
            /**
             * @description Present in a 200: the record already existed; this request wrote nothing.
             * @constant
             */
            idempotentReplay?: true;
            /**
             * @description Present if this request differs from the one that created the record, unless that was redacted: the Idempotency-Key was already used for a different request.
             * @constant
             */
            idempotencyMismatch?: true;
            /** @description Present with a mismatch: the ticket of the existing record. */
            ticketId?: string;
        };
        Problem: {
            /**
             * @description The address of its explanation; for a 429, of the IANA problem type.
             * @example https://tickets.example/docs/errors#technician_not_eligible
             */
            type: string;
            title: string;
            status: number;
            /** @enum {string} */
            code?: "invalid_host" | "https_required" | "psa_not_included" | "method_not_allowed" | "rate_limited" | "internal_error" | "unavailable" | "malformed_json" | "invalid_encoding" | "invalid_idempotency_key" | "not_found" | "ticket_not_found" | "idempotency_mismatch" | "body_too_large" | "unsupported_media_type" | "validation_failed" | "daily_limit_reached" | "outcome_unknown" | "technician_not_eligible";
            /** @description The cause and the remedy. For people: compare `code` instead. */
            detail?: string;
            /**
             * Format: uuid
             * @description The same as X-Request-Id.
             */
            requestId?: string;
            /** @description The limits that were exceeded. */
            "violated-policies"?: string[];
            /** @description The errors of the body, at most 20. */
            errors?: {
                /** @description The field, as a JSON Pointer (RFC 6901); empty for the body itself. */
                pointer: string;
                /** @description The rule that was broken, such as `required`, `invalid_type`, `out_of_range` or `unknown_field`. */
                code: string;
                /** @description What was sent and what to send instead. */
                detail: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
/** The path of each operation. */
export const PATHS = {
  ping: '/api/v1/ping',
  createNote: '/api/v1/tickets/{ticketId}/notes',
  dryRunNote: '/api/v1/tickets/{ticketId}/notes/dry-run',
  createTimeEntry: '/api/v1/tickets/{ticketId}/time-entries',
  dryRunTimeEntry: '/api/v1/tickets/{ticketId}/time-entries/dry-run',
} as const;
/** The longest text of a note or a description, in Unicode code points. */
export const MAX_TEXT_LENGTH = 32000;
