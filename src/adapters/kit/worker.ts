import { DurableObject } from 'cloudflare:workers';
import { parseJurisdiction, placedIn } from '../../domain/deployments.ts';
import { Adapter } from './adapter.ts';
import type { Service } from './directory.ts';
import type { World } from './send.ts';
import { type AdapterKind, readSettings } from './settings.ts';

export interface AdapterEnv {
  CONNECTION: Service;
  CONNECTOR: DurableObjectNamespace<ConnectorObject>;
  JURISDICTION: string;
}

const WORLD: World = {
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  fetch: (request) => fetch(request),
};

/** The object of an adapter: its alarm runs whatever is due. */
export abstract class ConnectorObject extends DurableObject<AdapterEnv> {
  protected abstract readonly kind: AdapterKind;
  /** Tests replace it. */
  protected readonly world: World = WORLD;
  /** An alarm that is due later is set again, so a change of the clock or of the code costs at most this. */
  protected readonly longestPauseMs: number = 60_000;
  private adapter: Adapter | undefined;

  /** Starts the adapter if its alarm was never set, or was lost. */
  async wake(): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now());
  }

  override async alarm(): Promise<void> {
    let pauseMs = this.longestPauseMs;
    try {
      if (!this.adapter) {
        const { settings, psa } = readSettings(this.kind, this.env);
        this.adapter = new Adapter(this.ctx.storage, this.env.CONNECTION, settings, psa, this.world);
      }
      pauseMs = (await this.adapter.run()) - this.world.now();
    } catch (err) {
      console.error(
        JSON.stringify({ event: 'adapter_error', message: err instanceof Error ? err.message : String(err) }),
      );
    }
    await this.ctx.storage.setAlarm(Date.now() + Math.min(Math.max(pauseMs, 100), this.longestPauseMs));
  }
}

/** The cron trigger starts the object after the first deployment. The Worker has no address. */
export const handler: ExportedHandler<AdapterEnv> = {
  async scheduled(_, { CONNECTOR, JURISDICTION }) {
    await placedIn(CONNECTOR, parseJurisdiction(JURISDICTION)).getByName('adapter').wake();
  },
};
