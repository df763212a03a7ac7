declare namespace Cloudflare {
  interface Env {
    /** How many times as long property tests run: `PROPERTY_RUNS=20 npm test`. */
    PROPERTY_RUNS: string;
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[];
  }
}
