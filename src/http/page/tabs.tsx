import type { Child } from 'hono/jsx';

interface Tab {
  /** Unique among the tabs of the group: a part of an id. */
  id: string;
  label: string;
  /** The name of its section for screen readers, if the content has none. */
  name?: string;
  content: Child;
}

interface Props {
  /** Unique on the page. */
  group: string;
  /** What is chosen, for screen readers. */
  legend: string;
  tabs: readonly Tab[];
  /** With script, a tab also opens those with its id in the groups that have the same choice. */
  choice?: string;
  isCard?: boolean;
}

/** Tabs that work without script: radio buttons, each of which shows the section at its place. */
export function Tabs({ group, legend, tabs, choice, isCard = false }: Props) {
  return (
    <fieldset class={isCard ? 'pick card' : 'pick'} data-choice={choice}>
      <legend class="visually-hidden">{legend}</legend>
      {tabs.map(({ id, label }, index) => (
        <>
          <input type="radio" name={group} value={id} id={`${group}-${id}`} checked={index === 0} />
          <label for={`${group}-${id}`}>{label}</label>
        </>
      ))}
      {tabs.map(({ name, content }) => (
        <section aria-label={name}>{content}</section>
      ))}
    </fieldset>
  );
}
