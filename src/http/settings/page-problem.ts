import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { LoggableError } from '../../lib/log.ts';

/** Thrown in the settings area to respond with an error page. `detail` is the remedy. */
export class PageProblem extends LoggableError {
  override name = 'PageProblem';
  readonly status: ContentfulStatusCode;
  readonly title: string;
  readonly detail: string;
  constructor(status: ContentfulStatusCode, title: string, detail: string, cause?: unknown) {
    super(`${status} ${title}`, { cause });
    this.status = status;
    this.title = title;
    this.detail = detail;
  }
}
