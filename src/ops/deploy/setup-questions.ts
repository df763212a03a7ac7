import type * as z from 'zod';

/** A login method of Cloudflare Access, which setup adds if it is chosen. */
export const PIN = 'One-time PIN';

/** What setup asks, by the name of the option that answers it. */
export const QUESTIONS = {
  account: 'Id of the account',
  host: 'Host of the service, such as tickets.example.com',
  place: 'Place of the data, which cannot be changed; eu, us and fedramp are jurisdictions',
  'cloudflare-plan': 'Plan of Cloudflare Workers',
  agents: 'Worker for AI agents',
  team: 'Team name for Cloudflare Access, TEAM in https://TEAM.cloudflareaccess.com',
  login: `Login method of the administrators. "Cloudflare" admits only members of the account. If "${PIN}" is added, every application of Access without a list of login methods accepts it`,
  administrator: 'Email address of the first administrator, who can do everything',
  organization: 'Id of the first organization, such as northwind',
  'time-zone': 'Its time zone',
} as const;
export type Question = keyof typeof QUESTIONS;

/** Asks at the terminal, or takes the answer of the option. An empty one is the standard answer. */
export type Ask = <T>(question: Question, shape: z.core.$ZodType<T>, standard?: string) => Promise<T>;
