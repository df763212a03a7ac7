import type { Hono } from 'hono';
import type { Bindings, Config } from './config.ts';
import type { AgentEnv } from './http/agent-env.ts';
// biome-ignore lint/suspicious/noImportCycles: requests carry contributions, and contributions handle requests.
import type { AppEnv } from './http/hono-env.ts';
import type { FactSource } from './services/facts.ts';
import type { Ports, ServiceContext } from './services/service-context.ts';

/** An optional capability: a folder of src/modules, and a line in each list. */
export interface Module {
  name: string;
  /**
   * Reads its variables, once, when the Worker starts. Undefined: it is off and adds nothing.
   * @throws Error naming the variable and the rule. The deployment must not start.
   */
  start: (bindings: Bindings, config: Config) => Contribution | undefined;
}

/** What a module adds to the service. Every field is optional. */
export interface Contribution {
  /** Its own path, for which it does its own checks. */
  routes?: { path: `/${string}`; app: Hono<AppEnv> };
  /** Facts that need attention, beside those of the core. */
  facts?: readonly FactSource[];
  jobs?: readonly Job[];
  /** The ports that it provides. `waitUntil` gets work that the response does not wait for. */
  ports?: (waitUntil: (work: Promise<void>) => void) => Ports;
}

/** What a module adds to the Worker for AI agents. */
export interface AgentRoutes {
  path: `/${string}`;
  app: Hono<AgentEnv>;
}

/** Runs when the cron trigger of that name fires. Its name is for the log. */
export interface Job {
  name: string;
  cron: 'frequent' | 'hourly' | 'daily';
  run: (ctx: JobContext) => Promise<void>;
}

/** Its deadline is for one call to D1. `facts` are those of all modules. */
export type JobContext = ServiceContext & { facts: readonly FactSource[] };

/** Starts modules. @throws Error as `start` */
export const startModules = (modules: readonly Module[], bindings: Bindings, config: Config): Contribution[] =>
  modules.flatMap((module) => module.start(bindings, config) ?? []);

/** The ports of all contributions. At most one provides each. */
export function portsOf(contributions: readonly Contribution[], waitUntil: (work: Promise<void>) => void): Ports {
  const ports: Ports = {};
  for (const contribution of contributions) Object.assign(ports, contribution.ports?.(waitUntil));
  return ports;
}
