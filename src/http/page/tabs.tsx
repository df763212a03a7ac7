import type { Child } from 'hono/jsx';

interface Tab {
  /** Unique among the tabs of the group: a part of an id. */
  id: string;
  label: Child;
  /** The name of its section for screen readers, if the content has none. */
  name?: string;
  content: Child;
}

interface Props {
  group: string;
  /** The description of the choice, for screen readers. */
  legend: string;
  tabs: readonly Tab[];
  /** With script, a tab also opens those with its id in the groups that have the same choice. */
  choice?: string;
  /** The id of the tab that is open at first; the first one if it is left out. */
  chosen?: string | undefined;
  isCard?: boolean;
}

/** Tabs that work without script: radio buttons, each of which shows the section at its place. */
export function Tabs({ group, legend, tabs, choice, chosen = tabs[0]?.id, isCard = false }: Props) {
  return (
    <fieldset class={isCard ? 'pick card' : 'pick'} data-choice={choice}>
      <legend class="visually-hidden">{legend}</legend>
      {tabs.map(({ id, label }) => (
        <>
          <input type="radio" name={group} value={id} id={`${group}-${id}`} checked={id === chosen} />
          <label for={`${group}-${id}`}>{label}</label>
        </>
      ))}
      {tabs.map(({ name, content }) => (
        <section aria-label={name}>{content}</section>
      ))}
    </fieldset>
  );
}
