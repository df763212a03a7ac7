import { Icon } from './icon.tsx';

interface Props {
  /** The description of the code, for screen readers. */
  label: string;
  /** The words above the code; the label if it has none. */
  title?: string;
  children: string;
}

/** Code with a button that copies it, which appears with the script. */
export function Code({ label, title = label, children }: Props) {
  return (
    <section class="code" aria-label={label}>
      <div>
        {title}
        <output></output>
        <button type="button" class="quiet" data-copy="" hidden aria-label={`Copy: ${label}`}>
          <Icon name="copy" />
          Copy
        </button>
      </div>
      {/* Focusable, so that the arrow keys can scroll a long line. */}
      <pre tabindex={0}>
        <code>{children}</code>
      </pre>
    </section>
  );
}
