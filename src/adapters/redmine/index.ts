import { AdapterObject, handler } from '../kit/worker.ts';
import { definition } from './definition.ts';

export class Adapter extends AdapterObject {
  protected override readonly definition = definition;
}

export default handler;
