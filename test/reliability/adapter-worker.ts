import { definition as connectwise } from '../../src/adapters/connectwise/definition.ts';
import { definition as halo } from '../../src/adapters/halo/definition.ts';
import type { Service } from '../../src/adapters/kit/context.ts';
import { type AdapterEnv, AdapterObject, adapterObjectOf } from '../../src/adapters/kit/worker.ts';
import { definition as redmine } from '../../src/adapters/redmine/definition.ts';
import { fastClock, SPEED } from './fast-clock.ts';

// An adapter as it is deployed, except that its clock runs faster, that a request starts it, and that its calls reach the
// service in another process: there, this Worker takes them.

interface TestEnv extends AdapterEnv {
  ADAPTER: 'connectwise' | 'halo' | 'redmine';
  STARTED_AT: string;
  SERVICE_URL: string;
}

/** The entry point in the other process. */
const serviceAt = (url: string): Service =>
  new Proxy<Service>(Object.create(null), {
    get:
      (_, method: string) =>
      async (...args: unknown[]) => {
        const response = await fetch(`${url}/${method}`, { method: 'POST', body: JSON.stringify(args) });
        return response.json();
      },
  });

export class Adapter extends AdapterObject {
  protected override readonly definition;
  protected override readonly everyMs = 100;
  protected override readonly world;

  constructor(ctx: DurableObjectState, env: TestEnv) {
    super(ctx, { ...env, CONNECTION: serviceAt(env.SERVICE_URL) });
    this.definition = { connectwise, halo, redmine }[env.ADAPTER];
    this.world = {
      now: fastClock(Number(env.STARTED_AT)),
      sleep: (ms: number) => scheduler.wait(ms / SPEED),
      fetch: (request: Request) => fetch(request),
    };
  }
}

export default {
  async fetch(request, env) {
    const method = new URL(request.url).pathname.slice(1);
    if (method === '') {
      await adapterObjectOf(env).wake();
      return new Response(null, { status: 204 });
    }
    const call: (...args: unknown[]) => Promise<unknown> = Reflect.get(env.CONNECTION, method);
    const args = await request.json<unknown[]>();
    // JSON has null for the reviewer that a PSA does not tell. The cursor of changes may be null.
    return Response.json(await call(...(method === 'review' ? args.map((one) => one ?? undefined) : args)));
  },
} satisfies ExportedHandler<AdapterEnv>;
