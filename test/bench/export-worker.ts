import { createApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { RateLimiter } from '../../src/durable-objects/rate-limiter.ts';
import { makeSignIn } from '../support/sign-in.ts';

// The settings area, opened by the administrator of the demo directory: each request has a token.

export { RateLimiter };

let signIn: Awaited<ReturnType<typeof makeSignIn>> | undefined;

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    signIn ??= await makeSignIn();
    const app = createApp({ ...parseConfig(env), signIn: signIn.config }, []);
    const headers = { 'Cf-Access-Jwt-Assertion': await signIn.token('ada@northwind.example') };
    return app.fetch(new Request(request.url, { headers }), env, ctx);
  },
};
