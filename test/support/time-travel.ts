import { env } from 'cloudflare:workers';

/** Runs statements as one transaction without any trigger, as for damage or a restore. */
export async function withoutTriggers(statements: readonly D1PreparedStatement[]): Promise<void> {
  const { results: triggers } = await env.DB.prepare("select name, sql from sqlite_schema where type = 'trigger'").all<{
    name: string;
    sql: string;
  }>();
  await env.DB.batch([
    ...triggers.map(({ name }) => env.DB.prepare(`drop trigger ${name}`)),
    ...statements,
    ...triggers.map(({ sql }) => env.DB.prepare(sql)),
  ]);
}
