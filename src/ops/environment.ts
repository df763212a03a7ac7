import { parseWebhookSecrets, type WebhookSecret } from '../domain/webhook.ts';
import { UsageError } from './command.ts';

/** The secrets in a variable of the environment. @throws UsageError */
export function secretsIn(name: string, option: string): WebhookSecret[] {
  try {
    const secrets = parseWebhookSecrets(process.env[name] ?? '');
    if (secrets.length > 0) return secrets;
  } catch (err) {
    if (err instanceof RangeError) throw new UsageError(`${name}: ${err.message}.`);
    throw err;
  }
  throw new UsageError(`${option} needs ${name} in the environment.`);
}

/** The address in an option or variable with this name. @throws UsageError */
export function readAddress(
  name: string,
  text: string,
  parse: (text: string) => string | undefined,
  ifEmpty: string,
): string {
  try {
    const url = parse(text);
    if (url !== undefined) return url;
  } catch (err) {
    if (err instanceof RangeError) throw new UsageError(`${name}: ${err.message}.`);
    throw err;
  }
  throw new UsageError(`${name} is empty; ${ifEmpty}.`);
}
