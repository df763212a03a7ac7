import { Lexer, type Token, type Tokens } from 'marked';

/** Text with `code`, **names** of controls and [links](/path). @throws Error if it has other Markdown */
export function Text({ children, as: Tag }: { children: string; as?: 'p' | 'li' | 'div' | 'summary' }) {
  const inline = <Inline tokens={Lexer.lexInline(children)} />;
  return Tag ? <Tag>{inline}</Tag> : inline;
}

type Known = Tokens.Text | Tokens.Escape | Tokens.Codespan | Tokens.Strong | Tokens.Link;
const KNOWN = ['text', 'escape', 'codespan', 'strong', 'link'];

function isKnown(token: Token): token is Known {
  return KNOWN.includes(token.type);
}

function Inline({ tokens }: { tokens: readonly Token[] }) {
  return (
    <>
      {tokens.map((token) => {
        if (!isKnown(token)) throw new Error(`The pages show no ${token.type}: ${token.raw}`);
        if (token.type === 'codespan') return <code>{token.text}</code>;
        if (token.type === 'strong')
          return (
            <strong>
              <Inline tokens={token.tokens} />
            </strong>
          );
        if (token.type === 'link') return <Link {...token} />;
        return token.text;
      })}
    </>
  );
}

/** A link to a file, such as /docs/recipes/n8n.json, saves it. */
function Link({ href, tokens }: Tokens.Link) {
  const [, file] = /^\/.*\/([^/]+\.[a-z0-9]+)$/.exec(href) ?? [];
  return (
    <a href={href} download={file}>
      <Inline tokens={tokens} />
    </a>
  );
}
