import { exports } from 'cloudflare:workers';
import type { Change } from '../../src/domain/change.ts';
import type { Connection } from '../../src/rpc/connection.ts';
import type { Directory } from '../../src/rpc/directory.ts';
import type { Work } from '../../src/rpc/work.ts';
import type { CallResult } from '../../src/services/call-result.ts';

// Calls through real RPC: arguments and results are serialized, as between two Workers.

export const directory: Methods<Directory> = exports.Directory;
export const work: Methods<Work> = exports.Work;
/** The entry point of an adapter, with the properties of its binding. */
export const connectionOf = (organization: string, administrators: string[] = []): Methods<Connection> =>
  exports.Connection({ props: { organization, administrators } });

/** The methods of an entry point, because TypeScript needs much time to write the types of a stub. */
type Methods<Entrypoint> = {
  [Name in keyof Entrypoint as Entrypoint[Name] extends (...args: never) => Promise<unknown>
    ? Name
    : never]: Entrypoint[Name];
};

/** The value of a call that succeeded. */
export function resultOf<T>(answer: CallResult<T>): T {
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}

/** What went wrong with a call: its code, and the pointers and codes of its errors. */
export function failureOf(answer: CallResult<unknown>): string[] {
  if (answer.ok) return [];
  const { code, errors } = answer.error;
  return [code, ...errors.map((error) => `${error.pointer} ${error.code}`)];
}

/** An argument of any type, as from a caller without types. */
export const untyped = (input: unknown) => JSON.parse(JSON.stringify(input));

/** All changes of an organization. */
export async function allChanges(organization: string): Promise<Change[]> {
  let page = resultOf(await work.changes(organization, null));
  const all = page.changes;
  while (page.more) {
    page = resultOf(await work.changes(organization, page.cursor));
    all.push(...page.changes);
  }
  return all;
}

/** The cursor of an organization's last change. */
export async function lastCursor(organization: string): Promise<string | null> {
  let page = resultOf(await work.changes(organization, null));
  while (page.more) page = resultOf(await work.changes(organization, page.cursor));
  return page.cursor;
}
