import { expect } from 'vitest';

/** What must hold for every event. */
const RULES = {
  foreignRows: 'a request changes no row of another organization',
  foreignTexts: 'a response shows nothing that belongs to another organization',
  ownTables: 'a request changes only the tables that it is about',
  ownRows: 'a request adds exactly the rows that it is expected to add',
  writeStatus: 'a write gets the status that it would get if its organization were the only one',
  dryRun: 'a dry run gets the status of its write, and shows no record',
  companies: 'a key that is limited to companies writes and reads nothing outside of them',
  writeCredit: 'a time entry takes its user, rate and agreement from its own organization',
  pageStatus: 'a page opens for administrators of its organization, and for its own keys only',
  pageRows: 'a page or file about keys has the rows of its own organization',
  logRows: 'the audit log, its filters, its search and its file have the matching rows of its own organization',
  formStatus: 'a form is evaluated by the keys, names and form tokens of its own organization',
  usedForm: 'a form that has already created a key leads to that key of its own organization, and changes nothing',
  whichKey: 'a pasted key or hint finds keys of its own organization only',
  changeFeed: 'the change feed has the audit rows of its own organization, in order',
  cursor: 'a cursor of another organization is refused',
  review: 'a review finds the entries and reviewers of its own organization only',
  redaction: 'a redaction finds the records of its own organization only',
  directory: 'a change of the directory is accepted',
} as const;

/** Checks that a rule holds. The error shows the rule, and fast-check the events. */
export function check(rule: keyof typeof RULES, actual: unknown, expected: unknown): void {
  expect(actual, RULES[rule]).toEqual(expected);
}
