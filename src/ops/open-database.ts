import { timeOrderedId } from '../domain/record-id.ts';
import type { SystemContext } from '../services/service-context.ts';
import { cloudflareApi } from './cloudflare-api.ts';
import type { Database, DatabaseChoice, WithDatabase } from './command.ts';
import { readDeployment, variablesOf } from './deploy/deployment-file.ts';
import { refuseOtherSchema } from './migrations.ts';
import { RemoteD1 } from './remote-d1.ts';

const DEADLINE_MS = 60_000;

/** Opens the chosen database for as long as `use` runs. */
export function databaseOf(choice: DatabaseChoice): WithDatabase {
  const open = async <T>(use: (database: Database) => Promise<T>): Promise<T> => {
    const useChecked = async (db: D1Database, advice?: string) => {
      await refuseOtherSchema(db, advice);
      return use({ db, context: () => operatorContext(db) });
    };
    if (!choice.remote) {
      // Loaded when needed: miniflare takes longer to load than a help text to print.
      const { removalAdvice, withLocalD1 } = await import('./local.ts');
      const advice = removalAdvice(choice.persistTo);
      return withLocalD1(choice.persistTo, (db) => useChecked(db, advice));
    }
    const deployment = await readDeployment(choice.deployment);
    const api = cloudflareApi(deployment.account);
    return useChecked(new RemoteD1(api, deployment.database));
  };
  const variables = async () => (choice.remote ? variablesOf(await readDeployment(choice.deployment)) : {});
  return Object.assign(open, { variables });
}

export function operatorContext(db: D1Database): SystemContext {
  const source = { address: null, userAgent: 'operator' };
  return {
    db,
    now: Date.now,
    deadlineAt: Date.now() + DEADLINE_MS,
    requestId: timeOrderedId(Date.now()),
    waitsForLock: !(db instanceof RemoteD1),
    actor: 'operator',
    source,
  };
}
