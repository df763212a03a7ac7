import { env } from 'cloudflare:workers';
import { readContract } from './contract.ts';

/** A static file, as it is served. */
export const readStatic = (path: string) => env.ASSETS.fetch(new URL(path, 'https://api.example'));

/** The OpenAPI document of the API, as it is served. */
export const apiContract = async () => readContract(await (await readStatic('/api/v1/openapi.json')).text());

/** The OpenAPI document of the PSA's interface, as it is served. */
export const psaContract = async () => readContract(await (await readStatic('/psa/openapi.json')).text());
