// The little that the contender uses of two packages that are installed for the benchmark's run
// alone.
declare module 'better-auth' {
  interface Key {
    name: string;
  }
  interface Options {
    baseURL: string;
    secret: string;
    database: D1Database;
    plugins: unknown[];
    logger: { disabled: boolean };
    emailAndPassword: { enabled: boolean };
  }
  export interface Auth {
    readonly options: Options;
    readonly api: {
      signUpEmail(input: {
        body: { email: string; password: string; name: string };
      }): Promise<{ user: { id: string } }>;
      createApiKey(input: {
        body: {
          userId: string;
          name: string;
          rateLimitEnabled: boolean;
          rateLimitMax: number;
          rateLimitTimeWindow: number;
        };
      }): Promise<{ key: string }>;
      verifyApiKey(input: { body: { key: string } }): Promise<{ valid: boolean; key: Key | null; error: unknown }>;
    };
  }
  export function betterAuth(options: Options): Auth;
}

declare module 'better-auth/db/migration' {
  import type { Auth } from 'better-auth';

  export function getMigrations(options: Auth['options']): Promise<{ runMigrations(): Promise<void> }>;
}

declare module '@better-auth/api-key' {
  export function apiKey(options: {
    maximumNameLength: number;
    rateLimit: { maxRequests: number; timeWindow: number };
  }): unknown;
}
