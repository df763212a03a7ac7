import type { HonoRequest } from 'hono';

/** The entry point of the main Worker, for the Worker for AI agents. */
export interface Api {
  /** The response of the API, as if the caller at this IP address had sent the request to it. */
  send(request: Request, address: string | null): Promise<Response>;
}

export interface AgentEnv {
  Bindings: { API: Api };
}

export const callerAddress = ({ req }: { req: HonoRequest }) => req.header('CF-Connecting-IP') ?? null;
