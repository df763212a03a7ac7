import type { Child } from 'hono/jsx';

interface Tab {
  /** Unique among the tabs of the group: a part of an id. */
  id: string;
  label: Child;
  content: Child;
}

interface Props {
  group: string;
  /** The description of the choice, for screen readers. */
  legend: string;
  tabs: readonly Tab[];
  /** With script, a tab also opens those with its id in the groups that have the same choice. */
  choice: string;
}

/** Tabs that work without script: radio buttons, each of which shows the section at its place. */
export function Tabs({ group, legend, tabs, choice }: Props) {
  return (
    <fieldset class="pick" data-choice={choice}>
      <legend class="visually-hidden">{legend}</legend>
      {tabs.map(({ id, label }) => (
        <>
          <input type="radio" name={group} value={id} id={`${group}-${id}`} checked={id === tabs[0]?.id} />
          <label for={`${group}-${id}`}>{label}</label>
        </>
      ))}
      {tabs.map(({ content }) => (
        <section>{content}</section>
      ))}
    </fieldset>
  );
}
