/** Text with `code` between backticks. */
export function Text({ children }: { children: string }) {
  return <>{children.split('`').map((part, index) => (index % 2 === 0 ? part : <code>{part}</code>))}</>;
}
