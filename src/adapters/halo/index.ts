import { ConnectorObject, handler } from '../kit/worker.ts';
import { kind } from './kind.ts';

export class Connector extends ConnectorObject {
  protected override readonly kind = kind;
}

export default handler;
