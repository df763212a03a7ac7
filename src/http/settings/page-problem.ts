import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Fault } from '../../lib/loggable-error.ts';

/** Thrown in the settings area to answer with a page that says what is wrong and what to do. */
export class PageProblem extends Fault {
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

/** For ids of the organization's own that do not exist, and for those of others alike. */
export function notFound(what: string): PageProblem {
  return new PageProblem(404, 'Not found', `Your organization has no such ${what}.`);
}
