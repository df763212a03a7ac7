import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

/**
 * The SHA-256 of every migration. A database identifies a migration by name, so editing one that
 * was already applied changes new databases only. Add new migrations here.
 */
const RELEASED: Record<string, string> = {
  '0000_foundation.sql': 'b014579c0ce1bab9cf57d3bb0cb7eee1ccf2b701b9f50242ef8be17b7f08bc26',
  '0001_daily_ledger.sql': '5b5782d15c37234abd9a12a2f34df7f8fe60705be490f6dbec957e78fb1dd916',
  '0002_directory_clock.sql': '4e9d986e403217a7d55341c557d3d49646cb12c49545333f3d6dab6338dc9faf',
  '0003_allowed_networks.sql': '44b4ce41f1a722463e9d4204e8d89e0728b227436d86c0db3e6cdd255ff3521a',
  '0004_push.sql': '39f402b6c829165b2773ba1cc0360ec784bca656ee08964fc38f0b94d3c31bbc',
  '0005_key_policy.sql': 'f4fe0f45083dc00751e89a90a1e6b2379509a736c0185663a370d8ae384dc02b',
  '0006_key_owner.sql': 'a9c4ef451de2bc3ec47fe008aef9a51ed4cf529da17029f8d4ca398d2e95cfdb',
  '0007_notices.sql': '93a1e960c499a10d2bf8153303a526b038a249a951150f50c19192fa3d91be46',
  '0008_erasure_in_steps.sql': '897ba844a7555f9b21dd7b4564b35e6f0f5ba8b1c890307d4e3f4b9467dbc22e',
  '0009_archive.sql': '7e1a28746817560526ef0bbdb1177cbe26704a8fcad5bde4be96a5e6d41e545f',
  '0010_administrators_changes.sql': 'f5a34fafc01caf2212ce54ead161feb8b6ee7bcfc9b26582dc49dfe10f86239d',
  '0011_key_revision.sql': '4c9c55ace27a3c9612855217ab81dd161a1ad7d9b0de57642930193e1a9d13b9',
  '0012_alerts_of_facts.sql': 'aa8909941613a4fa2fcbe886e4eb9eec357e15978b7ce2d272d1cbe2906436d5',
  '0013_key_identity.sql': 'dd5237f6e141b293817e607617191758d9e811bfea897175264ce4441adfe552',
  '0014_psa_refusals.sql': '24a63dd6b2ac30679eba22752672ec4cc5f5939774316d03cb5917f2f9c08973',
  '0015_complete_archive.sql': '6eafb9b31880121ceab6f6a4091bf941e86c9ed9c23a15e9fceccc6d7a22e42b',
  '0016_push_without_orders.sql': 'f80175d8966dc5aef2345c13c700d736c10f9dd04ffdc99a16055d0c59c05c22',
  '0017_lost_writes.sql': '2b35269fffe4444499331649ce91d799c01cca9bfd2c60780cfdcfa19206185c',
  '0018_settings_in_decisions.sql': 'dddfe689dad2be4902a5705b81adc9c811f4da3f96ae29831d65cafd90424eee',
};
/** The first migration, which has no previous release. */
const FOUNDATION = '0000_foundation.sql';

const migrations = await Promise.all(
  (await readdir('migrations'))
    .filter((name) => name.endsWith('.sql'))
    .map(async (name) => ({ name, sql: await readFile(`migrations/${name}`, 'utf8') })),
);

/**
 * The statements after which the previous release may fail, because they remove what it reads or
 * refuse what it writes. A comment above such a statement allows it: `-- since 1.4: nothing reads
 * it`.
 */
function breaking(sql: string): string[] {
  const created = new Set(Array.from(sql.matchAll(/create table [`"]?(\w+)/gi), ([, table]) => table));
  return sql.split(/-->\s*statement-breakpoint/).flatMap((part) => {
    const lines = part.trim().split('\n');
    const statement = lines.filter((line) => !line.startsWith('--')).join('\n');
    const removes = /^\s*drop (table|index|view)|\b(drop|rename)\b(?! trigger)/i.test(
      statement.replace(/^\s*drop trigger.*/i, ''),
    );
    const [, table] = /\bon [`"]?(\w+)/i.exec(statement) ?? [];
    const refuses = /^\s*create (unique index|trigger)/i.test(statement) && !created.has(table);
    return (removes || refuses) && !/^-- since \S+: /m.test(part)
      ? [lines.find((line) => !line.startsWith('--')) ?? '']
      : [];
  });
}

test('released migrations are unchanged', () => {
  const found = migrations.map(({ name, sql }) => [name, createHash('sha256').update(sql).digest('hex')]);
  expect(Object.fromEntries(found)).toEqual(RELEASED);
});

test('no migration removes or refuses anything that the previous release uses', () => {
  const found = migrations.filter(({ name }) => name !== FOUNDATION).map(({ name, sql }) => [name, breaking(sql)]);
  expect(found.filter(([, statements]) => statements?.length !== 0)).toEqual([]);
});
