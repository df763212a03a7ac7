import { DurableObject } from 'cloudflare:workers';
import { parseJurisdiction, placedIn } from '../../domain/jurisdiction.ts';
import { contextOf, run } from './adapter.ts';
import type { Context, Service } from './context.ts';
import type { World } from './send.ts';
import { type AdapterDefinition, COMMON_VARIABLES } from './settings.ts';

export interface AdapterEnv {
  CONNECTION: Service;
  ADAPTER_OBJECT: DurableObjectNamespace<AdapterObject>;
  JURISDICTION: string;
  ADAPTER: string;
  ORGANIZATION: string;
}

/** The object of the adapter: another PSA or organization on the same storage has another one. */
export const adapterObjectOf = ({ ADAPTER_OBJECT, JURISDICTION, ADAPTER, ORGANIZATION }: AdapterEnv) =>
  placedIn(ADAPTER_OBJECT, parseJurisdiction(JURISDICTION)).getByName(`${ADAPTER} ${ORGANIZATION}`);

/** The object of an adapter: its alarm runs whatever is due. */
export abstract class AdapterObject extends DurableObject<AdapterEnv> {
  protected abstract readonly definition: AdapterDefinition;
  // Tests replace the clock.
  protected readonly everyMs: number = 5_000;
  protected readonly world: World = {
    now: Date.now,
    sleep: (ms) => scheduler.wait(ms),
    fetch: (request) => fetch(request),
  };
  private context: Context | undefined;

  /** Starts the adapter if its alarm was never set, or was lost. */
  async wake(): Promise<void> {
    if ((await this.ctx.storage.getAlarm()) === null) await this.ctx.storage.setAlarm(Date.now());
  }

  override async alarm(): Promise<void> {
    const { definition, env, ctx, world } = this;
    // The alarm of an adapter that was replaced.
    if (!ctx.id.equals(adapterObjectOf(env).id)) return;
    let hasMore = false;
    try {
      const settings = COMMON_VARIABLES.parse(env);
      this.context ??= contextOf(ctx.storage.kv, env.CONNECTION, settings, definition.psa(env, settings), world);
      hasMore = await run(this.context);
    } catch (err) {
      console.error(JSON.stringify({ event: 'adapter_error', message: String(err) }));
    }
    await ctx.storage.setAlarm(Date.now() + (hasMore ? 0 : this.everyMs));
  }
}

/** The cron trigger starts the Durable Object after the first deployment. The Worker has no URL. */
export const handler: ExportedHandler<AdapterEnv> = {
  async scheduled(_, env) {
    await adapterObjectOf(env).wake();
  },
};
