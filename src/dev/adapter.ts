import { env } from 'cloudflare:workers';
import type { AdapterDefinition } from '../adapters/kit/settings.ts';
import { type AdapterEnv, AdapterObject, handler } from '../adapters/kit/worker.ts';
import local from './index.tsx';

export * from './index.tsx';

// The entry point of `npm start -- --adapter PSA`: that of `npm start`, with the adapter in the same Worker. The PSA is a
// variable, because each adapter can be deleted.

const { definition }: { definition: AdapterDefinition } = await import(
  `../adapters/${Reflect.get(env, 'ADAPTER')}/definition.ts`
);

export class Adapter extends AdapterObject {
  protected override readonly definition = definition;
  protected override readonly everyMs = 2_000;

  override alarm(): Promise<void> {
    const { kv } = this.ctx.storage;
    // A person waits for a ticket, a record, and the decision on time. A failure is not repeated earlier.
    for (const job of ['tickets', 'work', 'reviews'])
      if (kv.get<{ failure?: string }>(job)?.failure === undefined) kv.delete(job);
    return super.alarm();
  }
}

export default {
  ...local,
  scheduled: async (controller, bindings, ctx) => {
    await handler.scheduled?.(controller, bindings, ctx);
    await local.scheduled(controller, bindings);
  },
} satisfies ExportedHandler<Env & AdapterEnv>;
