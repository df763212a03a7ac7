import { type AdapterEnv, adapterObjectOf } from '../../../src/adapters/kit/worker.ts';
import { Adapter as RedmineAdapter } from '../../../src/adapters/redmine/index.ts';
import { fastClock } from '../../reliability/fast-clock.ts';

// The adapter as it is deployed, except that its clock runs faster, and that a request starts it.

interface TestEnv extends AdapterEnv {
  /** When its clock started, so that it does not go back when the adapter is killed. */
  STARTED_AT: string;
}

export class Adapter extends RedmineAdapter {
  protected override readonly everyMs = 100;
  protected override readonly world;

  constructor(ctx: DurableObjectState, env: TestEnv) {
    super(ctx, env);
    this.world = {
      now: fastClock(Number(env.STARTED_AT)),
      sleep: (ms: number) => scheduler.wait(ms),
      fetch: (request: Request) => fetch(request),
    };
  }
}

export default {
  async fetch(_, env) {
    await adapterObjectOf(env).wake();
    return new Response(null, { status: 204 });
  },
} satisfies ExportedHandler<AdapterEnv>;
