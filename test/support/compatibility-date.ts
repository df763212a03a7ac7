import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import * as z from 'zod';
import { MAIN_CONFIG } from '../../src/ops/wrangler-config.ts';

/** The compatibility date in wrangler.toml. Loading wrangler for it would take a second. */
export const COMPATIBILITY_DATE = z
  .object({ compatibility_date: z.string() })
  .parse(parse(readFileSync(MAIN_CONFIG, 'utf8'))).compatibility_date;
