import { gzipSync } from 'node:zlib';

const BLOCK = 512;

/**
 * The files of an npm package as a gzipped tar archive (POSIX.1-1988 ustar) for `npm install`. The same files give the
 * same bytes.
 * @param files contents by paths of at most 92 ASCII characters
 */
export function tarball(files: ReadonlyMap<string, string>): Buffer {
  const entries = Array.from(files, ([path, content]) => {
    const body = Buffer.from(content);
    const padding = Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK);
    return Buffer.concat([headerOf(`package/${path}`, body.length), body, padding]);
  });
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)]));
}

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  // Each field by its offset. The checksum counts its own field as spaces.
  const fields: [number, string][] = [
    [0, path],
    [100, octal(0o644, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(0, 11)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\0' + '00'],
  ];
  for (const [offset, value] of fields) header.write(value, offset, 'latin1');
  const checksum = header.reduce((sum: number, byte: number) => sum + byte, 0);
  header.write(`${octal(checksum, 6)}\0 `, 148, 'latin1');
  return header;
}
