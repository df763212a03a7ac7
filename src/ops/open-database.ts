import { timeOrderedId } from '../domain/record-id.ts';
import type { ObjectStore } from '../lib/object-store.ts';
import type { Ports, SystemContext } from '../services/service-context.ts';
import { cloudflareApi } from './cloudflare-api.ts';
import type { Database, DatabaseChoice, WithDatabase } from './command.ts';
import { bucketOf, jurisdictionOf, readDeployment, variablesOf } from './deployment.ts';
import { refuseOtherSchema } from './migrations.ts';
import { commandPorts } from './modules.ts';
import { RemoteD1 } from './remote-d1.ts';
import { remoteArchive } from './remote-store.ts';

const DEADLINE_MS = 60_000;

/** Opens the chosen database, and the bucket of its archive, for as long as `use` runs. */
export function databaseOf(choice: DatabaseChoice): WithDatabase {
  const open = async <T>(use: (database: Database) => Promise<T>): Promise<T> => {
    const useChecked = async (db: D1Database, archive: ObjectStore | undefined, advice?: string) => {
      await refuseOtherSchema(db, advice);
      const ports = commandPorts(archive);
      return use({ db, archive, context: () => operatorContext(db, ports) });
    };
    if (!choice.remote) {
      // Loaded when needed: miniflare takes longer to load than a help text to print.
      const { removalAdvice, withLocalD1 } = await import('./local.ts');
      const advice = removalAdvice(choice.persistTo);
      return withLocalD1(choice.persistTo, (db, archive) => useChecked(db, archive, advice));
    }
    const deployment = await readDeployment(choice.deployment);
    const api = cloudflareApi(deployment.account);
    const bucket = bucketOf(deployment);
    const archive = deployment.archive ? remoteArchive(api, bucket, jurisdictionOf(deployment)) : undefined;
    return useChecked(new RemoteD1(api, deployment.database), archive);
  };
  const variables = async () => (choice.remote ? variablesOf(await readDeployment(choice.deployment)) : {});
  return Object.assign(open, { variables });
}

export function operatorContext(db: D1Database, ports: Ports = {}): SystemContext {
  const source = { address: null, userAgent: 'operator' };
  return {
    ...ports,
    db,
    now: Date.now,
    deadlineAt: Date.now() + DEADLINE_MS,
    requestId: timeOrderedId(Date.now()),
    waitsForLock: !(db instanceof RemoteD1),
    actor: 'operator',
    source,
  };
}
