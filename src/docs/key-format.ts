import type { Config } from '../config.ts';
import { KEY_LENGTH } from '../domain/api-key.ts';

/** The regular expression of a complete key, for secret scanners. */
export const keyPattern = ({ keyPrefix }: Pick<Config, 'keyPrefix'>) => `\\b${keyPrefix}_[0-9A-Za-z]{${KEY_LENGTH}}\\b`;
