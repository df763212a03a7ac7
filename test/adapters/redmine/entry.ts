import { type AdapterEnv, connectorOf } from '../../../src/adapters/kit/worker.ts';
import { Connector as Adapter } from '../../../src/adapters/redmine/index.ts';

// The adapter as it is deployed, except that its clock runs 20 times as fast, and that a request starts it.

const SPEED = 20;

interface TestEnv extends AdapterEnv {
  /** When its clock started, so that it does not go back when the adapter is killed. */
  STARTED_AT: string;
}

export class Connector extends Adapter {
  private readonly startedAt: number;

  constructor(ctx: DurableObjectState, env: TestEnv) {
    super(ctx, env);
    this.startedAt = Number(env.STARTED_AT);
  }

  protected override readonly everyMs = 100;
  protected override readonly world = {
    now: () => this.startedAt + SPEED * (Date.now() - this.startedAt),
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    fetch: (request: Request) => fetch(request),
  };
}

export default {
  async fetch(_, env) {
    await connectorOf(env).wake();
    return new Response(null, { status: 204 });
  },
} satisfies ExportedHandler<AdapterEnv>;
