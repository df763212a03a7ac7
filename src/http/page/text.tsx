/** Text with `code` between backticks, **names** of controls between asterisks, and [links](/path). */
export function Text({ children }: { children: string }) {
  return <>{children.split(MARKED).map((part, index) => (index % 2 === 0 ? part : <Marked>{part}</Marked>))}</>;
}

const MARKED = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\(\/[^)\s]+\))/;

function Marked({ children: part }: { children: string }) {
  if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
  if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>;
  const [text = '', href = ''] = part.slice(1, -1).split('](');
  return <a href={href}>{text}</a>;
}
